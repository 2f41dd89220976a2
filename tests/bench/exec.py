#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How much later a command starts under `pystrobe exec`, and what memory that takes.

A tiny program prints the time at which its main begins. It is started alone, behind tini where that
is there, and behind pystrobe, in turns, so that whatever else the machine does falls on all alike.

    make bench-exec BENCH_ARGS="--rounds 200 --check"
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

DELAY_MAX_MS, MEMORY_MAX_KB = 5, 10240
CLOCK = """
#include <stdio.h>
#include <time.h>
int main(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return printf("%lld.%09ld\\n", (long long)now.tv_sec, now.tv_nsec) < 0;
}
"""
SETTLE_S = 5  # until the profiler has found and opened its target


def start_ms(words):
    """From just before it is started until its main begins."""
    before = time.clock_gettime(time.CLOCK_MONOTONIC)
    return (float(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout) - before) * 1e3


def whole_ms(words):
    """From start to end of it all."""
    before = time.perf_counter()
    subprocess.run(words, stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - before) * 1e3


def descendants(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as file:
        children = [int(child) for child in file.read().split()]
    return children + [below for child in children for below in descendants(child)]


def memory_kb(pystrobe, store):
    """Of all our processes while a Python runs: proportional, and private and written to."""
    process = subprocess.Popen([pystrobe, "exec", "--store", store, "--", "/usr/bin/python3", "-c",
                                "import sys; print(flush=True); sys.stdin.read()"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    time.sleep(SETTLE_S)
    sums = {"Pss": 0, "Private_Dirty": 0}
    for pid in [process.pid] + descendants(process.pid):
        if not os.readlink("/proc/%d/exe" % pid).endswith("/pystrobe"):
            continue
        with open("/proc/%d/smaps_rollup" % pid, encoding="ascii") as file:
            for line in file:
                name = line.split(":")[0]
                if name in sums:
                    sums[name] += int(line.split()[1])
    process.communicate()
    return sums


def show(name, values):
    values = sorted(values)
    print("%-28s median %6.2f   p90 %6.2f   min %6.2f ms" %
          (name, statistics.median(values), values[len(values) * 9 // 10], values[0]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--check", action="store_true", help="fail over %d ms or %d KiB" % (DELAY_MAX_MS, MEMORY_MAX_KB))
    args = parser.parse_args()
    pystrobe = os.path.abspath(os.path.join(args.build, "pystrobe"))
    with tempfile.TemporaryDirectory() as folder:
        clock = os.path.join(folder, "clock")
        subprocess.run(["cc", "-O2", "-x", "c", "-o", clock, "-"], input=CLOCK.encode(), check=True)
        front = [pystrobe, "exec", "--store", os.path.join(folder, "store"), "--"]
        ways = {"alone": [clock], "pystrobe exec": front + [clock]}
        if shutil.which("tini"):
            ways["tini"] = ["tini", "-s", "--", clock]
        starts = {name: [] for name in ways}
        wholes = {name: [] for name in ways}
        for _ in range(args.rounds):
            for name, words in ways.items():
                starts[name].append(start_ms(words))
                wholes[name].append(whole_ms(words))
        memory = memory_kb(pystrobe, front[3])
    for name in ways:
        show("main begins, " + name, starts[name])
    for name in ways:
        show("all is over, " + name, wholes[name])
    delay = statistics.median(ours - alone for ours, alone in zip(starts["pystrobe exec"], starts["alone"]))
    print("start-up delay: %.2f ms, the median of %d pairs" % (delay, args.rounds))
    print("memory of all processes: %d KiB proportional, %d KiB private and written to" %
          (memory["Pss"], memory["Private_Dirty"]))
    if args.check and (delay > DELAY_MAX_MS or memory["Pss"] > MEMORY_MAX_KB):
        print("bench-exec: over %d ms or %d KiB" % (DELAY_MAX_MS, MEMORY_MAX_KB), file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
