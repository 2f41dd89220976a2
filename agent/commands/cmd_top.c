/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_top.c - `pystrobe top`: where processes spend their time, live on a terminal. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/child/child_process.h"
#include "agent/cli/option_table.h"
#include "agent/cli/record_text.h"
#include "agent/commands/commands.h"
#include "agent/dump/read_watchdog.h"
#include "agent/host/clock.h"
#include "agent/host/file_limit.h"
#include "agent/host/log.h"
#include "agent/top/live.h"
#include "agent/top/screen.h"

static const char help[] =
    "Usage: pystrobe top [OPTIONS] --pid PID [--children]\n"
    "       pystrobe top [OPTIONS] --target NAME\n"
    "       pystrobe top [OPTIONS] -- COMMAND [ARGUMENT...]\n\n"
    "Shows live in which functions, lines and threads a process, or a command and\n"
    "its Python descendants, spends CPU, wall and GIL time. ? shows the keys, q\n"
    "quits.\n\n"
    "  -p, --pid PID        the process\n"
    "  -C, --children       and its Python descendants\n"
    "      --target NAME    all processes that run a script, module or app of that\n"
    "                       name\n"
    "      --delay TIME     between two updates; default: 1s\n"
    "  -r, --rate RATE      samples a second, up to 10000; default 100Hz\n"
    "  -N, --iterations N   print N updates as plain text; needs no terminal\n"
    "  -h, --help           this text\n\n"
    "A share of 100% is one CPU, one thread or the GIL all the time. A\n"
    "command's output to the terminal is discarded.\n\n"
    "Exit status: that of the command; else 0, 1 if the terminal cannot be used, 64\n"
    "for wrong usage, 69 if there was no Python to sample, 77 without the right\n"
    "to read it.\n\n"
    "Example:\n"
    "  pystrobe top --pid 4242\n";

enum { PLAIN_WIDTH = 120, PLAIN_ROWS = 20, PLAIN_MAX = 1 << 20, ITERATIONS_MAX = 1000000 };

#define DELAY_MIN_NS (50 * NS_PER_MS)

struct request {
    struct target_selection selection;
    uint64_t delay_ns;
    double rate_hz;
    unsigned long iterations; /* 0: on the terminal */
};

struct run {
    const struct request *request;
    struct target_selection *selection; /* borrowed: the request's */
    struct top_live live;
    struct top_state state;
    struct top_list list; /* owned */
    uint64_t next_ns;     /* monotonic: of the next update */
};

/* A process blocks us; this thread has to do what the other cannot. */
static int abandon_top(void *ctx)
{
    struct run *run = ctx;

    screen_restore();
    return run->selection->child.pid > 0 ? command_wait(&run->selection->child) : EXIT_UNAVAILABLE;
}

/* The rows of the list that are on the screen. */
static size_t page_of(const struct run *run, size_t height)
{
    return top_view_page(&run->live.info, height);
}

/* Lays out what there is. False: out of memory. */
static bool lay_out_screen(struct run *run, size_t width, size_t height, struct top_cells *cells)
{
    size_t page = page_of(run, height);

    if (!top_list_make(run->live.model, &run->state, &run->list))
        return false;
    top_state_fit(&run->state, &run->list, page);
    if (run->state.kind == TOP_THREADS)
        top_live_states(&run->live, &run->list, run->state.first, page);
    if (!top_cells_init(cells, width, height, !run->live.info.plain && !screen_has_utf8()))
        return false;
    top_view(run->live.model, &run->list, &run->state, &run->live.info, cells);
    return true;
}

static bool draw(struct run *run)
{
    struct top_cells cells;
    size_t width, height;

    screen_size(&width, &height);
    if (!lay_out_screen(run, width, height, &cells))
        return false;
    screen_draw(&cells);
    top_cells_finish(&cells);
    return true;
}

/* Prints an update. False: nobody reads it, or there is no memory. */
static bool print_plain(struct run *run, bool last)
{
    const char *columns = getenv("COLUMNS");
    size_t width = columns ? (size_t)strtoul(columns, NULL, 10) : 0, rows;
    struct top_cells cells;
    struct buf out;
    bool good;

    if (!top_list_make(run->live.model, &run->state, &run->list))
        return false;
    rows = run->list.count < PLAIN_ROWS ? run->list.count : PLAIN_ROWS;
    /* What the page has no room for is its head. */
    rows += 2 * PLAIN_ROWS - page_of(run, 2 * PLAIN_ROWS);
    if (!lay_out_screen(run, width ? width : PLAIN_WIDTH, rows, &cells))
        return false;
    buf_init(&out, PLAIN_MAX);
    top_cells_text(&cells, &out);
    top_cells_finish(&cells);
    if (!last)
        buf_add_str(&out, "\n");
    good = !buf_failed(&out) && fwrite(out.data, 1, out.size, stdout) == out.size &&
           fflush(stdout) == 0;
    buf_finish(&out);
    return good;
}

