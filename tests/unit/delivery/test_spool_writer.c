/* SPDX-License-Identifier: Apache-2.0 */
/* test_spool_writer.c - a delivery with a spool loses nothing, and an older version's is taken up.
 */
#include <dirent.h>
#include <sys/stat.h>

#include "agent/delivery/spool.h"
#include "agent/delivery/spool_v1.h"
#include "tests/unit/batch_of_one.h"
#include "tests/unit/delivery/delivery_fixture.h"
#include "tests/unit/temp_tree.h"

/* Time jumps here: nobody is to take that for a disk that does not answer. */
static const struct export_limits usual = {.in_flight = 4, .patience_ns = 24 * 3600 * SECOND};

static struct fixture *begin(const struct delivery_spool *more)
{
    struct delivery_spool spool = more ? *more : (struct delivery_spool){.path = NULL};

    spool.path = tree_path("spool");
    return delivery_fixture_new(&spool);
}

/* A run whose exporter takes nothing: it leaves a batch of an interval in the spool. */
static void leave_batch(const char *exporter, const char *services)
{
    struct fixture *fix = begin(NULL);
    struct fake *fake = fixture_add(fix, exporter, &usual);
    struct delivery_stats stats;

    fake->rc = EXPORTER_RETRY;
    fixture_start(fix);
    fixture_interval(fix, services);
    FIXTURE_UNTIL(fix, stats.in_spool == strlen(services) && stats.retried > 0, SECOND / 4);
    assert_true(delivery_stop(fix->delivery, fixture_now(fix)));
    assert_true(fixture_free(fix));
}

static size_t count_files(const char *ending)
{
    DIR *dir = opendir(tree_path("spool"));
    const struct dirent *item;
    size_t count = 0;

    while (dir && (item = readdir(dir)))
        count += strlen(item->d_name) > strlen(ending) &&
                         strcmp(item->d_name + strlen(item->d_name) - strlen(ending), ending) == 0
                     ? 1
                     : 0;
    if (dir)
        (void)closedir(dir);
    return count;
}

static void a_batch_is_on_disk_before_it_is_sent_and_gone_when_it_was_taken(void **state)
{
    struct fixture *fix = begin(NULL);
    struct fake *fake = fixture_add(fix, "a", &usual);
    struct delivery_spool_stats spool;
    struct delivery_stats stats;

    (void)state;
    fake->hold = true;
    fixture_start(fix);
    fixture_interval(fix, "abc");
    AWAIT(fake->starts == 1);
    assert_int_equal(count_files(".batch"), 1);
    delivery_spool_stats(fix->delivery, &spool);
    assert_int_equal(spool.written, 3);
    assert_int_equal(spool.entries, 3);
    fake->hold = false;
    FIXTURE_UNTIL(fix, stats.sent == 3, 0);
    AWAIT(count_files(".batch") == 0);
    assert_true(fixture_free(fix));
}

static void what_was_not_delivered_is_sent_by_the_next_run(void **state)
{
    struct fixture *fix = begin(NULL);
    struct fake *fake = fixture_add(fix, "a", &usual);
    struct delivery_spool_stats spool;
    struct delivery_stats stats;

    (void)state;
    fake->rc = EXPORTER_RETRY;
    fixture_start(fix);
    fixture_interval(fix, "abc");
    fixture_interval(fix, "de");
    FIXTURE_UNTIL(fix, stats.in_spool == 5 && stats.retried > 0, SECOND / 4);
    assert_true(delivery_stop(fix->delivery, fixture_now(fix)));
    assert_true(fixture_free(fix));

    fix = begin(NULL);
    fake = fixture_add(fix, "a", &usual);
    fixture_start(fix);
    FIXTURE_UNTIL(fix, stats.sent == 5 && stats.queued == 0, SECOND);
    assert_string_equal(fake->got, "a b c d e ");
    delivery_spool_stats(fix->delivery, &spool);
    assert_int_equal(spool.found, 5);
    AWAIT(count_files(".batch") == 0);
    assert_true(fixture_free(fix));
}

static void what_waited_without_limits_is_sent_where_they_hold_now(void **state)
{
    struct delivery_stats stats;
    struct fixture *fix;
    struct fake *fake;

    (void)state;
    leave_batch("a", "abc");
    fix = begin(NULL);
    fix->limited = true;
    fake = fixture_add(fix, "a", &usual);
    fixture_start(fix);
    FIXTURE_UNTIL(fix, stats.sent == 3 && stats.queued == 0, SECOND);
    assert_string_equal(fake->got, "a b c ");
    assert_true(fixture_free(fix));
}

