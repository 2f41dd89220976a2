/* SPDX-License-Identifier: Apache-2.0 */
/* test_image.c - an image gives back what was read when it was taken, and nothing else. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fakes/fake_process.h"
#include "tests/images/image.h"
#include "tests/unit/unit_test.h"

enum { VERSION = 0x030c01f0, HEAD = 32, RANGE_HEAD = 16 };

/* A file that goes away with its descriptor. */
struct file {
    int fd;
    char path[64];
};

static struct file new_file(void)
{
    struct file file = {.fd = memfd_create("image", MFD_CLOEXEC)};

    assert_true(file.fd >= 0);
    (void)snprintf(file.path, sizeof(file.path), "/proc/self/fd/%d", file.fd);
    return file;
}

/* A fake whose bytes are all different from their neighbours. */
static struct fake *patterned(void)
{
    struct fake *fake = fake_new(NULL);

    for (size_t i = 0; i < FAKE_SIZE; i++)
        fake->bytes[i] = (unsigned char)(i * 7 + (i >> 8));
    return fake;
}

static void must_read(struct mem *mem, cpy_addr from, size_t size)
{
    static unsigned char into[FAKE_SIZE];

    assert_true(size <= sizeof(into));
    assert_int_equal(mem_read(mem, from, into, size), CPY_OK);
}

/* What the fake's images are of. */
static const struct found of_fake = {
    .runtime = FAKE_BASE + 100, .gil_current = FAKE_BASE + 200, .hexversion = VERSION};

static enum cpy_rc open_file(const struct file *file, struct mem **out)
{
    struct found found = {0};
    struct err err = {""};
    enum cpy_rc rc = image_open(file->path, out, &found, &err);

    if (rc == CPY_OK) {
        assert_true(found.runtime == of_fake.runtime);
        assert_true(found.gil_current == of_fake.gil_current);
        assert_int_equal(found.hexversion, VERSION);
    } else {
        assert_int_equal(rc, CPY_FOREIGN);
        assert_string_equal(err.text, "it is no memory image");
    }
    return rc;
}

/* Records these reads of a patterned fake and gives the image. */
static struct mem *round_trip(const struct mem_range *ranges, size_t count, uint32_t *ranges_kept)
{
    struct file file = new_file();
    struct mem *recorder = image_recorder(&patterned()->mem), *image;
    struct err err = {""};
    size_t i;

    assert_non_null(recorder);
    for (i = 0; i < count; i++)
        must_read(recorder, ranges[i].from, ranges[i].size);
    if (image_write(recorder, file.path, &of_fake, &err) != CPY_OK)
        fail_msg("%s", err.text);
    mem_close(recorder);
    assert_int_equal(pread(file.fd, ranges_kept, 4, 12), 4);
    assert_int_equal(open_file(&file, &image), CPY_OK);
    (void)close(file.fd);
    return image;
}

static void assert_same(struct mem *image, cpy_addr from, size_t size)
{
    static unsigned char into[FAKE_SIZE];
    struct fake *fake = patterned();

    assert_int_equal(mem_read(image, from, into, size), CPY_OK);
    assert_memory_equal(into, fake->bytes + (from - FAKE_BASE), size);
    mem_close(&fake->mem);
}

static void gives_back_what_was_recorded(void **state)
{
    const struct mem_range ranges[] = {
        {FAKE_BASE + 9000, NULL, 50}, {FAKE_BASE, NULL, 10}, {FAKE_BASE + 500, NULL, 1000}};
    unsigned char byte;
    struct mem *image;
    uint32_t cached;

    (void)state;
    image = round_trip(ranges, 3, &cached);
    assert_int_equal(cached, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_same(image, ranges[i].from, ranges[i].size);
        assert_same(image, ranges[i].from + ranges[i].size - 1, 1);
        assert_int_equal(mem_read(image, ranges[i].from + ranges[i].size, &byte, 1), CPY_RACED);
        assert_int_equal(mem_read(image, ranges[i].from - 1, &byte, 1), CPY_RACED);
    }
    mem_close(image);
}

static void joins_reads_that_overlap_or_touch(void **state)
{
    const struct mem_range ranges[] = {{FAKE_BASE + 100, NULL, 50},
                                       {FAKE_BASE + 150, NULL, 50},
                                       {FAKE_BASE + 120, NULL, 60},
                                       {FAKE_BASE + 100, NULL, 10},
                                       {FAKE_BASE + 201, NULL, 9}};
    unsigned char into[120];
    struct mem *image;
    uint32_t cached;

    (void)state;
    image = round_trip(ranges, 5, &cached);
    assert_int_equal(cached, 2);
    assert_same(image, FAKE_BASE + 100, 100);
    assert_same(image, FAKE_BASE + 201, 9);
    assert_int_equal(mem_read(image, FAKE_BASE + 100, into, 101), CPY_RACED);
    mem_close(image);
}

static void refuses_reads_around_the_end_of_the_address_space(void **state)
{
    const struct mem_range ranges[] = {{FAKE_BASE, NULL, 8}};
    unsigned char into[64];
    struct mem *image;
    uint32_t cached;

    (void)state;
    image = round_trip(ranges, 1, &cached);
    assert_int_equal(mem_read(image, UINT64_MAX - 3, into, 8), CPY_RACED);
    assert_int_equal(mem_read(image, UINT64_MAX, into, 64), CPY_RACED);
    assert_int_equal(mem_read(image, 0, into, 8), CPY_RACED);
    mem_close(image);
}

