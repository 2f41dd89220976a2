#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the unwinder against programs whose truth is known, and prints a line for each figure.

Placements: apart (the target on one CPU, each tick begins on another, the unwinder may move),
onsite (the same, but it is read in an interrupt), same (both on one CPU), pinned (the sampler may
not leave its CPU), plain (the same, without the layers of the unwinder that only save time), free (nobody is held
anywhere), moved (the target goes from CPU to CPU all the time).
A share of a program passes if it is within three standard errors of what the program measured
of itself; where it is not, a run twice as long is done and that one counts. --short holds each
figure to what chance alone would exceed once in a million times. Figures without a bar are
printed for what they tell.
"""

import argparse
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import limits  # noqa: E402
import checker  # noqa: E402
import session  # noqa: E402
from compare import measure, measure_record, worst  # noqa: E402
from programs import RECIPES  # noqa: E402
from report import Report, minor_of  # noqa: E402

VERSIONS = ("3.8", "3.10", "3.11", "3.13", "3.14", "3.15")
SHORT_VERSIONS = ("3.8", "3.11", "3.15")  # one of each way in which frames lie in memory
WARM_UP_S = 0.5

# program, placement, rate (Hz), seconds in full and in short (0: not)
PLAN = (
    ("edges", "apart", 2000, 100, 5), ("edges", "onsite", 2000, 100, 4), ("edges", "same", 1000, 5, 2),
    ("edges", "pinned", 1000, 5, 2), ("edges", "plain", 1000, 5, 2), ("edges", "moved", 1000, 10, 3),
    ("edges4", "apart", 1000, 10, 3), ("edges4", "same", 1000, 5, 0),
    ("shares", "apart", 19, 10, 0), ("shares", "apart", 49, 8, 0), ("shares", "apart", 100, 8, 0),
    ("shares", "apart", 1000, 8, 3), ("shares", "onsite", 1000, 8, 0), ("shares", "same", 1000, 4, 0),
    ("shares_calls", "apart", 1000, 10, 3), ("shares_calls", "same", 1000, 4, 2),
    ("shares_calls", "onsite", 1000, 6, 0), ("shares_calls", "pinned", 1000, 4, 0),
    ("shares_tick", "apart", 100, 12, 4), ("shares_tick", "same", 100, 6, 0),
    ("sleepers", "apart", 100, 6, 2), ("sleepers", "apart", 1000, 3, 0), ("sleepers", "plain", 100, 6, 2),
    ("shares", "pinned", 1000, 8, 0), ("shares", "plain", 1000, 8, 0), ("shares_calls", "plain", 1000, 4, 0),
    ("gens", "apart", 1000, 6, 2), ("gens", "onsite", 1000, 4, 0), ("gens", "same", 1000, 3, 0),
    ("coros", "apart", 1000, 6, 2), ("coros", "onsite", 1000, 4, 0), ("coros", "same", 1000, 3, 0),
    ("tasks", "apart", 1000, 4, 2),
    ("churn", "apart", 1000, 6, 2), ("churn", "same", 1000, 3, 0),
    ("churn_eval", "apart", 1000, 6, 2), ("churn_eval", "onsite", 1000, 6, 2), ("churn_eval", "same", 1000, 3, 0),
    ("unwinding", "apart", 1000, 4, 2), ("unwinding", "onsite", 1000, 4, 0), ("unwinding", "same", 1000, 2, 0),
    ("ccalls", "apart", 1000, 4, 2), ("ccalls", "onsite", 1000, 4, 2), ("ccalls", "same", 1000, 2, 0),
    ("resumed", "apart", 1000, 4, 2), ("resumed", "onsite", 1000, 4, 0), ("resumed", "same", 1000, 4, 2),
    ("chunks", "apart", 1000, 4, 2), ("chunks", "onsite", 1000, 4, 2), ("chunks", "same", 1000, 2, 0),
)
PEER_MINOR = 15
ONSITE_TOO = ", CAP_BPF, CAP_PERFMON and Linux 5.10"
PEER_SECONDS = 10  # at most: its figures are there to compare with
RECORD_RATES, RECORD_SECONDS = (100, 1000), 8
RECORD_SHORT_RATES, RECORD_SHORT_SECONDS = (100,), 3


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--programs", help="words, separated by commas: " + ", ".join(RECIPES))
    parser.add_argument("--versions", help="e.g. 3.8,3.15; all that are found of " + ", ".join(VERSIONS))
    parser.add_argument("--placements", help="apart,onsite,same,pinned,plain,free,moved; as planned")
    parser.add_argument("--rates", help="Hz, instead of those planned: 100,1000")
    parser.add_argument("--seconds", type=float, help="of each run, instead of those planned")
    parser.add_argument("--short", action="store_true", help="a few minutes in all")
    parser.add_argument("--peer", choices=("auto", "no", "nonblocking", "blocking"), default="auto",
                        help="CPython's own profiler beside ours, on 3.15; auto: in full runs, nonblocking")
    parser.add_argument("--no-record", action="store_true", help="leave out runs of `pystrobe record`")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a bar is not cleared")
    parser.add_argument("--json", help="write all figures there")
    options = parser.parse_args()
    for name, known in (("programs", RECIPES), ("placements", limits.EVERYWHERE)):
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


def again_if_close(take, seconds, limit, short):
    """A run whose shares are off by what chance may do is followed by a longer one, which counts."""
    result = take(seconds)
    if limit is None or not result["shares"]:
        return result
    first_z = worst(result["shares"])["z"]
    return dict(take(2 * seconds), first_z=first_z) if limits.worth_a_second_run(first_z, limit, short) else result


class Stage:
    """A program that runs and all that is done with it."""

    def __init__(self, name, python, folder, held, options, table):
        self.name, self.python, self.options, self.table = name, python, options, table
        self.recipe = RECIPES[name]
        self.program = session.Program(folder, self.recipe.script, self.recipe.texts(), self.recipe.args, held)
        self.judge_of = checker.Checker(self.program.texts, minor_of(python), self.recipe.source_of())
        time.sleep(WARM_UP_S)

    def sample(self, placement, rate, seconds):
        def take(length):
            return dict(measure(self.program, self.recipe, self.judge_of, lambda: session.sample(
                self.program, placement, self.options.build, rate, length, seed=len(self.table.runs))), seconds=length)

        limit = limits.of(self.name, minor_of(self.python), placement).get("shares", (None, ""))[0]
        result = again_if_close(take, seconds, limit, self.options.short)
        self.table.add(self.name, self.python, placement, rate, result, self.sample_by_peer(placement, rate, seconds))

    def sample_by_peer(self, placement, rate, seconds):
        """What CPython's own profiler shows, None where it is not asked or not there."""
        peer = self.options.peer
        if peer == "no" or (peer == "auto" and self.options.short) or minor_of(self.python) < PEER_MINOR:
            return None
        peer_s = min(seconds, PEER_SECONDS)
        return dict(measure(self.program, self.recipe, self.judge_of, lambda: session.sample_by_peer(
            self.program, placement, rate, peer_s, peer == "blocking")), seconds=peer_s)

    def record(self, rate):
        """The whole tool, which nobody holds anywhere."""
        seconds = self.options.seconds or (RECORD_SHORT_SECONDS if self.options.short else RECORD_SECONDS)

        def take(length):
            return {"shares": measure_record(self.program, self.judge_of, self.options.build, rate, length)}

        self.table.add_recorded(self.name, self.python, rate,
                                again_if_close(take, seconds, limits.RECORD_Z, self.options.short))


