# SPDX-License-Identifier: Apache-2.0
"""The Kubernetes manifests: Kustomize takes them, Kubernetes knows all that is in them, and they ask
for no more than they say."""

import copy
import json
import os
import re
import subprocess
import sys

import kubernetes
import pytest
import roots
from conftest import BUILD, TREE, unavailable
from kubernetes import one, pod_of
from machine import wait_until

sys.path.append(os.path.join(TREE, "tests", "integration"))
import servers  # noqa: E402

OVERLAYS = kubernetes.OVERLAYS
AGENTS = ["base", "pyroscope", "collector"]


@pytest.fixture(scope="module")
def schemas():
    try:
        return kubernetes.Schemas(print)
    except roots.Unavailable as error:
        unavailable(str(error))


@pytest.mark.parametrize("name", OVERLAYS)
def test_every_version_of_kubernetes_knows_all_that_is_in_it(manifests, schemas, name):
    assert len(schemas.versions) >= 3
    for version in (schemas.versions[0], schemas.versions[-1]):
        for manifest in manifests[name]:
            assert schemas.mistakes(version, manifest) == [], (version, manifest["kind"])


def test_the_check_finds_a_word_that_is_written_wrong(manifests, schemas):
    wrong = copy.deepcopy(one(manifests["base"], "DaemonSet"))
    wrong["spec"]["template"]["spec"]["hostPid"] = True

    assert "hostPid" in str(schemas.mistakes(schemas.versions[-1], wrong))


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_has_two_capabilities_and_writes_to_its_own_volumes_only(manifests, name):
    pod = pod_of(manifests[name])
    context = pod["containers"][0]["securityContext"]

    assert pod["hostPID"] and not pod.get("hostNetwork") and not pod.get("hostIPC")
    assert context["capabilities"] == {"drop": ["ALL"], "add": ["SYS_PTRACE", "DAC_READ_SEARCH"]}
    assert context["readOnlyRootFilesystem"] and not context["privileged"] and not context["allowPrivilegeEscalation"]
    assert not [volume for volume in pod["volumes"] if "hostPath" in volume]


@pytest.mark.parametrize("name", AGENTS)
def test_only_prometheus_may_connect_to_an_agent(manifests, name):
    """The kubelet may by itself."""
    policy, pods = one(manifests[name], "NetworkPolicy")["spec"], one(manifests[name], "DaemonSet")["spec"]["selector"]

    assert policy["podSelector"] == pods and policy["policyTypes"] == ["Ingress"]
    assert [list(peer) for rule in policy["ingress"] for peer in rule["from"]] == [["namespaceSelector"]]
    assert [port["port"] for rule in policy["ingress"] for port in rule["ports"]] == ["http"]


def test_a_sidecar_has_no_rights_at_all(manifests):
    pod = pod_of(manifests["sidecar"])

    assert pod["shareProcessNamespace"] and pod["securityContext"]["runAsNonRoot"]
    for container in pod["containers"]:
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert not container["securityContext"]["allowPrivilegeEscalation"]


@pytest.mark.parametrize("name", OVERLAYS)
def test_the_settings_are_valid_where_they_are_mounted(manifests, name, tmp_path):
    """The files lie behind links, as the kubelet puts them."""
    kubernetes.mount_settings(manifests[name], tmp_path)

    settings = subprocess.run([os.path.join(BUILD, "pystrobe"), "config", "-c", str(tmp_path / "pystrobe.ini")],
                              stdout=subprocess.PIPE, check=True).stdout.decode()

    expected = {"base": "store", "pyroscope": "pyroscope", "collector": "otlp", "sidecar": "pyroscope"}[name]
    assert re.findall(r"^type = (\w+)", settings, re.MULTILINE) == [expected]


def test_the_image_is_of_this_version(manifests):
    with open(os.path.join(TREE, "Makefile"), encoding="utf-8") as file:
        version = re.search(r"^VERSION := (.*)$", file.read(), re.MULTILINE)[1]
    images = [container["image"] for name in OVERLAYS for container in pod_of(manifests[name])["containers"]]

    assert [image for image in images if image.startswith("pystrobe")] == ["pystrobe:" + version] * len(OVERLAYS)


WORKS = """
import time
end = time.monotonic() + 3
while time.monotonic() < end: sum(range(1000))
"""


def values_of(name):
    yaml = pytest.importorskip("yaml")
    with open(os.path.join(TREE, "packaging", "kubernetes", name, "values.yaml"), encoding="utf-8") as file:
        return yaml.safe_load(file)


def test_a_collector_with_the_values_hands_on_what_the_settings_send(tmp_path):
    """All but addresses is as it stands there, and a file beside."""
    why = servers.why_missing("collector") or servers.why_missing("pushreceiver")
    if why:
        unavailable(why)
    values = values_of("collector")
    config = values["config"]
    with open(os.path.join(TREE, "packaging", "kubernetes", "collector", "exporter.ini"), encoding="utf-8") as file:
        ini = file.read()

    def settings(port, out):
        config["receivers"]["otlp"]["protocols"]["http"]["endpoint"] = "127.0.0.1:%d" % port
        config["exporters"]["otlp"]["endpoint"] = pushes.url.split("//")[1]
        config["exporters"]["file"] = {"path": out, "flush_interval": "100ms"}
        config["service"]["pipelines"]["profiles"]["exporters"].append("file")
        config["service"]["telemetry"] = {"metrics": {"level": "none"}}
        return json.dumps(config)

    with servers.PushReceiver(tmp_path / "pushes") as pushes, \
            servers.Collector(tmp_path, settings, values["command"]["extraArgs"]) as collector:
        (tmp_path / "exporter.ini").write_text(re.sub("(?m)^url = .*", "url = " + collector.url, ini))
        subprocess.run([os.path.join(BUILD, "pystrobe"), "exec", "-c", tmp_path / "exporter.ini", "-n", "shop", "--",
                        "/usr/bin/python3", "-c", WORKS], check=True)
        wait_until("the collector has written it", collector.kept)
        kept = collector.kept()
        wait_until("the collector has handed it on", lambda: len(pushes.files("")) >= len(kept))
        labels = [about["labels"] for _, about in pushes.files("")]

    assert {profile["service"] for profile in kept} == {"shop"}
    assert {one["service_name"] for one in labels} == {"shop"} and all("process.runtime.version" in one for one in labels)
