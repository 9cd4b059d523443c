"""Writing rule sets in the form that the name of the file asks for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from kgagg.errors import InputError, nearest
from kgagg.rules.dialects import amie, anyburl
from kgagg.rules.lines import BLOCK, text_blocks
from kgagg.rules.ruleset import RuleSet
from kgagg.rules.shapes import GENERAL, ME, SIDE, STYLE, XX, ZERO, Rule
from kgagg.util.files import COMPRESSIONS, writing
from kgagg.util.machine import processors

# of text, if it has one
ENDINGS = (".txt", ".rules", ".tsv")
DIALECTS = ("as-read", "anyburl", "pyclause", "amie")
BINARY, PARQUET = ".kgagg", ".parquet"


def write(
    rules: RuleSet,
    path: str | os.PathLike[str],
    dialect: str = "as-read",
    *,
    threads: int | None = None,
    written: Callable[[int], object] = bool,
) -> int:
    """Write rules to `path`: binary if it ends in .kgagg, Parquet if in .parquet, else text.

    Parameters
    ----------
    rules : RuleSet
        The rules.
    path : path
        The file; text is compressed by its ending.
    dialect : str
        The dialect of the text. ``as-read`` gives each line as it was, in the order of the files
        (rules of AMIE in AnyBURL's form). ``anyburl`` and ``pyclause`` write reflexive rules in
        their way: ``h(X,X)`` becomes two rules of AnyBURL, one for each side. ``amie`` leaves
        columns empty that are not known.
    threads : int, optional
        How many threads make text as it was read; all cores by default.
    written : callable
        Is told how many rules of such text are written so far.

    Returns
    -------
    int
        How many rules the dialect cannot express, which were left out: general ones in AnyBURL's
        and PyClause's, zero rules in AMIE's.
    """
    path = Path(path)
    if path.suffix == BINARY:
        rules.save(path)
        return 0
    if path.suffix == PARQUET:
        _write_parquet(rules, path)
        return 0
    if dialect not in DIALECTS:
        expected = f"expected one of {', '.join(DIALECTS)}{nearest(dialect, DIALECTS)}"
        raise InputError(f"{dialect}: no such dialect, {expected}")
    rows = rules.file_order
    with writing(path) as file:
        if dialect == "as-read":
            for i, block in enumerate(text_blocks(rules, rows, threads or processors()), 1):
                file.write(block.decode())
                written(min(i * BLOCK, len(rows)))
            return 0
        if dialect == "amie":
            file.write(amie.HEADER + "\n")
        left_out = 0
        for rule, row in zip(rules.rules(rows), rows.tolist(), strict=True):
            _check_names(rule, dialect)
            lines = list(_lines(rules, rule, row, dialect))
            file.writelines(lines)
            left_out += not lines
    return left_out


def expect_ending(path: str | os.PathLike[str]) -> None:
    """Raise InputError if no form of rules ends like this file, be it compressed or not."""
    path = Path(path)
    ending = Path(path.stem).suffix if path.suffix in COMPRESSIONS else path.suffix
    known = (BINARY, PARQUET, *ENDINGS)
    if ending and ending not in known:
        raise InputError(f"{path}: no form of rules ends in {ending}, expected {', '.join(known)}")


def _check_names(rule: Rule, dialect: str) -> None:
    """Refuse constants that a reader of the dialect would take for variables."""
    wrong = amie.reads_as_variable if dialect == "amie" else anyburl.reads_as_variable
    for name in (rule.head_constant, rule.body_constant):
        if name is not None and wrong(name):
            raise InputError(
                f"entity {name!r} is read as a variable in the dialect {dialect}: write the rules "
                f"as-read, where it is escaped, or to a binary file ({BINARY})"
            )


def _lines(rules: RuleSet, rule: Rule, row: int, dialect: str) -> Iterator[str]:
    predicted, correct = int(rules.predicted[row]), int(rules.correct[row])
    if dialect == "amie":
        if rule.kind != ZERO:
            pca = -1 if rules.pca_predicted is None else int(rules.pca_predicted[row])
            yield amie.format_line(rule, predicted, correct, pca) + "\n"
    elif rule.kind != GENERAL:
        flags = [rule.flags & SIDE]
        if dialect == "pyclause":
            flags = [XX if rule.head_constant == ME else flags[0]]
            flags[0] |= STYLE
        elif rule.flags & XX:
            flags = [0, SIDE]
        for each in flags:
            yield anyburl.format_line(rule._replace(flags=each), predicted, correct) + "\n"


def _write_parquet(rules: RuleSet, path: Path) -> None:
    """Write one row for each rule, by rank."""
    from kgagg.rules.parquet import CHUNK, write_table

    starts = range(0, len(rules), CHUNK)
    chunks = (np.arange(start, min(start + CHUNK, len(rules))) for start in starts)
    write_table(path, (list(rules.listed(rows).values()) for rows in chunks))
