# SPDX-License-Identifier: Apache-2.0
"""Burns CPU in functions whose names are made to drive or to fool a terminal, in turn.

Prints {"pid", "names"}; ends with its standard input. Source that CPython 3.8 and later read.
"""

import json
import os
import sys
import threading
import time

NAMES = ["\x1b[2J\x1b[31mred", "\x9b31m\x07bell", "right\u202etfel", "\u65e5\u672c\u8a9e", "new\nline\ttab",
         "e\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301", "\U0001f40d" * 60, "long" * 500]

SOURCE = """
def f(seconds):
    end = clock() + seconds
    while clock() < end:
        for number in range(500):
            pass
"""


def disguise(name):
    code = compile(SOURCE, "/srv/%s.py" % name.replace("\0", ""), "exec")
    inner = next(part for part in code.co_consts if hasattr(part, "co_name"))
    renamed = {"co_name": name}
    if hasattr(inner, "co_qualname"):
        renamed["co_qualname"] = name
    consts = tuple(inner.replace(**renamed) if part is inner else part for part in code.co_consts)
    names = {"clock": time.thread_time}
    exec(code.replace(co_consts=consts), names)
    return names["f"]


def burn():
    functions = [disguise(name) for name in NAMES]
    while True:
        for function in functions:
            function(0.02)


def main():
    threading.Thread(target=burn, name=NAMES[0], daemon=True).start()
    sys.stdout.write(json.dumps({"pid": os.getpid(), "names": NAMES}) + "\n")
    sys.stdout.flush()
    while os.read(0, 4096):
        pass
    os._exit(0)


main()
