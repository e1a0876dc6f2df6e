"""Test the report in a browser: overview, folded sets, sortable tables and narrow screens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from experiments.harness.gaps import Scored, score, summarise
from experiments.harness.overview import OverviewRow
from experiments.harness.run import apply
from experiments.output.report import DASHES, SYMBOLS, figures_of, write_report
from experiments.output.summary import answers
from experiments.palette import KNOWN
from experiments.plan import plan
from instances import Options
from instances.eva import table_7
from tests.browser import BROWSER, DRIVER, IMPACTS, WIDTHS, axe_findings, opened_browser, show

METHODS = ["exact", "no-packing", "full-reconfiguration"]


@pytest.fixture(scope="module")
def scored() -> list[Scored]:
    examples = [table_7(15, seed=seed) for seed in range(4)]
    examples[0] = examples[0].model_copy(update={"name": "</script><b>$x$"})
    runs = plan(examples, METHODS, Options(), "small & few")
    return score([(run, apply(run.entry, run.instance, run.options)) for run in runs])


@pytest.fixture(scope="module")
def report(scored: list[Scored], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(path, summarise(scored), scored)
    return path


def test_the_answer_says_how_far_each_method_is_and_at_worst_on_which_instance(scored: list[Scored]):
    (answer,) = answers(scored)
    assert answer.headline == "eva-packing: the optimum is proven on 4 of 4 instances"
    (findings,) = answer.lists
    assert findings.heading == "on all 4 instances:"
    exact, alone, _ = findings.methods
    assert str(exact) == "exact: at the optimum"
    gaps = {s.result.instance: s.gap_to_optimum or 0.0 for s in scored if s.result.method == "no-packing"}
    worst = max(gaps, key=lambda name: gaps[name])
    mean = 100 * sum(gaps.values()) / 4
    at_worst = f"at worst {100 * gaps[worst]:.1f}% on {worst}"
    assert str(alone) == f"no-packing: {mean:.1f}% above the optimum on average, {at_worst}"


def test_means_in_one_list_are_over_the_same_instances(scored: list[Scored]):
    """A run without a gap is in no mean, and its method is in a list of its own, which says over how many.

    Beside it stand what the others have there: its mean is never held against theirs over more instances.
    """
    broken = scored[1].result.model_copy(update={"status": "violates", "gap": None})
    (answer,) = answers([scored[0], Scored(scored[1].run, broken), *scored[2:]])
    assert [(f.heading, [m.method for m in f.methods]) for f in answer.lists] == [
        ("on all 4 instances:", ["exact", "full-reconfiguration"]),
        ("on 3 of the 4 instances:", ["no-packing"]),
    ]
    assert str(answer.lists[1].methods[0]).endswith("; 1 with a broken constraint")
    kept = [s.gap_to_optimum for s in scored if s.result.method == "no-packing"][1:]
    assert answer.lists[1].methods[0].mean == pytest.approx(sum(g or 0.0 for g in kept) / 3)
    there = [s.gap_to_optimum or 0.0 for s in scored if s.result.method == "full-reconfiguration"][1:]
    said = f"other methods on these instances: exact 0.0%, full-reconfiguration {100 * sum(there) / 3:.1f}%"
    assert [findings.comparison for findings in answer.lists] == ["", said]


def test_a_gap_to_a_bound_is_in_no_figure_with_one_to_an_optimum(scored: list[Scored]):
    """One instance of four is not proven: each of its gaps is drawn, in figures of their own, and in no profile."""
    opened = [s.result.model_copy(update={"bound": s.result.bound and 0.9 * s.result.bound}) for s in scored[:3]]
    mixed = score(
        [*((s.run, r) for s, r in zip(scored, opened, strict=False)), *((s.run, s.result) for s in scored[3:])]
    )
    figures = {name: figure for name, _, figure in figures_of(mixed)}
    assert list(figures) == ["gaps", "instances", "profile", "bounds", "instances-to-bound"]
    drawn = {
        name: [text for trace in figure["data"] for text in trace.get("text", ())] for name, figure in figures.items()
    }
    assert len(drawn["gaps"]) == len(drawn["instances"]) == 9
    assert len(drawn["bounds"]) == len(drawn["instances-to-bound"]) == 3
    assert all("% to the optimum" in text for text in drawn["gaps"] + drawn["instances"])
    assert all("% to the best bound" in text for text in drawn["bounds"] + drawn["instances-to-bound"])
    exact = figures["profile"]["data"][0]
    assert (exact["name"], exact["y"][-1]) == ("exact", 100)


def test_a_logarithmic_axis_has_a_zero_and_a_gap_of_nothing_is_there(scored: list[Scored]):
    far = [s if s.result.method == "exact" else replace(s, gap_to_optimum=9.0) for s in scored]
    figure = figures_of(far)[0][2]
    axis = figure["layout"]["xaxis"]
    at = dict(zip(axis["ticktext"], axis["tickvals"], strict=True))
    assert (at["0"], at["0.01"], at["1000"]) == (0, 1, 6)
    exact, *others = (set(trace["x"]) for trace in figure["data"])
    assert exact == {0}
    assert all(at["100"] < height < at["1000"] for heights in others for height in heights)


def test_looks_are_those_of_every_other_picture_and_gaps_to_a_bound_are_hollow(scored: list[Scored]):
    opened = [s.result.model_copy(update={"bound": s.result.bound and 0.9 * s.result.bound}) for s in scored[:3]]
    mixed = score(
        [*((s.run, r) for s, r in zip(scored, opened, strict=False)), *((s.run, s.result) for s in scored[3:])]
    )
    for name, _, figure in figures_of(mixed):
        for trace, method in zip(figure["data"], METHODS, strict=True):
            look = KNOWN[method]
            if name == "profile":
                assert (trace["line"]["color"], trace["line"]["dash"]) == (look.colour, DASHES[look.line])
            else:
                hollow = "-open" if "bound" in name else ""
                assert trace["marker"]["color"] == look.colour
                assert trace["marker"]["symbol"] == SYMBOLS[look.marker] + hollow


def test_a_profile_is_over_all_instances_also_for_a_method_that_ran_on_few(scored: list[Scored]):
    few = [s for s in scored if s.result.method != "no-packing" or s is scored[1]]
    profile = next(figure for name, _, figure in figures_of(few) if name == "profile")
    ends = {trace["name"]: trace["y"][-1] for trace in profile["data"]}
    assert ends == {"exact": 100, "no-packing": 25, "full-reconfiguration": 100}


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.targets: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        self.places.add(said.get("id") or "")
        if tag == "a":
            self.targets.append(said["href"] or "")
        self.loaded += [value for name, value in attrs if value and (name == "src" or (tag == "link"))]


def test_the_report_loads_nothing_and_its_contents_lead_somewhere(report: Path):
    page = _Links()
    page.feed(report.read_text())
    assert page.loaded == []
    assert len(page.targets) > 1
    assert {target.removeprefix("#") for target in page.targets} <= page.places
    assert report.stat().st_size < 3e6


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if BROWSER is None or DRIVER is None:
        pytest.skip("no chromium and chromedriver on this machine")
    pytest.importorskip("selenium.webdriver")
    with opened_browser() as driver:
        yield driver


READY = """
const done = arguments[0], selector = "[data-figure=eva-packing-set-1-instances]", wait = () => {
  const place = document.querySelector(selector), drawn = place.querySelectorAll(".main-svg").length;
  place.scrollIntoView();  // figures are drawn as they come into view
  document.documentElement.dataset.ready === "yes" && drawn ? done(drawn) : setTimeout(wait, 50);
};
wait();
"""


def _opened(browser: Any, report: Path, width: int = 1280, scheme: str = "light") -> Any:
    show(browser, report, width, scheme)
    browser.execute_script("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert browser.execute_async_script(READY) > 0
    return browser


def _rows(browser: Any, section: str) -> list[list[str]]:
    script = """return [...document.querySelectorAll(arguments[0] + " tbody tr")].filter(row => !row.hidden)
        .map(row => [...row.cells].map(cell => cell.textContent))"""
    found: list[list[str]] = browser.execute_script(script, section)
    return found


def test_tables_sort_and_filter(browser: Any, report: Path):
    _opened(browser, report)
    assert len(_rows(browser, "#runs")) == 12
    script = "[...document.querySelectorAll('#runs th button')].find(b => b.textContent === 'objective').click()"
    browser.execute_script(script)
    rising = [float(row[4]) for row in _rows(browser, "#runs")]
    browser.execute_script(script)
    falling = [float(row[4]) for row in _rows(browser, "#runs")]
    assert rising == sorted(rising) == falling[::-1]
    field = browser.find_element("css selector", "#runs input")
    field.send_keys("no-packing seed-2")
    assert [row[1:3] for row in _rows(browser, "#runs")] == [["eva-table-7-nine-cost-15-seed-2", "no-packing"]]
    assert browser.find_element("css selector", "#runs output").text == "1 of 12 rows"


def test_what_is_pointed_at_is_told(browser: Any, report: Path):
    _opened(browser, report)
    script = """
        const place = document.querySelector("[data-figure=eva-packing-set-1-instances]");
        place.scrollIntoView(); Plotly.Fx.hover(place, [{curveNumber: 1, pointNumber: 0}]);
        return [...place.querySelectorAll(".hovertext")].map(node => node.textContent).join()"""
    said = browser.execute_script(script)
    assert "no-packing" in said
    assert "to the optimum" in said
    assert "CPU s" in said


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_the_screen_in_the_readers_colours_without_an_error(
    browser: Any, report: Path, width: int, scheme: str, tmp_path: Path
):
    _opened(browser, report, width, scheme)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    paper = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 30)"}[scheme]
    figure = "return document.querySelector('.js-plotly-plot')._fullLayout.paper_bgcolor"
    assert browser.execute_script(figure) == {"light": "#fff", "dark": "#14181e"}[scheme]
    assert [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")] == []
    assert browser.execute_script("return document.querySelectorAll('b').length") == 0  # names are text


@pytest.mark.parametrize(("width", "scheme"), list(zip(WIDTHS, ("dark", "light"), strict=True)))
def test_axe_core_finds_nothing_folded_or_open(browser: Any, report: Path, width: int, scheme: str):
    pytest.importorskip("axe_core_python")
    show(browser, report, width, scheme)
    assert axe_findings(browser, IMPACTS) == []
    _opened(browser, report, width, scheme)
    assert axe_findings(browser, IMPACTS) == []


def test_no_column_is_cut_on_a_laptop_and_one_of_notes_is_there_for_notes_alone(browser: Any, report: Path):
    _opened(browser, report)
    boxes = browser.execute_script(
        "return [...document.querySelectorAll('.wide')].map(box => [box.clientWidth, box.scrollWidth])"
    )
    assert len(boxes) == 3
    assert all(within >= wide for within, wide in boxes)
    headings = "return [...document.querySelectorAll('th')].filter(head => head.textContent === 'notes').length"
    assert browser.execute_script(headings) == 0


def test_a_screen_reader_finds_the_main_part_and_names_of_figures_and_tables(scored: list[Scored], tmp_path: Path):
    """All but scripts is within `main`; every figure has a name, every table a caption."""
    write_report(tmp_path / "report.html", summarise(scored), scored)
    page = (tmp_path / "report.html").read_text()
    assert page.count("<main>") == page.count("</main>") == 1
    assert page.index("<main>") < page.index("<h1>")
    assert page.index("</main>") > page.rindex("</table>")
    figures = page.count("<div class='figure'")
    assert figures >= 2
    assert page.count("<div class='figure' role='figure' aria-label='") == figures
    tables = page.count("<table")
    assert page.count("><caption>") == tables >= 3
    assert page.count("<div class='wide' role='region' tabindex='0' aria-label='") == tables


def test_the_overview_is_first_then_the_picture_then_a_folded_section_per_set(report: Path):
    page = report.read_text()
    places = [page.index(f"id='{name}'") for name in ("overview", "gaps", "sets", "set-1", "runs")]
    assert places == sorted(places)
    assert page.count("<details") == 4  # one set, progress or the runs, and how to read it
    assert "<details open" not in page
    assert page.count("<title>no-packing: mean ") == 1


def test_the_sets_of_a_problem_stand_together(scored: list[Scored], tmp_path: Path):
    def renamed(s: Scored, problem: str, name: str) -> Scored:
        run = replace(s.run, instance_set=name)
        return replace(s, run=run, result=s.result.model_copy(update={"problem": problem}))

    parts = [("eva-packing", "first"), ("aryl-reclaim", "second"), ("eva-packing", "third"), ("aryl-reclaim", "fourth")]
    mixed = [renamed(s, *part) for part in parts for s in scored]
    write_report(tmp_path / "report.html", summarise(mixed), mixed)
    page = (tmp_path / "report.html").read_text()
    picture = page[page.index("<section id='gaps'>") :]
    places = [
        picture.index(f">{word}</") for word in ("eva-packing", "first", "third", "aryl-reclaim", "second", "fourth")
    ]
    assert places == sorted(places)
    assert [picture.count(f"<li class='pale'>{problem}</li>") for problem in ("eva-packing", "aryl-reclaim")] == [1, 1]


def test_a_reference_study_opens_with_its_papers(scored: list[Scored], tmp_path: Path):
    row = OverviewRow("Eva", "which instances", "eva-packing", "small & few", "15 tasks", "no-packing", "No-Packing")
    write_report(tmp_path / "report.html", summarise(scored), scored, [row])
    page = (tmp_path / "report.html").read_text()
    overview = page[page.index("id='overview'") : page.index("id='gaps'")]
    assert "15 tasks: 4 of 4" in overview
    assert "No-Packing" in overview


@pytest.mark.parametrize("width", WIDTHS)
def test_a_report_of_forty_sets_is_at_most_6000_pixels_high(
    browser: Any, scored: list[Scored], tmp_path: Path, width: int
):
    many = [replace(s, run=replace(s.run, instance_set=f"set of instances {i}")) for i in range(40) for s in scored]
    write_report(tmp_path / "report.html", summarise(many), many)
    show(browser, tmp_path / "report.html", width)
    assert browser.execute_script("return document.querySelectorAll('#sets details').length") == 40
    assert 2000 < browser.execute_script("return document.documentElement.scrollHeight") <= 6000
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_a_set_opens_by_keyboard_and_by_its_link(browser: Any, report: Path):
    opened = "return document.getElementById('set-1').open"
    show(browser, report, 1280)
    browser.find_element("css selector", "#set-1 > summary").send_keys("\ue007")
    assert browser.execute_script(opened)
    assert browser.execute_async_script(READY) > 0  # its figures are drawn then
    show(browser, report, 1280)
    assert not browser.execute_script(opened)
    browser.find_element("css selector", ".dots a").send_keys("\ue007")
    assert browser.execute_async_script(READY) > 0
    assert browser.execute_script(opened)


def test_print_opens_every_section_and_folds_it_again(browser: Any, report: Path):
    show(browser, report, 1280, "dark")
    browser.execute_async_script(
        "const done = arguments[0]; const wait = () => document.documentElement.dataset.ready"
        " === 'yes' ? done() : setTimeout(wait, 50); wait();"
    )
    count = "return document.querySelectorAll('details:not([open])').length"
    folded = browser.execute_script(count)
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert browser.execute_script(count) == 0 < folded
    assert (
        browser.execute_script("return document.querySelector('.js-plotly-plot')._fullLayout.paper_bgcolor") == "#fff"
    )
    browser.execute_script("dispatchEvent(new Event('afterprint'))")
    assert browser.execute_script(count) == folded
