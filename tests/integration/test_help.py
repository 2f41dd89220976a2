# SPDX-License-Identifier: Apache-2.0
"""What every command says of itself: its help, what it does not know, and that the manual says the same."""

import json
import os
import re
import subprocess

import pytest

import live

MANUAL = os.path.join(live.TREE, "packaging", "man", "pystrobe.8")
COMMANDS = ["agent", "exec", "record", "top", "dump", "report", "status", "reload", "burst", "doctor", "check", "config",
            "spool", "bundle"]
WIDE = 80


def run(pystrobe, *words):
    return subprocess.run([*pystrobe.words, pystrobe.path, *words], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=live.DEADLINE_S)


def options_in_help(text):
    """Long options that have an entry."""
    return {name for line in re.findall(r"^ {1,8}(-[^ ].*?)(?:  |$)", text, re.MULTILINE)
            for name in re.findall(r"--([a-z][a-z-]*)", line)} - {"help"}


def options_in_manual(command):
    """Long options that have an entry below that command."""
    with open(MANUAL, encoding="utf-8") as file:
        text = file.read().split(".Sh DESCRIPTION")[1].split(".Sh FORMATS")[0]
    part = re.search(r"^\.It Cm %s$(.*?)(?=^\.It Cm (?:%s)$|^\.It Fl -version)" % (command, "|".join(COMMANDS)), text,
                     re.MULTILINE | re.DOTALL)[1]
    return {name for line in re.findall(r"^\.It Fl (.*)$", part, re.MULTILINE)
            for name in re.findall(r"(?:^|[ ,])(?:Fl )?-([a-z][a-z-]+)", line)}


