"""AnyBURL's ranking files, written, read back and evaluated."""

from __future__ import annotations

from pathlib import Path

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgagg.errors import InputError
from kgagg.graph.adjacency import Adjacency
from kgagg.graph.vocabulary import Vocabulary
from kgagg.prediction.rankings import (
    Candidates,
    Ranking,
    rank_rankings,
    read_rankings,
    write_rankings,
)

ENTITIES = Vocabulary.from_names(["ann", "bob", "two words", "d\u00e9", "eve", "new york", "york"])
RELATIONS = Vocabulary.from_names(["likes", "is in", "in"])


def ranked(*pairs: tuple[int, float]) -> Candidates:
    return Candidates(np.array([e for e, _ in pairs], np.int32), np.array([s for _, s in pairs]))


def facts(*triples: tuple[int, int, int]) -> Adjacency:
    array = np.array(triples, np.int32).reshape(-1, 3)
    return Adjacency.build(array, len(ENTITIES), len(RELATIONS))


def read(path: Path, text: str) -> list[Ranking]:
    path.write_text(text)
    return list(read_rankings(path, ENTITIES, RELATIONS))


scores = st.floats(0, 1) | st.floats(0, 100)
lists = st.lists(st.tuples(st.integers(0, 6), scores), max_size=5, unique_by=lambda p: p[0])
triples = st.tuples(st.integers(0, 4), st.just(0), st.integers(0, 4))


@given(st.lists(st.tuples(triples, lists, lists), max_size=4))
def test_rankings_are_read_back(
    tmp_path_factory: pytest.TempPathFactory,
    content: list[tuple[tuple[int, int, int], list[tuple[int, float]], list[tuple[int, float]]]],
) -> None:
    rankings = [Ranking(t, ranked(*heads), ranked(*tails)) for t, heads, tails in content]
    path = tmp_path_factory.mktemp("rankings") / "rankings.txt"
    write_rankings(path, iter(rankings), ENTITIES, RELATIONS)
    back = list(read_rankings(path, ENTITIES, RELATIONS))
    assert len(back) == len(rankings)
    for a, b in zip(back, rankings, strict=True):
        assert a.triple == b.triple
        for mine, theirs in ((a.heads, b.heads), (a.tails, b.tails)):
            assert np.array_equal(mine.entity, theirs.entity)
            assert np.array_equal(mine.score, theirs.score)


def test_the_format_is_anyburls(tmp_path: Path) -> None:
    path = tmp_path / "rankings.txt"
    rankings = [Ranking((0, 0, 2), ranked((0, 0.5), (1, 0.25)), ranked())]
    write_rankings(path, rankings, ENTITIES, RELATIONS)
    assert path.read_text() == "ann likes two words\nHeads: ann\t0.5\tbob\t0.25\t\nTails: \n"


def test_a_failed_write_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(IndexError):
        write_rankings(
            tmp_path / "r.txt", [Ranking((0, 9, 0), ranked(), ranked())], ENTITIES, RELATIONS
        )
    assert list(tmp_path.iterdir()) == []


def test_names_with_spaces_are_read_where_there_is_one_way(tmp_path: Path) -> None:
    path = tmp_path / "rankings.txt"
    (ranking,) = read(path, "new york is in two words\r\nHeads:\r\nTails: two words\t1\r\n")
    assert ranking.triple == (5, 1, 2)
    assert ranking.tails.entity.tolist() == [2]
    ambiguous = Vocabulary.from_names(["a", "a is", "b"])
    path.write_text("a is in b\nHeads: \nTails: \n")
    with pytest.raises(InputError, match=r"rankings.txt:1: 'a is in b' can be read in 2 ways"):
        list(read_rankings(path, ambiguous, RELATIONS))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ann likes", ":1: expected a head, a relation and a tail"),
        ("ann likes bobb\nHeads:\nTails:\n", ":1: expected a head, a relation and a tail"),
        ("ann likes bob\nTails: \n", ":2: expected a line that starts with 'Heads:'"),
        ("ann likes bob\nHeads: \n", ":3: expected a line that starts with 'Tails:'"),
        ("ann likes bob\nHeads: bobb\t1\t\n", ":2: unknown entity 'bobb'; did you mean bob?"),
        ("ann likes bob\nHeads: bob\tx\t\n", ":2: expected names and scores in turn"),
        ("ann likes bob\nHeads: bob\t\n", ":2: expected a score after each name"),
    ],
)
def test_wrong_lines_are_told(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        read(tmp_path / "rankings.txt", text)
    assert message in str(error.value)


def test_anyburls_evaluation_by_list_order() -> None:
    heads = ranked((1, 0.9), (4, 0.9), (0, 0.9), (3, 0.1))
    rankings = [Ranking((0, 0, 2), heads, ranked((3, 0.5)))]
    known = facts((0, 0, 2), (1, 0, 2))

    def ranks(**options: object) -> tuple[list[int], list[int]]:
        found = rank_rankings(rankings, ENTITIES, RELATIONS, known, name="x", **options)  # type: ignore[arg-type]
        return found.optimistic[0, 0].tolist(), found.pessimistic[0, 0].tolist()

    assert ranks() == ([0, 2], [0, 2])
    assert ranks(by_score=True) == ([0, 1], [0, 2])
    # candidates that are left out count for where the list is cut
    assert ranks(top_k=3) == ([0, 2], [0, 2])
    assert ranks(top_k=2) == ([0, 0], [0, 0])


@given(triples, lists, lists, st.lists(triples, max_size=6))
def test_ranks_by_score_agree_with_the_oracle(
    triple: tuple[int, int, int],
    heads: list[tuple[int, float]],
    tails: list[tuple[int, float]],
    true: list[tuple[int, int, int]],
) -> None:
    rankings = [Ranking(triple, ranked(*heads), ranked(*tails))]
    known = facts(*true, triple)
    found = rank_rankings(rankings, ENTITIES, RELATIONS, known, name="x", by_score=True)
    h, r, t = triple
    other_tails = [c for a, b, c in true if (a, b) == (h, r) and c != t]
    other_heads = [a for a, b, c in true if (b, c) == (r, t) and a != h]
    expected = [
        naive.filtered_ranks(dict(tails), t, other_tails),
        naive.filtered_ranks(dict(heads), h, other_heads),
    ]
    assert [*zip(found.optimistic.ravel(), found.pessimistic.ravel(), strict=True)] == expected
