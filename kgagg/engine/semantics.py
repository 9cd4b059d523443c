"""What counts as a prediction: where AnyBURL and PyClause differ."""

from __future__ import annotations

from dataclasses import dataclass

from kgagg.errors import InputError, nearest


@dataclass(frozen=True)
class Semantics:
    """The choices on which AnyBURL and PyClause differ; everything else they agree on.

    Attributes
    ----------
    name : str
        The preset, which also names that of `kgagg.rules.confidence.Confidence`.
    strict_identity : bool
        All entities of a rule's grounding differ, also in acyclic bodies of length one: the
        constant or the dangling entity of the body is not the query's entity, and the dangling
        entity is not the head constant (when the query's entity is bound to the variable; towards
        the variable AnyBURL lets it be). If false, they may coincide, as in PyClause, where also
        a dangling body of length two or more predicts the head constant for itself.
        Cyclic and general bodies always keep object identity.
    branching : int
        A step of a cyclic body, other than the last, from an entity with more neighbours than this
        is not taken; 0 takes all.
    discrimination : int
        A rule that predicts this many entities for a query, known facts included, predicts
        nothing; 0 sets no bound. Cyclic bodies of length one, rules that predict one entity, and
        general bodies are exempt. (AnyBURL clears and goes on, in hash order, for cyclic bodies:
        that is not reproduced.)
    levels_by_value : bool
        MAX+ takes rules of equal confidence for one level (PyClause), instead of ordering them as
        in the file (AnyBURL).
    reflexive_heads_only : bool
        A rule written ``h(X,X) <= ...`` answers head queries only (PyClause), instead of both.
    """

    name: str
    strict_identity: bool
    branching: int
    discrimination: int
    levels_by_value: bool
    reflexive_heads_only: bool


PRESETS = {
    preset.name: preset
    for preset in (
        Semantics("anyburl", True, 1000, 10000, False, False),
        Semantics("pyclause", False, 1000, 0, True, True),
    )
}


def semantics(name: str) -> Semantics:
    """Return the preset `name`: ``anyburl`` or ``pyclause``."""
    if name not in PRESETS:
        raise InputError(
            f"{name}: no such semantics, expected one of {', '.join(PRESETS)}"
            + nearest(name, PRESETS)
        )
    return PRESETS[name]
