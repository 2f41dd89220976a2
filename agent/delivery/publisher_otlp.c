/* SPDX-License-Identifier: Apache-2.0 */
/* publisher_otlp.c - see publisher_otlp.h. */
#include "agent/delivery/publisher_otlp.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "agent/delivery/profile_labels.h"
#include "agent/host/log.h"
#include "agent/host/version.h"
#include "base/arena.h"
#include "base/time_units.h"
#include "pprof/otlp.h"

enum { BYTES_MAX = 64 << 20, FORMS = 4, NAMES_MAX = 1 << 20 };

/*
 * Labels of a series beside ours: __name__, __delta__, __otel__, service_name, and the attributes
 * below. A server makes no label of the attribute service.name of a sample.
 */
enum { ADDED_ATTRIBUTES = 3, ADDED_LABELS = 4 + ADDED_ATTRIBUTES };

/*
 * A Collector takes 20 MiB over HTTP, and a receiver of gRPC 4 MiB as a rule, unpacked. A Pyroscope
 * makes a pprof of each profile and takes no more than 16,000 samples in one and 2 MiB at once;
 * beyond that it says 429 to all of a request, for ever, though it keeps a part.
 */
static const struct otlp_limits limits = {
    .request_bytes = 3 << 20, /* and one row; of what is packed: well below 2 MiB then */
    .pprof_bytes = 1900000,
    .samples = PYROSCOPE_SAMPLES_MAX,
};

/* A microsecond: what is counted is the kernel's number then, not one of samples. */
enum { CPU_PERIOD_NS = NS_PER_US };

static const enum exporter_form forms[FORMS] = {
    EXPORTER_REQUEST, EXPORTER_REQUEST_GIL, EXPORTER_REQUEST_LIMITED, EXPORTER_REQUEST_GIL_LIMITED};

/* What is gathered for the exporters of one form. */
struct gathering {
    struct otlp *otlp; /* owned; NULL: there are none */
    enum exporter_form form;
    int64_t start_ns, end_ns; /* UTC */
};

struct publisher_otlp {
    struct delivery *delivery;  /* borrowed */
    const struct label *labels; /* borrowed */
    size_t label_count;
    struct gathering gatherings[FORMS];
    struct arena names; /* owned: those that limited attributes get */
    bool warned;        /* that labels are left out */
    struct buf bytes;   /* owned: the request that is handed over */
    uint64_t now_ns;    /* when the interval ended whose services are there */
    uint64_t requests;  /* handed over */
};

/* An empty request; its id is what tells one that is sent twice from two that are equal. */
static bool reset_otlp_request(struct gathering *g)
{
    unsigned char id[OTLP_ID_SIZE] = {0};

    if (getrandom(id, sizeof(id), GRND_NONBLOCK) != (ssize_t)sizeof(id))
        memset(id, 0, sizeof(id)); /* which stands for none */
    return otlp_reset(g->otlp, id) == PPROF_OK;
}

bool publisher_otlp_new(struct delivery *delivery, const struct label *labels, size_t label_count,
                        struct publisher_otlp **out)
{
    struct publisher_otlp *publisher = calloc(1, sizeof(*publisher));
    struct gathering *g;

    if (!publisher)
        return false;
    publisher->delivery = delivery;
    publisher->labels = labels;
    publisher->label_count = label_count;
    buf_init(&publisher->bytes, BYTES_MAX);
    arena_init(&publisher->names, NAMES_MAX);
    for (size_t i = 0; i < FORMS; i++) {
        g = &publisher->gatherings[i];
        g->form = forms[i];
        if (delivery_wanted(delivery, forms[i]) == 0)
            continue;
        if (otlp_new("pystrobe", version_number, &limits, &g->otlp) != PPROF_OK ||
            !reset_otlp_request(g)) {
            publisher_otlp_free(publisher);
            return false;
        }
    }
    *out = publisher;
    return true;
}

void publisher_otlp_set_labels(struct publisher_otlp *publisher, const struct label *labels,
                               size_t label_count)
{
    publisher->labels = labels;
    publisher->label_count = label_count;
}

void publisher_otlp_free(struct publisher_otlp *publisher)
{
    if (!publisher)
        return;
    for (size_t i = 0; i < FORMS; i++)
        otlp_free(publisher->gatherings[i].otlp);
    buf_finish(&publisher->bytes);
    arena_finish(&publisher->names);
    free(publisher);
}

uint64_t publisher_otlp_requests(const struct publisher_otlp *publisher)
{
    return publisher->requests;
}

static void queue_otlp_request(struct publisher_otlp *publisher, const struct gathering *g)
{
    const struct exporter_profile profile = {
        .start_ns = g->start_ns,
        .end_ns = g->end_ns,
        .bytes = publisher->bytes.data,
        .size = publisher->bytes.size,
    };

    publisher->requests++;
    delivery_put(publisher->delivery, g->form, &profile);
}

/* Hands a request over, if it has anything, and begins the next. */
static void queue_and_reset_request(struct publisher_otlp *publisher, struct gathering *g)
{
    enum pprof_rc rc = PPROF_OK;

    if (otlp_profile_count(g->otlp) > 0) {
        buf_reset(&publisher->bytes);
        rc = otlp_finish(g->otlp, &publisher->bytes);
        if (rc == PPROF_OK)
            queue_otlp_request(publisher, g);
    }
    if (!reset_otlp_request(g))
        rc = PPROF_NOMEM;
    if (rc != PPROF_OK)
        log_line(LOG_LEVEL_ERROR, "an OTLP request could not be encoded: %s", pprof_rc_text(rc));
}

