/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heatmap.c - one page with the lines of each file, coloured by what they took, and who calls
 * whom from which of them.
 *
 * The page itself is heatmap.html. Its data: files as [name, own, total, source], source null or
 * its pieces as [first line, text];
 * functions as [name, file, line, own, total]; places, which are lines of files, as
 * [file, line, own, total, function...]; calls as [place, function, total].
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"
#include "formats/page.h"
#include "formats/sums.h"
#include "formats/writers.h"

enum {
    SOURCES_MAX = 64 << 20, /* bytes of source that are read for a page */
    SHORT = 300,            /* lines: such a file is shown whole, */
    NEAR = 5                /* of a longer one only what is so near to a line that took something */
};

static const unsigned char page[] = {
#include <formats/heatmap.html.inc>
};

struct heatmap {
    const struct format_view *view;
    const struct pprof_stacks *stacks;
    struct buf *out;
    const char **files; /* owned: each once, by name */
    size_t file_count;
    uint32_t *file_of;    /* owned: of each function */
    uint32_t *lines;      /* owned: the numbers of all lines, by file and line */
    uint32_t *file_lines; /* owned: the file of each line */
    uint32_t *places;     /* owned: the place of each line */
    size_t place_count;
    struct sums *by_place, *by_file; /* owned */
};

static int compare_file_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Finds what different files there are. False: out of memory. */
static bool number_files(struct heatmap *h)
{
    size_t i, count = h->stacks->function_count, kept = 0;
    const char **found;

    h->files = malloc(count * sizeof(*h->files));
    h->file_of = calloc(count, sizeof(*h->file_of));
    if (!h->files || !h->file_of)
        return false;
    for (i = 0; i < count; i++)
        h->files[i] = h->stacks->functions[i].file;
    qsort(h->files, count, sizeof(*h->files), compare_file_names);
    for (i = 0; i < count; i++)
        if (kept == 0 || strcmp(h->files[i], h->files[kept - 1]) != 0)
            h->files[kept++] = h->files[i];
    h->file_count = kept;
    for (i = 0; i < count; i++) {
        found = bsearch(&h->stacks->functions[i].file, h->files, kept, sizeof(*h->files),
                        compare_file_names);
        h->file_of[i] = found ? (uint32_t)(found - h->files) : 0;
    }
    return true;
}

static int compare_lines(const void *a, const void *b, void *ctx)
{
    const struct heatmap *h = ctx;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int32_t line_x = h->stacks->lines[x].line, line_y = h->stacks->lines[y].line;

    if (h->file_lines[x] != h->file_lines[y])
        return h->file_lines[x] < h->file_lines[y] ? -1 : 1;
    if (line_x != line_y)
        return line_x < line_y ? -1 : 1;
    return (x > y) - (x < y);
}

/* Finds what different lines of files there are. False: out of memory. */
static bool number_places(struct heatmap *h)
{
    size_t i, count = h->stacks->line_count;
    uint32_t line, before = 0;

    h->lines = malloc(count * sizeof(*h->lines));
    h->file_lines = malloc(count * sizeof(*h->file_lines));
    h->places = calloc(count, sizeof(*h->places));
    if (!h->lines || !h->file_lines || !h->places)
        return false;
    for (i = 0; i < count; i++) {
        h->lines[i] = (uint32_t)i;
        h->file_lines[i] = h->file_of[h->stacks->lines[i].function];
    }
    qsort_r(h->lines + 1, count - 1, sizeof(*h->lines), compare_lines, h);
    for (i = 1; i < count; i++, before = line) {
        line = h->lines[i];
        if (i > 1 && (h->file_lines[line] != h->file_lines[before] ||
                      h->stacks->lines[line].line != h->stacks->lines[before].line))
            h->place_count++;
        h->places[line] = (uint32_t)h->place_count;
    }
    h->place_count++;
    return true;
}

static void add_numbers(struct buf *out, const struct sum *sum)
{
    buf_add_fmt(out, "%" PRId64 ",%" PRId64, sum->own, sum->total);
}

