"""The page at `/` in a real browser: by keyboard, on a phone, in the dark, without a network."""

import os
import pathlib
import shutil

import pytest
from conftest import Server

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = next(
    (path for name in ["chromium", "chromium-browser", "google-chrome"] if (path := shutil.which(name))),
    None,
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def page(browser, server):
    """A page that asks nobody but the server and says nothing in its console."""
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    faults = []
    # A status of 400 is no fault of the page, though the browser writes it down.
    plain = lambda message: message.type == "error" and "status of 400" not in message.text
    opened.on("console", lambda message: plain(message) and faults.append(message.text))
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.on(
        "request",
        lambda request: None
        if request.url.startswith((f"http://{server.url}/", "data:"))
        else faults.append(request.url),
    )
    opened.goto(f"http://{server.url}/")
    opened.wait_for_selector("#inputs label")
    yield opened
    opened.close()
    assert faults == []


def shot(page, name):
    folder = os.environ.get("SNGP_SCREENSHOTS")
    if folder:
        pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)


def fits(page):
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_a_sentence_by_keyboard_alone(page):
    page.keyboard.press("Tab")  # the choice of a model
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "text"
    page.keyboard.type("translate hello into french")
    page.keyboard.press("Enter")
    page.wait_for_selector(".badge")
    assert page.inner_text(".verdict") == "translate"
    assert page.inner_text(".badge") == "accepted"
    assert "held-out scores" in page.inner_text("#answer")
    assert page.locator("#answer svg").count() == 1
    page.fill("#text", "qwzx vrrk")
    page.keyboard.press("Enter")
    page.wait_for_selector(".badge.abstain")
    assert "Hardly a piece of the text was seen" in page.inner_text("#answer")
    page.wait_for_selector("#chart circle")


def test_a_row_of_a_table(page):
    page.select_option("#model", "trees")
    page.wait_for_selector("#field-4")
    for place, value in enumerate(["16.9", "1.04", "8.7", "loam", "22"]):
        page.fill(f"#field-{place}", value)
    page.click("#send")
    page.wait_for_selector(".badge")
    assert page.inner_text(".verdict") == "ash"
    page.fill("#field-0", "tall")
    page.click("#send")
    page.wait_for_selector(".badge.abstain")
    assert "`tall`" in page.inner_text("#answer")


def test_a_number_has_its_interval(page):
    page.select_option("#model", "houses")
    page.wait_for_selector("#field-3")
    for place, value in enumerate(["120", "4", "3.0", "south"]):
        page.fill(f"#field-{place}", value)
    page.click("#send")
    page.wait_for_selector(".badge")
    assert "between" in page.inner_text("#answer")


def test_an_image(page, desk):
    page.select_option("#model", "pictures")
    page.wait_for_selector("#file")
    page.set_input_files("#file", next((desk / "pictures/light").glob("*.png")))
    page.wait_for_selector(".drop img:not([hidden])")
    page.click("#send")
    page.wait_for_selector(".badge")
    assert page.inner_text(".verdict") == "light"


def test_a_vector_of_the_wrong_length_is_told(page):
    page.select_option("#model", "vectors")
    page.wait_for_selector("#vector")
    page.fill("#vector", "1, 2, 3")
    page.click("#send")
    page.wait_for_selector("[role=alert]")
    assert "the model takes 16" in page.inner_text("#answer")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_looks_right_everywhere(browser, server, desk, size, scheme):
    width, height = SIZES[size]
    opened = browser.new_page(
        viewport={"width": width, "height": height}, color_scheme=scheme, has_touch=size == "phone"
    )
    opened.goto(f"http://{server.url}/")
    opened.wait_for_selector("#text")
    opened.fill("#text", "move 100 dollars to savings")
    opened.click("#send")
    opened.wait_for_selector(".badge")
    opened.wait_for_selector("#chart circle")
    fits(opened)
    dark = opened.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
    assert dark == (scheme == "dark")
    shot(opened, f"{size}-{scheme}-text")
    opened.select_option("#model", "trees")
    opened.wait_for_selector("#field-4")
    assert opened.inner_text("#answer") == "Nothing was asked yet."
    assert not opened.is_visible("#key")
    fits(opened)
    shot(opened, f"{size}-{scheme}-table")
    opened.goto(f"http://{server.url}/docs")
    opened.wait_for_selector("details")
    assert "/v2/models/{model}/infer" in opened.inner_text("body")
    fits(opened)
    shot(opened, f"{size}-{scheme}-docs")
    opened.close()


def test_the_key_is_asked_for(browser, desk):
    server = Server(desk / "intents", environment={"SNGP_API_KEY": "secret"})
    opened = browser.new_page()
    opened.goto(f"http://{server.url}/")
    opened.wait_for_selector("#key-label:not([hidden])")
    opened.fill("#key", "secret")
    opened.click("#send")
    opened.wait_for_selector("#text")
    opened.fill("#text", "hello")
    opened.click("#send")
    opened.wait_for_selector(".badge")
    opened.close()
    assert server.stop() == 0
