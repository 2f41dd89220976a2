/* SPDX-License-Identifier: Apache-2.0 */
/*
 * svg.c - the flame graph as a picture: callers above, callees below them, as wide as they took.
 *
 * There is no script in it. Each box has a title, which browsers show as a tooltip. Boxes too
 * narrow to be seen are left out.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/utf8.h"
#include "formats/text.h"
#include "formats/tree.h"
#include "formats/writers.h"

enum { WIDTH = 1200, ROW = 17, HEAD = 44, MARGIN = 10, LETTER = 7 };

#define NARROWEST 0.25 /* of a pixel */

struct picture {
    const struct format_view *view;
    const struct tree *tree;
    struct buf *out;
    double scale;    /* pixels for one of the value */
    double *left;    /* where the next child of each level begins */
    uint32_t levels; /* that are drawn */
};

/* With a difference, what took more is red and what took less is blue. */
static void add_difference(struct buf *out, int64_t value, int64_t base, int64_t total)
{
    double share = total > 0 ? 4 * ((double)value - (double)base) / (double)total : 0;
    int other = (int)(235 - 165 * (share > 1 ? 1 : share < -1 ? 1 : share < 0 ? -share : share));

    if (share >= 0)
        buf_add_fmt(out, "#eb%02x%02x", (unsigned)other, (unsigned)other);
    else
        buf_add_fmt(out, "#%02x%02xeb", (unsigned)other, (unsigned)other);
}

/* A file's colour: its kind gives the hue, its name the shade. */
static void add_colour(struct buf *out, const char *file)
{
    static const unsigned char hues[][3] = {[TEXT_APP] = {240, 148, 72},
                                            [TEXT_LIBRARY] = {110, 170, 214},
                                            [TEXT_RUNTIME] = {176, 176, 176}};
    const unsigned char *hue = hues[text_kind_of(file)];
    uint32_t hash = hash_text_32(file) >> 16 & 15;

    buf_add_fmt(out, "#%02x%02x%02x", hue[0] + (hash >> 1), hue[1] + 2 * hash, hue[2] + hash);
}

static double compute_box_width(const struct picture *p, size_t node)
{
    return (double)tree_total(p->tree, node, p->view->type) * p->scale;
}

/* The text beside a box's name: its value and its share. */
static void add_value_and_share(const struct picture *p, size_t node)
{
    const char *unit = p->view->stacks->types[p->view->type].unit;
    int64_t value = tree_total(p->tree, node, p->view->type);
    int64_t all = tree_total(p->tree, 0, p->view->type);

    text_value(p->out, value, unit, text_markup);
    buf_add_fmt(p->out, ", %.2f%%", all ? 100 * (double)value / (double)all : 0);
    if (p->view->base == FORMAT_NO_BASE)
        return;
    buf_add_str(p->out, ", before: ");
    text_value(p->out, tree_total(p->tree, node, p->view->base), unit, text_markup);
}

/* As much of a name as fits, by letters of one width. */
static void add_fitting_label(const struct picture *p, const char *name, double width)
{
    size_t room = width > 3 * LETTER ? (size_t)((width - 6) / LETTER) : 0, letters = 0, size = 0;
    struct buf cut;

    while (name[size] && letters < room) {
        for (size++; utf8_is_continuation(name[size]);)
            size++;
        letters++;
    }
    buf_init(&cut, p->out->max);
    buf_add(&cut, name, size);
    if (size && !buf_failed(&cut))
        text_markup(p->out, buf_text(&cut));
    buf_finish(&cut);
}

