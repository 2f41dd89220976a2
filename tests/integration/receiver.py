#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A Pyroscope that only listens: takes Push requests on the loopback and keeps what was in them. It refuses what a
Pyroscope with its default limits refuses, with label names checked as by older ones and by tenants that want it
(validation.disable-label-sanitization=false), and what one would cut without a word.

In a test:

    with Receiver(build) as receiver:
        receiver.answer(503, 503)          # the next two requests; then 200 again
        ... url = receiver.url ...
        push = receiver.wait(3)[-1]        # three pushes that were answered with 200
        push.labels, push.headers, push.profile

By hand: python3 receiver.py --port 4040 --out DIR --proto-dir build/receiver
"""

import argparse
import contextlib
import gzip
import importlib
import io
import json
import os
import re
import ssl
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import live

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROTOS = ("exporters/push.proto", "pprof/profile.proto")
PATH = "/push.v1.PusherService/Push"
REQUEST_MAX = 64 * 1024 * 1024
PROFILE_MAX = 256 * 1024 * 1024

# A Pyroscope's defaults (-validation.*), and the names that it takes: it makes "_" of ".".
LABEL_NAME = re.compile(r"[a-zA-Z_.][a-zA-Z0-9_.]*")
SERIES_LABELS_MAX, LABEL_NAME_MAX, LABEL_VALUE_MAX, SAMPLE_LABELS_MAX = 30, 1024, 2048, 100
SAMPLES_MAX, PPROF_BYTES_MAX, DEPTH_MAX, SYMBOL_MAX = 16000, 4 << 20, 1000, 65535
OLDEST_S, NEWEST_S = 3600, 600
SAMPLE_IDS = ("span_id", "trace_id", "profile_id")  # these stay labels of samples


def load_protos(proto_dir):
    """Compiles the tree's messages below `proto_dir` and gives their two modules."""
    made = os.path.join(proto_dir, "pprof", "profile_pb2.py")
    with live.to_be_made(made, [os.path.join(TREE, name) for name in PROTOS]) as wanted:
        if wanted:
            subprocess.run(["protoc", "-I", TREE, "--python_out", proto_dir, *PROTOS], cwd=TREE, check=True)
    if proto_dir not in sys.path:
        sys.path.insert(0, proto_dir)
    importlib.invalidate_caches()
    return importlib.import_module("exporters.push_pb2"), importlib.import_module("pprof.profile_pb2")


class Push:
    """One profile of a request: its series' labels, the request's headers and number, the profile as sent and as
    decoded.
    """

    def __init__(self, labels, headers, raw, profile, sample_id, request):
        self.labels = labels
        self.headers = headers
        self.request = request
        self.raw = raw
        self.profile = profile
        self.id = sample_id
        self.received = time.time()


def check_series(labels):
    """Labels as (name, value): those of a series, and the texts on a sample, of which it makes series labels, too."""
    names = {}
    for name, value in labels:
        if not LABEL_NAME.fullmatch(name):
            raise ValueError("invalid label name %r" % name)
        if len(name.encode()) > LABEL_NAME_MAX or len(value.encode()) > LABEL_VALUE_MAX:
            raise ValueError("label %.40r is too long: %d and %d bytes" % (name, len(name.encode()), len(value.encode())))
        if names.setdefault(name.replace(".", "_"), value) != value:
            raise ValueError("duplicate label name %r after sanitization" % name)
    if len(names) > SERIES_LABELS_MAX:
        raise ValueError("%d label names; limit %d: %s" % (len(names), SERIES_LABELS_MAX, sorted(names)))


def check_samples(labels, profile):
    """The labels of each sample, with those of its series, and its depth."""
    strings, seen = profile.string_table, set()
    for sample in profile.sample:
        if len(sample.location_id) > DEPTH_MAX:
            raise ValueError("a stack of %d frames: the leaf side would be lost" % len(sample.location_id))
        if len(sample.label) > SAMPLE_LABELS_MAX:
            raise ValueError("a sample with %d labels" % len(sample.label))
        texts = {(strings[label.key], strings[label.str]) for label in sample.label if label.str}
        seen.add(frozenset((name, value) for name, value in texts if name not in labels and name not in SAMPLE_IDS))
    for texts in seen:
        check_series(list(labels.items()) + sorted(texts))


