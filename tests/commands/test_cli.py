"""The command line as a whole: help, examples, completion, starting time."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kgagg.cli import main, parser
from kgagg.data.datasets import fetch
from kgagg.data.registry import find
from kgagg.errors import Unavailable

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent


VERBS = {verb.prog.removeprefix("kgagg "): verb for verb in parser().leaves()}
# these need Java and time
SLOW = ("mine anyburl", "mine amie")


def example(verb: argparse.ArgumentParser) -> str:
    return (verb.epilog or "").removeprefix("example: ")


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    bash = ["bash", "-euo", "pipefail", "-c", command]
    return subprocess.run(bash, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_has_help_with_an_example(name: str) -> None:
    verb = VERBS[name]
    assert f"kgagg {name}" in example(verb)
    text = verb.format_help()
    options = {option for action in verb._actions for option in action.option_strings}
    assert {"--json", "--threads", "-q", "--quiet", "-v", "--verbose"} <= options
    assert all(action.help for action in verb._actions if action.option_strings), text


def test_the_examples_run_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each may use what those before it wrote."""
    try:
        for name in ("umls", "nations"):
            fetch(find(name), quiet=True)
    except Unavailable as reason:
        pytest.skip(str(reason))
    for name in ("config/claims.yaml", "envs/requirements.lock", "Snakefile"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "queries.txt").write_text("vitamin treats ?\n")
    monkeypatch.chdir(tmp_path)
    for name, verb in VERBS.items():
        if name in SLOW:
            continue
        if "$(" in example(verb):
            assert run(example(verb), tmp_path).returncode == 0
            continue
        for command in example(verb).split(" && "):
            program, *words = shlex.split(command)
            assert program == "kgagg"
            assert main(words) == 0, f"{command}\n{capsys.readouterr().err}"


def test_every_run_can_be_recorded_and_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "record.json"
    call = ["completion", "bash", "--json", str(record), "--threads", "1", "--verbose"]
    assert main(call) == 0
    written = json.loads(record.read_text())
    assert written["settings"] == {"shell": "bash", "threads": 1}
    assert written["seconds"]["total"] > 0
    assert written["peak_rss_mb"] > 0
    assert re.fullmatch(r"total [0-9.]+ s; [0-9,]+ MB\n", capsys.readouterr().err)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["evalute"], "argument VERB: evalute: expected demo, .*; did you mean evaluate?"),
        (["evaluate"], "the following arguments are required: DATA, RULES"),
        (["stats", "x", "--threads", "0"], "argument --threads: 0: expected at least 1"),
        (["stats", "x", "--picture", "a.pdf"], "a.pdf: expected a name that ends in .svg or .png"),
        (["mine", "nativ"], "argument MINER: nativ: expected anyburl, .*; did you mean native?"),
    ],
)
def test_a_wrong_call_is_told_in_one_line(
    words: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("kgagg: error: ")
    assert re.search(expected.replace("?", "[?]"), line)
    assert line.endswith("--help)")


def test_help_loads_nothing_heavy() -> None:
    script = """
import sys
before = set(sys.modules)
from kgagg.cli import main
try:
    main(["--help"])
except SystemExit:
    pass
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
print(*loaded - set(sys.stdlib_module_names), file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert "usage: kgagg" in done.stdout
    assert done.stderr.split() == ["kgagg"]


def test_what_is_not_installed_is_told(
    world: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.startswith(("matplotlib", "kgagg.report."))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["stats", str(world), "--picture", str(world / "degrees.svg")]) == 1
    assert capsys.readouterr().err == "kgagg: error: needs matplotlib: pip install matplotlib\n"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["kgagg", "ra"], {"rank"}),
        (["kgagg", "mine", "na"], {"native"}),
        (["kgagg", "evaluate", "umls", "--spl"], {"--split"}),
        (["kgagg", "rank", "umls", "rules.txt", "--split", "v"], {"valid"}),
        (["kgagg", "stats", "nat"], {"nations", "native.d"}),
    ],
)
def test_bash_completes(tmp_path: Path, words: list[str], expected: set[str]) -> None:
    (tmp_path / "native.d").mkdir()
    script = f"""
        set +eu
        source <(kgagg completion bash)
        COMP_WORDS=({" ".join(words)}) COMP_CWORD={len(words) - 1} COMPREPLY=()
        $(complete -p kgagg | grep -oP '(?<=-F )\\S+')
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = run(script, tmp_path)
    assert set(done.stdout.split()) == expected, done.stderr


def test_zsh_has_a_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "zsh"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("#compdef kgagg")
    assert "_kgagg_data" in printed
