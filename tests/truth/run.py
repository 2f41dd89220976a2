#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the unwinder against programs whose truth is known, and prints a line for each figure.

Placements: apart (the target on one CPU, each tick begins on another, the unwinder may move),
same (both on one CPU), pinned (the sampler may not leave its CPU), free (nobody is held anywhere).
A share of a program passes if it is within three standard errors of what the program measured
of itself; where it is not, the run is done once more and that one counts. --short holds each
figure to what chance alone would exceed once in a million times. Figures without a bar are
printed for what they tell.
"""

import argparse
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bars  # noqa: E402
import checker  # noqa: E402
import stats  # noqa: E402
from programs import RECIPES, churn_text  # noqa: E402

VERSIONS = ("3.8", "3.10", "3.11", "3.13", "3.14", "3.15")
SHORT_VERSIONS = ("3.8", "3.11", "3.15")  # one of each way in which frames lie in memory
WARM_UP_S = 0.5

# program, placement, rate (Hz), seconds in full and in short (0: not)
PLAN = (
    ("edges", "apart", 2000, 100, 5), ("edges", "same", 1000, 5, 2), ("edges", "pinned", 1000, 5, 2),
    ("edges4", "apart", 1000, 10, 3), ("edges4", "same", 1000, 5, 0),
    ("shares", "apart", 19, 10, 0), ("shares", "apart", 49, 8, 0), ("shares", "apart", 100, 8, 0),
    ("shares", "apart", 1000, 8, 3), ("shares", "same", 1000, 4, 0),
    ("shares_calls", "apart", 1000, 10, 3), ("shares_calls", "same", 1000, 4, 2), ("shares_calls", "pinned", 1000, 4, 0),
    ("shares_tick", "apart", 100, 12, 4), ("shares_tick", "same", 100, 6, 0),
    ("sleepers", "apart", 100, 6, 2), ("sleepers", "apart", 1000, 3, 0),
    ("gens", "apart", 1000, 6, 2), ("gens", "same", 1000, 3, 0),
    ("coros", "apart", 1000, 6, 2), ("coros", "same", 1000, 3, 0),
    ("tasks", "apart", 1000, 4, 2),
    ("churn", "apart", 1000, 6, 2), ("churn", "same", 1000, 3, 0),
    ("churn_eval", "apart", 1000, 6, 2), ("churn_eval", "same", 1000, 3, 0),
    ("unwinding", "apart", 1000, 4, 2), ("unwinding", "same", 1000, 2, 0),
    ("ccalls", "apart", 1000, 4, 2), ("ccalls", "same", 1000, 2, 0),
    ("resumed", "apart", 1000, 4, 2), ("resumed", "same", 1000, 4, 2),
    ("chunks", "apart", 1000, 4, 2), ("chunks", "same", 1000, 2, 0),
)
PEER_SECONDS = 10  # at most: its figures are there to compare with
RECORD_RATE, RECORD_SECONDS = 100, 8


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--programs", help="words, separated by commas: " + ", ".join(RECIPES))
    parser.add_argument("--versions", help="e.g. 3.8,3.15; all that are found of " + ", ".join(VERSIONS))
    parser.add_argument("--placements", help="apart,same,pinned,free; as planned")
    parser.add_argument("--rates", help="Hz, instead of those planned: 100,1000")
    parser.add_argument("--seconds", type=float, help="of each run, instead of those planned")
    parser.add_argument("--short", action="store_true", help="a few minutes in all")
    parser.add_argument("--peer", choices=("auto", "no", "nonblocking", "blocking"), default="auto",
                        help="CPython's own profiler beside ours, on 3.15; auto: in full runs, nonblocking")
    parser.add_argument("--no-record", action="store_true", help="leave out runs of `pystrobe record`")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a bar is not cleared")
    parser.add_argument("--json", help="write all figures there")
    options = parser.parse_args()
    for name, known in (("programs", RECIPES), ("placements", bars.EVERYWHERE)):
        words = getattr(options, name)
        unknown = set(words.split(",")) - set(known) if words else set()
        if unknown:
            parser.error("no such %s: %s" % (name, " ".join(sorted(unknown))))
    return options


def plan_of(options):
    """{program: [(placement, rate, seconds)]} in the order of the plan."""
    chosen = {}
    for program, placement, rate, full_s, short_s in PLAN:
        seconds = options.seconds or (short_s if options.short else full_s)
        if seconds == 0 or options.programs and program not in options.programs.split(","):
            continue
        turns = chosen.setdefault(program, {})
        for place in options.placements.split(",") if options.placements else [placement]:
            for hz in options.rates.split(",") if options.rates else [rate]:
                turns.setdefault((place, float(hz)), seconds)
    return {program: [key + (seconds,) for key, seconds in turns.items()] for program, turns in chosen.items()}


def pythons_of(options, found):
    """One interpreter a version: the last that is no debug build."""
    wanted = options.versions.split(",") if options.versions else SHORT_VERSIONS if options.short else VERSIONS
    chosen, missing = [], []
    for version in wanted:
        fits = [python for python in found if python["version"].startswith(version + ".")
                and not python["debug"] and not python["free_threaded"]]
        if fits:
            chosen.append(fits[-1])
        else:
            missing.append(version)
    return chosen, missing


def measure(program, take, recipe, judge_of):
    """One run of a sampler: what it showed against what the program measured meanwhile."""
    before = program.board()
    found = take()
    after = program.board()
    about = program.about
    truth = stats.true_shares(before, after, about["shares"], about["rows"], session.BOARD_ROW, session.BOARD_WORDS,
                              about["block_ns"])
    seen = checker.judge(judge_of, found)
    if recipe.made:
        stale = checker.count_stale(found, churn_text.generation_of)
        seen["impossible"] += stale
        seen["kinds"]["shown after its time"] = stale
    failed = sum(found["failed"].values())
    return {
        "ticks": found["ticks"], "shown": seen["shown"], "impossible": seen["impossible"], "kinds": seen["kinds"],
        "examples": seen["examples"], "lost": found["torn"] + failed, "tried": found["threads"] + failed,
        "torn": found["torn"], "failed": found["failed"], "stats": found["stats"], "cpu_ns": found["cpu_ns"],
        "elapsed_ns": found["end_ns"] - found["begin_ns"], "delay_ns": found.get("delay_ns"),
        "took_ns": found.get("took_ns"), "shares": compare(seen["shares"], truth, found["effective"]),
    }


def compare(shares_of_threads, truth, effective):
    """{share: {"truth", "seen", "z"}} for shares by wall time, of all threads together."""
    seen = {}
    for shares in shares_of_threads.values():
        for name, weight in shares.items():
            seen[name] = seen.get(name, 0) + weight
    total = sum(seen.values())
    if not total or len(truth) < 2:
        return {}
    return {name: {"truth": part["wall"], "seen": seen.get(name, 0) / total, "error": part["error"],
                   "z": stats.z_of_share(seen.get(name, 0) / total, effective, part["wall"], part["error"])}
            for name, part in truth.items()}


def worst(shares):
    return max(shares.values(), key=lambda share: abs(share["z"]))


def figures(result, rate, seconds):
    """{metric: (text, count, total)} of what a run tells."""
    told = {
        "impossible": ("%d of %d" % (result["impossible"], result["shown"]), result["impossible"], result["shown"]),
        "lost": ("%.2f %%" % (100 * result["lost"] / max(1, result["tried"])), result["lost"], result["tried"]),
    }
    due = int(rate * seconds)
    missed = max(0, due - result["ticks"])
    told["missed"] = ("%.1f %%" % (100 * missed / due), missed, due)
    if result["shares"]:
        share = worst(result["shares"])
        told["shares"] = ("%.2f points, z %.1f" % (100 * abs(share["seen"] - share["truth"]), share["z"]),
                          share["z"], len(result["shares"]))
    return told


def verdict(metric, figure, limit, short):
    _, count, total = figure
    if metric == "shares":
        return bars.clears_shares(count, total, limit, short)
    return total > 0 and bars.clears_rate(count, total, limit, short)


class Report:
    """The lines that were printed, and how many bars were cleared."""

    FORMAT = "%-12s %-9s %-7s %5s Hz  %-10s %-9s %-26s %-24s %s"

    def __init__(self, short):
        self.short = short
        self.lines, self.runs = [], []
        self.passed = self.failed = self.skipped = 0
        print(self.FORMAT % ("program", "python", "placed", "rate", "figure", "bar", "ours", "peer", ""), flush=True)

    def add(self, name, python, turn, result, peer):
        placement, rate, seconds = turn
        minor = int(python["version"].split(".")[1])
        applies = bars.of(name, minor, placement)
        theirs = figures(peer, rate, seconds) if peer else {}
        for metric, figure in figures(result, rate, seconds).items():
            limit, text = applies.get(metric, (None, ""))
            judged = limit is not None and not (self.short and metric == "missed")  # a busy machine misses ticks
            ok = verdict(metric, figure, limit, self.short) if judged else None
            self._line(name, python, placement, rate, metric, text if judged else "", figure[0],
                       theirs[metric][0] if metric in theirs else "", ok)
        if result["impossible"]:
            print("    %s" % ", ".join("%s: %d" % kind for kind in sorted(result["kinds"].items()) if kind[1]))
            for example in result["examples"][:1]:
                print("    e.g. %s" % " < ".join(example[1:6]), flush=True)
        self.runs.append(dict(result, program=name, python=python["id"], placement=placement, rate=rate,
                              seconds=seconds, peer=peer))

    def add_recorded(self, name, python, rate, shares):
        share = worst(shares)
        ok = bars.clears_shares(share["z"], len(shares), 3.0, self.short)
        self._line(name, python, "record", rate, "cpu", "3 se",
                   "%.2f points, z %.1f" % (100 * abs(share["seen"] - share["truth"]), share["z"]), "", ok)
        self.runs.append({"program": name, "python": python["id"], "placement": "record", "rate": rate,
                          "shares": shares})

    def _line(self, name, python, placement, rate, metric, bar, ours, theirs, ok):
        self.passed += ok is True
        self.failed += ok is False
        word = "" if ok is None else "ok" if ok else "FAILED"
        print(self.FORMAT % (name, python["version"], placement, "%g" % rate, metric, bar, ours, theirs, word), flush=True)
        self.lines.append({"program": name, "python": python["id"], "placement": placement, "rate": rate,
                           "figure": metric, "bar": bar, "ours": ours, "peer": theirs, "cleared": ok})


def again_if_close(result, name, python, turn, short, retake):
    """A run whose shares are off by what chance may do is done once more; the second one counts."""
    minor = int(python["version"].split(".")[1])
    limit = bars.of(name, minor, turn[0]).get("shares", (None, ""))[0]
    if limit is None or not result["shares"] or not bars.worth_a_second_run(worst(result["shares"])["z"], limit, short):
        return result
    return retake()


def with_peer(options, python):
    if options.peer == "no" or (options.peer == "auto" and options.short):
        return None
    return options.peer if int(python["version"].split(".")[1]) >= 15 else None


def run_program(name, python, turns, options, report):
    recipe = RECIPES[name]
    folder = session.Folder(python, os.path.abspath(options.build))
    programs = {}  # held in place or free -> the running program
    try:
        for turn in turns:
            placement, rate, seconds = turn
            if placement == "apart" and len(session.cpus()) < 2 or placement == "pinned" and len(session.cpus()) < 2:
                report.skipped += 1
                continue
            program = start(programs, folder, recipe, placement)
            judge_of = checker.Checker(program.texts, int(python["version"].split(".")[1]), recipe.source_of())

            def take():
                return measure(program, lambda: session.sample(program, options.build, rate, seconds, len(report.runs)),
                               recipe, judge_of)

            result = again_if_close(take(), name, python, turn, options.short, take)
            peer = None
            if with_peer(options, python):
                peer_s = min(seconds, PEER_SECONDS)
                peer = measure(program, lambda: session.sample_by_peer(program, rate, peer_s,
                                                                       options.peer == "blocking"), recipe, judge_of)
                peer["ticks"] = round(peer["ticks"] * seconds / peer_s)
            report.add(name, python, turn, result, peer)
        if recipe.recorded and not options.no_record and not options.placements and programs:
            run_record(name, python, start(programs, folder, recipe, "apart"), options, report)
    finally:
        for program in programs.values():
            program.stop()
        folder.remove()


def start(programs, folder, recipe, placement):
    """The program, started if it does not run yet; only `free` needs one of its own."""
    free = placement == "free"
    if free not in programs:
        programs[free] = session.Program(folder, recipe.script, recipe.texts(), recipe.args, placement)
        time.sleep(WARM_UP_S)
    programs[free].placement = placement
    return programs[free]


def run_record(name, python, program, options, report):
    """The whole tool's CPU time by share."""
    seconds = 3 if options.short else RECORD_SECONDS

    def take():
        output = os.path.join(options.build, "truth", "record.pb.gz")
        before = program.board()
        recorded = session.record(program, os.path.join(options.build, "pystrobe"), RECORD_RATE, seconds, output)
        about = program.about
        truth = stats.true_shares(before, program.board(), about["shares"], about["rows"], session.BOARD_ROW,
                                  session.BOARD_WORDS, about["block_ns"])
        return compare_recorded(program, recorded, truth)

    shares = take()
    if bars.worth_a_second_run(worst(shares)["z"], 3.0, options.short):
        shares = take()
    report.add_recorded(name, python, RECORD_RATE, shares)


