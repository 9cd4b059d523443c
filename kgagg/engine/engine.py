"""The driver of the engine: threads, chunks, progress, memory."""

from __future__ import annotations

import dataclasses
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait

import numpy as np

from kgagg.engine import scratch
from kgagg.engine.firings import Firings, Names
from kgagg.engine.index import build_index
from kgagg.engine.kernels import layout
from kgagg.engine.kernels.query import apply_queries
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
        arrays = in_large_pages(scratch.joined(*index))
        records = (layout.RuleTable, layout.SimpleRules, layout.Trie)
        self.index = layout.Index(*(scratch.part(record, arrays) for record in records))
        self.facts = _facts(graph.adjacency)

    @classmethod
    def open(
        cls,
        data: str | os.PathLike[str] | Graph,
        rules: RuleSet | str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        meaning: str | Semantics = "anyburl",
        *,
        literals: str = "drop",
        pca: bool = False,
        strict: bool = False,
        threads: int | None = None,
        watch: Stopwatch | None = None,
    ) -> Engine:
        """Read a graph and rules, and index them.

        Parameters
        ----------
        data : path or Graph
            See `Graph.read`.
        rules : RuleSet, path or sequence of paths
            Files are read with the weights and thresholds of the semantics; a `RuleSet` is taken as
            it is.
        meaning : str or Semantics
        literals : str
            See `Graph.read`.
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
            graph = data if isinstance(data, Graph) else Graph.read(data, literals=literals)
            names = (graph.entities, graph.relations)
            if isinstance(rules, RuleSet):
                found = rules.translated(*names)
            else:
                confidence = dataclasses.replace(Confidence.preset(chosen.name), pca=pca)
                found = RuleSet.read(rules, names, confidence, strict=strict, threads=threads)
        found.expect_some("the graph" if isinstance(data, Graph) else data)
        with watch.stage("index"):
            return cls(graph, found, chosen)

    @property
    def names(self) -> Names:
        """What the numbers in its firings stand for."""
        return Names(self.graph.entities, self.graph.relations, self.rules.digest, len(self.rules))

    def apply(
        self,
        queries: Queries,
        known: Adjacency,
        *,
        allowed: np.ndarray | None = None,
        top_x: int = 200,
        best: int = 10,
        complete: bool = True,
        threads: int | None = None,
        chunk: int = 256,
        memory: int | None = None,
        stop: np.ndarray | None = None,
        quiet: bool = True,
    ) -> Iterator[Firings]:
        """Apply the rules to `queries`; yield the firings of one chunk after the other.

        Parameters
        ----------
        queries : Queries
        known : Adjacency
            Known facts, which are filtered: not candidates, unless they are targets.
        allowed : bool[2, entities], optional
            Which entities may be tails, and which heads: no others are candidates, unless they are
            targets. All by default.
        top_x : int
            The pool is closed by the rule that reaches this many candidates other than targets; 0
            keeps all candidates.
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
        stop : bool[1], optional
            As soon as another thread sets it, the kernels end, and CancelledError is raised. It is
            set in the end, too.
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
        meaning = self.semantics
        bounds = (meaning.strict_identity, meaning.branching, meaning.discrimination)
        options = layout.Options(*bounds, top_x, best, complete)
        memory = memory or int(0.6 * free_memory())
        stop = np.zeros(1, np.bool_) if stop is None else stop
        if allowed is None:
            allowed = np.ones((2, len(self.graph.entities)), np.bool_)
        few = len(queries) <= _FEW
        spare = _workers(lambda: _Worker(self, stop, allowed, few), threads or processors(), memory)
        threads = len(spare)
        known_facts = _facts(known, few)
        # compiles the kernel, if that is to be done, in the thread that hears Ctrl-C
        spare[0].run(queries.part(0, 0), known_facts, options)

        def run(start: int) -> Firings:
            worker = spare.pop()
            try:
                part = queries.part(start, min(start + chunk, len(queries)))
                return worker.run(part, known_facts, options)
            finally:
                spare.append(worker)

        with Progress("apply", len(queries), "queries", quiet=quiet) as progress:
            for firings in _in_order(run, range(0, len(queries), chunk), threads, memory, stop):
                progress.add(len(firings.queries))
                yield firings


