/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_exec.c - `pystrobe exec`: runs a command and profiles it and its Python descendants. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/child/confine.h"
#include "agent/cli/option_table.h"
#include "agent/commands/commands.h"
#include "agent/delivery/publisher.h"
#include "agent/discover/lineage.h"
#include "agent/discover/match.h"
#include "agent/discover/naming.h"
#include "agent/discover/proc_info.h"
#include "agent/dump/hang_dump.h"
#include "agent/exec/exec_parent.h"
#include "agent/host/clock.h"
#include "agent/host/file_limit.h"
#include "agent/host/log.h"
#include "agent/supervisor/supervisor.h"
#include "base/slice.h"
#include "base/text.h"

static const char help[] =
    "Usage: pystrobe exec [OPTIONS] -- COMMAND [ARGUMENT...]\n\n"
    "Runs a command as if it ran alone, profiles it and its Python descendants, and\n"
    "exits with its status. Passes signals on and reaps orphans, so it can be a\n"
    "container's first process. If the profiler fails, the command runs on.\n"
    "Without -c and --store, profiles go to $PYSTROBE_EXPORTER_NAME_TYPE, else to\n"
    "$OTEL_EXPORTER_OTLP_ENDPOINT, else to a store. PYSTROBE_... variables set keys\n"
    "of the ini file.\n\n"
    "  -c, --config FILE   exporters, labels, rate and interval of this ini file\n"
    "  -s, --store DIR     without -c: where profiles go; default:\n"
    "                      /var/lib/pystrobe/store for root, else\n"
    "                      ~/.local/state/pystrobe/store\n"
    "  -S, --service NAME  default: $OTEL_SERVICE_NAME, else the name of the script,\n"
    "                      module or app that the first Python runs\n"
    "  -r, --rate RATE     samples a second of each process; default 19Hz\n"
    "      --group         pass signals on to the command's process group, such as\n"
    "                      the children of a shell\n"
    "      --strict        do not run the command with settings that have mistakes\n"
    "                      (status 78)\n"
    "      --log-level LEVEL, --log-format FORMAT\n"
    "                      override log_level and log_format of the ini file\n"
    "  -h, --help          this text\n\n"
    "Example:\n"
    "  pystrobe exec -c pystrobe.ini -- gunicorn shop:app\n";

/* The command is gone: what is not delivered after this, or after a shorter stop_timeout, is lost.
 * The parent waits for longer (FINISH_NS). */
#define STOP_NS (2 * NS_PER_S)
/* Time between two heartbeats for the exec parent. */
#define HEARTBEAT_NS (2 * NS_PER_S)

enum { PATH_MAX_BYTES = 4096, INI_MAX = 8192, SAID_MAX = 1 << 20 };

struct request {
    char config[PATH_MAX_BYTES], store[PATH_MAX_BYTES]; /* absolute; "": not given */
    const char *service;
    double rate_hz; /* 0: as the settings have it */
    bool strict, group;
    struct options_flags flags;
    char **command;
};

struct run {
    const struct request *request;
    const struct exec_profiler *profiler;
    struct conf *conf; /* owned */
    struct publisher publisher;
    struct supervisor *supervisor; /* owned; or, where a child process may not read the command, */
    struct engine *engine;         /* owned: samples in this process */
    struct target_profile profile;
    bool named;                     /* by an option: no other name counts */
    bool is_named;                  /* by an option or the environment: all have one name */
    double asked_hz;                /* the rate by an option; 0: none */
    struct naming naming;           /* of the labels */
    struct proc_info *info;         /* owned */
    struct matcher *matcher;        /* owned */
    bool ships;                     /* the exporters are open */
    bool speaks;                    /* some of them with servers */
    bool hangs;                     /* one of them could not be ended */
    struct hang_log hang_log;       /* of what `engine` samples: all that hung, */
    struct hang_reported last_hang; /* and the last */
};

/* What a process is called: as the command is where that was said, else by what it comes from. */
static bool name_process(struct run *run, pid_t pid, char *out, size_t size)
{
    char name[256];

    (void)snprintf(out, size, "%s", run->profile.service);
    if (run->is_named)
        return true;
    if (!lineage_name(run->info, pid, run->profiler->root, name, sizeof(name)))
        return false;
    if (name[0])
        labels_clean(name, out, size);
    return true;
}

/*
 * A Python and all that it starts are one service, unless the ini file has a [target] for them.
 * Their labels are their own.
 */
static bool choose_descendant(void *ctx, pid_t pid, const struct proc_stat *stat,
                              struct target_profile *out)
{
    struct run *run = ctx;

