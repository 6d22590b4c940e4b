"""Makes the pictures of the README from the running app: a short moving picture, and one picture of each kind of page.

    python docs/make_pictures.py

Needs Chromium and Tiny Shakespeare (LINEAGE_DATA_DIR). The server has a home of its own, which is deleted at the end.
"""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Locator, Page, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.browser.conftest import FLAGS  # noqa: E402  (the folder of the project must be on the path first)
from tests.browser.steps import button, placeholders, wait_until_idle  # noqa: E402
from tests.needs import CHROMIUM  # noqa: E402
from tests.serving import running_server  # noqa: E402

FOLDER = ROOT / "docs" / "pictures"
TOUR = FOLDER / "tour.webp"
TOUR_SIZE = (1000, 760)
SIZE = (1200, 750)
PICTURES = {  # name: URL, CSS selector of the element that stands at the top of the picture (empty: the page's top)
    "negation": ("/negation", ""),
    "tokens": ("/tokens", ""),
    "text": ("/text", ""),
    "temperature": ("/studio", ""),
    "memory": ("/memory", ""),
    "translation": ("/translation", ""),
    "attention": ("/attention", ""),
    "block": ("/block", ""),
}


class Film:
    """The frames of a moving picture of a page, each with the milliseconds for which it is shown."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.frames: list[Image.Image] = []
        self.durations: list[int] = []

    def shoot(self, milliseconds: int) -> None:
        """Add what the page shows now. A frame that equals the one before lengthens it."""
        frame = Image.open(io.BytesIO(self.page.screenshot())).convert("RGB")
        if self.frames and frame.tobytes() == self.frames[-1].tobytes():
            self.durations[-1] += milliseconds
        else:
            self.frames.append(frame)
            self.durations.append(milliseconds)

    def caption(self, text: str) -> None:
        """Show a line of text at the bottom of the page in all following frames."""
        self.page.evaluate(
            """text => {
                const line = document.body.appendChild(document.createElement("div"));
                line.textContent = text;
                Object.assign(line.style, {position: "fixed", inset: "auto 0 0 0", padding: "10px 28px", zIndex: 1e7,
                    background: "#2F4550", color: "white", font: "600 20px 'Source Sans', sans-serif"});
            }""",
            text,
        )

    def save(self, file: Path) -> None:
        first, *rest = self.frames
        first.save(file, save_all=True, append_images=rest, duration=self.durations, loop=0, quality=70, method=6)


def open_page(page: Page, url: str) -> None:
    """Open a page and wait until all of its first screen is drawn."""
    page.goto(url)
    wait_until_idle(page)
    page.wait_for_timeout(500)
    for section in range(placeholders(page).count()):
        placeholders(page).nth(section).wait_for(state="detached", timeout=60_000)
    page.wait_for_timeout(2_500)


def scroll_to(page: Page, place: Locator, above: int = 70) -> None:
    """Scroll a page so that an element stands at the top, `above` pixels below its edge."""
    place.evaluate(
        "(node, above) => { const main = node.closest('[data-testid=stMain]');"
        " main.scrollBy(0, node.getBoundingClientRect().top - above); }",
        above,
    )
    page.wait_for_timeout(600)


def film_sentence(film: Film, base: str) -> None:
    """Type “not” into a sentence of the negation page, and see the models change their answers."""
    page = film.page
    open_page(page, base + "/negation?language=english&say=The+film+is+good")
    scroll_to(page, page.get_by_text("Type any English sentence", exact=True).first, above=60)
    film.caption("Type any English sentence: a sum of word weights cannot understand “not”")
    film.shoot(1_400)
    field = page.get_by_role("textbox", name="Type any English sentence")
    field.click()
    field.press("End")
    for _ in "good":
        field.press("ArrowLeft")
    for letter in "not ":
        field.press_sequentially(letter)
        film.shoot(160)
    field.press("Enter")
    page.wait_for_timeout(1_500)
    wait_until_idle(page)
    page.mouse.move(5, 300)
    page.wait_for_timeout(500)
    film.shoot(2_200)


def film_training(film: Film, base: str) -> None:
    """Train the networks of the home page, and watch their curves and what one of them writes."""
    page = film.page
    open_page(page, base)
    scroll_to(page, page.get_by_role("heading", name="Train five networks"))
    film.caption("Train five networks, and read what one of them writes")
    film.shoot(700)
    button(page, "Train").click()
    for _ in range(28):
        page.wait_for_timeout(650)
        film.shoot(160)
    film.shoot(1_200)


def film_temperature(film: Film, base: str) -> None:
    """Drag the temperature of the generation page from 0 to 2."""
    page = film.page
    open_page(page, base + "/studio")
    scroll_to(page, page.locator(".lineage-temperature"))
    slider = page.locator(".lineage-temperature input.slider")
    slider.focus()
    slider.press("Home")
    film.caption("Drag the temperature: the random numbers stay the same")
    film.shoot(700)
    for _ in range(20):
        for _ in range(2):
            slider.press("ArrowRight")
        page.wait_for_timeout(60)
        film.shoot(110)
    film.shoot(900)


def film_attention(film: Film, base: str) -> None:
    """Choose heads of the attention page, and a token in the one that is large."""
    page = film.page
    open_page(page, base + "/attention")
    scroll_to(page, page.locator(".lineage-attention-heads"))
    film.caption("See where every head of a Transformer attends")
    film.shoot(900)
    canvases = page.locator(".lineage-attention-heads .grid canvas")
    for head in range(1, min(canvases.count(), 6)):
        canvases.nth(head).click()
        page.wait_for_timeout(350)
        film.shoot(550)
    film.shoot(1_500)


@contextmanager
def chromium(width: int, height: int) -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme="light")
        page.set_default_timeout(60_000)
        yield page
        browser.close()


def make_tour(base: str) -> None:
    with chromium(*TOUR_SIZE) as page:
        film = Film(page)
        for part in (film_sentence, film_training, film_temperature, film_attention):
            part(film, base)
        film.save(TOUR)
    print(f"{TOUR.name}: {len(film.frames)} frames, {sum(film.durations) / 1_000:.1f} s, {TOUR.stat().st_size:,} bytes")


def make_pictures(base: str) -> None:
    with chromium(*SIZE) as page:
        for name, (address, top) in PICTURES.items():
            open_page(page, base + address)
            if top:
                scroll_to(page, page.locator(top).first)
            file = FOLDER / f"{name}.webp"
            picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
            picture.resize((SIZE[0] * 2 // 3, SIZE[1] * 2 // 3), Image.Resampling.LANCZOS).save(
                file, quality=80, method=6
            )
            print(f"{file.name}: {file.stat().st_size:,} bytes")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as home, running_server(Path(home)) as server:
        make_tour(server)
        make_pictures(server)