def _in_order(
    run: Callable[[int], Firings],
    starts: Sequence[int],
    threads: int,
    memory: int,
    stop: np.ndarray,
) -> Iterator[Firings]:
    """Yield what `run` finds for each start, in their order, from several threads.

    However it ends, `stop` is set, so that kernels under way end soon.
    """
    executor = ThreadPoolExecutor(threads)
    waiting: deque[Future[Firings]] = deque()
    rest, largest = iter(starts), 1
    try:
        while True:
            # A few chunks ahead, so that a slow one does not hold up the others; but with one
            # thread none, so that it rests while the caller works.
            most = 4 * threads if threads > 1 else 1
            ahead = min(most, max(threads, memory // 2 // largest))
            while len(waiting) < ahead and (start := next(rest, None)) is not None:
                waiting.append(executor.submit(run, start))
            if not waiting:
                return
            while not waiting[0].done():
                wait([waiting[0]], timeout=0.2)
            firings = waiting.popleft().result()
            largest = max(largest, firings.nbytes)
            yield firings
    finally:
        stop[0] = True
        executor.shutdown(wait=True, cancel_futures=True)


class _Worker:
    """The working space of one thread, which grows when a query needs more."""

    def __init__(self, engine: Engine, stop: np.ndarray, allowed: np.ndarray, few: bool) -> None:
        self.engine, self.budget = engine, 0
        self.scratch = scratch.new_scratch(
            stop,
            allowed,
            entities=len(engine.graph.entities),
            slots=2 * len(engine.graph.relations),
            nodes=len(engine.index.trie.node),
            large_pages=not few,
        )
        self.out = scratch.new_output(scratch.START, 4 * scratch.START)

    @property
    def nbytes(self) -> int:
        """How many bytes the working space takes."""
        return scratch.size_of(self.scratch) + sum(array.nbytes for array in self.out)

    def run(self, queries: Queries, known: layout.Facts, options: layout.Options) -> Firings:
        """Apply the rules to `queries` in this thread."""
        engine, state = self.engine, self.scratch.state
        slots = (2 * queries.relation + queries.direction).astype(np.int32)
        size = np.zeros(len(queries), np.int32)
        state[layout.DONE_QUERIES] = state[layout.ROWS] = state[layout.RULES] = 0
        while True:
            status = apply_queries(
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
            if status == layout.DONE:
                break
            if status == layout.STOPPED:
                raise CancelledError
            if 2 * self.nbytes > self.budget:
                raise Failed(
                    f"a query needs more than the {self.budget / 1e9:.1f} GB of memory of a thread;"
                    " give more with --memory, or use fewer threads"
                )
            if status == layout.GROW_OUTPUT:
                self.out = layout.Output(*map(scratch.doubled, self.out))
            else:
                self.scratch = scratch.grown(self.scratch)
        rows, rules = state[layout.ROWS], state[layout.RULES]
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
            engine.index.rules.weight,
        )


# to put arrays into large pages takes longer than this many queries
_FEW = 16


def _workers(make: Callable[[], _Worker], threads: int, memory: int) -> list[_Worker]:
    """Make one worker for each thread, or fewer if `memory` is not enough for all."""
    first = make()
    # a thread may take half its share for working space, and the other for what it finds
    threads = min(threads, max(1, memory // (2 * first.nbytes)))
    workers = [first, *(make() for _ in range(threads - 1))]
    for worker in workers:
        worker.budget = memory // threads
    return workers


def _facts(adjacency: Adjacency, few: bool = False) -> layout.Facts:
    """Return facts as kernels take them, in large pages unless they serve few queries."""
    arrays = {name: getattr(adjacency, name) for name in layout.Facts._fields}
    # those of a mapped file are of another type to numba, as they are read-only
    if few and all(array.flags.writeable for array in arrays.values()):
        return layout.Facts(**arrays)
    return layout.Facts(**in_large_pages(arrays))
