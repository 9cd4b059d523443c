"""A run of the workflow that several tests look at."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path

import pytest
import yaml
from workflows import CONFIG, offline, snakemake, succeed

from kgagg.data.datasets import fetch
from kgagg.data.registry import find
from kgagg.errors import Unavailable


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the whole workflow run on nations: fetched, then cut off from the network."""
    try:
        fetch(find("nations"), quiet=True)
    except Unavailable as error:
        pytest.skip(f"nations cannot be had: {error}")
    # one run for all workers of pytest-xdist
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder = shared / "workflow"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            (folder / "nations.yaml").write_text(yaml.safe_dump(CONFIG))
            succeed(snakemake(folder, "fetch", config=folder / "nations.yaml"))
            succeed(snakemake(folder, config=folder / "nations.yaml", within=offline()))
            (folder / "done").touch()
    return folder


@pytest.fixture
def again(finished: Path, tmp_path: Path) -> Path:
    """A copy of the finished run, to be changed."""
    shutil.copytree(finished, tmp_path / "again", dirs_exist_ok=True)
    return tmp_path / "again"
