/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hidden.h - memory for secrets, which is in no core file and is wiped when it is freed.
 *
 * libcurl gets all of its memory here: a password is in its settings, in the request
 * it has composed, and in what it has freed since.
 *
 * Threads: any. The heap is one for the process, as libcurl's functions for memory
 *          have no place for a context.
 * Cost:    what was used is kept for the next; pieces over 64 KiB go back at once.
 */
#ifndef EXPORTERS_HTTP_HIDDEN_H
#define EXPORTERS_HTTP_HIDDEN_H

#include <stddef.h>

/* As those of libc without the prefix. Lends nothing: what they give ends with hidden_free. */
void *hidden_malloc(size_t size);
void *hidden_calloc(size_t count, size_t size);
void *hidden_realloc(void *memory, size_t size);
char *hidden_strdup(const char *text);

/* Wipes and frees. NULL is fine. */
void hidden_free(void *memory);

/*
 * Has OpenSSL, where libcurl uses it, take all of its memory here, too: the private key of a
 * client is in more places of it than those that it keeps apart. Once, before libcurl is used.
 */
void hidden_keys(void);

#endif
