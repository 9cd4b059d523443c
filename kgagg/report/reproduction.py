"""Whether a run gives the rules and ranks of another, published one.

Compared is what does not depend on time or place: the rules, the ranks of every test triple, and
the table of results as printed. Ranks are whole numbers: a last bit of a score that another
processor computes differently changes none unless it makes or breaks a tie. Files are not
compared, they hold times and versions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kgagg.report.results import Result
from kgagg.report.tables import Table, to_markdown

Prints = Mapping[str, Mapping[str, Any]]


def fingerprints(results: Iterable[Result], table: Table) -> dict[str, dict[str, Any]]:
    """Return the digests of a run, by what they are of.

    Parameters
    ----------
    results : iterable of results
        See `kgagg.report.results`.
    table : Table
        The table of results.

    Returns
    -------
    dict
        ``"DATASET RULES"``: the digest of the rules and how many there are;
        ``"DATASET RULES STRATEGY"``: that of the ranks, and the MRR; ``"table"``.
    """
    found: dict[str, dict[str, Any]] = {}
    for one in results:
        name = f"{one['dataset']} {one['rules']}"
        found[name] = {
            "digest": one["counts"]["digest"],
            "rules": one["counts"]["rules"]["total"],
        }
        for strategy, values in one["strategies"].items():
            found[f"{name} {strategy}"] = {
                "digest": values["digest"],
                "mrr": values["mrr"]["value"],
            }
    digest = hashlib.sha256(to_markdown(table).encode()).hexdigest()
    found["table"] = {"digest": digest}
    return found


@dataclass(frozen=True)
class Reproduction:
    """How a run compares with a published one.

    Attributes
    ----------
    same : int
        How many of its digests are the published ones.
    differences : sequence of str
        A line for each that is not.
    missing : sequence of str
        What was published and not run.
    """

    same: int
    differences: Sequence[str]
    missing: Sequence[str]

    def lines(self) -> list[str]:
        """Say it for people."""
        left = f"; not run: {', '.join(self.missing)}" if self.missing else ""
        compared = self.same + len(self.differences)
        verdict = "REPRODUCED" if compared and not self.differences else "NOT REPRODUCED"
        return [*self.differences, f"{verdict} {self.same} of {compared}{left}"]


def compare(ours: Prints, published: Prints) -> Reproduction:
    """Compare the fingerprints of two runs; what was not published is left out."""
    missing = [name for name in published if name not in ours]
    # the table of a part of the results cannot be the published one
    shared = [name for name in published if name in ours and not (name == "table" and missing)]
    differences = [
        _difference(name, ours[name], published[name])
        for name in shared
        if ours[name]["digest"] != published[name]["digest"]
    ]
    return Reproduction(len(shared) - len(differences), differences, _sets(missing))


def _difference(name: str, ours: Mapping[str, Any], published: Mapping[str, Any]) -> str:
    """Say how far two runs are apart."""
    if "mrr" in ours:
        here, there = ours["mrr"], published["mrr"]
        return f"{name}: other ranks, MRR {here:.6f}, published {there:.6f} ({here - there:+.6f})"
    if "rules" in ours:
        return f"{name}: other rules, {ours['rules']:,}, published {published['rules']:,}"
    return f"{name}: prints other numbers"


def _sets(names: Iterable[str]) -> list[str]:
    """Return the rule sets among `names`, and strategies of others."""
    names = list(names)
    whole = [name for name in names if len(name.split()) == 2]
    return [name for name in names if name in whole or " ".join(name.split()[:2]) not in whole]
