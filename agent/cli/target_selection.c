/* SPDX-License-Identifier: Apache-2.0 */
/* target_selection.c - see target_selection.h. */
#include "agent/cli/target_selection.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/cli/options.h"
#include "agent/discover/naming.h"
#include "agent/host/clock.h"
#include "agent/host/exits.h"
#include "base/file.h"

bool target_selection_fits(const struct target_selection *selection, const char *command)
{
    if ((selection->pid != 0) + (selection->target != NULL) + (selection->command != NULL) != 1)
        (void)fprintf(stderr, "pystrobe: %s needs one of --pid PID, --target NAME and -- COMMAND\n",
                      command);
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

    selection->info = proc_info_new();
    if (!selection->info)
        return false;
    if (selection->command) {
        options_service(selection->command, profile->service, sizeof(profile->service));
    } else if (selection->target) {
        name_target(selection->target, profile->service, sizeof(profile->service));
    } else {
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

bool target_selection_choose(const struct target_selection *selection, pid_t pid,
                             struct target_profile *out)
{
    *out = selection->profile;
    if (selection->command)
        return command_is_ours(pid);
    if (selection->target)
        return matches_target_name(selection, pid);
    return pid == selection->pid || (selection->children && proc_descends(pid, selection->pid));
}

bool target_selection_is_over(const struct target_selection *selection,
                              const struct engine_stats *stats, uint64_t start_ns)
{
    if (selection->command)
        return selection->child.ended;
    /* A process that was sampled and is gone, or cannot be sampled at all. */
    return stats->sampling == 0 && (stats->attached > 0 || clock_mono_ns() - start_ns > NS_PER_S);
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

int target_selection_explain_nothing(const struct target_selection *selection,
                                     const struct engine_stats *stats, uint64_t refused)
{
    /* Of a command that runs no Python, or ended while it was looked at, its name tells more. */
    bool named =
        selection->command && (stats->last_rc == CPY_FOREIGN || stats->last_rc == CPY_GONE);

    if (stats->attached == 0 && stats->last_rc != CPY_OK && !named)
        return options_open_failed(stats->last_rc, stats->last_access, &stats->last_error);
    if (stats->attached > 0 && refused > 0)
        (void)fprintf(stderr,
                      "pystrobe: its stacks could not be read: all %" PRIu64
                      " that were tried make no stack that is known, or moved on\n",
                      refused);
    else if (stats->attached > 0)
        (void)fputs("pystrobe: it ended before it could be sampled\n", stderr);
    else
        explain_absence(selection);
    return EXIT_UNAVAILABLE;
}

void target_selection_finish(struct target_selection *selection)
{
    proc_info_free(selection->info);
    selection->info = NULL;
}
