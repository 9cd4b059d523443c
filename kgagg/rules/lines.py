"""The text of many rules at once: each line is joined from pieces that rules share.

The pieces are made as for a single rule (see `kgagg.rules.dialects.anyburl`): the statistics, the
head and the body before and after their constants, and the constants. A kernel copies them.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from kgagg.rules import _kernels
from kgagg.rules.dialects import anyburl
from kgagg.rules.ruleset import RuleSet
from kgagg.rules.shapes import BARE, FROM_Y, KINDS, ME, ME_ID, NONE_ID, SIDE, XX, Rule

# how many lines are joined together
BLOCK = 1 << 16
# in place of a constant; no name has it
_MARK = "\t"


def text_blocks(rules: RuleSet, rows: np.ndarray, threads: int) -> Iterator[bytes]:
    """Yield the lines of rules in the text form of AnyBURL, as they were read.

    Parameters
    ----------
    rules : RuleSet
    rows : int[n]
        Which rules, in this order.
    threads : int
        How many threads join lines.

    Yields
    ------
    bytes
        `BLOCK` lines, each with its line end; fewer at the end.
    """
    pieces = _pieces(rules, rows)
    starts = iter(range(0, len(rows), BLOCK))
    waiting: deque[Future[bytes]] = deque()
    with ThreadPoolExecutor(threads) as executor:
        while True:
            # no more than a few blocks wait to be taken
            while len(waiting) <= threads and (start := next(starts, None)) is not None:
                waiting.append(executor.submit(pieces.block, start))
            if not waiting:
                return
            yield waiting.popleft().result()


class _Pool:
    """Texts, numbered from 0, which is the empty one."""

    def __init__(self) -> None:
        self.texts = [b""]

    def add(self, text: str) -> int:
        """Take in a text; return its number."""
        self.texts.append(text.encode())
        return len(self.texts) - 1


@dataclasses.dataclass(frozen=True)
class _Pieces:
    """What lines are joined from.

    Attributes
    ----------
    blob, offsets : uint8[bytes], int64[texts + 1]
        The texts of the pieces.
    statistics : int32[lines]
        The text before the rule; all of a line that cannot be made again.
    whole : bool[lines]
        Whether it is all.
    head, body : int32[lines]
        Row of the template.
    templates : int32[n, 3]
        The text before a constant and the text behind it, and whether there is a constant.
    constants : int32[entities + 2]
        The texts of the entities, from `ME_ID` on.
    """

    rules: RuleSet
    rows: np.ndarray
    blob: np.ndarray
    offsets: np.ndarray
    statistics: np.ndarray
    whole: np.ndarray
    head: np.ndarray
    body: np.ndarray
    templates: np.ndarray
    constants: np.ndarray

    def block(self, start: int) -> bytes:
        """Join the lines from `start` on."""
        part = slice(start, start + BLOCK)
        rows = self.rows[part]
        pieces = np.empty((len(rows), 7), np.int32)
        pieces[:, 0] = self.statistics[part]
        sides = ((self.head, self.rules.head_constant), (self.body, self.rules.body_constant))
        for first, (template, constant) in zip((1, 4), sides, strict=True):
            before, behind, with_constant = self.templates[template[part]].T
            pieces[:, first], pieces[:, first + 2] = before, behind
            pieces[:, first + 1] = with_constant * self.constants[constant[rows] - ME_ID]
        pieces[self.whole[part], 1:] = 0
        sizes = np.diff(self.offsets)[pieces].sum(axis=1) + 1
        text = np.empty(int(sizes.sum()), np.uint8)
        _kernels.join_lines(self.blob, self.offsets, pieces, text)
        return text.tobytes()


def _pieces(rules: RuleSet, rows: np.ndarray) -> _Pieces:
    pool = _Pool()
    written = rules.written(rows)
    whole = np.zeros(len(rows), np.bool_)
    whole[list(written)] = True
    statistics = _statistics(rules, rows, pool)
    for position, text in written.items():
        statistics[position] = pool.add(text)
    flags, kind = rules.flags[rows].astype(np.int64), rules.kind[rows]
    ways = (SIDE | XX | FROM_Y) + 1
    shape = (flags % ways) * len(KINDS) + kind
    columns = (rules.relation, _head), (rules.body, anyburl.format_body)
    templates: list[np.ndarray] = []
    places: list[np.ndarray] = []
    for column, write in columns:
        key = column[rows].astype(np.int64) * (ways * len(KINDS)) + shape
        made, place = _templates(rules, rows, key, write, pool)
        places.append(place + sum(len(each) for each in templates))
        templates.append(made)
    constants = _constants(rules, rows, pool)
    sizes = np.fromiter(map(len, pool.texts), np.int64, len(pool.texts))
    return _Pieces(
        rules,
        rows,
        np.frombuffer(b"".join(pool.texts), np.uint8),
        np.concatenate([[0], np.cumsum(sizes)]),
        statistics,
        whole,
        places[0],
        places[1],
        np.concatenate(templates),
        constants,
    )


def _statistics(rules: RuleSet, rows: np.ndarray, pool: _Pool) -> np.ndarray:
    """Write the statistics of rules, each text once: int32[n]."""
    columns = np.stack([rules.predicted[rows], rules.correct[rows], rules.flags[rows] // BARE])
    # neighbours are often alike
    new = np.ones(len(rows), np.bool_)
    new[1:] = (columns[:, 1:] != columns[:, :-1]).any(axis=0)
    numbers: dict[tuple[int, int, int], int] = {}
    found = []
    for key in zip(*columns[:, new].tolist(), strict=True):
        if key not in numbers:
            predicted, correct, style = key
            numbers[key] = pool.add(anyburl.format_statistics(predicted, correct, style * BARE))
        found.append(numbers[key])
    return np.array(found, np.int32)[np.cumsum(new) - 1]


def _templates(
    rules: RuleSet,
    rows: np.ndarray,
    key: np.ndarray,
    write: Callable[[Rule], str],
    pool: _Pool,
) -> tuple[np.ndarray, np.ndarray]:
    """Write what rules with the same `key`, int64[n], have in common.

    Returns
    -------
    templates : int32[n, 3]
        See `_Pieces`.
    place : int32[n]
        The template of each rule.
    """
    example = np.full(int(key.max(initial=-1)) + 1, -1, np.int64)
    example[key] = rows
    used = np.flatnonzero(example >= 0)
    templates = np.zeros((len(used), 3), np.int32)
    for i, rule in enumerate(rules.rules(example[used])):
        text = write(rule._replace(head_constant=_MARK, body_constant=_MARK))
        before, mark, behind = text.partition(_MARK)
        templates[i] = pool.add(before), pool.add(behind), bool(mark)
    place = np.zeros(len(example), np.int32)
    place[used] = np.arange(len(used))
    return templates, place[key]


def _head(rule: Rule) -> str:
    return f"{anyburl.format_head(rule)} <= "


def _constants(rules: RuleSet, rows: np.ndarray, pool: _Pool) -> np.ndarray:
    """Write the constants of rules, each once: int32[entities + 2] (see `_Pieces`)."""
    used = np.zeros(len(rules.entities) - ME_ID, np.bool_)
    for column in (rules.head_constant, rules.body_constant):
        used[column[rows] - ME_ID] = True
    used[NONE_ID - ME_ID] = False
    numbers = np.zeros(len(used), np.int32)
    for place in np.flatnonzero(used).tolist():
        name = ME if place == 0 else rules.entities[place + ME_ID]
        numbers[place] = pool.add(anyburl.escape(name))
    return numbers
