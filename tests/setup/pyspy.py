#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps py-spy, which the benchmark of whole tools compares with, in a venv in the cache folder.

Prints the path of the program. The version and its files' hashes are in py-spy.txt.
"""

import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import roots  # noqa: E402

REQUIREMENTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "py-spy.txt")
TIMEOUT_S = 600


def pinned_version():
    with open(REQUIREMENTS, encoding="utf-8") as file:
        return re.search(r"^py-spy==(\S+)", file.read(), re.MULTILINE).group(1)


def build(log_file):
    """Makes the venv beside its place first, so that one that exists is whole."""
    aside = folder() + ".partial"
    steps = [[sys.executable, "-m", "venv", "--clear", aside],
             [os.path.join(aside, "bin", "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
              "--only-binary", ":all:", "--require-hashes", "-r", REQUIREMENTS]]
    for words in steps:
        try:
            subprocess.run(words, stdin=subprocess.DEVNULL, stdout=log_file, stderr=subprocess.STDOUT,
                           timeout=TIMEOUT_S, check=True)
        except (OSError, subprocess.SubprocessError) as error:
            raise roots.Unavailable("py-spy could not be installed (%s); see %s" % (error, log_file.name))
    os.rename(aside, folder())  # the program in it is a binary, which knows no path of the venv


def folder():
    return os.path.join(roots.cache_folder(), "py-spy-%s-%s" % (pinned_version(), os.uname().machine))


def program():
    """Where py-spy is, once it is installed."""
    return os.path.join(folder(), "bin", "py-spy")


def ensure(log):
    """The path of py-spy, installed if need be."""
    if os.path.exists(program()):
        return program()
    os.makedirs(roots.cache_folder(), exist_ok=True)
    with roots.locked(roots.cache_folder(), log):
        if not os.path.exists(program()):
            log("installing py-spy %s into %s" % (pinned_version(), folder()))
            with open(folder() + ".log", "w", encoding="utf-8") as log_file:
                build(log_file)
    return program()


def main():
    try:
        print(ensure(lambda text: print("py-spy: " + text, file=sys.stderr)))
    except roots.Unavailable as reason:
        print("py-spy: %s" % reason, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
