"""The readers of rules: hostile names, damaged files, threads."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from drawn import examples
from hypothesis import given
from hypothesis import strategies as st
from ruled import RULES, amie, many_rules, names, read

from kgagg.errors import InputError
from kgagg.graph.vocabulary import Vocabulary
from kgagg.rules import reading
from kgagg.rules.dialects.anyburl import format_line
from kgagg.rules.shapes import (
    CONSTANT,
    CYCLIC,
    DANGLING,
    LETTERS,
    ME,
    SIDE,
    ZERO,
    Rule,
)

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
@examples(300)
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
@examples(300)
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
@examples(200)
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
        assert "unknown format" in str(error)  # noqa: PT017
        return
    report = rules.report
    unusable = sum(problem.count for problem in report.unusable.values())
    assert report.lines == len(rules) + report.duplicates + report.other + unusable
    assert all(list(rules.text_lines(rules.file_order)))


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
