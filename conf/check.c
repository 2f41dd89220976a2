/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - the rules that hold between the keys of a section, and between sections. */
#include <stdio.h>
#include <string.h>

#include "conf/settings.h"
#include "conf/template.h"
#include "conf/text.h"
#include "conf/values.h"

/* Where the key was set; 0: it was not. */
static unsigned line_of(const struct conf_section *section, const char *name)
{
    return section->lines[conf_option_find(section->kind, name) - conf_options];
}

static void add_rule_error(struct conf_build *build, const struct conf_section *section,
                           const char *key, const char *why)
{
    char head[CONF_HEAD_MAX];
    unsigned line = line_of(section, key);

    conf_errors_add(&build->errors, line ? line : section->line, "%s %s: %s",
                    conf_section_head(section, head), key, why);
}

/* Fewer than one sample an interval would make empty profiles. */
static void check_rate(struct conf_build *build, const struct conf_section *section, double rate_hz)
{
    const struct conf_agent *agent = build->conf->origin->first[CONF_AGENT]->values;
    double samples = rate_hz * (double)agent->interval_ns / 1e9;

    if (rate_hz > 0 && agent->interval_ns > 0 && samples < 1)
        add_rule_error(
            build, section, "rate",
            "gives less than one sample an interval; allowed: a higher rate, or a longer "
            "interval in [agent]");
}

/* A line of a section that reads variables of targets. */
struct reading {
    struct conf_build *build;
    const struct conf_section *section;
    unsigned line;
};

/* Variables hold passwords: only those that are named for it are read. */
static void check_variable(void *ctx, const char *name)
{
    static const char always[] = "OTEL_SERVICE_NAME OTEL_RESOURCE_ATTRIBUTES";
    struct reading *reading = ctx;
    const struct conf_agent *agent = reading->build->conf->origin->first[CONF_AGENT]->values;
    char head[CONF_HEAD_MAX], shown[CONF_QUOTE_MAX];

    if (conf_is_listed(always, name) || !agent->env_allow || conf_is_listed(agent->env_allow, name))
        return;
    conf_errors_add(&reading->build->errors, reading->line,
                    "%s: variable %s may not be read; allowed: those in env_allow of [agent]",
                    conf_section_head(reading->section, head), conf_quote(shown, name));
}

static void check_variables(struct conf_build *build, const struct conf_section *section)
{
    const struct conf_target *target = section->values;
    const struct conf_entry *entry = section->entries;
    struct reading reading = {build, section, line_of(section, "service")};

    if (target->service)
        conf_template_variables(target->service, check_variable, &reading);
    for (; entry; entry = entry->next) {
        reading.line = entry->line;
        if (entry->option->type == CONF_TYPE_ENV)
            check_variable(&reading, entry->pair.name);
        else
            conf_template_variables(entry->pair.value, check_variable, &reading);
    }
}

static void check_target(struct conf_build *build, const struct conf_section *section)
{
    const struct conf_target *target = section->values;
    const struct conf_entry *entry;
    char head[CONF_HEAD_MAX];

    if (line_of(section, "rate"))
        check_rate(build, section, target->rate_hz);
    check_variables(build, section);
    for (size_t i = 0; i < conf_option_count; i++)
        if (conf_options[i].need == CONF_CONDITION && section->lines[i])
            return;
    for (entry = section->entries; entry; entry = entry->next)
        if (entry->option->need == CONF_CONDITION)
            return;
    conf_errors_add(&build->errors, section->line,
                    "%s: has no condition; allowed: at least one of cmdline, exe, user, cgroup, "
                    "container, systemd_unit, parent, env.NAME",
                    conf_section_head(section, head));
}

/* Writes the names of the exporter types that use the key. */
static void name_types_with(const struct conf_option *option, char out[CONF_HEAD_MAX])
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < EXPORTER_TYPES && used < CONF_HEAD_MAX; i++)
        if (conf_option_used_by(option, &exporter_types[i]))
            used += (size_t)snprintf(out + used, CONF_HEAD_MAX - used, "%s%s", used ? ", " : "",
                                     exporter_types[i].name);
}

static void misplaced(struct conf_build *build, const struct conf_section *section,
                      const struct conf_option *option, unsigned line)
{
    const struct exporter_settings *exporter = section->values;
    char head[CONF_HEAD_MAX], types[CONF_HEAD_MAX];

    name_types_with(option, types);
    conf_errors_add(&build->errors, line, "%s %s: is not for type %s; allowed: with type %s",
                    conf_section_head(section, head), option->name, exporter->type->name, types);
}

/* True if "START END=..." is a variable that is set to something, START and END put together. */
static bool is_set(char *const *environment, const char *start, const char *end)
{
    size_t starts = strlen(start), ends = strlen(end);
    const char *variable;

    for (; environment && *environment; environment++) {
        variable = *environment;
        if (strncmp(variable, start, starts) == 0 && strncmp(variable + starts, end, ends) == 0 &&
            variable[starts + ends] == '=' && variable[starts + ends + 1])
            return true;
    }
    return false;
}

