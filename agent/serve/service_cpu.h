/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_cpu.h - CPU time of each service in the last hour, as its profiles have it.
 *
 * The time of a profile counts in the minute in which the profile ended. After an hour it drops
 * out, a minute at a time. A new agent begins with nothing, because nothing is stored on disk.
 *
 * Shape:   all zeros at first; service_cpu_add with each profile; service_cpu_hour of each item;
 *          service_cpu_finish.
 * Units:   CPU time in ns; `now_ns` is of CLOCK_MONOTONIC, read by the caller, and never goes back.
 * Cost:    service_cpu_add is linear in the number of services. Half a KiB a service.
 */
#ifndef AGENT_SERVE_SERVICE_CPU_H
#define AGENT_SERVE_SERVICE_CPU_H

#include <stddef.h>
#include <stdint.h>

enum { SERVICE_CPU_MINUTES = 60, SERVICE_CPU_MAX = 1024 };

/* One service. */
struct service_cpu {
    char *name;                       /* owned */
    uint64_t minute;                  /* last minute with an addition: now_ns / 60 s */
    uint64_t ns[SERVICE_CPU_MINUTES]; /* ring: CPU time of minute m at m % SERVICE_CPU_MINUTES */
};

struct service_cpu_table {
    struct service_cpu *items; /* owned */
    size_t count, capacity;
};

/* Adds the CPU time of a profile of `service`. A new service is left out if SERVICE_CPU_MAX others
 * had additions in the last hour, or memory is out. */
void service_cpu_add(struct service_cpu_table *table, const char *service, uint64_t cpu_ns,
                     uint64_t now_ns);

/* CPU time of the current minute, that of `now_ns`, and of the 59 before it. */
uint64_t service_cpu_hour(const struct service_cpu *service, uint64_t now_ns);

void service_cpu_finish(struct service_cpu_table *table);

#endif
