# SPDX-License-Identifier: Apache-2.0
"""OTLP over gRPC, against grpcio's server and a Collector's: what they take, and what their answers come to."""

import concurrent.futures
import gzip
import os
import subprocess
import threading

import grpc
import pytest

import live
import servers
from certificates import tls  # noqa: F401 (a fixture)
from conftest import MACHINES
from test_backends import assert_as_otlp, needs, run  # noqa: F401 (run is a fixture)
from test_exporters import BUILD
from test_otlp import OtlpReceiver, attributes, check, otlp_pb2, run_exec  # noqa: F401 (otlp_pb2 is a fixture)

METHOD = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
EMPTY = b"\x0a\x00\x12\x0e\x0a\x00\x12\x00\x1a\x00\x22\x00\x2a\x00\x32\x00\x3a\x00"
TAKEN = b"\x0a\x00"


class GrpcReceiver(grpc.GenericRpcHandler):
    """Takes requests and keeps them: (method, metadata, message). answer(number, context) gives the answers.

    `known`: whether it has the method at all; `credentials`: those of TLS.
    """

    def __init__(self, answer=lambda number, context: TAKEN, known=True, credentials=None):
        self.requests, self.answer, self.known, self.lock = [], answer, known, threading.Lock()
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(4), handlers=[self])
        if credentials:
            self.url = "https://127.0.0.1:%d" % self.server.add_secure_port("127.0.0.1:0", credentials)
        else:
            self.url = "http://127.0.0.1:%d" % self.server.add_insecure_port("127.0.0.1:0")

    def service(self, details):
        def take(message, context):
            with self.lock:
                self.requests.append((details.method, dict(details.invocation_metadata), message))
                number = len(self.requests)
            return self.answer(number, context)

        return grpc.unary_unary_rpc_method_handler(take) if self.known else None

    def __enter__(self):
        self.server.start()
        return self

    def __exit__(self, *_):
        self.server.stop(None).wait()


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    """A gzip'd request without a profile."""
    path = tmp_path_factory.mktemp("request") / "empty.gz"
    path.write_bytes(gzip.compress(EMPTY))
    return path


def push(path, url, times=1, **settings):
    """[(outcome, whether a secret is waited for, pause in ms, text)] of each try."""
    words = ["%s=%s" % item for item in dict({"protocol": "grpc"}, type="otlp", url=url, times=times, **settings).items()]
    done = subprocess.run([os.path.join(BUILD, "tests/tools/push_file"), path, *words], capture_output=True, text=True,
                          timeout=live.DEADLINE_S)
    assert done.stderr == ""
    tries = [line.split(" ", 4) for line in done.stdout.splitlines()[:times]]
    return [(outcome, denied == "1", int(pause), text) for outcome, denied, pause, _, text in tries]


@pytest.mark.parametrize("compression", ["gzip", "none"])
def test_a_request_is_understood(empty, compression):
    with GrpcReceiver() as receiver:
        assert push(empty, receiver.url, times=3, compression=compression, tenant="team-a") == [("ok", False, 0, "")] * 3
    assert [(method, message) for method, _, message in receiver.requests] == [(METHOD, EMPTY)] * 3
    metadata = receiver.requests[0][1]
    assert metadata["x-scope-orgid"] == "team-a" and "pystrobe" in metadata["user-agent"]


# What comes of each status.
STATUSES = {
    "CANCELLED": "retry", "UNKNOWN": "retry", "INVALID_ARGUMENT": "refused", "DEADLINE_EXCEEDED": "retry",
    "NOT_FOUND": "refused", "ALREADY_EXISTS": "refused", "PERMISSION_DENIED": "retry", "RESOURCE_EXHAUSTED": "refused",
    "FAILED_PRECONDITION": "refused", "ABORTED": "retry", "OUT_OF_RANGE": "retry", "UNIMPLEMENTED": "refused",
    "INTERNAL": "retry", "UNAVAILABLE": "retry", "DATA_LOSS": "retry", "UNAUTHENTICATED": "retry"}
DENIED = ("PERMISSION_DENIED", "UNAUTHENTICATED")


def test_each_status_is_what_the_specification_says(empty):
    names = list(STATUSES)

    def answer(number, context):
        context.abort(getattr(grpc.StatusCode, names[number - 1]), "größe 100% of " + names[number - 1])

    with GrpcReceiver(answer) as receiver:
        tries = push(empty, receiver.url, times=len(names))
    assert [(outcome, denied) for outcome, denied, _, _ in tries] == \
        [(outcome, name in DENIED) for name, outcome in STATUSES.items()]
    for name, (_, denied, _, text) in zip(names, tries):
        assert text.startswith("the server answered %s" % name) and text.endswith(": größe 100% of " + name)
        assert ("look at user" in text) == denied
        assert ("is there an OTLP receiver of profiles at %s%s?" % (receiver.url, METHOD) in text) == \
            (name == "UNIMPLEMENTED")


def retry_info(seconds):
    """google.rpc.Status with a RetryInfo."""
    def field(number, body):
        return bytes([number << 3 | 2, len(body)]) + body

    info = field(1, bytes([8, seconds]))
    return bytes([8, 8]) + field(3, field(1, b"type.googleapis.com/google.rpc.RetryInfo") + field(2, info))


def test_the_pause_that_is_asked_for_is_kept(empty):
    def answer(number, context):
        context.set_trailing_metadata((("grpc-status-details-bin", retry_info(7)),))
        context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED if number == 1 else grpc.StatusCode.UNAVAILABLE, "later")

    with GrpcReceiver(answer) as receiver:
        assert push(empty, receiver.url, times=2) == [
            ("retry", False, 7000, "the server answered RESOURCE_EXHAUSTED: later"),
            ("retry", False, 7000, "the server answered UNAVAILABLE: later")]


