"""What the columns of a rule set may hold, so that no kernel leaves an array."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kgagg.rules.shapes import (
    CONSTANT,
    CYCLIC,
    GENERAL,
    GENERAL_ATOMS,
    KINDS,
    LETTERS,
    ME_ID,
    NONE_ID,
    STYLE,
    ZERO,
)
from kgagg.util.checks import (
    expect,
    expect_arrays,
    expect_ascending,
    expect_pointers,
    expect_text,
    expect_within,
)

_COUNT = (np.int32, np.int64)
_BLOCK = 1 << 16
_COLUMNS: dict[str, tuple[type, ...]] = {
    "kind": (np.uint8,),
    "flags": (np.uint8,),
    "relation": (np.int32,),
    "head_constant": (np.int32,),
    "body_constant": (np.int32,),
    "body": (np.int32,),
    "predicted": _COUNT,
    "correct": _COUNT,
    "confidence": (np.float64,),
    "line": (np.int32,),
    "source": (np.uint8,),
}
_TABLES: dict[str, tuple[type, ...]] = {
    "body_ptr": (np.int64,),
    "body_keys": (np.int32,),
    "written_key": (np.int64,),
    "written_ptr": (np.int64,),
    "written_blob": (np.uint8,),
}


def check_rules(
    arrays: Mapping[str, np.ndarray], entities: int, relations: int, sources: int
) -> None:
    """Check the columns and tables of a rule set.

    Parameters
    ----------
    arrays : mapping of str to array
        See the attributes of `kgagg.rules.ruleset.RuleSet`.
    entities, relations, sources : int
        How many there are.

    Raises
    ------
    KeyError, ValueError
        If something is missing, or out of range (see `kgagg.util.checks`).
    """
    count = len(arrays["kind"])
    expect_arrays(arrays, _COLUMNS, count)
    expect_arrays(arrays, _TABLES, -1)
    if "pca_predicted" in arrays:
        expect_arrays(arrays, {"pca_predicted": _COUNT}, count)
    bodies = len(arrays["body_ptr"]) - 1
    for name, low, high in (
        ("kind", 0, len(KINDS) - 1),
        ("flags", 0, 4 * STYLE - 1),
        ("relation", 0, relations - 1),
        ("head_constant", ME_ID, entities - 1),
        ("body_constant", ME_ID, entities - 1),
        ("body", 0, bodies - 1),
        ("source", 0, sources - 1),
        ("confidence", 0, 1),
    ):
        expect_within(name, arrays[name], low, high)
    confidence = arrays["confidence"]
    expect((confidence[1:] <= confidence[:-1]).all(), "confidence does not descend")
    kind = arrays["kind"]
    # block by block, which stays in the processor's cache
    for start in range(0, count, _BLOCK):
        block = slice(start, start + _BLOCK)
        some = kind[block]
        # heads of paths between X and Y, and of general rules, have no constant
        without = (some == CYCLIC) | (some == GENERAL)
        same = np.array_equal(arrays["head_constant"][block] == NONE_ID, without)
        expect(same, "head_constant does not fit the kind")
        same = np.array_equal(arrays["body_constant"][block] != NONE_ID, some == CONSTANT)
        expect(same, "body_constant does not fit the kind")
    _check_bodies(kind, arrays["body"], arrays["body_ptr"], arrays["body_keys"], relations)
    key, blob = arrays["written_key"], arrays["written_blob"]
    expect(len(arrays["written_ptr"]) == len(key) + 1, "written_ptr does not fit")
    expect_ascending("written_key", key, np.array([0, len(key)]))
    expect_text("written_blob", blob, arrays["written_ptr"])


def _check_bodies(
    kind: np.ndarray, body: np.ndarray, ptr: np.ndarray, keys: np.ndarray, relations: int
) -> None:
    expect_pointers("body_ptr", ptr, len(keys))
    # how many rules have each body; one that no rule has any more may be anything
    count, size = len(ptr) - 1, np.diff(ptr)
    rules = [np.bincount(body[kind == one], minlength=count) for one in (GENERAL, ZERO)]
    general, zero = (one > 0 for one in rules)
    path = np.bincount(body, minlength=count) > sum(rules)
    expect(not (path & zero).any(), "a rule without a body has one")
    first = int(np.argmax(general)) if general.any() else count
    expect(not (path | zero)[first:].any(), "general bodies do not come last")
    expect((size[zero] == 0).all(), "a rule without a body has one")
    expect_within("the length of a body", size[path], 1, len(LETTERS))
    expect_within("the length of a body", size[general], 3, 3 * GENERAL_ATOMS)
    expect((size[general] % 3 == 0).all(), "a body is cut")
    expect_within("body_keys", keys[np.repeat(path, size)], 0, 2 * relations - 1)
    atoms = keys[np.repeat(general, size)].reshape(-1, 3)
    expect_within("body_keys", atoms[:, 0], 0, relations - 1)
    expect_within("body_keys", atoms[:, 1:], 0, 3)
    # relations of unused bodies are still looked up where names are translated
    expect_within("body_keys", keys, 0, 2 * max(relations, 2) - 1)
