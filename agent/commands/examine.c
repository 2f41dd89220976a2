/* SPDX-License-Identifier: Apache-2.0 */
/* examine.c - see examine.h: one process. The others are in examine_....c. */
#include "agent/commands/examine.h"

#include <time.h>
#include <unistd.h>

#include "agent/host/clock.h"
#include "agent/proc/namespaces.h"
#include "agent/proc/proc.h"
#include "agent/proc/ptrace_access.h"
#include "base/text.h"
#include "unwind/cpy.h"

enum { TRIES = 200, TRY_NS = 10 * NS_PER_MS };

static void count_found_thread(void *ctx, const struct cpy_thread *thread)
{
    unsigned *threads = ctx;

    (void)thread;
    ++*threads;
}

/* Samples until it works once: a busy process tears some. */
static void try_sampling(struct findings *out, struct cpy_target *target)
{
    const struct timespec pause = {.tv_nsec = TRY_NS};
    enum cpy_rc rc = CPY_RACED;
    unsigned threads = 0;
    uint64_t began_ns = 0;

    for (int i = 0; i < TRIES && (rc == CPY_RACED || rc == CPY_STARTING); i++) {
        threads = 0;
        began_ns = clock_mono_ns();
        rc = cpy_sample(target, count_found_thread, &threads);
        if (rc == CPY_RACED || rc == CPY_STARTING)
            (void)nanosleep(&pause, NULL);
    }
    if (rc == CPY_OK)
        findings_add(out, FINDING_GOOD, "sample", "", "%u %s in %llu us", threads,
                     text_plural(threads, "thread", "threads"),
                     (unsigned long long)(clock_mono_ns() - began_ns) / NS_PER_US);
    else
        findings_add(out, FINDING_BAD, "sample", "try again; if it stays so, report it as a bug",
                     "%s", cpy_rc_text(rc));
}

/* Whatever else its interpreter may be, it is none that is known here. */
static void report_foreign(struct findings *out, enum cpy_rc rc, const struct err *err)
{
    findings_add(out, FINDING_BAD, "interpreter",
                 rc == CPY_STARTING ? "try again when its Python is up"
                                    : "pystrobe reads CPython 3.6 to 3.15: name the process that "
                                      "runs it, not its parent or a shell",
                 "%s", err->text[0] ? err->text : cpy_rc_text(rc));
}

/* No process, or one that has ended; numbers are others in each namespace. */
static void report_gone(struct findings *out, pid_t pid)
{
    struct proc_stat stat;

    if (proc_stat_read(pid, &stat) == PROC_OK)
        findings_add(out, FINDING_BAD, "process", "name a process that runs",
                     "%d: it has no memory: it has ended and waits for its parent, or it is a "
                     "thread of the kernel",
                     (int)pid);
    else
        findings_add(out, FINDING_BAD, "process",
                     namespaces_are_hosts_processes()
                         ? "look for its number: pgrep -af python"
                         : "take the number that it has in here (pgrep -af python), or run "
                           "pystrobe on the host (a container: --pid=host)",
                     "%d: %s%s", (int)pid, ptrace_access_text(PTRACE_ACCESS_GONE),
                     namespaces_are_hosts_processes() ? "" : " in this pid namespace");
}

/* A security module decides by what it calls both. */
static void report_labels(struct findings *out, pid_t pid)
{
    char ours[NAMESPACES_LABEL_MAX], theirs[NAMESPACES_LABEL_MAX];

    namespaces_label(getpid(), ours);
    namespaces_label(pid, theirs);
    if (ours[0] || theirs[0])
        findings_add(out, FINDING_NOTE, "security module", "",
                     "pystrobe runs as %s, process %d as %s", ours[0] ? ours : "(nothing)",
                     (int)pid, theirs[0] ? theirs : "(nothing)");
}

void examine_process(struct findings *out, pid_t pid)
{
    enum ptrace_access access = ptrace_access_find(pid);
    struct cpy_target *target = NULL;
    struct err err = {""};
    enum cpy_rc rc;

    if (access == PTRACE_ACCESS_GONE) {
        report_gone(out, pid);
        return;
    }
    if (access != PTRACE_ACCESS_NONE) {
        findings_add(out, FINDING_BAD, "process", ptrace_access_cure(access), "%d: %s", (int)pid,
                     ptrace_access_text(access));
        if (access == PTRACE_ACCESS_LSM || access == PTRACE_ACCESS_NOT_DUMPABLE_OR_LSM)
            report_labels(out, pid);
        return;
    }
    findings_add(out, FINDING_GOOD, "process", "", "%d: %s", (int)pid, ptrace_access_text(access));
    rc = cpy_open(pid, &target, &err);
    if (rc == CPY_DENIED) {
        findings_add(out, FINDING_BAD, "process",
                     "give pystrobe CAP_DAC_READ_SEARCH, or run it as that user", "%s", err.text);
    } else if (rc != CPY_OK) {
        report_foreign(out, rc, &err);
    } else {
        findings_add(out, cpy_info(target)->warning[0] ? FINDING_NOTE : FINDING_GOOD, "interpreter",
                     "", "CPython %s%s%s", cpy_info(target)->version,
                     cpy_info(target)->warning[0] ? ": " : "", cpy_info(target)->warning);
        try_sampling(out, target);
    }
    cpy_close(target);
}
