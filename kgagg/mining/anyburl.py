"""Mining with AnyBURL."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import zipfile
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kgagg.errors import InputError, nearest
from kgagg.mining.record import Mined, beside, variant, write_record
from kgagg.mining.runner import Log, failure, run
from kgagg.mining.setup import Setup
from kgagg.util.files import blocks, writing

STORING = re.compile(r">>> storing rules in file \S*-(\d+)$")
STORED = re.compile(r">>> stored (\d+) rules")
BACKSLASH = ord("\\")
# settings that an option of ours sets
OURS = {
    "PATH_TRAINING": "DATA",
    "PATH_OUTPUT": "--out",
    "SNAPSHOTS_AT": "--seconds or --snapshots",
    "WORKER_THREADS": "--threads",
    "MAX_LENGTH_CYCLIC": "--max-length-cyclic",
}


class AnyBURLLog(Log):
    """Follow which snapshots AnyBURL has stored, and how many of its threads have died.

    A dead thread is passed over by AnyBURL, which goes on with the others; when the last one
    has died it waits forever.
    """

    def __init__(self, threads: int) -> None:
        super().__init__()
        self.stored: dict[int, int] = {}
        self._threads = threads
        self._snapshot = 0

    def read(self, line: str) -> str | None:
        """Take in one line; return why the run is to be stopped, if it is."""
        super().read(line)
        if storing := STORING.match(line):
            self._snapshot = int(storing[1])
        elif stored := STORED.match(line):
            self.rules = self.stored[self._snapshot] = int(stored[1])
        elif len(self.problems) >= self._threads:
            return f"all mining threads died: {self.problems[0]}"
        return None


def mine(
    setup: Setup,
    out: Path,
    *,
    snapshots: Sequence[int] = (1000,),
    max_length_cyclic: int = 3,
    settings: Mapping[str, str] | None = None,
    timeout: float | None = None,
    quiet: bool = False,
) -> dict[str, Any]:
    """Mine rules with AnyBURL into `out`, and return the record written beside it.

    AnyBURL's exit code is 1 whatever happens: success is that it says it stored more than zero
    rules, and that the file holds as many. Each snapshot before the last goes into a file of
    its own, ``STEM-SECONDS.SUFFIX``, and is kept when the run fails later.

    Parameters
    ----------
    setup : Setup
        Data, jar, runtime.
    out : Path
        The rule file, compressed by its ending; the log is ``OUT.log``, the record ``OUT.json``.
    snapshots : sequence of int
        Seconds after which the rules are stored, ascending; the last ends the run.
    max_length_cyclic : int
        The longest body of cyclic rules.
    settings : mapping, optional
        Further AnyBURL settings.
    timeout : float, optional
        The seconds after which a run that does not end is stopped; without it, half as long
        again as the last snapshot and ten minutes for reading and writing.
    quiet : bool
        Show no progress.

    Raises
    ------
    InputError
        If a setting is not one of AnyBURL's.
    Failed
        If the requested rules were not stored; the message names the cause and what was kept.
    """
    properties = _properties(setup, snapshots, max_length_cyclic, settings or {})
    last = snapshots[-1]
    log, log_file = AnyBURLLog(setup.threads), beside(out, ".log")
    log_file.parent.mkdir(parents=True, exist_ok=True)
    log_file.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as name:
        folder = Path(name)
        setup.write_train(folder)
        lines = (f"{key} = {_escape(value)}\n" for key, value in properties.items())
        (folder / "learn.properties").write_text("".join(lines))
        command = setup.command("learn.properties")
        result = run(
            command,
            log_file,
            log,
            folder=folder,
            label="anyburl",
            budget=last,
            timeout=timeout if timeout is not None else 1.5 * last + 600,
            quiet=quiet,
        )
        causes = {at: _incomplete(folder / f"rules-{at}", at, log) for at in snapshots}
        kept = {
            at: out if at == last else variant(out, str(at))
            for at, cause in causes.items()
            if cause is None
        }
        for at, path in kept.items():
            _keep(folder / f"rules-{at}", path)
    told = {"settings": properties, "warnings": _short_names(setup) + log.problems}
    runs = [Mined(command, result, log)]
    records = [write_record(path, setup, runs, complete=True, **told) for path in kept.values()]
    if (cause := causes[last]) is not None:
        cause = result.cause or cause
        raise failure("anyburl", cause, result, log_file, list(kept.values()))
    return records[-1]


def _keep(rules: Path, path: Path) -> None:
    """Copy a snapshot to where it is to go, compressed by its ending."""
    with rules.open(encoding="utf-8", newline="") as source, writing(path) as file:
        shutil.copyfileobj(source, file)


def _properties(
    setup: Setup, snapshots: Sequence[int], max_length_cyclic: int, settings: Mapping[str, str]
) -> dict[str, str]:
    """Return the content of AnyBURL's properties file."""
    if list(snapshots) != sorted({at for at in snapshots if at > 0}) or not snapshots:
        raise InputError(f"snapshots {snapshots}: expected seconds, ascending")
    with zipfile.ZipFile(setup.jar.path) as archive:
        code = archive.read(f"{setup.jar.main_class.replace('.', '/')}.class")
    # AnyBURL passes over a setting that it does not know; those it reads are in its main class
    known = {name.decode() for name in re.findall(rb"[A-Z][A-Z0-9_]{3,}", code)}
    for key in settings:
        if key in OURS:
            raise InputError(f"-D {key}: is set by {OURS[key]}")
        if key not in known:
            raise InputError(f"-D {key}: not a setting of AnyBURL{nearest(key, known)}")
    # names within the working folder: AnyBURL reads the file as Latin-1
    return {
        "PATH_TRAINING": "train.txt",
        "PATH_OUTPUT": "rules",
        "SNAPSHOTS_AT": ",".join(map(str, snapshots)),
        "WORKER_THREADS": str(setup.threads),
        "MAX_LENGTH_CYCLIC": str(max_length_cyclic),
        **settings,
    }


def _short_names(setup: Setup) -> list[str]:
    """Warn of the names that AnyBURL takes for variables: it leaves out their triples, silently."""
    short = sum(len(name) == 1 for name in setup.graph.entities.names())
    return [f"AnyBURL leaves out the {short} entities with one letter as name"] if short else []


def _escape(value: str) -> str:
    """Write a value as Java reads it from a properties file."""
    units = array("H", value.encode(f"utf-16-{sys.byteorder[0]}e"))
    # a line end would begin another setting
    return "".join(
        chr(unit) if 32 <= unit <= 126 and unit != BACKSLASH else f"\\u{unit:04x}" for unit in units
    )


def _incomplete(path: Path, at: int, log: AnyBURLLog) -> str | None:
    """Return what a snapshot lacks; None when it holds as many rules as AnyBURL says it stored."""
    if at not in log.stored:
        return f"ended before it stored rules: {(log.problems or [log.last])[0]}"
    if not log.stored[at]:
        return "stored 0 rules (mine for longer?)"
    lines = sum(block.count(b"\n") for block in blocks(path)) if path.exists() else 0
    if lines != log.stored[at]:
        return f"said that it stored {log.stored[at]:,} rules, but the file has {lines:,} lines"
    return None
