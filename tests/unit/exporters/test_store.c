/* SPDX-License-Identifier: Apache-2.0 */
/* test_store.c - the store keeps what it is given within its bounds, and touches nothing else. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exporters/exporter.h"
#include "exporters/store_name.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/exporters/send_profile.h"
#include "tests/unit/unit_test.h"

#define S_NS     INT64_C(1000000000)
#define START_NS (INT64_C(1795197301) * S_NS + 123456789) /* 2026-11-20T17:55:01.123Z */

struct place {
    char path[64];
    struct exporter_settings settings;
};

static int setup(void **state)
{
    struct place *place = calloc(1, sizeof(*place));

    if (!place)
        return -1;
    (void)snprintf(place->path, sizeof(place->path), "/tmp/test_store.XXXXXX");
    assert_non_null(mkdtemp(place->path));
    place->settings = (struct exporter_settings){
        .name = "local",
        .type = &exporter_types[EXPORTER_STORE],
        .path = place->path,
    };
    *state = place;
    return 0;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *walk)
{
    (void)info;
    (void)type;
    (void)walk;
    return remove(path);
}

static int teardown(void **state)
{
    struct place *place = *state;

    (void)nftw(place->path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(place);
    return 0;
}

static struct exporter *open_store(struct place *place)
{
    struct exporter *exporter = NULL;
    struct err err = {""};
    enum exporter_rc rc = exporter_open(&place->settings, &exporter, &err);

    assert_string_equal(err.text, "");
    assert_int_equal(rc, EXPORTER_OK);
    return exporter;
}

static struct exporter_profile profile_of(const char *service, int64_t start_ns, const char *bytes)
{
    return (struct exporter_profile){
        .service = service,
        .start_ns = start_ns,
        .end_ns = start_ns + 15 * S_NS,
        .bytes = bytes,
        .size = strlen(bytes),
    };
}

static enum exporter_rc send(struct exporter *exporter, const char *service, int64_t start_ns,
                             const char *bytes)
{
    struct exporter_profile profile = profile_of(service, start_ns, bytes);

    return send_profile(exporter, &profile, start_ns + 15 * S_NS, NULL);
}

/* Files below `path`, joined by '\n' and sorted; what begins with '.' too. */
static char *list(const char *path)
{
    static char text[65536];
    struct dirent **items;
    int count = scandir(path, &items, NULL, alphasort);

    text[0] = '\0';
    for (int i = 0; i < count; i++) {
        const char *name = items[i]->d_name;

        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
            strncat(text, name, sizeof(text) - strlen(text) - 2);
            strncat(text, "\n", 2);
        }
        free(items[i]);
    }
    if (count >= 0)
        free(items);
    return text;
}

static size_t files_in(const struct place *place, const char *service)
{
    char path[512];
    size_t count = 0;

    (void)snprintf(path, sizeof(path), "%s/%s", place->path, service);
    for (const char *at = list(path); (at = strchr(at, '\n')); at++)
        count++;
    return count;
}

