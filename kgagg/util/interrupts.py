"""Ending when told to, by Ctrl-C or a scheduler: within a second, and with nothing left behind."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# seconds that the main thread has to end by itself
PATIENCE = 0.7

_undo: dict[object, Callable[[], None]] = {}
_lasting: list[object] = []


class Interrupted(KeyboardInterrupt):
    """A signal told this process to end.

    Attributes
    ----------
    code : int
        The exit code that shells expect: 130 for Ctrl-C, 143 for SIGTERM.
    """

    def __init__(self, number: int) -> None:
        by = "" if number == signal.SIGINT else f" by {signal.Signals(number).name}"
        super().__init__(f"interrupted{by}")
        self.code = 128 + number


@contextlib.contextmanager
def undone(undo: Callable[[], None]) -> Iterator[None]:
    """Call `undo` when the block ends, also if the process is ended meanwhile by `answering`."""
    key = object()
    _undo[key] = undo
    try:
        yield
    finally:
        undo()
        del _undo[key]


@contextlib.contextmanager
def lasting() -> Iterator[None]:
    """Let the block end by itself after a first signal, for example to write what was found."""
    key = object()
    _lasting.append(key)
    try:
        yield
    finally:
        _lasting.remove(key)


@contextlib.contextmanager
def answering() -> Iterator[None]:
    """Answer signals that tell this process to end, whatever it is doing in the block.

    They raise `Interrupted` in the main thread. Python does so between two of its own steps only,
    not while the main thread compiles, sorts or runs a kernel. Then, or if it takes longer to end,
    another thread ends the process.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    # what was ignored from the start (nohup) stays so
    usual = (signal.SIG_DFL, signal.default_int_handler)
    before = {number: signal.getsignal(number) for number in SIGNALS}
    before = {number: handler for number, handler in before.items() if handler in usual}
    for number in before:
        signal.signal(number, _interrupt)
    wakeup = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    watcher = threading.Thread(target=_watch, args=(reading, set(before)), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(wakeup)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(writing)
        watcher.join()
        os.close(reading)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise Interrupted(number)


def _watch(reading: int, numbers: set[signal.Signals]) -> None:
    """Read the numbers of signals as they come; end the process if it does not do so itself."""
    told = False
    while received := os.read(reading, 1):
        if received[0] not in numbers:
            continue
        if _lasting and not told:
            told = True
            _say("ending; again to stop at once")
            continue
        end = time.monotonic() + PATIENCE
        while (left := end - time.monotonic()) > 0:
            if select.select([reading], [], [], left)[0] and not os.read(reading, 1):
                return
        for undo in list(_undo.values()):
            with contextlib.suppress(OSError):
                undo()
        _say(str(Interrupted(received[0])))
        os._exit(128 + received[0])


def _say(text: str) -> None:
    with contextlib.suppress(OSError):
        print(f"kgagg: {text}", file=sys.stderr, flush=True)
