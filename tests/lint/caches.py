#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists what unwind/ and agent/ keep by address, pid, thread id or path, and when each of it ends.

    caches.py [TREE]    TREE is the checkout to read (default: the one that this script is in)

Such a key may come again: memory, numbers and files are used again. So each cache has a comment:

    /*
     * Cache: what is kept
     * Key:   what it is found by
     * Ends:  when it is not valid any more, and what happens if a successor has the same key
     * Test:  path of a test: name of a test, one or more
     */

Prints them as a table. Fails on a comment without one of these or with a test that does not exist, and on a file
with a pointer_table (a hash table by number) without such a comment.
"""

import glob
import os
import re
import sys

TREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
FOLDERS = ("unwind", "agent")
FIELDS = ("Cache", "Key", "Ends", "Test")
FIELD = re.compile(r"(%s):\s*(.*)" % "|".join(FIELDS))
TEST = re.compile(r"(\S+\.(?:c|py)):\s*(\w+)")
TABLE = re.compile(r"^\s*struct pointer_table \w+;", re.MULTILINE)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def comments_of(text):
    """The lines of each comment, without what frames them."""
    for comment in re.findall(r"/\*(.*?)\*/", text, re.DOTALL):
        yield [line.strip().lstrip("*").strip() for line in comment.split("\n")]


def caches_of(text):
    """The fields of each comment about a cache; what goes on in further lines is joined."""
    for lines in comments_of(text):
        found, name = {}, None
        for line in lines:
            field = FIELD.fullmatch(line)
            if field and (found or field.group(1) == "Cache"):
                name = field.group(1)
                found[name] = field.group(2)
            elif not line:
                name = None
            elif name:
                found[name] += " " + line
        if found:
            yield found


def has_test(tree, path, name):
    path = os.path.join(tree, path)
    return os.path.isfile(path) and re.search(r"^(static void|def) %s\(" % name, read(path), re.MULTILINE) is not None


def mistakes_of(tree, cache):
    """What is wrong with the comment of a cache."""
    for field in FIELDS:
        if not cache.get(field):
            yield "has no %s" % field
    tests = TEST.findall(cache.get("Test", ""))
    if cache.get("Test") and not tests:
        yield "names no test"
    for path, name in tests:
        if not has_test(tree, path, name):
            yield "names a test that does not exist, %s: %s" % (path, name)


def main():
    tree = sys.argv[1] if len(sys.argv) > 1 else TREE
    paths = sorted(path for folder in FOLDERS for ending in "ch"
                   for path in glob.glob(os.path.join(tree, folder, "**", "*." + ending), recursive=True))
    rows, mistakes = [], []
    for path in paths:
        text, where = read(path), os.path.relpath(path, tree)
        found = list(caches_of(text))
        if TABLE.search(text) and not found:
            mistakes.append("%s has a pointer_table, and no comment that says when what is in it ends" % where)
        for cache in found:
            mistakes += ["%s: the cache of %s %s" % (where, cache["Cache"], what) for what in mistakes_of(tree, cache)]
            rows.append([where] + [cache.get(field, "") for field in FIELDS])
    for row in [["File"] + list(FIELDS)] + rows:
        print("| %s |" % " | ".join(row))
    for mistake in mistakes:
        print("caches: " + mistake)
    print("caches: %d, %d mistakes" % (len(rows), len(mistakes)))
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
