/* SPDX-License-Identifier: Apache-2.0 */
/* screen.c - see screen.h. */
#include "agent/top/screen.h"

#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "agent/cli/options.h"
#include "agent/top/ncurses_api.h"
#include "agent/top/state.h"

enum { CONTROL_L = 0x0c, ESCAPE = 0x1b, ESCAPE_WAIT_MS = 25, SEQUENCE_MAX = 64 };

static struct {
    SCREEN *screen; /* owned */
    WINDOW *window; /* owned: all of it */
    bool colours, utf8;
    struct termios before;
    /* What puts the terminal back. */
    char endings[4][SEQUENCE_MAX];
    int stderr_fd, diverted_fd; /* owned: the real one, and what is kept back; -1: none */
    _Atomic bool taken;
} term = {.stderr_fd = -1, .diverted_fd = -1};

/* How styles look, with colours and without. */
static const struct {
    short pair;
    attr_t with, without;
} looks[TOP_STYLES] = {
    [TOP_PLAIN] = {0, A_NORMAL, A_NORMAL},   [TOP_STRONG] = {0, A_BOLD, A_BOLD},
    [TOP_HEAD] = {1, A_NORMAL, A_UNDERLINE}, [TOP_HOT] = {2, A_BOLD, A_BOLD},
    [TOP_WARM] = {3, A_NORMAL, A_NORMAL},    [TOP_FAINT] = {4, A_NORMAL, A_NORMAL},
    [TOP_ALERT] = {5, A_BOLD, A_REVERSE},    [TOP_CURSOR] = {6, A_NORMAL, A_REVERSE},
};

static const struct {
    short front, back; /* -1: the terminal's own */
} pairs[] = {
    {COLOR_BLACK, COLOR_GREEN}, {COLOR_RED, -1},          {COLOR_YELLOW, -1},
    {COLOR_CYAN, -1},           {COLOR_WHITE, COLOR_RED}, {COLOR_BLACK, COLOR_CYAN},
};

/* Copies what was written to stderr meanwhile to where it belongs. */
static void give_back_stderr(void)
{
    char bytes[4096];
    ssize_t got;
    off_t at = 0;

    if (term.stderr_fd < 0)
        return;
    (void)dup2(term.stderr_fd, STDERR_FILENO);
    while ((got = pread(term.diverted_fd, bytes, sizeof(bytes), at)) > 0) {
        (void)!write(STDERR_FILENO, bytes, (size_t)got);
        at += got;
    }
}

void screen_restore(void)
{
    if (!atomic_exchange_explicit(&term.taken, false, memory_order_acq_rel))
        return;
    for (size_t i = 0; i < sizeof(term.endings) / sizeof(term.endings[0]); i++)
        (void)!write(STDOUT_FILENO, term.endings[i], strlen(term.endings[i]));
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &term.before);
    give_back_stderr();
}

static void crash(int number)
{
    screen_restore();
    (void)raise(number); /* which does what it would have done: the handler is gone */
}

/* What ends us by a mistake of ours leaves the terminal as it was, too. */
static void catch_crashes(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
    struct sigaction action = {.sa_handler = crash, .sa_flags = (int)SA_RESETHAND}, before;

    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            (void)sigaction(signals[i], &action, NULL);
}

static void divert_stderr(void)
{
    if (isatty(STDERR_FILENO) != 1)
        return;
    term.diverted_fd = memfd_create("stderr", MFD_CLOEXEC);
    term.stderr_fd = term.diverted_fd < 0 ? -1 : dup(STDERR_FILENO);
    if (term.stderr_fd >= 0)
        (void)dup2(term.diverted_fd, STDERR_FILENO);
}

/* Notes what puts the terminal back, of what it can. */
static void note_endings(void)
{
    static const char *const names[] = {"rmkx", "sgr0", "cnorm", "rmcup"};
    const char *sequence;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        sequence = ncurses.tigetstr(names[i]);
        term.endings[i][0] = '\0';
        /* One that asks for pauses is for terminals of old. */
        if (sequence && sequence != (const char *)-1 && !strstr(sequence, "$<") &&
            strlen(sequence) < SEQUENCE_MAX)
            (void)snprintf(term.endings[i], SEQUENCE_MAX, "%s", sequence);
    }
}

static void set_colours(void)
{
    term.colours = options_colour() && ncurses.has_colors() && ncurses.start_color() != ERR &&
                   ncurses.use_default_colors() != ERR;
    for (size_t i = 0; term.colours && i < sizeof(pairs) / sizeof(pairs[0]); i++)
        (void)ncurses.init_pair((short)(i + 1), pairs[i].front, pairs[i].back);
}

bool screen_open(struct err *err)
{
    const char *type = getenv("TERM");

    (void)setlocale(LC_CTYPE, "");
    term.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    if (!ncurses_api_load(err))
        return false;
    if (tcgetattr(STDIN_FILENO, &term.before) != 0 ||
        !(term.screen = ncurses.newterm(type ? type : "dumb", stdout, stdin))) {
        err_set(err, "this terminal cannot be used (TERM is '%.40s')", type ? type : "");
        return false;
    }
    note_endings();
    divert_stderr();
    atomic_store_explicit(&term.taken, true, memory_order_release);
    catch_crashes();
    (void)ncurses.cbreak();
    (void)ncurses.noecho();
    (void)ncurses.curs_set(0);
    (void)ncurses.set_escdelay(ESCAPE_WAIT_MS);
    term.window = ncurses.newwin(0, 0, 0, 0);
    if (!term.window) {
        screen_close();
        err_set(err, "out of memory");
        return false;
    }
    (void)ncurses.keypad(term.window, TRUE);
    (void)ncurses.nodelay(term.window, TRUE);
    set_colours();
    return true;
}