static void add_box(const struct picture *p, size_t node, double x, double width)
{
    const struct tree_node *at = &p->tree->nodes[node];
    const struct pprof_stacks_function *function = &p->view->stacks->functions[at->what];
    uint32_t y = HEAD + at->level * ROW;

    buf_add_str(p->out, "<g><title>");
    text_markup(p->out, node ? function->name : "all");
    if (function->file[0]) {
        buf_add_str(p->out, " (");
        text_markup(p->out, function->file);
        buf_add_fmt(p->out, ":%" PRId32 ")", function->start_line);
    }
    buf_add_str(p->out, "\n");
    add_value_and_share(p, node);
    buf_add_fmt(p->out,
                "</title><rect x=\"%.2f\" y=\"%" PRIu32 "\" width=\"%.2f\" height=\"%d\""
                " fill=\"",
                MARGIN + x, y, width, ROW - 1);
    if (p->view->base == FORMAT_NO_BASE)
        add_colour(p->out, function->file);
    else
        add_difference(p->out, tree_total(p->tree, node, p->view->type),
                       tree_total(p->tree, node, p->view->base),
                       tree_total(p->tree, 0, p->view->type));
    buf_add_str(p->out, "\"/>");
    if (width > 3 * LETTER) {
        buf_add_fmt(p->out, "<text x=\"%.2f\" y=\"%" PRIu32 "\">", MARGIN + x + 3, y + 12);
        add_fitting_label(p, node ? function->name : "all", width);
        buf_add_str(p->out, "</text>");
    }
    buf_add_str(p->out, "</g>\n");
}

/* Draws, or only finds out how high the picture will be: `draws` false. */
static void walk(struct picture *p, bool draws)
{
    size_t node, next;
    uint32_t level;
    double x, width;

    p->left[0] = 0;
    for (node = 0; node < p->tree->count && !p->out->failed; node = next) {
        level = p->tree->nodes[node].level;
        width = compute_box_width(p, node);
        x = p->left[level];
        p->left[level] = x + (width > 0 ? width : 0);
        next = p->tree->nodes[node].end;
        if (!(width >= NARROWEST) && node)
            continue;
        next = node + 1;
        if (next < p->tree->count)
            p->left[level + 1] = x;
        if (draws)
            add_box(p, node, x, width);
        else if (level > p->levels)
            p->levels = level;
    }
}

static void add_svg_head(const struct picture *p)
{
    const struct pprof_type *type = &p->view->stacks->types[p->view->type];
    uint32_t height = HEAD + (p->levels + 1) * ROW + MARGIN;

    buf_add_fmt(p->out,
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%" PRIu32
                "\" viewBox=\"0 0 %d %" PRIu32 "\" role=\"img\">\n<title>",
                WIDTH, height, WIDTH, height);
    text_markup(p->out, p->view->title);
    buf_add_str(p->out, "</title>\n<style>text{font:12px ui-monospace,Menlo,Consolas,monospace;"
                        "fill:#111}rect{stroke:#fff;stroke-width:.4}</style>\n"
                        "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
                        "<text x=\"10\" y=\"20\" style=\"font-size:15px\">");
    text_markup(p->out, p->view->title);
    buf_add_str(p->out, ": ");
    text_markup(p->out, type->type);
    buf_add_str(p->out, "</text>\n<text x=\"10\" y=\"37\">");
    add_value_and_share(p, 0);
    buf_add_str(p->out, "</text>\n");
}

enum pprof_rc write_svg(const struct format_view *view, struct buf *out)
{
    struct picture p = {.view = view, .out = out};
    struct tree *tree;
    enum pprof_rc rc = tree_new(view->stacks, false, &tree);
    int64_t total;

    if (rc != PPROF_OK)
        return rc;
    p.tree = tree;
    total = tree_total(tree, 0, view->type);
    p.scale = total > 0 ? (WIDTH - 2 * MARGIN) / (double)total : 0;
    p.left = calloc((size_t)tree->levels + 2, sizeof(*p.left));
    rc = p.left ? PPROF_OK : PPROF_NOMEM;
    if (p.left) {
        walk(&p, false);
        add_svg_head(&p);
        walk(&p, true);
        buf_add_str(out, "</svg>\n");
        rc = buf_failed(out) ? PPROF_FULL : PPROF_OK;
    }
    free(p.left);
    tree_free(tree);
    return rc;
}
