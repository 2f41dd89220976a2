# SPDX-License-Identifier: Apache-2.0
"""pystrobe doctor of where profiles go: folders and servers, each with a mistake of its own, its name and its cure."""

import http.server
import os
import shutil
import socket
import socketserver
import subprocess
import threading
import time
from email.utils import formatdate

import pytest

import live
import servers

from certificates import context_of, openssl, tls  # noqa: F401: the last is a fixture
from doctors import NOBODY, can_run, doctor, needs_root
from loopback import Loopback
from receiver import Receiver
from test_otlp import BUILD, OtlpReceiver, otlp_pb2  # noqa: F401: the last is a fixture

@pytest.fixture
def check(pystrobe, tmp_path):
    """check(text, status, **variables) examines an ini of one exporter x, or of a spool; gives what was found of it."""
    def run(text, status=1, **variables):
        ini = tmp_path / "doctor.ini"
        ini.write_text(text)
        found = doctor(pystrobe, "-c", ini, status=status, env=dict(os.environ, **variables))
        return found.get("exporter x") or found["spool"]

    return run


def exporter(url, more="", kind="pyroscope"):
    return "[exporter x]\ntype = %s\nurl = %s\n%s" % (kind, url, more)


class Handler(http.server.BaseHTTPRequestHandler):
    status, skew_s, token, silent, type, words, path_only = 200, 0, None, False, None, b"", None

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.silent:
            time.sleep(4)
            return
        known = not self.token or self.headers.get("Authorization") == "Bearer " + self.token
        here = not self.path_only or self.path == self.path_only
        self.send_response(self.status if known and here else 401 if here else 404)
        if self.type:
            self.send_header("Content-Type", self.type)
        self.send_header("Content-Length", str(len(self.words)))
        self.end_headers()
        self.wfile.write(self.words)

    def date_time_string(self, timestamp=None):
        return formatdate(time.time() + self.skew_s, usegmt=True)

    def log_message(self, *_):
        pass


def serving(context=None, **answers):
    """A server on the loopback."""
    return Loopback(type("Answers", (Handler,), answers), context)


OTLP_PATH = "/v1development/profiles"


@pytest.mark.parametrize("kind, more, path", [("pyroscope", "", None), ("pyroscope", "legacy = ingest\n", None),
                                              ("otlp", "", OTLP_PATH), ("otlp", "limits = pyroscope\n", None)])
def test_a_server_that_answers_is_fine(check, kind, more, path):
    with serving(path_only=path) as server:
        assert check(exporter(server.url, more, kind=kind), status=0)[0] == "ok"


def test_a_pyroscope_behind_otlp_is_named(check):
    with serving() as server:
        result, text, cure = check(exporter(server.url, kind="otlp"), status=0)
    assert result == "note" and "is a Pyroscope" in text and "limits = pyroscope" in cure


def test_a_proxy_that_has_an_upper_case_variable_is_asked(check):
    """libcurl itself reads http_proxy alone, as a client of a CGI program can set HTTP_PROXY."""
    url = exporter("http://pyroscope.invalid:4040")
    with serving() as proxy, serving(status=503) as other:
        assert check(url, status=0, HTTP_PROXY=proxy.url)[0] == "ok"
        assert check(url, status=0, HTTP_PROXY=other.url, http_proxy=proxy.url)[0] == "ok"
        assert check(exporter(proxy.url), status=0, HTTP_PROXY=other.url, NO_PROXY="127.0.0.1")[0] == "ok"
        assert check(url + "proxy = %s\n" % proxy.url, status=0, HTTP_PROXY=other.url)[0] == "ok"
        assert check(url, HTTP_PROXY=proxy.url, REQUEST_METHOD="GET")[1].startswith("name:")
        assert check(url.replace("http:", "https:"), HTTP_PROXY=proxy.url)[1].startswith("name:")


def test_the_cas_that_variables_name_are_known(check, tls, tmp_path):
    shutil.copy(tls / "ca.pem", tmp_path / "ca.pem")
    openssl("rehash", tmp_path)
    with serving(context_of(tls, "server")) as server:
        assert check(exporter(server.url))[1].startswith("TLS:")
        assert check(exporter(server.url), status=0, SSL_CERT_FILE=str(tls / "ca.pem"))[0] == "ok"
        assert check(exporter(server.url), status=0, SSL_CERT_DIR=str(tmp_path))[0] == "ok"
        pinned = exporter(server.url, "ca_file = %s\n" % (tls / "other.pem"))
        for name, value in (("SSL_CERT_FILE", tls / "ca.pem"), ("SSL_CERT_DIR", tmp_path)):
            assert check(pinned, **{name: str(value)})[1].startswith("TLS:")


