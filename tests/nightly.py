#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the long forms of tests and notes their figures in a table that is committed.

    nightly.py --table FILE --logs DIR [--list] STEP...

A step is a make target with its settings; STEPS says which, and which lines of its output are its figures.
A step that is run again replaces its row. A failed step says so in its row, and the exit status is 1.
"""

import argparse
import os
import re
import resource
import subprocess
import sys
import time

TREE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COUNTS = r"^\d+ passed, \d+ failed, \d+ skipped$"
HEAD = """\
# Results of `make nightly`, one row a step: when it ran last, on which revision, and what it found.
# `make nightly NIGHTLY="soak truth"` runs parts and replaces their rows.
"""
FORMAT = "%-10s  %-12s  %-17s  %7s  %7s  %s"
COLUMNS = ("date", "revision", "step", "wall s", "CPU s", "result")

# Step: (what it says that `make test-long` does not, words for make, pattern of its figures).
STEPS = {
    "soak": ("an hour of workers that come and go", ["soak", "SOAK=3600"], r"^soak: (.*)$"),
    "truth": ("every program, version and placement", ["truth"], COUNTS),
    "weights": ("all 25 workloads", ["weights"], r"^weights: (.*)$"),
    "spool": ("500 kills", ["spool"], r"^(\d+ kills in .*|on disk and lost: .*|twice: .*|not covered .*)$"),
    "churn": ("10,000 short lives, deaths and pids used anew", ["churn"], r"^(storm: .*|%s)" % COUNTS[1:]),
    "measures": ("tests that measure the machine",
                 ["integration", "PYTEST_ARGS=-m nightly", "WORKERS=1"], COUNTS),
    "attacks": ("an hour of all attacks at once", ["attacks", "ATTACK_S=1800"], r"^attacks, (.*)$"),
    "packages-measures": ("how soon an installed service starts and ends", ["packages", "PACKAGES_ARGS=-m nightly"], COUNTS),
    "budget": ("limits over minutes", ["budget"], COUNTS),
    "faults": ("outages of minutes", ["faults"], COUNTS),
    "bench-tests": ("benchmarks of whole tools measure what they say", ["bench-tests"], COUNTS),
    "servers": ("gunicorn, uvicorn and celery", ["servers"], COUNTS),
    "programs": ("names of seventy real programs", ["programs"], r"^(programs: .*|%s)" % COUNTS[1:]),
    "lines": ("each instruction of each standard library", ["lines"], COUNTS),
    "fuzz": ("ten minutes a fuzzer, other inputs each time", ["fuzz", "FUZZ_SECONDS=600", "FUZZ_SEED=0"], COUNTS),
    "test-every": ("all live tests on every interpreter, one at a time",
                   ["test", "PYSTROBE_EVERY=1", "WORKERS=1"], COUNTS),
    "asan-full": ("all live tests under ASan and UBSan", ["asan", "SANITIZED_TESTS="], COUNTS),
    "tsan-full": ("all live tests under TSan", ["tsan", "SANITIZED_TESTS="], COUNTS),
    "valgrind-full": ("all unit tests under valgrind", ["valgrind", "VALGRIND_IMAGES=*"], COUNTS),
    "tidy-full": ("the static analyzer over the tests, too", ["tidy", "TIDY_OF_TESTS="], r"^(.*warning:.*)$"),
}


def read_table(path):
    """{step: row as printed}"""
    rows = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for line in file:
                words = line.split()
                if re.match(r"\d{4}-\d\d-\d\d ", line) and len(words) > 3:
                    rows[words[2]] = line.rstrip("\n")
    return rows


def write_table(path, rows):
    order = [step for step in STEPS if step in rows]
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(HEAD + (FORMAT % COLUMNS) + "\n")
        file.writelines(rows[step] + "\n" for step in order)
    os.replace(path + ".new", path)


def revision():
    """The commit, with a + where the tree differs from it in more than the table."""
    def git(*words):
        return subprocess.run(["git", *words], cwd=TREE, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()

    changed = git("status", "--porcelain", "-uno", "--", ".", ":!tests/nightly.txt")
    return git("rev-parse", "--short=10", "HEAD") + ("+" if changed else "")


def figures_of(text, pattern):
    return "; ".join(" ".join(line.split()) for line in (match.group(match.lastindex or 0) for match in re.finditer(pattern, text, re.M)))


def run_step(step, logs):
    """Gives (exit status, wall seconds, CPU seconds, output); shows the output as it comes."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    words = [os.environ.get("MAKE", "make"), "--no-print-directory"] + STEPS[step][1]
    with open(os.path.join(logs, step + ".log"), "w+", encoding="utf-8", errors="replace") as log:
        process = subprocess.Popen(words, cwd=TREE, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, errors="replace")
        for line in process.stdout:
            log.write(line)
            print(line, end="", flush=True)
        status = process.wait()
        log.seek(0)
        text = log.read()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return status, time.monotonic() - began, cpu_s, text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", required=True)
    parser.add_argument("--logs", required=True)
    parser.add_argument("--list", action="store_true", help="print the steps and run none")
    parser.add_argument("steps", nargs="*", metavar="STEP")
    args = parser.parse_args()
    unknown = set(args.steps) - set(STEPS)
    if unknown:
        parser.error("no such step: %s; there are: %s" % (" ".join(sorted(unknown)), " ".join(STEPS)))
    if args.list:
        print("\n".join("%-17s %s" % (step, what) for step, (what, _, _) in STEPS.items()))
        return 0

    os.makedirs(args.logs, exist_ok=True)
    failed = 0
    for step in args.steps or STEPS:
        print("== nightly %s: %s" % (step, STEPS[step][0]), flush=True)
        status, wall_s, cpu_s, text = run_step(step, args.logs)
        result = figures_of(text, STEPS[step][2]) or ("passed" if status == 0 else text.strip().splitlines()[-1:])
        if status != 0:
            failed += 1
            result = "FAILED (%d): %s" % (status, result)
        rows = read_table(args.table)
        rows[step] = FORMAT % (time.strftime("%Y-%m-%d"), revision(), step, "%.0f" % wall_s, "%.0f" % cpu_s, result)
        write_table(args.table, rows)
    with open(args.table, encoding="utf-8") as file:
        print(file.read(), end="")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
