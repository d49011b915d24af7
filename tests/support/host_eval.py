"""Compares the compile-time evaluator with CPython: host_eval.py HOST_EVAL FOLDER [--count N]
[--seed N] [--show].

Snippets are those of FOLDER/*.snippets, each after a line "### NAME", and random ones.  Each binds
`result`.  The evaluator may say that it does not follow a snippet (poison); a value must be
CPython's.  Snippets of the folder must not be poison, unless their name begins with "poison".
Where CPython raises, the evaluator must give poison."""

import argparse
import contextlib
import glob
import io
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile


def hand_written(folder):
    for path in sorted(glob.glob(os.path.join(folder, "*.snippets"))):
        stem = os.path.splitext(os.path.basename(path))[0]
        for part in ("\n" + open(path, encoding="utf-8").read()).split("\n### ")[1:]:
            name, _, text = part.partition("\n")
            yield f"{stem}.{name.strip()}", text + "\n"


# ---- random snippets ----
class Generator:
    """Functions over variables of known kinds: i integers, f floats, s strings, l lists of
    integers, d dicts from strings to integers, t sets of integers.  In the templates <i> is an
    expression of that kind, <I> a variable, <a|b> one of these, <n> a literal, <b> a condition."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.lines = []
        self.depth = 0
        self.in_function = False

    def pick(self, *choices):
        return self.r.choice(choices)

    def put(self, text):
        self.lines.append("    " * self.depth + text)

    def fill(self, template, n=0):
        def one(m):
            what = m.group(1)
            if "|" in what:
                return self.pick(*what.split("|"))
            if what.isupper():
                return what.lower() + str(self.r.randrange(2))
            return self.value(what, n + 1)
        text = re.sub(r"<([A-Za-z]|[^<> ]*\|[^<> ]*)>", one, template)
        return text.replace("SHL", "<<").replace("SHR", ">>").replace("SPC", " ")

    def value(self, kind, n=0):
        simple, full = VALUES[kind]
        rest = n > 2 or self.r.random() < 0.3
        return self.fill(self.r.choice(simple if rest else full), n)

    def simple(self):
        self.put(self.fill(self.r.choice(STATEMENTS)))

    def list_(self):
        return self.value("l")

    def bool_(self, n=0):
        return self.value("b", n)

    def block(self, left):
        self.depth += 1
        for _ in range(self.r.randrange(1, 3)):
            self.statement(left - 1)
        self.depth -= 1

    def statement(self, left=3):
        kind = self.r.random()
        if left <= 0 or kind < 0.62:
            self.simple()
        elif kind < 0.76:
            self.put(f"if {self.bool_()}:")
            self.block(left)
            if self.r.random() < 0.5:
                self.put("else:")
                self.block(left)
        elif kind < 0.86:
            over = self.pick("range(3)", "<l>[:5]", "range(5, 0, -2)", "<L>", "enumerate(<l>[:3])")
            target = "i0, i1" if over.startswith("enum") else "<I>"
            self.put(self.fill(f"for {target} in {over}:"))
            self.block(left)
            if self.r.random() < 0.4:
                self.put(f"    if {self.bool_(1)}:")
                self.put(f"        {self.pick('break', 'continue')}")
        elif kind < 0.97:
            self.put("try:")
            self.block(left)
            if self.r.random() < 0.4:
                self.put(f"    raise {self.pick('ValueError(1)', 'KeyError', 'Own()')}")
            name = self.pick("Exception", "KeyError", "(IndexError, ValueError)", "LookupError",
                             "ZeroDivisionError", "ArithmeticError", "TypeError", "Own")
            self.put(f"except {name}:")
            self.block(left)
            if self.r.random() < 0.4:
                self.put("except Exception:")
                self.block(left)
            if self.r.random() < 0.3:
                self.put("else:")
                self.block(left)
            if self.r.random() < 0.3:
                self.put("finally:")
                self.block(left)
        elif self.in_function:
            self.put(f"if {self.bool_(1)}:")
            self.put(f"    return {self.list_()}")
        else:
            self.simple()

    def snippet(self):
        self.lines = PRELUDE.strip("\n").split("\n")
        self.in_function = self.r.random() < 0.6
        state = "i0, i1, f0, f1, s0, s1 = 3, 10, 0.5, 4.0, 'a', 'key'"
        state2 = "l0, l1 = [3, 1, 2], [5, 5, -1]; d0, d1 = {'a': 1, 'b': 2}, {'N': 64}"
        state3 = "t0, t1 = {1, 2}, {2, 3}; box = Box(7)"
        if self.in_function:
            self.put("def f():")
            self.depth = 1
        for line in (state, state2, state3):
            self.put(line)
        for _ in range(self.r.randrange(2, 9)):
            guard = not self.in_function or self.r.random() < 0.8
            if guard:
                self.put("try:")
                self.depth += 1
            self.statement()
            if guard:
                self.depth -= 1
                caught = self.pick("Exception", "Exception", "LookupError")
                self.put(f"except {caught if self.in_function else 'Exception'} as e:")
                self.put("    log.append(-1)")
        value = ("(i0, i1, f0, f1, s0, s1, l0, l1, d0, d1, sorted(t0), sorted(t1), box.value, "
                 "total, log)")
        self.put(f"return {value}" if self.in_function else f"result = {value}")
        self.depth = 0
        if self.in_function:
            self.put("result = f()")
        return "\n".join(self.lines) + "\n"


VALUES = {
    "n": (["0", "1", "2", "3", "5", "7", "8", "16", "100", "-1", "-3", "255", "4096"],
          ["2147483648", "-1099511627776", "64"]),
    "i": (["<n>", "<I>", "<I>"], [
        "(<i> <+|-|*|//|%|&|^> <i>)", "(<i> | <i>)", "(<i> SHL <1|3|2>)", "(<i> SHR <1|3|2>)",
        "<min|max>(<i>, <i>)",
        "abs(<i>)", "(-<i>)", "(~<i>)", "int(<f>)", "(<i> if <b> else <i>)", "len(<q>)", "sum(<l>)",
        "<l>[<0|-1|1|2>]", "<l>[<i>]", "<D>[<s>]", "<D>.get(<s>, <i>)", "<D>.pop(<s>, <i>)",
        "<L>.pop()", "<L>.pop(0)", "<L>.pop(<i>)", "<L>.index(<i>)", "<L>.count(<i>)",
        "<D>.setdefault(<s>, <i>)", "helper(<i>, <i>)", "helper(b=<i>, a=<i>)", "len(<t>)",
        "<min|max|sum>(<t>)", "(lambda x, y=<i>: x - y)(<i>)", "max(<l>, key=lambda x: -x % 7)",
        "sum(x * <I> for x in <l> if x > <i>)", "next(iter(<l>), <i>)", "round(<f>)",
        "(<I> := <i>)", "divmod(<i>, <i>)[<0|1>]", "sum(gen(3, <i>))", "partial(helper, <i>)(<i>)",
        "len(<D>.items())", "int(<s>)", "int(<s>, <16|0|36>)", "ord(<s>)", "len(<s>)", "<s>.rfind(<s>)",
        "<s>.find(<s>, <i>)", "max(<l>, default=<i>)", "<s>.find(<s>)", "<s>.count('a')",
        "reduce(lambda x, y: x * 2 + y, <l>, <i>)"]),
    "f": (["0.5", "1.5", "-2.25", "1e10", "0.1", "<F>", "<F>"], [
        "(<f> <+|-|*|/|//|%> <f>)", "(<f> <+|-|*|/> <i>)", "abs(<f>)", "float(<i>)", "(<i> / <i>)",
        "round(<f>, <0|1|2>)", "max(<f>, <f>)", "(<f> ** 2)", "math.sqrt(<f>)", "(<i> * 0.25)"]),
    "b": (["<I> < <n>", "<I> == <I>"], [
        "(<i> <==|!=> <i>)", "(<i> < <i>)", "(<i> >= <i>)", "(<i> < <i> <= <i>)", "(<b> and <b>)",
        "(<b> or <b>)", "(not <b>)", "(<i> in <l>)", "(<i> not in <t>)", "(<s> in <D>)",
        "(<l> == <L>)", "(<L> is <L>)", "bool(<L>)", "(<f> < <i>)", "<any|all>(<l>)",
        "isinstance(<i0|f0|s0|l0|d0|t0|None|True|box>, <int|float|str|list|dict|set|bool|Box>)",
        "isinstance(<i0|l0|(1,)>, (int, tuple))", "(<t> <= <t>)", "(<D> == <D>)", "(<l> < <l>)",
        "any(x == <i> for x in <l>)", "<s>.startswith('a')", "(<s> in <s>)", "(<t> == <t>)"]),
    "s": (["'a'", "'b'", "'key'", "'N'", "''", "'12'", "'é日'", "'\\u200b😀'", "<S>", "<S>"], [
        "(<s> + <s>)", "str(<i>)", "f'{<I>}'", "f'{<I>:<d|4d|05d|x|+d>}'", "f'{<I>:>5}|{<I>:^6}'",
        "f'{<F>:<.2f|8.3f|.1e|g>}'", "<s>.upper()", "<s>.replace('a', 'bb')", "<s>[:<i>]",
        "<s>[::-1]", "'-'.join([str(x) for x in <l>])", "(<s> * 2)", "str(<l>)", "repr(<s>)",
        "'%d,%s' % (<i>, <s>)", "'{}|{:>3}'.format(<i>, <s>)", "str(<f>)", "str(<D>)",
        "<s>.strip('a')", "f'{<S>!r:>6}'", "<s>.split('a')[0]", "<s>.removeprefix('k')",
        "<s>[<i>]", "<s>[<i>:<i>]", "<s>[::<2|-2|-1>]", "<s>.center(<i> % 9, '<é|*>')",
        "<s>.ljust(<n>)", "<s>.zfill(<3|6>)", "''.join(sorted(<s>))", "<s>.partition(<s>)[<0|1|2>]",
        "<s>.replace(<s>, <s>, <n>)", "<s>.title()", "f'{<S>:<é^5|日^6|.1|05|5.1>}'", "ascii(<s>)",
        "f'{<I>:<#06x|_|,|x=7|+#b|SPCd|#x|+6d>}'", "f'{<F>:<,.1f|SPC.2e|#g|%|+|012.3f>}'",
        "<s>.rsplit(<s>, 1)[-1]", "'%<05d|+x|#o|e|SPCd>' % <i>", "max(<s>, <s>)", "'|'.join(<s>)"]),
    "l": (["<L>", "<L>", "[<n>, <n>]"], [
        "[<i>, <i>]", "(<l> + <l>)", "<l>[<i>:]", "<l>[:<i>]", "<l>[<i>:<i>]", "<l>[::<-1|2|-2>]",
        "sorted(<l>)", "sorted(<l>, reverse=True)", "sorted(<l>, key=lambda x: (x % 3, x))",
        "list(reversed(<l>))", "[x + <i> for x in <l>]", "[x for x in <l> if x > <i>]",
        "list(range(<3|5|0>))", "list(range(<1|7>, <9|2>, <2|-1>))",
        "list(map(lambda x: x * 2, <l>))", "list(filter(lambda x: x % 2, <l>))",
        "[a + b for a, b in zip(<l>, <l>)]", "[i * x for i, x in enumerate(<l>)]",
        "list(<D>.values())", "sorted(<t>)", "(<l> * 2)[:6]", "[*<l>, <i>]", "<l>.copy()",
        "list(gen(<3|4>, <i>))", "[x for y in (<l>, <l>) for x in y][:8]", "list(<L>)",
        "[x for x, in zip(<l>)]", "[k + j for k in <l>[:2] for j in <l>[:2]]"]),
    "t": (["<T>"], ["set(<l>)", "{<i>, <i>}", "(<t> <&|-|^> <t>)", "(<t> | <t>)", "<t>.union(<l>)",
                    "{x % 5 for x in <l>}", "frozenset(<l>)", "<T>.copy()",
                    "<t>.intersection(<l>)"]),
    "q": (["<L>", "<S>", "<D>"], ["<l>", "<t>", "tuple(<l>)", "<s>", "range(<i>)"]),
}

STATEMENTS = [
    "<I> = <i>", "<I> <+|-|*|//|%>= <i>", "<F> = <f>", "<S> = <s>", "<L> = <l>", "<L>.append(<i>)",
    "<L> += <l>", "<L>.insert(<i>, <i>)", "<L>.extend(<l>)", "<L>.remove(<i>)", "<L>.reverse()",
    "<L>.sort()", "<L>.sort(key=lambda x: -x)", "<L>[<i>] = <i>", "<L>[<0|1|-1>] = <i>",
    "<L>[<0|1>:<1|2>] = <l>", "<L>[:] = <l>", "del <L>[<0|-1|1>]", "del <L>[1:]", "del <L>[<i>]",
    "<L>.clear()", "<L> = <L>", "<D>[<s>] = <i>", "<D>.update({<s>: <i>})", "<D> = <D>",
    "del <D>[<s>]", "<D> = dict(<D>, k=<i>)", "<D> |= {'z': <i>}", "<D>[<s>] += <i>",
    "<D> = {k: v + 1 for k, v in <D>.items()}", "<T>.add(<i>)", "<T>.discard(<i>)", "<T> |= <t>",
    "<T> -= <t>", "<T>.remove(<i>)", "<T> = <t>", "<I>, <I> = <i>, <i>", "i0, *l0 = <l>",
    "change(<L>, <i>)", "count()", "count(<i>)", "box.value = box.value + <i>",
    "box.value -= <i>", "i1 = box.grow(<i>)", "assert <b>", "outer()", "<L>[<0|1>] <+|-|*>= <i>",
    "it = iter(<L>); <I> = next(it); <I> = next(it)", "<L> *= 2", "log.append(<I>)",
    "(<I>, <I>), i0 = (<i>, <i>), <i>",
]

PRELUDE = """
import math
from functools import partial, reduce
total = 0
log = []
class Own(Exception):
    pass
