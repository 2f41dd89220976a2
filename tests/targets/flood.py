# SPDX-License-Identifier: Apache-2.0
"""A program that is expensive to sample: flood.py DEPTH [MARK].

Each of its stacks has DEPTH functions whose names of 1,000 bytes nobody has seen before. Prints its
pid as JSON; ends with its input.
"""

import itertools
import json
import os
import sys
import threading
import time
import types

depth = int(sys.argv[1])
numbers = itertools.count()


def step(functions):
    return functions[0](functions[1:]) if functions else time.sleep(0.02)


def fresh():
    name = ("flood_%d_" % next(numbers)).ljust(1000, "x")
    names = {key: name for key in ("co_name", "co_qualname") if hasattr(step.__code__, key)}
    return types.FunctionType(step.__code__.replace(**names), globals(), name)


def flood():
    while True:
        step([fresh() for _ in range(depth)])


threading.Thread(target=flood, daemon=True).start()
print(json.dumps({"pid": os.getpid()}), flush=True)
sys.stdin.read()
