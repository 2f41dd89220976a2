/* SPDX-License-Identifier: Apache-2.0 */
/* control.c - see control.h. */
#include "agent/serve/control.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/host/clock.h"
#include "agent/host/thread.h"
#include "agent/serve/control_socket.h"

enum { ANSWER_MAX = 8 << 20 };

#define CLIENT_NS  (10 * NS_PER_S) /* from its first byte to its last */
#define REQUEST_NS (30 * NS_PER_S) /* for the main loop to carry it out */

struct client {
    int fd; /* -1: free */
    uint64_t deadline_ns;
    char request[CONTROL_REQUEST_MAX];
    size_t size;
    bool may_order; /* not only ask */
    bool waits;     /* for the main loop to answer */
    bool answering; /* `answer` is being sent */
    struct buf answer;
    size_t sent;
};

struct control {
    struct control_socket sock;
    struct state_share *share; /* borrowed */
    int signal;
    int event_fd; /* wakes the thread: an order is answered, or all is to end */
    pthread_t thread;
    struct client clients[CONTROL_CLIENTS]; /* of the thread alone */

    pthread_mutex_t lock; /* of all below */
    bool stop;
    enum { REQUEST_NONE, REQUEST_POSTED, REQUEST_TAKEN, REQUEST_DONE } request_state;
    struct control_request request;
    bool request_good;
    struct err request_text;
};

static void end_client(struct client *client)
{
    if (client->fd >= 0)
        (void)close(client->fd);
    buf_finish(&client->answer);
    *client = (struct client){.fd = -1};
}

static void begin_answer(struct client *client, bool good)
{
    client->waits = false;
    client->answering = true;
    client->deadline_ns = clock_mono_ns() + CLIENT_NS;
    buf_init(&client->answer, ANSWER_MAX);
    buf_add_str(&client->answer, good ? CONTROL_OK : CONTROL_ERROR);
}

static void answer_text(struct client *client, bool good, const char *text)
{
    begin_answer(client, good);
    buf_add_fmt(&client->answer, "%s\n", text);
}

static void answer_status(struct control *control, struct client *client, enum control_kind kind)
{
    static void (*const printers[])(const struct state *, struct buf *) = {
        [CONTROL_STATUS] = state_text,
        [CONTROL_STATUS_JSON] = state_json,
        [CONTROL_EXPORTERS] = state_exporters,
    };
    struct state *state = state_share_get(control->share);

    if (!state) {
        answer_text(client, false, "the agent is only just starting; try again");
        return;
    }
    begin_answer(client, true);
    printers[kind](state, &client->answer);
    state_drop(state);
    if (!buf_failed(&client->answer))
        return;
    buf_finish(&client->answer);
    answer_text(client, false, "the agent has no memory for that");
}

/* Hands an order to the main loop, one at a time. */
static void post_request(struct control *control, struct client *client,
                         const struct control_request *request)
{
    bool busy;

    (void)pthread_mutex_lock(&control->lock);
    busy = control->request_state != REQUEST_NONE;
    if (!busy) {
        control->request = *request;
        control->request_state = REQUEST_POSTED;
    }
    (void)pthread_mutex_unlock(&control->lock);
    if (busy) {
        answer_text(client, false, "the agent is busy with another order; try again");
        return;
    }
    client->waits = true;
    client->deadline_ns = clock_mono_ns() + REQUEST_NS;
    (void)kill(getpid(), control->signal);
}

static void handle_request(struct control *control, struct client *client, size_t size)
{
    struct control_request request;
    struct err err;

    if (!control_text_read(client->request, size, &request, &err))
        answer_text(client, false, err.text);
    else if (request.kind < CONTROL_RELOAD)
        answer_status(control, client, request.kind);
    else if (!client->may_order)
        answer_text(client, false, "only root and the user that the agent runs as may do that");
    else
        post_request(control, client, &request);
}

/* Reads what a client asks. */
static void read_client(struct control *control, struct client *client)
{
    ssize_t got = recv(client->fd, client->request + client->size,
                       sizeof(client->request) - client->size, MSG_DONTWAIT);
    const char *newline;

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        end_client(client);
        return;
    }
    client->size += (size_t)got;
    newline = memchr(client->request, '\n', client->size);
    if (newline)
        handle_request(control, client, (size_t)(newline - client->request));
    else if (client->size == sizeof(client->request))
        answer_text(client, false, "the request is too long");
}

static void write_client(struct client *client)
{
    size_t left = client->answer.size - client->sent;
    ssize_t done =
        send(client->fd, client->answer.data + client->sent, left, MSG_DONTWAIT | MSG_NOSIGNAL);

    if (done > 0)
        client->sent += (size_t)done;
    if ((done < 0 && errno != EAGAIN && errno != EINTR) || client->sent == client->answer.size)
        end_client(client);
}

