"""The workflow: it is planned as it should be, and a wrong configuration is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def snakemake(
    folder: Path, *arguments: str, config: str = "demo"
) -> subprocess.CompletedProcess[str]:
    """Run in a folder of its own, so that tests do not meet in .snakemake."""
    return subprocess.run(
        [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--cores", "2"]
        + ["--configfile", str(ROOT / "config" / "config.yaml")]
        + [str(ROOT / "config" / f"{config}.yaml")] * (config != "config")
        + list(arguments),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("config", ["demo", "config"])
def test_the_plan_is_complete(tmp_path: Path, config: str) -> None:
    run = snakemake(tmp_path, "--dry-run", config=config)
    assert run.returncode == 0, run.stderr
    assert "fetch             4" in run.stdout + run.stderr


def test_an_unknown_key_is_refused(tmp_path: Path) -> None:
    run = snakemake(tmp_path, "--dry-run", "--config", "datsets=wnrr")
    assert run.returncode != 0
    assert "datsets" in run.stdout + run.stderr
