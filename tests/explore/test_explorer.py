"""What views show."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from explored import KNOWS, LIKES, NAMES, QUOTES, SCRIPT

import kgagg
from kgagg.cli import main
from kgagg.engine.engine import Engine
from kgagg.errors import InputError
from kgagg.explore.explorer import Explorer
from kgagg.rules.selection import more_general, more_special
from kgagg.strategies.registry import strategy


def test_candidates_have_the_ranks_and_scores_of_rank(explorer: Explorer, hostile: Path) -> None:
    explorer.calibrate()
    view = explorer.ask(QUOTES, KNOWS, "")
    shown = [one for one in view.values["candidates"] if not one["known"]]
    answers = kgagg.rank(
        explorer.graph, str(hostile / "rules.txt"), [(QUOTES, KNOWS, None)], "noisy-or-top-5"
    )
    assert [one["name"] for one in shown] == answers["tail"].tolist()
    assert [one["by"][0]["score"] for one in shown] == answers["score"].tolist()
    assert all(0 <= one["by"][0]["probability"] <= 1 for one in shown)
    known = {one["name"] for one in view.values["candidates"] if one["known"]}
    facts = np.concatenate([explorer.graph.train, explorer.graph.valid])
    names = ((explorer.graph.entities[h], explorer.graph.relations[r], t) for h, r, t in facts)
    tails = {explorer.graph.entities[t] for h, r, t in names if (h, r) == (QUOTES, KNOWS)}
    assert known <= tails
    assert known


def test_ties_are_ranges(explorer: Explorer) -> None:
    for direction in ("head", "tail"):
        view = explorer.ask(*(("", KNOWS, SCRIPT) if direction == "head" else (SCRIPT, KNOWS, "")))
        shown = [one for one in view.values["candidates"] if not one["known"]]
        scores = [one["by"][0]["score"] for one in shown]
        for one, value in zip(shown, scores, strict=True):
            better, equal = sum(s > value for s in scores), scores.count(value)
            tied = f"{better + 1} to {better + equal}" if equal > 1 else f"{better + 1}"
            assert one["by"][0]["rank"] == tied


def test_two_strategies_disagree_on_top(explorer: Explorer) -> None:
    view = explorer.ask(SCRIPT, KNOWS, "", "noisy-or-top-5", "max+")
    assert view.values["chosen"] == ["noisy-or-top-5", "max+"]
    first = [[int(by["rank"].split()[0]) for by in one["by"]] for one in view.values["candidates"]]
    gaps = [abs(1 / one - 1 / other) for one, other in first]
    assert gaps == sorted(gaps, reverse=True)
    assert len(view.columns) == len(view.rows[0]) == 8


def test_relations_between_two(explorer: Explorer) -> None:
    view = explorer.ask(SCRIPT, "?", QUOTES)
    assert view.values["asked"] == "relation"
    assert {one["name"] for one in view.values["candidates"]} <= {LIKES, KNOWS}


def test_facts_of_an_entity_are_paged(explorer: Explorer) -> None:
    view = explorer.entity(SCRIPT)
    groups = view.values["groups"]
    assert view.values["total"] == sum(one["count"] for one in groups) == len(view.rows)
    one = explorer.entity(SCRIPT, LIKES, "tail", 1).values
    assert [group["relation"] for group in one["groups"]] == [LIKES]
    assert (one["page"], one["pages"]) == (1, 1)
    assert explorer.entity(SCRIPT, LIKES, "tail", 9).values["groups"][0]["entities"] == []


def test_rules_beside_a_rule(explorer: Explorer) -> None:
    rules = explorer.rules
    texts = [rules[row].rule for row in range(len(rules))]
    special, general = (texts.index(f"{KNOWS}(X,plain) <= {LIKES}(X,{x})") for x in ("Zoë ∀x", "A"))
    assert more_general(rules, special).tolist() == [general]
    assert more_special(rules, general).tolist() == [special]
    assert [one["number"] for one in explorer.rule(special + 1).values["general"]] == [general + 1]
    # one is the other seen from the other side
    pairs = itertools.product(range(len(rules)), repeat=2)
    assert all((b in more_general(rules, a)) == (a in more_special(rules, b)) for a, b in pairs)


def test_rules_are_filtered_sorted_and_paged(explorer: Explorer) -> None:
    view = explorer.rule_table(KNOWS, "cyclic", sort="length")
    assert [one["length"] for one in view.values["rules"]] == [1, 2]
    assert explorer.rule_table(min_confidence=0.36).values["total"] == 1
    assert explorer.rule_table(page=2).values["rules"] == []


def test_wrong_names_are_told(explorer: Explorer) -> None:
    with pytest.raises(InputError, match="plain"):
        explorer.entity("plian")
    with pytest.raises(InputError, match="to be"):
        explorer.ask(SCRIPT, KNOWS, NAMES[1])
    with pytest.raises(InputError, match=r"max\+"):
        explorer.ask(SCRIPT, KNOWS, "", "max")
    with pytest.raises(InputError, match="expected 1 to 4"):
        explorer.rule(5)


def test_explanations_link_to_names_whatever_the_labels(explorer: Explorer) -> None:
    graph = explorer.graph.with_labels(dict.fromkeys(explorer.graph.entities, "somebody"))
    engine = Engine(graph, explorer.rules)
    shown = Explorer(engine, [strategy("max+")]).why(SCRIPT, KNOWS, QUOTES)
    plain = explorer.why(SCRIPT, KNOWS, QUOTES, "max+")
    assert shown.values["explanation"] == plain.values["explanation"]
    assert "somebody" in shown.title


def test_without_rules_they_are_mined(hostile: Path, tmp_path: Path) -> None:
    (tmp_path / "queries.txt").write_text(f"{SCRIPT}\t{KNOWS}\t?\n")
    call = ["explore", str(hostile), "-q", "--queries", str(tmp_path / "queries.txt")]
    assert main([*call, "--static", str(tmp_path / "pages")]) == 0
    assert (tmp_path / "pages" / "index.html").exists()


def test_pages_need_queries(hostile: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", str(hostile), "--static", "pages"]) == 2
    assert "expected both" in capsys.readouterr().err
