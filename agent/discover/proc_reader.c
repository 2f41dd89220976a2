/* SPDX-License-Identifier: Apache-2.0 */
/* proc_reader.c - see proc_reader.h. */
#include "agent/discover/proc_reader.h"

#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/child/blamed_owners.h"
#include "agent/child/child_process.h"
#include "agent/host/clock.h"
#include "agent/host/log.h"
#include "agent/host/token_bucket.h"
#include "agent/proc/owner.h"
#include "agent/proc/proc.h"
#include "base/buf.h"
#include "unwind/cpy.h"

/* A child that sleeps so long in a read is blocked; one that gets no CPU time is waited for. */
#define FILE_NS      (100 * NS_PER_MS)
#define DIRECTORY_NS NS_PER_S
#define STARVED_NS   (5 * NS_PER_S)

/* After one lookup without an answer, directory servers are not asked for so long. */
#define DIRECTORY_PAUSE_NS (60 * NS_PER_S)
#define START_PAUSE_NS     NS_PER_S

/* Memory of Pythons: to open one takes milliseconds, and whoever starts many with a title is not to
 * keep the caller busy. */
#define PYTHONS_AT_ONCE 256
#define PYTHONS_PER_S   2

enum { BLOCKERS_MAX = 64, POLL_MS = 20 };

/* What the child is asked for: the values of enum proc_reader_file, and these. */
enum { ASK_USER_NAME = PROC_READER_PYTHON + 1, ASK_USER_ID };

struct request {
    pid_t pid;
    uid_t uid;
    uint32_t size; /* bytes that are wanted at most */
    char name[PROC_READER_USER_MAX];
};

struct answer {
    int32_t found;
    uid_t uid;
};

/*
 * Cache: processes that have blocked a read, for status
 * Key:   pid and start time
 * Ends:  when it can be read again, or no process has both; the oldest makes room
 * Test:  tests/unit/discover/test_proc_reader.c: names_the_process_that_blocks_it
 */
struct blockers {
    struct proc_id all[BLOCKERS_MAX];
    size_t count, next; /* next: which makes room */
};

struct proc_reader {
    const char *program; /* borrowed */
    char parent[16];     /* our pid: the child ends with us */
    struct child_process child;
    bool runs;
    uint64_t next_start_ns, next_directory_ns;
    struct token_bucket pythons; /* whose memory may be read */
    struct blamed_owners owners;
    struct blockers blockers;
    /* The answer that came. */
    bool answered;
    struct answer answer;
    char *out; /* borrowed while it is waited for */
    size_t size, out_size;
};

struct proc_reader *proc_reader_new(const char *program)
{
    struct proc_reader *reader = calloc(1, sizeof(*reader));

    if (!reader)
        return NULL;
    reader->program = program;
    reader->pythons = token_bucket_full(PYTHONS_PER_S, PYTHONS_AT_ONCE, clock_mono_ns());
    (void)snprintf(reader->parent, sizeof(reader->parent), "%d", (int)getpid());
    return reader;
}

static void end_child(struct proc_reader *reader, uint64_t now_ns)
{
    if (reader->runs)
        child_process_end(&reader->child, now_ns);
    reader->runs = false;
}

void proc_reader_free(struct proc_reader *reader)
{
    const uint64_t now_ns = clock_mono_ns();

    if (reader && reader->runs) { /* it ends by itself if nothing blocks it */
        ipc_channel_finish(&reader->child.channel);
        (void)child_process_wait(&reader->child, now_ns + FILE_NS);
        end_child(reader, now_ns);
    }
    free(reader);
}

/* Reads a Python's memory. */
static bool read_python(const struct request *request, char *out, size_t *out_size)
{
    struct cpy_target *target = NULL;
    struct buf words;
    struct err err;

    buf_init(&words, request->size - 1);
    if (cpy_open(request->pid, &target, &err) == CPY_OK &&
        cpy_read_arguments(target, &words) == CPY_OK) {
        buf_add(&words, "", 1);
        (void)!cpy_read_environment(target, &words); /* as much as there is, and fits */
    }
    cpy_close(target);
    *out_size = words.size;
    if (words.size > 0)
        memcpy(out, words.data, words.size);
    out[words.size] = '\0';
    buf_finish(&words);
    return *out_size > 0;
}

