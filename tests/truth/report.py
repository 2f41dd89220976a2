# SPDX-License-Identifier: Apache-2.0
"""Prints a line for each figure, with its bar and what the peer has, and counts the bars cleared."""

import limits
from compare import worst


def minor_of(python):
    return int(python["version"].split(".")[1])


def figures(result, rate):
    """{metric: (text, count, total)} of what a run tells."""
    told = {
        "impossible": ("%d of %d" % (result["impossible"], result["shown"]), result["impossible"], result["shown"]),
        "lost": ("%.2f %%" % (100 * result["lost"] / max(1, result["tried"])), result["lost"], result["tried"]),
    }
    due = int(rate * result["seconds"])
    missed = max(0, due - result["ticks"])
    told["missed"] = ("%.1f %%" % (100 * missed / due), missed, due)
    if result["shares"]:
        told["shares"] = (text_of(result), worst(result["shares"])["z"], len(result["shares"]))
    return told


def text_of(result):
    """The worst share, and that of a first run that did not count."""
    share = worst(result["shares"])
    first = ", first %.1f" % result["first_z"] if "first_z" in result else ""
    return "%.2f points, z %.1f%s" % (100 * abs(share["seen"] - share["truth"]), share["z"], first)


def verdict(metric, figure, limit, short):
    _, count, total = figure
    if metric == "shares":
        return limits.clears_shares(count, total, limit, short)
    return total > 0 and limits.clears_rate(count, total, limit, short)


class Report:
    """The lines that were printed, and how many bars were cleared."""

    FORMAT = "%-12s %-9s %-7s %5s Hz  %-10s %-9s %-31s %-24s %s"

    def __init__(self, short):
        self.short = short
        self.lines, self.runs = [], []
        self.passed = self.failed = self.skipped = 0
        print(self.FORMAT % ("program", "python", "placed", "rate", "figure", "bar", "ours", "peer", ""), flush=True)

    def skip(self, why):
        self.skipped += 1
        print("truth: skipped: " + why, flush=True)

    def add(self, name, python, placement, rate, result, peer):
        applies = limits.of(name, minor_of(python), placement)
        theirs = figures(peer, rate) if peer else {}
        for metric, figure in figures(result, rate).items():
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
                              peer=peer))

    def add_recorded(self, name, python, rate, result):
        ok = limits.clears_shares(worst(result["shares"])["z"], len(result["shares"]), limits.RECORD_Z, self.short)
        self._line(name, python, "record", rate, "cpu", "%g se" % limits.RECORD_Z, text_of(result), "", ok)
        self.runs.append(dict(result, program=name, python=python["id"], placement="record", rate=rate))

    def _line(self, name, python, placement, rate, metric, bar, ours, theirs, ok):
        self.passed += ok is True
        self.failed += ok is False
        word = "" if ok is None else "ok" if ok else "FAILED"
        print(self.FORMAT % (name, python["version"], placement, "%g" % rate, metric, bar, ours, theirs, word),
              flush=True)
        self.lines.append({"program": name, "python": python["id"], "placement": placement, "rate": rate,
                           "figure": metric, "bar": bar, "ours": ours, "peer": theirs, "cleared": ok})
