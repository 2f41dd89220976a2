/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_reports.c - whatever a sampler that a target has broken reports, the supervisor takes it
 * within bounds or gives the sampler up.
 *
 * The input is a list of messages: a byte for the kind, one for how to read on, one for how many
 * bytes follow. A message of a known kind is as long as it is to be, unless the first bit of the
 * second byte is set; with the second bit the bytes stand behind the struct, else in it, from where
 * the other bits say. A first message of kind REPORT_BUILD is read as such; if it is another one,
 * the sampler has said before that it is of this build.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/dump/hang_dump.h"
#include "agent/host/log.h"
#include "agent/supervisor/hang_log.h"
#include "agent/supervisor/sampler_process.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 3, MESSAGES = 64, SERVICES = 8, INTERVAL = 7, FAR = 64 };

static const size_t sizes[] = {
    [REPORT_BEGAN] = sizeof(struct report_began),
    [REPORT_PUT_OFF] = sizeof(struct report_put_off),
    [REPORT_ENDED] = sizeof(struct proc_id),
    [REPORT_ROWS] = sizeof(struct report_rows),
    [REPORT_COUNTS] = sizeof(struct report_counts),
    [REPORT_DONE] = sizeof(uint64_t),
    [REPORT_EACH] = sizeof(struct report_each),
    [REPORT_COMMITTED] = sizeof(uint64_t),
    [REPORT_HANG] = sizeof(struct engine_hang),
    [REPORT_WARNING] = sizeof(struct report_warning),
    [REPORT_BUILD] = sizeof(struct report_build),
    [REPORT_NAMED] = sizeof(struct report_named),
    [REPORT_CHILD] = sizeof(struct process_end),
};

enum { KINDS = sizeof(sizes) / sizeof(sizes[0]) };

struct heard {
    size_t bytes; /* what was lent is read through, so that a sanitizer sees it */
    struct hang_log log;
    struct hang_reported reported;
};

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void other_build(void *ctx, const struct err *why)
{
    struct heard *heard = ctx;

    heard->bytes += strlen(why->text);
}

static void began(void *ctx, struct proc_id id, const char *version)
{
    struct heard *heard = ctx;

    heard->bytes += strlen(version) + (size_t)id.pid;
}

static void put_off(void *ctx, struct proc_id id, enum cpy_rc rc, const struct err *err)
{
    struct heard *heard = ctx;

    heard->bytes += strlen(err->text) + strlen(cpy_rc_text(rc)) + (size_t)id.pid;
}

static void ended(void *ctx, struct proc_id id)
{
    struct heard *heard = ctx;

    heard->bytes += (size_t)id.pid;
}

static void counted(void *ctx, struct proc_id id, const struct engine_counts *counts)
{
    struct heard *heard = ctx;

    heard->bytes += counts->samples + (size_t)id.pid;
}

static void hangs(void *ctx, const struct engine_hang *hang, const char *dump, size_t size)
{
    struct heard *heard = ctx;

    must(size <= HANG_DUMP_MAX && (size_t)hang->kind < HANG_KINDS);
    hang_report(&heard->log, &heard->reported, hang, "shop", dump, size);
}

static void warned(void *ctx, struct proc_id id, const struct err *text)
{
    struct heard *heard = ctx;

    heard->bytes += strlen(text->text) + (size_t)id.pid;
}

static void named(void *ctx, const struct report_named *named)
{
    struct heard *heard = ctx;

    heard->bytes += strlen(named->service) + strlen(named->named_by) + named->labels.count;
}

static void child(void *ctx, const struct process_end *child)
{
    struct heard *heard = ctx;

    heard->bytes += (size_t)child->id.pid + (size_t)child->parent;
}

/* Sends one message. Gives how much of the input it took; 0: there is no more. */
static size_t send_one(struct ipc_channel *channel, const uint8_t *data, size_t size)
{
    unsigned char bytes[sizeof(struct report_rows) + sizeof(struct report_each)] = {0};
    size_t fixed, from, given;
    uint32_t kind;

    if (size <= HEAD)
        return 0;
    kind = data[0] % (KINDS + 1);
    fixed = kind < KINDS && !(data[1] & 1) ? sizes[kind] : 0;
    given = data[2] < size - HEAD ? data[2] : size - HEAD;
    if (fixed == 0 || data[1] & 2) {
        must(ipc_channel_send(channel, kind, bytes, fixed, data + HEAD, given) !=
             IPC_CHANNEL_BROKEN);
    } else {
        from = (size_t)(data[1] >> 2) * FAR % fixed;
        memcpy(bytes + from, data + HEAD, given < fixed - from ? given : fixed - from);
        must(ipc_channel_send(channel, kind, bytes, fixed, NULL, 0) != IPC_CHANNEL_BROKEN);
    }
    return HEAD + given;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct sampler_process_callbacks callbacks = {
        .other_build = other_build,
        .began = began,
        .put_off = put_off,
        .ended = ended,
        .counted = counted,
        .hangs = hangs,
        .warns = warned,
        .named = named,
        .child = child,
    };
    static struct heard heard;
    struct services services = {.max = SERVICES};
    struct report_counts sum = {0};
    struct sampler_process sampler = {0};
    struct ipc_channel other_end;
    size_t took, count = 0;
    bool good = true;
    int fds[2];

    log_init(LOG_LEVEL_ERROR);
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    ipc_channel_init(&other_end, fds[0]);
    ipc_channel_init(&sampler.child.channel, fds[1]);
    sampler.child.pidfd = -1;
    sampler.is_our_build = size == 0 || data[0] % (KINDS + 1) != REPORT_BUILD;
    while (good && count++ < MESSAGES && (took = send_one(&other_end, data, size)) > 0) {
        data += took;
        size -= took;
        good = sampler_process_receive(&sampler, &services, INTERVAL, &callbacks, &heard);
    }
    sampler_process_add_counts(&sum, &sampler.now);
    sampler_process_renew(&sampler);
    ipc_channel_finish(&other_end);
    ipc_channel_finish(&sampler.child.channel);
    services_finish(&services);
    return 0;
}
