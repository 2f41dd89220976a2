# SPDX-License-Identifier: Apache-2.0
"""The agent against real servers: what they wrote is what the store of the same agent kept."""

import contextlib
import os
import re
import shutil
import time
import uuid

import pytest

import live
import profiles
import servers
from conftest import MACHINES
from test_otlp import OtlpReceiver, check

KINDS = ("cpu", "wall", "gil")
INTERVALS = 2
TYPE_IDS = {"cpu": "process_cpu:cpu:nanoseconds:cpu:nanoseconds", "wall": "wall:wall:nanoseconds:wall:nanoseconds",
            "gil": "gil:gil:nanoseconds:gil:nanoseconds"}

INI = """
[agent]
rate = 100Hz
interval = 1s
scan = 200ms
[labels]
env = test
[target shop]
service = {services[0]}
cmdline = {paths[0]}
split = thread
[target desk]
service = {services[1]}
cmdline = {paths[1]}
[exporter kept]
type = store
path = {store}
[exporter pushed]
"""


def needs(name):
    why = servers.why_missing(name)
    return pytest.mark.skipif(why is not None, reason="%s: %s" % (name, why))


class Run:
    """Two services, of three processes, watched by an agent with a store and one more exporter."""

    def __init__(self, agent, start, folder):
        self.agent, self.store = agent, folder / "store"
        # Of this test alone, whatever else runs on the machine or is in a server.
        self.paths = [str(shutil.copy(os.path.join(live.TARGETS, "busy.py"), folder / (name + ".py")))
                      for name in ("shop", "desk")]
        self.services = ["%s-%s" % (name, uuid.uuid4().hex[:8]) for name in ("shop", "desk")]
        self.targets = [start(MACHINES[-1], path, "--threads", 2, "--duty", duty)
                        for path, duty in zip(self.paths[:1] + self.paths, (0.3, 0.2, 0.1))]

    def kept(self):
        """{(service, kind, time): samples} of the store."""
        return {(service,) + key: samples for service in self.services
                for key, samples in servers.in_store(self.store, service).items() if key[0] in KINDS}

    def push(self, exporter, has_all):
        """Watches for some intervals, until has_all(what the store has) of the other side is true; gives that."""
        paths = [re.escape(path) for path in self.paths]
        run = self.agent(INI.format(services=self.services, paths=paths, store=self.store) + exporter)
        run.wait_for([target.read_json()["pid"] for target in self.targets])
        live.wait_until(lambda: len(profiles.paths_in_store(self.store, self.services[1])) >= INTERVALS, "intervals")
        for target in self.targets:
            target.end()
        time.sleep(2)  # the interval in which they ended is over
        # What is still under way when the agent is told to end may have to wait for its next start.
        live.wait_until(lambda: has_all(self.kept()), "all has been delivered", 0.2)
        status, _ = run.stop()
        assert status == 0, run.log
        return self.kept()


@pytest.fixture
def run(agent, start, tmp_path):
    return Run(agent, start, tmp_path)


def by_key(kept):
    """Profiles of a server as the store's; none may be there twice."""
    out = {}
    for profile in kept:
        key = profile["service"], profile["kind"], profile["time_ns"]
        assert key not in out, "%s came twice" % (key,)
        out[key] = profile["samples"]
    return out


def assert_same(ours, theirs):
    assert sorted(theirs) == sorted(ours)
    for key, samples in ours.items():
        assert theirs[key] == samples, "%s %s" % key[:2]


# What the labels of a sample are called in OTLP, and in what a Pyroscope is sent.
OTLP_NAMES = {"pid": "process.pid", "thread id": "thread.id", "thread name": "thread.name"}
PUSH_NAMES = {"pid": "process_pid", "thread id": "thread_id", "thread name": "thread_name"}
OTLP_CPU_UNIT = 1000  # its CPU time counts microseconds; what is over goes to the next sample


