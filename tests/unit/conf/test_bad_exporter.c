/* SPDX-License-Identifier: Apache-2.0 */
/* test_bad_exporter.c - mistakes in [exporter NAME], each with all that is said about it. */
#include "tests/unit/conf/help.h"
#include "tests/unit/unit_test.h"

/* So many of the same character. */
#define X16(c)   c c c c c c c c c c c c c c c c
#define X64(c)   X16(c) X16(c) X16(c) X16(c)
#define X256(c)  X64(c) X64(c) X64(c) X64(c)
#define X1024(c) X256(c) X256(c) X256(c) X256(c)

static struct conf_row rows[] = {
    {"an_exporter_without_a_type",
     "[exporter x]\n"
     "path = /x\n",
     "t.ini:1: [exporter x] type: is missing; allowed: store, pyroscope, file, otlp\n"},
    {"a_type_that_is_not_there_yet",
     "[exporter x]\n"
     "type = parca\n"
     "url = http://h\n",
     "t.ini:2: [exporter x] type: \"parca\" is not known; allowed: store, pyroscope, file, otlp\n"},
    {"a_type_near_one",
     "[exporter x]\n"
     "type = pyrascope\n",
     "t.ini:2: [exporter x] type: \"pyrascope\" is not known; allowed: store, pyroscope, file, "
     "otlp; "
     "did you mean \"pyroscope\"?\n"},
    {"a_pyroscope_without_a_url",
     "[exporter p]\n"
     "\n"
     "type = pyroscope\n",
     "t.ini:1: [exporter p] url: is missing; allowed: http://HOST or https://HOST, then :PORT and "
     "/PATH if needed\n"},
    {"a_store_key_of_a_pyroscope",
     "[exporter p]\n"
     "type = pyroscope\n"
     "url = http://h\n"
     "max_size = 1GiB\n",
     "t.ini:4: [exporter p] max_size: is not for type pyroscope; allowed: with type store, file\n"},
    {"a_pyroscope_key_of_a_store",
     "[exporter s]\n"
     "type = store\n"
     "url = http://h\n",
     "t.ini:3: [exporter s] url: is not for type store; allowed: with type pyroscope, otlp\n"},
    {"a_header_of_a_store",
     "[exporter s]\n"
     "type = store\n"
     "header.X-A = b\n",
     "t.ini:3: [exporter s] header.NAME: is not for type store; allowed: with type pyroscope, "
     "otlp\n"},
    {"a_key_before_the_type_it_does_not_suit",
     "[exporter s]\n"
     "timeout = 1s\n"
     "type = store\n",
     "t.ini:2: [exporter s] timeout: is not for type store; allowed: with type pyroscope, otlp\n"},
    {"a_size_without_a_unit",
     "[exporter s]\n"
     "type = store\n"
     "max_size = 268435456\n",
     "t.ini:3: [exporter s] max_size: \"268435456\" has no unit; units: B kB KiB MB MiB GB GiB TB "
     "TiB; allowed: 1MiB to 1TiB\n"},
    {"a_size_with_a_short_unit",
     "[exporter s]\n"
     "type = store\n"
     "max_size = 256M\n",
     "t.ini:3: [exporter s] max_size: \"256M\" has an unknown unit; units: B kB KiB MB MiB GB "
     "GiB TB TiB; allowed: 1MiB to 1TiB\n"},
    {"a_size_too_small",
     "[exporter s]\n"
     "type = store\n"
     "max_size = 1023KiB\n",
     "t.ini:3: [exporter s] max_size: \"1023KiB\" is out of range; allowed: 1MiB to 1TiB\n"},
    {"an_age_too_long",
     "[exporter s]\n"
     "type = store\n"
     "max_age = 3650.001d\n",
     "t.ini:3: [exporter s] max_age: \"3650.001d\" is out of range; allowed: 1m to 3650d\n"},
    {"a_file_with_a_part_that_is_not_known",
     "[exporter f]\n"
     "type = file\n"
     "pattern = /f/{name}\n",
     "t.ini:3: [exporter f] pattern: \"/f/{name}\" may have {service}, {type} and {start}, in its "
     "last part only; allowed: an absolute path; its last part may have {service}, {type} and "
     "{start}\n"},
    {"a_relative_path",
     "[exporter s]\n"
     "type = store\n"
     "path = store\n",
     "t.ini:3: [exporter s] path: \"store\" is a relative path; allowed: an absolute path\n"},
    {"a_path_too_long",
     "[exporter s]\n"
     "type = store\n"
     "path = /" X1024("x") "\n",
     "t.ini:3: [exporter s] path: is longer than 1024 bytes; allowed: an absolute path\n"},
    {"two_stores_of_one_path",
     "[exporter s]\n"
     "type = store\n"
     "[exporter z]\n"
     "type = store\n",
     "t.ini:3: [exporter z] path: is that of [exporter s] on line 1; allowed: another path\n"},
    {"a_queue_of_zero",
     "[exporter s]\n"
     "type = store\n"
     "queue = 0\n",
     "t.ini:3: [exporter s] queue: \"0\" is out of range; allowed: 1 to 1000\n"},
    {"a_queue_that_is_no_number",
     "[exporter s]\n"
     "type = store\n"
     "queue = many\n",
     "t.ini:3: [exporter s] queue: \"many\" is not a whole number; allowed: 1 to 1000\n"},
    {"a_queue_with_a_unit",
     "[exporter s]\n"
     "type = store\n"
     "queue = 10B\n",
     "t.ini:3: [exporter s] queue: \"10B\" is not a whole number; allowed: 1 to 1000\n"},
    {"a_url_without_a_scheme",
     "[exporter p]\n"
     "type = pyroscope\n"
     "url = localhost:4040\n",
     "t.ini:3: [exporter p] url: does not start with http:// or https://; allowed: http://HOST or "
     "https://HOST, then :PORT and /PATH if needed\n"},
    {"a_url_of_another_scheme",
     "[exporter p]\n"
     "type = pyroscope\n"
     "url = ftp://me:secret@h\n",
     "t.ini:3: [exporter p] url: does not start with http:// or https://; allowed: http://HOST or "
     "https://HOST, then :PORT and /PATH if needed\n"},
    {"a_url_with_a_password",
     "[exporter p]\n"
     "type = pyroscope\n"
     "url = http://me:secret@h:4040\n",
     "t.ini:3: [exporter p] url: has a user in it: set user and password_file instead; allowed: "
     "http://HOST or https://HOST, then :PORT and /PATH if needed\n"},
    {"a_url_without_a_host",
     "[exporter p]\n"
     "type = pyroscope\n"
     "url = https://:4040\n",
     "t.ini:3: [exporter p] url: has no host; allowed: http://HOST or https://HOST, then :PORT and "
     "/PATH if needed\n"},
    {"a_url_with_a_bad_port",
     "[exporter p]\n"
     "type = pyroscope\n"
     "url = http://h:65536\n",
     "t.ini:3: [exporter p] url: has a port that is not between 1 and 65535; allowed: http://HOST "
     "or https://HOST, then :PORT and /PATH if needed\n"},
    {"a_url_with_a_port_in_words",
     "[exporter p]\n"
     "type = pyroscope\n"
     "url = http://h:http\n",
     "t.ini:3: [exporter p] url: has a port that is not a number; allowed: http://HOST or "
     "https://HOST, then :PORT and /PATH if needed\n"},
    {"a_url_with_a_query",
     "[exporter p]\n"
     "type = pyroscope\n"
     "url = http://h/?a=b\n",
     "t.ini:3: [exporter p] url: has a query or a fragment; allowed: http://HOST or https://HOST, "
     "then :PORT and /PATH if needed\n"},
    {"a_url_with_a_blank",
     "[exporter p]\n"
     "type = pyroscope\n"
     "url = http://h /x\n",
     "t.ini:3: [exporter p] url: has a character that no URL has; allowed: http://HOST or "
     "https://HOST, then :PORT and /PATH if needed\n"},
    {"a_url_with_an_open_bracket",
     "[exporter p]\n"
     "type = pyroscope\n"
     "url = http://[::1\n",
     "t.ini:3: [exporter p] url: has no host between \"[\" and \"]\"; allowed: http://HOST or "
     "https://HOST, then :PORT and /PATH if needed\n"},
    {"a_url_with_no_ipv6_address",
     "[exporter p]\n"
     "type = pyroscope\n"
     "url = http://[host]\n",
     "t.ini:3: [exporter p] url: has no IPv6 address between \"[\" and \"]\"; allowed: http://HOST "
     "or https://HOST, then :PORT and /PATH if needed\n"},
    {"a_url_with_a_bad_ipv6_address",
     "[exporter p]\n"
     "type = pyroscope\n"
     "url = http://[1:2]\n",
     "t.ini:3: [exporter p] url: has no IPv6 address between \"[\" and \"]\"; allowed: http://HOST "
     "or https://HOST, then :PORT and /PATH if needed\n"},
    {"a_url_with_a_letter_that_no_host_has",
     "[exporter p]\n"
     "type = pyroscope\n"
     "url = http://a$b/x\n",
     "t.ini:3: [exporter p] url: has text after the host; allowed: http://HOST or https://HOST, "
     "then "
     ":PORT and /PATH if needed\n"},
    {"a_url_with_a_plus_in_its_host",
     "[exporter p]\n"
     "type = pyroscope\n"
     "url = http://a+b\n",
     "t.ini:3: [exporter p] url: has text after the host; allowed: http://HOST or https://HOST, "
     "then :PORT and /PATH if needed\n"},
    {"a_url_with_an_escape_in_its_host",
     "[exporter p]\n"
     "type = pyroscope\n"
     "url = http://a%2Fb\n",
     "t.ini:3: [exporter p] url: has text after the host; allowed: http://HOST or https://HOST, "
     "then :PORT and /PATH if needed\n"},
    {"a_proxy_without_a_scheme",
     "[exporter p]\n"
     "type = pyroscope\n"
     "url = http://h\n"
     "proxy = proxy:3128\n",
     "t.ini:4: [exporter p] proxy: does not start with http://, https://, socks5:// or socks5h://; "
     "allowed: none, or SCHEME://HOST:PORT with http, https, socks5 or socks5h\n"},
    {"a_proxy_of_another_scheme",
     "[exporter p]\n"
     "type = pyroscope\n"
     "url = http://h\n"
     "proxy = ftp://proxy:3128\n",
     "t.ini:4: [exporter p] proxy: does not start with http://, https://, socks5:// or socks5h://; "
     "allowed: none, or SCHEME://HOST:PORT with http, https, socks5 or socks5h\n"},
    {"a_proxy_with_a_password",
     "[exporter p]\n"
     "type = pyroscope\n"
     "url = http://h\n"
     "proxy = http://me:secret@h:3128\n",
     "t.ini:4: [exporter p] proxy: has a login in it, which belongs into proxy_login_file; "
     "allowed: none, or SCHEME://HOST:PORT with http, https, socks5 or socks5h\n"},
    {"a_user_without_a_password",
     "[exporter p]\n"
     "type = pyroscope\n"
     "url = http://h\n"
     "user = me\n",
     "t.ini:4: [exporter p] user: has no password; allowed: with password_file\n"},
    {"a_password_without_a_user",
     "[exporter p]\n"
     "type = pyroscope\n"
     "url = http://h\n"
     "password_file = /x\n",
     "t.ini:4: [exporter p] password_file: has no user; allowed: with user\n"},
    {"a_token_beside_a_user",
     "[exporter p]\n"
     "type = pyroscope\n"
     "url = http://h\n"
     "user = me\n"
     "password_file = /x\n"
     "token_file = /y\n",
     "t.ini:6: [exporter p] token_file: stands beside user; allowed: token_file, or user and "
     "password_file\n"},
    {"a_header_without_a_name",
     "[exporter p]\n"
     "type = pyroscope\n"
     "url = http://h\n"
     "header. = x\n",
     "t.ini:4: [exporter p] header.: is not the name of a header; allowed: letters, digits, - and "
     "_\n"},
    {"a_header_with_a_blank_in_its_name",
     "[exporter p]\n"
     "type = pyroscope\n"
     "url = http://h\n"
     "header.X Y = x\n",
     "t.ini:4: [exporter p] header.X Y: is not the name of a header; allowed: letters, digits, - "
     "and _\n"},
    {"a_header_that_we_set",
     "[exporter p]\n"
     "type = pyroscope\n"
     "url = http://h\n"
     "header.content-type = x\n",
     "t.ini:4: [exporter p] header.content-type: is set by pystrobe; allowed: any other header\n"},
    {"a_header_twice",
     "[exporter p]\n"
     "type = pyroscope\n"
     "url = http://h\n"
     "header.X-A = s3cret\n"
     "header.x-a = s3cret\n",
     "t.ini:5: [exporter p] header.x-a: is set on line 4 already; allowed: once\n"},
    {"a_header_beyond_ascii",
     "[exporter p]\n"
     "type = pyroscope\n"
     "url = http://h\n"
     "header.X-A = s3cr\303\251t\n",
     "t.ini:4: [exporter p] header.X-A: has a character that HTTP does not take; allowed: "
     "printable ASCII of up to 2048 bytes\n"},
    {"a_header_too_long",
     "[exporter p]\n"
     "type = pyroscope\n"
     "url = http://h\n"
     "header.X-A = " X1024("x") X1024("x") "x"
                                           "\n",
     "t.ini:4: [exporter p] header.X-A: is longer than 2048 bytes; allowed: printable ASCII of up "
     "to 2048 bytes\n"},
    {"a_header_line_without_its_sign",
     "[exporter p]\n"
     "type = pyroscope\n"
     "url = http://h\n"
     "header.X-A s3cret\n",
     "t.ini:4: the line is not \"key = value\"; allowed: [section], key = value, or a comment that "
     "starts with ; or #\n"},
    {"a_header_with_letters_swapped",
     "[exporter p]\n"
     "type = pyroscope\n"
     "url = http://h\n"
     "haeder.X-A = s3cret\n",
     "t.ini:4: [exporter p]: key \"haeder.X-A\" is not known; allowed: those of [exporter NAME] in "
     "pystrobe.ini(5); did you mean \"header.NAME\"?\n"},
};

int main(void)
{
    struct CMUnitTest tests[sizeof(rows) / sizeof(rows[0])];

    conf_rows_to_tests(rows, tests, sizeof(rows) / sizeof(rows[0]));
    return cmocka_run_group_tests_name("refuses", tests, NULL, NULL);
}
