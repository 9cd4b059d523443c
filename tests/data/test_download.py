from __future__ import annotations

import hashlib
import http.server
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kgagg.data import download as fetching
from kgagg.data.download import Artifact, Mismatch, cache_path, digest_of, obtain
from kgagg.errors import InputError, Unavailable
from kgagg.util.progress import Progress

CONTENT = bytes(range(256)) * 2000
DIGEST = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"


@dataclass
class Site:
    """A web site on this machine that can misbehave."""

    url: str = ""
    failures: list[int] = field(default_factory=list)  # answers to give before the right one
    cut: int | None = None  # how many bytes the next answer has before the line breaks
    ranges: bool = True  # whether it honours the Range header
    requests: list[str | None] = field(default_factory=list)  # the Range header of each


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers["Range"]
            site.requests.append(wanted)
            if site.failures:
                self.send_error(site.failures.pop(0))
                return
            start = int(wanted[len("bytes=") : -1]) if wanted and site.ranges else 0
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(CONTENT) - start))
            if start:
                self.send_header(
                    "Content-Range", f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}"
                )
            self.end_headers()
            stop, site.cut = site.cut, None
            self.wfile.write(CONTENT[start:stop])

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        site.url = f"http://127.0.0.1:{server.server_address[1]}/file"
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield site
        server.shutdown()


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "PAUSES", (0.0, 0.01, 0.01))


def left_behind(cache: Path) -> list[Path]:
    return [path for path in cache.rglob("*") if path.is_file()]


def test_downloads_once(site: Site, cache: Path) -> None:
    artifact = Artifact("file", DIGEST, (site.url,))
    path = obtain(artifact)
    assert path.read_bytes() == CONTENT
    assert path == cache_path(artifact) == obtain(artifact)
    assert len(site.requests) == 1
    assert left_behind(cache) == [path]


def test_a_damaged_file_in_the_cache_is_fetched_again(site: Site, cache: Path) -> None:
    artifact = Artifact("file", DIGEST, (site.url,))
    obtain(artifact).write_bytes(b"other")
    assert obtain(artifact).read_bytes() == CONTENT


def test_tries_again_after_failures_that_pass(site: Site, cache: Path) -> None:
    site.failures = [500, 429]
    assert obtain(Artifact("file", DIGEST, (site.url,))).read_bytes() == CONTENT
    assert len(site.requests) == 3


def test_does_not_try_again_what_is_not_there(site: Site, cache: Path) -> None:
    site.failures = [404]
    with pytest.raises(Unavailable, match="404"):
        obtain(Artifact("file", DIGEST, (site.url,)))
    assert len(site.requests) == 1


@pytest.mark.parametrize("ranges", [True, False])
def test_resumes_where_the_line_broke(site: Site, cache: Path, ranges: bool) -> None:
    site.cut, site.ranges = 100_000, ranges
    path = obtain(Artifact("file", DIGEST, (site.url,)))
    assert path.read_bytes() == CONTENT
    assert site.requests == [None, "bytes=100000-"]
    assert left_behind(cache) == [path]


def test_a_wrong_digest_names_the_source_and_both_digests(site: Site, cache: Path) -> None:
    wrong = "sha256:" + "0" * 64
    with pytest.raises(Unavailable) as error:
        obtain(Artifact("file", wrong, (site.url,)))
    assert all(text in str(error.value) for text in (site.url, wrong, DIGEST))
    assert not left_behind(cache)


def test_goes_on_to_the_next_source(
    site: Site, cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"other")
    sources = (other.as_uri(), "https://name.invalid/file", site.url)
    assert obtain(Artifact("file", DIGEST, sources)).read_bytes() == CONTENT
    said = capsys.readouterr().err
    assert "wrong content" in said
    assert "name.invalid" in said


def test_the_mirror_comes_first(
    site: Site, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror = tmp_path / "mirror"
    monkeypatch.setenv("KGAGG_MIRROR", str(mirror))
    artifact = Artifact("file", DIGEST, (site.url,))
    with pytest.raises(InputError, match="no such folder"):
        obtain(artifact)
    mirror.mkdir()
    (mirror / "file").write_bytes(b"damaged")
    with pytest.raises(Mismatch, match="mirror/file: wrong content"):
        obtain(artifact)
    assert not left_behind(cache)
    (mirror / "file").write_bytes(CONTENT)
    assert obtain(artifact).read_bytes() == CONTENT
    assert not site.requests


def test_offline_uses_the_cache_only(
    site: Site, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    artifact = Artifact("file", DIGEST, (site.url,))
    with pytest.raises(Unavailable, match="offline"):
        obtain(artifact, offline=True)
    assert not site.requests
    obtain(artifact)
    monkeypatch.setenv("KGAGG_OFFLINE", "1")
    assert obtain(artifact).read_bytes() == CONTENT


def test_digests(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"hello\n")
    assert digest_of(path, "md5") == "b1946ac92492d2347c6235b4d2611184"
    assert digest_of(path, "git-blob") == "ce013625030ba8dba906f756967f9e9ca394464a"
    with pytest.raises(InputError, match="no such digest"):
        digest_of(path, "sha")


def test_a_download_that_does_not_end_is_broken_off(
    site: Site, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # far more than ten times what is expected, in blocks that would go on
    monkeypatch.setattr(fetching, "BLOCK", 1000)
    monkeypatch.setattr(site, "ranges", False)
    taken = 0

    class Counted(Progress):
        def add(self, count: int = 1) -> None:
            nonlocal taken
            taken += count
            super().add(count)

    monkeypatch.setattr(fetching, "Progress", Counted)
    monkeypatch.setattr(fetching, "_LEAST", 20_000)
    message = "broken off after 20,000 bytes"
    with (
        pytest.raises(Unavailable, match=message),
        fetching.fetched(site.url, size=1000, quiet=True),
    ):
        pass
    assert 20_000 < taken <= 21_000
    assert not left_behind(cache)
    with fetching.fetched(site.url, size=len(CONTENT) // 10, quiet=True) as file:
        assert file.read_bytes() == CONTENT
