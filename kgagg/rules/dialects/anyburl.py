r"""The text form of AnyBURL, which is PyClause's too.

A line is ``predicted TAB correct TAB confidence TAB HEAD <= ATOM, ATOM, ...``, or the rule alone.
An atom is ``relation(term,term)``. The body of a zero rule is empty. The head is one of ``h(X,Y)``,
``h(X,c)``, ``h(c,Y)`` and ``h(X,X)``, which is PyClause's form of a reflexive rule.

How names are found. The line is cut at the first ``") <= "`` and the body at each ``"), "``; these
two cannot be part of a name, and neither can tabs and line ends. Everything else can. One term of
each atom must be a variable, which is one capital letter; so an atom is cut after its first or
before its last comma, wherever the single letter is. If the names of a graph are given, only cuts
count for which the graph knows the relation and the constant, and an atom that can be cut in two
such ways is refused. Without a graph the relation ends at the first parenthesis, and a letter on
the left goes before one on the right, as in AnyBURL.

How variables differ from entities with one letter. In the head only X on the left and Y on the
right are variables (and X on the right of ``h(X,X)``). In the body a capital letter is a variable
if the head or an atom before has it, or if it is the next new one: A, then B, then C. Any other
capital letter is an entity if the graph knows it, and a variable otherwise. Longer terms are never
variables, so the entity AB is what it is. kgagg itself writes an entity with one capital letter as
its name with a backslash before it, ``h(X,\A)``, which no reader takes for a variable.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal

from kgagg.rules.shapes import (
    BARE,
    CONSTANT,
    CYCLIC,
    FROM_Y,
    GENERAL,
    LETTERS,
    ME,
    SIDE,
    STYLE,
    XX,
    Atom,
    Rule,
    Term,
    Unusable,
    X,
    Y,
    arrange,
)

# PyClause takes a rule that comes without statistics for one that is always right
BARE_COUNT = 100

_NUMBER = re.compile(r"\d{1,18}", re.ASCII)
_ESCAPED = re.compile(r"\\*[A-Z]")

Known = Callable[[str], bool]


def parse_line(
    line: str, entity: Known | None = None, relation: Known | None = None
) -> tuple[Rule, int, int, bool]:
    """Read one line.

    Parameters
    ----------
    line : str
        The line, without its end.
    entity, relation : callable, optional
        Return whether a graph has a name; None without a graph.

    Returns
    -------
    rule : Rule
        With the flags that make `format_line` give the same text again.
    predicted, correct : int
        The statistics.
    exact : bool
        Whether `format_line` gives the same text again.

    Raises
    ------
    Unusable
        If the line is not a rule that can be applied, and why.
    """
    columns = line.split("\t")
    if len(columns) == 1:
        predicted = correct = BARE_COUNT
        bare = BARE
    elif len(columns) == 4:
        predicted, correct = _count(columns[0]), _count(columns[1])
        if correct > predicted:
            raise Unusable("bad statistics", f"{correct} correct of {predicted} predictions")
        try:
            float(columns[2].replace(",", "."))
        except ValueError:
            detail = f"{columns[2]!r}, expected a confidence"
            raise Unusable("bad statistics", detail) from None
        bare = 0
    else:
        raise Unusable("not a rule", f"{len(columns)} columns, expected 4 with tabs between")
    rule = arrange(*_parse_rule(columns[-1], entity, relation))
    for flags in (0, FROM_Y) if rule.kind == CYCLIC else (0,):
        written = rule._replace(flags=rule.flags | flags | bare)
        if format_rule(written) != columns[-1]:
            continue
        if bare:
            return written, predicted, correct, True
        if columns[0] == str(predicted) and columns[1] == str(correct):
            for number, style in enumerate(STYLES):
                if style(predicted, correct) == columns[2]:
                    flags = written.flags | number * STYLE
                    return written._replace(flags=flags), predicted, correct, True
    return rule._replace(flags=rule.flags | bare), predicted, correct, False


def _count(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise Unusable("bad statistics", f"{text!r}, expected a whole number")
    return int(text)


def _parse_rule(text: str, entity: Known | None, relation: Known | None) -> tuple[Atom, list[Atom]]:
    cut = text.find(") <= ")
    if cut >= 0:
        head, body = text[: cut + 1], text[cut + 5 :]
    elif text.endswith(") <="):
        head, body = text[:-3], ""
    else:
        raise Unusable("not a rule", f"{_shown(text)}, expected HEAD <= BODY")
    first = _parse_head(head, entity, relation)
    letters = {"X": X, "Y": Y}
    named = {name for name, number in letters.items() if number in first[1:]}
    atoms = []
    parts = body.split("), ")
    for i, part in enumerate(parts if body else ()):
        atom = _parse_atom(part if i == len(parts) - 1 else part + ")", named, entity, relation)
        terms: list[Term] = []
        for term in atom[1:]:
            if _is_variable(term, named, entity):
                named.add(term)
                terms.append(letters.setdefault(term, len(letters)))
            else:
                terms.append(_unescape(term, entity))
        atoms.append(Atom(atom[0], *terms))
    return first, atoms


def _parse_head(text: str, entity: Known | None, relation: Known | None) -> Atom:
    def known(cut: tuple[str, str, str]) -> bool:
        _, left, right = cut
        if left == "X":
            return right in ("X", "Y") or _knows(entity, right)
        return _knows(entity, left)

    cuts = [cut for cut in _cuts(text) if cut[1] == "X" or cut[2] == "Y"]
    if cuts:
        name, left, right = _choose(text, cuts, known, relation)
        if left == "X" and right in ("X", "Y"):
            return Atom(name, X, X if right == "X" else Y)
        constant = right if left == "X" else left
        if not _is_letter(constant) or (entity and entity(constant)):
            constant = _unescape(constant, entity)
            return Atom(name, X, constant) if left == "X" else Atom(name, constant, Y)
    detail = f"{_shown(text)}, expected h(X,Y), h(X,c), h(c,Y) or h(X,X)"
    raise Unusable("unsupported head", detail)


def _parse_atom(
    text: str, named: set[str], entity: Known | None, relation: Known | None
) -> tuple[str, str, str]:
    def known(cut: tuple[str, str, str]) -> bool:
        variables = [_is_variable(term, named, entity) for term in cut[1:]]
        return any(variables) and all(
            variable or _knows(entity, term)
            for variable, term in zip(variables, cut[1:], strict=True)
        )

    return _choose(text, list(_cuts(text)), known, relation)


def _is_variable(term: str, named: set[str], entity: Known | None) -> bool:
    if not _is_letter(term):
        return False
    if term in named or entity is None or not entity(term):
        return True
    return term == next((letter for letter in LETTERS if letter not in named), None)


def _knows(entity: Known | None, name: str) -> bool:
    return name == ME or entity is None or entity(_unescape(name, entity))


def _cuts(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield each way to read ``relation(term,term)`` in which a term is one capital letter."""
    if not text.endswith(")"):
        return
    for found in re.finditer(r"\(", text):
        relation, terms = text[: found.start()], text[found.end() : -1]
        if not relation or len(terms) < 3:
            continue
        left = terms[1] == "," and _is_letter(terms[0])
        if left:
            yield relation, terms[0], terms[2:]
        if terms[-2] == "," and _is_letter(terms[-1]) and not (left and len(terms) == 3):
            yield relation, terms[:-2], terms[-1]


