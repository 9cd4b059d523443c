"""Labels in every form, in every verb that shows names."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import kgagg
from kgagg.cli import main
from kgagg.data.labels import read_labels
from kgagg.errors import InputError

LABELS = {"e0": "Zürich", "e1": "a, b", "r0": "lies in"}
RDFS = "http://www.w3.org/2000/01/rdf-schema#label"
NT = f"""\
<e0> <{RDFS}> "Zurigo"@it .
<e0> <{RDFS}> "Z\\u00FCrich"@en .
<e0> <{RDFS}> "Zürich-Stadt" .
<e1> <{RDFS}> "a, b" .
<e1> <other> <e0> .
<r0> <{RDFS}> "lies in"@en-GB .
"""
TTL = f"""\
@prefix rdfs: <{RDFS.removesuffix("label")}> .
<e0> rdfs:label "Zurigo"@it, "Zürich"@en . <e1> rdfs:label "a, b" . <r0> rdfs:label "lies in" .
"""
LINES = "".join(f"{name}\t{label}\n" for name, label in LABELS.items())


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("labels", LINES),
        ("labels.tsv", LINES.replace("\n", "\tmore\r\n")),
        ("labels.csv", "".join(f'{name},"{label}"\n' for name, label in LABELS.items())),
        ("labels.csv", "id;label\n" + "".join(f"{k};{v}\n" for k, v in LABELS.items())),
        ("labels.json", json.dumps(LABELS)),
        ("labels.json", json.dumps({k: {"label": v, "wiki": ""} for k, v in LABELS.items()})),
        ("labels.nt", NT),
        ("labels.ttl", TTL),
    ],
)
def test_every_form_gives_the_same_labels(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.write_text(content, newline="")
    assert read_labels(path) == LABELS
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(content.encode()))
    assert read_labels(packed) == LABELS


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a", "x\ty\nz\n", "a:2: expected a name, a tab and its label"),
        ("a.csv", "x,y\nz\n", "a.csv:2: expected a name and its label"),
        ("a.json", "[1]", "expected an object of labels by name"),
        ("a.json", '{"a": 1}', "a.json: a: expected its label"),
        ("a.json", "{", "not JSON"),
        ("a.nt", "<a> <b> <c> .\n", "has no label"),
        ("a.parquet", "", "labels are read from TSV, CSV, JSON and RDF"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, name: str, content: str, problem: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError) as error:
        read_labels(tmp_path / name)
    assert problem in str(error.value)


def test_every_verb_that_shows_names_shows_labels(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = tmp_path / "labels.tsv"
    labels.write_text("".join(f"e{i}\tplace {i}\n" for i in range(40)) + "r0\tlies in\n")
    rules = str(world / "rules.txt")
    inputs = [str(world), rules, "--labels", str(labels)]
    out = tmp_path / "out"
    for verb, *words in (
        ["predict", "--relations", "r0", "--top", "3"],
        ["rank", "--relation", "r0", "--top-k", "1"],
        ["score"],
        ["materialise", "--relations", "r0"],
    ):
        assert main([verb, *inputs, *words, "--out", f"{out}.csv"]) == 0
        header, first, *_ = Path(f"{out}.csv").read_text().splitlines()
        assert header.endswith("head_label,relation_label,tail_label"), verb
        assert first.split(",")[0] == first.split(",")[-3].replace("place ", "e"), verb
        plain = [word for word in inputs if word not in ("--labels", str(labels))]
        assert main([verb, *plain, *words, "--out", f"{out}.plain.csv"]) == 0
        assert "label" not in Path(f"{out}.plain.csv").read_text(), verb
    assert main(["rank", *inputs, "--relation", "r0", "--top-k", "1", "--format", "jsonl"]) == 0
    assert '"label": "place ' in capsys.readouterr().out
    head, relation, tail = kgagg.Graph.read(world).to_pandas("test").iloc[0]
    assert main(["explain", *inputs, head, relation, tail, "--html", f"{out}.html"]) == 0
    shown = capsys.readouterr().out
    assert f"({head.replace('e', 'place ')}, {tail.replace('e', 'place ')})" in shown
    assert head.replace("e", "place ") in Path(f"{out}.html").read_text()
    listing = ["--data", str(world), "--instances", "1", "--labels", str(labels), "--top", "9"]
    assert main(["rules", rules, *listing]) == 0
    shown = capsys.readouterr().out
    assert "lies in(X,Y) <= r1(X,Y)" in shown
    assert "lies in(X,place 1) <= r1(X,place 2)" in shown
    labels.write_text("x\ty\n")
    assert main(["predict", *inputs]) == 2
    assert "no label of a name in the graph; the first is of 'x'" in capsys.readouterr().err


def test_real_labels(shared_data: Path, wnrr: Path) -> None:
    path = shared_data / "labels" / "wnrr.tsv"
    if not path.exists():
        pytest.skip("no labels of wnrr")
    graph = kgagg.Graph.read(wnrr).with_labels(path)
    assert graph.label("03964744") == "toy"
    assert sum(name in graph.labels for name in graph.entities) > 40_000
