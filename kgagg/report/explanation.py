"""An explanation as text and as a page with drawings of what makes rules fire."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

# what `Explanation.to_json` gives
Plain = dict[str, Any]


def _atom(fact: Sequence[str]) -> str:
    head, relation, tail = fact
    return f"{relation}({head}, {tail})"


def _query(explanation: Plain, direction: str) -> str:
    head, relation, tail = explanation["fact"]
    return _atom((head, relation, "?") if direction == "tail" else ("?", relation, tail))


def _place(standing: Plain) -> str:
    """Say where the fact ranks."""
    if standing["rank"] is None:
        return f"not among {standing['candidates']:,} candidates: no rule predicts it"
    low, high = standing["rank"]
    rank = f"rank {low:,}" if low == high else f"rank {low:,} to {high:,} (tied)"
    return f"{rank} of {standing['candidates']:,}, value {standing['value']:.4f}"


def _leader(standing: Plain) -> str:
    leader = standing["leader"]
    if leader is None:
        return "no other candidate"
    return f"the best other candidate is {leader['entity']}, value {leader['value']:.4f}"


def text(explanation: Plain) -> str:
    """Write an explanation for a terminal."""
    known = ", ".join(explanation["known_in"])
    lines = [
        f"{_atom(explanation['fact'])}, by {explanation['strategy']}"
        + (f"; a known fact ({known})" if known else "")
    ]
    for direction in ("tail", "head"):
        standing = explanation[direction]
        lines += ["", f"{_query(explanation, direction)}: {_place(standing)}"]
        lines.append(f"  {_leader(standing)}")
        for reason in standing["reasons"]:
            counts = f"{reason['correct']:,} of {reason['predicted']:,}"
            lines.append(
                f"  {reason['confidence']:.4f} ({counts}) {reason['share']:6.1%}  {reason['rule']}"
            )
            lines += [
                f"      since {' and '.join(map(_atom, way))}"
                for way in reason["groundings"]
                if way
            ]
        if more := standing["rules"] - len(standing["reasons"]):
            lines.append(f"  and {more:,} more rules")
        for needed in standing["would_rank_first_with"]:
            lines.append(
                f"  would rank first with {_atom(needed['fact'])}: "
                f"{needed['confidence']:.4f}  {needed['rule']}"
            )
    return "".join(f"{line}\n" for line in lines)


# --- page --------------------------------------------------------------------------------------

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem;
  color: #1a1a1a; background: #fff }
code { font-size: 0.92em } table { border-collapse: collapse; width: 100% }
td, th { padding: 0.3rem 0.8rem 0.3rem 0; text-align: left; vertical-align: top;
  border-top: 1px solid #ddd } td.number { text-align: right; white-space: nowrap }
.bar { background: #0072b2; height: 0.6em; display: inline-block }
svg { max-width: 100%; height: auto; display: block } svg text { font: 13px system-ui, sans-serif }
"""


def page(explanation: Plain) -> str:
    """Write an explanation as a page of HTML, which needs nothing else."""
    known = ", ".join(explanation["known_in"])
    title = escape(_atom(explanation["fact"]))
    parts = [
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width'>",
        f"<title>{title}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{title}</h1><p>Strategy <b>{escape(explanation['strategy'])}</b>. ",
        f"A known fact ({escape(known)}).</p>" if known else "Not a fact of the graph.</p>",
    ]
    for direction in ("tail", "head"):
        standing = explanation[direction]
        parts.append(f"<h2><code>{escape(_query(explanation, direction))}</code></h2>")
        parts.append(f"<p>{escape(_place(standing))}; {escape(_leader(standing))}.</p>")
        if standing["reasons"]:
            parts.append(
                "<table><tr><th>share</th><th>confidence</th><th>correct</th>"
                "<th>predicted</th><th>rule, and what makes it fire</th></tr>"
            )
            parts += [_row(reason, explanation["fact"]) for reason in standing["reasons"]]
            parts.append("</table>")
        if more := standing["rules"] - len(standing["reasons"]):
            parts.append(f"<p>And {more:,} more rules.</p>")
        if standing["would_rank_first_with"]:
            parts.append("<p>It would rank first with any one of these facts:</p><ul>")
            for needed in standing["would_rank_first_with"]:
                parts.append(
                    f"<li><code>{escape(_atom(needed['fact']))}</code>, by "
                    f"<code>{escape(needed['rule'])}</code> ({needed['confidence']:.4f})</li>"
                )
            parts.append("</ul>")
    return "\n".join([*parts, "</body></html>\n"])


