"""Work in parts on several threads, in an order that no timing changes, as far as it is let."""

from __future__ import annotations

import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

import numpy as np

from kgagg.util.progress import StatusLine, span

Task = TypeVar("Task")
Result = TypeVar("Result")
# the work for one run without a limit in seconds, and how long it takes two processors
WORK, SECONDS = 1 << 34, 120
# until so much of it is done, the time left is guessed from these two
_FIRST = 1 / 16
_POLL = 0.1


class Budget:
    """How much work there may be, and how long it may go on.

    Work is counted, so that the same is done on every machine and with any number of threads; the
    clock is only asked if there is a limit in seconds.

    Parameters
    ----------
    work : int
        How much work there is to do at most, in steps of a kernel.
    seconds : float or None
        The time there is; None for as long as it takes.
    threads : int
        How many threads work.
    received : sequence of signal
        The signals received so far; any of them ends the work.
    start : float, optional
        When the run began, by the monotonic clock; now without it.
    quiet : bool
        Show no progress.

    Attributes
    ----------
    spent : int
        How much of the work is done.
    cancelled : uint8[1]
        Not zero when what is under way will not be used: a long kernel may end.
    stopped : str or None
        Why work ended early.
    state : str
        What is being done, for the progress line.
    rules : int
        How many rules were found since `begin`, for the progress line.
    gain : str
        What the trial has gained, for the progress line.
    """

    def __init__(
        self,
        work: int,
        seconds: float | None,
        threads: int,
        received: Sequence[signal.Signals] = (),
        *,
        start: float | None = None,
        quiet: bool = True,
    ) -> None:
        self.work, self.seconds, self.threads = work, seconds, threads
        self.spent = 0
        self.cancelled = np.zeros(1, np.uint8)
        self.stopped: str | None = None
        self.state = self.gain = ""
        self.rules = 0
        self._received = received
        self._start = time.monotonic() if start is None else start
        self._began = self._start
        # of counted work: begin with what it takes usually, as if a part of it had been done
        self._busy = _FIRST * SECONDS * 2 / threads
        self._done = int(_FIRST * WORK)
        self._line = StatusLine(quiet=quiet)
        self._ended = threading.Event()

    def __enter__(self) -> Budget:
        """Show the progress from now on, whatever is being done."""
        threading.Thread(target=self._show, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()

    def begin(self, state: str) -> None:
        """Begin a stage: rules are counted anew."""
        self.state, self.rules, self._began = state, 0, time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start

    def in_order(
        self,
        work: Callable[[Task], Result],
        tasks: Iterable[Task],
        cost: Callable[[Result], int] | None = None,
        limit: int | None = None,
    ) -> Iterator[Result]:
        """Yield the results of `tasks` in their order, as many as there is time for.

        Parameters
        ----------
        work : callable
            Does a task.
        tasks : iterable
        cost : callable, optional
            Tells from a result how much work it was.
        limit : int, optional
            No result is yielded after those that cost this much together.
        """
        waiting: deque[Future[Result]] = deque()
        rest = iter(tasks)
        used = 0
        clock = time.monotonic()
        executor = ThreadPoolExecutor(self.threads)
        try:
            while not self.over() and (limit is None or used < limit):
                while len(waiting) < 2 * self.threads and (task := next(rest, None)) is not None:
                    waiting.append(executor.submit(work, task))
                if not waiting:
                    return
                if not wait([waiting[0]], timeout=_POLL).not_done:
                    result = waiting.popleft().result()
                    if cost is not None:
                        used += cost(result)
                        self.spent += cost(result)
                        self._done += cost(result)
                        self._busy += time.monotonic() - clock
                        clock = time.monotonic()
                    yield result
        finally:
            self.cancelled[0] = 1
            executor.shutdown(wait=True, cancel_futures=True)
            self.cancelled[0] = 0

    def end(self, text: str) -> float:
        """Show for good what came out; return the seconds since the start, all of them."""
        self._ended.set()
        self._line.end(f"native: {text}, {span(self.elapsed)}")
        return round(self.elapsed, 2)

    def over(self) -> bool:
        """Return whether the work has to end now."""
        if self.stopped is None:
            if self._received:
                self.stopped = f"interrupted by {self._received[0].name}"
            elif self.seconds is not None and self.elapsed > self.seconds:
                self.stopped = f"the {span(self.seconds)} were over"
        return self.stopped is not None

    def _show(self) -> None:
        """Show the progress until the end, also while nobody asks whether it is over."""
        while not self._ended.wait(_POLL):
            if self._line.due():
                self._line.show(f"native: {self.progress()}")

    def progress(self) -> str:
        """Return the progress line: what is done, how fast, what it gained, the time left."""
        parts = [self.state]
        if self.rules:
            rate = self.rules / max(time.monotonic() - self._began, _POLL)
            parts.append(f"{self.rules:,} rules, {rate:,.0f} rules/s")
        if self.gain:
            parts.append(self.gain)
        left = max(self.work - self.spent, 0) * self._busy / self._done
        if self.seconds is not None:
            left = min(left, max(self.seconds - self.elapsed, 0.0))
        return f"{', '.join(parts)}, {span(self.elapsed)}, at most {span(left)} left"
