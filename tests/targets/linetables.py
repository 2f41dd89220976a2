# SPDX-License-Identifier: Apache-2.0
"""Compiles the standard library and writes each code object's line table with the interpreter's answers.

    linetables.py [LIMIT SEED]    stop after LIMIT instructions of files in an order made from SEED

Writes records to standard output: a line "FORMAT FIRST_LINE UNITS SIZE ANSWER_SIZE NAME", then
SIZE bytes of line table and ANSWER_SIZE bytes of answer: for each code unit a line
"line end_line column end_column" with columns from 1 and 0 for what the interpreter does not
tell. FORMAT numbers the unwinder's enum linetable_format. The last line is "end FILES SKIPPED UNITS".
"""

import ctypes
import os
import random
import sys
import sysconfig
import warnings

ASKED_MAX = 2000  # units of one code object: asking takes a pass over the table
FORMAT = 0 if sys.version_info < (3, 10) else 1 if sys.version_info < (3, 11) else 2

addr_to_line = ctypes.pythonapi.PyCode_Addr2Line
addr_to_line.argtypes = [ctypes.py_object, ctypes.c_int]
addr_to_line.restype = ctypes.c_int

# What a standard library may lack: far jumps, long lines, wide characters, huge tables.
AWKWARD = [
    "a = 1" + "\n" * 100000 + "b = 2\n",
    "f(1," + "\n" * 300 + "g(\n2,\n\n3)," + "\n" * 70000 + "h(4))\n",
    "x = [" + ", ".join("name%d" % i for i in range(3000)) + "]\n",
    "x = [\n" + ",\n".join("call(%d, name.attr)" % i for i in range(400)) + "]\n",
    "def f():\n" + "".join("    a%d = b%d + %d\n" % (i, i, i) for i in range(700)),
    "s = '" + u"\u00e4\u2603\U0001f40d" * 60 + "' + f(" + u"\u00e4" * 40 + ") + x.y\n",
    "for i in x:\n  try:\n    with a as b, c as d:\n      if b: continue\n      yield_(b)\n"
    "  except E as e:\n    raise\n  finally:\n    done()\nelse:\n  pass\n",
    "class C:\n  async def m(self):\n    async with a as b:\n      return [await c async for c in b if c]\n",
    "def g():\n  while True:\n    if (a and\n        b or\n        c): return (yield\n          d)\n    assert e, (\n   f)\n",
]


def sources():
    """Gives (name, what to compile): the awkward ones, then the standard library's files."""
    for number, source in enumerate(AWKWARD):
        yield "<awkward %d>" % number, source.encode("utf-8")
    paths = []
    for folder, folders, files in os.walk(sysconfig.get_paths()["stdlib"]):
        folders[:] = sorted(set(folders) - {"site-packages", "dist-packages", "__pycache__"})
        paths += [os.path.join(folder, name) for name in sorted(files) if name.endswith(".py")]
    if len(sys.argv) > 2:
        random.Random(int(sys.argv[2])).shuffle(paths)
    for path in paths:
        with open(path, "rb") as file:
            yield path, file.read()


def code_objects(code):
    left = [code]
    while left:
        code = left.pop()
        yield code
        left += [const for const in code.co_consts if isinstance(const, type(code))]


def units_of(code):
    return len(code.co_code) // 2


def lines_by_ranges(code):
    lines = []
    for start, end, line in code.co_lines():
        assert start == 2 * len(lines), "co_lines leaves something out"
        lines += [line] * ((end - start) // 2)
    return lines


def answers(code):
    """(line, end line, column, end column) of each unit as the interpreter tells them."""
    if FORMAT == 0:
        return [(addr_to_line(code, 2 * unit), None, None, None) for unit in range(units_of(code))]
    lines = lines_by_ranges(code)
    for unit, line in enumerate(lines[:ASKED_MAX]):
        assert addr_to_line(code, 2 * unit) == (-1 if line is None else line), "PyCode_Addr2Line and co_lines differ"
    if FORMAT == 1:
        return [(line, None, None, None) for line in lines]
    positions = list(code.co_positions())
    assert [position[0] for position in positions] == lines, "co_lines and co_positions differ"
    return positions


def as_text(position):
    line, end_line, column, end_column = position
    return "%d %d %d %d\n" % (line or 0, end_line or 0, 0 if column is None else column + 1,
                              0 if end_column is None else end_column + 1)


def write_record(out, code, name):
    table = code.co_lnotab if FORMAT == 0 else code.co_linetable
    answer = "".join(map(as_text, answers(code))).encode("ascii")
    out.write(("%d %d %d %d %d %s:%s\n" % (
        FORMAT, code.co_firstlineno, units_of(code), len(table), len(answer), name,
        code.co_name)).encode("utf-8", "replace"))
    out.write(table)
    out.write(answer)


def main():
    limit = int(sys.argv[1]) if len(sys.argv) > 1 else sys.maxsize
    out = sys.stdout.buffer
    files = skipped = units = 0
    warnings.simplefilter("ignore")
    for name, source in sources():
        if units >= limit:
            break
        try:
            code = compile(source, name, "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError):
            skipped += 1  # the test suite has files that must not compile
            continue
        files += 1
        for each in code_objects(code):
            write_record(out, each, name)
            units += units_of(each)
    out.write(("end %d %d %d\n" % (files, skipped, units)).encode("ascii"))


main()
