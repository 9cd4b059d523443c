r"""From ranks to metrics: ties made explicit, tables by group, intervals and paired tests.

The filtered rank of a target among candidates with equal scores is not one number. A `Ranks`
object holds for each query the *optimistic* rank ``o`` (all tied candidates after the target) and
the *pessimistic* rank ``p`` (all of them before it). With random tie breaking the rank is uniform
on ``o..p``, so with ``t = p - o + 1`` the means over all random orders are

.. math::

    E[1/r] = (H_p - H_{o-1}) / t, \qquad E[r \le k] = \mathrm{clip}(k - o + 1, 0, t) / t,

where :math:`H_n` is the n-th harmonic number. These are the default, ``expected``: exactly what an
evaluation with random ties (the paper's) gives on average. The mean rank ``realistic`` gives less,
since :math:`1/E[r] \le E[1/r]`. A target that is not among the candidates has no rank and counts
as 0 under every policy.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kgagg.errors import InputError, nearest
from kgagg.files import replacing
from kgagg.vocabulary import Vocabulary

if TYPE_CHECKING:
    import pandas as pd

METRICS = ("mrr", "hits@1", "hits@3", "hits@10")
TIES = ("expected", "random", "realistic", "optimistic", "pessimistic")
DIRECTIONS = ("tail", "head")
CATEGORIES = ("1-1", "1-n", "n-1", "n-n", "unseen")
_NAMES = ("head", "relation", "tail", "direction", "strategy")
_COLUMNS = ("triple", *_NAMES, "optimistic", "pessimistic")


@dataclass(frozen=True)
class Ranks:
    """Filtered ranks of the targets of a split, in both directions, for some strategies.

    Attributes
    ----------
    entities, relations : Vocabulary
        Names of the numbers in `triples`.
    triples : int32[T, 3]
        Head, relation, tail.
    strategies : tuple of str, length S
    optimistic, pessimistic : int32[S, T, 2]
        Ranks from 1 for the tail query (last index 0) and the head query (1); 0 means that the
        target is not among the candidates. Ties resolved by an order have equal ranks in both.
    """

    entities: Vocabulary
    relations: Vocabulary
    triples: np.ndarray
    strategies: tuple[str, ...]
    optimistic: np.ndarray
    pessimistic: np.ndarray

    def joined(self, *others: Ranks) -> Ranks:
        """Return these ranks with those of `others`: more strategies for the same triples."""
        parts = (self, *others)
        return dataclasses.replace(
            self,
            strategies=tuple(name for part in parts for name in part.strategies),
            optimistic=np.concatenate([part.optimistic for part in parts]),
            pessimistic=np.concatenate([part.pessimistic for part in parts]),
        )

    def only(self, strategies: Sequence[str]) -> Ranks:
        """Return the ranks of these strategies, in this order."""
        rows = [self.strategies.index(name) for name in strategies]
        return dataclasses.replace(
            self,
            strategies=tuple(strategies),
            optimistic=self.optimistic[rows],
            pessimistic=self.pessimistic[rows],
        )

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a parquet file: one row for each triple, direction and strategy.

        Columns are ``triple``, the row of `triples`; the names ``head``, ``relation``, ``tail``;
        ``direction`` ("tail" asks for the tail); ``strategy``; and the ranks ``optimistic`` and
        ``pessimistic``, int32, null for no rank.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        strategy, triple, direction = (
            index.ravel() for index in np.indices(self.optimistic.shape, np.int32)
        )
        entities, relations = self.entities.names(), self.relations.names()
        head, relation, tail = self.triples.T
        names = (entities, relations, entities, DIRECTIONS, self.strategies)
        numbers = (head[triple], relation[triple], tail[triple], direction, strategy)
        columns = [
            pa.array(triple),
            *(
                pa.DictionaryArray.from_arrays(pa.array(n), pa.array(text, pa.string()))
                for n, text in zip(numbers, names, strict=True)
            ),
            *(
                pa.array(rank.ravel(), mask=rank.ravel() == 0)
                for rank in (self.optimistic, self.pessimistic)
            ),
        ]
        with replacing(path) as temporary:
            pq.write_table(pa.table(columns, _COLUMNS), temporary, compression="zstd")

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Ranks:
        """Read a file that `write` wrote; the rows may be in any order.

        Raises
        ------
        InputError
            If it is no such file, or a row is missing or there twice.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            table = pq.read_table(path, columns=list(_COLUMNS), read_dictionary=list(_NAMES))
        except FileNotFoundError:
            raise InputError(f"{path}: no such file") from None
        except (pa.ArrowException, OSError) as error:
            reason = str(error).splitlines()[0]
            raise InputError(f"{path}: expected a parquet file of ranks: {reason}") from None

        def numbered(column: str, names: Vocabulary) -> np.ndarray:
            values = table[column].combine_chunks()
            ids = np.array([names.id(name) for name in values.dictionary.to_pylist()], np.int32)
            return np.asarray(ids[values.indices])

        def distinct(*columns: str) -> Vocabulary:
            chunks = (table[column].combine_chunks().dictionary.to_pylist() for column in columns)
            return Vocabulary.from_names(itertools.chain.from_iterable(chunks))

        entities, relations = distinct("head", "tail"), distinct("relation")
        strategies, directions = distinct("strategy"), Vocabulary.from_names(DIRECTIONS)
        triple = table["triple"].to_numpy()
        shape = (len(strategies), int(triple.max(initial=-1)) + 1, 2)
        index = (numbered("strategy", strategies), triple, numbered("direction", directions))
        seen = np.zeros(shape, np.int32)
        np.add.at(seen, index, 1)
        if len(triple) and not (seen == 1).all():
            raise InputError(f"{path}: expected one row for each triple, direction and strategy")
        triples = np.empty((shape[1], 3), np.int32)
        for i, (column, names) in enumerate(
            zip(_NAMES, (entities, relations, entities), strict=False)
        ):
            triples[triple, i] = numbered(column, names)
        ranks = np.empty((2, *shape), np.int32)
        for rank, column in zip(ranks, _COLUMNS[-2:], strict=True):
            rank[index] = table[column].fill_null(0)
        return cls(entities, relations, triples, tuple(strategies), *ranks)


