/* SPDX-License-Identifier: Apache-2.0 */
/* cmdline.c - see cmdline.h. */
#include "agent/proc/cmdline.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"

/* Programs that run the app of somebody else, which has the better name. */
static const char *const servers[] = {"gunicorn", "uvicorn",        "hypercorn", "granian",
                                      "daphne",   "waitress-serve", "celery",    NULL};

/* Programs in Python that run another in their place, and the word by which they do. */
static const struct {
    const char *name, *word;
} runners[] = {{"poetry", "run"},
               {"pipenv", "run"},
               {"pdm", "run"},
               {"hatch", "run"},
               {"ddtrace-run", NULL},
               {"opentelemetry-instrument", NULL},
               {"newrelic-admin", "run-program"}};

static const char *find_argument_base_name(const char *path)
{
    const char *name = file_base_name(path);

    return *name ? name : path;
}

/* The script or module that a Python runs, and what comes after it; NULL: -c, stdin, a prompt. */
static const char *script_of(const char *const *argv, const char *const **remaining)
{
    const char *c;

    for (argv++; *argv; argv++) {
        *remaining = argv + 1;
        if ((*argv)[0] != '-')
            return *argv;
        if (strcmp(*argv, "-") == 0)
            return NULL;
        if (strcmp(*argv, "--") == 0) {
            *remaining = argv[1] ? argv + 2 : argv + 1;
            return argv[1];
        }
        /* Of the letters in one word these four take the rest of it, or the next word. */
        c = (*argv)[1] == '-' ? "" : *argv + strcspn(*argv, "cmWX");
        if (*c == 'c')
            return NULL;
        if (*c == 'm' && c[1])
            return c + 1;
        if (*c == 'm') {
            *remaining = argv[1] ? argv + 2 : argv + 1;
            return argv[1];
        }
        if (((*c && !c[1]) || strcmp(*argv, "--check-hash-based-pycs") == 0) && argv[1])
            argv++;
    }
    return NULL;
}

static bool is_server(const char *name)
{
    for (size_t i = 0; servers[i]; i++)
        if (strcmp(servers[i], name) == 0)
            return true;
    return false;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/* How long the module of "MODULE:APP" is; 0: the text is nothing like it ("localhost:80"). */
static size_t module_size(const char *text)
{
    size_t size = 0;

    while (is_word(text[size]))
        size++;
    if (size == 0 || isdigit((unsigned char)text[0]) || text[0] == '.' || text[size] != ':')
        return 0;
    return isalpha((unsigned char)text[size + 1]) || text[size + 1] == '_' ? size : 0;
}

/* Writes a module's name; "shop.wsgi" is the app shop. */
static void put_module(const char *text, size_t length, char *out, size_t size)
{
    (void)snprintf(out, size, "%.*s", (int)(length < size ? length : size - 1), text);
    length = strlen(out);
    if (length > 5 &&
        (strcmp(out + length - 5, ".wsgi") == 0 || strcmp(out + length - 5, ".asgi") == 0))
        out[length - 5] = '\0';
}

/* The app that a server is told to run, by its further arguments; false: they do not say. */
static bool put_app(const char *const *argv, char *out, size_t size)
{
    const char *app;

    for (; *argv; argv++) {
        app = NULL;
        if (strcmp(*argv, "-A") == 0 || strcmp(*argv, "--app") == 0)
            app = argv[1];
        else if (strncmp(*argv, "--app=", 6) == 0)
            app = *argv + 6;
        else if (module_size(*argv) == 0)
            continue;
        app = app ? app : *argv;
        if (!is_word(app[0]))
            return false;
        put_module(app, strcspn(app, ":"), out, size);
        return true;
    }
    return false;
}

/* The name without ".py"; of a folder's __main__.py that of the folder. */
static void put_script(const char *path, char *out, size_t size)
{
    const char *name = find_argument_base_name(path);
    char folder[256];
    size_t length;

    if (strcmp(name, "__main__.py") == 0 && name - path > 1) {
        (void)snprintf(folder, sizeof(folder), "%.*s", (int)(name - path - 1), path);
        if (*find_argument_base_name(folder))
            name = find_argument_base_name(folder);
        (void)snprintf(out, size, "%s", name);
        return;
    }
    (void)snprintf(out, size, "%s", name);
    length = strlen(out);
    if (length > 3 && strcmp(out + length - 3, ".py") == 0)
        out[length - 3] = '\0';
}

/* A title that the program gave itself: "gunicorn: worker [shop.wsgi:app]". */
static void put_process_title(const char *title, char *out, size_t size)
{
    const char *app = strchr(title, '[');
    size_t length = strcspn(title, ": ");
    char name[64];

    (void)snprintf(name, sizeof(name), "%.*s", (int)(length < 63 ? length : 63), title);
    if (app && is_server(name) && module_size(app + 1) > 0)
        put_module(app + 1, module_size(app + 1), out, size);
    else
        (void)snprintf(out, size, "%.*s", (int)(length < size ? length : size - 1), title);
}

/* What a runner of that name is to run: a Python, or else its first word; NULL: it is none. */
static const char *const *run_by(const char *name, const char *const *remaining)
{
    const char *const *word;

    for (size_t i = 0; i < sizeof(runners) / sizeof(runners[0]); i++) {
        if (strcmp(runners[i].name, name) != 0)
            continue;
        if (runners[i].word && (!remaining[0] || strcmp(remaining[0], runners[i].word) != 0))
            return NULL;
        remaining += runners[i].word ? 1 : 0;
        for (word = remaining; *word; word++)
            if (strncmp(find_argument_base_name(*word), "python", 6) == 0)
                return word;
        return remaining[0] && remaining[0][0] != '-' ? remaining : NULL;
    }
    return NULL;
}

/* Names a script, a module or a program; *rest: its arguments, NULL: there is no more to it. */
static void name_program(const char *const *argv, const char *const **remaining, char *out,
                         size_t size)
{
    const char *script = find_argument_base_name(argv[0]);

    *remaining = argv + 1;
    if (strncmp(script, "python", 6) == 0) {
        script = script_of(argv, remaining);
    } else if (argv[0][strcspn(argv[0], ": ")] && argv[0][0] != '/') {
        put_process_title(argv[0], out, size);
        script = NULL;
        argv = NULL;
    }
    if (argv)
        put_script(script ? script : argv[0], out, size);
    if (!script)
        *remaining = NULL;
}

void cmdline_name(const char *const *argv, char *out, size_t size)
{
    const char *const *remaining, *const *other;

    out[0] = '\0';
    if (!argv[0])
        return;
    name_program(argv, &remaining, out, size);
    other = remaining ? run_by(out, remaining) : NULL;
    if (other)
        name_program(other, &remaining, out, size);
    if (remaining && is_server(out))
        (void)put_app(remaining, out, size);
}

void cmdline_name_of_text(const char *text, size_t size, char *out, size_t out_size)
{
    const char *argv[CMDLINE_ARGUMENTS_MAX + 1];
    size_t count = 0, at = 0;

    for (; at < size && count < CMDLINE_ARGUMENTS_MAX; at += strlen(text + at) + 1)
        argv[count++] = text + at;
    argv[count] = NULL;
    cmdline_name(argv, out, out_size);
}
