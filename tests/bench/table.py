# SPDX-License-Identifier: Apache-2.0
"""Prints what was measured: a line while it goes on, three tables at the end."""

COST = ("workload", "operation", "peer p50", "p99", "mean", "ours p50", "p99", "mean", "ratio", "bar", "",
        "with stack", "peer's", "bar", "")
WORK = ("workload", "operation", "calls", "peer's", "iovecs", "peer's", "bytes", "peer's", "allocs", "retries",
        "frames", "peer's", "changed", "floor us", "ours/floor")

STATUS = ("workload", "operation", "peer p50", "status", "ours p50", "status", "ratio", "status", "calls", "status",
          "their calls", "status", "bar us", "")


def number(value, unit="", digits=3):
    """Three significant digits, or a dash for what there is none of."""
    if value is None:
        return "-"
    if value == int(value) and abs(value) < 1e9:
        return "%d%s" % (value, unit)
    text = "%.*g" % (digits, value)
    return ("%d" % value if "e" in text else text) + unit


def percent(share):
    """Rounded down, so that 100 % is all."""
    return "-" if share is None else "%g %%" % (int(share * 1e5) / 1e3)


def mark(passed):
    return {None: "", True: "ok", False: "MISSED"}[passed]


def cost_line(row):
    peer = row["peer"] or {}
    ours, bar, passed = row["ours"], row["bar"], row["passed"]
    return (
        [row["workload"], row["operation"]]
        + [number(side.get(key)) for side in (peer, ours) for key in ("p50_us", "p99_us", "mean_us")]
        + [number(row["ratio"]), number(bar["ratio"]), mark(passed["ratio"])]
        + [percent(ours["share"]), percent(peer.get("share")), percent(bar["share"]), mark(passed["share"])]
    )


def own_count(stats):
    """What the unwinder itself says of its calls, where strace did not count."""
    return {"system_calls": stats.get("reads"), "iovecs": stats.get("iovecs"), "bytes": stats.get("bytes")}


def work_line(row):
    peer, ours, floor = row["peer"] or {}, row["ours"], row["floor"] or {}
    traced, peers = ours.get("traced") or own_count(ours["stats"]), peer.get("traced", {})
    both = [number(one.get(key)) for key in ("system_calls", "iovecs", "bytes") for one in (traced, peers)]
    return (
        [row["workload"], row["operation"]] + both
        + [number(ours["allocations"]), number(ours["stats"].get("retries"))]
        + [number(ours["frames"]), number(peer.get("frames"))]
        + [number(floor.get("changed_bytes")), number(floor.get("us")), number(floor.get("distance"))]
    )


def calls_of(side):
    return number((side or {}).get("traced", {}).get("system_calls"))


def status_line(row):
    """Each figure without and with the status."""
    status = row["status"]
    pairs = [(row["peer"] or {}, status["peer"] or {}), (row["ours"], status["ours"])]
    return (
        [row["workload"], row["operation"]] + [number(side.get("p50_us")) for pair in pairs for side in pair]
        + [number(row["ratio"]), number(status["ratio"])]
        + [calls_of(side) for pair in reversed(pairs) for side in pair]
        + [number(row["bar"]["status_us"]), mark(row["passed"]["status"])]
    )


def status_text(rows):
    """The table of the status; none where that was measured of no row."""
    measured = [row for row in rows if row.get("status")]
    return ["", "mode wall, and with the CPU status of every thread, as the agent asks: us a call and system calls", "",
            aligned([STATUS] + [status_line(row) for row in measured])] if measured else []


def aligned(lines):
    """Columns as wide as they need: the first two to the left, the others to the right."""
    widths = [max(len(cell) for cell in column) for column in zip(*lines)]
    return "\n".join(
        "  ".join(cell.ljust(width) if place < 2 else cell.rjust(width)
                  for place, (cell, width) in enumerate(zip(line, widths))).rstrip()
        for line in lines
    )


def progress(row):
    """What is printed when a row is done."""
    peer = row["peer"]
    status = row.get("status")
    return "%-18s %-9s ours %s us (%s)%s%s%s" % (
        row["workload"], row["operation"], number(row["ours"]["p50_us"]), percent(row["ours"]["share"]),
        ", peer %s us (%s), ratio %s" % (number(peer["p50_us"]), percent(peer["share"]), number(row["ratio"]))
        if peer else "",
        " of %s" % number(row["bar"]["ratio"]) if row["passed"]["ratio"] is not None else "",
        "; with the status %s us, ratio %s" % (number(status["ours"]["p50_us"]), number(status["ratio"])) if status else "",
    )


def text_of(rows):
    return "\n".join((
        "us a call; ratio: the peer's median / ours; with stack: samples that gave every thread's stack", "",
        aligned([COST] + [cost_line(row) for row in rows]), *status_text(rows), "",
        "per sample: system calls, iovecs and bytes, by strace or else as the unwinder counts its reads; changed: bytes",
        "that were not as in the sample before; floor: the cheapest read of so many bytes", "",
        aligned([WORK] + [work_line(row) for row in rows]),
    ))


def count_missed(rows):
    return sum(passed is False for row in rows for passed in row["passed"].values())
