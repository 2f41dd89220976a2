/* SPDX-License-Identifier: Apache-2.0 */
/* test_hidden.c - a heap that works as one, and that no core file has. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/http/hidden.h"
#include "tests/unit/unit_test.h"

enum { PIECES = 400, THREADS = 4 };

/* True if the kernel leaves the mapping around `memory` out of core files. */
static bool is_left_out(const void *memory)
{
    FILE *maps = fopen("/proc/self/smaps", "r");
    unsigned long from, to, at = (unsigned long)(uintptr_t)memory;
    bool inside = false, out = false;
    char line[512], *dash, *blank;

    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps)) {
        from = strtoul(line, &dash, 16); /* "FROM-TO ..." or "VmFlags: ..." and the like */
        to = *dash == '-' ? strtoul(dash + 1, &blank, 16) : 0;
        if (*dash == '-' && *blank == ' ')
            inside = at >= from && at < to;
        else if (inside && strncmp(line, "VmFlags:", 8) == 0)
            out = strstr(line, " dd") != NULL;
    }
    (void)fclose(maps);
    return out;
}

static void no_core_file_has_it(void **state)
{
    static const size_t sizes[] = {1, 100, 4000, 65000, 70000, 1 << 20};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char *memory = hidden_malloc(sizes[i]);

        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % 16, 0);
        memory[sizes[i] - 1] = 1;
        assert_true(is_left_out(memory));
        assert_true(is_left_out(memory + sizes[i] - 1));
        hidden_free(memory);
    }
    assert_false(is_left_out(&state)); /* the check can tell */
}

static void what_is_freed_is_wiped_and_used_again(void **state)
{
    char *memory = hidden_strdup("open sesame"), *again;

    (void)state;
    assert_string_equal(memory, "open sesame");
    hidden_free(memory);
    again = hidden_malloc(12);
    assert_ptr_equal(again, memory);
    for (size_t i = 0; i < 12; i++)
        assert_int_equal(again[i], 0);
    hidden_free(again);
    hidden_free(NULL);
}

static void grows_with_its_content(void **state)
{
    char *memory = hidden_realloc(NULL, 10);

    (void)state;
    for (size_t size = 10; size < 300000; size *= 3) {
        memory = hidden_realloc(memory, size);
        assert_non_null(memory);
        memset(memory + size / 3, (int)(size % 251), size - size / 3);
        assert_int_equal((unsigned char)memory[size - 1], size % 251);
        if (size > 10)
            assert_int_equal((unsigned char)memory[size / 3 - 1], size / 3 % 251);
    }
    hidden_free(memory);
}

static void refuses_what_is_too_large(void **state)
{
    char *memory = hidden_calloc(7, 3);

    (void)state;
    assert_int_equal(memory[20], 0);
    assert_null(hidden_calloc(SIZE_MAX / 2, 3));
    assert_null(hidden_malloc(SIZE_MAX - 1));
    assert_null(hidden_realloc(memory, SIZE_MAX - 1));
    hidden_free(memory);
}

/* Each piece is full of its own number: two that overlap would show. */
static void *juggle(void *ctx)
{
    unsigned char *pieces[PIECES] = {0};
    size_t sizes[PIECES] = {0};
    unsigned random = (unsigned)(uintptr_t)ctx;

    for (size_t round = 0; round < 20000; round++) {
        size_t i = (random = random * 1103515245 + 12345) / 65536 % PIECES;

        for (size_t at = 0; at < sizes[i]; at += 7)
            if (pieces[i][at] != i % 256)
                return "overlap";
        hidden_free(pieces[i]);
        sizes[i] = random / 7 % 3000;
        pieces[i] = hidden_malloc(sizes[i]);
        if (!pieces[i])
            return "nomem";
        memset(pieces[i], (int)(i % 256), sizes[i]);
    }
    for (size_t i = 0; i < PIECES; i++)
        hidden_free(pieces[i]);
    return NULL;
}

static void serves_many_threads(void **state)
{
    pthread_t threads[THREADS];

    (void)state;
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, juggle, (void *)(i + 1)), 0);
    for (size_t i = 0; i < THREADS; i++) {
        void *wrong = "";

        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_core_file_has_it),
        cmocka_unit_test(what_is_freed_is_wiped_and_used_again),
        cmocka_unit_test(grows_with_its_content),
        cmocka_unit_test(refuses_what_is_too_large),
        cmocka_unit_test(serves_many_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
