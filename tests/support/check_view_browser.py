#!/usr/bin/env python3
"""check_view_browser.py PAGES: the pages of check_view.py in headless Chromium: what they are built of, that
links work by pointer and by keys in both directions, that they are quick, quiet and closed, and fit windows of
1400 and 800 pixels, light and dark.  Exit 77 (skipped) without a browser."""
import json
import os
import re
import sys

import check_view
import devtools
from check_view import check

# What a person would look for.
EXPECTED = {
    "attention": {"lanes": ["warps 0–11", "warps 8–11", "warps 0–7"], "tensor cores": True,
                  "rings": ["k_tile · stage 0", "k_tile · stage 1", "v_tile · stage 0", "v_tile · stage 1"],
                  "exact": "dot(q, k_tile)"},
    "matmul": {"lanes": ["warps 0–7"], "tensor cores": True,
               "rings": [f"{t}_tile · stage {s}" for t in "ab" for s in range(3)],
               "exact": "dot(a_tile, b_tile, acc, input_precision=PRECISION, out_dtype=acc.dtype)"},
}
MOST_MS = 1000


def count(b, selector):
    return b.run(f"document.querySelectorAll({json.dumps(selector)}).length")


def texts(b, selector):
    return b.run(f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => e.textContent)")


def press(b, selector):
    b.run(f"document.querySelector({json.dumps(selector)}).click()")


def middle(b, selector):
    """Where the first element is in the window, which it is brought into."""
    return b.run(f"""(() => {{ const e = document.querySelector({json.dumps(selector)});
        e.scrollIntoView({{block: 'center'}}); const r = e.getBoundingClientRect();
        return [Math.min(r.left + 60, r.right - 2), r.top + r.height / 2]; }})()""")


def lit(b, name):
    """Numbers of the lit lines of the right pane."""
    return b.run(f"[...document.querySelectorAll('.pane:not(.source) .code:not([hidden]) .l.{name}')].map((e) => +e.dataset.n)")


def of_line(data, stage, line):
    s = next(s for s in data["stages"] if s["id"] == stage)
    return [n for n, f in enumerate(s["from"]) if f and data["places"][f][:2] == [0, line]]


def check_speed(b, name, url):
    times = []
    for _ in range(3):
        b.load(url)
        times.append(b.run("Math.round(performance.getEntriesByType('navigation')[0].loadEventEnd)"))
    check(min(times) < MOST_MS, f"{name}: loads in {times} ms")
    return min(times)


def check_code(b, name, data):
    check(count(b, ".pane") == 2, f"{name}: panes")
    lines = data["sources"][0]["text"].rstrip("\n").split("\n")
    check(count(b, ".pane.source .l") == len(lines), f"{name}: lines of the source")
    check(count(b, ".pane.source .said") > 0 or not data["remarks"], f"{name}: remarks at their lines")
    for s in data["stages"]:
        press(b, f".pane:not(.source) [data-id={s['id']}]")
        shown = ".pane:not(.source) .code:not([hidden]) "
        if "text" in s:
            check(texts(b, shown + ".l span:last-child") is not None and
                  texts(b, shown + ".l > span") == [t or " " for t in s["text"].rstrip("\n").split("\n")],
                  f"{name}: {s['id']} shows another text")
        else:
            check((s["missing"] or "was not reached") in texts(b, shown + ".missing")[0], f"{name}: {s['id']} does not say what is missing")


def line_of(data, text):
    """The first line of the kernel's file with this text."""
    return next(n for n, l in enumerate(data["sources"][0]["text"].split("\n"), 1) if text in l)


