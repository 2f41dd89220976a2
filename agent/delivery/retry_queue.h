/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retry_queue.h - what one exporter has to deliver, what to try next, and when.
 *
 * Shape:   retry_queue_init, retry_queue_add what comes; retry_queue_take the next
 *          one, and retry_queue_complete with the answer; retry_queue_finish.
 * Threads: belongs to whoever holds its lane's lock. It knows no clock: all times are given.
 *
 * In order, the oldest first. When a profile is not taken, either nothing gets through (an
 * outage) or just this one does not (a poison profile), and the answers look alike. So after a
 * few failures another profile is tried right after it, a probe. If the probe fails too, it is an
 * outage: all stays in order, and nobody's tries are counted. If it gets through, the first one
 * becomes a suspect: the others pass it by, it is tried beside them, and after enough tries that
 * failed while others got through it is given up. Where no server was reached at all, it is an
 * outage without a probe.
 */
#ifndef AGENT_DELIVERY_RETRY_QUEUE_H
#define AGENT_DELIVERY_RETRY_QUEUE_H

#include "agent/delivery/delivery.h"
#include "agent/delivery/payload.h"

struct delivery_item {
    uint64_t order;          /* of its coming */
    int64_t born_ns;         /* when the profile began, as delivery_born_ns has it */
    uint64_t put_ns;         /* when it came; 0: an earlier run left it */
    struct payload *payload; /* owned: one reference; NULL: it is in the spool */
    unsigned char bit;       /* in the spool: which of its owers this exporter is */
    bool suspect;            /* it fails, or somebody has it, while others get through */
    unsigned tries;          /* of a suspect: that failed while others got through */
    uint64_t first_ns;       /* the first failure; 0: none yet */
    uint64_t not_before_ns;  /* of a suspect: the next try */
    uint64_t seen;           /* the plan's successes when it last failed */
};

/* Why an item left without being delivered. */
enum delivery_loss {
    DELIVERY_LOST_FULL, /* memory is bounded */
    DELIVERY_LOST_GONE, /* the spool made room */
    DELIVERY_LOST_OLD   /* tried for too long, or no server would take it any more */
};

/* Is told of each loss, while the item is still whole. */
typedef void delivery_lose(void *ctx, const struct delivery_item *item, enum delivery_loss why);

struct retry_queue {
    struct delivery_limits limits;
    delivery_lose *lose;
    void *ctx;                   /* borrowed: of `lose` */
    struct delivery_item *items; /* owned: [first, first + count), by order */
    size_t first, count, capacity;
    size_t payloads, payload_bytes; /* of those that are in memory */
    size_t suspects;
    uint64_t random; /* state */
    uint64_t gone;   /* the spool has dropped all up to this one */
    bool hurried;    /* no pause is made for others' sake any more */

    uint64_t not_before_ns;
    unsigned failures, denials; /* since something last got through */
    uint64_t successes;         /* in all */
    uint64_t failing;           /* the oldest item, if it is the one that fails; 0: none */
    unsigned failing_tries;     /* of it */
    bool probing;               /* the next try is a probe */
    uint64_t probes;            /* so far */
    uint64_t began_ns, puts;    /* for the pace: how often something comes */
    uint64_t backlog_ns;        /* not before then the next one of a backlog */
    uint64_t phase_ns;          /* this agent's share of limits.spread_ns */
};

/*
 * What began at `from_ns` and was seen at `to_ns`, both UTC, which is now: when that was by the
 * clock of now_ns. Ages are counted with it, so that whoever sets the UTC clock ages nothing.
 */
int64_t delivery_born_ns(uint64_t now_ns, int64_t from_ns, int64_t to_ns);

/* Makes an empty plan. `random` is anything; the limits have no zeros that stand for defaults. */
void retry_queue_init(struct retry_queue *queue, const struct delivery_limits *limits,
                      uint64_t random, uint64_t now_ns);

/* Frees it. What is in memory is lost, uncounted. */
void retry_queue_finish(struct retry_queue *queue);

/*
 * Adds an item by its order; for want of memory, the oldest in memory go.
 *
 * Gives: the item's reference to the plan.
 */
void retry_queue_add(struct retry_queue *queue, const struct delivery_item *item);

/* The spool has dropped all its entries up to this one. */
void retry_queue_gone(struct retry_queue *queue, uint64_t order);

/*
 * Takes out the item to try now, and loses those that are over.
 *
 * Gives: *out with its reference; or false, and in *due_ns when to ask again.
 */
bool retry_queue_take(struct retry_queue *queue, uint64_t now_ns, struct delivery_item *out,
                      uint64_t *due_ns);

/*
 * Takes account of the answer to an item that was taken out: it ends, comes back or is lost.
 *
 * Gives: the item's reference to the plan.
 */
void retry_queue_complete(struct retry_queue *queue, struct delivery_item *item,
                          enum exporter_rc rc, const struct exporter_answer *answer,
                          uint64_t now_ns);

/* Puts an item back that could not be tried, and waits for `pause_ns`. */
void retry_queue_put_off(struct retry_queue *queue, struct delivery_item *item, uint64_t now_ns,
                         uint64_t pause_ns);

/* The same, but the others do not wait for it. */
void retry_queue_put_aside(struct retry_queue *queue, struct delivery_item *item, uint64_t now_ns,
                           uint64_t pause_ns);

/* Makes all due at once: it is to end soon. */
void retry_queue_expedite(struct retry_queue *queue);

/* Takes the oldest item out, with its reference, whatever is to become of it. False: there is none.
 */
bool retry_queue_pop(struct retry_queue *queue, struct delivery_item *out);

/* Drops all that is in memory only. Returns how many. */
size_t retry_queue_clear(struct retry_queue *queue);

#endif
