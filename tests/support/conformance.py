"""docs/conformance.md, made of the outcomes of runs.

    python3 tests/support/conformance.py docs/conformance.json [--add PLACE:FILE.jsonl..] \\
        > docs/conformance.md

FILE.jsonl is what tests/conformance/conform.py --outcomes writes, or the plugin triton_sample.py;
PLACE is cpu, sim or H200.  --add puts the counts of such files into the record, docs/conformance.json,
in place of those of the same place and kind; the page is made of the record alone, and --check
holds a page to it."""
import argparse
import collections
import json
import re
import sys

from triton_sample import NOT_JUDGED

PLACES = ("cpu", "sim", "H200")
HEAD = """# Conformance

What Triton 3.6's language means and what of it holds here, as measured. This page is made by
[`conformance.py`](../tests/support/conformance.py) from [the record](conformance.json) of runs.
`11/12`: 11 of 12 cases that were judged passed; *not run* is what it says.

## The language, row by row

Cases of the tree's own ([`tests/conformance`](../tests/conformance)), through
[`tilec.triton`](python.md#triton-programs) with numpy arrays. `cpu` and `sim` run in continuous integration.
"""
TESTS = """
## Triton's own unit tests

`python/test/unit` of Triton 3.6 through `python -m tilec.triton`, no Triton installed: of each test function up to
30 cases for each of the seeds, by [`triton_sample.py`](../tests/support/triton_sample.py). Not judged is what looks
at Triton's IR or at the wording of its PTX (after the values were right), and what needs a GPU that is not there.
On the CPU executor `test_typeconvert_downcast` (2^32 conversions a case) and `test_mxfp8_mxfp4_matmul_tma` (8192^3)
are left out, for their size. `runtime/test_specialize.py`, which tests a function inside Triton's own library, is
not counted. The tests of the GPU's column ran on one H100, whose chip is the H200's, on 2026-11-25 (seeds 31 and 47,
side by side in 103 s); the rows above ran on an H200. In three more samples
twelve cases failed each (99.4 % passed): seed 53 on 2026-11-26, 2,018 of 2,030; seed 61271 on 2026-11-27 on an H100,
2,011 of 2,023; seed 71281 on 2026-11-28 on an H200, 2,006 of 2,018, its twelve those of the table below; so were
those of seeds 60917 and 84431 on 2026-11-29 on an H200, 2,011 of 2,023 and 2,009 of 2,021, and of 91127 and 55301 later that
day, with `import triton` failing without the drop-in, 2,017 of 2,029 and 2,006 of 2,018, and of 20461 and 68977 in the evening,
2,015 of 2,027 and 2,010 of 2,022, and of 31337 and 90210 at night, 2,013 of 2,025 and 2,016 of 2,028;
of 52711 and 90833 on 2026-11-30 2,005 of 2,017 and 2,023 of 2,035.
The column of the CPU executor is of 2026-11-27 (seeds 2027 and 77117), on a busy machine: `test_load_store_same_ptr`
(65 million programs) ran by itself, in 95 seconds in place of the 60 of the others. Three more samples (seeds 90210,
70707 and 31337) failed in no other test the same day: 1,826 of 1,852, 1,827 of 1,852 and 1,826 of 1,850 (98.7 %), and
two (40961 and 55733) in none on 2026-11-28, side by side in 149 s: 1,821 of 1,843 and 1,824 of 1,848 (98.8 and 98.7 %); 30211 and
88417 on 2026-11-29, without `test_load_store_same_ptr`, 1,825 of 1,849 and 1,821 of 1,845 (98.7 %), and 60013 at night 1,778 of 1,803 (98.6 %);
44021 on 2026-11-30 1,792 of 1,815 (98.7 %).
"""
LEFT = """
### What does not pass, and why
"""
BEYOND = """
## Where the two differ on purpose

Found with 989 one-line kernels, each compiled by both, written from the places where Triton's
front end raises or asserts.

| Triton 3.6 refuses, tilec takes | as |
|---|---|
| `break`, `continue` and `return` in loops, `a < b < c`, `in`, `:=`, `lambda`, inner `def`, `import`, `a = b = x`, nested and starred targets, dicts, sets, comprehensions, `for` over tuples, `enumerate`, `zip`, `abs`, `sum`, `sorted`, `str` and their kin on constants | in Python |
| plain globals, plain Python functions of constants | their value when the kernel is compiled |
| numbers as conditions: `while n`, `n and m`, `not x`, `assume(n)` | `!= 0` |
| a constexpr text as a condition: `if ACTIVATION` | not empty |
| `x == None` of a pointer or number | `False` |
| a constexpr that is annotated again, also by each round of `static_range` | the last counts |
| tiles as arguments of a `noinline` function | it is inlined |
| fp8 converted to an integer, also by a store | by its value, rounded toward zero |
| `atomic_cas` of tiles; its values in another type | broadcast and converted, as for other atomics |
| `boundary_check=1`, a number in place of a tuple (`True` is refused by both) | that dimension alone |
| `tl.float32(x)`, `triton.cdiv(n, 2)`, `tl.math.tanh`, a negative dimension in `permute`, fp8 with a constant | conversion, the function of that name, from the last, the constant in fp8 |

| Triton 3.6 takes, tilec refuses | because Triton |
|---|---|
| an int8 tile compared with 200: a constant that its type does not hold | compares with what is left of the constant, -56 |
| `full(.., 1 << 40, int32)`, `full(.., 300, uint8)` (0xffffffff as int32 is taken, as its bits) | drops the upper bits |
| `and`, `or`, `xor` atomics on floats; `atomic_cas` through a `const` pointer | works on the bits; writes it |
| a range whose step is the constant 0 | runs forever |
"""