bool screen_has_utf8(void)
{
    return term.utf8;
}

void screen_size(size_t *width, size_t *height)
{
    struct winsize size = {0};

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
        size = (struct winsize){.ws_row = 24, .ws_col = 80};
    if (ncurses.getmaxx(term.window) != size.ws_col ||
        ncurses.getmaxy(term.window) != size.ws_row) {
        (void)ncurses.resize_term(size.ws_row, size.ws_col);
        (void)ncurses.wresize(term.window, size.ws_row, size.ws_col);
        (void)ncurses.clearok(term.window, TRUE);
    }
    *width = size.ws_col;
    *height = size.ws_row;
}

/* True if the C library takes a cell for as wide as we do: else what follows would move. */
static bool is_as_wide(const struct top_cell *cell)
{
    wchar_t wide[TOP_CELL_BYTES + 1];
    char text[TOP_CELL_BYTES + 1];
    size_t count, i;

    memcpy(text, cell->text, cell->size);
    text[cell->size] = '\0';
    count = mbstowcs(wide, text, TOP_CELL_BYTES);
    if (count == (size_t)-1 || count == 0 || wcwidth(wide[0]) != cell->width)
        return false;
    for (i = 1; i < count; i++)
        if (wcwidth(wide[i]) != 0)
            return false;
    return true;
}

static void draw_cell(const struct top_cell *cell)
{
    const char *unknown = cell->width == 2 ? "??" : "?";

    if (cell->size == 1 || is_as_wide(cell))
        (void)ncurses.waddnstr(term.window, cell->text, cell->size);
    else
        (void)ncurses.waddnstr(term.window, unknown, cell->width);
}

void screen_draw(const struct top_cells *cells)
{
    const struct top_cell *cell;
    int style = -1;
    size_t x, y;

    (void)ncurses.werase(term.window);
    for (y = 0; y < cells->height; y++)
        for (x = 0; x < cells->width; x++) {
            cell = &cells->cells[y * cells->width + x];
            if (cell->size == 0 || (cell->text[0] == ' ' && cell->style == TOP_PLAIN))
                continue; /* erased as it is */
            if (cell->style != style)
                (void)ncurses.wattr_set(term.window,
                                        term.colours ? looks[cell->style].with
                                                     : looks[cell->style].without,
                                        term.colours ? looks[cell->style].pair : 0, NULL);
            style = cell->style;
            (void)ncurses.wmove(term.window, (int)y, (int)x);
            draw_cell(cell);
        }
    (void)ncurses.wattr_set(term.window, A_NORMAL, 0, NULL);
    (void)ncurses.wrefresh(term.window);
}

static const struct {
    wint_t curses;
    uint32_t key;
} keys[] = {
    {KEY_UP, TOP_KEY_UP},
    {KEY_DOWN, TOP_KEY_DOWN},
    {KEY_PPAGE, TOP_KEY_PAGE_UP},
    {KEY_NPAGE, TOP_KEY_PAGE_DOWN},
    {KEY_HOME, TOP_KEY_HOME},
    {KEY_END, TOP_KEY_END},
    {KEY_ENTER, TOP_KEY_ENTER},
    {KEY_BACKSPACE, TOP_KEY_BACKSPACE},
    {KEY_F(1), '?'},
    {KEY_F(10), 'q'},
};

uint32_t screen_key(void)
{
    wint_t c = 0;
    int kind = ncurses.wget_wch(term.window, &c);

    if (kind == ERR)
        return TOP_KEY_NONE;
    if (kind != KEY_CODE_YES) {
        if (c == CONTROL_L)
            (void)ncurses.clearok(term.window, TRUE);
        return c == '\r' || c == '\n' ? TOP_KEY_ENTER : c == ESCAPE ? TOP_KEY_ESCAPE : (uint32_t)c;
    }
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (keys[i].curses == c)
            return keys[i].key;
    return '\0'; /* one that means nothing here; more may follow */
}

bool screen_is_gone(void)
{
    struct pollfd set = {.fd = STDIN_FILENO, .events = POLLIN};
    int waiting = 0;

    if (poll(&set, 1, 0) <= 0)
        return false;
    return ioctl(STDIN_FILENO, FIONREAD, &waiting) != 0 || waiting == 0;
}

void screen_suspend(void)
{
    (void)ncurses.endwin();
    (void)raise(SIGSTOP);
    (void)ncurses.clearok(term.window, TRUE); /* the next drawing takes the terminal again */
}

void screen_close(void)
{
    if (!term.screen)
        return;
    if (atomic_exchange_explicit(&term.taken, false, memory_order_acq_rel)) {
        (void)ncurses.endwin();
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &term.before);
        give_back_stderr();
    }
    if (term.window)
        (void)ncurses.delwin(term.window);
    ncurses.delscreen(term.screen);
    if (term.stderr_fd >= 0)
        (void)close(term.stderr_fd);
    if (term.diverted_fd >= 0)
        (void)close(term.diverted_fd);
    term.stderr_fd = term.diverted_fd = -1;
    term.screen = NULL;
    term.window = NULL;
}
