#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what a sample costs: pystrobe's unwinder and CPython 3.15's own, on the same target.

For each workload (tests/bench/targets/workload.py) a real CPython runs; both readers sample it in
rounds that take turns, each call timed, with every thread's stack resolved to names, files and lines
in hand: as the wall clock goes, and with the CPU status of each thread, which the agent asks for. The target has a
CPU of its own, apart from the readers' (--cpus). It ends with three tables; the exit status is 0 whatever they
say, but with --check.
"""

import argparse
import json
import os
import sys

import bars
import measure
import neighbours
import plot
import points
import sides
import table


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", help="where make built (default: %(default)s)")
    parser.add_argument("--workload", action="append", default=[], metavar="NAME",
                        help="only this one; may be given again. Also threads=N, depth=N, tasks=N")
    parser.add_argument("--operation", choices=bars.OPERATIONS, help="only this one (default: what there is a bar for)")
    parser.add_argument("--duration", type=float, default=2.0, metavar="SECONDS",
                        help="of all rounds of one side (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="of each side (default: %(default)s)")
    parser.add_argument("--python", metavar="X.Y", help="of the target (default: the newest; a peer from 3.15 on)")
    parser.add_argument("--mode", choices=bars.MODES, default="wall", help="which threads (default: %(default)s)")
    parser.add_argument("--cpus", choices=("apart", "same", "any"), default="apart",
                        help="of target and readers (default: %(default)s)")
    parser.add_argument("--neighbours", type=int, default=0, metavar="N", help="busy processes beside (default: none)")
    parser.add_argument("--no-status", action="store_true", help="leave out the calls that ask for the CPU status")
    parser.add_argument("--no-peer", action="store_true", help="measure ours only")
    parser.add_argument("--no-strace", action="store_true", help="do not count system calls")
    parser.add_argument("--check", action="store_true", help="exit status 1 if a bar is missed")
    parser.add_argument("--json", metavar="FILE", help="write all figures there")
    parser.add_argument("--plot", metavar="FILE",
                        help="draw cost against threads, depth and tasks as SVG; no tables but for each --workload")
    args = parser.parse_args()
    for workload in args.workload:
        if not bars.is_known(workload):
            parser.error("there is no workload %s: %s, or %s" % (
                workload, ", ".join(dict.fromkeys(bar.workload for bar in bars.BARS)),
                ", ".join(kind + "=N" for kind in bars.NUMBERED)))
    return args


def say(text):
    print(text, flush=True)


def measure_rows(python, wanted, settings):
    rows = []
    for bar in wanted:
        if not sides.is_able(python, bar.workload, bar.operation):
            say("%-18s %-9s not in Python %s" % (bar.workload, bar.operation, python["version"]))
            continue
        rows.append(measure.row_of(python, bar, settings))
        say(table.progress(rows[-1]))
    return rows


def write(path, text):
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    say("written: " + path)


def main():
    args = arguments()
    python = sides.choose_python(sides.live.load_pythons()[0], args.python)
    if python is None:
        say("bench-unwind: there is no such Python here")
        return 1
    settings = measure.Settings(args.build, args.duration, args.rounds, args.mode, args.cpus,
                                not args.no_strace and sides.can_strace(), not args.no_peer, not args.no_status)
    say("target: CPython %s; peer: %s; mode %s, CPUs %s; busy neighbours: %d" % (
        python["id"], "its own reader" if settings.peer and sides.has_peer(python) else "none", args.mode, args.cpus,
        args.neighbours))
    wanted = [] if args.plot and not args.workload else bars.rows(args.workload, args.operation, args.mode)
    with neighbours.busy(args.neighbours):
        rows = measure_rows(python, wanted, settings)
        drawn = points.measure_all(python, settings, say) if args.plot else []
    if rows:
        say("\n" + table.text_of(rows) + "\n")
    if args.plot:
        write(args.plot, plot.svg(drawn, "Cost of a sample of CPython %s" % python["version"]))
    if args.json:
        write(args.json, json.dumps({"rows": rows, "plots": drawn}, indent=1) + "\n")
    missed = table.count_missed(rows)
    say("bench-unwind: %d rows, %d bars missed" % (len(rows), missed))
    return 1 if args.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
