"""Mining with AMIE3."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kgagg.mining.record import Mined, beside, variant, write_record
from kgagg.mining.runner import Log, failure, run
from kgagg.mining.setup import Setup
from kgagg.util.files import writing

THRESHOLDS = ("-bias", "default", "-minhc", "0.0", "-minc", "0.001", "-minpca", "0.001")
# The two runs of the paper's appendix: short rules with constants, long ones without
PAPER_A = ("-const", *THRESHOLDS, "-maxad", "2")
PAPER_B = (*THRESHOLDS, "-maxad", "4", "-pm", "support", "-mins", "2")
PRESETS: dict[str, dict[str, Sequence[str]]] = {
    "paper-a": {"paper-a": PAPER_A},
    "paper-b": {"paper-b": PAPER_B},
    "paper": {"paper-a": PAPER_A, "paper-b": PAPER_B},
}
# it may be at the end of another line
HEADER = re.compile(r"Rule\tHead Coverage\t.*", re.IGNORECASE)
MINED = re.compile(r"(\d+) rules mined\.")


class AMIELog(Log):
    """Take the rules out of AMIE's output, which mixes them with its messages.

    Attributes
    ----------
    header : str
        The names of the columns.
    lines : list of str
        The rules.
    mined : int or None
        How many there are, as AMIE says at the end.
    """

    def __init__(self) -> None:
        super().__init__()
        self.header = ""
        self.lines: list[str] = []
        self.mined: int | None = None

    def read(self, line: str) -> str | None:
        """Take in one line; return why the run is to be stopped, if it is."""
        super().read(line)
        if self.problems:
            # AMIE would wait for the dead thread forever
            return f"a mining thread died: {self.problems[0]}"
        if header := HEADER.search(line):
            self.header = header[0]
        elif " => " in line and line.count("\t") == self.header.count("\t"):
            self.lines.append(line)
            self.rules += 1
        elif mined := MINED.match(line):
            self.mined = int(mined[1])
        return None

    @property
    def incomplete(self) -> str | None:
        """What the output lacks; None when it has as many rules as AMIE says it mined."""
        if self.mined is None:
            return f"ended without saying how many rules it mined: {self.last}"
        if self.mined == 0:
            return "mined 0 rules"
        if self.mined != self.rules:
            return f"said that it mined {self.mined:,} rules, but printed {self.rules:,}"
        return None


def mine(
    setup: Setup,
    out: Path,
    *,
    configurations: Mapping[str, Sequence[str]],
    timeout: float | None = None,
    quiet: bool = False,
) -> dict[str, Any]:
    """Mine rules with AMIE3 into `out`, and return the record written beside it.

    AMIE's exit code is 0 whatever happens: success is that it says it mined more than zero
    rules, and that it printed as many. What a failed run had printed goes into
    ``STEM-partial.SUFFIX``.

    Parameters
    ----------
    setup : Setup
        Data, jar, runtime.
    out : Path
        The rule file in AMIE's form, compressed by its ending; the log is ``OUT.log``, the
        record ``OUT.json``.
    configurations : mapping of str to sequence of str
        By name, the options of each run; their rules are merged, the first of equal ones stays.
    timeout : float, optional
        The seconds after which a run is stopped.
    quiet : bool
        Show no progress.

    Raises
    ------
    Failed
        If a run did not finish; the message names the cause and what was kept.
    """
    log_file = beside(out, ".log")
    log_file.parent.mkdir(parents=True, exist_ok=True)
    log_file.unlink(missing_ok=True)
    runs: list[Mined] = []
    rules: dict[str, str] = {}
    cause = None
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as name:
        setup.write_train(Path(name))
        for label, options in configurations.items():
            log = AMIELog()
            command = setup.command("train.txt", *options, "-nc", str(setup.threads))
            result = run(
                command,
                log_file,
                log,
                folder=Path(name),
                label=f"amie {label}",
                budget=timeout,
                timeout=timeout,
                quiet=quiet,
            )
            runs.append(Mined(command, result, log))
            for line in log.lines:
                rules.setdefault(line.split("\t", 1)[0], line)
            if (lacks := log.incomplete) is not None:
                cause = result.cause or lacks
                break
    path = out if cause is None else variant(out, "partial")
    if rules:
        with writing(path) as file:
            file.writelines(f"{line}\n" for line in (log.header, *rules.values()))
        record = write_record(path, setup, runs, complete=cause is None)
    if cause is not None:
        raise failure("amie", cause, result, log_file, [path] if rules else [])
    return record
