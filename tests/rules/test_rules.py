"""Rule files of every dialect: what is read, what is refused, and that the text comes back."""

from __future__ import annotations

import dataclasses
import json
import lzma
import string
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgagg import cli
from kgagg.errors import InputError
from kgagg.graph.graph import Graph
from kgagg.graph.vocabulary import Vocabulary
from kgagg.rules import reading
from kgagg.rules.confidence import TYPES, Confidence, Threshold
from kgagg.rules.dialects.anyburl import format_line, parse_line
from kgagg.rules.ruleset import RuleSet
from kgagg.rules.shapes import (
    CONSTANT,
    CYCLIC,
    DANGLING,
    GENERAL,
    KINDS,
    LETTERS,
    ME,
    SIDE,
    XX,
    ZERO,
    Atom,
    Rule,
    Unusable,
    arrange,
)
from kgagg.rules.writing import write

Names = tuple[Vocabulary, Vocabulary]


def names(entities: str, relations: str) -> Names:
    return Vocabulary.from_names(entities.split()), Vocabulary.from_names(relations.split())


def read(
    *files: str | bytes,
    graph: Names | None = None,
    confidence: Confidence | None = None,
    strict: bool = False,
    threads: int = 2,
) -> RuleSet:
    """Read texts as if they were files."""
    with TemporaryDirectory() as folder:
        paths = []
        for i, text in enumerate(files):
            paths.append(Path(folder) / f"{i}.rules")
            paths[-1].write_bytes(text if isinstance(text, bytes) else text.encode())
        return RuleSet.read(paths, graph, confidence, strict=strict, threads=threads)


def one(rule: str, graph: Names | None = None) -> tuple[str, RuleSet]:
    """Read one rule; return the name of its kind, or the reason for which it is unusable."""
    rules = read(f"10\t5\t0.5\t{rule}\n", graph=graph)
    if not len(rules):
        (reason,) = rules.report.unusable
        return reason, rules
    assert rules.text(0) == rule
    return KINDS[rules.kind[0]], rules


def atoms(rules: RuleSet) -> str:
    """The body of the first rule: the relation of each step, with "^" where it is walked back."""
    return " ".join(name + "^" * back for name, back in rules.rule(0).path)


def chain(terms: str) -> str:
    return ", ".join(f"r({left},{right})" for left, right in pairwise(terms))


