/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_spool.c - `pystrobe spool`: looks at the profiles that wait, sends or removes some by hand.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/cli/option_table.h"
#include "agent/commands/commands.h"
#include "agent/delivery/publisher.h"
#include "agent/host/clock.h"
#include "base/json.h"
#include "exporters/spool.h"

static const char help[] =
    "Usage: pystrobe spool [-c FILE | -d DIR] ls [--json]\n"
    "       pystrobe spool [-c FILE | -d DIR] cat [-o FILE] ID\n"
    "       pystrobe spool -c FILE [-d DIR] push EXPORTER [ID ...]\n"
    "       pystrobe spool [-c FILE | -d DIR] rm [-y] (ID ... | --all)\n\n"
    "Works on the directory of profiles that no server has taken yet, beside a\n"
    "running agent. ls lists them, the oldest first; cat writes the profile as it\n"
    "would be sent; push sends them (without ID: all) to an [exporter] of the ini\n"
    "file now, and crosses it out; rm removes them, and asks before it does if there\n"
    "is a terminal.\n\n"
    "  -c, --config FILE  the ini file: its spool and its exporters\n"
    "  -d, --dir DIR      the spool; default: that of FILE, else\n"
    "                     /var/lib/pystrobe/spool\n"
    "      --json         print a JSON object for each profile\n"
    "  -o, --output FILE  write to FILE, not to the standard output\n"
    "  -a, --all          remove all\n"
    "  -y, --yes          do not ask\n"
    "  -h, --help         this text\n\n"
    "Example:\n"
    "  pystrobe spool -d /var/lib/pystrobe/spool ls\n";

enum { LINE_MAX_BYTES = 256 * 1024 };

struct request {
    const char *file, *dir, *output; /* borrowed from argv */
    bool json, all, yes;
    char **words; /* what follows the options */
    int count;
    struct conf *conf;   /* owned; NULL: no file */
    struct spool *spool; /* owned */
};

static int print_spool_error(const struct err *err)
{
    (void)fprintf(stderr, "pystrobe: %s\n", err->text);
    return EXIT_FAILED;
}

static bool parse_id(const char *text, uint64_t *out)
{
    char *end;

    *out = strtoull(text, &end, 16);
    if (*text && *end == '\0' && *out > 0)
        return true;
    (void)fprintf(stderr, "pystrobe: '%s' is no ID; pystrobe spool ls lists them\n", text);
    return false;
}

static void print_json(const struct spool_item *item, const struct spool_head *head, FILE *to)
{
    const struct exporter_profile *profile = &head->profile;
    struct buf line;
    bool first = true;

    buf_init(&line, LINE_MAX_BYTES);
    buf_add_fmt(&line, "{\"id\":\"%" PRIx64 "\",\"service\":", item->name.order);
    json_string(&line, profile->service);
    json_member(&line, ",\"type\":", profile->type);
    buf_add_fmt(&line,
                ",\"start_ns\":%" PRId64 ",\"end_ns\":%" PRId64 ",\"put_ns\":%" PRId64
                ",\"bytes\":%zu,\"owed_by\":[",
                profile->start_ns, profile->end_ns, head->put_ns, profile->size);
    for (size_t i = 0; i < head->ower_count; i++) {
        if ((item->name.owed >> i & 1) == 0)
            continue;
        json_member(&line, first ? "" : ",", head->owers[i]);
        first = false;
    }
    buf_add_str(&line, "]}\n");
    if (!buf_failed(&line))
        (void)fwrite(line.data, 1, line.size, to);
    buf_finish(&line);
}

