"""SAFRAN (Ott, Meilicke and Samwald, 2021): noisy-or over clusters of redundant rules.

Rules are in one cluster if a chain of similarities above a threshold joins them; of each cluster
the best rule that predicts a candidate counts. Threshold 1 is noisy-or. For each relation and
direction the threshold is chosen on valid, from 201 steps along several paths: on the first, all
kinds of rules have one threshold (SAFRAN's grid); on others the thresholds of pairs of kinds are
random multiples of each other (in place of its random search, with 201 points for the price of
one). MAX+ is a choice, too. The fewer facts of a relation valid has, the more it chooses as is best
over all of its direction.

Similarity is the Jaccard index of what rules predict, by MinHash. Where kgagg differs from SAFRAN:

- for rules with a constant in the head it is that of the entities of which their bodies hold in
  train; rules with other constants predict other facts;
- for cyclic rules it is that of what they predict for the queries of valid;
- a cyclic rule is not compared with others; zero, reflexive and general rules are alone;
- of the rules that can be similar, the 4 096 of most confidence are compared with each other; each
  further one joins the most similar of these;
- dangling rules keep their weight, ties count by the expected rank, and sums are exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import numpy as np

from kgagg.engine.firings import Firings
from kgagg.graph.adjacency import Adjacency
from kgagg.ranking.targets import reciprocal_ranks
from kgagg.ranking.ties import harmonic_numbers
from kgagg.rules.confidence import weight_of
from kgagg.rules.ruleset import RuleSet
from kgagg.rules.shapes import CONSTANT, CYCLIC, DANGLING, ME_ID, SIDE
from kgagg.strategies import _safran
from kgagg.strategies.base import Strategy, register
from kgagg.strategies.fitting import Fitting, by_slot, shrunk
from kgagg.strategies.maximum import MaxPlus
from kgagg.util.checks import expect_arrays, expect_within
from kgagg.util.progress import Progress

LEVELS, PATHS = 200, 4
# rules of a block that are all compared with each other
COMPARED = 4096
# firings of cyclic rules to take into their sketches
_SAMPLE = 10_000_000
_ROWS = 1 << 16


@register("safran")
class Safran(Strategy):
    """Noisy-or over clusters (see the module).

    Attributes
    ----------
    cluster : int32[2, all rules]
        By direction; or int32[1, all rules], for both.
    max_plus : bool[2 * relations]
        Which slots (twice the relation, plus the direction) take MAX+.
    """

    name = "safran"
    best = 0
    needs = ("train", "valid")
    cluster: np.ndarray
    max_plus: np.ndarray

    def score(self, firings: Firings) -> np.ndarray:
        """Return the sum of the weights of the best rules of clusters, or minus the level."""
        sums = _safran.cluster_sums(
            firings.query_ptr,
            firings.queries.direction * (len(self.cluster) - 1),
            firings.rule_ptr,
            firings.rules,
            _fixed(firings.weight),
            self.cluster,
            int(self.cluster.max(initial=0)) + 1,
        )
        return np.where(self._by_max_plus(firings), -firings.level, sums / _ONE)

    def _by_max_plus(self, firings: Firings) -> np.ndarray:
        """Tell which candidates are ranked by MAX+: bool[candidates]."""
        return np.repeat(self.max_plus[firings.queries.slots], np.diff(firings.query_ptr))

    def display(self, firings: Firings, scores: np.ndarray) -> np.ndarray:
        """Return noisy-or itself, or the confidence of the best rule."""
        best = firings.confidence[firings.rules[firings.rule_ptr[:-1]]]
        return np.where(self._by_max_plus(firings), best, -np.expm1(-scores))

    def choice(self, relation: int, direction: int) -> Strategy:
        """Return MAX+, or what clusters the rules for this direction."""
        if self.max_plus[2 * relation + direction]:
            return MaxPlus()
        return self._with(self.cluster[[direction]], self.max_plus)

    def groups(self, rules: np.ndarray) -> list[str]:
        """Return the clusters of rules, numbered as they appear."""
        numbers: dict[int, int] = {}
        clusters = self.cluster[0, rules].tolist()
        return [f"cluster {numbers.setdefault(c, len(numbers) + 1)}" for c in clusters]

    def contributions(self, rules: np.ndarray, confidence: np.ndarray) -> np.ndarray:
        """Return the weights of the rules that are the best of their clusters."""
        weight = _fixed(weight_of(confidence[rules])) / _ONE
        _, first = np.unique(self.cluster[0, rules], return_index=True)
        return np.where(np.isin(np.arange(len(rules)), first), weight, 0.0)

    def arrays(self) -> Mapping[str, np.ndarray]:
        """Return clusters and where MAX+ is taken."""
        return {"cluster": self.cluster, "max_plus": self.max_plus}

    @classmethod
    def restore(cls, report: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Make the strategy from clusters."""
        return cls.fitted_with(report, **arrays)

    def check(self, rules: int, relations: int, entities: int) -> None:
        """Check that each rule has a cluster, and each slot a choice."""
        expect_arrays(vars(self), {"cluster": (np.int32,)}, 2, rules)
        expect_arrays(vars(self), {"max_plus": (np.bool_,)}, 2 * relations)
        # as many as there are rules, if each is alone
        expect_within("cluster", self.cluster, 0, rules)

    def renumbered(self, relations: np.ndarray, entities: np.ndarray) -> Self:
        """Return the strategy for other numbers of relations; no rule predicts new ones."""
        return self._with(self.cluster, by_slot(self.max_plus, relations, np.zeros(2, np.bool_)))

    def _with(self, cluster: np.ndarray, max_plus: np.ndarray) -> Self:
        return self.fitted_with(self.report or {}, cluster=cluster, max_plus=max_plus)

    def fit(self, fitting: Fitting) -> Self:
        """Choose path and threshold for each relation and direction."""
        engine, valid = fitting.engine, fitting.valid(self.best)
        rules, queries = engine.rules, valid.queries
        generator = np.random.default_rng(fitting.seed)
        sketches, number = _sketches(rules, engine.graph.adjacency, valid, generator)
        target_slot = np.repeat(queries.slots, np.diff(queries.target_ptr))
        count = 2 * len(engine.graph.relations)

        def totals(value: np.ndarray) -> np.ndarray:
            """Sum values of targets, float64[targets, choices], by slot."""
            return np.array([np.bincount(target_slot, one, count) for one in value.T])

        # choice 0 is MAX+, then come the levels of one path after the other
        found = [totals(reciprocal_ranks(valid, -valid.level[None].astype(np.float64)).T)]
        scales = [_scale(generator, path) for path in range(PATHS)]
        with (
            Progress("cluster", PATHS + 1, "passes", quiet=fitting.quiet) as progress,
            ThreadPoolExecutor(fitting.workers) as pool,
        ):
            paths = _orders(sketches, number, rules, scales, pool)
            progress.add(1)
            for place, gap in paths:
                found.append(totals(_sweep(valid, place, gap, pool)))
                progress.add(1)
        total = np.concatenate(found)
        chosen = np.argmax(shrunk(total, np.bincount(target_slot, minlength=count)), axis=0)
        cluster = _clusters(rules.relation, chosen, paths)
        mrr = total[chosen, np.arange(count)].sum() / max(len(target_slot), 1)
        grid = total[: LEVELS + 2].sum(axis=1) / max(len(target_slot), 1)
        report = {
            "along": "threshold",
            "curve": [[level / LEVELS, one] for level, one in enumerate(grid[1:].tolist())],
            "mrr": float(mrr),
            "max+": float(grid[0]),
            "chosen": chosen.tolist(),
        }
        return self.fitted_with(report, cluster=cluster, max_plus=chosen == 0)


