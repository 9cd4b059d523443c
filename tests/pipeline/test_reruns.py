"""What is planned again when the code changes: that which depends on it, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from workflows import ROOT, jobs, snakemake, succeed

APPLIED = {"apply_part", "gather", "rank", "rank_curve"}
FITTED = {"fit_strategy"}
REPORTED = {"write_tables", "plots", "manifest", "page"}
Plan = Callable[[], subprocess.CompletedProcess[str]]


@pytest.fixture
def copy(again: Path) -> Path:
    """The repository of a finished run, a copy to be changed."""
    return again / "repository"


@pytest.fixture
def planned(again: Path) -> Plan:
    """Plan the run again."""
    return lambda: snakemake(again, "--dry-run", config=again / "nations.yaml")


def rules(run: subprocess.CompletedProcess[str]) -> set[str]:
    """The rules of which jobs are planned, but for targets."""
    if "Nothing to be done" in succeed(run):
        return set()
    found: Counter[str] = jobs(run)
    return set(found) - {"all", "total", "tables", "report"}


def add_code(file: Path, code: str) -> None:
    assert file.exists(), file
    file.write_text(f"{file.read_text()}\n\n{code}\n")


def test_the_same_code_plans_nothing(planned: Plan) -> None:
    assert rules(planned()) == set()


def test_a_comment_plans_nothing(copy: Path, planned: Plan) -> None:
    for file in (copy / "kgagg").rglob("*.py"):
        add_code(file, "# a remark")
    assert rules(planned()) == set()


@pytest.mark.parametrize("file", ["report/tables.py", "report/contents.py"])
def test_a_table_plans_the_report_and_nothing_else(copy: Path, planned: Plan, file: str) -> None:
    add_code(copy / "kgagg" / file, "CHANGED = 1")
    again = rules(planned())
    assert "write_tables" in again
    assert again <= REPORTED


def test_the_page_plans_the_page(copy: Path, planned: Plan) -> None:
    add_code(copy / "kgagg/report/page.py", "CHANGED = 1")
    assert rules(planned()) == {"page"}


def test_a_kernel_of_the_engine_plans_apply_and_all_after_it(copy: Path, planned: Plan) -> None:
    kernels = copy / "kgagg/engine/kernels"
    file = kernels / "query.py" if kernels.is_dir() else kernels.with_suffix(".py")
    add_code(file, "CHANGED = 1")
    again = rules(planned())
    assert again >= APPLIED | FITTED | REPORTED | {"result", "time"}
    assert not again & {"dataset", "before_test", "statistics"}


def test_a_strategy_plans_ranks_not_firings(copy: Path, planned: Plan) -> None:
    # the native miner tries rules with max+ and noisy-or, so these plan more
    add_code(copy / "kgagg/strategies/safran.py", "CHANGED = 1")
    again = rules(planned())
    assert again >= {"rank", "fit_strategy", "result", "time"}
    assert not again & {"apply_part", "gather", "rule_set", "mine_rules"}


def test_a_miner_plans_its_rules(copy: Path, planned: Plan) -> None:
    add_code(copy / "kgagg/mining/native/unary.py", "CHANGED = 1")
    assert "mine_rules" in rules(planned())
    shutil.copy(ROOT / "kgagg/mining/native/unary.py", copy / "kgagg/mining/native/unary.py")
    add_code(copy / "kgagg/mining/amie.py", "CHANGED = 1")
    assert rules(planned()) == set()


def test_the_timing_plans_the_times(copy: Path, planned: Plan) -> None:
    add_code(copy / "kgagg/report/times.py", "CHANGED = 1")
    again = rules(planned())
    assert "time" in again
    assert again <= REPORTED | {"time"}
