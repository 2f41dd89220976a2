# SPDX-License-Identifier: Apache-2.0
"""No client of the HTTP server can end sampling, keep others out or hold memory, however it asks."""

import contextlib
import gzip
import pathlib
import re
import socket
import threading
import time

import pytest

import live
import pages
import profiles

INI = """
[agent]
rate = 19Hz
interval = 1s
scan = 200ms
control = %(dir)s/control.sock
%(agent)s
[http]
listen = 127.0.0.1:%(port)d
%(more)s
[target desk]
cmdline = %(dir)s/desk
service = shop
[exporter out]
type = store
path = %(dir)s/store
"""
BURST, PER_S = 120, 5  # requests of one client, as in the manual
PLAIN = b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture
def begin(agent, start, tmp_path):
    """begin(more, own): an agent with these lines for [http] and [agent] that samples one program: (agent, port, pid of the
    program)."""
    def run(more="", own=""):
        port = pages.free_port()
        target = pages.start_target(start, tmp_path, "desk_brew.py", "brew")
        started = agent(INI % {"dir": tmp_path, "port": port, "more": more, "agent": own})
        started.wait_for([target.pid])
        pages.wait_until_ready(port)
        return started, port, target.pid

    return run


@pytest.fixture
def desk(begin):
    """One with the limits of the defaults: (agent, port)."""
    return begin()[:2]


@pytest.fixture
def idle(agent, tmp_path):
    """An agent that has nothing to sample: (agent, port)."""
    port = pages.free_port()
    run = agent(pages.ini_of(tmp_path, "127.0.0.1:%d" % port))
    pages.wait_until_ready(port)
    return run, port