/* Lets a client in, if there is room and it may. */
static void accept_client(struct control *control)
{
    struct client *client = control->clients;
    int fd = accept4(control->sock.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    enum control_access access = CONTROL_ACCESS_NONE;

    if (fd < 0)
        return;
    while (client < control->clients + CONTROL_CLIENTS && client->fd >= 0)
        client++;
    if (client < control->clients + CONTROL_CLIENTS)
        access = control_socket_access(fd);
    if (access == CONTROL_ACCESS_NONE) {
        (void)close(fd);
        return;
    }
    client->fd = fd;
    client->may_order = access == CONTROL_ACCESS_ALL;
    client->deadline_ns = clock_mono_ns() + CLIENT_NS;
}

/* Passes the main loop's answer on to the client that waits for it, if it is still there. */
static void pass_answer(struct control *control)
{
    struct client *client = control->clients;
    struct err text;
    bool good, done;

    (void)pthread_mutex_lock(&control->lock);
    done = control->request_state == REQUEST_DONE;
    good = control->request_good;
    text = control->request_text;
    if (done)
        control->request_state = REQUEST_NONE;
    (void)pthread_mutex_unlock(&control->lock);
    for (; done && client < control->clients + CONTROL_CLIENTS; client++)
        if (client->fd >= 0 && client->waits)
            answer_text(client, good, text.text);
}

/* Fills in what to wait for; gives when the first client has had its time, in ms. */
static int prepare_client_poll(struct control *control, struct pollfd fds[CONTROL_CLIENTS + 2])
{
    uint64_t now_ns = clock_mono_ns(), first_ns = now_ns + CLIENT_NS;

    fds[0] = (struct pollfd){.fd = control->event_fd, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = control->sock.fd, .events = POLLIN};
    for (size_t i = 0; i < CONTROL_CLIENTS; i++) {
        struct client *client = &control->clients[i];

        if (client->fd >= 0 && client->deadline_ns <= now_ns)
            end_client(client);
        fds[i + 2] = (struct pollfd){.fd = client->fd};
        if (client->fd < 0)
            continue;
        if (!client->waits)
            fds[i + 2].events = client->answering ? POLLOUT : POLLIN;
        first_ns = client->deadline_ns < first_ns ? client->deadline_ns : first_ns;
    }
    return (int)((first_ns - now_ns) / NS_PER_MS) + 1;
}

/* Looks at the clients that something has come of. */
static void serve_clients(struct control *control, const struct pollfd fds[CONTROL_CLIENTS + 2])
{
    for (size_t i = 0; i < CONTROL_CLIENTS; i++) {
        struct client *client = &control->clients[i];

        if (client->fd < 0 || client->fd != fds[i + 2].fd || fds[i + 2].revents == 0)
            continue;
        if (client->waits)
            end_client(client); /* it went away; its order is carried out all the same */
        else if (client->answering)
            write_client(client);
        else
            read_client(control, client);
    }
}

static bool is_control_stopped(struct control *control)
{
    bool stop;

    (void)pthread_mutex_lock(&control->lock);
    stop = control->stop;
    (void)pthread_mutex_unlock(&control->lock);
    return stop;
}

static void *serve_control_clients(void *arg)
{
    struct control *control = arg;
    struct pollfd fds[CONTROL_CLIENTS + 2];
    uint64_t count;

    while (!is_control_stopped(control)) {
        int timeout_ms = prepare_client_poll(control, fds);

        if (poll(fds, CONTROL_CLIENTS + 2, timeout_ms) <= 0)
            continue;
        if (fds[0].revents)
            (void)!read(control->event_fd, &count, sizeof(count));
        pass_answer(control);
        serve_clients(control, fds);
        if (fds[1].revents)
            accept_client(control);
    }
    for (size_t i = 0; i < CONTROL_CLIENTS; i++)
        end_client(&control->clients[i]);
    return NULL;
}

struct control *control_open(const char *path, struct state_share *share, int signal,
                             struct err *err)
{
    struct control *control = calloc(1, sizeof(*control));

    if (!control) {
        err_set(err, "out of memory");
        return NULL;
    }
    if (!control_socket_open(&control->sock, path, CONTROL_SOCKET_GROUP, err)) {
        free(control);
        return NULL;
    }
    for (size_t i = 0; i < CONTROL_CLIENTS; i++)
        control->clients[i].fd = -1;
    control->share = share;
    control->signal = signal;
    (void)pthread_mutex_init(&control->lock, NULL);
    control->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (control->event_fd >= 0 &&
        thread_start(&control->thread, serve_control_clients, control) == 0)
        return control;
    err_set(err, "%s: out of descriptors or threads", path);
    if (control->event_fd >= 0)
        (void)close(control->event_fd);
    control_socket_close(&control->sock);
    free(control);
    return NULL;
}

static void wake(const struct control *control)
{
    const uint64_t one = 1;

    (void)!write(control->event_fd, &one, sizeof(one));
}

bool control_next(struct control *control, struct control_request *out)
{
    bool there;

    if (!control)
        return false;
    (void)pthread_mutex_lock(&control->lock);
    there = control->request_state == REQUEST_POSTED;
    if (there) {
        control->request_state = REQUEST_TAKEN;
        *out = control->request;
    }
    (void)pthread_mutex_unlock(&control->lock);
    return there;
}

void control_done(struct control *control, bool good, const char *text)
{
    (void)pthread_mutex_lock(&control->lock);
    control->request_state = REQUEST_DONE;
    control->request_good = good;
    err_set(&control->request_text, "%s", text);
    (void)pthread_mutex_unlock(&control->lock);
    wake(control);
}

void control_close(struct control *control)
{
    if (!control)
        return;
    (void)pthread_mutex_lock(&control->lock);
    control->stop = true;
    (void)pthread_mutex_unlock(&control->lock);
    wake(control);
    (void)pthread_join(control->thread, NULL);
    control_socket_close(&control->sock);
    (void)close(control->event_fd);
    (void)pthread_mutex_destroy(&control->lock);
    free(control);
}
