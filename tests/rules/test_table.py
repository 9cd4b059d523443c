"""Rule sets as tables: length, rows, slices, filters, data frames, text."""

from __future__ import annotations

import numpy as np
import pytest

import kgagg
from kgagg.errors import InputError

TEXT = """\
20\t14\t0.7\tspeaks(X,Y) <= livesIn(X,A), language(A,Y)
40\t10\t0.25\tspeaks(X,english) <= livesIn(X,A)
50\t25\t0.5\tlivesIn(X,Y) <= worksIn(X,Y)
90\t9\t0.1\tspeaks(X,english) <=\x20
"""


@pytest.fixture
def rules() -> kgagg.RuleSet:
    return kgagg.RuleSet.from_text(TEXT)


def test_rules_are_a_sequence(rules: kgagg.RuleSet) -> None:
    assert len(rules) == 4
    # five examples more that nobody has seen
    assert [one.confidence for one in rules][:2] == [14 / 25, 25 / 55]
    best = rules[0]
    assert best == next(iter(rules))
    assert best.rule == "speaks(X,Y) <= livesIn(X,A), language(A,Y)"
    assert (best.type, best.correct, best.predicted) == ("cyclic", 14, 20)
    assert str(best) == "0.5600 (14 of 20)  speaks(X,Y) <= livesIn(X,A), language(A,Y)"
    assert rules[-1].type == "zero"
    assert [one.correct for one in rules[1:3]] == [25, 10]
    assert list(rules[rules.confidence < 0.4]) == list(rules[[3, 2]]) == list(rules)[2:]
    with pytest.raises(IndexError):
        rules[4]
    # a part is a rule set like any other
    assert rules[:2].digest == kgagg.RuleSet.from_text("".join(TEXT.splitlines(True)[::2])).digest


def test_filters(rules: kgagg.RuleSet) -> None:
    assert [one.rule for one in rules.filter(relation="livesIn")] == [
        "livesIn(X,Y) <= worksIn(X,Y)"
    ]
    assert len(rules.filter(type="cyclic")) == 2
    assert len(rules.filter(type="cyclic", min_confidence=0.5)) == 1
    assert len(rules.filter(min_support=10)) == 3
    assert len(rules.filter(max_length=1)) == 3
    assert rules.filter() is not rules
    assert rules.filter().digest == rules.digest
    assert len(rules.filter(min_confidence=1.0)) == 0
    assert rules.filter(min_confidence=1.0).to_pandas().empty
    with pytest.raises(InputError, match=r"unknown relation 'speak'; did you mean speaks"):
        rules.filter(relation="speak")
    with pytest.raises(InputError, match=r"cycle: no such type of rules.*did you mean cyclic"):
        rules.filter(type="cycle")


def test_a_data_frame(rules: kgagg.RuleSet) -> None:
    table = rules.to_pandas()
    assert table["rule"].tolist() == [one.rule for one in rules]
    assert table["correct"].tolist() == [14, 25, 10, 9]
    assert table.loc[2, "head_constant"] == "english"
    assert table["head_constant"].isna()[0]
    assert "pca_predicted" not in table
    # without statistics
    bare = kgagg.RuleSet.from_text(["r(X,Y) <= s(X,Y)"]).to_pandas()
    assert bare["correct"].isna().all()


def test_what_people_see(rules: kgagg.RuleSet) -> None:
    assert repr(rules) == "RuleSet(4 rules: 2 cyclic, 1 dangling, 1 zero)"
    many = kgagg.RuleSet.from_text([f"20\t{n}\t0.5\tr(X,<b>{n}) <= s(X,Y)" for n in range(1, 15)])
    page = many._repr_html_()
    assert "&lt;b&gt;14" in page
    assert "<b>14" not in page
    assert page.count("<tr>") == 11
    assert "4 more" in page


def test_text_that_is_no_rule() -> None:
    with pytest.raises(InputError, match="text:2"):
        kgagg.RuleSet.from_text(["r(X,Y) <= s(X,Y)", "nonsense"])
    assert np.array_equal(kgagg.RuleSet.from_text("").confidence, [])
