/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_sampler.c - `pystrobe sampler`: reads the processes that its supervisor names, and hands
 * over what it sees. Not for people: child_process.h starts it, supervisor.h is the other side.
 *
 * It may hang in a read, or be killed, at any time: what it has seen is handed over several
 * times a second, so that little is lost with it.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/child/call_filter.h"
#include "agent/child/child_process.h"
#include "agent/child/confine.h"
#include "agent/commands/commands.h"
#include "agent/dump/hang_dump.h"
#include "agent/host/clock.h"
#include "agent/host/file_limit.h"
#include "agent/host/log.h"
#include "agent/supervisor/ipc_messages.h"
#include "base/slice.h"
#include "pprof/feed.h"

enum { PIECE_BYTES = 64 << 10, HAND_LATER_MS = 2000 };

/* How often it hands over; the second while there was nothing to sample. */
#define HAND_NS  (250 * NS_PER_MS)
#define QUIET_NS NS_PER_S
/* ... and what is counted of each process and of the unwinder: for the budget and for people. */
#define EACH_NS (2 * NS_PER_S)

/* What was handed over of one service. */
struct hand {
    const struct service *service; /* borrowed */
    struct pprof_delta_encoder encoder;
    bool began; /* in this interval */
    struct hand *next;
};

struct sampler {
    struct ipc_channel channel;
    struct heartbeat *heartbeat; /* shared */
    struct engine *engine;       /* owned */
    struct hand *hands;          /* owned list */
    struct buf piece;
    uint64_t samples; /* when it handed over last */
    uint64_t hand_ns; /* when it is to hand over next */
    uint64_t each_ns; /* and the counts of each process */
    struct report_each each;
    struct cpy_stats unwinder; /* as it was counted last */
    bool over;
};

static void send_report(struct sampler *s, enum report kind, const void *message, size_t size)
{
    if (ipc_channel_send(&s->channel, kind, message, size, NULL, 0) != IPC_CHANNEL_OK)
        s->over = true;
}

static void tell_build(struct sampler *s)
{
    struct report_build message;

    memset(&message, 0, sizeof(message));
    build_id(message.id);
    send_report(s, REPORT_BUILD, &message, sizeof(message));
}

static void tell_began(void *ctx, struct proc_id id, const char *version)
{
    struct report_began message;

    memset(&message, 0, sizeof(message));
    message.id = id;
    (void)snprintf(message.version, sizeof(message.version), "%s", version);
    send_report(ctx, REPORT_BEGAN, &message, sizeof(message));
}

static void tell_put_off(void *ctx, struct proc_id id, enum cpy_rc rc, const struct err *err)
{
    struct report_put_off message;

    memset(&message, 0, sizeof(message));
    message.id = id;
    message.rc = rc;
    message.err = *err;
    send_report(ctx, REPORT_PUT_OFF, &message, sizeof(message));
}

static void tell_ended(void *ctx, struct proc_id id)
{
    send_report(ctx, REPORT_ENDED, &id, sizeof(id));
}

static void tell_child(void *ctx, const struct process_end *child)
{
    struct process_end message;

    memset(&message, 0, sizeof(message)); /* padding, too */
    message.id = child->id;
    message.parent = child->parent;
    message.cpu_ns = child->cpu_ns;
    send_report(ctx, REPORT_CHILD, &message, sizeof(message));
}

static void tell_warning(void *ctx, struct proc_id id, const struct err *text)
{
    struct report_warning message;

    memset(&message, 0, sizeof(message));
    message.id = id;
    message.text = *text;
    send_report(ctx, REPORT_WARNING, &message, sizeof(message));
}

/* The dump is left away while the supervisor has much to read already. */
static void tell_hang(void *ctx, const struct engine_hang *hang)
{
    struct sampler *s = ctx;
    struct engine_hang head;
    struct buf dump;

    memset(&head, 0, sizeof(head)); /* padding, too */
    head.id = hang->id;
    head.kind = hang->kind;
    head.tid = hang->tid;
    head.lasted_ns = hang->lasted_ns;
    buf_init(&dump, HANG_DUMP_MAX);
    if (hang->kind != HANG_NONE && !ipc_channel_has_unsent(&s->channel))
        hang_dump(&(struct program){hang->id, hang->mark}, &dump);
    if (ipc_channel_send(&s->channel, REPORT_HANG, &head, sizeof(head), dump.data, dump.size) !=
        IPC_CHANNEL_OK)
        s->over = true;
    buf_finish(&dump);
}

