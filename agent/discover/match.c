/* SPDX-License-Identifier: Apache-2.0 */
/* match.c - see match.h. */
#include "agent/discover/match.h"

#include <fnmatch.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/discover/naming.h"
#include "agent/discover/proc_info.h"
#include "agent/discover/users.h"

enum { ANCESTORS_MAX = 32, EXPLAINED_MAX = 8 };

/* Conditions with their regular expressions compiled. */
struct conditions {
    const struct conf_conditions *conf; /* borrowed */
    regex_t *cmdline, *parent;          /* owned; NULL: any */
    regex_t *env;                       /* owned: env_count of them, the first `compiled` ready */
    size_t compiled;
};

/* A target's conditions, ready to be tried. */
struct rule {
    const struct conf_target *target; /* borrowed */
    struct conditions when, unless;
};

struct matcher {
    const struct conf *conf;  /* borrowed */
    struct proc_info *info;   /* owned: of the process that is tried */
    struct proc_info *others; /* owned: of its ancestors */
    size_t count;
    struct rule rules[];
};

static void free_regex(regex_t *regex)
{
    if (regex)
        regfree(regex);
    free(regex);
}

static void conditions_finish(struct conditions *conditions)
{
    free_regex(conditions->cmdline);
    free_regex(conditions->parent);
    while (conditions->compiled > 0)
        regfree(&conditions->env[--conditions->compiled]);
    free(conditions->env);
}

void matcher_free(struct matcher *matcher)
{
    if (!matcher)
        return;
    for (size_t i = 0; i < matcher->count; i++) {
        conditions_finish(&matcher->rules[i].when);
        conditions_finish(&matcher->rules[i].unless);
    }
    proc_info_free(matcher->info);
    proc_info_free(matcher->others);
    free(matcher);
}

/* conf has compiled it already: what fails here is memory. */
static bool compile(const char *text, regex_t *out)
{
    return regcomp(out, text, REG_EXTENDED | REG_NOSUB) == 0;
}

/* Compiles an expression that may be absent. */
static bool compile_new(const char *text, regex_t **out)
{
    regex_t *regex;

    if (!text)
        return true;
    regex = malloc(sizeof(*regex));
    if (!regex || !compile(text, regex)) {
        free(regex);
        return false;
    }
    *out = regex;
    return true;
}

static bool conditions_init(const struct conf_conditions *conf, struct conditions *out)
{
    out->conf = conf;
    out->env = calloc(conf->env_count + 1, sizeof(*out->env));
    if (!out->env || !compile_new(conf->cmdline, &out->cmdline) ||
        !compile_new(conf->parent, &out->parent))
        return false;
    while (out->compiled < conf->env_count) {
        if (!compile(conf->env[out->compiled].value, &out->env[out->compiled]))
            return false;
        out->compiled++;
    }
    return true;
}

void matcher_use_reader(struct matcher *matcher, struct proc_reader *reader)
{
    proc_info_use_reader(matcher->info, reader);
    proc_info_use_reader(matcher->others, reader);
}

struct matcher *matcher_new(const struct conf *conf)
{
    struct matcher *matcher =
        calloc(1, sizeof(*matcher) + conf->target_count * sizeof(struct rule));
    struct rule *rule;

    if (!matcher)
        return NULL;
    matcher->conf = conf;
    matcher->info = proc_info_new();
    matcher->others = proc_info_new();
    if (!matcher->info || !matcher->others)
        goto fail;
    while (matcher->count < conf->target_count) {
        rule = &matcher->rules[matcher->count];
        rule->target = &conf->targets[matcher->count];
        matcher->count++;
        if (!conditions_init(&rule->target->when, &rule->when) ||
            !conditions_init(&rule->target->unless, &rule->unless))
            goto fail;
    }
    return matcher;

fail:
    matcher_free(matcher);
    return NULL;
}

static bool is_found(const regex_t *regex, const char *text)
{
    return text && text[0] && regexec(regex, text, 0, NULL, 0) == 0;
}

static bool matches_glob(const char *pattern, const char *text)
{
    return text[0] && fnmatch(pattern, text, 0) == 0;
}

/* A name or a number, looked up at each try: users come and go. */
static bool user_is(const char *user, struct proc_info *info)
{
    unsigned long number;
    uid_t uid;

    if (!proc_info_user(info, &uid))
        return false;
    if (users_number(user, &number))
        return number == uid;
    return proc_info_user_is(info, user);
}

/* By id, the id's first digits as container engines show them, or name. */
static bool container_is(const struct matcher *matcher, const char *pattern)
{
    const char *allow = matcher->conf->agent.env_allow;
    const char *id = proc_info_cgroup(matcher->info)->container;
    char shown[13];

    (void)snprintf(shown, sizeof(shown), "%.12s", id);
    return matches_glob(pattern, id) || matches_glob(pattern, shown) ||
           matches_glob(pattern, naming_container_name(allow, matcher->info));
}