    (void)stat;
    if (!proc_descends(pid, run->profiler->root))
        return false;
    if (!run->named && matcher_choose(run->matcher, pid, out)) {
        out->rate_hz = run->asked_hz > 0 ? run->asked_hz : out->rate_hz;
        return true;
    }
    proc_info_begin(run->info, pid);
    if (naming_is_disabled(run->info))
        return false;
    naming_apply(&run->naming, run->info, out);
    if (!name_process(run, pid, out->service, sizeof(out->service)))
        return false;
    out->otel_name = !run->named;
    out->rate_hz = run->profile.rate_hz;
    out->split = SPLIT_NONE;
    return true;
}

static void publish_exec_service(void *ctx, const struct service *service, uint64_t now_ns)
{
    struct run *run = ctx;

    if (run->ships)
        publisher_service(&run->publisher, service, now_ns);
}

static void end_shipped_interval(void *ctx)
{
    struct run *run = ctx;

    if (run->ships)
        publisher_interval_end(&run->publisher);
}

/* A process hangs that this process samples itself. */
static void report_exec_hang(void *ctx, const struct engine_hang *hang)
{
    struct run *run = ctx;
    char service[sizeof(run->profile.service)];
    struct buf dump;

    run->last_hang.kind =
        hang->kind == HANG_NONE ? HANG_STUCK : HANG_NONE; /* it is for all of them */
    buf_init(&dump, HANG_DUMP_MAX);
    if (hang->kind != HANG_NONE)
        hang_dump(&(struct program){hang->id, hang->mark}, &dump);
    (void)name_process(run, hang->id.pid, service, sizeof(service));
    hang_report(&run->hang_log, &run->last_hang, hang, service, buf_text(&dump), dump.size);
    buf_finish(&dump);
}

/* For the profiler, which works in no folder of the command's. `out` has PATH_MAX_BYTES. */
static bool make_absolute(const char *path, void *out)
{
    char *here = path[0] == '/' ? NULL : getcwd(NULL, 0);
    int used = 0;

    if (path[0] == '/' || (path[0] != '\0' && here))
        used = snprintf(out, PATH_MAX_BYTES, "%s%s%s", here ? here : "", here ? "/" : "", path);
    free(here);
    if (used > 0 && used < PATH_MAX_BYTES)
        return true;
    (void)fprintf(stderr,
                  "pystrobe: '%.100s' is no path, is too long for one, or the working directory is "
                  "gone\n",
                  path);
    return false;
}

/* True if OTel's variables or PYSTROBE_EXPORTER_NAME_TYPE say where profiles go. */
static bool environment_has_exporter(void)
{
    static const char prefix[] = "PYSTROBE_EXPORTER_", suffix[] = "_TYPE";
    const size_t prefix_size = sizeof(prefix) - 1, suffix_size = sizeof(suffix) - 1;

    for (char **one = environ; *one; one++) {
        size_t size = strcspn(*one, "=");

        if (size > prefix_size + suffix_size && strncmp(*one, prefix, prefix_size) == 0 &&
            strncmp(*one + size - suffix_size, suffix, suffix_size) == 0)
            return true;
    }
    return otel_makes_exporter(getenv);
}

/* The settings: those of the file, or just a store. */
static int read_exec_conf(const struct request *request, struct conf **out)
{
    struct conf_source source =
        options_source(request->config[0] ? request->config : NULL, &request->flags);
    char store[PATH_MAX_BYTES], ini[INI_MAX];

    if (request->config[0])
        return options_conf(&source, out);
    source.path = "--store";
    source.drop_ins = false;
    source.text = "[agent]\nlog_level = warning\n";
    source.size = strlen(source.text);
    if (!request->store[0] && environment_has_exporter())
        return options_conf(&source, out);
    if (!request->store[0] && !options_store(store, sizeof(store))) {
        (void)fprintf(
            stderr, "pystrobe: no store for profiles, because HOME is not set; use --store DIR\n");
        return EXIT_USAGE;
    }
    (void)snprintf(ini, sizeof(ini),
                   "[agent]\nlog_level = warning\n[exporter store]\ntype = store\npath = %s\n",
                   request->store[0] ? request->store : store);
    source.text = ini;
    source.size = strlen(ini);
    return options_conf(&source, out);
}

static const char *look_up_own_variable(void *ctx, const char *name)
{
    (void)ctx;
    return getenv(name);
}

