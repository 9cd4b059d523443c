"""The native miner: every rule and every count as the definition has them."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import naive
import numpy as np
import pytest
from drawn import examples
from hypothesis import given
from hypothesis import strategies as st
from small import make_graph
from waiting import PATIENCE

from kgagg.cli import main
from kgagg.errors import Failed, InputError
from kgagg.graph.graph import Graph
from kgagg.mining.counting import count
from kgagg.mining.native import miner as native
from kgagg.mining.native import trial as trial_module
from kgagg.mining.native.budget import Budget
from kgagg.mining.native.cyclic import Cyclic
from kgagg.mining.native.found import Codes, Thresholds
from kgagg.mining.native.trial import Plan, Trial, hold_out
from kgagg.rules.ruleset import RuleSet

ALL = Plan()


def folder_of(facts: set[naive.Fact], folder: Path) -> str:
    folder.mkdir(exist_ok=True)
    (folder / "train.txt").write_text("".join("\t".join(fact) + "\n" for fact in sorted(facts)))
    return str(folder)


def random_facts(seed: int, entities: int, relations: int, facts: int) -> set[naive.Fact]:
    chosen = random.Random(seed)
    return {
        (
            f"e{chosen.randrange(entities)}",
            f"r{chosen.randrange(relations)}",
            f"e{chosen.randrange(entities)}",
        )
        for _ in range(facts)
    }


def mined(out: Path) -> dict[str, tuple[int, int]]:
    rules = RuleSet.read(out)
    rows = range(len(rules))
    return {rules.text(i): (int(rules.predicted[i]), int(rules.correct[i])) for i in rows}


def small_facts() -> st.SearchStrategy[set[naive.Fact]]:
    entity, relation = st.sampled_from([f"e{i}" for i in range(5)]), st.sampled_from(["r0", "r1"])
    fact = st.tuples(entity, relation, entity)
    return st.sets(fact, min_size=4, max_size=20)


@examples(25)
@given(facts=small_facts())
def test_all_rules_with_their_counts(
    facts: set[naive.Fact], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("native")
    limits = {"correct": 2, "zero": 1}
    expected = naive.mine(facts, longest=3, share=0.3, **limits)
    thresholds = Thresholds(confidence=0.3, **limits)
    data = folder_of(facts, folder)
    if not expected:
        with pytest.raises(Failed, match="found no rule"):
            native.mine(data, folder / "mined.rules", plan=ALL, thresholds=thresholds)
        return
    native.mine(data, folder / "mined.rules", plan=ALL, thresholds=thresholds)
    assert mined(folder / "mined.rules") == expected


def test_long_bodies(tmp_path: Path) -> None:
    facts = random_facts(1, entities=12, relations=2, facts=30)
    expected = naive.mine(facts, longest=4, correct=2, share=1e-4, zero=100)
    native.mine(folder_of(facts, tmp_path), tmp_path / "out.rules", max_length_cyclic=4)
    assert mined(tmp_path / "out.rules") == expected


@pytest.fixture(scope="module")
def dense(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A graph in which bodies of length three are many."""
    folder = tmp_path_factory.mktemp("dense")
    return folder_of(random_facts(2, entities=60, relations=6, facts=1500), folder)


def test_threads_and_files_make_no_difference(dense: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"plan": Plan(work=1 << 20, sample=1 << 10)}
    files = {1: tmp_path / "one.rules", 2: tmp_path / "two.rules", 3: tmp_path / "three.kgagg"}
    records = {n: native.mine(dense, out, threads=n, **options) for n, out in files.items()}
    assert files[1].read_bytes() == files[2].read_bytes()
    assert records[1]["digest"] == records[2]["digest"]
    assert RuleSet.read(files[3]).digest == RuleSet.read(files[1]).digest
    assert records[1]["sampled"]["rules"] > 0


def test_sampled_confidences_are_within_the_stated_error(dense: str, tmp_path: Path) -> None:
    record = native.mine(dense, tmp_path / "out.rules", plan=Plan(sample=1 << 12))
    graph = Graph.from_folder(dense)
    rules = RuleSet.read(tmp_path / "out.rules", (graph.entities, graph.relations))
    lines = {
        line
        for part in record["sampled"]["lines"].split(",")
        for line in range(int(part.split("-")[0]), int(part.split("-")[-1]) + 1)
    }
    assert len(lines) == record["sampled"]["rules"] > 100
    sampled = np.isin(rules.line, list(lines))
    predicted, correct = count(rules, graph)
    assert (rules.predicted[~sampled] == predicted[~sampled]).all()
    assert (rules.correct[~sampled] == correct[~sampled]).all()
    error = (rules.correct / rules.predicted - correct / predicted)[sampled]
    stated = record["sampled"]["standard_error"]
    assert 0.5 * stated < np.sqrt(np.mean(error**2)) < 1.5 * stated


