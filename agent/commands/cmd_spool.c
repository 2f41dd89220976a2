/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_spool.c - `pystrobe spool`: lists the profiles that wait, sends or removes some by hand. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/cli/option_table.h"
#include "agent/cli/output.h"
#include "agent/commands/commands.h"
#include "agent/delivery/publisher.h"
#include "agent/delivery/spool.h"
#include "agent/host/clock.h"
#include "agent/host/escape.h"
#include "base/json.h"
#include "base/text.h"

static const char help[] =
    "Usage: pystrobe spool [-c FILE | --dir DIR] ls [--json]\n"
    "       pystrobe spool [-c FILE | --dir DIR] cat [-o FILE] ID\n"
    "       pystrobe spool -c FILE [--dir DIR] push EXPORTER [ID ...]\n"
    "       pystrobe spool [-c FILE | --dir DIR] rm [-y] (ID ... | --all)\n\n"
    "Works on the spool, the directory of profiles that no server has taken yet, also\n"
    "while an agent runs. It holds batches: ID 1f is a batch, 1f.3 its third\n"
    "profile. ls lists all, the oldest first; cat writes a profile as it would be\n"
    "sent; push sends batches (without ID: all) to their [exporter] of the ini file\n"
    "now; rm removes batches, and asks first if there is a terminal.\n\n"
    "  -c, --config FILE  the ini file: its spool and its exporters\n"
    "      --dir DIR      the spool; default: that of FILE, else\n"
    "                     /var/lib/pystrobe/spool\n"
    "  -j, --json         print a JSON object for each profile\n"
    "  -o, --output FILE  write to FILE, not to the standard output\n"
    "  -a, --all          remove all\n"
    "  -y, --yes          do not ask\n"
    "  -h, --help         this text\n\n"
    "Example:\n"
    "  pystrobe spool --dir /var/lib/pystrobe/spool ls\n";

enum { LINE_MAX_BYTES = 256 * 1024 };

struct request {
    const char *file, *dir, *output; /* borrowed from argv */
    bool json, all, yes;
    char **words; /* what follows the options */
    int count;
    struct conf *conf;   /* owned; NULL: no file */
    struct spool *spool; /* owned */
};

/* Without a text it is lack of memory. */
static int print_spool_error(const struct err *err)
{
    (void)fprintf(stderr, "pystrobe: %s\n", err->text[0] ? err->text : spool_rc_text(SPOOL_NOMEM));
    return EXIT_FAILED;
}

/* Says why nothing came of a batch: with a cause if there is one. Gives false. */
static bool tell_failed(uint64_t number, enum spool_rc rc, const struct err *err)
{
    (void)fprintf(stderr, "pystrobe: %" PRIx64 ": %s\n", number,
                  err->text[0] ? err->text : spool_rc_text(rc));
    return false;
}

/* Which profiles an ID means: a batch, or with ".3" behind it the third of its profiles. */
struct id {
    uint64_t number;
    size_t profile; /* from 1; 0: all */
};

static bool parse_id(const char *text, struct id *out)
{
    char *end;

    out->number = strtoull(text, &end, 16);
    out->profile = 0;
    if (end > text && *end == '.')
        out->profile = strtoul(end + 1, &end, 10);
    if (*text && *end == '\0' && out->number > 0 && out->profile <= BATCH_PROFILES_MAX)
        return true;
    (void)fprintf(stderr, "pystrobe: '%s' is not an ID; pystrobe spool ls lists them\n", text);
    return false;
}

static void format_id(const struct spool_item *item, const struct batch *batch, size_t i,
                      char out[48])
{
    if (batch->count > 1)
        (void)snprintf(out, 48, "%" PRIx64 ".%zu", item->name.number, i + 1);
    else
        (void)snprintf(out, 48, "%" PRIx64, item->name.number);
}