/* A required key that is absent, unless the environment stands in for it. */
static void check_missing(struct conf_build *build, const struct conf_section *section,
                          const struct conf_option *option)
{
    const char *otel = conf_option_otel(option, section);
    char why[CONF_ALLOWED_MAX + 96], allowed[CONF_ALLOWED_MAX];

    if (otel && (is_set(build->environment, "OTEL_EXPORTER_OTLP_PROFILES_", otel) ||
                 is_set(build->environment, "OTEL_EXPORTER_OTLP_", otel)))
        return;
    (void)snprintf(why, sizeof(why), "is missing%s%s%s; allowed: %s",
                   otel ? ", and so is OTEL_EXPORTER_OTLP_" : "", otel ? otel : "",
                   otel ? " in the environment" : "", conf_value_allowed(option, allowed));
    add_rule_error(build, section, option->name, why);
}

/* Holds one key of the table to the type of the exporter. */
static void check_use(struct conf_build *build, const struct conf_section *section,
                      const struct conf_option *option)
{
    unsigned line = section->lines[option - conf_options];
    const struct conf_entry *entry = option->prefix ? section->entries : NULL;

    if (conf_option_applies(option, section)) {
        if (option->need == CONF_REQUIRED && !line)
            check_missing(build, section, option);
        return;
    }
    if (line)
        misplaced(build, section, option, line);
    for (; entry; entry = entry->next)
        if (entry->option == option)
            misplaced(build, section, option, entry->line);
}

/* Where a secret is set, as BASE_file, BASE_env or BASE_credential; 0: nowhere. Once is enough. */
static unsigned line_of_secret(struct conf_build *build, const struct conf_section *section,
                               const char *base)
{
    static const char *const sources[] = {"file", "env", "credential"};
    unsigned line = 0, here;
    char key[64], why[160];

    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        (void)snprintf(key, sizeof(key), "%s_%s", base, sources[i]);
        here = line_of(section, key);
        if (here && line) {
            (void)snprintf(why, sizeof(why),
                           "is set in another way, too; allowed: one of %s_file, %s_env and "
                           "%s_credential",
                           base, base, base);
            add_rule_error(build, section, key, why);
        }
        line = here ? here : line;
    }
    return line;
}

/* One Authorization header is all that a request has. */
static void check_login(struct conf_build *build, const struct conf_section *section)
{
    unsigned user = line_of(section, "user");
    unsigned password = line_of_secret(build, section, "password");
    unsigned token = line_of_secret(build, section, "token");

    (void)line_of_secret(build, section, "proxy_login");
    if (user && !password)
        add_rule_error(build, section, "user", "has no password; allowed: with password_file");
    if (password && !user)
        add_rule_error(build, section, "password_file", "has no user; allowed: with user");
    if ((user || password) && token)
        add_rule_error(build, section, "token_file",
                       "stands beside user; allowed: token_file, or user and password_file");
    if (line_of(section, "key_file") && !line_of(section, "cert_file"))
        add_rule_error(build, section, "key_file", "has no certificate; allowed: with cert_file");
}

/* Two stores that trim one directory would take each other's profiles away. */
static void check_path(struct conf_build *build, const struct conf_section *section)
{
    const struct conf_section *other = build->conf->origin->first[CONF_EXPORTER];
    const char *path = ((const struct exporter_settings *)section->values)->path;
    char head[CONF_HEAD_MAX], others[CONF_HEAD_MAX], seen[CONF_SEEN_MAX];
    const char *used;

    for (; path && other != section; other = other->next) {
        used = ((const struct exporter_settings *)other->values)->path;
        if (!used || strcmp(used, path) != 0)
            continue;
        conf_errors_add(&build->errors, section->line,
                        "%s path: is that of %s %s; allowed: another path",
                        conf_section_head(section, head), conf_section_head(other, others),
                        conf_place_seen(build->conf->origin, other->line, section->line, seen));
        return;
    }
}

static void check_exporter(struct conf_build *build, const struct conf_section *section)
{
    const struct exporter_settings *exporter = section->values;
    const struct conf_option *option = conf_options;

    if (!exporter->type) {
        if (!line_of(section, "type"))
            check_missing(build, section, conf_option_find(CONF_EXPORTER, "type"));
        return; /* which keys belong cannot be said */
    }
    for (; option < conf_options + conf_option_count; option++)
        if (option->kind == CONF_EXPORTER)
            check_use(build, section, option);
    check_login(build, section);
    check_path(build, section);
}

void conf_check_all(struct conf_build *build)
{
    const struct conf_origin *origin = build->conf->origin;
    const struct conf_section *section = origin->first[CONF_AGENT];
    const struct conf_agent *agent = section->values;

    check_rate(build, section, agent->rate_hz);
    for (section = origin->first[CONF_TARGET]; section; section = section->next)
        check_target(build, section);
    for (section = origin->first[CONF_EXPORTER]; section; section = section->next)
        check_exporter(build, section);
}
