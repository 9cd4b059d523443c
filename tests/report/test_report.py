"""What people read: claims, tables, pictures, the page, the manifest."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgagg.cli import main
from kgagg.errors import InputError
from kgagg.evaluation.metrics import evaluate
from kgagg.graph.vocabulary import Vocabulary
from kgagg.ranking.ranks import Ranks
from kgagg.report.claims import Claim, check, paper_cells, read_claims
from kgagg.report.contents import claims_table
from kgagg.report.manifest import crate, differences, make_manifest
from kgagg.report.results import measure, title
from kgagg.report.tables import Table, to_csv, to_html, to_latex, to_markdown
from kgagg.util.text import MINUS, Value

ROOT = Path(__file__).parents[2]
CLAIMS = ROOT / "config" / "claims.yaml"


# --- claims ------------------------------------------------------------------------------------


def test_the_paper_keeps_its_own_claims_but_one() -> None:
    claims = read_claims(CLAIMS)
    checked = check(claims, paper_cells(claims))
    assert len(checked) > 250
    failed = [claim for claim in checked if claim.verdict == "FAIL"]
    # Table 1 has h@1 of NO top-5 on Codex-M below that of MAX+, which the text denies
    assert [claim.subject for claim in failed] == [
        "anyburl codex-m noisy-or-top-5 hits@1 \N{MINUS SIGN} anyburl codex-m max+ hits@1"
    ]
    assert not [claim for claim in checked if claim.verdict == "NOT RUN"]


def test_what_was_not_run_is_not_judged() -> None:
    claims = read_claims(CLAIMS)
    cells = {("anyburl", "wnrr", "max", "mrr"): 0.500, ("anyburl", "wnrr", "max+", "mrr"): 0.497}
    verdicts = {claim.subject: claim for claim in check(claims, cells)}
    assert verdicts["anyburl wnrr max mrr"].verdict == "FAIL"
    assert verdicts["anyburl wnrr max mrr"].difference == pytest.approx(0.018)
    assert verdicts["anyburl wnrr max+ mrr"].verdict == "PASS"
    assert verdicts["anyburl wnrr noisy-or mrr"].verdict == "NOT RUN"
    listed = [row[0] for row in claims_table(list(verdicts.values()), []).rows]
    assert list(dict.fromkeys(listed)) == ["FAIL", "PASS", "NOT RUN"]


@pytest.mark.parametrize(
    ("value", "verdict"), [(0.3, "PASS"), (0.1 + 0.2, "PASS"), (0.31, "FAIL"), (None, "NOT RUN")]
)
def test_bounds_are_part_of_what_is_expected(value: float | None, verdict: str) -> None:
    assert Claim("", "", "", "", 0.2, 0.3, 0.3, value).verdict == verdict


def test_claims_name_what_is_wrong_with_them(tmp_path: Path) -> None:
    text = CLAIMS.read_text().replace("at_least: 0.016", "at_leats: 0.016")
    (tmp_path / "claims.yaml").write_text(text)
    with pytest.raises(InputError, match="unknown key at_leats; did you mean at_least"):
        read_claims(tmp_path / "claims.yaml")


# --- tables ------------------------------------------------------------------------------------

TABLE = Table(
    "50 % of <all> & more",
    [("name_1", ""), ("count", ",d"), ("value", "+.2f")],
    [["a&b|_{x}^~\\", 12345, -0.125], ["<b>", None, 0.5]],
)


def test_markdown_has_aligned_columns() -> None:
    _, _, *lines = to_markdown(TABLE).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert "12 345" in lines[2]


def test_no_number_has_an_exponent() -> None:
    rows: list[list[Value]] = [[0.44663, -0.0134], [97329.0, -13849.0], [11, 0]]
    texts = Table("", [("ours", ".4g"), ("difference", "+.3g")], rows).texts()
    assert texts == [["0.4466", f"{MINUS}0.0134"], ["97 329", f"{MINUS}13 849"], ["11", "+0"]]


def test_csv_has_the_numbers_in_full() -> None:
    assert to_csv(TABLE).splitlines()[1:] == ["a&b|_{x}^~\\,12345,-0.125", "<b>,,0.5"]


def test_html_is_escaped_and_sorts_by_value() -> None:
    tree = ElementTree.fromstring(to_html(TABLE))
    cells = [(cell.text, cell.get("data-value")) for cell in tree.iter("td")]
    assert cells[1] == ("12 345", "12345")
    assert cells[3] == ("<b>", None)


def test_latex_compiles(tmp_path: Path) -> None:
    text = to_latex(TABLE)
    assert "a\\&b|\\_\\{x\\}\\textasciicircum{}\\textasciitilde{}\\textbackslash{}" in text
    if not shutil.which("pdflatex"):
        pytest.skip("pdflatex is not installed")
    document = f"\\documentclass{{article}}\n\\begin{{document}}\n{text}\\end{{document}}\n"
    (tmp_path / "table.tex").write_text(document)
    call = ["pdflatex", "-halt-on-error", "table.tex"]
    subprocess.run(call, cwd=tmp_path, check=True, capture_output=True, timeout=60)


# --- a run -------------------------------------------------------------------------------------


@pytest.fixture
def ranks() -> Ranks:
    generator = np.random.default_rng(1)
    names = ("max", "max+", "noisy-or-top-h*")
    triples = generator.integers(0, (20, 4, 20), (60, 3)).astype(np.int32)
    low = generator.integers(0, 12, (len(names), 60, 2)).astype(np.int32)
    high = np.where(low > 0, low + generator.integers(0, 3, low.shape), 0).astype(np.int32)
    entities = Vocabulary.from_names(f"e{i}" for i in range(20))
    relations = Vocabulary.from_names(["</script>", "r&1", "r2", "r3"])
    return Ranks(entities, relations, triples, names, low, high)


def test_a_result_agrees_with_the_evaluation(ranks: Ranks) -> None:
    result = measure(ranks, 100)
    table = evaluate(ranks, ["mrr"]).set_index("strategy")["value"]
    for strategy, values in result["strategies"].items():
        assert values["mrr"]["value"] == table[strategy]
        assert values["mrr"]["low"] <= table[strategy] <= values["mrr"]["high"]
    rows = result["relations"]
    assert sum(row["queries"] for row in rows) == result["queries"] == 120
    total = sum(row["queries"] * row["mrr"]["max"] for row in rows)
    assert total / 120 == pytest.approx(table["max"])


@pytest.fixture
def run(ranks: Ranks, tmp_path: Path) -> Path:
    """A folder as the workflow leaves it, of made-up ranks."""
    relations = {
        name: {"tail": "max+", "head": "noisy-or-top-4"} for name in ranks.relations.names()
    }
    counts = {
        "rules": {"total": 3, "cyclic": 1, "constant": 2},
        "histogram": {"cyclic": [1, 0], "constant": [0, 2]},
        "digest": "0" * 64,
    }
    spread = {"median": 1.5, "low": 1.0, "high": 2.0}
    stages = dict.fromkeys(("load", "index", "fit", "apply", "aggregate", "total"), spread)
    result: dict[str, Any] = {
        "dataset": "wnrr",
        "rules": "own",
        "titles": {"dataset": "WNRR", "rules": "own"},
        "paper": "anyburl",
        "source": "supplied",
        "counts": counts,
        **measure(ranks, 50),
        "curve": [{"h": 1, "valid": 0.3, "test": 0.4}, {"h": 0, "valid": 0.2, "test": 0.3}],
        "chosen": relations,
        "choices": ["max+", "noisy-or-top-4"],
        "fits": {"sparse": {"along": "epochs", "curve": [[0, 0.2], [1, 0.3]]}},
    }
    times = {
        "dataset": "wnrr",
        "rules": "own",
        "threads": 2,
        "repeats": 3,
        "cpu": "a processor",
        "compile": 1.0,
        "strategies": dict.fromkeys(ranks.strategies, stages),
    }
    statistics = {"wnrr": {"entities": 1, "relations": 2, "train": 3, "valid": 4, "test": 5}}
    for name, content in (("result", result), ("times", times), ("statistics", statistics)):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    (tmp_path / "config.json").write_text("{}")
    return tmp_path


def inputs(run: Path) -> list[str]:
    return [
        *(str(run / "result.json"), "--times", str(run / "times.json")),
        *("--statistics", str(run / "statistics.json"), "--claims", str(CLAIMS)),
    ]


def test_the_parts_of_a_report(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "tables", *inputs(run), "--out", str(run / "tables")]) == 0
    assert "| WNRR" in (run / "tables" / "comparison.md").read_text()
    plots = ["--times", str(run / "times.json"), "--out", str(run / "plots")]
    assert main(["report", "plots", str(run / "result.json"), *plots]) == 0
    first = {path.name: path.read_bytes() for path in (run / "plots").iterdir()}
    assert len(first) == 12
    assert main(["report", "plots", str(run / "result.json"), *plots]) == 0
    assert first == {path.name: path.read_bytes() for path in (run / "plots").iterdir()}
    workflow = ["--config", str(run / "config.json"), "--workflow", str(ROOT / "Snakefile")]
    lock = ["--lock", str(ROOT / "envs" / "requirements.lock")]
    made = ["report", "manifest", str(run / "tables" / "results.md"), "--root", str(run)]
    assert main([*made, *workflow, *lock]) == 0
    manifest = ["--manifest", str(run / "manifest.json")]
    page = ["--plots", str(run / "plots"), *manifest, "--out", str(run / "index.html")]
    assert main(["report", "page", *inputs(run), *page]) == 0
    read = Page()
    read.feed((run / "index.html").read_text())
    assert read.tables == 9
    # nothing is loaded from anywhere
    assert not read.addresses
    assert read.data["results"][0]["relations"][0]["relation"] in ("</script>", "r&1", "r2", "r3")
    capsys.readouterr()
    assert main(["report", "verify", *inputs(run), *manifest, *lock]) == 1
    said = capsys.readouterr()
    assert "FAIL" in said.out
    assert "claims do not hold, 0 files are not as recorded" in said.err


class Page(HTMLParser):
    """Read a page: its data, how many tables it has, what it would load."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = 0
        self.addresses: list[str] = []
        self.data: dict[str, Any] = {}
        self._data = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tables += tag == "table"
        self._data = found.get("id") == "data"
        for name in ("src", "href", "xlink:href"):
            address = found.get(name) or "#"
            if not address.startswith("#"):
                self.addresses.append(address)

    def handle_data(self, data: str) -> None:
        if self._data:
            self.data = json.loads(data)
            self._data = False


