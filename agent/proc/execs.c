/* SPDX-License-Identifier: Apache-2.0 */
/* execs.c - see execs.h. */
#include "agent/proc/execs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* One notice, and the request for them: the headers of netlink and of the connector first. */
enum {
    EVENT_AT = NLMSG_HDRLEN + sizeof(struct cn_msg),
    NOTICE_MAX = EVENT_AT + sizeof(struct proc_event) + 256,
    NOTICES_MAX = 1 << 16, /* that one reading takes */
    QUEUE_BYTES = 1 << 20
};

/* Instructions that filters of forks begin with. */
enum { ANSWER_BEGIN = 3, FORKS_BEGIN = 7 };

/* Asks the kernel to send notices. */
static bool subscribe(int fd)
{
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC};
    const enum proc_cn_mcast_op listen_now = PROC_CN_MCAST_LISTEN;
    unsigned char request[EVENT_AT + sizeof(listen_now)];
    struct nlmsghdr head = {.nlmsg_len = sizeof(request), .nlmsg_type = NLMSG_DONE};
    struct cn_msg message = {.id = {CN_IDX_PROC, CN_VAL_PROC}, .len = sizeof(listen_now)};

    memcpy(request, &head, sizeof(head));
    memcpy(request + NLMSG_HDRLEN, &message, sizeof(message));
    memcpy(request + EVENT_AT, &listen_now, sizeof(listen_now));
    return bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
           send(fd, request, sizeof(request), 0) == (ssize_t)sizeof(request);
}

/* Keeps out of the queue what the program does not take. */
static bool filter(int fd, const struct sock_fprog *program)
{
    const int bytes = QUEUE_BYTES;

    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, program, sizeof(*program)) == 0;
}

/* Takes execs and the kernel's answer: there are many more forks. */
static bool filter_execs(int fd)
{
    const uint32_t what = EVENT_AT + offsetof(struct proc_event, what);
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, what),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(PROC_EVENT_EXEC), 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(PROC_EVENT_NONE), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };

    return filter(fd, &(struct sock_fprog){sizeof(code) / sizeof(code[0]), code});
}

/* Begins a filter: drops all but notices of new processes; those of new threads, too. Gives the
 * size so far. */
static unsigned short begin_forks(struct sock_filter *code)
{
    const uint32_t what = EVENT_AT + offsetof(struct proc_event, what),
                   child = EVENT_AT + offsetof(struct proc_event, event_data.fork.child_pid),
                   group = EVENT_AT + offsetof(struct proc_event, event_data.fork.child_tgid);
    const struct sock_filter begin[FORKS_BEGIN] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, what),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(PROC_EVENT_FORK), 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, child),
        BPF_STMT(BPF_MISC | BPF_TAX, 0),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, group),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };

    memcpy(code, begin, sizeof(begin));
    return FORKS_BEGIN;
}

/* Takes new processes and the kernel's answer. */
static bool filter_forks(int fd)
{
    struct sock_filter code[ANSWER_BEGIN + FORKS_BEGIN + 1] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, EVENT_AT + offsetof(struct proc_event, what)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(PROC_EVENT_NONE), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
    };
    unsigned short size = ANSWER_BEGIN;

    size += begin_forks(code + size);
    code[size++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, UINT32_MAX);
    return filter(fd, &(struct sock_fprog){size, code});
}

bool forks_watch(int fd, const pid_t *parents, size_t count)
{
    const uint32_t parent = EVENT_AT + offsetof(struct proc_event, event_data.fork.parent_tgid);
    struct sock_filter code[FORKS_BEGIN + 2 + 2 * FORKS_PARENTS_MAX];
    unsigned short size = begin_forks(code);

    code[size++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, parent);
    for (size_t i = 0; i < count && i < FORKS_PARENTS_MAX; i++) {
        code[size++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                                    htonl((uint32_t)parents[i]), 0, 1);
        code[size++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, UINT32_MAX);
    }
    code[size++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
    return filter(fd, &(struct sock_fprog){size, code});
}

/* Reads one notice. 1: *out has it, 0: it is none or there is none, -1: some were lost. */
static int read_notice(int fd, struct proc_event *out, bool *again)
{
    struct sockaddr_nl from = {0};
    socklen_t from_size = sizeof(from);
    unsigned char text[NOTICE_MAX];
    ssize_t got =
        recvfrom(fd, text, sizeof(text), MSG_DONTWAIT, (struct sockaddr *)&from, &from_size);
    const size_t needed = EVENT_AT + offsetof(struct proc_event, event_data) +
                          sizeof(((struct proc_event *)NULL)->event_data.exec);

    *again = got >= 0 || errno == ENOBUFS || errno == EINTR;
    if (got < 0)
        return errno == ENOBUFS ? -1 : 0;
    if (from.nl_pid != 0 || (size_t)got < needed) /* not from the kernel */
        return 0;
    *out = (struct proc_event){0};
    memcpy(out, text + EVENT_AT,
           (size_t)got - EVENT_AT < sizeof(*out) ? (size_t)got - EVENT_AT : sizeof(*out));
    return 1;
}

/* Waits for nothing: the kernel answers before send returns. */
static bool was_agreed(int fd)
{
    struct proc_event event;
    bool again = true;

    for (int i = 0; again && i < NOTICES_MAX; i++)
        if (read_notice(fd, &event, &again) == 1 && event.what == PROC_EVENT_NONE)
            return event.event_data.ack.err == 0;
    return false;
}

static int open_notices(bool (*keep)(int fd))
{
    int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_CONNECTOR);

    if (fd < 0)
        return -1;
    if (keep(fd) && subscribe(fd) && was_agreed(fd))
        return fd;
    (void)close(fd);
    return -1;
}

int execs_open(void)
{
    return open_notices(filter_execs);
}

int forks_open(void)
{
    return open_notices(filter_forks);
}

/* Reads all notices that are queued. */
static bool read_all(int fd, void (*each)(void *ctx, const struct proc_event *event), void *ctx)
{
    struct proc_event event;
    bool again = true, whole = true;
    int i, kind;

    for (i = 0; again; i++) {
        if (i == NOTICES_MAX)
            return false;
        kind = read_notice(fd, &event, &again);
        if (kind < 0)
            whole = false;
        else if (kind == 1)
            each(ctx, &event);
    }
    return whole;
}

/* What is handed through read_all. */
struct exec_reader {
    void (*each)(void *ctx, pid_t pid, uint64_t when_ns);
    void *ctx;
};

static void take_exec(void *ctx, const struct proc_event *event)
{
    const struct exec_reader *reader = ctx;

    if (event->what == PROC_EVENT_EXEC)
        reader->each(reader->ctx, event->event_data.exec.process_tgid, event->timestamp_ns);
}

bool execs_read(int fd, void (*each)(void *ctx, pid_t pid, uint64_t when_ns), void *ctx)
{
    return read_all(fd, take_exec, &(struct exec_reader){each, ctx});
}

struct fork_reader {
    void (*each)(void *ctx, pid_t parent, pid_t child);
    void *ctx;
};

static void take_fork(void *ctx, const struct proc_event *event)
{
    const struct fork_reader *reader = ctx;

    if (event->what == PROC_EVENT_FORK)
        reader->each(reader->ctx, event->event_data.fork.parent_tgid,
                     event->event_data.fork.child_tgid);
}

bool forks_read(int fd, void (*each)(void *ctx, pid_t parent, pid_t child), void *ctx)
{
    return read_all(fd, take_fork, &(struct fork_reader){each, ctx});
}
