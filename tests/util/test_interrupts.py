"""Signals that tell a process to end: answered at once, with nothing left behind."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import PATIENCE

# the main thread does not hear signals while it hashes, which takes minutes; it may before that
BUSY = """
import hashlib, os, signal, sys
from kgagg.util.files import replacing
from kgagg.util.interrupts import answering, lasting

def work():
    print("ready", flush=True)
    hashlib.pbkdf2_hmac("sha256", b"", b"", 10**9)

def say(kind, error, trace):
    print(f"kgagg: {error}", file=sys.stderr, flush=True)
    os._exit(error.code)

sys.excepthook = say
"""


def ended(script: str, *numbers: signal.Signals, folder: Path) -> tuple[int, str]:
    """Run a script, send it signals once it is ready; return its exit code and what it said."""
    child = subprocess.Popen(
        [sys.executable, "-c", BUSY + script, str(folder / "out.txt")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        child.send_signal(numbers[0])
        for number in numbers[1:]:
            assert child.stderr is not None
            assert child.stderr.readline() == "kgagg: ending; again to stop at once\n"
            child.send_signal(number)
        _, errors = child.communicate(timeout=PATIENCE / 10)
    finally:
        child.kill()
    return child.returncode, errors


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [
        (signal.SIGINT, 130, "kgagg: interrupted\n"),
        (signal.SIGTERM, 143, "kgagg: interrupted by SIGTERM\n"),
        (signal.SIGHUP, 129, "kgagg: interrupted by SIGHUP\n"),
    ],
)
def test_a_busy_process_ends_and_leaves_nothing(
    tmp_path: Path, number: signal.Signals, code: int, said: str
) -> None:
    (tmp_path / "out.txt").write_text("old")
    script = """
with answering(), replacing(sys.argv[1]) as path:
    path.write_text("half")
    work()
"""
    assert ended(script, number, folder=tmp_path) == (code, said)
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]
    assert (tmp_path / "out.txt").read_text() == "old"


def test_what_ends_by_itself_is_ended_by_a_second_signal(tmp_path: Path) -> None:
    script = """
with answering(), lasting():
    signal.signal(signal.SIGINT, lambda *_: None)
    work()
"""
    found = ended(script, signal.SIGINT, signal.SIGINT, folder=tmp_path)
    assert found == (130, "kgagg: interrupted\n")


def test_handlers_are_as_before_afterwards(tmp_path: Path) -> None:
    script = """
signal.signal(signal.SIGHUP, signal.SIG_IGN)
before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
with answering():
    os.kill(os.getpid(), signal.SIGHUP)
assert before == [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
assert signal.set_wakeup_fd(-1) == -1
print("ready", flush=True)
signal.pause()
"""
    assert ended(script, signal.SIGTERM, folder=tmp_path) == (-signal.SIGTERM, "")
