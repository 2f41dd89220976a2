# SPDX-License-Identifier: Apache-2.0
"""Measures one row: both readers on the same target, in rounds that take turns, with and without the CPU status."""

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

# `duration_s` is that of all rounds of one side; `placement`: see sides.cpus_for; `status`: beside mode wall, both
# with the CPU status of threads, too.
Settings = collections.namedtuple("Settings", "build duration_s rounds mode placement strace peer status")


def take_turns(readers, settings):
    """Gives {name: its rounds}."""
    round_ms = max(1, round(1000 * settings.duration_s / settings.rounds))
    taken = {name: [] for name in readers}
    for side in readers.values():
        sides.ask(side, "round", WARM_MS)
    for number in range(settings.rounds):
        for name in readers if number % 2 == 0 else reversed(readers):
            taken[name].append(sides.ask(readers[name], "round", round_ms))
    return taken


def samples_to_trace(p50_us):
    return int(min(TRACED_MOST, max(TRACED_LEAST, TRACED_US / (p50_us or 1))))


def add_calls(found, words_of):
    """Counts each side's system calls; words_of: side -> its words and environment."""
    for name, words in words_of.items():
        samples = samples_to_trace(found[name]["p50_us"])
        found[name]["traced"] = straced.per_sample(sides.trace(words, samples), samples)


def add_floor(row, ours):
    changed = sides.ask(ours, "changed", CHANGED_MS)["bytes"]
    row["floor"] = None
    if changed is not None:
        cost = sides.ask(ours, "floor", round(changed))
        row["floor"] = figures.floor_of(cost, changed, row["ours"]["p50_us"]) if cost["bytes"] else None


def words_of_sides(python, pid, operation, settings):
    """{"peer", "ours"}, and with the status on {"peer_status", "ours_status"}: words and environment of each."""
    modes = {"": settings.mode}
    if settings.status and settings.mode == "wall" and operation in bars.WITH_STATUS:
        modes["_status"] = bars.STATUS_MODE
    words = {}
    for suffix, mode in modes.items():
        if settings.peer and sides.has_peer(python):
            words["peer" + suffix] = sides.peer_words(python, pid, operation, mode)
        words["ours" + suffix] = sides.our_words(settings.build, pid, operation, mode)
    return words


def status_of(found):
    """What both take with the status on; None where that was not measured."""
    if "ours_status" not in found:
        return None
    ours, peer = found["ours_status"], found.get("peer_status")
    return {"ours": ours, "peer": peer, "ratio": figures.ratio_of(peer, ours)}


def row_of(python, bar, settings):
    """Measures a workload with an operation; gives all that is known of it."""
    row = {"workload": bar.workload, "operation": bar.operation, "mode": settings.mode, "python": python["version"],
           "cpus": settings.placement, "bar": {"ratio": bar.ratio, "share": bar.share, "status_us": bar.status_us}}
    with contextlib.ExitStack() as stack:
        _, said = stack.enter_context(sides.running(
            sides.target_words(python, bar.workload, settings.placement)))
        words = words_of_sides(python, said["pid"], bar.operation, settings)
        readers = {name: stack.enter_context(sides.reader(word, settings.placement)) for name, word in words.items()}
        taken = take_turns(readers, settings)
        found = {name: figures.of_rounds(rounds, settings.mode) for name, rounds in taken.items()}
        row["peer"], row["ours"], row["status"] = found.get("peer"), found["ours"], status_of(found)
        row["ours"]["stats"], row["ours"]["allocations"] = figures.stats_per_sample(taken["ours"])
        row["ratio"] = figures.ratio_of(row["peer"], row["ours"])
        status_us = row["status"] and row["status"]["ours"]["p50_us"]
        row["passed"] = bars.verdict(bar, row["ratio"], row["ours"]["share"], status_us)
        add_floor(row, readers["ours"])
        if settings.strace:
            add_calls(found, words)
    return row