@contextlib.contextmanager
def clients(count, run):
    """Calls run(enough) in so many threads until the end of the block."""
    enough = threading.Event()
    threads = [threading.Thread(target=run, args=(enough,)) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        enough.set()
        for thread in threads:
            thread.join()


@pytest.mark.timing
@pytest.mark.parametrize("path", ["/metrics", "/debug/stacks", "/nothing"])
def test_who_asks_in_a_loop_takes_no_sample_from_anybody(pystrobe, desk, tmp_path, path):
    run, port = desk
    answers = []

    def hammer(enough):
        while not enough.is_set():
            answers.append(pages.ask(port, path)[0])

    time.sleep(2)
    before, began, used = pystrobe.status(tmp_path / "control.sock"), time.monotonic(), profiles.cpu_s_of(run.process.pid)
    with clients(4, hammer):
        time.sleep(15)
        assert {pages.ask(port, "/healthz")[0] for _ in range(10)} == {200}
    passed = time.monotonic() - began
    after, used = pystrobe.status(tmp_path / "control.sock"), profiles.cpu_s_of(run.process.pid) - used
    taken = after["targets"][0]["samples"] - before["targets"][0]["samples"]

    print("%s: %d answers, %d of them 429, %.2f %% of a core, %.1f samples a second" % (
        path, len(answers), answers.count(429), 100 * used / passed, taken / passed))
    assert answers.count(429) > 0
    assert len(answers) - answers.count(429) <= BURST + PER_S * passed  # all clients are one: the loopback
    assert taken > 0
    assert after["budget"]["targets_slowed"] == after["budget"]["targets_left_out"] == 0
    assert "less often" not in "".join(run.log)


def test_what_starts_processes_has_its_share_of_a_core(begin):
    """Who has used it is told when to come again; all else goes on."""
    _, port, pid = begin("max_cpu = 0.1%")

    def refused():
        time.sleep(0.1)
        code, body, headers = pages.ask(port, "/api/threads?pid=%d" % pid)
        return (body, headers) if code == 429 and b"max_cpu" in body else None

    body, headers = live.wait_until(refused, "the share is used", 0.1)
    assert int(headers["Retry-After"]) >= 1 and b"try again in %s s" % headers["Retry-After"].encode() in body
    assert pages.ask(port, "/debug/stacks")[0] == 429
    assert pages.ask(port, "/metrics")[0] == pages.ask(port, "/api/state")[0] == pages.ask(port, "/")[0] == 200


def drip(port, head, count):
    """Connections that have sent `head`; send(one) sends another byte, False: it was closed."""
    found = []
    for _ in range(count):
        one = socket.create_connection(("127.0.0.1", port), timeout=live.DEADLINE_S)
        one.sendall(head)
        found.append(one)
    return found


def send(one):
    try:
        one.sendall(b"a")
        return one.recv(1, socket.MSG_DONTWAIT) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def test_connections_that_drip_keep_nobody_out_and_end_soon(idle):
    _, port = idle
    slow = drip(port, b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ", 100)
    until = time.monotonic() + 4
    while time.monotonic() < until:
        for path in ("/healthz", "/readyz", "/metrics", "/"):
            assert pages.ask(port, path)[0] == 200
        slow = [one for one in slow if send(one)]
        time.sleep(0.5)
    assert not slow


@pytest.mark.parametrize("head", [b"\r\n\r\nGET /metrics HTTP/1.1\r\nHost: localhost\r\nX: ", b"\x16\x03\x01\x02\x00", b"\0" * 100])
def test_what_is_no_request_is_closed_at_once(idle, head):
    _, port = idle
    with socket.create_connection(("127.0.0.1", port), timeout=live.DEADLINE_S) as one:
        one.sendall(head)
        assert one.recv(100).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("words, code", [(b"Content-Length: 1000000000", b"413"), (b"Transfer-Encoding: chunked", b"413"),
                                         (b"Expect: 100-continue", b"413"), (b"X: " + b"x" * 9000, b"431")])
def test_a_request_that_goes_on_is_refused(idle, words, code):
    _, port = idle
    with socket.create_connection(("127.0.0.1", port), timeout=live.DEADLINE_S) as one:
        one.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n" + words)
        if code == b"413":
            one.sendall(b"\r\n\r\n")
        assert one.recv(100).startswith(b"HTTP/1.1 " + code)


def test_a_header_in_two_parts_is_one_request(idle):
    _, port = idle
    with socket.create_connection(("127.0.0.1", port), timeout=live.DEADLINE_S) as one:
        one.sendall(b"GET /metrics HTTP/1.1\r\nHo")
        time.sleep(0.3)
        one.sendall(b"st: localhost\r\n\r\n")
        one.shutdown(socket.SHUT_WR)
        text = b"".join(iter(lambda: one.recv(65536), b""))
    assert text.startswith(b"HTTP/1.1 200 ") and text.endswith(b"\n")


def test_each_connection_serves_one_request(idle):
    _, port = idle
    with socket.create_connection(("127.0.0.1", port), timeout=live.DEADLINE_S) as one:
        one.sendall((PLAIN % b"/metrics") * 3)
        text = b""
        with contextlib.suppress(ConnectionResetError):
            text = b"".join(iter(lambda: one.recv(65536), b""))
    assert text.count(b"HTTP/1.1 200 ") <= 1


def test_another_page_starts_no_work(idle):
    """A link of another page leads to the page, and nowhere else: not even as a document of its own."""
    _, port = idle
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert pages.ask(port, "/", **link)[0] == 200
    for path in ("/debug/pprof/profile?seconds=300&rate=1000", "/api/sample?seconds=60", "/debug/stacks", "/api/state", "/metrics"):
        for site in ("cross-site", "same-site"):
            assert pages.ask(port, path, **dict(link, **{"Sec-Fetch-Site": site}))[0] == 403, path
    assert pages.ask(port, "/", **dict(link, **{"Sec-Fetch-Dest": "iframe"}))[0] == 403
    assert pages.ask(port, "/metrics", **dict(link, **{"Sec-Fetch-Site": "none"}))[0] == 200


def test_head_makes_no_answer(desk):
    """Whatever it asks for: 60 s of samples are there at once."""
    _, port = desk
    began = time.monotonic()
    for path in ("/metrics", "/debug/pprof/profile?seconds=60", "/debug/stacks", "/api/sample?seconds=60", "/api/graph", "/"):
        code, body, headers = pages.ask(port, path, method="HEAD")
        assert (code, body) == (200, b"") and "Content-Length" not in headers
    assert pages.ask(port, "/nothing", method="HEAD")[0] == 404
    assert time.monotonic() - began < 5


def test_a_target_without_a_name_is_not_all_of_them(desk):
    _, port = desk
    for path in ("/debug/stacks?target", "/debug/stacks?target=", "/debug/pprof/profile?seconds=1&target", "/debug/stacks?pid"):
        assert pages.ask(port, path)[0] == 400, path


def test_metrics_are_made_once_a_state(idle):
    """Two answers within one state are the same, byte for byte."""
    _, port = idle

    def twice():
        first, second = pages.ask(port, "/metrics"), pages.ask(port, "/metrics")
        return first[0] == second[0] == 200 and first[1] == second[1]

    live.wait_until(twice, "two are the same", 0.3)
    first = pages.ask(port, "/metrics")[1]
    live.wait_until(lambda: pages.ask(port, "/metrics")[1] != first, "there is another", 0.5)


def memory_of(pid):
    """Bytes of its own that are resident."""
    text = pathlib.Path("/proc/%d/status" % pid).read_text()
    return int(re.search(r"RssAnon:\s+(\d+)", text).group(1)) << 10


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out) + bytes([number])


def field(number, value):
    """A field of a protobuf message: a number or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def count_fields(message, number):
    """How many fields of that number a message of fields 0 (varint) and 2 (bytes) has."""
    def read():
        nonlocal at
        value = shift = 0
        while True:
            value |= (message[at] & 127) << shift
            at, shift = at + 1, shift + 7
            if message[at - 1] < 128:
                return value

    at, count = 0, 0
    while at < len(message):
        tag = read()
        size = read()
        at += size if tag & 7 == 2 else 0
        count += tag >> 3 == number
    return count


def grow_profile(path, functions):
    """Adds so many functions with long names to a profile of the store, each called by nobody."""
    with gzip.open(path) as file:
        profile = file.read()
    values, strings = count_fields(profile, 1), count_fields(profile, 6)
    more = []
    for i in range(functions):
        own = 10**6 + i
        more += [field(6, b"%05d" % i + b"x" * 100),
                 field(5, field(1, own) + field(2, strings + i) + field(3, strings + i) + field(4, strings + i)),
                 field(4, field(1, own) + field(4, field(1, own) + field(2, 1))),
                 field(2, field(1, varint(own)) + field(2, varint(1000000) * values))]
    with gzip.open(path, "wb", 1) as file:
        file.write(profile + b"".join(more))


def slow_reader(port, address):
    """A connection that has asked, and can take little at a time."""
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    one.connect(("127.0.0.1", port))
    one.sendall(PLAIN % address.encode())
    return one


@pytest.mark.timing
def test_slow_readers_of_large_answers_hold_little_and_keep_nobody_out(pystrobe, begin, tmp_path):
    """Probes go on meanwhile; whoever reads slowly is closed for another one.

    Answers take some 9 % of a core, which is three times what the agent may use for its own work, and that takes 1 %.
    """
    run, port, _ = begin("max_cpu = 100%", "max_cpu = 3%")
    first = live.wait_until(lambda: profiles.paths_in_store(tmp_path / "store", "shop"), "a profile", 0.1)[0]
    grow_profile(first, 40000)
    address = "/api/graph?service=shop&from=0&to=%d" % (9 * 10**12)
    before, held, most, refused = memory_of(run.process.pid), [], 0, 0
    size = len(pages.ask(port, address)[1])
    assert size > 6 << 20
    until = time.monotonic() + 15
    while time.monotonic() < until:
        held.append(slow_reader(port, address))
        for one in held:
            with contextlib.suppress(OSError):
                one.recv(100, socket.MSG_DONTWAIT)
        time.sleep(0.2)
        most = max(most, memory_of(run.process.pid) - before)
        refused += pages.ask(port, "/metrics")[0] != 200
        assert pages.ask(port, "/healthz")[:2] == (200, b"ok\n") and pages.ask(port, "/readyz")[0] == 200
    for one in held:
        one.close()
    told = pystrobe.status(tmp_path / "control.sock")["budget"]

    print("slow readers: %d, of %.1f MiB; %.1f MiB more at most; %d of 75 metrics refused" % (
        len(held), size / 2**20, most / 2**20, refused))
    assert most < 36 << 20
    assert told["targets_slowed"] == told["targets_left_out"] == 0
    live.wait_until(lambda: pages.ask(port, "/metrics")[0] == 200, "there is room again", 0.2)