/* How descendants are sampled. False: out of memory. */
static bool fill_choice(struct run *run)
{
    const struct request *request = run->request;
    struct target_profile *profile = &run->profile;
    char name[sizeof(profile->service)];

    run->named = run->is_named = request->service != NULL;
    run->asked_hz = request->rate_hz;
    if (request->service)
        (void)snprintf(name, sizeof(name), "%s", request->service);
    else if (!naming_declared(look_up_own_variable, NULL, name, sizeof(name))) /* the command's */
        options_service(request->command, name, sizeof(name));
    else
        run->is_named = true;
    labels_clean(name, profile->service, sizeof(profile->service));
    profile->rate_hz = request->rate_hz > 0 ? request->rate_hz : run->conf->agent.rate_hz;
    run->naming = naming_usual;
    run->naming.env_allow = run->conf->agent.env_allow;
    run->naming.auto_labels = run->conf->agent.auto_labels;
    run->info = proc_info_new();
    if (run->info)
        proc_info_stop_at(run->info, run->profiler->root);
    run->matcher = matcher_new(run->conf);
    return run->info && run->matcher;
}

static enum engine_event sample_until_heartbeat(struct run *run, struct signalfd_siginfo *info)
{
    uint64_t until_ns = clock_mono_ns() + HEARTBEAT_NS;

    heartbeat_end_read(run->profiler->heartbeat);
    return run->supervisor ? supervisor_run(run->supervisor, until_ns, info)
                           : engine_run(run->engine, until_ns, info);
}

/* Profiles until the command has ended, as the exec parent says. */
static void sample_to_the_end(struct run *run)
{
    struct signalfd_siginfo info = {0};
    enum engine_event event;

    if (run->engine)
        slice_shorten(ENGINE_SLICE_NS);
    file_limit_raise(); /* the command has begun with its own */
    do {
        event = sample_until_heartbeat(run, &info);
        if (event == ENGINE_SIGNAL && info.ssi_signo == SIGCHLD)
            exec_parent_reap_others(run->profiler);
    } while (event != ENGINE_FAILED && !(event == ENGINE_SIGNAL && info.ssi_signo == SIGTERM));
    if (run->supervisor)
        supervisor_flush(run->supervisor);
    else
        engine_flush(run->engine);
}

/* Servers take a library that stores and files can do without. */
static bool speaks_with_servers(const struct conf *conf)
{
    size_t i;

    for (i = 0; i < conf->exporter_count; i++)
        if (conf->exporters[i].type->needs_url)
            return true;
    return conf->exporter_count == 0 && otel_makes_exporter(getenv);
}

/* Opens the exporters. An error of one that opened says why it has to wait. */
static void open_exporters(struct run *run)
{
    const struct request *request = run->request;
    struct err err = {""};

    run->speaks = speaks_with_servers(run->conf);
    if (run->speaks && exporter_global_init(&err) != EXPORTER_OK)
        run->speaks = false;
    else
        run->ships = publisher_open(&run->publisher, run->conf, 0, &err) == EXPORTER_OK;
    if (!run->ships)
        log_line(LOG_LEVEL_WARNING, "the command runs, but its profiles go nowhere: %s", err.text);
    else if (err.text[0] && !request->config[0] && !request->store[0] &&
             run->conf->exporter_count == 1 && run->conf->exporters[0].type->is_store)
        log_line(LOG_LEVEL_WARNING, "exec --store DIR keeps profiles in another directory");
}

/* Opens the exporters, and what takes samples. */
static bool open_run(struct run *run)
{
    struct engine_settings settings = {
        .choose = choose_descendant,
        .deliver = publish_exec_service,
        .interval_ended = end_shipped_interval,
        .hangs = report_exec_hang,
        .ctx = run,
        .interval_ns = run->conf->agent.interval_ns,
        .scan_ns = run->conf->agent.scan_ns,
        .max_services = run->conf->agent.max_services,
        .parent = run->profiler->first && !run->profiler->command ? run->profiler->root : 0,
        .eager = true,
    };

    (void)sigemptyset(&settings.signals);
    (void)sigaddset(&settings.signals, SIGTERM);
    if (run->profiler->command)
        (void)sigaddset(&settings.signals, SIGCHLD);
    /* It tells of the command alone, so root may share the store of the service. */
    run->conf->any_owner = true;
    open_exporters(run);
    if (confine_may_help())
        run->supervisor = supervisor_new(&settings, &(struct budget_limits){0});
    else
        run->engine = engine_new(&settings);
    return fill_choice(run) && (run->supervisor || run->engine);
}

/* True if the command has ended already: there is nothing to open anything for. */
static bool has_command_ended(void)
{
    sigset_t pending;

    return sigpending(&pending) == 0 && sigismember(&pending, SIGTERM) == 1;
}

/* Appends a word as a shell reads it. */
static void add_shell_word(struct buf *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_@%+=:,./-";

    if (word[strspn(word, plain)] == '\0') {
        buf_add_str(out, word);
        return;
    }
    buf_add_str(out, "'");
    for (; *word; word++)
        if (*word == '\'')
            buf_add_str(out, "'\\''");
        else
            buf_add(out, word, 1);
    buf_add_str(out, "'");
}

