/* SPDX-License-Identifier: Apache-2.0 */
/* help.h - what the tests of conf/ share. */
#ifndef TESTS_UNIT_CONF_HELP_H
#define TESTS_UNIT_CONF_HELP_H

#include <string.h>

#include "conf/conf.h"
#include "tests/unit/unit_test.h"

/* What messages about unknown names list; a new row of the option table stands here, too. */
#define CONF_AGENT_KEYS     "those of [agent] in pystrobe.ini(5)"
#define CONF_SECTION_TITLES "[agent], [http], [labels], [target NAME], [exporter NAME]"

/* An ini text and all that must be said about it. */
struct conf_row {
    const char *name;
    const char *ini;
    const char *errors;
};

/* The content of a buffer as a string, lent until the buffer changes. */
static inline const char *conf_text_of(struct buf *buf)
{
    assert_false(buf_failed(buf));
    return buf_text(buf);
}

/* Reads ini text in memory; `name` stands in the messages. */
static inline enum conf_rc conf_parse(const char *name, const char *text, size_t size,
                                      struct conf **out, struct buf *errors)
{
    const struct conf_source source = {.path = name, .text = text, .size = size};

    return conf_load(&source, out, errors);
}

/* Reads the ini file `path` alone; NULL: what holds without one. */
static inline enum conf_rc conf_read(const char *path, struct conf **out, struct buf *errors)
{
    const struct conf_source source = {.path = path};

    return conf_load(&source, out, errors);
}

/* Parses what must be right. Ended by conf_free. */
static inline struct conf *conf_must_parse(const char *ini)
{
    struct conf *conf = NULL;
    struct buf errors;

    buf_init(&errors, CONF_TEXT_MAX);
    if (conf_parse("t.ini", ini, strlen(ini), &conf, &errors) != CONF_OK)
        fail_msg("%s", conf_text_of(&errors));
    assert_int_equal(errors.size, 0);
    buf_finish(&errors);
    return conf;
}

/* Parses what must be wrong, and holds the messages to `expected`. */
static inline void conf_must_fail(const char *ini, size_t size, const char *expected)
{
    struct conf *conf = NULL;
    struct buf errors;

    buf_init(&errors, CONF_TEXT_MAX);
    assert_int_equal(conf_parse("t.ini", ini, size, &conf, &errors), CONF_BAD);
    assert_null(conf);
    assert_string_equal(conf_text_of(&errors), expected);
    buf_finish(&errors);
}

static inline void conf_run_row(void **state)
{
    const struct conf_row *row = *state;

    conf_must_fail(row->ini, strlen(row->ini), row->errors);
}

/* Makes a test of each row. */
static inline void conf_rows_to_tests(struct conf_row *rows, struct CMUnitTest *tests, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        tests[i] = (struct CMUnitTest){rows[i].name, conf_run_row, NULL, NULL, &rows[i]};
}

#endif
