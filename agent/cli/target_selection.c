/* SPDX-License-Identifier: Apache-2.0 */
/* target_selection.c - see target_selection.h. */
#include "agent/cli/target_selection.h"
#include "agent/child/command_line.h"

#include <stdio.h>
#include <string.h>

#include "agent/child/child_process.h"
#include "agent/cli/options.h"
#include "agent/discover/naming.h"
#include "agent/host/clock.h"
#include "agent/host/escape.h"
#include "agent/host/exits.h"
#include "agent/sampling/stats.h"
#include "base/file.h"
#include "base/text.h"

enum { COMMAND_SHOWN = 80 };

bool target_selection_fits(const struct target_selection *selection, const char *subcommand)
{
    if ((selection->pid != 0) + (selection->target != NULL) + (selection->command != NULL) != 1)
        (void)fprintf(stderr,
                      "pystrobe: %s needs exactly one of --pid PID, --target NAME, -- COMMAND\n",
                      subcommand);
    else if (selection->children && !selection->pid)
        (void)fputs("pystrobe: --children goes with --pid; those of a command are there anyhow\n",
                    stderr);
    else
        return true;
    return false;
}

/* What --target means: of the path of a script, that which its processes are called by. */
static void name_target(const char *target, char *out, size_t size)
{
    const char *name = file_base_name(target);
    size_t length = strlen(name);

    if (length > 3 && strcmp(name + length - 3, ".py") == 0)
        (void)snprintf(out, size, "%.*s", (int)length - 3, name);
    else
        (void)snprintf(out, size, "%s", target);
}

bool target_selection_begin(struct target_selection *selection)
{
    struct target_profile *profile = &selection->profile;
    struct proc_stat stat;

    selection->info = proc_info_new();
    if (!selection->info)
        return false;
    proc_info_use_reader(selection->info, selection->reader);
    if (selection->command) {
        options_service(selection->command, profile->service, sizeof(profile->service));
    } else if (selection->target) {
        name_target(selection->target, profile->service, sizeof(profile->service));
    } else {
        if (proc_stat_read(selection->pid, &stat) == PROC_OK)
            selection->start_ticks = stat.start;
        selection->descendants = selection->children ? descendants_new(selection->pid) : NULL;
        if (selection->children && !selection->descendants)
            return false;
        proc_info_begin(selection->info, selection->pid);
        naming_apply(&naming_usual, selection->info, profile);
    }
    return true;
}

/* Is this process called what --target says? */
static bool matches_target_name(const struct target_selection *selection, pid_t pid)
{
    struct target_profile profile = {.rate_hz = selection->profile.rate_hz};

    proc_info_begin(selection->info, pid);
    if (naming_is_disabled(selection->info))
        return false;
    naming_apply(&naming_usual, selection->info, &profile);
    return strcmp(profile.service, selection->profile.service) == 0 ||
           strcmp(profile.service, selection->target) == 0;
}

/* Notes a process that is not known for sure. */
static void note_likely(struct target_selection *selection, pid_t pid)
{
    struct likely_descendant *likely = &selection->likely[selection->likely_count];
    char command[PROC_COMMAND_MAX] = "";

    if (selection->likely_count == LIKELY_MAX)
        return;
    (void)command_line_read(pid, command);
    likely->pid = pid;
    (void)snprintf(likely->command, sizeof(likely->command), "%s", command);
    selection->likely_count++;
}

static bool is_descendant(struct target_selection *selection, pid_t pid,
                          const struct proc_stat *stat)
{
    const enum descent descent = child_process_is_ours(pid)
                                     ? DESCENT_NONE
                                     : descendants_find(selection->descendants, pid, stat);

    if (descent == DESCENT_LIKELY)
        note_likely(selection, pid);
    return descent != DESCENT_NONE;
}

bool target_selection_choose(struct target_selection *selection, pid_t pid,
                             const struct proc_stat *stat, struct target_profile *out)
{
    *out = selection->profile;
    if (selection->command)
        return command_is_ours(pid);
    if (selection->target)
        return matches_target_name(selection, pid);
    return pid == selection->pid || (selection->children && is_descendant(selection, pid, stat));
}

/* True if process `pid` is there no more; its number may be another's. */
static bool has_process_ended(const struct target_selection *selection)
{
    struct proc_stat stat;
    enum proc_rc rc = proc_stat_read(selection->pid, &stat);

    return rc == PROC_GONE ||
           (rc == PROC_OK && (proc_stat_is_ended(&stat) ||
                              (selection->start_ticks && stat.start != selection->start_ticks)));
}

