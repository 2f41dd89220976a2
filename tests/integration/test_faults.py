# SPDX-License-Identifier: Apache-2.0
"""What becomes of a profile when the network or the server does something wrong.

FAULT_TABLE=FILE writes the table of faults and outcomes there.
"""

import gzip
import json
import os
import re
import subprocess

import pytest

import live
import profiles
import servers
from certificates import context_of, tls  # noqa: F401 (tls is a fixture)
from conftest import MACHINES
from faults import FAULTS, UNREAD, Faults
from receiver import Receiver
from servers import PROTOCOLS
from test_otlp import OtlpReceiver

TIMEOUT_S = 1  # of a try
PATIENT = {"timeout_ms": 60000}  # where the answer comes at once, and is the point
MEMORY_MAX = 64 << 20  # resident; libcurl with OpenSSL needs a quarter of it
LARGE = 12 << 20  # more than sockets hold

# Statuses that are worth another try; all others but 2xx are final.
RETRIED = {"otlp": {401, 403, 407, 429, 500, 502, 503, 504}}
RETRIED["pyroscope"] = RETRIED["otlp"] | {408}
DENIED = {401, 403, 407}

# What is to come of each fault: ok, retry or refused; or either, where releases of libcurl differ.
OUTCOMES = {
    "good": "ok", "slow": "ok", "silent": "retry", "half_status": "retry", "half_headers": "retry",
    "closing": "retry", "resetting": "retry", "resetting_in_headers": "retry", "resetting_in_refusal": "refused",
    "resetting_once": "retry", "closing_after_answer": "ok",
    "page": "retry", "page_of_no_type": "retry",
    "endless_body": "ok", "endless_chunks": "ok", "endless_refusal": "refused",
    "endless_headers": "retry", "endless_header": "retry", "endless_continue": "retry",
    "gzip_bomb": "ok", "gzip_bomb_refusal": "refused",
    "longer_than_sent": "ok", "longer_than_sent_open": "ok", "shorter_than_sent": "ok", "negative_length": "ok retry",
    "huge_length": "ok retry", "bad_chunk": "ok",
    "no_http": "retry", "http_0_9": "retry", "zeros": "retry",
    "half_open": "ok",
    "redirect_301": "refused", "redirect_302": "refused", "redirect_303": "refused", "redirect_to_a_file": "refused",
    "redirect_307": "refused", "redirect_308": "refused", "redirect_loop": "refused",
    "wait_2s": "retry", "wait_for_ever": "retry",
    "never_reading": "retry", "refusing_unread": "refused", "resetting_unread": "retry",
}

table = []  # (fault, protocol, outcome, ms, text)


@pytest.fixture(scope="module", autouse=True)
def written_table():
    yield
    path = os.environ.get("FAULT_TABLE")
    if path:
        with open(path, "w", encoding="utf-8") as file:
            file.write("| fault | protocol | outcome | ms | said |\n| --- | --- | --- | --- | --- |\n")
            file.writelines("| %s | %s | %s | %d | %s |\n" % row for row in table)
            file.write("\n| what the server does | %s |\n| --- |%s\n" % (" | ".join(PROTOCOLS), " --- |" * len(PROTOCOLS)))
            file.writelines("| %s | %s |\n" % row for row in summary())


def summary():
    """(what happened, the outcomes of all protocols): statuses with equal outcomes in one row."""
    outcomes = {}
    for fault, protocol, outcome, _, _ in table:
        outcomes.setdefault(fault, {})[protocol] = outcome
    rows = {}
    for fault, found in outcomes.items():
        status = fault.startswith("status ")
        row = " | ".join(found.get(protocol, "") for protocol in PROTOCOLS)
        rows.setdefault((status, row), []).append(int(fault.split()[1]) if status else fault.replace("_", " "))
    for (status, row), faults in rows.items():
        yield "status " + spans(faults) if status else ", ".join(faults), row


def spans(numbers):
    """"100-199, 401" """
    found = []
    for number in sorted(numbers):
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join("%d-%d" % (one, last) if last > one else str(one) for one, last in found)


class Try:
    """A line of push_file."""

    def __init__(self, line):
        outcome, denied, pause, took, self.text = line.split(" ", 4)
        self.outcome, self.denied = outcome, denied == "1"
        self.pause_ms, self.took_ms = int(pause), int(took)


