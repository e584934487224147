"""Provenance of manifests as text. Older manifests have less: no lock's name, no GPU, a single commit."""

from collections import Counter
from collections.abc import Callable
from typing import Any

NOT_RECORDED = "not recorded"
Entry = dict[str, Any]


def entries(manifest: dict[str, Any]) -> list[Entry]:
    """The provenance of each part of a policy's training, in order."""
    first = manifest["provenance"]
    return [first, *first.get("continued", [])]


def in_order(manifest: dict[str, Any], fact: Callable[[Entry], str]) -> str:
    """A fact of one manifest; where it changed during training, each value with its first step."""
    text, last = "", None
    for entry in entries(manifest):
        if (now := fact(entry)) != last:
            text += now if last is None else f"; from step {entry['from_step']}: {now}"
            last = now
    return text


def commit(entry: Entry) -> str:
    return str(entry.get("commit", NOT_RECORDED))


def lock(entry: Entry) -> str:
    """The lock file with its checksum, and the number of pins that differ from the installed versions."""
    digest = str(entry.get("lock_sha256", NOT_RECORDED))
    text = f"{entry['lock']} {digest}" if entry.get("lock") else digest
    differ = entry.get("lock_differs")
    return f"{text} ({differ} {'pin differs' if differ == 1 else 'pins differ'})" if differ else text


def device(entry: Entry) -> str:
    """The GPUs with memory, driver and CUDA, or else the processor and an engine of its own."""
    gpus = entry.get("gpus") or []
    if not gpus or entry.get("device") == "cpu":
        engine = f", engine {entry['engine']}" if "engine" in entry else ""
        return str(entry.get("processor", NOT_RECORDED)) + engine
    counts = Counter(f"{gpu['name']} ({gpu['memory']})" for gpu in gpus)
    names = ", ".join(f"{count} x {name}" for name, count in counts.items())
    if "nodes" in entry:
        total = f"{entry['nodes']} x {entry['gpus_per_node']} GPUs"
        names = f"{total}: {', '.join(counts)}"
    return f"{names}, driver {entry.get('driver')}, CUDA {entry.get('cuda') or entry.get('driver_cuda')}"


def finished(manifest: dict[str, Any]) -> str:
    return str(manifest["provenance"].get("finished", NOT_RECORDED))
