"""How much two runs of a miner differ: timed mining does not give the same rules twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from statistics import mean, pstdev
from typing import Any

import numpy as np

from kgagg.mining.record import beside, rule_lines
from kgagg.util.files import writing


def spread(paths: Sequence[Path]) -> dict[str, Any]:
    """Compare mined files as sets of rules, without the numbers of each rule.

    Returns
    -------
    dict
        ``rules``, the count of each file, with ``mean`` and ``deviation``; ``jaccard``, for each
        pair of files the rules in both over the rules in either; ``common``, the rules in all.
    """
    keys = [_keys(path) for path in paths]
    counts = [len(each) for each in keys]
    common = keys[0]
    for each in keys[1:]:
        common = np.intersect1d(common, each, assume_unique=True)
    return {
        "files": [path.name for path in paths],
        "rules": counts,
        "mean": mean(counts),
        "deviation": pstdev(counts),
        "jaccard": [_jaccard(first, second) for first, second in combinations(keys, 2)],
        "common": len(common),
    }


def write_spread(paths: Sequence[Path]) -> dict[str, Any]:
    """Write ``FIRST.spread.json`` beside the first of the mined files, and return what it says."""
    found = spread(paths)
    with writing(beside(paths[0], ".spread.json")) as file:
        json.dump(found, file, indent=2)
        file.write("\n")
    return found


def _jaccard(first: np.ndarray, second: np.ndarray) -> float:
    both = len(np.intersect1d(first, second, assume_unique=True))
    return both / (len(first) + len(second) - both)


def _keys(path: Path) -> np.ndarray:
    """Return a hash of each distinct rule of a file, uint64[n]: texts would fill the memory."""
    return np.unique(
        np.frombuffer(
            b"".join(
                hashlib.blake2b(_rule(line), digest_size=8).digest() for line in rule_lines(path)
            ),
            np.uint64,
        )
    )


def _rule(line: bytes) -> bytes:
    """Return the rule of a line: AMIE writes it before the numbers, AnyBURL after them."""
    columns = line.split(b"\t")
    return columns[0] if b" => " in columns[0] else columns[-1]
