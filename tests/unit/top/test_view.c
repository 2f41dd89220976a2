/* SPDX-License-Identifier: Apache-2.0 */
/* test_view.c - what pystrobe top shows for each key, on screens of all sizes, of all names. */
#include "agent/top/view.h"
#include "tests/unit/top/example.h"

#define ESCAPES "\x1b[2J\xC2\x9B\xFF"
#define WIDE    "\xE6\x97\xA5\xE6\x9C\xAC" /* two characters of two columns each */

static const struct top_stack stacks[] = {
    {.names = {"hot", "run", "main"},
     .thread = "a",
     .tid = 7,
     .cpu_ms = 600,
     .wall_ms = 600,
     .gil_ms = 100},
    {.names = {"cool", "run", "main"},
     .thread = "b",
     .tid = 8,
     .cpu_ms = 100,
     .wall_ms = 300,
     .gil_ms = 200},
    {.names = {"idle", "main"}, .thread = "c", .tid = 9, .wall_ms = 1000},
    {.names = {ESCAPES, WIDE, "main"}, .thread = ESCAPES, .tid = 10, .cpu_ms = 1, .wall_ms = 1},
};

enum { STACKS = sizeof(stacks) / sizeof(stacks[0]), HEIGHT = 24, WIDTH = 80, HEAD = 4 };

struct shown {
    struct top_model *model;
    struct top_list list;
    struct top_state state;
    struct top_summary info;
    struct top_cells cells;
};

static int set_up(void **state)
{
    static struct shown shown;

    shown = (struct shown){.model = top_model_new(5 * NS_PER_S),
                           .info = {.name = "shop",
                                    .pid = EXAMPLE_PID,
                                    .processes = 1,
                                    .python = "3.13.1",
                                    .rate_hz = 100,
                                    .elapsed_ns = 61 * NS_PER_S}};
    top_state_init(&shown.state);
    top_add_slice(shown.model, 1000, stacks, STACKS);
    *state = &shown;
    return shown.model ? 0 : -1;
}

static int tear_down(void **state)
{
    struct shown *shown = *state;

    top_model_free(shown->model);
    top_list_finish(&shown->list);
    top_cells_finish(&shown->cells);
    return 0;
}

/* Lays it out anew. */
static void look(struct shown *shown, size_t width, size_t height)
{
    top_cells_finish(&shown->cells);
    assert_true(top_list_make(shown->model, &shown->state, &shown->list));
    top_state_fit(&shown->state, &shown->list, top_view_page(&shown->info, height));
    assert_true(top_cells_init(&shown->cells, width, height, false));
    top_view(shown->model, &shown->list, &shown->state, &shown->info, &shown->cells);
}

static void press(struct shown *shown, uint32_t key)
{
    look(shown, WIDTH, HEIGHT);
    assert_true(
        top_state_key(&shown->state, key, &shown->list, top_view_page(&shown->info, HEIGHT)));
    look(shown, WIDTH, HEIGHT);
}

static void type(struct shown *shown, const char *text)
{
    for (; *text; text++)
        press(shown, (unsigned char)*text);
}

/* A row as text. Lends until the next call. */
static const char *row(const struct shown *shown, size_t y)
{
    static char text[TOP_SIDE_MAX * TOP_CELL_BYTES];
    const struct top_cells one = {.cells = &shown->cells.cells[y * shown->cells.width],
                                  .width = shown->cells.width,
                                  .height = 1};
    struct buf out;

    assert_true(y < shown->cells.height);
    buf_init(&out, sizeof(text));
    top_cells_text(&one, &out);
    assert_false(buf_failed(&out));
    memcpy(text, out.data, out.size - 1);
    text[out.size - 1] = '\0';
    buf_finish(&out);
    return text;
}

static void assert_row_has(const struct shown *shown, size_t y, const char *text)
{
    if (!strstr(row(shown, y), text))
        fail_msg("'%s' is not in '%s'", text, row(shown, y));
}

static void the_head_says_what_is_sampled_and_how_well(void **state)
{
    struct shown *shown = *state;

    look(shown, WIDTH, HEIGHT);

    assert_row_has(shown, 0, "shop  process 4242  Python 3.13.1");
    assert_row_has(shown, 0, " 1:01");
    assert_string_equal(row(shown, 1),
                        "CPU 70.1%  pystrobe 2.0%  100 of 100 Hz  torn 0.0%  4 threads");
    assert_string_equal(row(shown, 2), "functions by own cpu time, % of the last 1.0 s");
    assert_row_has(shown, HEIGHT - 1, "q quit");
}

static void the_head_has_rates_in_whole_numbers(void **state)
{
    struct shown *shown = *state;

    shown->info.rate_hz = 10000;
    look(shown, WIDTH, HEIGHT);
    assert_row_has(shown, 1, "  10000 of 10000 Hz  ");
    shown->info.rate_hz = 0.25;
    look(shown, WIDTH, HEIGHT);
    assert_row_has(shown, 1, "  0.25 of 0.25 Hz  ");
}

