# SPDX-License-Identifier: Apache-2.0
"""The bars of the truth tests, once, as data; and whether a figure clears its bar."""

import stats

# Not "pinned": where the sampler may not sit on the target's CPU nothing is promised, only told.
MOVABLE = ("apart", "onsite", "same", "free")
EVERYWHERE = MOVABLE + ("pinned", "plain", "moved")
STRUCTURE = ("gens", "coros", "sleepers", "shares", "shares_calls", "shares_tick")
MORE = ("tasks", "unwinding", "ccalls", "resumed", "chunks")  # held to it where returned frames are cleared
CLEARED, NEW, OLD, ALL = range(14, 100), range(11, 100), range(0, 11), range(0, 100)

# programs, minor versions, placements, metric, limit, how the bar reads
BARS = (
    (("edges", "edges4"), NEW, MOVABLE, "impossible", 0.0, "0"),
    (("edges", "edges4"), OLD, MOVABLE, "impossible", 20e-6, "< 20 ppm"),
    (("edges",), NEW, ("moved",), "impossible", 20e-6, "< 20 ppm"),
    (("edges",), OLD, ("moved",), "impossible", 500e-6, "< 500 ppm"),
    (("edges",), ALL, MOVABLE + ("moved",), "lost", 0.005, "< 0.5 %"),
    (("edges4",), ALL, MOVABLE, "lost", 0.02, "< 2 %"),
    (STRUCTURE, NEW, MOVABLE, "impossible", 0.0, "0"),
    (STRUCTURE, OLD, MOVABLE, "impossible", 20e-6, "< 20 ppm"),
    # Without the layers that only save time a program that runs may be read too late, not one that rests.
    (("sleepers",), ALL, ("plain",), "impossible", 0.0, "0"),
    (("sleepers",), ALL, ("plain",), "lost", 0.005, "< 0.5 %"),
    (("sleepers",), ALL, ("plain",), "shares", 3.0, "3 se"),
    (MORE, CLEARED, MOVABLE, "impossible", 0.0, "0"),
    (("churn", "churn_eval"), ALL, MOVABLE, "impossible", 0.001, "< 0.1 %"),
    (("edges",), ALL, ("moved",), "shares", 3.0, "3 se"),
    (("edges",) + STRUCTURE, ALL, MOVABLE, "shares", 3.0, "3 se"),  # edges4: who hands the GIL over is seen too often
    # Samples that were never tried count as lost, too, but for what a busy machine takes.
    (("edges", "edges4", "churn", "churn_eval") + STRUCTURE, ALL, MOVABLE, "missed", 0.1, "< 10 %"),
)

RECORD_Z = 3.0  # shares of CPU time that the whole tool gives
Z_CERTAIN = 6.0  # beyond this no second run is needed to tell chance from error
CHANCE_FULL = 1e-3  # a full run that is too short for its bar may fail by chance this often


def of(program, minor, placement):
    """{metric: (limit, text)} of what applies."""
    return {metric: (limit, text) for programs, minors, placements, metric, limit, text in BARS
            if program in programs and minor in minors and placement in placements}


def clears_rate(count, total, limit, short):
    """Whether `count` of `total` are few enough.

    A full run is held to the bar itself; one in which the bar would let pass less than one, and
    a short one, to what would be too much by chance.
    """
    if limit == 0:
        return count == 0
    if not short and limit * total >= 1:
        return count < limit * total
    return stats.poisson_tail(count, limit * total) >= (stats.ONE_IN_A_MILLION if short else CHANCE_FULL)


def clears_shares(worst_z, count, limit, short):
    """Whether the worst of `count` shares is near enough to the truth."""
    return abs(worst_z) <= (stats.z_for(stats.ONE_IN_A_MILLION / count) if short else limit)


def worth_a_second_run(worst_z, limit, short):
    """Three standard errors are passed by chance once in 370 shares, twice in a row hardly ever."""
    return not short and limit < abs(worst_z) <= Z_CERTAIN
