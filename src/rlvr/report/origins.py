"""A manifest's provenance in a page's words. Manifests of before say less: no name of a lock, no GPU, one commit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

NOT_RECORDED = "not recorded"
Entry = dict[str, Any]


def entries(manifest: dict[str, Any]) -> list[Entry]:
    """Whose steps a policy is made of, in their order."""
    first = manifest["provenance"]
    return [first, *first.get("continued", [])]


def each(manifests: Iterable[dict[str, Any]], fact: Callable[[Entry], str]) -> str:
    """Different values of a fact over manifests, those of continuations too."""
    return ", ".join(dict.fromkeys(fact(entry) for manifest in manifests for entry in entries(manifest)))


def in_order(manifest: dict[str, Any], fact: Callable[[Entry], str]) -> str:
    """A fact of one manifest: where it changed on the way, from which step on it is another."""
    text, last = "", None
    for entry in entries(manifest):
        if (now := fact(entry)) != last:
            text += now if last is None else f"; from step {entry['from_step']}: {now}"
            last = now
    return text


def commit(entry: Entry) -> str:
    return str(entry.get("commit", NOT_RECORDED))


def lock(entry: Entry) -> str:
    """The lock file with its checksum, and how many of its pins were not what was installed."""
    digest = str(entry.get("lock_sha256", NOT_RECORDED))
    named = f"{entry['lock']} {digest}" if entry.get("lock") else digest
    differ = entry.get("lock_differs")
    return f"{named} ({differ} {'pin differs' if differ == 1 else 'pins differ'})" if differ else named


def device(entry: Entry) -> str:
    """The GPUs with memory, driver and CUDA; the processor where none was used."""
    gpus = entry.get("gpus") or []
    if not gpus or entry.get("device") == "cpu":
        return str(entry.get("processor", NOT_RECORDED))
    counts = Counter(f"{gpu['name']} ({gpu['memory']})" for gpu in gpus)
    names = ", ".join(f"{count} x {name}" for name, count in counts.items())
    if "nodes" in entry:
        asked = f"{entry['nodes']} x {entry['gpus_per_node']} GPUs"
        names = f"{asked}: {', '.join(counts)}"
    return f"{names}, driver {entry.get('driver')}, CUDA {entry.get('cuda') or entry.get('driver_cuda')}"


def finished(manifest: dict[str, Any]) -> str:
    return str(manifest["provenance"].get("finished", NOT_RECORDED))