static void the_head_counts_what_cannot_be_read(void **state)
{
    struct shown *shown = *state;

    shown->info.refused = 2;
    look(shown, WIDTH, HEIGHT);

    assert_row_has(shown, 1, "  4 threads  2 unreadable");
}

static void functions_come_by_own_cpu_time(void **state)
{
    struct shown *shown = *state;

    look(shown, WIDTH, HEIGHT);

    assert_string_equal(row(shown, HEAD),
                        "   60.0   60.0  600.00ms  600.00ms  hot                        "
                        "/srv/hot.py:1");
    assert_row_has(shown, HEAD + 1, "cool");
    assert_row_has(shown, HEAD + 3, "main");
    assert_row_has(shown, HEAD + 3, "    0.0   70.1");
    assert_string_equal(row(shown, HEAD + 6), ""); /* idle has had no CPU */
}

static void keys_choose_the_value_and_the_order(void **state)
{
    struct shown *shown = *state;

    press(shown, 'w');
    assert_row_has(shown, HEAD, "idle");
    press(shown, 'g');
    assert_row_has(shown, HEAD, "cool");
    press(shown, '\t');
    assert_row_has(shown, 2, "own cpu time");
    press(shown, 't');
    assert_row_has(shown, HEAD, "main");
    assert_row_has(shown, 2, "total cpu time");
    press(shown, 'n');
    assert_row_has(shown, HEAD + 1, "cool"); /* behind the name that begins with an escape */
    press(shown, 'a');
    assert_row_has(shown, 2, "% of all 1.0 s");
}

static void a_filter_leaves_what_has_it_in_name_or_file(void **state)
{
    struct shown *shown = *state;

    press(shown, '/');
    type(shown, "HOTx");
    press(shown, TOP_KEY_BACKSPACE);
    assert_row_has(shown, HEIGHT - 1, "filter: HOT");
    press(shown, TOP_KEY_ENTER);
    assert_row_has(shown, HEAD, "hot");
    assert_string_equal(row(shown, HEAD + 1), "");
    assert_row_has(shown, 2, "filter: HOT");
    press(shown, TOP_KEY_ESCAPE);
    assert_row_has(shown, HEAD + 1, "cool");
    press(shown, '/');
    type(shown, "nothing of that name");
    assert_row_has(shown, HEAD, "nothing matches");
    press(shown, TOP_KEY_ESCAPE);
    assert_row_has(shown, HEAD, "hot");
}

static void a_filter_may_be_of_any_script(void **state)
{
    struct shown *shown = *state;
    size_t i;

    press(shown, '/');
    press(shown, 0x65e5);
    assert_string_equal(shown->state.filter, "\xE6\x97\xA5");
    assert_row_has(shown, HEAD, WIDE);
    press(shown, TOP_KEY_BACKSPACE);
    assert_string_equal(shown->state.filter, "");
    for (i = 0; i < 2 * TOP_FILTER_MAX; i++)
        press(shown, 0x1f40d);

    assert_int_equal(strlen(shown->state.filter), (TOP_FILTER_MAX - 1) / 4 * 4);
    press(shown, 0x15); /* Ctrl-U */
    assert_string_equal(shown->state.filter, "");
}

static void enter_shows_the_lines_of_a_function(void **state)
{
    struct shown *shown = *state;

    press(shown, TOP_KEY_ENTER);
    assert_row_has(shown, 2, "lines of hot by own cpu time");
    assert_row_has(shown, HEAD, "/srv/hot.py:11");
    assert_string_equal(row(shown, HEAD + 1), "");
    press(shown, TOP_KEY_ESCAPE);
    assert_row_has(shown, 2, "functions");
    press(shown, 'l');
    assert_row_has(shown, HEAD + 1, "/srv/cool.py:11");
    press(shown, 'l');
    assert_row_has(shown, 2, "functions");
}

static void threads_have_a_status_and_shares(void **state)
{
    struct shown *shown = *state;

    press(shown, 'T');

    assert_row_has(shown, 2, "threads by cpu time");
    assert_string_equal(row(shown, HEAD), "       7 ?           60.0   10.0    0.0  a: hot");
    assert_row_has(shown, HEAD + 1, "b: cool");
    press(shown, 'f');
    assert_row_has(shown, 2, "functions");
}

