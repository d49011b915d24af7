#!/usr/bin/env python3
"""check_view.py TILEC ROOT [--pages DIR]: the pages and pictures of `tilec view`, without a browser.

Of pages: the data is JSON and the same bytes each time; texts are those of `tilec build`; every link
leads to a line that exists; nothing is loaded from elsewhere, whatever strings a kernel has; buffers
that are taken at one time lie apart; in the timeline a product reads a slot only between the landing of
one copy and the beginning of the next.  Of pictures: XML, and docs/ has what the tool draws.
--pages keeps the pages for check_view_browser.py."""
import json
import os
import re
import shlex
import stat
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

MATMUL = ["dsl_examples/matmul.tile", "-k", "matmul", "-D", "BLOCK_K=64", "-s",
          "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:16, 1, i32:16, 1, i32:16, 1"]
ATTENTION = ["dsl_examples/attention.tile", "-k", "attn_fwd", "-D", "D=128", "-s",
             "*fp16:16, *fp16:16, *fp16:16, *fp16:16, *fp32:16, i32, i32:16, fp32"]
PAGES = {
    "attention": ATTENTION,
    "matmul": MATMUL,
    "matmul_sm_80": MATMUL + ["--arch=sm_80"],
    "matmul_boxes": MATMUL + ["--tma=on"],
    "elu": ["dsl_examples/elu.tile", "-s", "*fp32:16, *fp32:16, i32:16, fp32"],
    "top_k": ["dsl_examples/top_k.tile", "-k", "top_k", "-D", "K=8", "-D", "SLOTS=8", "-s",
              "*fp16:16, *fp16:16, *i32:16, i32, i32:16"],  # lines of two files
    "softmax": ["dsl_examples/softmax.tile", "-k", "softmax", "-s",
                "*fp32:16, *fp32:16, i32:16, i32:16", "-D", "BLOCK=1024"],
}
MOST_BYTES = 3 << 20
failed = 0


def check(good, what):
    global failed
    if not good:
        failed += 1
        print("FAIL " + what)


def data_of(page):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    return json.loads(found.group(1))


class Tool:
    def __init__(self, tilec, root):
        self.tilec, self.root = tilec, root

    def run(self, *args, code=0):
        done = subprocess.run([self.tilec, *args], cwd=self.root, capture_output=True, timeout=120)
        check(done.returncode == code, f"{' '.join(args)}: exit code {done.returncode}\n{done.stderr.decode()}")
        return done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")

    def page(self, *args):
        return self.run("view", *args)[0]


def check_texts(tool, name, args, data):
    for stage, emit in (("typed", "ir"), ("laid", "laid"), ("lowered", "lowered")):
        shown = next(s for s in data["stages"] if s["id"] == stage)
        built = tool.run("build", *args, f"--emit={emit}")[0]
        check(shown["text"] == built, f"{name}: {stage} is not what `tilec build --emit={emit}` prints")
    ptx = next(s for s in data["stages"] if s["id"] == "ptx")["text"]
    check(ptx == tool.run("build", *args, "-g")[0], f"{name}: the PTX is not that of `tilec build -g`")


def check_links(name, data):
    lengths = [len(s["text"].split("\n")) for s in data["sources"]]
    for i, p in enumerate(data["places"][1:]):
        good = p[0] < len(lengths) and 1 <= p[1] <= p[3] <= lengths[p[0]]
        check(good, f"{name}: place {i + 1} is {p}, outside of its source")
    for s in data["stages"]:
        lines = s.get("text", "").rstrip("\n").split("\n") if "text" in s else []
        check(len(s["from"]) == len(lines), f"{name}: {s['id']} has {len(lines)} lines, {len(s['from'])} links")
        check(all(0 <= f < len(data["places"]) for f in s["from"]), f"{name}: {s['id']}: a link to nowhere")
        if s["id"] in ("typed", "laid", "lowered"):
            check_ir_links(name, s, lines)
        if s["id"] == "ptx":
            check_ptx_links(name, data, s, lines)
    laid = next(s for s in data["stages"] if s["id"] == "laid")["text"].split("\n")
    for l in data["layouts"]:
        check(laid[data["layouts"].index(l)] == f"{l['name']} = {l['text']}", f"{name}: {l['name']} is another in LAID")
        for value, _, line in l["uses"]:
            check(f"%{value}" in laid[line - 1], f"{name}: %{value} is not in line {line} of LAID")


