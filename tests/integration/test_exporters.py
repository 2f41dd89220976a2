# SPDX-License-Identifier: Apache-2.0
"""The exporters against a receiver that decodes what it gets, with and without TLS."""

import gzip
import os
import ssl
import subprocess
import uuid

import pytest

import live
from receiver import Receiver, tls_context

BUILD = os.path.abspath(os.environ.get("PYSTROBE_BUILD", os.path.join(live.TREE, "build")))


@pytest.fixture(scope="module")
def profile(tmp_path_factory):
    """A gzip'd pprof that says nothing but is one."""
    path = tmp_path_factory.mktemp("profile") / "empty.pb.gz"
    path.write_bytes(gzip.compress(b"\x32\x00"))  # string_table: [""]
    return path


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for 127.0.0.1 that nobody has signed but itself, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-out", cert, "-keyout", key],
                   check=True, capture_output=True)
    return cert, key


def run_push_file(profile, url, env=None, under=(), **settings):
    """The lines that push_file prints, run after the words `under`."""
    words = ["%s=%s" % item for item in dict(settings, type="pyroscope", url=url).items()]
    done = subprocess.run([*under, os.path.join(BUILD, "tests/tools/push_file"), profile, *words],
                          capture_output=True, text=True, timeout=live.DEADLINE_S, env=dict(os.environ, **(env or {})))
    assert done.stderr == ""
    return done.stdout.splitlines()


def push(profile, url, **options):
    """(outcome, text) of one try."""
    lines = run_push_file(profile, url, **options)
    return lines[0], lines[1]


def test_a_push_is_understood(profile):
    with Receiver(BUILD) as receiver:
        assert push(profile, receiver.url, tenant="team-a") == ("ok", "")
        got = receiver.wait(1)[0]
    assert got.labels == {"__name__": "process_cpu", "service_name": "demo", "tool": "push_file"}
    assert got.headers["x-scope-orgid"] == "team-a"
    assert got.raw == profile.read_bytes()
    assert list(got.profile.string_table) == [""]
    assert uuid.UUID(got.id).version == 4


def test_the_servers_words_are_told(profile):
    with Receiver(BUILD) as receiver:
        receiver.answer((429, {}, b'{"code":"resource_exhausted"}'))
        assert push(profile, receiver.url) == ("retry", 'the server answered 429: {"code":"resource_exhausted"}')
        assert push(profile, receiver.url) == ("ok", "")


def test_what_is_no_pprof_is_refused(tmp_path):
    path = tmp_path / "bad"
    path.write_bytes(b"\x1f\x8b\x08 cut")
    with Receiver(BUILD) as receiver:
        outcome, text = push(path, receiver.url)
    assert outcome == "refused" and "raw_profile is no gzip" in text


def test_a_path_that_is_none_is_told(profile):
    with Receiver(BUILD) as receiver:
        outcome, text = push(profile, receiver.url + "/base")
    assert outcome == "refused" and "404 (is there a Pyroscope at %s/base/push.v1.PusherService/Push?" % receiver.url in text


def test_a_known_certificate_is_taken(profile, certificate):
    with Receiver(BUILD, tls=tls_context(*certificate)) as receiver:
        assert push(profile, receiver.url, ca_file=certificate[0]) == ("ok", "")
        receiver.wait(1)


def test_an_unknown_certificate_is_not_taken(profile, certificate):
    with Receiver(BUILD, tls=tls_context(*certificate)) as receiver:
        outcome, text = push(profile, receiver.url)
        assert receiver.requests == []
    assert outcome == "retry" and "certificate" in text and "ca_file" in text


def test_a_certificate_for_another_host_is_not_taken(profile, certificate):
    with Receiver(BUILD, tls=tls_context(*certificate)) as receiver:
        outcome, text = push(profile, receiver.url.replace("127.0.0.1", "localhost"), ca_file=certificate[0])
        assert receiver.requests == []
    assert outcome == "retry" and "localhost" in text


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tls_before_1_2_is_not_spoken(profile, certificate, tmp_path):
    """Not even where the system's OpenSSL would allow it."""
    lax = tmp_path / "openssl.cnf"
    lax.write_text("openssl_conf = a\n[a]\nssl_conf = b\n[b]\nsystem_default = c\n"
                   "[c]\nMinProtocol = TLSv1\nCipherString = DEFAULT:@SECLEVEL=0\n")
    old = tls_context(*certificate, newest=ssl.TLSVersion.TLSv1_1)
    with Receiver(BUILD, tls=old) as receiver:
        outcome, text = push(profile, receiver.url, env={"OPENSSL_CONF": str(lax)}, ca_file=certificate[0])
        assert receiver.requests == []
    assert outcome == "retry" and "version" in text
