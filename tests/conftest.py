"""Fixtures that several test modules share."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml
from explored import write_hostile
from hypothesis import settings
from workflows import CONFIG, copy_repository, offline, snakemake, succeed

from kgagg.data.archives import extract
from kgagg.data.datasets import fetch
from kgagg.data.registry import find
from kgagg.engine.engine import Engine
from kgagg.errors import Unavailable
from kgagg.explore.explorer import Explorer
from kgagg.graph.graph import SPLITS, Graph
from kgagg.strategies.registry import strategy

# the first call of a kernel may compile it, which says nothing about the code
settings.register_profile("kgagg", deadline=None)
settings.register_profile("few", deadline=None, max_examples=10)
settings.load_profile("kgagg")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data and rules: data/, rules/, rules/amie/."""
    if not (folder := os.environ.get("KGAGG_TEST_DATA")):
        pytest.skip("KGAGG_TEST_DATA is not set: it names the folder with data/ and rules/")
    return Path(folder)


@pytest.fixture(scope="session")
def wnrr(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the real WNRR, with train.txt, valid.txt and test.txt."""
    folder = tmp_path_factory.mktemp("wnrr")
    splits = {f"{split}.txt": folder / f"{split}.txt" for split in SPLITS}
    extract(shared_data / "data" / "wnrr.tar.gz", splits, "wnrr")
    return folder


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and none of the user's settings that say where data come from."""
    for name in ("KGAGG_MIRROR", "KGAGG_OFFLINE", "KGAGG_DATASETS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("KGAGG_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


RULES = """\
100\t60\t0.6\tr0(X,Y) <= r1(X,Y)
100\t50\t0.5\tr0(X,Y) <= r2(Y,X)
20\t14\t0.7\tr0(X,e1) <= r1(X,e2)
40\t10\t0.25\tr0(e3,Y) <= r2(Y,A)
90\t9\t0.1\tr0(X,e4) <=\x20
100\t40\t0.4\tr1(X,Y) <= r0(X,A), r2(A,Y)
30\t9\t0.3\tr1(X,Y) <= r2(X,Y)
100\t45\t0.45\tr2(X,Y) <= r0(Y,X)
100\t30\t0.3\tr2(X,Y) <= r1(X,A), r1(A,B), r0(B,Y)
"""


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A folder with a small graph, of distinct facts, and rules: train.txt, ..., rules.txt."""
    every = np.random.default_rng(5).permutation(12 * 3 * 12)
    for split, numbers in zip(SPLITS, np.split(every[:220], [150, 180]), strict=True):
        rows = zip(*np.unravel_index(numbers, (12, 3, 12)), strict=True)
        text = "".join(f"e{h}\tr{r}\te{t}\n" for h, r, t in rows)
        (tmp_path / f"{split}.txt").write_text(text)
    (tmp_path / "rules.txt").write_text(RULES)
    return tmp_path


@pytest.fixture
def engine(world: Path) -> Engine:
    """The rules of `world` on its graph."""
    return Engine.open(world, world / "rules.txt")


# --- a run of the workflow -----------------------------------------------------------------------


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
            copy_repository(folder / "repository")
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


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of a graph with hostile names, and rules."""
    folder = tmp_path_factory.mktemp("hostile")
    write_hostile(folder)
    return folder


@pytest.fixture
def explorer(hostile: Path) -> Explorer:
    """What can be asked of that graph, by two strategies."""
    graph = Graph.read(hostile).with_labels(hostile / "labels.txt")
    engine = Engine.open(graph, hostile / "rules.txt")
    return Explorer(engine, [strategy("noisy-or-top-5"), strategy("max+")])
