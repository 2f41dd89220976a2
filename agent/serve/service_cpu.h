/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_cpu.h - how much CPU time each service took in the last hour, as its profiles have it.
 *
 * It is counted by minutes, those of the profiles' ends: what is an hour old drops out a minute at
 * a time. It is in memory alone: an agent that was just started begins with nothing.
 *
 * Shape:   all zeros at first; service_cpu_add with each profile; service_cpu_hour of each item;
 *          service_cpu_finish.
 * Units:   CPU time in ns; `now_ns` is of CLOCK_MONOTONIC, read by the caller, and never goes back.
 * Cost:    of adding, the number of services; half a KiB for each.
 */
#ifndef AGENT_SERVE_SERVICE_CPU_H
#define AGENT_SERVE_SERVICE_CPU_H

#include <stddef.h>
#include <stdint.h>

enum { SERVICE_CPU_MINUTES = 60, SERVICE_CPU_MAX = 1024 };

/* One service. */
struct service_cpu {
    char *name;                       /* owned */
    uint64_t minute;                  /* the newest that something was added to */
    uint64_t ns[SERVICE_CPU_MINUTES]; /* of it and of those before, each at minute % 60 */
};

struct service_cpu_table {
    struct service_cpu *items; /* owned */
    size_t count, capacity;
};

/* Adds what a profile of `service` has. A service that is new is left out if SERVICE_CPU_MAX others
 * took time in the last hour, or memory is out. */
void service_cpu_add(struct service_cpu_table *table, const char *service, uint64_t cpu_ns,
                     uint64_t now_ns);

/* The CPU time of the minute of `now_ns`, which is not over, and the 59 before it. */
uint64_t service_cpu_hour(const struct service_cpu *service, uint64_t now_ns);

void service_cpu_finish(struct service_cpu_table *table);

#endif
