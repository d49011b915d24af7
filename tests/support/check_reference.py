#!/usr/bin/env python3
"""check_reference.py TILEC SOURCE_DIR: the examples of the language reference give what the pages say.

Pages are compiler/command/reference/*.md (compiler/command/reference.def explains them).  Checked are:
every builtin, every public function of stdlib/ and every name of an entry is in an example; each
example's output; that codes of diagnostics exist; that docs/reference is what `tilec doc --pages` makes.
TILEC_BLESS=1 writes into the pages what the examples print, and docs/reference (build tilec again
in between)."""
import os
import re
import struct
import subprocess
import sys
import tempfile

SHORT = {"float32": "fp32", "float64": "fp64", "float16": "fp16", "bfloat16": "bf16", "int1": "i1",
         "float8e4nv": "fp8e4nv", "float8e5": "fp8e5", "float8e4b15": "fp8e4b15",
         **{f"{sign}int{n}": f"{sign or 'i'}{n}" for sign in ("", "u") for n in (8, 16, 32, 64)}}
NPY = {"fp32": ("<f4", "f"), "fp64": ("<f8", "d"), "i32": ("<i4", "i"), "i64": ("<i8", "q"),
       "u64": ("<u8", "Q"), "i1": ("|b1", "?")}


NUMBERS = {"__builtins__": {}, "inf": float("inf"), "nan": float("nan"), "True": True, "False": False}