def check_limits(labels, size, profile):
    """ValueError: a profile of `size` bytes of which a Pyroscope would not keep all."""
    if size > PPROF_BYTES_MAX or len(profile.sample) > SAMPLES_MAX:
        raise ValueError("%d bytes, %d samples: too large" % (size, len(profile.sample)))
    if any(len(text.encode()) > SYMBOL_MAX for text in profile.string_table):
        raise ValueError("a text is longer than %d bytes: its start would be lost" % SYMBOL_MAX)
    if any("-" in profile.string_table[kind.type] for kind in profile.sample_type):
        raise ValueError("sample type contains -")
    age_s = time.time() - profile.time_nanos / 1e9
    if profile.time_nanos and not -NEWEST_S < age_s < OLDEST_S:
        raise ValueError("outside of ingestion window: %d s old" % age_s)
    check_series(list(labels.items()))
    check_samples(labels, profile)


def gunzip(raw):
    """A gzip'd or plain pprof as plain bytes; what does not end well is a ValueError."""
    if raw[:2] != b"\x1f\x8b":
        return raw
    try:
        with gzip.open(io.BytesIO(raw)) as stream:
            plain = stream.read(PROFILE_MAX + 1)
    except (OSError, EOFError) as error:
        raise ValueError("raw_profile is no gzip: %s" % error) from error
    if len(plain) > PROFILE_MAX:
        raise ValueError("raw_profile is too large")
    return plain


