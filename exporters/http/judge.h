/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judge.h - turns the status of a reply into an outcome and an error text.
 *
 * Threads: all functions may be called from any thread; they keep no state.
 */
#ifndef EXPORTERS_HTTP_JUDGE_H
#define EXPORTERS_HTTP_JUDGE_H

#include "exporters/http/client.h"

/* Differences between protocols. All pointers are static. */
struct http_protocol {
    const char *server; /* kind of server, with its article: "a Pyroscope" */
    const char *hint;   /* remedy if the server is of another kind; or "" */
    const long *again;  /* statuses after which a request is sent again */
    size_t again_count;
    bool (*is_answer)(const struct http_reply *reply); /* true: this 2xx is from such a server */
};

enum { HTTP_WORDS_MAX = 4 * ERR_TEXT_MAX + 1 }; /* each byte may become \xNN; a NUL */

/*
 * Writes a server's words, any bytes, as one printable line for a struct err: only the beginning
 * and the end of a long text, because struct err cuts the middle out.
 */
void http_words(const void *words, size_t size, char out[HTTP_WORDS_MAX]);

/* True if the reply's Content-Type is `type`, with or without parameters. */
bool http_is_type(const struct http_reply *reply, const char *type);

/* Gives a remedy for a status, to append to a message: " (...)"; "": none known. Static. */
const char *http_advice_on(long status);

/*
 * Judges a reply. A 2xx that is_answer confirms is a success. Another 2xx (the page of a proxy or
 * of another server), 401, 403 and 407 give EXPORTER_RETRY and `denied`: a user has to mend the
 * settings, as the secrets have been read again already. Statuses in `again` give EXPORTER_RETRY,
 * all others EXPORTER_REFUSED.
 *
 * Takes:  `words`: the server's words for the error text; any bytes.
 * Gives:  answer->status; unless the outcome is EXPORTER_OK also err, denied and retry_after_ns.
 */
MUST_CHECK enum exporter_rc http_judge(const struct http_protocol *protocol,
                                       const struct http_reply *reply, const void *words,
                                       size_t words_size, struct exporter_answer *answer);

#endif
