/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_golden.c - images of live processes give the stacks that the processes told of
 * themselves, and with any part of an image missing nothing else than these stacks.
 */
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/images/image.h"
#include "tests/unit/unit_test.h"
#include "tests/unit/unwind/images.h"

enum { THREADS = 16, TEXT_MAX = 1 << 20, IMAGES_MAX = 32, HEAD = 32, RANGE_HEAD = 16 };

/* A sample as text: a part for each thread. */
struct rendering {
    size_t count;
    struct {
        cpy_addr state;
        pid_t tid;       /* 0: an image of 3.6 to 3.10 does not tell */
        char title[256]; /* its name, and " main" */
        bool torn, cut, used;
        uint32_t depth;
        struct buf frames;
    } threads[THREADS];
};

static void render_thread(void *ctx, const struct cpy_thread *thread)
{
    struct rendering *out = ctx;
    struct buf *frames;
    uint32_t i;

    assert_true(out->count < THREADS);
    out->threads[out->count].state = thread->state;
    out->threads[out->count].tid = thread->tid;
    out->threads[out->count].torn = thread->torn;
    out->threads[out->count].cut = thread->cut;
    out->threads[out->count].used = false;
    out->threads[out->count].depth = thread->depth;
    (void)snprintf(out->threads[out->count].title, sizeof(out->threads[0].title), "%s%s",
                   thread->name ? thread->name : "None",
                   thread->status & CPY_STATUS_MAIN ? " main" : "");
    frames = &out->threads[out->count++].frames;
    buf_init(frames, TEXT_MAX);
    for (i = 0; i < thread->depth; i++)
        buf_add_fmt(frames, "  %s %s:%d %d\n", thread->frames[i].code->func,
                    thread->frames[i].code->file, (int)thread->frames[i].line,
                    (int)thread->frames[i].code->first_line);
    assert_false(buf_failed(frames));
}

static void rendering_finish(struct rendering *rendering)
{
    size_t i;

    for (i = 0; i < rendering->count; i++)
        buf_finish(&rendering->threads[i].frames);
    rendering->count = 0;
}

static struct buf read_all(const char *path)
{
    FILE *file = fopen(path, "re");
    struct buf text;
    size_t got;

    if (!file)
        fail_msg("%s: run this from the root of the tree", path);
    buf_init(&text, TEXT_MAX);
    got = fread(buf_extend(&text, TEXT_MAX), 1, TEXT_MAX, file);
    text.size = got;
    buf_add(&text, "", 1);
    text.size = got;
    (void)fclose(file);
    assert_true(got > 0 && got < TEXT_MAX);
    return text;
}

/* The .stacks file beside an image. */
static struct buf stacks_beside(const char *image)
{
    char path[512];

    (void)snprintf(path, sizeof(path), "%.*s.stacks", (int)(strlen(image) - 4), image);
    return read_all(path);
}

/* The thread that the document's line "thread TID TITLE" means; without one, the next that fits. */
static size_t thread_of(struct rendering *rendering, pid_t tid, const char *title)
{
    size_t i;

    for (i = 0; i < rendering->count; i++)
        if (!rendering->threads[i].used &&
            (rendering->threads[i].tid == tid ||
             (rendering->threads[i].tid == 0 && strcmp(rendering->threads[i].title, title) == 0)))
            break;
    if (i == rendering->count)
        fail_msg("there is no thread %d '%s'", (int)tid, title);
    rendering->threads[i].used = true;
    return i;
}

/* Adds what a sample has for the document's line "thread TID TITLE". */
static void add_thread(struct rendering *rendering, const char *line, size_t size, struct buf *out)
{
    char title[256];
    int tid = 0, title_at = 0;
    size_t i;

    /* NOLINTNEXTLINE(cert-err34-c): our own text */
    assert_int_equal(sscanf(line, "thread %d%n", &tid, &title_at), 1);
    assert_true((size_t)title_at < size);
    (void)snprintf(title, sizeof(title), "%.*s", (int)size - title_at - 1, line + title_at + 1);
    i = thread_of(rendering, tid, title);
    buf_add_fmt(out, "thread %d %s\n", tid, rendering->threads[i].title);
    buf_add(out, rendering->threads[i].frames.data, rendering->threads[i].frames.size);
}

