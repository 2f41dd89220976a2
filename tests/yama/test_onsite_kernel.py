# SPDX-License-Identifier: Apache-2.0
"""Debian's kernel, too, takes the BPF program that reads on site, and runs it for samplers that have given up the
rights to load it. onsite_guest.py does it, here is what is expected.
"""

import os
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "integration"))
import live  # noqa: E402

SECONDS = 600


@pytest.fixture(scope="module")
def seen(guest):
    """What the machine told, by case."""
    told = {line.pop("case"): line for line in guest("onsite_guest.py", SECONDS)}
    assert "done" in told, sorted(told)
    print(told["kernel"])
    return told


def unwinder(line):
    assert line["status"] == 0, line["errors"]
    stats = live.stats_in(line["errors"])
    return stats["samples"], stats["unwinder"]


def finding(line):
    return next(one for one in line["doctor"]["checks"] if one["check"] == "high rates")


def functions(line):
    return {one["func"] for one in line["top"]["functions"]}


def test_it_runs_there_for_who_may_load_it(seen):
    samples, counts = unwinder(seen["root"])

    assert finding(seen["root"])["result"] == "ok", finding(seen["root"])
    assert samples > 100 and counts["onsite"] > samples / 2, counts
    assert counts["torn"] == 0 and "spins_here" in functions(seen["root"])


def test_who_may_not_reads_as_well_without_it(seen):
    samples, counts = unwinder(seen["without"])

    assert finding(seen["without"])["result"] == "note", finding(seen["without"])
    assert samples > 100 and counts["onsite"] == 0, counts
    assert "spins_here" in functions(seen["without"])


def test_a_sampler_that_has_given_up_the_rights_goes_on(seen):
    counts = seen["agent"]["counts"]["unwinder"]

    assert counts["samples"] >= 500 and counts["onsite"] > counts["samples"] / 2, counts
