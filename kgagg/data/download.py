"""Files from elsewhere, known by their content: cache, mirror, download."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import http.client
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from kgagg import __version__
from kgagg.data.archives import SIZE_LIMIT
from kgagg.errors import InputError, Unavailable
from kgagg.util.files import cache_folder, replacing
from kgagg.util.progress import Progress

BLOCK = 1 << 18
TIMEOUT = 30.0
_LEAST = 1 << 20  # bytes that a download may always have
PAUSES = (0.0, 1.0, 4.0)  # seconds before each round over the sources

Result = TypeVar("Result")


@dataclass(frozen=True)
class Artifact:
    """One file, known by its content.

    Attributes
    ----------
    name : str
        Its file name, in the cache and in a mirror.
    digest : str
        ``"algorithm:hex"``; the algorithm is one of `hashlib`'s, or ``git-blob``.
    sources : tuple of str
        Where to get it, in this order: URLs, or ``pip:`` and arguments of `pip download`.
    """

    name: str
    digest: str
    sources: tuple[str, ...]


class Mismatch(InputError):
    """The content is not the expected one."""


class _Interrupted(Unavailable):
    """A failure that may pass: worth another try."""


def obtain(
    artifact: Artifact, *, mirror: Path | None = None, offline: bool = False, quiet: bool = False
) -> Path:
    """Return the path of an artifact with the right content, fetching it if need be.

    Parameters
    ----------
    artifact : Artifact
        What to get.
    mirror : Path, optional
        A folder to try before the sources; ``KGAGG_MIRROR`` by default.
    offline : bool
        Use no network; also when ``KGAGG_OFFLINE`` is set.
    quiet : bool
        Print nothing.

    Raises
    ------
    InputError
        If the file in the mirror has the wrong content.
    Unavailable
        If no source gave the right content; nothing is left behind.
    """
    path = cache_path(artifact)

    def keep(file: Path, source: str) -> Path:
        check(file, artifact.digest, source)
        with replacing(path) as temporary:
            shutil.copyfile(file, temporary)
        return path

    def fetch(source: str) -> Path:
        # what is no wheel is a source distribution
        digest = "" if artifact.name.endswith(".whl") else artifact.digest
        with fetched(source, digest=digest, offline=offline, quiet=quiet) as file:
            return keep(file, source)

    with alone(path.parent):
        if path.exists():
            with contextlib.suppress(Mismatch):
                check(path, artifact.digest, str(path))
                return path
        folder = mirror_folder(mirror)
        if folder and (folder / artifact.name).is_file():
            return keep(folder / artifact.name, str(folder / artifact.name))
        attempts = {source: partial(fetch, source) for source in artifact.sources}
        return first_of(artifact.name, attempts, quiet=quiet)


def cache_path(artifact: Artifact) -> Path:
    """Return where the cache keeps an artifact, whether it is there or not."""
    return cache_folder() / "files" / artifact.digest.replace(":", "-") / artifact.name


def mirror_folder(mirror: Path | None = None) -> Path | None:
    """Return the folder to try before any source: `mirror`, or ``KGAGG_MIRROR``."""
    if mirror is None and (name := os.environ.get("KGAGG_MIRROR")):
        mirror = Path(name)
    if mirror is not None and not mirror.is_dir():
        raise InputError(f"{mirror}: no such folder, expected the mirror (KGAGG_MIRROR)")
    return mirror


def digest_of(path: Path, algorithm: str) -> str:
    """Compute the digest of a file, as hex; `algorithm` is one of `hashlib`'s, or ``git-blob``."""
    try:
        digest = hashlib.new("sha1" if algorithm == "git-blob" else algorithm)
    except ValueError:
        raise InputError(f"{algorithm}: no such digest, expected sha256, md5 or git-blob") from None
    if algorithm == "git-blob":
        digest.update(f"blob {path.stat().st_size}\0".encode())
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def check(path: Path, digest: str, source: str) -> None:
    """Raise `Mismatch`, naming `source` and both digests, unless the file has this digest."""
    algorithm, _, expected = digest.partition(":")
    found = digest_of(path, algorithm)
    if found != expected:
        raise Mismatch(f"{source}: wrong content: expected {digest}, found {algorithm}:{found}")


