#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on comments of C files that name what does not exist, as after a renaming.

A word with an underscore is taken for a name: of this tree's code, of a file, or of somebody else's code. Those of
others (the kernel's, CPython's, libraries') that no code here has are listed below, with whose they are.
"""

import os
import re
import sys

TREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
FOREIGN = set("""
    bpf_probe_read_user bpf_prog_run btrfs_show_options hrtimer_interrupt hrtimer_start_range_ns namespace_sem
    pid_namespaces proc_namespace proc_ns proc_pid_mountinfo proc_pid_syscall sched_attr sched_runtime user_namespaces
    wait_task_zombie

    ceval_gil clear_thread_frame co_nlocalsplus drop_gil lnotab_notes md_dict ob_item py_recursion_limit pycore_llist
    pycore_pyhash utf8_length

    curl_slist_free_all sd_notify sd_watchdog_enabled zlib_api

    error_details error_message pyroscope_spy rejected_profiles type_url
""".split())
TOKEN = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\])*"', re.DOTALL)
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Not behind what makes it a part of a path, an option or an escape.
NAME = re.compile(r"(?<![\w.$<{\\-])[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b")


def find_files():
    """The files of the tree, as paths below it, without what is built."""
    for folder, folders, names in os.walk(TREE):
        folders[:] = [one for one in folders if one not in (".git", "__pycache__") and not one.startswith("build")]
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), TREE)


def split_comments(text):
    """(The code, [(line, comment)])."""
    comments = []

    def take(match):
        if match[0][0] == '"':
            return match[0]
        comments.append((text.count("\n", 0, match.start()) + 1, match[0]))
        return " "

    return TOKEN.sub(take, text), comments


def main():
    files = list(find_files())
    known, comments = FOREIGN | set(WORD.findall("\n".join(files))), []
    for name in files:
        with open(os.path.join(TREE, name), encoding="utf-8", errors="replace") as file:
            text = file.read()
        if name.endswith((".c", ".h")):
            text, found = split_comments(text)
            comments += [(name, line, comment) for line, comment in found]
        elif not name.endswith((".md", "lint/names.py")):
            pass
        else:
            continue
        known.update(WORD.findall(text))
    wrong = [(name, line, word) for name, line, comment in comments for word in NAME.findall(comment) if word not in known]
    for name, line, word in wrong:
        print("%s:%d: the comment that begins here names %s, which there is not" % (name, line, word))
    print("names: %d comments, %d names that there are not" % (len(comments), len(wrong)))
    return 1 if wrong else 0


sys.exit(main())
