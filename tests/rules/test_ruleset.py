"""Rule sets: merged, saved, converted, of real files."""

from __future__ import annotations

import dataclasses
import json
import lzma
import string
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruled import RULES, amie, many_rules, names, read

from kgagg import cli
from kgagg.errors import InputError
from kgagg.graph.graph import Graph
from kgagg.graph.vocabulary import Vocabulary
from kgagg.rules import lines, writing
from kgagg.rules.confidence import TYPES, Confidence
from kgagg.rules.ruleset import RuleSet
from kgagg.rules.shapes import (
    CYCLIC,
    GENERAL,
    ZERO,
    Atom,
    arrange,
)
from kgagg.rules.writing import write
from kgagg.util.arrays import open_arrays, save_arrays

# --- merging ----------------------------------------------------------------------------------


def test_merged_files_keep_each_rule_once_and_where_it_came_from() -> None:
    first = "9\t5\t0.5\th(X,Y) <= r(X,A), s(A,Y)\n9\t5\t0.5\th(X,Y) <= s(X,Y), r(X,Y)\n"
    second = (
        "9\t4\t0.4\th(X,Y) <= s(A,Y), r(X,A)\n9\t4\t0.4\th(X,Y) <= r(X,Y), s(X,Y)\n"
        "9\t3\t0.3\th(X,Y) <= r(X,A), s(Y,A)\n9\t3\t0.3\th(X,X) <= r(X,A)\n"
        "9\t2\t0.2\th(X,me_myself_i) <= r(X,A)\n"
    )
    rules = read(first, second)
    assert rules.report.duplicates == 2
    assert list(zip(rules.source.tolist(), rules.line.tolist(), strict=True)) == [
        (0, 1), (0, 2), (1, 3), (1, 4), (1, 5)
    ]  # fmt: skip
    assert rules.correct.tolist() == [5, 5, 3, 3, 2]


@given(
    st.permutations(range(3)), st.permutations(["?c", "?d"]), st.sampled_from(["r s t", "r r s"])
)
def test_one_form_for_all_ways_to_write_a_general_rule(
    order: list[int], inner: list[str], relations: str
) -> None:
    number = {"?a": 0, "?b": 1, inner[0]: 2, inner[1]: 3}
    ends = [("?a", "?c"), ("?a", "?d"), ("?d", "?b")]
    body = [Atom(relations.split()[i], number[ends[i][0]], number[ends[i][1]]) for i in order]
    rule = arrange(Atom("h", 0, 1), body)
    assert rule.kind == GENERAL
    plain = [
        Atom(r, *pair) for r, pair in zip(relations.split(), [(0, 2), (0, 3), (3, 1)], strict=True)
    ]
    assert rule == arrange(Atom("h", 0, 1), plain)


@pytest.mark.parametrize("block", [1, 3, 1 << 16])
def test_lines_are_written_as_each_rule_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(lines, "BLOCK", block)
    monkeypatch.setattr(writing, "BLOCK", block)
    texts = [
        "\n".join(RULES) + "\n",
        amie("?a  r1  ?b  ?a  r2  ?b   => ?a  h  ?b"),
        "9\t2\t0.2\th(X,me_myself_i) <= r(X,A)\n9\t3\t0.3\th(X,X) <= r(X,A)\n",
        "8\t3\t0.375\th(\\A,Y) <= r(\\B,Y)\n"
        "7\t3\t0.4\th(X,\u00e9) <= s(X,A), r(A,B)\nh(X,Y) <= r(Y,X)\n",
    ]
    rules = read(*texts)
    told: list[int] = []
    for threads in (1, 3):
        path = tmp_path / f"{threads}.txt"
        assert write(rules, path, threads=threads, written=told.append) == 0
        shown = "".join(f"{line}\n" for line in rules.text_lines(rules.file_order))
        assert path.read_text(encoding="utf-8") == shown
        assert told[-1] == len(rules)
    assert write(rules[:0], tmp_path / "none.txt") == 0
    assert (tmp_path / "none.txt").read_bytes() == b""


# --- binary form, conversion, command line ----------------------------------------------------


def test_binary_form(tmp_path: Path) -> None:
    rules = read("\n".join(RULES) + "\n", amie("?a  r1  ?b  ?a  r2  ?b   => ?a  h  ?b"))
    path = tmp_path / "rules.kgagg"
    rules.save(path)
    opened = RuleSet.read(path)
    assert opened.digest == rules.digest
    assert opened.settings == rules.settings
    assert opened.report == rules.report
    assert list(opened.text_lines(opened.file_order)) == list(rules.text_lines(rules.file_order))
    del opened.__dict__["digest"]
    assert opened.digest == rules.digest
    # the same graph needs no translation, another one does
    assert RuleSet.open(path, (rules.entities, rules.relations)).kind.base is not None
    reverse = [Vocabulary.from_names(v.names()[::-1]) for v in (rules.entities, rules.relations)]
    other = RuleSet.open(path, (reverse[0], reverse[1]))
    assert other.digest == rules.digest
    assert [other.text(i) for i in range(len(other))] == [rules.text(i) for i in range(len(rules))]
    fewer = names("cc", "h r")
    part = RuleSet.open(path, fewer)
    assert set(part.report.unusable) == {"unknown relation", "unknown entity"}
    assert len(part) + sum(x.count for x in part.report.unusable.values()) == len(rules)
    with pytest.raises(InputError, match="cannot be merged"):
        RuleSet.read([path, path])
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(InputError, match="truncated"):
        RuleSet.open(path)


