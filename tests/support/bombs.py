"""Sources that would take hours or gigabytes: bombs.py TILEC.  Each must end in time, below the
memory limit, with a result or with an error that names a place."""

import os

import bomb_run
from bombs_host import HOST
from bombs_texts import K, PY, TEXTS, kernel, value

LIMIT_MS = 1000  # given to tilec
SLACK_S = 3.0    # beyond it

def dots(n):
    return "tile", ("@kernel\ndef k(x: *fp16, y: *fp32):\n"
                    "    i = arange(0, 64)[:, None] * 64 + arange(0, 64)[None, :]\n"
                    "    a = load(x + i)\n    c = zeros([64, 64], fp32)\n" +
                    "    c = dot(a, c.to(fp16), c)\n" * n + "    store(y + i, c)\n")


BOMBS = {
    # ---- host code ----
    "loop": value("n = 0\nwhile n >= 0:\n    n = n + 0\nV = n\n"),
    "nested_loops": value("V = 0\nfor a in range(10**6):\n    for b in range(10**6):\n"
                          "        V = V + 1\n"),
    "recursion": value("def f(n):\n    return f(n + 1) + f(n + 2)\nV = f(0)\n"),
    "fibonacci": value("def f(n):\n    return n if n < 2 else f(n - 1) + f(n - 2)\nV = f(40)\n"),
    "range_list": value("V = len(list(range(10**15)))\n"),
    "power": value("V = 9 ** 9 ** 9 ** 9\n"),
    "shift": value("V = 1 << (1 << 62)\n"),
    "repeat": value("V = len([0] * 10**12)\n"),
    "nested_repeat": value("V = len(((1,) * 10000,) * 10000)\n"),
    "repeat_text": value("V = len('a' * 10**12)\n"),
    "doubling_list": value("a = [1]\nfor i in range(60):\n    a += a\nV = len(a)\n"),
    "doubling_tuple": value("a = (1,)\nfor i in range(60):\n    a = a + a\nV = len(a)\n"),
    "doubling_text": value("a = 'x'\nfor i in range(60):\n    a = a + a\nV = len(a)\n"),
    "pairs": value("a = ()\nfor i in range(60):\n    a = (a, a)\nV = 1 if a == a else 2\n"),
    "pairs_text": value("a = ()\nfor i in range(60):\n    a = (a, a)\nV = len(str(a))\n"),
    "pairs_equal": value("def f():\n    a = ()\n    for i in range(60):\n        a = (a, a)\n"
                         "    return a\nV = 1 if f() == f() else 2\n"),
    "own_list": value("a = []\na.append(a)\nb = []\nb.append(b)\nV = 1 if a == b else 2\n"),
    "deep_list": value("a = []\nfor i in range(100000):\n    a = [a]\nb = []\n"
                       "for i in range(100000):\n    b = [b]\nV = 1 if a == b else 2\n"),
    "pattern_names": value("match 1:\n    case [" + ", ".join(f"a{i}" for i in range(100000)) +
                           "]:\n        pass\nV = 1\n"),
    "pattern_keys": value("match 1:\n    case {" + ", ".join(f"{i}: 1" for i in range(80000)) +
                          "}:\n        pass\nV = 1\n"),
    "pattern_parts": value("match 1:\n    case int(" + ", ".join(f"a{i}=1" for i in range(90000)) +
                           "):\n        pass\nV = 1\n"),
    "class_chain": value("class C0: pass\n" + "".join(
        f"class C{i + 1}(C{i}): pass\n" for i in range(30000)) + "V = 1\n"),
    "class_fields": value("from dataclasses import dataclass\n@dataclass\nclass C:\n" + "".join(
        f"    a{i}: int\n" for i in range(40000)) + "V = C(" + ", ".join(
            f"a{i}=1" for i in range(40000)) + ").a5\n"),
    "product": value("import itertools\nV = len(list(itertools.product(range(1000), repeat=8)))\n"),
    "comprehension": value("V = len([0 for a in range(9999) for b in range(9999)])\n"),
    "sort": value("V = sorted(list(range(50000, 0, -1)))[0]\n"),
    "growing_list": value("a = [1]\nfor v in a:\n    a.append(v)\nV = len(a)\n"),
    "growing_dict": value("d = {}\nfor i in range(10**7):\n    d[i] = i\nV = len(d)\n"),
    "growing_set": value("V = len({i for i in range(10**6)})\n"),
    "generator": value("def g():\n    n = 0\n    while True:\n        yield n\nV = sum(g())\n"),
    "map": value("V = len(list(map(lambda x: x, range(10**8))))\n"),
    "format": value("V = len(f'{1:1000000000}')\n"),
    "replace": value("a = 'a'\nfor i in range(60):\n    a = a.replace('a', 'aaaa')\nV = len(a)\n"),
    "join": value("a = 'aaaaaaaa'\nfor i in range(60):\n    a = a.join([a, a, a])\nV = len(a)\n"),
    "lambdas": value("f = lambda: 1\nfor i in range(5000):\n    f = (lambda g: lambda: g())(f)\n"
                     "V = f()\n"),
    "slices": value("a = list(range(60000))\nfor i in range(10**6):\n    b = a[:]\nV = 1\n"),
    "arguments": value("def f(*a):\n    return f(*a, *a)\nV = f(1)\n"),
    "exceptions": value("def f(n):\n    try:\n        return f(n + 1)\n    except Exception:\n"
                        "        return f(n + 1)\nV = f(0)\n"),
    "configs": ("py", PY + "@triton.autotune(configs=[triton.Config({'B': b, 'C': c}) for b in "
                "range(2000) for c in range(2000)], key=[])\n@triton.jit\ndef k(x):\n"
                "    tl.store(x, 1.0)\n"),
    "many_names": value("".join(f"a{i} = {i}\n" for i in range(60000)) + "V = a59999\n"),
    "many_ifs": value("import os\n" + "".join(f"if unknown_{i % 7}():\n    a{i} = 1\nelse:\n"
                                               f"    a{i} = 2\n" for i in range(9000)) + "V = 1\n"),
    "nested_undecided": value("".join("    " * i + f"if unknown(): \n" for i in range(40)) +
                              "    " * 40 + "V = 1\n"),
    "permutations": value("import itertools\nV = len(list(itertools.permutations(range(12))))\n"),
    "combinations": value("import itertools\n"
                          "V = sum(1 for c in itertools.combinations(range(60), 8))\n"),
    "counts": value("import itertools\nV = len(list(zip(itertools.count(), itertools.count())))\n"),
    "yield_from": value("def g(n):\n    if n:\n        yield from g(n - 1)\n"
                        "        yield from g(n - 1)\n    else:\n        yield 1\n"
                        "V = sum(g(50))\n"),
    "pairs_dict": value("d = {}\nfor i in range(40):\n    d = {'a': d, 'b': d}\n"
                        "V = len(repr(d))\n"),
    "objects": value("class A:\n    def __init__(self, n):\n        self.x = A(n + 1)\n"
                     "V = A(0).x\n"),
    "getter": value("class A:\n    @property\n    def p(self):\n        return self.p\n"
                    "V = A().p\n"),
    "wrappers": value("def d(f):\n    return lambda *a: f(*a)\ndef f():\n    return 1\n" +
                      "f = d(f)\n" * 20000 + "V = f()\n"),
    "many_functions": value("".join(f"def f{i}(): return f{i + 1}()\n" for i in range(20000)) +
                            "def f20000(): return 1\nV = f0()\n"),
    "heuristic": ("py", PY + "@triton.heuristics({'B': lambda a: [i for i in range(10**9)][0]})\n"
                  "@triton.jit\ndef k(x, B: tl.constexpr):\n    tl.store(x, B)\n"),
    # ---- kernels ----
    "static_loops": kernel("for a in static_range(4000):\n    for b in static_range(4000):\n"
                           "        store(x + a, 1.0)"),
    "static_sums": kernel("s = load(x)\nfor a in static_range(4000):\n"
                          "    for b in static_range(200):\n        s += a * s\nstore(x, s)"),
    "calls": ("tile", "".join(f"def f{i}(v):\n    return f{i + 1}(v) + f{i + 1}(v)\n"
                               for i in range(40)) + "def f40(v):\n    return v * 1.5\n" +
              K + "    store(x, f0(load(x)))\n"),
    "tuples": kernel("a = (1, 2)\n" + "a = (a, a)\n" * 60 + "store(x, 1.0)"),
    "lists": kernel("a = [load(x), 2]\n" + "a = [a, a]\n" * 60 + "store(x, 1.0)"),
    "kernel_repeat": kernel("a = ((1,) * 10000,) * 10000\nstore(x, len(a))"),
    "chained_ifs": ("tile", "@kernel\ndef k(x: *fp32, n: i32):\n    v = 0.0\n" +
                    "    if n > 1:\n        v += 1.0\n" * 6000 + "    store(x, v)\n"),
    "elifs": ("tile", "@kernel\ndef k(x: *fp32, n: i32):\n    v = 0.0\n    if n == 0:\n"
              "        v = 1.0\n" + "".join(f"    elif n == {i}:\n        v = {i}.0\n"
                                            for i in range(1, 9000)) + "    store(x, v)\n"),
    "host_elifs": value("n = 8999\nif n == -1:\n    V = 1\n" +
                        "".join(f"elif n == {i}:\n    V = {i}\n" for i in range(9000))),
    "nested_ifs": ("tile", "@kernel\ndef k(x: *fp32, n: i32):\n" +
                   "".join("    " * (i + 1) + f"if n > {i}:\n" for i in range(600)) +
                   "    " * 601 + "store(x, 1.0)\n"),
    "brackets": kernel("store(x, " + "(" * 100000 + "1.0" + ")" * 100000 + ")"),
    "sums": kernel("store(x, " + "load(x) + " * 60000 + "1.0)"),
    "long_names": kernel("a" * 400000 + " = 1\nstore(x, " + "a" * 400000 + "b)"),
    "dots": dots(200),
    "big_tiles": kernel("a = load(x + arange(0, 131072))\n" + "a = a * a + 1.0\n" * 300 +
                        "store(x + arange(0, 131072), a)"),
    "sorts": kernel("a = load(x + arange(0, 4096))\n" + "a = sort(a)\n" * 20 +
                    "store(x + arange(0, 4096), a)"),
    "run_time_loops": ("tile", "@kernel\ndef k(x: *fp32, n: i32):\n    v = 0.0\n" +
                       "    for i in range(n):\n        v += 1.0\n" * 3000 + "    store(x, v)\n"),
    "functions_of_tiles": kernel("a = load(x + arange(0, 16384))\n" +
                                 "a = exp(a) + sin(a) * cos(a) / log(a)\n" * 200 +
                                 "store(x + arange(0, 16384), a)"),
    "transposes": kernel("a = load(x + arange(0, 16384)).reshape([128, 128])\n" +
                         "a = trans(a) + a\n" * 200 + "store(x + arange(0, 16384), ravel(a))"),
    "nested_loops_of_n": ("tile", "@kernel\ndef k(x: *fp32, n: i32):\n    v = 0.0\n" +
                          "".join("    " * (i + 1) + f"for i{i} in range(n):\n"
                                  for i in range(200)) +
                          "    " * 201 + "v += 1.0\n    store(x, v)\n"),
    "parameters": ("tile", "@kernel\ndef k(" + ", ".join(f"a{i}: *fp32" for i in range(30000)) +
                   "):\n    store(a0, 1.0)\n"),
    "many_kernels": ("tile", "".join(f"@kernel\ndef k{i}(x: *fp32):\n    store(x, {i}.0)\n"
                                      for i in range(9000))),
}