def reads_as_variable(name: str) -> bool:
    """Return whether a constant has to be escaped: one capital letter, escaped or not."""
    return bool(_ESCAPED.fullmatch(name))


def escape(name: str | None) -> str:
    """Write a constant so that it cannot be taken for a variable."""
    return f"\\{name}" if name and reads_as_variable(name) else str(name)


def _unescape(term: str, entity: Known | None) -> str:
    """Return the name of a constant; a name that the graph knows as it is stays."""
    if len(term) < 2 or not reads_as_variable(term):
        return term
    literal = entity is not None and entity(term) and not entity(term[1:])
    return term if literal else term[1:]


def _is_letter(term: str) -> bool:
    return len(term) == 1 and "A" <= term <= "Z"


def _choose(
    text: str,
    cuts: Sequence[tuple[str, str, str]],
    known: Callable[[tuple[str, str, str]], bool],
    relation: Known | None,
) -> tuple[str, str, str]:
    """Return the one cut whose names are known, or the first one if that is unknown as well."""
    if not cuts:
        detail = f"{_shown(text)}, expected relation(term,term) with a variable"
        raise Unusable("not an atom", detail)
    if relation is None:
        return cuts[0]
    valid = [cut for cut in cuts if relation(cut[0]) and known(cut)]
    if len(valid) > 1:
        raise Unusable("ambiguous names", f"{_shown(text)} can be read in {len(valid)} ways")
    return valid[0] if valid else cuts[0]


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")


