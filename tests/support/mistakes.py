"""Mistakes that writers of Triton, Python and C make, in kernels and on the command line:
mistakes.py TILEC [NAME..] goes through mistakes.txt beside it and fails where one is not answered
by a single error at its place that says what is wrong and how to get out of it; with NAMEs it shows
these answers.

    === name
    $ command line                of tilec; without it: check FILE
    > words | words               all of these are in the message (or its code)
    ? words | words               one of these is in its help, of a command line in the answer
    source                        the error is to be at the sign «, which is taken out

A source that begins with blanks is the end of a kernel that begins with HEAD.  Command lines have
no source; in them FILE is KERNELS, NPY eight numbers of fp64, DIR a folder."""
import concurrent.futures
import json
import os
import re
import shlex
import struct
import subprocess
import sys
import tempfile

HEAD = """import math
import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def k(x: "*fp32", y: "*fp16", n: "i32", B: tl.constexpr = 64):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    m = i < n
"""
LAUNCH = """

k[(1,)](None, None, 1)
"""
KERNELS = """import triton
import triton.language as tl


@triton.jit
def ok(x, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(x + i, 1.0, mask=i < n)


@triton.jit
def typed(x: "*fp32", n: "i32"):
    tl.store(x, n)
"""


class Mistake:
    def __init__(self, text):
        self.name, *lines = text.split("\n")
        self.command = self.take(lines, "$ ")
        self.wanted = self.words(self.take(lines, "> "))
        self.ways = self.words(self.take(lines, "? "))
        source = "\n".join(lines)
        if source.startswith(" "):
            source = HEAD + source + LAUNCH
        before, self.is_placed, after = source.partition("«")
        self.place = (before.count("\n") + 1, len(before.split("\n")[-1].encode()) + 1)
        self.source = before + after

    @staticmethod
    def take(lines, mark):
        return lines.pop(0)[len(mark):] if lines and lines[0].startswith(mark) else None

    @staticmethod
    def words(line):
        return line.split(" | ")


def read():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mistakes.txt")
    with open(path, encoding="utf-8") as f:
        return [Mistake(text) for text in f.read().rstrip("\n").split("=== ")[1:]]


def write_file(path, data):
    with open(path, "wb") as f:
        f.write(data)


def write_npy(path):
    head = "{'descr': '<f8', 'fortran_order': False, 'shape': (8,), }"
    head = head.ljust(117) + "\n"
    length = struct.pack("<H", len(head))
    write_file(path, b"\x93NUMPY\x01\x00" + length + head.encode() + bytes(64))


def answer_of_source(tilec, folder, m):
    path = os.path.join(folder, m.name + ".py")
    write_file(path, m.source.encode())
    run = subprocess.run([tilec, "check", path, "-Wno-unused", "--error-format=json"],
                         capture_output=True, encoding="utf-8", errors="replace",
                         timeout=60)
    found = [json.loads(line) for line in run.stderr.splitlines() if line.startswith("{")]
    found = [d for d in found if d["severity"] in ("error", "warning")]
    if not found:
        return ["no error"], run.stderr
    first = found[0]
    message, help_ = first["code"] + ": " + first["message"], first.get("help") or ""
    bad = []
    if m.is_placed and (first["line"], first["column"]) != m.place:
        bad.append("at %d:%d, not %d:%d" % (first["line"], first["column"], *m.place))
    if not all(w in message for w in m.wanted):
        bad.append("says nothing of " + ", ".join(w for w in m.wanted if w not in message))
    if not any(w in help_ for w in m.ways):
        bad.append("help without " + " or ".join(m.ways))
    if sum(d["severity"] == "error" for d in found) > 1:
        bad.append("%d errors" % len(found))
    return bad, "\n".join(f"{d['line']}:{d['column']}: {d['code']}: {d['message']}\n"
                          f"      help: {d.get('help')}" for d in found)


def answer_of_command(tilec, folder, m):
    names = {"FILE": "kernels.py", "NPY": "eight.npy", "DIR": "folder"}
    pattern = re.compile("|".join(names))
    words = [pattern.sub(lambda n: names[n.group()], w) for w in shlex.split(m.command)]
    run = subprocess.run([tilec, *words], capture_output=True, encoding="utf-8", errors="replace",
                         timeout=60, cwd=folder)
    said = run.stderr
    is_refused = run.returncode in (1, 2, 3) or "warning" in said
    bad = [] if is_refused else ["exit code %d" % run.returncode]
    if not all(w in said for w in m.wanted):
        bad.append("says nothing of " + ", ".join(w for w in m.wanted if w not in said))
    if not any(w in said for w in m.ways):
        bad.append("no way out: " + " or ".join(m.ways))
    return bad, said


def main():
    tilec, only = os.path.abspath(sys.argv[1]), sys.argv[2:]
    mistakes = [m for m in read() if not only or m.name in only]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        write_file(os.path.join(folder, "kernels.py"), KERNELS.encode())
        write_npy(os.path.join(folder, "eight.npy"))
        os.mkdir(os.path.join(folder, "folder"))
        answers = list(pool.map(lambda m: (answer_of_command if m.command else answer_of_source)(
            tilec, folder, m), mistakes))
    for m, (bad, said) in zip(mistakes, answers):
        if bad or only:
            print(f"--- {m.name}: {'; '.join(bad) or 'good'}\n   {said.strip()}")
    good = sum(not bad for bad, _ in answers)
    print(f"{good} of {len(mistakes)} mistakes are answered at their place, by what is wrong and a way "
          f"out ({100 * good / len(mistakes):.1f} %)")
    return good != len(mistakes)


if __name__ == "__main__":
    sys.exit(main())
