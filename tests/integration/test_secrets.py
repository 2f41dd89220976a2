# SPDX-License-Identifier: Apache-2.0
"""Secrets are where they are needed and nowhere else: canaries in every place that one can be given."""

import base64
import gzip
import json
import os
import re
import shutil
import ssl
import subprocess
import uuid
from http.server import BaseHTTPRequestHandler

import pytest

import live
import test_metrics
from certificates import context_of, tls  # noqa: F401 (tls is a fixture)
from conftest import MACHINES
from loopback import Loopback

INI = """
[agent]
interval = 1s
scan = 200ms
log_level = debug
spool = {dir}/spool
control = {dir}/c.sock
[http]
listen = 127.0.0.1:{port}
[target self]
cmdline = {cmdline}
[exporter kept]
type = store
path = {dir}/store
[exporter good]
type = pyroscope
url = {url}/200
token_file = {dir}/token
header_file.X-File = {dir}/header
[exporter denied]
type = pyroscope
url = {url}/401
user = someone
password_env = PASSWORD
[exporter broken]
type = pyroscope
url = {url}/500
token_credential = token-credential
header_credential.X-Credential = header-credential
[exporter refused]
type = otlp
url = {url}/400
header_env.X-Env = HEADER
[exporter limited]
type = otlp
url = {url}/429
user = someone
password_credential = password-credential
[exporter unsaid]
type = otlp
[exporter proxied]
type = pyroscope
url = http://pyroscope.invalid/403
proxy = {url}
proxy_login_env = PROXY_LOGIN
[exporter secure]
type = pyroscope
url = {secure}/200
ca_file = {tls}/ca.pem
cert_file = {tls}/client.pem
key_file = {dir}/client.key
token_env = TOKEN
"""
IN_FILES = ("token", "header", "token-credential", "header-credential", "password-credential")
IN_ENVIRONMENT = {"PASSWORD": "%s", "HEADER": "%s", "TOKEN": "%s", "PROXY_LOGIN": "someone:%s",
                  "OTEL_EXPORTER_OTLP_HEADERS": "x-plain=1,x-otel=%s"}
BASIC = ("PASSWORD", "PROXY_LOGIN", "password-credential")  # that are sent in base64


class Echo(Loopback):
    """Answers with the status that the path begins with, and repeats all header lines in what it says."""

    def __init__(self, context=None):
        self.seen = []  # the header lines of each request, one text
        super().__init__(self._handler(), context)

    def _handler(echo):  # the handler's own self is the request
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                text = "".join("%s: %s\r\n" % pair for pair in self.headers.items())
                echo.seen.append(text)
                body = ("you sent\r\n" + text).encode() if "/200" not in self.path else b""
                self.send_response(int(re.search(r"/([0-9]{3})\b", self.path)[1]))
                self.send_header("Content-Type", "text/plain")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        return Handler


def dumpable(pid):
    """All bytes of a process that a core file would have."""
    found, span = [], None
    with open("/proc/%d/smaps" % pid) as smaps, open("/proc/%d/mem" % pid, "rb", 0) as memory:
        for line in smaps:
            head = re.match(r"([0-9a-f]+)-([0-9a-f]+) (r.)\S\S .*?(\S*)$", line)
            if head:
                span = (int(head[1], 16), int(head[2], 16)) if not head[4].startswith("[v") else None
            elif span and line.startswith("VmFlags:") and " dd" not in line and " rd" in line:
                try:
                    memory.seek(span[0])
                    found.append(memory.read(span[1] - span[0]))
                except OSError:
                    pass
    return b"".join(found)


def family(pid):
    """The process and what it has started."""
    with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
        return [pid] + [int(child) for child in file.read().split()]


def of_processes(pids):
    """{what: bytes} of what other users, and a core file, would see of them."""
    shown = {}
    for pid in pids:
        for name in ("cmdline", "environ"):
            with open("/proc/%d/%s" % (pid, name), "rb") as file:
                shown["%s of %d" % (name, pid)] = file.read()
        shown["core of %d" % pid] = dumpable(pid)
    return shown


def of_files(*folders):
    """{path: bytes} of all files below, each also unpacked if it is packed."""
    shown = {}
    for folder in folders:
        for where, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(where, name)
                with open(path, "rb") as file:
                    shown[path] = file.read()
                start = shown[path].find(b"\x1f\x8b\x08")
                if start >= 0:
                    shown[path + " unpacked"] = unpacked(shown[path][start:])
    return shown


def unpacked(packed):
    try:
        return gzip.decompress(packed)
    except (OSError, EOFError):
        return b""


