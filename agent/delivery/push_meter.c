/* SPDX-License-Identifier: Apache-2.0 */
/* push_meter.c - see push_meter.h. */
#include "agent/delivery/push_meter.h"

#include <stdlib.h>

#include "agent/host/clock.h"

struct push_meter {
    atomic_uint references; /* the sink's and the asker's: a stuck send may outlive either */
    struct delivery_sink inner;
    atomic_uint_fast64_t pushes[PUSH_OUTCOMES], buckets[PUSH_BUCKETS], duration_ns;
    atomic_int_fast64_t last_ok_ns;
    atomic_long codes[PUSH_CODES]; /* the last one stands for all that came later */
    atomic_uint_fast64_t code_pushes[PUSH_CODES];
    atomic_size_t code_count;
};

static const uint64_t bounds_ms[PUSH_BOUNDS] = PUSH_BOUNDS_MS;

const char *push_outcome_name(enum push_outcome outcome)
{
    static const char *const names[] = {
        [PUSH_OK] = "ok",
        [PUSH_RETRY] = "retry",
        [PUSH_REFUSED] = "refused",
        [PUSH_DENIED] = "denied",
    };

    return names[outcome];
}

static enum push_outcome outcome_of(enum exporter_rc rc, const struct exporter_answer *answer)
{
    if (rc == EXPORTER_OK)
        return PUSH_OK;
    if (answer->denied)
        return PUSH_DENIED;
    return rc == EXPORTER_REFUSED ? PUSH_REFUSED : PUSH_RETRY;
}

/* Only one thread sends, so only one adds a code. */
static void count_code(struct push_meter *meter, long code)
{
    size_t i, count = atomic_load(&meter->code_count);

    for (i = 0; i < count && atomic_load(&meter->codes[i]) != code; i++)
        continue;
    if (i == PUSH_CODES)
        i--;
    if (i == count) {
        atomic_store(&meter->codes[i], i + 1 < PUSH_CODES ? code : PUSH_CODE_OTHER);
        atomic_store(&meter->code_count, count + 1);
    }
    atomic_fetch_add(&meter->code_pushes[i], 1);
}

static enum exporter_rc meter_send(void *ctx, const struct exporter_profile *profile,
                                   int64_t now_ns, struct exporter_answer *answer)
{
    struct push_meter *meter = ctx;
    uint64_t before = clock_mono_ns(), took;
    enum exporter_rc rc = meter->inner.send(meter->inner.ctx, profile, now_ns, answer);
    enum push_outcome outcome = outcome_of(rc, answer);
    size_t bucket = 0;

    took = clock_mono_ns() - before;
    while (bucket < PUSH_BOUNDS && took > bounds_ms[bucket] * NS_PER_MS)
        bucket++;
    atomic_fetch_add(&meter->buckets[bucket], 1);
    atomic_fetch_add(&meter->duration_ns, took);
    atomic_fetch_add(&meter->pushes[outcome], 1);
    count_code(meter, answer->status);
    if (outcome == PUSH_OK)
        atomic_store(&meter->last_ok_ns, clock_utc_ns());
    return rc;
}

static void meter_cancel(void *ctx)
{
    struct push_meter *meter = ctx;

    meter->inner.cancel(meter->inner.ctx);
}

static void meter_close(void *ctx)
{
    struct push_meter *meter = ctx;

    meter->inner.close(meter->inner.ctx);
    push_meter_unref(meter);
}

bool push_meter_new(const struct delivery_sink *inner, struct delivery_sink *out_sink,
                    struct push_meter **out)
{
    struct push_meter *meter = calloc(1, sizeof(*meter));

    if (!meter)
        return false;
    meter->inner = *inner;
    atomic_init(&meter->references, 2);
    *out_sink = (struct delivery_sink){meter_send, meter_cancel, meter_close, meter};
    *out = meter;
    return true;
}

void push_meter_counts(struct push_meter *meter, struct push_counts *out)
{
    size_t i;

    for (i = 0; i < PUSH_OUTCOMES; i++)
        out->pushes[i] = atomic_load(&meter->pushes[i]);
    for (i = 0; i < PUSH_BUCKETS; i++)
        out->buckets[i] = atomic_load(&meter->buckets[i]);
    out->code_count = atomic_load(&meter->code_count);
    for (i = 0; i < out->code_count; i++) {
        out->codes[i].code = atomic_load(&meter->codes[i]);
        out->codes[i].count = atomic_load(&meter->code_pushes[i]);
    }
    out->duration_ns = atomic_load(&meter->duration_ns);
    out->last_ok_ns = atomic_load(&meter->last_ok_ns);
}

struct push_meter *push_meter_ref(struct push_meter *meter)
{
    (void)atomic_fetch_add(&meter->references, 1);
    return meter;
}

void push_meter_unref(struct push_meter *meter)
{
    if (meter && atomic_fetch_sub(&meter->references, 1) == 1)
        free(meter);
}
