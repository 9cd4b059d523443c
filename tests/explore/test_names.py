"""Find names as one types."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kgagg.explore.names import NameIndex

NAMES = ["Ada", "Adam Smith", "The Adamant", "Madam", "x_adagio", "zoë", "a\tb"]


def test_equal_then_beginning_then_word_then_anywhere() -> None:
    index = NameIndex(NAMES, {})
    assert index.search("ada") == ["Ada", "Adam Smith", "The Adamant", "x_adagio", "Madam"]
    assert index.search("ADA", limit=2) == ["Ada", "Adam Smith"]


def test_labels_are_found_too_and_names_once() -> None:
    index = NameIndex(["m/01", "m/02", "m/03"], {"m/02": "Ada", "m/03": "Adam m/0"})
    assert index.search("ada") == ["m/02", "m/03"]
    assert index.search("m/0") == ["m/01", "m/02", "m/03"]


def test_blanks_and_nothing() -> None:
    index = NameIndex(NAMES, {})
    assert index.search("  ") == []
    assert index.search("nobody") == []
    assert index.search("a b") == ["a\tb"]


words = st.text("abA \t\nßé", max_size=4)


@given(st.lists(words, max_size=8), words, st.dictionaries(words, words, max_size=3))
def test_what_is_found_is_what_contains_the_text(
    names: list[str], text: str, labels: dict[str, str]
) -> None:
    def plain(word: str) -> str:
        return word.casefold().replace("\t", " ").replace("\n", " ")

    found = NameIndex(names, labels).search(text, limit=100)
    wanted = plain(text.strip())
    expected = [
        n for n in names if wanted and any(wanted in plain(x) for x in (n, labels.get(n, n)))
    ]
    assert sorted(found) == sorted(expected)