static struct hand *hand_of(struct sampler *s, const struct service *service)
{
    struct hand *hand;

    for (hand = s->hands; hand; hand = hand->next)
        if (hand->service == service)
            return hand;
    hand = calloc(1, sizeof(*hand));
    if (!hand)
        return NULL;
    hand->service = service;
    hand->next = s->hands;
    s->hands = hand;
    return hand;
}

/* Hands over the next piece of a service's profile; false: there is no more, or the end. */
static bool hand_piece(struct sampler *s, struct hand *hand)
{
    const struct service *service = hand->service;
    struct report_rows head;
    bool more = false;

    buf_reset(&s->piece);
    if (pprof_give(&hand->encoder, service->profile, PIECE_BYTES, &s->piece, &more) != PPROF_OK) {
        s->over = true; /* out of memory: what it has is lost, and it is started anew */
        return false;
    }
    if (s->piece.size == 0)
        return false;
    memset(&head, 0, sizeof(head));
    (void)snprintf(head.service, sizeof(head.service), "%s", service->name);
    head.labels = service->labels;
    head.held = service->held;
    (void)snprintf(head.python, sizeof(head.python), "%s", service->python);
    head.period_ns = service->period_ns;
    head.owner = service->owner;
    head.owner_bytes = service->owner_bytes;
    head.begins = !hand->began;
    hand->began = true;
    if (ipc_channel_send(&s->channel, REPORT_ROWS, &head, sizeof(head), s->piece.data,
                         s->piece.size) != IPC_CHANNEL_OK)
        s->over = true;
    return more && !s->over;
}

/* Waits until the supervisor has read what it was sent. */
static void drain(struct sampler *s)
{
    uint64_t end_ns = clock_mono_ns() + HAND_LATER_MS * NS_PER_MS;
    struct pollfd socket = {.fd = s->channel.fd, .events = POLLOUT};

    while (!s->over && ipc_channel_has_unsent(&s->channel) && clock_mono_ns() < end_ns) {
        (void)poll(&socket, 1, 100);
        heartbeat_end_read(s->heartbeat);
        if (ipc_channel_flush(&s->channel) != IPC_CHANNEL_OK)
            s->over = true;
    }
}

/* Hands over all that there is of a service, however long the supervisor takes to read it. */
static void hand_all(struct sampler *s, struct hand *hand)
{
    do
        drain(s);
    while (hand_piece(s, hand));
}

static void forget_hand(struct sampler *s, struct hand *hand)
{
    struct hand **link = &s->hands;

    while (*link != hand)
        link = &(*link)->next;
    *link = hand->next;
    pprof_delta_encoder_finish(&hand->encoder);
    free(hand);
}

/* The rest of what was held comes before the name that it goes by. */
static void tell_named(void *ctx, struct proc_id id, const struct target_profile *profile,
                       const struct service *held)
{
    struct sampler *s = ctx;
    struct hand *hand = held ? hand_of(s, held) : NULL;
    struct report_named message;

    if (hand) {
        hand_all(s, hand);
        forget_hand(s, hand);
    }
    memset(&message, 0, sizeof(message));
    message.id = id;
    message.ends_hold = held != NULL;
    message.labels = profile->labels;
    memcpy(message.service, profile->service, sizeof(message.service));
    memcpy(message.named_by, profile->named_by, sizeof(message.named_by));
    send_report(s, REPORT_NAMED, &message, sizeof(message));
}

static void hand_counts(struct sampler *s)
{
    struct report_counts counts;

    memset(&counts, 0, sizeof(counts));
    counts.stats = *engine_stats(s->engine);
    counts.unwinder = s->unwinder;
    if (!s->over && !ipc_channel_has_unsent(&s->channel))
        send_report(s, REPORT_COUNTS, &counts, sizeof(counts));
}

static void send_each(struct sampler *s)
{
    if (s->each.count > 0 && !s->over && !ipc_channel_has_unsent(&s->channel))
        send_report(s, REPORT_EACH, &s->each, sizeof(s->each));
    s->each.count = 0;
}