/* A line of source: its bytes up to its end, and where the next one begins. */
static const char *end_of_line(const char *text, const char **next)
{
    size_t size = strcspn(text, "\r\n");
    const char *end = text + size;

    *next = end + (end[0] == '\r' && end[1] == '\n' ? 2 : end[0] ? 1 : 0);
    return end;
}

static size_t count_source_lines(const char *text)
{
    size_t count = 1;
    const char *next;

    for (; *end_of_line(text, &next); text = next)
        count++;
    return count;
}

/* Where the lines of a file begin among `lines`, which are by file and line. */
static size_t first_of_file(const struct heatmap *h, uint32_t file)
{
    size_t low = 1, high = h->stacks->line_count, middle;

    while (low < high) {
        middle = low + (high - low) / 2;
        if (h->file_lines[h->lines[middle]] < file)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Is line `number` to be seen? `at` moves on among the file's lines, as numbers only grow. */
static bool is_near_sampled_line(const struct heatmap *h, uint32_t file, int64_t number, size_t *at)
{
    const uint32_t *lines = h->lines;

    while (*at < h->stacks->line_count && h->file_lines[lines[*at]] == file &&
           h->stacks->lines[lines[*at]].line + (int64_t)NEAR < number)
        ++*at;
    return *at < h->stacks->line_count && h->file_lines[lines[*at]] == file &&
           h->stacks->lines[lines[*at]].line - (int64_t)NEAR <= number;
}

/* Appends the pieces of a text that are worth to be seen. */
static void add_pieces(struct heatmap *h, uint32_t file, const char *text)
{
    bool whole = count_source_lines(text) <= SHORT, open = false, any = false, last = false;
    size_t at = first_of_file(h, file);
    const char *end, *next;
    struct buf line;
    int64_t number;

    buf_init(&line, SOURCES_MAX);
    buf_add_str(h->out, "[");
    for (number = 1; !last; number++, text = next) {
        end = end_of_line(text, &next);
        last = *end == '\0';
        if (!whole && !is_near_sampled_line(h, file, number, &at)) {
            buf_add_str(h->out, open ? "\"]" : "");
            open = false;
            continue;
        }
        if (open)
            buf_add_str(h->out, "\\n");
        else
            buf_add_fmt(h->out, "%s[%" PRId64 ",\"", any ? "," : "", number);
        buf_reset(&line);
        buf_add(&line, text, (size_t)(end - text));
        json_html_part(h->out, buf_failed(&line) ? "" : buf_text(&line));
        open = any = true;
    }
    buf_add_str(h->out, open ? "\"]]" : "]");
    buf_finish(&line);
}

/* Appends a file's text, or null. */
static void add_source_text(struct heatmap *h, uint32_t file, size_t *used)
{
    struct buf source, good;
    bool found;

    buf_init(&source, SOURCES_MAX);
    buf_init(&good, 3 * SOURCES_MAX);
    found = h->view->source && *used < SOURCES_MAX &&
            h->view->source(h->view->ctx, h->files[file], &source);
    if (found)
        utf8_repair(source.data, source.size, &good);
    if (found && !buf_failed(&source) && !buf_failed(&good)) {
        add_pieces(h, file, buf_text(&good));
        *used += source.size;
    } else {
        buf_add_str(h->out, "null");
    }
    buf_finish(&source);
    buf_finish(&good);
}

static void add_files(struct heatmap *h)
{
    const struct sum *sum;
    size_t i, used = 0;

    buf_add_str(h->out, "\"files\":[");
    for (i = 0; i < h->file_count; i++) {
        sum = &h->by_file->places[i];
        json_html_member(h->out, i ? ",\n[" : "\n[", h->files[i]);
        buf_add_str(h->out, ",");
        add_numbers(h->out, sum);
        buf_add_str(h->out, ",");
        if (sum->total > 0)
            add_source_text(h, (uint32_t)i, &used);
        else
            buf_add_str(h->out, "null");
        buf_add_str(h->out, "]");
    }
}

static void add_heatmap_functions(struct heatmap *h)
{
    const struct pprof_stacks_function *function;

    buf_add_str(h->out, "],\n\"functions\":[[\"\",0,0,0,0]");
    for (size_t i = 1; i < h->stacks->function_count; i++) {
        function = &h->stacks->functions[i];
        json_html_member(h->out, ",\n[", function->name);
        buf_add_fmt(h->out, ",%" PRIu32 ",%" PRId32 ",", h->file_of[i], function->start_line);
        add_numbers(h->out, &h->by_place->functions[i]);
        buf_add_str(h->out, "]");
    }
}

static void add_places(struct heatmap *h)
{
    const struct pprof_stacks_line *line;
    uint32_t place, before = UINT32_MAX, function = 0;
    size_t i;

    buf_add_str(h->out, "],\n\"places\":[");
    for (i = 1; i < h->stacks->line_count; i++, before = place) {
        line = &h->stacks->lines[h->lines[i]];
        place = h->places[h->lines[i]];
        if (place != before) {
            buf_add_fmt(h->out, "%s[%" PRIu32 ",%" PRId32 ",", i > 1 ? "],\n" : "",
                        h->file_lines[h->lines[i]], line->line);
            add_numbers(h->out, &h->by_place->places[place]);
            function = 0;
        }
        if (line->function != function)
            buf_add_fmt(h->out, ",%" PRIu32, line->function);
        function = line->function;
    }
    buf_add_str(h->out, i > 1 ? "]],\n" : "],\n");
}

static void add_heatmap_calls(struct heatmap *h)
{
    const struct sums_call *call;

    buf_add_str(h->out, "\"calls\":[");
    for (size_t i = 0; i < h->by_place->call_count; i++) {
        call = &h->by_place->calls[i];
        buf_add_fmt(h->out, "%s[%" PRIu32 ",%" PRIu32 ",%" PRId64 "]", i ? "," : "", call->caller,
                    call->callee, call->sum.total);
    }
    buf_add_str(h->out, "]");
}

static int64_t sum_heatmap_total(const struct heatmap *h)
{
    int64_t total = 0;

    for (size_t i = 0; i < h->stacks->row_count; i++)
        sums_add(&total, h->stacks->rows[i].values[h->view->type]);
    return total;
}

/* Adds all up. */
static enum pprof_rc sum_lines_and_files(struct heatmap *h)
{
    struct sums_places places, files;
    enum pprof_rc rc;

    if (!number_files(h) || !number_places(h))
        return PPROF_NOMEM;
    places = (struct sums_places){h->places, h->place_count, false};
    files = (struct sums_places){h->file_lines, h->file_count, true};
    rc = sums_new(h->stacks, h->view->type, &places, &h->by_place);
    if (rc == PPROF_OK)
        rc = sums_new(h->stacks, h->view->type, &files, &h->by_file);
    return rc;
}

enum pprof_rc write_heatmap(const struct format_view *view, struct buf *out)
{
    struct buf data;
    struct heatmap h = {.view = view, .stacks = view->stacks, .out = &data};
    struct page_part part = {.mark = "@DATA@"};
    enum pprof_rc rc;

    buf_init(&data, out->max);
    rc = sum_lines_and_files(&h);
    if (rc == PPROF_OK) {
        buf_add_str(&data, "{");
        page_add_head(&data, view);
        buf_add_fmt(&data, "\"total\":%" PRId64 ",", sum_heatmap_total(&h));
        add_files(&h);
        add_heatmap_functions(&h);
        add_places(&h);
        add_heatmap_calls(&h);
        buf_add_str(&data, "}\n");
        part.bytes = data.data;
        part.size = data.size;
        page_add(out, page, sizeof(page), view->title, &part, 1);
        rc = buf_failed(&data) || buf_failed(out) ? PPROF_FULL : PPROF_OK;
    }
    buf_finish(&data);
    sums_free(h.by_place);
    sums_free(h.by_file);
    free(h.files);
    free(h.file_of);
    free(h.lines);
    free(h.file_lines);
    free(h.places);
    return rc;
}