static void put_file(const struct place *place, const char *name, const char *bytes)
{
    char path[512];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/%s", place->path, name);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(bytes, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Lends: until the next call. */
static const char *below(const struct place *place, const char *name)
{
    static char path[512];

    (void)snprintf(path, sizeof(path), "%s/%s", place->path, name);
    return path;
}

static bool exists(const struct place *place, const char *name)
{
    struct stat info;

    return lstat(below(place, name), &info) == 0;
}

static void make_dir(const struct place *place, const char *name)
{
    assert_int_equal(mkdir(below(place, name), 0755), 0);
}

static void keeps_a_profile_under_its_service_and_start(void **state)
{
    struct place *place = *state;
    struct exporter *exporter = open_store(place);
    char path[512], bytes[16] = "", name[STORE_FILE_SIZE];
    struct store_file file;
    struct stat info;
    FILE *stream;

    assert_int_equal(send(exporter, "web", START_NS, "profile"), EXPORTER_OK);

    (void)snprintf(path, sizeof(path), "%s/web", place->path);
    (void)snprintf(name, sizeof(name), "%s", list(path));
    name[strcspn(name, "\n")] = '\0';
    assert_int_equal(strncmp(name, "20261120T175501.123Z-", 21), 0);
    assert_true(store_name_read_file(name, false, &file));
    (void)snprintf(path, sizeof(path), "%s/web/%s", place->path, name);
    stream = fopen(path, "r");
    assert_non_null(stream);
    assert_int_equal(fread(bytes, 1, sizeof(bytes), stream), 7);
    assert_string_equal(bytes, "profile");
    assert_int_equal(fstat(fileno(stream), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    (void)fclose(stream);
    exporter_close(exporter);
}

static void makes_the_directory_for_its_user_alone(void **state)
{
    struct place *place = *state;
    char path[128];
    struct stat info;

    (void)snprintf(path, sizeof(path), "%s/a/b", place->path);
    place->settings.path = path;
    exporter_close(open_store(place));

    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
}

static void leaves_the_mode_of_a_directory_that_is_there(void **state)
{
    struct place *place = *state;
    struct stat info;

    assert_int_equal(chmod(place->path, 0755), 0);
    exporter_close(open_store(place));

    assert_int_equal(stat(place->path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0755);
}

static void refuses_settings_without_a_path(void **state)
{
    struct exporter_settings settings = {.name = "local", .type = &exporter_types[EXPORTER_STORE]};
    struct exporter *exporter = NULL;
    struct err err = {""};

    (void)state;
    assert_int_equal(exporter_open(&settings, &exporter, &err), EXPORTER_BAD_CONFIG);
    assert_string_equal(err.text, "path: is not set");
    assert_null(exporter);
}

static void refuses_a_path_that_is_a_file(void **state)
{
    struct place *place = *state;
    struct exporter *exporter = NULL;
    struct err err = {""};
    char path[128];

    put_file(place, "file", "");
    (void)snprintf(path, sizeof(path), "%s/file", place->path);
    place->settings.path = path;

    assert_int_equal(exporter_open(&place->settings, &exporter, &err), EXPORTER_RETRY);
    assert_non_null(strstr(err.text, "Not a directory"));
}

/* As on a disk that is mounted later. */
static void waits_for_its_directory_if_it_may(void **state)
{
    struct place *place = *state;
    struct exporter *exporter = NULL;
    struct err err = {"before"};
    char path[128];

    put_file(place, "later", "");
    (void)snprintf(path, sizeof(path), "%s/later", place->path);
    place->settings.path = path;
    place->settings.may_wait = true;

    assert_int_equal(exporter_open(&place->settings, &exporter, &err), EXPORTER_OK);
    assert_non_null(strstr(err.text, "Not a directory"));
    assert_int_equal(send(exporter, "web", START_NS, "x"), EXPORTER_RETRY);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(send(exporter, "web", START_NS, "x"), EXPORTER_OK);
    exporter_close(exporter);

    assert_int_equal(exporter_open(&place->settings, &exporter, &err), EXPORTER_OK);
    assert_string_equal(err.text, ""); /* it waits for nothing */
    exporter_close(exporter);
}

/* What is stored after a disk was mounted there goes to that disk. */
static void goes_where_its_path_leads_by_now(void **state)
{
    struct place *place = *state;
    struct exporter *exporter = NULL;
    char path[128], aside[128];

    (void)snprintf(path, sizeof(path), "%s/store", place->path);
    (void)snprintf(aside, sizeof(aside), "%s/aside", place->path);
    place->settings.path = path;
    assert_int_equal(exporter_open(&place->settings, &exporter, NULL), EXPORTER_OK);
    assert_int_equal(send(exporter, "web", START_NS, "x"), EXPORTER_OK);
    assert_int_equal(rename(path, aside), 0);
    make_dir(place, "store");
    assert_int_equal(send(exporter, "web", START_NS + S_NS, "y"), EXPORTER_OK);
    assert_int_equal(files_in(place, "aside/web"), 1);
    assert_int_equal(files_in(place, "store/web"), 1);
    exporter_close(exporter);
}

static void drops_the_oldest_when_it_is_full(void **state)
{
    struct place *place = *state;
    struct exporter *exporter;

    place->settings.max_size_bytes = 30;
    exporter = open_store(place);
    /* Out of order: it is the profile's time that counts. */
    assert_int_equal(send(exporter, "b", START_NS + 1 * S_NS, "0123456789"), EXPORTER_OK);
    assert_int_equal(send(exporter, "a", START_NS, "0123456789"), EXPORTER_OK);
    assert_int_equal(send(exporter, "b", START_NS + 2 * S_NS, "0123456789"), EXPORTER_OK);
    assert_int_equal(send(exporter, "b", START_NS + 3 * S_NS, "0123456789"), EXPORTER_OK);

    assert_int_equal(files_in(place, "b"), 3);
    assert_false(exists(place, "a")); /* and its directory, as it was the last one in it */
    exporter_close(exporter);
}

/* Sends profiles of 100 bytes, a minute apart. */
static void send_many(struct exporter *exporter, const char *service, uint32_t owner, int minute,
                      int count)
{
    char bytes[101];

    memset(bytes, 'x', 100);
    bytes[100] = '\0';
    for (int i = 0; i < count; i++) {
        const int64_t start_ns = START_NS + (minute + i) * 60 * S_NS;
        struct exporter_profile profile = profile_of(service, start_ns, bytes);

        profile.owner = owner;
        assert_int_equal(send_profile(exporter, &profile, start_ns, NULL), EXPORTER_OK);
    }
}

static void nobody_takes_more_than_an_equal_share_from_others(void **state)
{
    struct place *place = *state;
    struct exporter *exporter;

    place->settings.max_size_bytes = 1000;
    exporter = open_store(place);
    send_many(exporter, "old", 0, 0, 1);
    send_many(exporter, "quiet", 7, 1, 4);
    send_many(exporter, "loud", 9, 10, 100);
    assert_int_equal(files_in(place, "old"), 1);
    assert_int_equal(files_in(place, "quiet"), 4);
    assert_int_equal(files_in(place, "loud"), 5);

    exporter_close(exporter); /* the names of the files have the owners */
    exporter = open_store(place);
    send_many(exporter, "also loud", 9, 200, 3); /* another name is no other owner */
    assert_int_equal(files_in(place, "quiet"), 4);
    assert_int_equal(files_in(place, "loud") + files_in(place, "also%20loud"), 5);
    send_many(exporter, "quiet", 7, 300, 20);
    assert_int_equal(files_in(place, "quiet"), 5); /* now it has taken its share, too */
    assert_int_equal(files_in(place, "old"), 1);
    exporter_close(exporter);
}

static void a_thousand_owners_are_within_the_bounds(void **state)
{
    struct place *place = *state;
    struct exporter *exporter;

    place->settings.max_size_bytes = 40000;
    exporter = open_store(place);
    for (uint32_t owner = 1; owner <= 1000; owner++)
        send_many(exporter, "one", owner, (int)owner, 1);
    assert_int_equal(files_in(place, "one"), 400);
    exporter_close(exporter);
}

static void keeps_its_bounds_for_files_of_earlier_runs(void **state)
{
    struct place *place = *state;
    struct exporter *exporter;

    place->settings.max_size_bytes = 25;
    exporter = open_store(place);
    assert_int_equal(send(exporter, "a", START_NS, "0123456789"), EXPORTER_OK);
    assert_int_equal(send(exporter, "b", START_NS + 1 * S_NS, "0123456789"), EXPORTER_OK);
    exporter_close(exporter);
    exporter = open_store(place);
    assert_int_equal(send(exporter, "b", START_NS + 2 * S_NS, "0123456789"), EXPORTER_OK);

    assert_int_equal(files_in(place, "a"), 0);
    assert_int_equal(files_in(place, "b"), 2);
    exporter_close(exporter);
}

static void drops_what_is_too_old(void **state)
{
    struct place *place = *state;
    struct exporter *exporter;

    place->settings.max_age_ns = (uint64_t)(100 * S_NS);
    exporter = open_store(place);
    assert_int_equal(send(exporter, "a", START_NS, "old"), EXPORTER_OK);
    assert_int_equal(send(exporter, "a", START_NS + 50 * S_NS, "young"), EXPORTER_OK);
    assert_int_equal(files_in(place, "a"), 2);
    assert_int_equal(send(exporter, "a", START_NS + 90 * S_NS, "new"), EXPORTER_OK);

    assert_int_equal(files_in(place, "a"), 2);
    exporter_close(exporter);
}

static int64_t since_boot_ns(void)
{
    return 5 * S_NS;
}

/* A clock that is wrong for a moment, forward and back. */
static void drops_nothing_by_age_after_the_clock_was_set(void **state)
{
    const int64_t month_ns = 30 * 86400 * S_NS;
    struct place *place = *state;
    struct exporter *exporter;

    place->settings.max_age_ns = (uint64_t)(86400 * S_NS);
    place->settings.since_boot_ns = since_boot_ns;
    place->settings.max_size_bytes = 20;
    exporter = open_store(place);
    assert_int_equal(send(exporter, "a", START_NS, "12345"), EXPORTER_OK);
    assert_int_equal(send(exporter, "b", START_NS + month_ns, "12345"), EXPORTER_OK);
    assert_int_equal(send(exporter, "a", START_NS + 2 * S_NS, "12345"), EXPORTER_OK);
    assert_int_equal(files_in(place, "a"), 2);
    assert_int_equal(files_in(place, "b"), 1);

    assert_int_equal(send(exporter, "a", START_NS + 3 * S_NS, "1234567"), EXPORTER_OK);
    assert_int_equal(files_in(place, "a"), 3);
    assert_int_equal(files_in(place, "b"), 0); /* there was no room for what is dated ahead */
    exporter_close(exporter);
}

static void refuses_a_profile_larger_than_the_store(void **state)
{
    struct place *place = *state;
    struct exporter *exporter;

    place->settings.max_size_bytes = 12;
    exporter = open_store(place);
    assert_int_equal(send(exporter, "a", START_NS, "0123456789"), EXPORTER_OK);
    assert_int_equal(send(exporter, "a", START_NS, "0123456789abc"), EXPORTER_REFUSED);

    assert_int_equal(files_in(place, "a"), 1); /* nothing was thrown out for it */
    exporter_close(exporter);
}

static void never_removes_foreign_files(void **state)
{
    struct place *place = *state;
    struct exporter *exporter;
    static const char *const foreign[] = {
        "notes.txt",
        "a/notes.txt",
        "a/20261120T175501.123Z-0123456789abcdef.pb",
        "a/20261120T175501.123Z-0123456789ABCDEF.pb.gz",
        "a/20261320T175501.123Z-0123456789abcdef.pb.gz",
        "a/20261120T175501.123Z-0123456789abcde.pb.gz",
        "a/.20261120T175501.123Z.tmp",
        ".hidden/20261120T175501.123Z-0123456789abcdef.pb.gz",
        "%61/20261120T175501.123Z-0123456789abcdef.pb.gz",
    };

    make_dir(place, "a");
    make_dir(place, ".hidden");
    make_dir(place, "%61");
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
        put_file(place, foreign[i], "0123456789");
    put_file(place, "a/20251120T175501.123Z-0123456789abcdef.pb.gz", "0123456789"); /* ours */
    place->settings.max_size_bytes = 10;
    exporter = open_store(place);
    assert_int_equal(send(exporter, "b", START_NS, "0123456789"), EXPORTER_OK);

    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
        assert_true(exists(place, foreign[i]));
    assert_false(exists(place, "a/20251120T175501.123Z-0123456789abcdef.pb.gz"));
    exporter_close(exporter);
}

static void clears_away_what_a_crash_left(void **state)
{
    struct place *place = *state;

    make_dir(place, "a");
    put_file(place, "a/.20261120T175501.123Z-0123456789abcdef.tmp", "half");
    exporter_close(open_store(place));

    assert_false(exists(place, "a/.20261120T175501.123Z-0123456789abcdef.tmp"));
}

static void leaves_what_another_process_is_writing(void **state)
{
    static const char name[] = "a/.20261120T175501.123Z-0123456789abcdef.tmp";
    struct place *place = *state;
    char path[512];
    int fd;

    make_dir(place, "a");
    (void)snprintf(path, sizeof(path), "%s/%s", place->path, name);
    fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    exporter_close(open_store(place));

    assert_true(exists(place, name));
    (void)close(fd);
}

static void follows_no_link_below_the_directory(void **state)
{
    struct place *place = *state;
    struct exporter *exporter;
    char path[128];

    make_dir(place, ".outside");
    (void)snprintf(path, sizeof(path), "%s/web", place->path);
    assert_int_equal(symlink(".outside", path), 0);
    exporter = open_store(place);

    assert_int_equal(send(exporter, "web", START_NS, "profile"), EXPORTER_RETRY);
    assert_int_equal(files_in(place, ".outside"), 0);
    exporter_close(exporter);
}

static void works_on_when_the_directory_was_removed(void **state)
{
    struct place *place = *state;
    struct exporter *exporter = open_store(place);

    assert_int_equal(send(exporter, "a", START_NS, "one"), EXPORTER_OK);
    assert_int_equal(nftw(place->path, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    assert_int_equal(send(exporter, "a", START_NS, "two"), EXPORTER_RETRY);

    assert_int_equal(send(exporter, "a", START_NS, "two"), EXPORTER_OK);
    assert_int_equal(files_in(place, "a"), 1);
    exporter_close(exporter);
}

static void looks_again_when_files_went_missing(void **state)
{
    struct place *place = *state;
    struct exporter *exporter;

    place->settings.max_size_bytes = 30;
    exporter = open_store(place);
    assert_int_equal(send(exporter, "a", START_NS, "0123456789"), EXPORTER_OK);
    assert_int_equal(send(exporter, "b", START_NS + 1 * S_NS, "0123456789"), EXPORTER_OK);
    assert_int_equal(send(exporter, "b", START_NS + 2 * S_NS, "0123456789"), EXPORTER_OK);
    /* Somebody takes the oldest, and puts one that the store cannot know of. */
    assert_int_equal(files_in(place, "a"), 1);
    {
        char path[256];

        (void)snprintf(path, sizeof(path), "%s/a", place->path);
        assert_int_equal(nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    }
    put_file(place, "b/20251120T175501.123Z-0123456789abcdef.pb.gz", "0123456789");
    assert_int_equal(send(exporter, "b", START_NS + 3 * S_NS, "0123456789"), EXPORTER_OK);
    assert_int_equal(files_in(place, "b"), 4); /* over the bound, unknowingly */
    assert_int_equal(send(exporter, "b", START_NS + 4 * S_NS, "0123456789"), EXPORTER_OK);

    assert_int_equal(files_in(place, "b"), 3);
    assert_false(exists(place, "b/20251120T175501.123Z-0123456789abcdef.pb.gz"));
    exporter_close(exporter);
}

static void keeps_nothing_once_canceled(void **state)
{
    struct place *place = *state;
    struct exporter *exporter = open_store(place);

    exporter_cancel(exporter);

    assert_int_equal(send(exporter, "a", START_NS, "one"), EXPORTER_RETRY);
    assert_int_equal(files_in(place, "a"), 0);
    exporter_close(exporter);
}

/* Child: a disk of 64 KiB of its own. Gives 0 when all went as it should, 77: cannot be tried. */
static int try_full_disk(struct place *place)
{
    static char bytes[60 * 1024];
    struct exporter *exporter = NULL;
    struct exporter_answer answer = {0};
    enum exporter_rc first, full, after;
    struct exporter_profile profile = profile_of("a", START_NS, "");

    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        return 77;
    if (mount("none", "/", "none", MS_REC | MS_PRIVATE, "") != 0 ||
        mount("tmpfs", place->path, "tmpfs", 0, "size=64k") != 0)
        return 77;
    profile.bytes = bytes;
    profile.size = sizeof(bytes);
    if (exporter_open(&place->settings, &exporter, NULL) != EXPORTER_OK)
        return 1;
    first = send_profile(exporter, &profile, START_NS, NULL);
    full = send_profile(exporter, &profile, START_NS, &answer);
    if (files_in(place, "a") != 1)
        return 2; /* the half-written one is to be gone */
    (void)mount("none", place->path, "tmpfs", MS_REMOUNT, "size=256k");
    after = send_profile(exporter, &profile, START_NS, NULL);
    exporter_close(exporter);
    if (first != EXPORTER_OK || full != EXPORTER_RETRY || after != EXPORTER_OK)
        return 3;
    return strstr(answer.err.text, "No space left on device") ? 0 : 4;
}

static int try_read_only(struct place *place)
{
    struct exporter *exporter = NULL;
    struct exporter_answer answer = {0};
    struct exporter_profile profile = profile_of("a", START_NS, "bytes");

    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        return 77;
    if (mount("none", "/", "none", MS_REC | MS_PRIVATE, "") != 0 ||
        mount("tmpfs", place->path, "tmpfs", 0, "size=64k") != 0)
        return 77;
    if (exporter_open(&place->settings, &exporter, NULL) != EXPORTER_OK)
        return 1;
    if (mount("none", place->path, "tmpfs", MS_REMOUNT | MS_RDONLY, "") != 0)
        return 77;
    if (send_profile(exporter, &profile, START_NS, &answer) != EXPORTER_RETRY)
        return 2;
    exporter_close(exporter);
    return strstr(answer.err.text, "Read-only file system") ? 0 : 3;
}

/* In a process of its own, so that the mounts are nobody else's. */
static void in_a_child(struct place *place, int (*try)(struct place *))
{
    int status = 0;
    pid_t child = fork();

    if (child == 0)
        _exit(try(place));
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

enum { OWNER = 65533, NOT_ROOT = 77 };

/* As root writes into the store of somebody else, who goes on with it. */
static int try_two_users(struct place *place)
{
    struct exporter *exporter = NULL;

    if (geteuid() != 0)
        return NOT_ROOT;
    place->settings.any_owner = true;
    if (chown(place->path, OWNER, OWNER) != 0 ||
        exporter_open(&place->settings, &exporter, NULL) != EXPORTER_OK ||
        send(exporter, "web", START_NS, "root's") != EXPORTER_OK)
        return 1;
    exporter_close(exporter);
    if (setresgid(OWNER, OWNER, OWNER) != 0 || setresuid(OWNER, OWNER, OWNER) != 0)
        return 2;
    place->settings.max_size_bytes = 6;
    if (exporter_open(&place->settings, &exporter, NULL) != EXPORTER_OK ||
        send(exporter, "web", START_NS + S_NS, "theirs") != EXPORTER_OK)
        return 3;
    exporter_close(exporter);
    return files_in(place, "web") == 1 ? 0 : 4; /* root's is gone, as it was the oldest */
}

/* As a user offers root a directory, or a link to one of root's. */
static void root_is_not_led_to_a_directory_of_another_user(void **state)
{
    struct place *place = *state;
    struct exporter *exporter = NULL;
    struct err err = {""};
    char link[512];

    if (geteuid() != 0)
        skip();
    (void)snprintf(link, sizeof(link), "%s", below(place, "link"));
    make_dir(place, "theirs");
    make_dir(place, "roots");
    assert_int_equal(chown(below(place, "theirs"), OWNER, OWNER), 0);
    place->settings.path = below(place, "theirs");
    assert_int_not_equal(exporter_open(&place->settings, &exporter, &err), EXPORTER_OK);
    assert_non_null(strstr(err.text, "/theirs: belongs to user 65533: chown it"));

    assert_int_equal(symlink("roots", link), 0);
    assert_int_equal(lchown(link, OWNER, OWNER), 0);
    place->settings.path = link;
    place->settings.any_owner = true;
    assert_int_not_equal(exporter_open(&place->settings, &exporter, &err), EXPORTER_OK);
    assert_non_null(strstr(err.text, "link is a symbolic link of user 65533"));
    assert_int_equal(lchown(link, 0, 0), 0);
    assert_int_equal(exporter_open(&place->settings, &exporter, &err), EXPORTER_OK);
    exporter_close(exporter);
}

/* As an older version left it: a folder that only root can enter. */
static int try_locked_folder(struct place *place)
{
    const struct exporter_profile profile = profile_of("web", START_NS, "x");
    struct exporter_answer answer = {.status = 0};
    struct exporter *exporter = NULL;

    if (geteuid() != 0)
        return NOT_ROOT;
    make_dir(place, "roots");
    if (chown(place->path, OWNER, OWNER) != 0 || setresuid(0, OWNER, 0) != 0)
        return 1;
    if (exporter_open(&place->settings, &exporter, NULL) != EXPORTER_OK ||
        send_profile(exporter, &profile, START_NS, &answer) != EXPORTER_OK)
        return 2;
    if (answer.note.text[0])
        return 3; /* others may read it */
    exporter_close(exporter);
    if (setresuid(0, 0, 0) != 0 || chmod(below(place, "roots"), 0700) != 0 ||
        setresuid(0, OWNER, 0) != 0)
        return 4;
    if (exporter_open(&place->settings, &exporter, NULL) != EXPORTER_OK ||
        send_profile(exporter, &profile, START_NS, &answer) != EXPORTER_OK)
        return 5;
    if (!strstr(answer.note.text, "roots: Permission denied") ||
        !strstr(answer.note.text, "1 of its folders or files cannot be read") ||
        !strstr(answer.note.text, "chown -R --reference"))
        return 6;
    if (send_profile(exporter, &profile, START_NS, &answer) != EXPORTER_OK || answer.note.text[0])
        return 7; /* once is enough */
    exporter_close(exporter);
    return 0;
}

/* What others may read and not remove does not stop what is full. */
static int try_folder_to_read_only(struct place *place)
{
    const struct exporter_profile profile = profile_of("web", START_NS + S_NS, "x");
    struct exporter_answer answer = {.status = 0};
    struct exporter *exporter = NULL;

    if (geteuid() != 0)
        return NOT_ROOT;
    if (exporter_open(&place->settings, &exporter, NULL) != EXPORTER_OK ||
        send(exporter, "roots", START_NS, "old") != EXPORTER_OK)
        return 1;
    exporter_close(exporter);
    if (chmod(below(place, "roots"), 0755) != 0 || chown(place->path, OWNER, OWNER) != 0 ||
        setresuid(0, OWNER, 0) != 0)
        return 2;
    place->settings.max_size_bytes = 1;
    if (exporter_open(&place->settings, &exporter, NULL) != EXPORTER_OK ||
        send_profile(exporter, &profile, START_NS, &answer) != EXPORTER_OK)
        return 3;
    exporter_close(exporter);
    return strstr(answer.note.text, "roots: Permission denied") ? 0 : 4;
}

static void tells_of_a_full_disk_and_leaves_no_half_file(void **state)
{
    in_a_child(*state, try_full_disk);
}

static void tells_of_a_read_only_disk(void **state)
{
    in_a_child(*state, try_read_only);
}

static void root_and_the_owner_of_the_directory_share_it(void **state)
{
    in_a_child(*state, try_two_users);
}

static void stores_on_beside_files_that_it_cannot_remove(void **state)
{
    in_a_child(*state, try_folder_to_read_only);
}

static void tells_once_of_folders_that_cannot_be_read(void **state)
{
    in_a_child(*state, try_locked_folder);
}

static void expect_name(const char *service, const char *wanted)
{
    char name[STORE_SERVICE_SIZE], back[STORE_SERVICE_SIZE];

    store_name_service(service, name);
    assert_string_equal(name, wanted);
    assert_true(store_name_is_service(name));
    assert_true(store_name_read_service(name, back));
    assert_string_equal(back, service);
}

static void turns_hostile_services_into_names_and_back(void **state)
{
    (void)state;
    expect_name("web-1_A.b", "web-1_A.b");
    expect_name("", "%00");
    expect_name(".", "%2E");
    expect_name("..", "%2E.");
    expect_name("/", "%2F");
    expect_name("../../etc/passwd", "%2E.%2F..%2Fetc%2Fpasswd");
    expect_name("a\nb\x01\x7f", "a%0Ab%01%7F");
    expect_name("100%", "100%25");
    expect_name("~", "%7E");
    expect_name("\xc3\xa9\xff", "%C3%A9%FF");
}

static void cuts_long_services_but_tells_them_apart(void **state)
{
    char one[301], two[301], name_one[STORE_SERVICE_SIZE], name_two[STORE_SERVICE_SIZE];
    char back[STORE_SERVICE_SIZE];

    (void)state;
    memset(one, '/', 300);
    one[300] = '\0';
    memcpy(two, one, sizeof(two));
    two[299] = 'x';
    store_name_service(one, name_one);
    store_name_service(two, name_two);

    assert_true(strlen(name_one) < 255);
    assert_string_not_equal(name_one, name_two);
    assert_true(store_name_is_service(name_one));
    assert_false(store_name_read_service(name_one, back));
}

static void keeps_a_profile_of_every_service(void **state)
{
    static const char *const services[] = {"", ".", "..", "/", "a/b", "\n", "%", "~"};
    struct place *place = *state;
    struct exporter *exporter = open_store(place);
    char wide[301];

    memset(wide, 1, 300);
    wide[300] = '\0';
    for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++)
        assert_int_equal(send(exporter, services[i], START_NS, "x"), EXPORTER_OK);
    assert_int_equal(send(exporter, wide, START_NS, "x"), EXPORTER_OK);
    exporter_close(exporter);

    place->settings.max_size_bytes = 1; /* all of them are found again */
    exporter = open_store(place);
    assert_int_equal(send(exporter, "last", START_NS + S_NS, "x"), EXPORTER_OK);
    assert_string_equal(list(place->path), "last\n");
    exporter_close(exporter);
}

static void orders_hundreds_of_files_by_age(void **state)
{
    struct place *place = *state;
    struct exporter *exporter;

    place->settings.max_size_bytes = 100;
    exporter = open_store(place);
    for (int64_t i = 0; i < 600; i++) /* more than a scan's worth, in a mixed order */
        assert_int_equal(send(exporter, "a", START_NS + i * 7 % 600 * S_NS, "x"), EXPORTER_OK);

    assert_int_equal(files_in(place, "a"), 100);
    exporter_close(exporter);
}

static void writes_times_past_all_clocks(void **state)
{
    static const int64_t times[] = {INT64_MIN, -1, 0, INT64_MAX};
    char name[STORE_FILE_SIZE];

    (void)state;
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        struct store_file file = {.start_ms = times[i], .id = 1}, back;

        store_name_file(&file, false, name);
        assert_true(store_name_read_file(name, false, &back));
        assert_int_equal(back.id, 1);
    }
    assert_string_equal(name, "99991231T235959.999Z-0000000000000001.pb.gz");
}

static void survives_each_allocation_that_fails(void **state)
{
    struct place *place = *state;
    unsigned long n = 0, seen;

    exporter_close(open_store(place));
    do {
        struct exporter *exporter = NULL;
        enum exporter_rc opened, sent = EXPORTER_NOMEM;
        struct err err = {""};

        alloc_fail_at(++n);
        opened = exporter_open(&place->settings, &exporter, &err);
        if (opened == EXPORTER_OK)
            sent = send(exporter, "a", START_NS, "x");
        seen = alloc_fail_stop();
        if (opened == EXPORTER_OK && sent != EXPORTER_OK)
            assert_int_equal(send(exporter, "a", START_NS, "x"), EXPORTER_OK);
        assert_true((opened == EXPORTER_OK) == (exporter != NULL));
        assert_true((opened == EXPORTER_OK) == (err.text[0] == '\0'));
        exporter_close(exporter);
    } while (seen >= n); /* until none fails */
    assert_true(n > 5);
}

int main(void)
{
#define IN_A_PLACE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        IN_A_PLACE(keeps_a_profile_under_its_service_and_start),
        IN_A_PLACE(makes_the_directory_for_its_user_alone),
        IN_A_PLACE(leaves_the_mode_of_a_directory_that_is_there),
        cmocka_unit_test(refuses_settings_without_a_path),
        IN_A_PLACE(refuses_a_path_that_is_a_file),
        IN_A_PLACE(waits_for_its_directory_if_it_may),
        IN_A_PLACE(goes_where_its_path_leads_by_now),
        IN_A_PLACE(drops_the_oldest_when_it_is_full),
        IN_A_PLACE(nobody_takes_more_than_an_equal_share_from_others),
        IN_A_PLACE(a_thousand_owners_are_within_the_bounds),
        IN_A_PLACE(keeps_its_bounds_for_files_of_earlier_runs),
        IN_A_PLACE(drops_what_is_too_old),
        IN_A_PLACE(drops_nothing_by_age_after_the_clock_was_set),
        IN_A_PLACE(refuses_a_profile_larger_than_the_store),
        IN_A_PLACE(never_removes_foreign_files),
        IN_A_PLACE(clears_away_what_a_crash_left),
        IN_A_PLACE(leaves_what_another_process_is_writing),
        IN_A_PLACE(follows_no_link_below_the_directory),
        IN_A_PLACE(works_on_when_the_directory_was_removed),
        IN_A_PLACE(looks_again_when_files_went_missing),
        IN_A_PLACE(keeps_nothing_once_canceled),
        IN_A_PLACE(tells_of_a_full_disk_and_leaves_no_half_file),
        IN_A_PLACE(tells_of_a_read_only_disk),
        IN_A_PLACE(root_and_the_owner_of_the_directory_share_it),
        IN_A_PLACE(root_is_not_led_to_a_directory_of_another_user),
        IN_A_PLACE(stores_on_beside_files_that_it_cannot_remove),
        IN_A_PLACE(tells_once_of_folders_that_cannot_be_read),
        cmocka_unit_test(turns_hostile_services_into_names_and_back),
        cmocka_unit_test(cuts_long_services_but_tells_them_apart),
        IN_A_PLACE(keeps_a_profile_of_every_service),
        IN_A_PLACE(orders_hundreds_of_files_by_age),
        cmocka_unit_test(writes_times_past_all_clocks),
        IN_A_PLACE(survives_each_allocation_that_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
