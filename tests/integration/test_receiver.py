# SPDX-License-Identifier: Apache-2.0
"""The test receiver refuses what a Pyroscope with its default limits refuses, or would cut."""

import time

import pytest

import receiver
from profiles import BUILD

PUSH_PB2, PROFILE_PB2 = receiver.load_protos(BUILD + "/receiver")


def make_profile(depth=2, samples=1, texts=(("thread_name", "main"),), name="f", kind="cpu", age_s=0.0):
    """A pprof of these samples, all with one stack and one set of labels."""
    strings = ["", kind, "nanoseconds", name]
    profile = PROFILE_PB2.Profile(time_nanos=int((time.time() - age_s) * 1e9))
    profile.sample_type.add(type=1, unit=2)
    for _ in range(samples):
        sample = profile.sample.add(location_id=[1] * depth, value=[1])
        for text in texts:
            sample.label.add(key=len(strings), str=len(strings) + 1)
            strings += text
    profile.string_table.extend(strings)
    return profile


def refusal(labels=(), **of_profile):
    """What it says of a profile; "" if it takes it."""
    labels = dict({"__name__": "process_cpu", "service_name": "shop"}, **dict(labels))
    profile = make_profile(**of_profile)
    try:
        receiver.check_limits(labels, profile.ByteSize(), profile)
    except ValueError as error:
        return str(error)
    return ""


def numbered(count):
    return [("label%d" % number, "x") for number in range(count)]


@pytest.mark.parametrize("good", [
    {}, {"labels": [("k8s.pod.name", "a")]}, {"labels": [("n" * 1024, "v" * 2048)]}, {"labels": numbered(27)},
    {"depth": 1000}, {"samples": 16000, "depth": 1, "texts": ()}, {"name": "f" * 65535}, {"age_s": 3500}, {"age_s": -500},
    {"texts": numbered(28)}, {"labels": [("thread_name", "series wins")]}, {"texts": [("span_id", "0" * 16)]}])
def test_what_a_pyroscope_takes_is_taken(good):
    assert refusal(**good) == ""


@pytest.mark.parametrize("bad, why", [
    ({"labels": [("cost-center", "x")]}, "invalid label name"), ({"labels": [("gr\u00f6\u00dfe", "x")]}, "invalid label name"),
    ({"labels": [("1a", "x")]}, "invalid label name"), ({"texts": [("thread name", "x")]}, "invalid label name"),
    ({"labels": [("a.b", "x"), ("a_b", "y")]}, "duplicate label name"),
    ({"labels": [("n" * 1025, "x")]}, "too long"), ({"labels": [("n", "\u00fc" * 1025)]}, "too long"),
    ({"labels": numbered(28)}, "limit 30"), ({"texts": numbered(29)}, "limit 30"),
    ({"texts": [("l", "x")] * 101}, "101 labels"), ({"depth": 1001}, "1001 frames"),
    ({"samples": 16001, "depth": 1, "texts": ()}, "16001 samples"), ({"name": "f" * 65536}, "longer than"),
    ({"samples": 90, "depth": 1, "texts": [("l%d" % number, "x" * 2000) for number in range(28)]}, "too large"),
    ({"kind": "cpu-time"}, "contains -"), ({"age_s": 3700}, "ingestion window"), ({"age_s": -700}, "ingestion window")])
def test_what_a_pyroscope_refuses_or_cuts_is_refused(bad, why):
    assert why in refusal(**bad)
