/* SPDX-License-Identifier: Apache-2.0 */
/* test_bad_agent.c - mistakes in lines, sections and [agent], each with all that is said about
 * it. */
#include "tests/unit/conf/help.h"
#include "tests/unit/unit_test.h"

/* So many of the same character. */
#define X16(c)  c c c c c c c c c c c c c c c c
#define X64(c)  X16(c) X16(c) X16(c) X16(c)
#define X256(c) X64(c) X64(c) X64(c) X64(c)

static struct conf_row rows[] = {
    {"an_unknown_section", "[agnet]\n",
     "t.ini:1: section \"agnet\" is not known; allowed: " CONF_SECTION_TITLES
     "; did you mean [agent]?\n"},
    {"a_section_far_from_any",
     "[zebra]\n"
     "x = 1\n",
     "t.ini:1: section \"zebra\" is not known; allowed: " CONF_SECTION_TITLES "\n"},
    {"a_section_in_capitals", "[Agent]\n",
     "t.ini:1: section \"Agent\" is not known; allowed: " CONF_SECTION_TITLES
     "; did you mean [agent]?\n"},
    {"an_address_without_an_ip",
     "[http]\n"
     "listen = *:7997\n",
     "t.ini:2: [http] listen: \"*:7997\" has no IP address before its port; allowed: PORT, "
     "localhost:PORT, ADDRESS:PORT (0.0.0.0 for all), [IPV6]:PORT, or an absolute path\n"},
    {"a_control_socket_with_too_long_a_path",
     "[agent]\n"
     "control = /" X64("n") X64("n") "\n",
     "t.ini:2: [agent] control: is longer than the 107 bytes that a socket's path may have; "
     "allowed: an absolute path of up to 107 bytes that does not end in \"/\"\n"},
    {"a_control_socket_that_is_a_folder",
     "[agent]\n"
     "control = /run/\n",
     "t.ini:2: [agent] control: \"/run/\" names a folder; "
     "allowed: an absolute path of up to 107 bytes that does not end in \"/\"\n"},
    {"a_plural_section",
     "[targets web]\n"
     "cmdline = x\n",
     "t.ini:1: section \"targets web\" is not known; allowed: " CONF_SECTION_TITLES
     "; did you mean [target NAME]?\n"},
    {"an_empty_section_head", "[]\n",
     "t.ini:1: section \"\" is not known; allowed: " CONF_SECTION_TITLES "\n"},
    {"a_section_without_its_bracket", "[agent\n",
     "t.ini:1: the line has no \"]\"; allowed: [section]\n"},
    {"text_after_a_section", "[agent] rate = 1Hz\n",
     "t.ini:1: the line has text after \"]\"; allowed: [section], and a comment that starts with "
     ";\n"},
    {"a_hash_comment_after_a_section", "[agent] # mine\n",
     "t.ini:1: the line has text after \"]\"; allowed: [section], and a comment that starts with "
     ";\n"},
    {"a_target_without_a_name",
     "[target]\n"
     "cmdline = x\n",
     "t.ini:1: [target]: has no name; allowed: [target NAME]\n"},
    {"an_agent_with_a_name", "[agent main]\n", "t.ini:1: [agent]: has a name; allowed: [agent]\n"},
    {"a_bad_section_name",
     "[target a b]\n"
     "cmdline = x\n",
     "t.ini:1: [target]: bad name \"a b\"; allowed: up to 64 letters, digits, \"_\", \".\" and "
     "\"-\"\n"},
    {"a_section_name_too_long",
     "[target " X64("n") "n"
                         "]\n"
                         "cmdline = x\n",
     "t.ini:1: [target]: bad name \"" X16("n") X16("n")
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
                  "...\"; allowed: up to 64 letters, digits, \"_\", \".\" and \"-\"\n"},
    {"a_second_agent",
     "[agent]\n"
     "[labels]\n"
     "[agent]\n",
     "t.ini:3: [agent]: is on line 1 already; allowed: once\n"},
    {"a_second_target_of_a_name",
     "[target t]\n"
     "user = u\n"
     "[target t]\n"
     "user = u\n",
     "t.ini:3: [target t]: is on line 1 already; allowed: once\n"},
    {"mistakes_in_a_second_section",
     "[agent]\n"
     "[agent]\n"
     "rat = 1Hz\n",
     "t.ini:2: [agent]: is on line 1 already; allowed: once\n"
     "t.ini:3: [agent]: key \"rat\" is not known; allowed: " CONF_AGENT_KEYS "; did "
     "you mean \"rate\"?\n"},
    {"a_key_before_any_section", "rate = 1Hz\n",
     "t.ini:1: key \"rate\" stands before any section; allowed: in " CONF_SECTION_TITLES "\n"},
    {"an_unknown_key",
     "[agent]\n"
     "intervall = 15s\n",
     "t.ini:2: [agent]: key \"intervall\" is not known; allowed: " CONF_AGENT_KEYS
     "; did you mean \"interval\"?\n"},
    {"a_key_with_letters_swapped",
     "[agent]\n"
     "rtae = 1Hz\n",
     "t.ini:2: [agent]: key \"rtae\" is not known; allowed: " CONF_AGENT_KEYS "; did "
     "you mean \"rate\"?\n"},
    {"a_key_far_from_any",
     "[agent]\n"
     "zzz = 1%\n",
     "t.ini:2: [agent]: key \"zzz\" is not known; allowed: " CONF_AGENT_KEYS "\n"},
    {"a_key_of_another_section",
     "[agent]\n"
     "cmdline = x\n",
     "t.ini:2: [agent]: key \"cmdline\" is not known; allowed: " CONF_AGENT_KEYS "; it "
     "belongs in [target NAME]\n"},
    {"a_key_of_all_sorts",
     "[agent]\n" X64("k") X16("k") X16("k") "k"
                                            "k"
                                            "k"
                                            "k"
                                            " = 1\n",
     "t.ini:2: [agent]: key \"" X16("k") X16("k")
         X16("k") "k"
                  "k"
                  "k"
                  "k"
                  "k"
                  "k"
                  "k"
                  "k"
                  "k"
                  "k"
                  "k"
                  "k"
                  "k"
                  "k"
                  "k"
                  "...\" is not known; allowed: " CONF_AGENT_KEYS "\n"},
    {"a_duplicate_key",
     "[agent]\n"
     "rate = 1Hz\n"
     "scan = 1s\n"
     "rate = 2Hz\n",
     "t.ini:4: [agent] rate: is set on line 2 already; allowed: once\n"},
    {"a_line_that_is_no_pair",
     "[agent]\n"
     "rate 19Hz\n",
     "t.ini:2: the line is not \"key = value\"; allowed: [section], key = value, or a comment that "
     "starts with ; or #\n"},
    {"a_line_without_a_key",
     "[agent]\n"
     "= 19Hz\n",
     "t.ini:2: the line has no key before its \"=\"\n"},
    {"a_key_without_a_value",
     "[agent]\n"
     "rate =\n",
     "t.ini:2: [agent] rate: has no value; allowed: 0.1Hz to 1000Hz\n"},
    {"a_value_that_is_a_comment",
     "[agent]\n"
     "rate = ; 19Hz\n",
     "t.ini:2: [agent] rate: has no value; allowed: 0.1Hz to 1000Hz\n"},
    {"a_rate_without_a_unit",
     "[agent]\n"
     "rate = 19\n",
     "t.ini:2: [agent] rate: \"19\" has no unit; units: Hz kHz; allowed: 0.1Hz to 1000Hz\n"},
    {"a_rate_with_a_wrong_unit",
     "[agent]\n"
     "rate = 19rpm\n",
     "t.ini:2: [agent] rate: \"19rpm\" has an unknown unit; units: Hz kHz; allowed: 0.1Hz to "
     "1000Hz\n"},
    {"a_rate_that_is_a_word",
     "[agent]\n"
     "rate = fast\n",
     "t.ini:2: [agent] rate: \"fast\" is not a number with a unit; units: Hz kHz; allowed: 0.1Hz "
     "to "
     "1000Hz\n"},
    {"a_rate_below_the_least",
     "[agent]\n"
     "rate = 0.05Hz\n",
     "t.ini:2: [agent] rate: \"0.05Hz\" is out of range; allowed: 0.1Hz to 1000Hz\n"},
    {"a_rate_above_the_most",
     "[agent]\n"
     "rate = 1000.001Hz\n",
     "t.ini:2: [agent] rate: \"1000.001Hz\" is out of range; allowed: 0.1Hz to 1000Hz\n"},
    {"a_rate_of_four_decimals",
     "[agent]\n"
     "rate = 1.0001Hz\n",
     "t.ini:2: [agent] rate: \"1.0001Hz\" has more than three decimals; units: Hz kHz; allowed: "
     "0.1Hz "
     "to 1000Hz\n"},
    {"a_negative_rate",
     "[agent]\n"
     "rate = -1Hz\n",
     "t.ini:2: [agent] rate: \"-1Hz\" is not a number with a unit; units: Hz kHz; allowed: 0.1Hz "
     "to "
     "1000Hz\n"},
    {"a_rate_in_hexadecimal",
     "[agent]\n"
     "rate = 0x10Hz\n",
     "t.ini:2: [agent] rate: \"0x10Hz\" has an unknown unit; units: Hz kHz; allowed: 0.1Hz to "
     "1000Hz\n"},
    {"an_interval_without_a_unit",
     "[agent]\n"
     "interval = 15\n",
     "t.ini:2: [agent] interval: \"15\" has no unit; units: ns us ms s m h d; allowed: 1s to 1h\n"},
    {"an_interval_of_a_wrong_unit",
     "[agent]\n"
     "interval = 15 sec\n",
     "t.ini:2: [agent] interval: \"15 sec\" has an unknown unit; units: ns us ms s m h d; allowed: "
     "1s to 1h\n"},
    {"an_interval_of_zero",
     "[agent]\n"
     "interval = 0s\n",
     "t.ini:2: [agent] interval: \"0s\" is out of range; allowed: 1s to 1h\n"},
    {"an_interval_of_days",
     "[agent]\n"
     "interval = 1d\n",
     "t.ini:2: [agent] interval: \"1d\" is out of range; allowed: 1s to 1h\n"},
    {"a_duration_that_overflows",
     "[agent]\n"
     "scan = " X16("9") "9"
                        "9"
                        "9"
                        "9"
                        "s\n",
     "t.ini:2: [agent] scan: \"" X16(
         "9") "9"
              "9"
              "9"
              "9"
              "s\" is too large; units: ns us ms s m h d; allowed: 100ms to 1h\n"},
    {"a_duration_finer_than_a_nanosecond",
     "[agent]\n"
     "scan = 0.5ns\n",
     "t.ini:2: [agent] scan: \"0.5ns\" is finer than the smallest unit; units: ns us ms s m h d; "
     "allowed: 100ms to 1h\n"},
    {"a_spool_that_is_the_root_directory",
     "[agent]\n"
     "spool = //./\n",
     "t.ini:2: [agent] spool: \"//./\" is the root directory: name a path below it; allowed: an "
     "absolute path, or off\n"},
    {"a_spool_at_a_relative_path",
     "[agent]\n"
     "spool = spool\n",
     "t.ini:2: [agent] spool: \"spool\" is a relative path; allowed: an absolute path, or off\n"},
    {"a_spool_of_less_than_the_least",
     "[agent]\n"
     "spool_max_size = 65535B\n",
     "t.ini:2: [agent] spool_max_size: \"65535B\" is out of range; allowed: 64KiB to 1TiB\n"},
    {"a_spool_of_more_than_the_most",
     "[agent]\n"
     "spool_max_size = 1025GiB\n",
     "t.ini:2: [agent] spool_max_size: \"1025GiB\" is out of range; allowed: 64KiB to 1TiB\n"},
    {"a_spool_size_without_a_unit",
     "[agent]\n"
     "spool_max_size = 256\n",
     "t.ini:2: [agent] spool_max_size: \"256\" has no unit; units: B kB KiB MB MiB GB GiB TB TiB; "
     "allowed: 64KiB to 1TiB\n"},
    {"a_spool_age_below_the_least",
     "[agent]\n"
     "spool_max_age = 59s\n",
     "t.ini:2: [agent] spool_max_age: \"59s\" is out of range; allowed: 1m to 3650d\n"},
    {"a_spool_age_above_the_most",
     "[agent]\n"
     "spool_max_age = 3651d\n",
     "t.ini:2: [agent] spool_max_age: \"3651d\" is out of range; allowed: 1m to 3650d\n"},
    {"a_spool_age_in_weeks",
     "[agent]\n"
     "spool_max_age = 1w\n",
     "t.ini:2: [agent] spool_max_age: \"1w\" has an unknown unit; units: ns us ms s m h d; "
     "allowed: 1m to 3650d\n"},
    {"more_free_space_than_any_disk_has",
     "[agent]\n"
     "spool_min_free = 1025GiB\n",
     "t.ini:2: [agent] spool_min_free: \"1025GiB\" is out of range; allowed: 0B to 1TiB\n"},
    {"free_space_below_nothing",
     "[agent]\n"
     "spool_min_free = -1B\n",
     "t.ini:2: [agent] spool_min_free: \"-1B\" is not a number with a unit; units: B kB KiB MB MiB "
     "GB GiB TB TiB; allowed: 0B to 1TiB\n"},
    {"free_space_as_a_share",
     "[agent]\n"
     "spool_min_free = 10%\n",
     "t.ini:2: [agent] spool_min_free: \"10%\" has an unknown unit; units: B kB KiB MB MiB GB GiB "
     "TB TiB; allowed: 0B to 1TiB\n"},
    {"a_hash_comment_after_a_value",
     "[agent]\n"
     "interval = 15s # short\n",
     "t.ini:2: [agent] interval: \"15s # short\" has an unknown unit; units: ns us ms s m h d; "
     "allowed: 1s to 1h\n"},
    {"a_log_level_near_one",
     "[agent]\n"
     "log_level = warn\n",
     "t.ini:2: [agent] log_level: \"warn\" is not known; allowed: error, warning, info, debug; did "
     "you mean \"warning\"?\n"},
    {"a_log_level_far_from_any",
     "[agent]\n"
     "log_level = verbose\n",
     "t.ini:2: [agent] log_level: \"verbose\" is not known; allowed: error, warning, info, "
     "debug\n"},
    {"a_rate_that_gives_no_sample",
     "[agent]\n"
     "rate = 0.1Hz\n"
     "interval = 9s\n",
     "t.ini:2: [agent] rate: gives less than one sample an interval; allowed: a higher rate, or a "
     "longer interval in [agent]\n"},
    {"a_control_character",
     "[labels]\n"
     "env = a\033[31mb\n",
     "t.ini:2: the line has a control character: 0x1b in column 8\n"},
    {"a_control_character_of_two_bytes",
     "[labels]\n"
     "env = a\302\233b\n",
     "t.ini:2: the line has a control character: 0x9b in column 8\n"},
    {"a_carriage_return_within_a_line",
     "[labels]\n"
     "env = a\rteam = b\n",
     "t.ini:2: the line has a control character: 0x0d in column 8\n"},
    {"bytes_that_are_not_utf8",
     "[labels]\n"
     "env = a\377\n",
     "t.ini:2: the line has a byte that is not UTF-8: 0xff in column 8\n"},
    {"utf8_longer_than_needed",
     "[labels]\n"
     "env = \300\257\n",
     "t.ini:2: the line has a byte that is not UTF-8: 0xc0 in column 7\n"},
    {"half_a_surrogate_pair",
     "[labels]\n"
     "env = \355\240\200\n",
     "t.ini:2: the line has a byte that is not UTF-8: 0xed in column 7\n"},
    {"a_character_cut_short",
     "[labels]\n"
     "env = \342\202\n",
     "t.ini:2: the line has a byte that is not UTF-8: 0xe2 in column 7\n"},
    {"a_run_of_blanks_that_no_piece_can_hold",
     "[labels]\n"
     "x = a" X256(" ") X64(" ") X64(" ") X16(" ") "b\n",
     "t.ini:2: the line has too long a run of blanks, \";\", \"#\" or \"[\"\n"},
};

int main(void)
{
    struct CMUnitTest tests[sizeof(rows) / sizeof(rows[0])];

    conf_rows_to_tests(rows, tests, sizeof(rows) / sizeof(rows[0]));
    return cmocka_run_group_tests_name("refuses", tests, NULL, NULL);
}
