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
from kgagg.report.contents import claims_table, fingerprints_of
from kgagg.report.manifest import crate, differences, make_manifest
from kgagg.report.page import findings
from kgagg.report.reproduction import compare
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
    failed = [claim for claim in checked if claim.verdict in ("FAIL", "DIFFERS")]
    # Table 1 has h@1 of NO top-5 on Codex-M below that of MAX+, which the text denies
    assert [claim.subject for claim in failed] == [
        "anyburl codex-m noisy-or-top-5 hits@1 \N{MINUS SIGN} anyburl codex-m max+ hits@1"
    ]
    assert not [claim for claim in checked if claim.verdict == "NOT RUN"]


def test_what_was_not_run_is_not_judged() -> None:
    claims = read_claims(CLAIMS)
    cells = {
        ("anyburl", "wnrr", "max", "mrr"): 0.464,
        ("anyburl", "wnrr", "max+", "mrr"): 0.497,
        ("anyburl", "wnrr", "noisy-or-top-5", "mrr"): 0.52,
    }
    verdicts = {claim.subject: claim for claim in check(claims, cells)}
    assert verdicts["anyburl wnrr max mrr"].verdict == "FAIL"
    assert verdicts["anyburl wnrr max mrr"].difference == pytest.approx(-0.018)
    # what is better than the paper is no failure
    assert verdicts["anyburl wnrr noisy-or-top-5 mrr"].verdict == "DIFFERS"
    assert verdicts["anyburl wnrr max+ mrr"].verdict == "PASS"
    assert verdicts["anyburl wnrr noisy-or mrr"].verdict == "NOT RUN"
    table = claims_table(list(verdicts.values()), [])
    assert list(dict.fromkeys(row[0] for row in table.rows)) == ["FAIL", "DIFFERS", "PASS"]
    assert f"{len(verdicts) - len(table.rows)} more are about" in table.caption


@pytest.mark.parametrize(
    ("value", "better", "verdict"),
    [
        (0.3, "", "PASS"),
        (0.1 + 0.2, "", "PASS"),
        (0.31, "", "FAIL"),
        (0.31, "higher", "DIFFERS"),
        (0.31, "lower", "FAIL"),
        (0.19, "higher", "FAIL"),
        (0.19, "lower", "DIFFERS"),
        (0.19, "both", "DIFFERS"),
        (None, "both", "NOT RUN"),
    ],
)
def test_bounds_are_part_of_what_is_expected(
    value: float | None, better: str, verdict: str
) -> None:
    assert Claim("", "", "", "", 0.2, 0.3, 0.3, value, better).verdict == verdict


def test_slower_than_in_the_paper_is_what_times_fail_by() -> None:
    claims = read_claims(CLAIMS)
    minutes = {
        ("anyburl", "codex-m", "safran", "minutes"): 5.0,
        ("anyburl", "codex-m", "noisy-or-top-h*", "minutes"): 1.0,
    }
    found = {
        claim.text: claim.verdict
        for claim in check(claims, minutes)
        if claim.ours is not None and claim.text.startswith("...")
    }
    assert found == {"... while running approximately 55 times longer": "DIFFERS"}


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


GROUPED = Table(
    "All.",
    [("rules", ""), ("strategy", ""), ("MRR", ".3f"), ("paper", ".3f"), ("threads", "d")],
    [["own", "a", 0.25, None, 2], ["own", "b", 0.5, None, 2]],
    ["", "", "X", "X", ""],
    {(1, 2)},
)


def test_columns_that_say_nothing_are_left_to_the_caption() -> None:
    table = GROUPED.compact()
    assert table.caption == "All. Rules: own; threads: 2."
    assert table.names() == ["strategy", "X MRR"]
    assert table.texts() == [["a", "0.250"], ["b", "0.500"]]
    assert "| b        | **0.500** |" in to_markdown(table)
    assert "\\textbf{0.500}" in to_latex(table)
    assert "\\multicolumn{1}{c}{} & \\multicolumn{1}{c}{X}" in to_latex(table)
    tree = ElementTree.fromstring(to_html(table))
    assert [cell.text for cell in tree.iter("b")] == ["0.500"]
    assert [[cell.get("colspan") for cell in row] for row in tree.findall("thead/tr")] == [
        ["1", "1"],
        [None, None],
    ]


