"""Runs the code of notebooks without Jupyter: python3 run_notebooks.py NOTEBOOK...

The cells of a notebook run one after the other, in one namespace, in the current folder. The first exception ends
everything.
"""

import json
import sys
from pathlib import Path


def code_cells(path):
    """The code of each cell, and its number. A notebook with stored outputs is refused: they would grow old."""
    notebook = json.loads(path.read_text("utf-8"))
    if notebook["nbformat"] != 4:
        raise ValueError(f"{path} has format {notebook['nbformat']}, not 4")
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "code":
            if cell["outputs"]:
                raise ValueError(f"{path}: cell {number} has outputs")
            yield number, "".join(cell["source"])


def run(path):
    namespace = {"__name__": "__main__"}
    count = 0
    for number, code in code_cells(path):
        exec(compile(code, f"{path.name}, cell {number}", "exec"), namespace)
        count += 1
    return count


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for name in sys.argv[1:]:
        sys.path.insert(0, str(Path(name).resolve().parent))
        print(f"{Path(name).name}: {run(Path(name))} cells", flush=True)
