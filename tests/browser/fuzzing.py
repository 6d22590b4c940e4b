"""Random gestures on a page in a real browser, and what must hold whatever a visitor does.

After every gesture the page has a title and content within a minute. At the end of an episode the page is idle, and
what it shows equals what its URL shows to a visitor who opens it anew. The server logs no exception, and the browser
reports no error. `benchmarks/fuzz.py` runs many gestures, `test_fuzz.py` a few.

The seed determines every choice; which elements there are to choose from may depend on the speed of the machine.
"""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Error, Page

from explorer.catalogue import PAGES
from tests.browser.conftest import PROBES
from tests.browser.steps import RETRIES

WIDE, NARROW = 1440, 390  # px
BLANK_AFTER = 60_000  # ms; a busy machine is slow
COMPUTED_AFTER = 30_000  # ms after which a result that is still computed is cancelled, as a visitor can do
IDLE_AFTER = 60_000  # ms
TEXTS = (
    "",
    "a",
    "human not destroy nature",
    "the cat that the dogs chase sleeps",
    "17",
    "12 March 2019",
    "qwzx " * 12,
    "🙂 naïve 👩‍👩‍👧 \u200f שלום",
    "<b>bold</b><script>throw 1</script>",
    "**a** `b` $c$ [d](e) :red[f]",
    "%00&run=1?say=x#y",
    "To be, or not to be: that is the question. " * 6,
)
NUMBERS = ("0", "1", "7", "-3", "0.5", "12", "100", "1e9", "")
KEYS = ("ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown", "Home", "End", "Enter", "Space", "Escape", "Tab")
FORBIDDEN = re.compile(  # buttons that leave the app, delete, or begin long trainings
    r"Download|Delete|As Python|As a notebook|as Python|Upload|Browse|Forget|Train|Another seed|Go on|Resume"
    r"|more seeds|Measure|Print|Save this figure|Full ?screen|Sign",
)
TRAIN = re.compile(r"(Train|Another seed)")
SHARE = re.compile(r"^(Share|Give .* to a class|Start the class|Join)")
# Files that a visitor may choose: a text, labelled sentences, pairs, nothing, and what is no text.
FILES = {
    "text.txt": b"The cat sat on the mat. The dog did not. " * 80,
    "sentences.csv": b"sentence,label\n" + b"good film,positive\nnot good,negative\n" * 40,
    "pairs.csv": b"source,target\n" + b"one two,two one\nthree four,four three\n" * 40,
    "empty.txt": b"",
    "noise.bin": bytes(range(256)) * 8,
}
AFTER_BACK = "difference after Back"
# Streamlit's notes about events of fragments of a page that the visitor has left.
HARMLESS = re.compile(r"fragment with id \w+( does not exist anymore|\. This can happen)")
# Patterns of widget keys whose value is not in the URL, each with the reason.
NOT_IN_URL = {
    r"(.*-)?code(-.*)?": "which source file is listed is a matter of reading, and no setting",
    r"(text-)?settings-of": "which model's settings are listed is a matter of reading; the settings are in the URL",
    r"branch-.*": "a form that is not sent yet",
    r"text-(seconds|match)": "a form that is not sent yet",
    r"(give|class)-.*": "a form that is not sent yet",
    r".*-(pasted|file)": "a text of the visitor may be longer than a URL",
    r"lesson-.*": "an answer is the visitor's own",
}

