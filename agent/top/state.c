/* SPDX-License-Identifier: Apache-2.0 */
/* state.c - see state.h. */
#include "agent/top/state.h"

#include <string.h>

#include "agent/top/list.h"
#include "base/utf8.h"

enum { CONTROL_U = 0x15, DELETE = 0x7f };

void top_state_init(struct top_state *state)
{
    *state = (struct top_state){.kind = TOP_FUNCTIONS, .value = VALUE_CPU};
}

/* Another list: begins at its top. */
static void show_list(struct top_state *state, enum top_kind kind, uint32_t function)
{
    state->kind = kind;
    state->function = function;
    state->cursor = state->first = 0;
}

/* Appends a character to the filter as UTF-8, if there is room and it can be seen. */
static void add_to_filter(struct top_state *state, uint32_t c)
{
    char utf8[UTF8_CHAR_MAX];
    size_t used = strlen(state->filter), size = utf8_encode(c, utf8);

    if (c < ' ' || c == DELETE || size == 0 || used + size >= TOP_FILTER_MAX)
        return;
    memcpy(state->filter + used, utf8, size);
    state->filter[used + size] = '\0';
}

static void shorten_filter(struct top_state *state)
{
    size_t used = strlen(state->filter);

    while (used > 0 && utf8_is_continuation(state->filter[used - 1]))
        used--;
    state->filter[used > 0 ? used - 1 : 0] = '\0';
}

static void edit(struct top_state *state, uint32_t key)
{
    state->cursor = state->first = 0;
    if (key == TOP_KEY_BACKSPACE || key == DELETE || key == '\b') {
        shorten_filter(state);
    } else if (key == CONTROL_U) {
        state->filter[0] = '\0';
    } else if (key == TOP_KEY_ENTER || key == TOP_KEY_ESCAPE) {
        state->editing = false;
        if (key == TOP_KEY_ESCAPE)
            state->filter[0] = '\0';
    } else {
        add_to_filter(state, key);
    }
}

/* Moves the mark. False: the key does something else. */
static bool move_cursor(struct top_state *state, uint32_t key, size_t count, size_t page)
{
    size_t *cursor = &state->cursor, step = page > 1 ? page - 1 : 1;

    if (key == TOP_KEY_UP || key == 'k')
        *cursor -= *cursor > 0;
    else if (key == TOP_KEY_DOWN || key == 'j')
        ++*cursor;
    else if (key == TOP_KEY_PAGE_UP)
        *cursor -= *cursor < step ? *cursor : step;
    else if (key == TOP_KEY_PAGE_DOWN)
        *cursor += step;
    else if (key == TOP_KEY_HOME)
        *cursor = 0;
    else if (key == TOP_KEY_END)
        *cursor = count;
    else
        return false;
    return true;
}

/* The lines of the function that is marked, or of that of the line. */
static void show_function_lines(struct top_state *state, const struct top_list *list)
{
    if (state->kind == TOP_FUNCTIONS && state->cursor < list->count)
        show_list(state, TOP_LINES, list->items[state->cursor]);
}

/* One step back: the help, a function's lines, the filter. */
static void go_one_level_up(struct top_state *state)
{
    if (state->help)
        state->help = false;
    else if (state->function)
        show_list(state, TOP_FUNCTIONS, 0);
    else
        state->filter[0] = '\0';
}

static void next_value(struct top_state *state)
{
    state->value = state->value == VALUE_CPU    ? VALUE_WALL
                   : state->value == VALUE_WALL ? VALUE_GIL
                                                : VALUE_CPU;
}

/* Keys that choose what is shown. False: it is none of them. */
static bool handle_choice_key(struct top_state *state, uint32_t key)
{
    switch (key) {
    case 'c':
        state->value = VALUE_CPU;
        return true;
    case 'w':
        state->value = VALUE_WALL;
        return true;
    case 'g':
        state->value = VALUE_GIL;
        return true;
    case '\t':
        next_value(state);
        return true;
    case 'o':
        state->sort = TOP_SORT_OWN;
        return true;
    case 't':
        state->sort = TOP_SORT_TOTAL;
        return true;
    case 'n':
        state->sort = TOP_SORT_NAME;
        return true;
    case 'a':
        state->whole = !state->whole;
        return true;
    default:
        return false;
    }
}

/* Keys that choose the list, or stand for a mode. */
static void change(struct top_state *state, uint32_t key, const struct top_list *list)
{
    switch (key) {
    case 'f':
        show_list(state, TOP_FUNCTIONS, 0);
        break;
    case 'l':
        show_list(state, state->kind == TOP_LINES ? TOP_FUNCTIONS : TOP_LINES, 0);
        break;
    case 'T':
        show_list(state, state->kind == TOP_THREADS ? TOP_FUNCTIONS : TOP_THREADS, 0);
        break;
    case '/':
        state->editing = true;
        break;
    case ' ':
    case 'p':
        state->paused = !state->paused;
        break;
    case '?':
    case 'h':
        state->help = true;
        break;
    case TOP_KEY_ENTER:
        show_function_lines(state, list);
        break;
    case TOP_KEY_ESCAPE:
    case TOP_KEY_BACKSPACE:
        go_one_level_up(state);
        break;
    default:
        break;
    }
}

bool top_state_key(struct top_state *state, uint32_t key, const struct top_list *list, size_t page)
{
    if (state->editing) {
        edit(state, key);
        return true;
    }
    if (key == 'q' || key == 'Q')
        return false;
    if (state->help)
        state->help = false; /* whatever it is, it was read */
    else if (!move_cursor(state, key, list->count, page) && !handle_choice_key(state, key))
        change(state, key, list);
    top_state_fit(state, list, page);
    return true;
}

void top_state_fit(struct top_state *state, const struct top_list *list, size_t page)
{
    if (state->cursor >= list->count)
        state->cursor = list->count > 0 ? list->count - 1 : 0;
    if (state->first > state->cursor)
        state->first = state->cursor;
    if (page > 0 && state->cursor - state->first >= page)
        state->first = state->cursor - page + 1;
    if (page > 0 && state->first > 0 && list->count - state->first < page)
        state->first = list->count > page ? list->count - page : 0;
}
