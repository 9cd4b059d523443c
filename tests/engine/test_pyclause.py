"""Every candidate's score beside that of the real PyClause, on real data and in small worlds.

Needs KGAGG_TEST_DATA, and KGAGG_PYCLAUSE_PYTHON: a Python that can import clause and c_clause.
"""

from __future__ import annotations

import json
import lzma
import os
import random
import shutil
import subprocess
from collections.abc import Sequence
from itertools import pairwise, product
from pathlib import Path

import naive
import numpy as np
import pytest
from small import make_queries

from kgagg.data.archives import extract
from kgagg.engine.engine import Engine
from kgagg.engine.queries import Queries
from kgagg.graph.adjacency import Adjacency
from kgagg.graph.graph import SPLITS, Graph
from kgagg.rules.confidence import Confidence
from kgagg.rules.ruleset import RuleSet
from kgagg.rules.shapes import ME

# for each folder given, answers its queries with all candidates and their scores
PROGRAM = """
import json, sys
import numpy as np
from c_clause import Loader, QAHandler
from clause import Options
options = Options()
settings = {
    "num_threads": 2, "verbose": False, "aggregation_function": "noisyor", "num_top_rules": -1,
    "topk": 100_000_000, "disc_at_least": -1, "hard_stop_at": -1, "filter_w_data": True,
}
for name, value in settings.items():
    options.set(f"qa_handler.{name}", value)
for folder in sys.argv[1:]:
    loader = Loader(options=options.get("loader"))
    data, known, wanted = (f"{folder}/{split}.txt" for split in ("train", "valid", "test"))
    loader.load_data(data=data, filter=known, target=wanted)
    loader.load_rules(rules=f"{folder}/rules.txt")
    index = loader.get_entity_index()
    queries = json.load(open(f"{folder}/queries.json"))
    answers = [None] * len(queries)
    for number, direction in enumerate(("tail", "head")):
        rows = [row for row, query in enumerate(queries) if query[0] == number]
        handler = QAHandler(options=options.get("qa_handler"))
        pairs = [(entity, relation) for _, relation, entity in (queries[row] for row in rows)]
        handler.calculate_answers(queries=pairs, loader=loader, direction=direction)
        for row, answer in zip(rows, handler.get_answers(as_string=False)):
            answers[row] = answer
    np.savez(
        f"{folder}/answers.npz",
        names=np.array(sorted(index, key=index.get)),
        sizes=[len(answer) for answer in answers],
        candidates=np.array([entity for answer in answers for entity, _ in answer], np.int64),
        scores=np.array([score for answer in answers for _, score in answer], np.float64),
    )
"""


@pytest.fixture(scope="session")
def pyclause() -> str:
    """The Python that can import PyClause."""
    if not (python := os.environ.get("KGAGG_PYCLAUSE_PYTHON")):
        pytest.skip("KGAGG_PYCLAUSE_PYTHON is not set: it names a Python that can import c_clause")
    check = subprocess.run([python, "-c", "import c_clause, clause, numpy"], capture_output=True)
    if check.returncode:
        pytest.skip(f"{python} cannot import c_clause, clause and numpy")
    return python


def answer(python: str, *folders: Path) -> None:
    """Let PyClause answer the queries of each folder."""
    call = [python, "-c", PROGRAM, *map(str, folders)]
    subprocess.run(call, check=True, cwd=folders[0], stdout=subprocess.DEVNULL)


def compare(folder: Path, graph: Graph, queries: Queries) -> tuple[int, float]:
    """Compare the answers of PyClause with ours: how many there are, and how far they are apart."""
    rules = RuleSet.read(
        folder / "rules.txt", (graph.entities, graph.relations), Confidence.preset("pyclause")
    )
    facts = np.concatenate([graph.train, graph.valid])
    known = Adjacency.build(facts, len(graph.entities), len(graph.relations))
    chunks = list(Engine(graph, rules, "pyclause").apply(queries, known, top_x=0, best=1))
    theirs = np.load(folder / "answers.npz")
    sizes = np.concatenate([np.diff(firings.query_ptr) for firings in chunks])
    assert sizes.tolist() == theirs["sizes"].tolist()
    number = np.array([graph.entities.id(str(entity)) for entity in theirs["names"]])
    query = np.repeat(np.arange(len(queries)), sizes)
    candidates = (
        np.concatenate([firings.candidate for firings in chunks]),
        number[theirs["candidates"]],
    )
    ours, expected = (np.lexsort((candidate, query)) for candidate in candidates)
    assert (candidates[0][ours] == candidates[1][expected]).all()
    scores = -np.expm1(-np.concatenate([firings.strength for firings in chunks]))
    difference = np.abs(scores[ours] - theirs["scores"][expected])
    return len(difference), difference.max(initial=0)


