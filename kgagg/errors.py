"""The exceptions that the command line reports in one line."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class InputError(Exception):
    """Wrong input, reported in one line: where, what was expected, the nearest valid name.

    The command line prints the message alone and exits with code 2.
    """


class Failed(Exception):
    """A correct call failed; reported in one line.

    The command line prints the message alone and exits with code 1.
    """


class Unavailable(Failed):
    """An external resource is unavailable: a file that no source has, a missing program."""


class NotFittedError(InputError):
    """A strategy was used before it was fitted."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is not fitted: fit it on a graph and rules first")


def at_least(name: str, value: float | None, minimum: float) -> None:
    """Refuse a number that is too small; None stands for a default.

    Raises
    ------
    InputError
        If it is less than `minimum`.
    """
    if value is not None and not value >= minimum:
        raise InputError(f"{name}={value}: expected at least {minimum}")


def nearest(name: str, known: Iterable[str], count: int = 3) -> str:
    """Suggest the known names nearest to `name`, as a clause to append to a message.

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
        ``"; did you mean a, b?"``, or an empty string if none is near.
    """
    close = difflib.get_close_matches(name, known, n=count)
    return f"; did you mean {', '.join(close)}?" if close else ""