# The visible enabled elements of every kind, marked with data-fuzz, so that one can be chosen by its number.
FIND = """() => {
  const groups = {};
  let number = 0;
  const usable = (each) => {
    const box = each.getBoundingClientRect();
    return box.width > 3 && box.height > 3 && !each.disabled && each.checkVisibility({ visibilityProperty: true })
      && !each.closest("header, [aria-disabled=true], [inert], [data-testid=stFileUploader], .lineage-jobs-panel")
      && !each.closest("[data-testid=stDownloadButton], [data-testid=stTooltipIcon], [data-testid=stElementToolbar]");
  };
  const add = (kind, selector, accept = () => true) => {
    const found = [...document.querySelectorAll(selector)].filter((each) => usable(each) && accept(each));
    groups[kind] = found.map((each) => {
      const name = (each.getAttribute("aria-label") || each.textContent || each.getAttribute("class") || "").trim()
        .replace(/\\s+/g, " ").slice(0, 50);
      const key = each.closest("[class*=st-key-]")?.className.match(/st-key-(\\S+)/)?.[1] ?? "";
      each.dataset.fuzz = number;
      return { number: number++, name, key, tag: each.tagName.toLowerCase() };
    });
  };
  const own = (each) => !each.closest(".lineage");
  for (const each of document.querySelectorAll("[data-fuzz]")) delete each.dataset.fuzz;
  add("button", "button", (each) => own(each) && each.getAttribute("role") !== "radio"
    && !each.closest("[role=group], [data-testid=stNumberInput], [data-testid=stButtonGroup]"));
  add("option", "[data-testid=stButtonGroup] button, [data-testid=stRadio] label, [data-testid=stCheckbox] label");
  add("select", "[data-testid=stSelectbox] input, [data-testid=stMultiSelect] input");
  add("text", "[data-testid=stTextInput] input, [data-testid=stTextArea] textarea");
  add("number", "[data-testid=stNumberInput] input");
  add("step", "[data-testid=stNumberInput] button");
  add("slider", "[data-testid=stSlider] [role=group] > div", (each) => each.querySelector("input"));
  add("fold", "[data-testid=stExpander] summary");
  add("component", ".lineage button, .lineage [role=option], .lineage [tabindex='0'], .lineage input, .lineage select,"
    + " .lineage svg, .lineage canvas, .lineage textarea, .lineage td, .lineage th", (each) => each.type !== "file");
  add("link", "[data-testid=stMain] a[href]", (each) =>
    each.origin === location.origin && each.target !== "_blank" && !each.download && !each.pathname.includes("."));
  groups.upload = [...document.querySelectorAll("[data-testid=stFileUploader] input[type=file]")].map((each) => {
    each.dataset.fuzz = number;
    return { number: number++, name: each.accept, key: "", tag: "input" };
  });
  return groups;
}"""
# The page of the URL is there: by the pattern of its title, and with content. A lesson has a title of its own.
NOT_BLANK = """(titles) => {
  const main = document.querySelector("[data-testid=stMain]");
  const title = main?.querySelector("h1")?.innerText ?? "";
  const page = location.search.includes("lesson=") ? "" : location.pathname.split("/").filter(Boolean).at(-1) ?? "";
  return new RegExp(`^${page in titles && page ? titles[page] : ".+"}$`).test(title)
    && (main.innerText.length > 200 || [...main.querySelectorAll(".lineage")].some((each) => each.childElementCount));
}"""
IDLE = """() => document.querySelector("[data-testid=stApp]")?.dataset.testScriptState === "notRunning"
  && !document.querySelector(".lineage-section[aria-busy], [data-testid=stSkeleton]")
  && [...document.querySelectorAll(".lineage:not([hidden])")].every((place) => place.childElementCount)"""
TITLES = {row.address: re.escape(row.question).replace("\\ ", " ") for row in PAGES}
CANCEL = """() => document.querySelectorAll(".section-waiting:not([hidden]) button:not([hidden])").forEach((each) =>
  each.textContent === "Cancel" && each.click())"""
# Everything that the URL has to determine: title, widget values, and sentences.
READ = r"""() => {
  const kinds = ["stTextInput", "stTextArea", "stNumberInput", "stSelectbox", "stMultiSelect", "stButtonGroup",
    "stCheckbox", "stSlider", "stRadio"];
  const value = (each) => {
    const kind = each.dataset.testid;
    const text = (element) => element.textContent.trim();
    const all = (selector, accept = () => true) => [...each.querySelectorAll(selector)].filter(accept);
    const isChosen = (one) => [one.ariaChecked, one.ariaPressed, one.dataset.selected].includes("true");
    if (kind === "stButtonGroup") return all("button", isChosen).map(text).join(" | ");
    if (kind === "stCheckbox") return String(each.querySelector("input").checked);
    if (kind === "stRadio") return all("label", (one) => one.querySelector("input:checked")).map(text).join();
    if (kind === "stSlider") return all("input").map((one) => one.ariaValueText ?? one.value).join(" to ");
    if (kind === "stMultiSelect") return all("[role=row], [data-baseweb=tag]").map(text).join(" | ");
    return each.querySelector("input, textarea").value;
  };
  const title = document.querySelector("[data-testid=stMain] h1")?.innerText ?? "";
  const alerts = document.querySelectorAll("[data-testid=stAlert]").length;
  const shown = { title, alerts, widgets: {}, findings: {} };
  const count = {};
  const keyOf = (each) =>
    (each.closest("[class*=st-key-]")?.className.match(/st-key-(\S+)/)?.[1] ?? "").replace(/--v[0-9]+$/, "");
  for (const each of document.querySelectorAll(kinds.map((kind) => `[data-testid=${kind}]`).join())) {
    if (each.dataset.testid === "stNumberInput") {  // a number outside the limits is not sent
      const { value, min, max } = each.querySelector("input");
      if (value === "" || (min && +value < +min) || (max && +value > +max)) continue;
    }
    if (each.closest("[data-testid=stPopoverBody]")) continue;  // opened by the visitor
    const key = keyOf(each) || each.querySelector("label")?.textContent || "";
    count[key] = (count[key] ?? 0) + 1;
    shown.widgets[count[key] > 1 ? `${key} ${count[key]}` : key] = value(each);
  }
  for (const each of document.querySelectorAll(".lineage-section")) {
    const key = keyOf(each);
    if (each.querySelector(":scope > .section-waiting:not([hidden])")) continue;  // cancelled
    shown.findings[key] = [...each.querySelectorAll("[data-kind=finding], [data-kind=problem], [data-kind=empty]")]
      .map((one) => one.textContent);
  }
  return shown;
}"""


