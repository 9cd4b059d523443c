"""What this process may use of the machine: processors and memory, whoever limits them.

A container, a batch job or ``taskset`` gives a process less than the machine has. Everything in
kgagg that plans with threads or memory asks here: the engine, the miners, Java.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kgagg.errors import InputError

_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_GROUPS, _MOUNTS = Path("/proc/self/cgroup"), Path("/proc/self/mountinfo")


def parse_size(text: str) -> int:
    """Return the number of bytes that a text such as ``12G`` or ``800M`` means.

    Raises
    ------
    InputError
        If it is not a size, or less than a megabyte.
    """
    size = re.fullmatch(r"(\d+)([KMGT])B?", text.upper())
    count = int(size[1]) * _UNITS[size[2]] if size else 0
    if count < 1 << 20:
        raise InputError(f"{text}: not a memory size, expected for example 12G or 800M")
    return count


def processors() -> int:
    """Return how many processors this process may use.

    The minimum of its affinity, the CPU quota of its control groups, and what Slurm has allotted to
    the task.
    """
    limits = [float(len(os.sched_getaffinity(0)) if _has_affinity() else os.cpu_count() or 1)]
    for group in _control_groups("cpu"):
        limits += group.processors()
    limits += _from_slurm("SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE")
    return max(1, int(min(limits)))


def memory_limit() -> int:
    """Return the bytes of memory that this process may use, whether they are free or not.

    The minimum of the machine's memory, the limits of its control groups, and what Slurm has
    allotted to the job on this node.
    """
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), *_slurm_memory()]
    limits += [group.limit for group in _control_groups("memory") if group.limit is not None]
    return min(limits)


def free_memory() -> int:
    """Return the bytes of memory that this process may still take.

    The minimum of what is available on the machine, and what is left of the limits of its control
    groups and of its Slurm job. Memory that the kernel uses for files and would give back is free.
    """
    left = [_available(), *(limit - _resident() for limit in _slurm_memory())]
    for group in _control_groups("memory"):
        if group.limit is not None:
            left.append(group.limit - group.used())
    return max(0, min(left))


def cpu_model() -> str:
    """Return the name of the processor."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


class _Group(NamedTuple):
    """A control group, of version 1 or 2, as a folder of files."""

    folder: Path
    version: int

    @property
    def limit(self) -> int | None:
        """The memory that the group may use, None for no limit."""
        return self._number("memory.max" if self.version == 2 else "memory.limit_in_bytes")

    def used(self) -> int:
        """Return the memory that the group uses, without what would be given back."""
        used = self._number("memory.current" if self.version == 2 else "memory.usage_in_bytes")
        name = "inactive_file" if self.version == 2 else "total_inactive_file"
        for line in self._text("memory.stat").splitlines():
            if line.startswith(f"{name} "):
                return max(0, (used or 0) - int(line.split()[1]))
        return used or 0

    def processors(self) -> Iterator[float]:
        """Yield how many processors the quota of the group is worth, if it has one."""
        if self.version == 2:
            quota, _, period = self._text("cpu.max").partition(" ")
        else:
            quota, period = self._text("cpu.cfs_quota_us"), self._text("cpu.cfs_period_us")
        if quota.isdecimal() and period.isdecimal() and int(period):
            yield int(quota) / int(period)

    def _number(self, name: str) -> int | None:
        text = self._text(name)
        return int(text) if text.isdecimal() else None

    def _text(self, name: str) -> str:
        try:
            return (self.folder / name).read_text().strip()
        except OSError:
            return ""


def _control_groups(controller: str) -> Iterator[_Group]:
    """Yield the control groups of this process, with all that they are in."""
    with contextlib.suppress(OSError):
        mounts = list(_mounted(controller))
        for line in _GROUPS.read_text().splitlines():
            _, controllers, name = line.split(":", 2)
            version = 1 if controllers else 2
            if controllers and controller not in controllers.split(","):
                continue
            for root, place, mounted in mounts:
                if mounted == version:
                    # in a container the group's name may be one of outside, which is not seen
                    inner = name.removeprefix(root) if root != "/" else name
                    folder = place / inner.strip("/")
                    chain = (folder, *folder.parents)
                    yield from (_Group(one, version) for one in chain if one.is_relative_to(place))


def _mounted(controller: str) -> Iterator[tuple[str, Path, int]]:
    """Yield where the file systems of control groups are: root within it, folder, version."""
    for line in _MOUNTS.read_text().splitlines():
        own, _, system = line.partition(" - ")
        root, place = own.split()[3:5]
        kind, _, options = system.split(" ", 2)
        if kind == "cgroup2":
            yield root, Path(place), 2
        elif kind == "cgroup" and controller in options.split(","):
            yield root, Path(place), 1


def _from_slurm(*names: str) -> list[int]:
    """Return the first of some variables of Slurm that is a number, or nothing."""
    found = (os.environ.get(name, "") for name in names if "SLURM_JOB_ID" in os.environ)
    return [int(text) for text in found if text.isdecimal() and int(text)][:1]


def _slurm_memory() -> list[int]:
    """Return the memory that Slurm has allotted on this node in bytes, or nothing."""
    whole = _from_slurm("SLURM_MEM_PER_NODE")
    if not whole:
        each, count = _from_slurm("SLURM_MEM_PER_CPU"), _from_slurm("SLURM_CPUS_ON_NODE")
        whole = [each[0] * count[0]] if each and count else []
    return [megabytes << 20 for megabytes in whole]


def _available() -> int:
    try:
        fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
        return 1024 * int(fields["MemAvailable"].split()[0])
    except (OSError, KeyError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _resident() -> int:
    """Return the memory that this process has now."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _has_affinity() -> bool:
    return hasattr(os, "sched_getaffinity")
