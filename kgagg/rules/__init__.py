"""Rules: read from every dialect, kept as columns."""

from kgagg.rules.confidence import TYPES, Confidence, Threshold
from kgagg.rules.ruleset import RuleSet
from kgagg.rules.shapes import (
    CONSTANT,
    CYCLIC,
    DANGLING,
    GENERAL,
    KINDS,
    ME,
    ME_ID,
    NONE_ID,
    SIDE,
    XX,
    ZERO,
    Rule,
)

__all__ = [
    "CONSTANT",
    "CYCLIC",
    "DANGLING",
    "GENERAL",
    "KINDS",
    "ME",
    "ME_ID",
    "NONE_ID",
    "SIDE",
    "TYPES",
    "XX",
    "ZERO",
    "Confidence",
    "Rule",
    "RuleSet",
    "Threshold",
]
