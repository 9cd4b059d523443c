"""How long bodies should be, and how many rules are worth keeping: a trial on a part of train.

Some facts of train are held out. Rules are mined from the others, with a part of the work, and
the ranks of the held-out facts tell what longer bodies, and then what more rules, add. Valid and
test are never looked at.

Facts are held out whose two entities no other fact links: the others are answered by rules with one
body atom, which are all found in any case.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kgagg.engine.engine import Engine
from kgagg.graph.graph import Graph
from kgagg.mining.native.budget import WORK, Budget
from kgagg.mining.native.cyclic import SAMPLE, Cyclic, scrambled
from kgagg.mining.native.found import MOST, Thresholds, by_use, rule_set
from kgagg.mining.native.unary import mine_unary
from kgagg.ranking.ties import values
from kgagg.strategies.maximum import MaxPlus
from kgagg.strategies.noisy_or import NoisyOrTopH
from kgagg.strategies.scoring import rank_split

# so many are kept without asking
FEW = 1 << 21
# of cyclic bodies
LENGTH = 3
# how much of the work is done for the trial
_TRIAL = 1 / 4
# how many facts are held out, and which part of train at most
_HELD_OUT, _PART = 4000, 1 / 10
# the mean MRR of these strategies must grow by this much; by more for bodies beyond `LENGTH`, since
# each further step takes several times the work, in mining and whenever the rules are applied
_STRATEGIES = (MaxPlus(), NoisyOrTopH(5))
_GAIN, _GAIN_BEYOND = 1e-4, 5e-4


@dataclass(frozen=True)
class Plan:
    """How much is mined.

    Parameters
    ----------
    longest : int
        The longest body of cyclic rules.
    rules : int
        How many rules are kept at most.
    work : int
        How much work is done for bodies of three and more steps: half of what is left for each
        length, and all of it for the longest.
    sample : int
        See `Cyclic`.
    """

    longest: int = LENGTH
    rules: int = FEW
    work: int = WORK
    sample: int = SAMPLE


class Trial:
    """Mining from a part of train, to see what pays.

    Parameters
    ----------
    graph : Graph
    thresholds : Thresholds
    budget : Budget

    Attributes
    ----------
    steps : list of dict
        For the record: what was tried, the MRR of the held-out facts, and what it gained.
    """

    def __init__(self, graph: Graph, thresholds: Thresholds, budget: Budget) -> None:
        self.budget, self.thresholds = budget, thresholds
        self.graph = hold_out(graph)
        self.steps: list[dict[str, Any]] = []
        self._unary = np.empty(0)
        # the reciprocal rank of each fact in the best step so far
        self._each: np.ndarray = np.zeros(len(self.graph.valid))
        self._search = Cyclic(self.graph, thresholds, budget)

    def choose(self, longest: int | None, limit: int, work: int) -> Plan:
        """Choose how much to mine.

        Parameters
        ----------
        longest : int or None
            The longest body, if it is to be chosen no more.
        limit : int
            No body may be longer than this.
        work : int
            How much work may be done, for the trial and after it.
        """
        self.budget.begin("trial")
        self._unary = by_use(mine_unary(self.graph, self.thresholds, MOST, self.budget)[0])
        self._search.count_short(min(longest or limit, 2))
        trial = int(_TRIAL * work)
        plan = Plan(longest or min(limit, 2), FEW, work - trial)
        if self.budget.over() or not len(self.graph.valid):
            return Plan(longest or min(limit, LENGTH), FEW, work)
        self._try({"rules": plan.rules, "longest": plan.longest}, plan.rules)
        if longest is None:
            plan = self._choose_length(plan, limit, trial)
        return self._choose_rules(plan)

    def _choose_length(self, plan: Plan, limit: int, work: int) -> Plan:
        """Try longer and longer bodies, as long as they gain something."""
        for length in range(plan.longest + 1, limit + 1):
            start, bodies = self.budget.spent, len(self._search.found)
            self.budget.state = f"trial: bodies of {length} steps"
            self._search.count_long(length, work // 2)
            work -= self.budget.spent - start
            if self.budget.stopped or len(self._search.found) == bodies:
                break
            self._try({"longest": length}, plan.rules)
            if self.steps[-1]["gain"] < (_GAIN if length <= LENGTH else _GAIN_BEYOND):
                break
            plan = Plan(length, plan.rules, plan.work)
        return plan

    def _choose_rules(self, plan: Plan) -> Plan:
        """Try twice as many rules, and again; take the fewest that are as good as any."""
        rules = plan.rules
        measured = {rules: self._best}
        while rules < min(self._found, MOST) and not self.budget.over():
            rules *= 2
            self._try({"rules": rules}, rules)
            measured[rules] = self.steps[-1]["mrr"]
        enough = max(measured.values()) - _GAIN
        return Plan(plan.longest, min(n for n, mrr in measured.items() if mrr > enough), plan.work)

    @property
    def _best(self) -> float:
        """The highest MRR so far."""
        return max((step["mrr"] for step in self.steps), default=0.0)

    @property
    def _found(self) -> int:
        return len(self._unary) + sum(map(len, self._search.found))

    def _try(self, what: dict[str, Any], rules: int) -> None:
        """Measure the MRR with the cyclic rules found and the best of the others."""
        cyclic = np.concatenate(self._search.found)
        found = by_use(np.concatenate([cyclic, self._unary[:rules]]))
        self.budget.state = f"trial: {', '.join(f'{k} {v:,}' for k, v in what.items())}"
        each = np.zeros(len(self.graph.valid))
        if len(found):
            engine = Engine(self.graph, rule_set(found, self.graph, "trial")[0])
            threads = self.budget.threads
            ranks = rank_split(engine, "valid", _STRATEGIES, threads=threads, quiet=True)
            each = values(ranks).mean(axis=(0, 2))
        mrr, gain = float(each.mean()), float(each.mean()) - self._best
        # the two directions of a fact are not independent, its mean is
        error = float((each - self._each).std() / np.sqrt(len(each)))
        if gain > 0:
            self._each = each
        self.steps.append(
            {**what, "mrr": round(mrr, 5), "gain": round(gain, 5), "error": round(error, 5)}
        )
        first, best = self.steps[0]["mrr"], self._best
        self.budget.gain = f"MRR of held-out facts {best:.4f} ({best - first:+.4f})"

    def report(self) -> dict[str, Any]:
        """Return what was tried, for the record."""
        return {
            "held_out": len(self.graph.valid),
            "strategies": [one.name for one in _STRATEGIES],
            "least_gain": _GAIN,
            "least_gain_beyond": _GAIN_BEYOND,
            "steps": self.steps,
        }


def hold_out(graph: Graph) -> Graph:
    """Return the graph without some facts of train, which are its valid split.

    If most facts are the only one between their two entities, only such are held out: a fact that
    another one gives away says little about rules. Otherwise facts to predict are likely to be
    given away, too, and any may be held out.
    """
    train = np.unique(graph.train, axis=0)
    low, high = np.sort(train[:, ::2], axis=1).T.astype(np.int64)
    pair = low * len(graph.entities) + high
    _, place, facts = np.unique(pair, return_inverse=True, return_counts=True)
    alone = np.flatnonzero((facts[place] == 1) & (low != high))
    if 2 * len(alone) < len(train):
        alone = np.arange(len(train))
    size = min(_HELD_OUT, int(_PART * len(train)))
    # numbers of names that only valid and test have play no part
    pairs = train[alone, 0].astype(np.int64) << 32 | train[alone, 2]
    mixed = scrambled(scrambled(pairs) ^ train[alone, 1].astype(np.uint64))
    held = np.zeros(len(train), np.bool_)
    held[alone[np.argsort(mixed, kind="stable")[:size]]] = True
    return Graph.indexed(
        graph.entities,
        graph.relations,
        train[~held],
        train[held],
        train[:0],
        f"{graph.digest}, {size} held out",
    )