def test_the_most_useful_rules_are_kept(dense: str, tmp_path: Path) -> None:
    everything, few = tmp_path / "all.rules", tmp_path / "few.rules"
    native.mine(dense, everything, max_length_cyclic=1)
    record = native.mine(dense, few, plan=Plan(longest=1, rules=1000))
    rules, kept = RuleSet.read(everything), mined(few)
    assert record["left_out"] == len(rules) - len(kept)
    assert 500 < len(kept) <= 1000
    assert kept.items() <= mined(everything).items()
    unary = rules.kind != 0
    least = min(correct for text, (_, correct) in kept.items() if "(X,Y)" not in text)
    assert np.count_nonzero(unary & (rules.correct > least)) <= 1000


def test_less_work_gives_the_beginning_of_the_same_list(dense: str) -> None:
    found = []
    for limit in (1, None):
        search = Cyclic(Graph.read(dense), Thresholds(), Budget(1 << 30, None, 2))
        codes = search._best_first([search._search((3, r, 1 << 30)) for r in range(6)])
        search._count(codes, 1 << 40, limit)
        found.append(np.concatenate(search.found))
    assert 0 < len(found[0]) < len(found[1])
    assert (
        found[1][: len(found[0])][["body", "correct"]].tolist()
        == found[0][["body", "correct"]].tolist()
    )


