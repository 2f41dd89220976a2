/* SPDX-License-Identifier: Apache-2.0 */
/* web_front.c - see web_front.h. */
#include "agent/serve/web_front.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/host/asked_use.h"
#include "agent/host/clock.h"
#include "agent/host/thread.h"
#include "agent/serve/web_header.h"

enum {
    CLIENTS = WEB_WAITING + WEB_CLIENTS,
    ACCEPTS_MAX = 16, /* before those that are there are looked at */
    EVENTS = 32,
    THROTTLED_MS = 20, /* until connections are accepted again */
    WAITING_MS = 100,  /* between two looks at deadlines: of headers, */
    SERVED_MS = 1000,  /* and of others */
    BEGIN_S = 30       /* from the hand-over to the daemon until the connection has its thread */
};

/* epoll data of the descriptors that are no clients */
enum { LISTEN = CLIENTS, STOP };

enum client_state {
    CLIENT_FREE,
    CLIENT_WAITING,  /* its request is not complete; deadline: of the header */
    CLIENT_GIVEN,    /* to the daemon, which has not begun; deadline: it was closed instead */
    CLIENT_SERVED,   /* its answer is being made; no deadline */
    CLIENT_ANSWERED, /* its answer is being sent; deadline: for that */
    CLIENT_SHUT      /* it read too slowly: the daemon is about to close it */
};

struct client {
    enum client_state state;
    int fd; /* ours while it waits, then the daemon's */
    struct web_client_key key;
    struct sockaddr_storage address;
    socklen_t address_size;
    uint64_t since_ns; /* of the state, monotonic */
    unsigned pieces;   /* times that something came */
};

static const struct client no_client = {.state = CLIENT_FREE};

struct web_front {
    pthread_t thread;
    bool started;
    atomic_bool stop;
    int listen_fd; /* borrowed */
    enum web_exposure exposure;
    int epoll_fd, stop_fd; /* owned */
    bool throttled;        /* no connection is accepted now */
    struct web_front_calls calls;
    struct token_bucket accepts;
    struct web_rate rate;
    pthread_mutex_t lock; /* of all below */
    struct client clients[CLIENTS];
};

static bool are_equal(struct web_client_key a, struct web_client_key b)
{
    return a.high == b.high && a.low == b.low;
}

/* --- The table of clients, with the lock held */

static uint64_t limit_ns(const struct client *client)
{
    switch (client->state) {
    case CLIENT_WAITING:
        return WEB_HEADER_S * NS_PER_S;
    case CLIENT_GIVEN:
        return BEGIN_S * NS_PER_S;
    case CLIENT_ANSWERED:
        return WEB_READ_S * NS_PER_S;
    case CLIENT_FREE:
    case CLIENT_SERVED:
    case CLIENT_SHUT:
        break;
    }
    return UINT64_MAX;
}

static void change_state(struct client *client, enum client_state state)
{
    client->state = state;
    client->since_ns = clock_mono_ns();
}

static struct client *find_given(struct web_front *front, int fd)
{
    for (size_t i = 0; i < CLIENTS; i++)
        if (front->clients[i].state > CLIENT_WAITING && front->clients[i].fd == fd)
            return &front->clients[i];
    return NULL;
}

/* How many have that address (NULL: any) and wait, or have been given away. */
static size_t count_clients(const struct web_front *front, const struct web_client_key *key,
                            bool waiting)
{
    size_t i, count = 0;

    for (i = 0; i < CLIENTS; i++) {
        const struct client *client = &front->clients[i];

        count += client->state != CLIENT_FREE && (client->state == CLIENT_WAITING) == waiting &&
                 (!key || are_equal(client->key, *key));
    }
    return count;
}

/* The one that has been in that state for longest; NULL: none. */
static struct client *oldest_client(struct web_front *front, const struct web_client_key *key,
                                    enum client_state state)
{
    struct client *oldest = NULL;

    for (size_t i = 0; i < CLIENTS; i++) {
        struct client *client = &front->clients[i];

        if (client->state == state && (!key || are_equal(client->key, *key)) &&
            (!oldest || client->since_ns < oldest->since_ns))
            oldest = client;
    }
    return oldest;
}

static void close_waiting(struct client *client)
{
    (void)close(client->fd);
    *client = no_client;
}