/* What stacks_of of tests/golden/take.py writes, its threads in the order of `expected`. */
static struct buf text_of(struct rendering *rendering, const char *version, const char *expected)
{
    struct buf out;
    const char *at;
    size_t i;

    buf_init(&out, TEXT_MAX);
    buf_add_fmt(&out, "%s\n", version);
    for (at = expected; *at; at += strcspn(at, "\n"), at += *at == '\n')
        if (strncmp(at, "thread ", 7) == 0)
            add_thread(rendering, at, strcspn(at, "\n"), &out);
    for (i = 0; i < rendering->count; i++) /* who wrote the document is not in it */
        if (!rendering->threads[i].used && strcmp(rendering->threads[i].title, "watcher") != 0)
            fail_msg("nobody told of thread '%s'", rendering->threads[i].title);
    buf_add(&out, "", 1);
    assert_false(buf_failed(&out));
    return out;
}

/* Fails with the first line that differs. */
static void compare_lines(const char *name, const char *got, const char *wanted)
{
    int line = 1, got_size, wanted_size;

    while (*got || *wanted) {
        got_size = (int)strcspn(got, "\n");
        wanted_size = (int)strcspn(wanted, "\n");
        if (got_size != wanted_size || memcmp(got, wanted, (size_t)got_size) != 0)
            fail_msg("%s, line %d\n  got:    '%.*s'\n  wanted: '%.*s'", name, line, got_size, got,
                     wanted_size, wanted);
        got += got_size + (got[got_size] == '\n');
        wanted += wanted_size + (wanted[wanted_size] == '\n');
        line++;
    }
}

/* Samples twice: what is decoded, then what the caches have. */
static void check_stacks(struct cpy_target *target, const char *path, const struct buf *wanted)
{
    struct rendering rendering = {0};
    struct buf got;

    for (int round = 0; round < 2; round++) {
        assert_int_equal(cpy_sample(target, render_thread, &rendering), CPY_OK);
        got = text_of(&rendering, cpy_info(target)->version, (const char *)wanted->data);
        compare_lines(path, (const char *)got.data, (const char *)wanted->data);
        buf_finish(&got);
        rendering_finish(&rendering);
    }
    assert_int_equal(cpy_stats(target)->torn, 0);
    assert_int_equal(cpy_stats(target)->retries, 0);
}

static void gives_the_stacks_that_the_process_told(void **state)
{
    const char *path = *state;
    struct buf wanted = stacks_beside(path);
    struct cpy_target *target = NULL;
    struct err err = {""};

    if (image_open_target(path, &target, &err) != CPY_OK)
        fail_msg("%s", err.text);
    check_stacks(target, path, &wanted);
    for (uint32_t layer = 1; layer < CPY_LAYER_ALL; layer <<= 1) {
        cpy_set_options(target, &(const struct cpy_options){.plain = layer});
        check_stacks(target, path, &wanted);
    }
    cpy_set_options(target, &(const struct cpy_options){.plain = CPY_LAYER_ALL});
    check_stacks(target, path, &wanted);
    cpy_close(target);
    buf_finish(&wanted);
}

/* Writes the image without one of its ranges to `fd`; false: there is no such range. */
static bool write_without(const struct buf *image, uint32_t missing, int fd)
{
    uint64_t head[2];
    uint32_t count, i;
    size_t at = HEAD, from = 0;

    memcpy(&count, image->data + 12, sizeof(count));
    for (i = 0; i <= missing && i < count; i++) {
        from = at;
        memcpy(head, image->data + at, sizeof(head));
        at += RANGE_HEAD + head[1];
    }
    if (missing >= count)
        return false;
    count--;
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(pwrite(fd, image->data, from, 0), from);
    assert_int_equal(pwrite(fd, &count, sizeof(count), 12), sizeof(count));
    assert_int_equal(pwrite(fd, image->data + at, image->size - at, (off_t)from), image->size - at);
    return true;
}

