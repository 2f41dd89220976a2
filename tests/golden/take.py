#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Takes a memory image of tests/targets/frames.py under each Python, and what it says of itself.

usage: take.py TAKE_IMAGE [ID...]        (build/tests/tools/take_image; ids as `make test` names them)

Needs root, for chroot. Take no images of a Python in somebody's home: its path gets into them.

tests/golden/unwind/3.14.10-debian.img      what the unwinder read, as unwind/image.c has it
tests/golden/unwind/3.14.10-debian.stacks   the program's own word: a line a thread, then its frames
"""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration"))
import live  # noqa: E402


def stacks_of(own):
    """The text that tests/unit/test_unwind_golden.c makes of an image."""
    lines = [own["python"]]
    threads = [thread for interpreter in own["interpreters"] for thread in interpreter["threads"]]
    ignored = set(own.get("ignore", []))
    for thread in sorted(threads, key=lambda thread: thread["tid"]):
        if thread["tid"] in ignored:
            lines.append("thread %d" % thread["tid"])
            continue
        lines.append("thread %d %s%s" % (thread["tid"], thread["name"], " main" if thread["main"] else ""))
        lines += ["  %(func)s %(file)s:%(line)s %(first_line)s" % frame for frame in thread["frames"]]
    return "\n".join(lines) + "\n"


def take(tool, python, folder):
    stem = os.path.join(folder, python["id"])
    # The machine's own Pythons run as if in a root, too: no path of the checkout gets into an image.
    python = dict(python, root=python["root"] or "/")
    target = live.Target(live.command_of(python, "frames.py", "--warm", "100"))
    try:
        own = target.read_json()
        subprocess.run([tool, str(own["pid"]), stem + ".img"], check=True)
    finally:
        target.end()
    with open(stem + ".stacks", "w", encoding="utf-8") as file:
        file.write(stacks_of(own))
    print("%s: %d bytes" % (stem + ".img", os.path.getsize(stem + ".img")))


def main():
    tool, wanted = sys.argv[1], sys.argv[2:]
    folder = os.path.join(HERE, "unwind")
    os.makedirs(folder, exist_ok=True)
    for python in live.load_pythons()[0]:
        if not wanted or python["id"] in wanted:
            take(tool, python, folder)


if __name__ == "__main__":
    main()