def push(url, folder, protocol, times=1, size=0, **settings):
    """([Try], resident bytes at the most)"""
    path = folder / "profile.pb.gz"
    path.write_bytes(gzip.compress(b"\x32\x00") + bytes(size))  # string_table: [""]
    tools = os.path.join(profiles.BUILD, "tests/tools")
    argv = [tools + "/run_measured", str(folder / "usage"), tools + "/push_file", str(path), "type=" + protocol,
            "url=" + url, "times=%d" % times, "timeout_ms=%d" % (TIMEOUT_S * 1000)]
    done = subprocess.run(argv + ["%s=%s" % pair for pair in settings.items()], stdout=subprocess.PIPE, text=True)
    usage = json.loads((folder / "usage").read_text())
    return [Try(line) for line in done.stdout.splitlines()], usage["peak_kib"] * 1024


def note(fault, protocol, one):
    table.append((fault, protocol, one.outcome, one.took_ms, one.text.replace("|", "/")[:120]))


def expected(protocol, status):
    if 200 <= status <= 299:
        return "ok"
    # 1xx announces an answer, which then does not come.
    return "retry" if status in RETRIED[protocol] or status < 200 else "refused"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_each_status_is_final_or_not(protocol, tmp_path):
    with Faults() as server:
        tries, memory = push(server.url("statuses/100"), tmp_path, protocol, 500)
        assert server.count == 500  # one request a try

    wrong = {}
    for status, one in enumerate(tries, 100):
        note("status %d" % status, protocol, one)
        if (one.outcome, one.denied) != (expected(protocol, status), status in DENIED):
            wrong[status] = one.outcome, one.denied, one.text
    assert wrong == {}
    assert memory < MEMORY_MAX or live.SANITIZED


