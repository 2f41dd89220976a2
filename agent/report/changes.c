/* SPDX-License-Identifier: Apache-2.0 */
/* changes.c - the functions of two profiles side by side: see report.h. */
#include <stdlib.h>
#include <string.h>

#include "agent/report/cells.h"
#include "agent/report/report.h"

/* A function before and after. */
struct change {
    struct pprof_top top; /* after */
    int64_t flat, cum;    /* before */
};

/* Both are of one profile, so equal texts are the same text. */
static int compare_functions(const struct pprof_top *a, const struct pprof_top *b)
{
    if (a->name != b->name)
        return (uintptr_t)a->name < (uintptr_t)b->name ? -1 : 1;
    if (a->file != b->file)
        return (uintptr_t)a->file < (uintptr_t)b->file ? -1 : 1;
    return (a->start_line > b->start_line) - (a->start_line < b->start_line);
}

static int compare_same(const void *a, const void *b)
{
    const struct change *x = a, *y = b;

    return compare_functions(&x->top, &y->top);
}

static double size_of(int64_t after, int64_t before)
{
    double change = (double)after - (double)before;

    return change < 0 ? -change : change;
}

static int compare_changes(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    double own_x = size_of(x->top.flat, x->flat), own_y = size_of(y->top.flat, y->flat);
    double all_x = size_of(x->top.cum, x->cum), all_y = size_of(y->top.cum, y->cum);
    int order;

    if (own_x != own_y)
        return own_x > own_y ? -1 : 1;
    if (all_x != all_y)
        return all_x > all_y ? -1 : 1;
    order = strcmp(x->top.name, y->top.name);
    return order ? order : strcmp(x->top.file, y->top.file);
}

/* Puts what is of one function together; gives how many have changed. */
static size_t merge_same_functions(struct change *changes, size_t count)
{
    size_t i, kept = 0;

    qsort(changes, count, sizeof(*changes), compare_same);
    for (i = 0; i < count; i++) {
        if (kept == 0 || compare_same(&changes[kept - 1], &changes[i]) != 0) {
            changes[kept++] = changes[i];
            continue;
        }
        changes[kept - 1].top.flat += changes[i].top.flat; /* one of the two is 0 each */
        changes[kept - 1].top.cum += changes[i].top.cum;
        changes[kept - 1].flat += changes[i].flat;
        changes[kept - 1].cum += changes[i].cum;
    }
    count = kept;
    for (i = kept = 0; i < count; i++)
        if (changes[i].top.flat != changes[i].flat || changes[i].top.cum != changes[i].cum)
            changes[kept++] = changes[i];
    qsort(changes, kept, sizeof(*changes), compare_changes);
    return kept;
}

static void add_changes(const struct pprof *profile, const struct pprof_type *type,
                        const struct change *changes, size_t count, struct buf *out)
{
    report_cell_change(pprof_total(profile, 0), pprof_total(profile, 1), type->unit, out);
    buf_add_str(out, " ");
    report_text(type->type, out);
    buf_add_str(out, " in all:");
    report_cell(pprof_total(profile, 1), type->unit, out);
    buf_add_str(out, " before,");
    report_cell(pprof_total(profile, 0), type->unit, out);
    buf_add_str(out, " after\n\n    change    before     after  in total  function\n");
    for (size_t i = 0; i < count; i++) {
        report_cell_change(changes[i].top.flat, changes[i].flat, type->unit, out);
        report_cell(changes[i].flat, type->unit, out);
        report_cell(changes[i].top.flat, type->unit, out);
        report_cell_change(changes[i].top.cum, changes[i].cum, type->unit, out);
        report_cell_function(&changes[i].top, out);
    }
}

enum pprof_rc report_changes(const struct pprof *profile, const struct pprof_type *type,
                             size_t top_max, struct buf *out)
{
    struct pprof_top *tops[2] = {NULL, NULL};
    size_t counts[2] = {0, 0}, i;
    struct change *changes = NULL;
    enum pprof_rc rc = pprof_top(profile, 0, &tops[0], &counts[0]);

    if (rc == PPROF_OK)
        rc = pprof_top(profile, 1, &tops[1], &counts[1]);
    if (rc == PPROF_OK) {
        changes = calloc(counts[0] + counts[1] + 1, sizeof(*changes));
        rc = changes ? PPROF_OK : PPROF_NOMEM;
    }
    for (i = 0; changes && i < counts[0]; i++)
        changes[i].top = tops[0][i];
    for (i = 0; changes && i < counts[1]; i++) {
        changes[counts[0] + i] = (struct change){tops[1][i], tops[1][i].flat, tops[1][i].cum};
        changes[counts[0] + i].top.flat = changes[counts[0] + i].top.cum = 0;
    }
    if (changes) {
        counts[0] = merge_same_functions(changes, counts[0] + counts[1]);
        add_changes(profile, type, changes, counts[0] < top_max ? counts[0] : top_max, out);
        rc = buf_failed(out) ? PPROF_FULL : PPROF_OK;
    }
    free(changes);
    free(tops[0]);
    free(tops[1]);
    return rc;
}
