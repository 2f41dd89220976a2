/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_naming.c - what targets choose themselves: cgroups, command lines, attributes; templates. */
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
    cmdline_parse_text(text, size, &program);
    require(strlen(program.name) <= CMDLINE_NAME_MAX &&
            strspn(program.name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "0123456789_.-") == strlen(program.name));
    conf_template_expand(text, look_up, text, out, sizeof(out));
    require(strlen(out) < sizeof(out));
    if (naming_attribute(text, "service.name", out, sizeof(out)))
        labels_put(&labels, "a", out);
    (void)otel_context_decode(data, size, put, &labels);
    require(labels.size <= sizeof(labels.text) && labels.count <= LABELS_MAX);
    return 0;
}