/* Text of a file for a terminal: no control characters. */
static void print_clean(const char *text, FILE *to)
{
    for (; *text; text++)
        (void)fputc((unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text, to);
}

static void print_row(const struct spool_item *item, const struct spool_head *head, FILE *to)
{
    const struct exporter_profile *profile = &head->profile;
    time_t start = (time_t)(profile->start_ns / (int64_t)NS_PER_S);
    char when[32] = "-";
    struct tm tm;

    if (gmtime_r(&start, &tm))
        (void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
    (void)fprintf(to, "%-8" PRIx64 " %-20s %9zu %-5s ", item->name.order, when, profile->size,
                  profile->type ? profile->type : "-");
    print_clean(profile->service ? profile->service : "-", to);
    for (size_t i = 0; i < head->ower_count; i++) {
        if ((item->name.owed >> i & 1) == 0)
            continue;
        (void)fputc(' ', to);
        print_clean(head->owers[i], to);
    }
    (void)fputc('\n', to);
}

static int run_ls(struct request *request, const struct spool_list *list)
{
    struct spool_held held;
    struct err err = {""};
    enum spool_rc rc;

    if (!request->json)
        (void)printf("%-8s %-20s %9s %-5s %s\n", "ID", "START", "BYTES", "TYPE",
                     "SERVICE, AND WHO OWES IT");
    for (size_t i = 0; i < list->count; i++) {
        rc = spool_look(request->spool, &list->items[i].name, &held, &err);
        if (rc == SPOOL_GONE)
            continue;
        if (rc != SPOOL_OK) {
            (void)fprintf(stderr, "pystrobe: %" PRIx64 ": %s\n", list->items[i].name.order,
                          spool_rc_text(rc));
            continue;
        }
        if (request->json)
            print_json(&list->items[i], &held.head, stdout);
        else
            print_row(&list->items[i], &held.head, stdout);
        spool_let_go(&held);
    }
    return fflush(stdout) == 0 ? EXIT_OK : EXIT_FAILED;
}

static const struct spool_item *find_spool_item(const struct spool_list *list, uint64_t order)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].name.order == order)
            return &list->items[i];
    }
    (void)fprintf(stderr, "pystrobe: there is no profile %" PRIx64 "\n", order);
    return NULL;
}

static int run_cat(struct request *request, const struct spool_list *list)
{
    const struct spool_item *item;
    struct spool_name name;
    struct spool_held held;
    struct err err = {""};
    uint64_t order;
    FILE *to = stdout;
    enum spool_rc rc;
    bool written;

    if (request->count != 1)
        return options_usage("spool");
    if (!parse_id(request->words[0], &order))
        return EXIT_USAGE;
    item = find_spool_item(list, order);
    if (!item)
        return EXIT_FAILED;
    name = item->name;
    rc = spool_take(request->spool, &name, false, &held, &err);
    if (rc != SPOOL_OK) {
        err_set(&err, "%" PRIx64 ": %s", order, spool_rc_text(rc));
        return print_spool_error(&err);
    }
    if (request->output)
        to = fopen(request->output, "wb");
    written = to && fwrite(held.head.profile.bytes, 1, held.head.profile.size, to) ==
                        held.head.profile.size;
    written = to && fflush(to) == 0 && written;
    if (to && to != stdout)
        written = fclose(to) == 0 && written;
    spool_let_go(&held);
    if (!written)
        (void)fprintf(stderr, "pystrobe: cannot write the profile\n");
    return written ? EXIT_OK : EXIT_FAILED;
}

/* What is done to each profile that was named. */
typedef bool action(struct request *request, struct spool_name *name, void *ctx);

static int for_each(struct request *request, const struct spool_list *list, action *act, void *ctx)
{
    int status = EXIT_OK;

    for (size_t i = 0; request->count == 0 && i < list->count; i++) {
        if (!act(request, &list->items[i].name, ctx))
            status = EXIT_FAILED;
    }
    for (int i = 0; i < request->count; i++) {
        const struct spool_item *item;
        struct spool_name name;
        uint64_t order;

        if (!parse_id(request->words[i], &order))
            return EXIT_USAGE;
        item = find_spool_item(list, order);
        name = item ? item->name : (struct spool_name){0};
        if (!item || !act(request, &name, ctx))
            status = EXIT_FAILED;
    }
    return status;
}