/* Its thread finds the end of the connection and closes it. */
static void shut(struct client *client)
{
    (void)shutdown(client->fd, SHUT_RDWR);
    change_state(client, CLIENT_SHUT);
}

/* A free place for a client. There are more places than may be taken. */
static struct client *make_place(struct web_front *front, struct web_client_key key)
{
    struct client *oldest = NULL;

    if (count_clients(front, &key, true) >= WEB_WAITING_EACH)
        oldest = oldest_client(front, &key, CLIENT_WAITING);
    else if (count_clients(front, NULL, true) >= WEB_WAITING)
        oldest = oldest_client(front, NULL, CLIENT_WAITING);
    if (oldest)
        close_waiting(oldest);
    return oldest_client(front, NULL, CLIENT_FREE);
}

/* True if a thread is free. If not, the slowest reader of an answer is closed for the next one. */
static bool may_serve(struct web_front *front, const struct client *client)
{
    const bool has_share = count_clients(front, &client->key, false) >= WEB_CLIENTS_EACH &&
                           front->exposure != WEB_FILE;
    struct client *oldest;

    if (!has_share && count_clients(front, NULL, false) < WEB_CLIENTS)
        return true;
    oldest = oldest_client(front, has_share ? &client->key : NULL, CLIENT_ANSWERED);
    if (oldest && clock_mono_ns() - oldest->since_ns >= WEB_READ_BUSY_S * NS_PER_S)
        shut(oldest);
    return false;
}

static void close_late(struct web_front *front)
{
    const uint64_t now_ns = clock_mono_ns();

    for (size_t i = 0; i < CLIENTS; i++) {
        struct client *client = &front->clients[i];

        if (now_ns < client->since_ns || now_ns - client->since_ns < limit_ns(client))
            continue;
        if (client->state == CLIENT_WAITING)
            close_waiting(client);
        else if (client->state == CLIENT_ANSWERED)
            shut(client);
        else
            *client = no_client; /* its descriptor is not ours */
    }
}

/* --- Requests */

static const char *status_text(unsigned status)
{
    switch (status) {
    case 200:
        return "200 OK";
    case 400:
        return "400 Bad Request";
    case 413:
        return "413 Content Too Large";
    case 429:
        return "429 Too Many Requests";
    case 431:
        return "431 Request Header Fields Too Large";
    default:
        return "503 Service Unavailable";
    }
}

/* Sends a short answer and closes the connection. The request is read before, because closing a
 * socket with unread data discards the answer. */
static void reply(struct client *client, const char *header, unsigned status, const char *text)
{
    char bytes[512], taken[WEB_HEADER_MAX];
    int size = snprintf(bytes, sizeof(bytes),
                        "HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\n"
                        "Content-Length: %zu\r\nX-Content-Type-Options: nosniff\r\n"
                        "Cache-Control: no-store\r\n%sConnection: close\r\n\r\n%s",
                        status_text(status), strlen(text),
                        status == 429 || status == 503 ? "Retry-After: 1\r\n" : "",
                        *header == 'H' ? "" : text);

    (void)!recv(client->fd, taken, sizeof(taken), MSG_DONTWAIT);
    (void)!send(client->fd, bytes, (size_t)size, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)shutdown(client->fd, SHUT_WR);
    close_waiting(client);
}

/* A probe of a browser goes to the daemon, which checks whether another page asks for it. */
static bool is_probe(const struct web_front *front, const char *header, size_t size)
{
    char host[80];
    size_t host_size = 0;
    const char *value = web_header_field(header, size, "Host", &host_size);

    if ((!web_header_asks_for(header, "/healthz") && !web_header_asks_for(header, "/readyz")) ||
        web_header_field(header, size, "Sec-Fetch-Site", &(size_t){0}))
        return false;
    if (front->exposure != WEB_LOOPBACK)
        return true;
    if (!value || host_size >= sizeof(host))
        return false;
    (void)snprintf(host, sizeof(host), "%.*s", (int)host_size, value);
    return web_header_host_allowed(host);
}

static void reply_to_probe(struct web_front *front, struct client *client, const char *header)
{
    const bool ready = web_header_asks_for(header, "/readyz");

    if (!front->calls.is_well(front->calls.ctx, ready))
        reply(client, header, 503, "not yet, or no more\n");
    else
        reply(client, header, 200, ready ? "ready\n" : "ok\n");
}

