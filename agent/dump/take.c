/* SPDX-License-Identifier: Apache-2.0 */
/* take.c - see take.h. */
#include "agent/dump/take.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "agent/dump/pause.h"
#include "agent/host/clock.h"
#include "agent/host/exits.h"
#include "agent/proc/proc.h"
#include "agent/proc/ptrace_access.h"

enum { TRIES = 10 };

void dump_taken_init(struct dump_taken *taken)
{
    snapshot_init(&taken->snapshot);
    taken->unix_ns = 0;
    taken->warning[0] = '\0';
}

void dump_taken_finish(struct dump_taken *taken)
{
    snapshot_finish(&taken->snapshot);
}

/* Adds a sentence to the warning. */
static void PRINTF_LIKE(2, 3) warn(struct dump_taken *out, const char *format, ...)
{
    size_t size = strlen(out->warning);
    va_list args;

    if (size > 0 && size < DUMP_WARNING_MAX - 2) {
        memcpy(out->warning + size, "; ", 3);
        size += 2;
    }
    va_start(args, format);
    (void)vsnprintf(out->warning + size, DUMP_WARNING_MAX - size, format, args);
    va_end(args);
}

int dump_refuse_changed(const struct held_program *held)
{
    const enum program_state state = program_look(held);

    if (state == PROGRAM_SAME)
        return EXIT_OK;
    (void)fprintf(stderr, "pystrobe: process %d %s: nothing of it is shown\n",
                  (int)held->program.id.pid, program_state_text(state));
    return EXIT_UNAVAILABLE;
}

/* Says why the process could not be read; gives the exit status. */
static int read_failed(pid_t pid, enum cpy_rc rc)
{
    (void)fprintf(stderr, "pystrobe: process %d: %s\n", (int)pid, cpy_rc_text(rc));
    return rc == CPY_NOMEM ? EXIT_FAILED : EXIT_UNAVAILABLE;
}

/* Says why the process could not be stopped; gives the exit status. */
static int pause_failed(pid_t pid, enum pause_rc rc, const struct err *err)
{
    char cure[320];

    (void)fprintf(stderr, "pystrobe: %s\n", err->text);
    if (rc != PAUSE_DENIED)
        return EXIT_UNAVAILABLE;
    ptrace_access_explain(ptrace_access_find(pid), cure, sizeof(cure));
    (void)fprintf(stderr, "pystrobe: %s\n", cure);
    return EXIT_NO_PERMISSION;
}

static enum cpy_rc read_snapshot(struct cpy_target *target, struct dump_taken *out)
{
    enum cpy_rc rc = CPY_RACED;

    for (int tries = 0; rc == CPY_RACED && tries < TRIES; tries++) {
        snapshot_reset(&out->snapshot);
        out->unix_ns = clock_utc_ns();
        rc = cpy_sample(target, snapshot_add, &out->snapshot);
    }
    return rc == CPY_OK && out->snapshot.failed ? CPY_NOMEM : rc;
}

/*
 * To the kernel nothing of a stopped process is on a CPU: what ran before it was stopped
 * counts. So that status is set here, and the threads without it left out if it is asked for.
 */
static void add_cpu_status(const struct pause *pause, uint32_t only, struct snapshot *snapshot)
{
    struct cpy_thread *thread;
    size_t i, kept = 0;

    snapshot->torn = 0;
    for (i = 0; i < snapshot->count; i++) {
        thread = &snapshot->threads[i];
        if (thread->tid != 0 && pause_ran(pause, thread->tid))
            thread->status |= CPY_STATUS_CPU;
        if ((thread->status & only) == only) {
            snapshot->torn += thread->torn;
            snapshot->threads[kept++] = *thread;
        }
    }
    snapshot->count = kept;
}

/* Reads the threads of a process that is stopped meanwhile. */
static int take_paused(const struct dump_request *request, struct cpy_target *target,
                       struct dump_taken *out)
{
    struct cpy_options options = request->options;
    struct pause *pause = NULL;
    struct err err = {""};
    enum pause_rc stopped;
    enum cpy_rc rc;
    size_t late;

    options.status &= ~(uint32_t)CPY_STATUS_CPU;
    options.only &= ~(uint32_t)CPY_STATUS_CPU;
    cpy_set_options(target, &options);
    (void)read_snapshot(target, out); /* what is decoded now need not be while it stands still */
    stopped = pause_begin(request->pid, &pause, &err);
    if (stopped != PAUSE_OK)
        return pause_failed(request->pid, stopped, &err);
    rc = read_snapshot(target, out);
    late = pause_late(pause);
    if (rc == CPY_OK)
        add_cpu_status(pause, request->options.only, &out->snapshot);
    if (late > 0)
        warn(out, "%zu thread%s did not stop within %d ms and may have run meanwhile", late,
             late == 1 ? "" : "s", PAUSE_STOP_MS);
    if (!pause_end(pause, &err))
        warn(out, "%s", err.text);
    return rc == CPY_OK ? EXIT_OK : read_failed(request->pid, rc);
}

int dump_take(const struct dump_request *request, struct cpy_target *target, struct dump_taken *out)
{
    struct cpy_info another;
    enum cpy_rc rc;

    if (cpy_info(target)->warning[0])
        warn(out, "%s", cpy_info(target)->warning);
    if (cpy_find_another(target, &another))
        warn(out, "it holds a second Python, %s of %s, whose threads are not shown",
             another.version, another.binary.file);
    if (request->pause)
        return take_paused(request, target, out);
    cpy_set_options(target, &request->options);
    rc = read_snapshot(target, out);
    return rc == CPY_OK ? EXIT_OK : read_failed(request->pid, rc);
}
