"""Mistakes that writers of Triton, Python and C make, in kernels and on the command line:
mistakes.py [--unseen] TILEC [NAME..] goes through mistakes.txt beside it and fails where one is not
answered by a single error at its place that says what is wrong and how to get out of it; with NAMEs it
shows these answers.

    === name
    $ command line                of tilec; without it: check FILE
    > words | words               all of these are in the message (or its code)
    ? words | words               one of these is in its help, of a command line in the answer
    source                        the error is to be at the sign «, which is taken out

A source that begins with blanks is the end of a kernel that begins with HEAD, blanks behind a line
"@kernel" one that begins with TILE_HEAD.  Command lines have no source; in them FILE is KERNELS, NPY
eight numbers of fp64, DIR a folder.

--unseen takes mistakes_unseen.txt and those that are numbered, each written before any of it was run and
without knowing what tilec says: the sign § stands in the line of the error, words are looked for in the
whole answer, in any case, and "a or b" is satisfied by either. "$ python" is a program in a folder with KERNELS as
kernels.py, "$ c" the statements of one, "$ sh" a script in a folder of its own; all end with something on the standard error.  What was wanted stays as it was written: "! no mistake: why" is counted no more, "! unanswered: why" is counted, and is an
error once it is answered."""
import concurrent.futures
import importlib.util
import json
import os
import re
import shlex
import struct
import subprocess
import sys
import tempfile

from progress import Progress

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
TILE_HEAD = """@kernel(grid=(cdiv(n, BLOCK),))
def k(x: *fp32, y: *fp32, h: *fp16, idx: *i32, n: i32, BLOCK: constexpr = 128):
    i = program_id(0) * BLOCK + arange(0, BLOCK)
    m = i < n
    v = load(x + i, m, other=0.0)
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


C_PROGRAM = """#include "tilec/runtime.h"
#include <stdio.h>

static inline void
tell(TilecRuntime *rt)
{
   char why[1024] = "";
   tilec_runtime_error(rt, why, sizeof why);
   fputs(why, stderr);
}

