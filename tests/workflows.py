"""Runs of the workflow, and what they leave behind."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BYTES = ("firings/*/*/*.parquet", "models/**/*.kgagg", "ranks/**/*.parquet", "tables/*.md")
# tables and files that tell of time differ from run to run
TIMED = ("runtimes", "claims")


def copy_repository(folder: Path) -> None:
    """Copy what a run reads of the repository, so that a test can change it."""
    for name in ("Snakefile", "workflow", "config", "envs", "kgagg", "profiles"):
        source, target = ROOT / name, folder / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            target.parent.mkdir(exist_ok=True)
            shutil.copy(source, target)


def command(*arguments: str, config: str | Path = "demo") -> list[str]:
    """Call Snakemake: the copy of the repository beside a configuration, if there is one."""
    root = ROOT
    if isinstance(config, Path) and (config.parent / "repository").exists():
        root = config.parent / "repository"
    files = [ROOT / "config" / "config.yaml"]
    if config != "config":
        files.append(ROOT / "config" / f"{config}.yaml" if isinstance(config, str) else config)
    call = [sys.executable, "-m", "snakemake", "--snakefile", str(root / "Snakefile")]
    # the files come last, as they would take a target that follows for one of them
    return [*call, *arguments, "--cores", "2", "--configfile", *map(str, files)]


def snakemake(
    folder: Path, *arguments: str, config: str | Path = "demo", within: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Run in a folder of its own, so that tests do not meet in .snakemake."""
    return subprocess.run(
        [*within, *command(*arguments, config=config)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
    )


def succeed(run: subprocess.CompletedProcess[str]) -> str:
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout + run.stderr


def jobs(run: subprocess.CompletedProcess[str]) -> Counter[str]:
    """Read how many jobs of each rule a dry run plans."""
    table = succeed(run).rpartition("Job stats:")[2].partition("\n\n")[0]
    return Counter({rule: int(n) for rule, n in re.findall(r"^(\w+) +(\d+)$", table, re.M)})


def offline() -> tuple[str, ...]:
    """Return what to put before a command so that it has no network, if there is such a thing."""
    for call in (("unshare", "--net"), ("unshare", "--map-root-user", "--net")):
        try:
            if subprocess.run([*call, "true"], capture_output=True, check=False).returncode == 0:
                return call
        except FileNotFoundError:
            break
    return ()


CONFIG = {
    "results": "out",
    "datasets": ["nations"],
    "rules": ["native"],
    "rule_sets": {"native": {"options": {"max-length-cyclic": 2, "min-support": 10}}},
    "strategies": ["max", "max+", "noisy-or-top-h*", "learned"],
    "chunks": 2,
    "threads": {"mine": 2, "apply": 1, "time": 2},
    "repeats": 1,
    "resamples": 200,
}


def content(folder: Path, *patterns: str) -> dict[str, bytes]:
    """Read the files that must not differ from run to run."""
    files = itertools.chain.from_iterable((folder / "out").glob(pattern) for pattern in patterns)
    return {
        str(path.relative_to(folder)): path.read_bytes() for path in files if path.stem not in TIMED
    }


def sandbox(folder: Path, packages: str, *call: str, limit: int) -> str:
    """Run a command with Debian packages, in an overlay; skip, with the reason, if it cannot be."""
    if os.geteuid():
        pytest.skip("needs root, to mount an overlay")
    for program in ("apt-get", "unshare", "ip"):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")
    overlay = [str(ROOT / "tests" / "sandbox" / "overlay.sh"), packages]
    try:
        # the first time, this installs the packages
        probe = subprocess.run(
            [*overlay, "true"], cwd=folder, capture_output=True, text=True, timeout=240, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"installing {packages} takes too long here")
    if probe.returncode:
        reason = (probe.stderr.strip().splitlines() or ["see the log in /tmp/kgagg-sandbox"])[-1]
        pytest.skip(f"no sandbox with {packages}: {reason}")
    run = subprocess.run(
        [*overlay, *call], cwd=folder, capture_output=True, text=True, timeout=limit, check=False
    )
    return succeed(run)
