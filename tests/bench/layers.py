#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what each layer of the unwinder that only saves time saves (unwind/fast/README.md).

For each workload a real CPython runs, and readers sample it in rounds that take turns: one with all layers, one
without each of them, and one without any. The table has what a sample takes without the layer, as a ratio to a
sample with all of them: 1 is no gain. It asks for the CPU status of each thread, as the agent does.
"""

import argparse
import contextlib
import json
import os
import sys

import figures
import sides

LAYERS = ("prediction", "gil-skip", "sleepers", "memo", "pinning", "bpf")
WORKLOADS = (("busy", "stack"), ("deep900_sleep", "stack"), ("deep100_busyleaf", "stack"), ("threads100_idle", "stack"),
             ("threads20_mixed", "stack"), ("generators", "stack"), ("async100", "async"), ("async1000", "all-tasks"))
EARNS = 1.1  # a layer that gains less than this on no workload is of no use
WARM_MS = 100


def cost_of(python, workload, operation, args):
    """{layer that is left out: microseconds of a sample, their median}; "none" and "all" are in it, too."""
    taken = {name: [] for name in ("none",) + LAYERS + ("all",)}
    with contextlib.ExitStack() as stack:
        _, said = stack.enter_context(sides.running(sides.target_words(python, workload, args.cpus)))
        readers = {}
        for name in taken:
            words, env = sides.our_words(args.build, said["pid"], operation, args.mode)
            readers[name] = stack.enter_context(sides.reader((words + [name], env), args.cpus))
            sides.ask(readers[name], "round", WARM_MS)
        for number in range(args.rounds):
            for name in list(taken) if number % 2 == 0 else reversed(list(taken)):
                taken[name].append(sides.ask(readers[name], "round", args.round_ms))
    return {name: figures.of_rounds(rounds)["p50_us"] for name, rounds in taken.items()}


def row_text(label, values):
    return "%-28s" % label + "".join("%12s" % value for value in values)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", help="where make built (default: %(default)s)")
    parser.add_argument("--python", metavar="X.Y", help="of the target (default: the newest)")
    parser.add_argument("--mode", choices=("wall", "all"), default="all", help="default: %(default)s")
    parser.add_argument("--cpus", choices=("apart", "same", "any"), default="apart", help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=5, help="of each reader (default: %(default)s)")
    parser.add_argument("--round-ms", type=int, default=100, help="default: %(default)s")
    parser.add_argument("--json", metavar="FILE", help="write all figures there")
    args = parser.parse_args()
    python = sides.choose_python(sides.live.load_pythons()[0], args.python)
    if python is None:
        print("bench-layers: there is no such Python here")
        return 1
    print("target: CPython %s; mode %s, CPUs %s" % (python["id"], args.mode, args.cpus))
    print(row_text("without", ("us with all",) + LAYERS + ("any",)), flush=True)
    rows = []
    for workload, operation in WORKLOADS:
        if not sides.is_able(python, workload, operation):
            continue
        cost = cost_of(python, workload, operation, args)
        rows.append({"workload": workload, "operation": operation, "us": cost})
        print(row_text("%s, %s" % (workload, operation), ["%.1f" % cost["none"]] + [
            "%.2f" % (cost[layer] / cost["none"]) for layer in LAYERS + ("all",)]), flush=True)
    useless = [layer for layer in LAYERS if all(row["us"][layer] < EARNS * row["us"]["none"] for row in rows)]
    print("bench-layers: layers that save less than a tenth in each row: %s" % (", ".join(useless) or "none"))
    if args.json:
        os.makedirs(os.path.dirname(os.path.abspath(args.json)), exist_ok=True)
        with open(args.json, "w", encoding="utf-8") as file:
            file.write(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
