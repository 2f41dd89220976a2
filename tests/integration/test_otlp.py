# SPDX-License-Identifier: Apache-2.0
"""OTLP requests of the agent and of exec: each keeps every rule that the checker holds, and says what was done."""

import gzip
import importlib
import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler

import pytest

import live
from conftest import MACHINES
from loopback import Loopback

BUILD = os.path.abspath(os.environ.get("PYSTROBE_BUILD", os.path.join(live.TREE, "build")))
PYSTROBE = os.environ.get("PYSTROBE", os.path.join(BUILD, "pystrobe"))


class OtlpReceiver(Loopback):
    """Takes OTLP requests on the loopback and keeps them: (path, headers, plain body)."""

    def __init__(self, tls=None):
        self.requests = []
        super().__init__(self._handler(), tls)

    def _handler(receiver):  # the handler's own self is the request
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                receiver.requests.append((self.path, dict(self.headers.items()), body))
                self.send_response(200)
                self.send_header("Content-Type", self.headers["Content-Type"])
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"\x0a\x00")

            def log_message(self, *_):
                pass

        return Handler


@pytest.fixture(scope="module")
def otlp_pb2(tmp_path_factory):
    folder = tmp_path_factory.mktemp("otlp")
    subprocess.run(["protoc", "-I", live.TREE, "--python_out", folder, "pprof/otlp.proto"], cwd=live.TREE, check=True)
    sys.path.insert(0, str(folder / "pprof"))
    return importlib.import_module("otlp_pb2")


