# SPDX-License-Identifier: Apache-2.0
"""HTTP as servers in the field have it: certificates of every sort, proxies, and secrets that stay secret."""

import ssl

import live
from certificates import context_of, tls  # noqa: F401 (tls is a fixture)
from receiver import Receiver
from test_exporters import BUILD, profile, push  # noqa: F401 (profile is a fixture)


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