def numbers_of(path):
    """The secret numbers of an RSA key as the memory of a process that uses them has them, a piece of each."""
    text = subprocess.run(["openssl", "rsa", "-in", path, "-text", "-noout"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, encoding="ascii", check=True).stdout
    for digits in re.findall(r"^(?:privateExponent|prime\d|exponent\d):\n((?:    .*\n)+)", text, re.M):
        number = bytes.fromhex(re.sub(r"[^0-9a-f]", "", digits))
        yield number[-40:]  # as in the file
        yield number[::-1][:40]  # as in a computation


def of_commands(pystrobe, folder, port, ini):
    shown = {"/metrics": test_metrics.ask(port, "/metrics")[1]}
    for words in (("status",), ("status", "--json"), ("config", "-c", ini), ("spool", "-c", ini, "ls"),
                  ("spool", "-c", ini, "ls", "--json"), ("doctor", "-c", ini), ("bundle", "-c", ini)):
        arguments = words + (("--socket", folder / "c.sock") if words[0] in ("status", "bundle") else ())
        done = pystrobe.run(*arguments)
        shown[" ".join(map(str, words))] = done.stdout + done.stderr
    return {name: text.encode() for name, text in shown.items()}


@pytest.mark.timing  # a sanitizer keeps a copy of the environment
def test_secrets_are_nowhere_but_in_requests(pystrobe, agent, start, tmp_path, monkeypatch, tls):  # noqa: F811
    canaries = {name: "canary-%s-%s" % (name.lower(), uuid.uuid4().hex) for name in IN_FILES + tuple(IN_ENVIRONMENT)}
    for name in IN_FILES:
        (tmp_path / name).write_text(canaries[name] + "\n")
        (tmp_path / name).chmod(0o600)
    key = (tls / "client.key").read_text()
    (tmp_path / "client.key").write_text(key)
    (tmp_path / "client.key").chmod(0o600)
    for name, form in IN_ENVIRONMENT.items():
        monkeypatch.setenv(name, form % canaries[name])
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    context = context_of(tls, "server")
    context.load_verify_locations(tls / "ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    port = test_metrics.free_port()
    with Echo() as echo, Echo(context) as secure:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", echo.url + "/200")
        program = shutil.copy(os.path.join(live.TARGETS, "busy.py"), tmp_path / (uuid.uuid4().hex + ".py"))
        run = agent(INI.format(dir=tmp_path, port=port, url=echo.url, secure=secure.url, tls=tls,
                               cmdline=re.escape(str(program))))
        live.wait_until(lambda: test_metrics.ask(port, "/readyz")[0] == 200, "it is ready: %s" % run.log, 0.1)
        start(MACHINES[-1], str(program))

        def codes():
            found = test_metrics.parse(test_metrics.ask(port, "/metrics")[1]).get("pystrobe_push_responses_total", {})
            return {tuple(re.findall('"([^"]*)"', labels)) for labels in found}

        wanted = {("good", "200"), ("denied", "401"), ("broken", "500"), ("refused", "400"), ("limited", "429"),
                  ("unsaid", "200"), ("proxied", "403"), ("secure", "200")}
        live.wait_until(lambda: wanted <= codes(), "each exporter has its answer", 0.2)
        shown = of_processes(family(run.process.pid))
        shown.update(of_commands(pystrobe, tmp_path, port, tmp_path / "agent0.ini"))
        shown.update(of_files(tmp_path / "spool", tmp_path / "store"))
        sent = "".join(echo.seen + secure.seen)
        run.stop()
    shown["log"] = "".join(run.log).encode()

    searched = {name: [canary.encode()] for name, canary in canaries.items()}
    for name in searched:
        assert canaries[name] in sent or name in BASIC, name
    searched["basic"] = [base64.b64encode(("someone:" + canaries[name]).encode()) for name in BASIC]
    searched["key"] = key.encode().splitlines()[1:-1]
    searched["number"] = list(numbers_of(tls / "client.key"))
    found = ["%s %d is in %s" % (name, number, where) for name, pieces in searched.items()
             for number, piece in enumerate(pieces) for where, content in shown.items() if piece in content]
    assert found == []
    assert b"push.v1" in shown["core of %d" % run.process.pid] and any("/spool/" in where for where in shown)
    bundle = next(text for name, text in shown.items() if name.startswith("bundle"))
    assert bundle.count(b"\n== ") > 10 and b'"targets"' in bundle and b"exporter denied" in bundle
    assert json.loads(shown["status --json"]) and b"answered 401" in shown["log"]
