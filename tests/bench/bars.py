# SPDX-License-Identifier: Apache-2.0
"""What is asked for: how many times less than CPython's own reader a sample is to cost, how many samples are to
give a stack, and what one may take as the agent asks for it."""

import collections

# `ratio`: peer's median / ours, at least; `share`: of samples with a stack, at least; `status_us`: our median with
# the CPU status of threads, at most.
Bar = collections.namedtuple("Bar", "workload operation ratio share status_us", defaults=(None,))

BARS = (
    Bar("busy", "stack", 1.7, 0.999),
    Bar("basic", "stack", 1.7, 0.999),
    Bar("fib_busy", "stack", 3, 0.99),
    Bar("deep900_sleep", "stack", 4, 1),
    Bar("deep100_busyleaf", "stack", 3, 0.995),
    Bar("threads100_idle", "stack", 150, 1, 6),
    Bar("threads20_mixed", "stack", 10, 0.999),
    Bar("subinterp3", "stack", 4, 0.995),
    Bar("generators", "stack", 4, 0.98),
    Bar("async10", "async", 4, 0.995),
    Bar("async100", "async", 4, 0.995),
    Bar("async1000", "async", 4, 0.995),
    Bar("async10", "all-tasks", 5, 1),
    Bar("async100", "all-tasks", 5, 1),
    Bar("async1000", "all-tasks", 5, 1),
)
OPERATIONS = ("stack", "async", "all-tasks")
MODES = ("wall", "cpu", "gil", "all", "exception")
STATUS_MODE = "all"  # all threads, and whether each has a CPU: what the agent asks for
WITH_STATUS = ("stack", "async")  # operations that can tell that
CHOOSY = ("cpu", "gil", "exception")  # modes that leave threads out
NUMBERED = ("threads", "depth", "tasks")  # workloads with a number: "threads=50"


def is_known(workload):
    kind, equals, count = workload.partition("=")
    return kind in NUMBERED and count.isdigit() if equals else workload in [bar.workload for bar in BARS]


def rows(workloads=(), operation=None, mode="wall"):
    """What to measure: the bars' rows, narrowed; what no bar is about comes with none, as do all other modes."""
    named = list(workloads) or list(dict.fromkeys(bar.workload for bar in BARS))
    found = []
    for workload in named:
        own = [bar for bar in BARS if bar.workload == workload]
        if operation:
            own = [bar for bar in own if bar.operation == operation] or [Bar(workload, operation, None, None)]
        found += own or [Bar(workload, "all-tasks" if workload.startswith("tasks=") else "stack", None, None)]
    if not workloads and operation in ("async", "all-tasks"):
        found = [bar for bar in found if bar.workload.startswith("async")]
    return found if mode == "wall" else [bar._replace(ratio=None, share=None, status_us=None) for bar in found]


def verdict(bar, ratio, share, status_us=None):
    """Gives {"ratio": bool, "share": bool, "status": bool}; None where nothing is asked, or nothing to compare with."""
    return {
        "ratio": None if bar.ratio is None or ratio is None else ratio >= bar.ratio,
        "share": None if bar.share is None else share >= bar.share,
        "status": None if bar.status_us is None or status_us is None else status_us <= bar.status_us,
    }
