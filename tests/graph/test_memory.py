"""Graphs of triples in memory, whatever holds them."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import kgagg
from kgagg.cli import main
from kgagg.errors import InputError
from kgagg.graph.graph import Graph

FACTS = [("anna", "likes", "bob"), ("bob", "knows", "cé"), ("cé", "likes", "anna")]
FRAME = pd.DataFrame(FACTS, columns=["subject", "predicate", "object"])


class Stream:
    """What polars, DuckDB and others are for Arrow."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


class TriplesFactory:
    """The part of PyKEEN's class that its documentation names."""

    labeled_triples = np.array(FACTS)


@pytest.mark.parametrize(
    "triples",
    [
        FACTS,
        iter(FACTS),
        [list(fact) for fact in FACTS],
        np.array(FACTS),
        np.array(FACTS, object),
        FRAME,
        FRAME[["object", "predicate", "subject"]],
        FRAME.astype("category"),
        FRAME.rename(columns={"predicate": "?", "subject": "a", "object": "b"}),
        FRAME.set_index(pd.Index([7, 8, 9])),
        pa.Table.from_pandas(FRAME),
        Stream(pa.Table.from_pandas(FRAME)),
        TriplesFactory(),
    ],
)
def test_every_holder_of_triples_gives_the_same_graph(triples: Any) -> None:
    graph = Graph.from_triples(triples, valid=FACTS[:1], test=FRAME[1:])
    assert sorted(graph.to_pandas().itertuples(index=False, name=None)) == sorted(FACTS)
    assert [len(graph.valid), len(graph.test)] == [1, 2]


@pytest.mark.parametrize("library", ["polars", "duckdb", "pykeen"])
def test_libraries_themselves(library: str) -> None:
    module = pytest.importorskip(library)
    if library == "polars":
        triples: Any = module.DataFrame(FACTS, schema=list(FRAME), orient="row")
    elif library == "duckdb":
        triples = module.sql(
            "select * from (values ('a', 'r', 'b')) as facts(head, relation, tail)"
        )
    else:
        triples = module.triples.TriplesFactory.from_labeled_triples(np.array(FACTS))
    assert len(Graph.from_triples(triples).train) == (1 if library == "duckdb" else 3)


def test_numbers_are_names_too() -> None:
    graph = Graph.from_triples(np.array([[1, 0, 22], [22, 0, 3]]))
    assert graph.entities.names() == ["1", "22", "3"]


@pytest.mark.parametrize(
    ("triples", "problem"),
    [
        ("graph.csv", "train='graph.csv': a path, expected triples (Graph.read)"),
        (np.zeros((2, 2)), "train: an array of shape (2, 2), expected (n, 3)"),
        ([("a", "r", "b"), ("a", "r")], "train:2: ('a', 'r'), expected head, relation and tail"),
        (["abc"], "train:1: 'abc', expected head, relation and tail"),
        ([("a", "r", None)], "train:1: tail is empty, expected a name"),
        ([("a", "r", 1), ("a", "r", "b")], "expected names"),
        (FRAME[["subject", "object"]], "train: 2 columns (subject, object), expected head"),
        (5, "train: int, expected a table, an array or a list"),
        ([], "train: holds no triple"),
    ],
)
def test_what_is_wrong_is_named(triples: Any, problem: str) -> None:
    with pytest.raises(InputError) as error:
        Graph.from_triples(triples)
    assert problem in str(error.value)


def test_a_graph_shows_itself_in_one_line_and_as_a_table() -> None:
    graph = kgagg.Graph.from_triples([*FACTS, ("<b>", "likes", "bob")])
    assert repr(graph) == ("Graph(4 entities, 2 relations; triples: 4 train, 0 valid, 0 test)")
    assert '<td style="text-align: left">&lt;b&gt;</td>' in graph._repr_html_()


def test_datasets_of_pykeen_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    if importlib.util.find_spec("pykeen") is None:
        assert main(["stats", "pykeen:nations"]) == 1
        assert "needs pykeen: pip install pykeen" in capsys.readouterr().err
        pytest.skip("PyKEEN is not installed")
    assert len(Graph.read("pykeen:nations").train) == 1592
    with pytest.raises(InputError, match="did you mean nations"):
        Graph.read("pykeen:nation")