class Checker:
    def __init__(self, tilec, source, work):
        self.tilec, self.source, self.work = os.path.abspath(tilec), source, work
        self.bless = os.environ.get("TILEC_BLESS") == "1"
        self.failed = self.examples = 0
        self.names = set()  # of entries

    def fail(self, where, text):
        self.failed += 1
        print(f"FAIL {where}: {text}")

    def run(self, *words):
        return subprocess.run([self.tilec, *words], cwd=self.work, capture_output=True, text=True,
                              timeout=60)

    # ---- expressions and their values ----
    def values(self, where, lines):
        """The lines of a block with the values that tilec computes."""
        expressions = [line.split(" -> ")[0].rstrip() for line in lines if line.strip()]
        code, arrays = [], []
        for number, text in enumerate(expressions):
            code += [f"    r{number} = {lift_lists(text, arrays)}"]
        loads = [f"    a{i} = {array.load()}" for i, array in enumerate(arrays)]
        params = [f"p{i}: *{array.stored}" for i, array in enumerate(arrays)]
        asked = [f'    static_print("@{i}", r{i})' for i in range(len(code))]
        out = self.compile(params, loads + code + asked, "check")
        types = dict(re.findall(r"static_print: @(\d+) (.*)", out.stderr))
        if len(types) != len(code):
            self.fail(where, "does not compile:\n" + out.stderr)
            return lines
        results = [Result(i, types[str(i)]) for i in range(len(code))]
        stores = [r.store() for r in results if r.dtype]
        params += [f"o{r.number}: *{r.dtype}" for r in results if r.dtype]
        words = ["--on=cpu"]
        for i, array in enumerate(arrays):
            array.write(os.path.join(self.work, f"p{i}.npy"))
            words += ["--arg", f"p{i}=@p{i}.npy"]
        for r in results:
            if r.dtype:
                shape = ",".join(map(str, r.shape or [1]))
                words += ["--arg", f"o{r.number}=zeros:{r.dtype}[{shape}]", f"--print=o{r.number}"]
        if stores:
            out = self.compile(params, loads + code + stores, "run", *words)
            if out.returncode:
                self.fail(where, out.stderr)
                return lines
        printed = dict(re.findall(r"^o(\d+): [^\n]*\n(.*?)(?=^o\d+: |\Z)", out.stdout, re.M | re.S))
        width = max(map(len, expressions))
        return [f"{e:{width}} -> {r.text(printed)}" for e, r in zip(expressions, results)]

    def compile(self, params, body, command, *words):
        with open(os.path.join(self.work, "values.tile"), "w") as f:
            f.write("@kernel(grid=(1,))\ndef values(" + ", ".join(params) + "):\n" +
                    "\n".join(body) + "\n")
        return self.run(command, "values.tile", *words)

    # ---- files and commands ----
    def console(self, where, lines, source):
        with open(os.path.join(self.work, "example.tile"), "w") as f:
            f.write(source)
        printed = []
        for line in lines:
            if not line.startswith("$ tilec "):
                continue
            printed.append(line)
            words = re.findall(r"'[^']*'|\S+", line[len("$ tilec "):])
            words = [w.strip("'") for w in words]
            out = self.run(*words, *(["--on=cpu"] if words[0] == "run" and "--on" not in line else []))
            text = out.stdout + (out.stderr if out.returncode else "")
            printed += text.splitlines()
        if not printed:
            self.fail(where, "a console block without a command")
        return printed

    # ---- pages ----
    def page(self, path):
        lines = open(path).read().split("\n")
        out, entry, language, block, source, code = [], None, None, [], "", ""
        for number, line in enumerate(lines):
            where = f"{os.path.basename(path)}:{number + 1}: {entry}"
            if language is None:
                out.append(line)
                if line.startswith("## "):
                    self.entry(path, entry, code)
                    entry, code = line[3:], ""
                elif line.startswith("```"):
                    language, block = line[3:], []
                continue
            if line != "```":
                block.append(line)
                continue
            code += "\n".join(block) + "\n"
            if language == "values":
                new = self.values(where, block)
            elif language == "console":
                new = self.console(where, block, source)
            else:
                new = block
                source = "\n".join(block) + "\n"
            self.examples += language in ("values", "console")
            if new != block and not self.bless:
                self.fail(where, "expected\n" + "\n".join(block) + "\nfound\n" + "\n".join(new))
            out += new + [line]
            language = None
        self.entry(path, entry, code)
        text = "\n".join(out)
        if self.bless and text != "\n".join(lines):
            with open(path, "w") as f:
                f.write(text)
        for diagnostic in set(re.findall(r"\b[EWRN]\d{4}\b", text)):
            if not os.path.exists(f"{self.source}/compiler/base/explain/{diagnostic}.md"):
                self.fail(path, f"there is no code {diagnostic}")

    def entry(self, path, title, code):
        if title is None:
            return
        if not code:
            self.fail(os.path.basename(path), f"'{title}' has no example")
        for name in re.split(", ", title):
            word = (rf"\b{name}\b" if re.fullmatch(r"\w+", name) else
                    r"[\w)\]]\[" if name == "[]" else re.escape(name))
            if not re.search(word, code):
                self.fail(os.path.basename(path), f"no example of '{name}'")
            self.names.add(name)

    def library(self):
        """Every public function of the library is documented, by its name or that of its builtin."""
        folder = f"{self.source}/stdlib"
        builtins = open(f"{self.source}/compiler/sema/builtins.def").read()
        for file in sorted(os.listdir(folder)):
            for name in re.findall(r"^def ([a-z]\w*)", open(f"{folder}/{file}").read(), re.M):
                if name not in self.names and f'"{name}"' not in builtins:
                    self.fail(file, f"'{name}' has no entry")

    def generated(self):
        folder = f"{self.source}/docs/reference"
        made = folder if self.bless else f"{self.work}/reference"
        out = self.run("doc", "--pages", made)
        if out.returncode:
            self.fail("tilec doc --pages", out.stderr)
        elif not self.bless:
            out = subprocess.run(["diff", "-ru", folder, made], capture_output=True, text=True)
            if out.returncode:
                self.fail("docs/reference", "TILEC_BLESS=1 makes it anew:\n" + out.stdout[:2000])


