"""Sources for bombs.py: strings by their characters, classes, enumerations, iterators and decorators
of host code, and kernels that are long in one operation each."""

from bombs_texts import kernel, value


def loop(setup, expression, times=100000):
    """The expression, which may use i, is worked out often."""
    return value(f"{setup}\ndef f():\n    n = 0\n    for i in range({times}):\n"
                 f"        n += {expression}\n    return n\nV = f()\n")


def repeated(setup, statement, times=100000):
    return value(f"{setup}\nfor i in range({times}):\n    {statement}\nV = 1\n")


def long_kernel(first, line, times, last):
    return kernel("\n".join([first] + [line.replace("{i}", str(i)) for i in range(times)] + [last]))


def nested(opening, depth, inner):
    lines = ["    " * d + opening.replace("{i}", str(d)) for d in range(depth)]
    return "\n".join(lines + ["    " * depth + line for line in inner]) + "\n"


LIST = "x = [0] * 60000"
LONG = "v = load(x + arange(0, 1024))"
KEEP = "store(x + arange(0, 1024), v)"

HOST = {
    "text_index": loop("S = '日' * 20000", "ord(S[i % 20000])"),
    "text_slice": loop("S = '日本' * 10000", "len(S[i % 20000::-1])"),
    "text_find": loop("S = 'é' * 30000", "S.find('x', i % 30000, -1)"),
    "text_strip": loop("S = 'é' * 20000\nT = ''.join(chr(300 + i) for i in range(20000)) + 'é'",
                       "len(S.strip(T))", 1000),
    "text_rsplit": loop("S = 'ab ' * 20000", "len(S.rsplit())", 1000),
    "text_rsplit_at": loop("S = 'ab' * 30000", "len(S.rsplit('ab'))", 1000),
    "text_partition": loop("S = 'a' * 60000",
                           "len(S.rpartition('b')[0]) + len(S.partition('ab')[0])"),
    "text_replace_none": value("s = 'ab'\nfor i in range(40):\n    s = s.replace('', 'ab')\n"
                               "V = len(s)\n"),
    "text_replace_some": loop("S = 'a' * 60000", "len(S.replace('a', 'b', i))", 10000),
    "text_lines": loop("S = '\\n' * 60000", "len(S.splitlines(True))", 10000),
    "text_center": loop("", "len('é'.center(65536, '日'))"),
    "text_title": loop("S = 'ab ' * 20000", "len(S.title().swapcase())"),
    "text_ascii": loop("S = '😀' * 10000", "len(ascii(S))", 10000),
    "text_repr": value("s = '\\u200b'\nfor i in range(40):\n    s = repr(s)\nV = len(s)\n"),
    "text_reversed": loop("S = '日' * 20000", "len(''.join(reversed(S)))", 1000),
    "text_base": loop("S = '1' * 60000", "int(S, 36)"),
    "format_groups": loop("", "len(f'{2**63 - 1 - i:,}{1e300:,.100f}')"),
    "format_floats": loop("", "len(str(2.0 ** -1000 * (i + 1)))"),
    "enum_members": value("from enum import IntEnum\nclass E(IntEnum):\n" + "".join(
        f"    M{i} = {i}\n" for i in range(8000)) + "V = E.M7\n"),
    "enum_methods": value("from enum import IntEnum\nclass E(IntEnum):\n" + "".join(
        f"    M{i} = {i}\n    def m{i}(self): pass\n" for i in range(8000)) + "V = E.M7\n"),
    "enum_lookups": loop("from enum import Enum\nclass E(Enum):\n" + "".join(
        f"    M{i} = {i}\n" for i in range(2000)), "E(1999).value"),
    "abstract": repeated("from abc import ABC, abstractmethod\nclass A(ABC):\n" + "".join(
        f"    @abstractmethod\n    def m{i}(self): ...\n" for i in range(4000)),
        "try:\n        A()\n    except TypeError:\n        pass"),
    "bases_deep": value("class C0:\n    def f(self): return 1\n" + "".join(
        f"class C{i}(C{i - 1}):\n    pass\n" for i in range(1, 200)) + "V = C199().f()\n"),
    "bases_wide": value("".join(f"class C{i}:\n    def f(self): return {i}\n" for i in range(3000)) +
                        "class D(" + ", ".join(f"C{i}" for i in range(3000)) +
                        "):\n    pass\nV = D().f()\n"),
    "private_names": value("class A:\n    def f(self):\n" + "".join(
        f"        self.__n{i} = {i}\n" for i in range(20000)) +
        "        return self.__n3\nV = A().f()\n"),
    "private_nested": value(nested("class __C{i}:", 40, [f"__x{i} = __x{i}" for i in range(2000)]) +
                            "V = 1\n"),
    "data_fields": value("from dataclasses import dataclass\n@dataclass\nclass A:\n" + "".join(
        f"    f{i}: int = {i}\n" for i in range(4000)) +
        "V = A(**{f'f{i}': i for i in range(4000)}).f3\n"),
    "data_equal": loop("from dataclasses import dataclass\n@dataclass\nclass A:\n    l: list\n"
                       "a, b = A([0] * 60000), A([0] * 60000)", "a != b"),
    "decorators_made": value("def d(n):\n    return lambda f: f\n" + "@d([0] * 60000)\n" * 3000 +
                             "def f():\n    return 1\nV = f()\n"),
    "decorators_twice": value("def d(f):\n    return lambda x: f(f(x))\n" + "@d\n" * 40 +
                              "def f(x):\n    return x\nV = f(1)\n"),
    "zip_many": value("R = [range(1000)] * 60000\nV = len(list(zip(*R)))\n"),
    "zip_same": repeated("it = iter(range(60000))",
                         "try:\n        y = list(zip(*[it] * 20000))\n    except ValueError:\n"
                         "        pass"),
    "views": repeated("d = {i: i for i in range(60000)}", "b = d.keys() == d"),
    "slices_back": loop("L = list(range(60000))", "len(L[::-1][::2])"),
    "suppress": value("from contextlib import suppress\n" +
                      f"with suppress(ValueError):\n    {LIST}\n" * 5000 + "V = 1\n"),
    "with_nested": value("import threading\n" + nested("with threading.Lock():", 60, ["x = 1"]) +
                         "V = 1\n"),
    "nan_lists": repeated("import math\nL = [math.nan] * 60000", "b = L == list(L)"),
    "growing_max": value("L = [3, 1]\nfor x in L:\n    L.insert(1, x)\n"
                         "    y = [v for v in (1, 2) if v > max(L)], sum(L), any(L[:1]), 5 in L\n"
                         "V = 1\n"),
    "kernel_text": ("tile", "S: constexpr = '日' * 20000\n" +
                    kernel("for i in static_range(4096):\n    store(x + i, S[i] == 'x')")[1]),
    "kernel_where": long_kernel(LONG, "v = where(v > {i}, v - {i}, v * {i})", 4000, KEEP),
    "kernel_while": ("tile", "@kernel\ndef k(x: *fp32, n: i32):\n    i = n\n" +
                     "".join("    " + line + "\n" for line in nested(
                         "while i > {i}:", 60, ["i -= 1"]).splitlines()) + "    store(x, i)\n"),
    "kernel_loads": long_kernel("v = zeros([1024], fp32)",
                                "v += load(x + program_id(0) * {i} + arange(0, 1024))", 1500, KEEP),
    "kernel_atomics": long_kernel("", "atomic_add(x + arange(0, 512) + {i}, 1.0)", 3000, ""),
    "kernel_scans": long_kernel(LONG, "v = cumsum(v, 0)", 600, KEEP),
    "kernel_sums": long_kernel("v = load(x + arange(0, 64)[:, None] * 64 + arange(0, 64)[None, :])",
                               "v += sum(v, 0, keep_dims=True) + max(v, 1, keep_dims=True)", 400,
                               "store(x + arange(0, 64), sum(v, 0))"),
    "kernel_gathers": long_kernel(LONG, "v = gather(v, arange(0, 1024) ^ 1, 0)", 1000, KEEP),
    "kernel_casts": long_kernel(LONG, "v = v.to(float8e5).to(fp32).to(bf16).to(fp32)", 1500, KEEP),
    "kernel_ifs": ("tile", "@kernel\ndef k(x: *fp32, n: i32):\n" + "".join(
        f"    if n == {i}:\n        store(x, {i})\n        return\n" for i in range(3000))),
    "kernel_constants": long_kernel(LONG, "v = v * {i}.25 + {i}.5", 20000, KEEP),
    "wide_comment": kernel("store(x, 1.0)  # " + "日" * 300000),
}
