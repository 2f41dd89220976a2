/* SPDX-License-Identifier: Apache-2.0 */
/* test_units.c - numbers with units, read and printed. */
#include "conf/units.h"
#include "tests/unit/conf/help.h"
#include "tests/unit/unit_test.h"

#define NS ((uint64_t)1)
#define US (1000 * NS)
#define MS (1000 * US)
#define S  (1000 * MS)

struct whole_row {
    const char *text;
    uint64_t value;
    const char *printed;
};

static const struct whole_row durations[] = {
    {"0s", 0, "0s"},
    {"1ns", NS, "1ns"},
    {"999ns", 999, "999ns"},
    {"1us", US, "1us"},
    {"0.001us", NS, "1ns"},
    {"250ms", 250 * MS, "250ms"},
    {"1s", S, "1s"},
    {"1.5s", 1500 * MS, "1500ms"},
    {"1.500s", 1500 * MS, "1500ms"},
    {"15 s", S * 15, "15s"},
    {"60s", S * 60, "1m"},
    {"90s", S * 90, "90s"},
    {"1.5m", S * 90, "90s"},
    {"1m30s", S * 90, "90s"},
    {"1min", S * 60, "1m"},
    {"1h2min3s4ms5us6ns", S * 3723 + 4005006, "3723004005006ns"},
    {"1.5h1m", S * 5460, "91m"},
    {"5m", S * 300, "5m"},
    {"24h", S * 86400, "1d"},
    {"7d", S * 7 * 86400, "7d"},
    {"3650d", S * 3650 * 86400, "3650d"},
    {"007s", S * 7, "7s"},
    {"18446744073709551ns", 18446744073709551, "18446744073709551ns"},
    {"213503d", S * 213503 * 86400, "213503d"},
};

static const struct whole_row sizes[] = {
    {"0B", 0, "0B"},
    {"1B", 1, "1B"},
    {"1023B", 1023, "1023B"},
    {"1KiB", 1024, "1KiB"},
    {"1kB", 1000, "1kB"},
    {"1.5KiB", 1536, "1536B"},
    {"256MiB", 256 << 20, "256MiB"},
    {"1MB", 1000000, "1MB"},
    {"1GiB", 1 << 30, "1GiB"},
    {"0.5GiB", 1 << 29, "512MiB"},
    {"1GB", 1000000000, "1GB"},
    {"1TiB", (uint64_t)1 << 40, "1TiB"},
    {"2TB", 2000000000000, "2TB"},
};

static const struct {
    const char *text;
    double value;
    const char *printed;
} rates[] = {
    {"19Hz", 19, "19Hz"},          {"0.1Hz", 0.1, "0.1Hz"},
    {"1000Hz", 1000, "1000Hz"},    {"0.001Hz", 0.001, "0.001Hz"},
    {"99.99Hz", 99.99, "99.99Hz"}, {"1.050Hz", 1.05, "1.05Hz"},
    {"10 Hz", 10, "10Hz"},         {"0Hz", 0, "0Hz"},
    {"1khz", 1000, "1000Hz"},      {"0.5 KHZ", 500, "500Hz"},
    {"19hz", 19, "19Hz"},
};

/* Text that is no duration, and the message. */
static const struct {
    const char *text, *error;
} bad[] = {
    {"", "\"\" is not a number with a unit; units: ns us ms s m h d"},
    {"s", "\"s\" is not a number with a unit; units: ns us ms s m h d"},
    {"10", "\"10\" has no unit; units: ns us ms s m h d"},
    {"10 ", "\"10 \" has no unit; units: ns us ms s m h d"},
    {"10S", "\"10S\" has an unknown unit; units: ns us ms s m h d"},
    {"10s ", "\"10s \" has an unknown unit; units: ns us ms s m h d"},
    {"1m30", "\"1m30\" has no unit; units: ns us ms s m h d"},
    {"1m 30s", "\"1m 30s\" has an unknown unit; units: ns us ms s m h d"},
    {"30s1m", "\"30s1m\" does not have its largest unit first; units: ns us ms s m h d"},
    {"1m1min", "\"1m1min\" does not have its largest unit first; units: ns us ms s m h d"},
    {"213503d24h", "\"213503d24h\" is too large; units: ns us ms s m h d"},
    {"1.s", "\"1.s\" has an unknown unit; units: ns us ms s m h d"},
    {"1,5s", "\"1,5s\" has an unknown unit; units: ns us ms s m h d"},
    {"1e3s", "\"1e3s\" has an unknown unit; units: ns us ms s m h d"},
    {".5s", "\".5s\" is not a number with a unit; units: ns us ms s m h d"},
    {" 5s", "\" 5s\" is not a number with a unit; units: ns us ms s m h d"},
    {"+5s", "\"+5s\" is not a number with a unit; units: ns us ms s m h d"},
    {"inf s", "\"inf s\" is not a number with a unit; units: ns us ms s m h d"},
    {"1.2345s", "\"1.2345s\" has more than three decimals; units: ns us ms s m h d"},
    {"1.5ns", "\"1.5ns\" is finer than the smallest unit; units: ns us ms s m h d"},
    {"213504d", "\"213504d\" is too large; units: ns us ms s m h d"},
    {"18446744073709552s", "\"18446744073709552s\" is too large; units: ns us ms s m h d"},
    {"99999999999999999999s", "\"99999999999999999999s\" is too large; units: ns us ms s m h d"},
    {"5\ns", "\"5\\x0as\" has an unknown unit; units: ns us ms s m h d"},
};