def test_conversion(tmp_path: Path) -> None:
    rules = read("\n".join(RULES[:6]) + "\n")
    for dialect, expected in {
        "as-read": RULES[:6],
        "anyburl": [
            *RULES[:5],
            "8\t4\t0.5\th(X,me_myself_i) <= r(X,dd)",
            "8\t4\t0.5\th(me_myself_i,Y) <= r(Y,dd)",
        ],
        "pyclause": [
            RULES[0],
            "141\t2\t0.0141844\th(cc,Y) <= r(Y,dd)",
            RULES[2],
            "5880\t324\t0.055102\tr(cc,Y) <= ",
            "8\t4\t0.5\th(X,X) <= r(X,A)",
            RULES[5],
        ],
    }.items():
        assert write(rules, tmp_path / "out.rules.gz", dialect) == 0
        again = RuleSet.read(tmp_path / "out.rules.gz")
        assert list(again.text_lines(again.file_order)) == expected
    with pytest.raises(InputError, match="pyclaus: no such dialect"):
        write(rules, tmp_path / "out.rules", "pyclaus")
    general = read(
        amie("?a  r1  ?b  ?a  r2  ?b   => ?a  h  ?b", "?a  r1  ?f  ?b  r2  ?f   => ?a  h  ?b")
    )
    assert write(general, tmp_path / "out.rules", "pyclause") == 1


def test_conversion_to_amie_and_back(tmp_path: Path) -> None:
    rules = read("\n".join(RULES) + "\n", amie("?a  r1  ?f  ?f  r2  ?a  ?f  r3  ?b   => ?a  h  ?b"))
    assert write(rules, tmp_path / "out.txt", "amie") == 1
    again = RuleSet.read(tmp_path / "out.txt", strict=True)
    without = dataclasses.replace(
        rules, **{n: c[rules.kind != ZERO] for n, c in rules.columns().items()}
    )
    assert again.digest == without.digest


def test_parquet(tmp_path: Path) -> None:
    rules = read("\n".join(RULES) + "\n", amie("?a  r1  ?b  ?a  r2  ?b   => ?a  h  ?b"))
    path = tmp_path / "rules.parquet"
    write(rules, path)
    again = RuleSet.read(path, confidence=Confidence(pca=True))
    assert again.digest == rules.with_confidence(Confidence(pca=True)).digest
    assert again.pca_predicted is not None
    assert sorted(again.pca_predicted.tolist()) == [-1] * 8 + [5]
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="damaged"):
        RuleSet.read(path)


def test_rules_that_do_not_fit_are_an_error_that_shows_the_first(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "other.rules"
    texts = {
        "3\t2\t0.6\tzz(X,Y) <= r1(X,Y)\n": f"none of the 1 rules has names of {world}: {path}:1: ",
        "3\t2\t0.6\tr0(X,Y) <= r1(X\n": f"none of the 1 lines is a rule that can be used: {path}:1",
        "e1\tr1\te2\n": f"{path}: unknown format, expected ",
    }
    for text, told in texts.items():
        path.write_text(text)
        for call in (
            ["rules", str(path), "--data", str(world)],
            ["evaluate", str(world), str(path)],
        ):
            assert cli.main([*call, "-q"]) == 2
            output = capsys.readouterr()
            (line,) = output.err.splitlines()
            assert line.startswith(f"kgagg: error: {told}")
            assert not output.out
    assert line.endswith("it begins with 'e1\\tr1\\te2'")
    # rules below a threshold are rules
    path.write_text("300\t1\t0.003\tr0(X,Y) <= r1(X,Y)\n")
    assert cli.main(["rules", str(path), "--semantics", "anyburl"]) == 0


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("kind", 9),
        ("kind", ZERO),
        ("flags", 64),
        ("relation", -1),
        ("relation", 1000),
        ("head_constant", -3),
        ("head_constant", 1000),
        ("body_constant", 5),
        ("body", -1),
        ("body", 1000),
        ("confidence", np.nan),
        ("source", 200),
        ("body_ptr", 1000),
        ("body_keys", 1000),
        ("body_keys", -1),
        ("written_ptr", 1000),
    ],
)
def test_numbers_out_of_range_are_refused(tmp_path: Path, column: str, value: float) -> None:
    path = tmp_path / "rules.kgagg"
    rules = read("7\t3\t.4\th(X,Y) <= r(X,Y)\n" + "".join(f"{rule}\n" for rule in RULES))
    rules.save(path)
    RuleSet.open(path)
    meta, arrays = open_arrays(path, "rule set")
    array = arrays[column].copy()
    # the first rule that is a path between X and Y
    place = int(np.flatnonzero(arrays["kind"] == CYCLIC)[0]) if len(array) == len(rules) else -1
    array[place] = value
    save_arrays(path, "rule set", meta, arrays | {column: array})
    with pytest.raises(InputError, match=f"{path}: damaged: "):
        RuleSet.open(path)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "some.rules"
    source.write_text("\n".join([*RULES, RULES[0], "9\t1\t0.1\th(Y,X) <= r(X,Y)"]) + "\n")
    call = ["rules", str(source), "--stats", "--to", str(tmp_path / "out.rules")]
    assert cli.main([*call, "--json", str(tmp_path / "counts.json")]) == 0
    printed = capsys.readouterr().out
    assert "8 rules\n" in printed
    assert (
        f"1 unusable, unsupported head; the first: {source}:10: unsupported head: 'h(Y,X)'"
        in printed
    )
    assert (tmp_path / "out.rules").read_text() == "\n".join(RULES) + "\n"
    counts = json.loads((tmp_path / "counts.json").read_text())
    assert counts["rules"]["total"] == 8
    assert set(counts["rules"]) == {"total", *TYPES}
    assert counts["unusable"]["unsupported head"]["count"] == 1
    assert counts["duplicates"] == 1
    assert len(counts["digest"]) == 64
    assert cli.main(["rules", str(source), "--strict"]) == 2
    assert f"{source}:10: unsupported head" in capsys.readouterr().err
    assert cli.main(["rules", str(source), "--threads", "0"]) == 2


