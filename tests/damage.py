"""Damage files of every kind in seeded ways, use them, and say what came of it.

Run as a program, which may crash, with a folder of `make_files`, a kind of file, and the first and
last number of a case: it prints a line of JSON for each.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kgagg.engine.engine import Engine
from kgagg.engine.files import FiringsFile, write_firings
from kgagg.engine.firings import Firings
from kgagg.engine.queries import Queries
from kgagg.errors import InputError
from kgagg.graph.graph import Graph
from kgagg.graph.vocabulary import Vocabulary
from kgagg.ranking.ranks import Ranks
from kgagg.rules.ruleset import RuleSet
from kgagg.rules.writing import write
from kgagg.strategies.fitting import Fitting
from kgagg.strategies.registry import names, open_strategy, strategy
from kgagg.strategies.scoring import rank_file, rank_split
from kgagg.util.arrays import open_arrays, save_arrays
from kgagg.util.checks import digest_of
from kgagg.util.parquet import parquet_writer

Arrays = dict[str, np.ndarray]
Change = Callable[[Arrays, tuple[str, ...], np.random.Generator], str]
SEED = 20
STRATEGIES = tuple(name for name in names() if not name.endswith("-h") and strategy(name).needs)
KINDS = ("graph", "rules", "table", "firings", "ranks", "state", *STRATEGIES)
# array files by what they say they are; other files are Parquet
_ARRAYS = {"graph": "graph", "rules": "rule set", "state": "training state"}
_ARRAYS |= dict.fromkeys(STRATEGIES, "strategy")
# what indexes something else: a number out of range is always refused
_NAMES = ("entities.offsets", "relations.offsets")
_TABLES = ("entities.table", "relations.table")
_ADJACENCY = ("entity_ptr", "segment_key", "segment_ptr", "neighbours", "key_ptr", "key_entities")
_RULES = ("kind", "flags", "relation", "head_constant", "body_constant", "body", "source")
_INDICES = {
    "graph": ("train", "valid", "test", *_ADJACENCY, *_NAMES, *_TABLES),
    "rules": (*_RULES, "body_ptr", "body_keys", "written_ptr", *_NAMES, *_TABLES),
    "safran": ("cluster", *_NAMES),
    "factors": ("key", "bin", "entities", *_NAMES),
    "learned": _NAMES,
    "sparse": _NAMES,
    "tuned": ("chosen", "default", "level", *_NAMES),
    "noisy-or-top-h*": ("chosen", "default", *_NAMES),
    "state": (),
}
_QUERIES = ("relation", "direction", "entity", "target_ptr", "target", "triple")
_COLUMNS = {"firings": ("query", "candidate", "rules"), "ranks": ("triple",)}


def make_files(world: Path, folder: Path) -> None:
    """Write one file of each kind for the graph and the rules of `world`."""
    text = (world / "rules.txt").read_text()
    # a line that cannot be made again, and a body that is no path
    text += "7\t3\t0.42\tr0(X,Y) <= r1(X,Y), r2(X,Y)\n"
    (folder / "rules.txt").write_text(text)
    graph = Graph.from_folder(world)
    graph.save(folder).rename(folder / "graph")
    engine = Engine.open(graph, folder / "rules.txt")
    engine.rules.save(folder / "rules")
    write(engine.rules, folder / "table.parquet")
    (folder / "table.parquet").rename(folder / "table")
    queries = Queries.from_triples(graph.test)
    chunks = engine.apply(queries, graph.adjacency, best=0)
    settings = {"rules": engine.rules.digest, "best": 0, "part": [0, len(queries)]}
    write_firings(folder / "firings", chunks, graph.entities, graph.relations, settings)
    plain = [strategy(name) for name in ("max", "noisy-or")]
    rank_split(engine, "test", plain).write(folder / "ranks")
    for name in STRATEGIES:
        state = folder / "state" if name == "sparse" else None
        strategy(name).fit(Fitting(engine, state=state)).save(folder / name, engine.names)


class User:
    """Use files for what they are there for.

    Parameters
    ----------
    folder : Path
        See `make_files`.
    """

    def __init__(self, folder: Path) -> None:
        self.graph = Graph.open(folder / "graph")
        self.engine = Engine(self.graph, RuleSet.open(folder / "rules"))
        self.firings = self._fired(self.engine)

    def results(self, kind: str, path: Path) -> str:
        """Return a digest of all that comes of a file of this kind."""
        use: Callable[[Path], list[Any]] = getattr(self, f"_{kind}", None) or self._strategy
        found = hashlib.sha256()
        for one in use(path):
            found.update(one.tobytes() if isinstance(one, np.ndarray) else repr(one).encode())
        return found.hexdigest()

    def _fired(self, engine: Engine) -> Firings:
        queries = Queries.from_triples(self.graph.test)
        chunks = engine.apply(queries, engine.graph.adjacency, best=0, threads=1)
        return Firings.concatenate(list(chunks))

    def _of_firings(self, firings: Firings) -> list[Any]:
        parts = [vars(firings.queries), vars(firings)]
        return [x for part in parts for x in part.values() if isinstance(x, np.ndarray)]

    def _graph(self, path: Path) -> list[Any]:
        graph = Graph.open(path)
        rules = self.engine.rules.translated(graph.entities, graph.relations)
        fired = self._of_firings(self._fired(Engine(graph, rules)))
        return [graph.digest, graph.overlaps, graph.entities.names(), *fired]

    def _rules(self, path: Path) -> list[Any]:
        own = (self.graph.entities, self.graph.relations)
        rules = RuleSet.open(path, own)
        lines = list(rules.text_lines(rules.file_order))
        # with other numbers, so that everything is translated
        turned = [Vocabulary.from_names(reversed(names.names())) for names in own]
        other = RuleSet.open(path, (turned[0], turned[1]))
        fired = self._of_firings(self._fired(Engine(self.graph, rules)))
        return [rules.digest, rules.report, rules.settings, lines, other.digest, *fired]

    def _table(self, path: Path) -> list[Any]:
        rules = RuleSet.read(path, threads=1)
        return [rules.digest, rules.report.lines, list(rules.text_lines(rules.file_order))]

    def _firings(self, path: Path) -> list[Any]:
        file = FiringsFile(path)
        chunks = [x for chunk in file.chunks() for x in self._of_firings(chunk)]
        plain = [strategy(name) for name in ("max", "max+", "noisy-or-top-5")]
        ranks = rank_file(path, plain, threads=1)
        return [file.settings, ranks.optimistic, ranks.pessimistic, file.triples, *chunks]

    def _ranks(self, path: Path) -> list[Any]:
        ranks = Ranks.read(path)
        known = [ranks.entities.names(), ranks.relations.names(), ranks.strategies]
        return [*known, ranks.triples, ranks.optimistic, ranks.pessimistic]

    def _state(self, path: Path) -> list[Any]:
        fitted = strategy("sparse").fit(Fitting(self.engine, state=path, threads=1))
        return [fitted.report, *fitted.arrays().values()]

    def _strategy(self, path: Path) -> list[Any]:
        one = open_strategy(path, self.engine.names)
        scores = one.score(self.firings)
        return [one.name, one.report, scores, one.display(self.firings, scores)]


def damage(kind: str, whole: Path, path: Path, generator: np.random.Generator) -> str:
    """Write a damaged copy of the file `whole` to `path`; return what was done."""
    data = np.frombuffer(whole.read_bytes(), np.uint8).copy()
    ways = ["flip", "flip", "flip", "flips", "truncate", "blank", "craft", "forge"]
    way = ways[generator.integers(len(ways))]
    if way in ("craft", "forge"):
        change = _crafted if way == "craft" else _forged
        return f"{way} {rewritten(kind, whole, path, generator, change)}"
    place = int(generator.integers(len(data)))
    if way == "flip":
        data[place] ^= generator.integers(1, 256, dtype=np.uint8)
    elif way == "flips":
        places = generator.integers(len(data), size=8)
        data[places] ^= generator.integers(1, 256, 8, np.uint8)
    elif way == "truncate":
        data = data[:place]
    else:
        data[place : place + 512] = 0
    path.write_bytes(data.tobytes())
    return f"{way} {place}"


def rewritten(
    kind: str, whole: Path, path: Path, generator: np.random.Generator, change: Change
) -> str:
    """Write the file with something changed, and right digests; return what `change` says."""
    if kind in _ARRAYS:
        meta, arrays = open_arrays(whole, _ARRAYS[kind])
        what = change(arrays, _INDICES[kind], generator)
        save_arrays(path, _ARRAYS[kind], meta, arrays)
        return what
    what = "nothing"
    table = pq.read_table(whole)
    meta = dict(pq.ParquetFile(whole).metadata.metadata)
    if kind == "firings" and generator.integers(2):
        packed_arrays: dict[str, Any] = dict(
            np.load(io.BytesIO(meta[b"kgagg.arrays"]), allow_pickle=False)
        )
        what = change(packed_arrays, (*_QUERIES, *_NAMES), generator)
        packed = io.BytesIO()
        np.savez_compressed(packed, **packed_arrays)
        meta[b"kgagg.arrays"] = packed.getvalue()
        digest = digest_of(meta[b"kgagg.settings"] + packed.getvalue())
        meta[b"kgagg.arrays.digest"] = digest.encode()
    elif kind in _COLUMNS:
        name = str(generator.choice(_COLUMNS[kind]))
        column = table[name].combine_chunks()
        inner = column.values if name == "rules" else column
        numbers = {name: inner.to_numpy().copy()}
        what = (_outside if change is _crafted else change)(numbers, (name,), generator)
        new = pa.array(numbers[name], inner.type)
        if name == "rules":
            new = pa.LargeListArray.from_arrays(column.offsets, new)
        table = table.set_column(table.schema.get_field_index(name), table.field(name), new)
    elif change is not _unchanged:
        what = str(generator.choice(["rule", "predicted", "correct"]))
        table = table.drop_columns([what])
    with parquet_writer(path, table.schema) as file:
        file.write_table(table)
        file.add_key_value_metadata({k: v for k, v in meta.items() if k != b"ARROW:schema"})
    return what


def _unchanged(arrays: Arrays, indices: tuple[str, ...], generator: np.random.Generator) -> str:
    return "nothing"


def _forged(arrays: Arrays, indices: tuple[str, ...], generator: np.random.Generator) -> str:
    """Change any byte of any array: that may be another right file, or nonsense."""
    name = str(generator.choice([name for name, array in arrays.items() if array.size]))
    array = arrays[name] = arrays[name].copy()
    place = int(generator.integers(array.nbytes))
    array.reshape(-1).view(np.uint8)[place] ^= generator.integers(1, 256, dtype=np.uint8)
    return f"byte {place} of {name}"


def _crafted(arrays: Arrays, indices: tuple[str, ...], generator: np.random.Generator) -> str:
    """Put one number out of range, or lose or widen an array."""
    way = generator.integers(4)
    filled = [name for name in indices if arrays[name].size]
    if way < 2 and filled:
        return _outside(arrays, tuple(filled), generator)
    # a hash table that is gone is made again
    others = [name for name, array in arrays.items() if array.size and name not in _TABLES]
    name = str(generator.choice(others))
    if way == 2:
        del arrays[name]
    else:
        arrays[name] = arrays[name].astype(np.complex128).view(np.float64)
    return f"{name} {'removed' if way == 2 else 'widened'}"


def _outside(arrays: Arrays, indices: tuple[str, ...], generator: np.random.Generator) -> str:
    name = str(generator.choice(indices))
    array = arrays[name] = arrays[name].copy()
    limits = np.iinfo(array.dtype)
    choices = [limits.max] if limits.min == 0 else [limits.max, limits.min, limits.max // 2]
    place = tuple(int(generator.integers(size)) for size in array.shape)
    array[place] = choices[generator.integers(len(choices))]
    return f"{name}{list(place)} = {array[place]}"


def outcome(user: User, kind: str, path: Path, expected: str) -> str:
    """Use a damaged file: ``refused``, ``same``, ``different``, or a traceback."""
    try:
        found = user.results(kind, path)
    except InputError as error:
        return "refused" if "\n" not in str(error) else f"several lines: {error}"
    except Exception:
        return f"traceback: {traceback.format_exc()}"
    return "same" if found == expected else "different"


def run(folder: Path, kind: str, first: int, last: int) -> None:
    """Print what comes of the cases from `first` up to `last`."""
    user = User(folder)
    work = folder / f"work-{kind}-{first}"
    work.mkdir(exist_ok=True)
    path = work / "file.kgagg"
    path.write_bytes((folder / kind).read_bytes())
    expected = user.results(kind, path)
    # what is crafted is refused for what is wrong with it, not for how it is written
    rewritten(kind, folder / kind, path, np.random.default_rng(0), _unchanged)
    assert user.results(kind, path) == expected
    for case in range(first, last):
        generator = np.random.default_rng([SEED, KINDS.index(kind), case])
        what = damage(kind, folder / kind, path, generator)
        print(json.dumps([what, None]), flush=True)
        print(json.dumps([what, outcome(user, kind, path, expected)]), flush=True)


if __name__ == "__main__":
    run(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
