"""The built site and a run's own pages in a real Chromium: axe-core, keyboard, sorting, filters, origins.

`make test-site` builds them.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

pytestmark = pytest.mark.site
SITE = Path(__file__).resolve().parents[2] / "site"
DOCS = SITE.parent / "docs"
PAGES = (
    *("index.html", "docs/tutorial.html", "docs/citing.html", "docs/validity.html", "docs/methods.html", "search.html"),
    *("docs/results/README.html", "docs/results/runs-qwen2-chain.html", "docs/results/claims-table.html"),
    *("docs/results/ace/core.html", "docs/results/ace/numbers/core.html"),
    *(f"docs/papers/{page.parent.name}.html" for page in sorted(DOCS.parent.glob("config/papers/*/page.md"))),
    *(f"docs/papers/settings/{name}.html" for name in ("ace", "fade")),
    *(f"docs/{name}/README.html" for name in ("league", "pretrained") if (DOCS / name).is_dir()),
    *(
        page
        for page in ("docs/league/runs-qwen2-chain.html", "docs/league/methods/numbers/league.html")
        if (DOCS / "league").is_dir()
    ),
    *("api/estimators.html", "api/adapters.html"),
)
OWN = ("results/smoke/report/smoke/index.html", "build/pages/show.html", "build/pages/compare.html")  # at smoke scale
SERIOUS = ("serious", "critical")
# The rows of a table are alike, and axe-core needs seconds for hundreds of them.
FEWER_ROWS = "document.querySelectorAll('.browse tbody tr:nth-child(n+21)').forEach(row => row.hidden = true)"
CLAIMS = "docs/results/claims-table.html"


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield running
        running.close()


def opened(browser, page: str, width: int = 1280, scheme: str = "light"):
    """A page as a file, without a server; a request to the network fails the test that makes it."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    tab = context.new_page()
    tab.outside = []
    tab.on("request", lambda request: request.url.startswith("http") and tab.outside.append(request.url))
    tab.goto((SITE.parent / page if page in OWN else SITE / page).as_uri())
    return tab


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("page", PAGES + OWN)
def test_axe_finds_nothing_serious(browser, page, width, scheme):
    from axe_playwright_python.sync_playwright import Axe

    tab = opened(browser, page, width, scheme)
    tab.evaluate(FEWER_ROWS)
    found = [one for one in Axe().run(tab).response["violations"] if one["impact"] in SERIOUS]
    tab.context.close()
    assert not found, [(one["id"], [node["html"][:200] for node in one["nodes"][:3]]) for one in found]


@pytest.mark.parametrize("screen", [1280, 400])
@pytest.mark.parametrize("page", PAGES + OWN)
def test_a_page_fits_a_screen_and_needs_no_network(browser, page, screen):
    tab = opened(browser, page, screen)
    width = tab.evaluate("document.documentElement.scrollWidth")
    outside = tab.outside
    tab.context.close()
    assert width <= screen
    assert outside == []


def test_claims_sort_and_filter_and_show_their_origin_by_keyboard(browser):
    tab = opened(browser, CLAIMS)
    rows = tab.locator(".browse tbody tr:visible")
    everything = rows.count()
    tab.get_by_label("Verdict").select_option("opposite direction")
    assert 0 < rows.count() < everything
    assert set(rows.locator(".badge").all_inner_texts()) == {"opposite direction"}
    assert tab.locator(".browse output").inner_text() == f"{rows.count()} of {everything} rows"
    tab.get_by_role("button", name="Estimate").click()
    values = [float(value) for value in rows.locator("td:nth-child(4)").evaluate_all("c => c.map(x => x.dataset.sort)")]
    assert values == sorted(values)
    assert tab.get_by_role("columnheader", name="Estimate").get_attribute("aria-sort") == "ascending"
    rows.locator("td button").first.focus()
    tab.keyboard.press("Enter")
    origin = tab.locator(".origin:popover-open")
    assert "Contrast" in origin.inner_text() and "Interval" in origin.inner_text()
    tab.keyboard.press("Escape")
    assert origin.count() == 0
    tab.get_by_label("Search", exact=True).last.fill("nothing has these words")
    assert rows.count() == 0
    tab.context.close()


def test_a_run_can_be_reached_from_an_estimate(browser):
    tab = opened(browser, CLAIMS)
    tab.locator(".browse td button").first.click()
    links = tab.locator(".origin:popover-open li a")
    if links.count():  # the plan of today has the runs of the committed results
        links.first.click()
        tab.locator("tr:target").wait_for()
        assert tab.url.rpartition("/")[2].startswith("runs-")
    tab.context.close()


def test_search_finds_a_word_without_a_server(browser):
    tab = opened(browser, "search.html")
    tab.goto((SITE / "search.html").as_uri() + "?q=operator")
    tab.wait_for_selector("#search-results li")
    assert tab.locator("#search-results li").count() > 2
    tab.context.close()


def test_formulas_are_mathml(browser):
    tab = opened(browser, "docs/papers/ace.html")
    assert tab.locator("math").count() > 4
    assert "\\frac" not in tab.locator("article").inner_text()
    tab.context.close()