static void print_json(const struct spool_item *item, const struct batch *batch, size_t i, FILE *to)
{
    const struct exporter_profile *profile = &batch->profiles[i];
    char id[48];
    struct buf line;

    format_id(item, batch, i, id);
    buf_init(&line, LINE_MAX_BYTES);
    buf_add_fmt(&line, "{\"id\":\"%s\",\"service\":", id);
    json_string(&line, profile->service);
    json_member(&line, ",\"type\":", profile->type);
    buf_add_fmt(&line,
                ",\"start_ns\":%" PRId64 ",\"end_ns\":%" PRId64 ",\"put_ns\":%" PRId64
                ",\"bytes\":%zu,\"owed_by\":[",
                profile->start_ns, profile->end_ns, batch->made_ns, profile->size);
    json_string(&line, item->name.exporter);
    buf_add_str(&line, "]}\n");
    if (!buf_failed(&line))
        (void)fwrite(line.data, 1, line.size, to);
    buf_finish(&line);
}

static void print_row(const struct spool_item *item, const struct batch *batch, size_t i, FILE *to)
{
    const struct exporter_profile *profile = &batch->profiles[i];
    time_t start = (time_t)(profile->start_ns / (int64_t)NS_PER_S);
    char when[32] = "-", id[48];
    struct buf line;
    struct tm tm;

    buf_init(&line, LINE_MAX_BYTES);
    format_id(item, batch, i, id);
    if (gmtime_r(&start, &tm))
        (void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
    escape_add_str(&line, profile->type ? profile->type : "-");
    (void)fprintf(to, "%-8s %-20s %9zu %-5s ", id, when, profile->size, buf_text(&line));
    buf_reset(&line);
    escape_add_str(&line, profile->service ? profile->service : "-");
    (void)fprintf(to, "%s %s\n", buf_text(&line), item->name.exporter);
    buf_finish(&line);
}

/* False: it could not be read, which was said. */
static bool print_item(const struct request *request, const struct spool_item *item)
{
    struct spool_held held;
    struct err err = {""};
    enum spool_rc rc = spool_take(request->spool, &item->name, false, &held, &err);

    if (rc != SPOOL_OK)
        return rc == SPOOL_GONE || tell_failed(item->name.number, rc, &err);
    for (size_t i = 0; i < held.batch->count; i++) {
        if (request->json)
            print_json(item, held.batch, i, stdout);
        else
            print_row(item, held.batch, i, stdout);
    }
    spool_let_go(&held);
    return true;
}

static int run_ls(struct request *request, const struct spool_list *list)
{
    bool good = true;

    if (!request->json)
        (void)printf("%-8s %-20s %9s %-5s %s\n", "ID", "START", "BYTES", "TYPE",
                     "SERVICE, AND WHO OWES IT");
    for (size_t i = 0; i < list->count; i++)
        good = print_item(request, &list->items[i]) && good;
    return fflush(stdout) == 0 && good ? EXIT_OK : EXIT_FAILED;
}

static const struct spool_item *find_spool_item(const struct spool_list *list, uint64_t number)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].name.number == number)
            return &list->items[i];
    }
    (void)fprintf(stderr,
                  "pystrobe: there is no profile %" PRIx64 "; pystrobe spool ls lists them\n",
                  number);
    return NULL;
}

static bool write_profile(const struct request *request, const struct exporter_profile *profile)
{
    struct err err;
    struct buf bytes;
    bool written;

    buf_init(&bytes, profile->size);
    buf_add(&bytes, profile->bytes, profile->size);
    err_set(&err, "out of memory");
    written = !buf_failed(&bytes) && output_write(request->output, &bytes, OUTPUT_OURS, &err);
    buf_finish(&bytes);
    if (!written)
        (void)fprintf(stderr, "pystrobe: cannot write the profile: %s\n", err.text);
    return written;
}

/* Writes the profile of a batch that an ID means. */
static int cat_profile(const struct request *request, const struct id *id,
                       const struct batch *batch)
{
    size_t i = id->profile > 0 ? id->profile : 1;

    if (i <= batch->count && (id->profile > 0 || batch->count == 1))
        return write_profile(request, &batch->profiles[i - 1]) ? EXIT_OK : EXIT_FAILED;
    (void)fprintf(stderr,
                  "pystrobe: %" PRIx64 " has %zu profiles: name one of %" PRIx64 ".1 to %" PRIx64
                  ".%zu\n",
                  id->number, batch->count, id->number, id->number, batch->count);
    return EXIT_FAILED;
}

