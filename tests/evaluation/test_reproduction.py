"""Published numbers on the real WNRR, with the rules that were mined for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgagg.engine.engine import Engine
from kgagg.ranking.ranks import Ranks
from kgagg.ranking.ties import values
from kgagg.strategies.fitting import Fitting
from kgagg.strategies.registry import strategy
from kgagg.strategies.scoring import rank_split
from kgagg.strategies.tuned import top_h_choices


def mrr(ranks: Ranks) -> dict[str, float]:
    return dict(zip(ranks.strategies, values(ranks).mean(axis=(1, 2)).tolist(), strict=True))


@pytest.fixture(scope="module")
def anyburl(shared_data: Path, wnrr: Path) -> Engine:
    return Engine.open(wnrr, shared_data / "rules" / "wnrr.anyburl.rules.xz")


def test_the_numbers_of_anyburl_and_pyclause(anyburl: Engine) -> None:
    """MAX+ is AnyBURL's own evaluation, the others are PyClause's with random ties."""
    names = ("max", "max+", "noisy-or", "noisy-or-top-5")
    found = mrr(rank_split(anyburl, "test", [strategy(name) for name in names]))
    assert found["max"] == pytest.approx(0.484, abs=0.010)
    assert found["max+"] == pytest.approx(0.4993, abs=0.0010)
    assert found["noisy-or"] == pytest.approx(0.477, abs=0.002)
    assert found["noisy-or-top-5"] == pytest.approx(0.504, abs=0.002)


def test_the_tuned_h_is_at_least_as_good_on_valid_as_every_fixed_h(anyburl: Engine) -> None:
    tuned = strategy("noisy-or-top-h*").fit(Fitting(anyburl))
    found = mrr(rank_split(anyburl, "valid", [*top_h_choices(), tuned]))
    assert found.pop("noisy-or-top-h*") >= max(found.values())


def test_no_aggregation_of_these_amie_rules_reaches_the_papers_row(
    shared_data: Path, wnrr: Path
) -> None:
    """The paper's hits@10 of 0.511 to 0.514 exceeds the share of targets that they predict."""
    amie = shared_data / "rules" / "amie"
    rules = [amie / f"amie3-v3.0.{run}.wnrr.txt" for run in "AB"]
    ranks = rank_split(Engine.open(wnrr, rules), "test", [strategy("max")], top_x=0)
    assert (ranks.optimistic > 0).mean() == pytest.approx(0.502, abs=0.001)
