/* SPDX-License-Identifier: Apache-2.0 */
/* source_reader.c - see source_reader.h. */
#include "agent/dump/source_reader.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/child/child_process.h"
#include "agent/child/confine.h"
#include "agent/host/clock.h"
#include "base/file.h"

/* A request is MESSAGE_FILE with a name. The answer is any number of MESSAGE_TEXT, then
 * MESSAGE_END with the time of the file's last change (int64_t, ns, UTC), or MESSAGE_NONE. */
enum { MESSAGE_FILE, MESSAGE_TEXT, MESSAGE_END, MESSAGE_NONE };
enum { PIECE_BYTES = 1 << 20 };

struct source_reader {
    struct child_process child; /* its channel is ours */
    uint64_t left_ns;           /* that reads may still take */
    int64_t changed_ns;         /* of the file that was read last; UTC */
    bool gave_up;
};

/* What the child has. */
struct server {
    const struct source_owner *owner;   /* borrowed; NULL: `folder` */
    const struct source_folder *folder; /* borrowed */
    int socket;
    struct ipc_channel channel;
    int root_fd, working_fd; /* -1: there is none */
};

/* Links of /proc: read only, as opening what they lead to may block. */
static bool read_proc_link(pid_t pid, const char *name, char *out, size_t size)
{
    char path[64];
    ssize_t got;

    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    got = readlink(path, out, size);
    if (got <= 0 || (size_t)got >= size)
        return false;
    out[got] = '\0';
    return true;
}

bool source_owner_find(pid_t pid, struct source_owner *out)
{
    const pid_t living = proc_living_thread(pid);

    return program_find(pid, &out->program) && credentials_read(living, &out->credentials) &&
           read_proc_link(living, "ns/mnt", out->mounts, sizeof(out->mounts)) &&
           read_proc_link(living, "root", out->root, sizeof(out->root));
}

bool source_owner_same(const struct source_owner *one, const struct source_owner *other)
{
    return credentials_same(&one->credentials, &other->credentials) &&
           strcmp(one->mounts, other->mounts) == 0 && strcmp(one->root, other->root) == 0;
}