@pytest.mark.parametrize(("name", "count"), [("wnrr", 1000), ("fb15k-237", 200)])
def test_real_rules(
    name: str, count: int, pyclause: str, shared_data: Path, tmp_path: Path
) -> None:
    folder = tmp_path
    splits = {f"{split}.txt": folder / f"{split}.txt" for split in SPLITS}
    extract(shared_data / "data" / f"{name}.tar.gz", splits, name)
    with (
        lzma.open(shared_data / "rules" / f"{name}.anyburl.rules.xz") as packed,
        (folder / "rules.txt").open("wb") as plain,
    ):
        shutil.copyfileobj(packed, plain)
    graph = Graph.from_folder(folder)
    every = sorted(
        {(0, r, h) for h, r, _ in naive.read_facts((folder / "test.txt").read_text())}
        | {(1, r, t) for _, r, t in naive.read_facts((folder / "test.txt").read_text())}
    )
    chosen = random.Random(0).sample(every, count)
    (folder / "queries.json").write_text(json.dumps(chosen))
    answer(pyclause, folder)
    candidates, difference = compare(folder, graph, make_queries(graph, chosen, [()] * count))
    print(f"{name}: {candidates:,} candidates, greatest difference {difference:.2g}")
    assert difference < 1e-9


def test_small_worlds(pyclause: str, tmp_path: Path) -> None:
    # self-loops, equal constants and short cycles are everywhere
    folders = []
    for seed in range(200):
        folders.append(tmp_path / str(seed))
        write_world(random.Random(seed), folders[-1])
    answer(pyclause, *folders)
    total = 0
    for folder in folders:
        graph = Graph.from_folder(folder)
        queries = json.loads((folder / "queries.json").read_text())
        asked = make_queries(graph, queries, [()] * len(queries))
        candidates, difference = compare(folder, graph, asked)
        assert difference < 1e-9, folder
        total += candidates
    print(f"small worlds: {total:,} candidates")


RELATIONS = ("pp", "qq", "rr")


def write_world(generator: random.Random, folder: Path) -> None:
    """Write a random graph, rules of every shape that PyClause can apply, and all queries."""
    folder.mkdir()
    entities = [f"e{i}" for i in range(generator.randint(4, 9))]
    every = list(product(entities, RELATIONS, entities))
    train = generator.sample(every, generator.randint(len(every) // 10, len(every) // 2))
    # every name is known to PyClause, which else fails on its rules
    train += [(entity, "all", entity) for entity in entities]
    train += [(entities[0], relation, entities[0]) for relation in RELATIONS]
    splits = {
        "train": train,
        "valid": generator.sample(every, 5),
        "test": generator.sample(every, 5),
    }
    for split, facts in splits.items():
        text = "".join("\t".join(fact) + "\n" for fact in dict.fromkeys(facts))
        (folder / f"{split}.txt").write_text(text)
    lines = []
    for rule in dict.fromkeys(random_rule(generator, entities) for _ in range(15)):
        correct = generator.randint(1, 20)
        lines.append(f"20\t{correct}\t{correct / 20}\t{rule}\n")
    (folder / "rules.txt").write_text("".join(lines))
    (folder / "queries.json").write_text(json.dumps(list(product((0, 1), RELATIONS, entities))))


def random_rule(generator: random.Random, entities: Sequence[str]) -> naive.Rule:
    relation, side = generator.choice(RELATIONS), generator.choice("XY")
    constant, end = generator.choice(entities), generator.choice(entities)
    length = generator.randint(1, 3)
    shape = generator.choice(["cyclic", "constant", "dangling", "zero", "reflexive"])
    if shape == "cyclic":
        return naive.Rule((relation, "X", "Y"), walk(generator, "X", length, "Y"))
    if shape == "reflexive":
        constant, length, end = ME, 1, generator.choice([end, "A"])
    head = (relation, "X", constant) if side == "X" else (relation, constant, "Y")
    if shape == "zero":
        return naive.Rule(head)
    if shape == "dangling":
        # with two steps or more it crashes where nothing is found
        length, end = 1, "A"
    return naive.Rule(head, walk(generator, side, length, end))


def walk(
    generator: random.Random, start: str, length: int, end: str
) -> tuple[tuple[str, str, str], ...]:
    """A path of `length` atoms; PyClause expects the inner variables in the order of letters."""
    terms = pairwise([start, *"ABC"[: length - 1], end])
    atoms = [generator.choice([(one, two), (two, one)]) for one, two in terms]
    return tuple((generator.choice(RELATIONS), *atom) for atom in atoms)