/* Gives the connection to the daemon; the lock is not held meanwhile, because the daemon's
 * callbacks take it. */
static void hand_over(struct web_front *front, struct client *client)
{
    const struct sockaddr_storage address = client->address;
    const socklen_t size = client->address_size;
    const int fd = client->fd;
    bool good;

    (void)epoll_ctl(front->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
    change_state(client, CLIENT_GIVEN);
    (void)pthread_mutex_unlock(&front->lock);
    good = front->calls.serve(front->calls.ctx, fd, (const struct sockaddr *)(const void *)&address,
                              size);
    (void)pthread_mutex_lock(&front->lock);
    if (!good && client->state == CLIENT_GIVEN && client->fd == fd)
        *client = no_client;
}

/* Decides what becomes of a complete request. */
static void handle(struct web_front *front, struct client *client, const char *header, size_t size)
{
    if (is_probe(front, header, size))
        reply_to_probe(front, client, header);
    else if (web_header_has_body(header, size))
        reply(client, header, 413, "a request has no body here\n");
    else if (!web_rate_take(&front->rate, client->key, clock_mono_ns()))
        reply(client, header, 429, "there are too many requests: try again in a second\n");
    else if (!may_serve(front, client))
        reply(client, header, 503, "there are too many connections: try again in a second\n");
    else
        hand_over(front, client);
}

/* Something came from a client, or it has closed its end. */
static void read_request(struct web_front *front, struct client *client)
{
    char bytes[WEB_HEADER_MAX + 1];
    const ssize_t got = recv(client->fd, bytes, WEB_HEADER_MAX, MSG_PEEK | MSG_DONTWAIT);
    size_t size;

    if (got < 0 && errno == EAGAIN)
        return;
    if (got <= 0) {
        close_waiting(client);
        return;
    }
    bytes[got] = '\0';
    size = web_header_size(bytes, (size_t)got);
    if (*bytes < 'A' || *bytes > 'Z')
        reply(client, "", 400, "this is not an HTTP request\n");
    else if (size > 0)
        handle(front, client, bytes, size);
    else if (got == WEB_HEADER_MAX)
        reply(client, bytes, 431, "the header is too long\n");
    else if (++client->pieces >= WEB_HEADER_PIECES)
        close_waiting(client);
}

/* --- The thread */

/* Adds or changes what epoll looks for at a descriptor. */
static bool watch_fd(struct web_front *front, int operation, int fd, uint32_t events, uint32_t data)
{
    struct epoll_event event = {.events = events, .data = {.u32 = data}};

    return epoll_ctl(front->epoll_fd, operation, fd, &event) == 0;
}

static void throttle(struct web_front *front, bool on)
{
    if (front->throttled != on)
        (void)watch_fd(front, EPOLL_CTL_MOD, front->listen_fd, on ? 0 : EPOLLIN, LISTEN);
    front->throttled = on;
}

static void add_client(struct web_front *front, int fd, const struct sockaddr_storage *address,
                       socklen_t address_size)
{
    const struct web_client_key key =
        web_client_key_of((const struct sockaddr *)(const void *)address);
    struct client *stale = find_given(front, fd), *client;

    if (stale) /* the daemon has closed it and told nobody */
        *stale = no_client;
    client = make_place(front, key);
    if (!client || !watch_fd(front, EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLRDHUP | EPOLLET,
                             (uint32_t)(client - front->clients))) {
        (void)close(fd);
        return;
    }
    *client =
        (struct client){.fd = fd, .key = key, .address = *address, .address_size = address_size};
    change_state(client, CLIENT_WAITING);
}

static void accept_clients(struct web_front *front)
{
    for (unsigned i = 0; i < ACCEPTS_MAX; i++) {
        struct sockaddr_storage address = {0};
        socklen_t size = sizeof(address);
        int fd;

        if (!token_bucket_take(&front->accepts, clock_mono_ns())) {
            throttle(front, true);
            return;
        }
        fd = accept4(front->listen_fd, (struct sockaddr *)(void *)&address, &size,
                     SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) {
            throttle(front, errno != EAGAIN && errno != ECONNABORTED); /* no descriptor is left */
            return;
        }
        add_client(front, fd, &address, size);
    }
}

/* How long there is nothing to do but for what comes; -1: for ever. */
static int pause_ms(const struct web_front *front)
{
    bool any = false;

    if (front->throttled)
        return THROTTLED_MS;
    for (size_t i = 0; i < CLIENTS; i++) {
        if (front->clients[i].state == CLIENT_WAITING)
            return WAITING_MS;
        any = any || front->clients[i].state != CLIENT_FREE;
    }
    return any ? SERVED_MS : -1;
}

static void handle_events(struct web_front *front, const struct epoll_event *events, int count)
{
    for (int i = 0; i < count; i++) {
        const uint32_t place = events[i].data.u32;

        if (place < CLIENTS && front->clients[place].state == CLIENT_WAITING)
            read_request(front, &front->clients[place]);
        else if (place == LISTEN)
            accept_clients(front);
    }
}

static void *run_front(void *ctx)
{
    struct web_front *front = ctx;
    struct epoll_event events[EVENTS];
    int count = 0, pause;

    while (!atomic_load(&front->stop)) {
        (void)pthread_mutex_lock(&front->lock);
        close_late(front);
        throttle(front, false);
        handle_events(front, events, count);
        pause = pause_ms(front);
        (void)pthread_mutex_unlock(&front->lock);
        asked_use_count_thread();
        count = epoll_wait(front->epoll_fd, events, EVENTS, pause);
    }
    return NULL;
}

struct web_front *web_front_open(const struct web_listen *listen,
                                 const struct web_front_calls *calls)
{
    struct web_front *front = calloc(1, sizeof(*front));

    if (!front)
        return NULL;
    (void)pthread_mutex_init(&front->lock, NULL);
    front->listen_fd = listen->fd;
    front->exposure = listen->exposure;
    front->calls = *calls;
    front->accepts = token_bucket_full(WEB_ACCEPTS_PER_S, WEB_ACCEPTS_BURST, clock_mono_ns());
    web_rate_init(&front->rate, clock_mono_ns());
    front->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    front->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (front->epoll_fd >= 0 && front->stop_fd >= 0 &&
        watch_fd(front, EPOLL_CTL_ADD, front->listen_fd, EPOLLIN, LISTEN) &&
        watch_fd(front, EPOLL_CTL_ADD, front->stop_fd, EPOLLIN, STOP))
        return front;
    web_front_close(front);
    return NULL;
}

bool web_front_start(struct web_front *front)
{
    front->started = thread_start(&front->thread, run_front, front) == 0;
    return front->started;
}

/* A connection that the daemon has goes on to another state. */
static void change_given(struct web_front *front, int fd, enum client_state state)
{
    struct client *client;

    (void)pthread_mutex_lock(&front->lock);
    client = find_given(front, fd);
    if (client && state == CLIENT_FREE)
        *client = no_client;
    else if (client)
        change_state(client, state);
    (void)pthread_mutex_unlock(&front->lock);
}

void web_front_begun(struct web_front *front, int fd)
{
    change_given(front, fd, CLIENT_SERVED);
}

void web_front_answered(struct web_front *front, int fd)
{
    change_given(front, fd, CLIENT_ANSWERED);
}

void web_front_ended(struct web_front *front, int fd)
{
    change_given(front, fd, CLIENT_FREE);
}

void web_front_stop(struct web_front *front)
{
    const uint64_t one = 1;

    if (!front || !front->started)
        return;
    atomic_store(&front->stop, true);
    (void)!write(front->stop_fd, &one, sizeof(one));
    (void)pthread_join(front->thread, NULL);
    front->started = false;
    (void)pthread_mutex_lock(&front->lock);
    for (size_t i = 0; i < CLIENTS; i++)
        if (front->clients[i].state == CLIENT_WAITING)
            close_waiting(&front->clients[i]);
    (void)pthread_mutex_unlock(&front->lock);
}

void web_front_close(struct web_front *front)
{
    if (!front)
        return;
    if (front->epoll_fd >= 0)
        (void)close(front->epoll_fd);
    if (front->stop_fd >= 0)
        (void)close(front->stop_fd);
    (void)pthread_mutex_destroy(&front->lock);
    free(front);
}
