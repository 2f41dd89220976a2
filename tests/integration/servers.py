# SPDX-License-Identifier: Apache-2.0
"""Starts the real servers that a test pushes to, and reads back what they kept.

A profile of any of them is {"service", "kind", "time_ns", "samples", "labels"}: `kind` is cpu, wall
or gil, `samples` {(stack, sample labels): value}, where a stack is ((function, file, line), ...)
with the leaf first and sample labels are ((name, value), ...).
"""

import contextlib
import glob
import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request

import live
import profiles

# What pushes to a server in this tree.
PROTOCOLS = [name for name in ("pyroscope", "otlp")
             if os.path.exists(os.path.join(live.TREE, "exporters", name + ".c"))]
LIST = os.path.join(profiles.BUILD, "tests", "backends.jsonl")


def found():
    """{name: {"path"} or {"missing": why}} of `make backends`."""
    try:
        with open(LIST, encoding="utf-8") as file:
            return {one["name"]: one for one in map(json.loads, file)}
    except OSError:
        return {}


def why_missing(name):
    """None if the server is there."""
    one = found().get(name, {"missing": "make backends was not run"})
    return one.get("missing")


def path_of(name):
    return found()[name]["path"]


def free_ports(count):
    return live.free_ports(count)


def summed(samples):
    """Samples as a dict, equal keys added up."""
    sums = {}
    for key, value in samples:
        sums[key] = sums.get(key, 0) + value
    return {key: value for key, value in sums.items() if value}


def of_pprof(report, column):
    """One value of a report of pprofcheck."""
    def key_of(sample):
        stack = tuple((frame["func"], frame["file"], frame["line"]) for frame in sample["stack"])
        return stack, tuple(sorted((name, str(value).strip("[]'")) for name, value in sample["labels"].items()))

    return summed((key_of(sample), sample["values"][column]) for sample in report["samples"])


def in_store(store, service):
    """What a store kept of a service: {(kind, time_ns): samples}."""
    kept = {}
    for report in profiles.in_store(store, service):
        for kind in ("cpu", "wall", "gil"):
            if any(one["type"] == kind for one in report["sample_types"]):
                kept[kind, report["time_ns"]] = of_pprof(report, profiles.column(report, kind))
    return {key: samples for key, samples in kept.items() if samples}


