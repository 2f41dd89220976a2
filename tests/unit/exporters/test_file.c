/* SPDX-License-Identifier: Apache-2.0 */
/* test_file.c - profiles as files: their names, that none is overwritten, that they stay bounded.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "exporters/exporter.h"
#include "exporters/file_name.h"
#include "tests/unit/exporters/send_profile.h"
#include "tests/unit/temp_tree.h"
#include "tests/unit/unit_test.h"

#define START_NS INT64_C(1795600000123000000) /* 2026-11-25T11:06:40.123Z */
#define S_NS     INT64_C(1000000000)

struct place {
    char path[64];
    char pattern[192];
    struct exporter_settings settings;
    struct exporter *exporter;
    struct exporter_answer answer;
};

static int setup(void **state)
{
    struct place *place = calloc(1, sizeof(*place));

    assert_non_null(place);
    (void)snprintf(place->path, sizeof(place->path), "/tmp/test_file.XXXXXX");
    assert_non_null(mkdtemp(place->path));
    (void)snprintf(place->pattern, sizeof(place->pattern), "%s/out/{service}-{type}-{start}.pb.gz",
                   place->path);
    place->settings =
        (struct exporter_settings){.name = "f", .type = &exporter_types[EXPORTER_FILE]};
    *state = place;
    return 0;
}

static int teardown(void **state)
{
    struct place *place = *state;

    exporter_close(place->exporter);
    (void)nftw(place->path, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(place);
    return 0;
}

static void open_with(struct place *place, const char *last)
{
    if (last)
        (void)snprintf(place->pattern, sizeof(place->pattern), "%s/out/%s", place->path, last);
    place->settings.pattern = place->pattern;
    assert_int_equal(exporter_open(&place->settings, &place->exporter, &place->answer.err),
                     EXPORTER_OK);
}

static enum exporter_rc send_to(struct place *place, const char *service, int64_t start_ns,
                                const char *bytes)
{
    const struct exporter_profile profile = {
        .service = service,
        .type = "cpu",
        .start_ns = start_ns,
        .end_ns = start_ns + 15 * S_NS,
        .bytes = bytes,
        .size = strlen(bytes),
    };

    return send_profile(place->exporter, &profile, start_ns + 15 * S_NS, &place->answer);
}

/* How many files there are, hidden ones too. */
static int count_files(const struct place *place)
{
    char path[256];
    const struct dirent *entry;
    int count = 0;
    DIR *dir;

    (void)snprintf(path, sizeof(path), "%s/out", place->path);
    dir = opendir(path);
    assert_non_null(dir);
    while ((entry = readdir(dir)))
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    (void)closedir(dir);
    return count;
}

static void expect_file(const struct place *place, const char *name, const char *content)
{
    char path[512], text[64] = "";
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/out/%s", place->path, name);
    file = fopen(path, "r");
    if (!file)
        fail_msg("%s", path);
    text[fread(text, 1, sizeof(text) - 1, file)] = 0;
    (void)fclose(file);
    assert_string_equal(text, content);
}

static void touch(const struct place *place, const char *name, int64_t written_ns)
{
    char path[512];
    const struct timespec times[2] = {{written_ns / S_NS, 0}, {written_ns / S_NS, 0}};
    int fd;

    (void)snprintf(path, sizeof(path), "%s/out/%s", place->path, name);
    fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "0123456789", 10), 10);
    assert_int_equal(futimens(fd, times), 0);
    (void)close(fd);
}

static void names_each_file_after_its_profile(void **state)
{
    struct place *place = *state;

    open_with(place, NULL);
    assert_int_equal(exporter_form(place->exporter), EXPORTER_PER_TYPE);
    assert_int_equal(send_to(place, "shop", START_NS, "one"), EXPORTER_OK);

    expect_file(place, "shop-cpu-20261125T094640.123Z.pb.gz", "one");
    assert_int_equal(count_files(place), 1); /* nothing is left aside */
}

/* What is sent, and the name that it is to have. */
struct sent {
    const char *service, *text, *file;
};