static void reads_and_prints_durations(void **state)
{
    struct buf out;
    size_t i;

    (void)state;
    buf_init(&out, 100);
    for (i = 0; i < sizeof(durations) / sizeof(durations[0]); i++) {
        uint64_t value = 0;

        buf_reset(&out);
        assert_int_equal(conf_duration(durations[i].text, &value, NULL), CONF_OK);
        conf_print_duration(value, &out);

        assert_int_equal(value, durations[i].value);
        assert_string_equal(conf_text_of(&out), durations[i].printed);
    }
    buf_finish(&out);
}

static void reads_and_prints_sizes(void **state)
{
    struct buf out;
    size_t i;

    (void)state;
    buf_init(&out, 100);
    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        uint64_t value = 1;

        buf_reset(&out);
        assert_int_equal(conf_size(sizes[i].text, &value, NULL), CONF_OK);
        conf_print_size(value, &out);

        assert_int_equal(value, sizes[i].value);
        assert_string_equal(conf_text_of(&out), sizes[i].printed);
    }
    buf_finish(&out);
}

static void reads_and_prints_rates(void **state)
{
    struct buf out;
    size_t i;

    (void)state;
    buf_init(&out, 100);
    for (i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        double value = -1;

        buf_reset(&out);
        assert_int_equal(conf_rate(rates[i].text, &value, NULL), CONF_OK);
        conf_print_rate(value, &out);

        assert_true(value == rates[i].value);
        assert_string_equal(conf_text_of(&out), rates[i].printed);
    }
    buf_finish(&out);
}

static void reads_and_prints_shares(void **state)
{
    struct buf out;
    double value = 0;

    (void)state;
    assert_int_equal(conf_share("1%", &value, NULL), CONF_OK);
    assert_true(value > 0.00999 && value < 0.01001);
    assert_int_equal(conf_share("0.125 %", &value, NULL), CONF_OK);
    buf_init(&out, 64);
    conf_print_share(value, &out);
    conf_print_share(2, &out);
    assert_string_equal(buf_text(&out), "0.125%200%");
    buf_finish(&out);
    assert_int_equal(conf_share("0.5", &value, NULL), CONF_BAD);
    assert_int_equal(conf_share("-1%", &value, NULL), CONF_BAD);
    assert_int_equal(conf_share("1Hz", &value, NULL), CONF_BAD);
}

static void refuses_what_is_no_duration_and_leaves_the_result_alone(void **state)
{
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        uint64_t value = 42;
        struct err err = {""};

        assert_int_equal(conf_duration(bad[i].text, &value, &err), CONF_BAD);
        assert_string_equal(err.text, bad[i].error);
        assert_int_equal(value, 42);
    }
}

static void names_the_units_of_each_quantity(void **state)
{
    struct err err = {""};
    uint64_t size;
    double rate;

    (void)state;
    assert_int_equal(conf_size("5m", &size, &err), CONF_BAD);
    assert_string_equal(err.text, "\"5m\" has an unknown unit; "
                                  "units: B kB KiB MB MiB GB GiB TB TiB");
    assert_int_equal(conf_rate("5MHz", &rate, &err), CONF_BAD);
    assert_string_equal(err.text, "\"5MHz\" has an unknown unit; units: Hz kHz");
    assert_int_equal(conf_rate("1kHz1Hz", &rate, &err), CONF_BAD);
}

static void reads_counts_up_to_the_last_that_fits(void **state)
{
    uint64_t value = 0;

    (void)state;
    assert_int_equal(conf_count("18446744073709551615", &value, NULL), CONF_OK);
    assert_true(value == UINT64_MAX);
    assert_int_equal(conf_count("18446744073709551616", &value, NULL), CONF_BAD);
    assert_int_equal(conf_count("", &value, NULL), CONF_BAD);
    assert_int_equal(conf_count("1.0", &value, NULL), CONF_BAD);
    assert_true(value == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_and_prints_shares),
        cmocka_unit_test(reads_and_prints_durations),
        cmocka_unit_test(reads_and_prints_sizes),
        cmocka_unit_test(reads_and_prints_rates),
        cmocka_unit_test(refuses_what_is_no_duration_and_leaves_the_result_alone),
        cmocka_unit_test(names_the_units_of_each_quantity),
        cmocka_unit_test(reads_counts_up_to_the_last_that_fits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