/* What a loop does next. */
enum next { NEXT_GO_ON, NEXT_LEAVE, NEXT_FAILED };

/* The keys that were pressed. */
static enum next take_keys(struct run *run)
{
    size_t width, height;
    uint32_t key;

    if (screen_is_gone())
        return NEXT_LEAVE;
    screen_size(&width, &height);
    while ((key = screen_key()) != TOP_KEY_NONE) {
        if (!top_state_key(&run->state, key, &run->list, page_of(run, height)))
            return NEXT_LEAVE;
        /* The next key may be about another list. */
        if (!top_list_make(run->live.model, &run->state, &run->list))
            return NEXT_FAILED;
    }
    return NEXT_GO_ON;
}

static enum next take_signal(struct run *run, const struct signalfd_siginfo *info)
{
    int number = (int)info->ssi_signo;

    if (number == SIGTSTP) {
        screen_suspend();
        return NEXT_GO_ON;
    }
    if (number == SIGWINCH)
        return NEXT_GO_ON; /* whoever draws looks at the size */
    if (run->selection->command)
        command_handle(&run->selection->child, info);
    return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT
               ? NEXT_LEAVE
               : NEXT_GO_ON;
}

/* A slice of time is over. */
static enum next update(struct run *run)
{
    run->next_ns = clock_mono_ns() + run->request->delay_ns;
    if (run->state.paused || run->live.info.ended)
        return NEXT_GO_ON; /* what comes meanwhile is in the next slice */
    return top_live_slice(&run->live) ? NEXT_GO_ON : NEXT_FAILED;
}

/* Waits for something to happen, and does what it asks for. */
static enum next wait_and_update(struct run *run)
{
    struct signalfd_siginfo info;
    enum engine_event event = engine_run(run->live.engine, run->next_ns, &info);

    if (event == ENGINE_FAILED)
        return NEXT_FAILED;
    if (event == ENGINE_SIGNAL)
        return take_signal(run, &info);
    return event == ENGINE_MESSAGES ? take_keys(run) : update(run);
}

/* Waits until there is something to show, or will never be. */
static enum next await_first(struct run *run)
{
    enum next next = NEXT_GO_ON;

    run->next_ns = clock_mono_ns() + run->request->delay_ns;
    while (next == NEXT_GO_ON && engine_stats(run->live.engine)->attached == 0 &&
           !top_live_is_over(&run->live))
        next = wait_and_update(run);
    return next;
}

static enum next show_on_screen(struct run *run)
{
    enum next next = NEXT_GO_ON;
    struct err err = {""};

    if (!screen_open(&err)) {
        (void)fprintf(stderr, "pystrobe: %s; -N 1 prints plain text, record writes a file\n",
                      err.text);
        return NEXT_FAILED;
    }
    while (next == NEXT_GO_ON)
        next = draw(run) ? wait_and_update(run) : NEXT_FAILED;
    screen_close();
    return next;
}

static enum next show_as_text(struct run *run)
{
    unsigned long done = 0;
    uint64_t slices = run->live.slices;
    enum next next = NEXT_GO_ON;

    while (next == NEXT_GO_ON && done < run->request->iterations) {
        next = wait_and_update(run);
        if (next == NEXT_GO_ON && run->live.slices == slices)
            continue;
        slices = run->live.slices;
        done++;
        if (next == NEXT_GO_ON && !print_plain(run, done == run->request->iterations))
            next = NEXT_FAILED;
        if (run->live.info.ended)
            break;
    }
    return next;
}

/* The streams of a command that is about to run must not get in the way of the screen. */
static void silence(int saved[3])
{
    int fd, nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (fd = 0; fd < 3; fd++) {
        saved[fd] = nothing >= 0 && isatty(fd) ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
        if (saved[fd] >= 0)
            (void)dup2(nothing, fd);
    }
    if (nothing >= 0)
        (void)close(nothing);
}

static void unsilence(const int saved[3])
{
    for (int fd = 0; fd < 3; fd++)
        if (saved[fd] >= 0) {
            (void)dup2(saved[fd], fd);
            (void)close(saved[fd]);
        }
}

static int start_command(struct run *run, const sigset_t *mask)
{
    struct err err = {""};
    int saved[3] = {-1, -1, -1}, status;

    if (run->request->iterations == 0)
        silence(saved);
    status = command_start(&run->selection->child, run->selection->command, mask, &err);
    unsilence(saved);
    if (status != EXIT_OK)
        (void)fprintf(stderr, "pystrobe: %s\n", err.text);
    return status;
}