# --- shapes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "kind", "path"),
    [
        ("h(X,Y) <= r(X,Y)", "cyclic", "r"),
        ("h(X,Y) <= r(Y,X)", "cyclic", "r^"),
        ("h(X,Y) <= b1(X,A), b2(B,A), b3(B,Y)", "cyclic", "b1 b2^ b3"),
        ("h(X,cc) <= b1(X,A), b2(A,dd)", "constant", "b1 b2"),
        ("h(cc,Y) <= b1(A,Y), b2(dd,A)", "constant", "b1^ b2^"),
        ("h(X,cc) <= b1(X,A), b2(A,B)", "dangling", "b1 b2"),
        ("h(cc,Y) <= b1(A,Y)", "dangling", "b1^"),
        ("h(X,cc) <= ", "zero", ""),
        ("h(cc,Y) <=", "zero", ""),
        ("h(X,me_myself_i) <= r(X,dd)", "constant", "r"),
        ("h(me_myself_i,Y) <= r(A,Y)", "dangling", "r^"),
        ("h(X,cc) <= r(X,me_myself_i)", "constant", "r"),
        ("h(X,X) <= r(X,A)", "dangling", "r"),
        ("h(X,X) <= r(dd,X)", "constant", "r^"),
        # atoms and variables in another order than the path's
        ("h(X,Y) <= s(A,Y), r(X,A)", "cyclic", "r s"),
        ("h(X,Y) <= t(Y,A), s(B,A), r(B,X)", "cyclic", "r^ s t^"),
        ("h(X,Y) <= s(B,Y), r(X,B)", "cyclic", "r s"),
        ("h(X,Y) <= s(A,B), r(X,A), t(B,Y)", "cyclic", "r s t"),
        ("h(X,cc) <= s(A,dd), r(X,A)", "constant", "r s"),
        (f"h(X,Y) <= {chain('XABCDEFGHY')}", "cyclic", "r r r r r r r r r"),
    ],
)
def test_every_shape_is_read_and_written_again(rule: str, kind: str, path: str) -> None:
    found, rules = one(rule)
    assert (found, atoms(rules)) == (kind, path)


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("h(Y,X) <= r(Y,X)", "unsupported head"),
        ("h(A,B) <= r(A,B)", "unsupported head"),
        ("h(cc,dd) <= r(X,Y)", "unsupported head"),
        ("h(X,Y) <= ", "unsupported shape"),
        ("h(X,Y) <= r(X,A)", "unsupported shape"),
        ("h(X,Y) <= r(X,A), s(B,Y)", "unsupported shape"),
        ("h(X,Y) <= r(X,dd), s(X,Y)", "unsupported shape"),
        ("h(X,Y) <= r(X,X), s(X,Y)", "unsupported shape"),
        ("h(X,cc) <= r(X,dd), s(A,dd)", "unsupported shape"),
        ("h(X,cc) <= r(X,A), s(A,X)", "unsupported shape"),
        ("h(X,cc) <= r(A,B)", "unsupported shape"),
        ("h(X,Y) <= a(X,Y), b(X,Y), c(X,Y), d(X,Y)", "unsupported shape"),
        ("h(X,cc) <= r(dd,ee)", "not an atom"),
        ("h(X,cc) <= r", "not an atom"),
        ("h(X,cc) = r(X,A)", "not a rule"),
        (f"h(X,Y) <= {chain('X' + LETTERS + 'Y')}", "unsupported shape"),
    ],
)
def test_what_cannot_be_applied_is_refused_with_a_reason(rule: str, reason: str) -> None:
    lines = f"10\t5\t0.5\tok(X,Y) <= r(X,Y)\n10\t5\t0.5\t{rule}\n"
    rules = read(lines)
    assert list(rules.report.unusable) == [reason]
    assert rules.report.unusable[reason].first.split(".rules")[1].startswith(":2: ")
    with pytest.raises(InputError, match=f":2: {reason}: "):
        read(lines, strict=True)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("10\t5\th(X,Y) <= r(X,Y)", "not a rule"),
        ("x\t5\t0.5\th(X,Y) <= r(X,Y)", "bad statistics"),
        ("-1\t5\t0.5\th(X,Y) <= r(X,Y)", "bad statistics"),
        ("10\t11\t1.1\th(X,Y) <= r(X,Y)", "bad statistics"),
        ("10\t5\thalf\th(X,Y) <= r(X,Y)", "bad statistics"),
    ],
)
def test_bad_columns(line: str, reason: str) -> None:
    with pytest.raises(Unusable) as error:
        parse_line(line)
    assert error.value.reason == reason


def test_statistics_that_are_not_written_as_we_would_come_back_exactly() -> None:
    lines = [
        "10000\t1\t1.0E-4\th(X,Y) <= a(X,Y)",
        "30000\t1\t3.3333333333333335E-5\th(X,Y) <= b(X,Y)",
        "3\t1\t0.333333\th(X,Y) <= c(X,Y)",
        "3\t1\t0.333333\th(X,Y) <= d(X,Y)",
        "1000000\t3\t3e-06\th(X,Y) <= e(X,Y)",
        "1000000\t3\t0.000003\th(X,Y) <= f(X,Y)",
        "03\t1\t.3\th(X,Y) <= g(X,Y)",
        "3\t1\t0,33\th(X,cc) <=",
        "0\t0\t0.0\th(X,Y) <= i(X,Y)",
        "5000000000\t4000000000\t0.8\th(X,Y) <= j(X,Y)",
        "h(X,Y) <= k(X,Y)",
    ]
    rules = read("\n".join(lines) + "\n")
    order = rules.file_order
    assert list(rules.text_lines(order)) == lines
    assert [rules.text_line(row) for row in order.tolist()] == lines
    assert len(rules.written_key) == 2
    assert rules.report.bare == 1
    assert rules.predicted.dtype == np.int64


