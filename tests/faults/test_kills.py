"""Commands that are killed at any moment: old files stay, and the next run gives the same.

``KGAGG_FAULTS=N`` sets how many faults there are: a kill for each hundred.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from test_damage import CASES

from kgagg.cli import main
from kgagg.graph.graph import Graph

KGAGG = Path(sys.executable).with_name("kgagg")
SEED = 21
WRITING = {
    "rank.tsv": "rank {data} {rules} --out {out}",
    "facts.csv": "predict {data} {rules} --out {out}",
    "firings.parquet": "apply {data} {rules} --out {out}",
    "tuned.kgagg": "fit {data} {rules} --strategy tuned --out {out}",
    "mined.txt": "mine native {data} --out {out} --max-length-cyclic 2",
    "rules.kgagg": "rules {rules} --to {out}",
}


def arguments(name: str, world: Path, out: Path) -> list[str]:
    filled = WRITING[name].format(data=world, rules=world / "rules.txt", out=out)
    return [*filled.split(), "-q"]


@pytest.mark.parametrize("name", WRITING)
def test_a_kill_leaves_the_old_file_or_the_new_one(
    world: Path, tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    folder = tmp_path_factory.mktemp("kills")
    out = folder / name
    assert main(arguments(name, world, out)) == 0
    whole = out.read_bytes()
    draw = random.Random(f"{SEED} {name}")
    for _ in range(max(1, CASES // 100 // len(WRITING))):
        out.write_text("old")
        number = draw.choice([signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
        child = subprocess.Popen(
            [KGAGG, *arguments(name, world, out)], stderr=subprocess.PIPE, text=True
        )
        try:
            _, errors = child.communicate(timeout=draw.uniform(0.1, 3))
        except subprocess.TimeoutExpired:
            child.send_signal(number)
            _, errors = child.communicate()
        assert "Traceback" not in errors
        codes = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}
        # the miner ends by itself after a signal, and keeps what it found
        assert child.returncode in (0, codes[number], 130)
        assert out.read_bytes() in (b"old", whole)
        if number != signal.SIGKILL:
            assert not list(folder.glob(".kgagg-*"))
    assert main(arguments(name, world, out)) == 0
    assert out.read_bytes() == whole


def test_six_at_once_on_an_empty_cache(world: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "KGAGG_CACHE": str(tmp_path / "cache")}
    outs = [tmp_path / f"{i}.parquet" for i in range(6)]
    children = [
        subprocess.Popen(
            [KGAGG, *arguments("firings.parquet", world, out)],
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        for out in outs
    ]
    assert [child.communicate()[1] for child in children] == [""] * 6
    assert len({out.read_bytes() for out in outs}) == 1
    assert [child.returncode for child in children] == [0] * 6


# whatever one line of a tab-separated file may hold
NAMES = st.text(
    st.characters(exclude_characters="\t\n\r", exclude_categories=["Cs"]), min_size=1, max_size=20
).filter(lambda name: name.strip() == name)


@settings(
    max_examples=max(5, CASES // 200), suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(NAMES, min_size=3, max_size=3, unique=True))
@example(["|", "`$(touch x)`", "{x}"])
@example(["../../x", "<script>", "\x1b[2J"])
@example(["a,b(c)", "X", "\\"])
def test_hostile_names_pass_through(
    tmp_path_factory: pytest.TempPathFactory,
    capsys: pytest.CaptureFixture[str],
    names: list[str],
) -> None:
    folder = tmp_path_factory.mktemp("names")
    a, b, c = names
    facts = [(a, "r", b), (b, "r", c), (a, "s", b), (b, "s", c), (c, "r", a)]
    text = "".join("\t".join(fact) + "\n" for fact in facts)
    # a first line such as the names of columns would be taken for that
    (folder / "train.txt").write_text(f"x\tr\ty\nx\ts\ty\n{text}", encoding="utf-8", newline="\n")
    (folder / "test.txt").write_text(f"{c}\ts\t{a}\n", encoding="utf-8", newline="\n")
    assert set(names) <= set(Graph.read(folder).entities.names())
    rules, new, why = folder / "r.txt", folder / "new.tsv", folder / "why.html"
    for call in (
        ["mine", "native", folder, "--out", rules, "--max-length-cyclic", "2"],
        ["rules", rules, "--to", folder / "r.parquet"],
        ["rank", folder, rules, "--out", new, "--show-known"],
        ["explain", folder, rules, "--html", why, "--", c, "s", a],
        ["stats", folder, "--table", folder / "s.md"],
    ):
        assert main([str(word) for word in call] + (["-q"] if "--" not in call else [])) == 0
    capsys.readouterr()
    lines = new.read_text(encoding="utf-8").split("\n")
    assert all(line.count("\t") == 6 for line in lines if line)
    if "<script>" in names:
        assert "&lt;script&gt;" in why.read_text(encoding="utf-8")
