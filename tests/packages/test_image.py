# SPDX-License-Identifier: Apache-2.0
"""The image that the Dockerfile describes: what it needs, and that it does its work by runc with the rights
that the manifests ask for, and no other."""

import collections
import json
import os
import pathlib
import re
import subprocess

import engine as engines
import kubernetes
import machine as machines
import pytest
import roots
import runc
from conftest import BUILD, TREE, built, unavailable
from machine import wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
GLIBC = (2, 34)  # as packaging/docker/README.md says
BUILD_IMAGE = "docker image inspect pystrobe >/dev/null 2>&1 || docker build -f packaging/docker/Dockerfile -t pystrobe ."
OWNER = 1000
BURN = "import time\ndef spin_here():\n    while time.process_time() < 2: sum(range(1000))\nspin_here()"
CAPABILITY_BITS = {"CAP_SYS_PTRACE": 19, "CAP_DAC_READ_SEARCH": 2}


Image = collections.namedtuple("Image", "root entrypoint command")


@pytest.fixture(scope="module")
def image(engine):
    why = runc.why_not()
    if why:
        unavailable(why)
    root = os.path.join(BUILD, "packages", "image")
    engine.do(BUILD_IMAGE, folder=engines.SOURCE, stdout=engine.log_file)
    said = engine.run("docker image inspect pystrobe", stdout=subprocess.PIPE).stdout
    roots.remove(root, engine.log_file)
    engine.unpack("pystrobe", root)
    config = json.loads(said)[0]["Config"]
    yield Image(root, config["Entrypoint"], config["Cmd"])
    roots.remove(root, engine.log_file)


@pytest.fixture(scope="module")
def pythons_image():
    """The files of an image that somebody else made: with a Python, without anything of ours."""
    return roots.ensure(machines.SUITE, "booted", machines.PACKAGES, True, print)


@pytest.fixture
def container(tmp_path):
    """container(root) is one on these files; all end with the test."""
    made = []

    def make(root):
        folder = tmp_path / ("container%d" % len(made))
        folder.mkdir()
        made.append(runc.Container(folder, root))
        return made[-1]

    yield make
    for one in reversed(made):
        one.stop()


