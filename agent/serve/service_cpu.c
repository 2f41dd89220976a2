/* SPDX-License-Identifier: Apache-2.0 */
/* service_cpu.c - see service_cpu.h. */
#include "agent/serve/service_cpu.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/time_units.h"

static uint64_t minute_of(uint64_t now_ns)
{
    return now_ns / (60 * NS_PER_S);
}

/* Lets go of services that have taken nothing in the last hour. */
static void drop_old(struct service_cpu_table *table, uint64_t minute)
{
    size_t kept = 0;

    for (size_t i = 0; i < table->count; i++) {
        if (table->items[i].minute + SERVICE_CPU_MINUTES > minute)
            table->items[kept++] = table->items[i];
        else
            free(table->items[i].name);
    }
    table->count = kept;
}

/* The service of that name; NULL: there is no room. */
static struct service_cpu *get_service(struct service_cpu_table *table, const char *name,
                                       uint64_t minute)
{
    struct service_cpu *service;
    char *copy;

    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->items[i].name, name) == 0)
            return &table->items[i];
    drop_old(table, minute);
    if (table->count == SERVICE_CPU_MAX ||
        !ARRAY_RESERVE(table->items, table->capacity, table->count + 1))
        return NULL;
    copy = strdup(name);
    if (!copy)
        return NULL;
    service = &table->items[table->count++];
    *service = (struct service_cpu){.name = copy, .minute = minute};
    return service;
}

void service_cpu_add(struct service_cpu_table *table, const char *service, uint64_t cpu_ns,
                     uint64_t now_ns)
{
    const uint64_t minute = minute_of(now_ns);
    struct service_cpu *found = get_service(table, service, minute);

    if (!found)
        return;
    if (minute - found->minute >= SERVICE_CPU_MINUTES)
        memset(found->ns, 0, sizeof(found->ns));
    else
        while (found->minute < minute)
            found->ns[++found->minute % SERVICE_CPU_MINUTES] = 0;
    found->minute = minute;
    found->ns[minute % SERVICE_CPU_MINUTES] += cpu_ns;
}

uint64_t service_cpu_hour(const struct service_cpu *service, uint64_t now_ns)
{
    const uint64_t past = minute_of(now_ns) - service->minute;
    uint64_t sum = 0;

    for (uint64_t i = 0; i + past < SERVICE_CPU_MINUTES && i <= service->minute; i++)
        sum += service->ns[(service->minute - i) % SERVICE_CPU_MINUTES];
    return sum;
}

void service_cpu_finish(struct service_cpu_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        free(table->items[i].name);
    free(table->items);
    *table = (struct service_cpu_table){0};
}
