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

enum { BACKLOG = 16 };

static bool set_socket_address(const char *path, struct sockaddr_un *out, struct err *err)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (path[0] != '/' || strlen(path) >= sizeof(out->sun_path)) {
        err_set(err, "%s: must be an absolute path of up to %zu bytes", path,
                sizeof(out->sun_path) - 1);
        return false;
    }
    (void)snprintf(out->sun_path, sizeof(out->sun_path), "%s", path);
    return true;
}

/* Makes the folder that the path is in, if it is absent: /run is empty after each boot. */
static void make_folder(const char *path)
{
    char folder[sizeof(((struct control_socket *)NULL)->path)];
    const char *slash = strrchr(path, '/');

    (void)snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
    if (folder[0])
        (void)mkdir(folder, 0755); /* if that fails, opening the lock says why */
}

/* Holds the path for this agent: the kernel gives it free when it ends, however it ends. */
static bool lock_path(struct control_socket *sock, struct err *err)
{
    char path[sizeof(sock->path) + sizeof(".lock")];

    (void)snprintf(path, sizeof(path), "%s.lock", sock->path);
    sock->lock_fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
    if (sock->lock_fd < 0) {
        err_set(err, "%s: %s", path, strerror(errno));
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
    if (!S_ISSOCK(st.st_mode)) {
        err_set(err, "%s: is there already, and is no socket", path);
        return false;
    }
    if (unlink(path) == 0)
        return true;
    err_set(err, "%s: %s", path, strerror(errno));
    return false;
}

static bool listen_at_socket_path(struct control_socket *sock, const struct sockaddr_un *address,
                                  struct err *err)
{
    sock->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* The mode of the socket is that of the file which bind makes: it is never open to others. */
    if (sock->fd >= 0 && fchmod(sock->fd, 0600) == 0 &&
        bind(sock->fd, (const struct sockaddr *)address, sizeof(*address)) == 0) {
        if (chmod(sock->path, 0600) == 0 && listen(sock->fd, BACKLOG) == 0)
            return true;
    }
    err_set(err, "%s: %s", sock->path, strerror(errno));
    return false;
}

bool control_socket_open(struct control_socket *out, const char *path, struct err *err)
{
    struct sockaddr_un address;

    *out = (struct control_socket){.fd = -1, .lock_fd = -1};
    if (!set_socket_address(path, &address, err))
        return false;
    (void)snprintf(out->path, sizeof(out->path), "%s", path);
    make_folder(path);
    if (lock_path(out, err) && remove_stale(path, err) && listen_at_socket_path(out, &address, err))
        return true;
    control_socket_close(out);
    return false;
}

bool control_socket_may(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == 0 || peer.uid == geteuid());
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
        err_set(err, "%s: %s", path, strerror(cause));
    return -1;
}
