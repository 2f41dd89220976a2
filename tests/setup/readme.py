# SPDX-License-Identifier: Apache-2.0
"""Finds the shell blocks of README.md.

A block fenced as ```sh is a script. An HTML comment right before it says how it is tested:

    <!-- test: clean-root -->      by clean_root.py on a bare system, line by line
    <!-- test: clone -->           by clean_root.py on a bare system, where the tree is not there yet
    <!-- test: package -->         by tests/packages/test_five_tasks.py, on a bare system that has booted
    <!-- test: container -->       by tests/packages/test_five_tasks.py, on a bare system with a container engine
    <!-- test: stop-after=5 -->    its last command runs on for ever: SIGINT after so many seconds
    <!-- test: needs-root why -->  not run
    none                           every command must end with status 0

The blocks of the section "Five tasks" are what a newcomer types. All of them run on a bare system, too, and may print
no warning and no error there.
"""

import collections
import os
import re

BLOCK = re.compile(r"(?:<!-- test: (?P<how>[^>]*?) -->\n)?^```sh\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
# As words, or as the letters that apt has for them. Not in names: libgpg-error0, conf/errors.c, -Werror.
COMPLAINT = re.compile(r"^[WE]: .*|.*(?<![\w./-])(?i:warnings?|errors?)(?![\w/-]|\.\w).*", re.MULTILINE)
RESULT = re.compile(r"(?:-o |>)(\w[\w.-]+)")

Block = collections.namedtuple("Block", "how script line")


def blocks(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return [Block(match["how"] or "", match["body"], text.count("\n", 0, match.start("body")) + 1)
            for match in BLOCK.finditer(text)]


def commands_of(script):
    """Its lines, without comments."""
    lines = [line.strip() for line in script.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def commands_for(path, how):
    """All lines of the blocks that are tested that way."""
    return [line for block in blocks(path) if block.how == how for line in commands_of(block.script)]


def tasks(path):
    """The blocks of the section "Five tasks"."""
    with open(path, encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file]
    begin = lines.index("## Five tasks") + 1
    end = next(number for number, line in enumerate(lines[begin:], begin + 1) if line.startswith("## "))
    return [block for block in blocks(path) if begin < block.line < end]


def task(path, how):
    """The one task that is tested that way."""
    (found,) = [one for one in tasks(path) if one.how == how]
    return found


def complaints(text):
    """The lines of an output that tell of a warning or an error."""
    return COMPLAINT.findall(text)


def missing_results(script, folder):
    """Which of the files that a task writes are not there, or have nothing in them."""
    return [name for name in RESULT.findall(script)
            if not os.path.isfile(os.path.join(folder, name)) or not os.path.getsize(os.path.join(folder, name))]
