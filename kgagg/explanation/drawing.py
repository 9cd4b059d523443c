"""Facts drawn as a small graph, as SVG for a page."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape

# head, relation, tail, by name
Fact = Sequence[str]
Point = tuple[float, float]
# pixels: of a letter, from row to row, of a node, above the first row
_LETTER, _ROW, _NODE, _TOP = 7.2, 48, 26, 56

# what the drawings of a page share; the colours are the page's
STYLE = """
svg { max-width: 100%; height: auto; display: block; margin: 0.5rem 0 }
svg text { font: 12.5px system-ui, sans-serif; fill: var(--ink); text-anchor: middle }
svg .label { fill: var(--soft); paint-order: stroke; stroke: var(--paper); stroke-width: 5px }
svg .line { stroke: var(--soft); fill: none } svg .tip { fill: var(--soft) }
svg .new { stroke: var(--accent); fill: none; stroke-dasharray: 5 4; stroke-width: 1.6 }
svg .new-tip { fill: var(--accent) }
svg .node { fill: var(--paper); stroke: var(--soft) }
svg .end { fill: var(--tint); stroke: var(--accent) }
"""
MARKERS = "".join(
    f"<svg width='0' height='0' style='position:absolute'><marker id='{name}' viewBox='0 0 8 8' "
    f"markerWidth='8' markerHeight='8' refX='7.5' refY='4' orient='auto'>"
    f"<path class='{name}' d='M0,0 L8,4 L0,8 z'/></marker></svg>"
    for name in ("tip", "new-tip")
)


def draw(
    ways: Sequence[Sequence[Fact]],
    fact: Fact,
    label: Callable[[str], str] = str,
    link: Callable[[str], str | None] = lambda name: None,
) -> str:
    """Draw the ways in which a fact follows from others.

    The head is on the left, the tail on the right, and the entities between them in rows, one for
    each way; the fact itself is a dashed arc above.

    Parameters
    ----------
    ways : sequence of sequences of (head, relation, tail)
        Each by the facts that it takes.
    fact : (head, relation, tail)
    label : callable
        From the name of an entity or a relation to what is shown for it.
    link : callable
        From the name of an entity to where it leads; None for nowhere.
    """
    head, relation, tail = fact
    text = {name: _short(label(name)) for one in (fact, *itertools.chain(*ways)) for name in one}
    rows = [_inner(way, (head, tail)) for way in ways]
    columns = [[head], *map(_distinct, itertools.zip_longest(*rows, fillvalue=""))]
    if tail != head:
        columns.append([tail])
    widths = [max(_width(text[name]) for name in column) for column in columns]
    gap = 46 + _LETTER * max(len(text[one[1]]) for one in (fact, *itertools.chain(*ways)))
    x = [widths[0] / 2 + 2]
    for before, after in itertools.pairwise(widths):
        x.append(x[-1] + before / 2 + gap + after / 2)
    middle = _TOP + (len(rows) - 1) * _ROW / 2 + _NODE / 2
    place = {head: (x[0], middle)} | ({} if tail == head else {tail: (x[-1], middle)})
    for number, row in enumerate(rows):
        for column, name in enumerate(row, start=1):
            place.setdefault(name, (x[column], _TOP + number * _ROW + _NODE / 2))
    facts = dict.fromkeys(tuple(one) for way in ways for one in way)
    parts = [_arc(place[head], place[tail], text[relation])]
    parts += [_edge(place, text, *one) for one in facts]
    parts += [_node(text[name], at, name in (head, tail), link(name)) for name, at in place.items()]
    width, height = x[-1] + widths[-1] / 2 + 2, _TOP + len(rows) * _ROW - _ROW + _NODE + 4
    size = f"viewBox='0 0 {width:.0f} {height:.0f}' width='{width:.0f}'"
    return f"<svg {size} role='img'>{''.join(parts)}</svg>"


def _inner(way: Sequence[Fact], ends: tuple[str, str]) -> list[str]:
    """Return the other entities in the order in which the facts have them."""
    names = _distinct(name for one in way for name in (one[0], one[2]))
    return [name for name in names if name not in ends]


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(name for name in names if name))


def _width(text: str) -> float:
    return len(text) * _LETTER + 18


def _node(text: str, at: Point, end: bool, link: str | None) -> str:
    x, y = at
    width = _width(text)
    node = (
        f"<rect class='{'end' if end else 'node'}' x='{x - width / 2:.1f}' "
        f"y='{y - _NODE / 2:.1f}' width='{width:.1f}' height='{_NODE}' rx='{_NODE / 2:g}'/>"
        f"<text x='{x:.1f}' y='{y + 4:.1f}'>{escape(text)}</text>"
    )
    return node if link is None else f"<a href='{escape(link)}'>{node}</a>"


def _edge(
    place: Mapping[str, Point], text: Mapping[str, str], head: str, relation: str, tail: str
) -> str:
    """Draw a fact from the side of one node to the side of the other."""
    (x1, y1), (x2, y2) = place[head], place[tail]
    if head == tail:
        return _loop((x1, y1), text[relation], "line", "tip", 30)
    if x1 == x2:
        y1, y2 = (
            y + (_NODE / 2 if above else -_NODE / 2) for y, above in ((y1, y1 < y2), (y2, y2 < y1))
        )
    else:
        toward = 1 if x1 < x2 else -1
        x1, x2 = x1 + toward * _width(text[head]) / 2, x2 - toward * _width(text[tail]) / 2
    return (
        f"<path class='line' d='M{x1:.1f},{y1:.1f} L{x2:.1f},{y2:.1f}' marker-end='url(#tip)'/>"
        + _label(text[relation], (x1 + x2) / 2, (y1 + y2) / 2 + 4)
    )


def _arc(start: Point, end: Point, relation: str) -> str:
    """Draw the fact that follows, above all others."""
    (x1, y1), (x2, y2) = start, end
    if start == end:
        return _loop(start, relation, "new", "new-tip", 60)
    y1, y2, top = y1 - _NODE / 2, y2 - _NODE / 2, 22
    path = f"M{x1:.1f},{y1:.1f} C{x1:.1f},{top} {x1 + 40:.1f},{top} {x1 + 70:.1f},{top}"
    path += f" L{x2 - 70:.1f},{top} C{x2 - 40:.1f},{top} {x2:.1f},{top} {x2:.1f},{y2:.1f}"
    line = f"<path class='new' d='{path}' marker-end='url(#new-tip)'/>"
    return line + _label(relation, (x1 + x2) / 2, top + 4)


def _loop(at: Point, relation: str, kind: str, tip: str, height: int) -> str:
    x, y = at[0], at[1] - _NODE / 2
    top = y - height
    path = f"M{x - 8:.1f},{y:g} C{x - 40:.1f},{top:g} {x + 40:.1f},{top:g} {x + 8:.1f},{y:g}"
    line = f"<path class='{kind}' d='{path}' marker-end='url(#{tip})'/>"
    return line + _label(relation, x, y - 0.75 * height)


def _label(text: str, x: float, y: float) -> str:
    return f"<text class='label' x='{x:.1f}' y='{y:.1f}'>{escape(text)}</text>"


def _short(name: str, most: int = 34) -> str:
    return name if len(name) <= most else f"{name[: most // 2]}…{name[-most // 2 + 1 :]}"
