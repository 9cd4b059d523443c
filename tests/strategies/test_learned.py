"""The ranker: its features by hand, its parts, what may enter it, and what it falls back to."""

from __future__ import annotations

import importlib
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small import good_and_bad

from kgagg.engine.engine import Engine
from kgagg.engine.firings import Firings
from kgagg.engine.queries import Queries
from kgagg.errors import InputError
from kgagg.graph.adjacency import Adjacency
from kgagg.graph.graph import Graph
from kgagg.graph.known import known_before
from kgagg.ranking.targets import target_rows
from kgagg.strategies import _features, learned
from kgagg.strategies.base import Strategy
from kgagg.strategies.features import COLUMNS, KINDS, Chosen, Features
from kgagg.strategies.fitting import Fitting
from kgagg.strategies.learned import CUT, Learned
from kgagg.strategies.registry import fit_all, open_strategy, strategy
from kgagg.strategies.scores import Scores


def fit(engine: Engine, name: str, **options: Any) -> Strategy:
    return fit_all([strategy(name)], Fitting(engine, **options))[0]


# --- features ----------------------------------------------------------------------------------

ENTITIES, RELATIONS = 6, 3
FACTS = st.tuples(
    st.integers(0, ENTITIES - 1), st.integers(0, RELATIONS - 1), st.integers(0, ENTITIES - 1)
)


@st.composite
def described(draw: st.DrawFn) -> tuple[Features, Firings, np.ndarray, np.ndarray]:
    """Facts, firings of six rules, scores by factors, and the features of all candidates."""
    train = np.array(sorted(draw(st.sets(FACTS, min_size=1, max_size=20))), np.int32)
    rules = 6
    confidence = np.array(sorted(draw(st.lists(st.sampled_from([0.1, 0.5, 0.9]), min_size=rules,
                                               max_size=rules)), reverse=True))  # fmt: skip
    numbers = st.lists(st.integers(0, len(KINDS) - 1), min_size=rules, max_size=rules)
    kind, length = (np.array(draw(numbers), np.uint8) for _ in range(2))
    support = np.linspace(0.5, 3, rules).astype(np.float32)
    plain = confidence.astype(np.float32) / 2
    relation = np.arange(RELATIONS, dtype=np.int32)
    lift = 0.1 + np.random.default_rng(0).random((2 * RELATIONS, 2 * RELATIONS))
    features = Features(kind, length, support, plain, train, relation, lift, ENTITIES)
    queries = Queries.from_triples(train[:2])
    firing = st.lists(st.integers(0, rules - 1), min_size=1, max_size=rules, unique=True)
    candidates = st.dictionaries(st.integers(0, ENTITIES - 1), firing, max_size=ENTITIES)
    found = draw(st.lists(candidates, min_size=len(queries), max_size=len(queries)))
    lists = [sorted(each) for one in found for each in one.values()]
    weight = -np.log1p(-confidence)
    firings = Firings(
        queries,
        np.cumsum([0, *map(len, found)]),
        np.array([e for one in found for e in one], np.int32),
        np.array([len(one) for one in lists], np.int32),
        np.array([weight[one].sum() for one in lists], np.float64),
        np.array([i for one in found for i in range(len(one))], np.int32),
        np.cumsum([0, *map(len, lists)]),
        np.array([rule for one in lists for rule in one], np.int32),
        confidence,
        weight,
    )
    values = st.lists(st.sampled_from([-1.0, 0.5, 2.0]), min_size=len(lists), max_size=len(lists))
    scores = np.array(draw(values), np.float64)
    chosen = Chosen.best(firings, scores, CUT)
    table = np.empty((len(firings), len(COLUMNS)), np.float32)
    table[chosen.row] = features(firings, chosen, scores)
    return features, firings, scores, table


