"""Writes the figures of a bench.json into docs/performance.md, between its two markers.

    table.py bench.json [docs/performance.md]
"""
import json
import os
import sys

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
DEFAULT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "performance.md")


def table(data):
    cases = {}
    for row in data["rows"]:
        cases.setdefault((row["case"], row["unit"]), {})[row["impl"]] = row
    lines = ["%s, torch %s, Triton %s." % (data["device"], data["torch"], data["triton"]), "",
             "| case | unit | tilec | Triton | libraries | tilec / Triton | configuration of tilec |",
             "|---|---|---|---|---|---|---|"]
    for (case, unit), impls in cases.items():
        def rate(name):
            return "%.0f" % impls[name]["rate"] if name in impls else "–"
        others = ", ".join("%s %.0f" % (k, v["rate"]) for k, v in impls.items()
                           if k not in ("tilec", "triton"))
        both = "tilec" in impls and "triton" in impls
        ratio = "%.2f" % (impls["tilec"]["rate"] / impls["triton"]["rate"]) if both else "–"
        config = impls["tilec"]["config"] if "tilec" in impls else "–"
        lines.append("| %s | %s | %s | %s | %s | %s | %s |" % (case, unit, rate("tilec"),
                                                            rate("triton"), others or "–", ratio, config))
    return "\n".join(lines)


def main():
    path = sys.argv[2] if len(sys.argv) > 2 else DEFAULT
    with open(sys.argv[1], encoding="utf-8") as f:
        data = json.load(f)
    with open(path, encoding="utf-8") as f:
        text = f.read()
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text[:begin] + "\n" + table(data) + "\n" + text[end:])


if __name__ == "__main__":
    main()
