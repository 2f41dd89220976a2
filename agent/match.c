/* SPDX-License-Identifier: Apache-2.0 */
/* match.c - see match.h. */
#include "agent/match.h"

#include <errno.h>
#include <fnmatch.h>
#include <pwd.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>

/* A target's conditions, ready to be tried. */
struct rule {
    const struct conf_target *target; /* borrowed */
    regex_t cmdline;
    bool has_cmdline;
};

struct matcher {
    size_t count;
    struct rule rules[];
};

/* What of a process has been read; each thing at most once. */
struct facts {
    pid_t pid;
    bool has_cmdline, has_exe;
    char cmdline[PROC_COMMAND_MAX];
    char exe[PROC_COMMAND_MAX];
};

void matcher_free(struct matcher *matcher)
{
    size_t i;

    if (!matcher)
        return;
    for (i = 0; i < matcher->count; i++)
        if (matcher->rules[i].has_cmdline)
            regfree(&matcher->rules[i].cmdline);
    free(matcher);
}

struct matcher *matcher_new(const struct conf *conf)
{
    struct matcher *matcher =
        calloc(1, sizeof(*matcher) + conf->target_count * sizeof(struct rule));
    struct rule *rule;

    if (!matcher)
        return NULL;
    while (matcher->count < conf->target_count) {
        rule = &matcher->rules[matcher->count];
        rule->target = &conf->targets[matcher->count];
        matcher->count++;
        if (!rule->target->cmdline)
            continue;
        if (regcomp(&rule->cmdline, rule->target->cmdline, REG_EXTENDED | REG_NOSUB) != 0) {
            matcher_free(matcher); /* conf has compiled it already: out of memory */
            return NULL;
        }
        rule->has_cmdline = true;
    }
    return matcher;
}

/* A name or a number, looked up at each try: users come and go. */
static bool user_is(const char *user, pid_t pid)
{
    struct passwd entry, *found = NULL;
    char buffer[4096], *end;
    unsigned long number;
    uid_t uid;

    if (!proc_user(pid, &uid))
        return false;
    errno = 0;
    number = strtoul(user, &end, 10);
    if (*end == '\0' && errno == 0)
        return number == uid;
    return getpwnam_r(user, &entry, buffer, sizeof(buffer), &found) == 0 && found &&
           found->pw_uid == uid;
}

static bool cmdline_fits(const struct rule *rule, struct facts *facts)
{
    if (!facts->has_cmdline)
        proc_command_line(facts->pid, facts->cmdline);
    facts->has_cmdline = true;
    return facts->cmdline[0] && regexec(&rule->cmdline, facts->cmdline, 0, NULL, 0) == 0;
}

static bool exe_fits(const struct rule *rule, struct facts *facts)
{
    if (!facts->has_exe)
        proc_executable(facts->pid, facts->exe);
    facts->has_exe = true;
    return facts->exe[0] && fnmatch(rule->target->exe, facts->exe, 0) == 0;
}

static bool fits(const struct rule *rule, struct facts *facts)
{
    return (!rule->has_cmdline || cmdline_fits(rule, facts)) &&
           (!rule->target->exe || exe_fits(rule, facts)) &&
           (!rule->target->user || user_is(rule->target->user, facts->pid));
}

enum service_split match_split(enum conf_split split)
{
    switch (split) {
    case CONF_SPLIT_NONE:
        return SPLIT_NONE;
    case CONF_SPLIT_PROCESS:
        return SPLIT_PROCESS;
    case CONF_SPLIT_THREAD:
        return SPLIT_THREAD;
    }
    return SPLIT_NONE;
}

bool matcher_choose(const struct matcher *matcher, pid_t pid, struct choice *out)
{
    struct facts facts = {.pid = pid};
    const struct conf_target *target;
    size_t i;

    for (i = 0; i < matcher->count; i++) {
        if (!fits(&matcher->rules[i], &facts))
            continue;
        target = matcher->rules[i].target;
        (void)snprintf(out->service, sizeof(out->service), "%s", target->service);
        out->rate_hz = target->rate_hz;
        out->split = match_split(target->split);
        return true;
    }
    return false;
}
