"""One token of a kernel deleted, said twice, exchanged with the next or replaced by another of the same
kernel: mutations.py [--count N] [--seed N] [--build] [--show] TILEC FILE.. goes through N such files (a
.tile file, a Python file or a folder of them each) and fails where tilec crashes, hangs or reports a bug
of its own, or where fewer than 95 % of the errors that come first are within a line of the damage.
--build has what check takes of a .tile file built as well; --show writes the errors that are far away.
A file that crashes it is copied to the working folder."""
import argparse
import collections
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import tokenize

from progress import Progress

LEAST_NEAR = 0.95
LIMIT_S = 20
BUG = 70
WORDS = (tokenize.NAME, tokenize.NUMBER, tokenize.STRING, tokenize.OP)
DECORATOR = re.compile(r"@(triton\.|tl\.)?(jit|kernel)\b")
FUNCTION = re.compile(r"(async\s+)?def\s")


class Source:
    """A file, and the tokens of each of its kernels and kernels' functions."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            self.text = f.read()
        self.path, self.lines = path, self.text.splitlines(keepends=True)
        starts, at = [0], 0
        for line in self.lines:
            at += len(line)
            starts.append(at)
        tokens = [t for t in tokenize.generate_tokens(io.StringIO(self.text).readline)
                  if t.type in WORDS]
        place = [(starts[t.start[0] - 1] + t.start[1], starts[t.end[0] - 1] + t.end[1]) for t in tokens]
        self.kernels = []
        for first, last in self.kernel_lines():
            inside = [(*place[i], t.start[0], t.string) for i, t in enumerate(tokens)
                      if first <= t.start[0] <= last]
            if len(inside) > 2:
                self.kernels.append(inside)

    def kernel_lines(self):
        """First and last line of each function behind a decorator of a kernel, counted from 1."""
        for i, line in enumerate(self.lines):
            if not DECORATOR.match(line.strip()):
                continue
            indent = len(line) - len(line.lstrip())
            first = i + 1
            while first < len(self.lines) and not FUNCTION.match(self.lines[first].strip()):
                first += 1
            last, depth = first + 1, self.lines[first].count("(") - self.lines[first].count(")") \
                if first < len(self.lines) else 0
            while last < len(self.lines):
                here = self.lines[last]
                if depth <= 0 and here.strip() and len(here) - len(here.lstrip()) <= indent:
                    break
                depth += here.count("(") - here.count(")")
                last += 1
            yield first + 1, last


def mutate(source, draw):
    """(text, first damaged line, last one, what was done)"""
    tokens = draw.choice(source.kernels)
    i = draw.randrange(len(tokens) - 1)
    begin, end, line, word = tokens[i]
    other = draw.choice(tokens)[3]
    text, last = source.text, line
    kind = draw.choice(("delete", "insert", "swap", "replace"))
    if kind == "delete":
        new = text[:begin] + text[end:]
    elif kind == "insert":
        new = text[:end] + " " + other + " " + text[end:]
    elif kind == "replace":
        new = text[:begin] + other + text[end:]
    else:
        begin2, end2, last, other = tokens[i + 1]
        new = text[:begin] + other + text[end:begin2] + word + text[end2:]
    return new, line, last, "%s %r %r" % (kind, word, other)


def run(tilec, command, path, folder):
    """(exit status, records of errors); the status is None where it hung.  folder is where the file's
    imports are looked for, and the folder above."""
    try:
        p = subprocess.run([tilec, command, path, "--error-format=json", "-I", folder, "-I",
                            os.path.dirname(folder)], capture_output=True, text=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return None, []
    records = []
    for line in p.stderr.splitlines():
        try:
            records.append(json.loads(line))
        except ValueError:
            pass
    return p.returncode, [r for r in records if r.get("severity") == "error"]


def is_crash(status):
    return status is None or status < 0 or status == BUG


def files_of(paths):
    for path in paths:
        if os.path.isdir(path):
            for folder, _, names in sorted(os.walk(path)):
                yield from (os.path.join(folder, n) for n in sorted(names)
                            if n.endswith((".tile", ".py")))
        else:
            yield path


def sources_of(tilec, paths):
    """Those that are right as they are."""
    for path in files_of(paths):
        source = Source(path)
        folder = os.path.dirname(os.path.abspath(path))
        if source.kernels and run(tilec, "check", path, folder)[0] == 0:
            yield source
        else:
            print("left out: %s" % path)


class Count:
    def __init__(self):
        self.results, self.far, self.crashes = collections.Counter(), [], []


def one(options, source, draw, scratch, count):
    text, first, last, what = mutate(source, draw)
    if text == source.text:
        count.results["same"] += 1
        return False
    path = os.path.join(scratch, os.path.basename(source.path))
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    folder = os.path.dirname(os.path.abspath(source.path))
    status, errors = run(options.tilec, "check", path, folder)
    if status == 0 and options.build and source.path.endswith(".tile"):
        count.results["built"] += 1
        status, errors = run(options.tilec, "build", path, folder)
        if not is_crash(status):
            status = 0
    line = errors[0].get("line", 0) if errors else 0
    if is_crash(status):
        count.results["crash"] += 1
        count.crashes.append("%s:%d: %s: exit %s" % (source.path, first, what, status))
        shutil.copy(path, "crash-%d-%s" % (len(count.crashes), os.path.basename(path)))
    elif status == 0:
        count.results["taken"] += 1
    elif errors and errors[0].get("file") == path and first - 1 <= line <= last + 1:
        count.results["near"] += 1
    else:
        count.results["far"] += 1
        count.far.append("%s:%d: %s: line %d: %s" % (source.path, first, what, line,
                                                     errors[0]["message"] if errors else status))
    if os.path.exists(path):
        os.remove(path)
    return is_crash(status)


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    a.add_argument("--count", type=int, default=1000)
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--build", action="store_true")
    a.add_argument("--show", action="store_true")
    a.add_argument("tilec")
    a.add_argument("files", nargs="+")
    options = a.parse_args()
    draw, count = random.Random(options.seed), Count()
    sources = list(sources_of(options.tilec, options.files))
    with tempfile.TemporaryDirectory() as scratch, Progress(options.count, "mutations") as p:
        for _ in range(options.count):
            p.step(failed=one(options, draw.choice(sources), draw, scratch, count))
    refused = count.results["near"] + count.results["far"]
    share = count.results["near"] / max(1, refused)
    for text in count.crashes + (count.far if options.show else []):
        print(text)
    print("%d mutations of %d files: %d taken, %d refused (%.1f %% within a line), %d crashes%s" %
          (options.count, len(sources), count.results["taken"], refused, 100 * share, len(count.crashes),
           ", %d built" % count.results["built"] if options.build else ""))
    return bool(count.crashes) or share < LEAST_NEAR


if __name__ == "__main__":
    sys.exit(main())
