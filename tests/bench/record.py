#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How long it takes from `pystrobe record` to a flame graph on a host of many Python processes.

Starts 100 interpreters that mostly sleep, and one that works, and has pystrobe record, in turns, that
one for a second, then all of them, each time into a page for a browser. Prints the median of the
whole command, and of what it takes beyond the second that is recorded.

    make bench-record BENCH_ARGS="--processes 20 --rounds 3"
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
IDLERS = os.path.join(HERE, "targets", "idlers.py")
THREADS, EVERY_S, WORK_MS, DEPTH = 4, 1, 5, 0
RECORDED_S = 1
BUSY = "import sys\nprint(flush=True)\nwhile True:\n    sorted(range(1000), key=lambda n: -n)\n"


def start(words):
    """A program that has said that it is there."""
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    return process


def take(pystrobe, page, whom):
    """Seconds of a whole command; it must have made a page."""
    before = time.perf_counter()
    done = subprocess.run([pystrobe, "record", "-d", "%ds" % RECORDED_S, "-o", page, *whom],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    took = time.perf_counter() - before
    if done.returncode != 0:
        sys.exit("bench-record: %s" % done.stderr)
    if os.path.getsize(page) < 1000:
        sys.exit("bench-record: %s is no page" % page)
    os.unlink(page)
    return took


def show(name, values):
    values = sorted(values)
    print("%-24s median %6.3f s, %6.3f s beyond what is recorded; %.3f to %.3f s" %
          (name, statistics.median(values), statistics.median(values) - RECORDED_S, values[0], values[-1]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--processes", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=10)
    args = parser.parse_args()
    pystrobe = os.path.abspath(os.path.join(args.build, "pystrobe"))
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "idlers%d.py" % os.getpid())  # a name that only these have
        shutil.copy(IDLERS, script)
        idlers = start([sys.executable, script, "record", str(args.processes), str(THREADS), str(EVERY_S),
                        str(WORK_MS), str(DEPTH), "fresh"])
        busy = start([sys.executable, "-c", BUSY])
        try:
            whom = {"one busy process": ["--pid", str(busy.pid)],
                    "all %d idle ones" % args.processes: ["--target", os.path.basename(script)]}
            took = {name: [] for name in whom}
            for _ in range(args.rounds):
                for name, words in whom.items():
                    took[name].append(take(pystrobe, os.path.join(folder, "page.html"), words))
        finally:
            busy.kill()
            busy.wait()
            idlers.communicate()
    print("%d Python processes, %d threads each; %d rounds" % (args.processes, THREADS, args.rounds))
    for name, values in took.items():
        show(name, values)


if __name__ == "__main__":
    main()
