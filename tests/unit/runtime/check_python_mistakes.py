"""Mistakes of users of Triton's Python interface, on the CPU executor:
check_python_mistakes.py FOLDER_OF_TILEC LIBRARY [NAME..] goes through python_mistakes.txt beside it; with
NAMEs it shows what these are answered with.  77: no numpy here; those that need torch are left out where it
is not installed.

    === name
    > words | words     all are in the answer; "a or b": one of them
    ! fine              no mistake: it must run
    ! silent            no mistake: it must run without a warning
    ! unanswered: why   counted; an error once it is answered
    program             after HEAD

An answer is the exception's text.  It names the line of the program, or Python does: the innermost frame of
the traceback outside of the binding is the program's.  None is of ctypes or a bare internal error, nor shows
a line that the program does not have."""
import os
import re
import runpy
import sys
import tempfile
import traceback
import warnings

FOLDER = os.path.abspath(sys.argv[1])
sys.path.insert(0, FOLDER)
os.environ["TILEC_LIBRARY"] = sys.argv[2]
try:
    import numpy  # noqa: F401
except ImportError:
    print("no numpy: skipped")
    sys.exit(77)
import tilec.triton

tilec.triton.install()
HEAD = """import numpy as np
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

X, Y = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
SCALE = tl.constexpr(3)
PLAIN = 3
TABLE = np.zeros(4)


@triton.jit
def helper(v):
    return v * 2


@triton.jit
def copy(x, y, n, BLOCK: tl.constexpr = 16):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, i < n), i < n)


@triton.jit
def needs_block(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, i < n), i < n)


@triton.jit
def sums(x, out, cols, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    v = tl.load(x + tl.program_id(0) * cols + c, mask=c < cols, other=0.0)
    tl.store(out + tl.program_id(0), tl.sum(v, axis=0))


@triton.jit
def sums_unmasked(x, out, cols, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    tl.store(out, tl.sum(tl.load(x + c, mask=c < cols), axis=0))


@triton.jit
def strided(x, out, cols, across, down, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    v = tl.load(x + tl.program_id(0) * across + c * down, mask=c < cols, other=0.0)
    tl.store(out + tl.program_id(0), tl.sum(v, axis=0))


@triton.jit
def added(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out, tl.load(out) + tl.sum(tl.load(x + i, i < n, other=0.0), axis=0))


@triton.jit
def softmax(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n, other=0.0)
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + i, e / tl.sum(e, axis=0), i < n)


@triton.jit
def shifted(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i + 1, tl.load(x + i, i < n), i < n)


@triton.autotune(configs=[triton.Config({"BLOCK": 16})], key=["n"])
@triton.jit
def tuned(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, i < n), i < n)


class Interface:
    def __init__(self, protocol, address):
        setattr(self, protocol, {"data": (address, False), "typestr": "<f4", "shape": (16,), "version": 3})


"""
TORCH = "import torch\nT = torch.zeros(64)\n"
LEAST = 0.97                                  # of the mistakes


class Mistake:
    def __init__(self, text):
        self.name, *lines = text.rstrip("\n").split("\n")
        self.words = next((x[2:].split(" | ") for x in lines if x.startswith("> ")), [])
        self.mark = next((x[2:] for x in lines if x.startswith("! ")), "")
        body = "\n".join(x for x in lines if x[:2] not in ("> ", "! ")) + "\n"
        self.needs_torch = bool(re.search(r"\btorch\b|(?<![.\w])T\b", body))
        self.source = HEAD + (TORCH if self.needs_torch else "") + body

    def answer(self, folder):
        """(what is wrong with the answer, the answer)"""
        path = os.path.join(folder, self.name + ".py")
        with open(path, "w") as f:
            f.write(self.source)
        try:
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                runpy.run_path(path)
        except BaseException as e:
            said = "%s: %s" % (type(e).__name__, e)
            return self.judged(said, e, path), said
        said = "; ".join(str(w.message) for w in warned)
        if self.mark == "silent":
            return ["warned"] if said else [], "no error; warned: " + said
        bad = [] if self.mark == "fine" else self.missing(said) or ([] if said else ["accepted"])
        return bad, "no error; warned: " + said

    def missing(self, said):
        said = said.lower()
        return ["'%s' is not said" % w for w in self.words
                if not any(x.lower() in said for x in w.split(" or "))]

    def judged(self, said, error, path):
        bad = ["not fine"] if self.mark in ("fine", "silent") else self.missing(said)
        frames = [f.filename for f in traceback.extract_tb(error.__traceback__)]
        if path not in frames and path not in said:
            bad.append("no place")
        if re.search(r"ctypes|ArgumentError|<(launcher|grid|string)", said):
            bad.append("shows how it is done")
        lines = [""] + self.source.split("\n")
        shown = re.findall(r"^%s:(\d+):\d+: .*\n +\d+ \| (.*)" % re.escape(path), said, re.MULTILINE)
        if any(lines[int(n):int(n) + 1] != [text] for n, text in shown):
            bad.append("shows a line that the program does not have")
        return bad


def main():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "python_mistakes.txt")) as f:
        mistakes = [Mistake(t) for t in f.read().split("\n=== ")[1:]]
    try:
        import torch  # noqa: F401
    except ImportError:
        mistakes = [m for m in mistakes if not m.needs_torch]
        print("without torch")
    only = sys.argv[3:]
    good, surprises = 0, 0
    mistakes = [m for m in mistakes if not only or m.name in only]
    with tempfile.TemporaryDirectory() as folder:
        for m in mistakes:
            bad, said = m.answer(folder)
            good += not bad
            surprise = bool(bad) != m.mark.startswith("unanswered")
            surprises += surprise
            if only or surprise:
                print("--- %s: %s\n   %s" % (m.name, "; ".join(bad) or "good", said))
    print("%d of %d mistakes are answered (%.1f %%)" % (good, len(mistakes),
                                                       100 * good / len(mistakes)))
    return bool(surprises) or good < LEAST * len(mistakes)


if __name__ == "__main__":
    sys.exit(main())