def counted(path):
    """{kind: {group: {name: [passed, judged]}}} and [(test, words)] of the cases that failed."""
    groups, failed = collections.defaultdict(dict), []
    with open(path) as f:
        records = list({(r.get("id") or (r["section"], r["row"], r["case"])): r
                        for r in map(json.loads, f)}.values())
    for r in records:
        kind = "tests" if "id" in r else "rows"
        if r["outcome"] in NOT_JUDGED:
            continue
        if kind == "tests":
            file, test = r["id"].split("::", 1)
            at, name = "tests", re.sub(r"^.*?unit/", "", file)
            if r["outcome"] != "passed":
                failed.append(name.split("/")[-1][:-3] + "::" + test.split("[")[0])
        else:
            at, name = r["section"], r["row"]
        count = groups[at].setdefault(name, [0, 0])
        count[0] += r["outcome"] == "passed"
        count[1] += 1
    return dict(groups), failed


def add(record, place, paths):
    total, failed = {}, collections.Counter()
    for path in paths:
        groups, more = counted(path)
        failed.update(more)
        for group, names in groups.items():
            for name, (passed, judged) in names.items():
                count = total.setdefault(group, {}).setdefault(name, [0, 0])
                count[0] += passed
                count[1] += judged
    kinds = {"tests" if group == "tests" else "rows" for group in total}
    for group, names in record["counts"].items():
        if ("tests" if group == "tests" else "rows") in kinds:
            for places in names.values():
                places.pop(place, None)
    for group, names in total.items():
        for name, count in names.items():
            places = record["counts"].setdefault(group, {}).setdefault(name, {})
            places[place] = count
            for p in PLACES:                               # in one order, whichever came first
                if p in places:
                    places[p] = places.pop(p)
    if "tests" in kinds:
        record["failed"][place] = dict(sorted(failed.items()))


def state(places, place, ran):
    if place in places:
        return "%d/%d" % tuple(places[place])
    return "—" if ran else "*not run*"


def table(out, title, names, ran):
    out.append("| %s | %s |" % (title, " | ".join(PLACES)))
    out.append("|---|" + "---|" * len(PLACES))
    for name, places in names.items():
        out.append("| %s | %s |" % (name, " | ".join(state(places, p, p in ran) for p in PLACES)))


def page(record):
    out, counts = [HEAD], record["counts"]
    rows = {g: n for g, n in counts.items() if g != "tests"}
    ran = {p for names in rows.values() for places in names.values() for p in places}
    for group, names in rows.items():
        out.append("### %s\n" % group.capitalize())
        table(out, "row", {n.replace("|", "\\|"): p for n, p in names.items()}, ran)
        out.append("")
    tests = counts.get("tests", {})
    ran = {p for places in tests.values() for p in places}
    out.append(TESTS)
    whole = {p: [sum(c[p][i] for c in tests.values() if p in c) for i in (0, 1)] for p in ran}
    table(out, "file", {**tests, "**all**": whole}, ran)
    out.append("")
    for place in PLACES:
        if place in whole:
            out.append("%s: %.1f %%." % (place, 100 * whole[place][0] / whole[place][1]))
    out.append(LEFT)
    out.append("| test | failed | why |\n|---|---|---|")
    names = sorted({t for tests in record["failed"].values() for t in tests})
    for name in names:
        where = ", ".join("%s %d" % (p, record["failed"][p][name]) for p in PLACES
                          if name in record["failed"].get(p, {}))
        out.append("| `%s` | %s | %s |" % (name, where, record["reasons"].get(name, "open")))
    return "\n".join(out) + "\n" + BEYOND


def main():
    a = argparse.ArgumentParser()
    a.add_argument("record")
    a.add_argument("--add", action="append", default=[], metavar="PLACE:FILE")
    a.add_argument("--check", metavar="PAGE")
    a = a.parse_args()
    with open(a.record) as f:
        record = json.load(f)
    files = collections.defaultdict(list)
    for word in a.add:
        place, _, path = word.partition(":")
        files[place, "id" in open(path).readline()[:6]].append(path)
    for (place, _), paths in files.items():
        add(record, place, paths)
    if files:
        with open(a.record, "w") as f:
            json.dump(record, f, indent=1, ensure_ascii=False)
            f.write("\n")
    if a.check:
        with open(a.check, encoding="utf-8") as f:
            if f.read() != page(record):
                sys.exit("%s is not what %s gives: make it anew" % (a.check, a.record))
    else:
        print(page(record), end="")


if __name__ == "__main__":
    main()
