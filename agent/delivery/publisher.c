/* SPDX-License-Identifier: Apache-2.0 */
/* publisher.c - see publisher.h. */
#include "agent/delivery/publisher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/delivery/profile_labels.h"
#include "agent/delivery/secrets.h"
#include "agent/host/clock.h"
#include "agent/host/log.h"
#include "agent/host/utc.h"
#include "agent/host/version.h"

enum { BYTES_MAX = 64 << 20, COMMENT_MAX = 3400 };

/* A Pyroscope's burst is 2 MiB by default, of which 30 labels take up to 92 kB. */
enum { PART_BYTES_MAX = 2000000 };

/* Labels that server and agent add: __name__, service_name, __delta__, pyroscope_spy. */
enum { ADDED_LABELS = 4 };

/* Agents that were started together send at different times, within this of each other. */
#define SEND_JITTER_NS (15 * NS_PER_S)

static uint64_t world_now(void *ctx)
{
    (void)ctx;
    return clock_mono_ns();
}

static int64_t world_utc(void *ctx)
{
    (void)ctx;
    return clock_utc_ns();
}

static void world_log(void *ctx, enum delivery_level level, const char *line)
{
    (void)ctx;
    log_line(level == DELIVERY_WARNING ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO, "%s", line);
}

static void warn_of_variable(const char *line)
{
    log_line(LOG_LEVEL_WARNING, "%s", line);
}

static void begin_otel(struct otel *out)
{
    static unsigned warned;

    otel_init(out, secrets_getenv, warn_of_variable, &warned);
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);

    return value && value[0] ? value : NULL;
}

/*
 * What other programs heed of the environment, too, and libcurl does not. It leaves HTTP_PROXY
 * out because a client sets that of a CGI program, which knows REQUEST_METHOD.
 */
static void fill_from_environment(struct exporter_settings *settings)
{
    if (!variable("http_proxy") && !variable("REQUEST_METHOD"))
        settings->http_proxy = variable("HTTP_PROXY");
    settings->ssl_cert_file = variable("SSL_CERT_FILE");
    settings->ssl_cert_dir = variable("SSL_CERT_DIR");
}

static int64_t since_boot_ns(void)
{
    return utc_now().boot_ns;
}

/* True if there is no URL or a good one. That of an environment variable was not checked before. */
static bool is_url_good(const char *url, struct err *err)
{
    struct err why;

    if (!url || conf_url_check(url, &why) == CONF_OK)
        return true;
    err_set(err, "url: %s", why.text);
    return false;
}

/* Opens one exporter of a type by what its section and the environment say. */
static enum exporter_rc open_by(struct otel *otel, const struct exporter_settings *section,
                                const struct exporter_type *type, struct exporter **out,
                                struct err *err)
{
    struct exporter_settings settings = *section;
    enum exporter_rc rc = EXPORTER_RETRY; /* a restart may bring another environment */
    struct secrets secrets;

    settings.user_agent = version_agent;
    settings.since_boot_ns = since_boot_ns;
    fill_from_environment(&settings);
    if (secrets_fetch(&settings, &secrets, err)) {
        if (settings.type->reads_otel)
            otel_fill(otel, &settings);
        settings.type = type;
        rc = is_url_good(settings.url, err) ? exporter_open(&settings, out, err)
                                            : EXPORTER_BAD_CONFIG;
    }
    secrets_release(&secrets);
    return rc;
}

static enum exporter_rc open_alone(const struct exporter_settings *section,
                                   const struct exporter_type *type, struct exporter **out,
                                   struct err *err)
{
    struct otel otel;
    enum exporter_rc rc;

    begin_otel(&otel);
    rc = open_by(&otel, section, type, out, err);
    otel_finish(&otel);
    return rc;
}

enum exporter_rc publisher_exporter(const struct exporter_settings *section, struct exporter **out,
                                    struct err *err)
{
    return open_alone(section, section->type, out, err);
}

enum exporter_rc publisher_as_pyroscope(const struct exporter_settings *section,
                                        struct exporter **out, struct err *err)
{
    return open_alone(section, &exporter_types[EXPORTER_PYROSCOPE], out, err);
}

static struct export_limits limits_of(const struct conf *conf,
                                      const struct exporter_settings *section)
{
    uint64_t interval_ns = conf->agent.interval_ns;

    return (struct export_limits){
        .queue_bytes = section->queue_size_bytes,
        .retry_ns = section->retry_ns > 0 ? section->retry_ns : 1,
        .max_age_ns = exporter_is_limited(section) ? PYROSCOPE_AGE_S * NS_PER_S : 0,
        .jitter_ns = !section->type->spread         ? 0
                     : interval_ns < SEND_JITTER_NS ? interval_ns
                                                    : SEND_JITTER_NS,
        .interval_ns = interval_ns,
    };
}

