/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmdline.h - what a command line runs: the script or module of a Python, else the program.
 *
 * Source:  Python's own manual, "Command line and environment".
 */
#ifndef AGENT_PROC_CMDLINE_H
#define AGENT_PROC_CMDLINE_H

#include <stddef.h>

enum { CMDLINE_ARGUMENTS_MAX = 256 };

/*
 * Writes the name of what `argv`, which ends with NULL, runs; "" if there is none:
 * the script without its folder and ".py", the module of -m, and for programs that serve
 * the app of somebody else (gunicorn, uvicorn, celery ...) that app: "shop" of "shop.wsgi:app".
 * A program that runs another in its place ("poetry run", ddtrace-run ...) is called as that is.
 * A Python that runs no file (-c, stdin, a prompt) is called as its program is.
 */
void cmdline_name(const char *const *argv, char *out, size_t size);

/* The same for the text of /proc/PID/cmdline; text[size] is 0. */
void cmdline_name_of_text(const char *text, size_t size, char *out, size_t out_size);

#endif
