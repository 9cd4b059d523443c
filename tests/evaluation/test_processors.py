"""Ranks are the same on processors with other instruction sets, those of fitted strategies too."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

KGAGG = Path(sys.executable).with_name("kgagg")

# No vectors beyond those that every x86-64 and no processor in particular has.
PLAIN = {
    "NUMBA_CPU_NAME": "generic",
    "NUMBA_CPU_FEATURES": "",
    "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3 AVX512F AVX512CD AVX512_SKX",
    "OPENBLAS_CORETYPE": "Nehalem",
}
STRATEGIES = "max,max+,noisy-or,noisy-or-top-5,noisy-or-top-h*,log-odds,factors"


def evaluated(world: Path, cache: Path, settings: dict[str, str]) -> pd.DataFrame:
    """Return the ranks that a process of its own computes, with kernels of its own."""
    cache.mkdir(mode=0o700)
    file = cache / "ranks.parquet"
    call: list[str | Path] = [KGAGG, "evaluate", world, world / "rules.txt"]
    environment = {**os.environ, **settings, "KGAGG_CACHE": str(cache)}
    subprocess.run(
        [*call, "--strategies", STRATEGIES, "--threads", "1", "--ranks", file],
        env=environment,
        capture_output=True,
        check=True,
    )
    return pd.read_parquet(file)


def test_ranks_do_not_depend_on_the_instruction_set(
    world: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    caches = tmp_path_factory.mktemp("processors")
    native = evaluated(world, caches / "native", {})
    plain = evaluated(world, caches / "plain", PLAIN)
    assert set(native["strategy"]) == set(STRATEGIES.split(","))
    pd.testing.assert_frame_equal(plain, native)
