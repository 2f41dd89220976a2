/* SPDX-License-Identifier: Apache-2.0 */
/* hidden.c - knows how memory is kept out of core files. */
#include "exporters/http/hidden.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "exporters/http/curl_api.h"

enum {
    SMALLEST = 64, /* bytes with the head; each class has twice the room of the one before */
    CLASSES = 11,  /* up to 64 KiB */
    CHUNK = 256 * 1024,
    PAGE = 4096
};

/* Stands before each piece. */
struct head {
    _Alignas(16) size_t room; /* bytes after the head */
    struct head *next;        /* while it is free */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static struct head *freed[CLASSES];
static unsigned char *chunk; /* what is left of the newest */
static size_t chunk_left;

static void *map(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return NULL;
    if (madvise(memory, size, MADV_DONTDUMP) == 0)
        return memory;
    (void)munmap(memory, size);
    return NULL;
}

/* The class of a piece of `size` bytes with its head; CLASSES: a mapping of its own. */
static size_t class_of(size_t size)
{
    size_t class = 0;

    while (class < CLASSES && (size_t)SMALLEST << class < size)
        class ++;
    return class;
}

static struct head *cut_from_chunk(size_t size)
{
    struct head *head;

    if (chunk_left < size) {
        unsigned char *fresh = map(CHUNK);

        if (!fresh)
            return NULL;
        chunk = fresh; /* the rest of the old one is less than a piece */
        chunk_left = CHUNK;
    }
    head = (struct head *)(void *)chunk;
    chunk += size;
    chunk_left -= size;
    return head;
}

static struct head *take_hidden_block(size_t class)
{
    struct head *head;

    (void)pthread_mutex_lock(&lock);
    head = freed[class];
    if (head)
        freed[class] = head->next;
    else
        head = cut_from_chunk((size_t)SMALLEST << class);
    (void)pthread_mutex_unlock(&lock);
    if (head)
        head->room = ((size_t)SMALLEST << class) - sizeof(*head);
    return head;
}

static struct head *take_large(size_t size)
{
    size_t whole = (size + PAGE - 1) / PAGE * PAGE;
    struct head *head = map(whole);

    if (head)
        head->room = whole - sizeof(*head);
    return head;
}

void *hidden_malloc(size_t size)
{
    struct head *head;
    size_t class;

    if (size > SIZE_MAX / 2)
        return NULL;
    class = class_of(size + sizeof(*head));
    head = class < CLASSES ? take_hidden_block(class) : take_large(size + sizeof(*head));
    return head ? head + 1 : NULL;
}

void hidden_free(void *memory)
{
    struct head *head = memory;
    size_t class;

    if (!memory)
        return;
    head--;
    explicit_bzero(memory, head->room);
    class = class_of(head->room + sizeof(*head));
    if (class == CLASSES) {
        (void)munmap(head, head->room + sizeof(*head));
        return;
    }
    (void)pthread_mutex_lock(&lock);
    head->next = freed[class];
    freed[class] = head;
    (void)pthread_mutex_unlock(&lock);
}

void *hidden_calloc(size_t count, size_t size)
{
    void *memory;

    if (size && count > SIZE_MAX / size)
        return NULL;
    memory = hidden_malloc(count * size);
    if (memory)
        memset(memory, 0, count * size);
    return memory;
}

void *hidden_realloc(void *memory, size_t size)
{
    const struct head *head = memory;
    void *larger;

    if (!memory)
        return hidden_malloc(size);
    head--;
    if (size <= head->room)
        return memory;
    larger = hidden_malloc(size);
    if (!larger)
        return NULL;
    memcpy(larger, memory, head->room);
    hidden_free(memory);
    return larger;
}

char *hidden_strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = hidden_malloc(size);

    if (copy)
        memcpy(copy, text, size);
    return copy;
}

static void *crypto_malloc(size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    return hidden_malloc(size);
}

static void *crypto_realloc(void *memory, size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    if (size > 0)
        return hidden_realloc(memory, size);
    hidden_free(memory); /* OpenSSL's has that meaning of 0 */
    return NULL;
}

static void crypto_free(void *memory, const char *file, int line)
{
    (void)file;
    (void)line;
    hidden_free(memory);
}

/* Libcurl and its libraries may be loaded late, and then their symbols are in no global scope. */
static void *find_in_curl(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name), *library;

    if (found)
        return found;
    if (!curl_api_load(NULL))
        return NULL;
    library = dlopen("libcurl.so.4", RTLD_LAZY | RTLD_NOLOAD);
    if (!library)
        return NULL;
    found = dlsym(library, name);
    (void)dlclose(library);
    return found;
}

/* By its name, as libcurl may be built with another library, or none. */
void hidden_keys(void)
{
    int (*set)(void *(*)(size_t, const char *, int), void *(*)(void *, size_t, const char *, int),
               void (*)(void *, const char *, int));
    void *found = find_in_curl("CRYPTO_set_mem_functions");

    if (!found)
        return;
    memcpy(&set, &found, sizeof(set));
    (void)set(crypto_malloc, crypto_realloc, crypto_free); /* 0: OpenSSL is in use already */
}