/* Appends where an exporter has put profiles, and how to see them. */
static void add_place(struct buf *out, const struct exporter_settings *exporter,
                      const struct delivery_stats *stats)
{
    if (exporter->type->is_store) {
        buf_add_fmt(out, "pystrobe: the profiles are in %s: pystrobe report --store ",
                    exporter->path);
        add_shell_word(out, exporter->path);
        buf_add_str(out, "\n");
    } else {
        buf_add_fmt(out, "pystrobe: %" PRIu64 " %s went to ", stats->sent,
                    text_plural(stats->sent, "profile", "profiles"));
        if (exporter->type->needs_url)
            buf_add_fmt(out, "exporter %s (%s)\n", exporter->name, exporter->type->name);
        else
            buf_add_fmt(out, "files %s\n", exporter->pattern);
    }
}

/* Says to a user at a terminal where the profiles went. */
static void say_where(const struct run *run)
{
    struct delivery *delivery = run->publisher.delivery;
    struct delivery_stats stats;
    struct buf out;

    if (!isatty(STDERR_FILENO))
        return;
    buf_init(&out, SAID_MAX);
    for (size_t i = 0; i < delivery_count(delivery); i++) {
        (void)delivery_stats(delivery, i, &stats);
        if (stats.sent > 0)
            add_place(&out, &run->conf->exporters[i], &stats);
    }
    (void)fputs(buf_text(&out), stderr);
    buf_finish(&out);
}

/* Profiles the command, in a process beside it. */
static int profile(void *ctx, const struct exec_profiler *profiler)
{
    struct run run = {.request = ctx, .profiler = profiler};
    int status = read_exec_conf(run.request, &run.conf);
    uint64_t stop_ns;

    (void)signal(SIGPIPE, SIG_IGN);
    if (status == EXIT_OK && has_command_ended()) {
        conf_free(run.conf);
        return EXIT_OK;
    }
    if (status != EXIT_OK) {
        log_line(LOG_LEVEL_WARNING, "the command runs unprofiled: see above");
        return status;
    }
    if (open_run(&run)) {
        sample_to_the_end(&run);
    } else {
        log_line(LOG_LEVEL_WARNING, "the command runs unprofiled: out of memory or descriptors");
        status = EXIT_FAILED;
    }
    if (run.ships) {
        stop_ns = run.conf->agent.stop_timeout_ns;
        stop_ns = stop_ns < STOP_NS ? stop_ns : STOP_NS;
        publisher_stop(&run.publisher, clock_mono_ns() + stop_ns);
        say_where(&run);
        run.hangs = !publisher_close(&run.publisher, 0);
    }
    supervisor_free(run.supervisor);
    engine_free(run.engine);
    matcher_free(run.matcher);
    proc_info_free(run.info);
    conf_free(run.conf);
    if (run.speaks && !run.hangs)
        exporter_global_finish();
    return status;
}

#define FIELD(field) OPTION_FIELD(struct request, field)

static const struct option_row rows[] = {
    {"config", 'c', OPTION_READ, FIELD(config), .read = make_absolute},
    {"store", 's', OPTION_READ, FIELD(store), .read = make_absolute},
    {"service", 'S', OPTION_TEXT, FIELD(service), .old = 'n'},
    {"rate", 'r', OPTION_RATE, FIELD(rate_hz)},
    {"group", 0, OPTION_FLAG, FIELD(group), .old = 'g'},
    {"strict", 0, OPTION_FLAG, FIELD(strict)},
    OPTION_LOG_ROWS(struct request, flags),
    {.name = NULL},
};

/* Says what is wrong with the words as a whole. */
static bool check_exec_arguments(const struct request *request)
{
    if (!request->command[0])
        (void)fprintf(stderr, "pystrobe: exec needs a command: pystrobe exec -- COMMAND\n");
    else if (request->config[0] && request->store[0])
        (void)fprintf(stderr,
                      "pystrobe: use either --store or -c, whose file names the exporters\n");
    else
        return true;
    return false;
}

int cmd_exec(int argc, char **argv)
{
    static const struct option_table table = {.rows = rows, .help = help, .ends_at_word = true};
    struct request request = {.rate_hz = 0};
    struct exec_parent parent = {.profile = profile, .ctx = &request};
    struct conf *conf = NULL;
    int status = EXIT_OK;

    if (!option_table_read(&table, argc, argv, &request, &status))
        return status;
    request.command = argv + optind;
    if (!check_exec_arguments(&request))
        return options_usage("exec");
    log_init(LOG_LEVEL_WARNING);
    if (request.strict)
        status = read_exec_conf(&request, &conf);
    conf_free(conf);
    if (status != EXIT_OK)
        return status;
    parent.command = request.command;
    parent.group = request.group;
    parent.above = !confine_may_help();
    return exec_parent_run(&parent);
}
