#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on C files of the product that depend on each other in a circle.

    cycles.py [TREE]    TREE is the checkout to read (default: the one that this script is in)

Reads BUILD, the folder in it that has the object files (default: build)

A file depends on another if its object file uses a symbol that the other one defines, as `nm` tells.
Each cycle is printed with the symbols of each arrow. KNOWN lists the cycles that may stay for now.
"""

import collections
import os
import subprocess
import sys

TREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
LIBRARIES = ("base", "unwind", "pprof", "formats", "conf", "exporters", "agent")

# The files of a cycle that may stay for now, and what removes it.
KNOWN = {
    frozenset(
        "agent/delivery/" + name
        for name in ("export_worker", "spooler", "spooler_limits", "spooler_queue", "spooler_recovery")
    ): "the rebuild of agent/delivery (issue 26)",
}


def find_objects(build, tree):
    """The product's C files that have an object file, without ".c"; a build folder may have older ones."""
    for library in LIBRARIES:
        for folder, _, files in os.walk(os.path.join(tree, library)):
            for name in files:
                path = os.path.relpath(os.path.join(folder, name[:-2]), tree)
                if name.endswith(".c") and os.path.exists(os.path.join(build, path + ".o")):
                    yield path


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
    """{file: {file that it depends on: symbols}}"""
    symbols = {name: read_symbols(os.path.join(build, name + ".o")) for name in find_objects(build, tree)}
    home = {symbol: name for name, (defined, _) in symbols.items() for symbol in defined}
    arrows = {name: collections.defaultdict(set) for name in symbols}
    for name, (_, used) in symbols.items():
        for symbol in used:
            if home.get(symbol, name) != name:
                arrows[name][home[symbol]].add(symbol)
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


def print_cycle(arrows, cycle):
    print("cycles: these files depend on each other in a circle:")
    for name in sorted(cycle):
        for other in sorted(set(arrows[name]) & cycle):
            print("    %s.c uses %s.c: %s" % (name, other, ", ".join(sorted(arrows[name][other]))))


def main():
    tree = sys.argv[1] if len(sys.argv) > 1 else TREE
    build = os.path.join(tree, os.environ.get("BUILD", "build"))
    arrows = read_arrows(build, tree)
    if not arrows:
        print("cycles: there are no object files below %s: run make" % build)
        return 1
    cycles = find_cycles(arrows)
    for cycle in cycles - set(KNOWN):
        print_cycle(arrows, cycle)
    gone = [files for files in KNOWN if files not in cycles and files <= set(arrows)]
    for files in gone:
        print("cycles: %s is a cycle no more: remove it from KNOWN" % ", ".join(sorted(files)))
    print("cycles: %d files, %d cycles, %d of them known" % (len(arrows), len(cycles), len(cycles & set(KNOWN))))
    return 1 if cycles - set(KNOWN) or gone else 0


if __name__ == "__main__":
    sys.exit(main())
