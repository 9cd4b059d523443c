"""Strategies, ranks of targets and tuning against slow formulas on random firings."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgagg.engine.engine import Engine
from kgagg.engine.firings import Firings
from kgagg.engine.queries import Queries
from kgagg.errors import InputError
from kgagg.graph.graph import Graph
from kgagg.graph.vocabulary import Vocabulary
from kgagg.ranking.ranks import Ranks
from kgagg.ranking.targets import TieOrder, frequency_order, java_order, rank_targets
from kgagg.ranking.ties import values
from kgagg.rules.confidence import Confidence
from kgagg.rules.ruleset import RuleSet
from kgagg.strategies.base import Strategy, register, registered, strategy
from kgagg.strategies.scoring import best_rules, rank_all, rank_split, score
from kgagg.strategies.tuned import Reweighed, Reweighing, Tuned, top_h, tune, with_unseen

NAMES = ["max", "max+", "noisy-or", "noisy-or-top-1", "noisy-or-top-3", "log-odds", "mean"]
ENTITIES = Vocabulary.from_names(f"e{i}" for i in range(8))
RELATIONS = Vocabulary.from_names(f"r{i}" for i in range(3))

# the rules that predict each candidate, by query
Predicted = list[dict[int, list[int]]]


def make_firings(
    queries: Queries, predicted: Predicted, confidence: Sequence[float], best: int = 0
) -> Firings:
    """Firings as the engine gives them."""
    p = np.array(confidence)
    weight = -np.log1p(-p)
    rows, sizes = [], []
    for found in predicted:
        keys = {e: naive.max_plus(rules) for e, rules in found.items()}
        ordered = sorted(found, key=lambda e: keys[e], reverse=True)
        rows += [(e, sorted(found[e]), sum(keys[o] > keys[e] for o in found)) for e in ordered]
        sizes.append(len(found))
    kept = [rules[: best or None] for _, rules, _ in rows]
    return Firings(
        queries,
        np.cumsum([0, *sizes]),
        np.array([e for e, _, _ in rows], np.int32),
        np.array([len(rules) for _, rules, _ in rows], np.int32),
        np.array([sum(weight[r] for r in rules) for _, rules, _ in rows], np.float64),
        np.array([level for _, _, level in rows], np.int32),
        np.cumsum([0, *map(len, kept)]),
        np.array(list(itertools.chain.from_iterable(kept)), np.int32),
        p,
        weight,
    )


@st.composite
def cases(draw: st.DrawFn) -> tuple[np.ndarray, Queries, Predicted, list[float]]:
    """Triples, the queries they make, what fires for them, and the confidences of six rules."""
    names = st.tuples(st.integers(0, 7), st.integers(0, 2), st.integers(0, 7))
    triples = np.array(draw(st.lists(names, min_size=1, max_size=6)), np.int32)
    queries = Queries.from_triples(triples)
    rules = st.lists(st.integers(0, 5), min_size=1, max_size=6, unique=True)
    found = st.dictionaries(st.integers(0, 7), rules, max_size=6)
    predicted = draw(st.lists(found, min_size=len(queries), max_size=len(queries)))
    # few values, so that different rules have equal confidences
    values = st.lists(st.sampled_from([0.1, 0.25, 0.5, 0.75, 0.9]), min_size=6, max_size=6)
    return triples, queries, predicted, sorted(draw(values), reverse=True)


# --- strategies --------------------------------------------------------------------------------


@given(cases())
def test_scores_order_candidates_as_the_formulas_do(
    case: tuple[np.ndarray, Queries, Predicted, list[float]],
) -> None:
    _, queries, predicted, confidence = case
    firings = make_firings(queries, predicted, confidence)
    scores = score(firings, [strategy(name) for name in NAMES])
    assert scores.dtype == np.float64
    for name, row in zip(NAMES, scores, strict=True):
        for query, found in enumerate(predicted):
            part = slice(*firings.query_ptr[query : query + 2])
            mine = dict(zip(firings.candidate[part].tolist(), row[part].tolist(), strict=True))
            assert mine.keys() == found.keys()
            if name == "max+":
                keys = {e: naive.max_plus(rules) for e, rules in found.items()}
                for one, other in itertools.combinations(found, 2):
                    assert (mine[one] > mine[other]) == (keys[one] > keys[other])
                    assert (mine[one] == mine[other]) == (keys[one] == keys[other])
            else:
                scale = (lambda s: 1 - np.exp(-s)) if name.startswith("noisy-or") else float
                exact = {e: naive.aggregate(name, rules, confidence) for e, rules in found.items()}
                assert {e: scale(s) for e, s in mine.items()} == pytest.approx(exact)


@given(cases())
def test_noisy_or_top_h_is_between_and_grows_with_h(
    case: tuple[np.ndarray, Queries, Predicted, list[float]],
) -> None:
    """Proposition 4.9, exactly: the last h is noisy-or bit for bit."""
    _, queries, predicted, confidence = case
    firings = make_firings(queries, predicted, confidence)
    by_h = score(firings, [strategy(f"noisy-or-top-{h}") for h in range(1, 8)])
    assert (np.diff(by_h, axis=0) >= 0).all()
    assert np.array_equal(by_h[0], -np.log1p(-score(firings, [strategy("max")])[0]))
    assert by_h[-1] == pytest.approx(firings.strength, rel=1e-15)


def test_one_pass_for_many_h_is_each_h_alone_in_any_order() -> None:
    queries = Queries.from_triples(np.array([[0, 0, 1]], np.int32))
    firings = make_firings(queries, [{1: [0, 1, 2], 3: [2]}, {0: [1]}], [0.9, 0.5, 0.1], best=3)
    names = ["noisy-or-top-3", "noisy-or-top-1", "max", "noisy-or-top-2", "noisy-or-top-1"]
    together = score(firings, [strategy(name) for name in names])
    assert np.array_equal(together, [strategy(name).score(firings) for name in names])


def test_the_number_of_rules_to_keep() -> None:
    assert best_rules([strategy(n) for n in ("max", "noisy-or", "noisy-or-top-7")]) == 7
    assert best_rules([strategy(n) for n in ("max", "mean")]) == 0
    queries = Queries.from_triples(np.array([[0, 0, 1]], np.int32))
    firings = make_firings(queries, [{1: [0, 1, 2]}, {}], [0.9, 0.5, 0.1], best=2)
    score(firings, [strategy("noisy-or-top-2")])
    for name in ("noisy-or-top-3", "mean", "log-odds"):
        with pytest.raises(ValueError, match="expected firings with the best"):
            score(firings, [strategy(name)])


@pytest.mark.parametrize("name", ["noisy", "noisy-or-top-0", "noisy-or-top-h", "max-3", ""])
def test_an_unknown_strategy_is_told(name: str) -> None:
    with pytest.raises(InputError, match=r"expected one of log-odds, max, max\+, mean, noisy-or"):
        strategy(name)


def test_a_strategy_is_added_by_one_registration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgagg.aggregation.registry._classes", {})

    @register("count")
    class Count(Strategy):
        name = "count"

        def score(self, firings: Firings) -> np.ndarray:
            return firings.count.astype(np.float64)

    assert registered() == ["count"]
    queries = Queries.from_triples(np.array([[0, 0, 1]], np.int32))
    firings = make_firings(queries, [{1: [0, 1], 2: [0]}, {}], [0.9, 0.5])
    assert score(firings, [strategy("count")]).tolist() == [[2, 1]]


# --- ranks -------------------------------------------------------------------------------------


@given(cases(), st.booleans())
def test_ranks_of_targets_agree_with_the_oracle(
    case: tuple[np.ndarray, Queries, Predicted, list[float]], by_priority: bool
) -> None:
    triples, queries, predicted, confidence = case
    firings = make_firings(queries, predicted, confidence)
    chosen = [strategy(name) for name in ("max", "noisy-or-top-2", "mean")]
    scores = score(firings, chosen)
    priority = np.array([3, 1, 2, 0, 1, 4, 4, 5], np.int32) if by_priority else None
    order = None if priority is None else TieOrder(priority)
    optimistic, pessimistic = rank_targets(firings, scores, order)
    for s, query in itertools.product(range(len(chosen)), range(len(queries))):
        part = slice(*firings.query_ptr[query : query + 2])
        found = {
            e: (value, 0 if priority is None else -priority[e])
            for e, value in zip(firings.candidate[part], scores[s, part], strict=True)
        }
        ordered = sorted(set(found.values()))
        by_entity = {e: float(ordered.index(key)) for e, key in found.items()}
        targets = range(*queries.target_ptr[query : query + 2])
        answers = {queries.target[t] for t in targets}
        for t in targets:
            own = queries.target[t]
            expected = naive.filtered_ranks(by_entity, own, answers - {own})
            assert (optimistic[s, t], pessimistic[s, t]) == expected

    whole = rank_all([firings], chosen, triples, ENTITIES, RELATIONS, order)
    direction = np.repeat(queries.direction, np.diff(queries.target_ptr))
    assert np.array_equal(whole.optimistic[:, queries.triple, direction], optimistic)
    assert np.array_equal(whole.pessimistic[:, queries.triple, direction], pessimistic)


def test_frequent_entities_come_first_then_low_numbers() -> None:
    train = np.array([[1, 0, 1], [2, 0, 3], [4, 0, 3]], np.int32)
    assert np.argsort(frequency_order(train, 6).priority).tolist() == [1, 3, 2, 4, 0, 5]


def test_the_order_of_a_hash_set_of_java() -> None:
    # what "hello".hashCode() and "polygenelubricants".hashCode() give, and a pair of surrogates
    names = ["hello", "polygenelubricants", "\N{GRINNING FACE}"]
    codes = [99162322, -(2**31), 31 * 0xD83D + 0xDE00]
    spread = [(code & 0xFFFFFFFF) ^ (code & 0xFFFFFFFF) >> 16 for code in codes]
    order = java_order(Vocabulary.from_names(names))
    assert order.hashed
    assert order.priority.tolist() == [code & 0x7FFFFFFF for code in spread]


@given(st.lists(st.integers(0, 2**31 - 1), min_size=2, max_size=60), st.integers(0, 59))
def test_tied_candidates_stand_in_the_buckets_of_a_table(codes: list[int], target: int) -> None:
    target %= len(codes)
    queries = Queries.from_triples(np.array([[len(codes), 0, target]], np.int32))
    everyone = {entity: [0] for entity in range(len(codes))}
    firings = make_firings(queries, [everyone, {}], [0.5])
    order = TieOrder(np.array(codes, np.int32), hashed=True)
    ranks = rank_targets(firings, np.zeros((1, len(codes))), order)
    buckets = 16
    while len(codes) > 0.75 * buckets:
        buckets *= 2
    place = [code % buckets for code in codes]
    before = sum(other < place[target] for other in place)
    same = place.count(place[target])
    assert [int(rank[0, 0]) for rank in ranks] == [1 + before, before + same]


# --- tuning ------------------------------------------------------------------------------------


def ranks_of(names: Sequence[str], triples: object, ranks: object) -> Ranks:
    table = np.array(ranks, np.int32)
    rows = np.array(triples, np.int32).reshape(-1, 3)
    return Ranks(ENTITIES, RELATIONS, rows, tuple(names), table, table)


def test_the_choices_of_top_h() -> None:
    assert [one.name for one in top_h()] == [
        "max+",
        *(f"noisy-or-top-{h}" for h in range(4, 11)),
    ]
    assert [one.name for one in top_h([0, 5, 2, 1])] == [
        "max+",
        "noisy-or-top-2",
        "noisy-or-top-5",
        "noisy-or",
    ]


def test_tuning_chooses_by_relation_and_direction() -> None:
    choices = top_h([1, 4, 5])
    names = [one.name for one in choices]
    triples = [(0, 0, 1), (2, 0, 3), (0, 1, 1)]
    tail = [[1, 2, 3], [2, 1, 1], [9, 9, 9]]
    head = [[1, 4, 2], [5, 4, 1], [5, 1, 1]]
    valid = ranks_of(names, triples, np.stack([tail, head], axis=2))
    tuned = tune("noisy-or-top-h*", choices, valid)
    # relation 0 by the sums of 1/rank, a tie goes to the first; relation 1 likewise; relation 2
    # does not occur: the best over all queries of the direction
    assert tuned.chosen.tolist() == [[0, 0], [1, 1], [1, 2]]
    assert tuned.best == 5
    assert tuned.to_json(RELATIONS)["r2"] == {"tail": "noisy-or-top-4", "head": "noisy-or-top-5"}
    test = ranks_of(
        [*reversed(names)], [(0, 2, 1), (0, 1, 1)], [[[7, 7]] * 2, [[5, 6]] * 2, [[1, 2]] * 2]
    )
    picked = tuned.rank(test)
    assert picked.strategies == ("noisy-or-top-h*",)
    assert picked.optimistic.tolist() == [[[5, 7], [5, 6]]]
    assert test.joined(picked).strategies == (*reversed(names), "noisy-or-top-h*")


@given(st.integers(0, 10_000))
def test_the_tuned_strategy_is_at_least_as_good_on_valid_as_every_choice(seed: int) -> None:
    generator = np.random.default_rng(seed)
    triples = generator.integers(0, 3, (20, 3))
    choices = top_h([1, 4, 5, 6])
    names = [one.name for one in choices]
    valid = ranks_of(names, triples, generator.integers(0, 5, (4, 20, 2)))
    tuned = tune("noisy-or-top-h*", choices, valid).rank(valid)
    assert values(tuned).mean() >= values(valid).mean(axis=(1, 2)).max() - 1e-9


@given(cases())
def test_scores_of_a_tuned_strategy_give_the_ranks_it_picks(
    case: tuple[np.ndarray, Queries, Predicted, list[float]],
) -> None:
    triples, queries, predicted, confidence = case
    firings = make_firings(queries, predicted, confidence)
    choices = [strategy(name) for name in ("max+", "noisy-or-top-2", "noisy-or")]
    chosen = np.array([[0, 1], [2, 0], [1, 1]])
    tuned = Tuned("t", choices, chosen, np.zeros(2, np.int64))
    picked = tuned.rank(rank_all([firings], choices, triples, ENTITIES, RELATIONS))
    scored = rank_all([firings], [tuned], triples, ENTITIES, RELATIONS)
    assert np.array_equal(picked.optimistic, scored.optimistic)
    assert np.array_equal(picked.pessimistic, scored.pessimistic)


def test_an_empty_valid_split_is_told() -> None:
    empty = ranks_of(["max+"], [], np.empty((1, 0, 2)))
    with pytest.raises(InputError, match="tuned on the valid split, which is empty"):
        tune("tuned", top_h([1]), empty)


# --- another number of unseen examples ---------------------------------------------------------


@given(cases(), st.permutations(range(6)), st.booleans())
def test_reweighed_scores_are_those_of_firings_made_with_the_new_confidences(
    case: tuple[np.ndarray, Queries, Predicted, list[float]], order: list[int], by_value: bool
) -> None:
    """Rule r of the old order is rule order[r] of the new one."""
    triples, queries, predicted, confidence = case
    firings = make_firings(queries, predicted, [0.6, 0.5, 0.4, 0.3, 0.2, 0.1])
    new = np.array(confidence)
    level = np.unique(-new, return_inverse=True)[1] if by_value else np.arange(6)
    table = Reweighing(new[order], -np.log1p(-new[order]), level[order].astype(np.int32))
    moved = [{e: [order[r] for r in rules] for e, rules in found.items()} for found in predicted]
    expected = make_firings(queries, moved, confidence)
    bases = [strategy(name) for name in NAMES if not (by_value and name == "max+")]
    reweighed = [Reweighed(f"{base.name}@1", base, table) for base in bases]
    assert best_rules(reweighed) == 0
    mine = rank_all([firings], reweighed, triples, ENTITIES, RELATIONS)
    theirs = rank_all([expected], bases, triples, ENTITIES, RELATIONS)
    assert np.array_equal(mine.optimistic, theirs.optimistic)
    assert np.array_equal(mine.pessimistic, theirs.pessimistic)


def test_levels_by_value_compare_confidences_not_rules() -> None:
    """aa fires r1 (.5); bb fires r2 (.5) and r3 (.3): by value bb wins, by rule aa does."""
    queries = Queries.from_triples(np.array([[0, 0, 1]], np.int32))
    firings = make_firings(queries, [{1: [0], 2: [1, 2]}, {}], [0.6, 0.5, 0.3])
    new = np.array([0.5, 0.5, 0.3])
    for level, winner in (([0, 1, 2], 1), ([0, 0, 1], 2)):
        table = Reweighing(new, -np.log1p(-new), np.array(level, np.int32))
        found = score(firings, [Reweighed("max+@1", strategy("max+"), table)])[0]
        assert firings.candidate[np.argmax(found)] == winner


# --- on a graph --------------------------------------------------------------------------------


def write_graph(folder: Path, test: str) -> None:
    """People who know each other, by two rules of which either can be the better one."""
    generator = np.random.default_rng(0)
    splits = {}
    for split, size in (("train", 150), ("valid", 30)):
        rows = zip(*generator.integers(0, (12, 3, 12), (size, 3)).T, strict=True)
        splits[split] = "".join(f"e{h}\tr{r}\te{t}\n" for h, r, t in rows)
    folder.mkdir()
    for split, text in {**splits, "test": test}.items():
        (folder / f"{split}.txt").write_text(text)


RULES = """\
100\t60\t0.6\tr0(X,Y) <= r1(X,Y)
100\t50\t0.5\tr0(X,Y) <= r2(Y,X)
20\t14\t0.7\tr0(X,e1) <= r1(X,e2)
100\t40\t0.4\tr1(X,Y) <= r0(X,A), r2(A,Y)
30\t9\t0.3\tr1(X,Y) <= r2(X,Y)
100\t45\t0.45\tr2(X,Y) <= r0(Y,X)
100\t30\t0.3\tr2(X,Y) <= r1(X,A), r1(A,Y)
"""


def test_nothing_of_test_enters_what_is_tuned(tmp_path: Path) -> None:
    (tmp_path / "rules.txt").write_text(RULES)
    found = []
    for name, test in (("a", "e0\tr0\te1\n"), ("b", "e5\tr1\te6\nnew\tr9\te0\n"), ("c", "")):
        write_graph(tmp_path / name, test)
        graph = Graph.from_folder(tmp_path / name)
        rules = RuleSet.read(
            tmp_path / "rules.txt",
            (graph.entities, graph.relations),
            Confidence.preset("anyburl"),
        )
        engine = Engine(graph, rules)
        choices = top_h([1, 2, 3, 0])
        reweighed = with_unseen(choices, rules, engine.semantics.levels_by_value)
        valid = rank_split(engine, "valid", [*choices, *reweighed])
        tuned = tune("noisy-or-top-h*", choices, valid), tune("tuned", reweighed, valid)
        names = [one.to_json(graph.relations) for one in tuned]
        found.append(([{r: n[r] for r in ("r0", "r1", "r2")} for n in names], valid.optimistic))
    choice, ranks = found[0]
    assert len({str(c) for part in choice for c in part.values()}) > 1
    for other, other_ranks in found[1:]:
        assert other == choice
        assert np.array_equal(other_ranks, ranks)


def test_the_rule_sets_own_number_of_unseen_examples_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "rules.txt").write_text(RULES)
    write_graph(tmp_path / "graph", "")
    graph = Graph.from_folder(tmp_path / "graph")
    for preset in ("anyburl", "pyclause"):
        rules = RuleSet.read(
            tmp_path / "rules.txt", (graph.entities, graph.relations), Confidence.preset(preset)
        )
        engine = Engine(graph, rules, preset)
        bases = [strategy(name) for name in NAMES]
        same = with_unseen(bases, rules, engine.semantics.levels_by_value, unseen=[5])
        ranks = rank_split(engine, "valid", [*bases, *same])
        assert (ranks.optimistic > 0).any()
        for table in (ranks.optimistic, ranks.pessimistic):
            assert np.array_equal(table[: len(bases)], table[len(bases) :])
