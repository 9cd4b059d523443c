"""The record beside each mined file: what was run, on what, and what came out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kgagg import __version__
from kgagg.graph.graph import Graph
from kgagg.mining.runner import Log, Run
from kgagg.mining.setup import Setup
from kgagg.util.files import COMPRESSIONS, blocks, writing


@dataclass(frozen=True)
class Mined:
    """One run of a miner, for the record.

    Attributes
    ----------
    command : sequence of str
        Program and arguments.
    run : Run
        What became of it.
    log : Log
        What was read from its log.
    """

    command: Sequence[str]
    run: Run
    log: Log


def beside(path: Path, ending: str) -> Path:
    """Return the file beside `path` with `ending` appended: its record, its log."""
    return path.with_name(path.name + ending)


def variant(path: Path, mark: str) -> Path:
    """Return `path` with `mark` in its stem: ``wnrr.rules.xz`` gives ``wnrr-100.rules.xz``."""
    packed = path.suffix if path.suffix in COMPRESSIONS else ""
    bare = path.with_name(path.name.removesuffix(packed))
    return bare.with_name(f"{bare.stem}-{mark}{bare.suffix}{packed}")


def write_record(
    path: Path, setup: Setup, runs: Iterable[Mined], *, complete: bool, **more: Any
) -> dict[str, Any]:
    """Write ``PATH.json`` beside the file `path` mined by a Java miner, and return what it says.

    Parameters
    ----------
    path : Path
        The mined file.
    setup : Setup
        What the miner ran with.
    runs : iterable of Mined
        The runs that made the file.
    complete : bool
        Whether the miner finished this file.
    **more
        The miner's own settings.
    """
    from kgagg.rules.ruleset import RuleSet

    return save_record(
        path,
        setup.data,
        setup.graph,
        RuleSet.read(path).counts(),
        canonical_digest(path),
        complete=complete,
        threads=setup.threads,
        jar={"name": setup.jar.name, "digest": setup.jar.digest},
        java=setup.java.version,
        heap_mb=setup.heap,
        **more,
        runs=[
            {
                # from here, so that a record reveals no folders of a machine
                "command": [part.removeprefix(f"{Path.cwd()}/") for part in mined.command],
                "seconds": round(mined.run.seconds, 2),
                "peak_memory_mb": mined.run.peak_memory >> 20,
                "exit_code": mined.run.status,
                "cause": mined.run.cause,
                "rules": mined.log.rules,
            }
            for mined in runs
        ],
    )


def save_record(
    path: Path, data: str, graph: Graph, rules: Mapping[str, int], digest: str, **more: Any
) -> dict[str, Any]:
    """Write ``PATH.json`` beside the mined file `path`, and return what it says.

    Parameters
    ----------
    path : Path
        The mined file.
    data : str
        The data as the user named it.
    graph : Graph
        The data as read.
    rules : mapping from str to int
        Number of rules by type.
    digest : str
        sha256 of the rules, whatever their order in the file.
    **more
        What the miner reports about itself.
    """
    record = {
        "file": path.name,
        "rules": dict(rules),
        "digest": f"sha256:{digest}",
        "data": {"name": data, "digest": graph.digest, "train": len(graph.train)},
        "kgagg": __version__,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        **more,
    }
    with writing(beside(path, ".json")) as file:
        json.dump(record, file, indent=2, ensure_ascii=False)
        file.write("\n")
    return record


def rule_lines(path: Path) -> list[bytes]:
    """Return the lines of a mined file that hold rules."""
    text = b"".join(blocks(path))
    return [line for line in text.split(b"\n") if b" <= " in line or b" => " in line]


def canonical_digest(path: Path) -> str:
    """Return the sha256 of the rules of a mined file, sorted: the order of a file means nothing."""
    digest = hashlib.sha256()
    for line in sorted(rule_lines(path)):
        digest.update(line + b"\n")
    return digest.hexdigest()