def test_a_service_that_is_not_there_is_named(empty):
    """Such an answer may come before the request is sent: to libcurl 7.88 that is no answer as often as not."""
    texts = []

    def is_refused():
        (outcome, _, _, text), = push(empty, receiver.url)
        texts.append(text)
        return outcome == "refused"

    with GrpcReceiver(known=False) as receiver:
        live.wait_until(is_refused, "a refusal")
    assert "UNIMPLEMENTED (is there an OTLP receiver of profiles at %s%s?)" % (receiver.url, METHOD) in texts[-1]


def test_an_answer_that_comes_too_late_is_tried_again(empty):
    over = threading.Event()

    def answer(number, context):
        if number == 1:
            assert context.time_remaining() < 10  # the server is told how long it may take
            over.wait()
        return TAKEN

    with GrpcReceiver(answer) as receiver:
        late, good = push(empty, receiver.url, times=2, timeout_ms=500)
        over.set()
    assert late[0] == "retry"  # whether libcurl gives up first, or the server
    assert good[0] == "ok"


def test_tls_is_as_over_http(empty, tls):  # noqa: F811
    def read(name):
        return (tls / name).read_bytes()

    credentials = grpc.ssl_server_credentials([(read("server.key"), read("server.pem"))], read("ca.pem"), True)
    with GrpcReceiver(credentials=credentials) as receiver:
        good = push(empty, receiver.url, ca_file=tls / "ca.pem", cert_file=tls / "client.pem", key_file=tls / "client.key")
        unknown = push(empty, receiver.url, ca_file=tls / "other.pem")
    assert good == [("ok", False, 0, "")]
    assert unknown[0][0] == "retry" and "certificate" in unknown[0][3]


def test_a_token_that_is_refused_is_read_again(empty, tmp_path):
    token = tmp_path / "token"
    token.write_text("the-old%word\n")
    token.chmod(0o600)

    def answer(number, context):
        given = dict(context.invocation_metadata())["authorization"]
        if given != "Bearer the-new-word":
            if number == 2:  # the second try
                token.write_text("the-new-word\n")
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "who is %s?" % given)
        return TAKEN

    with GrpcReceiver(answer) as receiver:
        first, second = push(empty, receiver.url, times=2, token_file=token)
    assert first[:2] == ("retry", True) and "the-old" not in first[3] and "who is Bearer ****" in first[3]
    assert second[0] == "ok" and len(receiver.requests) == 3


@pytest.mark.parametrize("protocol,cure", [("grpc", "http/protobuf"), ("http/protobuf", "grpc")])
def test_the_other_protocols_port_names_the_cure(empty, protocol, cure):
    with GrpcReceiver() as speaks_grpc, OtlpReceiver() as speaks_http:
        (outcome, _, _, text), = push(empty, (speaks_http if protocol == "grpc" else speaks_grpc).url, protocol=protocol)
    assert outcome == "retry" and "needs protocol = %s)" % cure in text
    assert speaks_grpc.requests == []


def test_exec_sends_where_the_environment_says(tmp_path, otlp_pb2):  # noqa: F811
    with GrpcReceiver() as receiver:
        run_exec(tmp_path, [], {
            "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url.replace("http://", ""), "OTEL_EXPORTER_OTLP_INSECURE": "true",
            "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%20b",
            "OTEL_SERVICE_NAME": "named"})
    assert receiver.requests and {method for method, _, _ in receiver.requests} == {METHOD}
    assert receiver.requests[0][1]["x-key"] == "a b"
    check(tmp_path, receiver.requests)
    request = otlp_pb2.ExportProfilesServiceRequest.FromString(receiver.requests[0][2])
    assert attributes(request.resource_profiles[0].resource)["service.name"] == "named"


AGENT = """
[agent]
interval = 1s
scan = 200ms
control = {dir}/c.sock
[target self]
service = shop
cmdline = {cmdline}
[exporter g]
type = otlp
protocol = grpc
url = {url}
"""


def test_the_agent_sends_again_and_tells_what_was_rejected(agent, start, tmp_path):
    """The first is sent twice; of the second the server warns; all others are taken."""
    def answer(number, context):
        if number == 1:
            context.abort(grpc.StatusCode.UNAVAILABLE, "starting")
        return b"\x0a\x0b\x08\x03\x12\x07too old" if number == 3 else TAKEN

    target = start(MACHINES[-1], "busy.py", "--duty", "0.2")
    with GrpcReceiver(answer) as receiver:
        watching = agent(AGENT.format(dir=tmp_path, url=receiver.url, cmdline="busy.py --duty 0.2"))
        watching.wait_for([target.read_json()["pid"]])
        live.wait_until(lambda: len(receiver.requests) >= 4, "requests", 0.1)
        status, _ = watching.stop()
    assert status == 0, watching.log
    messages = [message for _, _, message in receiver.requests]
    assert messages[0] in messages[1:] and len(set(messages)) == len(messages) - 1
    log = "".join(watching.log)
    assert log.count("the server answered UNAVAILABLE: starting") == 1
    assert log.count("the server rejected 3 profiles of a request: too old") == 1


@needs("collector")
def test_a_collector_keeps_what_the_store_kept(run, tmp_path):  # noqa: F811
    port, = servers.free_ports(1)
    with servers.Collector(tmp_path / "collector",
                           lambda http_port, out: servers.collector_settings(http_port, out, grpc_port=port)) as collector:
        ours = run.push("type = otlp\nprotocol = grpc\nurl = http://127.0.0.1:%d\ngil = on\n" % port,
                        lambda ours: len(collector.kept()) >= len(ours))
        collected = collector.kept()
    assert_as_otlp(ours, collected)