def check(tmp_path, requests):
    """Runs the checker over all bodies; the profiling group's own too, which no registry has, if it is there."""
    files = []
    for number, (_, _, body) in enumerate(requests):
        files.append(tmp_path / ("%d.otlp" % number))
        files[-1].write_bytes(body)
    done = subprocess.run([os.path.join(BUILD, "tests/tools/otlp_check"), *files], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    for file in files if os.environ.get("PROFCHECK") else ():
        done = subprocess.run([os.environ["PROFCHECK"], "-check-dupes", "-check-orphans", file],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


def run_exec(tmp_path, arguments, env):
    script = tmp_path / "otlp_busy.py"
    script.write_text("import time\n\ndef spin(until):\n    while time.monotonic() < until:\n        sum(range(1000))\n\n"
                      "spin(time.monotonic() + 2)\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    done = subprocess.run([PYSTROBE, "exec", *arguments, "--", "/usr/bin/python3", str(script)],
                          capture_output=True, text=True, timeout=live.DEADLINE_S, env=dict(environment, **env))
    assert done.returncode == 0, done.stderr
    return done


def attributes(resource):
    return {pair.key: pair.value.string_value for pair in resource.attributes}


def cpu_seconds(otlp_pb2, requests):
    """CPU time in all requests, and the names of the functions that are there."""
    seconds, names = 0, set()
    for _, _, body in requests:
        request = otlp_pb2.ExportProfilesServiceRequest.FromString(body)
        tables = request.dictionary
        names |= {tables.string_table[function.name_strindex] for function in tables.function_table}
        for resource in request.resource_profiles:
            for scope in resource.scope_profiles:
                cpu = scope.profiles[0]
                assert tables.string_table[cpu.sample_type.type_strindex] == "samples"
                assert tables.string_table[cpu.period_type.type_strindex] == "cpu"
                seconds += sum(sample.values[0] for sample in cpu.samples) * cpu.period / 1e9
    return seconds, names


def test_exec_sends_what_an_ini_file_says(tmp_path, otlp_pb2):
    with OtlpReceiver() as receiver:
        ini = tmp_path / "otlp.ini"
        ini.write_text("[agent]\nrate = 97Hz\n[labels]\nenv = test\n[exporter otel]\ntype = otlp\nurl = %s\n"
                       % receiver.url)
        run_exec(tmp_path, ["-c", str(ini), "-n", "shop"], {})
    assert receiver.requests
    assert {path for path, _, _ in receiver.requests} == {"/v1development/profiles"}
    check(tmp_path, receiver.requests)
    request = otlp_pb2.ExportProfilesServiceRequest.FromString(receiver.requests[0][2])
    told = attributes(request.resource_profiles[0].resource)
    assert told["service.name"] == "shop" and told["env"] == "test" and told["process.runtime.name"] == "cpython"
    seconds, names = cpu_seconds(otlp_pb2, receiver.requests)
    assert seconds > 0 and "spin" in names


def test_the_environment_alone_makes_an_exporter(tmp_path, otlp_pb2):
    with OtlpReceiver() as receiver:
        run_exec(tmp_path, [], {
            "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url, "OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%20b",
            "OTEL_SERVICE_NAME": "named", "OTEL_RESOURCE_ATTRIBUTES": "service.name=other,team=a%2Cb"})
    assert receiver.requests
    check(tmp_path, receiver.requests)
    assert receiver.requests[0][1]["x-key"] == "a b"
    request = otlp_pb2.ExportProfilesServiceRequest.FromString(receiver.requests[0][2])
    told = attributes(request.resource_profiles[0].resource)
    assert told["service.name"] == "named" and told["team"] == "a,b"


# Variables of an application whose SDK speaks another protocol, and some that nobody can use.
PAIRS = {"name%d" % i: "v%d" % i for i in range(40)}
FOR_THE_SDK = {
    "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json",
    "OTEL_EXPORTER_OTLP_TIMEOUT": "10s", "OTEL_EXPORTER_OTLP_COMPRESSION": "zstd",
    "OTEL_EXPORTER_OTLP_HEADERS": "Authorization: Bearer canary",
    "OTEL_RESOURCE_ATTRIBUTES": "c," + ",".join("%s=%s" % pair for pair in PAIRS.items())}


def warned_of(text):
    assert "canary" not in text
    return sorted(word for line in text.splitlines() for word in line.replace(":", " ").split() if word in FOR_THE_SDK)


def test_variables_for_the_sdk_do_not_keep_a_store_empty(tmp_path):
    done = run_exec(tmp_path, ["--store", tmp_path / "store"], FOR_THE_SDK)
    assert list((tmp_path / "store").rglob("*.pb.gz"))
    assert warned_of(done.stderr) == []


def test_variables_for_the_sdk_that_cannot_be_used_are_told_once(tmp_path, otlp_pb2):
    with OtlpReceiver() as receiver:
        ini = tmp_path / "otlp.ini"
        ini.write_text("".join("[exporter %s]\ntype = otlp\nurl = %s\n" % (name, receiver.url) for name in "ab"))
        done = run_exec(tmp_path, ["-c", str(ini)], FOR_THE_SDK)
    assert warned_of(done.stderr) == sorted(set(FOR_THE_SDK) - {"OTEL_EXPORTER_OTLP_ENDPOINT",
                                                                "OTEL_EXPORTER_OTLP_PROTOCOL"})
    request = otlp_pb2.ExportProfilesServiceRequest.FromString(receiver.requests[0][2])
    assert PAIRS.items() <= attributes(request.resource_profiles[0].resource).items()


def test_check_and_the_agent_agree_on_variables_for_the_sdk(pystrobe, agent, tmp_path):
    text = "[agent]\n[target none]\ncmdline = /nowhere\n[exporter x]\ntype = otlp\n"
    ini = tmp_path / "sdk.ini"
    ini.write_text(text)
    checked = pystrobe.run("check", "-c", ini, env=dict(os.environ, **FOR_THE_SDK))
    running = agent(text, under=["env", *("%s=%s" % pair for pair in FOR_THE_SDK.items())])
    running.wait_for_line("1 exporter")
    assert checked.returncode == 0
    assert warned_of(checked.stderr) == warned_of("".join(running.log)) == \
        sorted(set(FOR_THE_SDK) - {"OTEL_EXPORTER_OTLP_ENDPOINT"})
    assert "is neither http/protobuf nor grpc" in checked.stderr and "4318" in checked.stderr


def test_the_environment_fills_in_what_a_section_leaves_out(tmp_path, otlp_pb2):
    with OtlpReceiver() as receiver, OtlpReceiver() as other:
        ini = tmp_path / "otlp.ini"
        ini.write_text("[exporter open]\ntype = otlp\n"
                       "[exporter said]\ntype = otlp\nurl = %s\ncompression = gzip\nheader.X-Mine = 1\n" % other.url)
        run_exec(tmp_path, ["-c", str(ini)], {
            "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_COMPRESSION": "none",
            "OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT": receiver.url + "/whole", "OTEL_EXPORTER_OTLP_HEADERS": "x-key=k"})
    assert {path for path, _, _ in receiver.requests} == {"/whole"}
    assert {path for path, _, _ in other.requests} == {"/v1development/profiles"}
    for _, headers, _ in receiver.requests:
        assert headers["x-key"] == "k" and "Content-Encoding" not in headers
    for _, headers, _ in other.requests:
        assert headers["X-Mine"] == "1" and headers["Content-Encoding"] == "gzip" and "x-key" not in headers
    check(tmp_path, receiver.requests + other.requests)


KINDS_INI = """
[agent]
rate = 100Hz
interval = 1s
scan = 200ms
[labels]
env = test
[target threads]
service = threads
cmdline = --duty 0.3
split = thread
[target processes]
service = processes
cmdline = --duty 0.2
split = process
[target asleep]
service = asleep
cmdline = --duty 0.0
[exporter two]
type = otlp
url = {plain}
[exporter three]
type = otlp
gil = on
url = {gil}
"""


def kinds_of(otlp_pb2, requests):
    """Of each service: the profiles' names, and the names of the attributes of their samples."""
    found = {}
    for _, _, body in requests:
        request = otlp_pb2.ExportProfilesServiceRequest.FromString(body)
        tables = request.dictionary
        for resource in request.resource_profiles:
            names, keys = found.setdefault(attributes(resource.resource)["service.name"], (set(), set()))
            for profile in resource.scope_profiles[0].profiles:
                names.add(tables.string_table[profile.period_type.type_strindex])
                keys |= {tables.string_table[tables.attribute_table[index].key_strindex]
                         for sample in profile.samples for index in sample.attribute_indices}
    return found


def test_each_kind_of_profile_keeps_the_rules(agent, start, tmp_path, otlp_pb2):
    wanted = {"threads": ({"cpu", "wall", "gil"}, {"service.name", "process.pid", "thread.id", "thread.name"}),
              "processes": ({"cpu", "wall", "gil"}, {"service.name", "process.pid"})}
    with OtlpReceiver() as plain, OtlpReceiver() as gil:
        run = agent(KINDS_INI.format(plain=plain.url, gil=gil.url))
        run.wait_for([start(MACHINES[-1], "busy.py", "--threads", 2, "--duty", duty).read_json()["pid"]
                      for duty in (0.3, 0.2, 0.0)])

        def all_have_come():
            kinds = kinds_of(otlp_pb2, gil.requests)
            return "asleep" in kinds and all(kinds.get(service) == kind for service, kind in wanted.items())

        live.wait_until(all_have_come, "profiles of each kind", 0.2)
        status, _ = run.stop()
        assert status == 0, run.log
    assert max(len(otlp_pb2.ExportProfilesServiceRequest.FromString(body).resource_profiles)
               for _, _, body in gil.requests) == 3
    assert "gil" not in kinds_of(otlp_pb2, plain.requests)["threads"][0]
    check(tmp_path, plain.requests + gil.requests)


def test_a_large_dictionary_keeps_the_rules(tmp_path, otlp_pb2):
    path = tmp_path / "large.gz"
    subprocess.run([os.path.join(BUILD, "tests/tools/encode_bench"), "otlp", "20000", "40", "1", path],
                   check=True, stdout=subprocess.DEVNULL)
    body = gzip.decompress(path.read_bytes())
    assert len(otlp_pb2.ExportProfilesServiceRequest.FromString(body).dictionary.stack_table) == 20001
    check(tmp_path, [(None, None, body)])