/* Opens one exporter and adds it. */
static enum exporter_rc open_exporter(struct publisher *publisher, const struct conf *conf,
                                      const struct exporter_settings *section, unsigned flags,
                                      struct err *err)
{
    const struct export_limits limits = limits_of(conf, section);
    struct exporter_settings settings = *section;
    struct exporter *exporter;
    struct delivery_sink sink;
    enum exporter_rc rc;

    settings.any_owner = conf->any_owner;
    settings.may_wait = !(flags & PUBLISHER_STRICT);
    rc = open_by(&publisher->otel, &settings, section->type, &exporter, err);
    if (rc != EXPORTER_OK) {
        err_within(err, "exporter %s", section->name);
        return rc;
    }
    sink = delivery_sink_of(exporter);
    if (delivery_add(publisher->delivery, section->name, exporter_form(exporter), &sink, &limits)) {
        if (err->text[0])
            delivery_waits(publisher->delivery, err);
        return EXPORTER_OK;
    }
    err_set(err, "exporter %s: out of memory, or there are %d exporters already", section->name,
            DELIVERY_EXPORTERS_MAX);
    return EXPORTER_NOMEM;
}

size_t publisher_wanted(const struct conf *conf, const struct exporter_settings **out)
{
    static const struct exporter_settings by_environment = {
        .name = "otel", .type = &exporter_types[EXPORTER_OTLP], .retry_ns = 300 * NS_PER_S};

    *out = conf->exporter_count > 0 ? conf->exporters : &by_environment;
    if (conf->exporter_count > 0)
        return conf->exporter_count;
    return otel_makes_exporter(secrets_getenv) ? 1 : 0;
}

/* The labels of the settings, then what the environment says of all resources. */
static struct label *join_attributes(const struct publisher *publisher)
{
    size_t count = publisher->label_count + publisher->otel.attribute_count;
    struct label *all = calloc(count + 1, sizeof(*all));

    for (size_t i = 0; all && i < count; i++)
        all[i] = i < publisher->label_count
                     ? publisher->labels[i]
                     : publisher->otel.attributes[i - publisher->label_count];
    return all;
}

/* Opens what gathers OTLP requests. */
static enum exporter_rc open_otlp(struct publisher *publisher, struct err *err)
{
    publisher->attributes = join_attributes(publisher);
    if (publisher->attributes &&
        publisher_otlp_new(publisher->delivery, publisher->attributes,
                           publisher->label_count + publisher->otel.attribute_count,
                           &publisher->otlp))
        return EXPORTER_OK;
    err_set(err, "out of memory");
    return EXPORTER_NOMEM;
}

/* The delivery, with a spool if the settings name one. */
static bool open_delivery(struct publisher *publisher, const struct conf_agent *conf, bool held,
                          struct err *err)
{
    static const struct delivery_world world = {
        .now_ns = world_now, .utc_ns = world_utc, .log = world_log};
    const struct delivery_spool spool = {
        .path = conf->spool,
        .max_size_bytes = conf->spool_max_size_bytes,
        .max_age_ns = conf->spool_max_age_ns,
        .min_free_bytes = conf->spool_min_free_bytes,
        .held = held,
    };
    bool spooled = spool.path && strcmp(spool.path, "off") != 0;

    return delivery_new(&world, spooled ? &spool : NULL, &publisher->delivery, err);
}

enum exporter_rc publisher_open(struct publisher *publisher, const struct conf *conf,
                                unsigned flags, struct err *err)
{
    const struct exporter_settings *wanted = NULL;
    enum exporter_rc rc = EXPORTER_RETRY; /* another agent may have the spool */
    size_t i, count = 0;

    *publisher = (struct publisher){0};
    buf_init(&publisher->bytes, BYTES_MAX);
    begin_otel(&publisher->otel);
    err_set(err, "out of memory");
    publisher->labels = conf->labels;
    publisher->label_count = conf->label_count;
    if (open_delivery(publisher, &conf->agent, flags & PUBLISHER_WAIT_FOR_SPOOL, err)) {
        count = publisher_wanted(conf, &wanted);
        rc = EXPORTER_OK;
    }
    for (i = 0; rc == EXPORTER_OK && i < count; i++)
        rc = open_exporter(publisher, conf, &wanted[i], flags, err);
    if (rc == EXPORTER_OK)
        rc = open_otlp(publisher, err);
    if (rc == EXPORTER_OK && !delivery_start(publisher->delivery)) {
        err_set(err, "out of threads");
        rc = EXPORTER_NOMEM;
    }
    if (rc != EXPORTER_OK)
        (void)publisher_close(publisher, 0);
    return rc;
}