static bool remove_one(struct request *request, struct spool_name *name, void *ctx)
{
    uint64_t order = name->order;
    struct spool_held held;
    struct err err = {""};
    enum spool_rc rc = spool_take(request->spool, name, true, &held, &err);
    bool took = rc == SPOOL_OK;

    (void)ctx;
    if (rc == SPOOL_GONE)
        return true;
    if (rc != SPOOL_BUSY)
        rc = spool_set_owed(request->spool, name, 0, &err);
    if (took)
        spool_let_go(&held);
    if (rc == SPOOL_OK || rc == SPOOL_GONE)
        return true;
    (void)fprintf(stderr, "pystrobe: %" PRIx64 ": %s\n", order, spool_rc_text(rc));
    return false;
}

static int run_rm(struct request *request, const struct spool_list *list)
{
    if ((request->count > 0) == request->all) {
        (void)fprintf(stderr, "pystrobe: spool rm needs IDs or --all\n");
        return options_usage("spool");
    }
    if (!request->yes && isatty(STDIN_FILENO)) {
        (void)fprintf(stderr, "Remove %zu profiles that no server has? [y/N] ",
                      request->all ? list->count : (size_t)request->count);
        if (getchar() != 'y')
            return EXIT_FAILED;
    }
    return for_each(request, list, remove_one, NULL);
}

struct push {
    const char *name;
    struct exporter *exporter;
    size_t sent;
};

/* Which bit of a profile is this exporter's; ower_count: none that it owes. */
static unsigned find_bit(const struct spool_head *head, const struct spool_name *name,
                         const struct push *push)
{
    unsigned bit = 0;

    while (bit < head->ower_count &&
           (strcmp(head->owers[bit], push->name) != 0 || (name->owed >> bit & 1) == 0 ||
            head->form != (unsigned)exporter_form(push->exporter)))
        bit++;
    return bit;
}

static bool push_one(struct request *request, struct spool_name *name, void *ctx)
{
    struct push *push = ctx;
    struct exporter_answer answer = {0};
    struct spool_held held;
    enum exporter_rc sent = EXPORTER_OK;
    enum spool_rc rc = spool_take(request->spool, name, true, &held, &answer.err);
    uint64_t order = name->order;
    unsigned bit;

    if (rc == SPOOL_GONE)
        return true;
    if (rc != SPOOL_OK) {
        (void)fprintf(stderr, "pystrobe: %" PRIx64 ": %s\n", order, spool_rc_text(rc));
        return false;
    }
    bit = find_bit(&held.head, name, push);
    if (bit < held.head.ower_count) {
        sent = exporter_send(push->exporter, &held.head.profile, clock_utc_ns(), &answer);
        push->sent += sent == EXPORTER_OK ? 1 : 0;
        if (sent == EXPORTER_OK)
            rc = spool_set_owed(request->spool, name, (uint16_t) ~(1U << bit), &answer.err);
    }
    spool_let_go(&held);
    if (sent == EXPORTER_OK && (rc == SPOOL_OK || rc == SPOOL_GONE))
        return true;
    (void)fprintf(stderr, "pystrobe: %" PRIx64 ": %s\n", order, answer.err.text);
    return false;
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
    if (exporter_global_init(&err) != EXPORTER_OK) {
        (void)fprintf(stderr, "pystrobe: %s\n", err.text);
        return EXIT_FAILED;
    }
    if (publisher_exporter(&request->conf->exporters[i], &push.exporter, &err)) {
        request->words++;
        request->count--;
        status = for_each(request, list, push_one, &push);
        (void)fprintf(stderr, "%zu profiles sent\n", push.sent);
        exporter_close(push.exporter);
    } else {
        status = print_spool_error(&err);
    }
    exporter_global_finish();
    return status;
}

#define FIELD(field) OPTION_FIELD(struct request, field)

static const struct option_row rows[] = {
    {"config", 'c', OPTION_TEXT, FIELD(file)},
    {"dir", 'd', OPTION_TEXT, FIELD(dir)},
    {"output", 'o', OPTION_TEXT, FIELD(output)},
    {"json", 0, OPTION_FLAG, FIELD(json)},
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
        request.dir = "/var/lib/pystrobe/spool";
    status = run_spool_command(&request);
    spool_close(request.spool);
    conf_free(request.conf);
    return status;
}
