"""The workflow: planned as it should be, run for real on nations, killed, cut off, resumed."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
import yaml
from waiting import wait_for
from workflows import (
    BYTES,
    CONFIG,
    ROOT,
    command,
    content,
    jobs,
    offline,
    sandbox,
    snakemake,
    succeed,
)

from kgagg.data.download import digest_of
from kgagg.graph.graph import SPLITS
from kgagg.report.manifest import differences
from kgagg.report.results import read_json

# --- plans -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "pairs", "ranked", "fitted"), [("demo", 4, 6, 2), ("config", 8, 9, 5)]
)
def test_the_plan_is_complete(
    tmp_path: Path, config: str, pairs: int, ranked: int, fitted: int
) -> None:
    planned = jobs(snakemake(tmp_path, "--dry-run", config=config))
    assert planned["dataset"] == 4
    # the demo has a second rule set where AnyBURL's jar is at hand
    assert planned["mine_rules"] in (pairs, 8)
    assert planned["result"] == planned["mine_rules"] == planned["time"]
    assert planned["rank"] == ranked * planned["result"]
    assert planned["fit_strategy"] == fitted * planned["result"]
    # ranks for every h, on valid and on test
    assert planned["rank_curve"] == 2 * planned["result"]


def test_costs_are_predicted_by_a_target_of_their_own(tmp_path: Path) -> None:
    run = snakemake(tmp_path, "plan")
    table = succeed(run)
    assert "Predicted cost on 2 cores" in run.stdout
    stages = ("fetch", "mine", "rules", "apply", "fit", "aggregate", "time", "report", "all")
    assert all(re.search(rf"^\| {stage} ", table, re.M) for stage in stages)


def test_a_folder_is_planned_again_when_its_content_changes(tmp_path: Path) -> None:
    folder = tmp_path / "people"
    folder.mkdir()
    for split in SPLITS:
        (folder / f"{split}.csv").write_text("head,relation,tail\na,r,b\nb,r,c\n")
    config = tmp_path / "people.yaml"
    config.write_text(yaml.safe_dump(CONFIG | {"datasets": [str(folder)]}))
    assert jobs(snakemake(tmp_path, "--dry-run", "fetch", config=config))["dataset"] == 1
    page = tmp_path / "out" / "report" / "index.html"
    page.parent.mkdir(parents=True)
    page.touch()
    said = succeed(snakemake(tmp_path, "fetch", config=config))
    assert "The report: out/report/index.html" in said.splitlines()[-4:]
    assert (tmp_path / "out/data/people/train.txt").read_text() == "a\tr\tb\nb\tr\tc\n"
    assert "Nothing to be done" in succeed(snakemake(tmp_path, "--dry-run", "fetch", config=config))
    (folder / "valid.csv").write_text("head,relation,tail\na,r,c\n")
    assert jobs(snakemake(tmp_path, "--dry-run", "fetch", config=config))["dataset"] == 1


def test_what_cannot_be_reached_is_told_before_anything_runs(tmp_path: Path) -> None:
    config = tmp_path / "far.yaml"
    far = {"datasets": ["codex-l", "wikidata5m"], "offline": True}
    config.write_text(yaml.safe_dump(CONFIG | far))
    run = snakemake(tmp_path, config=config)
    assert run.returncode == 1
    told = "cannot reach: codex-l, wikidata5m; put them into KGAGG_MIRROR, or run config/demo.yaml"
    assert told in run.stdout + run.stderr
    assert not list((tmp_path / "out").rglob("*.log"))


def upstream(run: subprocess.CompletedProcess[str]) -> dict[str, set[str]]:
    """Read from a dry run what every file is made from, directly or not."""
    direct: dict[str, set[str]] = {}
    for block in re.split(r"\n(?=(?:local)?rule \w+:)", succeed(run)):
        files = {
            key: set(found[1].split(", "))
            if (found := re.search(rf"^ +{key}: (.*)$", block, re.M))
            else set()
            for key in ("input", "output")
        }
        for file in files["output"]:
            direct[file] = files["input"]
    result: dict[str, set[str]] = {}

    def walk(file: str) -> set[str]:
        if file not in result:
            result[file] = set(direct.get(file, ()))
            for source in direct.get(file, ()):
                result[file] |= walk(source)
        return result[file]

    for file in direct:
        walk(file)
    return result


@pytest.mark.parametrize("config", ["demo", "config"])
def test_nothing_of_test_is_behind_what_is_tuned(tmp_path: Path, config: str) -> None:
    behind = upstream(snakemake(tmp_path, "--dry-run", config=config))

    def of_test(files: set[str]) -> list[str]:
        return [file for file in files if "test" in re.split(r"[/.]", file)]

    tuned = [file for file in behind if "/models/" in file]
    mined = [file for file in behind if "/rules/" in file]
    assert len(tuned) >= 4
    assert len(mined) >= 8
    for file in tuned + mined:
        assert any("/tuning/" in source for source in behind[file]), file
        assert not of_test(behind[file]), file
    # the reading of the plan is right: what is ranked on test does have it behind it
    ranked = [file for file in behind if "/ranks/" in file and "/test/" in file]
    assert ranked
    assert all(any(file.endswith("/test.txt") for file in of_test(behind[file])) for file in ranked)


# --- configurations that are wrong ----------------------------------------------------------------


def test_a_wrong_configuration_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    run = snakemake(tmp_path, "--dry-run", "--config", "datsets=[wnrr]")
    assert run.returncode != 0
    assert "unknown key datsets; did you mean datasets?" in run.stdout + run.stderr


# --- runs -----------------------------------------------------------------------------------------


def test_everything_is_made(finished: Path) -> None:
    out = finished / "out"
    result = read_json(out / "results" / "nations" / "native.json")
    assert list(result["strategies"]) == CONFIG["strategies"]
    assert 0.5 < result["strategies"]["max+"]["mrr"]["value"] < 1
    assert differences(read_json(out / "manifest.json"), out, ROOT / "envs/requirements.lock") == []
    for name, forms in (("tables/results", "md tex csv html"), ("plots/curve", "svg png")):
        for form in forms.split():
            assert (out / f"{name}.{form}").stat().st_size > 100
    assert (out / "report" / "index.html").stat().st_size > 50_000
    logs = {
        path.relative_to(out / "logs").parts[0].removesuffix(".log")
        for path in (out / "logs").rglob("*.log")
    }
    measured = {
        path.relative_to(out / "benchmarks").parts[0].removesuffix(".tsv")
        for path in (out / "benchmarks").rglob("*.tsv")
    }
    assert logs - measured == {"fetch", "before_test", "settings"}


def test_it_was_made_without_a_network(finished: Path) -> None:
    if not offline():
        pytest.skip("`unshare --net` is not allowed here: the run had a network")
    assert (finished / "done").exists()


def test_nothing_is_done_twice(again: Path) -> None:
    config = again / "nations.yaml"
    assert "Nothing to be done" in succeed(snakemake(again, "--dry-run", config=config))
    # one strategy more: its ranks, and what they go into
    more = jobs(
        snakemake(
            again,
            "--dry-run",
            "--config",
            "strategies=[max,max+,noisy-or,noisy-or-top-h*,learned]",
            config=config,
        )
    )
    assert more["rank"] == 1
    assert not {"apply_part", "gather", "fit_strategy", "rank_curve", "mine_rules"} & more.keys()


def test_a_run_that_was_killed_ends_with_the_same_bytes(again: Path) -> None:
    config = again / "nations.yaml"
    expected = content(again, *BYTES)
    assert len(expected) > 10
    for name in ("firings", "models", "ranks", "results", "tables"):
        shutil.rmtree(again / "out" / name)
    parts = "--set-scatter", "queries=5"
    child = subprocess.Popen(
        command(*parts, config=config),
        cwd=again,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    firings = again / "out" / "firings"

    def has_begun() -> bool:
        assert child.poll() is None, "ended before it could be killed"
        return any(firings.glob("*/*/*/*.parquet"))

    wait_for(has_begun)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    assert not any(firings.glob("*/*/test.parquet"))
    succeed(snakemake(again, "--unlock", config=config))
    succeed(snakemake(again, *parts, config=config))
    assert content(again, *BYTES) == expected


def test_braces_in_a_title_are_no_wildcards(tmp_path: Path) -> None:
    title = "{x} of {wildcards.dataset}'s \\ | $HOME"
    sets = {"native": {"title": title}}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(CONFIG | {"rule_sets": sets}))
    succeed(snakemake(tmp_path, "out/config.json", config=tmp_path / "own.yaml"))
    assert read_json(tmp_path / "out" / "config.json")["rule_sets"]["native"]["title"] == title
    planned = succeed(snakemake(tmp_path, "--dry-run", "-p", config=tmp_path / "own.yaml"))
    assert "--title '{x} of {wildcards.dataset}" in planned


def test_rules_can_be_supplied_or_pinned(again: Path) -> None:
    mined = again / "out" / "rules" / "nations" / "native.rules.zst"
    rules = again / "my.rules.zst"
    shutil.copy(mined, rules)
    digest = f"sha256:{digest_of(rules, 'sha256')}"
    entries = {"supplied": {"file": str(rules)}, "pinned": {"file": str(rules), "digest": digest}}
    sets = {
        name: {"title": name, "top_h": [1], "datasets": {"nations": entry}}
        for name, entry in entries.items()
    }
    config = again / "own.yaml"
    config.write_text(yaml.safe_dump(CONFIG | {"rules": list(sets), "rule_sets": sets}))
    succeed(snakemake(again, "mine", config=config))
    first, *others = (
        read_json(again / "out" / "rules" / "nations" / f"{name}.counts.json")["digest"]
        for name in ("native", *sets)
    )
    assert others == [first, first]
    # another content than the pinned one is refused
    entries["pinned"]["digest"] = "sha256:" + "0" * 64
    config.write_text(yaml.safe_dump(CONFIG | {"rules": ["pinned"], "rule_sets": sets}))
    run = snakemake(again, "mine", config=config)
    assert run.returncode != 0
    assert "0000" in run.stdout + run.stderr


def test_what_does_not_hold_is_told_by_the_exit_code(again: Path) -> None:
    config = again / "nations.yaml"
    run = snakemake(again, "verify", config=config)
    assert "All files have the digests of the manifest." in succeed(run)
    assert "NOT RUN" in run.stdout
    # the manifest is not written anew to fit
    (again / "out" / "rules" / "nations" / "native.rules.zst.json").write_text("{}")
    run = snakemake(again, "verify", config=config)
    assert run.returncode != 0
    assert "native.rules.zst.json: changed since the manifest was written" in run.stdout


# --- a real cluster, a real browser -------------------------------------------------------------


SLURM = "slurmctld slurmd slurm-client slurmdbd munge mariadb-server"


@pytest.mark.parametrize("profile", ["slurm", "slurm-squeue"])
def test_slurm_makes_the_same_tables(again: Path, profile: str) -> None:
    expected = content(again, *BYTES)
    for name in ("firings", "models", "ranks", "results", "tables"):
        shutil.rmtree(again / "out" / name)
    cluster = [str(ROOT / "tests" / "slurm" / "cluster.sh")]
    if profile == "slurm":
        cluster.append("--accounting")
    said = sandbox(
        again,
        SLURM,
        *cluster,
        *command("tables", config=again / "nations.yaml"),
        *("--profile", str(ROOT / "profiles" / profile)),
        *("--slurm-init-seconds-before-status-checks", "3"),
        limit=3000,
    )
    assert "has been submitted with SLURM jobid" in said
    assert content(again, *BYTES) == expected


def test_any_scheduler_makes_the_same_tables(again: Path) -> None:
    # a scheduler of one line: the job is run at once, and its id is printed
    (again / "submit.sh").write_text('#!/bin/sh\nsh "$1" >>jobs.log 2>&1 </dev/null &\necho $!\n')
    (again / "submit.sh").chmod(0o755)
    expected = content(again, *BYTES)
    for name in ("models", "ranks/nations/native/test", "results", "tables"):
        shutil.rmtree(again / "out" / name)
    said = succeed(
        snakemake(
            again,
            "tables",
            *("--profile", str(ROOT / "profiles" / "cluster-generic")),
            *("--cluster-generic-submit-cmd", "./submit.sh", "--latency-wait", "5"),
            config=again / "nations.yaml",
        )
    )
    assert "external jobid" in said
    assert content(again, *BYTES) == expected


# What a reader does: sort a table, ask where a number comes from, look at relations
READER = """
<script>
addEventListener("load", () => {
  const results = document.querySelector("#results table");
  const head = [...results.tHead.rows[results.tHead.rows.length - 1].cells].at(-1);
  const rows = results.tBodies[0].rows;
  const values = () => [...rows].map(row => Number(row.cells[head.cellIndex].dataset.value));
  head.click();
  const down = values();
  head.click();
  const up = values();
  document.querySelector("#comparison tbody tr").click();
  document.querySelectorAll("details").forEach(one => { one.open = true; });
  const pictures = [...document.querySelectorAll("figure svg")];
  const past = [...document.querySelectorAll("body *")].filter(one =>
    !one.closest(".wide, pre, [hidden]") && one.getBoundingClientRect().right > innerWidth + 1);
  document.title = JSON.stringify({
    down, up,
    width: innerWidth,
    page: document.documentElement.scrollWidth,
    past: past.map(one => one.outerHTML.slice(0, 80)),
    hints: [...document.querySelectorAll(".wide")].map(one =>
      [one.scrollWidth > one.clientWidth + 1, one.classList.contains("more")]),
    ink: getComputedStyle(document.querySelector("figure svg text")).fill,
    dark: matchMedia("(prefers-color-scheme: dark)").matches,
    claims: document.getElementById("claims").getBoundingClientRect().height,
    steps: document.querySelectorAll("#trace li").length,
    digest: /[0-9a-f]{64}/.test(document.getElementById("trace").textContent),
    relations: document.querySelectorAll("#relation tbody tr").length,
    pictures: pictures.map(svg => svg.getBoundingClientRect().width),
    loaded: performance.getEntriesByType("resource").length,
  });
});
</script></body>
"""
DARK = ("--blink-settings=preferredColorScheme=0", "--force-dark-mode")


@pytest.mark.parametrize(("width", "dark"), [(1200, False), (390, True)])
def test_the_page_works_in_a_browser(
    finished: Path, tmp_path: Path, width: int, dark: bool
) -> None:
    page = (finished / "out" / "report" / "index.html").read_text()
    # headless windows are no narrower than 500 pixels, a frame is
    (tmp_path / "page.html").write_text(page.replace("</body>", READER))
    (tmp_path / "frame.html").write_text(
        f'<iframe src="page.html" width="{width}" height="900" style="border: 0"></iframe>'
        "<script>setInterval(() => { document.title = frames[0].document.title; }, 50);</script>"
    )
    browser = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", *(DARK if dark else ())]
    browser += ["--allow-file-access-from-files", "--virtual-time-budget=5000", "--dump-dom"]
    dom = sandbox(tmp_path, "chromium", *browser, (tmp_path / "frame.html").as_uri(), limit=300)
    found = json.loads(html.unescape(re.search("<title>(.*?)</title>", dom, re.S)[1]))  # type: ignore[index]
    assert (found["width"], found["dark"]) == (width, dark)
    assert found["page"] <= width
    assert found["past"] == []
    # what is wider than the page scrolls, and says so
    assert all(wider == told for wider, told in found["hints"])
    assert any(wider for wider, _ in found["hints"]) == (width < 1200)
    assert found["ink"] == ("rgb(255, 255, 255)" if dark else "rgb(0, 0, 0)")
    assert found["claims"] == 0
    assert found["down"] == sorted(found["down"], reverse=True)
    assert found["up"] == sorted(found["up"])
    assert found["steps"] >= 4
    assert found["digest"]
    assert found["relations"] > 50
    assert len(found["pictures"]) == 6
    assert min(found["pictures"]) > 300
    assert found["loaded"] == 0
