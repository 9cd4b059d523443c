"""What became of the lines of rule files, for people."""

from __future__ import annotations

from kgagg.rules.ruleset import RuleSet


def summary(rules: RuleSet) -> str:
    """Report how many rules there are and how all other lines were read."""
    report = rules.report
    lines = [f"{len(rules):,} rules"]
    if report.bare:
        lines.append(f"{report.bare:,} without statistics, counted as 100 correct of 100")
    if report.duplicates:
        lines.append(f"{report.duplicates:,} repeated, each kept once")
    for name, count in report.dropped.items():
        lines.append(f"{count:,} dropped, below the threshold of {name}")
    for reason, problem in report.unusable.items():
        lines.append(f"{problem.count:,} unusable, {reason}; the first: {problem.first}")
    return "".join(f"{line}\n" for line in lines)
