"""Every example and number of the paper, and its theorems as properties."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgagg import theory
from kgagg.theory import atoms, rule

# Example 1.1
RULES = [
    rule("wf(X,Y) <- internAt(X,Y)"),
    rule("wf(X,Y) <- studentAt(X,A), locIn(A,B), locIn(Y,B)"),
    rule("wf(X,Y) <- studentAt(X,A), cooperatesWith(A,Y)"),
]
CONFIDENCES = [0.64, 0.44, 0.41]

open_unit = st.floats(0.01, 0.99)
confidences = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12)
few_marginals = st.lists(open_unit, min_size=1, max_size=5)


def facts(text: str) -> set[theory.Atom]:
    return set(atoms(text))


# --- section 3 ---------------------------------------------------------------------------------

TARGET = ("wf", "e_d", "e_g")
PRINTED = facts("cooperatesWith(e_g,e_u), internAt(e_d,e_g), studentAt(e_d,e_u)")
MEANT = facts("cooperatesWith(e_u,e_g), internAt(e_d,e_g), studentAt(e_d,e_u)")


def test_example_3_3_with_the_arguments_the_text_needs() -> None:
    assert theory.predicting(RULES, MEANT, TARGET) == [0, 2]
    for size in (2, 3):
        for chosen in itertools.combinations(RULES, size):
            assert theory.one_step_entails(chosen, MEANT, TARGET)


def test_erratum_example_3_3_as_printed() -> None:
    assert theory.predicting(RULES, PRINTED, TARGET) == [0]
    assert not theory.one_step_entails(RULES[1:], PRINTED, TARGET)


def test_one_step_entailment_is_weaker_than_entailment() -> None:
    chain = [rule("b(X) <- a(X)"), rule("c(X) <- b(X)")]
    assert theory.entails(chain, facts("a(x)"), ("c", "x"))
    assert not theory.one_step_entails(chain, facts("a(x)"), ("c", "x"))
    assert not theory.entails(chain[:1], facts("a(x)"), ("c", "x"))


def test_a_repeated_variable_and_a_constant_must_match() -> None:
    assert theory.one_step_entails([rule("p(X) <- r(X,X)")], facts("r(a,a)"), ("p", "a"))
    assert not theory.one_step_entails([rule("p(X) <- r(X,X)")], facts("r(a,b)"), ("p", "a"))
    speaks = [rule("speaks(X,english) <- livesIn(X,london)")]
    assert theory.one_step_entails(speaks, facts("livesIn(a,london)"), ("speaks", "a", "english"))
    assert not theory.one_step_entails(speaks, facts("livesIn(a,b)"), ("speaks", "a", "english"))


def test_example_3_6_scores() -> None:
    anna, lisa = CONFIDENCES, CONFIDENCES[1:]
    assert theory.max_score(anna) == 0.64
    assert theory.noisy_or_score(anna) == pytest.approx(0.88, abs=0.005)
    assert theory.max_score(lisa) == 0.44
    assert theory.noisy_or_score(lisa) == pytest.approx(0.67, abs=0.005)
    assert theory.top_h_score(anna, 2) == pytest.approx(0.7984)


# --- section 4: the inference model ------------------------------------------------------------


@st.composite
def joints(draw: st.DrawFn) -> theory.Joint:
    """Any distribution over one to four rules."""
    size = draw(st.integers(1, 4))
    mass = np.array(draw(st.lists(open_unit, min_size=2**size, max_size=2**size)))
    return np.asarray((mass / mass.sum()).reshape((2,) * size))


@given(joints(), st.data())
def test_propositions_4_1_and_4_2(joint: theory.Joint, data: st.DataObject) -> None:
    """Under one-step entailment the predicting rules suffice: one of them must be true."""
    fires = data.draw(st.lists(st.booleans(), min_size=joint.ndim, max_size=joint.ndim))
    rules = [rule("t(X) <- yes(X)") if f else rule("t(X) <- no(X)") for f in fires]
    known, target = facts("yes(a)"), ("t", "a")
    predicting = theory.predicting(rules, known, target)
    over_all = theory.query(joint, rules, known, target)
    over_predicting = theory.query(
        theory.marginal(joint, predicting), [rules[i] for i in predicting], known, target
    )
    assert over_all == pytest.approx(over_predicting)
    assert over_all == pytest.approx(theory.any_true(joint, predicting))


def test_proposition_4_1_does_not_hold_for_full_entailment() -> None:
    rules = [rule("t(X) <- a(X)"), rule("t(X) <- b(X)"), rule("b(X) <- a(X)")]
    known, target = facts("a(x)"), ("t", "x")
    assert theory.predicting(rules, known, target) == [0]
    joint = theory.independent([0.5, 0.5, 0.5])
    assert theory.query(joint, rules, known, target, theory.entails) > theory.any_true(joint, [0])


def test_example_4_3_only_the_rules_that_predict_lisa() -> None:
    joint = theory.independent(CONFIDENCES)
    known = facts("studentAt(lisa,u), locIn(u,m), locIn(google,m), cooperatesWith(u,google)")
    target = ("wf", "lisa", "google")
    assert theory.predicting(RULES, known, target) == [1, 2]
    assert theory.query(joint, RULES, known, target) == pytest.approx(0.6696)
    assert theory.any_true(joint, [1, 2]) == pytest.approx(0.6696)


# --- section 4.4.1: maximal correlation --------------------------------------------------------


def test_example_4_4_correlation_bounds() -> None:
    assert theory.correlation_bound(0.64, 0.44) == pytest.approx(0.66, abs=0.005)
    assert theory.correlation_bound(0.44, 0.41) == pytest.approx(0.94, abs=0.005)


def test_example_4_6_distribution_of_two_rules() -> None:
    joint = theory.comonotone([0.64, 0.44])
    assert joint[1, 1] == pytest.approx(0.44)
    assert joint[0, 1] == 0.0
    assert joint[1, 0] == pytest.approx(0.2)
    assert joint[0, 0] == pytest.approx(0.36)
    assert theory.any_true(joint, [0, 1]) == pytest.approx(0.64)


@given(st.lists(open_unit, min_size=2, max_size=5))
def test_theorem_4_5_every_correlation_is_at_its_bound(p: list[float]) -> None:
    joint = theory.comonotone(p)
    assert joint.min() >= 0.0 - 1e-12
    assert joint.sum() == pytest.approx(1.0)
    assert np.count_nonzero(joint) <= len(p) + 1
    assert [theory.any_true(joint, [i]) for i in range(len(p))] == pytest.approx(p)
    bound = theory.correlation_bound(np.array(p)[:, None], np.array(p)[None, :])
    assert theory.correlation(joint) == pytest.approx(bound)


@given(few_marginals, st.data())
def test_theorem_4_5_inference_is_max(p: list[float], data: st.DataObject) -> None:
    predicting = data.draw(st.sets(st.integers(0, len(p) - 1), min_size=1))
    score = theory.max_score([p[i] for i in predicting])
    assert theory.any_true(theory.comonotone(p), predicting) == pytest.approx(score)


def test_theorem_4_5_the_distribution_is_unique() -> None:
    """Marginals and maximal correlations leave no freedom: each cell has one possible value."""
    optimize = pytest.importorskip("scipy.optimize")
    p = [0.7, 0.5, 0.2, 0.5]
    cells = np.array(list(np.ndindex((2,) * len(p))))
    constraints, values = [np.ones(len(cells))], [1.0]
    for i, j in itertools.combinations_with_replacement(range(len(p)), 2):
        constraints.append(cells[:, i] * cells[:, j])
        values.append(min(p[i], p[j]))
    joint = theory.comonotone(p)
    for cell, index in enumerate(cells):
        for sign in (1.0, -1.0):
            objective = np.zeros(len(cells))
            objective[cell] = sign
            found = optimize.linprog(objective, A_eq=np.array(constraints), b_eq=values)
            assert sign * found.fun == pytest.approx(joint[tuple(index)], abs=1e-9)


# --- sections 4.4.2 and 4.5: independence, and between -----------------------------------------


@given(few_marginals, st.data())
def test_proposition_4_7_independence_is_noisy_or(p: list[float], data: st.DataObject) -> None:
    predicting = data.draw(st.sets(st.integers(0, len(p) - 1), min_size=1))
    score = theory.noisy_or_score([p[i] for i in predicting])
    assert theory.any_true(theory.independent(p), predicting) == pytest.approx(score)


@given(confidences)
def test_proposition_4_9_top_h_is_between_and_grows_with_h(p: list[float]) -> None:
    scores = [theory.top_h_score(p, h) for h in range(1, len(p) + 2)]
    assert scores[0] == pytest.approx(theory.max_score(p))
    assert scores[-2] == scores[-1] == pytest.approx(theory.noisy_or_score(p))
    assert all(a <= b + 1e-15 for a, b in itertools.pairwise(scores))


@given(few_marginals, st.integers(1, 5))
def test_top_h_is_the_inference_of_a_grouped_distribution(p: list[float], h: int) -> None:
    order = np.argsort(p)[::-1].tolist()
    groups = [[order[0], *order[h:]], *([i] for i in order[1:h])]
    joint = theory.grouped(p, groups)
    assert theory.any_true(joint, range(len(p))) == pytest.approx(theory.top_h_score(p, h))


def test_grouped_has_both_assumptions_as_special_cases() -> None:
    p = [0.3, 0.8, 0.5]
    assert np.array_equal(theory.grouped(p, [[2, 0, 1]]), theory.comonotone(p))
    assert theory.grouped(p, [[2], [0], [1]]) == pytest.approx(theory.independent(p))
    # rules 0.6 and 0.5 in one cluster, 0.2 alone
    assert theory.any_true(theory.grouped([0.6, 0.5, 0.2], [[0, 1], [2]]), range(3)) == (
        pytest.approx(0.68)
    )


# --- appendix C: ProbLog -----------------------------------------------------------------------

LETTERS = "abcd"
propositional = st.builds(
    lambda head, body: rule(f"{head}(x) <- " + ", ".join(f"{b}(x)" for b in body)),
    st.sampled_from("bcd"),
    st.lists(st.sampled_from(LETTERS), min_size=1, max_size=2),
)


@given(st.lists(st.tuples(propositional, open_unit), min_size=1, max_size=5))
def test_problog_is_never_below_noisy_or(program: list[tuple[theory.Rule, float]]) -> None:
    """Proposition C.1 (one step: equal) and Theorem C.2 (full entailment: not below)."""
    rules, p = zip(*program, strict=True)
    known, target = facts("a(x)"), ("d", "x")
    joint = theory.independent(p)
    noisy_or = theory.noisy_or_score([p[i] for i in theory.predicting(rules, known, target)])
    assert theory.query(joint, rules, known, target) == pytest.approx(noisy_or)
    assert theory.query(joint, rules, known, target, theory.entails) >= noisy_or - 1e-12


# --- appendix D: Markov logic ------------------------------------------------------------------

SICK = [rule("cancer(X) <- smokes(X)"), rule("cancer(X) <- ill(X)")]
MARRIED = [
    rule("married(X,Y) <- engaged(X,Y)"),
    rule("married(X,Y) <- commonChild(X,Y)"),
    rule("married(X,Y) <- inLove(X,Y)"),
]


def test_erratum_the_first_example_of_appendix_d() -> None:
    known, target = facts("smokes(karl), ill(karl)"), ("cancer", "karl")
    as_printed = theory.markov_logic(SICK, [0.9, 0.9], known, target)
    assert as_printed == pytest.approx(0.8581, abs=5e-5)
    assert as_printed == pytest.approx(theory.sigmoid(0.9 + 0.9))
    as_prescribed = theory.markov_logic(SICK, [theory.log_odds(0.9)] * 2, known, target)
    assert as_prescribed == pytest.approx(0.9878, abs=5e-5)
    assert as_prescribed == pytest.approx(theory.sigmoid(2 * np.log(9)))


def test_the_second_example_of_appendix_d() -> None:
    known = facts("inLove(a,b), commonChild(a,b), engaged(a,b)")
    target, p = ("married", "a", "b"), [0.8, 0.7, 0.5]
    assert theory.query(
        theory.independent(p), MARRIED, known, target, theory.entails
    ) == pytest.approx(0.97)
    assert theory.noisy_or_score(p) == pytest.approx(0.97)
    assert theory.query(theory.comonotone(p), MARRIED, known, target) == pytest.approx(0.8)
    between = theory.query(theory.grouped(p, [[0, 1], [2]]), MARRIED, known, target)
    assert 0.8 <= between <= 0.97
    weights = [theory.log_odds(c) for c in p]
    answer = theory.markov_logic(MARRIED, weights, known, target)
    assert answer == pytest.approx(0.9032, abs=5e-5)
    assert answer == pytest.approx(theory.sigmoid(sum(weights)))


@pytest.mark.parametrize("groundings", [1, 2, 5])
def test_many_groundings_of_a_doubtful_rule_pull_the_fact_down(groundings: int) -> None:
    """Why the appendix expects little of this baseline: below 0.5 a grounding is a counter-vote."""
    paths = [rule("h(X,Y) <- r(X,A), s(A,Y)")]
    known = {a for i in range(groundings) for a in (("r", "x", f"m{i}"), ("s", f"m{i}", "y"))}
    weight = theory.log_odds(0.4)
    constants = {"x", "y", *(f"m{i}" for i in range(groundings))}
    # the heads of all other pairs are known, which leaves one open atom
    others = {("h", a, b) for a in constants for b in constants} - {("h", "x", "y")}
    answer = theory.markov_logic(paths, [weight], known | others, ("h", "x", "y"), ["r", "s"])
    assert answer == pytest.approx(theory.sigmoid(groundings * weight))
    assert answer <= 0.4 + 1e-12
