"""What is printed for people: nothing that a terminal would obey, nothing that it cannot show."""

from __future__ import annotations

import io
import os
import sys

# all control characters but the line end and the tab
_CONTROLS = {i: f"\\x{i:02x}" for i in (*range(32), *range(127, 160)) if chr(i) not in "\n\t"}
_LONGEST = 2000


class Terminal(io.TextIOWrapper):
    """A text stream to a terminal, which shows control characters in names, and does not obey."""

    def write(self, text: str) -> int:
        """Write text, with control characters escaped."""
        return super().write(text.translate(_CONTROLS))

    def obey(self, text: str) -> int:
        """Write text as it is, so that the terminal obeys it."""
        return super().write(text)


def prepare_streams() -> None:
    """Make standard output and error take every text; call it first.

    What an encoding lacks is escaped. A closed output takes nothing: writing to it is an error.
    """
    # a file that is opened gets the first free number, and no other file must get these
    while (number := os.open(os.devnull, os.O_RDONLY)) < 1:
        pass
    os.close(number)
    if sys.stdout is None:
        # open for reading, so that what is written fails
        os.open(os.devnull, os.O_RDONLY)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        os.open(os.devnull, os.O_WRONLY)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if not isinstance(stream, io.TextIOWrapper) or isinstance(stream, Terminal):
            continue
        stream.reconfigure(errors="backslashreplace")
        if stream.isatty():
            new = Terminal(stream.buffer, stream.encoding, stream.errors, line_buffering=True)
            setattr(sys, name, new)


def one_line(text: str) -> str:
    """Return a message as one line of bounded length, with control characters escaped."""
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]} [...] {text[-_LONGEST // 2 :]}"
    return text.translate(_CONTROLS).replace("\n", "\\n")
