#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares whole profilers on the same running programs, in interleaved rounds.

For each program and rate a round is: the program alone, a profiler for the long time, the program
alone, the next profiler, ...; then each profiler for the short time. Each round begins with
another profiler. What a profiler takes steadily is the difference between its long and its short
run; the rest is its start and end. The program's speed is what it says of its own work, against
the times before and after in which it was alone.
"""

import argparse
import json
import os
import statistics
import sys

import neighbours
import tools_measure
import tools_peers
import tools_stats

ROUNDS_MIN = 3  # that say anything of how far a median can be trusted

# What is compared: key, what it is, and whether less of it is better.
FIGURES = [
    ("cpu_percent", "CPU of the tool, steady, % of a core", True),
    ("start_ms", "CPU of its start and end, ms", True),
    ("total_percent", "CPU of the whole run, % of a core", True),
    ("peak_mib", "peak memory of the tool, MiB", True),
    ("target_speed", "speed of the target (1: as without)", False),
    ("target_cpu", "CPU of the target for its work (1: as without)", True),
    ("lost_percent", "lost, as the tool says, %", True),
]


def figures_of(short, took, speed, alone):
    """The figures of one round of one tool."""
    cpu_ns = took["cpu_ns"] - short["cpu_ns"]
    wall_ns = took["wall_ns"] - short["wall_ns"]
    steady = cpu_ns / wall_ns
    return {
        "cpu_percent": 100 * steady,
        "start_ms": (short["cpu_ns"] - steady * short["wall_ns"]) / 1e6,
        "total_percent": 100 * took["cpu_ns"] / took["wall_ns"],
        "peak_mib": took["peak_kib"] / 1024,
        "target_speed": speed["per_second"] / statistics.mean(one["per_second"] for one in alone),
        "target_cpu": speed["cpu_per_work"] / statistics.mean(one["cpu_per_work"] for one in alone),
        "lost_percent": took["lost_percent"],
        "taken": took["taken"],
    }


def take_round(bench, target, tools, rate, options):
    """Gives ({tool: its figures}, how much the target's speed alone varied)."""
    window = tools_measure.window_of(options.long)
    alone = [tools_measure.watch(target, window)]
    runs = []
    for tool in tools:
        runs.append(bench.run_watched(tool, target, rate, options.long))
        alone.append(tools_measure.watch(target, window))
    rounds = {}
    for i, tool in enumerate(tools):
        short = bench.run(tool, target.pid, rate, options.short)
        rounds[tool["name"]] = figures_of(short, *runs[i], alone[i:i + 2])
    speeds = [one["per_second"] for one in alone]
    return rounds, [after / before for before, after in zip(speeds, speeds[1:])]


def summary_of(values):
    low, high = tools_stats.median_interval(values)
    return {"median": statistics.median(values), "low": low, "high": high, "rounds": values}


def measure(bench, python, workload, tools, options, log):
    """The results of one workload, one for each rate."""
    rounds = {rate: [] for rate in options.rates}
    with tools_measure.running(python, workload, options.target_cores) as target, neighbours.busy(options.neighbours):
        for number in range(options.rounds):
            order = tools[number % len(tools):] + tools[:number % len(tools)]
            for rate in options.rates:
                log("%s, %d Hz, round %d of %d" % (workload, rate, number + 1, options.rounds))
                rounds[rate].append(take_round(bench, target, order, rate, options))
    results = []
    for rate, taken in rounds.items():
        by_tool = {tool["name"]: {key: summary_of([figures[tool["name"]][key] for figures, _ in taken])
                                  for key in [figure[0] for figure in FIGURES] + ["taken"]} for tool in tools}
        noise = [abs(ratio - 1) for _, ratios in taken for ratio in ratios]
        results.append({"workload": workload, "rate": rate, "noise": statistics.median(noise), "tools": by_tool})
    return results


def verdict(ours, theirs, less_is_better):
    """How our figure stands to a peer's; unclear where the medians' intervals overlap, or have nothing to stand on."""
    if ours["rounds"] == theirs["rounds"]:
        return "same"
    if len(ours["rounds"]) < ROUNDS_MIN or ours["low"] <= theirs["high"] and theirs["low"] <= ours["high"]:
        return "unclear"
    return "better" if (ours["median"] < theirs["median"]) == less_is_better else "worse"


def add_verdicts(results, names):
    """Puts into every peer's figure how ours stands to it; without ours there is none."""
    for result in results:
        ours = result["tools"].get("pystrobe")
        for name in names:
            for key, _, less in FIGURES:
                if ours and name != "pystrobe":
                    result["tools"][name][key]["ours_is"] = verdict(ours[key], result["tools"][name][key], less)


def cell(figure):
    return " ".join(filter(None, ["%.3f" % figure["median"], figure.get("ours_is")]))


def text_of(result, names):
    tools = result["tools"]
    rows = [["%s, %d Hz" % (result["workload"], result["rate"])] + names]
    rows += [[what] + [cell(tools[name][key]) for name in names] for key, what, _ in FIGURES]
    rows.append(["taken, as the tool counts"] + ["%d" % tools[name]["taken"]["median"] for name in names])
    return "%s\n(alone, the target's speed varied by %.2f %% from one time to the next)" % (
        tools_stats.table(rows), 100 * result["noise"])


def count_verdicts(results, names):
    """Lines that say against each peer how many of our figures are better, and which are worse."""
    lines = []
    for name in names:
        found = [(figure["ours_is"], "%s at %d Hz: %s" % (result["workload"], result["rate"], what))
                 for result in results for key, what, _ in FIGURES
                 for figure in [result["tools"][name][key]] if "ours_is" in figure]
        if not found:
            continue
        words = ", ".join("%d %s" % (sum(word == one for one, _ in found), word)
                          for word in ("better", "same", "unclear", "worse"))
        lines.append("pystrobe against %s: %s" % (name, words))
        lines += ["  worse: %s" % where for word, where in found if word == "worse"]
    return "\n".join(lines)


def names_in(known):
    def read(text):
        names = text.split(",")
        unknown = [name for name in names if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError("%s; there are %s" % (", ".join(unknown), ", ".join(known)))
        return names

    return read


def numbers(text):
    return [int(part) for part in text.split(",")]


def read_options():
    known = tools_peers.NAMES + tools_peers.MORE_NAMES
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", help="where pystrobe was built")
    parser.add_argument("--python", default="3.15", help="what runs the targets; the 3.15 peer reads 3.15 only")
    parser.add_argument("--tools", type=names_in(known), default=tools_peers.NAMES, help=",".join(known))
    parser.add_argument("--workloads", type=names_in(tools_measure.WORKLOADS), default=["cpu", "mixed20", "sleeping"],
                        help=",".join(tools_measure.WORKLOADS))
    parser.add_argument("--rates", type=numbers, default=[19, 100, 1000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--short", type=int, default=1, help="seconds")
    parser.add_argument("--long", type=int, default=5, help="seconds")
    parser.add_argument("--neighbours", type=int, default=0, help="busy processes beside (default: none)")
    parser.add_argument("--target-cores", help="keep the target on these CPUs, as in 0 or 0-3")
    parser.add_argument("--tool-cores", help="keep the tools on these")
    parser.add_argument("--json", help="default: bench-tools.json in the build folder")
    options = parser.parse_args()
    if options.short < 1 or options.long < options.short + 2:
        parser.error("--long must be two seconds longer than --short")
    return options


def say(text):
    print(text, flush=True)


def log(text):
    print("bench: " + text, file=sys.stderr, flush=True)


def main():
    options = read_options()
    build = os.path.abspath(options.build)
    python = tools_peers.find_python(options.python)
    made = [tools_peers.make(name, python, os.path.join(build, "pystrobe"), log) for name in options.tools]
    tools = [tool for tool in made if tool]
    names = [tool["name"] for tool in tools]
    bench = tools_measure.Bench(build, options.tool_cores)
    document = {"about": tools_measure.about(python, options), "results": []}
    say("targets: CPython %s; %s; CPUs of the target: %s, of the tools: %s; %d busy neighbours; medians of %d rounds of %d s\n"
        "better, worse: how pystrobe's figure stands to the peer's; unclear: their 95 %% intervals overlap\n"
        "py-spy leaves out threads that sleep; the others read all threads" % (
            python["id"], ", ".join(names), options.target_cores or "any", options.tool_cores or "any",
            options.neighbours, options.rounds, options.long))
    for workload in options.workloads:
        results = measure(bench, python, workload, tools, options, log)
        add_verdicts(results, names)
        document["results"] += results
        for result in results:
            say("\n" + text_of(result, names))
    say("\n" + count_verdicts(document["results"], names))
    path = options.json or os.path.join(build, "bench-tools.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
        file.write("\n")
    say("written: %s" % path)


if __name__ == "__main__":
    main()