def check_ir_links(name, stage, lines):
    """Each operation comes from somewhere, everything else from nowhere."""
    for n, line in enumerate(lines):
        is_op = line.startswith("   ") and not re.match(r" *\}( else \{| do .*\{)?$", line)
        check((stage["from"][n] > 0) == is_op, f"{name}: {stage['id']} line {n + 1}: {line}")


def check_ptx_links(name, data, stage, lines):
    files = dict(m for line in lines for m in re.findall(r'^\s*\.file\s+(\d+) "\./(.*)"', line))
    now, locs = None, 0
    for n, line in enumerate(lines):
        loc = re.match(r"\s*\.loc\s+(\d+) (\d+)", line)
        now = (files[loc.group(1)], int(loc.group(2))) if loc else now
        locs += loc is not None and now[1] > 0
        if stage["from"][n]:
            place = data["places"][stage["from"][n]]
            check((data["sources"][place[0]]["name"], place[1]) == now, f"{name}: PTX line {n + 1} is of {now}")
    check(sum(1 for f in stage["from"] if f) >= locs > 0, f"{name}: PTX that comes from nowhere")


def check_closed(name, page):
    """Nothing comes from elsewhere, and no string ends the script that holds it."""
    check(page.count("</script") == 2, f"{name}: {page.count('</script')} ends of scripts")
    check("<!--" not in page, f"{name}: a comment begins")
    outside = [u for u in re.findall(r"[a-z]+://[^\s\"'<)]*", page)]
    check(not outside, f"{name}: names {outside[:3]}")
    check(not re.search(r"<(script|img|link|iframe)[^>]* (src|href)=\"(?!data:)", page), f"{name}: loads a file")
    check(len(page.encode()) <= MOST_BYTES, f"{name}: {len(page.encode())} bytes")


def check_shared(name, data):
    s = data["shared"]
    for i, a in enumerate(s["buffers"]):
        check(a["offset"] + a["bytes"] <= s["bytes"], f"{name}: buffer {i} ends behind the shared memory")
        for b in s["buffers"][i + 1:]:
            in_time = a["first"] <= b["last"] and b["first"] <= a["last"]
            in_space = a["offset"] < b["offset"] + b["bytes"] and b["offset"] < a["offset"] + a["bytes"]
            check(not (in_time and in_space), f"{name}: '{a['name']}' and '{b['name']}' overlap")
    for a in s["accesses"]:
        if a["known"]:
            check(len(a["lanes"]) in (8, 16, 32) and a["wavefronts"] >= a["minimum"] > 0, f"{name}: access {a}")
        check(a["buffer"] >= 0, f"{name}: {a['what']} in line {a['line']} is in no buffer")


LOWERED = """func @rows(%n: i32) {num_warps = 1, state = lowered, shared_bytes = 8192} {
   %lane = lane_id : i32
   %stride = constant 128 : i32
   %row = mul %lane, %stride : i32
   %one = ldmatrix %row {num = 1, offsets = [0], extent = {begin = 0, end = 8192}} : regs<fp16, 2>
   %two = ldmatrix %row {num = 2, offsets = [0], extent = {begin = 0, end = 8192}} : regs<fp16, 4>
   %four = ldmatrix %row {num = 4, offsets = [0], extent = {begin = 0, end = 8192}} : regs<fp16, 8>
   atom_shared %row, %n {rmw = add, offsets = [0], extent = {begin = 0, end = 8192}}
   return
}
"""
HISTOGRAM = """@kernel(num_warps=1)
def k(x: *i32, y: *i32):
    store(y + arange(0, 32), histogram(load(x + arange(0, 128)), 32))
"""