def functions(store, service):
    """The names in the profiles that a store has of a service."""
    done = subprocess.run([os.path.join(BUILD, "pystrobe"), "report", "--json", "--store", str(store), "--service",
                           service], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return {one["func"] for one in json.loads(done.stdout)["functions"]} if done.returncode == 0 else set()


def test_the_program_needs_glibc_and_nothing_else(image):
    program = image.root + "/usr/bin/pystrobe"
    needed = re.findall(r"\(NEEDED\).*\[(\w+)", subprocess.run(["readelf", "-dW", program], stdout=subprocess.PIPE,
                                                                check=True).stdout.decode())
    symbols = subprocess.run(["readelf", "-VW", program], stdout=subprocess.PIPE, check=True).stdout.decode()
    versions = {tuple(map(int, match.split("."))) for match in re.findall(r"\bGLIBC_([\d.]+)", symbols)}

    assert set(needed) <= {"libc", "ld"}
    assert versions and max(versions) <= GLIBC
    print("%d bytes, glibc %d.%d" % (os.path.getsize(program), *max(versions)))


def test_its_entrypoint_is_the_program_and_its_settings_are_there(image, container):
    one = container(image.root)
    check = image.entrypoint + ["check", "-c", image.command[-1]]
    state = one.folder / "state"
    state.mkdir()

    version = one.run(image.entrypoint + ["--version"])
    checked = one.run(check, mounts=[(state, "/var/lib/pystrobe", "rw")])
    without_volume = one.run(check)

    assert (without_volume.returncode, "mounted read-only" in without_volume.stderr) == (1, True)
    assert version.returncode == 0 and version.stdout.startswith("pystrobe ")
    assert image.command[0] == "agent" and checked.returncode == 0, checked.stderr
    libraries = one.run(["/sbin/ldconfig", "-p"]).stdout
    assert not [name for name in ("libcurl.so.4", "libmicrohttpd.so.12", "libncursesw.so.6") if name not in libraries]


def two_lines(path):
    """Of the recipe: the program here, the program there, and what comes before the command."""
    with open(path, encoding="utf-8") as file:
        copy, entrypoint = re.search(r"^```dockerfile\n(COPY .*)\n(ENTRYPOINT .*)\n```$", file.read(), re.MULTILINE).groups()
    words = json.loads(entrypoint.partition(" ")[2])
    return (*copy.split()[-2:], words[:words.index("--") + 1])


@pytest.mark.parametrize("user", [0, OWNER])
def test_another_image_takes_two_lines(image, container, pythons_image, user):
    """One copies the program, the other puts it in front of the command: as both READMEs have them."""
    here, there, front = two_lines(os.path.join(TREE, "README.md"))
    assert (here, there, front) == two_lines(os.path.join(TREE, "packaging", "docker", "README.md"))
    one = container(pythons_image)
    bin_folder = one.folder / "bin"
    bin_folder.mkdir()
    subprocess.run(["cp", image.root + here, str(bin_folder / os.path.basename(there))], check=True)

    done = one.run(front + ["python3", "-c", BURN], user=user, mounts=[(bin_folder, os.path.dirname(there), "ro")],
                   env=["PYSTROBE_EXPORTER_OWN_TYPE=store", "PYSTROBE_EXPORTER_OWN_PATH=/run/store", "OTEL_SERVICE_NAME=app"])

    assert (done.returncode, done.stderr) == (0, "")
    assert "spin_here" in functions(one.folder / "run" / "store", "app")


# By the manifests

def mounts_of(pod, container_spec, folder, found):
    """The volumes of a pod as folders here; the settings are those of its config maps."""
    mounts = []
    for mount in container_spec["volumeMounts"]:
        volume = folder / mount["name"]
        if not volume.exists():
            volume.mkdir(mode=0o777)
            volume.chmod(0o777)
        if mount["name"] == "config":
            kubernetes.mount_settings(found, volume)
        mounts.append((volume, mount["mountPath"], "ro" if mount.get("readOnly") else "rw"))
    assert {one["name"] for one in pod["volumes"]} == {one["name"] for one in container_spec["volumeMounts"]}
    return mounts


def rights_of(pod, container_spec):
    """What the kubelet would ask a runtime for."""
    context = dict(pod.get("securityContext", {}), **container_spec["securityContext"])
    assert context["seccompProfile"] == {"type": "RuntimeDefault"} and context["readOnlyRootFilesystem"]
    assert context["capabilities"]["drop"] == ["ALL"]
    return {"user": context["runAsUser"], "no_new_privileges": not context["allowPrivilegeEscalation"],
            "capabilities": ["CAP_" + name for name in context["capabilities"].get("add", [])],
            "host_pids": pod.get("hostPID", False)}


def start_application(container, root, env=()):
    """A pod's Python, as another user; gives its pid."""
    app = container(root)
    (app.folder / "run" / "spin.py").write_bytes(pathlib.Path(HERE, "spin.py").read_bytes())
    process = app.start(["python3", "/run/spin.py"], user=OWNER, capabilities=[], no_new_privileges=True, env=env,
                        cgroup="/kubepods/pod%d/app" % os.getpid())
    wait_until("the application runs", lambda: app.pid() or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    return app.pid()


def start_agent(container, image, found, spec, tmp_path, **options):
    """The agent of a manifest; gives its container and the folder of its state."""
    pod = kubernetes.pod_of(found)
    agent = container(image.root)
    quick = ["PYSTROBE_AGENT_INTERVAL=2s", "PYSTROBE_EXPORTER_OWN_TYPE=store",
             "PYSTROBE_EXPORTER_OWN_PATH=/var/lib/pystrobe/own"]
    process = agent.start(image.entrypoint + spec["args"], mounts=mounts_of(pod, spec, tmp_path, found), env=quick,
                          **rights_of(pod, spec), **options)
    wait_until("the agent runs", lambda: agent.pid() or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    return agent, tmp_path / "state"


def status_of(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file)


def test_the_agent_of_a_node_reads_the_processes_of_pods(image, container, pythons_image, manifests, tmp_path):
    found = manifests["base"]
    spec = kubernetes.pod_of(found)["containers"][0]
    start_application(container, pythons_image)

    agent, state = start_agent(container, image, found, spec, tmp_path)

    wait_until("the application is in the store", lambda: "spin_here" in functions(state / "own", "spin"))
    rights = status_of(agent.pid())
    assert int(rights["CapEff"], 16) == sum(1 << bit for bit in CAPABILITY_BITS.values())
    assert (rights["NoNewPrivs"], rights["Seccomp"]) == ("1", "2")


def test_a_sidecar_reads_its_neighbour_without_any_right(image, container, pythons_image, manifests, tmp_path):
    found = manifests["sidecar"]
    spec = next(one for one in kubernetes.pod_of(found)["containers"] if one["name"] == "pystrobe")
    pid = start_application(container, pythons_image, ["OTEL_SERVICE_NAME=shop"])

    agent, state = start_agent(container, image, found, spec, tmp_path, pids_of=pid)

    wait_until("the application is in the store", lambda: "spin_here" in functions(state / "own", "shop"))
    rights = status_of(agent.pid())
    assert int(rights["CapEff"], 16) == int(rights["CapBnd"], 16) == 0 and rights["Uid"].split()[1] == str(OWNER)
