# SPDX-License-Identifier: Apache-2.0
"""Measures one row: both readers on the same target, in rounds that take turns."""

import collections
import contextlib

import bars
import figures
import sides
import straced

WARM_MS = 100
CHANGED_MS = 150
TRACED_US = 20000  # of calls, as they take without strace
TRACED_LEAST, TRACED_MOST = 5, 150

# `duration_s` is that of all rounds of one side; `placement`: see sides.cpus_for.
Settings = collections.namedtuple("Settings", "build duration_s rounds mode placement strace peer")


def take_turns(peer, ours, settings):
    """Gives (the peer's rounds, ours); a peer of None has none."""
    round_ms = max(1, round(1000 * settings.duration_s / settings.rounds))
    readers = [side for side in (peer, ours) if side]
    taken = {side: [] for side in readers}
    for side in readers:
        sides.ask(side, "round", WARM_MS)
    for number in range(settings.rounds):
        for side in readers if number % 2 == 0 else reversed(readers):
            taken[side].append(sides.ask(side, "round", round_ms))
    return taken.get(peer, []), taken[ours]


def samples_to_trace(p50_us):
    return int(min(TRACED_MOST, max(TRACED_LEAST, TRACED_US / (p50_us or 1))))


def add_calls(row, words_of):
    """Counts each side's system calls; words_of: side -> its words and environment."""
    for name, words in words_of.items():
        samples = samples_to_trace(row[name]["p50_us"])
        row[name]["traced"] = straced.per_sample(sides.trace(words, samples), samples)


def add_floor(row, ours):
    changed = sides.ask(ours, "changed", CHANGED_MS)["bytes"]
    row["floor"] = None
    if changed is not None:
        cost = sides.ask(ours, "floor", round(changed))
        row["floor"] = figures.floor_of(cost, changed, row["ours"]["p50_us"]) if cost["bytes"] else None


def row_of(python, bar, settings):
    """Measures a workload with an operation; gives all that is known of it."""
    row = {"workload": bar.workload, "operation": bar.operation, "mode": settings.mode,
           "python": python["version"], "cpus": settings.placement, "bar": {"ratio": bar.ratio, "share": bar.share}}
    with contextlib.ExitStack() as stack:
        _, said = stack.enter_context(sides.running(
            sides.target_words(python, bar.workload, settings.placement)))
        pid = said["pid"]
        words = {"ours": sides.our_words(settings.build, pid, bar.operation, settings.mode)}
        if settings.peer and sides.has_peer(python):
            words["peer"] = sides.peer_words(python, pid, bar.operation, settings.mode)
        readers = {name: stack.enter_context(sides.reader(word, settings.placement)) for name, word in words.items()}
        theirs, own = take_turns(readers.get("peer"), readers["ours"], settings)
        row["peer"] = figures.of_rounds(theirs, settings.mode) if theirs else None
        row["ours"] = figures.of_rounds(own, settings.mode)
        row["ours"]["stats"], row["ours"]["allocations"] = figures.stats_per_sample(own)
        row["ratio"] = figures.ratio_of(row["peer"], row["ours"])
        row["passed"] = bars.verdict(bar, row["ratio"], row["ours"]["share"])
        add_floor(row, readers["ours"])
        if settings.strace:
            add_calls(row, words)
    return row
