/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_table.h - table of the servers, tools and runners whose processes get the name of the
 * application that they run. Data only, for cmdline.c. A new tool is a new row.
 */
#ifndef AGENT_PROC_COMMAND_TABLE_H
#define AGENT_PROC_COMMAND_TABLE_H

#include "agent/proc/cmdline.h"

enum { COMMAND_OPTIONS_MAX = 8 };

/* A tool. Lists are words with blanks between them; NULL: empty. */
struct command {
    const char *names; /* list: names of the program, script or module; NULL: any */
    const char *path;  /* text that the path of the script must contain; NULL: any */
    const char *word;  /* the first operand must be this word; NULL: any */
    enum cmdline_kind kind;
    enum cmdline_role role;
    /* Options whose value names the application, the best one first. */
    struct {
        const char *option; /* with its hyphens; NULL: the end */
        enum cmdline_form form;
    } options[COMMAND_OPTIONS_MAX];
    const char *flags;  /* list: options without a value; all that begin with --no- have none */
    const char *values; /* list: options with one value, all others end the search; NULL: all others
                           have one */
    const char *pairs;  /* list: options with two values */
    bool options_first; /* options after the first operand are not the tool's */
    bool operand;       /* the first operand (after `word`) names the application */
    enum cmdline_form operand_form;
    const char *variable; /* see struct cmdline_program */
    enum cmdline_form variable_form;
    bool folder;        /* if nothing else names it, the working directory does */
    bool script_folder; /* the same with the folder of the tool's script */
};

/* A known title, which a program writes over its command line, or known Python code of -c. */
struct command_text {
    const char *start; /* the text begins with it */
    enum cmdline_kind kind;
    enum cmdline_role role;
    const char *name;   /* of the tool */
    const char *before; /* the application's name follows the last occurrence of this text ... */
    const char *after;  /* ... up to one of these characters. `before` NULL: the text has no name */
    enum cmdline_form form;
};

/* Each table ends with an entry that is all 0. */
extern const struct command commands[];
extern const struct command_text command_titles[];
extern const struct command_text command_codes[];

#endif
