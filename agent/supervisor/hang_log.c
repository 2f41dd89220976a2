/* SPDX-License-Identifier: Apache-2.0 */
/* hang_log.c - see hang_log.h. */
#include "agent/supervisor/hang_log.h"

#include <inttypes.h>
#include <stdio.h>

#include "agent/host/clock.h"
#include "agent/host/log.h"

enum { ANY_DUMP = 1 }; /* the one kind in `dumps` */

static void say_stuck(const struct engine_hang *hang, const char *service, uint64_t seconds)
{
    char thread[40] = "a thread";

    if (hang->tid != 0)
        (void)snprintf(thread, sizeof(thread), "thread %d", (int)hang->tid);
    log_line(LOG_LEVEL_WARNING,
             "process %d of service %s hangs: %s has held the GIL in one place for %" PRIu64 " s",
             (int)hang->id.pid, service, thread, seconds);
}

static void say_deadlock(const struct engine_hang *hang, const char *service, uint64_t seconds)
{
    if (hang->tid == 0)
        log_line(LOG_LEVEL_WARNING,
                 "process %d of service %s hangs: for %" PRIu64
                 " s all its threads have waited for locks of its own",
                 (int)hang->id.pid, service, seconds);
    else
        log_line(LOG_LEVEL_WARNING,
                 "process %d of service %s hangs: for %" PRIu64
                 " s thread %d and others have waited for each other's locks",
                 (int)hang->id.pid, service, seconds, (int)hang->tid);
}

static void say(const struct engine_hang *hang, const char *service)
{
    const uint64_t seconds = hang->lasted_ns / NS_PER_S;

    switch (hang->kind) {
    case HANG_STUCK:
        say_stuck(hang, service, seconds);
        break;
    case HANG_DEADLOCK:
        say_deadlock(hang, service, seconds);
        break;
    case HANG_NONE:
        log_line(LOG_LEVEL_INFO, "process %d of service %s goes on: it hung for %" PRIu64 " s",
                 (int)hang->id.pid, service, seconds);
        break;
    }
}

static bool may_dump(struct hang_log *log, struct hang_reported *reported, uint64_t now_ns)
{
    uint64_t left_out;

    if (now_ns < reported->next_dump_ns ||
        !log_limit_pass(&log->dumps, ANY_DUMP, now_ns, &left_out))
        return false;
    reported->next_dump_ns = now_ns + HANG_DUMP_EVERY_NS;
    return true;
}

void hang_report(struct hang_log *log, struct hang_reported *reported,
                 const struct engine_hang *hang, const char *service, const char *dump, size_t size)
{
    const uint64_t now_ns = clock_mono_ns();
    const uint64_t lasted_ns = hang->lasted_ns < now_ns ? hang->lasted_ns : now_ns;
    char prefix[32];

    if (hang->kind == reported->kind)
        return;
    log->counts[hang->kind]++;
    reported->kind = hang->kind;
    reported->tid = hang->tid;
    reported->since_ns = now_ns - lasted_ns;
    reported->count += hang->kind != HANG_NONE;
    say(hang, service);
    if (hang->kind == HANG_NONE || size == 0 || !may_dump(log, reported, now_ns))
        return;
    (void)snprintf(prefix, sizeof(prefix), "process %d: ", (int)hang->id.pid);
    log_text(LOG_LEVEL_WARNING, prefix, dump, size);
}

void hang_forget(struct hang_reported *reported)
{
    reported->kind = HANG_NONE;
}
