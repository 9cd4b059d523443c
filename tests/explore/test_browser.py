"""The pages in a real browser."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from workflows import sandbox

import kgagg
from kgagg.data.datasets import fetch
from kgagg.data.registry import find
from kgagg.errors import Unavailable

HERE = Path(__file__).parent


def test_a_visit_in_chromium(tmp_path: Path) -> None:
    try:
        fetch(find("nations"), quiet=True)
    except Unavailable as reason:
        pytest.skip(str(reason))
    graph = kgagg.Graph.read("nations")
    for split in ("train", "valid"):
        rows = [
            (graph.entities[h], graph.relations[r], graph.entities[t])
            for h, r, t in graph.split(split)
        ]
        (tmp_path / f"{split}.txt").write_text("".join("\t".join(row) + "\n" for row in rows))
    kinds = sorted(graph.relations.names())
    (tmp_path / "rules.txt").write_text(
        "".join(
            f"90\t{40 + i}\t0.5\tembassy(X,Y) <= {kind}(X,Y)\n" for i, kind in enumerate(kinds[:9])
        )
        + "".join(
            f"90\t{20 + i}\t0.3\tembassy(X,Y) <= {kind}(X,A), {kind}(A,Y)\n"
            for i, kind in enumerate(kinds[:5])
        )
    )
    (tmp_path / "labels.txt").write_text("brazil\tBrazil <b>\n")
    call = [str(HERE / "browse.py"), str(tmp_path), "rules.txt", "labels.txt", "brazil", "embassy"]
    told = sandbox(
        tmp_path,
        "chromium chromium-driver",
        sys.executable,
        *call,
        str(tmp_path / "seen"),
        limit=400,
    )
    found = json.loads(told.splitlines()[-1])
    assert found["suggested"] == ["Brazil <b>  (brazil)"]
    assert found["entity"] == "Brazil <b>"
    assert found["candidates"] > 2
    assert found["saved"].endswith("format=csv")
    assert found["reasons"] > 0
    assert found["again"]
    assert found["back"]
    assert found["rule"].startswith("embassy(X,Y) <= ")
    assert found["static"].startswith("embassy(X,Y) <= ")
    assert found["overflows"] == []
    assert found["complaints"] == []
    assert len(list((tmp_path / "seen").glob("*.png"))) == 12