def test_comments_empty_lines_line_ends_and_a_byte_order_mark() -> None:
    text = (
        "\ufeff# mined today\r\n\r\n10\t5\t0.5\th(X,Y) <= r(X,Y)\r\n\n10\t5\t0.5\th(X,Y) <= s(X,Y)"
    )
    rules = read(text)
    assert rules.line.tolist() == [3, 5]
    assert (rules.report.lines, rules.report.other) == (5, 3)


# --- names --------------------------------------------------------------------------------------


def test_names_with_parentheses_commas_and_blanks() -> None:
    graph = (Vocabulary.from_names(["c(c)", "d(e)", "c,c", "b,b", "New York", "x) y"]),
             Vocabulary.from_names(["h", "r", "part of", "r(s)", "r,s"]))  # fmt: skip
    for rule, constants in {
        "h(X,c(c)) <= r(X,d(e))": ("c(c)", "d(e)"),
        "h(X,c,c) <= r(X,b,b)": ("c,c", "b,b"),
        "h(c,c,Y) <= r(b,b,Y)": ("c,c", "b,b"),
        "part of(New York,Y) <= r(x) y,Y)": ("New York", "x) y"),
        "r(s)(X,c(c)) <= r,s(X,d(e))": ("c(c)", "d(e)"),
    }.items():
        for known in (graph, None) if "r(s)" not in rule else (graph,):
            kind, rules = one(rule, known)
            assert kind == "constant"
            assert rules.rule(0)[3:5] == constants


def test_an_atom_with_two_readings_is_refused() -> None:
    graph = (Vocabulary.from_names(["b,B", "X,b", "cc"]), Vocabulary.from_names(["h", "r", "r(X"]))
    assert one("h(X,cc) <= r(X,b,B)", graph)[0] == "ambiguous names"
    # without a graph the left letter goes first, as in AnyBURL
    assert one("h(X,cc) <= r(X,b,B)")[1].rule(0).body_constant == "b,B"


def test_entities_that_look_like_variables() -> None:
    # docs/semantics.md, "What is not reproduced": the entity AB is no variable
    graph = names("AB cc B X Y x Z", "h r s")
    assert one("h(X,cc) <= r(X,AB)", graph)[0] == "constant"
    assert one("h(X,cc) <= r(X,AB)")[0] == "constant"
    # A is the next new variable, B is not, and only the graph knows the entity B
    assert one("h(X,cc) <= r(X,A)", graph)[0] == "dangling"
    assert one("h(X,cc) <= r(X,B)", graph)[0] == "constant"
    assert one("h(X,cc) <= r(X,B)")[0] == "dangling"
    assert one("h(X,cc) <= r(X,A), s(A,B)", graph)[0] == "dangling"
    # in the head only X on the left and Y on the right are variables
    assert one("h(X,B) <= r(X,x)", graph)[0] == "constant"
    assert one("h(B,Y) <= r(Y,Z)", graph)[0] == "constant"
    assert one("h(X,Y) <= r(X,Y)", graph)[0] == "cyclic"
    assert one("h(X,cc) <= r(X,Y)", graph)[0] == "constant"


def test_names_that_the_graph_does_not_know_have_reasons_of_their_own() -> None:
    graph = names("cc dd", "h likes")
    assert one("h(X,zz) <= likes(X,cc)", graph)[0] == "unknown entity"
    assert one("h(X,cc) <= like(X,dd)", graph)[0] == "unknown relation"
    with pytest.raises(InputError, match="unknown relation: 'like'; did you mean likes"):
        read("2\t2\t1.0\th(X,cc) <= like(X,dd)\n", graph=graph, strict=True)
    assert len(read("2\t2\t1.0\th(X,cc) <= like(X,dd)\n", graph=graph).body_ptr) == 1


