"""Progress that a person can read: a live line on a terminal, plain lines in a log."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TextIO


def span(seconds: float) -> str:
    """Write a duration for people: ``4.2 s``, ``3:07``, ``1:02:33``."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


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
        self._stream = stream or sys.stderr
        self._live = self._stream.isatty()
        self._every = 0.1 if self._live else 10.0
        self._quiet = quiet
        self._start = self._last = time.monotonic()

    def add(self, count: int = 1) -> None:
        """Count `count` more units as done."""
        self.done += count
        now = time.monotonic()
        if now - self._last >= self._every:
            self._last = now
            self._print(now - self._start)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        elapsed = time.monotonic() - self._start
        if self._live or elapsed >= self._every:
            self._print(elapsed, last=True)

    def _print(self, elapsed: float, *, last: bool = False) -> None:
        if self._quiet:
            return
        rate = self.done / elapsed if elapsed else 0.0
        parts = [f"{self.label}: {self.done:,}"]
        if self.total is not None:
            parts[0] += f" of {self.total:,}"
        parts[0] += f" {self.unit}"
        parts.append(f"{rate:,.0f} {self.unit}/s")
        if last:
            parts.append(span(elapsed))
        elif self.total is not None and rate:
            parts.append(f"{span((self.total - self.done) / rate)} left")
        line = ", ".join(parts)
        if self._live:
            self._stream.write(f"\r\x1b[K{line}" + ("\n" if last else ""))
        else:
            self._stream.write(line + "\n")
        self._stream.flush()
