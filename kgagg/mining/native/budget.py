"""Work in parts on several threads, in an order that no timing changes, until the time is over."""

from __future__ import annotations

import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

import numpy as np

from kgagg.util.progress import StatusLine, span

Task = TypeVar("Task")
Result = TypeVar("Result")
_POLL = 0.1


class Budget:
    """How long work may go on.

    Parameters
    ----------
    seconds : float or None
        The time there is; None for as long as it takes.
    threads : int
        How many threads work.
    received : sequence of signal
        The signals received so far; any of them ends the work.
    quiet : bool
        Show no progress.

    Attributes
    ----------
    cancelled : uint8[1]
        Not zero when what is under way will not be used: a long kernel may end.
    stopped : str or None
        Why work ended early.
    state : str
        What is being done, for the progress line.
    """

    def __init__(
        self,
        seconds: float | None,
        threads: int,
        received: Sequence[signal.Signals] = (),
        *,
        quiet: bool = True,
    ) -> None:
        self.seconds, self.threads = seconds, threads
        self.cancelled = np.zeros(1, np.uint8)
        self.stopped: str | None = None
        self.state = ""
        self._received = received
        self._start = time.monotonic()
        self._line = StatusLine(quiet=quiet)

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start

    def in_order(self, work: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """Yield the results of `tasks` in their order, as many as there is time for."""
        waiting: deque[Future[Result]] = deque()
        rest = iter(tasks)
        executor = ThreadPoolExecutor(self.threads)
        try:
            while not self._over():
                while len(waiting) < 2 * self.threads and (task := next(rest, None)) is not None:
                    waiting.append(executor.submit(work, task))
                if not waiting:
                    return
                if not wait([waiting[0]], timeout=_POLL).not_done:
                    yield waiting.popleft().result()
        finally:
            self.cancelled[0] = 1
            executor.shutdown(wait=True, cancel_futures=True)
            self.cancelled[0] = 0

    def end(self, text: str) -> float:
        """Show for good what came out; return the seconds that it took."""
        self._line.end(f"native: {text}, {span(self.elapsed)}")
        return round(self.elapsed, 2)

    def _over(self) -> bool:
        if self._received:
            self.stopped = f"interrupted by {self._received[0].name}"
        elif self.seconds is not None and self.elapsed > self.seconds:
            self.stopped = f"the {span(self.seconds)} were over"
        if self._line.due():
            of = "" if self.seconds is None else f" of {span(self.seconds)}"
            self._line.show(f"native: {span(self.elapsed)}{of}, {self.state}")
        return self.stopped is not None
