"""What a rule is: its shape, its names, and how atoms are brought into that shape.

Every dialect is read in two steps. Its own parser turns a line into a head atom and body atoms;
`arrange` turns those into a `Rule`, which has one form for all ways to write the same rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import permutations
from typing import NamedTuple

# what a rule is, by its constants and its body
CYCLIC, CONSTANT, DANGLING, ZERO, GENERAL = range(5)
KINDS = ("cyclic", "constant", "dangling", "zero", "general")

# flags
SIDE = 1  # the head is h(c,Y); otherwise it is h(X,c), or has no constant
XX = 2  # the head is written h(X,X), with which PyClause says h(X,me_myself_i)
FROM_Y = 4  # text only: the cyclic body is written from Y to X
BARE = 8  # text only: the rule is written without statistics
STYLE = 16  # text only: two bits, the way in which the confidence is written

# the constant in the head of a reflexive rule: it stands for the entity of the query
ME = "me_myself_i"
NONE_ID, ME_ID = -1, -2

GENERAL_ATOMS = 3
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVW"

# a variable is a number, X = 0 and Y = 1; a constant is its name
Term = int | str
X, Y = 0, 1


class Atom(NamedTuple):
    """``relation(subject,object)``."""

    relation: str
    subject: Term
    object: Term


class Unusable(Exception):
    """A line that does not become a rule.

    Parameters
    ----------
    reason : str
        The kind of problem; lines are counted by it.
    detail : str
        What it is in this line.
    hint : callable, optional
        Gives a clause to append for people, which may take a while.
    """

    def __init__(self, reason: str, detail: str, hint: Callable[[], str] = str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason, self.hint = reason, hint


class Rule(NamedTuple):
    """One rule, in the only form it has whatever the order of its atoms and its variables' names.

    Attributes
    ----------
    kind : int
        `CYCLIC`, `CONSTANT`, `DANGLING`, `ZERO` or `GENERAL`.
    flags : int
        `SIDE`, `XX` and those that only concern the text.
    relation : str
        Relation of the head.
    head_constant, body_constant : str or None
        The constants, `ME` for the reflexive token.
    path : tuple of (str, int)
        The body from X on (from the head's variable, if it has but one): relation and direction
        of each step, 0 from subject to object and 1 back.
    atoms : tuple of (str, int, int)
        Only for a `GENERAL` rule, whose body is not a path: relation, subject and object, with
        X = 0, Y = 1 and up to two more variables.
    """

    kind: int
    flags: int
    relation: str
    head_constant: str | None
    body_constant: str | None
    path: tuple[tuple[str, int], ...]
    atoms: tuple[tuple[str, int, int], ...] = ()

    def labelled(self, labels: Mapping[str, str]) -> Rule:
        """Return the rule with labels in place of names that have one, to be shown."""
        if not labels:
            return self
        return self._replace(
            relation=labels.get(self.relation, self.relation),
            head_constant=self.head_constant and labels.get(self.head_constant, self.head_constant),
            body_constant=self.body_constant and labels.get(self.body_constant, self.body_constant),
            path=tuple((labels.get(name, name), way) for name, way in self.path),
            atoms=tuple((labels.get(name, name), a, b) for name, a, b in self.atoms),
        )


def arrange(head: Atom, body: list[Atom]) -> Rule:
    """Bring a head and a body, with the atoms in any order, into the form of a rule.

    Raises
    ------
    Unusable
        If the rule has a shape that cannot be applied, and which one.
    """
    subject, object_ = head.subject, head.object
    for atom in body:
        if atom.subject == atom.object:
            raise Unusable("unsupported shape", f"{atom.relation} has the same term twice")
    if isinstance(subject, int) and isinstance(object_, int):
        if subject == object_:
            return _acyclic(head.relation, subject, ME, XX, body)
        return _cyclic(head, body)
    if isinstance(subject, int):
        return _acyclic(head.relation, subject, str(object_), 0, body)
    if isinstance(object_, int):
        return _acyclic(head.relation, object_, subject, SIDE, body)
    raise Unusable("unsupported shape", "the head has no variable")


def _acyclic(relation: str, start: int, constant: str, flags: int, body: list[Atom]) -> Rule:
    if not body:
        return Rule(ZERO, flags, relation, constant, None, ())
    path = _path(start, body)
    if path is None:
        raise Unusable("unsupported shape", "the body is not a path from the variable of the head")
    steps, end = path
    _check_length(len(steps))
    if isinstance(end, str):
        return Rule(CONSTANT, flags, relation, constant, end, steps)
    return Rule(DANGLING, flags, relation, constant, None, steps)


def _cyclic(head: Atom, body: list[Atom]) -> Rule:
    if not body:
        raise Unusable("unsupported shape", "an empty body, and no constant in the head")
    if any(isinstance(term, str) for atom in body for term in atom[1:]):
        raise Unusable("unsupported shape", "a constant in the body, but none in the head")
    path = _path(X, body)
    if path is not None and path[1] == Y:
        _check_length(len(path[0]))
        return Rule(CYCLIC, 0, head.relation, None, None, path[0])
    if len(body) > GENERAL_ATOMS:
        detail = f"the body is not a path, and longer than {GENERAL_ATOMS} atoms"
        raise Unusable("unsupported shape", detail)
    reached = {X}
    for _ in body:
        for atom in body:
            if reached & set(atom[1:]):
                reached |= {int(atom.subject), int(atom.object)}
    inner = {int(term) for atom in body for term in atom[1:]} - {X, Y}
    if not reached >= inner | {Y}:
        raise Unusable("unsupported shape", "the body does not connect X and Y")
    # the one with the smallest atoms, of all the ways to name the inner variables
    choices = []
    for order in permutations(range(2, 2 + len(inner))):
        names = dict(zip(sorted(inner), order, strict=True)) | {X: X, Y: Y}
        atoms = ((a.relation, names[int(a.subject)], names[int(a.object)]) for a in body)
        choices.append(tuple(sorted(atoms)))
    return Rule(GENERAL, 0, head.relation, None, None, (), min(choices))


def _path(start: int, body: list[Atom]) -> tuple[tuple[tuple[str, int], ...], Term] | None:
    """Walk from `start` through all atoms; return the steps and the last term, or None."""
    steps: list[tuple[str, int]] = []
    here: Term = start
    rest = list(body)
    while rest:
        if isinstance(here, str):
            return None
        # a variable that is passed again is seen here, as it has more than one way on
        onward = [atom for atom in rest if here in (atom.subject, atom.object)]
        if len(onward) != 1:
            return None
        (atom,) = onward
        rest.remove(atom)
        direction = int(atom.subject != here)
        steps.append((atom.relation, direction))
        here = atom.subject if direction else atom.object
    return tuple(steps), here


def _check_length(steps: int) -> None:
    if steps > len(LETTERS):
        raise Unusable("unsupported shape", f"the body is longer than {len(LETTERS)} atoms")
