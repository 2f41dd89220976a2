/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - see options.h. */
#include "conf/options.h"

#include <string.h>

const struct conf_kind_row conf_kinds[CONF_KINDS] = {
    [CONF_AGENT] =
        {
            .word = "agent",
            .title = "[agent]",
            .help = "Settings of pystrobe itself.",
            .size = sizeof(struct conf_agent),
            .count_max = 1,
        },
    [CONF_HTTP] =
        {
            .word = "http",
            .title = "[http]",
            .help = "HTTP server of the agent: /metrics for Prometheus, /healthz and /readyz, "
                    "profiles for pulling, and a page. It only reads: it takes no orders.",
            .size = sizeof(struct conf_http),
            .count_max = 1,
        },
    [CONF_LABELS] =
        {
            .word = "labels",
            .title = "[labels]",
            .help = "Labels of every profile. For a Pyroscope, each character of a name "
                    "except letters, digits, \"_\" and \".\" is sent as \"_\", and a leading digit "
                    "gets a \"_\" before it. A Pyroscope refuses a profile with other names. "
                    "check and the log list the changed names.",
            .count_max = 1,
            .entries_max = 24, /* a Pyroscope server takes 30, its own and ours among them */
        },
    [CONF_TARGET] =
        {
            .word = "target",
            .title = "[target NAME]",
            .help = "The Python processes to profile. A process belongs to the first section "
                    "of which it meets all conditions and none of the exclusions "
                    "(exclude_...). At least one condition is needed: cmdline, exe, user, "
                    "cgroup, container, systemd_unit, parent or env.NAME. A process with "
                    "PYSTROBE_DISABLE=1 in its environment belongs to none.",
            .named = true,
            .size = sizeof(struct conf_target),
            .count_max = 256,
            .entries_max = 32,
        },
    [CONF_EXPORTER] =
        {
            .word = "exporter",
            .title = "[exporter NAME]",
            .help = "Where profiles go. Each profile goes to all exporters.",
            .named = true,
            .size = sizeof(struct exporter_settings),
            .count_max = 16,
            .entries_max = 32,
        },
};

static const char *const log_levels[] = {"error", "warning", "info", "debug", NULL};
static const char *const log_formats[] = {"text", "json", NULL};
static const char *const splits[] = {"none", "process", "thread", NULL}; /* CONF_SPLIT_NONE... */

static const char *const compressions[] = {"gzip", "none", NULL};
static const char *const protocols[] = {"http/protobuf", "grpc", NULL};
static const char *const limits[] = {"pyroscope", "none", NULL};
static const char *const legacies[] = {"ingest", NULL};
static const char *const switches[] = {"off", "on", NULL};

#define IN_AGENT(field)  .kind = CONF_AGENT, .offset = offsetof(struct conf_agent, field)
#define IN_HTTP(field)   .kind = CONF_HTTP, .offset = offsetof(struct conf_http, field)
#define IN_TARGET(field) .kind = CONF_TARGET, .offset = offsetof(struct conf_target, field)
#define IN_EXPORTER(field) \
    .kind = CONF_EXPORTER, .offset = offsetof(struct exporter_settings, field)
#define IN_SERVERS(field)    IN_EXPORTER(field), .used_by = CONF_SERVERS
#define CONDITION(field)     IN_TARGET(when.field), .need = CONF_CONDITION, .otherwise = "any"
#define FREE_KEY(in, before) .kind = in, .name = before "NAME", .prefix = before

/* A value with an order: its default, the least and the most. */
#define NUMBER(what, by_default, least, most) \
    .type = CONF_TYPE_##what, .usual = by_default, .min = least, .max = most

/* The opposite of the condition of this name. */
#define EXCLUSION(condition, what, shown)                                                     \
    {                                                                                         \
        .name = "exclude_" #condition, IN_TARGET(unless.condition), .type = CONF_TYPE_##what, \
        .otherwise = "none", .example = shown,                                                \
        .help = "Leaves out processes that match. See " #condition ".",                       \
    }

/* A secret that is not in the ini itself, but in `source`. */
#define SECRET(secret, source, what, absent, shown, where)                                \
    {                                                                                     \
        .name = #secret "_" #source, IN_SERVERS(secret.source), .type = CONF_TYPE_##what, \
        .otherwise = absent, .example = shown, .help = where,                             \
    }