def format_rule(rule: Rule) -> str:
    """Write a rule without its statistics."""
    return f"{format_head(rule)} <= {format_body(rule)}"


def format_head(rule: Rule) -> str:
    """Write the head of a rule."""
    if rule.kind in (CYCLIC, GENERAL):
        return f"{rule.relation}(X,Y)"
    if rule.flags & XX:
        return f"{rule.relation}(X,X)"
    if rule.flags & SIDE:
        return f"{rule.relation}({escape(rule.head_constant)},Y)"
    return f"{rule.relation}(X,{escape(rule.head_constant)})"


def format_body(rule: Rule) -> str:
    """Write the body of a rule."""
    return ", ".join(_atoms(rule))


def _atoms(rule: Rule) -> Iterator[str]:
    for relation, subject, object_ in rule.atoms:
        yield f"{relation}({'XYAB'[subject]},{'XYAB'[object_]})"
    path = list(rule.path)
    terms = ["Y" if rule.flags & SIDE else "X", *LETTERS[: len(path)]]
    if rule.kind == CYCLIC:
        terms[-1] = "Y"
    elif rule.kind == CONSTANT:
        terms[-1] = escape(rule.body_constant)
    if rule.flags & FROM_Y:
        path = [(relation, 1 - direction) for relation, direction in reversed(path)]
        terms[0], terms[-1] = terms[-1], terms[0]
    for (relation, direction), left, right in zip(path, terms, terms[1:], strict=False):
        yield f"{relation}({right},{left})" if direction else f"{relation}({left},{right})"


def format_line(rule: Rule, predicted: int, correct: int) -> str:
    """Write a rule with its statistics, as its flags say."""
    return format_statistics(predicted, correct, rule.flags) + format_rule(rule)


def format_statistics(predicted: int, correct: int, flags: int) -> str:
    """Write what is before the rule in a line, as its flags say."""
    if flags & BARE:
        return ""
    confidence = STYLES[flags // STYLE % 4](predicted, correct)
    return f"{predicted}\t{correct}\t{confidence}\t"


def _java(predicted: int, correct: int) -> str:
    """Write correct / predicted as Java writes a double."""
    value = correct / predicted if predicted else 0.0
    if value == 0 or value >= 1e-3:
        return repr(value)
    digits, exponent = f"{Decimal(repr(value)):E}".split("E")
    return f"{digits if '.' in digits else digits + '.0'}E{exponent}"


def _six_digits(predicted: int, correct: int) -> str:
    """Write correct / predicted as PyClause does, with six digits."""
    return f"{correct / predicted:g}" if predicted else "-nan"


def _six_decimals(predicted: int, correct: int) -> str:
    """Write correct / predicted as AMIE does when it writes rules in this form."""
    return f"{correct / predicted:f}" if predicted else "NaN"


STYLES = (_java, _six_digits, _six_decimals)
