#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs unit tests and pytest, and ends with one line: N passed, N failed, N skipped.

    run.py --build DIR [--name NAME] [--wrapper WORDS] [--workers N] [--unit PROGRAM...] [--pytest ARGUMENT...]

N workers (1) run N tests at a time, unit tests and pytest's; the latter need pytest-xdist. Where that is missing,
they run one after the other, and a line says so. What a run writes lies below the build directory; runs of different
names can go on there at the same time.

Before that line stands "failed: NAME (WHY)" for each that failed, and "second try: NAME" for each that passed at its
second try only (which the count takes as passed).

What the usual tools do not do, and is here for that:
  unit tests    `make -j` runs programs side by side, as it runs the fuzzers, but it counts no tests, skipped ones least
                of all, has no limit of time and tries nothing again. As tests of pytest's own (a collector, reports and
                options in a plugin) they take more code than they take here.
  second try    What fails is tried once more, alone: live processes on a loaded machine now and then miss a deadline
                that they meet otherwise. pytest-rerunfailures tries again at once, beside the same load. It cannot make
                final what a sanitizer or valgrind found (--only-rerun sees the exception, not what a program
                printed), or a run in which more than SECOND_TRIES tests fail. pytest's own --last-failed does not find the
                tests of a group of pytest-xdist (their names are others there).
  closing lines tests/steps.sh adds them up; pytest's last line counts no unit tests, and names no second tries.
"""

import argparse
import concurrent.futures
import importlib.util
import os
import re
import shlex
import signal
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

UNIT_TIMEOUT_S = 1200  # of one in valgrind or qemu, beside others
SECOND_TRIES = 8
FINDING = re.compile(r"(ERROR|WARNING|SUMMARY): \w+Sanitizer|runtime error:|^==\d+==", re.MULTILINE)
GROUP = re.compile(r"@\w+$")  # which pytest-xdist puts after a name
TAP = re.compile(r"^(not )?ok \d+ (- |# SKIP )(.*)$")
WHY_CHARS = 300


class Counts:
    def __init__(self, passed=0, failed=0, skipped=0):
        self.passed, self.failed, self.skipped = passed, failed, skipped
        self.names = []  # of what failed
        self.why = {}  # by name: a line of what it said
        self.second = []  # names of what passed at its second try

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.names += other.names
        self.why.update(other.why)
        self.second += other.second

    def __str__(self):
        return "%d passed, %d failed, %d skipped" % (self.passed, self.failed, self.skipped)


def say(text):
    print(text, flush=True)


def count_tap(text):
    """Counts one program's TAP output; tests it announced and never ran have failed."""
    counts = Counts()
    announced = 0
    for line in text.splitlines():
        match = TAP.match(line)
        if re.match(r"^1\.\.\d+$", line):
            announced += int(line[3:])
        elif match and match.group(2) == "# SKIP ":
            counts.skipped += 1
        elif match and match.group(1):
            counts.failed += 1
        elif match:
            counts.passed += 1
    counts.failed += max(0, announced - counts.passed - counts.failed - counts.skipped)
    return counts


def name_of(program):
    """Its path below tests/unit, or its file's name."""
    return program.rpartition("/tests/unit/")[2] if "/tests/unit/" in program else os.path.basename(program)


def run_unit_once(program, wrapper):
    """Gives the counts, what it printed and how it ended."""
    try:
        done = subprocess.run(
            wrapper + [program], env=dict(os.environ, CMOCKA_MESSAGE_OUTPUT="TAP"), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=UNIT_TIMEOUT_S, check=False,
        )
        text, status = done.stdout.decode(errors="replace"), done.returncode
    except subprocess.TimeoutExpired as late:
        text, status = (late.stdout or b"").decode(errors="replace"), "none: it ran for %d s" % UNIT_TIMEOUT_S
    counts = count_tap(text)
    if status != 0 and counts.failed == 0:
        counts.failed = 1  # a sanitizer or valgrind spoke up, or it died between tests
    if counts.passed + counts.failed + counts.skipped == 0:
        counts.failed = 1  # a program that tests nothing is no test
    return counts, text, status


def run_units(programs, wrapper, workers):
    """All of them, several at a time; what failed is tried once more when the others have ended."""
    total, failed = Counts(), []
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for program, tried in zip(programs, pool.map(lambda one: run_unit_once(one, wrapper), programs)):
            say("unit: %-40s %s" % (name_of(program), tried[0]))
            if tried[0].failed:
                failed.append((program, tried))
            else:
                total.add(tried[0])
    for program, tried in failed:
        total.add(run_unit_again(program, wrapper, *tried))
    return total


