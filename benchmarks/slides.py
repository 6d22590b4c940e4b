"""What presentation mode makes of every page: number of slides, cut labels, and text that is too small.

    python -m benchmarks.slides [--pages NAMES] [--walls 4] [--pictures FOLDER]

Walls are 1280 x 720 and 1920 x 1080, light and dark; --walls takes the first ones. A label is cut if it lies outside
the wall, under the bar, or outside a box that hides what is beyond its edge. Text is too small under 18 pixels of the
screen.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from benchmarks.load.browser_timing import launch_chromium, open_whole_page
from benchmarks.load.server_state import fresh_server
from explorer.catalogue import PAGES
from tests.browser.slides import WALLS, Slide, slide_problems, walk_slides

TIMEOUT = 120_000  # ms


def main(
    pages: Annotated[str, typer.Option(help="URL paths, with commas; empty for all")] = "",
    walls: Annotated[int, typer.Option(help="how many of the four walls")] = len(WALLS),
    pictures: Annotated[Path | None, typer.Option(help="a folder for a picture of each slide")] = None,
) -> None:
    """Print the slides of every page, and what is wrong with them."""
    addresses = pages.split(",") if pages else [row.address for row in PAGES]
    with fresh_server() as server, launch_chromium() as browser:
        for (width, height), scheme in WALLS[:walls]:
            context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
            context.set_default_timeout(TIMEOUT)
            for address in addresses:
                page = context.new_page()
                joint = "&" if "?" in address else "?"
                open_whole_page(page, f"{server.url}/{address}{joint}screen=projector")
                slides: list[Slide] = []
                for slide in walk_slides(page):
                    slides.append(slide)
                    if pictures:
                        pictures.mkdir(parents=True, exist_ok=True)
                        name = f"{address.split('?')[0] or 'home'}-{width}-{scheme}-{len(slides):02}"
                        page.screenshot(path=pictures / f"{name}.png")
                problems = slide_problems(slides)
                print(f"{address or 'home':18} {width} {scheme:5} {len(slides):3} slides {len(problems):3} problems")
                for problem in problems:
                    print(f"    {problem}", flush=True)
                page.close()


if __name__ == "__main__":
    typer.run(main)
