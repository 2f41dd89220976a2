# SPDX-License-Identifier: Apache-2.0
"""A program that hardly runs, and is in another place each time: wide.py FUNCTIONS DEPTH [MARK].

It sleeps for some milliseconds below DEPTH functions that are drawn anew, of so many. To keep its
stacks takes memory; to run it takes next to no CPU time. Prints its pid as JSON; ends with its input.
"""

import json
import os
import random
import sys
import threading
import time

count, depth = int(sys.argv[1]), int(sys.argv[2])
dice = random.Random(os.getpid())
functions = []
names = {"functions": functions, "sleep": time.sleep}
for number in range(count):
    exec("def wide_%d(path):\n    return functions[path[0]](path[1:]) if path else sleep(0.02)" % number, names)
    functions.append(names["wide_%d" % number])


def wander():
    while True:
        functions[0](dice.choices(range(count), k=depth))


threading.Thread(target=wander, daemon=True).start()
print(json.dumps({"pid": os.getpid()}), flush=True)
sys.stdin.read()