# --- metrics -----------------------------------------------------------------------------------


def values(ranks: Ranks, metric: str = "mrr", ties: str = "expected", seed: int = 0) -> np.ndarray:
    """Return what each query contributes to a metric: float64[S, T, 2].

    Parameters
    ----------
    ranks : Ranks
    metric : str
        ``"mrr"``, or ``"hits@k"`` for any k.
    ties : str
        ``"expected"`` (the mean over random orders), ``"random"`` (one random order),
        ``"realistic"`` (the mean rank), ``"optimistic"`` or ``"pessimistic"``.
    seed : int
        For random ties. A query has the same draw for all strategies, so that two strategies with
        equal ranks get equal values.
    """
    hits = _hits(metric)
    low, high = ranks.optimistic.astype(np.int64), ranks.pessimistic.astype(np.int64)
    found, tied = low > 0, high - low + 1
    rank: np.ndarray
    match ties:
        case "expected":
            if hits is None:
                harmonic = np.append(0.0, np.cumsum(1.0 / np.arange(1, high.max(initial=0) + 1)))
                value = (harmonic[high] - harmonic[np.maximum(low - 1, 0)]) / tied
            else:
                value = np.clip(hits - low + 1, 0, tied) / tied
            return np.where(found, value, 0.0)
        case "random":
            draw = np.random.default_rng(seed).random(low.shape[1:])
            rank = low + (draw * tied).astype(np.int64)
        case "realistic":
            rank = (low + high) / 2
        case "optimistic":
            rank = low
        case "pessimistic":
            rank = high
        case _:
            raise InputError(f"unknown tie policy {ties!r}{nearest(ties, TIES)}")
    value = 1.0 / np.where(found, rank, 1) if hits is None else (rank <= hits).astype(np.float64)
    return np.where(found, value, 0.0)


def _hits(metric: str) -> int | None:
    """Return the k of ``hits@k``, None for ``mrr``."""
    if metric == "mrr":
        return None
    name, _, k = metric.partition("@")
    if name != "hits" or not k.isdecimal() or int(k) < 1:
        raise InputError(f"unknown metric {metric!r}{nearest(metric, METRICS)}")
    return int(k)


@dataclass(frozen=True)
class Groups:
    """A partition of the queries.

    Attributes
    ----------
    name : str
        What the queries are grouped by.
    labels : sequence of str
    codes : integer[T, 2]
        Index into `labels` for each triple and direction.
    """

    name: str
    labels: Sequence[str]
    codes: np.ndarray


def by_relation(ranks: Ranks) -> Groups:
    """Group queries by relation."""
    codes = np.repeat(ranks.triples[:, 1:2], 2, axis=1)
    return Groups("relation", ranks.relations.names(), codes)


def by_direction(ranks: Ranks) -> Groups:
    """Group queries by direction: "tail" asks for the tail, "head" for the head."""
    return Groups("direction", DIRECTIONS, np.tile([0, 1], (len(ranks.triples), 1)))