class Box:
    size = 4
    def __init__(self, value):
        self.value = value
    def grow(self, by):
        self.value += by
        return self.value * self.size
def helper(a, b=2, *rest, **more):
    if a > b:
        return a - b
    return a + b
def count(step=1, seen=[]):
    global total
    total += step
    seen.append(total)
    return len(seen)
def change(items, value):
    items.append(value)
    log.append(len(items))
def outer():
    n = 0
    def inner(by):
        nonlocal n
        n += by
        return n
    inner(2)
    inner(3)
    log.append(n)
def gen(n, start):
    x = start
    for i in range(n):
        yield x
        x = x + i
"""


def generated(seed):
    g = Generator(seed)
    while True:
        text = g.snippet()
        try:
            compile(text, "snippet", "exec")
            return text
        except SyntaxError:  # := where Python does not take it
            pass


class TooLong(BaseException):
    pass


def stop(*_):
    raise TooLong


def run_python(text):
    scope = {"__name__": "tilec"}
    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, 1.0)  # of processor time
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(text, "snippet", "exec"), scope)
        return "value", repr(scope["result"])
    except (RecursionError, MemoryError):
        return "skip", ""
    except Exception as e:
        return "raise", f"{type(e).__name__}: {e}"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def by_python(text):
    try:
        return run_python(text)
    except TooLong:  # which may come as late as in its last line
        return "skip", ""


def by_tilec(program, snippets):
    with tempfile.NamedTemporaryFile("w", suffix=".snippets", encoding="utf-8") as f:
        for name, text in snippets:
            f.write(f"### {name}\n{text}")
        f.flush()
        out = subprocess.run([program, f.name], capture_output=True, encoding="utf-8",
                             errors="replace", timeout=300)
    if out.returncode:
        sys.exit(f"{program} ended with {out.returncode}\n{out.stderr[-2000:]}")
    answers = {}
    for line in out.stdout.split("\n"):
        parts = line.split(" ", 2)
        if len(parts) == 3:
            answers[parts[0]] = (parts[1], parts[2])
    return answers


def main():
    p = argparse.ArgumentParser()
    p.add_argument("program")
    p.add_argument("folder")
    p.add_argument("--count", type=int, default=1500)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--show", action="store_true", help="why snippets are poison")
    a = p.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    snippets = list(hand_written(a.folder))
    own = len(snippets)
    for i in range(a.count):
        snippets.append((f"random{a.seed + i}", generated(a.seed + i)))
    answers = by_tilec(a.program, snippets)
    counts = {"compared": 0, "different": 0, "poison": 0, "raise": 0, "missing": 0}
    for at, (name, text) in enumerate(snippets):
        kind, value = by_python(text)
        mine, mine_value = answers.get(name, ("missing", ""))
        if kind == "skip" or (mine == "poison" and kind == "raise"):
            counts["raise"] += 1
        elif mine == "value" and (kind, value) == (mine, mine_value):
            counts["compared"] += 1
        elif mine == "poison" and (at >= own or ".poison" in name):
            counts["poison"] += 1
            if a.show:
                print(f"{name}: {mine_value}")
        else:
            counts["different" if mine == "value" else "missing"] += 1
            print(f"---- {name}\n{text}     CPython: {kind} {value}")
            print(f"       here: {mine} {mine_value}")
    print(f"{own} written and {a.count} random snippets (seed {a.seed}): {counts['compared']} "
          f"values equal, {counts['different']} different, {counts['poison']} poison, {counts['raise']} "
          f"raise in CPython and are poison, {counts['missing']} written ones not followed")
    sys.exit(1 if counts["different"] or counts["missing"] or own + a.count < 400 else 0)


main()
