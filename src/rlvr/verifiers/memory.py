"""A cache of judgements with a limit in bytes; it drops the entry that was used longest ago."""

import sys
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import wraps
from threading import Lock
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
OVERHEAD = 400  # bytes of an entry beside its texts: table, tuples, numbers


def size(value: Any) -> int:
    """Bytes of the texts in a value: a text, a tuple of values, or an object with `texts`; else 0."""
    if isinstance(value, (str, bytes)):
        return sys.getsizeof(value)
    if isinstance(value, tuple):
        return sum(map(size, value))
    return size(value.texts()) if hasattr(value, "texts") else 0


class Memory(Generic[K, V]):
    """A mapping of at most `max_bytes`, usable from any thread. It stores no entry that alone is larger."""

    def __init__(self, max_bytes: int):
        self.max_bytes, self.bytes = max_bytes, 0
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: K) -> V | None:
        """The value, now the last used one; None if there is none."""
        try:
            value, _ = self._entries[key]
            self._entries.move_to_end(key)
        except KeyError:  # never there, or dropped by another thread just now
            return None
        return value

    def put(self, key: K, value: V) -> None:
        needed = OVERHEAD + size(key) + size(value)
        with self._lock:
            if key in self._entries or needed > self.max_bytes:
                return
            self._entries[key] = value, needed
            self.bytes += needed
            while self.bytes > self.max_bytes:
                self.bytes -= self._entries.popitem(last=False)[1][1]

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self.bytes = 0


def remembered(max_bytes: int) -> Callable:
    """`functools.lru_cache` with a limit in bytes, for a function of texts; its `memory` is a Memory."""

    def decorate(function: Callable[..., V]) -> Callable[..., V]:
        memory: Memory[tuple, V] = Memory(max_bytes)
        entries, used_last = memory._entries, memory._entries.move_to_end

        @wraps(function)
        def call(*arguments: Hashable) -> V:
            entry = entries.get(arguments)  # Memory.get without a call of its own; a result may be None
            if entry is None:
                value = function(*arguments)
                memory.put(arguments, value)
                return value
            try:  # noqa: SIM105 - `suppress` costs as much as the whole call
                used_last(arguments)
            except KeyError:  # dropped by another thread just now
                pass
            return entry[0]

        call.memory = memory  # type: ignore[attr-defined]
        return call

    return decorate