def check_links(b, name, data, expected):
    line = expected["source line"]
    for stage in ("typed", "laid", "lowered", "ptx"):
        press(b, f".pane:not(.source) [data-id={stage}]")
        b.move(*middle(b, f".pane.source .l[data-n='{line - 1}']"))
        check(lit(b, "hot") == of_line(data, stage, line) != [], f"{name}: line {line} and {stage}: {lit(b, 'hot')}")
    b.move(1, 1)
    check(count(b, ".hot") == 0, f"{name}: something is lit that nothing points at")
    press(b, ".pane:not(.source) [data-id=lowered]")
    first = of_line(data, "lowered", line)[0]
    b.move(*middle(b, f".pane:not(.source) .code:not([hidden]) .l[data-n='{first}']"))
    check(texts(b, ".pane.source .l.hot > i") == [str(line)], f"{name}: from LOWERED to the source")
    check(texts(b, ".pane.source mark") == [expected["exact"]], f"{name}: exact place {texts(b, '.pane.source mark')}")
    b.click(*middle(b, f".pane.source .l[data-n='{line - 1}']"))
    b.move(1, 1)
    check(lit(b, "pin") == of_line(data, "lowered", line), f"{name}: a click keeps the line")
    seen = b.run("""(() => { const e = document.querySelector('.pane:not(.source) .code:not([hidden]) .l.pin').getBoundingClientRect(),
        b = document.querySelector('.pane:not(.source) .code:not([hidden])').getBoundingClientRect();
        return e.top >= b.top && e.bottom <= b.bottom; })()""")
    check(seen, f"{name}: the other side is not scrolled to the line")
    check(f"line={line}" in b.run("location.hash"), f"{name}: the address does not say the line")
    b.key("Escape")
    check(count(b, ".pin") == 0, f"{name}: Escape lets go")


def check_keys(b, name, data, expected):
    b.run("document.querySelector('.pane.source .code').focus()")
    b.run(f"document.querySelector('.pane.source .l[data-n=\"{expected['source line'] - 1}\"]').click()")
    b.key("Escape")
    b.key("ArrowUp")
    b.key("ArrowDown")
    b.key("Enter")
    check(lit(b, "pin") == of_line(data, "lowered", expected["source line"]), f"{name}: arrow keys and Enter")
    b.key("Escape")
    b.run("document.querySelector('#tabs [aria-selected=true]').focus()")
    before = b.run("document.querySelector('#tabs [aria-selected=true]').dataset.id")
    b.key("ArrowRight")
    after = b.run("document.querySelector('#tabs [aria-selected=true]').dataset.id")
    check(before != after, f"{name}: arrow keys on tabs")


def check_panels(b, name, data, expected):
    press(b, "#tabs [data-id=pipeline]")
    lanes = texts(b, "#timeline > svg text")
    check([t for t in lanes if t.startswith("warps")] == expected["lanes"], f"{name}: lanes {lanes}")
    check(("tensor cores" in lanes) == expected["tensor cores"], f"{name}: tensor cores {lanes}")
    check([t for t in lanes if " · stage " in t] == expected["rings"], f"{name}: rings {lanes}")
    acts = [i["act"] for i in data["timeline"]["items"]]
    for act in ("copy", "dot"):
        check(count(b, f"#timeline .it[data-act={act}]") >= acts.count(act) > 0, f"{name}: bars of {act}")
    line = expected["source line"]
    dots = [i for i in data["timeline"]["items"] if i["act"] == "dot" and data["places"][i["from"]][1] == line]
    b.move(*middle(b, f"#timeline .it[data-act=dot][data-line='{dots[0]['line']}']"))
    check(texts(b, ".pane.source .l.hot > i") == [str(line)], f"{name}: from the timeline to the source")
    check(not b.run("document.getElementById('tip').hidden"), f"{name}: no words at a bar")
    press(b, "#tabs [data-id=memory]")
    check(count(b, "#banks rect") >= 32, f"{name}: banks")
    press(b, "#tabs [data-id=layouts]")
    check(count(b, "#cards .card") == len(data["layouts"]), f"{name}: layouts")
    x, y = middle(b, ".picture canvas")
    b.move(x, y)
    check(re.search(r"warp \d+, lane \d+, register \d+|bank \d+", texts(b, ".picture .at")[0]), f"{name}: an element's holder")
    press(b, ".pane:not(.source) [data-id=laid]")
    wanted = texts(b, ".pane:not(.source) .code:not([hidden]) .y")[0]
    press(b, ".pane:not(.source) .code:not([hidden]) .y")
    check(texts(b, "#layout-name")[0].startswith(wanted + " "), f"{name}: {wanted} leads to its picture")
    press(b, "#tabs [data-id=remarks]")
    check(count(b, "#remarks .remark") == len(data["remarks"]), f"{name}: remarks")
    press(b, "#tabs [data-id=kernel]")
    check(count(b, "#params tbody tr") == len(data["facts"]["params"]), f"{name}: parameters")