# A fault, the certificate that the server has, how it is called, what it is verified against, a word of what is said.
CERTIFICATES = {
    "tls_good": ("server", "127.0.0.1", "ca", ""),
    "tls_self_signed": ("ca", "127.0.0.1", None, "ca_file"),
    "tls_of_another_ca": ("server", "127.0.0.1", "other", "ca_file"),
    "tls_expired": ("expired", "127.0.0.1", "ca", "expired"),
    "tls_wrong_host": ("server", "localhost", "ca", "localhost"),
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("fault", sorted(CERTIFICATES))
def test_no_certificate_but_a_good_one_is_taken(protocol, fault, tls, tmp_path):  # noqa: F811
    certificate, host, authority, word = CERTIFICATES[fault]
    token = tmp_path / "token"
    token.write_text("canary-of-tls\n")
    token.chmod(0o600)
    settings = dict(PATIENT, ca_file=tls / (authority + ".pem")) if authority else PATIENT
    with OtlpReceiver(context_of(tls, certificate)) as server:
        (one,), _ = push(server.url.replace("127.0.0.1", host), tmp_path, protocol, token_file=token, **settings)
        assert len(server.requests) == (1 if fault == "tls_good" else 0)
    note(fault, protocol, one)
    assert one.outcome == ("ok" if fault == "tls_good" else "retry")  # a certificate can be renewed
    assert word in one.text and "canary" not in one.text


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_connection_that_is_half_open_costs_one_try(protocol, tmp_path):
    """The server's machine has gone without a word: the next try goes over a connection of its own."""
    with Faults() as server:
        tries, _ = push(server.url("half_open"), tmp_path, protocol, 3, timeout_ms=3000)
        assert server.connections == 2
    assert [one.outcome for one in tries] == ["ok", "retry", "ok"], [one.text for one in tries]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("fault", [name for name in sorted(OUTCOMES) if name.startswith("redirect")])
def test_no_redirect_carries_a_secret_away(protocol, fault, tmp_path):
    token = tmp_path / "token"
    token.write_text("canary-of-redirects\n")
    token.chmod(0o600)
    with Faults() as server:
        (one,), _ = push(server.url(fault), tmp_path, protocol, token_file=token, **PATIENT)
        assert (server.count, server.connections, server.visits) == (1, 1, [])
    assert one.outcome == "refused" and "redirects are not followed" in one.text and "canary" not in one.text


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("fault", sorted(OUTCOMES))
def test_each_fault_has_its_outcome(protocol, fault, tmp_path):
    with Faults() as server:
        (one,), memory = push(server.url(fault), tmp_path, protocol, size=LARGE if fault in UNREAD else 0)
        assert server.count <= 1 and server.visits == []
    note(fault, protocol, one)

    assert one.outcome in OUTCOMES[fault].split(), one.text
    assert (one.text == "") == (one.outcome == "ok")
    assert memory < MEMORY_MAX + 4 * LARGE or live.SANITIZED


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_page_in_place_of_an_answer_waits_for_better_settings(protocol, tmp_path):
    with Faults() as server:
        (one,), _ = push(server.url("page"), tmp_path, protocol, **PATIENT)
        asked = server.url("page")
    assert one.outcome == "retry" and one.denied
    assert "answered 200 with text/html" in one.text and "Log in" in one.text and asked in one.text


def test_the_table_has_each_fault():
    assert sorted(OUTCOMES) == sorted(set(FAULTS) | set(UNREAD))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_answer_and_a_closed_connection_make_one_delivery_each(protocol, tmp_path):
    with Faults() as server:
        tries, _ = push(server.url("closing_after_answer"), tmp_path, protocol, 5)
        assert [one.outcome for one in tries] == ["ok"] * 5, [one.text for one in tries]
        assert server.count == 5


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_pause_that_is_asked_for_is_told(protocol, tmp_path):
    with Faults() as server:
        (short,), _ = push(server.url("wait_2s"), tmp_path, protocol)
        (long,), _ = push(server.url("wait_for_ever"), tmp_path, protocol)
    assert short.pause_ms == 2000
    assert long.pause_ms <= 3600 * 1000


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("what", ["name", "port"])
def test_where_nobody_is_it_is_tried_again(protocol, what, tmp_path):
    url = "http://nobody.invalid:4040" if what == "name" else "http://127.0.0.1:%d" % servers.free_ports(1)[0]
    (one,), _ = push(url, tmp_path, protocol)
    note("no such " + what, protocol, one)
    assert one.outcome == "retry" and one.text


INI = """
[agent]
rate = 50Hz
interval = 1s
scan = 200ms
[target shop]
cmdline = {target}
[exporter kept]
type = store
path = {store}
[exporter other]
type = pyroscope
url = {other}
[exporter faulty]
type = {protocol}
url = {url}
timeout = 10m
"""


@pytest.fixture
def watched(agent, start, tmp_path):
    """watched(protocol, url, other): an agent that samples a program and has three exporters."""
    script = tmp_path / "target.py"
    script.write_bytes(open(os.path.join(live.TARGETS, "busy.py"), "rb").read())

    def run(protocol, url, other):
        pid = start(MACHINES[-1], str(script), "--duty", 0.1).read_json()["pid"]
        one = agent(INI.format(target=re.escape(str(script)), store=tmp_path / "store", protocol=protocol,
                               url=url, other=other))
        one.wait_for([pid])
        return one

    return run


def resident(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as file:
        return int(re.search(r"VmRSS:\s+(\d+) kB", file.read()).group(1)) * 1024


HANGING = ["silent", "half_headers", pytest.param("never_reading", marks=pytest.mark.long),
           pytest.param("endless_continue", marks=pytest.mark.long)]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("fault", HANGING)
def test_one_that_hangs_holds_up_nobody(watched, protocol, fault, tmp_path):
    with Faults() as server, Receiver(profiles.BUILD) as other:
        run = watched(protocol, server.url(fault), other.url)
        other.wait(4)  # two values each of two intervals, while the first request still hangs
        before = resident(run.process.pid)
        status, _ = run.stop()  # which does not end where it waits for that request: it has ten minutes

    assert status == 0
    assert before < MEMORY_MAX
    assert len(profiles.paths_in_store(tmp_path / "store", "shop")) >= 2


def test_what_was_tried_again_is_there_once(watched):
    """One refusal after the other: no profile is lost, none comes twice."""
    def keys(pushes):
        return [(push.labels["__name__"], push.profile.time_nanos) for push in pushes]

    with Receiver(profiles.BUILD) as faulty, Receiver(profiles.BUILD) as other:
        faulty.answer(503, 429, (500, {"Retry-After": "1"}, b""))
        run = watched("pyroscope", faulty.url, other.url)
        first = set(keys(other.wait(4))[:4])
        live.wait_until(lambda: first <= set(keys(list(faulty.pushes))), "the first profiles are there")
        run.stop()
        theirs = keys(faulty.wait(1))

    assert len(theirs) == len(set(theirs))
    assert [status for status, _ in faulty.requests][:3] == [503, 429, 500]
