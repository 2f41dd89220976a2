# SPDX-License-Identifier: Apache-2.0
"""HTTP as servers in the field have it: certificates of every sort, proxies, and secrets that stay secret."""

import os
import re
import ssl
import subprocess
import time

import pytest

import live
from conftest import MACHINES
from receiver import Receiver, tls_context
from test_exporters import BUILD, profile, push  # noqa: F401 (profile is a fixture)


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, capture_output=True)


@pytest.fixture(scope="module")
def tls(tmp_path_factory):
    """A folder with a CA, and certificates that it has signed: server, client, expired."""
    folder = tmp_path_factory.mktemp("ca")
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=our CA",
            "-addext", "basicConstraints=critical,CA:TRUE", "-keyout", folder / "ca.key", "-out", folder / "ca.pem")
    (folder / "san").write_text("subjectAltName=IP:127.0.0.1\n")
    (folder / "index").write_text("")
    (folder / "ca.cnf").write_text("[ca]\ndefault_ca=us\n[us]\ndatabase=%s\nnew_certs_dir=%s\nrand_serial=yes\n"
                                   "default_md=sha256\npolicy=any\nunique_subject=no\n[any]\ncommonName=supplied\n"
                                   % (folder / "index", folder))
    for name, start, end in (("server", "20200101000000Z", "20900101000000Z"),
                             ("client", "20200101000000Z", "20900101000000Z"),
                             ("expired", "20200101000000Z", "20210101000000Z")):
        openssl("req", "-new", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=" + name,
                "-keyout", folder / (name + ".key"), "-out", folder / (name + ".csr"))
        openssl("ca", "-batch", "-config", folder / "ca.cnf", "-cert", folder / "ca.pem", "-keyfile", folder / "ca.key",
                "-startdate", start, "-enddate", end, "-extfile", folder / "san",
                "-in", folder / (name + ".csr"), "-out", folder / (name + ".pem"))
    return folder


def context_of(tls, name):
    return tls_context(tls / (name + ".pem"), tls / (name + ".key"))


def test_a_certificate_of_a_ca_of_ones_own_is_taken(profile, tls):
    with Receiver(BUILD, tls=context_of(tls, "server")) as receiver:
        assert push(profile, receiver.url, ca_file=tls / "ca.pem") == ("ok", "")
        outcome, text = push(profile, receiver.url)
    assert outcome == "retry" and "ca_file" in text


def test_an_expired_certificate_is_called_so(profile, tls):
    with Receiver(BUILD, tls=context_of(tls, "expired")) as receiver:
        outcome, text = push(profile, receiver.url, ca_file=tls / "ca.pem")
        assert receiver.requests == []
    assert outcome == "retry" and "expired" in text and "new certificate" in text


def test_a_wrong_host_is_called_so(profile, tls):
    with Receiver(BUILD, tls=context_of(tls, "server")) as receiver:
        outcome, text = push(profile, receiver.url.replace("127.0.0.1", "localhost"), ca_file=tls / "ca.pem")
    assert outcome == "retry" and "localhost" in text and "into url" in text


def test_a_client_certificate_is_shown_where_it_is_wanted(profile, tls):
    context = context_of(tls, "server")
    context.load_verify_locations(tls / "ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    with Receiver(BUILD, tls=context) as receiver:
        # The server's alert and the end of its connection run a race, which the alert wins as a rule.
        answers = [push(profile, receiver.url, ca_file=tls / "ca.pem") for _ in range(10)]
        assert {outcome for outcome, _ in answers} == {"retry"} and receiver.requests == []
        assert any("cert_file" in text for _, text in answers), answers
        assert push(profile, receiver.url, ca_file=tls / "ca.pem", cert_file=tls / "client.pem",
                    key_file=tls / "client.key") == ("ok", "")


def test_a_host_that_is_not_there_is_called_so(profile):
    outcome, text = push(profile, "http://no-such-host.invalid:4040")
    assert outcome == "retry" and "DNS" in text


def test_the_environment_names_a_proxy_and_whom_to_spare(profile):
    """The receiver minds a request line with a whole URL: that it does shows who was asked."""
    with Receiver(BUILD) as receiver:
        env = {"http_proxy": receiver.url, "no_proxy": ""}
        outcome, text = push(profile, "http://pyroscope.invalid:4040", env=env)
        assert outcome == "refused" and "http://pyroscope.invalid:4040/push" in text
        assert push(profile, receiver.url, env={"http_proxy": "http://127.0.0.1:1", "no_proxy": "127.0.0.1"})[0] == "ok"
        assert push(profile, receiver.url, env={"http_proxy": "http://127.0.0.1:1"}, proxy="none")[0] == "ok"


def test_no_secret_is_followed_to_another_server(profile, tmp_path):
    token = tmp_path / "token"
    token.write_text("canary-of-redirects\n")
    token.chmod(0o600)
    with Receiver(BUILD) as other, Receiver(BUILD) as receiver:
        receiver.answer((307, {"Location": other.url + "/push.v1.PusherService/Push"}, b""))
        outcome, text = push(profile, receiver.url, token_file=token)
        assert other.requests == []
    assert outcome == "refused" and "307" in text and "canary" not in text


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


@pytest.mark.timing  # a sanitizer keeps a copy of the environment
def test_secrets_are_in_no_log_no_listing_and_no_core(agent, tmp_path, monkeypatch):
    """Five canaries, each in a place of its own, and an agent that is told no."""
    unique = str(tmp_path).replace("/", "_")
    canaries = {name: "canary-%s-%d" % (name, os.getpid()) for name in ("token", "header", "env", "credential", "proxy")}
    for name in ("token", "header", "credential"):
        (tmp_path / name).write_text(canaries[name] + "\n")
        (tmp_path / name).chmod(0o600)
    monkeypatch.setenv("CANARY", canaries["env"])
    monkeypatch.setenv("PROXY_LOGIN", "user:" + canaries["proxy"])
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    with Receiver(BUILD) as receiver:
        receiver.answer(*[401] * 100)
        run = agent("[agent]\ninterval = 1s\nlog_level = debug\n[target self]\ncmdline = %s\n[exporter out]\ntype = pyroscope\n"
                    "url = %s\ntoken_file = %s\nheader_file.X-A = %s\nheader_env.X-B = CANARY\n"
                    "header_credential.X-C = credential\nproxy_login_env = PROXY_LOGIN\n"
                    % (unique, receiver.url, tmp_path / "token", tmp_path / "header"))
        subject = subprocess.Popen([MACHINES[-1]["exe"], "-c", "while True: pass", unique], env=live.clean_environment())
        try:
            deadline = time.monotonic() + live.DEADLINE_S
            while len(receiver.requests) < 2 and time.monotonic() < deadline:
                time.sleep(0.1)
            pid = run.process.pid
            _, headers = receiver.requests[-1]
            shown = b"".join(open("/proc/%d/%s" % (pid, name), "rb").read() for name in ("cmdline", "environ"))
            core = dumpable(pid)
        finally:
            subject.kill()
            subject.wait()
        run.stop()
    assert headers["authorization"] == "Bearer " + canaries["token"]
    assert [headers["x-a"], headers["x-b"], headers["x-c"]] == [canaries[n] for n in ("header", "env", "credential")]
    assert b"push.v1.PusherService" in core  # what was searched is the agent's memory
    for name, canary in canaries.items():
        at = core.find(canary.encode())
        assert at < 0, (name, core[max(0, at - 200):at + 100])
        assert canary.encode() not in shown, name
        assert canary not in "".join(run.log), name
