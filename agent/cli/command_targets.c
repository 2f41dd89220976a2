/* SPDX-License-Identifier: Apache-2.0 */
/* command_targets.c - see command_targets.h. */
#include "agent/cli/command_targets.h"

#include <stdio.h>
#include <string.h>

#include "agent/cli/options.h"
#include "agent/discover/naming.h"
#include "agent/host/clock.h"
#include "agent/host/exits.h"

bool aim_fits(const struct aim *aim, const char *command)
{
    if ((aim->pid != 0) + (aim->target != NULL) + (aim->command != NULL) != 1)
        (void)fprintf(stderr, "pystrobe: %s needs one of --pid PID, --target NAME and -- COMMAND\n",
                      command);
    else if (aim->children && !aim->pid)
        (void)fputs("pystrobe: --children goes with --pid; those of a command are there anyhow\n",
                    stderr);
    else
        return true;
    return false;
}

/* What --target means: of the path of a script, that which its processes are called by. */
static void name_target(const char *target, char *out, size_t size)
{
    const char *name = strrchr(target, '/');
    size_t length;

    name = name ? name + 1 : target;
    length = strlen(name);
    if (length > 3 && strcmp(name + length - 3, ".py") == 0)
        (void)snprintf(out, size, "%.*s", (int)length - 3, name);
    else
        (void)snprintf(out, size, "%s", target);
}

bool aim_begin(struct aim *aim)
{
    struct choice *choice = &aim->choice;

    aim->facts = facts_new();
    if (!aim->facts)
        return false;
    if (aim->command) {
        options_service(aim->command, choice->service, sizeof(choice->service));
    } else if (aim->target) {
        name_target(aim->target, choice->service, sizeof(choice->service));
    } else {
        facts_begin(aim->facts, aim->pid);
        naming_apply(&naming_usual, aim->facts, choice);
    }
    return true;
}

/* Is this process called what --target says? */
static bool has_name(const struct aim *aim, pid_t pid)
{
    struct choice choice = {.rate_hz = aim->choice.rate_hz};

    facts_begin(aim->facts, pid);
    if (naming_is_disabled(aim->facts))
        return false;
    naming_apply(&naming_usual, aim->facts, &choice);
    return strcmp(choice.service, aim->choice.service) == 0 ||
           strcmp(choice.service, aim->target) == 0;
}

bool aim_choose(const struct aim *aim, pid_t pid, struct choice *out)
{
    *out = aim->choice;
    if (aim->command)
        return child_is_ours(pid);
    if (aim->target)
        return has_name(aim, pid);
    return pid == aim->pid || (aim->children && proc_descends(pid, aim->pid));
}

bool aim_is_over(const struct aim *aim, const struct engine_stats *stats, uint64_t start_ns)
{
    if (aim->command)
        return aim->child.ended;
    /* A process that was sampled and is gone, or cannot be sampled at all. */
    return stats->sampling == 0 && (stats->attached > 0 || clock_mono_ns() - start_ns > NS_PER_S);
}

/* Says that nothing was there that could be meant. */
static void explain_absence(const struct aim *aim)
{
    if (aim->target)
        (void)fprintf(stderr,
                      "pystrobe: no Python program called '%s' runs that we may see; "
                      "pystrobe record --pid N takes any process\n",
                      aim->target);
    else if (aim->command)
        (void)fprintf(stderr, "pystrobe: '%s' ran no Python that could be sampled\n",
                      aim->command[0]);
    else
        (void)fprintf(stderr, "pystrobe: process %d: no such process\n", (int)aim->pid);
}

int aim_explain_nothing(const struct aim *aim, const struct engine_stats *stats)
{
    /* Of a command that runs no Python, or ended while it was looked at, its name tells more. */
    bool named = aim->command && (stats->last_rc == CPY_FOREIGN || stats->last_rc == CPY_GONE);

    if (stats->attached == 0 && stats->last_rc != CPY_OK && !named)
        return options_open_failed(stats->last_rc, stats->last_obstacle, &stats->last_error);
    if (stats->attached > 0)
        (void)fputs("pystrobe: it ended before it could be sampled\n", stderr);
    else
        explain_absence(aim);
    return EXIT_UNAVAILABLE;
}

void aim_finish(struct aim *aim)
{
    facts_free(aim->facts);
    aim->facts = NULL;
}
