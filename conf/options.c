/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - see options.h. */
#include "conf/options.h"

#include <string.h>

const struct conf_kind_row conf_kinds[CONF_KINDS] = {
    [CONF_AGENT] =
        {
            .word = "agent",
            .title = "[agent]",
            .help = "How pystrobe itself works.",
            .size = sizeof(struct conf_agent),
            .count_max = 1,
        },
    [CONF_LABELS] =
        {
            .word = "labels",
            .title = "[labels]",
            .help = "Labels that are put on every profile.",
            .count_max = 1,
            .entries_max = 24, /* a Pyroscope server takes 30, its own and ours among them */
        },
    [CONF_TARGET] =
        {
            .word = "target",
            .title = "[target NAME]",
            .help = "Which Python processes to profile. A process belongs to the first section "
                    "whose conditions (cmdline, exe, user) it all meets. There must be at least "
                    "one condition.",
            .named = true,
            .size = sizeof(struct conf_target),
            .count_max = 256,
        },
    [CONF_EXPORTER] =
        {
            .word = "exporter",
            .title = "[exporter NAME]",
            .help = "Where profiles go. Each profile goes to all exporters.",
            .named = true,
            .size = sizeof(struct conf_exporter),
            .count_max = 16,
            .entries_max = 32,
        },
};

const char *const conf_exporter_types[] = {"store", "pyroscope", NULL};

static const char *const log_levels[] = {"error", "warning", "info", "debug", NULL};
static const char *const log_formats[] = {"text", "json", NULL};
static const char *const splits[] = {
    [CONF_SPLIT_NONE] = "none",
    [CONF_SPLIT_PROCESS] = "process",
    [CONF_SPLIT_THREAD] = "thread",
    NULL,
};

static const char *const switches[] = {"off", "on", NULL};

#define IN_AGENT(field)    .kind = CONF_AGENT, .offset = offsetof(struct conf_agent, field)
#define IN_TARGET(field)   .kind = CONF_TARGET, .offset = offsetof(struct conf_target, field)
#define IN_EXPORTER(field) .kind = CONF_EXPORTER, .offset = offsetof(struct conf_exporter, field)

