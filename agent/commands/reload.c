/* SPDX-License-Identifier: Apache-2.0 */
/* reload.c - new settings for an agent that runs; see run.h. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/cli/options.h"
#include "agent/commands/commands.h"
#include "agent/commands/run.h"
#include "agent/discover/users.h"
#include "agent/host/clock.h"
#include "agent/host/log.h"
#include "agent/host/thread.h"
#include "base/text.h"

/* Exporters that are no more deliver what they hold for so long, beside everything else. */
#define END_NS (5 * NS_PER_S)

/* A spool changes hands within so long; sampling goes on meanwhile. */
#define HAND_OVER_NS NS_PER_S

enum { ERRORS_MAX = 1 << 16 };

/* Exporters that are being ended. */
static atomic_uint ending;

/* The exporters of before, which deliver what they hold and end. */
struct ended {
    struct publisher publisher; /* owned */
    struct conf *conf;          /* owned: the labels of `publisher` */
};

/* A service manager that keeps a directory for us says where: systemd.exec(5), StateDirectory=. */
void run_choose_spool(struct run *run, struct conf *conf)
{
    const char *state = getenv("STATE_DIRECTORY"); /* the first of them, if there are several */
    int size = state ? (int)strcspn(state, ":") : 0;

    if (conf->agent.spool || size == 0 || size > PATH_MAX / 2)
        return;
    (void)snprintf(run->spool, sizeof(run->spool), "%.*s/spool", size, state);
    conf->agent.spool = run->spool;
}

static void *end_publisher(void *arg)
{
    struct ended *ended = arg;
    uint64_t deadline_ns = clock_mono_ns() + END_NS;
    bool good = publisher_close(&ended->publisher, deadline_ns);

    conf_free(ended->conf);
    free(ended);
    if (good) /* else one hangs: the process must not clean up after it */
        atomic_fetch_sub(&ending, 1);
    return NULL;
}

/* Ends exporters in the background; here and now if there can be no thread. */
static void end_later(struct ended *ended)
{
    pthread_t thread;

    atomic_fetch_add(&ending, 1);
    if (thread_start(&thread, end_publisher, ended) == 0)
        (void)pthread_detach(thread);
    else
        (void)end_publisher(ended);
}

bool reload_wait(uint64_t deadline_ns)
{
    static const struct timespec pause = {.tv_nsec = 10 * NS_PER_MS};

    while (atomic_load(&ending) > 0 && clock_mono_ns() < deadline_ns)
        (void)nanosleep(&pause, NULL);
    return atomic_load(&ending) == 0;
}

/* Logs each mistake on a line of its own; `err` gets the first. */
static void log_mistakes(const struct buf *errors, struct err *err)
{
    const char *line = buf_text(errors), *end = line + errors->size;

    if (buf_failed(errors)) {
        err_set(err, "out of memory");
        return;
    }
    err_set(err, "%.*s", (int)strcspn(line, "\n"), line);
    for (size_t i = 0; i < errors->size; i++)
        if (errors->data[i] == '\n')
            errors->data[i] = '\0';
    for (; line < end; line += strlen(line) + 1)
        log_line(LOG_LEVEL_ERROR, "%s", line);
}

static struct conf *load_new_conf(struct run *run, struct err *err)
{
    struct conf *conf = NULL;
    struct buf errors;
    enum conf_rc rc;

    buf_init(&errors, ERRORS_MAX);
    rc = conf_load(&run->source, &conf, &errors);
    if (rc == CONF_BAD)
        log_mistakes(&errors, err);
    else if (rc == CONF_NOMEM)
        err_set(err, "out of memory");
    buf_finish(&errors);
    if (conf && conf_is_empty(conf) && !conf_is_empty(run->conf)) {
        err_set(err, "%s: is empty, as while it is being written", run->source.path);
        conf_free(conf);
        return NULL;
    }
    if (conf)
        run_choose_spool(run, conf);
    return conf;
}

/* True if both settings keep profiles in one directory, which only one delivery can have. */
static bool share_spool(const struct conf *a, const struct conf *b)
{
    const char *one = a->agent.spool, *other = b->agent.spool;

    return one && other && strcmp(one, other) == 0 && strcmp(one, "off") != 0;
}

/* Opens exporters without the spool, to see whether they can work. */
static bool try_exporters(struct conf *conf, struct err *err)
{
    const char *spool = conf->agent.spool;
    struct publisher publisher;
    bool good;

    conf->agent.spool = "off";
    good = publisher_open(&publisher, conf, PUBLISHER_STRICT, err) == EXPORTER_OK;
    conf->agent.spool = spool;
    return good && publisher_close(&publisher, 0);
}

