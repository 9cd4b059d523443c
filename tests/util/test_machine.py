"""What a process may use: affinity, control groups, Slurm."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgagg.errors import InputError
from kgagg.util import machine

MEMORY, PROCESSORS = 600 << 20, 1.5
ASK = """
from kgagg.util.machine import free_memory, memory_limit, processors
print(memory_limit(), free_memory(), processors())
"""


@pytest.fixture(autouse=True)
def no_slurm(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("SLURM_")]:
        monkeypatch.delenv(name)


# --- a real control group -----------------------------------------------------------------------


def places(controller: str) -> Iterator[tuple[Path, int]]:
    """Where control groups with a controller can be made: the folder, and the version."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        own, _, system = line.partition(" - ")
        kind, _, options = system.split(" ", 2)
        folder = Path(own.split()[4])
        if kind == "cgroup" and controller in options.split(","):
            yield folder, 1
        elif kind == "cgroup2":
            switched_on = folder / "cgroup.subtree_control"
            if switched_on.exists() and controller in switched_on.read_text().split():
                yield folder, 2


@contextlib.contextmanager
def control_group(controller: str, **limits: tuple[str, ...]) -> Iterator[Path]:
    """A group of its own with limits: for each version of groups the file and what it takes."""
    name = f"kgagg-{os.getpid()}"
    for folder, version in places(controller):
        group = folder / name
        try:
            group.mkdir()
            for file, text in (pair.split("=", 1) for pair in limits[f"v{version}"]):
                (group / file).write_text(text)
        except OSError:
            continue
        try:
            yield group
        finally:
            group.rmdir()
        return
    pytest.skip(f"no control group with {controller} can be made here (it takes root)")


def ask(*groups: Path, script: str = ASK, arguments: tuple[str, ...] = ()) -> str:
    """Run a script within control groups; return what it prints."""
    enter = "".join(f"echo $$ > {group}/cgroup.procs; " for group in groups)
    call = ["sh", "-c", f'{enter} exec "$@"', "sh", sys.executable, "-c", script, *arguments]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_memory_is_that_of_the_control_group() -> None:
    limits = {"v1": (f"memory.limit_in_bytes={MEMORY}",), "v2": (f"memory.max={MEMORY}",)}
    with control_group("memory", **limits) as group:
        limit, free, _ = map(int, ask(group).split())
    assert limit == MEMORY
    assert MEMORY / 2 < free < MEMORY


def test_processors_are_those_of_the_quota() -> None:
    quota = int(PROCESSORS * 100_000)
    limits = {
        "v1": (f"cpu.cfs_quota_us={quota}", "cpu.cfs_period_us=100000"),
        "v2": (f"cpu.max={quota} 100000",),
    }
    with control_group("cpu", **limits) as group:
        *_, processors = map(int, ask(group).split())
    assert processors == min(int(PROCESSORS), machine.processors())


APPLY = """
import sys
from kgagg.cli import main
sys.exit(main(["evaluate", sys.argv[1], sys.argv[1] + "/rules.txt", "--strategies", "all", "-q"]))
"""


def test_the_engine_works_in_a_small_container(world: Path) -> None:
    limits = {"v1": (f"memory.limit_in_bytes={MEMORY}",), "v2": (f"memory.max={MEMORY}",)}
    with control_group("memory", **limits) as group:
        assert "noisy-or" in ask(group, script=APPLY, arguments=(str(world),))


# --- files as control groups write them ---------------------------------------------------------


def groups(folder: Path, monkeypatch: pytest.MonkeyPatch, own: str, mounts: str) -> None:
    (folder / "cgroup").write_text(own)
    (folder / "mountinfo").write_text(mounts)
    monkeypatch.setattr(machine, "_GROUPS", folder / "cgroup")
    monkeypatch.setattr(machine, "_MOUNTS", folder / "mountinfo")