static void records_no_read_that_failed(void **state)
{
    struct mem *recorder = image_recorder(&patterned()->mem), *image;
    struct file file = new_file();
    unsigned char byte;

    (void)state;
    assert_int_equal(mem_read(recorder, NOWHERE, &byte, 1), CPY_RACED);
    assert_int_equal(image_write(recorder, file.path, &of_fake, NULL), CPY_OK);
    mem_close(recorder);
    assert_int_equal(open_file(&file, &image), CPY_OK);
    assert_int_equal(mem_read(image, NOWHERE, &byte, 1), CPY_RACED);
    mem_close(image);
    (void)close(file.fd);
}

/* An image file made by hand: a head that promises `count` ranges, then these words. */
static enum cpy_rc open_words(uint32_t count, const uint64_t *words, size_t size)
{
    struct file file = new_file();
    unsigned char head[HEAD] = "PYSTIMG2";
    cpy_addr runtime = of_fake.runtime, gil_current = of_fake.gil_current;
    uint32_t version = VERSION;
    struct mem *image = NULL;
    enum cpy_rc rc;

    memcpy(head + 8, &version, 4);
    memcpy(head + 12, &count, 4);
    memcpy(head + 16, &runtime, 8);
    memcpy(head + 24, &gil_current, 8);
    assert_int_equal(write(file.fd, head, HEAD), HEAD);
    assert_int_equal(write(file.fd, words, size), size);
    rc = open_file(&file, &image);
    assert_int_equal(rc == CPY_OK, image != NULL);
    mem_close(image);
    (void)close(file.fd);
    return rc;
}

static void refuses_ranges_that_cannot_be(void **state)
{
    static const uint64_t good[] = {0x1000, 8, 42, 0x2000, 8, 43};
    static const uint64_t backwards[] = {0x2000, 8, 42, 0x1000, 8, 43};
    static const uint64_t overlapping[] = {0x1000, 8, 42, 0x1004, 8, 43};
    static const uint64_t too_long[] = {0x1000, 9, 42};
    static const uint64_t huge[] = {0x1000, UINT64_MAX, 42};
    static const uint64_t around[] = {UINT64_MAX - 3, 8, 42};

    (void)state;
    assert_int_equal(open_words(2, good, sizeof(good)), CPY_OK);
    assert_int_equal(open_words(2, backwards, sizeof(backwards)), CPY_FOREIGN);
    assert_int_equal(open_words(2, overlapping, sizeof(overlapping)), CPY_FOREIGN);
    assert_int_equal(open_words(1, too_long, sizeof(too_long)), CPY_FOREIGN);
    assert_int_equal(open_words(1, huge, sizeof(huge)), CPY_FOREIGN);
    assert_int_equal(open_words(1, around, sizeof(around)), CPY_FOREIGN);
    assert_int_equal(open_words(3, good, sizeof(good)), CPY_FOREIGN);
    assert_int_equal(open_words(UINT32_MAX, good, sizeof(good)), CPY_FOREIGN);
}

static void refuses_every_cut_of_an_image(void **state)
{
    static const uint64_t good[] = {0x1000, 8, 42, 0x2000, 8, 43};

    (void)state;
    for (size_t size = 0; size < sizeof(good); size++)
        assert_int_equal(open_words(2, good, size), CPY_FOREIGN);
}

static void refuses_what_is_no_image_file(void **state)
{
    static const char text[] = "PYSTIMG0 and some more text to be long enough";
    struct file file = new_file();
    struct mem *image = NULL;
    struct found found;
    struct err err = {""};

    (void)state;
    assert_int_equal(open_file(&file, &image), CPY_FOREIGN); /* empty */
    assert_int_equal(write(file.fd, text, sizeof(text)), sizeof(text));
    assert_int_equal(open_file(&file, &image), CPY_FOREIGN);
    assert_int_equal(ftruncate(file.fd, (off_t)1 << 40), 0); /* nothing is allocated for it */
    assert_int_equal(open_file(&file, &image), CPY_FOREIGN);
    (void)close(file.fd);
    assert_int_equal(image_open("/proc/self", &image, &found, &err), CPY_FOREIGN);
    assert_int_equal(image_open("/nowhere/x.img", &image, &found, &err), CPY_FOREIGN);
    assert_string_equal(err.text, "No such file or directory");
    assert_null(image);
}

static void says_that_an_image_cannot_be_written(void **state)
{
    struct mem *recorder = image_recorder(&patterned()->mem);
    struct err err = {""};

    (void)state;
    must_read(recorder, FAKE_BASE, 8);
    assert_int_equal(image_write(recorder, "/nowhere/x.img", &of_fake, &err), CPY_NOMEM);
    assert_string_equal(err.text, "/nowhere/x.img: No such file or directory");
    mem_close(recorder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_back_what_was_recorded),
        cmocka_unit_test(joins_reads_that_overlap_or_touch),
        cmocka_unit_test(refuses_reads_around_the_end_of_the_address_space),
        cmocka_unit_test(records_no_read_that_failed),
        cmocka_unit_test(refuses_ranges_that_cannot_be),
        cmocka_unit_test(refuses_every_cut_of_an_image),
        cmocka_unit_test(refuses_what_is_no_image_file),
        cmocka_unit_test(says_that_an_image_cannot_be_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
