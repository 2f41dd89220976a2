/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_class.h - classes of CPU time in profiles: CPU_STACKS is time of stacks that samples saw. The
 * others are time without a stack, by reason; the reason is shown as a frame.
 */
#ifndef AGENT_SAMPLING_CPU_CLASS_H
#define AGENT_SAMPLING_CPU_CLASS_H

#include <stdint.h>

/* Name, label in metrics and JSON, name of the frame, and what follows "3 % " in a sentence. */
/* clang-format off */
#define CPU_CLASSES(one)                                                                           \
    one(STACKS, "stacks", "", "on stacks that were seen")                                          \
    one(BEFORE, "before_first_sample", "<CPU before the first sample>", "before the first sample") \
    one(CHILDREN, "ended_children", "<CPU of children that ended unseen>",                         \
        "in children that ended unseen")                                                           \
    one(BETWEEN, "between_samples", "<CPU time between samples>", "between samples")               \
    one(NATIVE, "threads_without_python", "<threads without Python>",                              \
        "in threads without Python")                                                               \
    one(SHUTDOWN, "interpreter_shutdown", "<interpreter shutting down>",                           \
        "in interpreters that shut down")
/* clang-format on */

#define CPU_CLASS_ONE(name, label, frame, text) CPU_##name,
enum cpu_class { CPU_CLASSES(CPU_CLASS_ONE) CPU_CLASS_COUNT };
#undef CPU_CLASS_ONE

/* CPU time of each class, ns. */
struct cpu_by_class {
    uint64_t ns[CPU_CLASS_COUNT];
};

/* All static. */
const char *cpu_class_label(enum cpu_class class);
const char *cpu_class_frame(enum cpu_class class);
const char *cpu_class_text(enum cpu_class class);

/* CPU time of all classes together, ns. */
uint64_t cpu_by_class_total(const struct cpu_by_class *by_class);

/* Adds the time of each class to that of `sum`. */
void cpu_by_class_add(struct cpu_by_class *sum, const struct cpu_by_class *more);

#endif