def check_numbers(b, name, data):
    """Whatever a kernel lacks, no panel draws what is no number."""
    for panel in ("pipeline", "memory", "layouts", "remarks", "kernel"):
        press(b, f"#tabs [data-id={panel}]")
        html = b.run("document.getElementById('panel').innerHTML")
        check(not re.search(r"NaN|Infinity|undefined", html), f"{name}: {panel} draws what is no number")
        if panel == "memory":
            check(count(b, "#memory .it") == len(data["shared"]["buffers"]), f"{name}: buffers")
            check(count(b, "#accesses tbody tr") == len(data["shared"]["accesses"]), f"{name}: accesses")
    press(b, "#tabs [data-id=pipeline]")


CONTRAST = """(() => {
  const part = (c) => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
  const light = (s) => { const p = document.createElement('p'); p.style.color = `var(${s})`; document.body.append(p);
    const [r, g, b] = getComputedStyle(p).color.match(/[\\d.]+/g).map(Number); p.remove();
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b); };
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const out = {};
  for (const ink of ['--ink', '--soft', '--accent', '--word', '--name', '--num', '--str', '--op', '--good', '--bad', '--warn'])
    for (const ground of ['--card', '--page', '--hover', '--pin']) out[ink + ' on ' + ground] = ratio(ink, ground);
  return out; })()"""


def check_looks(b, name):
    """Nothing sticks out of the window; words can be read (WCAG: 4.5, of what is lit for a moment 3)."""
    for scheme in ("light", "dark"):
        b.scheme(scheme)
        for pair, ratio in b.run(CONTRAST).items():
            least = 3 if pair.endswith(("--hover", "--pin")) else 4.5
            check(ratio >= least, f"{name}, {scheme}: {pair} has a contrast of {ratio:.2f}")
        for width, height in ((1400, 900), (800, 900)):
            b.size(width, height)
            for panel in ("pipeline", "memory", "layouts", "remarks", "kernel"):
                press(b, f"#tabs [data-id={panel}]")
                wide = b.run("document.documentElement.scrollWidth")
                check(wide <= width, f"{name}, {panel}: {wide} pixels in a window of {width}")
    b.size(1400, 900)
    b.scheme("light")


def check_page(b, folder, name, expected):
    url = "file://" + os.path.join(os.path.abspath(folder), name + ".html")
    b.requests.clear()
    b.size(1400, 900)
    ms = check_speed(b, name, url)
    data = json.loads(b.run("document.getElementById('data').textContent"))
    check_code(b, name, data)
    check_numbers(b, name, data)
    if expected:
        expected = {**expected, "source line": line_of(data, expected["exact"])}
        check_links(b, name, data, expected)
        check_keys(b, name, data, expected)
        check_panels(b, name, data, expected)
        check_looks(b, name)
    others = [u for u in b.requests if u.split("#")[0] != url and not u.startswith("data:")]
    check(not others, f"{name}: asks for {others[:3]}")
    check(not b.errors, f"{name}: errors in the page: {b.errors[:3]}")
    b.errors.clear()
    return ms


def main():
    folder, path = sys.argv[1], devtools.find_browser()
    if not path:
        print("skipped: no Chromium (Debian: apt-get install chromium)")
        return 77
    pages = sorted(f[:-5] for f in os.listdir(folder) if f.endswith(".html"))
    b = devtools.Browser(path, limit_s=240)
    try:
        ms = {name: check_page(b, folder, name, EXPECTED.get(name)) for name in pages}
    finally:
        b.close()
    print(f"{len(pages)} pages, load in ms: {ms}, {check_view.failed} failures")
    return check_view.failed != 0 or not pages


if __name__ == "__main__":
    sys.exit(main())
