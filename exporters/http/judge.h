/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judge.h - turns the status of a reply into what is to be done, and into words.
 *
 * Threads: functions of their arguments alone.
 */
#ifndef EXPORTERS_HTTP_JUDGE_H
#define EXPORTERS_HTTP_JUDGE_H

#include "exporters/http/client.h"

/* What tells one protocol from another. */
struct http_protocol {
    const char *server; /* with its article: "a Pyroscope" */
    const char *hint;   /* what to try if the server is not one of these; or "" */
    const long *again;  /* the statuses after which the same is to be sent again */
    size_t again_count;
    bool (*is_answer)(const struct http_reply *reply); /* of such a server, which has a 2xx */
};

enum { HTTP_WORDS_MAX = 4 * ERR_TEXT_MAX + 1 };

/*
 * Writes a server's words, any bytes, as one line for a struct err: of many its beginning and its
 * end, between which an err makes its cut.
 */
void http_words(const void *words, size_t size, char out[HTTP_WORDS_MAX]);

/* True if the reply has this media type, with or without parameters. */
bool http_is_type(const struct http_reply *reply, const char *type);

/* What to do about a status, e.g. " (...)"; "": nothing known. */
const char *http_advice_on(long status);

/*
 * Judges a reply. 2xx is a success if it is an answer of such a server; a page of a proxy or of
 * another server waits for somebody to mend that. 401, 403 and 407 wait for another secret: the
 * one there is has been read again by then. What is neither among `again` is final.
 *
 * Takes:  `words`, the server's own, to be told with the status; any bytes.
 * Gives:  *answer: its status alone if the outcome is EXPORTER_OK.
 * Errors: EXPORTER_RETRY, EXPORTER_REFUSED.
 */
MUST_CHECK enum exporter_rc http_judge(const struct http_protocol *protocol,
                                       const struct http_reply *reply, const void *words,
                                       size_t words_size, struct exporter_answer *answer);

#endif