int
main(void)
{
%s
}
"""
ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))


class Mistake:
    sign = "«"
    files = ("mistakes.txt",)

    def __init__(self, text):
        self.name, *lines = text.rstrip("\n").split("\n")
        self.command = self.take(lines, "$ ")
        self.wanted = self.words(self.take(lines, "> "))
        self.ways = self.words(self.take(lines, "? "))
        self.mark = self.take(lines, "! ") or ""
        source = "\n".join(lines)
        if source.removeprefix(self.sign).startswith(" "):
            source = HEAD + source + LAUNCH
        head, _, body = source.partition("\n")
        if head == "@kernel" and body.removeprefix(self.sign).startswith(" "):
            source = TILE_HEAD + body
        before, self.is_placed, after = source.partition(self.sign)
        self.place = (before.count("\n") + 1, len(before.split("\n")[-1].encode()) + 1)
        self.source = before + after

    @staticmethod
    def take(lines, mark):
        return lines.pop(0)[len(mark):] if lines and lines[0].startswith(mark) else None

    @staticmethod
    def words(line):
        return line.split(" | ")

    def judge(self, place, message, help_, notes=()):
        bad = []
        if self.is_placed and place != self.place:
            bad.append("at %d:%d, not %d:%d" % (*place, *self.place))
        if not all(w in message for w in self.wanted):
            bad.append("says nothing of " + ", ".join(w for w in self.wanted if w not in message))
        if not any(w in help_ for w in self.ways):
            bad.append("no way out: " + " or ".join(self.ways))
        return bad


class Unseen(Mistake):
    """One whose answer was not known when it was written."""
    sign = "§"
    files = ("mistakes_unseen.txt", "mistakes_unseen_2.txt", "mistakes_unseen_3.txt",
             "mistakes_unseen_4.txt", "mistakes_unseen_5.txt", "mistakes_unseen_6.txt",
             "mistakes_unseen_7.txt", "mistakes_unseen_8.txt", "mistakes_unseen_9.txt",
             "mistakes_unseen_10.txt", "mistakes_unseen_11.txt",
             "mistakes_unseen_12.txt", "mistakes_unseen_13.txt", "mistakes_unseen_14.txt",
             "mistakes_unseen_15.txt", "mistakes_unseen_16.txt", "mistakes_unseen_17.txt",
             "mistakes_unseen_18.txt", "mistakes_unseen_19.txt", "mistakes_unseen_20.txt",
             "mistakes_unseen_21.txt", "mistakes_unseen_22.txt", "mistakes_unseen_23.txt",
             "mistakes_unseen_24.txt", "mistakes_unseen_25.txt", "mistakes_unseen_26.txt",
             "mistakes_unseen_27.txt", "mistakes_unseen_28.txt", "mistakes_unseen_29.txt",
             "mistakes_unseen_30.txt", "mistakes_unseen_31.txt", "mistakes_unseen_33.txt",
             "mistakes_unseen_34.txt", "mistakes_unseen_35.txt", "mistakes_unseen_36.txt",
             "mistakes_unseen_37.txt", "mistakes_unseen_38.txt", "mistakes_unseen_39.txt",
             "mistakes_unseen_40.txt", "mistakes_unseen_41.txt", "mistakes_unseen_42.txt",
             "mistakes_unseen_43.txt", "mistakes_unseen_44.txt", "mistakes_unseen_45.txt",
             "mistakes_unseen_46.txt")

    @staticmethod
    def words(line):
        return [w.lower().split(" or ") for w in line.split(" | ")]

    def judge(self, place, message, help_, notes=()):
        said = "\n".join([message, help_, *notes]).lower()
        bad = []
        if self.is_placed and place[0] != self.place[0]:
            bad.append("in line %d, not %d" % (place[0], self.place[0]))
        bad += ["says nothing of " + " or ".join(any_of) for any_of in self.wanted
                if not any(w in said for w in any_of)]
        if not any(w in said for any_of in self.ways for w in any_of):
            bad.append("no way out: " + " or ".join(self.ways[0]))
        return bad


def read(kind):
    mistakes = []
    for name in kind.files:
        with open(os.path.join(ROOT, "tests/support", name), encoding="utf-8") as f:
            mistakes += [kind(text) for text in ("\n" + f.read().rstrip("\n")).split("\n=== ")[1:]]
    return mistakes


def write_file(path, data):
    with open(path, "wb") as f:
        f.write(data)


def write_npy(path):
    head = "{'descr': '<f8', 'fortran_order': False, 'shape': (8,), }"
    head = head.ljust(117) + "\n"
    length = struct.pack("<H", len(head))
    write_file(path, b"\x93NUMPY\x01\x00" + length + head.encode() + bytes(64))


def answer_of_source(tilec, folder, m):
    path = os.path.join(folder, m.name + (".tile" if "@kern" in m.source else ".py"))
    write_file(path, m.source.encode())
    run = subprocess.run([tilec, "check", path, "-Wno-unused", "--error-format=json"],
                         capture_output=True, encoding="utf-8", errors="replace",
                         timeout=60)
    found = [json.loads(line) for line in run.stderr.splitlines() if line.startswith("{")]
    found = [d for d in found if d["severity"] in ("error", "warning")]
    if not found:
        return ["no error"], run.stderr
    first = found[0]
    bad = m.judge((first["line"], first["column"]), first["code"] + ": " + first["message"],
                  first.get("help") or "", [note["message"] for note in first["notes"]])
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
    is_refused = run.returncode in (1, 2, 3, 4) or "warning" in run.stderr
    bad = [] if is_refused else ["exit code %d" % run.returncode]
    return bad + m.judge(None, run.stderr, run.stderr), run.stderr


def answer_of_program(tilec, folder, m):
    """What a program in Python or C is told by the library beside TILEC."""
    library = os.path.join(os.path.dirname(tilec), "../runtime/libtilec.so")
    environment = {**os.environ, "TILEC_LIBRARY": library, "PYTHONDONTWRITEBYTECODE": "1",
                   "PYTHON": sys.executable,
                   "PYTHONPATH": os.path.join(ROOT, "runtime/python"),
                   "TILEC_CMAKE": os.path.join(ROOT, "cmake"),
                   "PATH": os.path.dirname(tilec) + os.pathsep + os.environ.get("PATH", "")}
    program = [sys.executable, m.name + ".py"]
    if m.command == "sh":
        program = ["sh", "-c", m.source]
        files, folder = os.listdir(folder), os.path.join(folder, "of " + m.name)
        os.mkdir(folder)
        for name in {"kernels.py", "eight.npy", "folder"}.intersection(files):
            os.symlink(os.path.join("..", name), os.path.join(folder, name))
    elif m.command == "c":
        program = [os.path.join(folder, m.name)]
        write_file(program[0] + ".c", (C_PROGRAM % m.source).encode())
        subprocess.run([os.environ.get("CC", "cc"), "-I" + os.path.join(ROOT, "compiler/include"),
                        "-I" + os.path.join(ROOT, "runtime/include"), program[0] + ".c", library,
                        "-Wl,-rpath," + os.path.dirname(library), "-o", program[0]], check=True)
    else:
        write_file(os.path.join(folder, m.name + ".py"), m.source.encode())
    run = subprocess.run(program, capture_output=True, encoding="utf-8", errors="replace",
                         timeout=60, cwd=folder, env=environment)
    last = run.stderr
    if m.command != "sh":
        last = last[max(last.rfind("\n  File"), 0):]
    return m.judge(None, last, last), run.stderr


def answer(tilec, folder, m):
    if m.command in ("c", "python", "sh"):
        return answer_of_program(tilec, folder, m)
    return (answer_of_command if m.command else answer_of_source)(tilec, folder, m)


def main():
    arguments = sys.argv[1:]
    kind = Unseen if arguments[0] == "--unseen" else Mistake
    tilec, *only = arguments[kind is Unseen:]
    tilec = os.path.abspath(tilec)
    mistakes = [m for m in read(kind) if not only or m.name in only]
    if not importlib.util.find_spec("numpy"):
        mistakes = [m for m in mistakes if m.command not in ("python", "sh") or "numpy" not in m.source]
        print("programs that need numpy are left out: it is not installed")
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        write_file(os.path.join(folder, "kernels.py"), KERNELS.encode())
        write_npy(os.path.join(folder, "eight.npy"))
        os.mkdir(os.path.join(folder, "folder"))
        answers = []
        with Progress(len(mistakes), "mistakes") as progress:
            for m, (bad, said) in zip(mistakes, pool.map(lambda m: answer(tilec, folder, m), mistakes)):
                answers.append((bad, said))
                progress.step(bool(bad) and not m.mark)
    counted = [(m, bad, said) for m, (bad, said) in zip(mistakes, answers)
               if not m.mark.startswith("no mistake")]
    surprises = [x for x in counted if bool(x[1]) != x[0].mark.startswith("unanswered")]
    for m, bad, said in counted if only else surprises:
        print(f"--- {m.name}: {'; '.join(bad) or 'good'}\n   {said.strip()}")
    good = sum(not bad for _, bad, _ in counted)
    print(f"{good} of {len(counted)} mistakes are answered at their place, by what is wrong and a way "
          f"out ({100 * good / len(counted):.1f} %)")
    return bool(surprises)


if __name__ == "__main__":
    sys.exit(main())