class Receiver:
    """The server, its answers to come, and what it has received. Safe for any thread."""

    def __init__(self, build, host="127.0.0.1", port=0, tls=None, on_push=None, limited=True):
        self.push_pb2, self.profile_pb2 = load_protos(os.path.join(os.path.abspath(build), "receiver"))
        self.pushes = []  # profiles that were stored
        self.requests = []  # all: (status, headers)
        self.errors = []  # requests that no client should send
        self.on_push = on_push
        self.limited = limited
        self.on_request = None
        self._answers = []
        self._delays = (0.0, 0.0)
        self._changed = threading.Condition()
        self._server = ThreadingHTTPServer((host, port), self._handler())
        self._server.daemon_threads = True
        if tls:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self.port = self._server.server_address[1]
        self.url = "%s://%s:%d" % ("https" if tls else "http", host, self.port)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, *statuses):
        """Answers the next requests with these; each is a status or (status, headers, body)."""
        with self._changed:
            self._answers.extend(statuses)

    def delay(self, seconds, per_series_s=0.0):
        """Waits before each answer from now on, longer the more series were pushed."""
        with self._changed:
            self._delays = (seconds, per_series_s)

    def wait(self, count, seconds=120.0):
        """The pushes so far, once there are at least `count`."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.pushes) >= count, seconds):
                raise TimeoutError("%d of %d pushes in %g s; errors: %s"
                                   % (len(self.pushes), count, seconds, self.errors))
            return list(self.pushes)

    def take(self):
        """The pushes since the last call; they are forgotten here."""
        with self._changed:
            taken, self.pushes = self.pushes, []
            return taken

    def decode(self, headers, body):
        """(pushes, errors) of a request's body: a Push for each good series, and what a Pyroscope would say of each
        other one. ValueError: what it would mind about the whole.
        """
        if headers.get("content-type") != "application/proto":
            raise ValueError("content type %r" % headers.get("content-type"))
        request = self.push_pb2.PushRequest()
        try:
            request.ParseFromString(body)
        except Exception as error:  # DecodeError's place differs between versions
            raise ValueError("no PushRequest: %s" % error) from error
        if not request.series:
            raise ValueError("no series")
        pushes, errors = [], []
        number = len(self.requests)
        for index, series in enumerate(request.series):
            try:
                pushes.append(self.decode_series(headers, series, number))
            except ValueError as error:
                errors.append("push series with index %d and id %s failed: %s"
                              % (index, series.samples[0].ID if series.samples else "", error))
        return pushes, errors

    def decode_series(self, headers, series, number):
        if len(series.samples) != 1:
            raise ValueError("one profile a series is wanted")
        names = [pair.name for pair in series.labels]
        if len(set(names)) != len(names) or "" in names:
            raise ValueError("label names are empty or repeated: %s" % names)
        labels = {pair.name: pair.value for pair in series.labels}
        if not labels.get("__name__") or not labels.get("service_name"):
            raise ValueError("__name__ or service_name is missing: %s" % labels)
        sample = series.samples[0]
        plain = gunzip(sample.raw_profile)
        profile = self.decode_profile(plain)
        if self.limited:
            check_limits(labels, len(plain), profile)
        return Push(labels, headers, sample.raw_profile, profile, sample.ID, number)

    def decode_profile(self, plain):
        profile = self.profile_pb2.Profile()
        try:
            profile.ParseFromString(plain)
        except ValueError:
            raise
        except Exception as error:
            raise ValueError("no pprof: %s" % error) from error
        if not profile.string_table or profile.string_table[0] != "":
            raise ValueError("no pprof: the first string is not empty")
        return profile

    def _take(self, path, headers, body):
        """(status, headers, body) of the answer; what is wrong with a request decides before the script."""
        if self.on_request:
            self.on_request()
        with self._changed:
            scripted = self._answers.pop(0) if self._answers else 200
        status, extra, text = scripted if isinstance(scripted, tuple) else (scripted, {}, b"")
        pushes = []
        try:
            if path != PATH:
                raise LookupError("path %s" % path)
            pushes, errors = self.decode(headers, body)
            if errors and status == 200:
                status, text = self._refuse("; ".join(errors))
        except (LookupError, ValueError) as error:
            status, text = self._refuse(error)
            status, extra = (404 if isinstance(error, LookupError) else 400), {}
        seconds, per_series_s = self._delays
        time.sleep(seconds + per_series_s * len(pushes))
        taken = status == 200 or (status == 400 and pushes and isinstance(scripted, int) and scripted == 200)
        with self._changed:
            self.requests.append((status, headers))
            self.pushes += pushes if taken else []  # a real one stores the good series of a refused push, too
            self._changed.notify_all()
        for push in pushes if taken and self.on_push else []:
            self.on_push(push)
        return status, extra, text

    def _refuse(self, error):
        self.errors.append(str(error))
        return 400, json.dumps({"code": "invalid_argument", "message": str(error)}).encode()

    def _handler(receiver):  # the handler's own self is the request
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                headers = {name.lower(): value for name, value in self.headers.items()}
                size = int(headers.get("content-length", "-1"))
                if not 0 <= size <= REQUEST_MAX:
                    self.send_error(413 if size > 0 else 411)
                    return
                with contextlib.suppress(ConnectionError):  # clients are killed now and then
                    body = self.rfile.read(size)
                    if len(body) < size:
                        return
                    self.give(*receiver._take(self.path, headers, body))

            def give(self, status, extra, text):
                self.send_response(status)
                for name, value in extra.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        return Handler


def tls_context(certificate, key, newest=None):
    """What `tls` of a Receiver takes; `newest` caps the version, e.g. ssl.TLSVersion.TLSv1_1."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    if newest:
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = newest
    context.load_cert_chain(certificate, key)
    return context


def main():
    parser = argparse.ArgumentParser(description="Takes Pyroscope pushes and writes them to files.")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--out", required=True, help="the directory for the profiles")
    parser.add_argument("--proto-dir", required=True, help="the directory for the compiled messages")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    counter = iter(range(10 ** 9))

    def write(push):
        path = os.path.join(options.out, "%06d.pb.gz" % next(counter))
        with open(path, "wb") as file:
            file.write(push.raw)
        print(json.dumps({"file": path, "labels": push.labels, "samples": len(push.profile.sample)}), flush=True)

    with Receiver(options.proto_dir, port=options.port, on_push=write) as receiver:
        print(json.dumps({"url": receiver.url}), flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