def test_a_table_of_one_row_keeps_its_columns() -> None:
    table = Table("", GROUPED.columns, GROUPED.rows[:1]).compact()
    assert table.names() == ["rules", "strategy", "MRR", "threads"]


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
    assert "Dataset: WNRR; rules: own." in (run / "tables" / "comparison.md").read_text()
    plots = ["--times", str(run / "times.json"), "--out", str(run / "plots")]
    assert main(["report", "plots", str(run / "result.json"), *plots]) == 0
    first = {path.name: path.read_bytes() for path in (run / "plots").iterdir()}
    assert len(first) == 12
    assert main(["report", "plots", str(run / "result.json"), *plots]) == 0
    assert first == {path.name: path.read_bytes() for path in (run / "plots").iterdir()}
    workflow = ["--config", str(run / "config.json"), "--workflow", str(ROOT / "Snakefile")]
    lock = ["--lock", str(ROOT / "envs" / "requirements.lock")]
    made = ["report", "manifest", str(run / "tables" / "results.md"), "--root", str(run)]
    assert main([*made, "--results", str(run / "result.json"), *workflow, *lock]) == 0
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
    reference = ["--reference", str(run / "manifest.json")]
    assert main(["report", "verify", *inputs(run), *manifest, *lock, *reference]) == 0
    # the rules, three strategies, the table; claims are reported, but not required
    said = capsys.readouterr()
    assert said.out.endswith("\nREPRODUCED 5 of 5\n")
    assert "FAIL" in said.out
    other = json.loads((run / "manifest.json").read_text())
    next(iter(other["fingerprints"].values()))["digest"] = "another"
    (run / "other.json").write_text(json.dumps(other))
    reference = ["--reference", str(run / "other.json")]
    assert main(["report", "verify", *inputs(run), *manifest, *lock, *reference]) == 1
    said = capsys.readouterr()
    assert said.out.endswith("\nNOT REPRODUCED 4 of 5\n")
    assert "1 differences from" in said.err
    del other["fingerprints"]
    (run / "other.json").write_text(json.dumps(other))
    assert main(["report", "verify", *inputs(run), *manifest, *lock, *reference]) == 2
    assert "other.json: expected a manifest with fingerprints" in capsys.readouterr().err


def test_findings_are_two_sentences(run: Path) -> None:
    result = json.loads((run / "result.json").read_text())
    claims = check(read_claims(CLAIMS), {("anyburl", "wnrr", "max", "mrr"): 0.482})
    said = findings([result], claims)
    best = max(values["mrr"]["value"] for values in result["strategies"].values())
    assert said.startswith("Best in MRR: ")
    assert f"on WNRR ({best:.3f}, " in said
    assert said.endswith(
        "Of 1 numbers and statements of the paper that this run can check, 1 hold, "
        "0 differ but not for the worse, and 0 do not hold."
    )
    assert "of the queries have a tied target" in findings([result], check(read_claims(CLAIMS), {}))


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


def test_names_of_strategies_are_those_that_people_know() -> None:
    names = ("max", "max+", "noisy-or", "noisy-or-top-5", "noisy-or-top-h*", "sparse", "mean")
    assert [title(name) for name in names] == [
        *("MAX", "MAX+", "noisy-or", "noisy-or top-5", "noisy-or top-h*", "SV", "mean")
    ]


# --- reproduction ------------------------------------------------------------------------------


def test_ranks_have_one_digest_wherever_they_are(ranks: Ranks, tmp_path: Path) -> None:
    ranks.write(tmp_path / "ranks.parquet")
    assert Ranks.read(tmp_path / "ranks.parquet").digests() == ranks.digests()
    assert len(set(ranks.digests())) == len(ranks.strategies)
    other = ranks.only(ranks.strategies)
    other.pessimistic[1, 7, 0] += 1
    assert [a == b for a, b in zip(ranks.digests(), other.digests(), strict=True)] == [
        *(True, False, True)
    ]


def test_what_differs_is_told_with_how_far(run: Path) -> None:
    result = json.loads((run / "result.json").read_text())
    ours = fingerprints_of([result])
    published = json.loads(json.dumps(ours))
    assert compare(ours, published).lines() == ["REPRODUCED 5 of 5"]
    published["wnrr own max"] = {"digest": "0", "mrr": ours["wnrr own max"]["mrr"] - 0.001}
    published["wnrr own"] |= {"digest": "0", "rules": 4_000}
    published["table"]["digest"] = "0"
    first, second, third, last = compare(ours, published).lines()
    assert first == "wnrr own: other rules, 3, published 4,000"
    assert second.startswith("wnrr own max: other ranks, MRR 0.")
    assert second.endswith("(+0.001000)")
    assert third == "table: prints other numbers"
    assert last == "NOT REPRODUCED 2 of 5"


def test_what_was_not_run_is_said_and_not_counted(run: Path) -> None:
    result = json.loads((run / "result.json").read_text())
    other = dict(result, dataset="codex-m")
    published = fingerprints_of([result, other])
    assert compare(fingerprints_of([result]), published).lines() == [
        "REPRODUCED 4 of 4; not run: codex-m own"
    ]
    assert compare({}, published).lines()[-1].startswith("NOT REPRODUCED 0 of 0; not run: ")


# --- manifest ----------------------------------------------------------------------------------


@pytest.fixture
def manifest(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "data" / "x").mkdir(parents=True)
    files = [tmp_path / "data" / "x" / "train.txt", tmp_path / "table.csv"]
    for path in files:
        path.write_text(path.name)
    lock = ROOT / "envs" / "requirements.lock"
    return make_manifest(
        tmp_path, files, config={}, lock=lock, jars={"miner": "sha256:0"}, fingerprints={}
    )


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