def why_unit_failed(text, status):
    """What a sanitizer found, or the first test that failed and where; else how the program ended."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if FINDING.search(line):
            return line
        if line.startswith("not ok"):
            return " ".join([TAP.sub(r"\3", line)] + [more for more in lines[number + 1 : number + 3] if more.startswith("#")])
    return "status %s after: %s" % (status, lines[-1] if lines else "nothing")


def run_unit_again(program, wrapper, counts, text, status):
    """A second try of one that failed, unless a sanitizer or valgrind found something."""
    say("%s\nunit: %s ended with status %s" % (text, program, status))
    if not FINDING.search(text):
        counts, text, status = run_unit_once(program, wrapper)
        say("unit: second try of %s: %s" % (name_of(program), counts))
        if counts.failed:
            say(text)
        else:
            counts.second = [name_of(program)]
    if counts.failed:
        counts.names = [name_of(program)]
        counts.why[name_of(program)] = why_unit_failed(text, status)
    return counts


def count_junit(path):
    counts = Counts()
    for suite in ElementTree.parse(path).getroot().iter("testsuite"):
        failed = int(suite.get("failures")) + int(suite.get("errors"))
        skipped = int(suite.get("skipped"))
        # A test that passes and then fails in teardown is counted as an error only.
        counts.add(Counts(max(0, int(suite.get("tests")) - failed - skipped), failed, skipped))
    return counts


def failed_tests(path):
    """What failed: a line of why by its node id, and whether it may be tried again."""
    why = {}
    again = True
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        failure = case.find("failure") if case.find("failure") is not None else case.find("error")
        if failure is None:
            continue
        file = case.get("classname", "").replace(".", os.sep) + ".py"
        again = again and not FINDING.search(failure.text or "") and os.path.isfile(file)
        why["%s::%s" % (file, GROUP.sub("", case.get("name")))] = failure.get("message") or ""
    return why, again and 0 < len(why) <= SECOND_TRIES


def words_for_workers(workers):
    """The options that have pytest run several tests at a time."""
    if workers < 2:
        return []
    if not importlib.util.find_spec("xdist"):
        say("pytest: one test at a time: pytest-xdist is not installed")
        return []
    return ["-n", str(workers), "--dist", "loadgroup"]


def run_pytest_once(arguments, build, name, report_name):
    """Gives the counts and whether what failed may be tried again."""
    report = os.path.join(build, "tests", report_name)
    os.makedirs(os.path.dirname(report), exist_ok=True)
    os.makedirs(os.path.join(build, "tmp"), exist_ok=True)
    if os.path.exists(report):
        os.unlink(report)
    status = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml", report,
         "--basetemp", os.path.join(build, "tmp", name)] + arguments,
        env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"), stdin=subprocess.DEVNULL, check=False,
    ).returncode
    counts = count_junit(report) if os.path.exists(report) else Counts(failed=1)
    if status != 0 and counts.failed == 0:
        counts.failed = 1  # nothing was collected, or pytest itself failed
    counts.why, again = failed_tests(report) if os.path.exists(report) else ({}, False)
    counts.names = list(counts.why)
    if counts.failed and not counts.names:
        counts.names = ["pytest itself"]
    return counts, again


def run_pytest(arguments, build, name, workers):
    first, again = run_pytest_once(words_for_workers(workers) + arguments, build, name, name + ".xml")
    if not again:
        return first
    say("pytest: second try of %s" % ", ".join(first.names))
    options = [a for a in arguments if not os.path.exists(a)]
    second, _ = run_pytest_once(options + first.names, build, name, name + "-again.xml")
    second.second = [name for name in first.names if name not in second.names]
    second.add(Counts(first.passed, first.failed - len(first.names), first.skipped))
    return second


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--name", default="pytest", help="of its reports and its folder")
    parser.add_argument("--wrapper", default="", help="words put before each unit test")
    parser.add_argument("--workers", type=int, default=1, help="how many tests run at a time")
    parser.add_argument("--unit", nargs="*", default=[])
    parser.add_argument("--pytest", nargs=argparse.REMAINDER, default=None)
    args = parser.parse_args()

    build = os.path.abspath(args.build)
    for number in (signal.SIGHUP, signal.SIGQUIT):  # what nohup and & have ignored goes to the tests' own programs
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    total = Counts()
    total.add(run_units(args.unit, shlex.split(args.wrapper), args.workers))
    if args.pytest is not None:
        total.add(run_pytest(args.pytest, build, args.name, args.workers))
    for name in total.second:
        say("second try: " + name)
    for name in total.names:
        why = " ".join(total.why.get(name, "").split())[:WHY_CHARS]
        say("failed: %s%s" % (name, " (%s)" % why if why else ""))
    say(str(total))
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
