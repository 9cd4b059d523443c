"""The rooms of the package and their imports, read from the code: a figure and a table."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from html import escape
from pathlib import Path

from kgagg.util.source import ROOT, imports, source_file

# every room may raise them; and what only starts the command
LEFT_OUT = {"errors", "__init__", "__main__"}


def rooms() -> dict[str, set[str]]:
    """Return the rooms that each room imports, in an order in which all of them come before it."""
    found: dict[str, set[str]] = {}
    for path in sorted((ROOT / "kgagg").rglob("*.py")):
        room = path.relative_to(ROOT / "kgagg").with_suffix("").parts[0]
        names = imports(path.read_bytes(), types=True)
        found.setdefault(room, set()).update(n.split(".")[1] for n in names if source_file(n))
    kept = {room: names - LEFT_OUT - {room} for room, names in found.items()}
    kept = {room: names for room, names in kept.items() if room not in LEFT_OUT}
    depth: dict[str, int] = {}
    while rest := kept.keys() - depth.keys():
        free = {room for room in rest if kept[room] <= depth.keys()}
        if not free:
            raise ValueError(f"these rooms import each other: {', '.join(sorted(rest))}")
        depth |= {room: 1 + max((depth[name] for name in kept[room]), default=0) for room in free}
    return {room: kept[room] for room in sorted(kept, key=lambda room: (depth[room], room))}


def direct(street: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Return the imports that do not follow from others: the fewest arrows that say the same."""
    below: dict[str, set[str]] = {}
    for room, names in street.items():
        below[room] = names.union(*(below[name] for name in names))
    return {
        room: {name for name in names if not any(name in below[other] for other in names)}
        for room, names in street.items()
    }


def summary(room: str) -> str:
    """Return the first sentence of a room's docstring."""
    path = source_file(f"kgagg.{room}")
    assert path is not None, room
    text = ast.get_docstring(ast.parse(path.read_bytes())) or ""
    return " ".join(text.split("\n\n")[0].split()).rstrip(".")


def figure(street: Mapping[str, set[str]]) -> str:
    """Draw the rooms one below the other, with an arrow from each to those it imports."""
    step, width, left = 34, 104, 190
    middle = {room: 24 + step * number for number, room in enumerate(street)}
    lines = [
        f'<svg viewBox="0 0 {left + width + 20} {step * len(street) + 14}" role="img" '
        'style="max-width: 26rem; font: 13px sans-serif; color: currentColor">',
        "<title>The rooms of kgagg, and the imports between them</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="currentColor"/>'
        "</marker></defs>",
    ]
    for room, names in direct(street).items():
        for name in sorted(names, key=list(street).index):
            start, end = middle[room] - 6, middle[name] + 6
            bow = left - min(left - 6, 16 + 0.55 * (start - end))
            lines.append(
                f'<path d="M{left},{start} C{bow:.0f},{start} {bow:.0f},{end} {left},{end}" '
                'fill="none" stroke="currentColor" opacity="0.6" marker-end="url(#tip)"/>'
            )
    for room in street:
        lines.append(
            f'<rect x="{left}" y="{middle[room] - 12}" width="{width}" height="24" rx="5" '
            'fill="none" stroke="currentColor"/>'
            f'<text x="{left + width / 2}" y="{middle[room] + 4}" text-anchor="middle" '
            f'fill="currentColor">{escape(room)}</text>'
        )
    return "\n".join([*lines, "</svg>\n"])


def table(street: Mapping[str, set[str]]) -> str:
    """List the rooms in Markdown: what is in each, and all rooms that it imports."""
    lines = ["| room | contents | imports |", "|---|---|---|"]
    for room, names in street.items():
        ordered = ", ".join(f"`{name}`" for name in street if name in names)
        lines.append(f"| `{room}` | {summary(room)} | {ordered} |")
    return "\n".join(lines) + "\n"


def write(folder: Path) -> None:
    """Write the figure and the table into a folder."""
    street = rooms()
    (folder / "street.svg").write_text(figure(street), encoding="utf-8")
    (folder / "rooms.md").write_text(table(street), encoding="utf-8")
