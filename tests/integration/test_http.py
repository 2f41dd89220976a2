# SPDX-License-Identifier: Apache-2.0
"""HTTP as servers in the field have it: certificates of every sort, proxies, and secrets that stay secret."""

import shutil
import ssl

import pytest

import live
from certificates import context_of, openssl, tls  # noqa: F401 (tls is a fixture)
from doctors import can_run
from receiver import Receiver
from test_exporters import BUILD, certificate, profile, push, run_push_file  # noqa: F401 (two are fixtures)


PYTHON = [python for python in live.load_pythons()[0] if not python["root"]][-1]
SETTINGS = """
[agent]
interval = 1s
scan = 200ms
control = %s/c.sock
[target busy]
cmdline = %s
[exporter far]
type = pyroscope
url = http://pyro.test:%d
"""


def test_a_certificate_of_a_ca_of_ones_own_is_taken(profile, tls):
    with Receiver(BUILD, tls=context_of(tls, "server")) as receiver:
        assert push(profile, receiver.url, ca_file=tls / "ca.pem") == ("ok", "")
        outcome, text = push(profile, receiver.url)
    assert outcome == "retry" and "ca_file" in text


@pytest.fixture
def trusting(tls, tmp_path):
    """Words that run a command where the system trusts the CA `ca`, and no other."""
    folder = tmp_path / "trusted"
    folder.mkdir()
    for name in ("ca.pem", "ca-certificates.crt"):
        shutil.copy(tls / "ca.pem", folder / name)
    openssl("rehash", folder)
    words = ["unshare", "-m", "sh", "-c", 'mount --bind %s /etc/ssl/certs && exec "$@"' % folder, "-"]
    can_run(words)
    return words


def test_a_ca_file_is_all_that_is_trusted(profile, tls, trusting):
    with Receiver(BUILD, tls=context_of(tls, "server")) as receiver:
        if push(profile, receiver.url, under=trusting)[0] != "ok":
            pytest.skip("this libcurl has its CAs elsewhere")
        outcome, text = push(profile, receiver.url, under=trusting, ca_file=tls / "other.pem")
        assert len(receiver.requests) == 1
    assert outcome == "retry" and "ca_file" in text


def test_a_ca_file_is_all_that_is_trusted_for_a_proxy(profile, tls, trusting):
    """The receiver minds a request line with a whole URL: a refusal shows that the proxy was asked."""
    with Receiver(BUILD, tls=context_of(tls, "server")) as receiver:
        asked = {"url": "http://pyroscope.invalid:4040", "under": trusting, "proxy": receiver.url}
        if push(profile, **asked)[0] != "refused":
            pytest.skip("this libcurl has its CAs elsewhere")
        outcome, text = push(profile, **asked, ca_file=tls / "other.pem")
        assert len(receiver.requests) == 1
    assert outcome == "retry" and "ca_file" in text


def test_a_ca_file_that_is_replaced_is_read_again(profile, tls, certificate, tmp_path):
    """The server changes to a certificate that the CA of before has not signed, and the file does so, too."""
    ca_file, context = tmp_path / "ca.pem", context_of(tls, "server")
    context.num_tickets = 0  # else the second connection goes on with the session of the first
    shutil.copy(tls / "ca.pem", ca_file)

    def rotate(_):
        context.load_cert_chain(*certificate)
        shutil.copy(certificate[0], ca_file)

    with Receiver(BUILD, tls=context, on_push=rotate) as receiver:
        receiver.answer((200, {"Connection": "close"}, b""))
        lines = run_push_file(profile, receiver.url, ca_file=ca_file, times=2)
    assert [line.split()[0] for line in lines] == ["ok", "ok"], lines


@pytest.fixture
def moving(tmp_path):
    """(words, move): words that run a command for which pyro.test is 127.0.0.1, until move() says 127.0.0.2."""
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.1 pyro.test\n")
    words = ["unshare", "-m", "sh", "-c", 'mount --bind %s /etc/hosts && exec "$@"' % hosts, "-"]
    can_run(words)
    return words, lambda: hosts.write_text("127.0.0.2 pyro.test\n")


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_server_that_fails_is_looked_up_again(profile, moving, status):
    words, move = moving
    with Receiver(BUILD) as old, Receiver(BUILD, host="127.0.0.2", port=old.port) as new:
        old.on_request = move
        old.answer(status, status)
        lines = run_push_file(profile, "http://pyro.test:%d" % old.port, under=words, times=2)
        assert [line.split()[0] for line in lines] == ["retry", "ok"], lines
        assert len(old.requests) == len(new.requests) == 1


def test_a_reload_looks_the_server_up_again(pystrobe, agent, start, moving, tmp_path):
    words, move = moving
    script = tmp_path / "busy.py"
    script.write_text("print('{}', flush=True)\nwhile True: sum(range(10000))\n")
    target = start(PYTHON, str(script))
    target.read_json()
    with Receiver(BUILD) as old, Receiver(BUILD, host="127.0.0.2", port=old.port) as new:
        agent(SETTINGS % (tmp_path, script, old.port), under=words)
        old.wait(2)
        move()
        assert pystrobe.run("reload", "--socket", tmp_path / "c.sock").returncode == 0
        new.wait(2)


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
        answers = []

        def is_told():  # the server's alert and the end of its connection run a race, which the alert wins as a rule
            answers.append(push(profile, receiver.url, ca_file=tls / "ca.pem"))
            return "cert_file" in answers[-1][1]

        live.wait_until(is_told, "a certificate is asked for")
        assert {outcome for outcome, _ in answers} == {"retry"} and receiver.requests == []
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