def first_of(
    what: str, attempts: Mapping[str, Callable[[], Result]], *, quiet: bool = False
) -> Result:
    """Return what the first attempt that succeeds returns, and report what failed before it.

    A failure that may pass is tried again, but only after every other source: each round goes
    over the sources that are left, with a longer pause before it.

    Parameters
    ----------
    what : str
        The name of what is wanted.
    attempts : mapping from the name of a source to a function
        In the order to try.
    quiet : bool
        Print nothing.

    Raises
    ------
    Unavailable
        If all fail, naming each source and its failure.
    """
    failures: dict[str, str] = {}
    left = dict(attempts)
    for pause in PAUSES:
        if not left:
            break
        time.sleep(pause)
        for source, attempt in list(left.items()):
            try:
                result = attempt()
            except (InputError, Unavailable) as error:
                failures[source] = str(error)
                if not isinstance(error, _Interrupted):
                    del left[source]
                continue
            if not quiet:
                for failure in failures.values():
                    print(f"{what}: passed over {failure}", file=sys.stderr)
            return result
    raise Unavailable(f"{what}: no source has it: {'; '.join(failures.values())}")


@contextlib.contextmanager
def fetched(
    source: str,
    *,
    digest: str = "",
    size: int | None = None,
    offline: bool = False,
    quiet: bool = False,
) -> Iterator[Path]:
    """Fetch a source (see `Artifact`) into a temporary file, which goes when the block ends.

    A download that breaks off leaves its part in the cache, and the next try resumes it. One that
    does not end is broken off: after ten times `size`, the bytes that it should have, or after
    `SIZE_LIMIT` bytes if that is not known. With a `digest`, pip takes a source distribution: it
    checks the digest before it runs the set-up of the package, which it does to learn its name.
    """
    if offline or os.environ.get("KGAGG_OFFLINE", "0") not in ("", "0"):
        raise Unavailable(f"{source}: not tried, offline")
    kind, _, arguments = source.partition(":")
    if kind == "pip":
        with tempfile.TemporaryDirectory(prefix="kgagg-") as folder:
            yield _pip_download(arguments, digest, Path(folder), quiet=quiet)
        return
    part = cache_folder() / "partial" / hashlib.sha256(source.encode()).hexdigest()[:32]
    limit = SIZE_LIMIT if size is None else max(10 * size, _LEAST)
    _download(source, part, limit, quiet=quiet)
    try:
        yield part
    finally:
        part.unlink()


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keep other processes that want to fill `folder` waiting; remove it if it stays empty."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        # some network file systems have no locks; then the worst is a download done twice
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
        with contextlib.suppress(OSError):
            folder.rmdir()


def _download(url: str, part: Path, limit: int, *, quiet: bool) -> None:
    """Download `url` into `part`, going on from what is already there."""
    part.parent.mkdir(parents=True, exist_ok=True)
    there = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"User-Agent": f"kgagg/{__version__}"})
    if there:
        request.add_header("Range", f"bytes={there}-")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
            if response.headers.get("Content-Range", "").startswith(f"bytes {there}-"):
                mode = "ab"
            else:
                mode, there = "wb", 0
            length = response.headers.get("Content-Length")
            total = there + int(length) if length else None
            with part.open(mode) as file, Progress(url, total, "bytes", quiet=quiet) as progress:
                progress.add(there)
                while block := response.read(BLOCK):
                    file.write(block)
                    progress.add(len(block))
                    if progress.done > limit:
                        part.unlink()
                        raise Unavailable(f"{url}: broken off after {limit:,} bytes: far too many")
            if total is not None and progress.done < total:
                raise _Interrupted(f"{url}: broke off after {progress.done} of {total} bytes")
    except urllib.error.HTTPError as error:
        if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            part.unlink()
        passing = error.code in (408, 416, 425, 429) or error.code >= 500
        kind = _Interrupted if passing else Unavailable
        raise kind(f"{url}: HTTP {error.code} {error.reason}") from None
    except (http.client.HTTPException, OSError) as error:
        raise _Interrupted(f"{url}: {getattr(error, 'reason', error)}") from None
    except ValueError:
        raise InputError(f"{url}: not a URL") from None


def _pip_download(arguments: str, digest: str, folder: Path, *, quiet: bool) -> Path:
    """Let pip download one package into `folder`: it knows which index the user has.

    It is a wheel; or, with a digest, a source distribution (see `fetched`).
    """
    if not quiet:
        print(f"pip download {arguments}", file=sys.stderr)
    pip = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--quiet"]
    options = ["--no-deps", "--retries=2", f"--dest={folder / 'files'}"]
    wanted = ["--only-binary=:all:", *shlex.split(arguments)]
    if digest:
        listed = folder / "requirements.txt"
        listed.write_text(f"{arguments} --hash={digest}\n")
        wanted = ["--no-binary=:all:", "--require-hashes", f"--requirement={listed}"]
    done = subprocess.run([*pip, *options, *wanted], capture_output=True, text=True, check=False)
    files = list((folder / "files").iterdir()) if (folder / "files").is_dir() else []
    if done.returncode or len(files) != 1:
        why = (done.stderr.strip() or "no file came").splitlines()[-1]
        raise Unavailable(f"pip:{arguments}: {why}")
    return files[0]