static void add_each(void *ctx, struct proc_id id, const struct engine_counts *counts)
{
    struct sampler *s = ctx;

    s->each.items[s->each.count].id = id;
    s->each.items[s->each.count].counts = *counts;
    if (++s->each.count == REPORT_EACH_MAX)
        send_each(s);
}

/* Counts what lies with each process: seldom, as it takes as long as there are many. */
static void hand_each(struct sampler *s)
{
    uint64_t now_ns = clock_mono_ns();

    if (now_ns < s->each_ns)
        return;
    s->each_ns = now_ns + EACH_NS;
    engine_unwinder(s->engine, &s->unwinder);
    engine_each(s->engine, add_each, s);
    send_each(s);
}

/* Hands over what is new, as far as the supervisor reads it; the rest comes with the next. Counts
 * come first: what each process costs has to get through beside rows that never end. */
static void send_pending_rows(struct sampler *s)
{
    const struct service *service;
    struct hand *hand;

    if (ipc_channel_flush(&s->channel) != IPC_CHANNEL_OK)
        s->over = true;
    if (!ipc_channel_has_unsent(&s->channel)) {
        hand_each(s);
        hand_counts(s);
    }
    for (service = engine_services(s->engine); service && !s->over; service = service->next) {
        hand = hand_of(s, service);
        while (hand && !ipc_channel_has_unsent(&s->channel) && hand_piece(s, hand)) {
        }
    }
}

static void commit_and_send(struct sampler *s, const struct ipc_commit *ipc_message)
{
    const struct service *service;
    struct hand *hand;

    engine_commit(s->engine, &ipc_message->split_pids);
    for (service = engine_services(s->engine); service && !s->over; service = service->next) {
        hand = hand_of(s, service);
        if (hand)
            hand_all(s, hand);
    }
    send_report(s, REPORT_COMMITTED, &ipc_message->number, sizeof(ipc_message->number));
}

/* Hands over all that the interval has of a service. */
static void send_service_interval(void *ctx, const struct service *service, uint64_t now_ns)
{
    struct sampler *s = ctx;
    struct hand *hand = hand_of(s, service);

    (void)now_ns;
    if (!hand)
        return;
    hand_all(s, hand);
    pprof_delta_encoder_reset(&hand->encoder);
    hand->began = false;
}

static void end_sampler_interval(struct sampler *s, const struct ipc_end *ipc_message)
{
    if (ipc_message->last)
        engine_flush(s->engine);
    else
        engine_end_interval(s->engine);
    drain(s);
    engine_unwinder(s->engine, &s->unwinder);
    hand_counts(s);
    /* No rows before this: they would be of the next interval. */
    send_report(s, REPORT_DONE, &ipc_message->number, sizeof(ipc_message->number));
    drain(s);
}

static bool obey(void *ctx, uint32_t kind, const void *bytes, size_t size)
{
    struct sampler *s = ctx;
    struct ipc_take take;
    struct ipc_burst burst;
    struct ipc_commit commit;
    struct ipc_end end;
    struct proc_id id;
    struct ipc_share share;
    struct process_end child;

    if (kind == IPC_TAKE && ipc_read(&take, sizeof(take), bytes, size)) {
        send_pending_rows(s); /* opening is where a target blocks first: nothing is lost by it */
        engine_take(s->engine, take.id, &take.profile);
    } else if (kind == IPC_DROP && ipc_read(&id, sizeof(id), bytes, size)) {
        engine_drop(s->engine, id);
    } else if (kind == IPC_END && ipc_read(&end, sizeof(end), bytes, size)) {
        end_sampler_interval(s, &end);
    } else if (kind == IPC_BURST && ipc_read(&burst, sizeof(burst), bytes, size)) {
        (void)engine_burst(s->engine, &burst.burst, burst.duration_ns);
    } else if (kind == IPC_SHARE && ipc_read(&share, sizeof(share), bytes, size)) {
        engine_share(s->engine, share.owner, share.share_ns);
    } else if (kind == IPC_COMMIT && ipc_read(&commit, sizeof(commit), bytes, size)) {
        commit_and_send(s, &commit);
    } else if (kind == IPC_CHILD && ipc_read(&child, sizeof(child), bytes, size)) {
        engine_note_child(s->engine, &child);
    } else {
        s->over = true;
    }
    return !s->over;
}