def test_a_url_may_have_an_address_with_a_zone(check):
    with Loopback(Handler, host="::1") as server:
        assert check(exporter(server.url.replace("::1", "::1%25lo")), status=0)[0] == "ok"


@pytest.mark.parametrize("answers, told, cure_told", [
    ({"status": 401}, "login", "token_file"),
    ({"status": 403}, "login", "token_file"),
    ({"status": 407}, "proxy refuses", "proxy_login_file"),
    ({"silent": True}, "answer:", "timeout"),
    ({"status": 404}, "not a server of this type: the server answered 404 (is there a Pyroscope at http:", "path of url"),
    ({"status": 400, "words": b"too many labels"}, "refuses an empty profile: the server answered 400: too many labels",
     "server says"),
    ({"type": "text/html", "words": b"<html>Log in</html>"}, "answered 200 with text/html (is there a Pyroscope at http:",
     "login page"),
    ({"skew_s": 4000}, "behind the server's", "timedatectl"),
    ({"skew_s": -4000}, "ahead of the server's", "timedatectl"),
])
def test_what_a_server_minds_is_told(check, answers, told, cure_told):
    with serving(**answers) as server:
        result, text, cure = check(exporter(server.url, "timeout = 2s\n"))

    assert result == "fail" and told in text and cure_told in cure and "\n" not in cure


def test_a_pyroscope_is_asked_as_the_agent_pushes(check):
    with Receiver(BUILD) as receiver:
        check(exporter(receiver.url, "tenant = team-a\n"), status=0)
        push, = receiver.pushes
        check(exporter(receiver.url + "/base"))

    assert receiver.requests[0][0] == 200 and push.headers["x-scope-orgid"] == "team-a"
    assert not push.profile.sample and push.profile.sample_type


def test_an_otlp_receiver_is_asked_as_the_agent_sends(check, otlp_pb2):  # noqa: F811
    with OtlpReceiver() as receiver:
        for compression in ("gzip", "none"):
            check(exporter(receiver.url, "compression = %s\n" % compression, kind="otlp"), status=0)

    # Others ask whether it is a Pyroscope.
    asked = [request for request in receiver.requests if request[0] == OTLP_PATH]
    for (_, headers, body), packed in zip(asked, ("gzip", None), strict=True):
        request = otlp_pb2.ExportProfilesServiceRequest.FromString(body)
        assert headers.get("Content-Encoding") == packed
        assert len(request.resource_profiles) == 1 and not request.resource_profiles[0].scope_profiles
        assert [len(getattr(request.dictionary, field.name)) for field in request.dictionary.DESCRIPTOR.fields] == [1] * 7


@pytest.mark.parametrize("kind, name, server", [("otlp", "collector", servers.Collector),
                                                ("otlp", "pushreceiver", servers.PushReceiver),
                                                ("pyroscope", "pushreceiver", servers.PushReceiver)])
def test_real_servers_take_what_they_are_asked_with(pystrobe, tmp_path, kind, name, server):
    if servers.why_missing(name):
        pytest.skip(servers.why_missing(name))
    ini = tmp_path / "doctor.ini"
    with server(tmp_path / name) as real:
        ini.write_text(exporter(real.url, kind=kind))
        done = pystrobe.run("doctor", "-c", ini)

    assert done.returncode == 0 and "login and path are fine (200)" in done.stdout


def test_the_token_that_a_server_wants_is_the_cure(check, tmp_path):
    (tmp_path / "token").write_text("right\n")
    (tmp_path / "token").chmod(0o600)

    with serving(token="right") as server:
        before = check(exporter(server.url))
        after = check(exporter(server.url, "token_file = %s\n" % (tmp_path / "token")), status=0)

    assert before[0] == "fail" and "token_file" in before[2]
    assert after[0] == "ok"


def test_a_secret_that_every_user_may_read_is_told(check, tmp_path):
    (tmp_path / "token").write_text("right\n")
    (tmp_path / "token").chmod(0o644)

    with serving(token="right") as server:
        result, text, _ = check(exporter(server.url, "token_file = %s\n" % (tmp_path / "token")))

    assert result == "fail" and "may be read by everybody: chmod o-r" in text


def test_a_file_that_an_exporter_names_and_is_not_there_is_told(check, tmp_path):
    result, text, cure = check(exporter("http://127.0.0.1:1", "token_file = /nowhere/token\n"))

    assert result == "fail" and "/nowhere/token" in text and cure


def test_a_server_that_takes_nothing_now_is_no_mistake(check):
    with serving(status=503) as server:
        assert check(exporter(server.url), status=0)[0] == "note"


