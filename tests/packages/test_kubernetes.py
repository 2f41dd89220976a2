# SPDX-License-Identifier: Apache-2.0
"""The Kubernetes manifests: Kustomize takes them, Kubernetes knows all that is in them, and they ask
for no more than they say."""

import copy
import os
import re
import subprocess

import kubernetes
import pytest
import roots
import yaml
from conftest import BUILD, TREE, unavailable

FOLDER = os.path.join(TREE, "packaging", "kubernetes")
OVERLAYS = ["base", "pyroscope", "collector", "sidecar"]
AGENTS = ["base", "pyroscope", "collector"]


@pytest.fixture(scope="module")
def built():
    """What Kustomize makes of each folder."""
    try:
        program = kubernetes.kustomize(print)
    except roots.Unavailable as error:
        unavailable(str(error))
    return {name: list(yaml.safe_load_all(subprocess.run(
        [program, "build", os.path.join(FOLDER, name)], stdout=subprocess.PIPE, check=True).stdout)) for name in OVERLAYS}


@pytest.fixture(scope="module")
def schemas():
    try:
        return kubernetes.Schemas(print)
    except roots.Unavailable as error:
        unavailable(str(error))


def one(manifests, kind):
    return next(manifest for manifest in manifests if manifest["kind"] == kind)


def pod_of(manifests):
    daemon_set = [manifest for manifest in manifests if manifest["kind"] == "DaemonSet"]
    return daemon_set[0]["spec"]["template"]["spec"] if daemon_set else one(manifests, "Pod")["spec"]


@pytest.mark.parametrize("name", OVERLAYS)
def test_every_version_of_kubernetes_knows_all_that_is_in_it(built, schemas, name):
    assert len(schemas.versions) >= 3
    for version in (schemas.versions[0], schemas.versions[-1]):
        for manifest in built[name]:
            assert schemas.mistakes(version, manifest) == [], (version, manifest["kind"])


def test_the_check_finds_a_word_that_is_written_wrong(built, schemas):
    wrong = copy.deepcopy(one(built["base"], "DaemonSet"))
    wrong["spec"]["template"]["spec"]["hostPid"] = True

    assert "hostPid" in str(schemas.mistakes(schemas.versions[-1], wrong))


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_has_two_capabilities_and_writes_to_its_own_volumes_only(built, name):
    pod = pod_of(built[name])
    context = pod["containers"][0]["securityContext"]

    assert pod["hostPID"] and not pod.get("hostNetwork") and not pod.get("hostIPC")
    assert context["capabilities"] == {"drop": ["ALL"], "add": ["SYS_PTRACE", "DAC_READ_SEARCH"]}
    assert context["readOnlyRootFilesystem"] and not context["privileged"] and not context["allowPrivilegeEscalation"]
    assert not [volume for volume in pod["volumes"] if "hostPath" in volume]


def test_a_sidecar_has_no_rights_at_all(built):
    pod = pod_of(built["sidecar"])

    assert pod["shareProcessNamespace"] and pod["securityContext"]["runAsNonRoot"]
    for container in pod["containers"]:
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert not container["securityContext"]["allowPrivilegeEscalation"]


@pytest.mark.parametrize("name", OVERLAYS)
def test_the_settings_are_valid_where_they_are_mounted(built, name, tmp_path):
    """The files lie behind links, as the kubelet puts them."""
    maps = [manifest["data"] for manifest in built[name] if manifest["kind"] == "ConfigMap"]
    hidden = tmp_path / "..data" / "conf.d"
    hidden.mkdir(parents=True)
    for data in maps:
        for file_name, text in data.items():
            (hidden.parent if file_name == "pystrobe.ini" else hidden).joinpath(file_name).write_text(text)
    (tmp_path / "conf.d").symlink_to("..data/conf.d")
    (tmp_path / "pystrobe.ini").symlink_to("..data/pystrobe.ini")

    settings = subprocess.run([os.path.join(BUILD, "pystrobe"), "config", "-c", str(tmp_path / "pystrobe.ini")],
                              stdout=subprocess.PIPE, check=True).stdout.decode()

    expected = {"base": "store", "pyroscope": "pyroscope", "collector": "otlp", "sidecar": "pyroscope"}[name]
    assert re.findall(r"^type = (\w+)", settings, re.MULTILINE) == [expected]


def test_the_image_is_of_this_version(built):
    with open(os.path.join(TREE, "Makefile"), encoding="utf-8") as file:
        version = re.search(r"^VERSION := (.*)$", file.read(), re.MULTILINE)[1]
    images = [container["image"] for name in OVERLAYS for container in pod_of(built[name])["containers"]]

    assert [image for image in images if image.startswith("pystrobe")] == ["pystrobe:" + version] * len(OVERLAYS)
