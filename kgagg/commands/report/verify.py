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
    parser.add_argument(
        "--reference",
        type=Path,
        metavar="FILE",
        help="the manifest of a run to reproduce; claims are then reported, but not required",
    )
    return parser


def make(args: argparse.Namespace) -> None:
    """Check the claims and the digests of a run; print what does not hold."""
    from collections import Counter

    from kgagg.errors import Failed, InputError
    from kgagg.report.claims import VERDICTS
    from kgagg.report.contents import fingerprints_of
    from kgagg.report.manifest import differences
    from kgagg.report.reproduction import compare
    from kgagg.report.results import read_json
    from kgagg.util.text import cell_text, number

    results, claims, _ = _run.contents(args)
    checked = [claim for claim in claims if claim.ours is not None]
    # what does not hold comes last, where it is seen
    for claim in sorted(checked, key=lambda claim: -VERDICTS.index(claim.verdict)):
        change = "" if claim.difference is None else f" ({number(claim.difference, '+.3g')})"
        print(
            f"{claim.verdict:8}{claim.subject}: {cell_text(claim.ours, '.4g')}{change}, "
            f"expected {claim.expected} [{claim.source}: {claim.text}]"
        )
    counts = Counter(claim.verdict for claim in claims)
    print(", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS))
    changed = differences(read_json(args.manifest), args.manifest.parent, args.lock)
    print("\n".join(changed) or "All files have the digests of the manifest.")
    failed = [(len(changed), "files are not as recorded")]
    if not args.reference:
        failed.insert(0, (counts["FAIL"], "claims do not hold"))
    else:
        # what a published run does not hold, its reproduction must not
        published = read_json(args.reference).get("fingerprints")
        if published is None:
            raise InputError(f"{args.reference}: expected a manifest with fingerprints")
        found = compare(fingerprints_of(results), published)
        print("\n".join(found.lines()))
        failed.append((len(found.differences), f"differences from {args.reference}"))
    if any(count for count, _ in failed):
        raise Failed(", ".join(f"{count} {what}" for count, what in failed))
