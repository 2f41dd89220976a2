/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hidden.h - a heap for secrets: left out of core files, and wiped when freed.
 *
 * All of libcurl's memory is from here, because passwords are in its settings, in requests and in
 * memory that it has freed.
 *
 * Threads: any. The process has one such heap, because libcurl's memory functions take no context.
 * Cost:    freed blocks are kept for reuse; those over 64 KiB are unmapped at once.
 */
#ifndef EXPORTERS_HTTP_HIDDEN_H
#define EXPORTERS_HTTP_HIDDEN_H

#include <stddef.h>

/* As libc's functions without the prefix. The caller ends the memory with hidden_free. */
void *hidden_malloc(size_t size);
void *hidden_calloc(size_t count, size_t size);
void *hidden_realloc(void *memory, size_t size);
char *hidden_strdup(const char *text);

/* Wipes and frees memory. NULL is fine. */
void hidden_free(void *memory);

/*
 * Makes OpenSSL, if libcurl uses it, take all of its memory from here, because it keeps copies of a
 * client's private key outside its own secure memory. Call it once, before libcurl is used.
 */
void hidden_keys(void);

#endif
