"""Where the time goes, with that of compiling kernels apart."""

from __future__ import annotations

import contextlib
import functools
import resource
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from numba.core import event

_Item = TypeVar("_Item")


@functools.cache
def _compiling() -> event.TimingListener:
    """Listen to numba from now on; what has no stages does not even import it."""
    from numba.core import event

    # what is compiled for the sake of another kernel is counted once
    listener = event.TimingListener()
    event.register("numba:compile", listener)
    return listener


def _compiled() -> float:
    """Return the seconds that numba has spent compiling."""
    listener = _compiling()
    return float(listener.duration) if listener.done else 0.0


class Stopwatch:
    """Seconds by stage; compiling counts as the stage ``compile``, wherever it happens.

    Attributes
    ----------
    seconds : dict of str to float
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._start = time.perf_counter()

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time that the block takes to a stage."""
        start, compiled = time.perf_counter(), _compiled()
        try:
            yield
        finally:
            compiled = _compiled() - compiled
            self._add(name, time.perf_counter() - start - compiled)
            self._add("compile", compiled)

    def each(self, name: str, items: Iterable[_Item]) -> Iterator[_Item]:
        """Yield `items`; the time it takes to get them is added to a stage."""
        iterator = iter(items)
        while True:
            with self.stage(name):
                try:
                    item = next(iterator)
                except StopIteration:
                    return
            yield item

    def total(self) -> float:
        """Return the seconds since the start."""
        return time.perf_counter() - self._start

    def _add(self, name: str, seconds: float) -> None:
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds


def peak_memory() -> float:
    """Return the most memory that this process has had, in MB."""
    return resident_bytes(resource.getrusage(resource.RUSAGE_SELF)) / 2**20


def resident_bytes(usage: resource.struct_rusage) -> int:
    """Return the largest resident size of a process, which macOS gives in bytes, Linux in KB."""
    return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
