"""Graphs: every form of file, what is refused and where, and the index against dictionaries."""

from __future__ import annotations

import bz2
import dataclasses
import gzip
import lzma
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import naive
import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import Fact

from kgagg.cli import main
from kgagg.data import triples
from kgagg.errors import InputError
from kgagg.graph.adjacency import Adjacency
from kgagg.graph.graph import SPLITS, Graph
from kgagg.util.files import line_blocks

PACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}


def read(folder: Path, train: str | bytes, ending: str = "", **others: str | bytes) -> Graph:
    """Write the splits as files into `folder` and read them."""
    for split, text in {"train": train, **others}.items():
        content = text.encode() if isinstance(text, str) else text
        (folder / f"{split}.txt{ending}").write_bytes(PACK[ending](content))
    return Graph.from_folder(folder)


def named(graph: Graph, triples: np.ndarray) -> list[Fact]:
    return [
        (graph.entities[h], graph.relations[r], graph.entities[t]) for h, r, t in triples.tolist()
    ]


# a few names that come often, and any other that can stand in a line
NAME = st.one_of(
    st.sampled_from(["aa", "bb", "cc", "a b", "é", "r(X,Y)"]),
    st.text(
        st.characters(exclude_characters="\t\n\r", exclude_categories=["Cs"]),
        min_size=1,
        max_size=12,
    ).filter(lambda name: any(byte > 32 for byte in name.encode())),
)
FACTS = st.lists(st.tuples(NAME, st.one_of(st.sampled_from(["r", "s"]), NAME), NAME), max_size=30)


def text_of(facts: list[Fact]) -> str:
    return "".join("\t".join(fact) + "\n" for fact in facts)


@given(FACTS.filter(bool), FACTS, FACTS)
def test_a_graph_is_what_its_files_say(
    train: list[Fact], valid: list[Fact], test: list[Fact]
) -> None:
    with TemporaryDirectory() as folder:
        graph = read(Path(folder), text_of(train), valid=text_of(valid), test=text_of(test))
    splits = {"train": train, "valid": valid, "test": test}
    for name, facts in splits.items():
        found = named(graph, graph.split(name))
        assert Counter(found) == Counter(naive.read_facts(text_of(facts))) == Counter(facts)
        assert (np.lexsort(graph.split(name).T[::-1]) == np.arange(len(facts))).all()
    # names are sorted: those of train, then what valid adds, then what test adds
    for kind, columns in (("entities", (0, 2)), ("relations", (1,))):
        expected: dict[str, None] = {}
        for facts in splits.values():
            expected |= dict.fromkeys(
                sorted({fact[i] for fact in facts for i in columns}, key=str.encode)
            )
        vocabulary = getattr(graph, kind)
        assert vocabulary.names() == list(expected)
        assert [vocabulary.id(name) for name in expected] == list(range(len(expected)))
    distinct = {name: set(facts) for name, facts in splits.items()}
    assert graph.overlaps == {
        **{name: len(facts) - len(distinct[name]) for name, facts in splits.items()},
        "train & valid": len(distinct["train"] & distinct["valid"]),
        "train & test": len(distinct["train"] & distinct["test"]),
        "valid & test": len(distinct["valid"] & distinct["test"]),
    }
    check_adjacency(graph)


def check_adjacency(graph: Graph) -> None:
    """Compare the index of train with a dictionary."""
    facts = set(named(graph, graph.train))
    edges = naive.adjacency(facts)
    adjacency = graph.adjacency
    assert adjacency.facts == len(facts)
    assert len(adjacency.segment_key) == len(edges)
    for relation, name in enumerate(graph.relations):
        for direction in (0, 1):
            key = 2 * relation + direction
            starts = {e for e, r, d in edges if (r, d) == (name, direction)}
            part = adjacency.key_entities[adjacency.key_ptr[key] : adjacency.key_ptr[key + 1]]
            assert part.tolist() == sorted(map(graph.entities.id, starts))
            for number, entity in enumerate(graph.entities):
                reached = edges.get((entity, name, direction), set())
                expected = sorted(map(graph.entities.id, reached))
                assert adjacency.step(number, key).tolist() == expected
    every = np.concatenate([graph.train, graph.valid, graph.test])
    known = [fact in facts for fact in named(graph, every)]
    assert adjacency.contains(every).tolist() == known


