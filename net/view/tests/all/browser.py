"""Looks at the page as a person does, in headless Chromium, by PyPI `playwright` with Debian's browser.

usage: browser.py BROWSER ADDRESS SCREENSHOT
       browser.py BROWSER ADDRESS --stay SECONDS
       browser.py BROWSER ADDRESS --pixels TOPIC...

Prints JSON: what was seen of the graph's tables, picture, topics and trace. With --stay it shows a picture, a
text and a plot, prints one line, and stays. With --pixels it prints the pixels of pictures, red, green, blue and
alpha each, by topic.
"""

import json
import sys
import time

from playwright.sync_api import sync_playwright

PATIENCE_MS = 30_000
IMAGE = "section[data-topic='/camera/image_raw'][data-form='picture']"
TEXT = "section[data-topic='/lane'][data-form='text']"
PLOT = "section[data-topic='/lane'][data-form='plot']"

# Colours of a canvas: how many, and a sum that tells pictures apart.
COLOURS = """canvas => {
    const { data, width, height } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const colours = new Set();
    let sum = 0, drawn = 0;
    for (let at = 0; at < data.length; at += 4) {
        colours.add(data[at] << 16 | data[at + 1] << 8 | data[at + 2]);
        sum = (sum * 31 + data[at] + data[at + 1] * 3 + data[at + 2] * 7) % 1000000007;
        drawn += data[at + 3] > 0;
    }
    return { colours: colours.size, sum, drawn, width, height };
}"""

PIXELS = "it => [...it.getContext('2d').getImageData(0, 0, it.width, it.height).data]"

# Whether a canvas shows another picture than the one of this sum.
MOVED = f"([selector, sum]) => ({COLOURS})(document.querySelector(selector)).sum !== sum"

# Whether the page has taken more messages than so many.
MORE_SEEN = "([selector, seen]) => Number(document.querySelector(selector)?.dataset.seen ?? 0) > seen"


def until(page, expression, arg=None):
    """Waits until it holds. The page's policy lets nobody wait inside it."""
    end = time.monotonic() + PATIENCE_MS / 1000
    while not page.evaluate(expression, arg):
        assert time.monotonic() < end, f"{expression} {arg}"
        page.wait_for_timeout(50)


def look(page, address, screenshot):
    seen = {}
    complaints = []
    page.on("console", lambda message: message.type == "error" and complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"http://{address}/")
    paint = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
    until(page, paint)
    seen["first_paint_ms"] = page.evaluate(paint)
    started = time.monotonic()
    page.wait_for_selector("#topics tr[data-key='/lane']")
    seen["first_look_ms"] = (time.monotonic() - started) * 1000
    # Rates come with the second look.
    until(page, "document.querySelector(\"#topics tr[data-key='/lane']\").cells[2].textContent > '0'")
    seen["topics"] = page.eval_on_selector_all("#topics tbody tr", "rows => rows.map(row => row.dataset.key)")
    seen["nodes"] = page.eval_on_selector_all("#nodes tbody tr", "rows => rows.map(row => row.cells[0].textContent)")
    seen["processes"] = page.eval_on_selector_all(
        "#processes tbody tr", "rows => rows.map(row => [row.cells[0].textContent, row.cells[2].textContent])"
    )
    seen["picture"] = page.evaluate("document.getElementById('graph').shadowRoot.textContent")
    show(page, seen)
    seen["complaints"] = complaints
    page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=screenshot)
    with page.expect_download(timeout=PATIENCE_MS) as download:
        page.click("#trace")
    with open(download.value.path(), "rb") as trace:
        seen["trace_bytes"] = len(trace.read())
    return seen


def show(page, seen):
    """Shows a picture, a text, and a plot of the first number of the text."""
    page.click("#topics tr[data-key='/camera/image_raw'] button:has-text('picture')")
    page.wait_for_selector(f"{IMAGE} canvas")
    until(page, MORE_SEEN, [IMAGE, 0])
    seen["image"] = page.eval_on_selector(f"{IMAGE} canvas", COLOURS)
    count = int(page.get_attribute(IMAGE, "data-seen"))
    until(page, MORE_SEEN, [IMAGE, count + 5])
    # The vehicle may stand at a red light.
    until(page, MOVED, [f"{IMAGE} canvas", seen["image"]["sum"]])
    seen["later_image"] = page.eval_on_selector(f"{IMAGE} canvas", COLOURS)
    page.click("#topics tr[data-key='/lane'] button:has-text('text')")
    page.wait_for_selector(f"{TEXT} tbody tr")
    rows = "rows => Object.fromEntries([...rows].map(row => [row.dataset.key, row.cells[2].textContent]))"
    seen["text"] = page.eval_on_selector_all(f"{TEXT} tbody tr", rows)
    page.click(f"{TEXT} tr[data-key='left[2]'] button:has-text('plot')")
    page.wait_for_selector(f"{PLOT} canvas")
    count = int(page.get_attribute(PLOT, "data-seen"))
    until(page, MORE_SEEN, [PLOT, count + 10])
    seen["plot"] = page.eval_on_selector(f"{PLOT} canvas", COLOURS)


def stay(page, address, seconds):
    page.goto(f"http://{address}/")
    show(page, {})
    print("attached", flush=True)
    time.sleep(seconds)


def pixels(page, address, topics):
    page.goto(f"http://{address}/")
    seen = {}
    for topic in topics:
        page.click(f"#topics tr[data-key='{topic}'] button:has-text('picture')")
        section = f"section[data-topic='{topic}'][data-form='picture']"
        page.wait_for_selector(f"{section} canvas")
        until(page, MORE_SEEN, [section, 0])
        seen[topic] = page.eval_on_selector(f"{section} canvas", PIXELS)
    return seen


def main():
    browser, address, what, *rest = sys.argv[1:]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = chromium.new_page(viewport={"width": 1280, "height": 1000}, accept_downloads=True)
        page.set_default_timeout(PATIENCE_MS)
        if what == "--stay":
            stay(page, address, float(rest[0]))
        elif what == "--pixels":
            print(json.dumps(pixels(page, address, rest)))
        else:
            print(json.dumps(look(page, address, what)))
        chromium.close()


main()
