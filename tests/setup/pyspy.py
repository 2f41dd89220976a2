#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps py-spy, which the benchmark of whole tools compares with, in a venv: see packages.py.

Prints the path of the program. The version and its files' hashes are in py-spy.txt.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import packages  # noqa: E402
import roots  # noqa: E402


def program():
    """Where py-spy is, once it is installed: a binary, which knows no path of the venv."""
    return os.path.join(packages.folder("py-spy"), "bin", "py-spy")


def ensure(log):
    """The path of py-spy, installed if need be."""
    packages.ensure("py-spy", log)
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