static enum exporter_rc fail_b(void *ctx, const struct batch *batch, struct exporter_answer *answer)
{
    (void)ctx;
    for (size_t i = 0; i < batch->count; i++)
        if (strcmp(batch->profiles[i].service, "b") == 0) {
            batch_set_add(&answer->failed, i);
            answer->failed_count++;
        }
    return answer->failed_count > 0 ? EXPORTER_RETRY : EXPORTER_OK;
}

static void of_a_batch_that_was_taken_in_part_only_the_rest_is_sent_again(void **state)
{
    struct fixture *fix = begin(NULL);
    struct fake *fake = fixture_add(fix, "a", &usual);
    struct delivery_stats stats;

    (void)state;
    fake->judge = fail_b;
    fixture_start(fix);
    fixture_interval(fix, "abc");
    FIXTURE_UNTIL(fix, stats.sent == 2 && stats.in_spool == 1, SECOND / 8);
    assert_true(delivery_stop(fix->delivery, fixture_now(fix)));
    assert_true(fixture_free(fix));

    fix = begin(NULL);
    fake = fixture_add(fix, "a", &usual);
    fixture_start(fix);
    FIXTURE_UNTIL(fix, stats.sent == 1 && stats.queued == 0, SECOND);
    assert_string_equal(fake->got, "b ");
    assert_true(fixture_free(fix));
}

/* Puts a part of the first batch beside it, as a kill leaves them before the whole is removed. */
static void leave_part(const char *service)
{
    const struct exporter_profile profile = {
        .service = service, .start_ns = 5, .bytes = service, .size = strlen(service)};
    struct batch *batch = batch_of_one(EXPORTER_PER_TYPE, &profile);
    struct spool *spool = NULL;
    struct err err = {""};
    uint64_t size;

    assert_non_null(batch);
    assert_int_equal(spool_open(tree_path("spool"), true, &spool, &err), SPOOL_OK);
    assert_int_equal(spool_write(spool, &(struct spool_name){2, 1, "a"}, batch, &size, &err),
                     SPOOL_OK);
    spool_close(spool);
    batch_unref(batch);
}

static void of_a_batch_and_its_part_only_the_whole_is_sent(void **state)
{
    struct delivery_stats stats;
    struct fixture *fix;
    struct fake *fake;

    (void)state;
    leave_batch("a", "abc");
    leave_part("b");
    assert_int_equal(count_files(".batch"), 2);
    fix = begin(NULL);
    fake = fixture_add(fix, "a", &usual);
    fixture_start(fix);
    FIXTURE_UNTIL(fix, stats.sent == 3 && stats.queued == 0, SECOND);
    AWAIT(count_files(".batch") == 0);
    assert_string_equal(fake->got, "a b c ");
    assert_true(fixture_free(fix));
}

enum { TRIES = 6 };

/* Takes no batch of several, and each profile at the last try. */
static enum exporter_rc take_one_at_last_try(void *ctx, const struct batch *batch,
                                             struct exporter_answer *answer)
{
    unsigned *tries = ctx;

    (void)answer;
    if (batch->count > 1)
        return EXPORTER_REFUSED;
    return ++tries[batch->profiles[0].service[0] - 'a'] < TRIES ? EXPORTER_RETRY : EXPORTER_OK;
}

static void parts_that_the_disk_does_not_take_are_sent_as_such(void **state)
{
    struct fixture *fix = begin(NULL);
    struct fake *fake = fixture_add(fix, "a", &usual);
    struct delivery_spool_stats spool;
    struct delivery_stats stats;
    unsigned tries[2] = {0};

    (void)state;
    fake->judge = take_one_at_last_try;
    fake->ctx = tries;
    fake->hold = true;
    fixture_start(fix);
    fixture_interval(fix, "ab");
    AWAIT(fake->starts == 1);
    assert_int_equal(mkdir(tree_path("spool/0000000000000002+0000000000000001-a.batch"), 0700), 0);
    assert_int_equal(mkdir(tree_path("spool/0000000000000003+0000000000000001-a.batch"), 0700), 0);
    fake->hold = false;
    FIXTURE_UNTIL(fix, stats.sent == 2 && stats.queued == 0, SECOND);
    delivery_spool_stats(fix->delivery, &spool);
    assert_true(spool.failing);
    assert_int_equal(tries[0], TRIES);
    assert_int_equal(tries[1], TRIES);
    assert_int_equal(strlen(fake->got), strlen("a b "));
    assert_true(fixture_free(fix));
}

