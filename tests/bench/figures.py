# SPDX-License-Identifier: Apache-2.0
"""Histograms of what calls took, and the figures that are made from them."""

import collections

import bars


def merge(rounds):
    """One {ns: times} of the [[ns, times], ...] of several rounds."""
    merged = collections.Counter()
    for histogram in rounds:
        for ns, times in histogram:
            merged[ns] += times
    return merged


def quantile(histogram, q):
    """The least ns that is not exceeded by a share `q` of the calls; None where there are none."""
    wanted = q * sum(histogram.values())
    seen = 0
    for ns in sorted(histogram):
        seen += histogram[ns]
        if seen >= wanted:
            return ns
    return None


def mean(histogram):
    calls = sum(histogram.values())
    return sum(ns * times for ns, times in histogram.items()) / calls if calls else None


def in_us(ns):
    return None if ns is None else round(ns / 1000, 3)


def share_of(total, mode):
    """Of the calls, those that gave what there was: where only some threads are asked for, that may be none."""
    right = total["calls"] - total["failed"] - total["torn"] if mode in bars.CHOOSY else total["whole"]
    return right / total["calls"] if total["calls"] else 0.0


def of_rounds(rounds, mode="wall"):
    """The figures of one side, from what its rounds reported."""
    histogram = merge(one["ns"] for one in rounds)
    total = {key: sum(one.get(key, 0) for one in rounds)
             for key in ("calls", "whole", "torn", "failed", "empty", "looked_at")}
    sizes = [sum(column) for column in zip(*[one["sizes"] for one in rounds])]
    looked_at = total.pop("looked_at") or 1
    return dict(
        total,
        p50_us=in_us(quantile(histogram, 0.5)), p99_us=in_us(quantile(histogram, 0.99)), mean_us=in_us(mean(histogram)),
        share=share_of(total, mode),
        **{name: round(size / looked_at, 2) for name, size in zip(("threads", "frames", "tasks"), sizes)},
    )


def stats_per_sample(rounds):
    """The unwinder's counters and the allocations, divided by the number of calls."""
    calls = sum(one["calls"] for one in rounds) or 1
    stats = collections.Counter()
    for one in rounds:
        stats.update(one["stats"])
    per_sample = {name: round(value / calls, 4) for name, value in stats.items()}
    return per_sample, round(sum(one["allocations"] for one in rounds) / calls, 6)


def ratio_of(peer, ours):
    """How many times the peer's median is ours."""
    if not peer or not peer["p50_us"] or not ours["p50_us"]:
        return None
    return round(peer["p50_us"] / ours["p50_us"], 4)


def floor_of(measured, changed_bytes, p50_us):
    """Which read of what changed is the cheapest, and how many times of it our median is."""
    calls = {"process_vm_readv": measured.get("readv_ns"), "pread": measured.get("pread_ns")}
    calls = {name: ns for name, ns in calls.items() if ns}
    if not calls or changed_bytes is None:
        return None
    name = min(calls, key=calls.get)
    return {
        "changed_bytes": changed_bytes, "read_bytes": measured["bytes"], "call": name, "us": in_us(calls[name]),
        "word_us": in_us(min(filter(None, (measured["word_readv_ns"], measured["word_pread_ns"])))),
        "clock_us": in_us(measured["clock_ns"]),
        "distance": round(p50_us / in_us(calls[name]), 2) if p50_us else None,
    }
