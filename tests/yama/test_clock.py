# SPDX-License-Identifier: Apache-2.0
"""A clock that is set forward and back and a host that is suspended, by a kernel of its own: no
profile is longer than what passed, none loses time, and each says when it was by the clock as set.
clock_guest.py does it, here is what is expected.
"""

import base64
import os
import re
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration"))
import profiles  # noqa: E402

SECONDS = 600
INTERVAL_S = 2
HELD_S = 5  # how long samples of a new process are held, until it is settled what it is called
SLACK_S = 2.5  # the emulator is slow, and an interval may end so much later


@pytest.fixture(scope="session")
def seen(guest, tmp_path_factory):
    """(events by name: clocks before and after, the agent's log, its profiles)."""
    lines, folder, paths = guest("clock_guest.py", SECONDS), tmp_path_factory.mktemp("profiles"), []
    assert lines and lines[-1] == {"done": True}, lines[-1:]
    for line in lines:
        if "profile" in line:
            paths.append(folder / ("%03d.pb.gz" % len(paths)))
            paths[-1].write_bytes(base64.b64decode(line["profile"]))
    events = {line["event"]: line for line in lines if "event" in line}
    end = next(line for line in lines if "status" in line)
    assert end["status"] == 0, end["log"]
    return events, end["log"], sorted(profiles.read(*paths), key=lambda one: one["time_ns"])


def mono_s(events, first, last):
    return events[last]["before"][1] - events[first]["after"][1]


def test_no_profile_is_longer_than_what_passed_and_no_time_is_lost(seen):
    events, _, found = seen
    durations = [profile["duration_ns"] / 1e9 for profile in found]

    assert durations[0] < HELD_S + INTERVAL_S + SLACK_S
    assert max(durations[1:]) < INTERVAL_S + SLACK_S
    assert mono_s(events, "begin", "end") < sum(durations) < mono_s(events, "begin", "end") + 60


def test_times_of_a_profile_are_those_that_passed(seen):
    _, _, found = seen
    whole = found[1:-1]  # in the first and last, the process is looked at for a part only
    wall_s = [profiles.total([profile], "wall") / 1e9 for profile in whole]
    duration_s = [profile["duration_ns"] / 1e9 for profile in whole]

    print("wall: %.4f of what passed" % (sum(wall_s) / sum(duration_s)))
    assert 0.97 < sum(wall_s) / sum(duration_s) < 1.03
    assert max(wall_s) < INTERVAL_S + SLACK_S


def test_each_profile_is_at_its_time_by_the_clock_as_it_was_set(seen):
    events, _, found = seen
    names, starts = list(events), [profile["time_ns"] / 1e9 for profile in found]
    before = [start for start in starts if abs(start - events["begin"]["after"][0]) < 60 and
              start <= events["begin"]["after"][0] - INTERVAL_S - SLACK_S]
    phases = {}
    for name, after in zip(names, names[1:]):
        begin, end = events[name]["after"][0], events[after]["before"][0]
        phases[name] = [start for start in starts if begin - INTERVAL_S - SLACK_S < start < end]

    print("profiles of each phase: %s" % [len(phase) for phase in phases.values()])
    assert sum(map(len, phases.values())) + len(before) >= len(starts)
    assert all(len(phase) >= 2 for phase in phases.values())
    for name in ("forward", "back"):  # what ran when the clock was set has begun before, by the clock as it is now
        assert min(phases[name]) <= events[name]["after"][0]


def test_nothing_is_caught_up_and_the_log_says_what_happened_once(seen):
    events, log, found = seen
    _, mono, boot = (after - before for before, after in zip(events["suspend"]["before"], events["suspend"]["after"]))
    samples = sum(profiles.total([profile], "samples") for profile in found)
    said = re.findall(r"(the clock was set by|the host was suspended for) (-?\d+)[.]\d+ s", log)

    assert samples < 50 * 1.1 * sum(profile["duration_ns"] for profile in found) / 1e9
    assert [what for what, _ in said] == ["the clock was set by"] * 2 + ["the host was suspended for"], log
    assert [int(seconds) for _, seconds in said[:2]] == [pytest.approx(86400, abs=1), pytest.approx(-7200, abs=1)]
    assert abs(int(said[2][1]) - (boot - mono)) <= 1 < boot - mono
    assert "started again" not in log and "blocked" not in log
