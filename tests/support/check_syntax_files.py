#!/usr/bin/env python3
"""check_syntax_files.py EDITORS: the TextMate grammar is whole and colours sample lines as written below; Vim, where it is
installed, reads the syntax file."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

editors = sys.argv[1]
with open(os.path.join(editors, "tile.tmLanguage.json")) as f:
    grammar = json.load(f)
failed = []


def rules(patterns, seen=()):
    """The patterns in order, includes resolved."""
    for p in patterns:
        if "include" in p:
            name = p["include"].lstrip("#")
            if name not in grammar["repository"]:
                failed.append(f"'{name}' is included and not there")
            elif name not in seen:
                yield from rules(grammar["repository"][name]["patterns"], (*seen, name))
        else:
            yield p


def scope_at(line, column):
    """What a reader of TextMate grammars makes of the column: the first match at the leftmost place wins."""
    at = 0
    while at <= len(line):
        best = None
        for p in rules(grammar["patterns"]):
            m = re.compile(p.get("match") or p["begin"]).search(line, at)
            if m and m.end() > m.start() and (best is None or m.start() < best[0].start()):
                best = (m, p)
        if best is None:
            return ""
        m, p = best
        end = m.end()
        if "begin" in p:
            close = re.compile(p["end"].replace("\\1", re.escape(m.group(1)) if m.groups() else "")).search(line, end)
            end = close.end() if close else len(line)
        if m.start() <= column < end:
            for group, name in p.get("captures", {}).items():
                if m.start(int(group)) <= column < m.end(int(group)):
                    return name["name"]
            return p.get("name", "")
        if m.start() > column:
            return ""
        at = end
    return ""


SAMPLES = [  # line, text in it, scope
    ("@kernel(num_warps=4)", "@kernel", "entity.name.function.decorator.tile"),
    ("def scale(x: *fp32, n: i32):", "def", "keyword.declaration.tile"),
    ("def scale(x: *fp32, n: i32):", "scale", "entity.name.function.tile"),
    ("def scale(x: *fp32, n: i32):", "fp32", "storage.type.tile"),
    ("    offs = arange(0, BLOCK)  # load(x)", "arange", "entity.name.function.call.tile"),
    ("    offs = arange(0, BLOCK)  # load(x)", "load", "comment.line.number-sign.tile"),
    ("    offs = arange(0, BLOCK)  # load(x)", "offs", ""),
    ("    if ACT == 'relu' and n > 0x1F:", "if", "keyword.control.tile"),
    ("    if ACT == 'relu' and n > 0x1F:", "relu", "string.quoted.single.tile"),
    ("    if ACT == 'relu' and n > 0x1F:", "0x1F", "constant.numeric.tile"),
    ("    x = None if i32 else 1.5e-3", "None", "constant.language.tile"),
    ("    x = None if i32 else 1.5e-3", "1.5e-3", "constant.numeric.tile"),
]
for p in rules(grammar["patterns"]):
    for key in ("match", "begin", "end"):
        if key in p:
            re.compile(p[key].replace("\\1", ""))
for line, text, wanted in SAMPLES:
    found = scope_at(line, line.index(text))
    if found != wanted:
        failed.append(f"{text!r} in {line!r} is {found!r}, not {wanted!r}")

vim = shutil.which("vim") or shutil.which("nvim")
if vim:
    with tempfile.TemporaryDirectory() as work:
        sample, out = os.path.join(work, "a.tile"), os.path.join(work, "out")
        with open(sample, "w") as f:
            f.write("@kernel\ndef f(x: *fp32):\n    store(x, 1)\n")
        run = subprocess.run(
            [vim, "-es", "-u", "NONE", "-c", f"set rtp+={os.path.join(editors, 'vim')}", "-c", "syntax on", "-c", f"edit {sample}",
             "-c", "setfiletype tile", "-c", f"call writefile([synIDattr(synID(2,11,1),'name'), synIDattr(synID(3,5,1),'name')], '{out}')",
             "-c", "qa!"], timeout=60, capture_output=True)
        names = open(out).read().split() if os.path.exists(out) else run.stderr
        if names != ["tileType", "tileBuiltin"]:
            failed.append(f"{vim}: {names!r}")
print("\n".join(failed) or f"{len(SAMPLES)} samples" + (", Vim" if vim else ""))
sys.exit(bool(failed))