def by_category(ranks: Ranks, train: np.ndarray) -> Groups:
    """Group queries by the category of their relation (see `relation_categories`)."""
    category = relation_categories(train, len(ranks.relations))
    return Groups("category", CATEGORIES, np.repeat(category[ranks.triples[:, 1:2]], 2, axis=1))


def relation_categories(train: np.ndarray, relations: int) -> np.ndarray:
    """Return the category of each relation, as an index into `CATEGORIES`: int64[relations].

    The usual rule (Bordes et al., 2013), on the train split alone: a side is "n" if the mean number
    of distinct entities on it for one entity on the other side is at least 1.5, else "1". So
    ``1-n`` has many tails for a head. A relation without facts in train is "unseen".

    Parameters
    ----------
    train : int32[n, 3]
        Head, relation, tail.
    relations : int
        How many relations there are.
    """
    head, relation, tail = np.unique(train, axis=0).T
    facts = np.bincount(relation, minlength=relations)

    def partners(entity: np.ndarray) -> np.ndarray:
        pairs = np.unique(np.stack([relation, entity]), axis=1)
        return np.bincount(pairs[0], minlength=relations)

    many_tails = facts >= 1.5 * partners(head)
    many_heads = facts >= 1.5 * partners(tail)
    return np.where(facts > 0, many_tails + 2 * many_heads, CATEGORIES.index("unseen"))


def evaluate(
    ranks: Ranks,
    metrics: Sequence[str] = METRICS,
    ties: str = "expected",
    seed: int = 0,
    groups: Groups | None = None,
) -> pd.DataFrame:
    """Return the metrics of all strategies, micro-averaged over the queries of both directions.

    Parameters
    ----------
    ranks : Ranks
    metrics, ties, seed
        See `values`.
    groups : Groups, optional
        Average within each group that has queries.

    Returns
    -------
    DataFrame
        One row for each group, strategy and metric, with the columns ``strategy``, ``metric``,
        ``value``; the bracket ``pessimistic``, ``optimistic`` in which every way of breaking ties
        ends; ``tied``, the tie mass: the share of all queries whose target has a rank and shares
        its score with another candidate that is not filtered; ``queries``. With `groups` the
        first column is the group's label, named as the grouping.
    """
    import pandas as pd

    codes = np.zeros(ranks.optimistic.shape[1:], np.intp) if groups is None else groups.codes
    codes, labels = codes.ravel(), ("",) if groups is None else groups.labels
    queries = np.bincount(codes, minlength=len(labels))
    used = np.flatnonzero(queries) if groups else np.zeros(1, np.intp)

    def means(value: np.ndarray) -> np.ndarray:
        """Average a value of each query: float64[S, used groups]."""
        sums = [np.bincount(codes, v.ravel(), len(labels))[used] for v in value]
        return np.array(sums) / np.maximum(queries[used], 1)

    tied = means(ranks.pessimistic > ranks.optimistic)
    columns = []
    for metric in metrics:
        value = means(values(ranks, metric, ties, seed))
        low = means(values(ranks, metric, "pessimistic"))
        high = means(values(ranks, metric, "optimistic"))
        columns.append(np.stack([value, low, high, tied]))
    table = np.stack(columns, axis=-1).transpose(2, 1, 3, 0).reshape(-1, 4)
    keys = itertools.product([labels[int(g)] for g in used], ranks.strategies, metrics)
    frame = pd.DataFrame(keys, columns=[groups.name if groups else "", "strategy", "metric"])
    frame[["value", "pessimistic", "optimistic", "tied"]] = table
    frame["queries"] = np.repeat(queries[used], len(ranks.strategies) * len(metrics))
    return frame if groups else frame.drop(columns="")


# --- how sure we are ---------------------------------------------------------------------------

# Blocks of resamples that stay in the processor's cache are three times as fast as large ones.
_BLOCK = 1 << 17


