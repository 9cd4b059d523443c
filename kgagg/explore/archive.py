"""Views as files: for an archive, or the supplement of a paper."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from kgagg.engine.queries import MISSING
from kgagg.explore.explorer import Explorer, View
from kgagg.explore.pages import ASSETS, Pages, address, to_csv
from kgagg.util.files import writing

# candidates of each query that are explained
EXPLAINED = 10


def write_archive(explorer: Explorer, queries: Iterable[tuple[int, int, int]], folder: Path) -> int:
    """Write the candidates of queries, explanations of the best, and what these name.

    Each page has the table that it shows beside it, as CSV. Links lead to pages that are written,
    so the folder can be opened, moved and served as it is.

    Parameters
    ----------
    explorer : Explorer
    queries : iterable of (head, relation, tail)
        Numbers, `MISSING` for what is asked for.
    folder : Path

    Returns
    -------
    int
        How many pages there are.
    """
    home = explorer.home()
    views: dict[str, View] = {address("home", {}): home}

    def add(name: str, view: View, asked: Mapping[str, object]) -> View:
        return views.setdefault(address(name, asked), view)

    graph = explorer.graph
    kinds = (graph.entities, graph.relations, graph.entities)
    for query in queries:
        head, relation, tail = (
            "" if n == MISSING else kind[n] for kind, n in zip(kinds, query, strict=True)
        )
        asked = {"head": head, "relation": relation, "tail": tail}
        found = add("ask", explorer.ask(head, relation, tail), asked)
        home.values["asked"].append((asked, found.title))
        strategy = found.values["chosen"][0]
        for one in found.values["candidates"][:EXPLAINED]:
            fact = asked | {found.values["asked"]: one["name"]}
            why = explorer.why(**fact, strategy=strategy)
            add("why", why, fact | {"strategy": strategy})
            for direction in ("tail", "head"):
                for reason in why.values["explanation"][direction]["reasons"]:
                    number = {"number": reason["rank"]}
                    if address("rule", number) not in views:
                        add("rule", explorer.rule(reason["rank"]), number)
            for name in (fact["head"], fact["tail"]):
                add("entity", explorer.entity(name), {"name": name})

    def link(name: str, asked: Mapping[str, object]) -> str | None:
        where = address(name, asked)
        return _file(where) if where in views else None

    pages = Pages(explorer.label, link, "", live=False)
    folder.mkdir(parents=True, exist_ok=True)
    for where, view in views.items():
        with writing(folder / _file(where)) as file:
            file.write(pages.html(view, where))
        with writing((folder / _file(where)).with_suffix(".csv")) as file:
            file.write(to_csv(view))
    for name in ("style.css", "icon.svg"):
        shutil.copyfile(ASSETS / name, folder / name)
    return len(views)


def _file(where: str) -> str:
    """Return the name of the file of an address: the same for the same query."""
    if where == "/":
        return "index.html"
    name = where[1:].partition("?")[0]
    return f"{name}-{hashlib.sha256(where.encode()).hexdigest()[:16]}.html"