/*
 * Hands a spool over: what the exporters hold goes to the disk, and from there to the new ones.
 * Once they have been tried, only a want of memory can keep them from being opened.
 */
static bool switch_publisher(struct run *run, struct conf *conf, struct publisher *opened,
                             struct err *err)
{
    uint64_t profiles = run->publisher.profiles;
    struct err again;
    unsigned flags;

    if (!try_exporters(conf, err))
        return false;
    if (!publisher_close(&run->publisher, clock_mono_ns() + HAND_OVER_NS))
        run->hangs = true;
    flags = run->hangs ? PUBLISHER_WAIT_FOR_SPOOL : 0;
    if (publisher_open(opened, conf, flags, err) == EXPORTER_OK)
        return true;
    if (publisher_open(&run->publisher, run->conf, flags, &again) != EXPORTER_OK) {
        log_line(LOG_LEVEL_ERROR, "the exporters in use until now cannot go on either: %s",
                 again.text);
        _exit(EXIT_FAILED); /* out of memory; what was held is in the spool */
    }
    run->publisher.profiles = profiles;
    return false;
}

/* Opens all exporters again. The old ones deliver what they hold in the background, and end. */
static bool replace_exporters(struct run *run, struct conf *conf, struct err *err)
{
    struct ended *ended = calloc(1, sizeof(*ended));
    uint64_t profiles = run->publisher.profiles;
    struct publisher opened;

    err_set(err, "out of memory");
    if (!ended)
        return false;
    if (!(share_spool(run->conf, conf)
              ? switch_publisher(run, conf, &opened, err)
              : publisher_open(&opened, conf, PUBLISHER_STRICT, err) == EXPORTER_OK)) {
        free(ended);
        return false;
    }
    opened.profiles = profiles;
    ended->publisher = run->publisher; /* nothing, if it was handed over */
    ended->conf = run->conf;
    run->conf = NULL;
    run->publisher = opened;
    end_later(ended);
    return true;
}

/* True if exporters and spool are as before: they go on as they are. */
static bool are_exporters_same(const struct conf *before, const struct conf *conf)
{
    if (!conf_same_spool(before, conf) || before->exporter_count != conf->exporter_count ||
        before->agent.interval_ns != conf->agent.interval_ns)
        return false;
    for (size_t i = 0; i < conf->exporter_count; i++)
        if (strcmp(before->exporters[i].name, conf->exporters[i].name) != 0 ||
            !conf_same_exporter(before, conf, conf->exporters[i].name))
            return false;
    return true;
}

static bool change_exporters(struct run *run, struct conf *conf, struct err *err)
{
    return are_exporters_same(run->conf, conf) ? publisher_reload(&run->publisher, conf, err)
                                               : replace_exporters(run, conf, err);
}

static bool apply(struct run *run, struct conf *conf, struct err *err)
{
    struct matcher *matcher = matcher_new(conf);
    struct engine_settings settings;
    struct budget_limits budget;
    struct monitoring_change change;

    if (!matcher) {
        err_set(err, "out of memory");
        return false;
    }
    if (!monitoring_prepare(&run->monitoring, run->conf, conf, &change, err)) {
        matcher_free(matcher);
        return false;
    }
    if (!change_exporters(run, conf, err)) {
        monitoring_abandon(&change);
        matcher_free(matcher);
        return false;
    }
    monitoring_apply(&run->monitoring, conf, &change);
    matcher_free(run->matcher);
    run->matcher = matcher;
    matcher_use_reader(matcher, run->reader);
    conf_free(run->conf);
    run->conf = conf;
    options_log(conf);
    settings = (struct engine_settings){
        .interval_ns = conf->agent.interval_ns,
        .scan_ns = conf->agent.scan_ns,
        .max_services = conf->agent.max_services,
    };
    budget = (struct budget_limits){conf->agent.max_cpu, conf->agent.max_memory};
    supervisor_change(run->supervisor, &settings, &budget);
    return true;
}

bool reload(struct run *run, struct err *err)
{
    struct conf *conf;
    bool good;

    monitoring_reloading(&run->monitoring);
    conf = load_new_conf(run, err);
    good = conf && apply(run, conf, err);
    if (conf && !good)
        conf_free(conf);
    monitoring_reloaded(&run->monitoring, good, err);
    if (!good) {
        log_line(LOG_LEVEL_ERROR, "reload failed, all stays as it was: %s", err->text);
        return false;
    }
    log_line(LOG_LEVEL_INFO, "reloaded: %zu %s, %zu %s", run->conf->target_count,
             text_plural(run->conf->target_count, "target", "targets"), run->conf->exporter_count,
             text_plural(run->conf->exporter_count, "exporter", "exporters"));
    users_log_unknown(run->conf, run->reader);
    return true;
}
