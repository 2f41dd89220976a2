/* SPDX-License-Identifier: Apache-2.0 */
/* test_bad_target.c - mistakes in [target NAME] and [labels], each with all that is said about
 * it. */
#include "tests/unit/conf/help.h"
#include "tests/unit/unit_test.h"

/* So many of the same character. */
#define X16(c)   c c c c c c c c c c c c c c c c
#define X64(c)   X16(c) X16(c) X16(c) X16(c)
#define X256(c)  X64(c) X64(c) X64(c) X64(c)
#define X1024(c) X256(c) X256(c) X256(c) X256(c)

static struct conf_row rows[] = {
    {"a_key_in_capitals",
     "[target t]\n"
     "user = u\n"
     "Service = x\n",
     "t.ini:3: [target t]: key \"Service\" is not known; allowed: those of "
     "[target NAME] in pystrobe.ini(5); did you mean \"service\"?\n"},
    {"a_target_rate_that_gives_no_sample",
     "[target t]\n"
     "user = u\n"
     "rate = 0.1Hz\n"
     "[agent]\n"
     "interval = 9s\n",
     "t.ini:3: [target t] rate: gives less than one sample an interval; allowed: a higher rate, or "
     "a longer interval in [agent]\n"},
    {"a_target_without_a_condition",
     "[target t]\n"
     "service = x\n",
     "t.ini:1: [target t]: has no condition; allowed: at least one of cmdline, exe, user, cgroup, "
     "container, systemd_unit, parent, env.NAME\n"},
    {"a_condition_that_is_wrong_is_none_that_is_missing",
     "[target t]\n"
     "env.A = (\n",
     "t.ini:2: [target t] env.A: \"(\" is not a regular expression: Unmatched ( or \\(; allowed: a "
     "POSIX extended regular expression\n"},
    {"a_label_without_a_name",
     "[target t]\n"
     "user = u\n"
     "label. = x\n",
     "t.ini:3: [target t] label.: has no name; allowed: label.NAME\n"},
    {"a_regular_expression_with_an_open_group",
     "[target t]\n"
     "cmdline = gunicorn(\n",
     "t.ini:2: [target t] cmdline: \"gunicorn(\" is not a regular expression: Unmatched ( or \\(; "
     "allowed: a POSIX extended regular expression\n"},
    {"a_regular_expression_with_an_open_bracket",
     "[target t]\n"
     "cmdline = [a-z\n",
     "t.ini:2: [target t] cmdline: \"[a-z\" is not a regular expression: Unmatched [, [^, [:, [., "
     "or "
     "[=; allowed: a POSIX extended regular expression\n"},
    {"a_regular_expression_that_repeats_nothing",
     "[target t]\n"
     "cmdline = *web\n",
     "t.ini:2: [target t] cmdline: \"*web\" is not a regular expression: Invalid preceding regular "
     "expression; allowed: a POSIX extended regular expression\n"},
    {"a_regular_expression_with_a_back_reference",
     "[target t]\n"
     "cmdline = (a)\\1\n",
     "t.ini:2: [target t] cmdline: \"(a)\\1\" has a back-reference, which POSIX extended "
     "expressions have not; allowed: a POSIX extended regular expression\n"},
    {"a_regular_expression_that_explodes",
     "[target t]\n"
     "cmdline = ((a{1,99}){1,99}){1,99}\n",
     "t.ini:2: [target t] cmdline: \"((a{1,99}){1,99}){1,99}\" repeats too much: + and {n,m} may "
     "make it at most 2000 characters long; allowed: a POSIX extended regular expression\n"},
    {"a_regular_expression_of_plus_signs",
     "[target t]\n"
     "cmdline = a"
     "+"
     "+"
     "+"
     "+"
     "+"
     "+"
     "+"
     "+"
     "+"
     "+"
     "+"
     "+"
     "\n",
     "t.ini:2: [target t] cmdline: \"a"
     "+"
     "+"
     "+"
     "+"
     "+"
     "+"
     "+"
     "+"
     "+"
     "+"
     "+"
     "+"
     "\" repeats too much: + and {n,m} may make it at most 2000 characters long; allowed: a POSIX "
     "extended regular expression\n"},
    {"a_regular_expression_too_deep",
     "[target t]\n"
     "cmdline = " X16("(") X16("(") "("
                                    "a" X16(")") X16(")") ")"
                                                          "\n",
     "t.ini:2: [target t] cmdline: \"" X16("(")
         X16("(") "("
                  "a" X16(")") ")"
                               ")"
                               ")"
                               ")"
                               ")"
                               ")"
                               ")"
                               ")"
                               ")"
                               ")"
                               ")"
                               ")"
                               ")"
                               "...\" has too many groups inside each other; at most 32; allowed: "
                               "a POSIX extended regular expression\n"},
    {"a_regular_expression_too_long",
     "[target t]\n"
     "cmdline = " X1024("x") "x"
                             "\n",
     "t.ini:2: [target t] cmdline: is longer than 1024 bytes; allowed: a POSIX extended regular "
     "expression\n"},
    {"a_hash_in_a_regular_expression",
     "[target t]\n"
     "cmdline = web # the shop\n",
     "t.ini:2: [target t] cmdline: has a \"#\" after a blank, which starts no comment here: write "
     "\" ;\"; allowed: a POSIX extended regular expression\n"},
    {"an_exe_that_no_path_matches",
     "[target t]\n"
     "exe = python3\n",
     "t.ini:2: [target t] exe: \"python3\" matches no absolute path; allowed: a path with * ? "
     "[...] that starts with / or *\n"},
    {"a_service_with_a_placeholder",
     "[target t]\n"
     "user = u\n"
     "service = ${env:X}\n",
     "t.ini:3: [target t]: variable \"X\" may not be read; allowed: those in env_allow of "
     "[agent]\n"},
    {"a_condition_on_a_variable_that_may_not_be_read",
     "[agent]\n"
     "env_allow = A B*\n"
     "[target t]\n"
     "env.A = x\n"
     "env.BC = x\n"
     "env.PASSWORD = x\n",
     "t.ini:6: [target t]: variable \"PASSWORD\" may not be read; allowed: those in env_allow of "
     "[agent]\n"},
    {"a_template_that_is_not_closed",
     "[target t]\n"
     "user = u\n"
     "service = ${script:-${exe}\n",
     "t.ini:3: [target t] service: has a \"${\" without its \"}\"; allowed: text of up to 1024 "
     "bytes with ${NAME}, ${NAME:-DEFAULT}\n"},
    {"a_label_that_is_no_template",
     "[target t]\n"
     "user = u\n"
     "label.a = ${nothing}\n",
     "t.ini:3: [target t] label.a: has a ${...} that is not known; there are ${env:NAME}, "
     "${otel:NAME}, ${script}, ${exe}, ${user}, ${systemd_unit}, ${container}, ${cgroup} and "
     "${target}; allowed: text of up to 2048 bytes with ${NAME}, ${NAME:-DEFAULT}\n"},
    {"an_exclusion_without_a_condition",
     "[target t]\n"
     "exclude_user = u\n",
     "t.ini:1: [target t]: has no condition; allowed: at least one of cmdline, exe, user, cgroup, "
     "container, systemd_unit, parent, env.NAME\n"},
    {"a_split_near_one",
     "[target t]\n"
     "user = u\n"
     "split = threads\n",
     "t.ini:3: [target t] split: \"threads\" is not known; allowed: none, process, thread; did you "
     "mean \"thread\"?\n"},
    {"a_label_that_starts_with_two_underscores",
     "[labels]\n"
     "__name__ = x\n",
     "t.ini:2: [labels] __name__: starts with \"__\", which servers keep for themselves; allowed: "
     "any other start\n"},
    {"a_label_that_is_the_service",
     "[labels]\n"
     "service_name = x\n",
     "t.ini:2: [labels] service_name: is set by pystrobe; allowed: service in [target NAME]\n"},
    {"a_label_twice",
     "[labels]\n"
     "env = a\n"
     "env = b\n",
     "t.ini:3: [labels] env: is set on line 2 already; allowed: once\n"},
    {"a_label_with_a_tab_in_its_name",
     "[labels]\n"
     "a\tb = c\n",
     "t.ini:2: [labels] a\tb: has a tab in its name; allowed: any other character\n"},
    {"a_label_without_a_value",
     "[labels]\n"
     "env =\n",
     "t.ini:2: [labels] env: has no value; allowed: text of up to 2048 bytes\n"},
    {"a_label_name_too_long",
     "[labels]\n" X1024("n") "n"
                             " = x\n",
     "t.ini:2: [labels] " X16("n") X16("n")
         X16("n") "n"
                  "n"
                  "n"
                  "n"
                  "n"
                  "n"
                  "n"
                  "n"
                  "n"
                  "n"
                  "n"
                  "n"
                  "n"
                  "n"
                  "n"
                  "...: has too long a name; allowed: up to 1024 bytes\n"},
    {"a_label_value_too_long",
     "[labels]\n"
     "x = " X1024("v") X1024("v") "v"
                                  "\n",
     "t.ini:2: [labels] x: is longer than 2048 bytes; allowed: text of up to 2048 bytes\n"},
    {"a_continuation_line",
     "[target t]\n"
     "cmdline = gunicorn|\n"
     "    uvicorn\n",
     "t.ini:3: the line is not \"key = value\"; allowed: [section], key = value, or a comment that "
     "starts with ; or #\n"},
};

int main(void)
{
    struct CMUnitTest tests[sizeof(rows) / sizeof(rows[0])];

    conf_rows_to_tests(rows, tests, sizeof(rows) / sizeof(rows[0]));
    return cmocka_run_group_tests_name("refuses", tests, NULL, NULL);
}
