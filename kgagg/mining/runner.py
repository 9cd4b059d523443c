"""Run a miner as a child process: watch its log, keep its time, leave nothing behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import BinaryIO

from kgagg.errors import Failed
from kgagg.progress import StatusLine, span

POLL = 0.1
PATIENCE = 3.0


class Log:
    """What the log of a run has told so far; a miner says in `read` what its lines mean.

    Attributes
    ----------
    rules : int
        How many rules there are so far.
    problems : list of str
        Lines that tell of an uncaught exception.
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
        Why it went wrong, as far as the process itself tells; a miner's exit code tells nothing.
    interrupted : bool
        Whether the user, or the system, asked us to end.
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
    cause, interrupted = None, False
    with _signals_interrupt(), log_file.open("ab") as output, log_file.open("rb") as tail:
        tail.seek(0, os.SEEK_END)
        child = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        ended, lines = None, _lines(tail)
        try:
            while cause is None:
                ended = _reap(child)
                cause = _read(log, lines)
                if ended is not None:
                    break
                if cause is None and timeout is not None and line.elapsed > timeout:
                    cause = f"stopped: still running after {span(timeout)}"
                if line.due():
                    line.show(f"{label}: {span(line.elapsed)}{of}, {log.rules:,} rules so far")
                time.sleep(POLL)
        except KeyboardInterrupt as interrupt:
            cause, interrupted = str(interrupt) or "interrupted", True
        finally:
            ended = _end(child, ended)
        _read(log, lines)
    line.end(f"{label}: {span(line.elapsed)}, {log.rules:,} rules")
    status, peak = ended
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


def _lines(tail: BinaryIO) -> Iterator[str | None]:
    """Yield the lines of a growing file, and None when there is no further whole line yet."""
    rest = b""
    while True:
        *lines, rest = (rest + tail.read()).split(b"\n")
        for line in lines:
            yield line.decode("utf-8", "replace").rstrip("\r")
        yield None


def _read(log: Log, lines: Iterator[str | None]) -> str | None:
    """Give `log` the new lines; return its first reason to stop."""
    cause = None
    while (text := next(lines)) is not None:
        cause = cause or log.read(text)
    return cause


def _reap(child: subprocess.Popen[bytes]) -> tuple[int, int] | None:
    """Return exit code and peak memory of the child once it has ended."""
    pid, status, usage = os.wait4(child.pid, os.WNOHANG)
    if pid == 0:
        return None
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


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
def _signals_interrupt() -> Iterator[None]:
    """Let SIGTERM and SIGHUP, which job schedulers and terminals send, act like Ctrl-C."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt(f"interrupted by {signal.Signals(number).name}")

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {
        number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