/* Reads here. Gives whether there is such a thing. */
static bool read_here(uint32_t kind, const struct request *request, struct answer *answer,
                      char *out, size_t *out_size)
{
    static const char *const files[] = {[PROC_READER_CMDLINE] = "cmdline",
                                        [PROC_READER_ENVIRON] = "environ",
                                        [PROC_READER_MOUNTINFO] = "mountinfo"};
    struct passwd entry, *found = NULL;
    char buffer[16384];

    *out_size = 0;
    if (kind < PROC_READER_PYTHON)
        return proc_file_read_living(request->pid, files[kind], out, request->size, out_size) ==
               PROC_OK;
    if (kind == PROC_READER_PYTHON)
        return read_python(request, out, out_size);
    if (kind == ASK_USER_NAME)
        (void)getpwuid_r(request->uid, &entry, buffer, sizeof(buffer), &found);
    else
        (void)getpwnam_r(request->name, &entry, buffer, sizeof(buffer), &found);
    if (!found)
        return false;
    answer->uid = found->pw_uid;
    if (kind == ASK_USER_NAME) {
        (void)snprintf(out, request->size, "%s", found->pw_name);
        *out_size = strlen(out);
    }
    return true;
}

/* Whom a child is blamed on: samplers that the same owner blocks are counted apart. */
static uint64_t blame(uint64_t owner)
{
    return owner ? ~owner : 0;
}

/* True if processes of that owner are not to be read now. */
static bool is_left_alone(struct proc_reader *reader, uint64_t owner, uint64_t now_ns)
{
    return child_process_refuses(blame(owner)) ||
           blamed_owners_pause(&reader->owners, owner, now_ns);
}

/* Removes a process that can be read. */
static void forget_blocker(struct blockers *blockers, pid_t pid)
{
    for (size_t i = 0; i < blockers->count; i++)
        if (blockers->all[i].pid == pid) {
            blockers->all[i] = blockers->all[--blockers->count];
            return;
        }
}

static void note_blocker(struct blockers *blockers, pid_t pid)
{
    struct proc_stat stat;
    size_t at;

    forget_blocker(blockers, pid);
    if (proc_stat_read(pid, &stat) != PROC_OK)
        return;
    at = blockers->count < BLOCKERS_MAX ? blockers->count++ : blockers->next++ % BLOCKERS_MAX;
    blockers->all[at] = (struct proc_id){pid, stat.start};
}

void proc_reader_each_blocker(struct proc_reader *reader, void (*each)(void *ctx, pid_t pid),
                              void *ctx)
{
    struct blockers *blockers = &reader->blockers;
    struct proc_stat stat;
    size_t i = 0;

    while (i < blockers->count)
        if (proc_stat_read(blockers->all[i].pid, &stat) == PROC_OK &&
            stat.start == blockers->all[i].start && !proc_stat_is_ended(&stat))
            each(ctx, blockers->all[i++].pid);
        else
            blockers->all[i] = blockers->all[--blockers->count];
}

/* A process has blocked the child. */
static void blame_owner(struct proc_reader *reader, pid_t pid, uint64_t owner, uint64_t now_ns)
{
    const unsigned blocks = blamed_owners_add(&reader->owners, owner, now_ns);

    note_blocker(&reader->blockers, pid);
    if (blocks == 1 || blocks == BLAMED_OWNERS_FREE)
        log_line(LOG_LEVEL_WARNING,
                 "process %d blocks readers of its command line, environment or mounts; it is "
                 "not sampled for now%s",
                 (int)pid,
                 blocks == 1
                     ? ""
                     : ", and others of its owner are left alone for up to a minute at a time");
}

static bool take_answer(void *ctx, uint32_t kind, const void *bytes, size_t size)
{
    struct proc_reader *reader = ctx;

    (void)kind;
    if (size < sizeof(reader->answer))
        return false;
    memcpy(&reader->answer, bytes, sizeof(reader->answer));
    size -= sizeof(reader->answer);
    reader->out_size = size < reader->size ? size : reader->size - 1;
    memcpy(reader->out, (const char *)bytes + sizeof(reader->answer), reader->out_size);
    reader->out[reader->out_size] = '\0';
    reader->answered = true;
    return false; /* there is one answer to a request */
}

