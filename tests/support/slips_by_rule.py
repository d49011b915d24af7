"""Slips that compile, made by rule: slips_by_rule.py TILEC [--all | KERNEL..].

Right kernels of the lessons and examples are changed in one place each: a mask dropped, an axis or a
size exchanged, a factor forgotten, a loop that ends early ..  `tilec run` on the CPU runs each, and of
those whose result is another than the right one it is counted how many it says something of, in a
line: an error, a fault or a warning.  The right ones are to give none but those that EXPECTED names.
The table is by class of slip; --all shows what is not told of."""
import ast
import collections
import concurrent.futures
import copy
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

LEAST = 0.92  # told of
ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
EXPECTED = {"01-vector-add": ["W0240"]}  # the lesson's sizes need no mask yet
# file, kernel or "", arguments, results
KERNELS = """
lessons/01-vector-add - x=randn:fp32[1024]:1 y=randn:fp32[1024]:2 out=empty:fp32[1024] n=1024 > out
lessons/02-masks - x=randn:fp32[1000]:1 out=empty:fp32[1000] n=1000 factor=2.5 > out
lessons/03-transpose - x=randn:fp32[20,50]:1 out=empty:fp32[50,20] rows=20 columns=50 > out
lessons/04-softmax - x=randn:fp32[8,100]:1 out=empty:fp32[8,100] rows=8 columns=100 factor=1.5 > out
lessons/05-layer-norm - x=randn:fp16[4,300]:1 out=empty:fp32[4,300] rows=4 columns=300 > out
lessons/06-matmul - a=randn:fp16[80,100]:1 b=randn:fp16[100,72]:2 c=empty:fp32[80,72] M=80 N=72 K=100 > c
lessons/07-grouping - a=randn:fp16[150,40]:1 b=randn:fp16[40,80]:2 c=empty:fp32[150,80] order=empty:i32[15] M=150 N=80 K=40 > c
lessons/08-debugging - x=randn:fp32[6,50]:1 mean=empty:fp32[6] scratch=empty:fp32[6,64] out=empty:fp32[6,50] rows=6 columns=50 > out
lessons/09-online-softmax - x=randn:fp32[8,500]:1 out=empty:fp32[8] rows=8 columns=500 factor=1.5 > out
lessons/10-attention - q=randn:fp16[2,100,32]:1 k=randn:fp16[2,100,32]:2 v=randn:fp16[2,100,32]:3 out=empty:fp32[2,100,32] heads=2 n=100 scale=0.17677669 > out
examples/softmax - x=randn:fp32[8,100]:1 y=empty:fp32[8,100] rows=8 cols=100 -DBLOCK=128 > y
examples/layer_norm - x=randn:fp32[8,100]:1 weight=randn:fp32[100]:2 bias=randn:fp32[100]:3 y=empty:fp32[8,100] mean=empty:fp32[8] rstd=empty:fp32[8] rows=8 cols=100 -DBLOCK=128 > y
examples/rms_norm rms_norm x=randn:fp32[8,100]:1 weight=randn:fp32[100]:2 y=empty:fp32[8,100] rstd=empty:fp32[8] rows=8 cols=100 -DBLOCK=128 > y
examples/rms_norm rms_norm_bwd x=randn:fp32[8,100]:1 weight=randn:fp32[100]:2 dy=randn:fp32[8,100]:3 rstd=full:fp32[8]:0.7 dx=empty:fp32[8,100] dw_parts=empty:fp32[2,100] rows=8 cols=100 programs=2 -DBLOCK=128 > dx,dw_parts
examples/column_sums - x=randn:fp32[70,100]:1 out=empty:fp32[100] rows=70 cols=100 > out
examples/cross_entropy cross_entropy logits=randn:fp32[8,300]:1 labels=arange:i32[8] loss=empty:fp32[8] lse=empty:fp32[8] rows=8 cols=300 smoothing=0.1 -DBLOCK=128 > loss,lse
examples/embedding embedding table=randn:fp32[16,100]:1 index=arange:i32[9] y=empty:fp32[9,100] tokens=9 cols=100 -DBLOCK=64 > y
examples/swiglu swiglu gate=randn:fp32[1000]:1 up=randn:fp32[1000]:2 y=empty:fp32[1000] n=1000 -DBLOCK=256 > y
examples/rope rope x=randn:fp32[5,10,32]:1 positions=arange:i32[5] frequency=full:fp32[16]:0.7 y=empty:fp32[5,10,32] tokens=5 heads=10 -DD=32 > y
examples/group_norm - x=randn:fp32[2,12,50]:1 weight=randn:fp32[12]:2 bias=randn:fp32[12]:3 y=empty:fp32[2,12,50] mean=empty:fp32[2,3] rstd=empty:fp32[2,3] images=2 groups=3 group_channels=4 pixels=50 -DBLOCK=128 > y,mean
examples/matmul - a=randn:fp16[80,100]:1 b=randn:fp16[100,72]:2 c=empty:fp32[80,72] M=80 N=72 K=100 a_row=100 a_col=1 b_row=72 b_col=1 c_row=72 c_col=1 -DBLOCK_M=32 -DBLOCK_N=32 > c
examples/histogram - x=arange:i32[200] counts=zeros:i32[256] n=200 programs=2 -DBLOCK=64 > counts
examples/adamw - w=randn:fp32[1000]:1 g=randn:fp32[1000]:2 m=randn:fp32[1000]:3 v=full:fp32[1000]:0.3 n=1000 rate=0.01 beta1=0.9 beta2=0.99 eps=1e-8 decay=0.1 correction1=0.5 correction2=0.3 -DBLOCK=256 > w,m,v
examples/quantize quantize x=randn:fp32[8,100]:1 q=empty:i8[8,100] scale=empty:fp32[8] rows=8 cols=100 -DBLOCK=128 > q,scale
examples/quantize dequantize q=arange:i8[8,10] scale=full:fp32[8]:0.7 y=empty:fp32[8,10] rows=8 cols=10 -DBLOCK=16 > y
"""
TYPES = {"<f4": "f", "<f2": "e", "<i4": "i", "|i1": "b"}
FOLDERS = {"lessons": "docs/lessons/solutions", "examples": "dsl_examples"}


