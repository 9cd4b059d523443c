"""The console output of AMIE 3, from which the rules are picked.

A rule is ``s  r  o  s  r  o   => s  r  o`` with two blanks between names, a tab, and its statistics
in columns with tabs between. The header that names the columns may be glued to the end of another
line; AMIE 3.5 spells and chooses the columns in its own way. Names may hold single blanks. All
other lines are the log of the program. With -datalog, AMIE writes the atoms of a rule as
``r(?a,?b), s(?b,?c)  => t(?a,?c)``. Atoms come in an order of their own, and inner variables
have any name; `arrange` finds the path.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kgagg.rules.shapes import DANGLING, SIDE, XX, Atom, Rule, Term, Unusable, X, Y, arrange

# normalised names of the columns that are used, and the layout of AMIE 3.0
_SUPPORT, _BODY, _PCA = ("positiveexamples", "support"), "bodysize", "pcabodysize"
_LAYOUT = {"positiveexamples": 4, _BODY: 5, _PCA: 6, "functionalvariable": 7}
HEADER = (
    "Rule\tHead Coverage\tStd Confidence\tPCA Confidence\tPositive Examples\tBody size"
    "\tPCA Body size\tFunctional variable"
)

_VARIABLE = re.compile(r"\?[a-z][a-z0-9]*")
# what is between body and head with -datalog
_RULE = re.compile(r"\)\s*=> \S.*\)(?:\t|$)")
# terms are cut at the first comma, so only the object may have one
_DATALOG = re.compile(
    r"(?P<relation>[^\s,(][^(]*)\((?P<subject>[^,()]+),\s*(?P<object>(?:[^()]|\([^()]*\))+?)\)(?=[\s,]|$)"
)
_COUNT = re.compile(r"\d{1,18}(?:[.,]0*)?")


def reads_as_variable(name: str) -> bool:
    """Return whether a constant would be taken for a variable."""
    return bool(_VARIABLE.fullmatch(name))


def is_rule(line: str) -> bool:
    """Return whether a line has a rule, not the log, also if the rule's end is missing."""
    return "   => " in line or bool(_RULE.search(line)) or line.startswith("?")


class Header:
    """Where the statistics are in a line, which the header of the file names."""

    def __init__(self) -> None:
        self._columns = _LAYOUT

    def read(self, line: str) -> bool:
        """Take over the columns if `line` ends in a header; return whether it does."""
        names = [re.sub(r"[^a-z]", "", name.lower()) for name in line.split("\t")]
        if len(names) < 4 or not names[0].endswith("rule") or "headcoverage" not in names:
            return False
        self._columns = {name: i for i, name in enumerate(names)}
        return True

    def statistics(self, columns: list[str]) -> tuple[int, int | None, int | None]:
        """Return positive examples, body size and PCA body size; None for one not given."""
        if len(columns) <= max(self._columns.values()):
            raise Unusable("truncated", f"{len(columns)} columns, expected more")
        support = next((self._columns[name] for name in _SUPPORT if name in self._columns), None)
        if support is None:
            raise Unusable("bad statistics", "the header names no column of positive examples")
        correct = _count(columns[support])
        if correct is None:
            raise Unusable("bad statistics", f"{columns[support]!r}, expected a whole number")
        sizes = [
            _count(columns[self._columns[name]]) if name in self._columns else None
            for name in (_BODY, _PCA)
        ]
        if any(size is not None and size < correct for size in sizes):
            raise Unusable("bad statistics", f"{correct} positive examples of fewer predictions")
        return correct, sizes[0], sizes[1]


def _count(text: str) -> int | None:
    """Read a whole number; None if it is negative or empty, by which AMIE says "not computed"."""
    if text == "" or re.fullmatch(r"-1(?:[.,]0*)?", text):
        return None
    if not _COUNT.fullmatch(text):
        raise Unusable("bad statistics", f"{text!r}, expected a whole number")
    return int(re.split("[.,]", text)[0])


