"""An explanation as text and as a page with drawings of groundings."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from kgagg.explanation.drawing import MARKERS, STYLE, draw

# what `Explanation.to_json` gives
Plain = dict[str, Any]


def _atom(fact: Sequence[str]) -> str:
    head, relation, tail = fact
    return f"{relation}({head}, {tail})"


def _query(explanation: Plain, direction: str) -> str:
    head, relation, tail = explanation["fact"]
    return _atom((head, relation, "?") if direction == "tail" else ("?", relation, tail))


def _place(standing: Plain) -> str:
    """Describe where the fact ranks."""
    if standing["rank"] is None:
        return f"not among {standing['candidates']:,} candidates: no rule predicts it"
    low, high = standing["rank"]
    rank = f"rank {low:,}" if low == high else f"rank {low:,} to {high:,} (tied)"
    return f"{rank} of {standing['candidates']:,}, score {standing['score']:.4f}"


def _leader(standing: Plain) -> str:
    leader = standing["leader"]
    if leader is None:
        return "no other candidate"
    return f"the best other candidate is {leader['entity']}, score {leader['score']:.4f}"


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
                f"  {reason['confidence']:.4f} ({counts}) {reason['share']:6.1%}"
                f"{reason['group'] and '  ' + reason['group']}  {reason['rule']}"
            )
            lines += [
                f"      since {' and '.join(map(_atom, way))}"
                for way in reason["groundings"]
                if way
            ]
        if more := standing["rules"] - len(standing["reasons"]):
            lines.append(f"  and {more:,} more rules")
        lines += [
            f"  {one['adds']:+.4f} {one['share']:6.1%}  {one['name']}"
            for one in standing["features"]
        ]
        for needed in standing["would_rank_first_with"]:
            lines.append(
                f"  would rank first with {_atom(needed['fact'])}: "
                f"{needed['confidence']:.4f}  {needed['rule']}"
            )
    return "".join(f"{line}\n" for line in lines)


# --- page --------------------------------------------------------------------------------------

_STYLE = """
:root { --ink: #1c1e21; --soft: #667080; --paper: #fff; --line: #e1e5ea; --accent: #0072b2;
  --tint: #e8f2fa; color-scheme: light dark }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --soft: #9aa4b1; --paper: #16191d;
  --line: #313840; --accent: #56b4e9; --tint: #17303f } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 58rem; margin: 2rem auto; padding: 0 1rem;
  color: var(--ink); background: var(--paper) }
h1 { font-size: 1.5rem; margin: 0 0 0.3rem } h2 { font-size: 1.1rem; margin: 2rem 0 0.3rem }
code { font-size: 0.92em } p { margin: 0.3rem 0 } .soft { color: var(--soft) }
.places { display: grid; grid-template-columns: repeat(auto-fit, minmax(17rem, 1fr)); gap: 1rem;
  margin: 1.2rem 0 }
.place { border: 1px solid var(--line); border-radius: 8px; padding: 0.8rem 1rem }
.place ul { padding-left: 1.2rem; margin: 0.3rem 0 } .place b { font-size: 1.25rem }
article { border-top: 1px solid var(--line); padding: 0.8rem 0 }
.numbers { display: flex; gap: 0.7rem; align-items: center; font-variant-numeric: tabular-nums }
.bar { flex: 0 0 8rem; height: 0.55rem; border-radius: 3px; background: var(--line) }
.bar i { display: block; height: 100%; border-radius: 3px; background: var(--accent) }
"""


def page(explanation: Plain) -> str:
    """Write an explanation as a self-contained page of HTML."""
    title = escape(_atom(explanation["fact"]))
    return "\n".join(
        [
            "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>",
            "<meta name='viewport' content='width=device-width'>",
            f"<title>{title}</title><style>{_STYLE}{STYLE}</style></head><body>{MARKERS}",
            _content(explanation),
            "</body></html>\n",
        ]
    )


def fragment(explanation: Plain) -> str:
    """Write an explanation as a part of another page, which keeps its own style."""
    # an inline frame: neither page changes the look of the other
    frame = "width: 100%; height: 36rem; border: none"
    return f'<iframe style="{frame}" srcdoc="{escape(page(explanation))}"></iframe>'


def _content(explanation: Plain) -> str:
    """Write what is on the page."""
    known = ", ".join(explanation["known_in"])
    title = escape(_atom(explanation["fact"]))
    standings = {direction: explanation[direction] for direction in ("tail", "head")}
    parts = [
        f"<h1>{title}</h1><p class='soft'>by {escape(explanation['strategy'])}; ",
        f"a known fact ({escape(known)})</p>" if known else "not a fact of the graph</p>",
        "<div class='places'>",
        *(_place_card(explanation, direction) for direction in standings),
        "</div>",
    ]
    tail, head = standings.values()
    if tail["reasons"] == head["reasons"]:
        parts.append(_rules("Why: the same rules answer both queries", tail, explanation["fact"]))
    else:
        for direction, standing in standings.items():
            query = f"Why, as an answer to {_query(explanation, direction)}"
            parts.append(_rules(query, standing, explanation["fact"]))
    return "\n".join(parts)


def _place_card(explanation: Plain, direction: str) -> str:
    """Write where the fact ranks, and which facts would make it rank first."""
    standing = explanation[direction]
    needed = "".join(
        f"<li><code>{escape(_atom(one['fact']))}</code> <span class='soft'>by "
        f"<code>{escape(one['rule'])}</code> ({one['confidence']:.4f})</span></li>"
        for one in standing["would_rank_first_with"]
    )
    needed = needed and f"<p>Any one of these facts would make it rank first:</p><ul>{needed}</ul>"
    rank, _, rest = _place(standing).partition(", ")
    return (
        f"<div class='place'><code>{escape(_query(explanation, direction))}</code>"
        f"<p><b>{escape(rank)}</b></p><p>{escape(rest)}</p>"
        f"<p class='soft'>{escape(_leader(standing))}</p>{needed}</div>"
    )


def _rules(title: str, standing: Plain, fact: Sequence[str]) -> str:
    """Write the rules that predict the fact, with drawings."""
    if not standing["reasons"]:
        return ""
    more = standing["rules"] - len(standing["reasons"])
    rest = f"<p class='soft'>And {more:,} more rules.</p>" if more else ""
    rules = "".join(_rule(reason, fact) for reason in standing["reasons"])
    features = "".join(
        f"<li>{escape(one['name'])}: {one['adds']:+.4f} ({one['share']:.1%} of the score)</li>"
        for one in standing["features"]
    )
    features = features and f"<p>Besides rules:</p><ul>{features}</ul>"
    return f"<h2>{escape(title)}</h2>{rules}{rest}{features}"


def _rule(reason: Plain, fact: Sequence[str]) -> str:
    share = min(1.0, max(0.0, reason["share"]))
    ways = [way for way in reason["groundings"] if way]
    counts = f"{reason['correct']:,} of {reason['predicted']:,}"
    group = f" · {escape(reason['group'])}" if reason["group"] else ""
    return (
        f"<article><div class='numbers'><span class='bar'><i style='width:{share:.1%}'></i></span>"
        f"<span>{reason['share']:.1%} of the score</span><span class='soft'>confidence "
        f"{reason['confidence']:.4f} ({counts}){group}</span></div>"
        f"<code>{escape(reason['rule'])}</code>{draw(ways, fact) if ways else ''}</article>"
    )