def renamed(samples, names):
    return {(stack, tuple(sorted((names[name], value) for name, value in labels))): value
            for (stack, labels), value in samples.items()}


def assert_near(ours, theirs, each, total):
    """Equal but for so much of each, and of all together."""
    for key in set(ours) | set(theirs):
        assert abs(ours.get(key, 0) - theirs.get(key, 0)) <= each, key
    assert abs(sum(ours.values()) - sum(theirs.values())) <= total


def assert_as_otlp(ours, kept):
    """What came as OTLP is what the store kept, CPU time in whole microseconds."""
    theirs = by_key(kept)
    assert sorted(theirs) == sorted(ours)
    for key, samples in ours.items():
        left_over = OTLP_CPU_UNIT - 1 if key[1] == "cpu" else 0
        assert_near(renamed(samples, OTLP_NAMES), theirs[key], left_over, left_over)


def assert_pushed(ours, kept):
    """What a Pyroscope's API took is what the store kept."""
    assert_same({key: renamed(samples, PUSH_NAMES) for key, samples in ours.items()}, by_key(kept))
    for profile in kept:
        wanted = {"__name__": {"cpu": "process_cpu"}.get(profile["kind"], profile["kind"]), "env": "test"}
        assert wanted.items() <= profile["labels"].items()  # beside those that are found out


def threads_of(kept, service):
    """The names of the labels that tell threads apart, each with its values."""
    found = {}
    for profile in kept:
        for _, labels in profile["samples"] if profile["service"] == service else ():
            for name, value in labels:
                found.setdefault(name, set()).add(value)
    return found


# Who sends OTLP to the receiver of pushes: the agent, and a Collector that the agent sends to.
OTLP_TENANTS = ("agent", "agent-grpc", "collector-http", "collector-grpc")

EXPORTERS = """
type = otlp
url = {collector}
gil = on
[exporter more]
type = pyroscope
url = {pushes}
gil = on
[exporter otlp]
type = otlp
url = {pushes}
gil = on
header.X-Scope-OrgID = agent
[exporter grpc]
type = otlp
protocol = grpc
url = {pushes}
gil = on
header.X-Scope-OrgID = agent-grpc
[exporter checked]
type = otlp
url = {checked}
gil = on
"""


def handing_on(pushes):
    """Settings of a Collector that also hands on to the receiver of pushes, by both protocols."""
    exporters = dict(servers.onward(pushes.url, "http", "collector-http"),
                     **servers.onward(pushes.url, "grpc", "collector-grpc"))
    return lambda port, out: servers.collector_settings(port, out, exporters)


@needs("collector")
@needs("pushreceiver")
def test_real_servers_give_what_the_store_kept(run, tmp_path):
    """A Collector, a Pyroscope's API, which gets OTLP from agent and Collector, too, and one that feeds the checker."""
    with servers.PushReceiver(tmp_path / "pushes") as pushes, \
            servers.Collector(tmp_path / "collector", handing_on(pushes)) as collector, OtlpReceiver() as checked:
        ours = run.push(EXPORTERS.format(collector=collector.url, pushes=pushes.url, checked=checked.url),
                        lambda ours: min(len(collector.kept()), *(len(pushes.files(tenant)) for tenant in ("",) + OTLP_TENANTS))
                        >= len(ours) and len(checked.requests) >= len(collector.requests()))
        collected, pushed, requests = collector.kept(), pushes.kept(), collector.requests()
        as_otlp = {tenant: pushes.kept(tenant) for tenant in OTLP_TENANTS}
        assert pushes.refused() == []

    assert {key[1] for key in ours} == set(KINDS)
    for kept in (collected, *as_otlp.values()):
        assert_as_otlp(ours, kept)
    assert_pushed(ours, pushed)
    for kept in (collected, as_otlp["agent"], as_otlp["agent-grpc"], as_otlp["collector-grpc"]):
        assert {profile["labels"]["env"] for profile in kept} == {"test"}
    threads = threads_of(collected, run.services[0])
    assert set(threads) == set(OTLP_NAMES.values()) and len(threads["thread.id"]) >= 4  # two processes of two
    assert set(threads_of(pushed, run.services[0])) == set(PUSH_NAMES.values())
    assert threads_of(collected, run.services[1]) == {}
    assert max(len(request["resourceProfiles"]) for request in requests) == len(run.services)
    assert len(checked.requests) == len(requests)
    check(tmp_path, checked.requests)
    as_otlp = {"pyroscope's otlp, from " + tenant: kept for tenant, kept in as_otlp.items()}
    for name, kept in (("collector", collected), ("pyroscope's api", pushed), *as_otlp.items()):
        servers.tell("%s: %d profiles, %d samples, the same as in the store" %
                     (name, len(kept), sum(len(profile["samples"]) for profile in kept)))