bool target_selection_is_over(struct target_selection *selection, const struct engine_stats *stats,
                              uint64_t start_ns)
{
    const uint64_t now_ns = clock_mono_ns();

    if (selection->command)
        return selection->child.ended;
    if (selection->descendants)
        descendants_update(selection->descendants);
    if (stats->sampling > 0 || selection->last_sample_ns == 0)
        selection->last_sample_ns = stats->sampling > 0 ? now_ns : start_ns;
    if (stats->sampling > 0)
        return false;
    /* One that lives may be sampled again soon: some samples failed, or it execs. */
    return now_ns - selection->last_sample_ns > NS_PER_S ||
           (selection->pid && !selection->children && has_process_ended(selection));
}

void target_selection_explain_end(const struct target_selection *selection,
                                  const struct engine_stats *stats, struct buf *out)
{
    if (!selection->pid)
        return;
    if (has_process_ended(selection))
        buf_add_fmt(out, "pystrobe: process %d has ended\n", (int)selection->pid);
    else
        buf_add_fmt(out, "pystrobe: process %d goes on, but cannot be sampled any more: %s\n",
                    (int)selection->pid,
                    stats->last_error.text[0] ? stats->last_error.text
                                              : cpy_rc_text(stats->last_rc));
}

/* Names a process by its number and its command line, cut. */
static void add_process_name(pid_t pid, const char *command, struct buf *out)
{
    buf_add_fmt(out, "process %d (", (int)pid);
    escape_add(out, command, strnlen(command, COMMAND_SHOWN));
    buf_add_str(out, ")");
}

/* The descendants of a command that go on. */
static void explain_left_behind(struct buf *out)
{
    pid_t pids[LIKELY_MAX];
    char command[PROC_COMMAND_MAX];
    size_t count = command_descendants(pids, LIKELY_MAX);

    for (size_t i = 0; i < count && i < LIKELY_MAX; i++) {
        (void)command_line_read(pids[i], command);
        buf_add_str(out, "pystrobe: the command has ended; ");
        add_process_name(pids[i], command, out);
        buf_add_str(out, ", which it started, runs on and is no longer sampled\n");
    }
    if (count > LIKELY_MAX)
        buf_add_fmt(out, "pystrobe: %zu more %s on\n", count - LIKELY_MAX,
                    text_plural(count - LIKELY_MAX, "goes", "go"));
}

void target_selection_explain_descent(const struct target_selection *selection, struct buf *out)
{
    if (selection->command && selection->child.ended)
        explain_left_behind(out);
    for (size_t i = 0; i < selection->likely_count; i++) {
        buf_add_str(out, "pystrobe: ");
        add_process_name(selection->likely[i].pid, selection->likely[i].command, out);
        buf_add_str(out, " is taken for a descendant by its process group: its parent has ended\n");
    }
    if (selection->descendants && !descendants_are_reported(selection->descendants))
        buf_add_str(out, "pystrobe: the kernel did not report all processes that were started: "
                         "descendants whose parents ended at once may be missing\n");
}

/* Says that nothing was there that could be meant. */
static void explain_absence(const struct target_selection *selection)
{
    if (selection->target)
        (void)fprintf(stderr,
                      "pystrobe: no Python program called '%s' runs that we may see; "
                      "pystrobe record --pid N takes any process\n",
                      selection->target);
    else if (selection->command)
        (void)fprintf(stderr, "pystrobe: '%s' ran no Python that could be sampled\n",
                      selection->command[0]);
    else
        (void)fprintf(stderr, "pystrobe: process %d: no such process\n", (int)selection->pid);
}

/* Says why there is no stack of a process that was found. */
static void explain_no_stack(const struct target_selection *selection,
                             const struct cpy_stats *unwinder)
{
    const bool ended = selection->pid ? has_process_ended(selection) : selection->child.ended;
    struct buf text;

    buf_init(&text, 512);
    if (!stats_no_stack(unwinder, ended, &text))
        buf_add_str(&text, "it ended before it could be sampled");
    (void)fprintf(stderr, "pystrobe: %.*s\n", (int)text.size, (const char *)text.data);
    buf_finish(&text);
}

int target_selection_explain_nothing(const struct target_selection *selection,
                                     const struct engine_stats *stats,
                                     const struct cpy_stats *unwinder)
{
    /* Of a command that runs no Python, or ended while it was looked at, its name tells more. */
    bool named =
        selection->command && (stats->last_rc == CPY_FOREIGN || stats->last_rc == CPY_GONE);

    if (stats->attached == 0 && stats->last_rc != CPY_OK && !named)
        return options_open_failed(stats->last_rc, stats->last_access, &stats->last_error);
    if (stats->attached > 0)
        explain_no_stack(selection, unwinder);
    else
        explain_absence(selection);
    return EXIT_UNAVAILABLE;
}

void target_selection_finish(struct target_selection *selection)
{
    descendants_free(selection->descendants);
    selection->descendants = NULL;
    proc_info_free(selection->info);
    selection->info = NULL;
}
