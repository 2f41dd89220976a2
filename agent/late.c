/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late.c - stands in for libcurl, libmicrohttpd and libncursesw in the program: loads each at its
 * first use.
 *
 * The first two bring thirty more libraries, and loading these takes longer than everything else
 * that `pystrobe exec` does before its command runs. Most commands need none of them; a command
 * whose profiles go to a store runs even where they are missing. Whoever links them in, as
 * tests do and static builds (LATE=), leaves this file out.
 */
#define CURL_DISABLE_TYPECHECK
#define NCURSES_NOMACROS 1
#include <curl/curl.h>
#include <curses.h>
#include <dlfcn.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#undef curl_easy_setopt
#undef curl_easy_getinfo

/* Of one value behind the dots each is read as the others: they have the same size and registers.
 */
_Static_assert(sizeof(long) == sizeof(void *) && sizeof(curl_off_t) == sizeof(void *),
               "libcurl's options are words");

static void *load(const char *library)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);

    if (!handle)
        (void)fprintf(stderr, "pystrobe: %s\n", dlerror());
    return handle;
}

/* Never unloaded: threads may be in them to the end. */
static void *curl_library, *http_library, *screen_library;

static void load_curl(void)
{
    curl_library = load("libcurl.so.4");
}

static void load_http(void)
{
    http_library = load("libmicrohttpd.so.12");
}

static void load_screen(void)
{
    screen_library = load("libncursesw.so.6");
}

static void *find_curl(const char *name)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, load_curl);
    return curl_library ? dlsym(curl_library, name) : NULL;
}

static void *find_http(const char *name)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, load_http);
    return http_library ? dlsym(http_library, name) : NULL;
}

static void *find_screen(const char *name)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, load_screen);
    return screen_library ? dlsym(screen_library, name) : NULL;
}

static char missing_version[] = "no libcurl";