static void the_mark_moves_and_the_list_with_it(void **state)
{
    struct shown *shown = *state;
    const struct top_cells *cells = &shown->cells;

    look(shown, WIDTH, HEIGHT);
    assert_int_equal(cells->cells[HEAD * WIDTH].style, TOP_CURSOR);
    press(shown, TOP_KEY_DOWN);
    assert_int_equal(cells->cells[HEAD * WIDTH].style, TOP_PLAIN);
    assert_int_equal(cells->cells[(HEAD + 1) * WIDTH].style, TOP_CURSOR);
    press(shown, TOP_KEY_END);
    assert_int_equal(shown->state.cursor, shown->list.count - 1);
    press(shown, TOP_KEY_PAGE_DOWN);
    assert_int_equal(shown->state.cursor, shown->list.count - 1);
    look(shown, WIDTH, HEAD + 3 + 1); /* room for three */
    assert_int_equal(shown->state.first, shown->list.count - 3);
    press(shown, TOP_KEY_PAGE_UP);
    assert_int_equal(shown->state.cursor, 0);
    assert_int_equal(shown->state.first, 0);
}

static void pause_end_and_help_are_told(void **state)
{
    struct shown *shown = *state;

    press(shown, ' ');
    assert_row_has(shown, 0, "PAUSED");
    press(shown, ' ');
    shown->info.ended = true;
    press(shown, '?');
    assert_row_has(shown, 1, "the keys");
    press(shown, 'x');
    assert_row_has(shown, 0, "ENDED");
    assert_false(top_state_key(&shown->state, 'q', &shown->list, 1));
}

static void the_help_fits_on_a_small_screen(void **state)
{
    struct shown *shown = *state;
    size_t y;

    shown->state.help = true;
    look(shown, 60, 15);

    for (y = 0; y < 15; y++)
        assert_null(strstr(row(shown, y), "…"));
    assert_row_has(shown, 13, "100%");
}

/* Nothing may be obeyed, and each row must be as wide as the screen. */
static void names_cannot_drive_the_terminal(void **state)
{
    struct shown *shown = *state;
    static const uint32_t kinds[] = {'f', 'l', 'T'};
    const struct top_cell *cell;
    size_t kind, width, x, y, columns;

    shown->info.name = ESCAPES WIDE;
    for (kind = 0; kind < 3; kind++) {
        press(shown, kinds[kind]);
        for (width = 1; width < 100; width++) {
            look(shown, width, HEIGHT);
            for (y = 0; y < HEIGHT; y++) {
                for (x = columns = 0; x < width; x++) {
                    cell = &shown->cells.cells[y * width + x];
                    columns += cell->width;
                    assert_true(cell->size == 0 || (unsigned char)cell->text[0] >= ' ');
                    assert_true(cell->size < 2 || (unsigned char)cell->text[0] >= 0xc2);
                    assert_true(cell->width < 2 || x + 1 < width);
                }
                assert_int_equal(columns, width);
            }
        }
    }
    press(shown, 'f');
    assert_row_has(shown, HEAD + 2, "\\x1b[2J\\u009b");
}

static void all_sizes_are_survived(void **state)
{
    struct shown *shown = *state;
    static const size_t sizes[] = {0, 1, 2, 3, 5, 6, 7, 8, 9, 15, 60, 200, TOP_SIDE_MAX + 5};
    static const uint32_t keys[] = {'f', 'l', 'T', '/', TOP_KEY_ENTER, '?'};
    size_t count = sizeof(sizes) / sizeof(sizes[0]), i, k;

    for (k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
        press(shown, keys[k]);
        for (i = 0; i < count * count; i++)
            look(shown, sizes[i / count], sizes[i % count]);
    }
}

static void other_terminals_get_ascii(void **state)
{
    struct shown *shown = *state;
    size_t i;

    look(shown, WIDTH, HEIGHT);
    top_cells_finish(&shown->cells);
    assert_true(top_cells_init(&shown->cells, 50, HEIGHT, true));
    top_view(shown->model, &shown->list, &shown->state, &shown->info, &shown->cells);

    for (i = 0; i < 50 * HEIGHT; i++)
        assert_true(shown->cells.cells[i].size == 1 &&
                    (unsigned char)shown->cells.cells[i].text[0] < 0x7f);
    assert_row_has(shown, 1, "~");
}

int main(void)
{
#define SHOWN(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        SHOWN(the_head_says_what_is_sampled_and_how_well),
        SHOWN(the_head_has_rates_in_whole_numbers),
        SHOWN(the_head_counts_what_cannot_be_read),
        SHOWN(functions_come_by_own_cpu_time),
        SHOWN(keys_choose_the_value_and_the_order),
        SHOWN(a_filter_leaves_what_has_it_in_name_or_file),
        SHOWN(a_filter_may_be_of_any_script),
        SHOWN(enter_shows_the_lines_of_a_function),
        SHOWN(threads_have_a_status_and_shares),
        SHOWN(the_mark_moves_and_the_list_with_it),
        SHOWN(pause_end_and_help_are_told),
        SHOWN(the_help_fits_on_a_small_screen),
        SHOWN(names_cannot_drive_the_terminal),
        SHOWN(all_sizes_are_survived),
        SHOWN(other_terminals_get_ascii),
    };

    return cmocka_run_group_tests_name("top_view", tests, NULL, NULL);
}
