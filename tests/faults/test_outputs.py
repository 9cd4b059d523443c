"""No room, no output, no memory: one line, exit code 1, and the old file stays."""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgagg.cli import main
from kgagg.engine.engine import Engine

KGAGG = Path(sys.executable).with_name("kgagg")
# the arguments of calls that write a file: {data}, {rules} and {out} are filled in
WRITING = {
    "o.json": "evaluate {data} {rules} --strategies max --json {out}",
    "ranks.parquet": "evaluate {data} {rules} --strategies max --ranks {out}",
    "o.kgagg": "rules {rules} --to {out}",
    "o.txt.gz": "rules {rules} --to {out}",
    "o.txt.zst": "rules {rules} --to {out}",
    "rules.parquet": "rules {rules} --to {out}",
    "o.tsv": "rank {data} {rules} --out {out}",
    "o.csv": "predict {data} {rules} --out {out}",
    "o.jsonl": "materialise {data} {rules} --out {out}",
    "scores.tsv": "score {data} {rules} --triples {data}/test.txt --out {out}",
    "o.html": "explain {data} {rules} e1 r0 e2 --html {out}",
    "firings.parquet": "apply {data} {rules} --out {out}",
    "tuned.kgagg": "fit {data} {rules} --strategy tuned --out {out}",
    "mined.txt": "mine native {data} --out {out}",
    "o.md": "stats {data} --table {out}",
}
PRINTING = {
    "evaluate": "evaluate {data} {rules} --strategies max",
    "rank": "rank {data} {rules}",
    "rules": "rules {rules}",
}


@contextlib.contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Let no file grow over `size` bytes, as if the disk was full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def arguments(call: str, world: Path, out: Path) -> list[str]:
    filled = call.format(data=world, rules=world / "rules.txt", out=out)
    return [*filled.split(), "-q"]


@pytest.mark.parametrize("name", WRITING)
def test_without_room_the_old_file_stays(
    world: Path,
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path_factory.mktemp("full")
    out = folder / name
    out.write_text("old")
    call = arguments(WRITING[name], world, out)
    with largest_file(64):
        assert main(call) == 1
    lines = capsys.readouterr().err.splitlines()
    # nor is there room for kernels that were not compiled before
    told = [line for line in lines if "compiled kernels are kept for this run only" not in line]
    assert told == [f"kgagg: error: {out}: File too large"]
    assert [path.name for path in folder.iterdir()] == [name]
    assert out.read_text() == "old"


@pytest.mark.parametrize("verb", PRINTING)
@pytest.mark.parametrize("way", ["full", "closed"])
def test_an_output_that_takes_nothing(world: Path, verb: str, way: str) -> None:
    if way == "full" and not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    to, why = {
        "full": (">/dev/full", "No space left on device"),
        "closed": (">&-", "Bad file descriptor"),
    }[way]
    call = ["sh", "-c", f'exec "$@" {to}', "sh", str(KGAGG)]
    call += arguments(PRINTING[verb], world, world)
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, f"kgagg: error: standard output: {why}\n")


def test_a_closed_output_does_not_matter_to_who_prints_nothing(world: Path) -> None:
    call = ["sh", "-c", 'exec "$@" >&- 2>&-', "sh", str(KGAGG)]
    call += arguments(WRITING["o.tsv"], world, world / "o.tsv")
    subprocess.run(call, check=True)
    assert (world / "o.tsv").read_text().startswith("head\t")


def test_too_little_memory(
    world: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*args: object, **options: object) -> None:
        raise MemoryError("Unable to allocate 12.3 GiB")

    monkeypatch.setattr(Engine, "open", fail)
    assert main(arguments(PRINTING["evaluate"], world, world)) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("kgagg: error: out of memory: Unable to allocate 12.3 GiB (use fewer")


def test_a_small_disk(world: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", str(disk)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a small disk")
    try:
        (disk / "o.tsv").write_text("old")
        (disk / "rest").write_bytes(bytes(4000))
        call = [str(KGAGG), *arguments(WRITING["o.tsv"], world, disk / "o.tsv")]
        done = subprocess.run(call, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert done.stderr == f"kgagg: error: {disk / 'o.tsv'}: No space left on device\n"
        assert sorted(path.name for path in disk.iterdir()) == ["o.tsv", "rest"]
        assert (disk / "o.tsv").read_text() == "old"
    finally:
        subprocess.run(["umount", str(disk)], check=True)