# weights as whole numbers: sums are exact, and equal sums are equal
_ONE = 2.0**32


def _fixed(weight: np.ndarray) -> np.ndarray:
    return np.round(np.minimum(weight, 40.0) * _ONE).astype(np.int64)


def _scale(generator: np.random.Generator, path: int) -> np.ndarray:
    """Return by what the similarities of two kinds of rules are multiplied: float64[3, 3]."""
    drawn = np.exp(generator.normal(0.0, 1.0, (3, 3)))
    symmetric = np.sqrt(drawn * drawn.T)
    return np.ones((3, 3)) if path == 0 else symmetric / symmetric.max()


def _comparable(rules: RuleSet) -> np.ndarray:
    """Tell which rules can be similar to others: bool[all rules]."""
    acyclic = np.isin(rules.kind, (CONSTANT, DANGLING)) & (rules.head_constant != ME_ID)
    return np.asarray(acyclic | (rules.kind == CYCLIC))


def _blocks(rules: RuleSet) -> list[np.ndarray]:
    """Return the rules that are compared with each other, block by block; each rule is in one."""
    cyclic, other = rules.kind == CYCLIC, ~_comparable(rules)
    side, constant = rules.flags & SIDE, rules.head_constant
    columns = (
        np.where(other, np.arange(len(rules)), -1),
        np.where(cyclic, -1, constant),
        np.where(cyclic, 2, side),
        rules.relation,
    )
    order = np.lexsort(columns)
    table = np.stack([column[order].astype(np.int64) for column in columns])
    new = np.any(np.diff(table, axis=1) != 0, axis=0)
    return np.split(order, np.flatnonzero(new) + 1)