@settings(deadline=None, max_examples=60)
@given(described())
def test_features_are_what_they_are_called(
    case: tuple[Features, Firings, np.ndarray, np.ndarray],
) -> None:
    features, firings, scores, table = case
    facts = [tuple(fact) for fact in features.train.tolist()]
    # an edge is a property: the step key and where it leads
    properties = defaultdict(set)
    for h, r, t in facts:
        properties[h].add((2 * r, t))
        properties[t].add((2 * r + 1, h))
    owners = {p: sum(p in each for each in properties.values()) for e in properties.values()
              for p in e}  # fmt: skip

    lift = features.lift

    def weigh(some: set[tuple[int, int]], slot: int | None = None) -> float:
        told = {p: 1.0 if slot is None else lift[slot, p[0]] for p in some}
        return float(sum(told[p] * math.log(owners[p] + 2) ** -2 for p in some))

    def alike(one: int, other: int, slot: int, without: tuple[int, int] = (-1, -1)) -> float:
        norm = math.sqrt(weigh(properties[one]) * weigh(properties[other]))
        shared = (properties[one] & properties[other]) - {without}
        return weigh(shared, slot) / norm if norm else 0.0

    def by_key(entity: int, key: int) -> list[int]:
        return sorted(e for k, e in properties[entity] if k == key)

    keys = {e: {k for k, _ in properties[e]} for e in range(ENTITIES)}

    def affinity(one: int, other: int) -> float:
        both = sum({one, other} <= k for k in keys.values())
        chance = sum(one in k for k in keys.values()) * sum(other in k for k in keys.values())
        return math.log((both + 0.5) / (chance / ENTITIES + 0.5))

    def step(weights: dict[int, float]) -> dict[int, float]:
        """Follow every edge, and divide by the root of the facts at both ends."""
        found: dict[int, float] = defaultdict(float)
        for one, weight in weights.items():
            for _, other in properties[one]:
                found[other] += weight / math.sqrt(len(properties[one]) * len(properties[other]))
        return found

    queries = firings.queries
    for query, slot in enumerate(queries.slots.tolist()):
        entity, part = int(queries.entity[query]), range(*firings.query_ptr[query : query + 2])
        answers = by_key(entity, slot)
        once = step({entity: 1.0})
        twice = {e: w for e, w in step(once).items() if e != entity}
        thrice = step(twice)
        for row in part:
            one = int(firings.candidate[row])
            rules = firings.rules[slice(*firings.rule_ptr[row : row + 2])].tolist()
            confidence = [float(firings.confidence[r]) for r in rules]
            known = by_key(one, slot ^ 1)
            like = [alike(entity, e, slot) for e in known if e != entity]
            near = [alike(one, a, slot ^ 1, (slot ^ 1, entity)) for a in answers]
            types = [affinity(slot ^ 1, k) for k in keys[one] - {slot ^ 1}]
            expected = {
                "number of rules": math.log1p(len(rules)),
                "discounted sum": sum(
                    -(0.8**i) * math.log(1 - c) for i, c in enumerate(confidence)
                ),
                "noisy-or": sum(-math.log(1 - c) for c in confidence),
                "factors": scores[row],
                "rank, factors": sum(scores[o] > scores[row] for o in part),
                "distance to the best, factors": scores[row] - max(scores[o] for o in part),
                "rank, max+": row - part[0],
                "facts of the candidate with the relation": len(known),
                "known answers": len(answers),
                "facts of the candidate": len(properties[one]),
                "facts of the query's entity": len(properties[entity]),
                "similar entities": sum(like),
                "most similar entity": max(like, default=0.0),
                "mean similarity of its entities": sum(like) / max(1, len(known)),
                "similarity of its entities": sum(like) / math.sqrt(max(1, len(known))),
                "similarity to known answers": sum(near) / max(1, len(near)),
                "similarity to the query's entity": alike(entity, one, slot),
                "walks of 1 step": once.get(one, 0.0),
                "walks of 2 steps": twice.get(one, 0.0),
                "walks of 3 steps": thrice.get(one, 0.0),
                "share of near neighbours": sum(e in twice for _, e in properties[one])
                / max(1, len(properties[one])),
                "mean affinity": sum(types) / max(1, len(types)),
                "greatest affinity": max(types, default=0.0),
                "least affinity": min(types, default=0.0),
                "affinity": sum(types),
                "candidates": len(part),
                "direction": slot & 1,
                "relation": slot >> 1,
                "answers": len([f for f in facts if f[1] == slot >> 1])
                / max(1, len({f[2 * (slot & 1)] for f in facts if f[1] == slot >> 1})),
            }
            others = [scores[o] for o in part if o != row]
            if others:
                expected["distance to the others, factors"] = scores[row] - max(others)
            for i, c in enumerate(confidence):
                expected[f"confidence of rule {i + 1}"] = c
            for i, r in enumerate(rules[:3]):
                expected[f"type of rule {i + 1}"] = features.kind[r]
                expected[f"length of rule {i + 1}"] = features.length[r]
                expected[f"support of rule {i + 1}"] = features.support[r]
            for number, name in enumerate(KINDS):
                own = [firings.confidence[r] for r in rules if features.kind[r] == number]
                expected[f"best confidence, {name}"] = max(own, default=0.0)
                expected[f"weight, {name}"] = sum(-math.log(1 - c) for c in own)
            places = {column.name: i for i, column in enumerate(COLUMNS)}
            assert len(places) == len(COLUMNS)
            found = {name: float(table[row, places[name]]) for name in expected}
            assert found == pytest.approx(expected, rel=1e-4, abs=1e-5)


