/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_exec.c - `pystrobe exec`: runs a command and profiles it and its Python descendants. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/child.h"
#include "agent/clock.h"
#include "agent/commands.h"
#include "agent/confine.h"
#include "agent/facts.h"
#include "agent/fleet.h"
#include "agent/log.h"
#include "agent/match.h"
#include "agent/naming.h"
#include "agent/options.h"
#include "agent/ship.h"

static const char help[] =
    "Usage: pystrobe exec [OPTIONS] -- COMMAND [ARGUMENT...]\n\n"
    "Runs a command, profiles it and its Python descendants as long as it lives, and exits\n"
    "with its status. Signals are passed on to it. Without -c, profiles go to a store,\n"
    "or to $OTEL_EXPORTER_OTLP_ENDPOINT where that is set and --store is not given.\n\n"
    "  -c, --config FILE   exporters, labels, rate and interval of this ini file\n"
    "  -s, --store DIR     without -c: where profiles go; default: /var/lib/pystrobe/store\n"
    "                      for root, else ~/.local/state/pystrobe/store\n"
    "  -n, --service NAME  default: $OTEL_SERVICE_NAME, else the script's name\n"
    "  -r, --rate RATE     samples a second of each process; default 19Hz\n"
    "      --log-level LEVEL, --log-format FORMAT\n"
    "                      go before log_level and log_format of the ini file\n"
    "  -h, --help          this text\n\n"
    "Example:\n"
    "  pystrobe exec -c pystrobe.ini -- gunicorn shop:app\n";

/* The command is gone: what is not delivered after this is lost. Nobody waits for over 5 s. */
#define STOP_NS (3 * NS_PER_S)

enum { PATH_MAX_BYTES = 4096, INI_MAX = 8192 };

struct request {
    const char *config, *store, *service;
    double rate_hz; /* 0: as the settings have it */
    struct options_flags flags;
    char **command;
};

struct run {
    struct conf *conf; /* owned */
    struct ship ship;
    struct fleet *fleet;   /* owned; or, where a helper may not read the command, */
    struct engine *engine; /* owned: samples in this process */
    struct child child;
    struct choice choice;
    bool named;              /* by an option: no other name counts */
    double asked_hz;         /* the rate by an option; 0: none */
    struct naming naming;    /* of the labels */
    struct facts *facts;     /* owned */
    struct matcher *matcher; /* owned */
    bool ships;              /* the exporters are open */
    bool hangs;              /* one of them could not be ended */
};

/*
 * Descendants of the command are one service, whatever they run, unless the ini file has a
 * [target] for them. Their labels are their own.
 */
static bool choose(void *ctx, pid_t pid, const struct proc_stat *stat, struct choice *out)
{
    struct run *run = ctx;

    (void)stat;
    if (!child_is_ours(pid))
        return false;
    if (!run->named && matcher_choose(run->matcher, pid, out)) {
        out->rate_hz = run->asked_hz > 0 ? run->asked_hz : out->rate_hz;
        return true;
    }
    facts_begin(run->facts, pid);
    if (naming_is_disabled(run->facts))
        return false;
    naming_apply(&run->naming, run->facts, out);
    memcpy(out->service, run->choice.service, sizeof(out->service));
    out->otel_name = !run->named;
    out->rate_hz = run->choice.rate_hz;
    out->split = SPLIT_NONE;
    return true;
}

static void deliver(void *ctx, const struct service *service, uint64_t now_ns)
{
    struct run *run = ctx;

    if (run->ships)
        ship_service(&run->ship, service, now_ns);
}

static void interval_ended(void *ctx)
{
    struct run *run = ctx;

    if (run->ships)
        ship_interval_end(&run->ship);
}

/* Where a user's own profiles are kept. */
static bool default_store(char *out, size_t size)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int used;

    if (geteuid() == 0)
        used = snprintf(out, size, "/var/lib/pystrobe/store");
    else if (state && state[0] == '/')
        used = snprintf(out, size, "%s/pystrobe/store", state);
    else
        used = home ? snprintf(out, size, "%s/.local/state/pystrobe/store", home) : -1;
    return used > 0 && (size_t)used < size;
}

/* The ini knows absolute paths only: an agent has no folder that it is called in. */
static bool make_absolute(const char *path, char *out, size_t size)
{
    char *here = path[0] == '/' ? NULL : getcwd(NULL, 0);
    int used = snprintf(out, size, "%s%s%s", here ? here : "", here ? "/" : "", path);

    free(here);
    return used > 0 && (size_t)used < size;
}

/* The settings: those of the file, or just a store. */
static int read_conf(const struct request *request, struct conf **out)
{
    struct conf_source source = options_source(request->config, &request->flags);
    char store[PATH_MAX_BYTES], ini[INI_MAX];

    if (request->config)
        return options_conf(&source, out);
    source.path = "--store";
    source.drop_ins = false;
    source.text = "[agent]\nlog_level = warning\n";
    source.size = strlen(source.text);
    if (!request->store && otel_makes_exporter(getenv))
        return options_conf(&source, out);
    if (!(request->store ? make_absolute(request->store, store, sizeof(store))
                         : default_store(store, sizeof(store)))) {
        (void)fprintf(stderr, "pystrobe: there is no place to keep profiles in; use --store DIR\n");
        return EXIT_USAGE;
    }
    (void)snprintf(ini, sizeof(ini),
                   "[agent]\nlog_level = warning\n[exporter store]\ntype = store\npath = %s\n",
                   store);
    source.text = ini;
    source.size = strlen(ini);
    return options_conf(&source, out);
}

