"""Views as HTML and as CSV; names are text in both, never markup."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from kgagg.explanation.drawing import draw
from kgagg.explore.explorer import View

ASSETS = Path(__file__).parent / "assets"
# where a view is, by its name and what was asked; None if it is nowhere
Link = Callable[[str, Mapping[str, object]], str | None]


def address(view: str, asked: Mapping[str, object]) -> str:
    """Return where the server has a view."""
    words = {name: value for name, value in asked.items() if value not in ("", None)}
    return f"/{'' if view == 'home' else view}{'?' if words else ''}{urlencode(words)}"


class Pages:
    """Writes views.

    Parameters
    ----------
    label : callable
        From a name to what is shown for it.
    link : callable
        See `Link`.
    assets : str
        Where the style and the script are.
    live : bool
        Whether a server answers, so that one can search and ask.
    """

    def __init__(self, label: Callable[[str], str], link: Link, assets: str, live: bool) -> None:
        self._label, self._link = label, link
        self._environment = Environment(
            loader=FileSystemLoader(Path(__file__).parent / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.globals |= {
            "label": label,
            "link": lambda view, **asked: link(view, asked),
            "draw": self._draw,
            "assets": assets,
            "live": live,
        }

    def html(self, view: View, here: str) -> str:
        """Write a view as a page; `here` is its address."""
        template = self._environment.get_template(f"{view.name}.html")
        return template.render(view.values, title=view.title, here=here, saved=bool(view.columns))

    def _draw(self, ways: list[list[list[str]]], fact: tuple[str, str, str]) -> Markup:
        """Draw groundings, with a link from each entity."""
        return Markup(
            draw(ways, fact, self._label, lambda name: self._link("entity", {"name": name}))
        )


def to_csv(view: View) -> str:
    """Write the table of a view."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(view.columns)
    writer.writerows(view.rows)
    return text.getvalue()
