"""Attentive trains, evaluates, quantizes and runs sequence models on the CPU.

>>> import attentive
>>> model = attentive.load("en-de")
>>> model.translate("a dog runs")
'ein Hund rennt'

`load` loads a model, `train` trains one, `evaluate` measures it, `quantize` makes it smaller, and `import_model` and `export`
convert it; `metrics` has BLEU, chrF and TER. Errors are subclasses of `Error`. Messages go to the logger `attentive`.
"""

from . import metrics
from ._attention import Attention, AttentionMap
from ._convert import export, import_model, quantize
from ._errors import (
    ConfigError,
    DataError,
    Error,
    FileError,
    ModelError,
    NotFiniteError,
    RunExistsError,
    UsageError,
)
from ._evaluate import evaluate
from ._events import Average, Checkpoint, Event, Log, Start, Validation
from ._model import Model, load
from ._options import Sampling, SearchOptions
from ._results import (
    Filled,
    Generation,
    Guess,
    Hypothesis,
    Label,
    LabelScore,
    Rescored,
    Tagged,
    TaggedToken,
    Translation,
)
from ._tokenizer import Tokenizer
from ._trace import Operation, Trace
from ._train import Best, Run, train

__all__ = [
    "Attention",
    "AttentionMap",
    "Average",
    "Best",
    "Checkpoint",
    "ConfigError",
    "DataError",
    "Error",
    "Event",
    "FileError",
    "Filled",
    "Generation",
    "Guess",
    "Hypothesis",
    "Label",
    "LabelScore",
    "Log",
    "Model",
    "ModelError",
    "NotFiniteError",
    "Operation",
    "Rescored",
    "Run",
    "RunExistsError",
    "Sampling",
    "SearchOptions",
    "Start",
    "Tagged",
    "TaggedToken",
    "Tokenizer",
    "Trace",
    "Translation",
    "UsageError",
    "Validation",
    "evaluate",
    "export",
    "import_model",
    "load",
    "metrics",
    "quantize",
    "train",
]

__version__ = "0.2.0"
