"""Progress that is shown with tqdm, if it is installed."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, cast

BETWEEN = 0.2
"""The time between two looks at a counter, in seconds."""


class Bar(Protocol):
    """Progress that is shown."""

    def update(self, n: int = 1) -> object: ...

    def close(self) -> object: ...


class NoBar:
    """Progress that nobody sees."""

    def update(self, n: int = 1) -> None:
        pass

    def close(self) -> None:
        pass


def progress_bar(shown: bool | None, total: int, unit: str) -> Bar:
    """A bar of tqdm, if it is installed; by default, only for people: in terminals and notebooks."""
    if shown is None:
        shown = sys.stderr is not None and sys.stderr.isatty() or "ipykernel" in sys.modules
    if not shown:
        return NoBar()
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        return NoBar()
    return cast(Bar, tqdm(total=total, unit=unit))


class Progress:
    """Moves a bar while work is done in chunks: at the end of each chunk, and meanwhile with a counter of the items done."""

    def __init__(self, bar: Bar, total: int, counter: Callable[[], int] | None) -> None:
        self.bar = bar
        self.total = total
        self.shown = 0
        self.counter = counter
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> Progress:
        if self.counter is not None and not isinstance(self.bar, NoBar):
            self.thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, place: TracebackType | None
    ) -> None:
        self.ended.set()
        if self.thread.is_alive():
            self.thread.join()
        if error is None:
            self._show(self.total)
        self.bar.close()

    def reach(self, done: int) -> None:
        """So many items are done."""
        if not self.thread.is_alive():
            self._show(done)

    def _follow(self) -> None:
        assert self.counter is not None
        before = self.counter()
        while not self.ended.wait(BETWEEN):
            self._show(min(self.counter() - before, self.total))

    def _show(self, done: int) -> None:
        self.bar.update(max(done - self.shown, 0))
        self.shown = max(done, self.shown)