def _sketches(
    rules: RuleSet, facts: Adjacency, valid: Firings, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return MinHash sketches, uint16[sets, LEVELS], and the number of each rule's: int32[rules].

    Rules that are alone have set 0, which is empty.
    """
    comparable, cyclic = _comparable(rules), rules.kind == CYCLIC
    acyclic = np.flatnonzero(comparable & ~cyclic)
    body = np.stack([rules.body[acyclic], rules.body_constant[acyclic]])
    distinct, inverse = np.unique(body, axis=1, return_inverse=True)
    number = np.zeros(len(rules), np.int32)
    number[acyclic] = 1 + inverse.ravel()
    number[cyclic] = 1 + distinct.shape[1] + np.arange(np.count_nonzero(cyclic))
    sketches = np.full((int(number.max(initial=0)) + 1, LEVELS), 0xFFFF, np.uint16)
    drawn = generator.integers(2**63, size=(2, LEVELS), dtype=np.uint64)
    multiplier, offset = drawn[0] | np.uint64(1), drawn[1]
    for i, (path, end) in enumerate(distinct.T.tolist()):
        steps = rules.body_keys[rules.body_ptr[path] : rules.body_ptr[path + 1]].tolist()
        held = _holds(facts, steps, end)
        sets = np.full(len(held), i + 1, np.int32)
        _safran.sketch(sets, held.astype(np.int64), multiplier, offset, sketches)
    share = np.count_nonzero(cyclic[valid.rules]) / _SAMPLE
    for sets, rows in _cyclic_firings(valid, cyclic, number, max(1, int(np.ceil(share)))):
        _safran.sketch(sets, rows, multiplier, offset, sketches)
    return sketches, number


def _holds(facts: Adjacency, steps: list[int], end: int) -> np.ndarray:
    """Return the entities of which a body holds: int32[n]; `end` is -1 if it dangles."""
    if end < 0:
        last = steps[-1]
        reached = facts.key_entities[facts.key_ptr[last] : facts.key_ptr[last + 1]]
        steps = steps[:-1]
    else:
        reached = np.array([end], np.int32)
    for key in reversed(steps):
        parts = [facts.step(entity, key ^ 1) for entity in reached.tolist()]
        reached = np.unique(np.concatenate([reached[:0], *parts]))
    return np.asarray(reached)


def _cyclic_firings(
    valid: Firings, cyclic: np.ndarray, number: np.ndarray, every: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield sets of cyclic rules with the candidates they predict, of one candidate in `every`."""
    for start in range(0, len(valid), _ROWS):
        stop = min(start + _ROWS, len(valid))
        rules = valid.rules[valid.rule_ptr[start] : valid.rule_ptr[stop]]
        rows = np.repeat(np.arange(start, stop), np.diff(valid.rule_ptr[start : stop + 1]))
        taken = cyclic[rules] & (rows % every == 0)
        yield number[rules[taken]], rows[taken]


def _orders(
    sketches: np.ndarray,
    number: np.ndarray,
    rules: RuleSet,
    scales: Sequence[np.ndarray],
    pool: ThreadPoolExecutor,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return by path the place of each rule, int32[rules], and the level before each, uint8."""
    blocks = _blocks(rules)
    starts = np.cumsum([0, *map(len, blocks)])
    words = sketches.view(np.uint64)
    paths = [(np.empty(len(rules), np.int32), np.zeros(len(rules), np.uint8)) for _ in scales]

    def run(block: np.ndarray, start: int) -> None:
        for (place, gap), (order, levels) in zip(
            paths, _block_orders(words, number[block], rules.kind[block], scales), strict=True
        ):
            place[block[order]] = np.arange(start, start + len(block))
            gap[start : start + len(block)] = levels

    several = [(b, s) for b, s in zip(blocks, starts.tolist(), strict=False) if len(b) > 1]
    alone = [(b[0], s) for b, s in zip(blocks, starts.tolist(), strict=False) if len(b) == 1]
    if alone:
        rows, at = np.array(alone).T
        for place, _ in paths:
            place[rows] = at
    list(pool.map(lambda one: run(*one), several))
    return paths


def _block_orders(
    words: np.ndarray, number: np.ndarray, kind: np.ndarray, scales: Sequence[np.ndarray]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the order of a block's rules and the levels between them, for each of `scales`."""
    first = min(len(number), COMPARED)
    others = len(number) - first
    level = np.empty(first * (first - 1) // 2, np.uint8)
    best, which = np.empty((others, 3), np.uint8), np.empty((others, 3), np.int32)
    _safran.compare_block(words, number, kind, level, best, which)
    scaled, joined, other = np.empty_like(level), np.empty(others, np.uint8), which[:, 0].copy()
    for scale in scales:
        _safran.scale_block(level, best, which, kind, scale, LEVELS, scaled, joined, other)
        yield _safran.order_block(scaled, joined, other, LEVELS, len(number))


def _sweep(
    valid: Firings, place: np.ndarray, gap: np.ndarray, pool: ThreadPoolExecutor
) -> np.ndarray:
    """Return the reciprocal ranks at all levels: float64[targets, LEVELS + 1]."""
    lowest = [gap]
    while 1 << len(lowest) <= len(gap):
        before, shift = lowest[-1], 1 << (len(lowest) - 1)
        lowest.append(np.minimum(before, np.append(before[:shift], before[:-shift])))
    table, fixed = np.stack(lowest), _fixed(valid.weight)
    harmonic = harmonic_numbers(int(np.diff(valid.query_ptr).max(initial=0)) + 1)

    def run(part: Firings) -> np.ndarray:
        return np.asarray(
            _safran.sweep(
                part.query_ptr,
                part.candidate,
                part.queries.target_ptr,
                part.queries.target,
                part.rule_ptr,
                part.rules,
                fixed,
                place,
                table,
                LEVELS,
                harmonic,
            )
        )

    size = len(valid.queries)
    parts = (valid.part(start, min(start + 256, size)) for start in range(0, size, 256))
    return np.concatenate(list(pool.map(run, parts)))


def _clusters(
    relation: np.ndarray, chosen: np.ndarray, paths: list[tuple[np.ndarray, np.ndarray]]
) -> np.ndarray:
    """Return the cluster of each rule at what was chosen for its relation: int32[2, rules]."""
    cluster = np.empty((2, len(relation)), np.int32)
    for direction in (0, 1):
        # MAX+ has no clusters of its own: those of the highest level will do
        choice = np.maximum(chosen[direction::2][relation] - 1, 0)
        path, level = np.divmod(choice, LEVELS + 1)
        level = np.where(chosen[direction::2][relation] == 0, LEVELS, level)
        for number, (place, gap) in enumerate(paths):
            at = np.empty(len(place), np.int64)
            at[place] = np.arange(len(place))
            # a relation's rules are neighbours, and blocks begin with level 0
            label = np.cumsum(gap <= level[at])[place]
            cluster[direction] = np.where(path == number, label, cluster[direction])
    return cluster