def test_names_of_strategies_are_those_of_the_paper() -> None:
    names = ("max", "max+", "noisy-or", "noisy-or-top-5", "noisy-or-top-h*", "sparse", "mean")
    assert [title(name) for name in names] == [
        *("MAX", "MAX+", "NO", "NO top-5", "NO top-h*", "SV", "mean")
    ]


# --- manifest ----------------------------------------------------------------------------------


@pytest.fixture
def manifest(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "data" / "x").mkdir(parents=True)
    files = [tmp_path / "data" / "x" / "train.txt", tmp_path / "table.csv"]
    for path in files:
        path.write_text(path.name)
    lock = ROOT / "envs" / "requirements.lock"
    return make_manifest(tmp_path, files, config={}, lock=lock, jars={"miner": "sha256:0"})


def test_the_manifest_notices_every_change(manifest: dict[str, Any], tmp_path: Path) -> None:
    assert differences(manifest, tmp_path) == []
    (tmp_path / "table.csv").write_text("other")
    (tmp_path / "data" / "x" / "train.txt").unlink()
    assert differences(manifest, tmp_path) == [
        "data/x/train.txt: missing",
        "table.csv: changed since the manifest was written",
    ]


def test_the_crate_is_whole(manifest: dict[str, Any]) -> None:
    graph = crate(manifest, "Snakefile")["@graph"]
    by_id = {entity["@id"]: entity for entity in graph}
    assert len(by_id) == len(graph)

    def references(value: Any) -> set[str]:
        if isinstance(value, dict):
            inner = set().union(*(references(v) for k, v in value.items() if k != "@id"))
            return inner | ({value["@id"]} if set(value) == {"@id"} else set())
        return set().union(*map(references, value)) if isinstance(value, list) else set()

    missing = references(graph) - by_id.keys()
    assert not {name for name in missing if not re.match(r"https?://", name)}
    root = by_id["./"]
    assert by_id[root["mainEntity"]["@id"]]["@type"][-1] == "ComputationalWorkflow"
    action = by_id["#run"]
    assert action["object"] == [{"@id": "data/x/train.txt"}]
    assert action["result"] == [{"@id": "table.csv"}]