static void expect_sent(struct place *place, const struct sent *sent, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        assert_int_equal(send_to(place, sent[i].service, START_NS, sent[i].text), EXPORTER_OK);
    for (i = 0; i < count; i++)
        expect_file(place, sent[i].file, sent[i].text);
}

static void overwrites_nothing(void **state)
{
    static const struct sent sent[] = {
        {"shop", "one", "shop-cpu-20261125T094640.123Z.pb.gz"},
        {"shop", "two", "shop-cpu-20261125T094640.123Z-2.pb.gz"},
        {"shop", "three", "shop-cpu-20261125T094640.123Z-3.pb.gz"},
    };
    struct place *place = *state;

    open_with(place, NULL);
    expect_sent(place, sent, 3);
}

static void escapes_hostile_services(void **state)
{
    static const struct sent sent[] = {
        {"../../etc/passwd", "x", "%2E.%2F..%2Fetc%2Fpasswd.pb.gz"},
        {"", "y", "%00.pb.gz"},
        {"a\nb", "z", "a%0Ab.pb.gz"},
    };
    struct place *place = *state;

    open_with(place, "{service}.pb.gz");
    assert_int_equal(exporter_form(place->exporter), EXPORTER_WHOLE);
    expect_sent(place, sent, 3);
}

static void follows_no_link_at_its_name(void **state)
{
    struct place *place = *state;
    char path[512], other[512];

    open_with(place, "x.pb.gz");
    (void)snprintf(path, sizeof(path), "%s/out/x.pb.gz", place->path);
    (void)snprintf(other, sizeof(other), "%s/other", place->path);
    assert_int_equal(symlink(other, path), 0);
    assert_int_equal(send_to(place, "shop", START_NS, "one"), EXPORTER_OK);

    expect_file(place, "x-2.pb.gz", "one");
    assert_int_not_equal(access(other, F_OK), 0);
}

static void refuses_patterns_that_cannot_work(void **state)
{
    static const char *const patterns[] = {NULL,
                                           "",
                                           "relative/{start}",
                                           "/tmp/",
                                           "/tmp/.hidden",
                                           "/tmp/{host}",
                                           "/tmp/{service}/x",
                                           "/tmp/{start",
                                           "/tmp/start}"};
    struct place *place = *state;

    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        place->settings.pattern = patterns[i];
        assert_int_equal(exporter_open(&place->settings, &place->exporter, &place->answer.err),
                         EXPORTER_BAD_CONFIG);
        assert_non_null(strstr(place->answer.err.text, "pattern: "));
    }
}

static void tells_of_a_directory_that_cannot_be(void **state)
{
    struct place *place = *state;

    place->settings.pattern = "/dev/null/x/{start}.pb.gz";
    assert_int_equal(exporter_open(&place->settings, &place->exporter, &place->answer.err),
                     EXPORTER_RETRY);
    assert_non_null(strstr(place->answer.err.text, "/dev/null/x"));
}

static void makes_the_directory_again_when_it_is_gone(void **state)
{
    struct place *place = *state;
    char path[128];

    open_with(place, "{start}.pb.gz");
    (void)snprintf(path, sizeof(path), "%s/out", place->path);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(send_to(place, "shop", START_NS, "one"), EXPORTER_OK);
    assert_int_equal(count_files(place), 1);
}

static void refuses_a_name_that_is_too_long(void **state)
{
    struct place *place = *state;
    char service[400];

    open_with(place, "{service}{service}.pb.gz");
    memset(service, 'x', sizeof(service) - 1);
    service[sizeof(service) - 1] = '\0';
    assert_int_equal(send_to(place, service, START_NS, "one"), EXPORTER_REFUSED);
    assert_non_null(strstr(place->answer.err.text, "255"));
    assert_int_equal(count_files(place), 0);
}