const struct conf_option conf_options[] = {
    {
        .name = "rate",
        IN_AGENT(rate_hz),
        .type = CONF_TYPE_RATE,
        .usual = "19Hz",
        .min = "0.1Hz",
        .max = "1000Hz",
        .help = "Samples a second of each target.",
    },
    {
        .name = "interval",
        IN_AGENT(interval_ns),
        .type = CONF_TYPE_DURATION,
        .usual = "15s",
        .min = "1s",
        .max = "1h",
        .help = "The time that one profile covers.",
    },
    {
        .name = "scan",
        IN_AGENT(scan_ns),
        .type = CONF_TYPE_DURATION,
        .usual = "1s",
        .min = "100ms",
        .max = "1h",
        .help = "How often to look for new processes.",
    },
    {
        .name = "log_level",
        IN_AGENT(log_level),
        .type = CONF_TYPE_CHOICE,
        .choices = log_levels,
        .usual = "info",
        .help = "The least severity that is logged. Of lines of one kind that come too often, "
                "some are left out and counted; not so with debug.",
    },
    {
        .name = "log_format",
        IN_AGENT(log_format),
        .type = CONF_TYPE_CHOICE,
        .choices = log_formats,
        .usual = "text",
        .help = "How a line of the log is written: as text, or as a JSON object.",
    },
    {
        .name = "spool",
        IN_AGENT(spool),
        .type = CONF_TYPE_SPOOL,
        .otherwise = "pystrobe agent under a service manager that gives it a directory for its "
                     "state: spool in there; else off",
        .example = "/var/lib/pystrobe/spool",
        .help = "The directory where profiles wait that a server has not taken yet, so that "
                "neither a dead network nor a restart loses them. It is made if it is absent. One "
                "agent has it for itself. With off they wait in memory, few of them.",
    },
    {
        .name = "spool_max_size",
        IN_AGENT(spool_max_size_bytes),
        .type = CONF_TYPE_SIZE,
        .usual = "256MiB",
        .min = "64KiB",
        .max = "1TiB",
        .help = "What the spool may take on the disk. The oldest profiles go first.",
    },
    {
        .name = "spool_max_age",
        IN_AGENT(spool_max_age_ns),
        .type = CONF_TYPE_DURATION,
        .usual = "1d",
        .min = "1m",
        .max = "3650d",
        .help = "Older profiles are dropped. A Pyroscope server takes none of more than an hour, "
                "so for it they are dropped after 50 minutes.",
    },
    {
        .name = "spool_min_free",
        IN_AGENT(spool_min_free_bytes),
        .type = CONF_TYPE_SIZE,
        .usual = "100MiB",
        .min = "0B",
        .max = "1TiB",
        .help = "What the spool leaves free on its disk. It gives up its oldest profiles for that.",
    },
    {
        .kind = CONF_LABELS,
        .name = "NAME",
        .prefix = "",
        .type = CONF_TYPE_LABEL,
        .otherwise = "no label",
        .example = "env = prod",
        .help = "A label of this name with this value. The service is no label: each target has "
                "its own.",
    },
    {
        .name = "cmdline",
        IN_TARGET(cmdline),
        .type = CONF_TYPE_REGEX,
        .need = CONF_CONDITION,
        .otherwise = "any",
        .example = "gunicorn|uvicorn",
        .help = "A regular expression that is searched in the command line, its arguments joined "
                "by blanks.",
    },
    {
        .name = "exe",
        IN_TARGET(exe),
        .type = CONF_TYPE_GLOB,
        .need = CONF_CONDITION,
        .otherwise = "any",
        .example = "*/python3*",
        .help = "A pattern that the path of the executable matches as a whole.",
    },
    {
        .name = "user",
        IN_TARGET(user),
        .type = CONF_TYPE_TEXT,
        .need = CONF_CONDITION,
        .otherwise = "any",
        .example = "www-data",
        .help = "The name or number of the user that the process runs as.",
    },
    {
        .name = "service",
        IN_TARGET(service),
        .type = CONF_TYPE_SERVICE,
        .otherwise = "the section's NAME",
        .example = "shop",
        .help = "What these processes are called in profiles. Processes of one service share a "
                "profile.",
    },
    {
        .name = "rate",
        IN_TARGET(rate_hz),
        .type = CONF_TYPE_RATE,
        .otherwise = "the rate of [agent]",
        .min = "0.1Hz",
        .max = "1000Hz",
        .example = "49Hz",
        .help = "Samples a second of each of these processes.",
    },
    {
        .name = "split",
        IN_TARGET(split),
        .type = CONF_TYPE_SPLIT,
        .choices = splits,
        .usual = "none",
        .help = "How finely the samples of the service are told apart, by labels on each sample.",
    },
    {
        .name = "type",
        IN_EXPORTER(type),
        .type = CONF_TYPE_CHOICE,
        .choices = conf_exporter_types,
        .used_by = CONF_STORE | CONF_PYROSCOPE,
        .need = CONF_REQUIRED,
        .otherwise = "an error",
        .help = "What takes the profiles: a directory on this machine, or a Pyroscope server.",
    },
    {
        .name = "path",
        IN_EXPORTER(path),
        .type = CONF_TYPE_PATH,
        .used_by = CONF_STORE,
        .usual = "/var/lib/pystrobe/store",
        .help = "The directory that holds the profiles. It is made if it is absent.",
    },
    {
        .name = "max_size",
        IN_EXPORTER(max_size_bytes),
        .type = CONF_TYPE_SIZE,
        .used_by = CONF_STORE,
        .usual = "256MiB",
        .min = "1MiB",
        .max = "1TiB",
        .help = "What all profiles together may take. The oldest go first.",
    },
    {
        .name = "max_age",
        IN_EXPORTER(max_age_ns),
        .type = CONF_TYPE_DURATION,
        .used_by = CONF_STORE,
        .usual = "7d",
        .min = "1m",
        .max = "3650d",
        .help = "Older profiles are removed.",
    },
    {
        .name = "url",
        IN_EXPORTER(url),
        .type = CONF_TYPE_URL,
        .used_by = CONF_PYROSCOPE,
        .need = CONF_REQUIRED,
        .otherwise = "an error",
        .example = "https://pyroscope.example:4040",
        .help = "The address of the server. A path in it stands before the path that the protocol "
                "has.",
    },
    {
        .name = "tenant",
        IN_EXPORTER(tenant),
        .type = CONF_TYPE_TEXT,
        .used_by = CONF_PYROSCOPE,
        .otherwise = "none is named",
        .example = "team-a",
        .help = "The tenant that the profiles belong to, sent as X-Scope-OrgID.",
    },
    {
        .name = "user",
        IN_EXPORTER(user),
        .type = CONF_TYPE_TEXT,
        .used_by = CONF_PYROSCOPE,
        .otherwise = "no basic authentication",
        .example = "pystrobe",
        .help = "The user of basic authentication. It needs password_file.",
    },
    {
        .name = "password_file",
        IN_EXPORTER(password_file),
        .type = CONF_TYPE_PATH,
        .used_by = CONF_PYROSCOPE,
        .otherwise = "no basic authentication",
        .example = "/etc/pystrobe/password",
        .help = "A file whose first line is the password of user.",
    },
    {
        .name = "token_file",
        IN_EXPORTER(token_file),
        .type = CONF_TYPE_PATH,
        .used_by = CONF_PYROSCOPE,
        .otherwise = "no bearer token",
        .example = "/etc/pystrobe/token",
        .help = "A file whose first line is sent as a bearer token. It excludes user.",
    },
    {
        .name = "ca_file",
        IN_EXPORTER(ca_file),
        .type = CONF_TYPE_PATH,
        .used_by = CONF_PYROSCOPE,
        .otherwise = "the certificates of the system",
        .example = "/etc/pystrobe/ca.pem",
        .help = "A file of certificates, in PEM, that the server is verified against.",
    },
    {
        .kind = CONF_EXPORTER,
        .name = "header.NAME",
        .prefix = "header.",
        .type = CONF_TYPE_HEADER,
        .used_by = CONF_PYROSCOPE,
        .secret = true,
        .otherwise = "no such header",
        .example = "header.X-Team = a",
        .help = "An HTTP header of this name that is sent with each request.",
    },
    {
        .name = "timeout",
        IN_EXPORTER(timeout_ns),
        .type = CONF_TYPE_DURATION,
        .used_by = CONF_PYROSCOPE,
        .usual = "10s",
        .min = "100ms",
        .max = "10m",
        .help = "How long one try to send a profile may take.",
    },
    {
        .name = "gil",
        IN_EXPORTER(gil),
        .type = CONF_TYPE_SWITCH,
        .choices = switches,
        .used_by = CONF_PYROSCOPE,
        .usual = "off",
        .help = "Whether profiles of the time that threads held the GIL are sent, too.",
    },
    {
        .name = "queue",
        IN_EXPORTER(queue),
        .type = CONF_TYPE_COUNT,
        .used_by = CONF_STORE | CONF_PYROSCOPE,
        .usual = "32",
        .min = "1",
        .max = "1000",
        .help = "How many profiles may wait for this exporter. Then the oldest is dropped.",
    },
    {
        .name = "retry",
        IN_EXPORTER(retry_ns),
        .type = CONF_TYPE_DURATION,
        .used_by = CONF_STORE | CONF_PYROSCOPE,
        .usual = "5m",
        .min = "0s",
        .max = "1d",
        .help = "How long a profile is tried again before it is dropped. With 0s it is tried once.",
    },
};

const size_t conf_option_count = sizeof(conf_options) / sizeof(conf_options[0]);

_Static_assert(sizeof(conf_options) / sizeof(conf_options[0]) <= CONF_OPTION_MAX,
               "CONF_OPTION_MAX is too small");

unsigned conf_exporter_bit(const char *type)
{
    unsigned i;

    for (i = 0; type && conf_exporter_types[i]; i++)
        if (strcmp(conf_exporter_types[i], type) == 0)
            return 1u << i;
    return 0;
}

static bool names(const struct conf_option *option, const char *name)
{
    if (option->prefix)
        return strncmp(name, option->prefix, strlen(option->prefix)) == 0;
    return strcmp(name, option->name) == 0;
}

const struct conf_option *conf_option_find(enum conf_kind kind, const char *name)
{
    size_t i;

    for (i = 0; i < conf_option_count; i++)
        if (conf_options[i].kind == kind && names(&conf_options[i], name))
            return &conf_options[i];
    return NULL;
}
