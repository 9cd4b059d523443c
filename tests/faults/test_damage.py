"""Damaged files are refused in one line, or give the same results: nothing else ever comes of them.

``KGAGG_FAULTS=N`` sets how many files are damaged.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from damage import KINDS, make_files

from kgagg.cli import main
from kgagg.util.machine import processors

CASES = int(os.environ.get("KGAGG_FAULTS", "550"))
# a program that says nothing for so long hangs
PATIENCE = 600
TESTS = Path(__file__).parents[1]


@pytest.fixture
def files(world: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    make_files(world, folder)
    return folder


def campaign(folder: Path, kind: str, cases: int) -> list[tuple[str, str]]:
    """What was done to each file, and what came of it; a crash ends a program, not the campaign."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])}
    found: list[tuple[str, str]] = []
    while len(found) < cases:
        call = [
            sys.executable,
            "-m",
            "damage",
            str(folder),
            kind,
            str(len(found)),
            str(cases),
        ]
        try:
            done = subprocess.run(
                call, capture_output=True, text=True, env=environment, timeout=PATIENCE, check=False
            )
            lines, end = done.stdout, f"crash: {done.returncode} {done.stderr}"
        except subprocess.TimeoutExpired as slow:
            lines, end = (slow.stdout or b"").decode(), "hang"
        told = [json.loads(line) for line in lines.splitlines()]
        found += [(what, result) for what, result in told if result is not None]
        if len(found) < cases:
            found.append((told[-1][0] if told else "start", end))
    return found


def test_damage_is_refused_or_changes_nothing(files: Path) -> None:
    share = -(-CASES // len(KINDS))
    with ThreadPoolExecutor(processors()) as pool:
        every = list(pool.map(lambda kind: campaign(files, kind, share), KINDS))
    bad = []
    for kind, found in zip(KINDS, every, strict=True):
        counts = Counter(
            f"{'forged and ' * what.startswith('forge')}{result.split(':')[0]}"
            for what, result in found
        )
        print(f"{kind}: {len(found)} files,", ", ".join(f"{n} {x}" for x, n in counts.items()))
        # what is out of range is always noticed; other numbers are another file
        good = {"craft": ("refused",), "forge": ("refused", "same", "different")}
        bad += [
            (kind, what, result)
            for what, result in found
            if result not in good.get(what.split()[0], ("refused", "same"))
        ]
        assert counts["refused"]
    assert not bad, "\n".join(" ".join(case) for case in bad[:20])


@pytest.mark.parametrize("kind", ["rules", "table", "firings", "safran"])
def test_commands_tell_damage_in_one_line(
    world: Path, files: Path, tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / ("firings.parquet" if kind == "firings" else f"{kind}.kgagg")
    data = bytearray((files / kind).read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    rules, out = files / "rules.txt", ["-q", "--out", tmp_path / "out"]
    tuned = ["--strategy", "tuned"]
    calls = {
        "firings": [["aggregate", path, "--strategies", "max", "--ranks", tmp_path / "out"]],
        "safran": [
            ["evaluate", world, rules, "-q", "--strategies", path],
            ["rank", world, rules, "--strategy", path, *out],
        ],
    }
    usual = [
        ["rules", path],
        ["evaluate", world, path, "-q"],
        *([verb, world, path, *out] for verb in ("rank", "predict", "apply")),
        ["fit", world, path, *tuned, *out],
    ]
    capsys.readouterr()
    for call in calls.get(kind, usual):
        assert main(list(map(str, call))) == 2
        output = capsys.readouterr()
        (line,) = output.err.splitlines()
        assert line.startswith(f"kgagg: error: {path}: damaged: ")
        assert not output.out
        assert not (tmp_path / "out").exists()
