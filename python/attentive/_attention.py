"""The attention of a model."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from . import _attentive

HEIGHT = 720
"""The height of the picture in a notebook, in pixels."""


class AttentionMap(NamedTuple):
    """The weights of one attention."""

    name: str
    """The layer, such as `"decoder.layers.0.cross_attention"`."""
    site: str
    """The kind of attention: `"encoder_self"`, `"decoder_self"` or `"cross"`."""
    layer: int
    """The number of the layer among those of its kind, counted from 0."""
    tensor: _attentive.Tensor
    """The weights as `numpy.asarray` reads them."""

    @property
    def weights(self) -> NDArray[np.float32]:
        """The weight of each key (column) for each query (row): `[heads, rows, columns]`. Needs NumPy."""
        import numpy

        return numpy.asarray(self.tensor)


@dataclass(frozen=True, repr=False)
class Attention:
    """What a model attends to in a text. A notebook shows it as a picture that needs no network."""

    source: list[str]
    """The tokens that the encoder reads; empty for a model without one."""
    target: list[str]
    """The tokens that the decoder reads; empty for a model without one."""
    maps: list[AttentionMap]
    """The weights of every attention; empty for a recurrent model without attention."""
    html: str
    """A whole page with the picture, to be written to a file."""

    @property
    def cross(self) -> NDArray[np.float32]:
        """The attention of the decoder to the source: `[layers, heads, target tokens, source tokens]`. Needs NumPy."""
        import numpy

        return numpy.stack([one.weights for one in self.maps if one.site == "cross"])

    def __repr__(self) -> str:
        return f"<attentive.Attention of {len(self.maps)} layers: {' '.join(self.source)} → {' '.join(self.target)}>"

    def _repr_html_(self) -> str:
        """The picture, for notebooks."""
        style = f"width: 100%; height: {HEIGHT}px; border: 0"
        return f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts" style="{style}"></iframe>'
