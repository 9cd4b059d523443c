"""Files: whole or not at all, named as the user knows them, read in time that grows with them."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from typing import Any

import pytest

from kgagg.util import files
from kgagg.util.files import line_blocks, replacing, writing


def test_an_error_names_the_file_that_the_user_knows(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    for wrong in (OSError(errno.ENOSPC, "full"), OSError("pyarrow says so")):
        with pytest.raises(OSError, match=r"out\.txt") as caught, replacing(path):
            raise wrong
        assert caught.value.filename == str(path)
    with pytest.raises(OSError, match="elsewhere") as caught, replacing(path):
        raise OSError(errno.ENOENT, "not there", "elsewhere")
    with pytest.raises(FileNotFoundError) as caught, replacing(path) as temporary:
        temporary.unlink()
    assert caught.value.filename == str(path)
    assert not list(tmp_path.iterdir())


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 251 + ".txt")
    with writing(path) as file:
        file.write("text")
    assert path.read_text() == "text"


def test_what_killed_runs_left_is_removed(tmp_path: Path) -> None:
    for name in (".kgagg-old", ".kgagg-used", ".kgagg-young", ".other"):
        (tmp_path / name).touch()
        if name != ".kgagg-young":
            os.utime(tmp_path / name, (0, 0))
    with (tmp_path / ".kgagg-used").open("rb") as used:
        fcntl.flock(used, fcntl.LOCK_EX)
        with writing(tmp_path / "out.txt"):
            pass
    kept = {".kgagg-used", ".kgagg-young", ".other", "out.txt"}
    assert {path.name for path in tmp_path.iterdir()} == kept


def test_a_file_that_is_being_written_is_not_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_OLD", -1.0)
    with writing(tmp_path / "slow.txt") as slow:
        slow.write("first")
        with writing(tmp_path / "other.txt"):
            pass
    assert (tmp_path / "slow.txt").read_text() == "first"


def test_a_long_line_is_joined_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [b"\xef\xbb\xbfab", b"cd", b"ef", b"g\nh", b"i", b"j"]

    class Part(bytes):
        def __radd__(self, other: bytes) -> bytes:
            raise AssertionError("each part copies all parts before it")

        def removeprefix(self, prefix: Any, /) -> bytes:
            return Part(bytes(self).removeprefix(prefix))

    monkeypatch.setattr(files, "blocks", lambda path, size: map(Part, parts))
    assert list(line_blocks(tmp_path / "any")) == [b"abcdefg\n", b"hij\n"]
