#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on files of the product that depend on each other in a circle.

    cycles.py [TREE]    TREE is the checkout to read (default: the one that this script is in)

Reads BUILD, the folder in it that has the object files (default: build).

A C file depends on another if its object file uses a symbol that the other one defines, as `nm` tells.
A header depends on those that it includes. Each cycle is printed with the symbols of each arrow.
"""

import collections
import os
import re
import subprocess
import sys

TREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
LIBRARIES = ("base", "unwind", "pprof", "formats", "conf", "exporters", "agent")


def find_files(top, ending):
    """The files below the folders of the product that end so, as paths below `top` without the ending."""
    for library in LIBRARIES:
        for folder, _, files in os.walk(os.path.join(top, library)):
            for name in files:
                if name.endswith(ending):
                    yield os.path.relpath(os.path.join(folder, name[:-len(ending)]), top)


def find_objects(build, tree):
    """The object files of the product. One whose source was moved since is no part of it any more."""
    return [name for name in find_files(build, ".o") if os.path.exists(os.path.join(tree, name + ".c"))]


def read_symbols(path):
    """The global symbols that an object file defines, and those that it uses."""
    defined, used = set(), set()
    text = subprocess.run(["nm", "-g", path], stdout=subprocess.PIPE, check=True).stdout.decode()
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 2 and words[-2] == "U":
            used.add(words[-1])
        elif len(words) == 3:
            defined.add(words[-1])
    return defined, used


def read_arrows(build, tree):
    """{C file: {C file that it depends on: symbols}}"""
    symbols = {name: read_symbols(os.path.join(build, name + ".o")) for name in find_objects(build, tree)}
    home = {symbol: name for name, (defined, _) in symbols.items() for symbol in defined}
    arrows = {name: collections.defaultdict(set) for name in symbols}
    for name, (_, used) in symbols.items():
        for symbol in used:
            if home.get(symbol, name) != name:
                arrows[name][home[symbol]].add(symbol)
    return arrows


def read_includes(tree):
    """{header: {header that it includes: nothing}}"""
    headers = set(find_files(tree, ".h"))
    arrows = {}
    for name in headers:
        with open(os.path.join(tree, name + ".h"), encoding="utf-8") as file:
            included = set(re.findall(r'^\s*#\s*include\s*"(.*)\.h"', file.read(), re.MULTILINE))
        arrows[name] = {other: () for other in included & headers}
    return arrows


def reachable(arrows, start):
    """All that depends on `start` may lead to."""
    found, waiting = set(), [start]
    while waiting:
        for name in arrows[waiting.pop()]:
            if name not in found:
                found.add(name)
                waiting.append(name)
    return found


def find_cycles(arrows):
    """The sets of files that all lead to each other."""
    leads_to = {name: reachable(arrows, name) for name in arrows}
    cycles = set()
    for name in arrows:
        if name in leads_to[name]:
            cycles.add(frozenset(other for other in leads_to[name] if name in leads_to[other]))
    return cycles


def print_cycle(arrows, cycle, ending):
    print("cycles: these files depend on each other in a circle:")
    for name in sorted(cycle):
        for other in sorted(set(arrows[name]) & cycle):
            symbols = ": " + ", ".join(sorted(arrows[name][other])) if arrows[name][other] else ""
            print("    %s uses %s%s" % (name + ending, other + ending, symbols))


def main():
    tree = sys.argv[1] if len(sys.argv) > 1 else TREE
    build = os.path.join(tree, os.environ.get("BUILD", "build"))
    arrows, includes = read_arrows(build, tree), read_includes(tree)
    if not arrows:
        print("cycles: there are no object files below %s: run make" % build)
        return 1
    cycles, header_cycles = find_cycles(arrows), find_cycles(includes)
    for cycle in cycles:
        print_cycle(arrows, cycle, ".c")
    for cycle in header_cycles:
        print_cycle(includes, cycle, ".h")
    print("cycles: %d C files, %d headers, %d cycles" % (len(arrows), len(includes), len(cycles | header_cycles)))
    return 1 if cycles or header_cycles else 0


if __name__ == "__main__":
    sys.exit(main())
