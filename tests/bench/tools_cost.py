#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what being profiled costs a program: its own count of its work, with and without.

The program runs alone and with a profiler in turn: A B A B ... A. Each B is divided by the mean of
the A before and the one behind it. Printed are the median of these ratios and the bootstrap's 95 %
interval of it; `nobody` is the same with nobody profiling, which shows the noise. Where that
alone is farther from 1 than the bar, nothing is said of the bar. `reading a word` is a program that
wakes up as often on the target's CPU, and reads eight bytes of it: who waits there for its moment
cannot leave the target more than that.
pystrobe and the reader of words stand still between their turns, which are short: the machine has
its ups and downs, and seconds apart they are other ones. Peers would catch up on what they missed
meanwhile, so that each of their turns is a run of its own.
Exits with 1 if pystrobe is surely below a bar.
"""

import argparse
import contextlib
import json
import os
import statistics
import sys

import tools_measure
import tools_peers
import tools_stats
from tools import log, names_in, numbers, say

BARS = {100: 0.995, 1000: 0.985}  # of the speed without a profiler, at samples a second
NOBODY = "nobody"
PAIRS_MIN = 6  # of fewer the bootstrap's interval says little
TURN_S = {"cpu": 0.15, "pagefault": 0.3}  # short, but many pieces of the target's work
LONGER_TURN_S = 2.0


def take_turns(target, seconds, profiled, ratios):
    """A pair of each tool; `profiled` has what gives the target's speed with it."""
    before = profiled and tools_measure.watch(target, seconds)
    for name, speed_with in profiled.items():
        speed = speed_with(target, seconds)
        after = tools_measure.watch(target, seconds)
        ratios[name].append({key: speed[key] / statistics.mean([before[key], after[key]]) for key in speed})
        before = after


def take_pairs(bench, target, tools, rate, options, turn_s):
    """{tool: [ratio of each pair]}, the tools in turn."""
    def run_anew(tool):
        return lambda target, _: bench.run_watched(tool, target, rate, options.seconds)[1]

    ratios = {name: [] for name in tools}
    runs = {name: run_anew(tool) for name, tool in tools.items() if tool and "held" not in tool}
    with contextlib.ExitStack() as stack:
        turns = {name: stack.enter_context(tools_measure.Held(bench, tool, target.pid, rate)).turn if tool
                 else tools_measure.watch for name, tool in tools.items() if name not in runs}
        for number in range(options.pairs):
            log("%d Hz, pair %d of %d" % (rate, number + 1, options.pairs))
            take_turns(target, tools_measure.window_of(options.seconds), runs, ratios)
            for _ in range(options.turns):
                take_turns(target, turn_s, turns, ratios)
    return ratios


def judge(speeds, bar, noise):
    """How the speeds stand to the bar; unclear if the machine is not still enough to tell."""
    low, high = tools_stats.median_interval(speeds)
    if len(speeds) < PAIRS_MIN or noise > 1 - bar or low < bar <= high and statistics.median(speeds) < bar:
        return "unclear"
    return "reached" if high >= bar else "missed"


def speeds_of(pairs):
    return [pair["per_second"] for pair in pairs]


def result_of(workload, rate, name, pairs, noise):
    speeds = speeds_of(pairs)
    interval = tools_stats.median_interval(speeds)
    bar = BARS.get(rate) if name == "pystrobe" else None
    return {
        "workload": workload, "rate": rate, "tool": name, "pairs": pairs, "median": statistics.median(speeds),
        "low": interval[0], "high": interval[1], "bar": bar,
        "target_cpu": statistics.median(pair["cpu_per_work"] for pair in pairs),
        "verdict": judge(speeds, bar, noise) if bar else "",
    }


def row_of(result):
    return [result["workload"], "%d Hz" % result["rate"], result["tool"], "%.4f" % result["median"],
            "%.4f .. %.4f" % (result["low"], result["high"]), "%.4f" % result["target_cpu"],
            "%.3f" % result["bar"] if result["bar"] else "", result["verdict"]]


def read_options():
    known = tools_peers.NAMES + tools_peers.MORE_NAMES
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", help="where pystrobe was built")
    parser.add_argument("--python", default="3.15", help="what runs the targets; the 3.15 peer reads 3.15 only")
    parser.add_argument("--tools", type=names_in(known), default=["pystrobe", "profiling.sampling"],
                        help=",".join(known))
    parser.add_argument("--workloads", type=names_in(tools_measure.WORKLOADS), default=["cpu", "pagefault"],
                        help=",".join(tools_measure.WORKLOADS))
    parser.add_argument("--rates", type=numbers, default=[100, 1000])
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--turns", type=int, default=12, help="of those that stand still in between, for each pair")
    parser.add_argument("--seconds", type=int, default=4, help="of the run of each that does not")
    parser.add_argument("--target-cores", help="keep the target on these CPUs, as in 0 or 0-3")
    parser.add_argument("--tool-cores", help="keep the tools on these")
    parser.add_argument("--json", help="default: bench-target.json in the build folder")
    options = parser.parse_args()
    if options.pairs < 1 or options.turns < 1 or options.seconds < 2:
        parser.error("at least one pair, one turn, and runs of two seconds")
    return options


def main():
    options = read_options()
    build = os.path.abspath(options.build)
    python = tools_peers.find_python(options.python)
    tools = {NOBODY: None}
    held = options.tool_cores is not None  # then nobody sits on the target's CPU
    for name in [tools_peers.WORD] * (not held) + options.tools:
        tool = tools_peers.make(name, python, os.path.join(build, "pystrobe"), log)
        tools.update({name: tool} if tool else {})
    bench = tools_measure.Bench(build, options.tool_cores)
    results = []
    for workload in options.workloads:
        turn_s = TURN_S.get(workload, LONGER_TURN_S)
        with tools_measure.running(python, workload, options.target_cores) as target:
            for rate in options.rates:
                log("target %s" % workload)
                taken = take_pairs(bench, target, tools, rate, options, turn_s)
                noise = abs(statistics.median(speeds_of(taken[NOBODY])) - 1)
                found = [result_of(workload, rate, name, pairs, noise) for name, pairs in taken.items()]
                for result in found:
                    log("  ".join(row_of(result)))
                results += found
    say("targets: CPython %s; CPUs of the target: %s, of the tools: %s; %d pairs of runs, %d of turns" % (
        python["id"], options.target_cores or "any", options.tool_cores or "any", options.pairs,
        options.pairs * options.turns))
    head = ["target", "rate", "profiler", "speed", "95 % interval", "CPU for its work", "bar", ""]
    say(tools_stats.table([head] + [row_of(result) for result in results]))
    path = options.json or os.path.join(build, "bench-target.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"about": tools_measure.about(python, options), "results": results}, file, indent=1)
        file.write("\n")
    say("written: %s" % path)
    return 1 if any(result["verdict"] == "missed" for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
