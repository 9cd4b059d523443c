"""The jars of the miners: where each comes from, and the digest to verify it."""

from __future__ import annotations

import struct
import zipfile
from dataclasses import dataclass
from pathlib import Path

from kgagg.data.download import Artifact, cache_path, digest_of, fetched, obtain
from kgagg.errors import InputError, nearest
from kgagg.util.files import cache_folder

LEARN = "de.unima.ki.anyburl.Learn"
LEARN_REINFORCED = "de.unima.ki.anyburl.LearnReinforced"
AMIE = "amie.mining.AMIE"


@dataclass(frozen=True)
class Registered:
    """A jar that we know.

    Attributes
    ----------
    dialect : str
        The miner and the form of its rules: ``"anyburl"`` or ``"amie"``.
    main_class : str
        The class that mines.
    artifact : Artifact
        File name, digest (empty when none is known) and sources.
    """

    dialect: str
    main_class: str
    artifact: Artifact


# Two builds of JUNO are known; it is not known which of them the paper used.
JARS = {
    "anyburl-23-1": Registered(
        "anyburl",
        LEARN,
        Artifact(
            "AnyBURL-23-1.jar",
            "sha256:b087704cb44ffef76db3f7cdf0de6f5badd19db67533a8ec5b2246fa6d186177",
            (
                "https://github.com/symbolic-kg/PyClause/raw/"
                "87c82ec3dd904767741a493dcbdf7605377d4535/clause/bin/AnyBURL-23-1.jar",
                "https://web.informatik.uni-mannheim.de/AnyBURL/AnyBURL-23-1.jar",
            ),
        ),
    ),
    "anyburl-juno": Registered(
        "anyburl",
        LEARN_REINFORCED,
        Artifact(
            "AnyBURL-JUNO.jar",
            "sha256:5b5545d86f268bf54912981aba2f193acfb581d4451af7b44622afb95f43e5af",
            (
                "https://github.com/sig4kg/SIKGC/raw/"
                "38ca291cf5d8c6346a1cbeb5d1065a580296cb07/scripts/AnyBURL-JUNO.jar",
                "https://web.informatik.uni-mannheim.de/AnyBURL/AnyBURL-JUNO.jar",
            ),
        ),
    ),
    "anyburl-juno-2021": Registered(
        "anyburl",
        LEARN_REINFORCED,
        Artifact(
            "AnyBURL-JUNO.jar",
            "sha256:02fc7bb7a4641fac7c08f4852ae1b16132edeef608cc9a36f36f25bc3b25d8a0",
            (
                "https://github.com/bys0318/SQUIRE/raw/"
                "b39f1e57f9c75a9f00ec2fd53461912ec123f791/AnyBURL/AnyBURL-JUNO.jar",
            ),
        ),
    ),
    "amie-3.0": Registered(
        "amie",
        AMIE,
        Artifact(
            "amie-milestone-intKB.jar",
            "git-blob:1c13648df358fd09c58565867f1230572a784b1a",
            (
                "https://github.com/lajus/amie/releases/download/3.0/amie-milestone-intKB.jar",
                "https://github.com/dig-team/amie/raw/v3.5.1/milestone/amie-milestone-intKB.jar",
            ),
        ),
    ),
    "amie-3.5.1": Registered(
        "amie",
        AMIE,
        Artifact(
            "amie3.5.1.jar",
            "",
            ("https://github.com/dig-team/AMIE/releases/download/v3.5.1/amie3.5.1.jar",),
        ),
    ),
}
DEFAULT = {"anyburl": "anyburl-23-1", "amie": "amie-3.0"}


@dataclass(frozen=True)
class Jar:
    """A jar at hand.

    Attributes
    ----------
    name : str or None
        Its registered name; None for a jar that we do not know.
    path : Path
        The file.
    digest : str
        ``"sha256:hex"``.
    main_class : str
        The class that mines.
    java : int
        The oldest Java that runs this class.
    """

    name: str | None
    path: Path
    digest: str
    main_class: str
    java: int


def locate(jar: str, dialect: str, *, unverified: bool = False, quiet: bool = False) -> Jar:
    """Find a jar by its registered name, fetching it when it is not in the cache, or by its path.

    Parameters
    ----------
    jar : str
        A registered name, or the path of a file.
    dialect : str
        ``"anyburl"`` or ``"amie"``.
    unverified : bool
        Accept a jar whose digest is not known.
    quiet : bool
        Show no progress of the download.

    Raises
    ------
    InputError
        If there is no such jar, it is not of this miner, or its digest is not known.
    """
    names = [name for name, known in JARS.items() if known.dialect == dialect]
    if jar in names:
        path = _obtain(JARS[jar].artifact, unverified=unverified, quiet=quiet)
        return _open(jar, path, [JARS[jar].main_class])
    path = Path(jar)
    if not path.is_file():
        raise InputError(
            f"{jar}: neither a file nor a known jar ({', '.join(names)}){nearest(jar, names)}"
        )
    for name in names:
        algorithm, _, digest = JARS[name].artifact.digest.partition(":")
        if digest and digest_of(path, algorithm) == digest:
            return _open(name, path, [JARS[name].main_class])
    if not unverified:
        raise InputError(
            f"{jar}: not a known jar: {_sha256(path)}; add --unverified-jar to run it anyway"
        )
    return _open(None, path, list(dict.fromkeys(JARS[name].main_class for name in names)))


def _obtain(artifact: Artifact, *, unverified: bool, quiet: bool) -> Path:
    """Fetch a registered jar; one without a known digest is kept by the digest that it has."""
    if artifact.digest:
        return obtain(artifact, quiet=quiet)
    source = artifact.sources[0]
    if not unverified:
        raise InputError(
            f"{artifact.name}: no digest is known to verify it; "
            f"add --unverified-jar to take what {source} gives"
        )
    if path := in_cache(artifact):
        return path
    with fetched(source, quiet=quiet) as file:
        known = Artifact(artifact.name, _sha256(file), (file.as_uri(),))
        return obtain(known, quiet=True)


def in_cache(artifact: Artifact) -> Path | None:
    """Return the file of an artifact in the cache, if it is there."""
    if artifact.digest:
        path = cache_path(artifact)
        return path if path.exists() else None
    return next((cache_folder() / "files").glob(f"sha256-*/{artifact.name}"), None)


def _open(name: str | None, path: Path, main_classes: list[str]) -> Jar:
    """Look into the jar for the first main class that it has."""
    try:
        with zipfile.ZipFile(path) as archive:
            content = set(archive.namelist())
            for main_class in main_classes:
                if (entry := f"{main_class.replace('.', '/')}.class") in content:
                    # bytes 6 and 7 of a class file are its version: 52 is Java 8, 55 is Java 11
                    (version,) = struct.unpack_from(">H", archive.read(entry), 6)
                    path = path.resolve()
                    return Jar(name, path, _sha256(path), main_class, version - 44)
    except zipfile.BadZipFile:
        raise InputError(f"{path}: not a jar, or damaged") from None
    raise InputError(f"{path}: has no class {' or '.join(main_classes)}")


def _sha256(path: Path) -> str:
    return f"sha256:{digest_of(path, 'sha256')}"
