# SPDX-License-Identifier: Apache-2.0
"""The agent against real servers: what they wrote is what the store of the same agent kept."""

import os
import re
import shutil

import pytest

import live
import servers
from conftest import MACHINES

KINDS = ("cpu", "wall")  # that are pushed; the store has more
INTERVALS = 2

INI = """
[agent]
rate = 100Hz
interval = 1s
scan = 200ms
[labels]
env = test
[target shop]
cmdline = {shop}
split = thread
[target desk]
cmdline = {desk}
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
        self.agent, self.folder, self.store = agent, folder, folder / "store"
        # Programs of this test alone, whatever else runs on the machine.
        self.paths = [str(shutil.copy(os.path.join(live.TARGETS, "busy.py"), folder / (name + ".py")))
                      for name in ("shop", "desk")]
        self.pids = [start(MACHINES[-1], path, "--threads", 2, "--duty", duty).read_json()["pid"]
                     for path, duty in zip(self.paths[:1] + self.paths, (0.3, 0.2, 0.1))]

    def push(self, exporter, has_enough):
        """Watches until has_enough(), ends; gives {(service, kind, time): samples} of the store."""
        shop, desk = map(re.escape, self.paths)
        run = self.agent(INI.format(shop=shop, desk=desk, store=self.store) + exporter)
        run.wait_for(self.pids)
        live.wait_until(has_enough, "the server has got enough", 0.1)
        status, _ = run.stop()
        assert status == 0, run.log
        return {(service,) + key: samples for service in ("shop", "desk")
                for key, samples in servers.in_store(self.store, service).items() if key[0] in KINDS}


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


def has_intervals(server):
    return lambda: len({one["time_ns"] for one in server.kept() if one["service"] == "desk"}) >= INTERVALS


def assert_same(ours, theirs):
    assert sorted(theirs) == sorted(ours)
    for key, samples in ours.items():
        assert theirs[key] == samples, "%s %s" % key[:2]


@needs("pushreceiver")
def test_pyroscopes_api_gives_what_the_store_kept(run, tmp_path):
    with servers.PushReceiver(tmp_path / "server") as server:
        ours = run.push("type = pyroscope\nurl = %s\n" % server.url, has_intervals(server))
        kept = server.kept()
        assert server.refused() == []

    assert_same(ours, by_key(kept))
    for profile in kept:
        assert profile["labels"] == {"__name__": {"cpu": "process_cpu", "wall": "wall"}[profile["kind"]],
                                     "service_name": profile["service"], "env": "test"}
    assert any(labels for profile in kept for _, labels in profile["samples"] if profile["service"] == "shop")
