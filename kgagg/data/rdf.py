"""Triples of RDF: N-Triples and N-Quads line by line, Turtle with rdflib."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kgagg.errors import InputError
from kgagg.util.files import line_blocks, open_binary

_IRI, _NODE = r"<[^<>\s]*>", r"_:[^\s<>\"]+"
_LITERAL = r'"(?:[^"\\]|\\.)*"(?:\^\^<[^<>\s]*>|@[A-Za-z0-9-]+)?'
_STATEMENT = re.compile(
    rf"\s*({_IRI}|{_NODE})\s*({_IRI})\s*({_IRI}|{_NODE}|{_LITERAL})"
    rf"\s*(?:{_IRI}|{_NODE})?\s*\.\s*(?:#.*)?"
)
_ESCAPE = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")
_ESCAPED = {"\t": r"\t", "\n": r"\n", "\r": r"\r", '"': r"\"", "\\": r"\\"}
_BLOCK = 1 << 16
# for names that are relative, which stay so
_BASE = "http://base.invalid/"

Statement = tuple[str, str, str]


def rdf_blocks(path: Path, kind: str, *, keep: bool) -> Iterator[bytes]:
    """Yield the triples of a file as lines (see `kgagg.data.triples`).

    Parameters
    ----------
    path : Path
    kind : str
        Its ending: ``".nt"``, ``".nq"`` or ``".ttl"``.
    keep : bool
        Keep triples with literals, which are counted otherwise.
    """
    dropped, lines = 0, []
    for subject, predicate, object_ in statements(path, kind):
        if object_.startswith('"') and not keep:
            dropped += 1
            continue
        # a literal may have a tab in it
        plain = object_.replace("\t", r"\t")
        lines.append(f"{subject}\t{predicate}\t{plain}\n")
        if len(lines) == _BLOCK:
            yield "".join(lines).encode()
            lines.clear()
    if dropped:
        warnings.warn(f"{path}: left out {dropped:,} triples with literals", stacklevel=2)
    yield "".join(lines).encode()


def statements(path: Path, kind: str) -> Iterator[Statement]:
    """Yield subject, predicate and object: IRIs without brackets, and literals as they are.

    Raises
    ------
    InputError
        If a line is not a statement.
    """
    return _turtle(path) if kind == ".ttl" else _ntriples(path)


def literal_text(literal: str) -> str:
    """Return what a literal says, without quotation marks, language and type."""
    text = literal[1 : literal.rindex('"')]
    plain = {escaped: character for character, escaped in _ESCAPED.items()}
    return re.sub(r'\\[tnr"\\]', lambda match: plain[match[0]], _unescaped(text))


def _ntriples(path: Path) -> Iterator[Statement]:
    number = 0
    for block in line_blocks(path):
        try:
            text = block.decode()
        except UnicodeDecodeError as error:
            number += block.count(b"\n", 0, error.start) + 1
            raise InputError(f"{path}:{number}: not UTF-8") from None
        for line in text.split("\n")[:-1]:
            number += 1
            if found := _STATEMENT.fullmatch(line):
                subject, predicate, object_ = found.groups()
                yield _plain(subject), _plain(predicate), _plain(object_)
            elif line.strip() and not line.lstrip().startswith("#"):
                raise InputError(
                    f"{path}:{number}: expected <subject> <predicate> <object> . but found "
                    f"{line.strip()[:80]!r}"
                )


def _plain(term: str) -> str:
    """Return an IRI without its brackets; other terms as they are."""
    return _unescaped(term[1:-1]) if term.startswith("<") else term


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda match: chr(int(match[1] or match[2], 16)), text)


def _turtle(path: Path) -> Iterator[Statement]:
    import rdflib

    found: list[tuple[Any, Any, Any]] = []

    class Collector(rdflib.Graph):
        """Keeps triples in the order of the file, and nothing else."""

        def add(self, triple: tuple[Any, Any, Any]) -> Collector:
            found.append(triple)
            return self

    with open_binary(path) as file:
        try:
            Collector().parse(data=file.read(), format="turtle", publicID=_BASE)
        except InputError:
            raise
        except Exception as error:  # rdflib raises what its parsers raise
            reason = " ".join(str(error).split())[:200]
            raise InputError(f"{path}: not Turtle: {reason}") from None
    # rdflib gives nodes without a name another one each time
    nodes: dict[str, str] = {}

    def name(term: Any) -> str:
        if isinstance(term, rdflib.BNode):
            return nodes.setdefault(str(term), f"_:b{len(nodes) + 1}")
        if isinstance(term, rdflib.URIRef):
            return str(term).removeprefix(_BASE)
        text = re.sub(r'[\t\n\r"\\]', lambda match: _ESCAPED[match[0]], str(term))
        kind = f"@{term.language}" if term.language else ""
        return f'"{text}"{f"^^<{term.datatype}>" if term.datatype else kind}'

    for subject, predicate, object_ in found:
        yield name(subject), name(predicate), name(object_)
