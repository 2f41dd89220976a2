# SPDX-License-Identifier: Apache-2.0
"""What `pystrobe record` takes for one process, beside CPython's own profiler and another build, in turns.

What a tool takes steadily is the difference between a long and a short run: its start and end are in both.
"""

import collections
import os
import statistics
import types

import neighbours
import tools_cost
import tools_measure
import tools_peers
import tools_stats

SHORT_S = 1
PEER = "profiling.sampling"
TURN_S = 0.3  # of the target's speed with and without

# `busy`: neighbours; `cpu`: of a core, at most; `times`: CPU time, as many times the peer's at most.
Row = collections.namedtuple("Row", "workload rate busy cpu times", defaults=(0, None, None))
ROWS = (
    Row("cpu", 100, 0, None, 0.4), Row("cpu", 1000, 0, None, 0.5),
    Row("cpu", 100, 3, None, 0.6), Row("cpu", 1000, 3, None, 0.9),
    Row("parked100", 100, 0, 0.013), Row("parked100", 1000, 0, 0.06),
)
LABELS = {"cpu": "1 busy process", "parked100": "1 busy process, 100 threads parked"}


def choose_python():
    """What runs the targets: a 3.15, which the peer reads, or else the newest. The last is the newest."""
    fit = [python for python in tools_peers.live.load_pythons()[0] if not python["debug"] and not python["free_threaded"]]
    return max(fit, key=lambda python: [int(part) for part in python["version"].split(".")])


def tools_of(python, programs, log):
    """{"now", "before", PEER: tool}, of those that there are."""
    tools = {name: dict(tools_peers.pystrobe_tool(program), name=name) for name, program in programs.items()}
    peer = tools_peers.make(PEER, python, programs["now"], log)
    return dict(tools, **{PEER: peer}) if peer else tools


def steady(bench, tool, target, rate, seconds):
    """CPU time a second, without start and end."""
    long = bench.run(tool, target.pid, rate, SHORT_S + seconds)
    short = bench.run(tool, target.pid, rate, SHORT_S)
    return (long["cpu_ns"] - short["cpu_ns"]) / (long["wall_ns"] - short["wall_ns"])


def measure_row(bench, python, row, tools, args):
    """The medians of the tools, on one target."""
    taken = {name: [] for name in tools}
    with tools_measure.running(python, row.workload) as target, neighbours.busy(row.busy):
        for number in range(args.record_rounds):
            for name in list(tools) if number % 2 == 0 else reversed(tools):
                taken[name].append(steady(bench, tools[name], target, row.rate, args.record_seconds))
    return dict(row._asdict(), **{"tools": {name: statistics.median(values) for name, values in taken.items()}}, rounds=taken)


def ratio(found, name):
    """Ours as many times as another's; None where there is no other."""
    return found["tools"]["now"] / found["tools"][name] if found["tools"].get(name) else None


def missed(found):
    """What bar a row misses, in words."""
    words = []
    if found["cpu"] and found["tools"]["now"] > found["cpu"]:
        words.append("over %g %%" % (100 * found["cpu"]))
    if found["times"] and (ratio(found, PEER) or 0) > found["times"]:
        words.append("over %g times" % found["times"])
    return ", ".join(words)


def shown(value, form="%.2f", unit=1):
    return "-" if value is None else form % (value * unit)


def label_of(found):
    beside = ", %d busy neighbours" % found["busy"] if found["busy"] else ""
    return "%s%s, %d Hz" % (LABELS[found["workload"]], beside, found["rate"])


def text_of(rows):
    lines = [["record, % of a core", "now", "before", "now/before", "CPython's", "now/CPython's", "bar", ""]]
    for found in rows:
        bar = shown(found["cpu"], "%g %%", 100) if found["cpu"] else shown(found["times"], "%g x")
        lines.append([label_of(found), shown(found["tools"]["now"], unit=100), shown(found["tools"].get("before"), unit=100),
                      shown(ratio(found, "before")), shown(found["tools"].get(PEER), unit=100), shown(ratio(found, PEER)),
                      bar, missed(found)])
    return tools_stats.table(lines)


def measure(build, programs, args, log):
    """All rows."""
    python = choose_python()
    tools, bench = tools_of(python, programs, log), tools_measure.Bench(os.path.abspath(build))
    rows = []
    for row in ROWS:
        rows.append(measure_row(bench, python, row, tools, args))
        log(text_of(rows[-1:]))
    return rows


def measure_speed(build, programs, args, log):
    """The speed of a busy program with each build in turns of a fraction of a second, 1 as without one."""
    python = choose_python()
    tools = dict({tools_cost.NOBODY: None}, **tools_of(python, programs, log))
    tools.pop(PEER, None)
    bench = tools_measure.Bench(os.path.abspath(build))
    options = types.SimpleNamespace(pairs=1, turns=args.turns, seconds=2)
    rows = []
    with tools_measure.running(python, "cpu") as target:
        for rate in tools_cost.BARS:
            taken = tools_cost.take_pairs(bench, target, tools, rate, options, TURN_S)
            rows += [{"rate": rate, "tool": name, "speeds": tools_cost.speeds_of(pairs)} for name, pairs in taken.items()]
    return rows


def speed_text(rows):
    lines = [["speed of a busy process", "median", "95 % interval"]]
    for row in rows:
        low, high = tools_stats.median_interval(row["speeds"])
        lines.append(["%d Hz, %s" % (row["rate"], row["tool"]), "%.4f" % statistics.median(row["speeds"]),
                      "%.4f to %.4f" % (low, high)])
    return tools_stats.table(lines)