BIG = K.replace("*fp32", "*fp32, y: *fp32") + "    i = arange(0, 1 << 20)\n"
FUNCTION = ("def f(a, b):\n    for i in static_range(40):\n"
            "        a = where(a > b, sin(a) * b + i, exp(b) + a)\n    return a\n")
ARRAYS = ["--arg", "x=randn:fp32[1048576]", "--arg", "y=zeros:fp32[1048576]"]

# Programs whose run is long, on the CPU executor and where they have room on the simulator: a tile
# at a time, one operation of which may be most of the work.
RUNS = {
    "run_scan": ("cpu", FUNCTION + BIG + "    store(y + i, associative_scan(load(x + i), 0, f))\n"),
    "run_map": ("cpu", FUNCTION + BIG + "    v = load(x + i)\n" + "    v = f(v, v)\n" * 20 +
                "    store(y + i, v)\n"),
    "run_dot": ("cpu", K.replace("*fp32", "*fp32, y: *fp32") +
                "    i = arange(0, 1024)[:, None] * 1024 + arange(0, 1024)[None, :]\n"
                "    v = load(x + i)\n" + "    v = dot(v, v, input_precision='tf32x3')\n" * 8 +
                "    store(y + i, v)\n"),
    "run_loop": ("cpu", K + "    while load(x) == load(x):\n        pass\n"),
    "run_gather": ("cpu", K + "    i = arange(0, 1 << 20)\n    v = load(x + i)\n"
                   "    for j in range(100000):\n        v = gather(v, i ^ 1, 0)\n"
                   "    store(x + i, v)\n"),
    "sim_promise": ("sim", K + "    for j in range(1 << 30):\n"
                    "        store(x + max_contiguous(arange(0, 1024) * (j & 1), 1024), 1.0)\n"),
    "sim_loop": ("sim", K + "    while load(x) == load(x):\n        pass\n"),
    "sim_loops": ("sim", K + "    v = 0.0\n" + "    for i in range(1 << 30):\n        v += i\n" * 40 +
                  "    store(x, v)\n"),
    "sim_scan": ("sim", FUNCTION + K.replace("*fp32", "*fp32, y: *fp32") + "    i = arange(0, 8192)\n"
                 "    for j in range(1000):\n"
                 "        store(y + i, associative_scan(load(x + i), 0, f))\n"),
}
for run_name, (executor, run_text) in RUNS.items():
    BOMBS[run_name] = "tile", run_text
BOMBS.update(TEXTS)
BOMBS.update(HOST)


def commands(tilec, folder, name):
    kind, text = BOMBS[name]
    assert len(text) < 1 << 20, name
    path = os.path.join(folder, f"{name}.{kind}")
    with open(path, "wb") as f:
        f.write(text if isinstance(text, bytes) else text.encode())
    command = [tilec, "build", path, f"--timeout={LIMIT_MS}", "-o", os.devnull]
    if name in RUNS:
        command = [tilec, "run", path, f"--timeout={LIMIT_MS}", "--on=" + RUNS[name][0], "--grid=1"]
        command += ARRAYS if "y:" in text else ARRAYS[:2]
    if name == "sim_promise":
        command += ["--check"]
    if kind == "py":
        command += ["-s", "*fp32"]
    if name == "many_kernels":
        command += ["-k", "k7"]
    return [bomb_run.Command(command, seconds=LIMIT_MS / 1000 + SLACK_S, place=f"{name}.{kind}:",
                             codes=(0, 1, 4))]  # done, error, limit


bomb_run.main(BOMBS, commands)
