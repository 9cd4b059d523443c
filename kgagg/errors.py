"""The one exception that means: the call or its input is wrong."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class InputError(Exception):
    """Bad input, told in one line: where it is, what was expected, what comes nearest.

    The command line prints the message alone and exits with code 2.
    """


def nearest(name: str, known: Iterable[str], count: int = 3) -> str:
    """Say which known names come nearest to `name`, as a clause to append to a message.

    Parameters
    ----------
    name : str
        What the user wrote.
    known : iterable of str
        The valid names.
    count : int
        How many names to suggest at most.

    Returns
    -------
    str
        ``"; did you mean a, b?"``, or an empty string when nothing comes near.
    """
    close = difflib.get_close_matches(name, known, n=count)
    return f"; did you mean {', '.join(close)}?" if close else ""