#define SECRET_FILE(secret, absent, shown, content) \
    SECRET(secret, file, PATH, absent, shown, "A file whose first line is " content ".")
#define SECRET_ENV(secret, absent, shown, content) \
    SECRET(secret, env, NAME, absent, shown,       \
           "The environment variable that has " content ". It is removed from the environment.")
#define SECRET_CREDENTIAL(secret, absent, shown, content) \
    SECRET(secret, credential, NAME, absent, shown,       \
           "The systemd credential (LoadCredential=) whose first line is " content ".")

const struct conf_option conf_options[] = {
    {
        .name = "rate",
        IN_AGENT(rate_hz),
        NUMBER(RATE, "19Hz", "0.1Hz", "1000Hz"),
        .help = "Samples a second of each target.",
    },
    {
        .name = "interval",
        IN_AGENT(interval_ns),
        NUMBER(DURATION, "15s", "1s", "1h"),
        .help = "The time that one profile covers.",
    },
    {
        .name = "stop_timeout",
        IN_AGENT(stop_timeout_ns),
        NUMBER(DURATION, "5s", "0s", "10m"),
        .help = "How long exporters may still deliver after pystrobe is told to end. Profiles "
                "left then stay in the spool; without one they are lost.",
    },
    {
        .name = "scan",
        IN_AGENT(scan_ns),
        NUMBER(DURATION, "1s", "100ms", "1h"),
        .help = "How often to look for new processes. If this takes more than three quarters "
                "of max_cpu, the scans become rarer, up to 5 seconds apart.",
    },
    {
        .name = "max_cpu",
        IN_AGENT(max_cpu),
        NUMBER(SHARE, "1%", "0.1%", "10000%"),
        .help = "CPU time that pystrobe itself may use, as a share of one core over a minute. "
                "pystrobe samples all targets at their rate unless that alone takes more than "
                "one and a half times max_cpu. Then it divides the CPU time between the owners "
                "of the targets. It slows the most expensive targets first, down to one sample "
                "a second. It leaves a target out if even that is too much, or takes more than "
                "a quarter of max_cpu while others are slowed. Opening processes may take "
                "max_cpu once more, spread over time, so some new processes wait. Answers over "
                "HTTP have a max_cpu of their own.",
    },
    {
        .name = "max_memory",
        IN_AGENT(max_memory),
        NUMBER(SIZE, "64MiB", "16MiB", "1TiB"),
        .help = "How much memory pystrobe itself may use. If it uses more for ten seconds, it "
                "leaves out the targets that add most to profiles. It tries them again after a "
                "minute, then two, up to an hour. A process that reads the store for the page "
                "counts in status, but no target is left out for it.",
    },
    {
        .name = "log_level",
        IN_AGENT(log_level),
        .type = CONF_TYPE_CHOICE,
        .choices = log_levels,
        .usual = "info",
        .help = "The lowest severity that is logged. If lines of one kind come too often, some "
                "are left out and counted, except with debug.",
    },
    {
        .name = "log_format",
        IN_AGENT(log_format),
        .type = CONF_TYPE_CHOICE,
        .choices = log_formats,
        .usual = "text",
        .help = "The form of the log: lines of text, or JSON objects.",
    },
    {
        .name = "control",
        IN_AGENT(control),
        .type = CONF_TYPE_SOCKET,
        .otherwise = "/run/pystrobe/control.sock, if it can be opened",
        .example = "/run/pystrobe/control.sock",
        .help = "The socket at which pystrobe status, reload and burst reach the agent. "
                "If it is set and cannot be opened, the agent does not start.",
    },
    {
        .name = "spool",
        IN_AGENT(spool),
        .type = CONF_TYPE_SPOOL,
        .otherwise = "spool in the StateDirectory= of a systemd service, else off",
        .example = "/var/lib/pystrobe/spool",
        .help = "The directory of profiles that no server has taken yet. With it neither a "
                "dead network nor a restart loses profiles. It is made if it is absent. It "
                "must belong to root or to the user of the agent. Only one agent can use it. "
                "With off, a few profiles wait in memory (queue_size).",
    },
    {
        .name = "spool_max_size",
        IN_AGENT(spool_max_size_bytes),
        NUMBER(SIZE, "256MiB", "64KiB", "1TiB"),
        .help = "How much of the disk the spool may use. The oldest profiles are dropped "
                "first.",
    },
    {
        .name = "spool_max_age",
        IN_AGENT(spool_max_age_ns),
        NUMBER(DURATION, "1d", "1m", "3650d"),
        .help = "Older profiles are dropped. For a Pyroscope server, which takes nothing "
                "older than an hour, they are dropped after 50 minutes.",
    },
    {
        .name = "spool_min_free",
        IN_AGENT(spool_min_free_bytes),
        NUMBER(SIZE, "100MiB", "0B", "1TiB"),
        .help = "How much space the spool leaves free on its disk. It drops its oldest "
                "profiles for that.",
    },
    {
        .name = "env_allow",
        IN_AGENT(env_allow),
        .type = CONF_TYPE_NAMES,
        .usual = "OTEL_* DD_SERVICE DD_ENV DD_VERSION POD_* K8S_* HOSTNAME",
        .help = "The environment variables of targets that may be read, for conditions, "
                "names and labels. Others are ignored, because they may hold passwords.",
    },
    {
        .name = "auto_labels",
        IN_AGENT(auto_labels),
        .type = CONF_TYPE_NAMES,
        .usual = "host.name container.id k8s.pod.uid k8s.namespace.name process.runtime.version "
                 "service.namespace service.version deployment.environment*",
        .help = "The labels that a service gets automatically if their values are known. The "
                "values come from the machine, the cgroup (or the mounts, if a namespace hides "
                "it), the interpreter, and the resource attributes of OpenTelemetry that a "
                "target has in its environment or publishes. k8s.pod.name and "
                "k8s.container.name can be added. Processes with different labels make "
                "different profiles. The value none means no such labels.",
    },
    {
        .name = "max_services",
        IN_AGENT(max_services),
        NUMBER(COUNT, "100", "1", "10000"),
        .help = "How many services, counted with their labels, have a profile of their "
                "own. Further ones share one with the name pystrobe-other-services.",
    },
    {
        .name = "max_split",
        IN_AGENT(max_split),
        NUMBER(COUNT, "100", "1", "10000"),
        .help = "How many processes or threads a profile tells apart with split. Further "
                "ones share the label split = others.",
    },
    {
        .name = "listen",
        IN_HTTP(listen),
        .type = CONF_TYPE_LISTEN,
        .otherwise = "off",
        .example = "127.0.0.1:7997",
        .help = "An IP address of this machine and a port, or the path of a Unix socket. Only "
                "root and the agent's user may use the socket. A port alone and localhost mean "
                "127.0.0.1. At an address other than the loopback, other machines can read "
                "which services run here.",
    },
    {
        .name = "pull",
        IN_HTTP(pull),
        .type = CONF_TYPE_CHOICE,
        .choices = switches,
        .otherwise = "on at a loopback address and a Unix socket, off elsewhere",
        .example = "off",
        .help = "Serves profiles at /debug/pprof/profile, as a program in Go does, and the "
                "stacks of all threads at /debug/stacks. Everybody who can connect can read "
                "them.",
    },
    {
        .name = "page",
        IN_HTTP(page),
        .type = CONF_TYPE_CHOICE,
        .choices = switches,
        .otherwise = "as pull is",
        .example = "off",
        .help = "Serves a page for browsers at /, with flame graphs of the first exporter of "
                "type store, and its data below /api/. Everybody who can connect can read "
                "them.",
    },
    {
        .name = "max_cpu",
        IN_HTTP(max_cpu),
        NUMBER(SHARE, "0.5%", "0.1%", "10000%"),
        .help = "CPU time that answers may use, as a share of one core over a minute. Beyond "
                "it, requests that start a process (for the store, threads and stacks) get 429 "
                "and the time to ask again. It is not part of max_cpu of [agent]: nothing is "
                "sampled less often for it.",
    },
    {
        FREE_KEY(CONF_LABELS, ""),
        .type = CONF_TYPE_LABEL,
        .otherwise = "no label",
        .example = "env = prod",
        .help = "A label of this name with this value. The service is not a label: each target has "
                "its own.",
    },
    {
        .name = "cmdline",
        CONDITION(cmdline),
        .type = CONF_TYPE_REGEX,
        .example = "gunicorn|uvicorn",
        .help = "A regular expression for the command line, its arguments joined by "
                "blanks. It may match anywhere in it.",
    },
    {
        .name = "exe",
        CONDITION(exe),
        .type = CONF_TYPE_GLOB,
        .example = "*/python3*",
        .help = "A pattern for the whole path of the executable.",
    },
    {
        .name = "user",
        CONDITION(user),
        .type = CONF_TYPE_TEXT,
        .example = "www-data",
        .help = "The name or number of the user that the process runs as.",
    },
    {
        .name = "cgroup",
        CONDITION(cgroup),
        .type = CONF_TYPE_GLOB,
        .example = "/system.slice/*",
        .help = "A pattern for the whole path of its cgroup.",
    },
    {
        .name = "container",
        CONDITION(container),
        .type = CONF_TYPE_PATTERN,
        .example = "shop-*",
        .help = "A pattern for the id of its container, the first 12 digits of the id, or "
                "its name. The name is that of LXC and systemd-nspawn, else HOSTNAME of "
                "its environment, which is the name of the pod in Kubernetes.",
    },
    {
        .name = "systemd_unit",
        CONDITION(systemd_unit),
        .type = CONF_TYPE_PATTERN,
        .example = "shop@*.service",
        .help = "A pattern for the name of the innermost service or scope of systemd that "
                "it runs in.",
    },
    {
        .name = "parent",
        CONDITION(parent),
        .type = CONF_TYPE_REGEX,
        .example = "^celery ",
        .help = "A regular expression for the command lines of its ancestors. One of them "
                "must match.",
    },
    {
        FREE_KEY(CONF_TARGET, "env."),
        .type = CONF_TYPE_ENV,
        .need = CONF_CONDITION,
        .otherwise = "any",
        .example = "env.OTEL_SERVICE_NAME = ^shop",
        .help = "A regular expression for this variable of its environment, which "
                "env_allow must allow. A process without the variable does not match.",
    },
    EXCLUSION(cmdline, REGEX, " manage[.]py "),
    EXCLUSION(exe, GLOB, "/opt/*"),
    EXCLUSION(user, TEXT, "root"),
    EXCLUSION(cgroup, GLOB, "/system.slice/*"),
    EXCLUSION(container, PATTERN, "shop-*"),
    EXCLUSION(systemd_unit, PATTERN, "shop@*.service"),
    EXCLUSION(parent, REGEX, "^celery "),
    {
        FREE_KEY(CONF_TARGET, "exclude_env."),
        .type = CONF_TYPE_ENV,
        .otherwise = "none",
        .example = "exclude_env.DD_ENV = ^test$",
        .help = "Leaves out processes that match. See env.NAME.",
    },
    {
        .name = "service",
        IN_TARGET(service),
        .type = CONF_TYPE_TEMPLATE,
        .usual = "${otel:service.name:-${target}}",
        .help = "The name of these processes in profiles. Processes with the same service and "
                "labels share a profile. ${script} is the program that they run: the .py file, "
                "the module of -m, or the application of gunicorn, uvicorn, celery and "
                "similar; for a worker, that of its parent. ${exe} is the name of the "
                "executable. ${otel:service.name} is the name in their environment: "
                "OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES or DD_SERVICE. ${otel:NAME} is "
                "another resource attribute of OpenTelemetry. ${env:NAME} is a variable that "
                "env_allow allows. ${target} is the NAME of this section. There are also "
                "${user}, ${systemd_unit}, ${container} and ${cgroup}. ${NAME:-DEFAULT} is "
                "DEFAULT if there is no such value. $$ is a $. An empty result is replaced by "
                "${script} or ${exe}. SERVICE NAMES in pystrobe.ini(5) has the whole order.",
    },
    {
        FREE_KEY(CONF_TARGET, "label."),
        .type = CONF_TYPE_LABEL_TEMPLATE,
        .otherwise = "no such label",
        .example = "label.team = ${env:DD_ENV:-none}",
        .help = "A label of this name on the profiles of these processes, with a value "
                "like that of service. It overrides [labels] and auto_labels. An empty "
                "one is left out.",
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
        .otherwise = "process if the page shows a store and no server gets the profiles; else none",
        .example = "thread",
        .help = "Adds labels to each sample that tell processes, or processes and threads, "
                "apart. Their names are pid, thread id and thread name; with OTLP process.pid, "
                "thread.id and thread.name; for a Pyroscope process_pid, thread_id and "
                "thread_name. A Pyroscope makes a series of each process or thread. With these "
                "labels the page has time lines and flame graphs of a process.",
    },
    {
        .name = "hang_after",
        IN_TARGET(hang_after_ns),
        .type = CONF_TYPE_DURATION,
        .otherwise = "off",
        .min = "1s",
        .max = "1d",
        .example = "30s",
        .help = "Reports a process that hangs for this time: once in the log, with the stacks "
                "of all its threads and asyncio tasks; in pystrobe status and the metrics; and "
                "by a profile of its own with the labels hang (stuck or deadlock) and pid. "
                "Stuck: in all samples of this time a thread held the GIL at the same "
                "instruction of the same stack, and its variables were the same. Deadlock of "
                "all threads: the process used no CPU time, and each thread waits, with no "
                "timeout, for a lock that no other process has. Deadlock of some threads: they "
                "wait in this way for each other's locks, which they took by a with statement. "
                "A process that waits for a file, a socket, a timer or a child does not hang. "
                "HANGS in pystrobe(8) says which deadlocks are not found.",
    },
    {
        .name = "type",
        IN_EXPORTER(type),
        .type = CONF_TYPE_EXPORTER,
        .need = CONF_REQUIRED,
        .otherwise = "an error",
        .help = "The receiver of the profiles: a directory on this machine, a Pyroscope "
                "server, a file for each profile, or any receiver of OTLP profiles over "
                "HTTP or gRPC, such as an OpenTelemetry Collector.",
    },
    {
        .name = "path",
        IN_EXPORTER(path),
        .type = CONF_TYPE_PATH,
        .used_by = CONF_STORE,
        .usual = "/var/lib/pystrobe/store",
        .help = "The directory that holds the profiles. It is made if it is absent. An "
                "agent that runs as root accepts no directory of another user.",
    },
    {
        .name = "pattern",
        IN_EXPORTER(pattern),
        .type = CONF_TYPE_FILE_PATTERN,
        .used_by = CONF_FILE,
        .need = CONF_REQUIRED,
        .otherwise = "an error",
        .example = "/var/tmp/profiles/{service}-{type}-{start}.pb.gz",
        .help = "The path of each profile. Its last part may have {service}, {type} and {start}, "
                "which are replaced by the values of the profile. With {type} there is a "
                "file for each type, else one with all values. The directory is made if it "
                "is absent. An agent that runs as root accepts no directory of another user. No "
                "file is overwritten. All files whose names match count for max_size and "
                "max_age, so use a directory for profiles only.",
    },
    {
        .name = "max_size",
        IN_EXPORTER(max_size_bytes),
        NUMBER(SIZE, "256MiB", "1MiB", "1TiB"),
        .used_by = CONF_STORE | CONF_FILE,
        .help = "How much all profiles together may use. Profiles with a date in the "
                "future are removed first, then the oldest. A store removes those of the "
                "owner that uses most of it, so that each owner keeps an equal share: an "
                "owner is a container, the sessions of a user, or a user in a cgroup.",
    },
    {
        .name = "max_age",
        IN_EXPORTER(max_age_ns),
        NUMBER(DURATION, "7d", "1m", "3650d"),
        .used_by = CONF_STORE | CONF_FILE,
        .help = "Older profiles are removed. If the clock is set by ten minutes or more, "
                "none is removed for its age for an hour.",
    },
    {
        .name = "url",
        IN_SERVERS(url),
        .type = CONF_TYPE_URL,
        .otel = "ENDPOINT",
        .need = CONF_REQUIRED,
        .otherwise = "an error",
        .example = "https://pyroscope.example:4040",
        .help = "The address of the server. pystrobe adds the path of the protocol to it: "
                "/push.v1.PusherService/Push, /ingest or /v1development/profiles; for gRPC, "
                "the path of the method.",
    },
    {
        .name = "protocol",
        IN_EXPORTER(protocol),
        .type = CONF_TYPE_CHOICE,
        .choices = protocols,
        .used_by = CONF_OTLP,
        .otel = "PROTOCOL",
        .usual = "http/protobuf",
        .help = "The protocol of requests: HTTP/1.1, usually at port 4318, or gRPC over "
                "HTTP/2, usually at port 4317. Without TLS (http:// in url) a gRPC server must "
                "accept HTTP/2 without an upgrade. OTEL_EXPORTER_OTLP_PROTOCOL counts only if "
                "url comes from a variable, too.",
    },
    {
        .name = "tenant",
        IN_SERVERS(tenant),
        .type = CONF_TYPE_TEXT,
        .otherwise = "none is named",
        .example = "team-a",
        .help = "The tenant that the profiles belong to, sent as X-Scope-OrgID.",
    },
    {
        .name = "user",
        IN_SERVERS(user),
        .type = CONF_TYPE_TEXT,
        .otherwise = "no basic authentication",
        .example = "pystrobe",
        .help = "The user of basic authentication. It needs password_file, password_env "
                "or password_credential.",
    },
    SECRET_FILE(password, "no basic authentication", "/etc/pystrobe/password",
                "the password of user"),
    SECRET_ENV(password, "no basic authentication", "PASSWORD", "the password of user"),
    SECRET_CREDENTIAL(password, "no basic authentication", "password", "the password of user"),
    SECRET(token, file, PATH, "no bearer token", "/etc/pystrobe/token",
           "A file whose first line is sent as a bearer token. Cannot be used with user."),
    SECRET_ENV(token, "no bearer token", "TOKEN", "the bearer token"),
    SECRET_CREDENTIAL(token, "no bearer token", "token", "the bearer token"),
    {
        .name = "ca_file",
        IN_SERVERS(ca_file),
        .type = CONF_TYPE_PATH,
        .otel = "CERTIFICATE",
        .otherwise = "as SSL_CERT_FILE and SSL_CERT_DIR say, else those of the system",
        .example = "/etc/pystrobe/ca.pem",
        .help = "A file of certificates, in PEM, to verify the server and a proxy with TLS. No "
                "other certificates count. It is read for each connection.",
    },
    {
        .name = "cert_file",
        IN_SERVERS(cert_file),
        .type = CONF_TYPE_PATH,
        .otel = "CLIENT_CERTIFICATE",
        .otherwise = "no client certificate",
        .example = "/etc/pystrobe/client.pem",
        .help = "The certificate, in PEM, for a server that asks for one.",
    },
    {
        .name = "key_file",
        IN_SERVERS(key_file),
        .type = CONF_TYPE_PATH,
        .otel = "CLIENT_KEY",
        .otherwise = "the key is in cert_file",
        .example = "/etc/pystrobe/client.key",
        .help = "The private key of cert_file, in PEM.",
    },
    {
        .name = "proxy",
        IN_SERVERS(proxy),
        .type = CONF_TYPE_PROXY,
        .otherwise = "as http_proxy, https_proxy, all_proxy and no_proxy say, in either case",
        .example = "http://proxy.example:3128",
        .help = "The proxy for reaching the server.",
    },
    SECRET_FILE(proxy_login, "no login", "/etc/pystrobe/proxy-login",
                "USER:PASSWORD for the proxy"),
    SECRET_ENV(proxy_login, "no login", "PROXY_LOGIN", "USER:PASSWORD for the proxy"),
    SECRET_CREDENTIAL(proxy_login, "no login", "proxy-login", "USER:PASSWORD for the proxy"),
    {
        FREE_KEY(CONF_EXPORTER, "header."),
        .type = CONF_TYPE_HEADER,
        .used_by = CONF_SERVERS,
        .otel = "HEADERS",
        .secret = true,
        .otherwise = "no such header",
        .example = "header.X-Team = a",
        .help = "An HTTP header of this name for each request.",
    },
    {
        FREE_KEY(CONF_EXPORTER, "header_file."),
        .type = CONF_TYPE_HEADER_FILE,
        .used_by = CONF_SERVERS,
        .otherwise = "no such header",
        .example = "header_file.X-Key = /etc/pystrobe/key",
        .help = "An HTTP header of this name whose value is the first line of a file.",
    },
    {
        FREE_KEY(CONF_EXPORTER, "header_env."),
        .type = CONF_TYPE_HEADER_ENV,
        .used_by = CONF_SERVERS,
        .otherwise = "no such header",
        .example = "header_env.X-Api-Key = API_KEY",
        .help = "An HTTP header of this name with the value of an environment variable.",
    },
    {
        FREE_KEY(CONF_EXPORTER, "header_credential."),
        .type = CONF_TYPE_HEADER_CREDENTIAL,
        .used_by = CONF_SERVERS,
        .otherwise = "no such header",
        .example = "header_credential.X-Auth = api-key",
        .help = "An HTTP header of this name with the first line of a systemd credential.",
    },
    {
        .name = "timeout",
        IN_SERVERS(timeout_ns),
        NUMBER(DURATION, "10s", "100ms", "10m"),
        .otel = "TIMEOUT",
        .help = "How long one try to send a profile may take.",
    },
    {
        .name = "connect_timeout",
        IN_SERVERS(connect_timeout_ns),
        NUMBER(DURATION, "5s", "100ms", "10m"),
        .help = "How long connecting may take, within timeout.",
    },
    {
        .name = "stall_timeout",
        IN_SERVERS(stall_timeout_ns),
        NUMBER(DURATION, "10s", "1s", "10m"),
        .help = "How long a connection may transfer nothing before it is closed, in whole "
                "seconds.",
    },
    {
        .name = "limits",
        IN_EXPORTER(limits),
        .type = CONF_TYPE_CHOICE,
        .choices = limits,
        .used_by = CONF_SERVERS,
        .otherwise = "pyroscope with type pyroscope, none with type otlp",
        .example = "none",
        .help = "The limits of the server. pyroscope: the defaults of a Pyroscope: 30 labels "
                "of a series, 1,000 frames of a stack, and no profile older than 50 minutes. "
                "Labels beyond the limit are left out: first those of auto_labels, then those "
                "of [labels], then label.NAME, the last of each first. The middle of a deeper "
                "stack is left out. none: for a server with higher limits, or that is no "
                "Pyroscope.",
    },
    {
        .name = "legacy",
        IN_EXPORTER(legacy),
        .type = CONF_TYPE_CHOICE,
        .choices = legacies,
        .used_by = CONF_PYROSCOPE,
        .otherwise = "push",
        .example = "ingest",
        .help = "Sends to /ingest, for a Pyroscope without push.v1.",
    },
    {
        .name = "gil",
        IN_EXPORTER(gil),
        .type = CONF_TYPE_SWITCH,
        .choices = switches,
        .used_by = CONF_SERVERS | CONF_FILE,
        .usual = "off",
        .help = "Whether profiles of the time with the GIL held are sent, too.",
    },
    {
        .name = "compression",
        IN_EXPORTER(compression),
        .type = CONF_TYPE_CHOICE,
        .choices = compressions,
        .used_by = CONF_OTLP,
        .otel = "COMPRESSION",
        .usual = "gzip",
        .help = "The compression of requests.",
    },
    {
        .name = "max_in_flight",
        IN_EXPORTER(max_in_flight),
        NUMBER(COUNT, "4", "1", "16"),
        .used_by = CONF_SERVERS,
        .help = "How many requests may be under way at a time. Requests of one interval run in "
                "parallel; those of the next interval follow them.",
    },
    {
        .name = "queue_size",
        IN_EXPORTER(queue_size_bytes),
        NUMBER(SIZE, "8MiB", "64KiB", "1GiB"),
        .help = "How much may wait for this exporter in memory. Beyond it the oldest "
                "interval is dropped, but never the newest.",
    },
    {
        .name = "queue",
        IN_EXPORTER(queue),
        .type = CONF_TYPE_COUNT,
        .old = true,
        .otherwise = "queue_size says what may wait",
        .min = "1",
        .max = "1000",
        .help = "Old, and without effect: queue_size limits the queue.",
    },
    {
        .name = "retry",
        IN_EXPORTER(retry_ns),
        NUMBER(DURATION, "5m", "0s", "1d"),
        .help = "How long a batch is tried again before it is dropped; 0s means one try. "
                "A batch in the spool is tried for as long as the spool keeps it.",
    },
};

const size_t conf_option_count = sizeof(conf_options) / sizeof(conf_options[0]);

_Static_assert(sizeof(conf_options) / sizeof(conf_options[0]) <= CONF_OPTION_MAX,
               "CONF_OPTION_MAX is too small");

bool conf_option_used_by(const struct conf_option *option, const struct exporter_type *type)
{
    if (!type)
        return false;
    return option->used_by == CONF_ALL || (option->used_by & 1U << (type - exporter_types)) ||
           (option->used_by & CONF_SERVERS && type->needs_url);
}

static bool names(const struct conf_option *option, const char *name)
{
    if (option->prefix)
        return strncmp(name, option->prefix, strlen(option->prefix)) == 0;
    return strcmp(name, option->name) == 0;
}

const struct conf_option *conf_option_find(enum conf_kind kind, const char *name)
{
    for (size_t i = 0; i < conf_option_count; i++)
        if (conf_options[i].kind == kind && names(&conf_options[i], name))
            return &conf_options[i];
    return NULL;
}
