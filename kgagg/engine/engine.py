"""The driver of the engine: threads, chunks, progress, memory."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np

from kgagg.engine import kernels
from kgagg.engine.firings import Firings, Names
from kgagg.engine.index import build_index
from kgagg.engine.queries import Queries
from kgagg.engine.semantics import Semantics, semantics
from kgagg.errors import Failed, at_least
from kgagg.graph.adjacency import Adjacency
from kgagg.graph.graph import Graph
from kgagg.rules.confidence import Confidence
from kgagg.rules.ruleset import RuleSet
from kgagg.util.arrays import in_large_pages
from kgagg.util.machine import free_memory, processors
from kgagg.util.progress import Progress
from kgagg.util.timing import Stopwatch


class Engine:
    """Rules made ready to be applied to queries on a graph.

    Parameters
    ----------
    graph : Graph
        Bodies are matched with its train split.
    rules : RuleSet
        Over the vocabularies of `graph`.
    meaning : str or Semantics
        What counts as a prediction.
    """

    def __init__(self, graph: Graph, rules: RuleSet, meaning: str | Semantics = "anyburl") -> None:
        self.graph, self.rules = graph, rules
        self.semantics = semantics(meaning) if isinstance(meaning, str) else meaning
        index = build_index(graph, rules, self.semantics)
        self.index = kernels.Index(**in_large_pages(index._asdict()))
        self.facts = _facts(graph.adjacency)

    @classmethod
    def open(
        cls,
        data: str | os.PathLike[str] | Graph,
        rules: RuleSet | str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        meaning: str | Semantics = "anyburl",
        *,
        pca: bool = False,
        strict: bool = False,
        threads: int | None = None,
        watch: Stopwatch | None = None,
    ) -> Engine:
        """Read a graph and rules, and index them.

        Parameters
        ----------
        data : path or Graph
            A folder, or the name of a registered dataset.
        rules : RuleSet, path or sequence of paths
            Files are read with the weights and thresholds of the semantics; a `RuleSet` is taken as
            it is.
        meaning : str or Semantics
        pca : bool
            Rank the rules of files by AMIE's PCA confidence.
        strict, threads
            See `RuleSet.read`.
        watch : Stopwatch, optional
            Takes the seconds of ``load`` and ``index``.
        """
        watch = watch or Stopwatch()
        chosen = semantics(meaning) if isinstance(meaning, str) else meaning
        with watch.stage("load"):
            graph = data if isinstance(data, Graph) else Graph.read(data)
            names = (graph.entities, graph.relations)
            if isinstance(rules, RuleSet):
                found = rules.translated(*names)
            else:
                confidence = dataclasses.replace(Confidence.preset(chosen.name), pca=pca)
                found = RuleSet.read(rules, names, confidence, strict=strict, threads=threads)
        with watch.stage("index"):
            return cls(graph, found, chosen)

    @property
    def names(self) -> Names:
        """What the numbers in its firings stand for."""
        return Names(self.graph.entities, self.graph.relations, self.rules.digest)

    def apply(
        self,
        queries: Queries,
        known: Adjacency,
        *,
        top_x: int = 200,
        best: int = 10,
        complete: bool = True,
        threads: int | None = None,
        chunk: int = 256,
        memory: int | None = None,
        quiet: bool = True,
    ) -> Iterator[Firings]:
        """Apply the rules to `queries`; yield the firings of one chunk after the other.

        Parameters
        ----------
        queries : Queries
        known : Adjacency
            Known facts, which are filtered: not candidates, unless they are targets.
        top_x : int
            The pool is closed by the rule that reaches this many candidates other than targets are
            reached; 0 keeps all candidates.
        best : int
            How many rules to keep for each candidate; 0 keeps all.
        complete : bool
            If false, no rule is applied after the pool is closed: enough for MAX alone, as the best
            rule of each candidate is known by then.
        threads : int, optional
            All processors by default. The result does not depend on it, nor on `chunk`.
        chunk : int
            How many queries to apply at once.
        memory : int, optional
            How many bytes the working space and the chunks under way may take; 60 % of what is
            free by default.
        quiet : bool
            Show no progress.

        Raises
        ------
        Failed
            If a query needs more than `memory`.
        """
        at_least("top_x", top_x, 0)
        at_least("best", best, 0)
        at_least("threads", threads, 1)
        options = kernels.Options(
            self.semantics.strict_identity,
            self.semantics.branching,
            self.semantics.discrimination,
            top_x,
            best,
            complete,
        )
        memory = memory or int(0.6 * free_memory())
        stop = np.zeros(1, np.bool_)
        first = _Worker(self, stop)
        # a thread may take half its share for working space, and the other for what it finds
        threads = min(threads or processors(), max(1, memory // (2 * first.nbytes)))
        spare = [first] + [_Worker(self, stop) for _ in range(threads - 1)]
        for worker in spare:
            worker.budget = memory // threads
        known_facts = _facts(known)
        # compiles the kernel, if that is to be done, in the thread that hears Ctrl-C
        first.run(queries.part(0, 0), known_facts, options)
        starts = iter(range(0, len(queries), chunk))
        waiting: dict[int, Future[Firings]] = {}

        def run(start: int) -> Firings:
            worker = spare.pop()
            try:
                part = queries.part(start, min(start + chunk, len(queries)))
                return worker.run(part, known_facts, options)
            finally:
                spare.append(worker)

        executor = ThreadPoolExecutor(threads)
        try:
            with Progress("apply", len(queries), "queries", quiet=quiet) as progress:
                position, largest = 0, 1
                while position < len(queries):
                    # A few chunks ahead, so that a slow one does not hold up the others; but with
                    # one thread none, so that it rests while the caller works.
                    most = 4 * threads if threads > 1 else 1
                    ahead = min(most, max(threads, memory // 2 // largest))
                    while len(waiting) < ahead and (start := next(starts, None)) is not None:
                        waiting[start] = executor.submit(run, start)
                    while not waiting[position].done():
                        wait([waiting[position]], timeout=0.2)
                    firings = waiting.pop(position).result()
                    largest = max(largest, firings.nbytes)
                    position += len(firings.queries)
                    progress.add(len(firings.queries))
                    yield firings
        finally:
            stop[0] = True
            executor.shutdown(wait=True, cancel_futures=True)


class _Worker:
    """The working space of one thread, which grows when a query needs more."""

    def __init__(self, engine: Engine, stop: np.ndarray) -> None:
        self.engine, self.budget = engine, 0
        self.scratch = _scratch(
            stop,
            entities=len(engine.graph.entities),
            slots=2 * len(engine.graph.relations),
            nodes=len(engine.index.node),
        )
        self.out = _output(_START, 4 * _START)

    @property
    def nbytes(self) -> int:
        """How many bytes the working space takes."""
        return sum(array.nbytes for array in (*self.scratch, *self.out))

    def run(self, queries: Queries, known: kernels.Facts, options: kernels.Options) -> Firings:
        """Apply the rules to `queries` in this thread."""
        engine, state = self.engine, self.scratch.state
        slots = (2 * queries.relation + queries.direction).astype(np.int32)
        size = np.zeros(len(queries), np.int32)
        state[kernels.DONE_QUERIES] = state[kernels.ROWS] = state[kernels.RULES] = 0
        while True:
            status = kernels.apply_queries(
                engine.facts,
                known,
                engine.index,
                options,
                self.scratch,
                slots,
                queries.entity,
                queries.target_ptr,
                queries.target,
                size,
                self.out,
            )
            if status == kernels.DONE:
                break
            if status == kernels.STOPPED:
                raise CancelledError
            if 2 * self.nbytes > self.budget:
                raise Failed(
                    f"a query needs more than the {self.budget / 1e9:.1f} GB of memory of a thread;"
                    " give more with --memory, or use fewer threads"
                )
            if status == kernels.GROW_OUTPUT:
                self.out = kernels.Output(*(_doubled(array) for array in self.out))
            else:
                self.scratch = self.scratch._replace(
                    **{name: _doubled(getattr(self.scratch, name)) for name in _GROWING}
                )
        rows, rules = state[kernels.ROWS], state[kernels.RULES]
        out = self.out
        return Firings(
            queries,
            np.concatenate([[0], np.cumsum(size)]).astype(np.int64),
            out.candidate[:rows].copy(),
            out.rule_count[:rows].copy(),
            out.strength[:rows].copy(),
            out.level[:rows].copy(),
            np.concatenate([[0], np.cumsum(out.kept[:rows])]).astype(np.int64),
            out.rules[:rules].copy(),
            engine.rules.confidence,
            engine.index.weight,
        )


_START = 1 << 16
_GROWING = ("arena", "hits", "fires", "pieces", "piece_start", "sorted", "links", "lists")


def _scratch(stop: np.ndarray, *, entities: int, slots: int, nodes: int) -> kernels.Scratch:
    shapes: dict[str, tuple[Any, Any]] = {
        "state": (8, np.int64),
        "mark": ((entities, 4), np.int32),
        "seen": (entities, np.int32),
        "row": ((entities, 2), np.int32),
        "memo": ((nodes, 3), np.int64),
        "arena": (_START, np.int32),
        "found": (entities, np.int32),
        "hits": (_START, np.int64),
        "heap": (slots, np.int64),
        "streams": ((slots, 3), np.int32),
        "pool": (entities, np.int32),
        "fires": (_START, np.int32),
        "pieces": (_START, np.int64),
        "piece_start": (_START, np.int64),
        "bucket": ((slots, 4), np.int64),
        "links": ((_START, 3), np.int32),
        "list_ptr": (entities + 1, np.int64),
        "lists": (_START, np.int32),
        "order": ((2, entities), np.int32),
        "path": ((6, 64), np.int64),
        "totals": (4, np.int64),
        "digits": (256, np.int64),
        "sorted": (_START, np.int64),
        "climb": (64, np.int32),
        "stack": (nodes, np.int32),
    }
    arrays = {name: np.zeros(*shape) for name, shape in shapes.items()}
    return kernels.Scratch(stop=stop, **in_large_pages(arrays))


def _output(rows: int, rules: int) -> kernels.Output:
    return kernels.Output(
        np.empty(rows, np.int32),
        np.empty(rows, np.int32),
        np.empty(rows, np.float64),
        np.empty(rows, np.int32),
        np.empty(rows, np.int32),
        np.empty(rules, np.int32),
    )


def _doubled(array: np.ndarray) -> np.ndarray:
    return np.concatenate([array, np.zeros_like(array)])


def _facts(adjacency: Adjacency) -> kernels.Facts:
    arrays = {name: getattr(adjacency, name) for name in kernels.Facts._fields}
    return kernels.Facts(**in_large_pages(arrays))
