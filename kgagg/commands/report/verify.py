"""``kgagg report verify``: check claims and digests."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kgagg.commands.parser import Parser
from kgagg.commands.report import _run


def add_parser(parts: Any) -> Parser:
    """Add the parser of this part."""
    parser: Parser = parts.add_parser(
        "verify",
        help="check claims and digests",
        epilog="example: kgagg report verify run/result.json --statistics stats.json "
        "--claims config/claims.yaml --manifest run/manifest.json",
    )
    _run.add_run(parser)
    parser.add_argument(
        "--manifest", type=Path, required=True, metavar="FILE", help="of `manifest`"
    )
    parser.add_argument("--lock", type=Path, metavar="FILE", help="locked packages")
    return parser


def make(args: argparse.Namespace) -> None:
    """Check the claims and the digests of a run; print what does not hold."""
    from collections import Counter

    from kgagg.errors import Failed
    from kgagg.report.claims import VERDICTS
    from kgagg.report.manifest import differences
    from kgagg.report.results import read_json
    from kgagg.util.text import number

    _, claims, _ = _run.contents(args)
    # what does not hold comes last, where it is seen
    for claim in sorted(claims, key=lambda claim: -VERDICTS.index(claim.verdict)):
        ours = "" if claim.ours is None else f": {number(claim.ours, '.4g')}"
        change = "" if claim.difference is None else f" ({number(claim.difference, '+.3g')})"
        print(
            f"{claim.verdict:8}{claim.subject}{ours}{change}, expected {claim.expected} "
            f"[{claim.source}: {claim.text}]"
        )
    counts = Counter(claim.verdict for claim in claims)
    print(", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS))
    changed = differences(read_json(args.manifest), args.manifest.parent, args.lock)
    print("\n".join(changed) or "All files have the digests of the manifest.")
    if counts["FAIL"] or changed:
        raise Failed(
            f"{counts['FAIL']} claims do not hold, {len(changed)} files are not as recorded"
        )
