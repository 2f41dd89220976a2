# SPDX-License-Identifier: Apache-2.0
"""The end waits for nobody, whatever a server or a disk does: neither ever answers here.

That it is over within five seconds is measured where the machine has time for it (nightly).
"""

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
HANG_S = 10 * live.DEADLINE_S
INI = SPOOLING + """[exporter faulty]
type = {protocol}
url = {url}
timeout = {timeout}
[exporter kept]
type = store
path = {store}
"""


@pytest.fixture
def watched(agent, start, tmp_path):
    """watched(protocol, url, spool, under): an agent that samples a program, and pushes to that server.

    A push has longer than a test waits for the end.
    """
    script = tmp_path / "target.py"
    shutil.copy(os.path.join(live.TARGETS, "busy.py"), script)

    def run(protocol, url, spool, under=(), timeout="10m"):
        pid = start(MACHINES[-1], str(script), "--duty", 0.1).read_json()["pid"]
        one = agent(INI.format(spool=spool, target=re.escape(str(script)), protocol=protocol, url=url, timeout=timeout,
                               store=tmp_path / "store"), under)
        one.wait_for([pid])
        return one

    return run


def wait_for_requests(server):
    live.wait_until(lambda: server.connections > 0, "it pushes")
    time.sleep(1.5)  # more than one interval waits


FAULTS = ["silent", "never_reading", "half_headers", "endless_continue", "status/503"]


@pytest.mark.long
@pytest.mark.timing
@pytest.mark.parametrize("spool", ["off", "on"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("fault", FAULTS)
def test_the_end_of_an_agent_waits_for_no_server(watched, fault, protocol, spool, tmp_path):
    with Faults() as server:
        run = watched(protocol, server.url(fault), tmp_path / "spool" if spool == "on" else "off")
        wait_for_requests(server)
        assert run.stop()[0] == 0


@pytest.mark.nightly
@pytest.mark.parametrize("spool", ["off", "on"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("fault", FAULTS)
def test_the_end_of_an_agent_takes_five_seconds_at_most(watched, fault, protocol, spool, tmp_path):
    with Faults() as server:
        run = watched(protocol, server.url(fault), tmp_path / "spool" if spool == "on" else "off", timeout="10s")
        wait_for_requests(server)
        status, took_s = run.stop()

    assert status == 0
    assert took_s < BOUND_S


@pytest.mark.long
@pytest.mark.timing
@pytest.mark.parametrize("spool", ["off", "on"])
def test_the_end_waits_for_no_exporters_that_a_reload_ended(watched, spool, tmp_path):
    with Faults() as server:
        run = watched("pyroscope", server.url("silent"), tmp_path / "spool" if spool == "on" else "off")
        wait_for_requests(server)
        run.ini.write_text(run.ini.read_text().replace("timeout = 10m\n", "timeout = 9m\n"))
        run.process.send_signal(signal.SIGHUP)
        assert run.stop()[0] == 0


@pytest.mark.long
@pytest.mark.timing
@pytest.mark.parametrize("fault", ["silent", "never_reading"])
def test_the_end_of_a_command_waits_for_no_server(pystrobe, fault, tmp_path):
    ini, pushed = tmp_path / "pystrobe.ini", tmp_path / "pushed"
    with Faults() as server:
        ini.write_text("[agent]\ninterval = 1s\n[exporter faulty]\ntype = pyroscope\ntimeout = 10m\nurl = %s\n"
                       % server.url(fault))
        program = "import os\nwhile not os.path.exists(%r): sum(range(1000))" % str(pushed)
        process = pystrobe.start("exec", "-c", ini, "--", "/usr/bin/python3", "-c", program)
        wait_for_requests(server)
        pushed.touch()

        assert process.wait(live.DEADLINE_S) == 0


@pytest.mark.long
@pytest.mark.timing
@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
@pytest.mark.parametrize("call", ["fsync", "renameat", "unlinkat"])
def test_the_end_of_an_agent_waits_for_no_disk(watched, call, tmp_path):
    """Neither the spool's nor a store's."""
    with Faults() as server:
        run = watched("pyroscope", server.url("good"), tmp_path / "spool",
                      ["strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e", "trace=" + call,
                       "-e", "inject=%s:delay_enter=%d" % (call, HANG_S * 10**6)])
        time.sleep(4)
        run.end_traced()