@pytest.mark.parametrize("root", ["/", "/docker/1234"])
def test_limits_of_all_groups_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: str
) -> None:
    """In a container the file system begins at the container's group."""
    inner = tmp_path / "fs" / "job" / "step"
    inner.mkdir(parents=True)
    mount = f"30 23 0:26 {root} {tmp_path}/fs rw - cgroup2 cgroup2 rw\n"
    groups(tmp_path, monkeypatch, f"0::{root.rstrip('/')}/job/step\n", mount)
    (inner / "memory.max").write_text("max\n")
    (inner.parent / "memory.max").write_text(f"{MEMORY}\n")
    (inner.parent / "memory.current").write_text("200000000\n")
    (inner.parent / "memory.stat").write_text("anon 1\ninactive_file 50000000\n")
    (inner / "cpu.max").write_text("100000 100000\n")
    assert machine.memory_limit() == MEMORY
    assert machine.free_memory() == MEMORY - 150_000_000
    assert machine.processors() == 1


def test_limits_of_version_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("memory", "cpu"):
        (tmp_path / name / "job").mkdir(parents=True)
    mounts = "".join(
        f"30 23 0:26 / {tmp_path}/{name} rw - cgroup cgroup rw,{name}\n"
        for name in ("memory", "cpu")
    )
    groups(tmp_path, monkeypatch, "4:memory:/job\n1:cpu:/job\n0::/\n", mounts)
    (tmp_path / "memory" / "job" / "memory.limit_in_bytes").write_text(f"{MEMORY}\n")
    (tmp_path / "memory" / "job" / "memory.usage_in_bytes").write_text("100000000\n")
    (tmp_path / "memory" / "memory.limit_in_bytes").write_text("9223372036854771712\n")
    (tmp_path / "cpu" / "job" / "cpu.cfs_quota_us").write_text("-1\n")
    (tmp_path / "cpu" / "job" / "cpu.cfs_period_us").write_text("100000\n")
    assert machine.memory_limit() == MEMORY
    assert machine.free_memory() == MEMORY - 100_000_000
    assert machine.processors() == len(os.sched_getaffinity(0))


def test_without_control_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_GROUPS", tmp_path / "none")
    monkeypatch.setattr(machine, "_MOUNTS", tmp_path / "none")
    assert 0 < machine.free_memory() <= machine.memory_limit()
    assert machine.processors() == len(os.sched_getaffinity(0))


# --- Slurm and affinity -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variables", "memory", "count"),
    [
        ({"SLURM_MEM_PER_NODE": "300", "SLURM_CPUS_ON_NODE": "1"}, 300 << 20, 1),
        ({"SLURM_MEM_PER_CPU": "400", "SLURM_CPUS_ON_NODE": "1"}, 400 << 20, 1),
        ({"SLURM_CPUS_PER_TASK": "1", "SLURM_CPUS_ON_NODE": "64"}, None, 1),
        ({"SLURM_CPUS_PER_TASK": "64", "SLURM_MEM_PER_NODE": "0"}, None, None),
    ],
)
def test_slurm_says_what_a_job_has(
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    memory: int | None,
    count: int | None,
) -> None:
    usual = machine.memory_limit(), machine.processors()
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    # variables without a job are of a shell on a login node
    assert (machine.memory_limit(), machine.processors()) == usual
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert machine.memory_limit() == (memory or usual[0])
    assert machine.processors() == (count or usual[1])


def test_affinity_counts() -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import os; os.sched_setaffinity(0, [0]);{ASK}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split()[-1] == "1"


@pytest.mark.parametrize(("text", "size"), [("12G", 12 << 30), ("800mb", 800 << 20)])
def test_sizes(text: str, size: int) -> None:
    assert machine.parse_size(text) == size


@pytest.mark.parametrize("text", ["", "12", "1K", "-3G", "1.5G", "many"])
def test_what_is_not_a_size(text: str) -> None:
    with pytest.raises(InputError, match="12G or 800M"):
        machine.parse_size(text)
