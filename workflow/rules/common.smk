# Every function and setting that more than one stage uses.
import os
import sys

from kgagg.datasets import find
from kgagg.provenance import code_digest

# Rules call `kgagg`: the one beside the Python that runs this workflow, active or not.
os.environ.update(
    PATH=os.pathsep.join([os.path.dirname(sys.executable), *os.get_exec_path()])
)


wildcard_constraints:
    dataset="|".join(config["datasets"]),


def splits(dataset):
    """The files of a dataset."""
    return expand(
        "<results>/data/{dataset}/{split}.txt",
        dataset=dataset,
        split=["train", "valid", "test"],
    )
