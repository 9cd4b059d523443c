"""What the benchmarks share: where inputs come from, and runs in processes of their own."""

from __future__ import annotations

import json
import lzma
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

# every program ends with `report(name=value, ...)`; times are of the program's own clock
PRELUDE = """
import json, resource, sys, time
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() / 1e6
def report(**values):
    values["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    print(json.dumps(values))
"""


def pyclause() -> str | None:
    """Return the Python that can import PyClause, if KGAGG_PYCLAUSE_PYTHON names one."""
    python = os.environ.get("KGAGG_PYCLAUSE_PYTHON")
    if python is None:
        print("PyClause: KGAGG_PYCLAUSE_PYTHON is not set, so kgagg is measured alone")
    return python


def run(python: str | None, program: str, *arguments: object) -> dict[str, Any]:
    """Run `program` in a process of its own; return what it reports."""
    call = [python or sys.executable, "-c", PRELUDE + program, *map(str, arguments)]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{call[0]} failed:\n{done.stderr}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def inputs(name: str) -> tuple[Path, Path]:
    """Return the folder of a registered dataset, and its AnyBURL rules as plain text.

    The rules are those of the folder KGAGG_TEST_DATA, unpacked into the temporary folder.
    """
    from kgagg.data.datasets import locate

    folder = os.environ.get("KGAGG_TEST_DATA")
    if folder is None:
        raise SystemExit(f"no rules for {name}: give DATA and RULES, or set KGAGG_TEST_DATA")
    plain = Path(tempfile.gettempdir()) / f"{name}.anyburl.rules"
    packed = Path(folder) / "rules" / f"{plain.name}.xz"
    if not plain.exists():
        plain.write_bytes(lzma.decompress(packed.read_bytes()))
    return locate(name), plain
