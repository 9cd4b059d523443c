"""``kgagg report page``: one page with everything."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kgagg.commands.parser import Parser
from kgagg.commands.report import _run


def add_parser(parts: Any) -> Parser:
    """Add the parser of this part."""
    parser: Parser = parts.add_parser(
        "page",
        help="one page with everything",
        epilog="example: kgagg report page run/result.json --statistics stats.json "
        "--claims config/claims.yaml --plots run/plots --manifest run/manifest.json "
        "--out run/index.html",
    )
    _run.add_run(parser)
    parser.add_argument("--plots", type=Path, required=True, metavar="FOLDER", help="of `plots`")
    parser.add_argument(
        "--manifest", type=Path, required=True, metavar="FILE", help="of `manifest`"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.html", help="to write")
    return parser


def make(args: argparse.Namespace) -> None:
    """Read a run; write its page."""
    from kgagg.report.page import PICTURES, page
    from kgagg.report.results import read_json
    from kgagg.util.files import writing

    pictures = {
        name: path.read_text(encoding="utf-8")
        for name in PICTURES
        if (path := args.plots / f"{name}.svg").exists()
    }
    text = page(*_run.contents(args), pictures, read_json(args.manifest))
    with writing(args.out) as file:
        file.write(text)