def parse_line(line: str, header: Header) -> tuple[Rule, int, int | None, int | None]:
    """Read one line with a rule.

    Returns
    -------
    rule : Rule
        The rule.
    correct : int
        Positive examples.
    predicted, pca_predicted : int or None
        Body size and PCA body size; None for one that the file does not give.

    Raises
    ------
    Unusable
        If the line is not a rule that can be applied, and why.
    """
    columns = line.split("\t")
    statistics = header.statistics(columns)
    body, _, head = columns[0].partition(" => ")
    body_atoms = list(_atoms(body))
    head_atoms = list(_atoms(head))
    if len(head_atoms) != 1:
        raise Unusable("not a rule", f"{len(head_atoms)} atoms in the head, expected one")
    ((relation, *ends),) = head_atoms
    numbers: dict[str, int] = {}
    terms: list[Term] = []
    for end, number in zip(ends, (X, Y), strict=True):
        is_variable = _VARIABLE.fullmatch(end)
        terms.append(numbers.setdefault(end, number) if is_variable else end)
    # a number that is not taken, also if the head has one variable only
    atoms = [
        Atom(
            name,
            *(
                numbers.setdefault(end, len(numbers) + 2) if _VARIABLE.fullmatch(end) else end
                for end in pair
            ),
        )
        for name, *pair in body_atoms
    ]
    return arrange(Atom(relation, *terms), atoms), *statistics


def _atoms(text: str) -> Iterator[tuple[str, str, str]]:
    if text.rstrip(" ").endswith(")"):
        yield from _datalog_atoms(text)
        return
    names = [name for name in re.split(" {2,}", text.strip(" ")) if name]
    if any(re.match(r"\?[a-z][a-z0-9]*!=", name) for name in names):
        raise Unusable("unsupported shape", "an inequality")
    if len(names) % 3:
        raise Unusable("not a rule", f"{len(names)} names, expected subject, relation, object")
    for subject, relation, object_ in zip(names[::3], names[1::3], names[2::3], strict=True):
        yield relation, subject, object_


def _datalog_atoms(text: str) -> Iterator[tuple[str, str, str]]:
    """Read atoms as AMIE writes them with -datalog: ``relation(subject,object)``."""
    position = 0
    for found in _DATALOG.finditer(text):
        if text[position : found.start()].strip(" ,"):
            break
        yield found["relation"], found["subject"], found["object"]
        position = found.end()
    if rest := text[position:].strip(" ,"):
        raise Unusable("not an atom", f"{rest!r}, expected relation(subject,object)")


def format_line(rule: Rule, predicted: int, correct: int, pca_predicted: int) -> str:
    """Write a rule with its statistics; columns that are not known stay empty."""
    names = ["?a", "?b", *(f"?{letter}" for letter in "cdefghijklmnopqrstuvwxyz")]
    head = ["?a", "?b"]
    if rule.flags & XX:
        head[1] = "?a"
    elif rule.head_constant is not None:
        head[not rule.flags & SIDE] = rule.head_constant
    atoms = [(names[subject], r, names[object_]) for r, subject, object_ in rule.atoms]
    ends = ["?b" if rule.flags & SIDE else "?a", *names[2 : 2 + len(rule.path)]]
    if rule.path and rule.kind != DANGLING:
        ends[-1] = "?b" if rule.body_constant is None else rule.body_constant
    for (relation, direction), left, right in zip(rule.path, ends, ends[1:], strict=False):
        atoms.append((right, relation, left) if direction else (left, relation, right))
    body = "".join(f"{s}  {r}  {o}  " for s, r, o in atoms)
    standard = f"{correct / predicted:.9g}" if predicted else "0"
    pca = [f"{correct / pca_predicted:.9g}", str(pca_predicted)] if pca_predicted > 0 else ["", ""]
    statistics = ["", standard, pca[0], str(correct), str(predicted), pca[1], ""]
    return "\t".join([f"{body} => {head[0]}  {rule.relation}  {head[1]}", *statistics])