def test_a_closed_port_is_told(check):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        result, text, cure = check(exporter("http://127.0.0.1:%d" % taken.getsockname()[1]))

    assert result == "fail" and text.startswith("connection:") and "port" in cure


def test_a_name_that_is_not_found_is_told(check):
    result, text, cure = check(exporter("http://nowhere.invalid:4040", "connect_timeout = 20s\n"))

    assert result == "fail" and text.startswith("name:") and "resolv.conf" in cure


def test_a_port_that_does_not_answer_is_told(check):
    with socket.socket() as full, socket.socket() as first:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        first.connect(full.getsockname())  # all that it has room for
        result, text, cure = check(exporter("http://127.0.0.1:%d" % full.getsockname()[1], "connect_timeout = 1s\n"))

    assert result == "fail" and text.startswith("connection:") and "firewall" in cure


@pytest.mark.parametrize("name, trusted", [("server", "other"), ("expired", "ca")])
def test_a_certificate_that_is_not_to_be_trusted_is_told(check, tls, name, trusted):  # noqa: F811
    with serving(context_of(tls, name)) as server:
        result, text, cure = check(exporter(server.url, "ca_file = %s\n" % (tls / (trusted + ".pem"))))

    assert result == "fail" and text.startswith("TLS:") and "ca_file" in cure and "clock" in cure


def test_the_certificate_of_another_host_is_told(check, tls):  # noqa: F811
    with serving(context_of(tls, "server")) as server:
        result, text, cure = check(exporter(server.url.replace("127.0.0.1", "localhost"),
                                            "ca_file = %s\n" % (tls / "ca.pem")))

    assert result == "fail" and text.startswith("TLS:") and "for that name" in cure


def test_the_authority_of_the_certificate_is_the_cure(check, tls):  # noqa: F811
    with serving(context_of(tls, "server")) as server:
        assert check(exporter(server.url, "ca_file = %s\n" % (tls / "ca.pem")), status=0)[0] == "ok"


def test_a_server_without_tls_where_it_is_asked_for_is_told(check):
    with serving() as server:
        result, text, cure = check(exporter(server.url.replace("http:", "https:")))

    assert result == "fail" and text.startswith("TLS:") and cure


def test_what_is_wrong_in_a_section_is_told_without_its_name_again(check):
    result, text, _ = check(exporter("https://127.0.0.1:1", "ca_file = /nowhere/ca.pem\n"))

    assert result == "fail" and text.startswith("ca_file: ")


# Folders

def test_a_spool_is_written(check, tmp_path):
    (tmp_path / "file").write_text("")

    good = check("[agent]\nspool = %s\n" % (tmp_path / "new" / "spool"), status=0)
    bad = check("[agent]\nspool = %s\n" % (tmp_path / "file" / "spool"))
    full = check("[agent]\nspool = %s\nspool_min_free = 1TiB\n" % tmp_path)

    assert good[0] == "ok" and not (tmp_path / "new").exists()
    assert bad[0] == "fail" and "file is a file; name another path" in bad[1]
    assert full[0] == "fail" and "spool_min_free" in full[1]
    assert sorted(os.listdir(tmp_path)) == ["doctor.ini", "file"]


def test_settings_with_a_mistake_are_78(pystrobe, tmp_path):
    (tmp_path / "bad.ini").write_text("[agent]\nrate = never\n")

    assert pystrobe.run("doctor", "-c", tmp_path / "bad.ini").returncode == 78


@needs_root
def test_a_spool_of_somebody_else_is_told_with_the_command_that_gives_it_to_us(open_pystrobe, open_folder):
    spool, ini = open_folder / "spool", open_folder / "doctor.ini"
    spool.mkdir(mode=0o700)
    ini.write_text("[agent]\nspool = %s\n" % spool)

    before = doctor(open_pystrobe, "-c", ini, words=NOBODY)["spool"]
    command = before[2].split(", or ")[0].split()
    subprocess.run([command[0], command[1].rstrip(":"), *command[2:]], check=True)
    after = doctor(open_pystrobe, "-c", ini, words=NOBODY, status=0)["spool"]

    assert before[0] == "fail" and "Permission denied" in before[1] and command[0] == "chown"
    assert after[0] == "ok"


@needs_root
@pytest.mark.parametrize("options, told, cure_told", [("ro,size=1m", "read-only; name another path", "correct"),
                                                      ("size=4k", "No space", "make room")])
