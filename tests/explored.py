"""A graph whose names try to be markup, addresses and patterns."""

from __future__ import annotations

from pathlib import Path

SCRIPT = "<script>document.title='owned'</script>"
QUOTES = "\"><img src=x onerror=alert(1)>'"
WORDS = "a/b?c=d&e#f %41 + .."
NAMES = (SCRIPT, QUOTES, WORDS, "{{ 7 * 7 }}", "Zoë ∀x", "plain")
LIKES, KNOWS = "likes <b>", "knows & 'more'"
LABELS = {"plain": "<i>Plain</i> label", SCRIPT: "A script"}


def write_hostile(folder: Path) -> None:
    """Write train.txt, valid.txt, rules.txt and labels.txt."""
    pairs = [
        (one, NAMES[(i + step) % len(NAMES)]) for i, one in enumerate(NAMES) for step in (1, 2)
    ]
    lines = [f"{one}\t{LIKES}\t{other}\n" for one, other in pairs]
    lines += [f"{one}\t{KNOWS}\t{other}\n" for one, other in pairs[::3]]
    (folder / "train.txt").write_text("".join(lines))
    (folder / "valid.txt").write_text(f"{pairs[1][0]}\t{KNOWS}\t{pairs[1][1]}\n")
    rules = (
        f"20\t9\t0.45\t{KNOWS}(X,Y) <= {LIKES}(X,Y)\n"
        f"20\t3\t0.15\t{KNOWS}(X,Y) <= {LIKES}(X,A), {LIKES}(A,Y)\n"
        f"6\t2\t0.3\t{KNOWS}(X,plain) <= {LIKES}(X,A)\n"
        f"6\t2\t0.3\t{KNOWS}(X,plain) <= {LIKES}(X,Zoë ∀x)\n"
    )
    (folder / "rules.txt").write_text(rules)
    labels = (f"{name}\t{label}\n" for name, label in LABELS.items())
    (folder / "labels.txt").write_text("".join(labels))
