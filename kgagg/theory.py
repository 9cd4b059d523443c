r"""The probabilistic model of the paper, executable for small rule sets.

"On the Aggregation of Rules for Knowledge Graph Completion" (Betz et al., 2023) makes each rule a
binary random variable whose marginal is the rule's confidence. The score of a fact is the
probability that at least one of the rules that predict it is true, under a joint distribution of
all rules. Which aggregation this gives depends on that distribution alone:

================================  ====================  ==============
joint distribution                aggregation           in the paper
================================  ====================  ==============
`comonotone`: maximal correlation  `max_score`           Theorem 4.5
`independent`                      `noisy_or_score`      Proposition 4.7
`grouped`: both, by group          between the two       section 4.5
================================  ====================  ==============

A joint distribution of `N` rules is an array of shape ``(2,) * N``: the entry at index
``(r_1, ..., r_N)`` is the probability of that realisation. Everything is done by enumeration, so
`N` is at most about 20. Numbers of definitions and equations are those of the paper.

Errata
------
Two statements of the paper do not follow from its own definitions; the tests hold both readings.

- Appendix D gives 0.8581 for two rules of confidence 0.9. That is sigmoid(0.9 + 0.9), with the
  confidences as weights. With the log odds that the text prescribes (and with which its second
  example, 0.9032, was computed) the value is sigmoid(2 ln 9) = 0.9878.
- Example 3.3 lists the fact cooperatesWith(e_g, e_u), but rule c_3 needs cooperatesWith(e_u, e_g).
  As printed, only the first rule predicts the target; with the arguments turned, the first and
  the third do, and every pair of rules entails it, as the text says.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Joint: TypeAlias = NDArray[np.float64]
Atom: TypeAlias = tuple[str, ...]
Facts: TypeAlias = Collection[Atom]


class Rule(NamedTuple):
    """A definite clause; an argument that starts with a capital letter is a variable."""

    head: Atom
    body: tuple[Atom, ...]


Entailment: TypeAlias = Callable[[Iterable[Rule], Facts, Atom], bool]


def atoms(text: str) -> tuple[Atom, ...]:
    """Read atoms such as ``"studentAt(X,A), locIn(A,B)"``."""
    found = re.findall(r"(\w+)\(([^()]*)\)", text)
    return tuple((name, *(a.strip() for a in arguments.split(","))) for name, arguments in found)


def rule(text: str) -> Rule:
    """Read a rule such as ``"wf(X,Y) <- internAt(X,Y)"``."""
    head, _, body = text.partition("<-")
    return Rule(atoms(head)[0], atoms(body))


# --- logic -------------------------------------------------------------------------------------


def _bind(atom: Atom, binding: Mapping[str, str]) -> Atom:
    return (atom[0], *(binding.get(a, a) for a in atom[1:]))


def _substitutions(
    body: Sequence[Atom], facts: Facts, binding: dict[str, str]
) -> Iterator[dict[str, str]]:
    """All bindings of variables under which every atom of the body is a fact."""
    if not body:
        yield binding
        return
    atom, *rest = body
    for fact in facts:
        if fact[0] == atom[0] and len(fact) == len(atom):
            values = zip(atom[1:], fact[1:], strict=True)
            extended = {term: value for term, value in values if term[0].isupper()} | binding
            if _bind(atom, extended) == fact:
                yield from _substitutions(rest, facts, extended)


def one_step_entails(rules: Iterable[Rule], facts: Facts, target: Atom) -> bool:
    """Return whether one rule, applied once to the facts, gives the target (Definition 3.1).

    For a single rule this is *prediction* (Definition 3.2).
    """
    return any(
        _bind(head, binding) == target
        for head, body in rules
        for binding in _substitutions(body, facts, {})
    )


def entails(rules: Iterable[Rule], facts: Facts, target: Atom) -> bool:
    """Return whether the target is in the least model of rules and facts."""
    rules, known = list(rules), set(facts)
    while target not in known:
        new = {_bind(r.head, b) for r in rules for b in _substitutions(r.body, known, {})} - known
        if not new:
            return False
        known |= new
    return True


def predicting(rules: Sequence[Rule], facts: Facts, target: Atom) -> list[int]:
    """Return the indices of the rules that predict the target (Definition 3.2)."""
    return [i for i, r in enumerate(rules) if one_step_entails([r], facts, target)]


# --- joint distributions over rules ------------------------------------------------------------


def comonotone(marginals: ArrayLike) -> Joint:
    r"""Return the one distribution in which all correlations are maximal (Theorem 4.5).

    Sorted by marginal, a rule can only be true if all before it are, equation (17); so `N + 1`
    realisations are left, the first `m` rules true for `m = 0..N`, and their probabilities `z`
    solve :math:`A z = p`, equation (18): `A` is upper triangular with ones, and `p` is 1 followed
    by the marginals in descending order.

    Parameters
    ----------
    marginals : array_like, shape (N,)
        Probability of each rule.

    Returns
    -------
    ndarray of float64, shape (2,) * N
    """
    p = np.asarray(marginals, np.float64)
    order = np.argsort(-p, kind="stable")
    z = np.linalg.solve(np.triu(np.ones((len(p) + 1,) * 2)), np.append(1.0, p[order]))
    joint = np.zeros((2,) * len(p))
    realisation = np.zeros(len(p), np.int64)
    joint[tuple(realisation)] = z[0]
    for i, probability in zip(order, z[1:], strict=True):
        realisation[i] = 1
        joint[tuple(realisation)] = probability
    return joint


def grouped(marginals: ArrayLike, groups: Sequence[Sequence[int]]) -> Joint:
    """Return the distribution that is comonotone in each group, with independent groups.

    One group gives `comonotone`, singletons give `independent`. The score is the noisy-or of the
    best confidence of each group: SAFRAN's clusters, the paper's "Max-group aggregation". Noisy-or
    top-h is the case in which the `h` best predicting rules are in groups of their own and the
    others join the first (section 4.5); the groups then depend on the target.

    Parameters
    ----------
    marginals : array_like, shape (N,)
        Probability of each rule.
    groups : sequence of sequences of int
        A partition of the rule indices.

    Returns
    -------
    ndarray of float64, shape (2,) * N
    """
    p = np.asarray(marginals, np.float64)
    joint = np.ones(())
    for group in groups:
        joint = np.multiply.outer(joint, comonotone(p[list(group)]))
    return joint.transpose(np.argsort([i for group in groups for i in group]))


def independent(marginals: ArrayLike) -> Joint:
    """Return the distribution of independent rules; ProbLog's, equation (20)."""
    p = np.asarray(marginals, np.float64)
    return grouped(p, [[i] for i in range(len(p))])