void publisher_otlp_end(struct publisher_otlp *publisher)
{
    for (size_t i = 0; i < FORMS; i++) {
        if (publisher->gatherings[i].otlp)
            queue_and_reset_request(publisher, &publisher->gatherings[i]);
    }
}

/* The name that a Pyroscope takes; the name itself where out of memory for this request. */
static const char *limited_name(struct publisher_otlp *publisher, const char *name)
{
    char taken[EXPORTER_LABEL_NAME_MAX + 1];
    const char *copy = NULL;

    if (exporter_label_name(name, taken))
        copy = arena_strndup(&publisher->names, taken, strlen(taken));
    return copy ? copy : name;
}

static size_t list_attributes(struct publisher_otlp *publisher, const struct service *service,
                              bool limited, struct otlp_attribute out[OTLP_ATTRIBUTES_MAX])
{
    struct profile_labels labels;
    size_t count = 0;

    profile_labels_list(&labels, service, publisher->labels, publisher->label_count);
    if (limited)
        profile_labels_limit(&labels, service, ADDED_LABELS, &publisher->warned);
    arena_reset(&publisher->names);
    out[count++] = (struct otlp_attribute){"service.name", service->name, 0};
    out[count++] = (struct otlp_attribute){"process.runtime.name", "cpython", 0};
    if (service->python[0])
        out[count++] = (struct otlp_attribute){"process.runtime.version", service->python, 0};
    for (size_t i = 0; i < labels.count && count < OTLP_ATTRIBUTES_MAX; i++)
        out[count++] = (struct otlp_attribute){
            limited ? limited_name(publisher, labels.items[i].name) : labels.items[i].name,
            labels.items[i].value, 0};
    return count;
}

/*
 * CPU first, as that is what tools show; as a count with a period, as only that is taken
 * for CPU everywhere. The name of a profile in a Pyroscope is its period's.
 */
static size_t list_types(const struct service *service, bool gil, struct otlp_type out[3])
{
    int64_t period = service->period_ns ? (int64_t)service->period_ns : 1;
    size_t count = 0;

    out[count++] = (struct otlp_type){
        VALUE_CPU, {"samples", "count"}, CPU_PERIOD_NS, service_types[VALUE_CPU], CPU_PERIOD_NS};
    out[count++] = (struct otlp_type){VALUE_WALL, service_types[VALUE_WALL], 1,
                                      service_types[VALUE_WALL], period};
    if (gil)
        out[count++] = (struct otlp_type){VALUE_GIL, service_types[VALUE_GIL], 1,
                                          service_types[VALUE_GIL], period};
    return count;
}

/* Adds all rows of a service, in as many requests as they take. */
static enum pprof_rc add_service_rows(struct publisher_otlp *publisher, struct gathering *g,
                                      struct otlp_rows *rows)
{
    enum pprof_rc rc = PPROF_OK;

    while (rc == PPROF_OK && otlp_rows_left(rows) > 0) {
        rc = otlp_add(g->otlp, rows);
        if (otlp_rows_left(rows) > 0)
            queue_and_reset_request(publisher, g);
    }
    return rc;
}

static enum pprof_rc add_service_profile(struct publisher_otlp *publisher, struct gathering *g,
                                         const struct service *service, const struct pprof *profile)
{
    const bool gil = exporter_form_unlimited(g->form) == EXPORTER_REQUEST_GIL;
    struct otlp_attribute attributes[OTLP_ATTRIBUTES_MAX];
    struct otlp_type types[3];
    struct otlp_service add = {
        .profile = profile,
        .attributes = attributes,
        .attribute_count =
            list_attributes(publisher, service, exporter_form_is_limited(g->form), attributes),
        .types = types,
        .type_count = list_types(service, gil, types),
        .time_ns = service->start_utc_ns,
        .duration_ns = (int64_t)(publisher->now_ns - service->start_ns),
    };
    struct otlp_rows *rows = NULL;
    enum pprof_rc rc;

    g->start_ns = add.time_ns;
    g->end_ns = add.time_ns + add.duration_ns;
    rc = otlp_rows_new(&add, &rows);
    if (rc == PPROF_OK)
        rc = add_service_rows(publisher, g, rows);
    otlp_rows_free(rows);
    return rc;
}

static void add_service_to_request(struct publisher_otlp *publisher, struct gathering *g,
                                   const struct service *service)
{
    static const struct pprof_fit within = {.label_max = EXPORTER_LABEL_VALUE_MAX,
                                            .depth_max = PYROSCOPE_DEPTH_MAX};
    struct pprof *fitted = NULL;
    enum pprof_rc rc = PPROF_OK;

    if (exporter_form_is_limited(g->form))
        rc = pprof_fit(service->profile, &within, &fitted);
    if (rc == PPROF_OK)
        rc = add_service_profile(publisher, g, service, fitted ? fitted : service->profile);
    pprof_free(fitted);
    if (rc != PPROF_OK)
        log_line(LOG_LEVEL_ERROR, "service %s: a profile could not be encoded: %s", service->name,
                 pprof_rc_text(rc));
}

void publisher_otlp_service(struct publisher_otlp *publisher, const struct service *service,
                            uint64_t now_ns)
{
    if (now_ns != publisher->now_ns)
        publisher_otlp_end(publisher); /* nothing, if the last interval was ended */
    publisher->now_ns = now_ns;
    for (size_t i = 0; i < FORMS; i++) {
        if (publisher->gatherings[i].otlp)
            add_service_to_request(publisher, &publisher->gatherings[i], service);
    }
}
