# SPDX-License-Identifier: Apache-2.0
"""The shells offer what the program has: each command, and each option of each command."""

import os
import pty
import re
import select
import shutil
import subprocess
import time

import pytest
from conftest import BUILD, TREE, unavailable

FOLDER = os.path.join(TREE, "packaging", "completions")
PROGRAM = os.path.join(BUILD, "pystrobe")
ENVIRONMENT = dict(os.environ, PATH=BUILD + ":" + os.environ["PATH"], LC_ALL="C.UTF-8")
ZSH_S = 60


def help_of(*words):
    return subprocess.run([PROGRAM] + list(words) + ["--help"], stdout=subprocess.PIPE, check=True).stdout.decode()


def commands():
    return set(re.findall(r"^  ([a-z]+) +\S", help_of().split("Commands:")[1].split("\n\n")[0], re.MULTILINE))


def options(command):
    """The long options that a command takes, as its help lists them."""
    lines = [line.split("  ")[0] for line in re.findall(r"^ {2,}(-.*)", help_of(command), re.MULTILINE)]
    return {name for line in lines for name in re.findall(r"--[a-z-]+", line)}


@pytest.fixture(params=["bash", "fish"])
def offered(request):
    """offered(LINE): the words that a shell offers at the end of a line."""
    shell = request.param
    if not shutil.which(shell):
        unavailable("%s is not installed" % shell)
    script = {
        "bash": 'source "$1/pystrobe.bash"; read -ra COMP_WORDS <<<"$2"; [[ $2 != *" " ]] || COMP_WORDS+=("");'
                'COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _pystrobe; printf "%s\\n" "${COMPREPLY[@]}"',
        "fish": "source $argv[1]/pystrobe.fish; complete -C $argv[2]",
    }[shell]
    words = {"bash": ["bash", "--norc", "-c", script, "bash"], "fish": ["fish", "--no-config", "-c", script]}[shell]

    def ask(line):
        out = subprocess.run(words + [FOLDER, line], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=ENVIRONMENT,
                             check=True).stdout.decode()
        return {one.split("\t")[0] for one in out.splitlines()}

    return ask


def test_offers_each_command(offered):
    assert len(commands()) >= 10
    assert commands() <= offered("pystrobe ")


@pytest.mark.parametrize("command", sorted(commands()) if os.path.exists(PROGRAM) else [])
def test_offers_each_option(offered, command):
    assert options(command) <= offered("pystrobe %s --" % command)


def test_offers_files_and_other_programs(offered):
    assert "/etc/passwd" in offered("pystrobe config -c /etc/pass")
    assert "cat" in offered("pystrobe exec -- ca")


def test_offers_what_an_option_takes(offered):
    sleeper = subprocess.Popen(["sleep", "100"])
    try:
        pids = offered("pystrobe dump --pid ")
    finally:
        sleeper.kill()
        sleeper.wait()
    assert str(os.getpid()) in pids and str(sleeper.pid) not in pids
    assert {"pprof", "flame", "speedscope"} <= offered("pystrobe report --format ")
    assert {"wall", "cpu", "gil", "exception"} <= offered("pystrobe record --mode ")
    assert {"process", "thread", "none"} <= offered("pystrobe record --split ")
    assert {"cpu", "wall", "wait"} <= offered("pystrobe report --type ")
    assert {"error", "debug"} <= offered("pystrobe agent --log-level ")
    assert {"text", "json"} <= offered("pystrobe exec --log-format ")


def test_offers_each_of_several_words(offered):
    assert {"wall,cpu", "wall,gil"} <= offered("pystrobe record --mode wall,")
    assert "wall,cpu" in offered("pystrobe record --mode wall,c")


def test_offers_what_a_command_takes_without_an_option(offered):
    assert commands() <= offered("pystrobe help ")
    assert {"ls", "cat", "push", "rm"} <= offered("pystrobe spool ")
    assert str(os.getpid()) in offered("pystrobe burst ") & offered("pystrobe dump ")


def drive_zsh(line):
    """What zsh prints when the line is typed and Tab pressed twice."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe("zsh", ["zsh", "-f"], dict(ENVIRONMENT, TERM="dumb", COLUMNS="300", LINES="100"))
    text, end = "", time.monotonic() + ZSH_S
    setup = "fpath=(%s $fpath); autoload -U compinit; compinit -u -D; PROMPT='ready''> '\n" % FOLDER
    os.write(terminal, setup.encode())

    def read_until(pattern):
        nonlocal text
        while not re.search(pattern, text, re.DOTALL):
            assert time.monotonic() < end, "zsh says %r" % text
            if select.select([terminal], [], [], 0.2)[0]:
                text += os.read(terminal, 65536).decode(errors="replace")

    try:
        read_until("ready> ")
        text = ""
        os.write(terminal, line.encode() + b"\t\t")
        read_until(r"ready> .*%s|%s.*\n.*-- .*" % ((re.escape(line.strip()),) * 2))
        settle = time.monotonic() + 1
        while time.monotonic() < settle:
            if select.select([terminal], [], [], 0.2)[0]:
                text += os.read(terminal, 65536).decode(errors="replace")
                settle = time.monotonic() + 1
    finally:
        os.close(terminal)
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    return text


def test_zsh_offers_commands_and_options():
    if not shutil.which("zsh"):
        unavailable("zsh is not installed")
    for line, expected in (("pystrobe ", commands()), ("pystrobe dump --", options("dump"))):
        shown = drive_zsh(line)
        assert all(re.search(r"(^|\s)%s\s" % re.escape(word), shown) for word in expected), shown