static void stays_within_its_size_and_takes_the_oldest(void **state)
{
    struct place *place = *state;
    const int64_t now_ns = (int64_t)time(NULL) * S_NS; /* as the files that it writes have */

    place->settings.max_size_bytes = 45;
    open_with(place, "{service}-{start}.pb.gz");
    touch(place, "a-20261125T000000.000Z.pb.gz", now_ns - 300 * S_NS);
    touch(place, "b-20261125T000000.000Z.pb.gz", now_ns - 400 * S_NS);
    touch(place, "c-20261125T000000.000Z-7.pb.gz", now_ns - 500 * S_NS);
    touch(place, "foreign.pb.gz", now_ns - 900 * S_NS);
    touch(place, "d-20261125T000000.000Z.pb.gz.bak", now_ns - 900 * S_NS);
    assert_int_equal(send_to(place, "shop", now_ns, "0123456789abcdefghijklmnop"), EXPORTER_OK);

    expect_file(place, "a-20261125T000000.000Z.pb.gz", "0123456789");
    expect_file(place, "foreign.pb.gz", "0123456789"); /* none of ours: stays */
    expect_file(place, "d-20261125T000000.000Z.pb.gz.bak", "0123456789");
    assert_int_equal(count_files(place), 4);
}

static void removes_what_is_too_old(void **state)
{
    struct place *place = *state;
    const int64_t now_ns = (int64_t)time(NULL) * S_NS; /* as the files that it writes have */

    place->settings.max_age_ns = 100 * (uint64_t)S_NS;
    open_with(place, "{service}-{start}.pb.gz");
    touch(place, "a-20261125T000000.000Z.pb.gz", now_ns);
    touch(place, "b-20261125T000000.000Z.pb.gz", now_ns - 400 * S_NS);
    assert_int_equal(send_to(place, "shop", now_ns, "x"), EXPORTER_OK);
    assert_int_equal(count_files(place), 2);
}

static int64_t since_boot_ns(void)
{
    return 5 * S_NS;
}

static void removes_what_is_dated_ahead_where_there_is_no_room(void **state)
{
    struct place *place = *state;
    const int64_t now_ns = (int64_t)time(NULL) * S_NS;

    place->settings.max_age_ns = 100 * (uint64_t)S_NS;
    place->settings.max_size_bytes = 21;
    place->settings.since_boot_ns = since_boot_ns;
    open_with(place, "{service}-{start}.pb.gz");
    touch(place, "a-20261125T000000.000Z.pb.gz", now_ns - 400 * S_NS);
    touch(place, "b-20261125T000000.000Z.pb.gz", now_ns + 86400 * S_NS);
    /* That the clock is set keeps what looks old. */
    assert_int_equal(send_to(place, "c", now_ns - 86400 * S_NS, "x"), EXPORTER_OK);
    assert_int_equal(send_to(place, "d", now_ns, "0123456789"), EXPORTER_OK);
    assert_int_equal(count_files(place), 3);
    expect_file(place, "a-20261125T000000.000Z.pb.gz", "0123456789");
}

static void ends_at_once_when_canceled(void **state)
{
    struct place *place = *state;

    open_with(place, NULL);
    exporter_cancel(place->exporter);
    assert_int_equal(send_to(place, "shop", START_NS, "one"), EXPORTER_RETRY);
    assert_int_equal(count_files(place), 0);
}

static void sends_the_gil_where_asked(void **state)
{
    struct place *place = *state;

    place->settings.gil = true;
    open_with(place, NULL);
    assert_int_equal(exporter_form(place->exporter), EXPORTER_PER_TYPE_GIL);
}

int main(void)
{
#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        IN_PLACE(names_each_file_after_its_profile),
        IN_PLACE(overwrites_nothing),
        IN_PLACE(escapes_hostile_services),
        IN_PLACE(follows_no_link_at_its_name),
        IN_PLACE(refuses_patterns_that_cannot_work),
        IN_PLACE(tells_of_a_directory_that_cannot_be),
        IN_PLACE(makes_the_directory_again_when_it_is_gone),
        IN_PLACE(refuses_a_name_that_is_too_long),
        IN_PLACE(stays_within_its_size_and_takes_the_oldest),
        IN_PLACE(removes_what_is_too_old),
        IN_PLACE(removes_what_is_dated_ahead_where_there_is_no_room),
        IN_PLACE(ends_at_once_when_canceled),
        IN_PLACE(sends_the_gil_where_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
