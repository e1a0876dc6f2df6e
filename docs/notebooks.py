"""Tutorials as notebooks: a page's words, and its examples with what they print; made when the site is built."""

from __future__ import annotations

import ast
import base64
import doctest
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TUTORIALS = HERE / "tutorials"
BLOCK = re.compile(r"^```\{(?P<kind>[a-z]+)\} ?(?P<of>.*)\n(?P<body>(?:.*\n)*?)```\n", re.MULTILINE)
LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<page>[^)#:]*\.md)[^)]*\)")
GIVEN = re.compile(r"<!-- given -->(?P<text>.*?)<!--/-->")
DOWNLOAD = re.compile(r"^\{download\}.*\n\n", re.MULTILINE)
CHECKED = re.compile(r" *# doctest: .*")
Cell = dict[str, Any]


def make(folder: Path, tutorials: Path = TUTORIALS) -> list[Path]:
    """Write a notebook for each tutorial into the folder."""
    made = []
    for page in sorted(tutorials.glob("*.md")):
        cells = [cell | {"id": f"cell-{i}"} for i, cell in enumerate(_cells(page))]
        kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
        content = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
        made.append(folder / f"{page.stem}.ipynb")
        made[-1].write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return made


def _cells(page: Path) -> Iterator[Cell]:
    text, begun = DOWNLOAD.sub("", page.read_text(encoding="utf-8")), 0
    for block in BLOCK.finditer(text):
        yield from _words(text[begun : block.start()], page)
        begun = block.end()
        file = page.parent / block["of"]
        match block["kind"]:
            case "doctest":
                yield from _examples(block["body"])
            case "literalinclude":
                yield _code(f"%%writefile {file.name}\n{file.read_text(encoding='utf-8')}")
            case "image":
                name = block["body"].partition(":alt:")[2].strip()
                picture = {"image/svg+xml": base64.b64encode(file.read_bytes()).decode()}
                yield _markdown(f"![{name}](attachment:{file.name})") | {"attachments": {file.name: picture}}
            case kind:
                raise ValueError(f"{page}: no notebook has a block {kind}")
    yield from _words(text[begun:], page)


def _words(text: str, page: Path) -> Iterator[Cell]:
    """Links to other pages become their text, or the title of the page: a notebook stands by itself."""

    def said(link: re.Match[str]) -> str:
        return link["text"] or (page.parent / link["page"]).read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")

    if text.strip():
        yield _markdown(GIVEN.sub(r"\g<text>", LINK.sub(said, text)).strip())


def _examples(body: str) -> Iterator[Cell]:
    """Split statements into cells, each of which ends with a statement that prints."""
    source = ""
    for example in doctest.DocTestParser().get_examples(body):
        source += CHECKED.sub("", example.source)
        if example.want:
            yield _code(source, example.want)
            source = ""
    if source:
        yield _code(source)


def _code(source: str, printed: str = "") -> Cell:
    outputs: list[Cell] = []
    if printed and _shows(source):
        data = {"text/plain": printed.rstrip("\n")}
        outputs.append({"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": data})
    elif printed:
        outputs.append({"output_type": "stream", "name": "stdout", "text": printed})
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "source": source.rstrip("\n")} | {
        "outputs": outputs
    }


def _shows(source: str) -> bool:
    """Whether what is printed is the value of the last expression."""
    last = ast.parse(source).body[-1]
    return isinstance(last, ast.Expr) and not (
        isinstance(last.value, ast.Call) and isinstance(last.value.func, ast.Name) and last.value.func.id == "print"
    )


def _markdown(source: str) -> Cell:
    return {"cell_type": "markdown", "metadata": {}, "source": source}
