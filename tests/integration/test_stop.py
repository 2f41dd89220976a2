# SPDX-License-Identifier: Apache-2.0
"""The end is over within five seconds, whatever a server or a disk does. On a machine that has time for it."""

import os
import re
import shutil
import signal
import time

import pytest

import live
from agents import SPOOLING
from conftest import MACHINES
from faults import Faults
from servers import PROTOCOLS

BOUND_S = 5
HANG_S = 60
INI = SPOOLING + """[exporter faulty]
type = {protocol}
url = {url}
[exporter kept]
type = store
path = {store}
"""
pytestmark = [pytest.mark.long, pytest.mark.timing]


@pytest.fixture
def watched(agent, start, tmp_path):
    """watched(protocol, url, spool, under): an agent that samples a program, and pushes to that server."""
    script = tmp_path / "target.py"
    shutil.copy(os.path.join(live.TARGETS, "busy.py"), script)

    def run(protocol, url, spool, under=()):
        pid = start(MACHINES[-1], str(script), "--duty", 0.1).read_json()["pid"]
        one = agent(INI.format(spool=spool, target=re.escape(str(script)), protocol=protocol, url=url,
                               store=tmp_path / "store"), under)
        one.wait_for([pid])
        return one

    return run


def wait_for_requests(server):
    live.wait_until(lambda: server.connections > 0, "it pushes")
    time.sleep(1.5)  # more than one interval waits


@pytest.mark.parametrize("spool", ["off", "on"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("fault", ["silent", "never_reading", "half_headers", "endless_continue", "status/503"])
def test_the_end_of_an_agent_waits_for_no_server(watched, fault, protocol, spool, tmp_path):
    with Faults() as server:
        run = watched(protocol, server.url(fault), tmp_path / "spool" if spool == "on" else "off")
        wait_for_requests(server)
        status, took_s = run.stop()

    assert status == 0
    assert took_s < BOUND_S


@pytest.mark.parametrize("spool", ["off", "on"])
def test_the_end_waits_for_no_exporters_that_a_reload_ended(watched, spool, tmp_path):
    with Faults() as server:
        run = watched("pyroscope", server.url("silent"), tmp_path / "spool" if spool == "on" else "off")
        wait_for_requests(server)
        run.ini.write_text(run.ini.read_text().replace("[exporter kept]", "timeout = 9s\n[exporter kept]"))
        run.process.send_signal(signal.SIGHUP)
        status, took_s = run.stop()

    assert status == 0
    assert took_s < BOUND_S


@pytest.mark.parametrize("fault", ["silent", "never_reading"])
def test_the_end_of_a_command_waits_for_no_server(pystrobe, fault, tmp_path):
    ini, said = tmp_path / "pystrobe.ini", tmp_path / "said"
    with Faults() as server:
        ini.write_text("[agent]\ninterval = 1s\n[exporter faulty]\ntype = pyroscope\nurl = %s\n" % server.url(fault))
        program = "import time\nend = time.time() + 3\nwhile time.time() < end: pass\nopen(%r, 'w').write(str(end))" % str(said)
        done = pystrobe.run("exec", "-c", ini, "--", "/usr/bin/python3", "-c", program)
        took_s = time.time() - float(said.read_text())
        assert server.connections > 0

    assert done.returncode == 0
    assert took_s < BOUND_S


@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
@pytest.mark.parametrize("call", ["fsync", "renameat", "unlinkat"])
def test_the_end_of_an_agent_waits_for_no_disk(watched, call, tmp_path):
    """Neither the spool's nor a store's."""
    with Faults() as server:
        run = watched("pyroscope", server.url("good"), tmp_path / "spool",
                      ["strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e", "trace=" + call,
                       "-e", "inject=%s:delay_enter=%d" % (call, HANG_S * 10**6)])
        time.sleep(4)
        took_s = run.end_traced()

    assert took_s < BOUND_S
