# SPDX-License-Identifier: Apache-2.0
"""What an agent sends for a host of many services with real stacks: requests and bytes of an interval.

Each service is an interpreter of its own whose four threads run through the standard library (targets/stdlib.py).
An agent pushes them to a server of ours by both protocols at once. Printed are, for each protocol, the requests of
an interval, what one has in bytes, as sent and unpacked, and in series; and what all of pystrobe took for that.
"""

import argparse
import collections
import gzip
import http.server
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import scale

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))
import receiver  # noqa: E402: it knows the messages of a push

INI = """[agent]
rate = %(rate)gHz
interval = %(interval)ds
max_cpu = 75%%
max_memory = 1GiB
%(targets)s
[exporter pyroscope]
type = pyroscope
url = %(url)s
[exporter otlp]
type = otlp
url = %(url)s
"""

Request = collections.namedtuple("Request", "protocol at sent plain series stacks")


def otlp_messages(folder):
    subprocess.run(["protoc", "-I", receiver.TREE, "--python_out", folder, "pprof/otlp.proto"], cwd=receiver.TREE, check=True)
    sys.path.insert(0, os.path.join(folder, "pprof"))
    return __import__("otlp_pb2")


class Server(http.server.ThreadingHTTPServer):
    """Takes both protocols, and keeps what came."""

    daemon_threads = True

    def __init__(self):
        self.bodies = []  # (path, when, bytes as sent, encoding)
        super().__init__(("127.0.0.1", 0), self.handler())
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def handler(server):  # the handler's own self is the request
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                server.bodies.append((self.path, time.monotonic(), body, self.headers.get("Content-Encoding")))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        return Handler


def read_push(push_pb2, profile_pb2, at, body):
    request = push_pb2.PushRequest.FromString(body)
    packed = [series.samples[0].raw_profile for series in request.series]
    plain = list(map(gzip.decompress, packed))
    stacks = sum(len(profile_pb2.Profile.FromString(one).sample) for one in plain)
    return Request("pyroscope", at, len(body), len(body) + sum(map(len, plain)) - sum(map(len, packed)), len(packed), stacks)


def read_otlp(otlp_pb2, at, body, encoding):
    plain = gzip.decompress(body) if encoding == "gzip" else body
    request = otlp_pb2.ExportProfilesServiceRequest.FromString(plain)
    all_of_them = [one for resource in request.resource_profiles for scope in resource.scope_profiles for one in scope.profiles]
    return Request("otlp", at, len(body), len(plain), len(all_of_them), sum(len(one.samples) for one in all_of_them))


def run(args, folder):
    """Gives the requests of all intervals but the first, the intervals, and what pystrobe used."""
    mark = "delivery-%d" % os.getpid()
    script = str(HERE / "targets" / "stdlib.py")
    services = [subprocess.Popen([args.python, script, "%s-%d-" % (mark, number), str(number)], stdin=subprocess.DEVNULL)
                for number in range(args.services)]
    server = Server()
    try:
        ini, log = folder / "delivery.ini", folder / "agent.log"
        ini.write_text(INI % {"rate": args.rate, "interval": args.interval, "url": "http://127.0.0.1:%d" % server.server_port,
                              "targets": "".join("[target service-%d]\ncmdline = %s-%d-\n" % (number, mark, number)
                                                 for number in range(args.services))})
        with log.open("w") as out:
            agent = subprocess.Popen([str(pathlib.Path(args.build) / "pystrobe"), "agent", "-c", str(ini)], stderr=out)
        try:
            scale.wait_for_all(agent, args.services)
            time.sleep(2 * args.interval + 5)  # for those that were not whole, and their jitter
            began, before = time.monotonic(), len(server.bodies)
            used = scale.measure(agent, args.intervals * args.interval)
            bodies = [body for body in server.bodies[before:] if body[1] < began + args.intervals * args.interval]
            used["supervisor_mib"] = scale.memory(agent.pid)[0] / 1024
            scale.stop(agent, log)
        finally:
            if agent.poll() is None:
                agent.kill()
                agent.wait()
    finally:
        for service in services:
            service.kill()
            service.wait()
        server.shutdown()
        server.server_close()
    return bodies, used


def row_of(protocol, requests, intervals):
    series, sent, plain = (sum(getattr(request, name) for request in requests) for name in ("series", "sent", "plain"))
    return {"protocol": protocol, "requests": len(requests) / intervals, "series": series / intervals,
            "request_bytes": statistics.mean(request.sent for request in requests),
            "most_bytes": max(request.sent for request in requests), "interval_bytes": sent / intervals,
            "series_bytes": sent / series, "plain_series_bytes": plain / series,
            "stacks": sum(request.stacks for request in requests) / series}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--services", type=int, default=100)
    parser.add_argument("--rate", type=float, default=19)
    parser.add_argument("--interval", type=int, default=15, help="seconds")
    parser.add_argument("--intervals", type=int, default=4, help="that are counted")
    parser.add_argument("--json", help="where to write the rows")
    args = parser.parse_args()
    messages = receiver.load_protos(os.path.join(os.path.abspath(args.build), "receiver"))
    with tempfile.TemporaryDirectory(prefix="pystrobe-delivery-") as folder:
        otlp_pb2 = otlp_messages(folder)
        bodies, used = run(args, pathlib.Path(folder))
    requests = [read_push(*messages, at, body) if path == receiver.PATH else read_otlp(otlp_pb2, at, body, encoding)
                for path, at, body, encoding in bodies]
    rows = [row_of(protocol, [one for one in requests if one.protocol == protocol], args.intervals)
            for protocol in ("pyroscope", "otlp")]
    print("%-10s %12s %10s %12s %12s %12s %12s %12s %10s" % (
        "protocol", "requests", "series", "KB of all", "KB/request", "most KB", "B/series", "unpacked B", "stacks"))
    for row in rows:
        print("%-10s %12.2f %10.1f %12.1f %12.1f %12.1f %12.0f %12.0f %10.1f" % (
            row["protocol"], row["requests"], row["series"], row["interval_bytes"] / 1e3, row["request_bytes"] / 1e3,
            row["most_bytes"] / 1e3, row["series_bytes"], row["plain_series_bytes"], row["stacks"]))
    print("an interval of %d s, %d services at %g Hz: %.2f %% of a core, RSS %.1f MiB of the supervisor, %.1f MiB of all"
          % (args.interval, args.services, args.rate, 100 * used["cpu"], used["supervisor_mib"], used["rss_mib"]))
    if args.json:
        pathlib.Path(args.json).parent.mkdir(parents=True, exist_ok=True)
        pathlib.Path(args.json).write_text(json.dumps({"rows": rows, "used": used}, indent=1) + "\n")


if __name__ == "__main__":
    main()
