"""Shapes of rules, and names in them: what is read, what is refused, what comes back."""

from __future__ import annotations

import numpy as np
import pytest
from ruled import atoms, chain, names, one, read

from kgagg.errors import InputError
from kgagg.graph.vocabulary import Vocabulary
from kgagg.rules.confidence import Confidence
from kgagg.rules.dialects.anyburl import parse_line
from kgagg.rules.shapes import (
    LETTERS,
    ME,
    SIDE,
    XX,
    Unusable,
)

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
