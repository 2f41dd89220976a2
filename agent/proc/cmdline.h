/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmdline.h - what a command line runs, as a person would call it.
 *
 *   python shop.py, python -m shop      the script or module: shop
 *   gunicorn -w 4 shop.wsgi:app         the application that a server or tool runs: shop
 *   ddtrace-run python shop.py          what a runner runs: shop
 *   python -c "from multiprocessing..." a part of the program above it
 *
 * Which tools there are, and where each has its application, says command_table.c. A name has the
 * characters [A-Za-z0-9_.-] only. No other value of an option, and no argument of a script, becomes
 * a name: they may be secrets. Where it is not clear whether a
 * word is the value of an option, it is taken for one; in front of a program that is run by
 * another, what follows is not looked at.
 *
 * Threads: any.
 * Source:  Python's manual, "Command line and environment"; the manuals of the tools.
 */
#ifndef AGENT_PROC_CMDLINE_H
#define AGENT_PROC_CMDLINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum { CMDLINE_ARGUMENTS_MAX = 256, CMDLINE_NAME_MAX = 64, CMDLINE_PATH_MAX = 256 };

enum cmdline_kind {
    CMDLINE_NONE,        /* nothing */
    CMDLINE_APPLICATION, /* `name` is what runs */
    CMDLINE_TOOL,        /* `name` is a tool, and what that runs is not in its arguments */
    CMDLINE_PART         /* a part of what an ancestor runs; `name` is for one without ancestor */
};

/* What a part does, or another process that has one task. */
enum cmdline_role { CMDLINE_ROLE_UNKNOWN, CMDLINE_WORKER, CMDLINE_HELPER };

/* How a name is made of a text. */
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
    char name[CMDLINE_NAME_MAX + 1]; /* "": it has none */
    bool single;                     /* one argument, with or without blanks: it may be a title */
    char rule[64];                   /* why: "script", "application of gunicorn" ... */
    /* Of a tool: where else its application may be found, each if the one before says nothing. */
    const char *variable;             /* of its environment; NULL: none. Static. */
    enum cmdline_form variable_form;  /* of its value */
    char folder_of[CMDLINE_PATH_MAX]; /* the folder of this file, from the one it runs in; "": none
                                       */
};

/* What `argv`, which ends with NULL, runs. */
void cmdline_parse(const char *const *argv, struct cmdline_program *out);

/* The same for the text of /proc/PID/cmdline; text[size] is 0. A single argument with blanks is a
 * command line that setproctitle has joined, or a title that the program gave itself. */
void cmdline_parse_text(const char *text, size_t size, struct cmdline_program *out);

/* True if the file of a program is called as Python's are: "/usr/bin/python3.11". */
MUST_CHECK bool cmdline_is_python(const char *path);

/* "worker", "helper"; NULL: not known. */
const char *cmdline_role_name(enum cmdline_role role);

/* Writes the name that a text of that form (WORD to FILE) has. False: it is not of that form. */
MUST_CHECK bool cmdline_name_of(enum cmdline_form form, const char *text, char *out, size_t size);

#endif