/* Each thread is whole or torn: torn ones have no frames, the others those of `whole`. */
static void check_never_partial(const struct rendering *got, const struct rendering *whole,
                                size_t *torn)
{
    size_t i, k;

    for (i = 0; i < got->count; i++) {
        for (k = 0; k < whole->count && whole->threads[k].state != got->threads[i].state; k++)
            ;
        assert_true(k < whole->count);
        assert_false(got->threads[i].cut);
        if (got->threads[i].torn) {
            assert_int_equal(got->threads[i].depth, 0);
            ++*torn;
            continue;
        }
        assert_int_equal(got->threads[i].frames.size, whole->threads[k].frames.size);
        assert_memory_equal(got->threads[i].frames.data, whole->threads[k].frames.data,
                            whole->threads[k].frames.size);
    }
}

/* Opens and samples a damaged image. */
static void sample_damaged(const char *path, const struct rendering *whole, size_t *torn,
                           size_t *refused)
{
    struct rendering got = {0};
    struct cpy_target *target = NULL;
    struct err err = {""};
    enum cpy_rc rc = image_open_target(path, &target, &err);

    if (rc == CPY_OK) {
        rc = cpy_sample(target, render_thread, &got);
        assert_true(rc == CPY_OK || rc == CPY_RACED);
        check_never_partial(&got, whole, torn);
        if (rc == CPY_OK)
            assert_int_equal(got.count, whole->count);
    } else {
        assert_null(target);
        assert_true(rc == CPY_FOREIGN || rc == CPY_STARTING);
        assert_true(strlen(err.text) > 0);
    }
    *refused += rc != CPY_OK;
    rendering_finish(&got);
    cpy_close(target);
}

static void shows_no_partial_stack_where_a_read_fails(void **state)
{
    const char *path = *state;
    struct buf image = read_all(path);
    struct rendering whole = {0};
    struct cpy_target *target = NULL;
    char damaged[64];
    size_t torn = 0, refused = 0;
    int fd = memfd_create("image", MFD_CLOEXEC);
    uint32_t missing;

    assert_true(fd >= 0);
    (void)snprintf(damaged, sizeof(damaged), "/proc/self/fd/%d", fd);
    assert_int_equal(image_open_target(path, &target, NULL), CPY_OK);
    assert_int_equal(cpy_sample(target, render_thread, &whole), CPY_OK);
    for (missing = 0; write_without(&image, missing, fd); missing++)
        sample_damaged(damaged, &whole, &torn, &refused);

    assert_true(torn > 50); /* most ranges are of code objects and their strings */
    assert_true(refused > 0);
    rendering_finish(&whole);
    cpy_close(target);
    (void)close(fd);
    buf_finish(&image);
}

static void is_of_another_machine(void **state)
{
    (void)state;
    skip();
}

int main(void)
{
    struct CMUnitTest tests[2 * IMAGES_MAX] = {{0}};
    static char names[2 * IMAGES_MAX][256];
    glob_t images;
    const char *chosen = getenv("GOLDEN_IMAGES"); /* for a run that takes fifty times as long */
    char pattern[256];
    size_t i, count = 0;
    int failed;

    (void)snprintf(pattern, sizeof(pattern), "tests/golden/unwind/%s.img", chosen ? chosen : "*");
    if (glob(pattern, GLOB_BRACE, NULL, &images) != 0) {
        (void)fprintf(stderr, "test_unwind_golden: run it from the root of the tree\n");
        return 1;
    }
    for (i = 0; i < images.gl_pathc && i < IMAGES_MAX; i++) {
        (void)snprintf(names[count], sizeof(names[0]), "gives_the_stacks_that_the_process_told %s",
                       strrchr(images.gl_pathv[i], '/') + 1);
        tests[count] = (struct CMUnitTest){names[count],
                                           image_fits(images.gl_pathv[i])
                                               ? gives_the_stacks_that_the_process_told
                                               : is_of_another_machine,
                                           NULL, NULL, images.gl_pathv[i]};
        count++;
        (void)snprintf(names[count], sizeof(names[0]),
                       "shows_no_partial_stack_where_a_read_fails %s",
                       strrchr(images.gl_pathv[i], '/') + 1);
        tests[count] = (struct CMUnitTest){names[count],
                                           image_fits(images.gl_pathv[i])
                                               ? shows_no_partial_stack_where_a_read_fails
                                               : is_of_another_machine,
                                           NULL, NULL, images.gl_pathv[i]};
        count++;
    }
    failed = _cmocka_run_group_tests("golden images", tests, count, NULL, NULL);
    globfree(&images);
    return failed;
}
