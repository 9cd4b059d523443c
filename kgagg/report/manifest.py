"""The manifest of a run: the digest of every file, what made them, and the same as RO-Crate."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kgagg import __version__
from kgagg.data.download import digest_of
from kgagg.report.provenance import environment

CONTEXT = [
    "https://w3id.org/ro/crate/1.1/context",
    "https://w3id.org/ro/terms/workflow-run/context",
]
LICENCE = "https://spdx.org/licenses/MIT"
PROFILES = (
    "https://w3id.org/ro/wfrun/process/0.5",
    "https://w3id.org/ro/wfrun/workflow/0.5",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0",
)
TYPES = {
    ".csv": "text/csv",
    ".html": "text/html",
    ".json": "application/json",
    ".md": "text/markdown",
    ".parquet": "application/vnd.apache.parquet",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".tex": "text/x-tex",
    ".txt": "text/plain",
}


def make_manifest(
    root: Path,
    files: Iterable[Path],
    *,
    config: Mapping[str, Any],
    lock: Path,
    jars: Mapping[str, str],
    fingerprints: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the manifest of the files of a run.

    Parameters
    ----------
    root : Path
        The folder of the run; files are named relative to it.
    files : iterable of Path
    config : mapping
        The configuration of the run.
    lock : Path
        The locked list of packages.
    jars : mapping from str to str
        Digests of the jars that mined, by name.
    fingerprints : mapping
        What another run can be compared by (see `kgagg.report.reproduction`).
    """
    return {
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "environment": environment(),
        "lock": {"file": lock.name, "sha256": digest_of(lock, "sha256")},
        "jars": dict(jars),
        "config": config,
        "fingerprints": dict(fingerprints),
        "files": {
            os.path.relpath(path, root): {
                "sha256": digest_of(path, "sha256"),
                "bytes": path.stat().st_size,
            }
            for path in sorted(files)
        },
    }


def differences(manifest: Mapping[str, Any], root: Path, lock: Path | None = None) -> list[str]:
    """Compute the digests of a manifest again; return a line for each that is not the same."""
    lines = []
    for name, entry in manifest["files"].items():
        path = root / name
        if not path.is_file():
            lines.append(f"{name}: missing")
        elif digest_of(path, "sha256") != entry["sha256"]:
            lines.append(f"{name}: changed since the manifest was written")
    if lock is not None and digest_of(lock, "sha256") != manifest["lock"]["sha256"]:
        lines.append(f"{lock.name}: not the list of packages that the run had")
    return lines


def crate(manifest: Mapping[str, Any], workflow: str) -> dict[str, Any]:
    """Return the metadata of a Workflow Run RO-Crate (profile 0.5) whose root is the run's folder.

    Parameters
    ----------
    manifest : mapping
        From `make_manifest`.
    workflow : str
        The file of the workflow, in the folder.
    """
    inputs = [name for name in manifest["files"] if name.startswith("data/")]
    outputs = [name for name in manifest["files"] if name not in inputs]
    return {
        "@context": CONTEXT,
        "@graph": [
            *_descriptor(),
            _dataset(manifest, workflow),
            *_workflow(manifest, workflow),
            {
                "@id": "#run",
                "@type": "CreateAction",
                "name": "snakemake",
                "instrument": {"@id": workflow},
                "endTime": manifest["written"],
                "actionStatus": {"@id": "http://schema.org/CompletedActionStatus"},
                "object": [{"@id": name} for name in inputs],
                "result": [{"@id": name} for name in outputs],
            },
            *(_file(name, entry) for name, entry in manifest["files"].items()),
        ],
    }


def _descriptor() -> list[dict[str, Any]]:
    """Describe the metadata file itself, its profiles and the licence."""
    profiles = [{"@id": p, "@type": "CreativeWork", "name": p.rsplit("/", 2)[1]} for p in PROFILES]
    return [
        {
            "@id": "ro-crate-metadata.json",
            "@type": "CreativeWork",
            "about": {"@id": "./"},
            "conformsTo": [{"@id": "https://w3id.org/ro/crate/1.1"}, {"@id": PROFILES[-1]}],
        },
        *profiles,
        {"@id": LICENCE, "@type": "CreativeWork", "name": "MIT License"},
    ]


def _dataset(manifest: Mapping[str, Any], workflow: str) -> dict[str, Any]:
    """Describe the folder of the run."""
    return {
        "@id": "./",
        "@type": "Dataset",
        "name": "A run of the kgagg workflow",
        "description": "Rules mined, applied, aggregated and evaluated, with every file's digest.",
        "datePublished": manifest["written"],
        "license": {"@id": LICENCE},
        "conformsTo": [{"@id": profile} for profile in PROFILES],
        "mainEntity": {"@id": workflow},
        "hasPart": [{"@id": name} for name in (workflow, *manifest["files"])],
        "mentions": [{"@id": "#run"}],
    }


def _workflow(manifest: Mapping[str, Any], workflow: str) -> list[dict[str, Any]]:
    """Describe the workflow, and what runs it."""
    environment = manifest["environment"]
    return [
        {
            "@id": workflow,
            "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
            "name": "The kgagg workflow",
            "programmingLanguage": {"@id": "#snakemake"},
            "version": environment["commit"] or __version__,
        },
        {
            "@id": "#snakemake",
            "@type": "ComputerLanguage",
            "name": "Snakemake",
            "url": {"@id": "https://snakemake.github.io"},
            "version": environment["packages"].get("snakemake", "not known"),
        },
    ]


def _file(name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a file of the run."""
    return {
        "@id": name,
        "@type": "File",
        "name": name,
        "contentSize": str(entry["bytes"]),
        "sha256": entry["sha256"],
        "encodingFormat": TYPES.get(Path(name).suffix, "application/octet-stream"),
    }
