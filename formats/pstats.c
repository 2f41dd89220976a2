/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pstats.c - what cProfile writes and pstats reads: a dictionary of functions, marshalled.
 *
 * Source:  Lib/pstats.py and Python/marshal.c. (file, line, name): (cc, nc, tt, ct, callers),
 *          callers the same without callers for each caller. Marshal version 2 has all that is
 *          needed and every Python since 2.5 reads it.
 *
 * cProfile counts calls, which samples cannot tell: cc and nc are the samples in which the
 * function was on the stack; tt is its own time, ct its total, in seconds. Values that are no
 * times are numbers.
 */
#include <string.h>

#include "formats/sums.h"
#include "formats/text.h"
#include "formats/writers.h"

static void add_u32(struct buf *out, uint32_t number)
{
    unsigned char bytes[] = {(unsigned char)number, (unsigned char)(number >> 8),
                             (unsigned char)(number >> 16), (unsigned char)(number >> 24)};

    buf_add(out, bytes, sizeof(bytes));
}

static void add_tuple(struct buf *out, uint32_t count)
{
    buf_add(out, "(", 1);
    add_u32(out, count);
}

static void add_marshal_text(struct buf *out, const char *text)
{
    size_t size = strlen(text);

    if (size > INT32_MAX)
        size = 0; /* no profile holds such a text */
    buf_add(out, "u", 1);
    add_u32(out, (uint32_t)size);
    buf_add(out, text, size);
}

/* Small numbers have 32 bits; others are digits to the base of 2^15, the last one first. */
static void add_number(struct buf *out, int64_t number)
{
    uint64_t left = number < 0 ? -(uint64_t)number : (uint64_t)number;
    unsigned char digits[5][2];
    uint32_t count = 0;

    if (number >= INT32_MIN && number <= INT32_MAX) {
        buf_add(out, "i", 1);
        add_u32(out, (uint32_t)number);
        return;
    }
    for (; left; left >>= 15, count++) {
        digits[count][0] = (unsigned char)(left & 0xff);
        digits[count][1] = (unsigned char)(left >> 8 & 0x7f);
    }
    buf_add(out, "l", 1);
    add_u32(out, number < 0 ? -count : count);
    buf_add(out, digits, (size_t)count * 2);
}

/* IEEE 754, the low byte first. */
static void add_float(struct buf *out, double number)
{
    uint64_t bits;

    memcpy(&bits, &number, sizeof(bits));
    buf_add(out, "g", 1);
    add_u32(out, (uint32_t)bits);
    add_u32(out, (uint32_t)(bits >> 32));
}

static void add_function_key(struct buf *out, const struct pprof_stacks_function *function)
{
    add_tuple(out, 3);
    add_marshal_text(out, function->file[0] ? function->file : "~"); /* cProfile's word for none */
    add_number(out, function->start_line);
    add_marshal_text(out, function->name);
}

/* The four numbers of a function or a call. */
static void add_sum_numbers(struct buf *out, const struct sum *sum, double unit)
{
    add_number(out, sum->seen);
    add_number(out, sum->seen);
    add_float(out, (double)sum->own * unit);
    add_float(out, (double)sum->total * unit);
}

static void add_entry(const struct pprof_stacks *stacks, const struct sums *sums, size_t function,
                      size_t *call, double unit, struct buf *out)
{
    const struct sums_call *at;

    add_function_key(out, &stacks->functions[function]);
    add_tuple(out, 5);
    add_sum_numbers(out, &sums->functions[function], unit);
    buf_add(out, "{", 1);
    while (*call < sums->call_count && sums->calls[*call].callee < function)
        ++*call; /* of a function whose values cancel each other out */
    for (; *call < sums->call_count && sums->calls[*call].callee == function; ++*call) {
        at = &sums->calls[*call];
        add_function_key(out, &stacks->functions[at->caller]);
        add_tuple(out, 4);
        add_sum_numbers(out, &at->sum, unit);
    }
    buf_add(out, "0", 1);
}

enum pprof_rc write_pstats(const struct format_view *view, struct buf *out)
{
    double unit = text_seconds(view->stacks->types[view->type].unit);
    struct sums *sums;
    size_t i, call = 0;
    enum pprof_rc rc = sums_new(view->stacks, view->type, NULL, &sums);

    if (rc != PPROF_OK)
        return rc;
    buf_add(out, "{", 1);
    for (i = 1; i < view->stacks->function_count; i++)
        if (sums->functions[i].own || sums->functions[i].total)
            add_entry(view->stacks, sums, i, &call, unit > 0 ? unit : 1, out);
    buf_add(out, "0", 1);
    sums_free(sums);
    return buf_failed(out) ? PPROF_FULL : PPROF_OK;
}