class Array:
    def __init__(self, rows, dtype):
        self.is_matrix = isinstance(rows[0], list)
        flat = sum(rows, []) if self.is_matrix else rows
        kind = ("i1" if isinstance(flat[0], bool) else
                "fp32" if any(isinstance(v, float) for v in flat) else "i32")
        self.dtype = dtype or kind
        self.stored = (self.dtype if self.dtype in NPY else "i64" if kind == "i32" else kind)
        self.flat, self.rows, self.columns = flat, len(rows), len(flat) // len(rows)

    def load(self):
        at = (f"arange(0, {self.rows})[:, None] * {self.columns} + arange(0, {self.columns})[None, :]"
              if self.is_matrix else f"arange(0, {len(self.flat)})")
        cast = "" if self.stored == self.dtype else f".to({self.dtype})"
        return f"load(p{self.number} + {at}){cast}"

    def write(self, path):
        descr, letter = NPY[self.stored]
        shape = f"({self.rows}, {self.columns})" if self.is_matrix else f"({len(self.flat)},)"
        head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
        head += " " * (-(len(head) + 11) % 64) + "\n"
        with open(path, "wb") as f:
            f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
            f.write(struct.pack(f"<{len(self.flat)}{letter}", *self.flat))


def lift_lists(text, arrays):
    """The expression with a name for each list of numbers, which stands for a tile."""
    out, at = "", 0
    while at < len(text):
        is_list = text[at] == "[" and not re.search(r"[\w\])]$", out)
        if not is_list:
            out += text[at]
            at += 1
            continue
        depth, end = 0, at
        while end == at or depth:
            depth += {"[": 1, "]": -1}.get(text[end], 0)
            end += 1
        dtype = re.match(r":(\w+)", text[end:])
        array = Array(eval(text[at:end], NUMBERS), dtype and dtype[1])
        array.number = len(arrays)
        arrays.append(array)
        out += f"a{array.number}"
        at = end + (len(dtype[0]) if dtype else 0)
    return out


class Result:
    """What static_print says of it: "float32[constexpr[4]]", "constexpr int 4", "type fp32"."""

    def __init__(self, number, said):
        self.number, self.dtype, self.shape, self.said = number, None, [], said
        tile = re.fullmatch(r"(\w+)\[(.*)\]", said)
        if tile and tile[1] in SHORT:
            self.dtype = SHORT[tile[1]]
            self.shape = [int(n) for n in re.findall(r"constexpr\[(\d+)\]", tile[2])]

    def store(self):
        n, s = self.number, self.shape
        at = {0: "", 1: f" + arange(0, {(s + [1])[0]})",
              2: f" + arange(0, {(s + [1])[0]})[:, None] * {s[-1] if s else 0}"
                 f" + arange(0, {s[-1] if s else 1})[None, :]"}.get(len(s))
        if at is None:
            total = 1
            for d in s:
                total *= d
            return f"    store(o{n} + arange(0, {total}), r{n}.reshape({total}))"
        return f"    store(o{n}{at}, r{n})"

    def text(self, printed):
        if not self.dtype:
            return re.sub(r"^(constexpr )?(type|int|float|bool|str|i1|i32|fp32) ", "", self.said)
        value = re.sub(r"\[ ", "[", " ".join(printed[str(self.number)].split()))
        value = re.sub(r" \]", "]", value)
        if not self.shape:
            value = value.strip("[]")
        usual = self.dtype in ("fp32", "i32", "i1")
        return value if usual else f"{self.dtype} {value}"


def main():
    with tempfile.TemporaryDirectory() as work:
        c = Checker(sys.argv[1], os.path.abspath(sys.argv[2]), work)
        folder = f"{c.source}/compiler/command/reference"
        for file in sorted(os.listdir(folder)):
            c.page(f"{folder}/{file}")
        c.library()
        c.generated()
        print(f"{c.examples} examples, {c.failed} failures")
        return c.failed != 0


sys.exit(main())
