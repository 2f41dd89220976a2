# SPDX-License-Identifier: Apache-2.0
"""Finds the shell blocks of README.md.

A block fenced as ```sh is a script. An HTML comment right before it says how it is tested:

    <!-- test: clean-root -->      by clean_root.py on a bare system, line by line
    <!-- test: stop-after=5 -->    its last command runs on for ever: SIGINT after so many seconds
    <!-- test: needs-root why -->  not run
    none                           every command must end with status 0
"""

import re

BLOCK = re.compile(r"(?:<!-- test: (?P<how>[^>]*?) -->\n)?^```sh\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(path):
    """Gives (how it is tested, script, line number) for each block."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return [
        (match["how"] or "", match["body"], text.count("\n", 0, match.start("body")) + 1)
        for match in BLOCK.finditer(text)
    ]


def commands_for(path, how):
    """All lines of the blocks that are tested that way."""
    lines = [line.strip() for word, body, _ in blocks(path) if word == how for line in body.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]