/* clang-format off */
/* Defines a function that calls its namesake of the library; gives `missing` without the latter. */
#define LATE(find, type, name, parameters, arguments, missing) \
    type name parameters                                       \
    {                                                          \
        __typeof__(name) *real;                                \
                                                               \
        *(void **)&real = find(#name);                         \
        return real ? real arguments : (missing);              \
    }
#define LATE_VOID(find, name, parameters, arguments)           \
    void name parameters                                       \
    {                                                          \
        __typeof__(name) *real;                                \
                                                               \
        *(void **)&real = find(#name);                         \
        if (real)                                              \
            real arguments;                                    \
    }

LATE(find_curl, CURLcode, curl_global_init_mem,
     (long flags, curl_malloc_callback m, curl_free_callback f, curl_realloc_callback r,
      curl_strdup_callback s, curl_calloc_callback c),
     (flags, m, f, r, s, c), CURLE_FAILED_INIT)
LATE_VOID(find_curl, curl_global_cleanup, (void), ())
LATE(find_curl, char *, curl_version, (void), (), missing_version)
LATE(find_curl, curl_version_info_data *, curl_version_info, (CURLversion age), (age), NULL)
LATE(find_curl, time_t, curl_getdate, (const char *text, const time_t *unused), (text, unused), -1)
LATE_VOID(find_curl, curl_free, (void *memory), (memory))

LATE(find_curl, CURL *, curl_easy_init, (void), (), NULL)
LATE(find_curl, const char *, curl_easy_strerror, (CURLcode code), (code), "libcurl is missing")
LATE_VOID(find_curl, curl_easy_cleanup, (CURL *easy), (easy))

LATE(find_curl, CURLM *, curl_multi_init, (void), (), NULL)
LATE(find_curl, CURLMcode, curl_multi_add_handle, (CURLM *multi, CURL *easy), (multi, easy),
     CURLM_INTERNAL_ERROR)
LATE(find_curl, CURLMcode, curl_multi_remove_handle, (CURLM *multi, CURL *easy), (multi, easy),
     CURLM_INTERNAL_ERROR)
LATE(find_curl, CURLMcode, curl_multi_perform, (CURLM *multi, int *running), (multi, running),
     CURLM_INTERNAL_ERROR)
LATE(find_curl, CURLMcode, curl_multi_poll,
     (CURLM *multi, struct curl_waitfd fds[], unsigned count, int timeout_ms, int *ready),
     (multi, fds, count, timeout_ms, ready), CURLM_INTERNAL_ERROR)
LATE(find_curl, CURLMcode, curl_multi_wakeup, (CURLM *multi), (multi), CURLM_INTERNAL_ERROR)
LATE(find_curl, CURLMsg *, curl_multi_info_read, (CURLM *multi, int *left), (multi, left), NULL)
LATE(find_curl, CURLMcode, curl_multi_cleanup, (CURLM *multi), (multi), CURLM_INTERNAL_ERROR)

LATE(find_curl, struct curl_slist *, curl_slist_append,
     (struct curl_slist *list, const char *text), (list, text), NULL)
LATE_VOID(find_curl, curl_slist_free_all, (struct curl_slist *list), (list))

LATE(find_curl, CURLU *, curl_url, (void), (), NULL)
LATE(find_curl, CURLUcode, curl_url_set,
     (CURLU *url, CURLUPart part, const char *text, unsigned flags), (url, part, text, flags),
     CURLUE_OUT_OF_MEMORY)
LATE_VOID(find_curl, curl_url_cleanup, (CURLU *url), (url))

LATE_VOID(find_http, MHD_stop_daemon, (struct MHD_Daemon *daemon), (daemon))
LATE(find_http, struct MHD_Response *, MHD_create_response_from_buffer,
     (size_t size, void *data, enum MHD_ResponseMemoryMode mode), (size, data, mode), NULL)
LATE(find_http, enum MHD_Result, MHD_add_response_header,
     (struct MHD_Response *response, const char *name, const char *value), (response, name, value),
     MHD_NO)
LATE(find_http, enum MHD_Result, MHD_queue_response,
     (struct MHD_Connection *connection, unsigned status, struct MHD_Response *response),
     (connection, status, response), MHD_NO)
LATE_VOID(find_http, MHD_destroy_response, (struct MHD_Response *response), (response))
LATE(find_http, struct MHD_Response *, MHD_create_response_from_buffer_with_free_callback,
     (size_t size, void *data, MHD_ContentReaderFreeCallback done), (size, data, done), NULL)
LATE(find_http, const char *, MHD_lookup_connection_value,
     (struct MHD_Connection *connection, enum MHD_ValueKind kind, const char *key),
     (connection, kind, key), NULL)

LATE(find_screen, SCREEN *, newterm, (const char *type, FILE *out, FILE *in), (type, out, in), NULL)
LATE_VOID(find_screen, delscreen, (SCREEN *screen), (screen))
LATE(find_screen, char *, tigetstr, (const char *name), (name), NULL)
LATE(find_screen, int, cbreak, (void), (), ERR)
LATE(find_screen, int, noecho, (void), (), ERR)
LATE(find_screen, int, curs_set, (int how), (how), ERR)
LATE(find_screen, int, set_escdelay, (int milliseconds), (milliseconds), ERR)
LATE(find_screen, bool, has_colors, (void), (), FALSE)
LATE(find_screen, int, start_color, (void), (), ERR)
LATE(find_screen, int, use_default_colors, (void), (), ERR)
LATE(find_screen, int, init_pair, (short pair, short front, short back), (pair, front, back), ERR)
LATE(find_screen, int, endwin, (void), (), ERR)
LATE(find_screen, int, resize_term, (int lines, int columns), (lines, columns), ERR)
LATE(find_screen, WINDOW *, newwin, (int lines, int columns, int y, int x), (lines, columns, y, x),
     NULL)
LATE(find_screen, int, delwin, (WINDOW *window), (window), ERR)
LATE(find_screen, int, wresize, (WINDOW *window, int lines, int columns), (window, lines, columns),
     ERR)
LATE(find_screen, int, getmaxx, (const WINDOW *window), (window), ERR)
LATE(find_screen, int, getmaxy, (const WINDOW *window), (window), ERR)
LATE(find_screen, int, keypad, (WINDOW *window, bool on), (window, on), ERR)
LATE(find_screen, int, nodelay, (WINDOW *window, bool on), (window, on), ERR)
LATE(find_screen, int, clearok, (WINDOW *window, bool on), (window, on), ERR)
LATE(find_screen, int, wget_wch, (WINDOW *window, wint_t *out), (window, out), ERR)
LATE(find_screen, int, werase, (WINDOW *window), (window), ERR)
LATE(find_screen, int, wmove, (WINDOW *window, int y, int x), (window, y, x), ERR)
LATE(find_screen, int, waddnstr, (WINDOW *window, const char *text, int size),
     (window, text, size), ERR)
LATE(find_screen, int, wattr_set, (WINDOW *window, attr_t look, short pair, void *more),
     (window, look, pair, more), ERR)
LATE(find_screen, int, wrefresh, (WINDOW *window), (window), ERR)
/* clang-format on */

/* Under another name, as libcurl 8 made its first argument const. */
CURLUcode late_url_get(CURLU *url, CURLUPart part, char **text,
                       unsigned flags) __asm__("curl_url_get");

CURLUcode late_url_get(CURLU *url, CURLUPart part, char **text, unsigned flags)
{
    __typeof__(curl_url_get) *real;

    *(void **)&real = find_curl("curl_url_get");
    return real ? real(url, part, text, flags) : CURLUE_OUT_OF_MEMORY;
}

CURLcode curl_easy_setopt(CURL *easy, CURLoption option, ...)
{
    CURLcode (*real)(CURL *, CURLoption, ...);
    va_list rest;
    void *value;

    *(void **)&real = find_curl(__func__);
    va_start(rest, option);
    value = va_arg(rest, void *);
    va_end(rest);
    return real ? real(easy, option, value) : CURLE_FAILED_INIT;
}

CURLcode curl_easy_getinfo(CURL *easy, CURLINFO info, ...)
{
    CURLcode (*real)(CURL *, CURLINFO, ...);
    va_list rest;
    void *value;

    *(void **)&real = find_curl(__func__);
    va_start(rest, info);
    value = va_arg(rest, void *);
    va_end(rest);
    return real ? real(easy, info, value) : CURLE_FAILED_INIT;
}

struct MHD_Daemon *MHD_start_daemon(unsigned flags, uint16_t port, MHD_AcceptPolicyCallback accept,
                                    void *accept_cls, MHD_AccessHandlerCallback handle,
                                    void *handle_cls, ...)
{
    __typeof__(MHD_start_daemon_va) *real;
    struct MHD_Daemon *daemon = NULL;
    va_list rest;

    *(void **)&real = find_http("MHD_start_daemon_va");
    va_start(rest, handle_cls);
    if (real)
        daemon = real(flags, port, accept, accept_cls, handle, handle_cls, rest);
    va_end(rest);
    return daemon;
}

enum MHD_Result MHD_set_connection_option(struct MHD_Connection *connection,
                                          enum MHD_CONNECTION_OPTION option, ...)
{
    __typeof__(MHD_set_connection_option) *real;
    unsigned value;
    va_list rest;

    *(void **)&real = find_http(__func__);
    va_start(rest, option);
    value = va_arg(rest, unsigned);
    va_end(rest);
    return real ? real(connection, option, value) : MHD_NO;
}