def _row(reason: Plain, fact: Sequence[str]) -> str:
    share = reason["share"]
    drawings = "".join(_drawing(way, fact) for way in reason["groundings"] if way)
    bar = f"<span class='bar' style='width:{max(0.0, share) * 5:.2f}em'></span>"
    numbers = (f"{reason['confidence']:.4f}", f"{reason['correct']:,}", f"{reason['predicted']:,}")
    cells = "".join(f"<td class='number'>{number}</td>" for number in numbers)
    rule = f"<td><code>{escape(reason['rule'])}</code>{drawings}</td>"
    return f"<tr><td>{share:.1%}<br>{bar}</td>{cells}{rule}</tr>"


def _drawing(way: Sequence[Sequence[str]], fact: Sequence[str]) -> str:
    """Draw facts as a graph: the head to the left, the tail to the right, the others between."""
    head, relation, tail = fact
    inner = dict.fromkeys(name for one in way for name in (one[0], one[2]))
    names = [head, *(name for name in inner if name not in (head, tail)), *{tail} - {head}]
    step, base = 210, 78
    place = {name: (70 + step * i, base) for i, name in enumerate(names)}
    arrows = [_arrow(place[h], place[t], r, lane) for lane, (h, r, t) in enumerate(way)]
    arrows.append(_arrow(place[head], place[tail], relation, -1))
    nodes = "".join(
        f"<circle cx='{x}' cy='{y}' r='6' fill='#0072b2'/>"
        f"<text x='{x}' y='{y + 24}' text-anchor='middle'>{escape(_short(name))}</text>"
        for name, (x, y) in place.items()
    )
    marker = (
        "<defs><marker id='tip' markerWidth='9' markerHeight='9' refX='8' refY='4' orient='auto'>"
        "<path d='M0,0 L8,4 L0,8 z' fill='#555'/></marker></defs>"
    )
    size = f"viewBox='0 0 {140 + step * (len(names) - 1)} 128'"
    width = 140 + step * (len(names) - 1)
    return f"<svg {size} width='{width}' role='img'>{marker}{''.join(arrows)}{nodes}</svg>"


def _arrow(start: tuple[int, int], end: tuple[int, int], label: str, lane: int) -> str:
    """Draw one fact; the explained one (lane -1) is dashed and goes above the others."""
    (x1, y1), (x2, y2) = start, end
    dashed = " stroke-dasharray='5 4'" if lane < 0 else ""
    height = 56 if lane < 0 else 0 if abs(x2 - x1) <= 210 else 26
    shift = 9 if x2 > x1 else -9 if x2 < x1 else 0
    middle = (x1 + x2) / 2
    if x1 == x2:
        path = f"M{x1 - 5},{y1 - 6} C{x1 - 30},{y1 - 50} {x1 + 30},{y1 - 50} {x1 + 5},{y1 - 8}"
        top = y1 - 42
    else:
        path = f"M{x1 + shift},{y1} Q{middle},{y1 - 2 * height} {x2 - shift},{y2}"
        top = y1 - height - 6
    name = escape(_short(label))
    return (
        f"<path d='{path}' fill='none' stroke='#555'{dashed} marker-end='url(#tip)'/>"
        f"<text x='{middle}' y='{top}' text-anchor='middle' fill='#333'>{name}</text>"
    )


def _short(name: str, most: int = 28) -> str:
    return name if len(name) <= most else f"{name[: most // 2]}…{name[-most // 2 + 1 :]}"
