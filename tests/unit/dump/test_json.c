/* SPDX-License-Identifier: Apache-2.0 */
/* test_json.c - the JSON of a dump says what is known, and null for what is not. */
#include "tests/unit/dump/example.h"
#include "tests/unit/unit_test.h"

static const char *show_frame(const struct cpy_frame *frame, uint32_t options)
{
    const struct cpy_thread thread = {.tid = 1, .depth = 1, .frames = frame};
    struct dump dump = example_dump(&thread, 1);

    dump.frames = options;
    return example_show(&dump, dump_json);
}

static void says_all_of_every_thread(void **state)
{
    const struct dump dump = example_dump(example_threads, 3);

    (void)state;
    assert_string_equal(
        example_show(&dump, dump_json),
        "{\"pid\": 4242, \"python\": \"3.15.2\", \"free_threaded\": false, "
        "\"taken_unix_ns\": 1760000000000000000, \"interpreters\": ["
        "{\"id\": 0, \"threads\": ["
        "{\"tid\": 4242, \"name\": \"MainThread\", \"main\": true, \"status\": [\"gil\", \"cpu\"], "
        "\"torn\": false, \"cut\": false, \"frames\": ["
        "{\"func\": \"Shop.price\", \"file\": \"/srv/shop.py\", \"line\": 17, \"first_line\": 12}, "
        "{\"func\": \"<native>\", \"file\": \"~\", \"line\": null, \"first_line\": null}, "
        "{\"func\": \"<module>\", \"file\": \"/srv/shop.py\", \"line\": 40, \"first_line\": 1}]}, "
        "{\"tid\": 4243, \"name\": null, \"main\": false, \"status\": [\"gil_wait\"], "
        "\"torn\": true, \"cut\": false, \"frames\": null}]}, "
        "{\"id\": 3, \"threads\": ["
        "{\"tid\": null, \"name\": \"Wörker\", \"main\": false, "
        "\"status\": [\"exception\", \"gc\"], \"torn\": false, \"cut\": true, \"frames\": ["
        "{\"func\": \"<module>\", \"file\": \"/srv/shop.py\", \"line\": 40, \"first_line\": 1}"
        "]}]}]}\n");
}

static void has_no_positions_unless_asked_for(void **state)
{
    const struct cpy_frame frame = {
        .code = &example_price, .line = 17, .end_line = 18, .column = 5, .end_column = 9};

    (void)state;
    assert_null(strstr(show_frame(&frame, 0), "column"));
    assert_null(strstr(show_frame(&frame, 0), "opcode"));
    assert_non_null(strstr(show_frame(&frame, CPY_FRAME_POSITIONS),
                           "\"end_line\": 18, \"column\": 5, \"end_column\": 9}"));
}

static void says_null_for_a_position_that_is_not_known(void **state)
{
    const struct cpy_frame frame = {.code = &example_price, .line = 17};

    (void)state;
    assert_non_null(strstr(show_frame(&frame, CPY_FRAME_POSITIONS),
                           "\"end_line\": null, \"column\": null, \"end_column\": null}"));
}

static void names_the_instruction_or_says_null(void **state)
{
    const struct cpy_frame known = {.code = &example_price, .line = 17, .opcode = "CALL"};
    const struct cpy_frame unknown = {.code = &example_price, .line = 17};

    (void)state;
    assert_non_null(strstr(show_frame(&known, CPY_FRAME_OPCODES), "\"opcode\": \"CALL\"}"));
    assert_non_null(strstr(show_frame(&unknown, CPY_FRAME_OPCODES), "\"opcode\": null}"));
}

static void warns_only_if_there_is_a_warning(void **state)
{
    struct dump dump = example_dump(example_threads, 1);

    (void)state;
    assert_null(strstr(example_show(&dump, dump_json), "warning"));
    dump.warning = "nobody has checked \"3.16\"";
    assert_non_null(strstr(example_show(&dump, dump_json),
                           ", \"warning\": \"nobody has checked \\\"3.16\\\"\", \"interp"));
}

static void escapes_control_characters(void **state)
{
    const struct cpy_code code = {1, "\x1b[2J", "a\nb", 1};
    const struct cpy_frame frame = {.code = &code, .line = 1};

    (void)state;
    assert_non_null(
        strstr(show_frame(&frame, 0), "\"func\": \"\\u001b[2J\", \"file\": \"a\\u000ab\""));
}

static void is_whole_without_any_thread(void **state)
{
    const struct dump dump = example_dump(NULL, 0);

    (void)state;
    assert_non_null(strstr(example_show(&dump, dump_json), "\"interpreters\": []}\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_all_of_every_thread),
        cmocka_unit_test(has_no_positions_unless_asked_for),
        cmocka_unit_test(says_null_for_a_position_that_is_not_known),
        cmocka_unit_test(names_the_instruction_or_says_null),
        cmocka_unit_test(warns_only_if_there_is_a_warning),
        cmocka_unit_test(escapes_control_characters),
        cmocka_unit_test(is_whole_without_any_thread),
    };

    return cmocka_run_group_tests_name("dump_json", tests, NULL, NULL);
}
