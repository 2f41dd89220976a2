# SPDX-License-Identifier: Apache-2.0
"""Measures how cost grows: with threads, with the depth of one stack, with asyncio tasks."""

import bars
import measure
import sides

DURATION_S, ROUNDS = 0.6, 3
# What grows, what a call does, title, axis, and how far.
SERIES = (
    ("threads", "stack", "Idle threads", "threads that wait for an event", (1, 3, 10, 30, 100, 300, 1000)),
    ("depth", "stack", "Deep stacks", "frames; the innermost changes all the time", (1, 3, 10, 30, 100, 300, 1000)),
    ("tasks", "all-tasks", "All asyncio tasks", "tasks, in chains of five", (1, 10, 100, 1000, 10000)),
)


def measure_all(python, settings, say):
    """[{"title", "axis", "lines": {who: [[x, us], ...]}}], one for each series."""
    short = settings._replace(duration_s=DURATION_S, rounds=ROUNDS, strace=False, status=False)
    drawn = []
    for kind, operation, title, axis, numbers in SERIES:
        lines = {"pystrobe": [], "CPython's _remote_debugging": []}
        for number in numbers:
            workload = "%s=%d" % (kind, number)
            if not sides.is_able(python, workload, operation):
                continue
            row = measure.row_of(python, bars.Bar(workload, operation, None, None), short)
            for name, side in zip(lines, (row["ours"], row["peer"])):
                if side and side["p50_us"]:
                    lines[name].append([number, side["p50_us"]])
            say("%-18s %s" % (workload, ", ".join(
                "%s %g us" % (name, line[-1][1]) for name, line in lines.items() if line and line[-1][0] == number)))
        drawn.append({"title": title, "axis": axis, "lines": {name: line for name, line in lines.items() if line}})
    return drawn