static int run_cat(struct request *request, const struct spool_list *list)
{
    const struct spool_item *item;
    struct spool_held held;
    struct err err = {""};
    enum spool_rc rc;
    struct id id;
    int status;

    if (request->count != 1)
        return options_usage("spool");
    if (!parse_id(request->words[0], &id))
        return EXIT_USAGE;
    item = find_spool_item(list, id.number);
    if (!item)
        return EXIT_FAILED;
    rc = spool_take(request->spool, &item->name, false, &held, &err);
    if (rc != SPOOL_OK) {
        (void)tell_failed(id.number, rc, &err);
        return EXIT_FAILED;
    }
    status = cat_profile(request, &id, held.batch);
    spool_let_go(&held);
    return status;
}

/* What is done to each batch that was named. */
typedef bool action(struct request *request, const struct spool_item *item, void *ctx);

static int for_each(struct request *request, const struct spool_list *list, action *act, void *ctx)
{
    int status = EXIT_OK;

    for (size_t i = 0; request->count == 0 && i < list->count; i++) {
        if (!act(request, &list->items[i], ctx))
            status = EXIT_FAILED;
    }
    for (int i = 0; i < request->count; i++) {
        const struct spool_item *item;
        struct id id;

        if (!parse_id(request->words[i], &id))
            return EXIT_USAGE;
        if (id.profile > 0) {
            (void)fprintf(stderr,
                          "pystrobe: %s: a whole batch is sent or removed: name %" PRIx64 "\n",
                          request->words[i], id.number);
            return EXIT_USAGE;
        }
        item = find_spool_item(list, id.number);
        if (!item || !act(request, item, ctx))
            status = EXIT_FAILED;
    }
    return status;
}

/* Removes a file, also one that is no batch; not one that is being sent. */
static bool remove_one(struct request *request, const struct spool_item *item, void *ctx)
{
    struct spool_held held;
    struct err err = {""};
    enum spool_rc rc = spool_take(request->spool, &item->name, true, &held, &err);
    bool took = rc == SPOOL_OK;

    (void)ctx;
    if (rc == SPOOL_GONE)
        return true;
    if (rc != SPOOL_BUSY)
        rc = spool_remove(request->spool, &item->name, &err);
    if (took)
        spool_let_go(&held);
    return rc == SPOOL_OK || tell_failed(item->name.number, rc, &err);
}

static int run_rm(struct request *request, const struct spool_list *list)
{
    if ((request->count > 0) == request->all) {
        (void)fprintf(stderr, "pystrobe: spool rm needs IDs or --all\n");
        return options_usage("spool");
    }
    if (!request->yes && isatty(STDIN_FILENO)) {
        const size_t count = request->all ? list->count : (size_t)request->count;

        (void)fprintf(stderr, "Remove %zu %s of profiles that no server has? [y/N] ", count,
                      text_plural(count, "batch", "batches"));
        if (getchar() != 'y')
            return EXIT_FAILED;
    }
    return for_each(request, list, remove_one, NULL);
}

struct push {
    const char *name;
    struct exporter *exporter;
    size_t sent; /* profiles */
};

/* Sends a batch, and removes its file if all of it was taken. */
static bool push_held(struct request *request, const struct spool_item *item, struct push *push,
                      const struct spool_held *held)
{
    struct exporter_answer answer = {.status = 0};
    size_t count = held->batch->count;

    if (exporter_send(push->exporter, held->batch, clock_utc_ns(), &answer) != EXPORTER_OK) {
        push->sent += answer.failed_count > 0 ? count - answer.failed_count : 0;
        return tell_failed(item->name.number, SPOOL_FAILED, &answer.err);
    }
    push->sent += count;
    return spool_remove(request->spool, &item->name, &answer.err) == SPOOL_OK ||
           tell_failed(item->name.number, SPOOL_FAILED, &answer.err);
}

static bool push_one(struct request *request, const struct spool_item *item, void *ctx)
{
    struct push *push = ctx;
    struct spool_held held;
    struct err err = {""};
    enum spool_rc rc;
    bool good = true;

    if (strcmp(item->name.exporter, push->name) != 0)
        return true;
    rc = spool_take(request->spool, &item->name, true, &held, &err);
    if (rc == SPOOL_GONE)
        return true;
    if (rc != SPOOL_OK)
        return tell_failed(item->name.number, rc, &err);
    if (exporter_form_unlimited(held.batch->form) ==
        exporter_form_unlimited(exporter_form(push->exporter)))
        good = push_held(request, item, push, &held);
    spool_let_go(&held);
    return good;
}

