/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_naming.c - what targets choose themselves: cgroups, mounts, command lines, attributes;
 * templates. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/discover/labels.h"
#include "agent/discover/naming.h"
#include "agent/discover/otel_context.h"
#include "agent/proc/cgroup.h"
#include "agent/proc/cmdline.h"
#include "conf/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static const char *look_up(void *ctx, const char *name)
{
    return strlen(name) % 2 ? ctx : NULL;
}

/* A container, pod and mounts: ids in form or none, and what is known stays. */
static void read_mounts(const char *text, size_t size)
{
    struct cgroup none = {.path = ""}, known = {.container = "c", .pod = "p"};

    cgroup_parse_mounts(text, size, &none);
    require(strlen(none.container) <= 64 && strlen(none.pod) <= 36);
    require(strspn(none.container, "0123456789abcdef-") == strlen(none.container));
    require(strspn(none.pod, "0123456789abcdef-") == strlen(none.pod));
    cgroup_parse_mounts(text, size, &known);
    require(strcmp(known.container, "c") == 0 && strcmp(known.pod, "p") == 0);
}

static void put(void *ctx, const char *name, const char *value)
{
    labels_put(ctx, name, value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[4097];
    char out[64];
    struct cgroup cgroup;
    struct cmdline_program program;
    struct labels labels = {0};

    size = size < sizeof(text) - 1 ? size : sizeof(text) - 1;
    memcpy(text, data, size);
    text[size] = '\0';
    cgroup_parse(text, size, &cgroup);
    require(strlen(cgroup.container) <= 64 && strlen(cgroup.pod) <= 36);
    read_mounts(text, size);
    cmdline_parse_text(text, size, &program);
    require(strlen(program.name) <= CMDLINE_NAME_MAX &&
            strspn(program.name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "0123456789_.-") == strlen(program.name));
    conf_template_expand(text, look_up, text, out, sizeof(out));
    require(strlen(out) < sizeof(out));
    if (naming_attribute(text, "service.name", out, sizeof(out)))
        labels_put(&labels, "a", out);
    if (!otel_context_decode(data, size, put, &labels))
        labels_put(&labels, "not", "decoded");
    require(labels.size <= sizeof(labels.text) && labels.count <= LABELS_MAX);
    return 0;
}
