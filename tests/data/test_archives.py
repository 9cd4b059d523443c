from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from kgagg.data import archives
from kgagg.errors import InputError


def tar(path: Path, members: dict[str, bytes], *, kind: bytes = tarfile.REGTYPE) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.type = kind
            if kind == tarfile.REGTYPE:
                member.size = len(content)
            else:
                member.linkname = content.decode()
            archive.addfile(member, io.BytesIO(content))
    return path


def take(archive: Path, tmp_path: Path, wanted: str = "train.txt") -> bytes:
    target = tmp_path / "taken"
    archives.extract(archive, {wanted: target}, "SOURCE")
    return target.read_bytes()


def test_takes_a_member_by_its_name_or_the_end_of_its_path(tmp_path: Path) -> None:
    archive = tar(tmp_path / "a.tar.gz", {"x/train.txt": b"1", "x/y/other.txt": b"2"})
    assert take(archive, tmp_path) == b"1"
    assert take(archive, tmp_path, "y/other.txt") == b"2"
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
        packed.writestr("x/train.txt", b"3")
    assert take(tmp_path / "a.zip", tmp_path) == b"3"


@pytest.mark.parametrize(
    ("members", "kind", "message"),
    [
        ({"../train.txt": b"1"}, tarfile.REGTYPE, "leads out"),
        ({"/etc/train.txt": b"1"}, tarfile.REGTYPE, "leads out"),
        ({"a/..\\..\\train.txt": b"1"}, tarfile.REGTYPE, "leads out"),
        ({"train.txt": b"/etc/passwd"}, tarfile.SYMTYPE, "a link"),
        ({"train.txt": b"other"}, tarfile.LNKTYPE, "a link"),
        ({"train.txt": b""}, tarfile.FIFOTYPE, "a device"),
        ({"a/train.txt": b"1", "b/train.txt": b"2"}, tarfile.REGTYPE, "has both"),
        ({"valid.txt": b"1"}, tarfile.REGTYPE, "has no train.txt"),
    ],
)
def test_refuses_what_is_not_a_plain_archive_of_data(
    tmp_path: Path, members: dict[str, bytes], kind: bytes, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        take(tar(tmp_path / "a.tar.gz", members, kind=kind), tmp_path)


def test_refuses_hostile_zips(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("train.txt")
    link.external_attr = 0o120777 << 16
    path = tmp_path / "a.zip"
    for member in (zipfile.ZipInfo("../train.txt"), link):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(member, b"/etc/passwd")
        with pytest.raises(InputError, match="archive refused"):
            take(path, tmp_path)


def test_refuses_more_than_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "SIZE_LIMIT", 1000)
    with pytest.raises(InputError, match="more than 1,000 bytes"):
        take(tar(tmp_path / "a.tar.gz", {"train.txt": bytes(1001)}), tmp_path)


def test_a_damaged_archive_is_named(tmp_path: Path) -> None:
    whole = tar(tmp_path / "a.tar.gz", {"train.txt": bytes(range(256)) * 1000}).read_bytes()
    for size in (0, 5, len(whole) // 2):
        cut = tmp_path / "cut.tar.gz"
        cut.write_bytes(whole[:size])
        with pytest.raises(InputError, match="SOURCE: not an archive, or damaged"):
            take(cut, tmp_path)
