"""Test that figures are deterministic, consistent by name and free of mixed gaps."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from experiments import api
from experiments.canvas import SAME, add_subject, canvas, from_zero, legend, logarithmic, save_figure
from experiments.palette import COLOURS, KNOWN, ink_on, looks, things
from experiments.papers import METHODS, ONLINE
from instances import InputError
from tests.commands import python

TOGETHER = {
    **{problem: [entry.name for entry in METHODS[problem]] for problem in METHODS},
    **{problem: list(ONLINE[problem].policies) for problem in ONLINE},
}


@pytest.mark.parametrize("place", range(len(TOGETHER)), ids=list(TOGETHER))
def test_names_that_may_be_in_one_picture_look_apart(place: int):
    names = [name for name in list(TOGETHER.values())[place] if name in KNOWN]
    assert len({KNOWN[name] for name in names}) == len(names) > 0
    assert all(
        look.marker != other.marker
        for look, other in combinations({KNOWN[name] for name in names}, 2)
        if look.line == other.line or look.colour == other.colour
    )


def test_methods_look_apart_and_those_of_the_palette_as_it_says_whatever_is_beside_them():
    for names in (names for problem, names in TOGETHER.items() if problem in METHODS):
        for some in (names, names[::-1], names[1:]):
            found = looks(some)
            assert len(set(found.values())) == len(set(some))
            assert all(found[name] == KNOWN[name] for name in some if name in KNOWN)


def test_a_name_of_the_users_own_looks_the_same_beside_whatever_else_is_known():
    alone = looks(["mine:rule"])["mine:rule"]
    beside = next(name for name in KNOWN if KNOWN[name] != alone)
    assert looks([beside, "mine:rule"])["mine:rule"] == alone
    kin = looks(["width-calculator", "width-calculator, ideal cloud"])
    assert len(set(kin.values())) == 2
    assert {look.colour for look in kin.values()} == {KNOWN["width-calculator"].colour}
    many = looks([f"policy {i}" for i in range(24)])
    assert len(set(many.values())) == 24


def _seen(colour: str, blind: np.ndarray) -> np.ndarray:
    """Return a colour as it is perceived, in CIELAB."""
    rgb = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    linear = np.clip(blind @ np.where(rgb > 0.04045, ((rgb + 0.055) / 1.055) ** 2.4, rgb / 12.92), 0, 1)
    matrix = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = (matrix @ linear) / np.array([0.9505, 1.0, 1.089])
    f = [t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z)]
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize(
    "blind",
    [
        np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
        np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]),
        np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]),
    ],
    ids=["protanopia", "deuteranopia", "tritanopia"],
)
def test_colours_are_told_apart_by_the_colour_blind(blind: np.ndarray):
    """By the matrices of Machado, Oliveira and Fernandes (2009), in CIELAB."""
    near = {(a, b): np.linalg.norm(_seen(a, blind) - _seen(b, blind)) for a, b in combinations(COLOURS, 2)}
    assert min(near.values()) > 15, min(near, key=lambda pair: near[pair])


def test_what_is_written_on_a_colour_can_be_read():
    assert [ink_on(colour) for colour in ("#000000", "#ffffff", "#0072b2", "#e69f00")] == [
        "white",
        "black",
        "white",
        "black",
    ]
    assert len(set(things(20))) == 20


DRAW = """if 1:
    import sys
    from pathlib import Path
    from experiments.api import plot
    from experiments.canvas import save_all
    from instances.eva import table_3
    from models import eva
    save_all(plot(table_3(), eva.exact(table_3().data)), Path(sys.argv[1]) / "plan.svg")"""


@pytest.mark.long
def test_svg_and_pdf_are_the_same_bytes_at_every_run(tmp_path: Path):
    kinds = {}
    for seed in ("1", "2"):
        folder = tmp_path / seed
        folder.mkdir()
        done = python("-c", DRAW, folder, PYTHONHASHSEED=seed)
        assert done.returncode == 0, done.stderr
        kinds[seed] = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert set(kinds["1"]) == {"plan.svg", "plan.pdf"}
    assert kinds["1"] == kinds["2"]


def test_a_pdf_holds_its_fonts_as_a_publisher_takes_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.delitem(SAME, "pdf.use14corefonts")  # see tests/conftest.py
    figure, (axes,) = canvas(2, 2)
    axes.set_title("one")
    save_figure(figure, tmp_path / "plan.pdf")
    made = (tmp_path / "plan.pdf").read_bytes()
    assert b"/FontFile2" in made
    assert b"/Type3" not in made


def test_a_legend_is_below_all_axes_and_a_title_within_the_figure():
    figure, (axes,) = canvas(4, 3)
    for name in (f"a policy of a long name, {k}" for k in range(9)):
        axes.plot([0, 1], [0, 1], label=name)
    legend(figure)
    add_subject(figure, "an-instance-of-a-long-name-seed-0, a-method-of-a-long-name")
    figure.draw_without_rendering()
    box = figure.legends[0].get_window_extent()
    assert box.y1 <= axes.get_tightbbox().y0
    assert 0 <= box.x0 < box.x1 <= figure.bbox.width
    title = figure.texts[-1].get_window_extent()
    assert 0 <= title.x0 < title.x1 <= figure.bbox.width


def test_zero_is_drawn_as_zero_on_a_logarithmic_axis():
    figure, (axes,) = canvas(4, 3)
    axes.plot([0.0, 0.5, 3000.0], [1, 2, 3])
    from_zero(axes, "x", [0.0, 0.5, 3000.0])
    figure.draw_without_rendering()
    said = {float(tick): text.get_text() for tick, text in zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)}
    assert said[0.0] == "0"
    assert {said[1.0], said[100.0]} == {"1", "100"}
    left, first, last = (axes.transData.transform((value, 1))[0] for value in (0.0, 0.5, 3000.0))
    assert left < first < last


@pytest.mark.parametrize(("most", "said"), [(1.1, {"0.6", "0.9"}), (40.0, {"1", "10"})])
def test_a_logarithmic_axis_has_numbers_also_within_a_decade(most: float, said: set[str]):
    figure, (axes,) = canvas(4, 3)
    axes.plot([0.5, most], [1, 2])
    logarithmic(axes, "x")
    figure.draw_without_rendering()
    shown = {text.get_text() for text in (*axes.get_xticklabels(), *axes.get_xticklabels(minor=True))}
    assert said <= shown
    assert ("0.6" in shown) == (most < 5)


Runs = dict[str, list[tuple[float | None, float | None]]]


def table(runs: Runs, **more: Any) -> pd.DataFrame:
    """Build a table as `study` returns it, of gaps to optima and to bounds by method."""
    return pd.DataFrame(
        [
            {
                "instance": f"i{k}", "problem": "eva-packing", "method": name, "objective": 1.0, "build_s": None,
                "status": "no_solution" if gap == to_bound else "feasible", "gap_to_optimum": gap, "solve_s": 0.5,
                "gap_to_bound": to_bound, "proven": gap == 0, **more,
            }
            for name, gaps in runs.items()
            for k, (gap, to_bound) in enumerate(gaps)
        ]
    )  # fmt: skip


MIXED: Runs = {
    "exact": [(0.0, None), (0.0, None), (None, 0.2)],
    "no-packing": [(0.5, None), (0.25, None), (None, 0.4)],
    "mine": [(0.1, None), (None, None), (None, None)],
}


def points(figure: Figure) -> dict[str, list[float]]:
    axes = figure.axes[0]
    return {str(one.get_label()): [float(y) for _, y in np.asarray(one.get_offsets())] for one in axes.collections}


def test_gaps_to_a_bound_are_hollow_and_never_beside_gaps_to_an_optimum():
    optimum, bound = api.figure(table(MIXED), "gaps"), api.figure(table(MIXED), "gaps", to="bound")
    assert points(optimum) == {"exact": [0, 0], "no-packing": [50, 25], "mine": [10]}
    assert points(bound) == {"exact": [20], "no-packing": [40]}
    assert [axes.get_ylabel() for figure in (optimum, bound) for axes in figure.axes] == [
        "gap to the optimum, %",
        "gap to the best bound, %",
    ]
    filled, hollow = ([len(c.get_facecolor()) for c in f.axes[0].collections] for f in (optimum, bound))
    assert (filled, hollow) == ([1, 1, 1], [0, 0])


def test_a_profile_counts_what_a_method_does_not_solve():
    figure = api.figure(table(MIXED), "profile")
    ends = {str(line.get_label()): line.get_ydata()[-1] for line in figure.axes[0].lines}
    assert ends == {"exact": 100, "no-packing": 100, "mine": 50}


def test_a_box_of_fewer_instances_says_so_and_looks_are_those_of_the_palette():
    figure = api.figure(table(MIXED))
    assert [tick.get_text() for tick in figure.axes[0].get_yticklabels()] == ["exact", "no-packing", "mine (1 of 2)"]
    assert to_hex(figure.axes[0].collections[1].get_edgecolor()[0]) == KNOWN["no-packing"].colour
    assert figure.axes[0].get_title() == "eva-packing"


def test_it_draws_on_axes_of_ones_own_and_reads_the_csv_of_gap_study(tmp_path: Path):
    figure, (left, right) = canvas(8, 3, 1, 2)
    table(MIXED).assign(proven="no").to_csv(tmp_path / "results.csv")
    assert api.figure(tmp_path / "results.csv", "gaps", right) is figure
    assert (len(left.collections), len(right.collections)) == (0, 3)


def test_latex_compares_means_over_the_same_instances():
    said = api.latex(table(MIXED, instance_set="50% & $more_$"))
    rows = [re.split(r" & |  *\\\\", line) for line in said.splitlines() if " & " in line]
    assert rows[0][:4] == ["instance set", "method", "gap to optimum: mean", "median"]
    assert [row[1:3] for row in rows[1:]] == [["exact", r"0.00\%"], ["no-packing", r"37.50\%"], ["mine", "-"]]
    common = rows[0].index("common")
    assert [row[common] for row in rows[1:]] == [r"0.00\% (1/3)", r"50.00\% (1/3)", r"10.00\% (1/3)"]
    assert r"50\% \& \$more\_\$" in said
    assert [said.count(word) for word in (r"\toprule", r"\midrule", r"\bottomrule")] == [1, 1, 1]
    assert len({line.count(" & ") for line in said.splitlines() if line.endswith(r"\\")}) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: api.figure(table(MIXED), "pie"), "figure: must be one of box, profile, gaps, got 'pie'"),
        (lambda: api.figure(table(MIXED), to="best"), "figure: to: must be one of optimum, bound, got 'best'"),
        (lambda: api.figure(pd.DataFrame({"method": []})), "table: must be what study returns, or a results.csv"),
        (lambda: api.figure("none.csv"), "none.csv: No such file or directory"),
        (lambda: api.figure(table({"exact": [(0.0, None)]}), to="bound"), "figure: no run has a gap to a bound"),
        (
            lambda: api.figure(pd.concat([table(MIXED), table(MIXED).assign(problem="sia-oracle")])),
            "figure: takes one problem, got eva-packing, sia-oracle",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_a_line(call: Callable[[], object], message: str):
    with pytest.raises(InputError, match=re.escape(message)) as refused:
        call()
    assert "\n" not in str(refused.value)
