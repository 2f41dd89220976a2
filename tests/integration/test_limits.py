# SPDX-License-Identifier: Apache-2.0
"""What is more than a Pyroscope takes is left out before the server does it, or refuses all."""

import os
import re

import pytest

import profiles
from conftest import MACHINES
from receiver import DEPTH_MAX, Receiver
from test_otlp import OtlpReceiver, attributes, check, otlp_pb2  # noqa: F401 (a fixture)

DEPTH = 1500
PROGRAM = """
import sys
sys.setrecursionlimit(10000)
def burn():
    while True:
        sum(range(1000))
def dig(depth):
    return dig(depth - 1) if depth else burn()
print("{}", flush=True)
dig(1500)
"""

INI = """
[agent]
rate = 50Hz
interval = 2s
scan = 200ms
auto_labels = host.name process.runtime.version
[labels]
%s
[target deep]
service = deep
cmdline = %s
split = thread
%s
"""
EXPORTER = "[exporter %s]\ntype = %s\nurl = %s\nlimits = %s\n"


@pytest.fixture
def ini(start, tmp_path):
    """Of a deep recursion with the most labels that there may be."""
    script = tmp_path / "deep.py"
    script.write_text(PROGRAM)
    start(MACHINES[-1], str(script)).read_json()
    return INI % ("\n".join("all%02d = x" % number for number in range(24)), re.escape(os.fspath(script)),
                  "\n".join("label.own%02d = x" % number for number in range(10)))


def stacks_of(push):
    """The names of the functions of each stack, leaf first."""
    strings = push.profile.string_table
    functions = {function.id: strings[function.name] for function in push.profile.function}
    locations = {location.id: functions[location.line[0].function_id] for location in push.profile.location}
    return [[locations[number] for number in sample.location_id] for sample in push.profile.sample]


def test_a_pyroscope_is_sent_no_more_than_it_takes(agent, ini):
    with Receiver(profiles.BUILD) as receiver, Receiver(profiles.BUILD, limited=False) as other:
        run = agent(ini + "[exporter usual]\ntype = pyroscope\nurl = %s\n" % receiver.url
                    + EXPORTER % ("raised", "pyroscope", other.url, "none"))
        pushes, whole = receiver.wait(4), other.wait(4)
        run.stop()

    assert receiver.errors == [] and other.errors == []
    deep = [stack for push in pushes for stack in stacks_of(push) if len(stack) > 10]
    assert deep and {len(stack) for stack in deep} == {DEPTH_MAX}
    for stack in deep:
        assert "burn" in stack[:3] and stack[-1] == "<module>"
        assert [name for name in stack if name not in ("burn", "dig", "<module>")] == [stack[DEPTH_MAX // 2]]
        assert re.fullmatch(r"<[.]{3} 50[1-9] frames left out>", stack[DEPTH_MAX // 2])
    assert max(len(stack) for push in whole for stack in stacks_of(push)) > DEPTH
    for push in pushes:
        assert {"own%02d" % number for number in range(10)} <= set(push.labels)
        assert {"all%02d" % number for number in range(5)} <= set(push.labels)
        assert not {"host.name", "process.runtime.version", "all23"} & set(push.labels)
    assert {"host.name", "process.runtime.version", "all23", "own09"} <= set(whole[0].labels)
    assert len([line for line in run.log if "are left out; limits = none sends all" in line]) == 1


def test_otlp_keeps_within_the_limits_when_told(agent, ini, tmp_path, otlp_pb2):  # noqa: F811
    with OtlpReceiver() as receiver, OtlpReceiver() as other:
        run = agent(ini.replace("all00", "all-00") + EXPORTER % ("within", "otlp", receiver.url, "pyroscope")
                    + "[exporter usual]\ntype = otlp\nurl = %s\n" % other.url)
        run.wait_for_line("left out")
        run.stop()
    check(tmp_path, receiver.requests)
    bodies = [otlp_pb2.ExportProfilesServiceRequest.FromString(receiver.requests[-1][2]),
              otlp_pb2.ExportProfilesServiceRequest.FromString(other.requests[-1][2])]
    depths = [max(len(stack.location_indices) for stack in body.dictionary.stack_table) for body in bodies]
    labels = [attributes(body.resource_profiles[0].resource) for body in bodies]
    assert depths[0] == DEPTH_MAX and depths[1] > DEPTH
    samples = [sample for scope in bodies[0].resource_profiles[0].scope_profiles for profile in scope.profiles
               for sample in profile.samples]
    of_samples = max(len(sample.attribute_indices) for sample in samples) - 1  # service.name is no label
    assert len(labels[0]) == 30 - 4 - of_samples  # the server adds 4
    assert {"own09", "all_00"} <= set(labels[0]) and "host.name" not in labels[0]
    assert {"own09", "all-00", "all23", "host.name"} <= set(labels[1])
