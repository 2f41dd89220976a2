/* SPDX-License-Identifier: Apache-2.0 */
/* state.c - see state.h. */
#include "agent/serve/state.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/proc_stat.h"
#include "base/time_units.h"

struct state *state_new(void)
{
    struct state *state = calloc(1, sizeof(*state));

    if (state)
        atomic_init(&state->references, 1);
    return state;
}

void state_drop(struct state *state)
{
    if (!state || atomic_fetch_sub(&state->references, 1) != 1)
        return;
    free(state->targets);
    free(state->services);
    free(state->exporters);
    free(state->sections);
    free(state);
}

struct state_target *state_add_target(struct state *state)
{
    if (state->target_count == STATE_TARGETS_MAX ||
        !ARRAY_RESERVE(state->targets, state->target_room, state->target_count + 1))
        return NULL;
    state->targets[state->target_count] = (struct state_target){0};
    return &state->targets[state->target_count++];
}

struct state_service *state_add_service(struct state *state)
{
    if (!ARRAY_RESERVE(state->services, state->service_room, state->service_count + 1))
        return NULL;
    state->services[state->service_count] = (struct state_service){.cpu_ns = 0};
    return &state->services[state->service_count++];
}

struct state_exporter *state_add_exporter(struct state *state)
{
    if (!ARRAY_RESERVE(state->exporters, state->exporter_room, state->exporter_count + 1))
        return NULL;
    state->exporters[state->exporter_count] = (struct state_exporter){0};
    return &state->exporters[state->exporter_count++];
}

struct state_section *state_add_section(struct state *state)
{
    if (!ARRAY_RESERVE(state->sections, state->section_room, state->section_count + 1))
        return NULL;
    state->sections[state->section_count] = (struct state_section){.name = ""};
    return &state->sections[state->section_count++];
}

const char *state_service_of(const struct state *state, const char *target)
{
    for (size_t i = 0; i < state->section_count; i++)
        if (strcmp(state->sections[i].name, target) == 0)
            return state->sections[i].service;
    return target;
}

static size_t count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    const struct dirent *entry;
    size_t count = 0;

    if (!dir)
        return 0;
    while ((entry = readdir(dir)))
        count += entry->d_name[0] != '.';
    (void)closedir(dir);
    return count - 1; /* its own */
}

void state_own_use(struct state *state)
{
    struct proc_statm pages = {0};
    struct timespec used;
    struct rlimit limit;

    if (proc_statm_read(getpid(), &pages) == PROC_OK)
        state->memory_bytes = pages.resident * (uint64_t)sysconf(_SC_PAGESIZE);
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0)
        state->cpu_ns = timespec_to_ns(used);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        state->fds_max = limit.rlim_cur;
    state->fds = count_fds();
}

void state_share_init(struct state_share *share)
{
    *share = (struct state_share){.newest = NULL};
    (void)pthread_mutex_init(&share->lock, NULL);
}

void state_share_finish(struct state_share *share)
{
    state_drop(share->newest);
    (void)pthread_mutex_destroy(&share->lock);
}

void state_share_put(struct state_share *share, struct state *state)
{
    struct state *before;

    (void)pthread_mutex_lock(&share->lock);
    before = share->newest;
    share->newest = state;
    (void)pthread_mutex_unlock(&share->lock);
    state_drop(before);
}

struct state *state_share_get(struct state_share *share)
{
    struct state *state;

    (void)pthread_mutex_lock(&share->lock);
    state = share->newest;
    if (state)
        atomic_fetch_add(&state->references, 1);
    (void)pthread_mutex_unlock(&share->lock);
    return state;
}