def run_program(name, python, turns, options, table):
    """All runs of a program under a Python: it is started once for those where it is held on a CPU."""
    folder = session.Folder(python, options.build)
    try:
        for held in (True, False):
            here = [turn for turn in turns if (turn[0] not in session.FREE) == held]
            if not here:
                continue
            stage = Stage(name, python, folder, held, options, table)
            try:
                for turn in here:
                    if session.is_possible(turn[0], options.build):
                        stage.sample(*turn)
                    else:
                        table.skip("%s %s needs two CPUs%s" % (name, turn[0], ONSITE_TOO if turn[0] == "onsite" else ""))
                if held and stage.recipe.recorded and not options.no_record:
                    for rate in RECORD_SHORT_RATES if options.short else RECORD_RATES:
                        stage.record(rate)
            finally:
                stage.program.stop()
    finally:
        folder.remove()


def main():
    options = parse_options()
    options.build = os.path.abspath(options.build)
    os.environ["PYSTROBE_BUILD"] = options.build
    pythons, missing = pythons_of(options, session.live.load_pythons()[0])
    table = Report(options.short)
    for version in missing:
        table.skip("there is no Python %s here" % version)
    began = time.monotonic()
    for name, turns in plan_of(options).items():
        for python in pythons:
            run_program(name, python, turns, options, table)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"lines": table.lines, "runs": table.runs, "short": options.short}, file, indent=1)
    print("truth: %d s" % (time.monotonic() - began))
    print("%d passed, %d failed, %d skipped" % (table.passed, table.failed, table.skipped))
    return 1 if options.check and (table.failed or not table.passed) else 0


if __name__ == "__main__":
    sys.exit(main())