@pytest.fixture(scope="module")
def composed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A graph with a relation that three steps explain, among others that nothing explains."""
    chosen = random.Random(3)
    steps = [{i: chosen.randrange(200) for i in range(200)} for _ in range(3)]
    facts = {(f"e{i}", f"s{n}", f"e{j}") for n, step in enumerate(steps) for i, j in step.items()}
    for i in range(200):
        end = steps[2][steps[1][steps[0][i]]]
        facts.add((f"e{i}", "far", f"e{end}"))
    return folder_of(facts, tmp_path_factory.mktemp("composed"))


def test_the_length_is_chosen_by_what_it_adds(composed: str, tmp_path: Path) -> None:
    records = [native.mine(composed, tmp_path / f"{n}.rules", threads=n) for n in (1, 2)]
    assert (tmp_path / "1.rules").read_bytes() == (tmp_path / "2.rules").read_bytes()
    trial, chosen = records[0]["trial"], records[0]["chosen"]
    assert trial == records[1]["trial"]
    assert trial["held_out"] == 80
    two, three, *longer = trial["steps"]
    assert (two["longest"], three["longest"]) == (2, 3)
    assert three["gain"] > 0.1
    assert three["error"] > 0
    paid = [step["gain"] >= trial["least_gain_beyond"] for step in longer]
    assert chosen["longest"] == 3 + sum(paid)
    text = (tmp_path / "1.rules").read_text()
    assert "far(X,Y) <= s0(X,A), s1(A,B), s2(B,Y)" in text


def test_as_many_rules_are_kept_as_add_something(
    composed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = Trial(Graph.read(composed), Thresholds(), Budget(1 << 24, None, 1))
    plan = trial.choose(2, 14, 1 << 24)
    # there are few rules, and all are kept
    assert (plan.longest, plan.rules) == (2, Plan().rules)
    assert [step["longest"] for step in trial.steps] == [2]
    monkeypatch.setattr(trial_module, "MOST", 64)
    for mrr, kept in (((0.5, 0.5, 0.6), 64), ((0.6, 0.7, 0.7), 32), ((0.4, 0.3, 0.2), 8)):
        ladder = iter(mrr)
        monkeypatch.setattr(
            trial, "_try", lambda what, rules, n=ladder: trial.steps.append({"mrr": next(n)})
        )
        trial.steps = [{"mrr": 0.4}]
        assert trial._choose_rules(Plan(rules=8)).rules == kept


def test_facts_that_others_give_away_are_held_out_only_where_they_are_usual(dense: str) -> None:
    alone = [(f"e{i}", "r", f"e{i + 1}") for i in range(40)]
    doubled = [(tail, "s", head) for head, _, tail in alone]
    # one pair in four is linked twice; then all are, and in a dense graph most
    for graph, usual in (
        (make_graph(alone + doubled[::4]), False),
        (make_graph(alone + doubled), True),
        (Graph.read(dense), True),
    ):
        part = hold_out(graph)
        assert len(part.train) + len(part.valid) == len(graph.train)
        assert 0 < len(part.valid) <= len(graph.train) // 10
        links = {frozenset(pair) for pair in part.train[:, ::2].tolist()}
        given = [frozenset(pair) in links for pair in part.valid[:, ::2].tolist()]
        assert any(given) == usual


def test_what_is_held_out_depends_on_train_alone() -> None:
    train = [(f"e{i}", "r", f"e{i + 1}") for i in range(40)]
    alone, among = (Graph.from_triples(train, test=more) for more in (None, [("a", "p", "z")]))
    assert len(alone.entities) < len(among.entities)
    assert hold_out(alone).valid.tolist() == hold_out(among).valid.tolist()


def test_time_is_kept_and_told(dense: str, tmp_path: Path) -> None:
    plan = Plan(longest=5, work=1 << 62, sample=1 << 40)
    # without an end to the time there would be none
    record = native.mine(dense, tmp_path / "out.rules", seconds=2, plan=plan)
    assert not record["complete"]
    assert record["stopped"] == "the 2.0 s were over"
    assert mined(tmp_path / "out.rules")


def test_the_time_that_is_told_is_all_of_it(
    dense: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])

    def late(*_: object, **__: object) -> None:
        clock[0] += 1000.0

    def read(folder: str, **_: object) -> Graph:
        late()
        return Graph.from_folder(folder)

    monkeypatch.setattr(native, "write", late)
    monkeypatch.setattr(Graph, "read", read)
    record = native.mine(dense, tmp_path / "out.rules", plan=Plan(longest=2))
    assert record["runs"][0]["seconds"] == 2000.0


def test_progress_shows_rate_gain_and_time_left(
    dense: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: set[str] = set()
    over = Budget.over

    def noted(budget: Budget) -> bool:
        shown.add(budget.progress())
        return over(budget)

    monkeypatch.setattr(Budget, "over", noted)
    native.mine(dense, tmp_path / "out.rules")
    assert any(re.search(r"[1-9] rules/s, .* at most .* left$", line) for line in shown)
    assert any(re.search(r"MRR of held-out facts 0\.\d+ \(\+0\.\d+\)", line) for line in shown)


def test_all_forms_hold_the_same_rules(dense: str, tmp_path: Path) -> None:
    digests = set()
    for name in ("out.rules", "out.rules.zst", "out.kgagg", "out.parquet"):
        record = native.mine(dense, tmp_path / name, plan=Plan(longest=2))
        digests |= {record["digest"], f"sha256:{RuleSet.read(tmp_path / name).digest}"}
    assert len(digests) == 1


def test_ctrl_c_keeps_what_is_found(dense: str, tmp_path: Path) -> None:
    out = tmp_path / "out.rules"
    call = ["mine", "native", dense, "--out", str(out), "--max-length-cyclic", "5"]
    child = subprocess.Popen(
        [Path(sys.executable).with_name("kgagg"), *call, "--seconds", "300"],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stderr is not None
    # shown now and then, when other rules have been found already; it ends after its seconds
    assert any("bodies of 5 steps" in line for line in child.stderr)
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=PATIENCE)
    assert child.returncode == 130
    assert "interrupted by SIGINT; kept the rules found so far in out.rules" in errors
    assert mined(out)
    assert not json.loads((tmp_path / "out.rules.json").read_text())["complete"]


def test_command_line(dense: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.rules.gz"
    assert main(["mine", "native", dense, "--out", str(out), "--min-support", "9", "--quiet"]) == 0
    record = json.loads((tmp_path / "out.rules.gz.json").read_text())
    assert record["complete"]
    assert record["settings"]["correct"] == 9
    assert f"{record['rules']['total']:,} rules" in capsys.readouterr().out
    assert main(["mine", "native", dense, "--out", str(out), "--max-length-cyclic", "99"]) == 2
    assert "--max-length-cyclic 99: expected 1 to 14 with 6 relations" in capsys.readouterr().err


def test_wnrr(wnrr: Path, tmp_path: Path) -> None:
    record = native.mine(str(wnrr), tmp_path / "out.rules", max_length_cyclic=3)
    [bodies] = record["long_bodies"]
    assert bodies["sampled"] == record["left_out"] == 0
    assert bodies["counted"] == bodies["found"]
    graph = Graph.from_folder(wnrr)
    rules = RuleSet.read(tmp_path / "out.rules", (graph.entities, graph.relations))
    predicted, correct = count(rules, graph)
    exact = (rules.predicted == predicted) & (rules.correct == correct)
    assert np.count_nonzero(~exact) <= record["sampled"]["rules"]


def test_codes() -> None:
    codes = Codes(6)
    bodies = np.array([[5, 0, 3], [0, -1, -1], [2, 2, -1]], np.int32)
    numbers = codes.encode(bodies)
    assert (codes.decode(numbers) == bodies).all()
    assert codes.lengths(numbers).tolist() == [3, 1, 2]
    assert codes.decode(codes.turned(numbers)).tolist() == [[2, 1, 4], [1, -1, -1], [3, 3, -1]]


def test_arguments(dense: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="threads=0: expected at least 1"):
        native.mine(dense, tmp_path / "out.rules", threads=0)
