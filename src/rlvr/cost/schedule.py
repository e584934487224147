"""List scheduling on nodes of equal GPUs: by rank, then by the longest chain behind a job."""

import heapq
from dataclasses import dataclass
from functools import cached_property
from graphlib import TopologicalSorter

from rlvr.files import Mistake


@dataclass(frozen=True)
class Job:
    """A job of `seconds` on `gpus` GPUs, after other jobs; smaller ranks go first."""

    name: str
    seconds: float
    gpus: int = 1
    after: tuple[str, ...] = ()
    rank: int = 0


@dataclass(frozen=True)
class Slot:
    """A job's start and nodes."""

    job: Job
    start: float
    nodes: tuple[int, ...]

    @property
    def end(self) -> float:
        return self.start + self.job.seconds


@dataclass(frozen=True)
class Schedule:
    slots: tuple[Slot, ...]  # in order of start
    nodes: int
    gpus_per_node: int

    @cached_property
    def ends(self) -> dict[str, float]:
        return {slot.job.name: slot.end for slot in self.slots}

    @property
    def makespan(self) -> float:
        return max(self.ends.values(), default=0.0)

    @property
    def gpu_seconds(self) -> float:
        return sum(slot.job.seconds * slot.job.gpus for slot in self.slots)

    @property
    def idle_share(self) -> float:
        capacity = self.makespan * self.nodes * self.gpus_per_node
        return max(0.0, 1 - self.gpu_seconds / capacity) if capacity else 0.0

    def finished(self, names: set[str]) -> float:
        return max((self.ends[name] for name in names), default=0.0)


class DoesNotFit(Mistake):
    """A job needs more GPUs than the nodes have."""


def tails(jobs: list[Job]) -> dict[str, float]:
    """Seconds from each job's start to the end of its longest chain. Raises ValueError for a cycle."""
    by_name = {job.name: job for job in jobs}
    if len(by_name) < len(jobs):
        raise ValueError("two jobs have the same name")
    longest = dict.fromkeys(by_name, 0.0)
    for name in reversed([*_after(jobs).static_order()]):
        longest[name] += by_name[name].seconds
        for before in by_name[name].after:
            longest[before] = max(longest[before], longest[name])
    return longest


def _after(jobs: list[Job]) -> TopologicalSorter[str]:
    return TopologicalSorter({job.name: job.after for job in jobs})


def longest_chain(jobs: list[Job]) -> list[Job]:
    """The jobs of the longest chain, in order; among equals the first by name."""
    length, chain = tails(jobs), []
    next_ones = [job for job in jobs if not job.after]
    while next_ones:
        chain.append(min(next_ones, key=lambda job: (-length[job.name], job.name)))
        next_ones = [job for job in jobs if chain[-1].name in job.after]
    return chain


def simulate(jobs: list[Job], *, nodes: int, gpus_per_node: int, unit: str = "GPU") -> Schedule:
    """The schedule that starts ready jobs whenever one ends, in order of rank, then longest chain, then name.

    A job that does not fit lets smaller ones pass (like Snakemake). A job that fits one node gets the fullest such
    node; a larger one gets whole nodes. Raises DoesNotFit. The order of `jobs` has no effect.
    """
    for job in jobs:
        if _nodes_needed(job, gpus_per_node) > nodes:
            raise DoesNotFit(f"{job.name} needs {job.gpus} {unit}s; there are {nodes} x {gpus_per_node}")
    length, by_name, waiting = tails(jobs), {job.name: job for job in jobs}, _after(jobs)
    waiting.prepare()
    ready: dict[int, list[tuple[int, float, str, Job]]] = {}
    free, now, slots = [gpus_per_node] * nodes, 0.0, []
    running: list[tuple[float, str, Slot]] = []
    while True:
        for job in map(by_name.__getitem__, waiting.get_ready()):
            heapq.heappush(ready.setdefault(job.gpus, []), (job.rank, -length[job.name], job.name, job))
        while (place := _first_that_fits(ready, free, gpus_per_node)) is not None:
            job, chosen = place
            for node in chosen:
                free[node] -= min(job.gpus, gpus_per_node)
            slot = Slot(job, now, chosen)
            slots.append(slot)
            heapq.heappush(running, (slot.end, job.name, slot))
        if not running:
            return Schedule(tuple(slots), nodes, gpus_per_node)
        now = running[0][0]
        while running and running[0][0] == now:
            _, name, slot = heapq.heappop(running)
            for node in slot.nodes:
                free[node] += min(slot.job.gpus, gpus_per_node)
            waiting.done(name)


def _nodes_needed(job: Job, gpus_per_node: int) -> int:
    return -(-job.gpus // gpus_per_node)


def _first_that_fits(
    ready: dict[int, list[tuple[int, float, str, Job]]], free: list[int], gpus_per_node: int
) -> tuple[Job, tuple[int, ...]] | None:
    """The first ready job, over all sizes, that fits the free GPUs, and its nodes; removes it from `ready`."""
    for gpus, heap in sorted(((gpus, heap) for gpus, heap in ready.items() if heap), key=lambda entry: entry[1][0][:3]):
        if gpus <= gpus_per_node:
            node = min((n for n, count in enumerate(free) if count >= gpus), key=lambda n: (free[n], n), default=None)
            chosen = () if node is None else (node,)
        else:
            whole = [n for n, count in enumerate(free) if count == gpus_per_node]
            needed = _nodes_needed(heap[0][3], gpus_per_node)
            chosen = tuple(whole[:needed]) if len(whole) >= needed else ()
        if chosen:
            return heapq.heappop(heap)[3], chosen
    return None
