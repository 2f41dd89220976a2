/* SPDX-License-Identifier: Apache-2.0 */
/*
 * push_file.c - sends a file as a profile, and prints the outcome and its text.
 *
 * Use: push_file FILE type=pyroscope url=URL [ca_file=... token_file=... tenant=...]
 *      push_file FILE type=store path=DIR
 *
 * With times=N it sends it N times, one after the other whatever comes, and prints a line
 * a try: outcome, 1 if denied, the pause asked for in ms, how long it took in ms, the text.
 * timeout_ms=N: of a try.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/time_units.h"
#include "exporters/exporter.h"
#include "tests/unit/exporters/send_profile.h"

enum { FILE_MAX = 64 * 1024 * 1024 };

static const char *const outcomes[] = {[EXPORTER_OK] = "ok",
                                       [EXPORTER_RETRY] = "retry",
                                       [EXPORTER_REFUSED] = "refused",
                                       [EXPORTER_BAD_CONFIG] = "bad_config",
                                       [EXPORTER_NOMEM] = "nomem"};

static int fail(const char *what)
{
    (void)fprintf(stderr, "push_file: %s\n", what);
    return 2;
}

static bool read_file(const char *path, struct buf *out)
{
    unsigned char chunk[4096];
    FILE *file = fopen(path, "re");
    size_t got;

    if (!file)
        return false;
    while ((got = fread(chunk, 1, sizeof(chunk), file)) > 0)
        buf_add(out, chunk, got);
    (void)fclose(file);
    return !buf_failed(out);
}

/* Takes one KEY=VALUE. False: there is no such key. */
static bool set(struct exporter_settings *settings, const char *argument)
{
    const struct {
        const char *key;
        const char **into;
    } keys[] = {
        {"path=", &settings->path},
        {"url=", &settings->url},
        {"user=", &settings->user},
        {"password_file=", &settings->password.file},
        {"token_file=", &settings->token.file},
        {"tenant=", &settings->tenant},
        {"ca_file=", &settings->ca_file},
        {"cert_file=", &settings->cert_file},
        {"key_file=", &settings->key_file},
        {"proxy=", &settings->proxy},
        {"proxy_login_file=", &settings->proxy_login.file},
        {"legacy=", &settings->legacy},
        {"protocol=", &settings->protocol},
        {"compression=", &settings->compression},
    };

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (strncmp(argument, keys[i].key, strlen(keys[i].key)) == 0) {
            *keys[i].into = argument + strlen(keys[i].key);
            return true;
        }
    }
    return false;
}

/* Takes type=NAME. False: it is another key, or there is no such type. */
static bool set_type(struct exporter_settings *settings, const char *argument)
{
    for (size_t i = 0; strncmp(argument, "type=", 5) == 0 && i < EXPORTER_TYPES; i++) {
        if (strcmp(argument + 5, exporter_types[i].name) == 0) {
            settings->type = &exporter_types[i];
            return true;
        }
    }
    return false;
}

/* The two options of the tool itself. False: it is none of them. */
static bool set_own(struct exporter_settings *settings, unsigned long *times, const char *argument)
{
    if (strncmp(argument, "times=", 6) == 0)
        *times = strtoul(argument + 6, NULL, 10);
    else if (strncmp(argument, "timeout_ms=", 11) == 0)
        settings->timeout_ns = strtoull(argument + 11, NULL, 10) * 1000000;
    else
        return false;
    return true;
}

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;

    (void)clock_gettime(clock, &now);
    return (int64_t)timespec_to_ns(now);
}

static enum exporter_rc send_file(struct exporter *exporter, const struct buf *file,
                                  struct exporter_answer *answer)
{
    const struct label label = {"tool", "push_file"};
    struct exporter_profile profile = {
        .service = "demo", .type = "cpu", .labels = &label, .label_count = 1};

    profile.end_ns = clock_ns(CLOCK_REALTIME);
    profile.start_ns = profile.end_ns - INT64_C(15000000000);
    profile.bytes = file->data;
    profile.size = file->size;
    return send_profile(exporter, &profile, profile.end_ns, answer);
}

static enum exporter_rc send_often(struct exporter *exporter, const struct buf *file,
                                   unsigned long times)
{
    enum exporter_rc rc = EXPORTER_OK;

    for (unsigned long i = 0; i < times; i++) {
        struct exporter_answer answer;
        int64_t started_ns = clock_ns(CLOCK_MONOTONIC);

        rc = send_file(exporter, file, &answer);
        (void)printf("%s %d %llu %lld %s\n", outcomes[rc], answer.denied,
                     (unsigned long long)answer.retry_after_ns / 1000000,
                     (long long)(clock_ns(CLOCK_MONOTONIC) - started_ns) / 1000000,
                     answer.err.text);
        (void)fflush(stdout);
    }
    return rc;
}

static enum exporter_rc run(const struct exporter_settings *settings, const struct buf *file,
                            unsigned long times)
{
    struct exporter_answer answer = {.err = {""}};
    struct exporter *exporter;
    enum exporter_rc rc = exporter_open(settings, &exporter, &answer.err);

    if (rc == EXPORTER_OK) {
        rc = times > 0 ? send_often(exporter, file, times) : send_file(exporter, file, &answer);
        exporter_close(exporter);
    }
    if (times == 0)
        (void)printf("%s\n%s\n", outcomes[rc], answer.err.text);
    return rc;
}

int main(int argc, char **argv)
{
    struct exporter_settings settings = {.name = "tool", .timeout_ns = UINT64_C(5000000000)};
    unsigned long times = 0; /* 0: once, and said in two lines */
    enum exporter_rc rc;
    struct buf file;

    buf_init(&file, FILE_MAX);
    if (argc < 2 || !read_file(argv[1], &file))
        return fail("cannot read the file");
    for (int i = 2; i < argc; i++) {
        if (!set(&settings, argv[i]) && !set_type(&settings, argv[i]) &&
            !set_own(&settings, &times, argv[i]))
            return fail(argv[i]);
    }
    if (!settings.type)
        return fail("type= is missing");
    if (exporter_global_init(NULL) != EXPORTER_OK)
        return fail("libcurl");
    rc = run(&settings, &file, times);
    exporter_global_finish();
    buf_finish(&file);
    return rc == EXPORTER_OK ? 0 : 1;
}