static bool is_unlocked(void)
{
    struct spool *spool;
    struct err err;

    if (spool_open(tree_path("spool"), true, &spool, &err) != SPOOL_OK)
        return false;
    spool_close(spool);
    return true;
}

/* Of this process, and 2 more. */
static nlink_t count_threads(void)
{
    struct stat st;

    assert_int_equal(stat("/proc/self/task", &st), 0);
    return st.st_nlink;
}

/* `make asan` sees what such a worker leaves behind. */
static void an_answer_may_come_after_the_thread_of_the_spool_has_ended(void **state)
{
    struct fixture *fix = begin(NULL);
    struct fake *fake = fixture_add(fix, "a", &usual);
    const nlink_t threads = count_threads();
    pthread_t clock;

    (void)state;
    fake->hold = fake->deaf = true;
    fixture_start(fix);
    fixture_interval(fix, "ab");
    AWAIT(fake->starts == 1);
    assert_int_equal(pthread_create(&clock, NULL, fixture_pass_time, fix), 0);
    assert_true(delivery_stop(fix->delivery, fixture_now(fix)));
    (void)pthread_join(clock, NULL);
    AWAIT(is_unlocked());
    assert_false(fixture_free(fix));
    fake->rc = EXPORTER_REFUSED; /* its halves are to be written */
    fake->hold = false;
    AWAIT(atomic_load(&fake->closed));
    AWAIT(count_threads() == threads);
    assert_int_equal(count_files(".batch"), 1);
    free(fix);
}

static void what_waits_for_an_exporter_that_is_no_more_is_dropped_and_told(void **state)
{
    struct fixture *fix;

    (void)state;
    leave_batch("old", "ab");
    fix = begin(NULL);
    (void)fixture_add(fix, "new", &usual);
    fixture_start(fix);
    AWAIT(fixture_lines(fix, "2 profiles were dropped: no exporter is configured for them") == 1);
    assert_int_equal(count_files(".batch"), 0);
    assert_true(fixture_free(fix));
}

static void the_oldest_are_dropped_where_there_is_no_room(void **state)
{
    const struct delivery_spool small = {.max_size_bytes = 3 * 4096};
    struct fixture *fix = begin(&small);
    struct fake *fake = fixture_add(fix, "a", &usual);
    struct delivery_spool_stats spool = {.on = false};
    struct delivery_stats stats;

    (void)state;
    fake->hold = true; /* the first is under way, and stays */
    fixture_start(fix);
    for (unsigned i = 0; i < 6; i++) {
        fixture_interval(fix, (char[]){(char)('a' + i), '\0'});
        AWAIT(fake->starts == 1);
        AWAIT((delivery_spool_stats(fix->delivery, &spool), spool.written == i + 1));
    }
    assert_int_equal(spool.dropped_size, 3);
    assert_int_equal(count_files(".batch"), 3);
    fake->hold = false;
    FIXTURE_UNTIL(fix, stats.sent == 3 && stats.queued == 0, SECOND);
    assert_string_equal(fake->got, "a e f ");
    assert_true(fixture_free(fix));
}

static void what_is_too_old_leaves_the_spool(void **state)
{
    const struct delivery_spool spooled = {.max_age_ns = 3600 * SECOND};
    struct fixture *fix = begin(&spooled);
    struct fake *fake = fixture_add(fix, "a", &usual);
    struct delivery_stats stats;

    (void)state;
    fake->rc = EXPORTER_RETRY;
    fixture_start(fix);
    fixture_interval(fix, "ab");
    FIXTURE_UNTIL(fix, stats.in_spool == 2, 0);
    fixture_advance(fix, 3600 * SECOND);
    FIXTURE_UNTIL(fix, stats.dropped_old == 2, SECOND);
    AWAIT(count_files(".batch") == 0);
    assert_true(fixture_free(fix));
}

