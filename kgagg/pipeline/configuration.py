"""The configuration of the workflow: checked as a whole, and what it says about rule sets."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from kgagg.commands import mine
from kgagg.commands.parser import Parser
from kgagg.data.registry import NAME, is_name, registry
from kgagg.data.triples import split_file
from kgagg.errors import InputError, nearest
from kgagg.mining.jars import DEFAULT, JARS, in_cache
from kgagg.strategies.registry import strategy

Config = Mapping[str, Any]


@dataclass(frozen=True)
class Source:
    """Where the rules of one rule set for one dataset come from.

    Attributes
    ----------
    kind : str
        ``"mined"``, ``"pinned"`` (a file of known content) or ``"supplied"`` (by the user).
    miner : str
        Who mines; empty for a file.
    options : mapping
        Options of the miner.
    file, digest : str
        A path or URL, and its digest; empty for mined rules, the digest also for supplied ones.
    """

    kind: str
    miner: str = ""
    options: Mapping[str, Any] | None = None
    file: str = ""
    digest: str = ""

    @property
    def arguments(self) -> list[str]:
        """The options as `kgagg mine` takes them."""
        words = []
        for name, value in (self.options or {}).items():
            if value is not False:
                words += [f"--{name}"] if value is True else [f"--{name}", str(value)]
        return words

    @property
    def jar(self) -> str:
        """The jar that mines; empty if none does."""
        return str((self.options or {}).get("jar", DEFAULT.get(self.miner, "")))


def places(config: Config) -> dict[str, str]:
    """Return the datasets by name: a registered one is its own place, others are on this machine.

    A folder or a file is named by its last part, without the ending of a file.
    """

    def name(place: str) -> str:
        return place if place in registry() else Path(place).name.partition(".")[0]

    return {name(place): place for place in config["datasets"]}


def source(config: Config, rules: str, dataset: str) -> Source:
    """Return where the rules of a rule set for a dataset come from.

    Raises
    ------
    InputError
        If the rule set has neither a miner nor a file for this dataset.
    """
    entry = config["rule_sets"][rules]
    own = entry.get("datasets", {}).get(dataset, {})
    if "file" in own:
        kind = "pinned" if "digest" in own else "supplied"
        return Source(kind, file=own["file"], digest=own.get("digest", ""))
    if "miner" not in entry:
        raise InputError(f"rule_sets.{rules}: no miner, and no file for {dataset}")
    return Source("mined", entry["miner"], entry.get("options", {}) | own.get("options", {}))


def typed(config: Config) -> dict[str, Any]:
    """Return a configuration with numbers and truth values for what looks like them.

    On the command line, ``--config 'threads={mine: 4}'``, all that is nested comes as text.
    """

    def value(item: Any) -> Any:
        if isinstance(item, dict):
            return {key: value(inner) for key, inner in item.items()}
        if isinstance(item, list):
            return [value(inner) for inner in item]
        if isinstance(item, str) and re.fullmatch(r"-?\d+|true|false", item):
            return yaml.safe_load(item)
        return item

    return {key: value(item) if isinstance(item, dict) else item for key, item in config.items()}


def check(config: Config, schema: str | os.PathLike[str]) -> None:
    """Check a configuration against its schema, and for what a schema cannot say.

    Raises
    ------
    InputError
        If something is wrong, in one line, with the nearest valid name.
    """
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(yaml.safe_load(Path(schema).read_text(encoding="utf-8")))
    # an unknown key is the likeliest mistake, and often the cause of the others
    errors = sorted(
        validator.iter_errors(config), key=lambda e: ("Properties" not in e.validator, str(e.path))
    )
    for error in errors:
        raise InputError(f"configuration: {_told(error)}")
    for problem in _problems(config):
        raise InputError(f"configuration: {problem}")


def _told(error: Any) -> str:
    """Describe an error of the schema in one line."""
    where = ".".join(map(str, error.absolute_path))
    prefix = f"{where}: " if where else ""
    if error.validator.endswith("Properties") and error.validator != "required":
        known = _properties(error)
        unknown = next(key for key in error.instance if key not in known)
        return f"{prefix}unknown key {unknown}{nearest(str(unknown), known)}"
    if error.validator == "enum":
        values = error.validator_value
        wrong = error.instance
        return f"{prefix}{wrong} is not one of {', '.join(values)}{nearest(str(wrong), values)}"
    return f"{prefix}{error.message}"


def _properties(error: Any) -> list[str]:
    """Return the keys that are known where an unknown one was found."""
    known = error.schema.get("properties")
    return list(known or ("file", "digest", "options"))


def _problems(config: Config) -> Iterator[str]:
    known = places(config)
    if len(known) < len(config["datasets"]):
        yield "datasets: two have the same name"
    for name, place in known.items():
        yield from _misplaced(name, place)
    yield from _unknown("rules", config["rules"], config["rule_sets"])
    for name in config["strategies"]:
        try:
            strategy(name)
        except InputError as error:
            yield f"strategies: {error}"
    beside: dict[str, str] = {}
    for name in config["rules"]:
        entry = config["rule_sets"][name]
        if not is_name(name):
            yield f"rule_sets.{name}: {NAME}"
        names = [*registry(), *known]
        yield from _unknown(f"rule_sets.{name}.datasets", entry.get("datasets", ()), names)
        for dataset, own in entry.get("datasets", {}).items():
            if "digest" in own and "file" not in own:
                yield f"rule_sets.{name}.datasets.{dataset}: a digest without a file"
        paper = entry.get("paper")
        if paper in beside:
            yield f"rule_sets.{name}: paper: {paper} is taken by {beside[paper]}"
        if paper:
            beside[paper] = name
        for dataset in known:
            found = source(config, name, dataset)
            options = _options(found.miner) if found.miner else ()
            yield from _unknown(f"rule_sets.{name}.options", found.options or (), options)
            if found.kind == "supplied" and not Path(found.file).is_file():
                yield f"rule_sets.{name}.datasets.{dataset}: {found.file}: no such file"


def _misplaced(name: str, place: str) -> Iterator[str]:
    """Report a dataset that is neither registered nor a folder with three splits."""
    if place in registry():
        return
    folder = Path(place)
    if not folder.exists():
        yield from _unknown("datasets", [place], registry())
    elif not re.fullmatch(r"[\w-]+", name):
        yield f"datasets: {place}: expected a name of letters, digits, - and _"
    elif folder.is_file():
        yield f"datasets: {place}: is not split (kgagg split)"
    else:
        for split in ("train", "valid", "test"):
            if split_file(folder, split) is None:
                yield f"datasets: {place}: has no {split}.txt (kgagg split)"


def _unknown(where: str, names: Iterable[str], known: Iterable[str]) -> Iterator[str]:
    known = list(known)
    for name in names:
        if name not in known:
            yield f"{where}: unknown {name}{nearest(name, known)}"


def _options(miner: str) -> list[str]:
    """Return the options that only mining has, but for what the workflow itself gives."""
    miners = mine.add_parser(Parser().add_subparsers()).parts
    parser = next(one for one in miners if one.prog.endswith(f" {miner}"))
    return [name for name in parser.options() if name != "out"]


def usable(config: Config) -> list[str]:
    """Return the rule sets to use: all but optional ones whose miner's jar is not at hand."""

    def at_hand(rules: str) -> bool:
        if not config["rule_sets"][rules].get("optional"):
            return True
        jars = {source(config, rules, dataset).jar for dataset in places(config)} - {""}
        return all(jar not in JARS or in_cache(JARS[jar].artifact) for jar in jars)

    return [rules for rules in config["rules"] if at_hand(rules)]
