"""``kgagg explore``: look at a graph, its predictions and their reasons in a browser."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgagg.commands import options
from kgagg.commands.opening import open_engine
from kgagg.commands.parser import Parser

if TYPE_CHECKING:
    from kgagg.explore.explorer import Explorer


def add_parser(verbs: Any) -> Parser:
    """Add the parser of this verb."""
    parser: Parser = verbs.add_parser(
        "explore",
        help="look at a graph, its predictions and their reasons in a browser",
        description="Open a page on this machine: find entities, ask for candidates, see why they "
        "are predicted, look at rules. Without RULES, mine them first. With --static, write pages "
        "instead.",
        epilog="example: kgagg explore umls rules.txt --static pages --queries queries.txt",
    )
    options.add_data(parser)
    parser.add_argument(
        "rules",
        nargs="*",
        metavar="RULES",
        help="rule files, or a binary rule set (default: mine them)",
    )
    options.add_strategy(parser)
    options.add_labels(parser)
    parser.add_argument(
        "--port",
        type=options.count,
        default=8765,
        metavar="N",
        help="of the page; 0: any that is free (default: %(default)s)",
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="NAME",
        help="listen there; other machines then need the token that is printed (default: "
        "%(default)s, this machine alone)",
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="print the address, and open no browser"
    )
    parser.add_argument(
        "--static",
        type=Path,
        metavar="FOLDER",
        help="write the pages of --queries here, and explanations of their best candidates",
    )
    parser.add_argument(
        "--queries",
        type=Path,
        metavar="FILE",
        help="with --static: lines `head relation ?`, `? relation tail` or `head ? tail`",
    )
    options.add_top_x(parser)
    options.add_top_h(parser)
    options.add_meaning(parser)
    return parser


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Load, fit, then serve or write."""
    from kgagg.errors import InputError

    if (args.static is None) != (args.queries is None):
        raise InputError("--static FOLDER writes the pages of --queries FILE: expected both")
    explorer = _explorer(args)
    if args.static:
        from kgagg.explore.archive import write_archive
        from kgagg.prediction.answers import read_queries

        explorer.calibrate(threads=args.threads)
        queries = map(tuple, read_queries(args.queries, explorer.graph).tolist())
        count = write_archive(explorer, queries, args.static)
        options.done(args, f"{count:,} pages", args.static / "index.html")
        return {"pages": count}
    _serve(explorer, args)
    return {}


def _explorer(args: argparse.Namespace) -> Explorer:
    """Open the graph and the rules, which are mined if there are none, and fit the strategy."""
    import tempfile

    from kgagg.errors import Failed
    from kgagg.evaluation.run import ready_strategy
    from kgagg.explore.explorer import Explorer
    from kgagg.strategies.registry import PAPER, strategy

    with tempfile.TemporaryDirectory() as folder:
        if not args.rules:
            args.rules = [str(Path(folder, "rules.kgagg"))]
            call = ["mine", "native", args.data, "--literals", args.literals]
            if args.call([*call, "--out", args.rules[0], *options.passed_on(args)]):
                raise Failed("no rules could be mined")
        engine = open_engine(args)
    # what needs no fit can be compared with at once
    plain = (name for name in PAPER if strategy(name).fitted)
    names = dict.fromkeys((args.strategy, *plain))
    applying = options.running(args)
    strategies = [ready_strategy(engine, name, top_h=args.top_h, **applying) for name in names]
    return Explorer(engine, strategies, top_x=args.top_x)


def _serve(explorer: Explorer, args: argparse.Namespace) -> None:
    """Listen, say where, and answer until Ctrl-C."""
    import socket
    import sys
    import webbrowser

    from kgagg.errors import InputError
    from kgagg.explore.server import LOOPBACK, new_token, serve

    token = None if args.host in LOOPBACK else new_token()
    try:
        listening = socket.create_server((args.host, args.port))
    except (OSError, OverflowError) as error:
        raise InputError(f"--host {args.host} --port {args.port}: {error}") from None
    port = listening.getsockname()[1]
    place = f"http://{args.host}:{port}/" + (f"?token={token}" if token else "")
    print(f"Explore at {place} (Ctrl-C ends)", flush=True)
    explorer.start_calibrating()
    if not args.no_browser and sys.stdout.isatty():
        webbrowser.open(place)
    serve(explorer, listening, args.host, token)
