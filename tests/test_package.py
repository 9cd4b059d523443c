"""What is installed from a wheel: everything that is needed, no data, no jar."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel, built from a copy, so that nothing of an earlier build is in it."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "kgagg", source / "kgagg", ignore=ignored)
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(target)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(source)], check=True)
    return next(target.glob("kgagg-*.whl"))


def test_the_wheel_has_what_is_needed_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as file:
        names = [name for name in file.namelist() if ".dist-info/" not in name]
        assert b"nations:" in file.read("kgagg/data/registry.yaml")
    code = {name for name in names if name.endswith(".py")}
    package = ROOT / "kgagg"
    assert code == {str(path.relative_to(ROOT)) for path in package.rglob("*.py")}
    extra = {"kgagg/data/registry.yaml", "kgagg/py.typed", "kgagg/report/page.html"}
    shown = (package / "explore").glob("[at]*/*")
    assert set(names) - code == extra | {str(path.relative_to(ROOT)) for path in shown}
    assert wheel.stat().st_size < 1e6


def test_it_works_away_from_the_repository(wheel: Path, tmp_path: Path) -> None:
    """The dependencies are those of this environment; kgagg is the wheel's."""
    with zipfile.ZipFile(wheel) as file:
        file.extractall(tmp_path / "site")
    (tmp_path / "data").mkdir()
    for split in ("train", "valid", "test"):
        (tmp_path / "data" / f"{split}.txt").write_text("a\tr\tb\nb\ts\ta\n")
    script = """
import sys
from pathlib import Path
import kgagg
from kgagg.cli import main
assert Path(kgagg.__file__).is_relative_to(Path("site").resolve()), kgagg.__file__
from kgagg.data.registry import registry
assert "nations" in registry()
sys.exit(main(["stats", "data"]))
"""
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "site")}
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "| data " in done.stdout
