"""Every strategy, fitted and saved, scores alike where names have other numbers, and new ones."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from kgagg.cli import main
from kgagg.engine.engine import Engine
from kgagg.engine.firings import Firings
from kgagg.engine.queries import DIRECTIONS, Queries
from kgagg.errors import InputError
from kgagg.graph.graph import SPLITS
from kgagg.ranking.ranks import Ranks
from kgagg.strategies.base import Strategy
from kgagg.strategies.fitting import Fitting
from kgagg.strategies.registry import names, open_strategy, strategy
from kgagg.strategies.scoring import score

EVERY = [name.replace("-top-h", "-top-3") if name.endswith("-h") else name for name in names()]
FITTED = [name for name in EVERY if strategy(name).needs]
# direction, relation, entity and candidate
Scores = dict[tuple[str, str, str, str], float]


def copied(world: Path, folder: Path) -> Path:
    """A copy of the graph and its rules."""
    folder.mkdir()
    for name in (*(f"{split}.txt" for split in SPLITS), "rules.txt"):
        (folder / name).write_text((world / name).read_text())
    return folder


@pytest.fixture
def larger(world: Path, tmp_path: Path) -> Engine:
    """One fact more, of a relation and with an entity that were not there and get number 0."""
    folder = copied(world, tmp_path / "larger")
    train = (folder / "train.txt").read_text()
    (folder / "train.txt").write_text("another\tbrand-new\te0\n" + train)
    return Engine.open(folder, folder / "rules.txt")


def all_queries(engine: Engine) -> Queries:
    """Both directions of every relation, for every entity."""
    graph = engine.graph
    every = np.indices((len(graph.relations), 2, len(graph.entities))).reshape(3, -1)
    relation, direction, entity = every.astype(np.int32)
    return Queries.without_targets(relation, direction.astype(np.uint8), entity)


def by_name(engine: Engine, firings: Firings, scores: np.ndarray) -> Scores:
    """The score of each candidate of each query."""
    entities, relations = engine.graph.entities, engine.graph.relations
    queries = firings.queries
    found = {}
    for query in range(len(queries)):
        asked = (
            DIRECTIONS[queries.direction[query]],
            relations[queries.relation[query]],
            entities[queries.entity[query]],
        )
        for row in range(*firings.query_ptr[query : query + 2]):
            found[*asked, entities[firings.candidate[row]]] = scores[row]
    return found


def scores_of(engine: Engine, one: Strategy) -> tuple[Scores, Scores]:
    """The scores of all candidates of all queries by name, and what is shown of them."""
    chunks = engine.apply(all_queries(engine), engine.graph.adjacency, top_x=0, best=0)
    firings = Firings.concatenate(list(chunks))
    scores = score(firings, [one])[0]
    return by_name(engine, firings, scores), by_name(engine, firings, one.display(firings, scores))


@pytest.mark.parametrize("name", EVERY)
def test_names_keep_their_scores_in_other_graphs(
    engine: Engine, larger: Engine, tmp_path: Path, name: str
) -> None:
    for kind in ("entities", "relations"):
        before, after = getattr(engine.graph, kind), getattr(larger.graph, kind)
        assert not set(enumerate(before)) & set(enumerate(after))
    fitted = strategy(name, [1, 2, 3, 0]).fit(Fitting(engine, seed=3))
    expected = scores_of(engine, fitted)
    assert len(set(expected[0].values())) > 2
    again = fitted
    if fitted.needs:
        fitted.save(tmp_path / "model.kgagg", engine.names)
        again = open_strategy(tmp_path / "model.kgagg", larger.names)
    assert again.name == name
    assert again.report == fitted.report
    for mine, theirs in zip(expected, scores_of(larger, again), strict=True):
        new = {key for key in theirs if {"another", "brand-new"} & set(key)}
        assert theirs.keys() - new == mine.keys()
        assert {key: theirs[key] for key in mine} == mine
    # it was asked about what is new, too: zero rules predict for every entity
    assert new


@pytest.mark.parametrize("name", FITTED)
def test_a_file_that_was_opened_is_saved_for_the_new_numbers(
    engine: Engine, larger: Engine, tmp_path: Path, name: str
) -> None:
    fitted = strategy(name).fit(Fitting(engine))
    fitted.save(tmp_path / "one.kgagg", engine.names)
    opened = open_strategy(tmp_path / "one.kgagg", larger.names)
    opened.save(tmp_path / "two.kgagg", larger.names)
    back = open_strategy(tmp_path / "two.kgagg", engine.names)
    for array, expected in zip(back.arrays().values(), fitted.arrays().values(), strict=True):
        assert array.dtype == expected.dtype
        assert np.array_equal(array, expected)


@pytest.mark.parametrize("name", FITTED)
def test_a_file_is_refused_for_other_rules(
    world: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    model, firings = tmp_path / "model.kgagg", tmp_path / "firings.parquet"
    rules, others = world / "rules.txt", world / "others.txt"
    others.write_text(rules.read_text().replace("60\t0.6", "59\t0.59"))
    call = ["fit", str(world), str(rules), "-q", "--strategy", name, "--out", str(model)]
    assert main(call) == 0
    assert main(["apply", str(world), str(others), "-q", "--best", "0", "--out", str(firings)]) == 0
    capsys.readouterr()
    for refused in (
        ["evaluate", str(world), str(others), "-q"],
        ["aggregate", str(firings), "--ranks", str(tmp_path / "ranks.parquet")],
    ):
        assert main([*refused, "--strategies", f"max,{model}"]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line == f"kgagg: error: {model}: {name} was fitted with other rules than these"
    assert not (tmp_path / "ranks.parquet").exists()
    # with its own rules it is taken
    assert main(["evaluate", str(world), str(rules), "-q", "--strategies", str(model)]) == 0


@pytest.mark.parametrize("name", FITTED)
def test_a_file_is_refused_for_another_graph(
    world: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (world / "rules.txt").write_text(
        "".join(f"{2 * i}\t{i}\t0.5\tr{i % 3}(X,Y) <= r{(i + 1) % 3}(X,Y)\n" for i in range(9, 12))
    )
    other = copied(world, tmp_path / "other")
    model = tmp_path / "model.kgagg"
    call = ["fit", str(world), str(world / "rules.txt"), "-q", "--strategy", name]
    assert main([*call, "--out", str(model)]) == 0
    # of twelve entities six keep their names, then five
    for kept, code in ((r"[6-9]|1\d", 0), (r"[7-9]|1\d", 2)):
        for split in SPLITS:
            text = (world / f"{split}.txt").read_text()
            (other / f"{split}.txt").write_text(re.sub(rf"\be(?!{kept})", "other", text))
        capsys.readouterr()
        call = ["evaluate", str(other), str(other / "rules.txt"), "-q", "--strategies", str(model)]
        assert main(call) == code
    (line,) = capsys.readouterr().err.splitlines()
    told = f"{name} was fitted on another graph: 5 of its 12 entities are in this one"
    assert line == f"kgagg: error: {model}: {told}"


@pytest.mark.parametrize("name", FITTED)
def test_a_file_fitted_without_test_is_used_on_new_names_of_test(
    world: Path, tmp_path: Path, name: str
) -> None:
    model, ranks = tmp_path / "model.kgagg", tmp_path / "ranks.parquet"
    before = copied(world, tmp_path / "before")
    (before / "test.txt").unlink()
    with (world / "test.txt").open("a") as test:
        test.write("e0\tonly-in-test\tnew\n")
    call = ["fit", str(before), str(before / "rules.txt"), "-q", "--strategy", name]
    assert main([*call, "--out", str(model)]) == 0
    used = ["evaluate", str(world), str(world / "rules.txt"), "-q", "--strategies", str(model)]
    assert main([*used, "--ranks", str(ranks)]) == 0
    # no rule predicts it
    found = Ranks.read(ranks)
    (row,) = np.flatnonzero(found.triples[:, 1] == found.relations.id("only-in-test"))
    assert (found.optimistic[:, row] == 0).all()


def test_other_files_are_told(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        open_strategy(tmp_path / "none.kgagg", engine.names)
    engine.rules.save(tmp_path / "rules.kgagg")
    with pytest.raises(InputError, match=r"holds a .*, expected a strategy"):
        open_strategy(tmp_path / "rules.kgagg", engine.names)