/* Says what was not in the view, now that the terminal is free. */
static void print_missing(const struct run *run)
{
    const struct buf *warnings = engine_warnings(run->live.engine);
    struct buf out;

    buf_init(&out, PLAIN_MAX);
    buf_add(&out, warnings->data, warnings->size);
    record_text_refused(engine_refused(run->live.engine), &out);
    target_selection_explain_descent(run->selection, &out);
    if (out.size > 0 && !buf_failed(&out))
        (void)fwrite(out.data, 1, out.size, stderr);
    buf_finish(&out);
}

/* Samples and shows until it is over. Gives the exit status of top itself. */
static int run_live(struct run *run)
{
    enum next next = await_first(run);

    if (next == NEXT_GO_ON && engine_stats(run->live.engine)->attached == 0)
        return target_selection_explain_nothing(run->selection, engine_stats(run->live.engine),
                                                &(const struct cpy_stats){0});
    if (next == NEXT_GO_ON)
        next = run->request->iterations ? show_as_text(run) : show_on_screen(run);
    print_missing(run);
    return next == NEXT_FAILED ? EXIT_FAILED : EXIT_OK;
}

static int run_top(struct run *run)
{
    sigset_t signals, before;
    int status;

    command_block_signals(&signals, &before);
    if (run->request->iterations == 0) {
        (void)sigaddset(&signals, SIGWINCH);
        (void)sigaddset(&signals, SIGTSTP);
        (void)sigprocmask(SIG_BLOCK, &signals, NULL);
    }
    if (!top_live_open(&run->live, run->selection, &signals, run->request->iterations == 0)) {
        (void)fputs("pystrobe: out of memory or file descriptors\n", stderr);
        return EXIT_FAILED;
    }
    status = run->selection->command ? start_command(run, &before) : EXIT_OK;
    if (status != EXIT_OK)
        return status;
    file_limit_raise();
    read_watchdog_start(abandon_top, run); /* from here on there is more than one thread */
    status = run_live(run);
    if (!run->selection->command)
        return status;
    /* The command's own status counts, unless it succeeded and we did not. */
    return command_wait(&run->selection->child) ? run->selection->child.exit_status : status;
}

static bool read_iterations(const char *text, void *out)
{
    char *end;
    unsigned long count = strtoul(text, &end, 10);

    *(unsigned long *)out = count;
    if (text[0] >= '0' && text[0] <= '9' && *end == '\0' && count > 0 && count <= ITERATIONS_MAX)
        return true;
    (void)fprintf(stderr, "pystrobe: '%s' is not a number of updates from 1 to %d\n", text,
                  ITERATIONS_MAX);
    return false;
}

#define FIELD(field) OPTION_FIELD(struct request, field)

static const struct option_row rows[] = {
    {"pid", 'p', OPTION_PID, FIELD(selection.pid)},
    {"children", 'C', OPTION_FLAG, FIELD(selection.children), .old = 'c'},
    {"target", 0, OPTION_TEXT, FIELD(selection.target)},
    {"delay", 0, OPTION_DURATION, FIELD(delay_ns), .old = 'd'},
    {"rate", 'r', OPTION_RATE, FIELD(rate_hz)},
    {"iterations", 'N', OPTION_READ, FIELD(iterations), .read = read_iterations, .old = 'n'},
    {.name = NULL},
};

/* Says what is wrong if there is no terminal to show it on. */
static bool has_terminal(const struct request *request)
{
    if (request->iterations || (isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1))
        return true;
    (void)fputs(
        "pystrobe: top needs a terminal: use top -N 1, or pystrobe record and pystrobe report\n",
        stderr);
    return false;
}

int cmd_top(int argc, char **argv)
{
    static const struct option_table table = {.rows = rows, .help = help, .ends_at_word = true};
    struct request request = {.delay_ns = NS_PER_S, .rate_hz = 100};
    struct run run = {.request = &request, .selection = &request.selection};
    char command[PROC_COMMAND_MAX];
    int status;

    if (!option_table_read(&table, argc, argv, &request, &status))
        return status;
    request.selection.command = optind < argc ? argv + optind : NULL;
    if (!target_selection_fits(&request.selection, "top") || !has_terminal(&request))
        return options_usage("top");
    if (request.delay_ns < DELAY_MIN_NS)
        request.delay_ns = DELAY_MIN_NS;
    log_init(LOG_LEVEL_ERROR);
    request.selection.profile =
        (struct target_profile){.rate_hz = request.rate_hz, .split = SPLIT_THREAD};
    if (request.selection.pid && !options_may_read(request.selection.pid, command))
        return EXIT_UNAVAILABLE;
    request.selection.reader = proc_reader_new(CHILD_PROCESS_SELF);
    if (!request.selection.reader || !target_selection_begin(&request.selection)) {
        (void)fputs("pystrobe: out of memory\n", stderr);
        return EXIT_FAILED;
    }
    top_state_init(&run.state);
    status = run_top(&run);
    top_live_close(&run.live);
    top_list_finish(&run.list);
    target_selection_finish(&request.selection);
    proc_reader_free(request.selection.reader);
    return status;
}
