"""Output of AMIE."""

from __future__ import annotations

import pytest
from ruled import amie, read

from kgagg.errors import InputError
from kgagg.rules.confidence import Confidence


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
        with pytest.raises(InputError, match="unknown format, expected"):
            read(text.encode("latin-1"))
