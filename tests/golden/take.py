#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Takes a memory image of tests/targets/frames.py under each Python, and what it says of itself.

usage: take.py TAKE_IMAGE [ID | PREFIX]...   (build/tests/tools/take_image; ids as `make test` names them)

Needs root, for chroot. A Python in somebody's home is refused, since its path gets into the image:
copy it to a place like /opt/python3.8 and give that PREFIX; the image is called 3.8.18-source.

tests/golden/unwind/3.14.10-debian.img      what the unwinder read, as tests/images/image.h has it
tests/golden/unwind/3.14.10-debian.stacks   the program's own word: a line a thread, then its frames
"""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration"))
import live  # noqa: E402


def stacks_of(own):
    """The text that tests/unit/unwind/test_golden.c makes of an image."""
    lines = [own["python"]]
    threads = [thread for interpreter in own["interpreters"] for thread in interpreter["threads"]]
    for thread in sorted(threads, key=lambda thread: thread["tid"]):
        lines.append("thread %d %s%s" % (thread["tid"], thread["name"], " main" if thread["main"] else ""))
        lines += ["  %(func)s %(file)s:%(line)s %(first_line)s" % frame for frame in thread["frames"]]
    return "\n".join(lines) + "\n"


def in_prefix(prefix):
    """The Python that was copied to `prefix`, as an entry of pythons.py."""
    env = live.clean_environment(LD_LIBRARY_PATH=os.path.join(prefix, "lib"))
    exe = os.path.join(prefix, "bin", "python3")
    version = subprocess.run([exe, "-c", "import platform as p; print(p.python_version())"], env=env,
                             stdout=subprocess.PIPE, check=True).stdout.decode().strip()
    return {"id": version + "-source", "root": "", "inner": exe, "env": env}


def take(tool, python, folder):
    if python["inner"].startswith(("/root/", "/home/")):
        sys.exit("take.py: %s would be in the image" % python["inner"])
    stem = os.path.join(folder, python["id"])
    # The machine's own Pythons run as if in a root, too: no path of the checkout gets into an image.
    python = dict(python, root=python["root"] or "/")
    target = live.Target(live.command_of(python, "frames.py", "--warm", "100"), python.get("env"))
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
    prefixes = [word for word in wanted if word.startswith("/")]
    found = live.load_pythons()[0] if wanted != prefixes else []
    for python in found + [in_prefix(prefix) for prefix in prefixes]:
        if python["id"] in wanted or "env" in python:
            take(tool, python, folder)


if __name__ == "__main__":
    main()