/* True if the child is asleep: what is 'R' waits for a CPU, or has one. */
static bool is_child_asleep(const struct proc_reader *reader)
{
    struct proc_stat stat;

    return proc_stat_read(reader->child.pid, &stat) == PROC_OK && stat.state != 'R';
}

/* Waits for the answer. Gives whether the child is blocked; `answered` whether it came. */
static bool wait_for_answer(struct proc_reader *reader, uint64_t limit_ns)
{
    struct pollfd socket = {.fd = reader->child.channel.fd, .events = POLLIN};
    uint64_t now_ns = clock_mono_ns(), start_ns = now_ns;
    bool asleep = false, before;

    for (;;) {
        if (ipc_channel_receive(&reader->child.channel, take_answer, reader) != IPC_CHANNEL_OK)
            return false;
        now_ns = clock_mono_ns();
        if (reader->answered || now_ns >= start_ns + STARVED_NS)
            return false;
        before = asleep;
        asleep = now_ns >= start_ns + limit_ns && is_child_asleep(reader);
        if (asleep && before)
            return true;
        (void)poll(&socket, 1, POLL_MS);
    }
}

/* False: there is no child now. */
static bool start_child(struct proc_reader *reader, uint64_t now_ns)
{
    char *argv[] = {(char[]){"pystrobe"}, (char[]){"reader"}, reader->parent, NULL};
    struct err err;

    if (!reader->runs && now_ns >= reader->next_start_ns) {
        reader->runs = child_process_start(&reader->child, reader->program, argv, now_ns, &err);
        if (!reader->runs) {
            reader->next_start_ns = now_ns + START_PAUSE_NS;
            log_line(LOG_LEVEL_WARNING, "no processes can be found for now, trying again: %s",
                     err.text);
        }
    }
    return reader->runs;
}

/* Asks the child. *blocked: it did not answer, and has been killed. */
static enum proc_reader_rc ask_child(struct proc_reader *reader, uint32_t kind,
                                     const struct request *request, bool *blocked)
{
    const uint64_t limit_ns = request->pid ? FILE_NS : DIRECTORY_NS;
    uint64_t now_ns = clock_mono_ns();

    *blocked = false;
    if (!start_child(reader, now_ns))
        return PROC_READER_UNKNOWN;
    reader->answered = false;
    if (ipc_channel_send(&reader->child.channel, kind, request, sizeof(*request), NULL, 0) ==
        IPC_CHANNEL_OK)
        *blocked = wait_for_answer(reader, limit_ns);
    if (reader->answered)
        return reader->answer.found ? PROC_READER_OK : PROC_READER_FAILED;
    now_ns = clock_mono_ns();
    reader->child.blamed = *blocked && request->pid ? blame(proc_owner(request->pid)) : 0;
    end_child(reader, now_ns);
    if (!*blocked) /* it has ended by itself, or got no CPU time */
        reader->next_start_ns = now_ns + START_PAUSE_NS;
    return PROC_READER_UNKNOWN;
}

enum proc_reader_rc proc_reader_file(struct proc_reader *reader, pid_t pid,
                                     enum proc_reader_file file, char *out, size_t size,
                                     size_t *out_size)
{
    const struct request request = {.pid = pid, .size = (uint32_t)size};
    enum proc_reader_rc rc;
    struct answer answer;
    bool blocked;

    out[0] = '\0';
    *out_size = 0;
    if (!reader)
        return read_here(file, &request, &answer, out, out_size) ? PROC_READER_OK
                                                                 : PROC_READER_FAILED;
    if ((reader->owners.count > 0 || child_process_left() > 0) &&
        is_left_alone(reader, proc_owner(pid), clock_mono_ns()))
        return PROC_READER_UNKNOWN;
    if (file == PROC_READER_PYTHON && !token_bucket_take(&reader->pythons, clock_mono_ns()))
        return PROC_READER_UNKNOWN;
    reader->out = out;
    reader->size = size;
    rc = ask_child(reader, file, &request, &blocked);
    if (blocked)
        blame_owner(reader, pid, proc_owner(pid), clock_mono_ns());
    if (rc != PROC_READER_UNKNOWN)
        forget_blocker(&reader->blockers, pid);
    if (rc == PROC_READER_OK)
        *out_size = reader->out_size;
    return rc;
}

