"""``kgagg compile``: every kernel compiled into the cache, before many processes need them."""

from __future__ import annotations

import argparse
from typing import Any

from kgagg.commands import options
from kgagg.commands.parser import Parser

# two relations with the same pairs, and one that leads on: enough for rules of every kind
TRIPLES = "".join(f"a{i}\tr\tb{i % 3}\na{i}\ts\tb{i % 3}\nb{i}\tt\ta{i}\n" for i in range(9))
# other facts, so that nothing leaks
HELD_OUT = {"valid": "a1\tr\tb2\na2\ts\tb1\n", "test": "b1\tt\ta2\na1\ts\tb0\n"}
RULES = "5\t4\t0.8\tr(X,Y) <= s(X,A), t(A,Y)\n5\t4\t0.8\tr(X,b0) <= s(X,b0)\n"


def add_parser(verbs: Any) -> Parser:
    """Add the parser of this verb, which has no options of its own."""
    parser: Parser = verbs.add_parser(
        "compile",
        help="compile all kernels into the cache",
        description="Run a tiny graph through all stages, so that every kernel is in the cache. "
        "Processes that start side by side would otherwise have to wait for one another.",
        epilog="example: kgagg compile",
    )
    return parser


def run(args: argparse.Namespace) -> None:
    """Run a tiny graph through all stages."""
    import contextlib
    import io
    import tempfile
    from pathlib import Path

    from kgagg.engine.ahead import compile_ahead
    from kgagg.errors import Failed
    from kgagg.util.progress import span

    compile_ahead(args.threads)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for split, triples in {"train": TRIPLES, **HELD_OUT}.items():
            (folder / f"{split}.txt").write_text(triples)
        (folder / "rules.txt").write_text(RULES)
        data, rules, firings, ranks = (
            str(folder / part) for part in ("", "rules.kgagg", "firings.parquet", "ranks.parquet")
        )
        for call in (
            ["mine", "native", data, "--out", str(folder / "mined.txt")],
            ["rules", str(folder / "rules.txt"), "--data", data, "--to", rules],
            ["apply", data, rules, "--split", "valid", "--out", firings],
            ["aggregate", firings, "--strategies", "max,noisy-or-top-5", "--ranks", ranks],
            [
                "fit",
                data,
                rules,
                "--strategy",
                "noisy-or-top-h*",
                "--out",
                str(folder / "tuned.kgagg"),
            ],
        ):
            with contextlib.redirect_stdout(io.StringIO()), args.watch.stage(call[0]):
                code = args.call([*call, "--quiet", *options.passed_on(args)])
            if code:
                raise Failed(f"kgagg {' '.join(call)}: ended with code {code}")
    if not args.quiet:
        print(f"compiled in {span(args.watch.seconds['compile'])}")
