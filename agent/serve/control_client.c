/* SPDX-License-Identifier: Apache-2.0 */
/* control_client.c - see control_client.h. */
#include "agent/serve/control_client.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "agent/host/exits.h"
#include "agent/serve/control_socket.h"

enum { ANSWER_MAX = 16 << 20, ANSWER_S = 40 };

/* Sends the request; false: the agent is gone. */
static bool send_all(int fd, const char *text)
{
    size_t size = strlen(text), sent = 0;
    ssize_t done;

    while (sent < size) {
        done = send(fd, text + sent, size - sent, MSG_NOSIGNAL);
        if (done < 0 && errno != EINTR)
            return false;
        sent += done > 0 ? (size_t)done : 0;
    }
    return true;
}

/* Receives all of the answer. */
static bool receive_all(int fd, struct buf *answer)
{
    char piece[4096];
    ssize_t got;

    while (!buf_failed(answer)) {
        got = recv(fd, piece, sizeof(piece), 0);
        if (got == 0)
            return true;
        if (got > 0)
            buf_add(answer, piece, (size_t)got);
        else if (errno != EINTR)
            return false;
    }
    return false;
}

/* Takes the first line off the answer; gives the exit status that it means. */
static int judge_answer(struct buf *answer, struct err *err)
{
    static const char good[] = CONTROL_OK, bad[] = CONTROL_ERROR;
    const char *text = buf_text(answer);

    if (strncmp(text, good, strlen(good)) == 0) {
        answer->size -= strlen(good);
        memmove(answer->data, answer->data + strlen(good), answer->size);
        return EXIT_OK;
    }
    if (strncmp(text, bad, strlen(bad)) == 0 && text[strlen(bad)])
        err_set(err, "%.*s", (int)strcspn(text + strlen(bad), "\n"), text + strlen(bad));
    else
        err_set(err, "the agent gave no answer");
    return EXIT_FAILED;
}

int control_client_ask(const char *path, const struct control_request *request, struct buf *answer,
                       struct err *err)
{
    const struct timeval patience = {.tv_sec = ANSWER_S};
    char text[CONTROL_REQUEST_MAX];
    int fd, status = EXIT_FAILED;

    buf_init(answer, ANSWER_MAX);
    if (!control_text_write(request, text)) {
        err_set(err, "the name of the target is too long");
        return EXIT_USAGE;
    }
    fd = control_socket_connect(path, err);
    if (fd < 0)
        return EXIT_UNAVAILABLE;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (send_all(fd, text) && receive_all(fd, answer))
        status = judge_answer(answer, err);
    else
        err_set(err, "%s: the agent gave no answer: %s", path, strerror(errno));
    (void)close(fd);
    return status;
}
