"""Aggregation: from the rules that predict a candidate to one score.

Importing a module registers its strategies; a new strategy is one module more in this list.
"""

from kgagg.aggregation import contrast, learned, maximum, noisy_or, safran, sparse
from kgagg.aggregation.registry import (
    Strategy,
    best_rules,
    register,
    registered,
    score,
    strategy,
)

__all__ = [
    "Strategy",
    "best_rules",
    "contrast",
    "learned",
    "maximum",
    "noisy_or",
    "register",
    "registered",
    "safran",
    "score",
    "sparse",
    "strategy",
]
