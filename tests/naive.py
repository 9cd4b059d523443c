"""Slow, obvious reference implementations: what the package must agree with."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence

# --- evaluation --------------------------------------------------------------------------------


def filtered_ranks(
    scores: Mapping[int, float], target: int, others: Iterable[int] = ()
) -> tuple[int, int]:
    """Optimistic and pessimistic rank of the target when other true answers are left out."""
    if target not in scores:
        return 0, 0
    kept = [s for e, s in scores.items() if e != target and e not in set(others)]
    best = scores[target]
    return 1 + sum(s > best for s in kept), 1 + sum(s >= best for s in kept)


def random_order_mean(optimistic: int, pessimistic: int, hits: int | None) -> float:
    """Mean of 1/rank (or of rank <= hits) over all orders of the tied candidates, one by one."""
    if optimistic == 0:
        return 0.0
    tied = range(pessimistic - optimistic + 1)
    total = orders = 0.0
    for order in itertools.permutations(tied):
        rank = optimistic + order.index(0)
        total += 1 / rank if hits is None else float(rank <= hits)
        orders += 1
    return total / orders


def sign_flip_p(differences: Sequence[float]) -> float:
    """Exact two-sided p-value of the sum of paired differences, over all signs."""
    observed = abs(sum(differences))
    sums = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in itertools.product([-1, 1], repeat=len(differences))
    ]
    return sum(s >= observed - 1e-9 for s in sums) / len(sums)


# --- aggregation -------------------------------------------------------------------------------


def max_plus(rules: Sequence[int]) -> list[int]:
    """A list that compares as MAX+ does; rules are numbered by descending confidence.

    Of two lists with a common beginning the longer one is greater.
    """
    return [-r for r in sorted(rules)]


def aggregate(name: str, rules: Sequence[int], confidence: Sequence[float]) -> float:
    """Score of a candidate that these rules predict, by the formula of the strategy."""
    p = [confidence[r] for r in sorted(rules)]
    if name == "max":
        return p[0]
    if name == "noisy-or":
        return 1 - math.prod(1 - c for c in p)
    if name.startswith("noisy-or-top-"):
        return 1 - math.prod(1 - c for c in p[: int(name.removeprefix("noisy-or-top-"))])
    if name == "log-odds":
        return sum(math.log(c / (1 - c)) for c in p)
    assert name == "mean"
    return sum(p) / len(p)