static void while_the_disk_fails_batches_are_sent_from_memory(void **state)
{
    struct fixture *fix;
    struct fake *fake;
    struct delivery_spool_stats spool;
    struct delivery_stats stats;
    FILE *file = fopen(tree_path("spool"), "w"); /* where a directory is to be */

    (void)state;
    assert_non_null(file);
    (void)fclose(file);
    fix = begin(NULL);
    fake = fixture_add(fix, "a", &usual);
    fixture_start(fix);
    fixture_interval(fix, "abc");
    FIXTURE_UNTIL(fix, stats.sent == 3, SECOND);
    assert_string_equal(fake->got, "a b c ");
    delivery_spool_stats(fix->delivery, &spool);
    assert_true(spool.failing);
    assert_int_equal(spool.in_memory, 3);
    AWAIT(fixture_lines(fix, "profiles wait in memory instead") == 1);
    assert_int_equal(unlink(tree_path("spool")), 0);
    fixture_interval(fix, "d");
    FIXTURE_UNTIL(fix, (delivery_spool_stats(fix->delivery, &spool), !spool.failing), SECOND);
    AWAIT(fixture_lines(fix, "I spool: works again") == 1);
    assert_true(fixture_free(fix));
}

/* Entries of version 1, as that wrote them: two profiles, one of which two exporters owe. */
static void copy_v1(const char *name)
{
    char from[96], to[64];
    unsigned char bytes[4096];
    size_t size;
    FILE *file;

    (void)snprintf(from, sizeof(from), "tests/unit/delivery/spool_v1/%s", name);
    (void)snprintf(to, sizeof(to), "spool/%s", name);
    file = fopen(from, "rb");
    assert_non_null(file);
    size = fread(bytes, 1, sizeof(bytes), file);
    (void)fclose(file);
    file = fopen(tree_path(to), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void what_an_older_version_left_is_sent_once_and_removed(void **state)
{
    struct fake *a, *b;
    struct fixture *fix;
    struct delivery_stats stats;

    (void)state;
    assert_int_equal(mkdir(tree_path("spool"), 0700), 0);
    copy_v1("0000000000000001-0003.profile");
    copy_v1("0000000000000002-0002.profile");
    fix = begin(NULL);
    a = fixture_add(fix, "a", &usual);
    b = fixture_add(fix, "b", &usual);
    atomic_store(&fix->utc_ns, 1800000000 * (int64_t)SECOND);
    fixture_start(fix);
    FIXTURE_UNTIL(fix, stats.sent == 1 && stats.queued == 0, SECOND);
    for (;;) {
        (void)delivery_stats(fix->delivery, 1, &stats);
        if (stats.sent == 2 && stats.queued == 0)
            break;
        fixture_advance(fix, SECOND);
        (void)usleep(1000);
    }
    assert_string_equal(a->got, "api ");
    assert_string_equal(b->got, "api web ");
    assert_int_equal(count_files(".profile"), 0);
    AWAIT(count_files(".batch") == 0);
    assert_true(fixture_free(fix));
}

static void a_damaged_entry_of_an_older_version_is_set_aside(void **state)
{
    struct delivery_spool_stats spool;
    struct fixture *fix;
    FILE *file;

    (void)state;
    assert_int_equal(mkdir(tree_path("spool"), 0700), 0);
    file = fopen(tree_path("spool/0000000000000001-0001.profile"), "w");
    assert_non_null(file);
    (void)fputs("no profile", file);
    (void)fclose(file);
    fix = begin(NULL);
    (void)fixture_add(fix, "a", &usual);
    fixture_start(fix);
    AWAIT((delivery_spool_stats(fix->delivery, &spool), spool.bad == 1));
    assert_int_equal(count_files(".profile"), 0);
    assert_true(fixture_free(fix));
}

int main(void)
{
#define IN_TREE(test) cmocka_unit_test_setup_teardown(test, tree_make, tree_remove)
    const struct CMUnitTest tests[] = {
        IN_TREE(a_batch_is_on_disk_before_it_is_sent_and_gone_when_it_was_taken),
        IN_TREE(what_was_not_delivered_is_sent_by_the_next_run),
        IN_TREE(what_waited_without_limits_is_sent_where_they_hold_now),
        IN_TREE(of_a_batch_that_was_taken_in_part_only_the_rest_is_sent_again),
        IN_TREE(of_a_batch_and_its_part_only_the_whole_is_sent),
        IN_TREE(parts_that_the_disk_does_not_take_are_sent_as_such),
        IN_TREE(an_answer_may_come_after_the_thread_of_the_spool_has_ended),
        IN_TREE(what_waits_for_an_exporter_that_is_no_more_is_dropped_and_told),
        IN_TREE(the_oldest_are_dropped_where_there_is_no_room),
        IN_TREE(what_is_too_old_leaves_the_spool),
        IN_TREE(while_the_disk_fails_batches_are_sent_from_memory),
        IN_TREE(what_an_older_version_left_is_sent_once_and_removed),
        IN_TREE(a_damaged_entry_of_an_older_version_is_set_aside),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
