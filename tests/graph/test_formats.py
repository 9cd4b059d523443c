"""The same triples in every format are the same graph; what is left out is reported."""

from __future__ import annotations

import bz2
import gzip
import lzma
import warnings
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from kgagg.cli import main
from kgagg.errors import InputError
from kgagg.graph.graph import Graph

PACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}
FACTS = [("anna", "likes", "bob,jr."), ("bob,jr.", "knows", "cé"), ("cé", "likes", "anna")]
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
NT = f"""\
# people
<anna> <likes> <bob,\\u006Ar.> .
<bob,\\u006Ar.> <knows> <cé> <graph> .
<cé> <likes> <anna> . # really

<anna> <{LABEL}> "Anna \\"A\\"\\t!"@en .
"""
TTL = f"""\
@prefix l: <{LABEL.removesuffix("label")}> .
<anna> <likes> <bob,\\u006Ar.> .
<bob,\\u006Ar.> <knows> <cé> .
<cé> <likes> <anna> .
<anna> l:label \"\"\"Anna "A"\t!\"\"\"@en .
"""


def parquet() -> bytes:
    names = ("subject", "predicate", "object")
    columns = {name: [fact[i] for fact in FACTS] for i, name in enumerate(names)}
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"weight": [1.0, 2.0, 3.0]} | columns), sink)
    return sink.getvalue().to_pybytes()


FORMS: dict[str, str | bytes] = {
    "a.tsv": "".join("\t".join(fact) + "\n" for fact in FACTS),
    "no-ending": "".join("\t".join(fact) + "\n" for fact in FACTS),
    "a.csv": "".join(f'{h},{r},"{t}"\n'.replace("bob,jr.,", '"bob,jr.",') for h, r, t in FACTS),
    "b.csv": "\ufeffsource;target;type\r\n" + "".join(f"{h};{t};{r}\r\n" for h, r, t in FACTS),
    "c.csv": "".join(f"{h}|{r}|{t}\n" for h, r, t in FACTS),
    "d.tsv": "id\tobject\tpredicate\tsubject\n"
    + "".join(f"7\t{t}\t{r}\t{h}\n" for h, r, t in FACTS),
    "e.txt": "".join(f"{h}\t{r}\t{t}\t0.5\n" for h, r, t in FACTS),
    "f.nt": NT,
    "g.ttl": TTL,
    "h.parquet": parquet(),
}


@pytest.fixture
def plain(tmp_path: Path) -> Graph:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "train.txt").write_text(str(FORMS["a.tsv"]))
    return Graph.read(tmp_path / "plain")


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("packed", PACK)
@pytest.mark.parametrize("name", FORMS)
def test_every_format_is_the_same_graph(
    name: str, packed: str, plain: Graph, tmp_path: Path
) -> None:
    if name == "g.ttl":
        pytest.importorskip("rdflib")
    text = FORMS[name]
    content = PACK[packed](text if isinstance(text, bytes) else text.encode())
    (tmp_path / f"{name}{packed}").write_bytes(content)
    one = Graph.read(tmp_path / f"{name}{packed}")
    assert one.digest == plain.digest
    assert one.entities.names() == plain.entities.names()
    assert (one.train == plain.train).all()
    if "." in name:
        # as a split of a folder
        folder = tmp_path / "folder"
        folder.mkdir()
        for split in ("train", "test"):
            (folder / f"{split}{Path(name).suffix}{packed}").write_bytes(content)
        graph = Graph.read(folder)
        assert (graph.train == plain.train).all()
        assert (graph.test == plain.train).all()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("b.csv", None),
        ("d.tsv", "d.tsv: uses subject, predicate, object, not id"),
        ("e.txt", "e.txt: uses column 1, column 2, column 3, not column 4"),
        ("f.nt", "f.nt: left out 1 triples with literals"),
        ("h.parquet", "h.parquet: uses subject, predicate, object, not weight"),
    ],
)
def test_what_is_not_used_is_reported(name: str, message: str | None, tmp_path: Path) -> None:
    text = FORMS[name]
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        Graph.read(tmp_path / name)
    assert [str(one.message).removeprefix(f"{tmp_path}/") for one in found] == [message] * bool(
        message
    )


@pytest.mark.parametrize("name", ["f.nt", "g.ttl"])
def test_literals_are_kept_if_wanted(
    name: str, plain: Graph, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if name == "g.ttl":
        pytest.importorskip("rdflib")
    (tmp_path / name).write_text(str(FORMS[name]))
    graph = Graph.read(tmp_path / name, literals="keep")
    assert set(graph.entities) == set(plain.entities) | {r'"Anna \"A\"\t!"@en'}
    assert LABEL in graph.relations
    with pytest.raises(InputError, match="expected drop or keep"):
        Graph.read(tmp_path / name, literals="all")
    out = tmp_path / "rules.txt"
    call = ["mine", "native", str(tmp_path / name), "--out", str(out), "-q", "--literals", "keep"]
    main(call)
    assert "left out" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.csv", "a,r,b\na,r\n", "a.csv:2: expected 3 columns as in the first line, found 2"),
        ("a.csv", "a,r\n", "a.csv:1: expected three columns"),
        ("a.csv", "a,r,b\na,,c\n", "a.csv:2: relation is empty, expected a name"),
        ("a.csv", 'head,relation,tail\na,r,b\na,r," "\n', "a.csv:3: tail is empty"),
        ("a.csv", 'a,r,"b\tc"\n', "a.csv:1: tail has a tab or a line end in it"),
        ("a.csv", "", "a.csv: holds no triple"),
        ("a.nt", "<a> <b> <c> .\nnonsense\n", "a.nt:2: expected <subject> <predicate> <object> ."),
        ("a.ttl", "<a> <b>", "a.ttl: not Turtle"),
        ("a.parquet", "no", "a.parquet: expected a parquet file of triples"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(
    name: str, text: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(text)
    assert main(["stats", str(tmp_path / name)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"kgagg: error: {tmp_path}/{problem}")


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"mine.csv: no such file or folder"):
        Graph.read("mine.csv")
    with pytest.raises(InputError, match=r"none: no such file or folder"):
        Graph.read(tmp_path / "none")
    with pytest.raises(InputError, match=r"umlz: .*did you mean umls"):
        Graph.read("umlz")
    pq.write_table(pa.table({"a": [1], "b": [2]}), tmp_path / "two.parquet")
    with pytest.raises(InputError, match=r"2 columns \(a, b\), expected head, relation and tail"):
        Graph.read(tmp_path / "two.parquet")