@dataclass
class Failure:
    """Something that must not happen, with the gestures before it."""

    kind: str  # "blank", "exception", "console", "difference" or AFTER_BACK
    message: str
    page: str
    seed: int
    gestures: list[str]

    def __str__(self) -> str:
        steps = "\n".join(f"    {step}" for step in self.gestures[-15:])
        return f"{self.kind} on {self.page or 'home'}, seed {self.seed}: {self.message}\n{steps}"


@dataclass
class Fuzzer:
    """A visitor of one page who does random things.

    server: URL of the server, and its log file.
    start: path of the page; after going to another page the visitor comes back to it.
    seed: determines all choices.
    gestures: what was done, in words.
    width: of the window, in pixels.
    private: whether this visitor has a run or a text of their own, which nobody else can open.
    """

    context: BrowserContext
    server: str
    log: Path
    start: str
    seed: int
    gestures: list[str] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    patience: int = 3_000  # ms after which a gesture fails whose element is gone or covered
    width: int = WIDE
    private: bool = False
    answers: dict[str, int] = field(default_factory=dict)  # HTTP status of the last answer of each result's address

    def __post_init__(self) -> None:
        self.random = random.Random(f"{self.start} {self.seed}")
        self.log_position = len(self.log.read_text())
        self.context.set_default_timeout(5_000)
        self.context.set_default_navigation_timeout(BLANK_AFTER)
        self.page = self.new_page()
        self.page.goto(f"{self.server}/{self.start}")
        self.check_not_blank()

    def fail(self, kind: str, message: str) -> None:
        failure = Failure(kind, message, self.start, self.seed, [*self.gestures, f"(at {self.page.url})"])
        self.failures.append(failure)

    def new_page(self) -> Page:
        """Open a browser tab whose errors are failures."""
        page = self.context.new_page()
        page.set_viewport_size({"width": self.width, "height": 900})

        def console(message: Any) -> None:
            url = message.location["url"]
            if message.type == "error" and not (url.endswith(PROBES) and "404" in message.text):
                self.fail("console", f"{message.text} {url}")

        def keep_status(response: Any) -> None:
            if "/results/" in response.url:
                self.answers[response.url.split("?")[0]] = response.status

        page.on("console", console)
        page.on("response", keep_status)
        page.on("pageerror", lambda error: self.fail("console", f"{error} {error.stack or ''}"[:1500]))
        page.on("dialog", lambda dialog: dialog.dismiss())
        return page

    def check_not_blank(self) -> None:
        try:
            self.page.wait_for_function(NOT_BLANK, arg=TITLES, timeout=BLANK_AFTER, polling=50)
        except Error as error:
            # With a time limit, which `evaluate` has not: a tab whose process hangs ends the test with this error.
            state = self.page.wait_for_function(
                "[document.querySelector('[data-testid=stApp]')?.dataset.testScriptState,"
                " document.querySelector('[data-testid=stMain]')?.innerText.slice(0, 150)]"
            ).json_value()
            self.fail("blank", f"{str(error).splitlines()[0]} (script state and text: {state})")

    def check_log(self) -> None:
        text = self.log.read_text()[self.log_position :]
        self.log_position += len(text)
        lines = "\n".join(line for line in text.splitlines() if not HARMLESS.search(line))
        if re.search(r"Traceback|Error|Exception|CRITICAL", lines):
            self.fail("exception", lines[-3000:])
        elif lines.strip():
            self.fail("exception", f"unexpected line in the log: {lines[-500:]}")

    def wait_until_idle(self) -> bool:
        """Wait until the page has been idle for 0.7 s; return whether it came to that."""
        for patience in (COMPUTED_AFTER, IDLE_AFTER):
            try:
                for _ in range(30):
                    self.page.wait_for_function(IDLE, timeout=patience, polling=50)
                    self.page.wait_for_timeout(700)
                    if self.page.evaluate(IDLE):
                        return True
            except Error:
                if 202 in self.answers.values():  # the server is still computing
                    self.page.evaluate(CANCEL)
        return False

    def check_state(self) -> None:
        """Compare the page with what its URL shows to a new visitor, or again to one who has something private."""
        self.stop_trainings()
        self.page.evaluate("document.activeElement?.blur()")  # what was typed and not sent
        if not self.wait_until_idle():
            busy = self.page.evaluate(
                "[...document.querySelectorAll('[aria-busy]')].map((each) =>"
                " each.closest('[class*=st-key]')?.className.match(/st-key-\\S+/)?.[0])"
            )
            self.fail("blank", f"the page does not become idle: {busy}")
            return
        self.check_not_blank()
        if self.page.locator("[data-testid=stException]").count():
            self.fail("exception", "the page shows an exception")
        # Whoever opens the address of a class sees what the class sees, whatever else the address says.
        shown, url = self.page.evaluate(READ), re.sub(r"(?<=[?&])class=\w+", "", self.page.url)
        self.page.close()
        if not self.private:
            self.context.clear_cookies()
        try:
            self.page = self.new_page()
            self.page.goto(url)
            self.page.wait_for_function(NOT_BLANK, arg=TITLES, timeout=BLANK_AFTER, polling=50)
        except Error as error:
            self.fail("blank", f"opened anew: {error}")
            return
        if self.wait_until_idle():
            moved = any(gesture in ("Back", "Forward") for gesture in self.gestures)
            for difference in differences(shown, self.page.evaluate(READ)):
                self.fail(AFTER_BACK if moved else "difference", difference)
        else:
            self.fail("blank", f"the page of {url} does not become idle")

    def stop_trainings(self) -> None:
        """Stop the trainings that this visitor started."""
        request, headers = self.context.request, {"X-Lineage": "1"}
        for job in request.get(f"{self.server}/jobs", max_retries=RETRIES).json()["jobs"]:
            if job["can_stop"]:
                request.post(f"{self.server}/jobs/{job['key']}/stop", headers=headers, max_retries=RETRIES)

    def episode(self, count: int) -> None:
        """Do `count` gestures, half in a wide window and half on a phone, and check the page at the end."""
        self.run(count - count // 2)
        self.gestures.append(f"a window of {NARROW} px")
        self.width = NARROW
        self.page.set_viewport_size({"width": NARROW, "height": 900})
        self.run(count // 2)
        self.check_state()
        self.check_log()
        self.stop_trainings()
        self.page.close()

    def run(self, count: int) -> None:
        """Do some gestures, each followed by the check that the page is not blank."""
        for _ in range(count):
            try:
                self.gesture()
            except Error as error:  # the element has gone, or another one covers it
                self.gestures[-1] += f" -- failed: {str(error).splitlines()[0][:80]}"
            if self.random.random() < 0.4:
                self.page.wait_for_timeout(self.random.choice((20, 100, 300, 700)))
            elif self.random.random() < 0.5:
                self.wait_briefly()
            if not self.page.url.startswith(self.server):  # back beyond the first page
                self.page.goto(f"{self.server}/{self.start}")
            self.check_not_blank()
        self.check_log()

    def wait_briefly(self) -> None:
        """Wait until the page is idle, at most a few seconds."""
        try:
            self.page.wait_for_function(IDLE, timeout=4_000, polling=50)
        except Error:
            self.gestures.append("(still busy)")

    def gesture(self) -> None:
        here = self.page.url.split("?")[0].rstrip("/").rsplit("/", 1)[-1]
        if here not in {row.address for row in PAGES}:
            here = ""
        if here != self.start and self.random.random() < 0.5:
            return self.go_to_page(self.start)
        choose = self.random.choices(
            (
                self.on_element,
                self.change_page,
                self.change_pages,
                self.back,
                self.forward,
                self.reload,
                self.press_keys,
            ),
            (70, 7, 5, 7, 3, 1, 3),
        )[0]
        choose()

    def on_element(self) -> None:
        groups = self.page.evaluate(FIND)
        buttons = groups["button"]
        groups["train"] = [each for each in buttons if TRAIN.search(each["name"])]
        groups["share"] = [each for each in buttons if SHARE.search(each["name"])]
        for kind in ("button", "component"):
            groups[kind] = [each for each in groups[kind] if not FORBIDDEN.search(each["name"])]
        weights = {"train": 0.5, "link": 0.5, "component": 4, "option": 3, "button": 2, "select": 2, "text": 3}
        weights |= {"share": 0.5, "upload": 2}
        kinds = [kind for kind, elements in groups.items() if elements]
        if not kinds:
            self.gestures.append("(nothing to do)")
            return
        kind = self.random.choices(kinds, [weights.get(kind, 1.5) for kind in kinds])[0]
        element = self.random.choice(groups[kind])
        described = f"{kind} {element['key']} {element['tag']} “{element['name']}”"
        self.gestures.append(described)
        found = self.page.locator(f"[data-fuzz='{element['number']}']")
        getattr(self, f"do_{kind}", self.do_button)(found, element)

    def note(self, words: str) -> None:
        self.gestures[-1] += f": {words}"

    def do_button(self, found: Any, element: Any) -> None:
        if self.random.random() < 0.15:
            self.note("twice")
            found.dblclick(timeout=self.patience)
        else:
            found.click(timeout=self.patience)

    def do_train(self, found: Any, element: Any) -> None:
        self.private = True
        found.click(timeout=self.patience)
        self.page.wait_for_timeout(self.random.choice((0, 300, 1500)))
        stop = self.page.get_by_role("button", name="Stop", exact=True)
        if self.random.random() < 0.7 and stop.count():
            self.note("and Stop")
            stop.first.click(timeout=self.patience)
        self.page.wait_for_timeout(200)
        self.stop_trainings()

    def do_upload(self, found: Any, element: Any) -> None:
        self.private = True
        name = self.random.choice(list(FILES))
        self.note(name)
        file = {"name": name, "mimeType": "application/octet-stream", "buffer": FILES[name]}
        found.set_input_files([file], timeout=self.patience)  # type: ignore[arg-type]

    def do_option(self, found: Any, element: Any) -> None:
        self.do_button(found, element)
        if self.random.random() < 0.2:  # and another one at once
            self.on_element()

    def do_select(self, found: Any, element: Any) -> None:
        found.click(timeout=self.patience)
        options = self.page.locator("[role=listbox] [role=option]")
        options.first.wait_for(timeout=self.patience)
        index = self.random.randrange(max(1, min(options.count(), 12)))
        self.note(options.nth(index).inner_text()[:40])
        options.nth(index).click(timeout=self.patience)
        if self.random.random() < 0.3:
            self.page.keyboard.press("Escape")

    def do_text(self, found: Any, element: Any) -> None:
        self.private |= element["key"].endswith("-pasted")
        text = self.random.choice(TEXTS)
        found.fill(text, timeout=self.patience)
        ending = self.random.choice(("Enter", "Control+Enter", "leave", "Escape", "nothing"))
        self.note(f"{text[:40]!r}, {ending}")
        if ending == "leave":
            self.page.keyboard.press("Tab")
        elif ending != "nothing":
            self.page.keyboard.press(ending)

    def do_number(self, found: Any, element: Any) -> None:
        found.click(timeout=self.patience)
        if self.random.random() < 0.5:
            key, times = self.random.choice(("ArrowUp", "ArrowDown")), self.random.choice((1, 2, 5))
            self.note(f"{key} {times} times")
            for _ in range(times):
                self.page.keyboard.press(key)
        else:
            text = self.random.choice(NUMBERS)
            self.note(text)
            self.page.keyboard.press("Control+a")
            self.page.keyboard.type(text or "\b")
        self.page.keyboard.press(self.random.choice(("Enter", "Tab")))

    def do_slider(self, found: Any, element: Any) -> None:
        if self.random.random() < 0.5:
            keys = self.random.choices(
                ("ArrowRight", "ArrowLeft", "Home", "End", "PageUp"), k=self.random.choice((1, 3))
            )
            self.note(", ".join(keys))
            found.locator("input").first.focus()
            for key in keys:
                self.page.keyboard.press(key)
        else:
            self.drag(found)

    def drag(self, found: Any) -> None:
        found.scroll_into_view_if_needed(timeout=self.patience)
        box = found.bounding_box()
        if not box:
            return
        start, end = self.random.random(), self.random.random()
        self.note(f"dragged from {start:.2f} to {end:.2f}")
        y = box["y"] + box["height"] * self.random.random()
        self.page.mouse.move(box["x"] + start * box["width"], y)
        self.page.mouse.down()
        self.page.mouse.move(box["x"] + (start + end) / 2 * box["width"], y)
        self.page.mouse.move(box["x"] + end * box["width"], y)
        self.page.mouse.up()

    def do_component(self, found: Any, element: Any) -> None:
        found.scroll_into_view_if_needed(timeout=self.patience)
        action = self.random.choice(("click", "click", "click", "twice", "keys", "drag", "text"))
        if action == "drag":
            return self.drag(found)
        box = found.bounding_box()
        if not box:
            return None
        x, y = (self.random.random() for _ in range(2))
        if element["tag"] == "button":
            x = y = 0.5
        self.note(f"at {x:.2f}, {y:.2f}, {action}")
        place = box["x"] + x * box["width"], box["y"] + y * box["height"]
        self.page.mouse.click(*place, click_count=2 if action == "twice" else 1)
        if action == "keys":
            self.press_keys()
        elif action == "text" and element["tag"] in ("input", "textarea"):
            text = self.random.choice(TEXTS)
            self.note(f"{text[:40]!r}")
            self.page.keyboard.press("Control+a")
            self.page.keyboard.insert_text(text)
            self.page.keyboard.press(self.random.choice(("Enter", "Tab")))
        return None

    def do_link(self, found: Any, element: Any) -> None:
        found.click(timeout=self.patience, no_wait_after=True)

    def press_keys(self) -> None:
        keys = self.random.choices(KEYS, k=self.random.choice((1, 2, 4)))
        self.gestures.append(f"keys {', '.join(keys)}")
        for key in keys:
            self.page.keyboard.press(key)

    def change_page(self) -> None:
        self.page.wait_for_timeout(self.random.choice((0, 50, 150, 300, 500)))
        self.go_to_page(self.random.choice(PAGES).address)

    def change_pages(self) -> None:
        """Go to several pages in quick succession."""
        for _ in range(self.random.choice((2, 2, 3))):
            self.go_to_page(self.random.choice(PAGES).address)
            self.page.wait_for_timeout(self.random.choice((0, 30, 100, 300)))

    def go_to_page(self, address: str) -> None:
        """Open a page by the navigation bar."""
        row = next(row for row in PAGES if row.address == address)
        self.gestures.append(f"open {row.title}")
        self.page.keyboard.press("Escape")
        if self.width == NARROW:
            self.page.get_by_test_id("stExpandSidebarButton").click(timeout=self.patience)
        elif row.section:
            self.page.get_by_test_id("stTopNavSection").filter(has_text=row.section).click(timeout=self.patience)
        menus = "header, [role=dialog], [data-testid=stPopoverBody], [data-testid=stSidebar]"
        link = self.page.locator(f":is({menus}) a[href$='/{row.address}']")
        link.first.click(timeout=self.patience, no_wait_after=True)

    def back(self) -> None:
        self.gestures.append("Back")
        if not self.page.evaluate("navigation.canGoBack"):  # the page before it is not the app's
            return
        self.page.evaluate("history.back()")
        self.page.wait_for_timeout(self.random.choice((0, 50, 300)))

    def forward(self) -> None:
        self.gestures.append("Forward")
        self.page.evaluate("history.forward()")
        self.page.wait_for_timeout(self.random.choice((0, 50, 300)))

    def reload(self) -> None:
        self.gestures.append("reload")
        self.page.reload(wait_until="commit", timeout=20_000)


def differences(shown: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    """Return what the page shows otherwise than its URL does."""
    found = []
    if shown["title"] != expected["title"]:
        return [f"the title is {shown['title']!r}, by the URL {expected['title']!r}"]
    # Beside the message about a text that cannot be read, the answer to the text before it stays.
    for kind in ("widgets",) if shown.get("alerts") else ("widgets", "findings"):
        for key in sorted({*shown[kind], *expected[kind]}):
            if any(re.fullmatch(pattern, key.split(" ")[0]) for pattern in NOT_IN_URL):
                continue
            one, other = shown[kind].get(key), expected[kind].get(key)
            if kind == "widgets" and re.fullmatch(r"-?[\d.]*", other or "") and one is None:
                continue  # a number that was not sent
            if one != other and not (kind == "findings" and (one is None or other is None)):
                first, second = (json.dumps(each, ensure_ascii=False) for each in (one, other))
                found.append(f"{kind} {key}: {first}, by the URL {second}")
    return found
