/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_class.c - see cpu_class.h. */
#include "agent/sampling/cpu_class.h"

#include <stddef.h>

#define CPU_CLASS_ONE(name, label, frame, text) {label, frame, text},
static const struct {
    const char *label, *frame, *text;
} classes[CPU_CLASS_COUNT] = {CPU_CLASSES(CPU_CLASS_ONE)};
#undef CPU_CLASS_ONE

const char *cpu_class_label(enum cpu_class class)
{
    return classes[class].label;
}

const char *cpu_class_frame(enum cpu_class class)
{
    return classes[class].frame;
}

const char *cpu_class_text(enum cpu_class class)
{
    return classes[class].text;
}

uint64_t cpu_by_class_total(const struct cpu_by_class *by_class)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < CPU_CLASS_COUNT; i++)
        sum += by_class->ns[i];
    return sum;
}

void cpu_by_class_add(struct cpu_by_class *sum, const struct cpu_by_class *more)
{
    for (size_t i = 0; i < CPU_CLASS_COUNT; i++)
        sum->ns[i] += more->ns[i];
}
