"""Test that pages, docstrings and comments keep to plain English, and that no more functions have unclear names."""

from __future__ import annotations

import ast
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LAYERS = ("models", "heuristics", "instances", "experiments")
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
UNCLEAR = re.compile(
    r"\b(dear(er|est)|tells?|told|beside|hardly|anew|heed(s|ed)?|who(s)?ever|so (many|much)|whole numbers?"
    r"|the (least|greatest)(?! common)|the house|(has|have) (its|their) turns?)\b"
    r"|(^|[.:;] )what \w+",
    re.IGNORECASE,
)
"""Words and phrases that readers from the field did not understand at first reading."""
OPENER = re.compile(r"(Where|What|Of|As)\b")
MOST_UNCLEAR, MOST_OPENERS = 0.7e-3, 0.02  # of words, of sentences
NOT_VERBS = """
of in on at by for with without into beside between over under after before within than and or not no all any each
every most least many more some such so if where what which who how it one two first last next now still too once only
ever never alone told found heard said given taken left kept made held seen shown known met begun wanted
"""
"""Words with which the name of no function begins, and any word that ends in -ed except these verbs."""
VERBS = ("need", "feed", "seed", "embed", "shed", "speed", "exceed", "proceed")
MOST_NAMES = {"models": 12, "heuristics": 10, "instances": 22, "experiments": 16}
"""Functions whose names begin with a participle, a preposition or an adverb. Lower these numbers, never raise them."""


@cache
def read_modules(layer: str) -> list[tuple[str, list[ast.AST]]]:
    """Return the text and all nodes of each module of a layer."""
    sources = [file.read_text(encoding="utf-8") for file in sorted((ROOT / layer).rglob("*.py"))]
    return [(source, list(ast.walk(ast.parse(source)))) for source in sources]


def find_prose(source: str, nodes: list[ast.AST]) -> Iterator[str]:
    """Yield the docstrings and comments of a module. A comment begins at the first # of a line outside its strings."""
    texts = defaultdict[int, list[tuple[int, float]]](list)
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""
        elif isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
        ):
            for k in range(node.lineno, (node.end_lineno or 0) + 1):
                begin = node.col_offset if k == node.lineno else 0
                texts[k].append((begin, (node.end_col_offset or 0) if k == node.end_lineno else math.inf))
    for k, line in enumerate(source.encode().split(b"\n"), 1):
        hashes = (found.start() for found in re.finditer(b"#", line))
        begin = next((at for at in hashes if not any(first <= at < last for first, last in texts[k])), None)
        if begin is not None and not re.match(rb"#\s*(noqa|type:|!)", line[begin:]):
            yield line[begin:].decode().lstrip("# ")


def split_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text without its code, formulas, figures, tables and headings."""
    text = re.sub(r"```.*?```|\$\$.*?\$\$|<!--.*?-->|`[^`]*`", "X", text, flags=re.DOTALL)
    for block in re.split(r"\n\s*\n", text):
        lines = [line.strip(" -*") for line in block.splitlines() if not re.match(r"\s*(\||#|:::|>>>|\.\.\.)", line)]
        yield from (sentence for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z])", " ".join(lines)) if sentence.strip())


def read_sentences(part: str) -> list[str]:
    """Return the sentences of the pages, or of a layer."""
    if part == "pages":
        return [one for page in PAGES for one in split_sentences(page.read_text(encoding="utf-8"))]
    return [one for module in read_modules(part) for text in find_prose(*module) for one in split_sentences(text)]


@pytest.mark.parametrize("part", ["pages", *LAYERS])
def test_the_prose_of_a_part_is_plain(part: str):
    sentences = read_sentences(part)
    words = sum(len(sentence.split()) for sentence in sentences)
    unclear = Counter(found[0] for sentence in sentences for found in UNCLEAR.finditer(sentence))
    opened = [sentence for sentence in sentences if OPENER.match(sentence)]
    assert words > 5_000
    assert unclear.total() <= MOST_UNCLEAR * words, unclear.most_common()
    assert len(opened) <= MOST_OPENERS * len(sentences), opened


def test_the_patterns_find_what_they_should():
    unclear = "The dearer type is told so many times. What is left over has its turn, beside the least bill."
    assert len(UNCLEAR.findall(unclear)) == 7
    assert not UNCLEAR.findall("The greatest common divisor of the prices is the unit of the bill.")
    assert [OPENER.match(one) is not None for one in split_sentences("Of tasks one is kept. Some are.")] == [
        True,
        False,
    ]


@pytest.mark.parametrize("layer", LAYERS)
def test_functions_are_named_by_verbs(layer: str):
    names = {
        node.name
        for _, nodes in read_modules(layer)
        for node in nodes
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("__")
    }
    first = {name: name.strip("_").partition("_")[0] for name in names}
    wrong = [
        name for name, word in first.items() if word in NOT_VERBS.split() or (word.endswith("ed") and word not in VERBS)
    ]
    assert len(wrong) <= MOST_NAMES[layer], sorted(wrong)