/* True if an ancestor's command line has what is searched. */
static bool descends(const struct matcher *matcher, const regex_t *regex)
{
    pid_t pid = proc_info_pid(matcher->info);
    struct proc_stat stat;

    for (int i = 0; i < ANCESTORS_MAX && proc_stat_read(pid, &stat) == PROC_OK && stat.parent > 0;
         i++) {
        pid = stat.parent;
        proc_info_begin(matcher->others, pid);
        if (is_found(regex, proc_info_command_line(matcher->others)))
            return true;
        if (proc_info_is_unknown(matcher->others))
            proc_info_set_unknown(matcher->info);
    }
    return false;
}

static bool variable_fits(const struct matcher *matcher, const struct conditions *conditions,
                          size_t i)
{
    const char *value = naming_variable(matcher->conf->agent.env_allow, matcher->info,
                                        conditions->conf->env[i].name);

    return value && regexec(&conditions->env[i], value, 0, NULL, 0) == 0;
}

/* True if all conditions on variables hold, or with `wanted` false, if none of them does. */
static bool variables_hold(const struct matcher *matcher, const struct conditions *c, bool wanted)
{
    for (size_t i = 0; i < c->conf->env_count; i++)
        if (variable_fits(matcher, c, i) != wanted)
            return false;
    return true;
}

/* What the first condition that is set and does not hold is about, or with `wanted` false, that
 * does; NULL: there is none. The cheap ones come first. */
static const char *against(const struct matcher *matcher, const struct conditions *c, bool wanted)
{
    const struct conf_conditions *conf = c->conf;
    struct proc_info *info = matcher->info;

    if (conf->exe && matches_glob(conf->exe, proc_info_exe(info)) != wanted)
        return "exe";
    if (c->cmdline && is_found(c->cmdline, proc_info_command_line(info)) != wanted)
        return "cmdline";
    if (conf->user && user_is(conf->user, info) != wanted)
        return "user";
    if (conf->cgroup && matches_glob(conf->cgroup, proc_info_cgroup(info)->path) != wanted)
        return "cgroup";
    if (conf->systemd_unit &&
        matches_glob(conf->systemd_unit, proc_info_cgroup(info)->unit) != wanted)
        return "systemd_unit";
    if (conf->container && container_is(matcher, conf->container) != wanted)
        return "container";
    if (!variables_hold(matcher, c, wanted))
        return "environment";
    return c->parent && descends(matcher, c->parent) != wanted ? "parent" : NULL;
}

enum service_split match_split(enum conf_split split)
{
    switch (split) {
    case CONF_SPLIT_UNSET:
    case CONF_SPLIT_NONE:
        return SPLIT_NONE;
    case CONF_SPLIT_PROCESS:
        return SPLIT_PROCESS;
    case CONF_SPLIT_THREAD:
        return SPLIT_THREAD;
    }
    return SPLIT_NONE;
}

static void apply_target_settings(const struct matcher *matcher, const struct conf_target *target,
                                  struct target_profile *out)
{
    const struct naming naming = {
        .env_allow = matcher->conf->agent.env_allow,
        .auto_labels = matcher->conf->agent.auto_labels,
        .service = target->service,
        .target = target->name,
        .labels = target->labels,
        .label_count = target->label_count,
    };

    naming_apply(&naming, matcher->info, out);
    out->rate_hz = target->rate_hz;
    out->split = match_split(target->split);
    out->options.hang_ns = target->hang_after_ns;
    out->max_split = matcher->conf->agent.max_split;
}

bool matcher_choose(const struct matcher *matcher, pid_t pid, struct target_profile *out)
{
    const struct rule *rule;
    bool found = false;

    proc_info_begin(matcher->info, pid);
    for (size_t i = 0; i < matcher->count; i++) {
        rule = &matcher->rules[i];
        if (against(matcher, &rule->when, true) || against(matcher, &rule->unless, false))
            continue;
        found = !naming_is_disabled(matcher->info);
        if (found)
            apply_target_settings(matcher, rule->target, out);
        break;
    }
    out->unknown = proc_info_is_unknown(matcher->info);
    return found && !out->unknown;
}

void matcher_explain(const struct matcher *matcher, pid_t pid, struct buf *out)
{
    const char *key, *unless;

    proc_info_begin(matcher->info, pid);
    for (size_t i = 0; i < matcher->count && i < EXPLAINED_MAX; i++) {
        key = against(matcher, &matcher->rules[i].when, true);
        unless = key ? NULL : against(matcher, &matcher->rules[i].unless, false);
        if (key)
            buf_add_fmt(out, "%s[target %s] wants another %s", i > 0 ? ", " : "",
                        matcher->rules[i].target->name, key);
        else if (unless)
            buf_add_fmt(out, "%s[target %s] excludes its %s", i > 0 ? ", " : "",
                        matcher->rules[i].target->name, unless);
    }
    if (matcher->count > EXPLAINED_MAX)
        buf_add_fmt(out, ", and so on for %zu more", matcher->count - EXPLAINED_MAX);
}
