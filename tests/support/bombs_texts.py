"""Sources for bombs.py that are deep, long or odd in one construct of the grammar each, and host
code whose work or results are much larger than its text."""

K = "\n@kernel\ndef k(x: *fp32):\n"
PY = "import triton\nimport triton.language as tl\n"
PK = "\n@triton.jit\ndef k(x):\n    tl.store(x, V)\n"


def value(text):
    """A .py file whose kernel uses the V of `text`."""
    return "py", PY + text + PK


def kernel(body):
    return "tile", K + "".join("    " + line + "\n" for line in body.split("\n"))


TEXTS = {
    "nested_fstrings": value("V = " + 'f"{' * 300 + "1" + '}"' * 300 + "\n"),
    "nested_fstrings_2": value("V = f'" + "{f'" * 5000 + "{1}" + "'}" * 5000 + "'\n"),
    "fstring_formats": value("V = f'" + "{1:" * 5000 + "}" * 5000 + "'\n"),
    "fstring_braces": value("V = f'" + "{" * 400000 + "'\n"),
    "fstring_parts": value("V = len(f'" + "{1}" * 200000 + "')\n"),
    "lambda_chain": value("V = " + "lambda: " * 60000 + "1\n"),
    "lambda_calls": value("V = (" + "(lambda x: " * 20000 + "1" + ")(2)" * 20000 + ")\n"),
    "comp_nest": value("V = " + "[" * 3000 + "1" + " for i in range(2)]" * 3000 + "\n"),
    "comp_fors": value("V = len([0" + " for i in range(2)" * 30000 + "])\n"),
    "comp_ifs": value("V = len([0 for i in range(2)" + " if i" * 100000 + "])\n"),
    "decorators": ("py", PY + "@d\n" * 100000 + "def f(): pass\nV = f()\n" + PK),
    "decorators_jit": ("py", PY + "@triton.jit\n" * 50000 + "def k(x):\n    tl.store(x, 1.0)\n"),
    "dict_display": value("V = {" + ", ".join(f"'a{i}': {i}" for i in range(50000)) + "}['a7']\n"),
    "dict_nest": value("V = " + "{1: " * 100000 + "1" + "}" * 100000 + "\n"),
    "set_display": value("V = len({" + ", ".join(f"{i}" for i in range(100000)) + "})\n"),
    "compare_chain": value("V = " + "1 < " * 200000 + "2\n"),
    "kernel_compare": kernel("store(x, " + "1 < " * 20000 + "2)"),
    "string_concat": value("V = len(" + "'a' " * 200000 + ")\n"),
    "string_plus": value("V = len(" + "'a' + " * 100000 + "'b')\n"),
    "unpack_nest": value("(" * 50000 + "a" + ",)" * 50000 + " = 1\nV = 1\n"),
    "unpack_stars": value("a, *b = " + "*range(10**9),\nV = a\n"),
    "unpack_many": value(", ".join(f"a{i}" for i in range(100000)) + " = range(100000)\nV = a7\n"),
    "annotation_nest": ("tile", "@kernel\ndef k(x: " + "*" * 100000 +
        "fp32):\n    store(x, 1.0)\n"),
    "annotation_subs": ("py", PY + "@triton.jit\ndef k(x: " + "a[" * 50000 + "b" + "]" * 50000 +
        "):\n    tl.store(x, 1.0)\n"),
    "annotation_vars": value("".join(f"a{i}: int = {i}\n" for i in range(40000)) + "V = a7\n"),
    "huge_int": value("V = 10**100000\n"),
    "huge_int_literal": value("V = " + "9" * 900000 + "\n"),
    "huge_shift": value("V = 1 << 10**9\n"),
    "huge_shift_right": value("V = (1 << 62) >> 10**18\n"),
    "huge_neg_shift": value("V = 1 << -10**9\n"),
    "repeat_str": value("V = len('a' * 10**9)\n"),
    "repeat_list": value("V = len([0] * 10**9)\n"),
    "repeat_neg": value("V = len([0] * -10**9) + 1\n"),
    "pow_mod": value("V = pow(3, 10**15, 10**9 + 7)\n"),
    "pow_float": value("V = 1.5 ** 10**9\n"),
    "pow_chain": value("V = " + "2 ** " * 50000 + "1\n"),
    "unary_chain": value("V = " + "-" * 200000 + "1\n"),
    "not_chain": value("V = " + "not " * 100000 + "1\n"),
    "percent_width": value("V = len('%1000000000d' % 1)\n"),
    "percent_prec": value("V = len('%.1000000000f' % 1.0)\n"),
    "format_width": value("V = len('{:1000000000}'.format(1))\n"),
    "format_prec": value("V = len(f'{1.0:.1000000000f}')\n"),
    "format_fields": value("V = '{0' + '[0]' * 100000 + '}'\nV = len(V.format([1]))\n"),
    "ljust": value("V = len('a'.ljust(10**9))\n"),
    "zfill": value("V = len('a'.zfill(10**9))\n"),
    "center": value("V = len('a'.center(10**9))\n"),
    "expandtabs": value("V = len(('\\t' * 10000).expandtabs(10**6))\n"),
    "range_list18": value("V = len(list(range(10**18)))\n"),
    "range_sum": value("V = sum(range(10**18))\n"),
    "range_in": value("V = 1 if 10**17 in range(0, 10**18, 7) else 2\n"),
    "range_rev": value("V = len(list(reversed(range(10**12))))\n"),
    "static_range": kernel("for i in static_range(1000000000):\n    store(x + i, 1.0)"),
    "static_range_neg": kernel("for i in static_range(0, -1000000000, -1):\n    store(x + i, "
                               "1.0)"),
    "mutual": ("tile", "def f(v):\n    return g(v)\ndef g(v):\n    return f(v)\n" + K +
        "    store(x, f(1.0))\n"),
    "mutual_many": ("tile",
        "".join(f"def f{i}(v):\n    return f{(i+1)%3000}(v)\n" for i in range(3000)) + K +
        "    store(x, f0(1.0))\n"),
    "mutual_host": value("def f(n): return g(n)\ndef g(n): return f(n)\nV = f(1)\n"),
    "long_line": kernel("store(x, 1.0)" + " " * 900000 + "+"),
    "long_error_line": kernel("store(x, " + "1.0 + " * 140000 + "@)"),
    "nul": ("py", (PY + "V = 1\0\n" + PK).encode()),
    "nuls": ("py", b"\0" * 900000),
    "bom": ("py", b"\xef\xbb\xbf" + (PY + "V = 1.0\n" + PK).encode()),
    "boms": ("py", b"\xef\xbb\xbf" * 300000),
    "crlf": ("py", (PY + "V = 1.0\n" + PK).replace("\n", "\r\n").encode()),
    "cr_only": ("py", (PY + "V = 1.0\n" + PK).replace("\n", "\r").encode()),
    "tabs_mix": ("py", (PY +
        "@triton.jit\ndef k(x):\n\tif 1:\n        tl.store(x, 1.0)\n\t\ttl.store(x, 2.0)\n"
            "").encode()),
    "tabs_many": ("py", (PY + "@triton.jit\ndef k(x):\n" + "\t" * 400000 +
        "tl.store(x, 1.0)\n").encode()),
    "bad_utf8": ("py", PY.encode() + b"V = '\xff\xfe\xc0\x80'\n" + PK.encode()),
    "bad_utf8_names": ("py", b"\xff" * 900000),
    "surrogates": ("py", PY.encode() + b"V = '" + b"\xed\xa0\x80" * 200000 + b"'\n" + PK.encode()),
    "many_lines": ("py", (PY + "\n" * 1000000 + "V = 1.0\n" + PK)[:1040000].encode()),
    "many_comments": ("py", PY + "#\n" * 500000 + "V = 1.0\n" + PK),
    "many_semicolons": ("py", PY + "V = 1.0" + ";V = 1.0" * 120000 + "\n" + PK),
    "backslashes": ("py", PY + "V = 1.0 + \\\n" * 1 + "\\\n" * 400000 + "1\n" + PK),
    "kernel_params": ("tile", "@kernel\ndef k(" + ", ".join(f"a{i}: *fp32" for i in range(5000)) +
        "):\n" + "".join(f"    store(a{i}, 1.0)\n" for i in range(5000))),
    "tile_2_20": kernel("v = zeros([1048576], fp32)\nstore(x + arange(0, 1048576), v)"),
    "tile_2_21": kernel("v = zeros([2097152], fp32)\nstore(x + arange(0, 2097152), v)"),
    "tile_2_60": kernel("v = zeros([1073741824, 1073741824], fp32)\nstore(x, sum(v))"),
    "tile_dims": kernel("v = zeros([" + "2, " * 200 + "2], fp32)\nstore(x, sum(v))"),
    "tile_neg": kernel("v = zeros([-8], fp32)\nstore(x, sum(v))"),
    "arange_over": kernel("v = arange(0, 4294967296)\nstore(x + v, 1.0)"),
    "arange_over2": kernel("v = arange(2147483640, 2147483648)\nstore(x + v, 1.0)"),
    "arange_64": kernel("v = arange(-9223372036854775808, 9223372036854775807)\nstore(x + v, "
                        "1.0)"),
    "tuple_200": kernel("a = (" + "1, " * 200 + ")\nv = zeros(a, fp32)\nstore(x, 1.0)"),
    "tuple_big": kernel("a = (" + "1, " * 100000 + ")\nstore(x, a[5])"),
    "reshape_dims": kernel("v = arange(0, 64).reshape([" + "1, " * 5000 + "64])\nstore(x, 1.0)"),
    "expand_dims": kernel("v = arange(0, 2)\n" + "v = expand_dims(v, 0)\n" * 20 + "store(x, 1.0)"),
    "cat_double": kernel("v = arange(0, 2)\n" + "v = cat(v, v, can_reorder=True)\n" * 30 +
        "store(x + v, 1.0)"),
    "join_double": kernel("v = arange(0, 2)\n" + "v = join(v, v)\n" * 30 + "store(x, 1.0)"),
    "configs_1e6": ("py", PY +
        "C = [triton.Config({'B': 1}) for i in range(10**6)]\n@triton.autotune(configs=C, "
            "key=[])\n@triton.jit\ndef k(x, B: tl.constexpr):\n    tl.store(x, 1.0)\n"),
    "configs_mul": ("py", PY +
        "@triton.autotune(configs=[triton.Config({'B': 1})] * 10**6, key=[])\n@triton.jit\ndef "
            "k(x, B: tl.constexpr):\n    tl.store(x, 1.0)\n"),
    "configs_text": ("py", PY + "@triton.autotune(configs=[" + "triton.Config({'B': 1})," * 30000 +
        "], key=[])\n@triton.jit\ndef k(x, B: tl.constexpr):\n    tl.store(x, 1.0)\n"),
    "keys": ("py", PY + "@triton.autotune(configs=[triton.Config({'B': 1})], key=[" +
        "'x'," * 100000 + "])\n@triton.jit\ndef k(x, B: tl.constexpr):\n    tl.store(x, 1.0)\n"),
    "match_nest": value("match 1:\n    case " + "[" * 50000 + "]" * 50000 +
        ":\n        pass\nV = 1\n"),
    "match_or": value("match 9:\n    case " + " | ".join(str(i) for i in range(10, 60000)) +
        ":\n        V = 2\n    case _:\n        V = 1\n"),
    "walrus": value("V = " + "".join(f"(a{i} := " for i in range(20000)) + "1" + ")" * 20000 +
        "\n"),
    "ternaries": value("V = " + "1 if 0 else " * 50000 + "2\n"),
    "subscripts": value("a = [0]\na[0] = a\nV = a" + "[0]" * 100000 + "\nV = 1\n"),
    "attributes": value("V = tl" + ".x" * 200000 + "\n"),
    "calls_nest": value("V = " + "len(" * 60000 + "'a'" + ")" * 60000 + "\n"),
    "calls_chain": value("V = f" + "()" * 200000 + "\n"),
    "star_args": value("def f(*a): return len(a)\nV = f(" + "*[1], " * 60000 + ")\n"),
    "kwargs": value("def f(**a): return len(a)\nV = f(" +
        ", ".join(f"a{i}=1" for i in range(60000)) + ")\n"),
    "globals_stmt": value("def f():\n    global " + ", ".join(f"a{i}" for i in range(100000)) +
        "\n    return 1\nV = f()\n"),
    "trys": value("".join(" " * i + "try:\n" for i in range(1000)) + " " * 1000 + "V = 1\n" +
        "".join(" " * i + "except: pass\n" for i in range(999, -1, -1))),
    "withs": value("with " + ", ".join("open('a')" for _ in range(60000)) + ":\n    V = 1\n"),
    "classes_nest": value("".join(" " * i + f"class A:\n" for i in range(1000)) + " " * 1000 +
        "pass\nV = 1\n"),
    "defs_nest": value("".join(" " * i + "def f():\n" for i in range(1000)) + " " * 1000 +
        "return 1\nV = f()\n"),
    "imports_names": value("from math import (" + "sqrt, " * 100000 + ")\nV = 1\n"),
    "imports_dots": ("py", "from " + "." * 500000 + "a import b\n" + PY + "V = 1.0\n" + PK),
    "imports_self": ("py", "from imports_self import *\n" * 20000 + PY + "V = 1.0\n" + PK),
    "asserts": value("assert 1, " + "'" + "x" * 900000 + "'\nV = 1\n"),
    "static_print": kernel("static_print('" + "a" * 900000 + "')\nstore(x, 1.0)"),
    "static_asserts": kernel("static_assert(1 == 1)\n" * 40000 + "store(x, 1.0)"),
    "prints": kernel("device_print('" + "%" * 200000 + "', load(x))\nstore(x, 1.0)"),
    "asm_text": kernel("v = inline_asm_elementwise('" + "mov.b32 $0, $1; " * 50000 +
        "', '=r,r', [load(x)], fp32, True, 1)\nstore(x, v)"),
    "asm_constraints": kernel("v = inline_asm_elementwise('', '" + "=r," * 200000 +
        "r', [load(x)], fp32, True, 1)\nstore(x, v)"),
    "raise_chain": value("def f(n):\n    raise ValueError('a' * n) from ValueError(n)\ntry:\n   "
                         " f(10**9)\nexcept ValueError: V = 1\n"),
    "sorted_key": value("V = sorted(range(10**7), key=lambda v: -v)[0]\n"),
    "gen_send": value("def g():\n    n = 0\n    while True:\n        n = (yield n) or 0\nh = g("
                      ")\nnext(h)\nwhile True:\n    h.send(1)\nV = 1\n"),
    "reduce": value("import functools\nV = functools.reduce(lambda a, b: a + b, range(10**9))\n"),
    "accumulate": value("import itertools\nV = len(list(itertools.accumulate(range(10**9))))\n"),
    "cycle": value("import itertools\nV = sum(itertools.cycle([1]))\n"),
    "chain_self": value("import itertools\na = [1]\nfor i in range(50000):\n    a = "
                        "itertools.chain(a, a)\nV = sum(a)\n"),
    "partial_chain": value("import functools\nf = lambda *a: len(a)\nfor i in range(100000):\n  "
                           "  f = functools.partial(f, 1)\nV = f()\n"),
    "str_find": value("a = 'a' * 100000\nV = 0\nfor i in range(100000):\n    V += (a + "
                      "'b').find('a' * 50000 + 'c')\n"),
    "str_count": value("a = 'ab' * 100000\nfor i in range(10**6):\n    V = a.count('ba')\n"),
    "str_split": value("V = len(('a ' * 300000).split())\n"),
    "str_slices": value("a = 'ab' * 100000\nfor i in range(10**5):\n    V = a[::-1]\nV = 1\n"),
    "str_in": value("a = 'a' * 200000\nfor i in range(10**5):\n    V = ('a' * 1000 + 'b') in a\n"
                    "V = 1\n"),
    "list_in": value("a = list(range(10000))\nfor i in range(10**6):\n    V = -1 in a\nV = 1\n"),
    "list_insert": value("a = []\nfor i in range(10**6):\n    a.insert(0, i)\nV = len(a)\n"),
    "list_pop": value("a = list(range(50000))\nfor i in range(50000):\n    a.pop(0)\nV = 1\n"),
    "list_del": value("a = list(range(50000))\nwhile a:\n    del a[0]\nV = 1\n"),
    "tuple_compare": value("a = tuple(range(50000))\nb = tuple(range(50000))\nfor i in range("
                           "10**5):\n    V = 1 if a == b else 2\n"),
    "hash_tuple": value("a = tuple(range(50000))\nd = {}\nfor i in range(10**5):\n    d[a] = i\n"
                        "V = 1\n"),
    "find_long": value("a = 'a' * 60000\nb = 'a' * 30000 + 'b'\nV = 0\nfor i in range(10**6):\n "
                       "   V += a.find(b)\n"),
    "rfind_long": value("a = 'a' * 60000\nb = 'b' + 'a' * 30000\nV = 0\nfor i in range(10**6):\n"
                        "    V += a.rfind(b)\n"),
    "in_long": value("a = 'a' * 60000\nb = 'a' * 30000 + 'b'\nV = 0\nfor i in range(10**6):\n   "
                     " V += b in a\n"),
    "count_long": value("a = 'a' * 60000\nb = 'a' * 30000 + 'b'\nV = 0\nfor i in range(10**6):\n"
                        "    V += a.count(b)\n"),
    "replace_long": value("a = 'a' * 60000\nV = 0\nfor i in range(10**6):\n    V += len("
                          "a.replace('a', 'c'))\n"),
    "split_long": value("a = 'a ' * 30000\nV = 0\nfor i in range(10**6):\n    V += len(a.split("
                        "' '))\n"),
    "upper_long": value("a = 'a' * 60000\nV = 0\nfor i in range(10**6):\n    V += len(a.upper("
                        "))\n"),
    "ljust_long": value("V = 0\nfor i in range(10**6):\n    V += len('a'.ljust(60000))\n"),
    "compare_long": value("a = 'a' * 60000\nb = 'a' * 60000\nV = 0\nfor i in range(10**6):\n    "
                          "V += a == b\n"),
    "add_long": value("a = 'a' * 60000\nV = 0\nfor i in range(10**6):\n    V += len(a + a)\n"),
    "slice_long": value("a = 'a' * 60000\nV = 0\nfor i in range(10**6):\n    V += len(a[1:])\n"),
    "repeat_long": value("V = 0\nfor i in range(10**6):\n    V += len('a' * 60000)\n"),
    "combos": value("import itertools\nV = 0\nfor i in range(10**6):\n    V += len(list("
                    "itertools.combinations(range(17), 8)))\n"),
    "perms": value("import itertools\nV = len(list(itertools.permutations(range(60000), 2)))\n"),
    "perms_long": value("import itertools\nV = len(list(itertools.permutations(range(60000))))\n"),
    "combos_long": value("import itertools\nV = len(list(itertools.combinations(range(60000), "
                         "59999)))\n"),
}