@settings(max_examples=30)
@given(FACTS.filter(bool), st.integers(8, 60))
def test_lines_may_be_cut_anywhere(train: list[Fact], size: int) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        whole = read(Path(folder), text_of(train))
        patch.setattr(triples, "line_blocks", partial(line_blocks, size=size))
        cut = Graph.from_folder(folder)
    assert cut.digest == whole.digest
    assert named(cut, cut.train) == named(whole, whole.train)
    assert Counter(named(cut, cut.train)) == Counter(train)


PLAIN = "aa\tr\tbb\nbb\tr\tcé\n"


@pytest.mark.parametrize("ending", PACK)
@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        PLAIN.replace("\n", "\r\n"),
        PLAIN.removesuffix("\n"),
        PLAIN.replace("\n", "\r\n").removesuffix("\r\n"),
        "\ufeff" + PLAIN,
    ],
    ids=["plain", "CRLF", "no last line end", "CRLF, no last line end", "byte order mark"],
)
def test_forms_of_one_file(text: str, ending: str, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    plain = read(tmp_path / "plain", PLAIN)
    graph = read(tmp_path, text, ending)
    assert named(graph, graph.train) == naive.read_facts(text)
    assert graph.entities.names() == ["aa", "bb", "cé"]
    assert graph.digest == plain.digest


def test_blank_last_lines_are_harmless(tmp_path: Path) -> None:
    graph = read(tmp_path, PLAIN + "\n\r\n\n", valid="\n")
    assert len(graph.train) == 2
    assert len(graph.valid) == len(graph.test) == 0


def test_many_and_long_names(tmp_path: Path) -> None:
    # more than the first tables hold
    facts = [(f"{'x' * (i % 300)}{i}", f"r{i % 700}", "y" * (3 * i)) for i in range(1, 3000)]
    graph = read(tmp_path, text_of(facts))
    assert sorted(named(graph, graph.train)) == sorted(facts)


def test_the_digest_tells_contents_and_splits_apart(tmp_path: Path) -> None:
    digests = set()
    for i, splits in enumerate(
        [
            {"train": PLAIN},
            {"train": PLAIN, "valid": "aa\tr\tcc\n"},
            {"train": PLAIN, "test": "aa\tr\tcc\n"},
            {"train": PLAIN + "aa\tr\tcc\n"},
        ]
    ):
        (tmp_path / str(i)).mkdir()
        digests.add(read(tmp_path / str(i), **splits).digest)
    assert len(digests) == 4


THREE = "expected three columns separated by tabs: head, relation, tail"
EMPTY = "an empty name, expected head, relation and tail"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"aa\tr\tbb\naa\tr\n", f"train.txt:2: {THREE}"),
        (b"aa r bb\n", f"train.txt:1: {THREE}"),
        (b"aa\tr\tbb\n\naa\tr\tcc\n", f"train.txt:2: {THREE}"),
        (b"aa\tr\tbb\n\n\r\naa\tr\tcc\n", f"train.txt:2: {THREE}"),
        (b"aa\tr\tbb\n\tr\tbb\n", f"train.txt:2: {EMPTY}"),
        (b"aa\t\tbb\n", f"train.txt:1: {EMPTY}"),
        (b"aa\tr\t\r\n", f"train.txt:1: {EMPTY}"),
        (b"aa\t  \tbb\n", f"train.txt:1: {EMPTY}"),
        (b"aa\tr\tbb\naa\tr\tb\xff\n", "train.txt:2: not UTF-8"),
        (b"aa\tr\tbb\naa\tr\t\xc3", "train.txt:2: not UTF-8"),
        (b"\xff\xfea\x00\t\x00", "train.txt:1: not UTF-8"),
        (b"", "train.txt: holds no triple"),
        (b"\n\n", "train.txt: holds no triple"),
    ],
)
def test_what_is_wrong_with_a_file(
    text: bytes, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.txt").write_bytes(text)
    assert main(["stats", str(tmp_path)]) == 2
    assert capsys.readouterr() == ("", f"kgagg: error: {tmp_path}/{problem}\n")


@pytest.mark.parametrize(("line", "problem"), [(b"aa\tr\n", THREE), (b"\xff\n", "not UTF-8")])
def test_lines_are_counted_across_blocks(
    line: bytes, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(triples, "line_blocks", partial(line_blocks, size=50))
    with pytest.raises(InputError, match=f"valid.txt:101: {problem}"):
        read(tmp_path, PLAIN, valid=b"aa\tr\tbb\n" * 100 + line + b"bb\tr\tcc\n" * 9)


def test_what_is_wrong_with_a_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none: no such folder, expected one with train.txt"):
        Graph.from_folder(tmp_path / "none")
    with pytest.raises(InputError, match=r"has no train.txt \(head, relation, tail, with tabs\)"):
        Graph.from_folder(tmp_path)
    (tmp_path / "train.txt").mkdir()
    with pytest.raises(InputError, match=r"train.txt: is a folder, expected a file"):
        Graph.from_folder(tmp_path)
    (tmp_path / "train.txt").rmdir()
    read(tmp_path, PLAIN)
    (tmp_path / "train.txt.gz").write_bytes(gzip.compress(PLAIN.encode()))
    with pytest.raises(InputError, match=r"has both train.txt and train.txt.gz, expected one"):
        Graph.from_folder(tmp_path)


@pytest.mark.parametrize("ending", [ending for ending in PACK if ending])
def test_damaged_compression(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"train.txt{ending}"
    noise = np.random.default_rng(0).integers(0, 1 << 60, 3000)
    whole = PACK[ending]("".join(f"{n:x}\tr\tbb\n" for n in noise).encode())
    middle = len(whole) // 2
    for damaged in (whole[:middle], whole[:-1], whole[:middle] + bytes(99) + whole[middle + 99 :]):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=rf"train.txt{ending}: damaged or truncated"):
            Graph.from_folder(tmp_path)


def test_a_graph_comes_back_from_its_binary_form(tmp_path: Path) -> None:
    graph = read(tmp_path, PLAIN + "aa\tr\taa\n", valid="cc\ts\tdd\n")
    path = graph.save(tmp_path / "cache")
    assert path.name == f"{graph.digest}.graph"
    opened = Graph.open(path)
    assert opened.digest == graph.digest
    assert opened.entities.names() == graph.entities.names()
    assert opened.relations.names() == graph.relations.names()
    for split in SPLITS:
        assert (opened.split(split) == graph.split(split)).all()
    for field in dataclasses.fields(Adjacency):
        one, other = getattr(graph.adjacency, field.name), getattr(opened.adjacency, field.name)
        assert one.dtype == other.dtype
        assert (one == other).all()
    # mapped from the file, not read
    assert isinstance(opened.train.base, np.ndarray)
    assert opened.entities.id("cé") == graph.entities.id("cé") >= 0
    check_adjacency(opened)


def test_a_truncated_binary_form(tmp_path: Path) -> None:
    path = read(tmp_path, PLAIN).save(tmp_path)
    path.write_bytes(path.read_bytes()[:-64])
    with pytest.raises(InputError, match="graph: truncated"):
        Graph.open(path)


def test_more_facts_than_pointers_tell_apart() -> None:
    triples = np.broadcast_to(np.zeros(3, np.int32), (2**30, 3))
    with pytest.raises(InputError, match="1,073,741,824 triples: expected fewer"):
        Adjacency.build(triples, 1, 1)


def test_an_unknown_split(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="dev: no such split, expected one of train, valid, test"):
        read(tmp_path, PLAIN).split("dev")