def test_reflexive_rules() -> None:
    rules = read(
        "10\t5\t0.5\th(X,me_myself_i) <= r(X,A)\n10\t4\t0.4\th(me_myself_i,Y) <= r(Y,A)\n"
        "10\t3\t0.3\th(X,X) <= r(X,A)\n10\t2\t0.2\th(X,X) <= r(X,cc)\n",
        confidence=Confidence.preset("pyclause"),
    )
    assert [rule.head_constant for rule in rules.rules(np.arange(4))] == [ME] * 4
    assert (rules.flags & (SIDE | XX)).tolist() == [0, SIDE, XX, XX]
    assert rules.counts()["reflexive dangling"] == 3
    # docs/semantics.md, "Rules and their confidence": dangling rules for AnyBURL, not for PyClause
    assert rules.confidence[0] == pytest.approx(0.333333, abs=1e-6)
    assert rules.with_confidence(Confidence()).confidence[0] == 4 / 30  # the constant one is first
    assert 0.1 * 5 / 15 in rules.with_confidence(Confidence()).confidence


# --- confidence -------------------------------------------------------------------------------


def test_confidence_by_type() -> None:
    rules = read(
        "15\t10\t0.6\th(X,cc) <= r(X,dd)\n15\t10\t0.6\th(X,cc) <= s(X,A)\n"
        "995\t500\t0.5\th(X,cc) <= \n"
    )
    # the example of docs/semantics.md, "Rules and their confidence"
    assert rules.confidence.tolist() == pytest.approx([0.5, 0.05, 0.005])
    other = Confidence(unseen=0, weights=(("zero", 0.5),))
    assert rules.with_confidence(other).confidence.tolist() == pytest.approx(
        [2 / 3, 2 / 3, 0.5 * 500 / 995]
    )


def test_ties_are_ranked_in_the_order_of_the_files() -> None:
    rules = read(
        "9\t5\t0.5\th(X,Y) <= b(X,Y)\n", "9\t5\t0.5\th(X,Y) <= a(X,Y)\n9\t6\t.6\th(X,Y) <= c(X,Y)\n"
    )
    assert [rules.text(i)[-6:] for i in range(3)] == ["c(X,Y)", "b(X,Y)", "a(X,Y)"]
    assert rules.with_confidence(Confidence(unseen=1)).source.tolist() == [1, 0, 1]


def test_thresholds_of_the_presets() -> None:
    # docs/semantics.md, "Rules and their confidence", and AnyBURL's strict bound
    text = (
        "2\t1\t0.5\th(X,Y) <= a(X,Y)\n20000\t2\t1.0E-4\th(X,Y) <= b(X,Y)\n"
        "100000\t2\t2.0E-5\th(X,Y) <= c(X,Y)\n9\t0\t0.0\th(X,Y) <= d(X,Y)\n"
        f"9\t3\t0.3333333333333333\th(X,Y) <= {chain('XABCDEFGHIJY')}\n"
        "19999\t2\t1.0000500025001251E-4\th(X,Y) <= e(X,Y)\n"
    )
    rules = read(text, confidence=Confidence.preset("anyburl"))
    assert rules.line.tolist() == [6]
    assert rules.report.dropped == {"correct predictions": 2, "confidence": 2, "length": 1}
    assert not rules.report.unusable
    pyclause = read(text, confidence=Confidence.preset("pyclause"))
    assert sorted(pyclause.line.tolist()) == [1, 2, 4, 5, 6]
    assert read(text).with_confidence(Confidence.preset("anyburl")).line.tolist() == [6]
    only_zero = Confidence(thresholds=(("zero", Threshold(correct=100)),))
    assert len(read(text, confidence=only_zero)) == 6