bool publisher_reload(struct publisher *publisher, const struct conf *conf, struct err *err)
{
    struct publisher next = *publisher;

    next.labels = conf->labels;
    next.label_count = conf->label_count;
    next.attributes = join_attributes(&next);
    if (!next.attributes) {
        err_set(err, "out of memory");
        return false;
    }
    publisher_otlp_set_labels(publisher->otlp, next.attributes,
                              next.label_count + next.otel.attribute_count);
    free(publisher->attributes);
    *publisher = next;
    delivery_reconnect(publisher->delivery);
    return true;
}

void publisher_stop(struct publisher *publisher, uint64_t deadline_ns)
{
    if (publisher->otlp)
        publisher_interval_end(publisher);
    if (publisher->delivery && !delivery_stop(publisher->delivery, deadline_ns))
        log_line(LOG_LEVEL_WARNING, "stopping: some profiles were not delivered in time");
}

bool publisher_close(struct publisher *publisher, uint64_t deadline_ns)
{
    bool ended;

    publisher_stop(publisher, deadline_ns);
    ended = delivery_free(publisher->delivery);
    publisher_otlp_free(publisher->otlp);
    free(publisher->attributes);
    otel_finish(&publisher->otel);
    buf_finish(&publisher->bytes);
    *publisher = (struct publisher){0};
    return ended;
}

/* What goes around the samples, for the values in `types`. */
static struct pprof_meta meta_of(const struct service *service, uint64_t now_ns, uint32_t types,
                                 const struct pprof_type *period_type)
{
    return (struct pprof_meta){
        .time_ns = service->start_utc_ns,
        .duration_ns = (int64_t)(now_ns - service->start_ns),
        .period_type = *period_type,
        .period = (int64_t)service->period_ns,
        .types = types,
    };
}

enum pprof_rc publisher_encode(const struct service *service, uint64_t now_ns,
                               const struct label *labels, size_t label_count, const char *shown,
                               struct buf *out)
{
    struct pprof_meta meta = meta_of(service, now_ns, 0, &service_types[VALUE_WALL]);
    char texts[PPROF_COMMENTS_MAX][COMMENT_MAX];
    const char *comments[PPROF_COMMENTS_MAX];

    (void)snprintf(texts[meta.comment_count++], COMMENT_MAX, "%s", version_agent);
    (void)snprintf(texts[meta.comment_count++], COMMENT_MAX, "service: %s", service->name);
    if (service->python[0])
        (void)snprintf(texts[meta.comment_count++], COMMENT_MAX, "python: %s", service->python);
    for (size_t i = 0; i < label_count && meta.comment_count < PPROF_COMMENTS_MAX; i++)
        (void)snprintf(texts[meta.comment_count++], COMMENT_MAX, "label: %s=%s", labels[i].name,
                       labels[i].value);
    for (size_t i = 0; i < meta.comment_count; i++)
        comments[i] = texts[i];
    meta.comments = comments;
    meta.default_type = shown;
    return pprof_encode(service->profile, &meta, out);
}

static void queue_service_profile(struct publisher *publisher, const struct service *service,
                                  enum exporter_form form, const char *type, uint64_t now_ns)
{
    struct profile_labels labels;
    struct exporter_profile profile = {
        .service = service->name,
        .type = type,
        .labels = labels.items,
        .start_ns = service->start_utc_ns,
        .end_ns = service->start_utc_ns + (int64_t)(now_ns - service->start_ns),
        .bytes = publisher->bytes.data,
        .size = publisher->bytes.size,
        .owner = (uint32_t)service->owner, /* its lowest bit is set: never 0 */
    };

    profile_labels_list(&labels, service, publisher->labels, publisher->label_count);
    if (exporter_form_is_limited(form))
        profile_labels_limit(&labels, service, ADDED_LABELS, &publisher->warned);
    profile.label_count = labels.count;
    publisher->profiles++;
    delivery_put(publisher->delivery, form, &profile);
}

static void log_encode_error(const struct service *service, enum pprof_rc rc)
{
    log_line(LOG_LEVEL_ERROR, "service %s: a profile could not be encoded: %s", service->name,
             pprof_rc_text(rc));
}

/* A profile with one value, or a part of it, on its way to the exporters. */
struct part {
    struct publisher *publisher;
    const struct service *service;
    const struct pprof *profile; /* the service's, as receivers take it */
    unsigned limited;            /* what is added to a form: EXPORTER_LIMITED, or 0 */
    enum service_value value;
    uint64_t now_ns;
};

