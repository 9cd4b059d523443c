"""``kgagg demo``: from an empty folder to an explained prediction in half a minute."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kgagg.commands import options
from kgagg.commands.parser import Parser


def add_parser(verbs: Any) -> Parser:
    """Add the parser of this verb."""
    parser: Parser = verbs.add_parser(
        "demo",
        help="see it work on a small graph",
        description="Fetch a small graph (nations), mine rules from it, evaluate strategies, "
        "predict new facts and explain the best of them. Each step is a call of kgagg, which the "
        "demo prints.",
        epilog="example: kgagg demo --out demo",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("kgagg-demo"),
        metavar="FOLDER",
        help="where to write (default: %(default)s)",
    )
    return parser


def run(args: argparse.Namespace) -> None:
    """Run each step."""
    import shlex

    from kgagg.engine.ahead import compile_ahead
    from kgagg.errors import Failed
    from kgagg.util.files import cache_folder
    from kgagg.util.progress import span

    if not (cache_folder() / "numba").exists():
        print("The first run compiles the kernels, which takes some twenty seconds.", flush=True)
    compile_ahead(args.threads)
    rules, facts, page = (str(args.out / name) for name in ("rules.txt", "new.tsv", "why.html"))

    def step(*call: str) -> None:
        print(f"\n$ kgagg {shlex.join(call)}", flush=True)
        if code := args.call([*call, *options.passed_on(args)]):
            raise Failed(f"kgagg {shlex.join(call)}: ended with code {code}")

    step("fetch", "nations")
    # some short rules are enough to show what rules are good for, and quick
    few = ("--max-length-cyclic", "1", "--min-support", "10")
    step("mine", "native", "nations", "--out", rules, *few)
    step("evaluate", "nations", rules)
    step("predict", "nations", rules, "--top", "10", "--out", facts)
    table = Path(facts).read_text(encoding="utf-8")
    print(table, end="")
    head, relation, tail, *_ = table.splitlines()[1].split("\t")
    step("explain", "nations", rules, head, relation, tail, "--rules-shown", "3", "--html", page)
    print(f"\nIt took {span(args.watch.total())}. Open {page} in a browser.")