def test_settings_are_checked_and_survive_json() -> None:
    for name in ("anyburl", "pyclause"):
        preset = dataclasses.replace(Confidence.preset(name), pca=True)
        assert Confidence.from_json(json.loads(json.dumps(preset.to_json()))) == preset
    with pytest.raises(InputError, match="did you mean anyburl"):
        Confidence.preset("anyburk")
    with pytest.raises(InputError, match="did you mean dangling"):
        Confidence(weights=(("danglin", 0.1),))
    with pytest.raises(InputError, match="weights between 0 and 1"):
        Confidence(weights=(("zero", 2),))


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


# --- AMIE -------------------------------------------------------------------------------------

HEADER = (
    "Rule\tHead Coverage\tStd Confidence\tPCA Confidence\tPositive Examples\tBody size"
    "\tPCA Body size\tFunctional variable"
)


def amie(*rules: str, header: str = HEADER, statistics: str = "0.1\t0.5\t0.8\t4\t8\t5\t-1") -> str:
    log = "Loading files... \nStarting the mining phase... "
    lines = "".join(f"{rule}\t{statistics}\n" for rule in rules)
    return f"{log}{header}\nUsing 1 threads\n{lines}Mining done in 0.56 s\n106 rules mined.\n"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        # paths in any order, with atoms in either direction
        ("?a  r1  ?f  ?b  r2  ?f   => ?a  h  ?b", "h(X,Y) <= r1(X,A), r2(Y,A)"),
        ("?e  r2  ?b  ?a  r1  ?e   => ?a  h  ?b", "h(X,Y) <= r1(X,A), r2(A,Y)"),
        ("?b  r  ?a   => ?a  h  ?b", "h(X,Y) <= r(Y,X)"),
        ("?b  r  dd   => cc  h  ?b", "h(cc,Y) <= r(Y,dd)"),
        ("dd  r  ?a   => ?a  h  cc", "h(X,cc) <= r(dd,X)"),
        ("?a  is part of  New York   => ?a  h  cc", "h(X,cc) <= is part of(X,New York)"),
        ("?x  h  ?y   => ?y  h  ?x", "h(X,Y) <= h(Y,X)"),
        # no paths: parallel, triangle, double edge
        ("?a  r2  ?b  ?a  r1  ?b   => ?a  h  ?b", "h(X,Y) <= r1(X,Y), r2(X,Y)"),
        ("?a  r  ?b  ?a  s  ?f  ?f  t  ?b   => ?a  h  ?b", "h(X,Y) <= r(X,Y), s(X,A), t(A,Y)"),
        ("?a  r  ?f  ?f  s  ?a  ?f  t  ?b   => ?a  h  ?b", "h(X,Y) <= r(X,A), s(A,X), t(A,Y)"),
    ],
)  # fmt: skip
def test_rules_of_amie_are_put_in_order(text: str, rule: str) -> None:
    rules = read(amie(text), strict=True)
    assert rules.text_line(0) == f"8\t4\t0.5\t{rule}"
    assert rules.pca_predicted is not None
    assert rules.pca_predicted.tolist() == [5]
    assert rules.confidence.tolist() == [4 / 13]
    assert rules.with_confidence(Confidence(pca=True)).confidence.tolist() == [4 / 10]
    assert rules.report.other == rules.report.lines - 1


def test_columns_of_amie() -> None:
    rule = "?b  r  ?a   => ?a  h  ?b"
    commas = read(amie(rule, statistics="0,1\t0,5\t0,8\t4,0\t8\t5,0\t-1"))
    assert (commas.predicted[0], commas.correct[0]) == (8, 4)
    # AMIE 3.5 with -enstd, and the columns that it writes without
    spelled = (
        "Rule\tHead Coverage\tStandard Confidence\tP CA Confidence\tSupport\tBody Size"
        "\tP CA Body Size\tFunctional Variable"
    )
    assert read(amie(rule, header=spelled)).predicted.tolist() == [8]
    short = amie(
        rule,
        header="Rule\tHead Coverage\tPCA Confidence\tPositive Examples\tPCA Body size\tVariable",
        statistics="0.1\t0.8\t4\t5\t-1",
    )
    assert list(read(short).report.unusable) == ["no standard confidence"]
    assert read(short, confidence=Confidence(pca=True)).confidence.tolist() == [4 / 10]