def _blocks(resamples: int, size: int) -> Iterator[slice]:
    """Cut the resamples into blocks of rows of length `size`."""
    rows = max(1, _BLOCK // size)
    for start in range(0, resamples, rows):
        yield slice(start, min(start + rows, resamples))


def _resampled(value: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """Return the means of `value`, float64[T, S], over bootstrap samples: float64[resamples, S].

    A sample is the vector of how often each triple was drawn, so that a block of samples is one
    matrix product for all strategies.
    """
    generator = np.random.default_rng(seed)
    size = len(value)
    means: np.ndarray = np.empty((resamples, value.shape[1]))
    for block in _blocks(resamples, size):
        drawn = generator.integers(size, size=(block.stop - block.start, size), dtype=np.int32)
        counts = np.array([np.bincount(d, minlength=size) for d in drawn], np.float64)
        means[block] = counts @ value
    return means / size


def _flipped(value: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """Return the sums of `value`, float64[T, S], with random signs: float64[resamples, S].

    The sign of a triple is the same for all strategies: the sum of a difference between two
    strategies with random signs is then the difference of two columns.
    """
    generator = np.random.default_rng(seed)
    size = len(value)
    sums: np.ndarray = np.empty((resamples, value.shape[1]))
    for block in _blocks(resamples, size):
        rows = block.stop - block.start
        bits = np.frombuffer(generator.bytes(rows * ((size + 7) // 8)), np.uint8)
        positive = np.unpackbits(bits.reshape(rows, -1), axis=1, count=size)
        sums[block] = positive.astype(np.float64) @ value
    sums *= 2
    sums -= value.sum(axis=0)
    return sums


def _by_triple(ranks: Ranks, metric: str, ties: str, seed: int) -> np.ndarray:
    """Return the mean of both directions, float64[T, S]: triples are what is resampled."""
    if not len(ranks.triples):
        raise InputError("no triples to evaluate")
    return np.ascontiguousarray(values(ranks, metric, ties, seed).mean(axis=2).T)


def intervals(
    ranks: Ranks,
    metric: str = "mrr",
    ties: str = "expected",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> pd.DataFrame:
    """Return bootstrap confidence intervals (percentiles) of a metric.

    Triples are drawn with replacement, the two queries of a triple together: they are not
    independent.

    Returns
    -------
    DataFrame
        Columns ``strategy``, ``value``, ``low``, ``high``.
    """
    import pandas as pd

    value = _by_triple(ranks, metric, ties, seed)
    tail = (1 - level) / 2
    low, high = np.quantile(_resampled(value, resamples, seed), [tail, 1 - tail], axis=0)
    return pd.DataFrame(
        {"strategy": ranks.strategies, "value": value.mean(axis=0), "low": low, "high": high}
    )


def compare(
    ranks: Ranks,
    metric: str = "mrr",
    ties: str = "expected",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    pairs: Sequence[tuple[str, str]] | None = None,
) -> pd.DataFrame:
    """Compare strategies by paired tests over triples.

    The p-value is that of a permutation test: if two strategies were equally good, it would be a
    coin flip which of the two values of a triple belongs to which. ``holm`` is the p-value after
    Holm's correction for all pairs compared.

    Parameters
    ----------
    ranks : Ranks
    metric, ties
        See `values`.
    level : float
        Of the bootstrap interval of the difference.
    resamples : int
        Bootstrap samples, and random permutations.
    seed : int
    pairs : sequence of pairs of strategies, optional
        All pairs by default.

    Returns
    -------
    DataFrame
        Columns ``first``, ``second``, ``difference`` (first minus second), ``low``, ``high``,
        ``p``, ``holm``.
    """
    import pandas as pd

    if pairs is None:
        pairs = list(itertools.combinations(ranks.strategies, 2))
    index = {name: i for i, name in enumerate(ranks.strategies)}
    for name in itertools.chain.from_iterable(pairs):
        if name not in index:
            raise InputError(f"no ranks of strategy {name!r}{nearest(name, index)}")
    first, second = np.array([[index[a], index[b]] for a, b in pairs], np.intp).reshape(-1, 2).T
    value = _by_triple(ranks, metric, ties, seed)
    sums = value.sum(axis=0)
    observed = np.abs(sums[first] - sums[second])
    means = _resampled(value, resamples, seed)
    signed = _flipped(value, resamples, seed)
    tail = (1 - level) / 2
    low, high, p = np.empty((3, len(pairs)))
    for i, (a, b) in enumerate(zip(first, second, strict=True)):
        low[i], high[i] = np.quantile(means[:, a] - means[:, b], [tail, 1 - tail])
        # the tolerance counts sums that are equal but for rounding as equal
        extreme = np.abs(signed[:, a] - signed[:, b]) >= observed[i] - 1e-9
        p[i] = (1 + np.count_nonzero(extreme)) / (1 + resamples)
    return pd.DataFrame(
        {
            "first": [a for a, _ in pairs],
            "second": [b for _, b in pairs],
            "difference": (sums[first] - sums[second]) / len(value),
            "low": low,
            "high": high,
            "p": p,
            "holm": holm(p),
        }
    )


def holm(p: np.ndarray) -> np.ndarray:
    """Return p-values with Holm's step-down correction for their number: float64[n]."""
    order = np.argsort(p, kind="stable")
    scaled = np.minimum(p[order] * np.arange(len(p), 0, -1), 1.0)
    corrected = np.empty(len(p))
    corrected[order] = np.maximum.accumulate(scaled)
    return corrected