def page_of(tool, work, folder, name, text):
    """The data of a page about this text, `name` with a suffix; the page is kept where pages are."""
    path = os.path.join(work, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    page = tool.page(path, "--ptxas=none")
    if folder:
        with open(os.path.join(folder, name.split(".")[0] + ".html"), "w", encoding="utf-8") as f:
            f.write(page)
    return data_of(page)


def check_accesses(tool, work, folder):
    """Of each access; of IR that is LOWERED from the start, which has no buffers."""
    data = page_of(tool, work, folder, "lowered.tir", LOWERED)
    found = [(a["what"], a["wavefronts"], a["minimum"], len(a["lanes"])) for a in data["shared"]["accesses"]]
    rows = [("ldmatrix", 8 * n, n, 8 * n) for n in (1, 2, 4)]
    check(found == rows + [("atom_shared", 32, 1, 32)], f"accesses of rows: {found}")
    data = page_of(tool, work, folder, "histogram.tile", HISTOGRAM)
    check_shared("histogram", data)
    atomic = [a for a in data["shared"]["accesses"] if a["what"] == "atom_shared"]
    check(len(atomic) == 1 and not atomic[0]["known"], f"accesses of a histogram: {data['shared']['accesses']}")
    acts = [i["act"] for i in data["timeline"]["items"]]
    check("atomic" in acts, f"acts of a histogram: {acts}")


def slots_of(data):
    slots = {}
    for item in data["timeline"]["items"]:
        for slot in item["slots"]:
            slots.setdefault(tuple(slot), []).append(item)
    return slots


def check_timeline(name, data, stages):
    """A product reads a slot between the landing of one copy and the beginning of the next."""
    t = data["timeline"]
    check(not t["stuck"], f"{name}: the model of the waits does not end")
    rings = {}
    for (buffer, stage), items in slots_of(data).items():
        copies = [i for i in items if i["act"] == "copy"]  # a masked one brings zeros, which nobody waits for
        products = [i for i in items if i["act"] in ("dot", "read")]
        if copies:
            rings.setdefault(buffer, set()).add(stage)
        for p in products if copies else []:
            before = [c for c in copies if c["begin"] <= p["begin"]]
            check(before and ("masked" in before[-1] or before[-1]["done"] <= p["begin"]),
                  f"{name}: {p} reads what has not landed")
            after = [c for c in copies if c["begin"] > p["begin"]]
            check(not after or after[0]["begin"] >= p.get("done", p["end"]), f"{name}: {p} reads what is overwritten")
    if stages:
        check(rings and all(s == set(range(stages)) for s in rings.values()), f"{name}: stages {rings}")


def check_pages(tool, folder):
    stages = {"attention": 2, "matmul": 3, "matmul_sm_80": 3, "matmul_boxes": 3}
    for name, args in PAGES.items():
        args = [*args, "--ptxas=none"]
        page = tool.page(*args)
        check(page == tool.page(*args), f"{name}: two pages differ")
        data = data_of(page)
        check_texts(tool, name, PAGES[name], data)
        check_links(name, data)
        check_closed(name, page)
        check_shared(name, data)
        check_timeline(name, data, stages.get(name, 0))
        if folder:
            with open(os.path.join(folder, name + ".html"), "w", encoding="utf-8") as f:
                f.write(page)
    roles = [lane["name"] for lane in data_of(tool.page(*ATTENTION, "--ptxas=none"))["timeline"]["lanes"]]
    check(roles == ["warps 0–11", "warps 8–11", "warps 0–7"], f"attention: roles {roles}")


HOSTILE = b'''"""</script><script>alert(1)</script> <!-- & \xe2\x80\xa8 \xc3\xa9"""
@kernel(num_warps=1)
def k(x: *fp32, n: i32):
    offs = arange(0, 32)
    device_print("</script><b>", offs)  # <!-- ]]> &amp;
    store(x + offs, 1.0, offs < n)
'''


def check_escapes(tool, work):
    path = os.path.join(work, "</i>&\"'\\.tile".replace("/", "_"))
    with open(path, "wb") as f:
        f.write(HOSTILE)
    page = tool.page(path, "--ptxas=none")
    check_closed("hostile", page)
    source = data_of(page)["sources"][0]["text"]
    check(source == HOSTILE.decode("utf-8", "replace"), "hostile: the source is not what was written")
    ptx = next(s for s in data_of(page)["stages"] if s["id"] == "ptx")
    check(any(ptx["from"]), "hostile: PTX leads nowhere, whose .file has another name than the source")
    check('</script><b>' in data_of(page)["stages"][0]["text"], "hostile: the string is not in TYPED")


def script(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\n" + text)
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
    return path


def check_machine_code(tool, work):
    """With programs that stand in for the toolkit's."""
    ptxas = script(os.path.join(work, "ptxas"), r'''
while [ $# -gt 0 ]; do [ "$1" = -o ] && out=$2; shift; done
printf '\177ELFcode' >"$out"
echo 'ptxas info    : Compiling entry function' >&2
echo '    8 bytes stack frame, 24 bytes spill stores, 40 bytes spill loads' >&2
echo 'ptxas info    : Used 128 registers, used 1 barriers' >&2
''')
    disassembler = script(os.path.join(work, "nvdisasm"), r'''
printf '\t.section .text\n\t//## File "dsl_examples/elu.tile", line 8\n        /*0000*/  MOV R1, R2 ;\n.L_x_1:\n'
printf '\t//## File "elsewhere.tile", line 8\n        /*0010*/  EXIT ;\n'
''')
    asked = [*PAGES["elu"], f"--ptxas={ptxas}", f"--disassembler={disassembler}"]
    page, said = tool.run("view", *asked)
    check("warning[W0510]" in said and "remark" not in said, f"of spills is said: {said}")
    data = data_of(page)
    f, sass = data["facts"], data["stages"][-1]
    check((f["registers"], f["stack"], f["spill_stores"], f["spill_loads"]) == (128, 8, 24, 40), f"facts {f}")
    check(f["occupancy"] == {"blocks": 4, "warps": 16, "of": 64, "limit": "registers"}, f"occupancy {f['occupancy']}")
    check({"W0510", "R0510"} <= {r["code"] for r in data["remarks"]}, f"remarks {data['remarks']}")
    places = [data["places"][i][1] if i else 0 for i in sass["from"]]
    check(places == [0, 0, 8, 0, 0, 0], f"SASS comes from lines {places}")
    endless = script(os.path.join(work, "cuobjdump"), "yes '        /*0000*/  NOP ;' | head -c 3000000\n")
    long = data_of(tool.page(*PAGES["elu"], f"--ptxas={ptxas}", f"--disassembler={endless}"))["stages"][-1]["text"]
    check(long.endswith("// ... and more, which this page leaves out\n"), "a long disassembly is not said to be cut")
    missing = data_of(tool.page(*PAGES["elu"], f"--ptxas={ptxas}", "--disassembler=none"))["stages"][-1]
    check("text" not in missing and "--disassembler=none" in missing["missing"], f"SASS without a tool: {missing}")
    check_occupancy(tool, work, ptxas)
    check_refusals(tool, work, ptxas)


def check_occupancy(tool, work, ptxas):
    """Registers are those of a quarter of the multiprocessor: of 25 warps with 80 registers 24 fit."""
    thin = script(os.path.join(work, "thin"), f'"{ptxas}" "$@" 2>/dev/null\necho "ptxas info    : Used 80 registers" >&2\n')
    path = os.path.join(work, "warps.tile")
    for warps, arch, wanted in ((1, "sm_90a", (24, 24, 64, "registers")), (2, "sm_90a", (12, 24, 64, "registers")),
                                (1, "sm_86", (16, 16, 48, "blocks")), (16, "sm_90a", (1, 16, 64, "registers"))):
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"@kernel(num_warps={warps})\ndef k(x: *fp32):\n    store(x + arange(0, {32 * warps}), 1.0)\n")
        data = data_of(tool.page(path, f"--arch={arch}", f"--ptxas={thin}", "--disassembler=none"))
        o = data["facts"]["occupancy"]
        check(tuple(o.values()) == wanted, f"occupancy of {warps} warps on {arch}: {o}")
    path = os.path.join(work, "much.tir")
    with open(path, "w", encoding="utf-8") as f:
        f.write("func @k(%n: i32) {num_warps = 1, state = lowered, shared_bytes = 16777216} {\n   return\n}\n")
    many = script(os.path.join(work, "many"), f'"{ptxas}" "$@" 2>/dev/null\necho "ptxas info    : Used 4294967295 registers" >&2\n')
    for program in (thin, many):  # no number makes the page fail
        tool.page(path, f"--ptxas={program}", "--disassembler=none")


def check_refusals(tool, work, ptxas):
    """The page says why it has no machine code; what a program must not be refused for is an error."""
    refused = script(os.path.join(work, "bad"), "echo 'ptxas fatal   : it will not' >&2\nexit 1\n")
    silent = script(os.path.join(work, "silent"), "exit 1\n")
    old = script(os.path.join(work, "old"), "echo \"ptxas fatal: sm_90a for option 'gpu-name'\" >&2\nexit 1\n")
    for program, code, why in ((refused, 1, "it will not"), (silent, 1, "it failed"), (old, 0, "too old for")):
        page, said = tool.run("view", *PAGES["elu"], f"--ptxas={program}", code=code)
        missing = data_of(page)["stages"][-1]
        check(why in missing["missing"], f"{program} that refuses: {missing}")
        check(("error[E0510]" in said) == (code == 1), f"{program} that refuses is an error: {said}")
    for program, why in ((refused, "it will not"), (silent, "ended without a word")):
        missing = data_of(tool.page(*PAGES["elu"], f"--ptxas={ptxas}", f"--disassembler={program}"))["stages"][-1]
        check(why in missing["missing"], f"a disassembler that refuses: {missing}")
    for option in ("ptxas", "disassembler"):
        said = tool.run("view", *PAGES["elu"], f"--{option}=/nowhere/tool", code=3)[1]
        check("'/nowhere/tool' is not a program that can be run" in said, f"--{option} of nothing: {said}")


def check_pictures(tool, root):
    """docs/view.md names each picture with the command that draws it."""
    with open(os.path.join(root, "docs/view.md"), encoding="utf-8") as f:
        drawn = re.findall(r"<!-- drawn by: tilec view (.*?) -o (\S+) -->", f.read())
    check(len(drawn) >= 2, f"docs/view.md has {len(drawn)} pictures")
    for args, name in drawn:
        svg = tool.run("view", *shlex.split(args))[0]
        with open(os.path.join(root, name), encoding="utf-8") as f:
            check(f.read() == svg, f"{name} is not what `tilec view {args}` draws")
    for value in [l["name"] for l in data_of(tool.page(*ATTENTION, "--ptxas=none"))["layouts"]]:
        svg = tool.run("view", *ATTENTION, f"--layout={value}")[0]
        tree = ElementTree.fromstring(svg)
        check(tree.tag.endswith("svg") and len(tree) > 4, f"the picture of {value}")


def main():
    tilec, root = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    folder = sys.argv[4] if len(sys.argv) > 4 and sys.argv[3] == "--pages" else None
    if folder:
        os.makedirs(folder, exist_ok=True)
    tool = Tool(tilec, root)
    with tempfile.TemporaryDirectory() as work:
        check_pages(tool, folder)
        check_accesses(tool, work, folder)
        check_escapes(tool, work)
        check_machine_code(tool, work)
    check_pictures(tool, root)
    print(f"{len(PAGES)} pages checked, {failed} failures")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
