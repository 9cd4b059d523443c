"""The binary container: what is written comes back, and what is damaged is told."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

from kgagg.errors import InputError
from kgagg.util.arrays import in_large_pages, is_arrays, open_arrays, save_arrays
from kgagg.util.checks import digest_of

ARRAYS = nps.arrays(
    st.sampled_from([np.uint8, np.int32, np.int64, np.float64, np.bool_]),
    nps.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=20),
)
META = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(st.dictionaries(st.text(), ARRAYS, max_size=5))
def test_arrays_in_large_pages_are_the_same_and_apart(arrays: dict[str, np.ndarray]) -> None:
    arrays["large"] = np.arange(1 << 20)
    found = in_large_pages(arrays)
    assert found.keys() == arrays.keys()
    assert found["large"] is arrays["large"]
    for name, array in found.items():
        np.testing.assert_array_equal(array, arrays[name])
        assert array.dtype == arrays[name].dtype
        assert array.flags.c_contiguous
        assert array.flags.aligned
        assert array.flags.writeable
        assert not any(np.shares_memory(array, found[other]) for other in found if other != name)


@given(META, st.dictionaries(st.text(min_size=1), ARRAYS, max_size=5))
def test_what_is_written_comes_back(meta: object, arrays: dict[str, np.ndarray]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        save_arrays(path, "thing", meta, arrays)
        assert is_arrays(path)
        found_meta, found = open_arrays(path, "thing")
    assert found_meta == meta
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        assert found[name].shape == array.shape
        assert found[name].tobytes() == array.tobytes()
        # where a vector instruction may load it
        assert not array.size or found[name].ctypes.data % 64 == 0


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    save_arrays(path, "thing", None, {"one": np.arange(100), "two": np.arange(3, dtype=np.int32)})
    return path


def test_changes_stay_in_memory(file: Path) -> None:
    before = file.read_bytes()
    _, arrays = open_arrays(file, "thing")
    arrays["one"][:] = 7
    assert file.read_bytes() == before
    assert open_arrays(file, "thing")[1]["one"].tolist() == list(range(100))


def test_every_truncation_is_told(file: Path) -> None:
    whole = file.read_bytes()
    # after the last array there is only padding
    content = len(whole) - 64 + 3 * 4
    for size in range(content):
        file.write_bytes(whole[:size])
        with pytest.raises(InputError, match=r"file: (truncated|not a binary file of kgagg)$"):
            open_arrays(file, "thing")


def test_every_changed_byte_is_told_or_padding(file: Path) -> None:
    whole = file.read_bytes()
    start = whole.index(b"\n", whole.index(b"\n") + 1) + 1
    padding = {*range(start + 800, start + 832), *range(start + 832 + 12, len(whole))}
    for place in range(len(whole)):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        if place in padding:
            assert open_arrays(file, "thing")[1]["two"].tolist() == [0, 1, 2]
        else:
            with pytest.raises(InputError, match=r"file: (damaged: |truncated|not a binary file)"):
                open_arrays(file, "thing")


def test_older_files_are_to_be_written_again(file: Path) -> None:
    file.write_bytes(file.read_bytes().replace(b"arrays 3\n", b"arrays 1\n", 1))
    assert is_arrays(file)
    with pytest.raises(InputError, match=r"file: written by an older kgagg; write it again$"):
        open_arrays(file, "thing")


def test_nothing_but_numbers_is_taken(file: Path) -> None:
    for array in (np.array(["text"]), np.array([1j]), np.array([None]), np.array([1], ">i4")):
        data = array.view(np.uint8) if array.dtype != object else np.zeros(8, np.uint8)
        save_arrays(file, "thing", None, {"one": data})
        head, line, rest = file.read_bytes().split(b"\n", 2)
        old, new = f'"|u1", [{len(data)}]'.encode(), f'"{array.dtype.str}", [1]'.encode()
        assert old in line
        header = line[32:].replace(old, new) + b"\n"
        file.write_bytes(head + b"\n" + digest_of(header).encode() + header + rest)
        with pytest.raises(InputError, match="damaged: one has the type"):
            open_arrays(file, "thing")


def test_other_files_are_refused(file: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds a thing, expected a graph"):
        open_arrays(file, "graph")
    (tmp_path / "text").write_text("aa\tr\tbb\n")
    assert not is_arrays(tmp_path / "text")
    with pytest.raises(InputError, match="not a binary file of kgagg"):
        open_arrays(tmp_path / "text", "thing")


def test_a_failed_write_leaves_the_old_file(file: Path, tmp_path: Path) -> None:
    before = file.read_bytes()
    with pytest.raises(TypeError):
        save_arrays(file, "thing", {1, 2}, {})
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]
