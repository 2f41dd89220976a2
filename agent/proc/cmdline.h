/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmdline.h - finds the name of the application that a command line runs.
 *
 *   python shop.py, python -m shop      the script or module: shop
 *   gunicorn -w 4 shop.wsgi:app         the application that a server or tool runs: shop
 *   ddtrace-run python shop.py          what a runner runs: shop
 *   python -c "from multiprocessing..." a part of the program above it
 *
 * command_table.c lists the tools, and where each one's command line names the application. A name
 * has the characters [A-Za-z0-9_.-] only. No other option value and no argument of a script becomes
 * a name, because they may be secrets. A word after an unknown option is taken for its value. For
 * tools whose options are listed completely, an unknown option ends the search.
 *
 * Threads: any.
 * Source:  Python's manual, "Command line and environment"; the manuals of the tools.
 */
#ifndef AGENT_PROC_CMDLINE_H
#define AGENT_PROC_CMDLINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Arguments that are parsed; bytes of a name without, of a path with the final 0 byte. */
enum { CMDLINE_ARGUMENTS_MAX = 256, CMDLINE_NAME_MAX = 64, CMDLINE_PATH_MAX = 256 };

enum cmdline_kind {
    CMDLINE_NONE,        /* the command line is empty */
    CMDLINE_APPLICATION, /* `name` is the application */
    CMDLINE_TOOL,        /* `name` is a tool; its arguments do not name the application */
    CMDLINE_PART         /* part of an ancestor's application; `name` is for one without ancestor */
};

/* Task of the process within its application. */
enum cmdline_role { CMDLINE_ROLE_UNKNOWN, CMDLINE_WORKER, CMDLINE_HELPER };

/* How a name is derived from a text. */
enum cmdline_form {
    CMDLINE_WORD,    /* as it is */
    CMDLINE_MODULE,  /* "shop.wsgi:app": shop */
    CMDLINE_PACKAGE, /* "shop.settings": shop */
    CMDLINE_PARENT,  /* "shop.tasks.queue": shop.tasks */
    CMDLINE_FILE,    /* "jobs/shop.py": shop */
    CMDLINE_FOLDER,  /* the folder of a file */
    CMDLINE_PROGRAM, /* a program and its arguments follow */
    CMDLINE_SCRIPT,  /* a script and its arguments follow */
    CMDLINE_RUN      /* a module and its arguments follow */
};

struct cmdline_program {
    enum cmdline_kind kind;
    enum cmdline_role role;
    char name[CMDLINE_NAME_MAX + 1]; /* "": none */
    bool single;                     /* cmdline_parse_text: one argument only, may be a title */
    char rule[64];                   /* source of the name: "script", "application of gunicorn" */
    /* For a tool or part: further sources of a name, the first one that gives a name counts. */
    const char *variable;             /* environment variable; NULL: none. Static. */
    enum cmdline_form variable_form;  /* of its value */
    char folder_of[CMDLINE_PATH_MAX]; /* file in the folder that gives the name; "": none. A
                                         relative path starts at the working directory. */
};

/* Parses `argv`, which ends with NULL. Sets all of *out; `single` is false. */
void cmdline_parse(const char *const *argv, struct cmdline_program *out);

/* The same for the text of /proc/PID/cmdline; text[size] is 0. A single argument with blanks is a
 * command line that setproctitle has joined, or a title that the program gave itself. */
void cmdline_parse_text(const char *text, size_t size, struct cmdline_program *out);

/* True if the file name of a program begins with "python": "/usr/bin/python3.11". */
MUST_CHECK bool cmdline_is_python(const char *path);

/* "worker", "helper"; NULL: not known. Static. */
const char *cmdline_role_name(enum cmdline_role role);

/* Derives a name from a text of that form (WORD to FILE). False: the text is not of that form. */
MUST_CHECK bool cmdline_name_of(enum cmdline_form form, const char *text, char *out, size_t size);

#endif
