"""Open pages in a browser and run axe-core; `python -m tests.browser PLACE...` reads pages and folders."""

from __future__ import annotations

import itertools
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
WIDTHS = (390, 1280)
"""Pixels of a phone and of a laptop."""
READ = """
const [impacts, done] = arguments;
const said = one => one.nodes.map(node => `${one.id}: ${node.html.slice(0, 200)}`);
axe.run(document, {resultTypes: ["violations"], preload: false}).then(found =>
  done(found.violations.filter(one => impacts.includes(one.impact)).flatMap(said)));
"""


@contextmanager
def opened_browser() -> Iterator[Any]:
    """Open a browser without a window. Raises ImportError if selenium is missing."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER or ""
    for said in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--window-size=1280,1000",
    ):
        options.add_argument(said)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=DRIVER))
    try:
        driver.set_script_timeout(600)
        driver.command_executor.client_config.timeout = 660  # a long page on a machine that does other things
        yield driver
    finally:
        driver.quit()


def show(browser: Any, page: Path, width: int, scheme: str = "light") -> None:
    """Open a page on a screen of this width, in the reader's colours."""
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.get(page.resolve().as_uri())


SERIOUS = ("serious", "critical")
IMPACTS = ("minor", "moderate", *SERIOUS)


def axe_findings(browser: Any, impacts: Sequence[str] = SERIOUS) -> list[str]:
    """Return the findings of axe-core with these impacts on the open page. Raises ImportError without axe-core."""
    browser.execute_script(resources.files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
    found: list[str] = browser.execute_async_script(READ, list(impacts))
    return found


def main(places: list[Path]) -> list[str]:
    """Report the faults of pages, or of folders of pages: findings of axe-core, or pages wider than the screen."""
    pages = [page for place in places for page in ([place] if place.is_file() else sorted(place.rglob("*.html")))]
    wrong = []
    with opened_browser() as browser:
        for page, read_at in zip(pages, itertools.cycle(WIDTHS)):  # axe-core takes long: at one of the widths
            for width in WIDTHS:
                show(browser, page, width)
                told = axe_findings(browser) if width == read_at else []
                if (wide := browser.execute_script("return document.documentElement.scrollWidth")) > width:
                    told.append(f"{wide} pixels wide")
                wrong += [f"{page.name} at {width}: {said}" for said in told]
    print(f"{len(pages)} pages read, {len(wrong)} findings", *wrong, sep="\n")
    return wrong


if __name__ == "__main__":
    if BROWSER is None or DRIVER is None:
        print("no chromium and chromedriver on this machine: the site is not read")
        sys.exit()
    sys.exit(bool(main([Path(place) for place in sys.argv[1:]])))
