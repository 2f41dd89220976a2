/* SPDX-License-Identifier: Apache-2.0 */
/* resolve_target.c - see resolve_target.h. */
#include "agent/sampling/resolve_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The process that has this number now; start UINT64_MAX: none has. */
static struct proc_id find_process(pid_t pid)
{
    struct proc_stat stat;
    const enum proc_rc rc = proc_stat_read(pid, &stat);

    return (struct proc_id){pid, rc == PROC_OK ? stat.start : rc == PROC_GONE ? UINT64_MAX : 0};
}

bool resolve_target_is_fixed(const struct conf_target *section)
{
    return !strchr(section->service, '$');
}

struct burst resolve_target(const struct conf *conf, const char *target)
{
    const char *service = target;
    struct burst burst = {0};

    if (target[0] && target[strspn(target, "0123456789")] == '\0' && strlen(target) < 10) {
        burst.id = find_process((pid_t)strtol(target, NULL, 10));
        return burst;
    }
    for (size_t i = 0; i < conf->target_count; i++)
        if (strcmp(conf->targets[i].name, target) == 0 &&
            resolve_target_is_fixed(&conf->targets[i]))
            service = conf->targets[i].service;
    (void)snprintf(burst.service, sizeof(burst.service), "%s", service);
    return burst;
}