@settings(deadline=None, max_examples=30)
@given(st.sets(FACTS, min_size=1, max_size=20), st.integers(1, 30))
def test_agreement_is_a_share_of_what_was_tried(
    facts: set[tuple[int, int, int]], sampled: int
) -> None:
    train = np.array(sorted(facts), np.int32)
    adjacency = Adjacency.build(train, ENTITIES, RELATIONS)
    parts = (
        adjacency.entity_ptr,
        adjacency.segment_key,
        adjacency.segment_ptr,
        adjacency.neighbours,
    )
    mate = np.empty(len(adjacency.neighbours), np.int32)
    _features.mates(*parts, mate)
    agree, number = np.zeros((2, 2 * RELATIONS, 2 * RELATIONS))
    _features.agreement(*parts, mate, sampled, agree, number)
    assert (agree <= number).all()
    properties = defaultdict(set)
    for h, r, t in facts:
        properties[h].add((2 * r, t))
        properties[t].add((2 * r + 1, h))
    # what can be tried at all: two entities share (k, v), and one of them has another by s
    possible = {
        (s, k)
        for one in properties
        for other in properties
        for k, v in properties[one] & properties[other]
        for s, w in properties[one] - {(k, v)}
        if one != other
    }
    tried = {tuple(at) for at in np.argwhere(number).tolist()}
    assert tried <= possible
    # all of it, where the sample has every property
    assert tried == possible or sampled < ENTITIES


# --- fitting -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph where the entity that has most of the facts is right, whatever rules say."""
    generator = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("data")
    splits: dict[str, list[str]] = {"train": [], "valid": [], "test": []}
    for i in range(300):
        town = generator.choice(12, p=np.arange(12, 0, -1) / 78)
        splits["train"] += [f"p{i}\tnear\tt{(town + k) % 12}" for k in range(4)]
        split = ("train", "valid", "test")[min(2, i % 4)]
        splits[split].append(f"p{i}\tin\tt{town}")
    for name, lines in splits.items():
        (path / f"{name}.txt").write_text("\n".join(lines) + "\n")
    lines = [f"100\t{30 + i}\t0.{30 + i}\tin(X,t{i}) <= near(X,t{i})" for i in range(12)]
    lines += ["1000\t250\t0.25\tin(X,Y) <= near(X,Y)"]
    (path / "rules").write_text("\n".join(lines) + "\n")
    return path


def opened(folder: Path) -> Engine:
    return Engine.open(folder, folder / "rules")


def answered(engine: Engine, split: str = "test", best: int = 20) -> Firings:
    queries = Queries.from_triples(engine.graph.split(split))
    chunks = engine.apply(queries, known_before(engine.graph, split), best=best)
    return Firings.concatenate(list(chunks))


@pytest.fixture(scope="module")
def model(folder: Path) -> Learned:
    found = fit(opened(folder), "learned")
    assert isinstance(found, Learned)
    return found


def test_what_is_used_is_best_on_folds(model: Learned) -> None:
    assert model.report is not None
    mrr = model.report["mrr"]
    assert set(mrr) == {"learned", "factors", "noisy-or-top-h*"}
    assert mrr[model.report["used"]] == max(mrr.values())
    assert model.report["used"] == "learned"
    assert mrr["learned"] == max(value for _, value in model.report["curve"])


def test_the_fit_depends_on_neither_threads_nor_test(
    folder: Path, model: Learned, tmp_path: Path
) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "test.txt").write_text("p3\tin\tt1\nt2\tnear\tp4\n")
    for engine, threads in ((opened(folder), 2), (opened(tmp_path), 1)):
        again = fit(engine, "learned", threads=threads)
        assert again.report == model.report
        for name, array in model.arrays().items():
            assert np.array_equal(array, again.arrays()[name]), name


def test_scores_do_not_depend_on_the_chunk(folder: Path, model: Learned) -> None:
    firings = answered(opened(folder))
    parts = [model.score(firings.part(i, i + 1)) for i in range(len(firings.queries))]
    assert np.array_equal(model.score(firings), np.concatenate(parts))