class Kernel:
    def __init__(self, line):
        what, results = line.split(" > ")
        path, self.kernel, *words = what.split()
        folder, self.name = path.split("/")
        self.kernel = "" if self.kernel == "-" else self.kernel
        self.words = [w for word in words for w in ([word] if word.startswith("-D") else ["--arg", word])]
        self.results = results.split(",")
        with open(os.path.join(ROOT, FOLDERS[folder], self.name + ".tile"), encoding="utf-8") as f:
            text = f.read()
        self.tree = ast.parse(re.sub(r"(:\s*)(\*(?:const )?\w+)", r'\1"\2"', text))


# ---- slips ----
def called(node):
    f = getattr(node, "func", None)
    return f.attr if isinstance(f, ast.Attribute) else f.id if isinstance(f, ast.Name) else ""


class Slips:
    """[(class, text of the whole file)]: `change` sets something in the tree, which is put back."""

    def __init__(self, kernel):
        self.tree, self.found, self.seen = kernel.tree, [], {ast.unparse(kernel.tree)}
        functions = [n for n in ast.walk(self.tree) if isinstance(n, ast.FunctionDef)]
        main = [f for f in functions if f.name == kernel.kernel or (
            not kernel.kernel and any("kernel" in ast.unparse(d) for d in f.decorator_list))][0]
        helpers = {called(c) for c in ast.walk(main)}
        types = {a.arg: ast.unparse(a.annotation) if a.annotation else "" for a in main.args.args}
        self.parameters = set(types)
        self.sizes = [a for a, t in types.items() if t == "i32"]
        self.strides = [a for a in types if a.endswith(("_row", "_col"))]
        self.pointers = [a for a, t in types.items() if ("*" in t or not t) and a not in self.strides]
        for f in [main] + [f for f in functions if f.name in helpers and f is not main]:
            self.parent = {c: n for n in ast.walk(f) for c in ast.iter_child_nodes(n)}
            for node in ast.walk(f):
                if not any(node is x for d in f.decorator_list for x in ast.walk(d)):
                    self.of_node(node)
        self.of_grid(main)

    def add(self, kind, owner, field, value):
        old = getattr(owner, field)
        setattr(owner, field, value)
        text = ast.unparse(self.tree)
        setattr(owner, field, old)
        if text not in self.seen:
            self.seen.add(text)
            self.found.append((kind, text))

    def put(self, kind, node, value):
        """value in the place of node"""
        owner = self.parent[node]
        for field, old in ast.iter_fields(owner):
            if old is node:
                self.add(kind, owner, field, value)
            elif isinstance(old, list) and node in old:
                self.add(kind, owner, field, [value if x is node else x for x in old])

    def of_node(self, node):
        for kind in ("Call", "Compare", "BinOp", "Name", "Subscript", "AugAssign", "Assign"):
            if type(node).__name__ == kind:
                getattr(self, "of_" + kind.lower())(node)

    def of_call(self, node):
        name, args = called(node), node.args
        {"load": self.of_access, "store": self.of_access, "atomic_add": self.of_access,
         "range": self.of_range}.get(name, lambda n: None)(node)
        if name in ("sum", "max", "min"):
            for k in node.keywords:
                if k.arg == "axis":
                    self.add("another axis", k.value, "value", 1 - k.value.value)
            if len(args) == 2 and isinstance(args[1], ast.Constant):
                self.add("another axis", args[1], "value", 1 - args[1].value)
        elif name == "program_id":
            self.add("another axis of the grid", args[0], "value", 1 - args[0].value)
            self.put("program 0 alone", node, ast.Constant(0))
        elif name == "dot" and len(args) > 2:
            self.add("a product not added", node, "args", args[:2])
            self.add("factors exchanged", node, "args", [args[1], args[0]] + args[2:])
        elif name == "zeros":
            self.add("sums in fp16", node, "args", [args[0], ast.Name("fp16")])
        elif name == "full" and "inf" in ast.unparse(node):
            self.add("begins with 0", node, "args", [args[0], ast.Constant(0.0)] + args[2:])
        elif name == "to":
            self.put("not converted", node, node.func.value)
        elif name == "where":
            self.add("choice turned", node, "args", [args[0], args[2], args[1]])
            self.put("no choice", node, args[1])
        elif name == "arange":
            end = ast.BinOp(args[1], ast.Add(), ast.Constant(1))
            self.add("counts from 1", node, "args", [ast.Constant(1), end])
        elif name in ("maximum", "minimum"):
            self.add("maximum for minimum", node, "func",
                     ast.Name("minimum" if name == "maximum" else "maximum"))
        elif name == "cdiv":
            self.put("rounded down", node, ast.BinOp(args[0], ast.FloorDiv(), args[1]))

    def of_access(self, node):
        name = called(node)
        at = 1 if name == "load" else 2
        others = [k for k in node.keywords if k.arg not in ("mask", "other")]
        if len(node.args) > at:
            bare = copy.deepcopy(node)
            bare.args, bare.keywords = node.args[:at], others
            self.put("no mask of a " + name, node, bare)
        if name == "load" and (len(node.args) > 2 or len(others) < len(node.keywords)):
            bare = copy.deepcopy(node)
            bare.args, bare.keywords = node.args[:2], others
            self.put("no other", node, bare)
            for k in node.keywords:
                if k.arg == "other" and "inf" in ast.unparse(k.value):
                    self.add("other 0", k, "value", ast.Constant(0.0))
        bases = [n for n in ast.walk(node.args[0])
                 if isinstance(n, ast.Name) and n.id in self.pointers]
        for base in bases[:1]:
            for pointer in self.pointers:
                self.add(name + " by another pointer", base, "id", pointer)
        if name == "atomic_add":
            self.add("store for atomic_add", node, "func", ast.Name("store"))

    def of_range(self, node):
        if len(node.args) < 3:
            return
        start, end, step = node.args
        self.add("no step", node, "args", [start, end])
        self.add("end in blocks, and a step", node, "args",
                 [start, ast.BinOp(end, ast.FloorDiv(), step), step])
        self.add("loop ends early", node, "args", [start, ast.BinOp(end, ast.Sub(), step), step])
        self.add("loop begins late", node, "args", [ast.BinOp(start, ast.Add(), step), end, step])
        for size in self.sizes:
            self.add("loop to another size", node, "args", [start, ast.Name(size), step])

    def of_compare(self, node):
        turned = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
        if len(node.ops) == 1 and type(node.ops[0]) in turned:
            self.add("< for <=", node, "ops", [turned[type(node.ops[0])]()])
        limit = node.comparators[0]
        if isinstance(limit, ast.Name) and limit.id in self.sizes:
            for size in self.sizes:
                self.add("compared with another size", limit, "id", size)

    def of_binop(self, node):
        sides = ((node.left, node.right), (node.right, node.left))
        if isinstance(node.op, ast.Mult):
            for gone, kept in sides:
                is_factor = isinstance(gone, ast.Name) and (
                    gone.id in self.parameters or gone.id.isupper())
                if is_factor or (isinstance(gone, ast.Constant) and isinstance(gone.value, int)):
                    self.put("a factor forgotten", node, kept)
        elif isinstance(node.op, ast.Add):
            for gone, kept in sides:
                if not any(getattr(n, "id", "") in self.pointers for n in ast.walk(gone)):
                    self.put("a summand forgotten", node, kept)
        elif isinstance(node.op, ast.BitAnd):
            self.add("| for &", node, "op", ast.BitOr())
            self.put("half of a mask", node, node.left)
            self.put("half of a mask", node, node.right)
        elif isinstance(node.op, (ast.FloorDiv, ast.Mod)):
            other = ast.Mod() if isinstance(node.op, ast.FloorDiv) else ast.FloorDiv()
            self.add("% for //", node, "op", other)
        elif isinstance(node.op, ast.Div) and isinstance(node.right, ast.Name):
            if node.right.id in self.sizes and "BLOCK" in self.parameters:
                self.add("divided by the block", node.right, "id", "BLOCK")

    def of_name(self, node):
        owner = self.parent[node]
        if isinstance(owner, ast.BinOp) and isinstance(owner.op, ast.Mult):
            for group in (self.sizes, self.strides):
                for other in group if node.id in group else ():
                    self.add("another stride", node, "id", other)

    def of_subscript(self, node):
        if isinstance(node.slice, ast.Tuple) and "None" in ast.unparse(node):
            turned = ast.Tuple(node.slice.elts[::-1], ast.Load())
            self.add("spread along the other axis", node, "slice", turned)
            self.put("not spread", node, node.value)

    def of_augassign(self, node):
        if isinstance(node.op, ast.Add):
            self.put("= for +=", node, ast.Assign([node.target], node.value, lineno=1))
            self.put("a statement forgotten", node, ast.Pass())

    def of_assign(self, node):
        if isinstance(self.parent[node], ast.For):
            self.put("a statement forgotten", node, ast.Pass())

    def of_grid(self, main):
        for k in [k for d in main.decorator_list if isinstance(d, ast.Call) for k in d.keywords]:
            if k.arg != "grid" or not isinstance(k.value, ast.Tuple):
                continue
            sizes = k.value.elts
            for i, size in enumerate(sizes):
                def swap(kind, value, i=i):
                    self.add("grid: " + kind, k.value, "elts", sizes[:i] + [value] + sizes[i + 1:])
                swap("one program", ast.Constant(1))
                for other in self.sizes:
                    value = ast.Name(other)
                    if called(size) == "cdiv":
                        value = ast.Call(size.func, [value, size.args[1]], [])
                    swap("another size", value)
                if called(size) == "cdiv":
                    n, block = size.args
                    swap("rounded down", ast.BinOp(n, ast.FloorDiv(), block))
                    swap("cdiv turned", ast.Call(size.func, [block, n], []))
                    swap("no block", n)
            self.add("grid: exchanged", k.value, "elts", sizes[::-1])


