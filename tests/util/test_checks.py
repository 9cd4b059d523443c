"""Digests notice changes, and ranges are told in one line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgagg.errors import InputError
from kgagg.util.checks import (
    checking,
    digest_of,
    expect_arrays,
    expect_ascending,
    expect_pointers,
    expect_text,
    expect_within,
)


@given(st.integers(0, 9000), st.data())
def test_every_change_of_a_byte_and_of_the_size_is_noticed(size: int, data: st.DataObject) -> None:
    content = np.random.default_rng(size).integers(0, 256, size, np.uint8)
    digest = digest_of(content)
    assert len(digest) == 32
    assert digest_of(content.tobytes()) == digest
    assert digest_of(np.append(content, np.uint8(0))) != digest
    if size:
        assert digest_of(content[:-1]) != digest
        place = data.draw(st.integers(0, size - 1))
        content[place] ^= data.draw(st.integers(1, 255))
        assert digest_of(content) != digest


@pytest.mark.parametrize("error", [KeyError("x"), ValueError("a\nb"), TypeError(), IndexError()])
def test_what_is_not_expected_is_one_line(error: Exception) -> None:
    with pytest.raises(InputError, match=r"^file: damaged: \S.*$") as told, checking("file"):
        raise error
    assert "\n" not in str(told.value)


def test_the_input_error_of_a_check_is_kept() -> None:
    with pytest.raises(InputError, match=r"^mine$"), checking(Path("file")):
        raise InputError("mine")


def test_ranges() -> None:
    expect_within("x", np.array([], np.int32), 5, 4)
    expect_within("x", np.array([2, 4]), 2, 4)
    for values in ([1, 3], [3, 5], [3.0, np.nan]):
        with pytest.raises(ValueError, match="x is out of range"):
            expect_within("x", np.array(values), 2, 4)


def test_pointers_and_what_they_point_to() -> None:
    expect_pointers("x", np.array([0, 0, 2, 3]), 3)
    for pointers in ([], [1, 3], [0, 2], [0, 4], [0, 3, 2, 3]):
        with pytest.raises(ValueError, match=r"^x does not"):
            expect_pointers("x", np.array(pointers, np.int64), 3)
    values = np.array([3, 5, 1, 2])
    expect_ascending("x", values, np.array([0, 2, 2, 4]))
    expect_ascending("x", values[:0], np.array([0, 0]))
    for starts in ([0, 4], [0, 1, 4], [0, 3, 4]):
        with pytest.raises(ValueError, match="x does not ascend"):
            expect_ascending("x", values, np.array(starts))


def test_texts_are_utf8_and_cut_between_characters() -> None:
    blob = np.frombuffer("aäb".encode(), np.uint8)
    expect_text("x", blob, np.array([0, 1, 3, 4]))
    with pytest.raises(ValueError, match="x is not UTF-8"):
        expect_text("x", blob, np.array([0, 2, 4]))
    with pytest.raises(ValueError, match="decode"):
        expect_text("x", blob[:2], np.array([0, 2]))


def test_types_and_shapes() -> None:
    arrays = {"x": np.zeros((2, 3), np.int32)}
    expect_arrays(arrays, {"x": (np.int32, np.int64)}, -1, 3)
    with pytest.raises(KeyError):
        expect_arrays(arrays, {"y": (np.int32,)}, 2, 3)
    with pytest.raises(ValueError, match="x is int32"):
        expect_arrays(arrays, {"x": (np.int64,)}, 2, 3)
    for shape in ((2, 2), (6,), (2, 3, 1)):
        with pytest.raises(ValueError, match="x has the shape"):
            expect_arrays(arrays, {"x": (np.int32,)}, *shape)