def compare_recorded(program, recorded, truth):
    marked = checker.Checker(program.texts, 15)
    share_of = {function.name: function.share for source in marked.sources.values()
                for functions in source.functions.values() for function in functions if function.share}

    def is_in(share):
        return lambda sample: any(share_of.get(frame["func"]) == share for frame in sample["stack"])

    cpu = {name: session.profiles.total(recorded, "cpu", is_in(name)) for name in truth}
    effective = 12 / 13 * sum(session.profiles.total(recorded, "samples", is_in(name)) for name in truth)
    total = sum(cpu.values())
    return {name: {"truth": part["cpu"], "seen": cpu[name] / total, "error": part["error"],
                   "z": stats.z_of_share(cpu[name] / total, effective, part["cpu"], part["error"])}
            for name, part in truth.items()}


def main():
    options = parse_options()
    options.build = os.path.abspath(options.build)
    found, _ = session.live.load_pythons()
    pythons, missing = pythons_of(options, found)
    report = Report(options.short)
    for version in missing:
        print("truth: there is no Python %s here" % version)
        report.skipped += 1
    began = time.monotonic()
    for name, turns in plan_of(options).items():
        for python in pythons:
            run_program(name, python, turns, options, report)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"lines": report.lines, "runs": report.runs, "short": options.short}, file, indent=1)
    print("truth: %d s" % (time.monotonic() - began))
    print("%d passed, %d failed, %d skipped" % (report.passed, report.failed, report.skipped))
    return 1 if options.check and (report.failed or not report.passed) else 0


if __name__ == "__main__":
    if "--build" in sys.argv[:-1]:  # the modules of the tests know the build from there
        os.environ.setdefault("PYSTROBE_BUILD", os.path.abspath(sys.argv[sys.argv.index("--build") + 1]))
    import session  # noqa: E402

    sys.exit(main())
