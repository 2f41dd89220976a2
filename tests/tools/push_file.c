/* SPDX-License-Identifier: Apache-2.0 */
/*
 * push_file.c - sends a file as a profile, once, and prints the outcome and its text.
 *
 * Use: push_file FILE type=pyroscope url=URL [ca_file=... token_file=... tenant=...]
 *      push_file FILE type=store path=DIR
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "exporters/exporter.h"

enum { FILE_MAX = 64 * 1024 * 1024 };

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
        {"type=", &settings->type},
        {"path=", &settings->path},
        {"url=", &settings->url},
        {"user=", &settings->user},
        {"password_file=", &settings->password_file},
        {"token_file=", &settings->token_file},
        {"tenant=", &settings->tenant},
        {"ca_file=", &settings->ca_file},
    };

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (strncmp(argument, keys[i].key, strlen(keys[i].key)) == 0) {
            *keys[i].into = argument + strlen(keys[i].key);
            return true;
        }
    }
    return false;
}

static enum exporter_rc send_file(const struct exporter_settings *settings, const struct buf *file,
                                  struct err *err)
{
    const struct exporter_label label = {"tool", "push_file"};
    struct exporter_profile profile = {
        .service = "demo", .type = "cpu", .labels = &label, .label_count = 1};
    struct exporter_answer answer;
    struct exporter *exporter;
    struct timespec now;
    enum exporter_rc rc = exporter_open(settings, &exporter, err);

    if (rc != EXPORTER_OK)
        return rc;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    profile.end_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    profile.start_ns = profile.end_ns - INT64_C(15000000000);
    profile.bytes = file->data;
    profile.size = file->size;
    rc = exporter_send(exporter, &profile, profile.end_ns, &answer);
    *err = answer.err;
    exporter_close(exporter);
    return rc;
}

int main(int argc, char **argv)
{
    struct exporter_settings settings = {.name = "tool", .timeout_ns = UINT64_C(5000000000)};
    struct err err = {""};
    enum exporter_rc rc;
    struct buf file;

    buf_init(&file, FILE_MAX);
    if (argc < 2 || !read_file(argv[1], &file))
        return fail("cannot read the file");
    for (int i = 2; i < argc; i++) {
        if (!set(&settings, argv[i]))
            return fail(argv[i]);
    }
    if (exporter_global_init() != EXPORTER_OK)
        return fail("libcurl");
    rc = send_file(&settings, &file, &err);
    (void)printf("%s\n%s\n", exporter_rc_label(rc), err.text);
    exporter_global_finish();
    buf_finish(&file);
    return rc == EXPORTER_OK ? 0 : 1;
}