def test_damaged_output_of_amie() -> None:
    whole = amie("?b  r  ?a   => ?a  h  ?b")
    cut = whole.index("\t4\t8")
    assert list(read(whole[:cut]).report.unusable) == ["truncated"]
    for rule, reason in {
        "?a  r  ?c  ?c  s  ?b  ?a!=?b   => ?a  h  ?b": "unsupported shape",
        "?a  r  ?c  ?c  s   => ?a  h  ?b": "not a rule",
        "?a  r  ?b   => ?a  h  ?b  ?a  h  ?c": "not a rule",
    }.items():
        assert list(read(amie(rule)).report.unusable) == [reason]
    assert list(
        read(amie("?b  r  ?a   => ?a  h  ?b", statistics="1\t1\t1\t9\t8\t9\t-1")).report.unusable
    ) == ["bad statistics"]
    assert len(read(amie())) == 0


def test_amie_beside_anyburl() -> None:
    rules = read(
        "9\t8\t.8\th(X,Y) <= r(X,Y)\n",
        amie("?b  r  ?a   => ?a  h  ?b"),
        "9\t1\t.1\th(X,Y) <= s(X,Y)\n",
    )
    assert rules.pca_predicted is not None
    assert rules.pca_predicted.tolist() == [-1, 5, -1]


def test_a_file_in_no_dialect_is_refused() -> None:
    for text in ("", "hello\n", "a\tr\tb\n", "\x00\xff\n"):
        with pytest.raises(InputError, match="in no known form, expected"):
            read(text.encode("latin-1"))


# --- properties -------------------------------------------------------------------------------

RULES = [
    "2000\t2\t0.001\th(X,cc) <= r(A,X)",
    "141\t2\t0.014184397163120567\th(cc,Y) <= r(Y,dd)",
    "10\t5\t0.5\th(X,Y) <= r(X,A), s(B,A), r(B,Y)",
    "5880\t324\t0.05510204081632653\tr(cc,Y) <= ",
    "8\t4\t0.5\th(X,me_myself_i) <= r(X,A)",
    "8\t4\t0.5\th(X,X) <= r(X,dd)",
    "8\t4\t0.5\th(X,Y) <= s(A,Y), r(X,A)",
    "h(X,Y) <= r(X,Y), s(X,Y)",
]
GRAPH = names("cc dd A X ccdd", "h r s rh")

# what can be in a name: anything that does not end the name for every reader
hostile = st.text(
    st.one_of(st.sampled_from("(),<= XYAB.:"), st.characters(exclude_categories=["Cs", "Cc"])),
    min_size=1, max_size=8,
).filter(lambda name: "), " not in name and ") <= " not in name and name != ME)  # fmt: skip


@st.composite
def hostile_rules(draw: st.DrawFn) -> tuple[list[str], list[str], Rule]:
    entities = draw(st.lists(hostile, min_size=1, max_size=4, unique=True))
    relations = draw(st.lists(hostile, min_size=1, max_size=3, unique=True))
    kind = draw(st.sampled_from([CYCLIC, CONSTANT, DANGLING, ZERO]))
    steps = st.lists(
        st.tuples(st.sampled_from(relations), st.integers(0, 1)), min_size=1, max_size=4
    )
    path = () if kind == ZERO else tuple(draw(steps))
    flags = 0 if kind == CYCLIC else draw(st.sampled_from([0, SIDE]))
    head = None if kind == CYCLIC else draw(st.sampled_from([*entities, ME]))
    tail = draw(st.sampled_from([*entities, ME])) if kind == CONSTANT else None
    return (
        entities,
        relations,
        Rule(kind, flags, draw(st.sampled_from(relations)), head, tail, path),
    )


