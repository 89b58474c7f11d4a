"""Every operation of a model for one text."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from . import _attentive

HEIGHT = 720
"""The height of the page in a notebook, in pixels."""


class Operation(NamedTuple):
    """An operation with its result."""

    name: str
    """Where it is, such as `"encoder.layers.0.self_attention.scores"`."""
    position: int | None
    """The position of the target, for decoders that compute one position after the other."""
    formula: str
    """How it is computed, with the names of what it reads."""
    tensor: _attentive.Tensor
    """The result as `numpy.asarray` reads it."""

    @property
    def values(self) -> NDArray[np.float32]:
        """The result: `[rows, columns]`, or `[heads, rows, columns]`. Needs NumPy."""
        import numpy

        return numpy.asarray(self.tensor)


@dataclass(frozen=True, repr=False)
class Trace:
    """Every operation of a model for one text, in the order of computation. A notebook shows them as a page."""

    source: list[str]
    """The tokens that the encoder reads; empty for a model without one."""
    target: list[str]
    """The tokens that the decoder reads; empty for a model without one."""
    operations: list[Operation]
    """The operations."""
    loss: float | None
    """The loss that went backward, if one was wanted."""
    gradients: dict[str, list[float]]
    """The length of the gradient of each layer's output at each position; empty without a backward pass."""
    html: str | None
    """A whole page, to be written to a file; `None` if there are too many values."""

    def __getitem__(self, name: str) -> NDArray[np.float32]:
        """The result of the operation `name`; those of all positions one below the other. Needs NumPy.

        Raises:
            KeyError: There is no such operation.
        """
        import numpy

        found = [one.values for one in self.operations if one.name == name]
        if not found:
            raise KeyError(name)
        return found[0] if len(found) == 1 else numpy.concatenate(found)

    def __repr__(self) -> str:
        read = " → ".join(" ".join(tokens) for tokens in (self.source, self.target) if tokens)
        return f"<attentive.Trace of {len(self.operations)} operations: {read}>"

    def _repr_html_(self) -> str | None:
        """The page, for notebooks."""
        if self.html is None:
            return None
        style = f"width: 100%; height: {HEIGHT}px; border: 0"
        return f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts" style="{style}"></iframe>'