def test_a_disk_that_takes_nothing_is_told(pystrobe, tmp_path, options, told, cure_told):
    disk, ini = tmp_path / "disk", tmp_path / "doctor.ini"
    disk.mkdir()
    ini.write_text("[agent]\nspool = %s\n[exporter x]\ntype = store\npath = %s\n" % (disk, disk))
    fill = "" if "ro" in options else "&& head -c 4096 /dev/zero >%s/full" % disk
    words = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o %s none %s %s && exec "$@"' % (options, disk, fill), "-"]
    can_run(words)

    found = doctor(pystrobe, "-c", ini, words=words)

    for check in ("spool", "exporter x"):
        assert found[check][0] == "fail" and told in found[check][1] and cure_told in found[check][2]


# Settings

def test_without_an_ini_file_what_variables_say_is_tried(pystrobe):
    with serving(path_only=OTLP_PATH) as server:
        found = doctor(pystrobe, status=0, env=dict(os.environ, OTEL_EXPORTER_OTLP_ENDPOINT=server.url))
    with serving() as server:
        named = doctor(pystrobe, status=0, env=dict(os.environ, PYSTROBE_EXPORTER_X_TYPE="pyroscope",
                                                    PYSTROBE_EXPORTER_X_URL=server.url))

    assert found["exporter otel"][0] == "ok" and named["exporter x"][0] == "ok"
    assert found["settings"][0] == "note" or os.path.exists("/etc/pystrobe/pystrobe.ini")


@needs_root
def test_without_an_option_the_usual_ini_file_is_tried(pystrobe, tmp_path):
    (tmp_path / "pystrobe").mkdir()
    (tmp_path / "pystrobe" / "pystrobe.ini").write_text("[agent]\nspool = /dev/null/spool\n")
    words = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /etc && cp -r %s/pystrobe /etc && exec "$@"' % tmp_path, "-"]
    can_run(words)

    found = doctor(pystrobe, words=words)

    assert "/etc/pystrobe/pystrobe.ini" in found["settings"][1] and found["spool"][0] == "fail"


# The agent that runs

class SlowAgent(socketserver.UnixStreamServer):
    """An agent whose exporter x falls behind, as state_exporters tells it; y keeps up."""

    class RequestHandlerClass(socketserver.StreamRequestHandler):
        def handle(self):
            assert self.rfile.readline() == b"exporters\n"
            self.wfile.write(b"ok\nfalls behind\tx\t9.0 profiles/s come\nkeeps up\ty\t1.0 profiles/s come\nno line\n")

    def __init__(self, path):
        super().__init__(str(path), self.RequestHandlerClass)
        self.thread = threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def __exit__(self, *_):
        self.shutdown()
        self.thread.join()
        self.server_close()


def control_ini(folder):
    ini = folder / "doctor.ini"
    ini.write_text("[agent]\ncontrol = %s/c.sock\n[exporter x]\ntype = store\npath = %s/store\n" % (folder, folder))
    return ini


def test_an_exporter_that_falls_behind_is_told_with_its_cure(pystrobe, tmp_path):
    with SlowAgent(tmp_path / "c.sock"):
        found = doctor(pystrobe, "-c", control_ini(tmp_path), status=0)

    assert found["exporter x"][:2] == ("note", "falls behind: 9.0 profiles/s come")
    assert "max_in_flight" in found["exporter x"][2]
    assert found["exporter y"] == ("ok", "keeps up: 1.0 profiles/s come", "")
    assert "agent" not in found


def test_an_exporter_of_a_running_agent_that_keeps_up_is_fine(pystrobe, agent, tmp_path):
    ini = control_ini(tmp_path)
    run = agent(ini.read_text())
    live.wait_until((tmp_path / "c.sock").exists, "the socket", 0.1)

    def found():
        checks = doctor(pystrobe, "-c", ini, status=0)
        return checks if "agent" not in checks else None

    result, text, _ = live.wait_until(found, "an answer", 0.2)["exporter x"]
    run.stop()

    assert result == "ok" and text.startswith("keeps up: 0.0 profiles/s come") and "0 wait (0.0MiB)" in text


@needs_root
def test_an_agent_that_may_not_be_asked_is_told_and_no_mistake(open_pystrobe, open_folder):
    ini = control_ini(open_folder)
    ini.chmod(0o644)
    (open_folder / "store").mkdir(mode=0o777)
    (open_folder / "store").chmod(0o777)
    with SlowAgent(open_folder / "c.sock"):
        (open_folder / "c.sock").chmod(0o600)
        result, text, cure = doctor(open_pystrobe, "-c", ini, words=NOBODY, status=0)["agent"]

    assert result == "note" and "Permission denied" in text and "as root or" in cure


def test_without_an_agent_that_is_told_and_no_mistake(pystrobe, tmp_path):
    result, text, cure = doctor(pystrobe, "-c", control_ini(tmp_path), status=0)["agent"]

    assert result == "note" and "no agent listens at %s/c.sock" % tmp_path in text and "while it runs" in cure