static bool is_python_source(const char *name)
{
    static const char *const endings[] = {".py", ".pyw", ".pyx", ".pyi"};
    size_t i, size = strlen(name);

    for (i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
        if (size > strlen(endings[i]) && strcmp(name + size - strlen(endings[i]), endings[i]) == 0)
            return true;
    return false;
}

/* The name below the root: without the root in front of it. */
static const char *find_name_in_root(const struct server *server, const char *name)
{
    const char *root = server->folder ? server->folder->root : "/";
    size_t size = strlen(root);

    while (size > 0 && root[size - 1] == '/')
        size--;
    return strncmp(name, root, size) == 0 && name[size] == '/' ? name + size : name;
}

/* Is the file that was found one that may be read? `path`: a link of /proc to it. */
static bool may_be_read(const struct server *server, int path_fd, const char *path)
{
    char real[PATH_MAX];
    struct stat st;
    ssize_t size;

    if (fstat(path_fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > SOURCE_FILE_MAX)
        return false;
    if (!server->folder || !server->folder->python_only)
        return true;
    size = readlink(path, real, sizeof(real) - 1);
    if (size <= 0)
        return false;
    real[size] = '\0';
    return is_python_source(real);
}

/*
 * Opens a regular file. An absolute name starts at the root, and so do links; a relative one at
 * the working directory, and may not lead out of that.
 */
static int open_inside(const struct server *server, const char *name)
{
    const bool absolute = name[0] == '/';
    const int at = absolute ? server->root_fd : server->working_fd;
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS};
    char path[64];
    int path_fd, fd = -1;

    how.resolve |= absolute ? RESOLVE_IN_ROOT : RESOLVE_BENEATH;
    if (absolute)
        name = find_name_in_root(server, name);
    path_fd = at < 0 ? -1 : (int)syscall(SYS_openat2, at, name, &how, sizeof(how));
    if (path_fd < 0)
        return -1;
    /* Opened for reading only once it is known what it is: a FIFO or a device may act on that. */
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
    if (may_be_read(server, path_fd, path))
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    (void)close(path_fd);
    return fd;
}

/* Sends a message and waits until we have taken it. */
static bool send_to_parent(struct server *server, uint32_t kind, const void *bytes, size_t size)
{
    struct pollfd fds = {.fd = server->socket, .events = POLLOUT};
    enum ipc_channel_rc rc = ipc_channel_send(&server->channel, kind, bytes, size, NULL, 0);

    while (rc == IPC_CHANNEL_OK && ipc_channel_has_unsent(&server->channel)) {
        (void)poll(&fds, 1, -1);
        rc = ipc_channel_flush(&server->channel);
    }
    return rc == IPC_CHANNEL_OK;
}

static bool send_text(struct server *server, const struct buf *text, int64_t changed_ns)
{
    size_t at, size;

    for (at = 0; at < text->size; at += size) {
        size = text->size - at < PIECE_BYTES ? text->size - at : PIECE_BYTES;
        if (!send_to_parent(server, MESSAGE_TEXT, text->data + at, size))
            return false;
    }
    return send_to_parent(server, MESSAGE_END, &changed_ns, sizeof(changed_ns));
}

/* Answers a request. False: the parent has gone. */
static bool answer(void *ctx, uint32_t kind, const void *bytes, size_t size)
{
    struct server *server = ctx;
    char name[PATH_MAX];
    struct stat st;
    struct buf text;
    bool good;
    int fd = -1;

    if (kind == MESSAGE_FILE && size < sizeof(name)) {
        memcpy(name, bytes, size);
        name[size] = '\0';
        fd = open_inside(server, name);
    }
    buf_init(&text, SOURCE_FILE_MAX);
    if (fd >= 0 && file_read_all(fd, &text) && fstat(fd, &st) == 0)
        good = send_text(server, &text, (int64_t)timespec_to_ns(st.st_ctim));
    else
        good = send_to_parent(server, MESSAGE_NONE, NULL, 0);
    buf_finish(&text);
    if (fd >= 0)
        (void)close(fd);
    return good;
}

/* Opens the directories of a process and takes its rights. False: it is gone, or we may not. */
static bool enter_owner(struct server *server)
{
    const pid_t living = proc_living_thread(server->owner->program.id.pid);
    struct source_owner now;
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/%d/root", (int)living);
    server->root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    (void)snprintf(path, sizeof(path), "/proc/%d/cwd", (int)living);
    server->working_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return source_owner_find(server->owner->program.id.pid, &now) &&
           program_same(&server->owner->program, &now.program) &&
           source_owner_same(server->owner, &now) &&
           credentials_assume(&server->owner->credentials);
}

static bool enter_folder(struct server *server)
{
    server->root_fd = open(server->folder->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    server->working_fd = open(server->folder->working, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return server->root_fd >= 0;
}

/* Lets go of all that the parent has open: a child that hangs would keep its output open. */
static bool keep_socket_only(struct server *server)
{
    int null, fd;

    server->socket = dup2(server->socket, CHILD_PROCESS_CHANNEL_FD);
    null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (server->socket < 0 || null < 0)
        return false;
    for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (dup2(null, fd) < 0)
            return false;
    confine_close_from(CHILD_PROCESS_CHANNEL_FD + 1);
    return true;
}

/* Answers until the parent closes the channel or ends. */
static void serve(void *ctx)
{
    struct server *server = ctx;
    struct pollfd fds = {.events = POLLIN};
    enum ipc_channel_rc rc = IPC_CHANNEL_OK;

    if (!keep_socket_only(server) || !(server->owner ? enter_owner(server) : enter_folder(server)))
        _exit(1);
    /* After the change of rights, which takes the signal away. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    ipc_channel_init(&server->channel, server->socket);
    fds.fd = server->socket;
    while (rc == IPC_CHANNEL_OK) {
        (void)poll(&fds, 1, -1);
        rc = ipc_channel_receive(&server->channel, answer, server);
    }
}

static struct source_reader *start_reader(struct server *server)
{
    struct source_reader *reader = calloc(1, sizeof(*reader));
    int pair[2];

    if (!reader || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        free(reader);
        return NULL;
    }
    reader->left_ns = SOURCE_WAIT_NS;
    server->socket = pair[1];
    server->root_fd = server->working_fd = -1;
    if (child_process_fork(&reader->child, serve, server) == 0) {
        ipc_channel_init(&reader->child.channel, pair[0]);
    } else {
        (void)close(pair[0]);
        free(reader);
        reader = NULL;
    }
    (void)close(pair[1]);
    return reader;
}

struct source_reader *source_reader_of_owner(const struct source_owner *owner)
{
    struct server server = {.owner = owner};

    return start_reader(&server);
}

struct source_reader *source_reader_of_folder(const struct source_folder *folder)
{
    struct server server = {.folder = folder};

    return start_reader(&server);
}

/* What has come of an answer. */
struct incoming {
    struct buf *out;
    int64_t changed_ns;
    bool over, found;
};

static bool take_answer_part(void *ctx, uint32_t kind, const void *bytes, size_t size)
{
    struct incoming *incoming = ctx;

    if (kind == MESSAGE_TEXT) {
        buf_add(incoming->out, bytes, size);
        return true;
    }
    incoming->over = true;
    incoming->found =
        kind == MESSAGE_END && size == sizeof(incoming->changed_ns) && !buf_failed(incoming->out);
    if (incoming->found)
        memcpy(&incoming->changed_ns, bytes, size);
    return false;
}

/* Waits for an answer until the deadline. False: the child has ended, or said something else. */
static bool receive_answer(struct source_reader *reader, uint64_t deadline_ns,
                           struct incoming *incoming)
{
    struct pollfd fds = {.fd = reader->child.channel.fd, .events = POLLIN};
    uint64_t now_ns;

    while (!incoming->over) {
        now_ns = clock_mono_ns();
        if (now_ns >= deadline_ns) {
            reader->gave_up = true;
            return false;
        }
        (void)poll(&fds, 1, (int)((deadline_ns - now_ns) / NS_PER_MS + 1));
        if (ipc_channel_receive(&reader->child.channel, take_answer_part, incoming) !=
            IPC_CHANNEL_OK)
            return false;
    }
    return true;
}

bool source_reader_read(struct source_reader *reader, const char *file, struct buf *out)
{
    struct incoming incoming = {.out = out};
    uint64_t start_ns = clock_mono_ns(), took_ns;
    bool good;

    if (!reader || reader->child.pid == 0 || strlen(file) >= PATH_MAX)
        return false;
    good = ipc_channel_send(&reader->child.channel, MESSAGE_FILE, file, strlen(file), NULL, 0) ==
               IPC_CHANNEL_OK &&
           receive_answer(reader, start_ns + reader->left_ns, &incoming);
    took_ns = clock_mono_ns() - start_ns;
    reader->left_ns -= took_ns < reader->left_ns ? took_ns : reader->left_ns;
    if (!good)
        child_process_end(&reader->child, clock_mono_ns());
    reader->changed_ns = incoming.changed_ns;
    return good && incoming.found;
}

int64_t source_reader_changed_ns(const struct source_reader *reader)
{
    return reader->changed_ns;
}

bool source_reader_gave_up(const struct source_reader *reader)
{
    return reader && reader->gave_up;
}

void source_reader_explain(const struct source_reader *reader)
{
    if (source_reader_gave_up(reader))
        (void)fprintf(stderr,
                      "pystrobe: source files did not come within %d s (a file system that does "
                      "not answer): lines are missing\n",
                      (int)(SOURCE_WAIT_NS / NS_PER_S));
}

void source_reader_end(struct source_reader *reader)
{
    if (!reader)
        return;
    child_process_end(&reader->child, clock_mono_ns());
    free(reader);
}
