"""Run a miner as a child process: watch its log, keep its time, leave nothing behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import BinaryIO

from kgagg.errors import Failed
from kgagg.util.interrupts import SIGNALS, lasting
from kgagg.util.progress import StatusLine, span
from kgagg.util.timing import resident_bytes

POLL = 0.1
PATIENCE = 3.0


class Log:
    """What the log of a run has shown so far; `read` of each miner interprets its lines.

    Attributes
    ----------
    rules : int
        How many rules there are so far.
    problems : list of str
        Lines that report an uncaught exception.
    memory : bool
        Whether Java ran out of memory.
    last : str
        The last line that is not empty.
    """

    def __init__(self) -> None:
        self.rules = 0
        self.problems: list[str] = []
        self.memory = False
        self.last = ""

    def read(self, line: str) -> str | None:
        """Take in one line; return why the run is to be stopped, if it is."""
        self.last = line.strip() or self.last
        self.memory |= "java.lang.OutOfMemoryError" in line
        if line.startswith("Exception in thread"):
            self.problems.append(line)
        return None


@dataclass(frozen=True)
class Run:
    """What became of a child process.

    Attributes
    ----------
    seconds : float
        Wall time.
    peak_memory : int
        The largest resident size in bytes.
    status : int
        The exit code; negative when a signal killed it.
    cause : str or None
        Why it failed, as far as the process shows; the exit code of a miner means nothing.
    interrupted : bool
        Whether the user, or the system, interrupted us.
    """

    seconds: float
    peak_memory: int
    status: int
    cause: str | None
    interrupted: bool


def run(
    command: Sequence[str],
    log_file: Path,
    log: Log,
    *,
    folder: Path,
    label: str,
    budget: float | None = None,
    timeout: float | None = None,
    quiet: bool = False,
) -> Run:
    """Run `command` in `folder` until it ends, is stopped by its log, or its time is over.

    The child writes into `log_file` itself, and we read along: the log is whole whatever
    happens to us. When this function returns, the child and its children are gone.

    Parameters
    ----------
    command : sequence of str
        Program and arguments.
    log_file : Path
        Both output streams are appended to it.
    log : Log
        Is given every line.
    folder : Path
        The working folder of the child.
    label : str
        Stands before the progress.
    budget : float, optional
        The seconds that the run should take, for the progress line.
    timeout : float, optional
        The seconds after which it is stopped.
    quiet : bool
        Show no progress.
    """
    line, of = StatusLine(quiet=quiet), f" of {span(budget)}" if budget else ""
    cause = ended = None
    with signals() as received, log_file.open("ab") as output, log_file.open("rb") as tail:
        tail.seek(0, os.SEEK_END)
        lines = _Lines(tail)
        child = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            while ended is None and cause is None:
                time.sleep(POLL)
                ended = _reap(child)
                cause = _read(log, lines)
                if received:
                    cause = f"interrupted by {received[0].name}"
                elif timeout is not None and line.elapsed > timeout:
                    cause = cause or f"stopped: still running after {span(timeout)}"
                if line.due():
                    line.show(f"{label}: {span(line.elapsed)}{of}, {log.rules:,} rules so far")
        finally:
            ended = _end(child, ended)
        _read(log, lines)
    line.end(f"{label}: {span(line.elapsed)}, {log.rules:,} rules")
    status, peak = ended
    interrupted = bool(received)
    if cause is None and status < 0:
        cause = f"killed by {signal.Signals(-status).name}"
        if status == -signal.SIGKILL:
            cause += " (the system does so when it is out of memory: give less with --memory)"
    if log.memory and not interrupted:
        cause = "out of memory (java.lang.OutOfMemoryError): give more with --memory"
    return Run(line.elapsed, peak, status, cause, interrupted)


def failure(
    miner: str, cause: str, run: Run, log_file: Path, kept: Sequence[Path]
) -> Failed | KeyboardInterrupt:
    """Return the exception for a run that failed: the cause, what was kept, where the log is."""
    names = ", ".join(path.name for path in kept) or "nothing"
    message = f"{miner}: {cause}; kept {names}; the log is {log_file}"
    return KeyboardInterrupt(message) if run.interrupted else Failed(message)


class _Lines:
    """The lines of a growing file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._rest = file, b""

    def new(self) -> list[str]:
        """Return the lines that have been completed since the last call."""
        *lines, self._rest = (self._rest + self._file.read()).split(b"\n")
        return [line.decode("utf-8", "replace").rstrip("\r") for line in lines]


def _read(log: Log, lines: _Lines) -> str | None:
    """Give `log` the new lines; return its first reason to stop."""
    causes = [log.read(line) for line in lines.new()]
    return next(filter(None, causes), None)


def _reap(child: subprocess.Popen[bytes]) -> tuple[int, int] | None:
    """Return exit code and peak memory of the child once it has ended."""
    pid, status, usage = os.wait4(child.pid, os.WNOHANG)
    if pid == 0:
        return None
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, resident_bytes(usage)


def _end(child: subprocess.Popen[bytes], ended: tuple[int, int] | None) -> tuple[int, int]:
    """End the child, if it has not ended, and whatever is left of its process group."""
    try:
        deadline = time.monotonic() + PATIENCE
        if ended is None:
            os.killpg(child.pid, signal.SIGTERM)
        while ended is None and time.monotonic() < deadline:
            time.sleep(POLL / 2)
            ended = _reap(child)
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
    while ended is None:
        time.sleep(POLL / 2)
        ended = _reap(child)
    return ended


@contextlib.contextmanager
def signals() -> Iterator[list[signal.Signals]]:
    """Collect what asks us to end: Ctrl-C, and what job schedulers and terminals send.

    An exception out of a handler could strike between the start of the child and its end.
    """
    received: list[signal.Signals] = []

    def note(number: int, frame: FrameType | None) -> None:
        received.append(signal.Signals(number))

    if threading.current_thread() is not threading.main_thread():
        yield received
        return
    before = {number: signal.signal(number, note) for number in SIGNALS}
    try:
        with lasting():
            yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