def test_parts_sum_to_the_score(folder: Path, model: Learned) -> None:
    firings = answered(opened(folder), best=0)
    scores = model.score(firings)
    for row in range(0, len(firings), 17):
        rules, others = model.explained(firings, row)
        assert len(rules) == firings.count[row]
        assert rules.sum() + sum(others.values()) == pytest.approx(scores[row])


def test_candidates_beyond_the_cut_keep_their_order(
    folder: Path, model: Learned, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learned, "CUT", 3)
    firings = answered(opened(folder), best=0)
    scores, first = model.score(firings), model.base.score(firings)
    chosen = Chosen.best(firings, first, 3)
    for query in range(len(firings.queries)):
        rows = np.arange(*firings.query_ptr[query : query + 2])
        kept = chosen.row[slice(*chosen.ptr[query : query + 2])]
        rest = np.setdiff1d(rows, kept)
        if len(rest):
            assert scores[rest].max() < scores[kept].min()
            assert np.array_equal(np.argsort(scores[rest]), np.argsort(first[rest]))
            rules, others = model.explained(firings, int(rest[0]))
            assert rules.sum() + sum(others.values()) == pytest.approx(scores[rest[0]])


def test_a_file_is_used_with_other_numbers(folder: Path, model: Learned, tmp_path: Path) -> None:
    engine = opened(folder)
    model.save(tmp_path / "model", engine.names)
    graph = engine.graph
    generator = np.random.default_rng(1)
    orders = [generator.permutation(len(names)) for names in (graph.entities, graph.relations)]
    names = [
        type(vocabulary).from_names(["new", *(vocabulary[i] for i in order)])
        for vocabulary, order in zip((graph.entities, graph.relations), orders, strict=True)
    ]
    numbers = [1 + np.argsort(order) for order in orders]
    splits = [
        np.stack([numbers[0][h], numbers[1][r], numbers[0][t]], axis=1).astype(np.int32)
        for h, r, t in (split.T for split in (graph.train, graph.valid, graph.test))
    ]
    other_graph = Graph.indexed(names[0], names[1], splits[0], splits[1], splits[2], digest="")
    other = Engine.open(other_graph, folder / "rules")
    again = open_strategy(tmp_path / "model", engine.names)
    moved = open_strategy(tmp_path / "model", other.names._replace(rules=engine.rules.digest))

    def by_name(engine: Engine, one: Any) -> dict[tuple[str, int, str], float]:
        firings = answered(engine)
        queries, entities = firings.queries, engine.graph.entities
        query = np.repeat(np.arange(len(queries)), np.diff(firings.query_ptr))
        return {
            (entities[queries.entity[q]], int(queries.direction[q]), entities[c]): value
            for q, c, value in zip(query, firings.candidate, one.score(firings), strict=True)
            # of more candidates, the numbers of entities tell which of the tied ones are cut
            if np.diff(firings.query_ptr)[q] <= CUT
        }

    expected = by_name(engine, model)
    assert by_name(engine, again) == expected
    assert by_name(other, moved) == pytest.approx(expected)


# --- scores of another model -------------------------------------------------------------------


def scored(folder: Path, path: Path) -> dict[tuple[str, str, str], float]:
    """Write scores that are right but for a tenth, of every second triple."""
    engine, generator = opened(folder), np.random.default_rng(0)
    graph = engine.graph
    true = {tuple(row) for split in ("valid", "test") for row in graph.split(split).tolist()}
    town = [name for name in graph.entities if name.startswith("t")]
    found = {}
    for h, r, t in sorted(true):
        for name in town:
            if generator.random() < 0.5 or graph.entities[t] == name:
                right = (graph.entities[t] == name) != (generator.random() < 0.1)
                found[graph.entities[h], graph.relations[r], name] = float(right) - 0.5
    lines = ["\t".join([*triple, str(value)]) for triple, value in found.items()]
    path.write_text("\n".join([*lines, "nobody\tin\tt1\t3.5"]) + "\n")
    return found


