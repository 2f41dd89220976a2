/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_table.h - the servers, tools and runners whose processes are called as what they run.
 *
 * Data only; cmdline.h says what is made of it. A new tool is a new row.
 */
#ifndef AGENT_PROC_COMMAND_TABLE_H
#define AGENT_PROC_COMMAND_TABLE_H

#include "agent/proc/cmdline.h"

enum { COMMAND_OPTIONS_MAX = 8 };

/* Lists of words have a blank between two. */
struct command {
    const char *names; /* of programs, scripts or modules */
    const char *path;  /* or: a part of the script's path */
    const char *word;  /* the first operand, which must be there; NULL: any */
    enum cmdline_kind kind;
    enum cmdline_role role;
    /* Options whose value says what it runs, the best one first. */
    struct {
        const char *option; /* with its hyphens; NULL: the end */
        enum cmdline_form form;
    } options[COMMAND_OPTIONS_MAX];
    const char *flags;  /* options without a value; all that begin with --no- have none */
    const char *values; /* those with one; NULL: all others. What is in neither ends the search */
    const char *pairs;  /* those with two */
    bool options_first; /* its own ones are before the first operand */
    bool operand;       /* the first operand (after `word`) says what it runs */
    enum cmdline_form operand_form;
    const char *variable; /* see struct cmdline_program */
    enum cmdline_form variable_form;
    bool folder;        /* else it is called as the folder that it runs in */
    bool script_folder; /* or that of its script */
};

/* What a program makes of its own command line, and Python code of -c that is known. */
struct command_text {
    const char *start; /* of the text */
    enum cmdline_kind kind;
    enum cmdline_role role;
    const char *name;   /* of the tool */
    const char *before; /* what it runs is between the last one of this ... */
    const char *after;  /* ... and one of these characters; NULL: it does not say */
    enum cmdline_form form;
};

/* Both end with an entry that is all 0. */
extern const struct command commands[];
extern const struct command_text command_titles[];
extern const struct command_text command_codes[];

#endif
