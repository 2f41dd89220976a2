# SPDX-License-Identifier: Apache-2.0
"""Functions that are made one after another at the same addresses, and what a reader from outside must see of each.

    remade.py WHAT STEPS    WHAT tells one from the next: name, file, lines, or interpreter; late: an interpreter that is
                            made after some steps in the main one

Prints {"pid", "func", "file", "line", "same"} from within each, and goes on with each byte that it reads. "same":
its code object, and all that it points to, is where that of an earlier one was.

Source that CPython 3.6 to 3.15 all read. Interpreters need 3.8.
"""

import array
import gc
import json
import marshal
import os
import sys
import types

TRIES = 200
PARTS = 5  # of a code object, whose addresses are compared
SOURCE = """\
def outer():
    def made_0(say, wait):
        say()
%s        wait(0, 1)
    return made_0
"""
LINE = 4  # of the call of wait, if no other line is put before it
INNER = """
import json, os
def made_%(step)d(said):
    os.write(1, json.dumps(said).encode() + b"\\n")
    os.read(0, 1)
made_%(step)d(%(said)r)
"""


def inner_code(source):
    """The code object of the function in the function."""
    code = compile(source, "file_0.py", "exec")
    for _ in range(2):
        code = next(const for const in code.co_consts if isinstance(const, types.CodeType))
    return code


def template(what, step):
    """The function of a step as marshal has it; those of all steps are of one size."""
    data = marshal.dumps(inner_code(SOURCE % ("\n" * (step % 2 if what == "lines" else 0))))
    word = {"name": b"made_", "file": b"file_", "lines": None}[what]
    return data.replace(word + b"0", word + b"%d" % (step % 10)) if word else data


def note_addresses(code, into, at):
    """Where all is that tells one code object from another."""
    into[at] = id(code)
    into[at + 1] = id(getattr(code, "co_qualname", code.co_name))
    into[at + 2] = id(code.co_filename)
    into[at + 3] = id(code.co_linetable if sys.version_info >= (3, 10) else code.co_lnotab)
    into[at + 4] = id(code.co_code) if sys.version_info < (3, 11) else 0  # later ones make it when asked


def is_where_one_was(addresses, at):
    """Whether the code object at place `at` is where the last one with its address had all its parts."""
    for before in range(at - PARTS, -1, -PARTS):
        if addresses[before] == addresses[at]:
            return addresses[before:before + PARTS] == addresses[at:at + PARTS]
    return False


def make(data, addresses, at):
    """A code object where one was, if that happens within some tries."""
    for _ in range(TRIES):
        code = marshal.loads(data)
        note_addresses(code, addresses, at)
        if is_where_one_was(addresses, at):
            return code
        code = None
    code = marshal.loads(data)
    note_addresses(code, addresses, at)
    return code


def tell(what, step, same):
    """What a step says, of strings of its own: those of a code object are to die with it."""
    func = ("outer.<locals>." if sys.version_info >= (3, 11) else "") + "made_%d" % (step if what == "name" else 0)
    return json.dumps({"pid": os.getpid(), "func": func, "file": "file_%d.py" % (step if what == "file" else 0),
                       "line": LINE + (step % 2 if what == "lines" else 0), "same": same}).encode() + b"\n"


def run_functions(what, steps):
    datas = [template(what, step) for step in range(steps)]
    said = [[tell(what, step, same) for same in (False, True)] for step in range(steps)]
    addresses = array.array("Q", [0] * (PARTS * steps))
    step = 0

    def say():
        os.write(1, said[step][is_where_one_was(addresses, PARTS * step)])

    for step in range(steps):
        types.FunctionType(make(datas[step], addresses, PARTS * step), {})(say, os.read)


def wait_in_main(steps):
    for _ in range(steps):
        os.write(1, json.dumps({"pid": os.getpid(), "func": "wait_in_main"}).encode() + b"\n")
        os.read(0, 1)


def run_interpreters(steps, between):
    """One after another, with so many steps in the main one before each."""
    try:
        import _interpreters as interpreters  # 3.13 and later
    except ImportError:
        import _xxsubinterpreters as interpreters
    for step in range(between, steps, between + 1):
        wait_in_main(between)
        interpreter = interpreters.create()
        said = {"pid": os.getpid(), "func": "made_%d" % step, "file": "file_0.py", "line": 5, "same": True}
        inner = INNER % {"step": step, "said": said}
        interpreters.run_string(interpreter, "exec(compile(%r, 'file_0.py', 'exec'))" % inner)
        interpreters.destroy(interpreter)


def main():
    gc.disable()
    what, steps = sys.argv[1], int(sys.argv[2])
    if what == "interpreter":
        run_interpreters(steps, 0)
    elif what == "late":
        run_interpreters(steps, 3)
    else:
        run_functions(what, steps)


main()
