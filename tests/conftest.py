"""Fixtures that several test modules share."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import pytest
from hypothesis import settings

# the first call of a kernel may compile it, which says nothing about the code
settings.register_profile("kgagg", deadline=None)
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
    folder = tmp_path_factory.mktemp("data")
    with tarfile.open(shared_data / "data" / "wnrr.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "wnrr"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and none of the user's settings that say where data come from."""
    for name in ("KGAGG_MIRROR", "KGAGG_OFFLINE", "KGAGG_DATASETS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("KGAGG_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
