"""The exceptions that Attentive raises."""

from __future__ import annotations


class Error(Exception):
    """An error that Attentive reports, and the base of all others.

    Its text describes what happened and where. If there is something to try, it follows after `hint:`.

    Attributes:
        problem: What happened.
        hint: What to try, or `None`.
    """

    problem: str
    hint: str | None

    def __init__(self, problem: str, hint: str | None = None) -> None:
        super().__init__(problem, hint)
        self.problem = problem
        self.hint = hint

    def __str__(self) -> str:
        return self.problem if self.hint is None else f"{self.problem}\nhint: {self.hint}"


class ConfigError(Error, ValueError):
    """A configuration has an unknown key or an unsuitable value."""


class DataError(Error, ValueError):
    """Data can be read but not used, such as two files that should have the same number of lines."""


class UsageError(Error, ValueError):
    """A request cannot be fulfilled, such as more translations than the beam is wide."""


class ModelError(Error):
    """A model directory is missing, damaged or inconsistent."""


class RunExistsError(Error):
    """A run directory exists already, and must not be overwritten."""


class NotFiniteError(Error, ArithmeticError):
    """The loss or a gradient became NaN or infinite during training."""


class FileError(Error, OSError):
    """A file cannot be read or written.

    Attributes:
        filename: The file.
        errno: The number of the system's error, or `None`.
    """
