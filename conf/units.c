/* SPDX-License-Identifier: Apache-2.0 */
/*
 * units.c - the only file that knows what a unit is worth.
 *
 * Numbers are read as thousandths in an integer, not by strtod: that would heed
 * the locale, round 0.1s, and take "inf" and "0x1p3".
 */
#include "conf/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/time_units.h"
#include "conf/text.h"

struct unit {
    const char *name;
    uint64_t worth;
    const char *other; /* a second name that is read, too; NULL: none */
};

/* Largest first: printing takes the first that divides. */
static const struct unit durations[] = {
    {"d", 86400 * NS_PER_S, NULL},
    {"h", 3600 * NS_PER_S, NULL},
    {"m", 60 * NS_PER_S, "min"},
    {"s", NS_PER_S, NULL},
    {"ms", NS_PER_MS, NULL},
    {"us", NS_PER_US, NULL},
    {"ns", 1, NULL},
    {NULL, 0, NULL},
};

static const struct unit sizes[] = {
    {"TiB", (uint64_t)1 << 40, NULL},
    {"TB", 1000000000000, NULL},
    {"GiB", 1 << 30, NULL},
    {"GB", 1000000000, NULL},
    {"MiB", 1 << 20, NULL},
    {"MB", 1000000, NULL},
    {"KiB", 1 << 10, NULL},
    {"kB", 1000, NULL},
    {"B", 1, NULL},
    {NULL, 0, NULL},
};

static const struct unit rates[] = {{"kHz", 1000, NULL}, {"Hz", 1, NULL}, {NULL, 0, NULL}};
static const struct unit shares[] = {{"%", 1, NULL}, {NULL, 0, NULL}};

enum { THOUSAND = 1000, DECIMALS_MAX = 3 };

/* A number and what follows it. */
struct number {
    uint64_t thousandths;
    const char *rest;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Appends one decimal digit to `value`; false if it no longer fits. */
static bool push_digit(uint64_t *value, char digit)
{
    return !__builtin_mul_overflow(*value, (uint64_t)10, value) &&
           !__builtin_add_overflow(*value, (uint64_t)(digit - '0'), value);
}

/* Reads "12" or "12.5"; NULL, or what is wrong with it. */
static const char *read_decimal_number(const char *text, struct number *out)
{
    uint64_t value = 0;
    unsigned decimals = 0;

    if (!is_digit(*text))
        return "is not a number with a unit";
    for (; is_digit(*text); text++)
        if (!push_digit(&value, *text))
            return "is too large";
    if (text[0] == '.' && is_digit(text[1]))
        for (text++; is_digit(*text); text++, decimals++)
            if (decimals == DECIMALS_MAX || !push_digit(&value, *text))
                return "has more than three decimals";
    for (; decimals < DECIMALS_MAX; decimals++)
        if (!push_digit(&value, '0'))
            return "is too large";
    out->thousandths = value;
    out->rest = text;
    return NULL;
}

/* True if the first `size` bytes at `text` are the name. */
static bool is_unit_name(const char *name, const char *text, size_t size, bool any_case)
{
    if (!name || strlen(name) != size)
        return false;
    for (size_t i = 0; i < size; i++)
        if (name[i] != text[i] && (!any_case || conf_lower(name[i]) != conf_lower(text[i])))
            return false;
    return true;
}

/* In any case for rates only: ms and MS, mb and MB may be meant to differ. */
static const struct unit *find_unit(const struct unit *units, const char *text, size_t size)
{
    const bool any_case = units == rates;

    for (; units->name; units++)
        if (is_unit_name(units->name, text, size, any_case) ||
            is_unit_name(units->other, text, size, any_case))
            return units;
    return NULL;
}

/* Says what is wrong with `text` and which units there are, smallest first. */
static enum conf_rc refuse_unit_value(const struct unit *units, const char *text, const char *why,
                                      struct err *err)
{
    char shown[CONF_QUOTE_MAX], names[64];
    size_t count = 0, used = 0;

    while (units[count].name)
        count++;
    names[0] = '\0';
    while (count-- > 0)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", units[count].name,
                                 count ? " " : "");
    err_set(err, "%s %s; units: %s", conf_quote(shown, text), why, names);
    return CONF_BAD;
}

/* Reads a number and its unit at *at, a place in `text`, and moves *at behind them. */
static enum conf_rc read_both(const struct unit *units, const char *text, const char **at,
                              uint64_t *out_thousandths, uint64_t *out_worth, struct err *err)
{
    const struct unit *unit;
    struct number number;
    const char *why = read_decimal_number(*at, &number);
    size_t size;

    if (why)
        return refuse_unit_value(units, text, why, err);
    while (*number.rest == ' ')
        number.rest++;
    if (!*number.rest)
        return refuse_unit_value(units, text, "has no unit", err);
    size = strcspn(number.rest, "0123456789");
    unit = find_unit(units, number.rest, size);
    if (!unit)
        return refuse_unit_value(units, text, "has an unknown unit", err);
    *out_thousandths = number.thousandths;
    *out_worth = unit->worth;
    *at = number.rest + size;
    return CONF_OK;
}