def merged(ours, service, kind):
    """What a store kept of a service over all its time: stacks alone, those of all labels added up."""
    return servers.summed((stack, value) for (of, what, _), samples in ours.items() if (of, what) == (service, kind)
                          for (stack, _), value in samples.items())


def left_over(ours, service, kind, way):
    """By how much (a stack, all together) may differ once profiles have been merged."""
    unit = OTLP_CPU_UNIT - 1 if way != "pyroscope" and kind == "cpu" else 0
    of_it = [samples for key, samples in ours.items() if key[:2] == (service, kind)]
    return unit * sum(map(len, of_it)), unit * len(of_it)


@contextlib.contextmanager
def sent_by(way, url, folder):
    """Settings of an exporter whose profiles come to `url` straight, or through a Collector that hands them on."""
    kind, _, onward_by = way.partition("-collector-")
    if not onward_by:
        kind, _, protocol = kind.partition("-")
        yield "type = %s\nurl = %s\ngil = on\n%s" % (kind, url, "protocol = grpc\n" if protocol else "")
        return
    if servers.why_missing("collector"):
        pytest.skip(servers.why_missing("collector"))
    with servers.Collector(folder, lambda port, out: servers.collector_settings(
            port, out, servers.onward(url, onward_by))) as collector:
        yield "type = %s\nurl = %s\ngil = on\n" % (kind, collector.url)


@pytest.mark.skipif(servers.why_no_pyroscope() is not None, reason=str(servers.why_no_pyroscope()))
@pytest.mark.parametrize("way", servers.PROTOCOLS + ["otlp-grpc", "otlp-collector-http", "otlp-collector-grpc"])
def test_a_pyroscope_gives_back_what_it_was_sent(run, tmp_path, way):
    with servers.pyroscope(tmp_path / "pyroscope") as url, sent_by(way, url, tmp_path / "collector") as exporter:
        queries = servers.Queries(url)

        def has_all(ours):
            return all(sum(queries.merged(type_id, service).values()) + left_over(ours, service, kind, way)[1]
                       >= sum(merged(ours, service, kind).values())
                       for service in run.services for kind, type_id in TYPE_IDS.items())

        ours = run.push(exporter, has_all)

        assert set(TYPE_IDS.values()) <= queries.profile_types()
        for service in run.services:
            if way != "otlp-collector-http":  # which makes references of the attributes of resources
                assert queries.label_values("env", service) == ["test"]
            assert queries.label_values("service_name", service) == [service]
            for kind, type_id in TYPE_IDS.items():
                sent, given = merged(ours, service, kind), queries.merged(type_id, service)
                assert_near(sent, given, *left_over(ours, service, kind, way))
                servers.tell("pyroscope over %s: %s of %s: %d stacks, %.6f s; sent %d, %.6f s"
                             % (way, type_id.split(":")[0], service.split("-")[0], len(given),
                                sum(given.values()) / 1e9, len(sent), sum(sent.values()) / 1e9))