class Server:
    """A process that serves on the loopback until the test ends; its log is a file in the test's folder."""

    def __init__(self, argv, folder, stdout=subprocess.DEVNULL, env=None):
        self.folder = str(folder)
        os.makedirs(self.folder, exist_ok=True)
        self.log = os.path.join(self.folder, "log")
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=stdout, stderr=log,
                                            cwd=self.folder, env=env)

    def __enter__(self):
        try:
            self.get_ready()
        except BaseException:
            self.__exit__()
            raise
        return self

    def get_ready(self):
        """Waits until it serves."""

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()

    def words(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()[-2000:]

    def check(self):
        assert self.process.poll() is None, "%s ended: %s" % (self.process.args[0], self.words())

    def wait_for_http(self, url, good=lambda status: True):
        """Waits until it answers a GET as it should."""
        def answers():
            self.check()
            try:
                with urllib.request.urlopen(url, timeout=10) as reply:
                    return good(reply.status)
            except urllib.error.HTTPError as error:
                return good(error.code)
            except OSError:
                return False

        live.wait_until(answers, "%s answers" % url, 0.05)


class PushReceiver(Server):
    """The receiver made of Pyroscope's own API."""

    def __init__(self, folder):
        self.out = os.path.join(str(folder), "kept")
        super().__init__([path_of("pushreceiver"), "-out", self.out], folder, stdout=subprocess.PIPE)

    def get_ready(self):
        self.url = json.loads(self.process.stdout.readline())["url"]

    def refused(self):
        """What it refused. Ends the server."""
        self.process.send_signal(signal.SIGTERM)
        lines = [json.loads(line) for line in self.process.stdout.read().splitlines()]
        return [line for line in lines if "refused" in line]

    def files(self, tenant):
        """[(path, what is said of it)] of a tenant's profiles, oldest first; "" is who names none."""
        out = []
        for path in sorted(glob.glob(self.out + "/*.json")):
            with open(path, encoding="utf-8") as file:
                about = json.load(file)
            if about["tenant"] == tenant:
                out.append((path.replace(".json", ".pb.gz"), about))
        return out

    def kept(self, tenant=""):
        """[profile] of a tenant, oldest first."""
        out = []
        for path, about in self.files(tenant):
            report = profiles.read(path)[0]
            assert len(report["sample_types"]) == 1, "one value type a push"
            out.append({"service": about["labels"]["service_name"], "labels": about["labels"],
                        "kind": report["sample_types"][0]["type"], "time_ns": report["time_ns"],
                        "samples": of_pprof(report, 0)})
        return out


def collector_settings(port, out, onward=None, grpc_port=None):
    """Has it write what it gets over HTTP, and gRPC, to a file, and hand it on to the exporters `onward`."""
    protocols = {"http": {"endpoint": "127.0.0.1:%d" % port}}
    if grpc_port:
        protocols["grpc"] = {"endpoint": "127.0.0.1:%d" % grpc_port}
    exporters = dict({"file": {"path": out, "flush_interval": "100ms"}}, **(onward or {}))
    return json.dumps({
        "receivers": {"otlp": {"protocols": protocols}},
        "exporters": exporters,
        "service": {"telemetry": {"metrics": {"level": "none"}},
                    "pipelines": {"profiles": {"receivers": ["otlp"], "exporters": list(exporters)}}}})


def onward(url, protocol, tenant=None):
    """The exporter of a Collector that hands on to a server, over "http" or "grpc"."""
    settings = {"http": {"endpoint": url}, "grpc": {"endpoint": url.split("//")[1], "tls": {"insecure": True}}}[protocol]
    if tenant:
        settings["headers"] = {"X-Scope-OrgID": tenant}
    return {"otlp_" + protocol: settings}


class Collector(Server):
    """An OpenTelemetry Collector that writes what it gets to a file. settings(port, file) gives the text of others."""

    def __init__(self, folder, settings=collector_settings,
                 arguments=("--feature-gates=service.profilesSupport",)):
        self.out = os.path.join(str(folder), "out.json")
        port = free_ports(1)[0]
        os.makedirs(str(folder), exist_ok=True)
        config = os.path.join(str(folder), "config.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(settings(port, self.out))
        super().__init__([path_of("collector"), *arguments, "--config", config], folder)
        self.url = "http://127.0.0.1:%d" % port

    def get_ready(self):
        self.wait_for_http(self.url)

    def requests(self):
        """Each request that it took, as OTLP's JSON; a last line that is being written is left out."""
        try:
            with open(self.out, encoding="utf-8") as file:
                return [json.loads(line) for line in file if line.endswith("\n")]
        except FileNotFoundError:
            return []

    def kept(self):
        """[profile] in the order in which they came."""
        return [profile for request in self.requests() for profile in otlp_profiles(request)]


class Dictionary:
    """The tables of an OTLP request, with what refers to them resolved."""

    def __init__(self, tables):
        self.tables = tables
        self.strings = tables["stringTable"]

    def text(self, entry, name):
        return self.strings[entry.get(name, 0)]

    def value(self, value):
        if "stringValueStrindex" in value:
            return self.strings[value["stringValueStrindex"]]
        return str(next(iter(value.values()), ""))

    def pairs(self, attributes):
        """{key: value} of inline attributes, whose strings the Collector may have moved to the table."""
        return {one.get("key") or self.text(one, "keyStrindex"): self.value(one.get("value", {}))
                for one in attributes}

    def attributes(self, indices):
        return self.pairs([self.tables["attributeTable"][i] for i in indices])

    def frame(self, index):
        location = self.tables["locationTable"][index]
        assert self.attributes(location["attributeIndices"])["profile.frame.type"] == "cpython"
        line, = location["lines"]
        function = self.tables["functionTable"][line["functionIndex"]]
        return self.text(function, "nameStrindex"), self.text(function, "filenameStrindex"), int(line.get("line", 0))

    def stack(self, index):
        return tuple(self.frame(i) for i in self.tables["stackTable"][index].get("locationIndices", []))


def otlp_kind(tables, profile):
    """(kind, what its values are to be multiplied by)"""
    def name(key):
        value_type = profile.get(key, {})
        return tables.text(value_type, "typeStrindex"), tables.text(value_type, "unitStrindex")

    kind, unit = name("sampleType")
    if (kind, unit) == ("samples", "count"):
        assert name("periodType") == ("cpu", "nanoseconds")
        return "cpu", int(profile["period"])
    assert unit == "nanoseconds"
    return kind, 1


def otlp_sample(tables, sample, service):
    """((stack, labels), value); its service is the resource's, and no label."""
    labels = tables.attributes(sample.get("attributeIndices", []))
    assert labels.pop("service.name", None) == service
    return (tables.stack(sample.get("stackIndex", 0)), tuple(sorted(labels.items()))), sum(map(int, sample["values"]))


def otlp_profiles(request):
    tables = Dictionary(request["dictionary"])
    for resource in request["resourceProfiles"]:
        labels = tables.pairs(resource["resource"]["attributes"])
        for scope in resource["scopeProfiles"]:
            for profile in scope["profiles"]:
                kind, unit = otlp_kind(tables, profile)
                samples = {key: value * unit for key, value in summed(
                    otlp_sample(tables, one, labels["service.name"]) for one in profile["samples"]).items()}
                yield {"service": labels["service.name"], "labels": labels, "kind": kind,
                       "time_ns": int(profile["timeUnixNano"]), "samples": samples}


# A Pyroscope that is asked back. There is none to install: PYROSCOPE names a program, PYROSCOPE_URL one that runs.


def why_no_pyroscope():
    """None if there is one to test against."""
    if os.environ.get("PYROSCOPE") or os.environ.get("PYROSCOPE_URL"):
        return None
    return "neither PYROSCOPE=/path/to/pyroscope nor PYROSCOPE_URL= is set"


told = []


def tell(words):
    """Has a line of what a server gave back stand in the summary of the tests."""
    told.append(words)


def summary():
    """Which servers there are to test against, and why not; what those gave back."""
    reasons = [(name, why_missing(name)) for name in ("collector", "pushreceiver")]
    reasons.append(("pyroscope", why_no_pyroscope()))
    there = "; ".join("%s: %s" % (name, "there" if why is None else "not tried: " + why) for name, why in reasons)
    return "\nservers: ".join([there] + told)


class Queries:
    """Asks a Pyroscope, in JSON."""

    def __init__(self, url, tenant=None):
        self.url, self.tenant = url.rstrip("/"), tenant

    def ask(self, call, **question):
        headers = {"Content-Type": "application/json", "Accept": "*/*; allow-utf8-labelnames=true"}
        if self.tenant:
            headers["X-Scope-OrgID"] = self.tenant
        now_ms = int(time.time() * 1000)
        question = dict({"start": now_ms - 3600 * 1000, "end": now_ms + 60 * 1000}, **question)
        request = urllib.request.Request("%s/querier.v1.QuerierService/%s" % (self.url, call),
                                         json.dumps(question).encode(), headers)
        with urllib.request.urlopen(request, timeout=60) as reply:
            return json.load(reply)

    def profile_types(self):
        return {one["ID"] for one in self.ask("ProfileTypes").get("profileTypes", [])}

    def label_values(self, name, service):
        return self.ask("LabelValues", name=name, matchers=['{service_name="%s"}' % service]).get("names", [])

    def merged(self, type_id, service):
        """{stack: value} of all profiles of a service."""
        answer = self.ask("SelectMergeProfile", profileTypeID=type_id, labelSelector='{service_name="%s"}' % service)
        strings = answer.get("stringTable", [])  # an empty answer has none
        functions = {one["id"]: one for one in answer.get("function", [])}

        def frames(location):
            for line in location.get("line", []):
                function = functions[line["functionId"]]
                yield (strings[int(function.get("name", 0))], strings[int(function.get("filename", 0))],
                       int(line.get("line", 0)))

        locations = {one["id"]: tuple(frames(one)) for one in answer.get("location", [])}
        return summed((tuple(frame for i in one.get("locationId", []) for frame in locations[i]),
                       int(one["value"][0])) for one in answer.get("sample", []))


class Pyroscope(Server):
    """The user's own program, with its data in the test's folder and nothing beyond the loopback."""

    def __init__(self, program, folder):
        http, grpc, gossip, raft = free_ports(4)
        here = "127.0.0.1"
        data = os.path.join(str(folder), "data")
        super().__init__([
            program, "-target=all", "-architecture.storage=v2",
            "-server.http-listen-address=" + here, "-server.http-listen-port=%d" % http,
            "-server.grpc-listen-address=" + here, "-server.grpc-listen-port=%d" % grpc,
            "-memberlist.bind-addr=" + here, "-memberlist.advertise-addr=" + here, "-memberlist.bind-port=%d" % gossip,
            "-metastore.address=%s:%d" % (here, grpc), "-metastore.raft.bind-address=%s:%d" % (here, raft),
            "-metastore.raft.advertise-address=%s:%d" % (here, raft),
            "-query-backend.address=%s:%d" % (here, grpc), "-query-frontend.instance-addr=" + here,
            "-metastore.data-dir=" + data + "/metastore", "-metastore.raft.dir=" + data + "/raft",
            "-storage.filesystem.dir=" + data + "/shared", "-pyroscopedb.data-path=" + data,
            "-segment-writer.lifecycler.addr=" + here, "-ingester.min-ready-duration=0",
            "-segment-writer.min-ready-duration=0", "-metastore.min-ready-duration=0",
            "-self-profiling.disable-push", "-usage-stats.enabled=false",
        ], folder)
        self.url = "http://%s:%d" % (here, http)

    def get_ready(self):
        self.wait_for_http(self.url + "/ready", lambda status: status == 200)


@contextlib.contextmanager
def pyroscope(folder):
    """The URL of the one to test against."""
    url = os.environ.get("PYROSCOPE_URL")
    if url:
        yield url
        return
    with Pyroscope(os.path.abspath(os.environ["PYROSCOPE"]), folder) as server:
        yield server.url