/* Reads the only number and unit of a text. */
static enum conf_rc read_one(const struct unit *units, const char *text, uint64_t *out_thousandths,
                             uint64_t *out_worth, struct err *err)
{
    const char *at = text;

    if (read_both(units, text, &at, out_thousandths, out_worth, err) != CONF_OK)
        return CONF_BAD;
    return *at ? refuse_unit_value(units, text, "has an unknown unit", err) : CONF_OK;
}

/* Reads a value that must be a whole number of the smallest unit: "90s", or "1m30s". */
static enum conf_rc read_whole_units(const struct unit *units, const char *text, uint64_t *out,
                                     struct err *err)
{
    uint64_t thousandths = 0, worth = 0, before, whole, part, sum = 0;
    const char *at = text;

    do {
        before = worth;
        if (read_both(units, text, &at, &thousandths, &worth, err) != CONF_OK)
            return CONF_BAD;
        if (before > 0 && worth >= before)
            return refuse_unit_value(units, text, "does not have its largest unit first", err);
        part = thousandths % THOUSAND * worth; /* at most 999 times a TiB */
        if (part % THOUSAND != 0)
            return refuse_unit_value(units, text, "is finer than the smallest unit", err);
        if (__builtin_mul_overflow(thousandths / THOUSAND, worth, &whole) ||
            __builtin_add_overflow(whole, part / THOUSAND, &whole) ||
            __builtin_add_overflow(sum, whole, &sum))
            return refuse_unit_value(units, text, "is too large", err);
    } while (*at);
    *out = sum;
    return CONF_OK;
}

enum conf_rc conf_duration(const char *text, uint64_t *out_ns, struct err *err)
{
    return read_whole_units(durations, text, out_ns, err);
}

enum conf_rc conf_size(const char *text, uint64_t *out_bytes, struct err *err)
{
    return read_whole_units(sizes, text, out_bytes, err);
}

enum conf_rc conf_rate(const char *text, double *out_hz, struct err *err)
{
    uint64_t thousandths = 0, worth = 0;

    if (read_one(rates, text, &thousandths, &worth, err) != CONF_OK)
        return CONF_BAD;
    *out_hz = (double)thousandths / THOUSAND * (double)worth;
    return CONF_OK;
}

enum conf_rc conf_share(const char *text, double *out, struct err *err)
{
    uint64_t thousandths = 0, worth = 0;

    if (read_one(shares, text, &thousandths, &worth, err) != CONF_OK)
        return CONF_BAD;
    *out = (double)thousandths / (THOUSAND * 100.0);
    return CONF_OK;
}

enum conf_rc conf_count(const char *text, uint64_t *out, struct err *err)
{
    const char *digit = text;
    char shown[CONF_QUOTE_MAX];
    uint64_t value = 0;

    while (is_digit(*digit) && push_digit(&value, *digit))
        digit++;
    if (digit == text || *digit) {
        err_set(err, "%s is not a whole number", conf_quote(shown, text));
        return CONF_BAD;
    }
    *out = value;
    return CONF_OK;
}

static void print_whole(const struct unit *units, uint64_t value, struct buf *out)
{
    while (units->worth > 1 && (value == 0 || value % units->worth != 0))
        units++;
    buf_add_fmt(out, "%" PRIu64 "%s", value / units->worth, units->name);
}

void conf_print_duration(uint64_t ns, struct buf *out)
{
    if (ns == 0)
        buf_add_str(out, "0s");
    else
        print_whole(durations, ns, out);
}

void conf_print_size(uint64_t bytes, struct buf *out)
{
    print_whole(sizes, bytes, out);
}

static void print_thousandths(double value, const char *unit, struct buf *out)
{
    uint64_t thousandths = (uint64_t)(value * THOUSAND + 0.5);
    uint64_t rest = thousandths % THOUSAND;
    int places = DECIMALS_MAX;

    buf_add_fmt(out, "%" PRIu64, thousandths / THOUSAND);
    for (; rest && rest % 10 == 0; rest /= 10)
        places--;
    if (rest)
        buf_add_fmt(out, ".%0*" PRIu64, places, rest);
    buf_add_str(out, unit);
}

void conf_print_rate(double hz, struct buf *out)
{
    print_thousandths(hz, "Hz", out);
}

void conf_print_share(double share, struct buf *out)
{
    print_thousandths(share * 100, "%", out);
}
