"""Names and numbers against a dictionary."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgagg.graph.vocabulary import Interner, Vocabulary

# many names that differ in one place, around the eight bytes that are compared at once
SIMILAR = st.text("ab", max_size=20)
NAMES = st.lists(st.one_of(SIMILAR, st.text(max_size=12)), max_size=60)


@given(NAMES, st.lists(st.one_of(SIMILAR, st.text(max_size=12)), max_size=20))
def test_names_have_the_numbers_of_a_dictionary(names: list[str], others: list[str]) -> None:
    numbers: dict[str, int] = {}
    for name in names:
        numbers.setdefault(name, len(numbers))
    vocabulary = Vocabulary.from_names(names)
    assert len(vocabulary) == len(numbers)
    assert vocabulary.names() == list(vocabulary) == list(numbers)
    for name in names + others:
        assert vocabulary.id(name) == numbers.get(name, -1)
        assert (name in vocabulary) == (name in numbers)
    for name, number in numbers.items():
        assert vocabulary[number] == name


def test_the_table_grows() -> None:
    names = [f"{'long' * (i % 50)} name {i}" for i in range(5000)]
    interner = Interner()
    assert [interner.add(name) for name in names] == list(range(5000))
    assert [interner.add(name) for name in names] == list(range(5000))
    vocabulary = interner.vocabulary()
    assert vocabulary.names() == names
    assert [vocabulary.id(name) for name in names] == list(range(5000))
    assert vocabulary.id("long name 5000") == -1


@pytest.mark.parametrize("number", [-1, 2, 1 << 40])
def test_a_number_without_a_name(number: int) -> None:
    with pytest.raises(IndexError):
        Vocabulary.from_names(["aa", "bb"])[number]


def test_the_nearest_names() -> None:
    vocabulary = Vocabulary.from_names(["/people/person/nationality", "/film/film/genre"])
    assert vocabulary.nearest("/people/person/nationalty") == (
        "; did you mean /people/person/nationality?"
    )
    assert vocabulary.nearest("zzz") == ""
