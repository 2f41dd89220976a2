# SPDX-License-Identifier: Apache-2.0
"""pystrobe doctor: every cause is there for real, and named with its cure."""

import contextlib
import http.server
import json
import os
import socket
import ssl
import subprocess
import threading
import time
from email.utils import formatdate

import pytest

import live

PYTHON = "/usr/bin/python3"
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
PLAIN_ROOT = ["setpriv", "--bounding-set", "-sys_ptrace"]
WAITS = "import os, sys; print(os.getpid(), flush=True); sys.stdin.read()"
UNDUMPABLE = "import ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); " + WAITS

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@contextlib.contextmanager
def running(*words):
    """Runs a program that prints its pid and waits; gives the pid."""
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/")
    try:
        yield int(process.stdout.readline())
    finally:
        process.communicate()


def doctor(pystrobe, *args, words=(), status=1):
    """The checks that `pystrobe doctor --json` made, after `words`: {check: (result, text, cure)}."""
    done = subprocess.run([*words, *pystrobe.words, pystrobe.path, "doctor", "--json", *map(str, args)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=live.DEADLINE_S, cwd="/")
    assert done.returncode == status, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["good"] == (status == 0)
    found = {}
    for check in report["checks"]:
        if found.get(check["check"], ("ok",))[0] == "ok":
            found[check["check"]] = (check["result"], check["text"], check["cure"] or "")
    return found


# Of processes

def test_a_python_process_is_sampled(pystrobe):
    with running(PYTHON, "-c", WAITS) as pid:
        found = doctor(pystrobe, "--pid", pid, status=0)

    assert found["interpreter"][1].startswith("CPython 3.") and found["sample"][1].startswith("1 threads")


def test_what_is_no_python_is_told(pystrobe):
    with running("sh", "-c", "echo $$; read line") as pid:
        result, text, cure = doctor(pystrobe, "--pid", pid)["interpreter"]

    assert result == "fail" and "runs no CPython" in text and "3.6" in cure


def test_a_process_that_has_ended_is_told(pystrobe):
    with running(PYTHON, "-c", WAITS) as pid:
        pass

    assert "no such process" in doctor(pystrobe, "--pid", pid)["process"][1]


# who runs the target, who runs the doctor, what is said, what is to be done
CAUSES = {
    "of another user": ([], WAITS, NOBODY, "belongs to another user", "CAP_SYS_PTRACE"),
    "not dumpable": (NOBODY, UNDUMPABLE, NOBODY, "not dumpable", "CAP_SYS_PTRACE"),
    "with more capabilities": ([], WAITS, PLAIN_ROOT, "capabilities that pystrobe does not have", "CAP_SYS_PTRACE"),
    "in another user namespace": ([], WAITS, ["unshare", "-Ur"], "another user namespace", "on the host"),
}


@needs_root
@pytest.mark.parametrize("cause", CAUSES)
def test_a_process_that_cannot_be_read_is_told_by_its_cause(pystrobe, cause):
    target, script, words, told, cure_told = CAUSES[cause]
    if subprocess.run([*words, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("%s cannot be had here" % words[0])

    with running(*target, PYTHON, "-c", script) as pid:
        result, text, cure = doctor(pystrobe, "--pid", pid, words=words)["process"]

    assert result == "fail" and told in text and cure_told in cure


@needs_root
def test_the_capability_is_the_cure(pystrobe):
    words = [*NOBODY, "--inh-caps", "+sys_ptrace,+dac_read_search", "--ambient-caps", "+sys_ptrace,+dac_read_search"]

    with running(PYTHON, "-c", UNDUMPABLE) as pid:
        found = doctor(pystrobe, "--pid", pid, words=words, status=0)

    assert found["sample"][0] == "ok"


@needs_root
def test_processes_that_proc_hides_are_told(pystrobe):
    words = ["unshare", "-m", "sh", "-c", 'mount -t proc -o hidepid=2 proc /proc && exec "$@"', "-"]
    if subprocess.run([*words, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("no mount namespace can be made here")

    with running(PYTHON, "-c", WAITS) as pid:
        result, text, cure = doctor(pystrobe, "--pid", pid, words=words + NOBODY)["process"]

    assert result == "fail" and "hidepid" in text and "CAP_SYS_PTRACE" in cure


FILTERED = """
import ctypes, os, struct, sys
number = {"x86_64": 310, "aarch64": 270}[os.uname().machine]
code = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)]
rules = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in code))
class Program(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ushort), ("rules", ctypes.c_void_p)]
program = Program(len(code), ctypes.cast(rules, ctypes.c_void_p))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.byref(program)) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_a_seccomp_filter_is_told_and_got_around(pystrobe):
    with running(PYTHON, "-c", WAITS) as pid:
        found = doctor(pystrobe, "--pid", pid, words=[PYTHON, "-c", FILTERED, "/usr/bin/env"], status=0)

    assert found["reading memory"][0] == "note" and "seccomp" in found["reading memory"][1]
    assert found["sample"][0] == "ok"


@needs_root
@pytest.mark.parametrize("scope, result, told", [(0, "ok", "is 0"), (1, "note", "ancestors"), (2, "fail", "is 2"),
                                                 (3, "fail", "is 3")])
def test_the_level_of_yama_is_told(pystrobe, scope, result, told):
    words = ["unshare", "-m", "sh", "-c", "mount -t tmpfs none /proc/sys/kernel && mkdir /proc/sys/kernel/yama && "
             'echo %d >/proc/sys/kernel/yama/ptrace_scope && exec "$@"' % scope, "-"]
    if subprocess.run([*words, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("no mount namespace can be made here")

    found = doctor(pystrobe, words=words + PLAIN_ROOT, status=int(result == "fail"))

    assert found["yama"][0] == result and told in found["yama"][1]


# Of places and servers

@pytest.fixture
def check(pystrobe, tmp_path):
    """check(text, status) examines an ini of one exporter x, or of a spool; gives what was found of it."""
    def run(text, status=1):
        ini = tmp_path / "doctor.ini"
        ini.write_text(text)
        found = doctor(pystrobe, "-c", ini, status=status)
        return found.get("exporter x") or found["spool"]

    return run


def exporter(url, more="", kind="pyroscope"):
    return "[exporter x]\ntype = %s\nurl = %s\n%s" % (kind, url, more)


class Handler(http.server.BaseHTTPRequestHandler):
    status, skew_s = 200, 0

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(self.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def date_time_string(self, timestamp=None):
        return formatdate(time.time() + self.skew_s, usegmt=True)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serving(tls=None, **answers):
    """A server on the loopback; gives its URL."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Answers", (Handler,), answers))
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield "%s://127.0.0.1:%d" % ("https" if tls else "http", server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize("kind", ["pyroscope", "otlp"])
def test_a_server_that_answers_is_fine(check, kind):
    with serving() as url:
        assert check(exporter(url, kind=kind), status=0)[0] == "ok"


@pytest.mark.parametrize("answers, told, cure_told", [
    ({"status": 401}, "login", "token_file"),
    ({"status": 404}, "no server of this type", "path of url"),
    ({"skew_s": 4000}, "behind the server's", "timedatectl"),
    ({"skew_s": -4000}, "ahead of the server's", "timedatectl"),
])
def test_what_a_server_minds_is_told(check, answers, told, cure_told):
    with serving(**answers) as url:
        result, text, cure = check(exporter(url))

    assert result == "fail" and told in text and cure_told in cure


def test_a_server_that_takes_nothing_now_is_no_mistake(check):
    with serving(status=503) as url:
        assert check(exporter(url), status=0)[0] == "note"


def test_a_closed_port_is_told(check):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        result, text, cure = check(exporter("http://127.0.0.1:%d" % taken.getsockname()[1]))

    assert result == "fail" and text.startswith("connection:") and "port" in cure


def test_a_name_that_is_not_found_is_told(check):
    result, text, cure = check(exporter("http://nowhere.invalid:4040", "connect_timeout = 20s\n"))

    assert result == "fail" and text.startswith("name:") and "resolv.conf" in cure


def test_a_certificate_that_nobody_knows_is_told(check, tmp_path):
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
                   check=True, stderr=subprocess.DEVNULL)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)

    with serving(tls=tls) as url:
        result, text, cure = check(exporter(url))
        trusted = check(exporter(url, "ca_file = %s\n" % certificate), status=0)

    assert result == "fail" and text.startswith("TLS:") and "ca_file" in cure
    assert trusted[0] == "ok"


def test_a_spool_is_written(check, tmp_path):
    (tmp_path / "file").write_text("")

    good = check("[agent]\nspool = %s\n" % (tmp_path / "new" / "spool"), status=0)
    bad = check("[agent]\nspool = %s\n" % (tmp_path / "file" / "spool"))
    full = check("[agent]\nspool = %s\nspool_min_free = 1TiB\n" % tmp_path)

    assert good[0] == "ok" and not (tmp_path / "new").exists()
    assert bad[0] == "fail" and "directory" in bad[2]
    assert full[0] == "fail" and "spool_min_free" in full[1]
    assert sorted(os.listdir(tmp_path)) == ["doctor.ini", "file"]


def test_settings_with_a_mistake_are_78(pystrobe, tmp_path):
    (tmp_path / "bad.ini").write_text("[agent]\nrate = never\n")

    assert pystrobe.run("doctor", "-c", tmp_path / "bad.ini").returncode == 78


def test_people_get_lines_with_the_cure(pystrobe):
    done = pystrobe.run("doctor", "--pid", "999999999")

    assert done.returncode == 1
    assert "FAIL  process" in done.stdout and "\033" not in done.stdout
