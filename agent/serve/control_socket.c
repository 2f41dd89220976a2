/* SPDX-License-Identifier: Apache-2.0 */
/* control_socket.c - see control_socket.h. */
#include "agent/serve/control_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/denied.h"
#include "base/folder.h"

enum {
    BACKLOG = 16,
    GROUPS_MAX = 1024,
    SOCKET_PATH_MAX = sizeof(((struct sockaddr_un *)NULL)->sun_path)
};

static bool set_socket_address(const char *path, struct sockaddr_un *out, struct err *err)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(out->sun_path)) {
        err_set(err, "%s: is longer than %zu bytes", path, sizeof(out->sun_path) - 1);
        return false;
    }
    (void)snprintf(out->sun_path, sizeof(out->sun_path), "%s", path);
    return true;
}

/* The directory that a path is in; "" for the root. */
static void folder_of(const char *path, char out[SOCKET_PATH_MAX])
{
    const char *slash = strrchr(path, '/');

    (void)snprintf(out, SOCKET_PATH_MAX, "%.*s", slash ? (int)(slash - path) : 0, path);
}

/* Makes the folder that the path is in, if it is absent: /run is empty after each boot. Gives the
 * mode that a socket for the group has there. */
static mode_t make_folder(const char *path)
{
    char folder[SOCKET_PATH_MAX];
    struct stat info;

    folder_of(path, folder);
    if (folder[0])
        (void)mkdir(folder, 0755); /* if that fails, opening the lock says why */
    return stat(folder, &info) == 0 && (info.st_mode & 0777) == 0750 && info.st_gid == getegid()
               ? 0660
               : 0600;
}

/* Holds the path for this agent: the kernel gives it free when it ends, however it ends. */
static bool lock_path(struct control_socket *sock, struct err *err)
{
    char path[sizeof(sock->path) + sizeof(".lock")];

    (void)snprintf(path, sizeof(path), "%s.lock", sock->path);
    sock->lock_fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
    if (sock->lock_fd < 0) {
        err_set(err,
                "%s: it and %s cannot be made: %s; name a path in a directory of the user "
                "that pystrobe runs as",
                sock->path, path, strerror(errno));
        return false;
    }
    if (flock(sock->lock_fd, LOCK_EX | LOCK_NB) == 0)
        return true;
    if (errno == EWOULDBLOCK)
        err_set(err, "%s: belongs to another agent that runs; give this one a control of its own",
                sock->path);
    else
        err_set(err, "%s: %s", path, strerror(errno));
    return false;
}

/* Removes a socket that an agent has left behind; nothing else. */
static bool remove_stale(const char *path, struct err *err)
{
    struct stat st;

    if (lstat(path, &st) != 0)
        return true; /* bind says why, if it is not that there is none */
    if (!S_ISSOCK(st.st_mode) || unlink(path) == 0)
        return true;
    err_set(err, "%s: %s", path, strerror(errno));
    return false;
}

static bool listen_at_socket_path(struct control_socket *sock, const struct sockaddr_un *address,
                                  mode_t mode, struct err *err)
{
    sock->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* The mode of the socket is that of the file which bind makes: it is never open to others. */
    if (sock->fd >= 0 && fchmod(sock->fd, mode & 0600) == 0 &&
        bind(sock->fd, (const struct sockaddr *)address, sizeof(*address)) == 0) {
        if (chmod(sock->path, mode) == 0 && listen(sock->fd, BACKLOG) == 0)
            return true;
    }
    err_set(err, "%s: %s", sock->path, strerror(errno));
    return false;
}

bool control_socket_can_be(const char *path, struct err *err)
{
    char folder[SOCKET_PATH_MAX], above[SOCKET_PATH_MAX];
    struct stat st;

    if (lstat(path, &st) == 0) {
        if (!S_ISSOCK(st.st_mode))
            err_set(err, "%s: exists already and is not a socket; name another path", path);
        return S_ISSOCK(st.st_mode);
    }
    folder_of(path, folder);
    if (!folder_can_be(folder[0] ? folder : "/", err))
        return false;
    folder_of(folder, above);
    if (lstat(folder, &st) == 0 || stat(above[0] ? above : "/", &st) == 0 || errno != ENOENT)
        return true;
    err_set(err, "%s: there is no directory %s: make it, or name another path", path, above);
    return false;
}

bool control_socket_open(struct control_socket *out, const char *path, enum control_socket_for whom,
                         struct err *err)
{
    struct sockaddr_un address;
    mode_t mode;

    *out = (struct control_socket){.fd = -1, .lock_fd = -1};
    if (!set_socket_address(path, &address, err) || !control_socket_can_be(path, err))
        return false;
    (void)snprintf(out->path, sizeof(out->path), "%s", path);
    mode = make_folder(path);
    if (whom == CONTROL_SOCKET_OWNER)
        mode = 0600;
    if (lock_path(out, err) && remove_stale(path, err) &&
        listen_at_socket_path(out, &address, mode, err))
        return true;
    control_socket_close(out);
    return false;
}

enum control_access control_socket_access(int fd)
{
    struct ucred peer;
    gid_t groups[GROUPS_MAX];
    socklen_t size = sizeof(peer), groups_size = sizeof(groups);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
        return CONTROL_ACCESS_NONE;
    if (peer.uid == 0 || peer.uid == geteuid())
        return CONTROL_ACCESS_ALL;
    if (peer.gid == getegid())
        return CONTROL_ACCESS_ASK;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &groups_size) != 0)
        return CONTROL_ACCESS_NONE;
    for (size_t i = 0; i < groups_size / sizeof(groups[0]); i++)
        if (groups[i] == getegid())
            return CONTROL_ACCESS_ASK;
    return CONTROL_ACCESS_NONE;
}

void control_socket_close(struct control_socket *sock)
{
    if (sock->fd >= 0) {
        (void)unlink(sock->path);
        (void)close(sock->fd);
    }
    if (sock->lock_fd >= 0)
        (void)close(sock->lock_fd); /* the file stays: who removed it could remove another's */
    sock->fd = sock->lock_fd = -1;
}

int control_socket_connect(const char *path, struct err *err)
{
    struct sockaddr_un address;
    char text[DENIED_TEXT_MAX];
    int fd, cause;

    if (!set_socket_address(path, &address, err))
        return -1;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    cause = errno;
    if (fd >= 0)
        (void)close(fd);
    if (cause == ENOENT || cause == ECONNREFUSED)
        err_set(err, "no agent listens at %s; is one running, with control = %s?", path, path);
    else
        err_set(err, "%s: %s", path, denied_text(path, cause, text));
    return -1;
}
