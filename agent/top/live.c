/* SPDX-License-Identifier: Apache-2.0 */
/* live.c - see live.h. */
#include "agent/top/live.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/dump/read_watchdog.h"
#include "agent/host/clock.h"

#define WINDOW_NS (5 * NS_PER_S)

static bool choose_selected_process(void *ctx, pid_t pid, const struct proc_stat *stat,
                                    struct target_profile *out)
{
    const struct top_live *live = ctx;

    return target_selection_choose(live->selection, pid, stat, out);
}

/* Adds what a service's processes did in a slice. */
static void add_service_slice(void *ctx, const struct service *service, uint64_t now_ns)
{
    struct top_live *live = ctx;
    struct pprof_stacks *stacks;

    (void)now_ns;
    memcpy(live->python, service->python, sizeof(live->python));
    if (pprof_stacks_new(service->profile, &stacks) != PPROF_OK) {
        live->failed = true;
        return;
    }
    if (!top_model_add(live->model, stacks))
        live->failed = true;
    pprof_stacks_free(stacks);
}

bool top_live_open(struct top_live *live, struct target_selection *selection,
                   const sigset_t *signals, bool keys)
{
    struct engine_settings settings = {.choose = choose_selected_process,
                                       .deliver = add_service_slice,
                                       .ctx = live,
                                       .scan_ns = NS_PER_S,
                                       .eager = true,
                                       .heartbeat = read_watchdog_heartbeat(),
                                       .only = selection->children ? 0 : selection->pid,
                                       .signals = *signals};

    *live = (struct top_live){.selection = selection, .keys_fd = -1, .start_ns = clock_mono_ns()};
    live->info = (struct top_summary){.name = selection->profile.service,
                                      .pid = selection->children ? 0 : selection->pid,
                                      .python = live->python,
                                      .rate_hz = selection->profile.rate_hz,
                                      .plain = !keys};
    if (keys) {
        live->keys_fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3); /* 0 would stand for none */
        if (live->keys_fd < 0)
            return false;
        settings.messages_fd = live->keys_fd;
    }
    live->model = top_model_new(WINDOW_NS);
    live->engine = live->model ? engine_new(&settings) : NULL;
    return live->engine != NULL;
}

static uint64_t own_cpu_ns(void)
{
    struct timespec time;

    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) != 0)
        return 0;
    return timespec_to_ns(time);
}

/* What came since the slice before. */
static struct top_counts count_slice(struct top_live *live)
{
    const struct engine_stats *stats = engine_stats(live->engine);
    struct top_counts now, slice;
    struct cpy_stats unwinder;
    uint64_t now_ns = clock_mono_ns();

    engine_unwinder(live->engine, &unwinder);
    now = (struct top_counts){.duration_ns = now_ns - live->start_ns,
                              .samples = stats->samples,
                              .missed = stats->missed,
                              .stacks = unwinder.threads,
                              .torn = unwinder.torn,
                              .own_cpu_ns = own_cpu_ns()};
    slice = (struct top_counts){.duration_ns = now.duration_ns - live->before.duration_ns,
                                .samples = now.samples - live->before.samples,
                                .missed = now.missed - live->before.missed,
                                .stacks = now.stacks - live->before.stacks,
                                .torn = now.torn - live->before.torn,
                                .own_cpu_ns = now.own_cpu_ns - live->before.own_cpu_ns};
    live->before = now;
    return slice;
}

bool top_live_is_over(const struct top_live *live)
{
    return target_selection_is_over(live->selection, engine_stats(live->engine), live->start_ns);
}

bool top_live_slice(struct top_live *live)
{
    bool over = top_live_is_over(live);
    struct top_counts counts = count_slice(live);

    top_model_begin(live->model, &counts);
    engine_end_interval(live->engine);
    live->slices++;
    live->info.processes = engine_stats(live->engine)->sampling;
    live->info.refused = engine_refused(live->engine)->count;
    live->info.elapsed_ns = clock_mono_ns() - live->start_ns;
    live->info.ended = over;
    return !live->failed;
}

void top_live_states(struct top_live *live, const struct top_list *list, size_t first, size_t count)
{
    struct top_item *thread;
    struct proc_stat stat;

    for (size_t i = first; i < list->count && i - first < count; i++) {
        thread = &live->model->tables[TOP_THREADS].items[list->items[i]];
        thread->state = '\0';
        if (top_model_is_live(live->model, thread) &&
            proc_stat_read_thread(thread->key.pid, thread->key.tid, &stat) == PROC_OK)
            thread->state = stat.state;
    }
}

void top_live_close(struct top_live *live)
{
    engine_free(live->engine);
    top_model_free(live->model);
    if (live->keys_fd > 0)
        (void)close(live->keys_fd);
    *live = (struct top_live){0};
}
