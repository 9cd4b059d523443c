"""What a result was made with."""

from __future__ import annotations

import contextlib
import platform
import re
import subprocess
from typing import Any

from kgagg.util.machine import cpu_model, processors
from kgagg.util.source import ROOT


def environment() -> dict[str, Any]:
    """Return what this machine and this installation are, as far as results may depend on it."""
    from importlib import metadata

    names = [re.split(r"[^\w.-]", text, maxsplit=1)[0] for text in metadata.requires("kgagg") or ()]
    packages = {}
    for name in sorted({"kgagg", *names}):
        with contextlib.suppress(metadata.PackageNotFoundError):
            packages[name] = metadata.version(name)
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpu": cpu_model(),
        "cores": processors(),
        "commit": _commit(),
        "packages": packages,
    }


def _commit() -> str | None:
    """Return the commit of the source, marked if files differ from it; None outside of git."""
    command = [
        "git",
        "-C",
        str(ROOT),
        "describe",
        "--always",
        "--dirty",
        "--abbrev=40",
        "--exclude=*",
    ]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return found.stdout.strip()