def test_memory_of_a_rule() -> None:
    rules = read(many_rules(), amie("?b  r  ?a   => ?a  h  ?b"))
    assert sum(column.itemsize for column in rules.columns().values()) <= 48


# --- real files -------------------------------------------------------------------------------


def lines_of(path: Path) -> Sequence[str]:
    return lzma.decompress(path.read_bytes()).decode().splitlines()


def test_anyburl_on_wnrr(shared_data: Path) -> None:
    path = shared_data / "rules" / "wnrr.anyburl.rules.xz"
    rules = RuleSet.read(path, confidence=Confidence.preset("anyburl"), strict=True)
    counts = rules.counts()
    # SEMANTICS counts two reflexive rules as constant ones
    assert counts["total"] == 56534
    assert (counts["cyclic"], counts["dangling"], counts["zero"]) == (1735, 11675, 30)
    assert counts["constant"] + counts["reflexive constant"] == 43094
    assert list(rules.text_lines(rules.file_order)) == lines_of(path)


def test_anyburl_on_fb15k_237(shared_data: Path) -> None:
    path = shared_data / "rules" / "fb15k-237.anyburl.rules.xz"
    rules = RuleSet.read(path, strict=True)
    assert len(rules) == 1308637
    assert len(rules.written_key) == 0
    rows = rules.file_order[:: 1 + len(rules) // 20000]
    lines = lines_of(path)
    assert list(rules.text_lines(rows)) == [lines[line - 1] for line in rules.line[rows].tolist()]


def test_amie_on_real_output(shared_data: Path) -> None:
    folder = shared_data / "rules" / "amie"
    expected = {
        "A.nations": 106,
        "A.umls": 2357,
        "A.wnrr": 1061,
        "B-noconst.wnrr-sample": 9,
        "B.wnrr": 1889,
    }
    for name, count in expected.items():
        rules = RuleSet.read(folder / f"amie3-v3.0.{name}.txt", strict=True)
        assert len(rules) == count
        # the confidence of the file, up to the digits it has
    both = RuleSet.read([folder / f"amie3-v3.0.{run}.wnrr.txt" for run in "AB"], strict=True)
    assert (len(both), both.report.duplicates) == (2932, 18)
    assert both.counts()["general"] == 246
    assert len(RuleSet.read(folder / "amie3-v3.0.B.umls.txt", strict=True)) == 1944


def test_rules_of_another_graph(shared_data: Path, tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("10129825\t_hypernym\t04188643\n")
    graph = Graph.from_folder(tmp_path)
    path = shared_data / "rules" / "wnrr.anyburl.rules.xz"
    rules = RuleSet.read(path, (graph.entities, graph.relations))
    assert set(rules.report.unusable) == {"unknown entity", "unknown relation"}
    assert all(name in string.printable for name in rules.relations[0])


def test_rules_without_constants_are_used_with_any_graph() -> None:
    graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("c", "s", "a")])
    rules = RuleSet.from_text("s(X,Y) <= r(X,A), r(A,Y)\nr(X,X) <= r(X,A)")
    found = rules.translated(graph.entities, graph.relations)
    assert [one.rule for one in found] == [one.rule for one in rules]


def test_the_digest_depends_on_the_confidence() -> None:
    # the same rules in the same order, with the same counts
    rules = read("\n".join(RULES) + "\n")
    other = rules.with_confidence(Confidence(unseen=0.001))
    assert other.predicted.tolist() == rules.predicted.tolist()
    assert other.digest != rules.digest