static int run_push(struct request *request, const struct spool_list *list)
{
    struct push push = {0};
    struct err err = {""};
    size_t i = 0;
    int status;

    if (!request->conf || request->count < 1) {
        (void)fprintf(stderr, "pystrobe: spool push needs -c FILE and the NAME of an exporter\n");
        return options_usage("spool");
    }
    push.name = request->words[0];
    while (i < request->conf->exporter_count &&
           strcmp(request->conf->exporters[i].name, push.name) != 0)
        i++;
    if (i == request->conf->exporter_count) {
        (void)fprintf(stderr, "pystrobe: there is no [exporter %s] in %s\n", push.name,
                      request->file);
        return EXIT_CONFIG;
    }
    if (exporter_global_init(&err) != EXPORTER_OK)
        return print_spool_error(&err);
    if (publisher_exporter(&request->conf->exporters[i], &push.exporter, &err) == EXPORTER_OK) {
        request->words++;
        request->count--;
        status = for_each(request, list, push_one, &push);
        (void)fprintf(stderr, "pystrobe: %zu %s sent\n", push.sent,
                      text_plural(push.sent, "profile", "profiles"));
        exporter_close(push.exporter);
    } else {
        err_within(&err, "exporter %s", push.name);
        status = print_spool_error(&err);
    }
    exporter_global_finish();
    return status;
}

#define FIELD(field) OPTION_FIELD(struct request, field)

static const struct option_row rows[] = {
    {"config", 'c', OPTION_TEXT, FIELD(file)},
    {"dir", 0, OPTION_TEXT, FIELD(dir), .old = 'd'},
    {"output", 'o', OPTION_TEXT, FIELD(output)},
    {"json", 'j', OPTION_FLAG, FIELD(json)},
    {"all", 'a', OPTION_FLAG, FIELD(all)},
    {"yes", 'y', OPTION_FLAG, FIELD(yes)},
    {.name = NULL},
};

static int run_spool_command(struct request *request)
{
    static const struct {
        const char *name;
        int (*run)(struct request *request, const struct spool_list *list);
    } commands[] = {{"ls", run_ls}, {"cat", run_cat}, {"push", run_push}, {"rm", run_rm}};
    const char *word = request->count > 0 ? request->words[0] : "";
    struct spool_list list;
    struct err err = {""};
    size_t i = 0;
    int status;

    while (i < sizeof(commands) / sizeof(commands[0]) && strcmp(commands[i].name, word) != 0)
        i++;
    if (i == sizeof(commands) / sizeof(commands[0])) {
        (void)fprintf(stderr, "pystrobe: spool needs one of ls, cat, push, rm\n");
        return options_usage("spool");
    }
    if (spool_open(request->dir, false, &request->spool, &err) != SPOOL_OK ||
        spool_list(request->spool, &list, &err) != SPOOL_OK)
        return print_spool_error(&err);
    request->words++;
    request->count--;
    status = commands[i].run(request, &list);
    spool_list_finish(&list);
    return status;
}

int cmd_spool(int argc, char **argv)
{
    static const struct option_table table = {.rows = rows, .help = help};
    static const char usual_spool[] = "/var/lib/pystrobe/spool";
    struct request request = {0};
    struct conf_source source;
    int status;

    if (!option_table_read(&table, argc, argv, &request, &status))
        return status;
    request.words = argv + optind;
    request.count = argc - optind;
    if (request.file) {
        source = options_source(request.file, NULL);
        status = options_conf(&source, &request.conf);
        if (status != EXIT_OK)
            return status;
        if (!request.dir)
            request.dir = request.conf->agent.spool;
    }
    if (!request.dir)
        request.dir = usual_spool;
    status = run_spool_command(&request);
    if (!request.spool && request.dir == usual_spool && status != EXIT_USAGE && !request.file &&
        access(usual_spool, F_OK) != 0 && errno == ENOENT)
        (void)fprintf(stderr, "pystrobe: name another spool by --dir DIR or -c FILE\n");
    spool_close(request.spool);
    conf_free(request.conf);
    return status;
}