@given(hostile_rules())
@settings(max_examples=300)
def test_hostile_names_come_back_or_are_refused(case: tuple[list[str], list[str], Rule]) -> None:
    entities, relations, rule = case
    line = format_line(rule, 10, 5)
    graph = Vocabulary.from_names(entities), Vocabulary.from_names(relations)
    rules = read(f"{line}\n", graph=graph)
    if len(rules):
        assert rules.text_line(0) == line
        found = rules.rule(0)
        # a constant that is named like the next variable is read as that variable
        if not {rule.head_constant, rule.body_constant} & set("XY" + LETTERS):
            assert found == rule
    else:
        assert set(rules.report.unusable) <= {
            "ambiguous names",
            "unsupported shape",
            "unsupported head",
        }


lines_of_text = st.lists(
    st.one_of(
        st.sampled_from(RULES),
        st.builds(
            lambda line, cuts, insert: line[: min(cuts)] + insert + line[max(cuts) :],
            st.sampled_from(RULES),
            st.tuples(st.integers(0, 60), st.integers(0, 60)),
            st.text(st.sampled_from("\t(), <=XYABCcdrh019.#\r\u00e9"), max_size=6),
        ),
    ),
    max_size=12,
)


@given(lines_of_text, st.booleans())
@settings(max_examples=300)
def test_fast_and_slow_reader_agree(lines: list[str], with_graph: bool) -> None:
    text = "\n".join([RULES[0], *lines]) + "\n"
    graph = GRAPH if with_graph else None
    fast = read(text, graph=graph)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading.Reader, "_cut_block", lambda self, text: reading._uncut(text))
        slow = read(text, graph=graph)
    assert fast.digest == slow.digest
    assert list(fast.text_lines(fast.file_order)) == list(slow.text_lines(slow.file_order))
    reports = [dataclasses.asdict(rules.report) for rules in (fast, slow)]
    for report in reports:
        for problem in report["unusable"].values():
            problem["first"] = problem["first"].split(".rules")[1]
    assert reports[0] == reports[1]


@given(st.data())
@settings(max_examples=200)
def test_mutated_bytes_give_a_rule_or_a_reason(data: st.DataObject) -> None:
    source = data.draw(
        st.sampled_from(["\n".join(RULES) + "\n", amie("?a  r1  ?f  ?b  r2  ?f   => ?a  h  ?b")])
    )
    text = bytearray(source.encode())
    for position in data.draw(st.lists(st.integers(0, len(text) - 1), max_size=8)):
        text[position] = data.draw(st.integers(0, 255))
    graph = GRAPH if data.draw(st.booleans()) else None
    try:
        rules = read(bytes(text), graph=graph)
    except InputError as error:
        assert "in no known form" in str(error)  # noqa: PT017
        return
    report = rules.report
    unusable = sum(problem.count for problem in report.unusable.values())
    assert report.lines == len(rules) + report.duplicates + report.other + unusable
    assert all(list(rules.text_lines(rules.file_order)))


def many_rules(count: int = 3000) -> str:
    generator = np.random.default_rng(0)
    lines = []
    for i in range(count):
        predicted = int(generator.integers(1, 400))
        correct = int(generator.integers(0, predicted + 1))
        steps = ", ".join(
            f"r{generator.integers(9)}({a},{b})" for a, b in zip("XAB", "ABY", strict=True)
        )
        rule = f"h{i % 7}(X,Y) <= {steps}" if i % 3 else f"h(X,e{i % 50}) <= r(X,n(a){i})"
        lines.append(f"{predicted}\t{correct}\t{correct / predicted!r}\t{rule}\n")
    return "".join(lines)


def test_the_result_does_not_depend_on_threads_or_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    text = many_rules()
    open_graph = read(text)
    graph = open_graph.entities, open_graph.relations
    expected = read(text, graph=graph, threads=1)
    assert expected.digest == open_graph.digest
    monkeypatch.setattr(reading, "_BLOCK", 1000)
    for threads in (1, 2, 5):
        rules = read(text, graph=graph, threads=threads)
        for name in ("body", "line", "relation", "body_keys", "head_constant"):
            np.testing.assert_array_equal(getattr(rules, name), getattr(expected, name))
    assert read(text).digest == expected.digest


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