@pytest.fixture(scope="module")
def with_scores(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Learned:
    path = tmp_path_factory.mktemp("scores") / "scores.tsv"
    scored(folder, path)
    engine = opened(folder)
    found = fit_all([learned.with_scores(path, engine.graph, (1, 5))], Fitting(engine))[0]
    assert isinstance(found, Learned)
    return found


def test_scores_of_another_model_are_one_more_feature(
    folder: Path, model: Learned, with_scores: Learned, tmp_path: Path
) -> None:
    engine = opened(folder)
    expected = scored(folder, tmp_path / "scores.tsv")
    firings = answered(engine)
    queries, entities = firings.queries, engine.graph.entities
    query = np.repeat(np.arange(len(queries)), np.diff(firings.query_ptr))
    given = Scores.read(tmp_path / "scores.tsv", engine.graph)(firings, np.arange(len(firings)))
    for q, candidate, value in zip(query, firings.candidate, given, strict=True):
        pair = (entities[queries.entity[q]], entities[candidate])
        head, tail = pair[::-1] if queries.direction[q] else pair
        triple = (head, engine.graph.relations[queries.relation[q]], tail)
        assert value == pytest.approx(expected.get(triple, np.nan), nan_ok=True)
    # it tells targets from others, and is in no other row
    rows = target_rows(firings)
    kept = Chosen.best(firings, with_scores.base.score(firings), CUT).row
    parts = {row: with_scores.explained(firings, row)[1]["scores"] for row in kept[::5].tolist()}
    right = [part for row, part in parts.items() if row in rows]
    assert np.mean(right) > np.mean(list(parts.values()))
    assert (model.name, with_scores.name) == ("learned", "learned+scores")
    assert not any("scores" in model.explained(firings, row)[1] for row in rows[rows >= 0][:5])


def test_scores_are_explained_and_saved(folder: Path, with_scores: Learned, tmp_path: Path) -> None:
    engine = opened(folder)
    firings = answered(engine, best=0)
    scores = with_scores.score(firings)
    for row in range(0, len(firings), 37):
        rules, others = with_scores.explained(firings, row)
        assert rules.sum() + sum(others.values()) == pytest.approx(scores[row])
    assert others["scores"] != 0.0
    with_scores.save(tmp_path / "model", engine.names)
    again = open_strategy(tmp_path / "model", engine.names)
    assert again.name == "learned+scores"
    assert np.array_equal(again.score(firings), scores)
    # with other numbers, the same triples have scores
    assert isinstance(again, Learned)
    assert again.features is not None
    entities = np.roll(np.arange(len(engine.graph.entities)), 1)
    other = again.renumbered(np.arange(len(engine.graph.relations)), entities)
    assert isinstance(other, Learned)
    assert other.features is not None
    assert other.features.scores is not None
    assert with_scores.features is not None
    assert with_scores.features.scores is not None
    assert sorted(other.features.scores.score) == sorted(with_scores.features.scores.score)


@pytest.mark.parametrize("line", ["p1\tin\tt1", "p1\tin\tt1\thigh", "p1\tin\tt1\tnan"])
def test_bad_scores_are_refused(folder: Path, tmp_path: Path, line: str) -> None:
    path = tmp_path / "scores.tsv"
    path.write_text(f"p1\tin\tt1\t0.5\n{line}\n")
    with pytest.raises(InputError, match=r"scores.tsv:2: expected head, relation, tail and a fin"):
        Scores.read(path, opened(folder).graph)
    path.write_text("a\tb\tc\t0.5\n")
    with pytest.raises(InputError, match="no triple of the names"):
        Scores.read(path, opened(folder).graph)


# --- what it falls back to ---------------------------------------------------------------------


def test_without_lightgbm_factors_are_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    load = importlib.import_module

    def missing(name: str, *rest: Any) -> Any:
        if name == "lightgbm":
            raise ImportError(name)
        return load(name, *rest)

    monkeypatch.setattr(importlib, "import_module", missing)
    engine = opened(folder)
    found = fit(engine, "learned")
    (line,) = capsys.readouterr().err.splitlines()
    assert "lightgbm is not installed" in line
    assert isinstance(found, Learned)
    assert found.report is not None
    assert found.report["used"] in ("factors", "noisy-or-top-h*")
    assert found.features is None
    firings = answered(engine)
    assert np.array_equal(found.score(firings), found.base.score(firings))


def test_a_tiny_graph_is_not_below_top_h(tmp_path: Path) -> None:
    engine = good_and_bad(tmp_path / "data")
    found = fit(engine, "learned")
    assert found.report is not None
    mrr = found.report["mrr"]
    assert mrr[found.report["used"]] >= mrr["noisy-or-top-h*"]
    found.save(tmp_path / "model", engine.names)
    again = open_strategy(tmp_path / "model", engine.names)
    firings = answered(engine)
    assert np.array_equal(found.score(firings), again.score(firings))
    assert again.report == found.report