static void put_part(void *ctx)
{
    static const enum exporter_form forms[] = {EXPORTER_PER_TYPE, EXPORTER_PER_TYPE_GIL};
    const struct part *part = ctx;

    for (size_t i = part->value == VALUE_GIL ? 1 : 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        enum exporter_form form = (enum exporter_form)(forms[i] + part->limited);

        if (delivery_wanted(part->publisher->delivery, form) > 0)
            queue_service_profile(part->publisher, part->service, form,
                                  service_types[part->value].type, part->now_ns);
    }
}

/*
 * Profiles with one value: what Pyroscope's process_cpu and wall are. Its rate limit
 * lets nothing pass that is larger than its burst, however often it is tried; so what
 * is larger goes in parts, each a delivery of its own.
 */
static void publisher_type(struct part *part, enum service_value value)
{
    static const struct pprof_bounds bounds = {PART_BYTES_MAX, PYROSCOPE_SAMPLES_MAX};
    struct pprof_meta meta =
        meta_of(part->service, part->now_ns, 1U << value, &service_types[value]);
    struct buf *bytes = &part->publisher->bytes;
    enum pprof_rc rc;

    if (pprof_total(part->profile, value) == 0)
        return;
    part->value = value;
    buf_reset(bytes);
    rc = pprof_encode_parts(part->profile, &meta, &bounds, bytes, put_part, part);
    if (rc != PPROF_OK)
        log_encode_error(part->service, rc);
}

/*
 * A Pyroscope makes series labels of the texts of samples and refuses a blank in their names; it
 * drops numbers. Files of one value are what it is sent.
 */
static void publisher_types(struct publisher *publisher, const struct service *service,
                            unsigned limited, uint64_t now_ns)
{
    const struct pprof_fit fit = {
        .renames = service_plain_names,
        .texts = true,
        .label_max = limited ? EXPORTER_LABEL_VALUE_MAX : 0,
        .depth_max = limited ? PYROSCOPE_DEPTH_MAX : 0,
    };
    struct part part = {
        .publisher = publisher, .service = service, .limited = limited, .now_ns = now_ns};
    bool gil = delivery_wanted(publisher->delivery, EXPORTER_PER_TYPE_GIL + limited) > 0;
    struct pprof *fitted;
    enum pprof_rc rc;

    if (!gil && delivery_wanted(publisher->delivery, EXPORTER_PER_TYPE + limited) == 0)
        return;
    rc = pprof_fit(service->profile, &fit, &fitted);
    if (rc != PPROF_OK) {
        log_encode_error(service, rc);
        return;
    }
    part.profile = fitted ? fitted : service->profile;
    publisher_type(&part, VALUE_CPU);
    publisher_type(&part, VALUE_WALL);
    if (gil)
        publisher_type(&part, VALUE_GIL);
    pprof_free(fitted);
}

static void publisher_whole(struct publisher *publisher, const struct service *service,
                            uint64_t now_ns)
{
    struct profile_labels labels;
    enum pprof_rc rc;

    profile_labels_list(&labels, service, publisher->labels, publisher->label_count);
    buf_reset(&publisher->bytes);
    rc = publisher_encode(service, now_ns, labels.items, labels.count,
                          service_types[VALUE_CPU].type, &publisher->bytes);
    if (rc == PPROF_OK)
        queue_service_profile(publisher, service, EXPORTER_WHOLE, NULL, now_ns);
    else
        log_encode_error(service, rc);
}

void publisher_service(struct publisher *publisher, const struct service *service, uint64_t now_ns)
{
    uint64_t before = publisher_otlp_requests(publisher->otlp);

    if (service_is_empty(service))
        return;
    if (service->overflow > 0)
        log_line(LOG_LEVEL_WARNING, "service %s: %llu samples had no room in the profile",
                 service->name, (unsigned long long)service->overflow);
    if (delivery_wanted(publisher->delivery, EXPORTER_WHOLE) > 0)
        publisher_whole(publisher, service, now_ns);
    publisher_types(publisher, service, 0, now_ns);
    publisher_types(publisher, service, EXPORTER_LIMITED, now_ns);
    publisher_otlp_service(publisher->otlp, service, now_ns);
    publisher->profiles += publisher_otlp_requests(publisher->otlp) - before;
}

void publisher_interval_end(struct publisher *publisher)
{
    uint64_t before = publisher_otlp_requests(publisher->otlp);

    publisher_otlp_end(publisher->otlp);
    delivery_end_interval(publisher->delivery);
    publisher->profiles += publisher_otlp_requests(publisher->otlp) - before;
}
