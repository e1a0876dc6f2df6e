"""Run notebooks cell by cell as a reader does; `python -m tests.notebooks FOLDER` runs all of a folder."""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LENIENT = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def played(source: str, names: dict[str, Any]) -> str:
    """Return the output of a cell: what it prints, and the value of its last expression."""
    if source.startswith("%%writefile "):
        first, _, text = source.partition("\n")
        Path(first.split()[1]).write_text(text + "\n", encoding="utf-8")
        return ""
    *body, last = ast.parse(source).body
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(ast.Module([*body, *([] if isinstance(last, ast.Expr) else [last])], []), "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            sys.displayhook(eval(compile(ast.Expression(last.value), "cell", "eval"), names))
    return printed.getvalue()


def differences(notebook: Path) -> list[str]:
    """Return the cells whose output differs from the notebook, if run in the current folder."""
    names: dict[str, Any] = {"__name__": "__main__"}
    found = []
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            shown = "".join(out.get("text") or out["data"]["text/plain"] + "\n" for out in cell["outputs"])
            got = played(cell["source"], names)
            if not doctest.OutputChecker().check_output(shown, got, LENIENT):
                found.append(f"{notebook.name}: {cell['source']}\n  shows {got}  and not {shown}")
    return found


def run(notebook: Path) -> str:
    """Return the differences of a notebook that runs in a process and an empty folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        program = f"import sys; sys.path[:0] = ['', {str(ROOT)!r}]\nfrom pathlib import Path\n"
        program += (
            f"from tests.notebooks import differences\nprint(*differences(Path({str(notebook.resolve())!r})), end='')"
        )
        done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else f"{notebook.name}: {done.stderr}"


if __name__ == "__main__":
    notebooks = sorted(Path(sys.argv[1]).rglob("*.ipynb"))
    assert notebooks
    wrong = [said for notebook in notebooks if (said := run(notebook))]
    print(f"{len(notebooks)} notebooks run, {len(wrong)} not as they say", *wrong, sep="\n")
    sys.exit(bool(wrong))