def marginal(joint: Joint, rules: Iterable[int]) -> Joint:
    """Sum out all rules but the given ones, which keep their order."""
    kept = set(rules)
    return np.asarray(joint.sum(axis=tuple(i for i in range(joint.ndim) if i not in kept)))


def correlation(joint: Joint) -> NDArray[np.float64]:
    """Return the correlation matrix of the rules, equation (13); marginals strictly in (0, 1)."""
    realisations = np.array(list(np.ndindex(joint.shape)))
    covariance = np.cov(realisations, rowvar=False, aweights=joint.ravel(), ddof=0)
    deviation = np.sqrt(np.diag(covariance))
    return np.asarray(covariance / np.outer(deviation, deviation))


def correlation_bound(p_i: ArrayLike, p_j: ArrayLike) -> NDArray[np.float64]:
    """Return the upper Frechet-Hoeffding bound `U(i, j)` of the correlation, equation (7).

    Parameters
    ----------
    p_i, p_j : array_like
        Marginals strictly between 0 and 1; they are broadcast together.
    """
    p_i, p_j = np.asarray(p_i, np.float64), np.asarray(p_j, np.float64)
    ratio = np.sqrt(p_i * (1 - p_j) / (p_j * (1 - p_i)))
    return np.asarray(np.minimum(ratio, 1 / ratio))


# --- inference ---------------------------------------------------------------------------------


