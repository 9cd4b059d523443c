"""Apply and aggregate rules for knowledge graph completion."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgagg.api import (
        Model,
        apply,
        evaluate,
        explain,
        fetch,
        mine,
        predict,
        rank,
        score_triples,
        split,
    )
    from kgagg.errors import Failed, InputError, NotFittedError, Unavailable
    from kgagg.graph.graph import Graph
    from kgagg.mining.counting import reestimate
    from kgagg.rules.confidence import Confidence
    from kgagg.rules.ruleset import RuleSet

__version__ = "0.1.0"

__all__ = [
    "Confidence",
    "Failed",
    "Graph",
    "InputError",
    "Model",
    "NotFittedError",
    "RuleSet",
    "Unavailable",
    "apply",
    "evaluate",
    "explain",
    "fetch",
    "mine",
    "predict",
    "rank",
    "reestimate",
    "score_triples",
    "split",
]

_HOMES = {
    "Graph": "graph.graph",
    "RuleSet": "rules.ruleset",
    "Confidence": "rules.confidence",
    "reestimate": "mining.counting",
    **dict.fromkeys(("Failed", "InputError", "NotFittedError", "Unavailable"), "errors"),
}


def __getattr__(name: str) -> Any:
    """Import names on first use, so that importing the package costs nothing."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if problem := platform_problem():
        raise ImportError(problem)
    from importlib import import_module

    return getattr(import_module(f"kgagg.{_HOMES.get(name, 'api')}"), name)


def platform_problem() -> str:
    """Return why kgagg cannot run on this platform, in one line; empty where it can."""
    if sys.platform in ("win32", "cygwin", "emscripten", "wasi"):
        return f"kgagg runs on Linux and macOS, not on {sys.platform}; on Windows, use WSL"
    return ""


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
