# SPDX-License-Identifier: Apache-2.0
"""One run of a sampler, held against what the program measured of itself meanwhile."""

import math

import checker
import session
import stats
from programs import churn_text

# Where a sampler had its CPU, a target's caches are cold for a while, and for which share that is longer
# nobody can tell: the sampler does not look then. (`make bench-target`: who wakes up there and reads a word
# costs the target 25 us, of which it has the CPU for less than half.)
COLD_NS = 10000


def add_cold(truth, held, elapsed_ns):
    """The same, with the error of what that many stays on the target's CPU left behind."""
    cold = COLD_NS * held / max(elapsed_ns, 1)
    return {name: {**part, "error": math.hypot(part["error"], cold * part["wall"] * (1 - part["wall"]))}
            for name, part in truth.items()}


def true_shares(program, before):
    """What the program measured since its board was as `before`."""
    about = program.about
    return stats.true_shares(before, program.board(), about["shares"], about["rows"], session.BOARD_ROW,
                             session.BOARD_WORDS, about["block_ns"])


def measure(program, recipe, judge_of, take):
    """What a sampler showed; `take` runs it."""
    before = program.board()
    found = take()
    elapsed_ns = found["end_ns"] - found["begin_ns"]
    truth = add_cold(true_shares(program, before), found.get("held", 0), elapsed_ns)
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
        "elapsed_ns": elapsed_ns, "delay_ns": found.get("delay_ns"),
        "took_ns": found.get("took_ns"),
        "shares": compare(add_threads(seen["shares"]), truth, "wall", found["effective"]),
    }


def add_threads(shares_of_threads):
    total = {}
    for shares in shares_of_threads.values():
        for name, weight in shares.items():
            total[name] = total.get(name, 0) + weight
    return total


def compare(seen, truth, clock, effective):
    """{share: {"truth", "seen", "error", "z"}} for weights by share; {} where there is nothing to compare."""
    total = sum(seen.values())
    if not total or len(truth) < 2:
        return {}
    return {name: {"truth": part[clock], "seen": seen.get(name, 0) / total, "error": part["error"],
                   "z": stats.z_of_share(seen.get(name, 0) / total, effective, part[clock], part["error"])}
            for name, part in truth.items()}


def worst(shares):
    return max(shares.values(), key=lambda share: abs(share["z"]))


def measure_record(program, judge_of, build, rate, seconds):
    """The whole tool's shares of CPU time. Its ticks are jittered by half a period: 12/13 are effective."""
    before = program.board()
    found = session.record(program, build, rate, seconds, judge_of.share_of)
    truth = true_shares(program, before)
    samples = sum(count for _, count in found.values())
    return compare({name: cpu_ns for name, (cpu_ns, _) in found.items()}, truth, "cpu", samples * 12 / 13)