/* Asks for a user; out of one place at a time, as a server that hangs hangs for all. */
static enum proc_reader_rc ask_directory(struct proc_reader *reader, uint32_t kind,
                                         const struct request *request, struct answer *answer,
                                         char out[PROC_READER_USER_MAX])
{
    enum proc_reader_rc rc;
    size_t size;
    bool blocked;

    out[0] = '\0';
    if (!reader)
        return read_here(kind, request, answer, out, &size) ? PROC_READER_OK : PROC_READER_FAILED;
    if (clock_mono_ns() < reader->next_directory_ns)
        return PROC_READER_UNKNOWN;
    reader->out = out;
    reader->size = PROC_READER_USER_MAX;
    rc = ask_child(reader, kind, request, &blocked);
    *answer = reader->answer;
    if (blocked) {
        reader->next_directory_ns = clock_mono_ns() + DIRECTORY_PAUSE_NS;
        log_line(LOG_LEVEL_WARNING, "the names of users are unknown: no answer within 1 s; "
                                    "is the directory server (sssd, LDAP) up?");
    }
    return rc;
}

enum proc_reader_rc proc_reader_user_name(struct proc_reader *reader, uid_t uid,
                                          char out[PROC_READER_USER_MAX])
{
    const struct request request = {.uid = uid, .size = PROC_READER_USER_MAX};
    struct answer answer;

    return ask_directory(reader, ASK_USER_NAME, &request, &answer, out);
}

enum proc_reader_rc proc_reader_user_id(struct proc_reader *reader, const char *name, uid_t *out)
{
    struct request request = {.size = PROC_READER_USER_MAX};
    char text[PROC_READER_USER_MAX];
    struct answer answer;
    enum proc_reader_rc rc;

    (void)snprintf(request.name, sizeof(request.name), "%s", name);
    rc = ask_directory(reader, ASK_USER_ID, &request, &answer, text);
    if (rc == PROC_READER_OK)
        *out = answer.uid;
    return rc;
}

/* What the child needs. */
struct served {
    struct ipc_channel channel;
    char bytes[PROC_READER_FILE_MAX + 1];
    bool bad;
};

static bool answer_read(void *ctx, uint32_t kind, const void *bytes, size_t size)
{
    struct served *served = ctx;
    struct answer answer = {0};
    struct request request;
    size_t out_size;

    served->bad = size != sizeof(request) || kind > ASK_USER_ID;
    if (served->bad)
        return false;
    memcpy(&request, bytes, sizeof(request));
    request.name[sizeof(request.name) - 1] = '\0';
    if (request.size == 0 || request.size > sizeof(served->bytes))
        request.size = sizeof(served->bytes);
    answer.found = read_here(kind, &request, &answer, served->bytes, &out_size);
    served->bad = ipc_channel_send(&served->channel, kind, &answer, sizeof(answer), served->bytes,
                                   out_size) != IPC_CHANNEL_OK;
    return !served->bad;
}

void proc_reader_serve(void)
{
    struct pollfd socket = {.fd = CHILD_PROCESS_CHANNEL_FD, .events = POLLIN};
    struct served *served = calloc(1, sizeof(*served));

    if (!served)
        return;
    ipc_channel_init(&served->channel, CHILD_PROCESS_CHANNEL_FD);
    while (!served->bad && poll(&socket, 1, -1) >= 0) {
        if (ipc_channel_receive(&served->channel, answer_read, served) != IPC_CHANNEL_OK ||
            ipc_channel_flush(&served->channel) != IPC_CHANNEL_OK)
            break;
        socket.events = ipc_channel_has_unsent(&served->channel) ? POLLIN | POLLOUT : POLLIN;
    }
    ipc_channel_finish(&served->channel);
    free(served);
}