def test_the_commands_are_those_of_the_help(pystrobe):
    done = run(pystrobe, "--help")
    commands = done.stdout.partition("Commands:\n")[2].partition("\n\n")[0]

    assert done.returncode == 0 and re.findall(r"^  ([a-z]+) +[a-z].*", commands, re.MULTILINE) == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_short_on_stdout_and_has_an_example(pystrobe, command):
    done = run(pystrobe, command, "--help")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: pystrobe %s" % command) and "\nExample" in done.stdout
    assert not [line for line in done.stdout.splitlines() if len(line) > WIDE]


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_not_known_is_64_with_a_hint_on_stderr(pystrobe, command):
    done = run(pystrobe, command, "--no-such-option")

    assert (done.returncode, done.stdout) == (64, "")
    assert "no-such-option" in done.stderr and "see pystrobe %s --help" % command in done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_parser_help_and_manual_know_the_same_options(pystrobe, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # one of them takes the next word for a file's name
    in_help = options_in_help(run(pystrobe, command, "--help").stdout)

    assert in_help == options_in_manual(command)
    for name in in_help:
        assert "unrecognized" not in run(pystrobe, command, "--" + name, "--no-such-option").stderr.replace(
            "unrecognized option '--no-such-option'", ""), name


def test_help_of_a_command_is_the_same_by_both_ways(pystrobe):
    asked = run(pystrobe, "help", "record")

    assert asked.returncode == 0 and asked.stdout == run(pystrobe, "record", "--help").stdout
    assert run(pystrobe, "help").stdout == run(pystrobe, "--help").stdout
    assert run(pystrobe, "help", "recrod").returncode == 64


@pytest.mark.parametrize("words, said", [
    (["recrod"], "command 'recrod' is not known; did you mean 'record'?"),
    (["help", "dmup"], "command 'dmup' is not known; did you mean 'dump'?"),
    (["zzz"], "command 'zzz' is not known; pystrobe --help lists them"),
    (["--verison"], "option '--verison' is not known; did you mean '--version'?"),
    (["hlep"], "command 'hlep' is not known; did you mean 'help'?"),
    (["--pid", "1", "dump"], "option '--pid' is not known; options of a command come after it: pystrobe COMMAND [OPTIONS]"),
    (["record", "--chldren"], "record: unrecognized option '--chldren'; did you mean '--children'?"),
    (["record", "--chldren=3"], "record: unrecognized option '--chldren'; did you mean '--children'?"),
    (["record", "--s"], "record: ambiguous option '--s'"),
    (["record", "-Z"], "record: unrecognized option '-Z'"),
    (["record", "--pid"], "record: option '--pid' needs a value"),
    (["record", "-p"], "record: option '--pid' needs a value"),
    (["record", "--children=3"], "record: option '--children' takes no value"),
    (["record", "--help=3"], "record: option '--help' takes no value"),
    (["record", "--" + "x" * 100], "record: unrecognized option '--%s'" % ("x" * 63)),
    (["dump", "--mode", "cpuu"], "--mode is one of wall, cpu, gil, exception, not 'cpuu'; did you mean 'cpu'?"),
])
def test_what_is_misspelt_is_told_with_the_nearest_word(pystrobe, words, said):
    done = run(pystrobe, *words)

    assert (done.returncode, done.stdout) == (64, "")
    assert done.stderr.splitlines()[0] == "pystrobe: " + said
    assert all(line.startswith("pystrobe: ") for line in done.stderr.splitlines())


def letters_of(pystrobe, command):
    """{letter: long option} of a command's help."""
    return dict(re.findall(r"^ {1,8}-([A-Za-z]), --([a-z-]+)", run(pystrobe, command, "--help").stdout, re.MULTILINE))


def test_a_letter_means_the_same_in_all_commands(pystrobe):
    """-N is a number of what is shown: of updates for top, of functions for report."""
    meanings = {}
    for command in COMMANDS:
        for letter, option in letters_of(pystrobe, command).items():
            meanings.setdefault(letter, set()).add({"iterations": "top"}.get(option, option))

    assert {letter: options for letter, options in meanings.items() if len(options) > 1} == {}
    assert meanings["c"] == {"config"} and meanings["j"] == {"json"}


@pytest.mark.parametrize("words", [["record", "-c", "--pid", "x"], ["top", "-c", "-d", "1s", "-n", "2", "--pid", "x"],
                                   ["exec", "-n", "x", "-g", "--rate", "x"], ["report", "-n", "3", "-t", "cpu", "-d", "--since", "x"],
                                   ["spool", "-d", "x", "--no-such"]])
def test_letters_of_earlier_versions_still_work(pystrobe, words):
    done = run(pystrobe, *words)

    assert "unrecognized option '-" not in done.stderr.replace("'--no-such'", "") and done.returncode == 64


def manual_text():
    with open(MANUAL, encoding="utf-8") as file:
        return file.read()


@pytest.mark.parametrize("command", COMMANDS)
def test_the_synopsis_has_all_options_by_their_letters(pystrobe, command):
    """An option stands there by its letter if it has one."""
    synopsis = manual_text().split(".Sh SYNOPSIS\n")[1].split(".Sh DESCRIPTION")[0]
    (block,) = re.findall(r"^\.Cm %s$(.*?)^\.Nm$" % command, synopsis, re.MULTILINE | re.DOTALL)
    letters, found = letters_of(pystrobe, command), []
    for word in re.findall(r"\bFl ([A-Za-z-]+)", block):
        found += [word[1:]] if word[0] == "-" else [letters.get(letter, letter) for letter in word]
    by_letter = {option for letter, option in letters.items() if option != "help"}

    assert sorted(name for name in found if name) == sorted(options_in_help(run(pystrobe, command, "--help").stdout))
    assert not by_letter & {word[1:] for word in re.findall(r"\bFl (-[a-z-]+)", block)}


def frames_in_sources():
    """Names of frames in angle brackets that the sources have."""
    found = set()
    for folder in ("agent", "formats", "pprof", "unwind"):
        for path, _, names in os.walk(os.path.join(live.TREE, folder)):
            for name in names:
                if name.endswith((".c", ".h")):
                    with open(os.path.join(path, name), encoding="utf-8") as file:
                        found |= set(re.findall(r'"(<(?:native|GC|task|[A-Za-z.]+ [^"<>=\\]+)>)"', file.read()))
    return {re.sub(r"%zu|\b\d+\b", "N", name.replace("%.100s", "NAME")) for name in found}


def test_the_manual_explains_each_frame_in_angle_brackets():
    section = manual_text().split(".Sh FRAMES\n")[1].split("\n.Sh ")[0]
    explained = {name for line in re.findall(r"^\.It Li (.*)$", section, re.MULTILINE) for name in re.findall(r"<[^>]*>", line)}
    frames = frames_in_sources()

    assert len(frames) >= 15 and frames - explained == set()


def test_the_version_is_told_to_people_and_to_programs(pystrobe):
    text, parsed = run(pystrobe, "--version"), json.loads(run(pystrobe, "--version", "--json").stdout)

    assert text.stdout.startswith("pystrobe %s (%s, " % (parsed["version"], parsed["revision"]))
    assert parsed["cpython"] == "3.6 to 3.15" and parsed["libraries"]["libcurl"] in text.stdout
    assert re.fullmatch(r"\d+\.\d+\.\d+", parsed["version"])
    assert re.search(r"(gcc|clang) .*\d+\.\d+", parsed["compiler"], re.I) and parsed["compiler"] in text.stdout
