"""Parquet files with digests: any reader reads them, and kgagg notices every change."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kgagg.errors import InputError
from kgagg.util.parquet import open_parquet, parquet_writer

TABLE = pa.table({"number": np.arange(50), "name": [f"n{i % 7}" for i in range(50)]})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    with parquet_writer(tmp_path / "file", TABLE.schema, compression="zstd") as writer:
        writer.write_table(TABLE)
    return tmp_path / "file"


def test_every_reader_reads_it(file: Path) -> None:
    assert pq.read_table(file, page_checksum_verification=True).equals(TABLE)
    assert open_parquet(file, "things").read().equals(TABLE)


def test_every_changed_byte_is_told_or_is_in_the_mark(file: Path) -> None:
    whole = file.read_bytes()
    for place in range(len(whole)):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        with pytest.raises(InputError, match="damaged"):
            open_parquet(file, "things")


def test_every_truncation_is_told(file: Path) -> None:
    whole = file.read_bytes()
    for size in range(len(whole)):
        file.write_bytes(whole[:size])
        with pytest.raises(InputError, match="damaged"):
            open_parquet(file, "things")


def test_files_of_others_need_no_digest(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "file")
    assert open_parquet(tmp_path / "file", "things").read().equals(TABLE)


def test_a_failed_write_leaves_the_old_file(file: Path) -> None:
    before = file.read_bytes()
    with pytest.raises(RuntimeError), parquet_writer(file, TABLE.schema):
        raise RuntimeError
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]
