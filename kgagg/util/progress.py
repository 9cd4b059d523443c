"""Progress that a person can read: a live line on a terminal, plain lines in a log."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TextIO

from kgagg.util.terminal import Terminal


def span(seconds: float) -> str:
    """Write a duration for people: ``4.2 s``, ``3:07``, ``1:02:33``."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class StatusLine:
    """One line that shows the progress: rewritten on a terminal, repeated seldom in a log.

    Parameters
    ----------
    quiet : bool
        Print nothing.
    stream : text file, optional
        Where to print; standard error by default.
    """

    def __init__(self, *, quiet: bool = False, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._live = self._stream.isatty()
        self._every = 0.1 if self._live else 10.0
        self._quiet = quiet
        self._start = self._last = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start

    def due(self) -> bool:
        """Return whether it is time to show the line again."""
        now = time.monotonic()
        if now - self._last < self._every:
            return False
        self._last = now
        return True

    def show(self, text: str) -> None:
        """Show `text` instead of the previous text."""
        self._write(f"\r\x1b[K{text}" if self._live else f"{text}\n")

    def end(self, text: str) -> None:
        """Show `text` for good; a log keeps it only if the work was not over in a moment."""
        if self._live:
            self._write(f"\r\x1b[K{text}\n")
        elif self.elapsed >= self._every:
            self._write(f"{text}\n")

    def _write(self, text: str) -> None:
        if not self._quiet:
            # a terminal is told to begin the line anew; labels are never names of the data
            write = self._stream.obey if isinstance(self._stream, Terminal) else self._stream.write
            write(text)
            self._stream.flush()


class Progress:
    """Count work as it is done, with the rate and the time left.

    Parameters
    ----------
    label : str
        What is being done.
    total : int or None
        How much there is to do; None when it is not known.
    unit : str
        What is counted.
    quiet : bool
        Print nothing.
    stream : text file, optional
        Where to print; standard error by default.
    """

    def __init__(
        self,
        label: str,
        total: int | None,
        unit: str,
        *,
        quiet: bool = False,
        stream: TextIO | None = None,
    ) -> None:
        self.label, self.total, self.unit, self.done = label, total, unit, 0
        self._line = StatusLine(quiet=quiet, stream=stream)

    def add(self, count: int = 1) -> None:
        """Count `count` more units as done."""
        self.done += count
        if self._line.due():
            text, rate = self._state()
            if self.total is not None and rate:
                text += f", {span((self.total - self.done) / rate)} left"
            self._line.show(text)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._line.end(f"{self._state()[0]}, {span(self._line.elapsed)}")

    def _state(self) -> tuple[str, float]:
        elapsed = self._line.elapsed
        rate = self.done / elapsed if elapsed else 0.0
        total = "" if self.total is None else f" of {self.total:,}"
        return f"{self.label}: {self.done:,}{total} {self.unit}, {rate:,.0f} {self.unit}/s", rate