# ---- runs ----
def numbers(path):
    with open(path, "rb") as f:
        data = f.read()
    os.unlink(path)
    begin = 10 + struct.unpack("<H", data[8:10])[0]
    kind = TYPES[re.search(rb"'descr': '(..+?)'", data[:begin]).group(1).decode()]
    return struct.unpack("<%d%s" % ((len(data) - begin) // struct.calcsize(kind), kind), data[begin:])


def exchanged(kernel):
    """[(what, words)]: two integers of the command line given for each other."""
    sizes = [i for i, w in enumerate(kernel.words) if re.fullmatch(r"\w+=\d+", w)]
    found = []
    for n, a in enumerate(sizes):
        for b in sizes[n + 1:]:
            (x, v), (y, w) = (kernel.words[i].split("=") for i in (a, b))
            words = list(kernel.words)
            words[a], words[b] = x + "=" + w, y + "=" + v
            if v != w:
                found.append(("%s and %s exchanged" % (x, y), words))
    return found


def run(tilec, folder, kernel, text, number, words=None):
    """(codes of what is said in a line, exit code, results)"""
    name = os.path.join(folder, "%s_%d" % (kernel.name, number))
    with open(name + ".tile", "w", encoding="utf-8") as f:
        f.write(text)
    command = [tilec, "run", name + ".tile", *(words or kernel.words), "--on=cpu", "--timeout=20000",
               "--error-format=json"] + (["-k", kernel.kernel] if kernel.kernel else [])
    for r in kernel.results:
        command += ["--save", "%s=%s_%s.npy" % (r, name, r)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=120)
    said = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    saved = ["%s_%s.npy" % (name, r) for r in kernel.results]
    values = [numbers(p) for p in saved if os.path.exists(p)]
    return [d["code"] for d in said if d["severity"] in ("error", "warning")], done.returncode, values


def is_same(right, values):
    return len(values) == len(right) and all(
        a == b or (a != a and b != b) or abs(a - b) <= 2e-3 * max(1, abs(a), abs(b))
        for x, y in zip(right, values) for a, b in zip(x, y))


def main():
    tilec, is_all = os.path.abspath(sys.argv[1]), "--all" in sys.argv
    only = [a for a in sys.argv[2:] if a != "--all"]
    kernels = [Kernel(line) for line in KERNELS.strip().split("\n")]
    kernels = [k for k in kernels if not only or k.name in only]
    table, is_bad, jobs = collections.defaultdict(collections.Counter), False, []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for k in kernels:
            said, code, right = run(tilec, folder, k, ast.unparse(k.tree), 0)
            if code or said != EXPECTED.get(k.name, []):
                print("%s as it is: exit code %d, %s" % (k.name, code, said))
                is_bad = True
            jobs += [(k, right, kind, text, n, None) for n, (kind, text) in enumerate(Slips(k).found, 1)]
            jobs += [(k, right, "sizes exchanged", "# %s\n%s" % (what, ast.unparse(k.tree)), len(jobs) + n, words)
                     for n, (what, words) in enumerate(exchanged(k))]
        for (k, right, kind, text, _, _), (said, code, values) in zip(jobs, pool.map(
                lambda j: run(tilec, folder, j[0], *j[3:]), jobs)):
            how = "told" if said or code else "same" if is_same(right, values) else "missed"
            table[kind][how] += 1
            table["all"][how] += 1
            if is_all and how == "missed":
                print("--- %s, %s\n%s" % (k.name, kind, text))
    for kind, n in sorted(table.items()):
        print("%-28s %4d told of, %3d not (%3.0f %%); %3d change nothing" % (
            kind, n["told"], n["missed"], 100 * n["told"] / max(n["told"] + n["missed"], 1), n["same"]))
    told, missed = table["all"]["told"], table["all"]["missed"]
    return is_bad or told < LEAST * (told + missed)


if __name__ == "__main__":
    sys.exit(main())