/* The name that the command's environment gives it; false: none. */
static bool name_by_otel(char *out, size_t size)
{
    const char *name = getenv("OTEL_SERVICE_NAME"), *all = getenv("OTEL_RESOURCE_ATTRIBUTES");

    out[0] = '\0';
    if (name && name[0])
        (void)snprintf(out, size, "%s", name);
    else if (all && !naming_attribute(all, "service.name", out, size))
        return false;
    return out[0] != '\0';
}

/* How descendants are sampled. False: out of memory. */
static bool fill_choice(struct run *run, const struct request *request)
{
    struct choice *choice = &run->choice;
    char name[sizeof(choice->service)];

    run->named = request->service != NULL;
    run->asked_hz = request->rate_hz;
    if (request->service)
        (void)snprintf(name, sizeof(name), "%s", request->service);
    else if (!name_by_otel(name, sizeof(name)))
        options_service(request->command, name, sizeof(name));
    labels_clean(name, choice->service, sizeof(choice->service));
    choice->rate_hz = request->rate_hz > 0 ? request->rate_hz : run->conf->agent.rate_hz;
    run->naming = naming_usual;
    run->naming.env_allow = run->conf->agent.env_allow;
    run->naming.auto_labels = run->conf->agent.auto_labels;
    run->facts = facts_new();
    run->matcher = matcher_new(run->conf);
    return run->facts && run->matcher;
}

/* Profiles until the command has ended. Whatever happens to us, its status is passed on. */
static int profile(struct run *run)
{
    struct signalfd_siginfo info;
    enum engine_event event = ENGINE_SIGNAL;

    while (!run->child.ended && event != ENGINE_FAILED) {
        event = run->fleet ? fleet_run(run->fleet, UINT64_MAX, &info)
                           : engine_run(run->engine, UINT64_MAX, &info);
        if (event == ENGINE_SIGNAL)
            child_handle(&run->child, &info);
    }
    if (run->fleet)
        fleet_flush(run->fleet);
    else
        engine_flush(run->engine);
    if (run->ships)
        run->hangs = !ship_close(&run->ship, clock_mono_ns() + STOP_NS);
    return child_wait(&run->child);
}

static int run_command(struct run *run, const struct request *request)
{
    struct engine_settings settings = {
        .choose = choose,
        .deliver = deliver,
        .interval_ended = interval_ended,
        .ctx = run,
        .interval_ns = run->conf->agent.interval_ns,
        .scan_ns = run->conf->agent.scan_ns,
        .max_services = run->conf->agent.max_services,
        .eager = true,
    };
    struct err err = {""};
    sigset_t before;
    int status;

    child_block_signals(&settings.signals, &before); /* before threads start */
    status = child_start(&run->child, request->command, &before, &err);
    if (status != EXIT_OK) {
        log_line(LOG_LEVEL_ERROR, "%s", err.text);
        return status;
    }
    /* The command runs: from here on trouble of ours must not end it. */
    run->ships = ship_open(&run->ship, run->conf, false, &err);
    if (!run->ships)
        log_line(LOG_LEVEL_WARNING, "the command runs, but its profiles go nowhere: %s", err.text);
    if (confine_may_help())
        run->fleet = fleet_new(&settings);
    else
        run->engine = engine_new(&settings);
    if (run->fleet || run->engine)
        return profile(run);
    log_line(LOG_LEVEL_WARNING, "the command runs unprofiled: out of memory or descriptors");
    return child_wait(&run->child);
}

/* Reads the arguments; EXIT_OK, or EXIT_USAGE when it has said what is wrong. */
static int read_request(int argc, char **argv, struct request *request, bool *wants_help)
{
    static const struct option longs[] = {{"config", required_argument, NULL, 'c'},
                                          {"store", required_argument, NULL, 's'},
                                          {"service", required_argument, NULL, 'n'},
                                          {"rate", required_argument, NULL, 'r'},
                                          OPTIONS_LOG,
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    int c;

    while ((c = getopt_long(argc, argv, "+c:s:n:r:h", longs, NULL)) != -1) {
        if (c == 'c')
            request->config = optarg;
        else if (c == 's')
            request->store = optarg;
        else if (c == 'n')
            request->service = optarg;
        else if (c == 'h')
            *wants_help = true;
        else if (options_flag(&request->flags, c, optarg))
            continue;
        else if (c != 'r' || !options_rate(optarg, &request->rate_hz))
            return options_usage("exec");
    }
    request->command = argv + optind;
    if (*wants_help)
        return EXIT_OK;
    if (optind == argc) {
        (void)fprintf(stderr, "pystrobe: exec needs a command: pystrobe exec -- COMMAND\n");
        return options_usage("exec");
    }
    if (request->config && request->store) {
        (void)fprintf(stderr, "pystrobe: --store goes without -c, which names the exporters\n");
        return options_usage("exec");
    }
    return EXIT_OK;
}

int cmd_exec(int argc, char **argv)
{
    struct request request = {0};
    struct run run = {0};
    bool wants_help = false;
    int status = read_request(argc, argv, &request, &wants_help);

    if (status != EXIT_OK || wants_help)
        return status != EXIT_OK ? status : options_help(help);
    status = read_conf(&request, &run.conf);
    if (status != EXIT_OK)
        return status;
    if (exporter_global_init() != EXPORTER_OK)
        return EXIT_FAILED;
    status = fill_choice(&run, &request) ? run_command(&run, &request) : EXIT_FAILED;
    fleet_free(run.fleet);
    engine_free(run.engine);
    matcher_free(run.matcher);
    facts_free(run.facts);
    conf_free(run.conf);
    if (!run.hangs)
        exporter_global_finish();
    return status;
}