def query(
    joint: Joint,
    rules: Sequence[Rule],
    facts: Facts,
    target: Atom,
    entailment: Entailment = one_step_entails,
) -> float:
    """Return the probability of the target given the facts, equations (2) and (4).

    Sums the probabilities of all realisations whose true rules entail the target.

    Parameters
    ----------
    joint : ndarray of float64, shape (2,) * N
        Distribution of the rules.
    rules : sequence of Rule, length N
    facts : collection of Atom
    target : Atom
    entailment : callable
        `one_step_entails` is the model of the paper. With `entails` and an `independent` joint
        distribution this is ProbLog, equation (22), which is never below noisy-or (Theorem C.2);
        ProbLog with one-step entailment is noisy-or (Proposition C.1).
    """
    return sum(
        float(probability)
        for realisation, probability in np.ndenumerate(joint)
        if entailment(itertools.compress(rules, realisation), facts, target)
    )


def any_true(joint: Joint, rules: Iterable[int]) -> float:
    """Return the probability that at least one of the given rules is true (Proposition 4.2)."""
    return 1.0 - float(marginal(joint, rules).flat[0])


def max_score(confidences: ArrayLike) -> float:
    """Return the highest confidence (Definition 3.4)."""
    return float(np.max(np.asarray(confidences, np.float64)))


def noisy_or_score(confidences: ArrayLike) -> float:
    """Return ``1 - prod(1 - confidence)`` (Definition 3.5)."""
    return float(1.0 - np.prod(1.0 - np.asarray(confidences, np.float64)))


def top_h_score(confidences: ArrayLike, h: int) -> float:
    """Return the noisy-or of the `h` highest confidences (Definition 4.8)."""
    return noisy_or_score(np.sort(np.asarray(confidences, np.float64))[::-1][:h])


# --- Markov logic ------------------------------------------------------------------------------


def log_odds(confidence: float) -> float:
    """Return ``ln(confidence / (1 - confidence))``, the weight of a formula in appendix D."""
    return math.log(confidence / (1.0 - confidence))


def sigmoid(x: float) -> float:
    """Return ``1 / (1 + exp(-x))``."""
    return 1.0 / (1.0 + math.exp(-x))


def markov_logic(
    rules: Sequence[Rule],
    weights: Sequence[float],
    facts: Facts,
    target: Atom,
    observed: Collection[str] = (),
) -> float:
    r"""Return the marginal of the target in a Markov logic network, given the facts (appendix D).

    The probability of a world is proportional to :math:`\exp \sum_i w_i n_i`, where :math:`n_i`
    is the number of groundings of rule `i` that hold in it. When the bodies are observed it is
    `sigmoid` of the summed weights of all groundings that predict the target.

    Parameters
    ----------
    rules : sequence of Rule
    weights : sequence of float
        Weight of each rule.
    facts : collection of Atom
        Atoms known to be true.
    target : Atom
        The atom in question, not a fact.
    observed : collection of str
        Relations of which every atom that is not a fact is known to be false. All other atoms are
        open, and all worlds are enumerated: at most about 20 open atoms.
    """
    constants = sorted({c for atom in [*facts, target] for c in atom[1:]})
    patterns = [atom for r in rules for atom in (r.head, *r.body)]
    ground = {
        (name, *arguments)
        for name, *terms in patterns
        for arguments in itertools.product(constants, repeat=len(terms))
    }
    hidden = sorted(a for a in ground if a not in facts and (a[0] not in observed or a == target))
    worlds = np.array(list(itertools.product([False, True], repeat=len(hidden)))).T
    truth = dict(zip(hidden, worlds, strict=True))

    def holds(atom: Atom) -> NDArray[np.bool_]:
        return truth[atom] if atom in truth else np.full(worlds.shape[1], atom in facts)

    energy = np.zeros(worlds.shape[1])
    for (head, body), weight in zip(rules, weights, strict=True):
        variables = sorted({t for a in (head, *body) for t in a[1:] if t[0].isupper()})
        for values in itertools.product(constants, repeat=len(variables)):
            binding = dict(zip(variables, values, strict=True))
            premise = np.all([holds(_bind(a, binding)) for a in body], axis=0)
            energy += weight * (~premise | holds(_bind(head, binding)))
    mass = np.exp(energy - energy.max())
    return float(mass[truth[target]].sum() / mass.sum())