/* Samples until the supervisor closes the channel. */
static int sample_until_closed(struct sampler *s)
{
    struct signalfd_siginfo info;
    enum engine_event event;
    bool quiet;

    while (!s->over) {
        event = engine_run(s->engine, s->hand_ns, &info);
        heartbeat_end_read(s->heartbeat);
        if (event == ENGINE_FAILED)
            return EXIT_FAILED;
        if (event == ENGINE_MESSAGES && ipc_channel_receive(&s->channel, obey, s) != IPC_CHANNEL_OK)
            break;
        if (clock_mono_ns() < s->hand_ns)
            continue;
        quiet = engine_stats(s->engine)->samples == s->samples;
        s->samples = engine_stats(s->engine)->samples;
        send_pending_rows(s);
        s->hand_ns = clock_mono_ns() + (quiet ? QUIET_NS : HAND_NS);
    }
    return EXIT_OK;
}

/* Takes over the scratch. */
static bool open_sampler(struct sampler *s, struct cpy_scratch *scratch)
{
    static const struct engine_callbacks callbacks = {.began = tell_began,
                                                      .named = tell_named,
                                                      .put_off = tell_put_off,
                                                      .ended = tell_ended,
                                                      .child = tell_child};
    struct engine_settings settings = {.callbacks = &callbacks,
                                       .deliver = send_service_interval,
                                       .hangs = tell_hang,
                                       .warns = tell_warning,
                                       .ctx = s,
                                       .messages_fd = CHILD_PROCESS_CHANNEL_FD,
                                       .scratch = scratch};
    void *heartbeat = mmap(NULL, sizeof(*s->heartbeat), PROT_READ | PROT_WRITE, MAP_SHARED,
                           CHILD_PROCESS_HEARTBEAT_FD, 0);

    if (heartbeat == MAP_FAILED) {
        cpy_scratch_free(scratch);
        return false;
    }
    s->heartbeat = heartbeat;
    settings.heartbeat = heartbeat;
    (void)sigemptyset(&settings.signals);
    ipc_channel_init(&s->channel, CHILD_PROCESS_CHANNEL_FD);
    tell_build(s);
    buf_init(&s->piece, PIECE_BYTES + PPROF_PIECE_MAX);
    s->engine = engine_new(&settings);
    return s->engine != NULL;
}

static void close_sampler(struct sampler *s)
{
    while (s->hands)
        forget_hand(s, s->hands);
    engine_free(s->engine);
    buf_finish(&s->piece);
    ipc_channel_finish(&s->channel);
}

int cmd_sampler(int argc, char **argv)
{
    const long parent = argc == 2 || argc == 3 ? strtol(argv[1], NULL, 10) : 0;
    const bool bpf_reader = argc == 3 && strcmp(argv[2], "onsite") == 0;
    struct sampler sampler = {.channel = {.fd = -1}};
    struct cpy_scratch *scratch;
    struct err err = {""};
    int status = EXIT_FAILED;

    if (parent <= 0) {
        (void)fprintf(stderr, "pystrobe: sampler is what pystrobe agent starts, not people\n");
        return EXIT_USAGE;
    }
    log_init(LOG_LEVEL_ERROR); /* the supervisor logs what it is told */
    file_limit_raise();
    slice_shorten(ENGINE_SLICE_NS);
    confine_close_from(CHILD_PROCESS_HEARTBEAT_FD + 1);
    scratch = cpy_scratch_new();
    if (bpf_reader) /* while we have the rights for that */
        (void)cpy_scratch_use_bpf(scratch);
    if (!confine((pid_t)parent, &err)) {
        log_line(LOG_LEVEL_ERROR, "sampler: %s", err.text);
        cpy_scratch_free(scratch);
    } else if (open_sampler(&sampler, scratch)) {
        (void)!call_filter_install(cpy_open_how()); /* doctor tells where the kernel takes none */
        status = sample_until_closed(&sampler);
    } else {
        log_line(LOG_LEVEL_ERROR, "sampler: out of memory or descriptors");
    }
    close_sampler(&sampler);
    return status;
}
