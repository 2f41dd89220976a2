# SPDX-License-Identifier: Apache-2.0
"""A function whose line table is some MiB (3.6 to 3.10: its second statement is in the last line there is), and waits.

Prints its pid; ends when its standard input does.
"""

import ast
import json
import os
import sys

LAST_LINE = 2 ** 31 - 2


def make():
    tree = ast.parse("def huge(wait, own):\n    before = 1\n    return wait(own)\n")
    for node in ast.walk(tree.body[0].body[1]):
        if hasattr(node, "lineno"):
            node.lineno = node.end_lineno = LAST_LINE
    names = {}
    exec(compile(tree, "/srv/huge.py", "exec"), names)
    return names["huge"]


def wait(own):
    print(json.dumps(own), flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    huge = make()
    code = huge.__code__
    table = getattr(code, "co_linetable", None) or code.co_lnotab
    huge(wait, {"pid": os.getpid(), "size": len(table)})
