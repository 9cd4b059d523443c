"""Firings in files and in parts: what is read is what was written, and the cut leaves no trace."""

from __future__ import annotations

import itertools
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from kgagg.cli import main
from kgagg.engine import files as parquet
from kgagg.engine.engine import Engine
from kgagg.engine.files import FiringsFile, gather_firings, write_firings
from kgagg.engine.firings import Firings
from kgagg.engine.queries import Queries
from kgagg.errors import InputError
from kgagg.evaluation.run import evaluate
from kgagg.graph.known import known_before
from kgagg.ranking.ranks import Ranks
from kgagg.strategies.registry import strategy
from kgagg.strategies.scoring import rank_file, rank_split

SETTINGS = {"split": "test", "best": 3, "part": [0, 57]}


def chunks(engine: Engine, size: int) -> list[Firings]:
    queries = Queries.from_triples(engine.graph.test)
    known = known_before(engine.graph, "test")
    return list(engine.apply(queries, known, best=3, chunk=size))


def assert_equal(one: Firings, other: Firings) -> None:
    for pair in ((one, other), (one.queries, other.queries)):
        for field in fields(pair[0]):
            mine, theirs = (getattr(side, field.name) for side in pair)
            if field.name != "queries":
                assert mine.dtype == theirs.dtype, field.name
                assert np.array_equal(mine, theirs), field.name


def test_parts_and_the_whole(engine: Engine) -> None:
    whole = Firings.concatenate(chunks(engine, 1000))
    assert_equal(Firings.concatenate(chunks(engine, 7)), whole)
    cuts = [0, 1, 20, len(whole.queries)]
    parts = [whole.part(a, b) for a, b in itertools.pairwise(cuts)]
    assert_equal(Firings.concatenate(parts), whole)


@pytest.mark.parametrize("group", [1, 10, 256])
def test_a_file_gives_the_same_back_whatever_the_chunks(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: int
) -> None:
    monkeypatch.setattr(parquet, "GROUP", group)
    graph = engine.graph
    for size in (1, 13, 1000):
        path = tmp_path / f"{size}.parquet"
        write_firings(path, chunks(engine, size), graph.entities, graph.relations, SETTINGS)
        assert path.read_bytes() == (tmp_path / "1.parquet").read_bytes()
    file = FiringsFile(path)
    assert_equal(Firings.concatenate(list(file.chunks())), Firings.concatenate(chunks(engine, 99)))
    assert file.settings == SETTINGS
    assert file.entities.names() == graph.entities.names()
    assert file.entities.id("e3") == graph.entities.id("e3")


def test_no_queries_and_queries_without_candidates(engine: Engine, tmp_path: Path) -> None:
    graph = engine.graph
    path = tmp_path / "firings.parquet"
    write_firings(path, [], graph.entities, graph.relations, {"part": [0, 0]})
    assert list(FiringsFile(path).chunks()) == []
    assert FiringsFile(path).triples.shape == (0, 3)
    empty = chunks(engine, 1000)[0].part(0, 0)
    queries = Queries.from_triples(graph.test[:1])
    silent = Firings(queries, np.zeros(3, np.int64), *list(vars(empty).values())[2:])
    write_firings(path, [silent], graph.entities, graph.relations, {"part": [0, 2]})
    (found,) = FiringsFile(path).chunks()
    assert_equal(found, silent)


def test_the_table_has_names(engine: Engine) -> None:
    firings = Firings.concatenate(chunks(engine, 1000))
    table = firings.to_pandas(engine.graph.entities, engine.graph.relations)
    assert len(table) == len(firings)
    row = table[(table["relation"] == "r0") & (table["direction"] == "tail")].iloc[0]
    best = engine.rules.text(int(row["rules"][0]))
    assert best.startswith("r0(")
    ranks = rank_split(engine, "test", [strategy("max")])
    assert table["target"].sum() == np.count_nonzero(ranks.optimistic)


def test_parts_are_gathered_to_the_same_bytes_and_ranked_from_the_file_alone(
    world: Path, tmp_path: Path, engine: Engine
) -> None:
    call = ["apply", str(world), str(world / "rules.txt"), "-q", "--best", "4"]
    whole = tmp_path / "whole.parquet"
    assert main([*call, "--out", str(whole)]) == 0
    parts = [tmp_path / f"{i}.parquet" for i in (1, 2, 3)]
    for i, part in enumerate(parts, start=1):
        assert main([*call, "--out", str(part), "--part", f"{i}/3"]) == 0
    gathered = tmp_path / "gathered.parquet"
    gather_firings(parts[::-1], gathered)
    assert gathered.read_bytes() == whole.read_bytes()
    with pytest.raises(InputError, match="part of the queries"):
        rank_file(parts[0], [strategy("max")])
    with pytest.raises(InputError, match=r"starts at query \d+, expected"):
        gather_firings(parts[::2], gathered)
    with pytest.raises(InputError, match="of the queries were given"):
        gather_firings(parts[:2], gathered)
    with pytest.raises(InputError, match="best 4 rules of a candidate, mean reads more"):
        rank_file(whole, [strategy("max"), strategy("mean")])

    tuned, ranks = tmp_path / "h.kgagg", tmp_path / "ranks.parquet"
    fit = ["fit", str(world), str(world / "rules.txt"), "-q", "--strategy", "noisy-or-top-h*"]
    assert main([*fit, "--out", str(tuned), "--top-h", "1,2,4,all"]) == 0
    names = ["max", "max+", "noisy-or", "noisy-or-top-4"]
    options = ["--strategies", ",".join([*names, str(tuned)]), "--ranks", str(ranks)]
    assert main(["aggregate", str(gathered), *options]) == 0
    direct = evaluate(engine, [*names, "noisy-or-top-h*"], top_h=[1, 2, 4, 0]).ranks
    stored = Ranks.read(ranks).only(direct.strategies)
    assert np.array_equal(stored.optimistic, direct.optimistic)
    assert np.array_equal(stored.pessimistic, direct.pessimistic)


def test_other_files_are_told(tmp_path: Path, engine: Engine) -> None:
    with pytest.raises(InputError, match="no such file"):
        FiringsFile(tmp_path / "none.parquet")
    (tmp_path / "text").write_text("text")
    with pytest.raises(InputError, match="expected a parquet file of firings"):
        FiringsFile(tmp_path / "text")
    rank_split(engine, "test", [strategy("max")]).write(tmp_path / "ranks.parquet")
    with pytest.raises(InputError, match="expected a file that `kgagg apply` wrote"):
        FiringsFile(tmp_path / "ranks.parquet")


def test_parts_with_other_settings_are_not_joined(world: Path, tmp_path: Path) -> None:
    parts = [tmp_path / f"{i}.parquet" for i in (1, 2)]
    for i, (part, top_x) in enumerate(zip(parts, ("200", "3"), strict=True), start=1):
        call = ["apply", str(world), str(world / "rules.txt"), "-q", "--top-x", top_x]
        assert main([*call, "--out", str(part), "--part", f"{i}/2"]) == 0
    with pytest.raises(InputError, match="written with other settings than"):
        gather_firings(parts, tmp_path / "all.parquet")
