"""Reads a .tile file as Triton source, so that one text goes through both compilers.

The languages differ in spelling only: bare builtins take the prefix tl., parameter types and launch
defaults go, `@kernel` and `@jit` become `@triton.jit`.
"""
import importlib.util
import os
import re
import sys
import tempfile

_BUILTINS = ("program_id num_programs arange load store zeros full where exp exp2 log log2 sqrt "
             "abs maximum minimum dot make_block_ptr advance static_assert cdiv sum atomic_add "
             "clamp debug_barrier sigmoid cos sin rsqrt reshape split join trans broadcast_to "
             "expand_dims static_range cumsum histogram argmax associative_scan philox "
             "uint_to_uniform_float div_rn")
_RENAMED = {"erf": "tl.math.erf", "topk": "tl.topk", "next_power_of_2": "triton.next_power_of_2"}
_TYPES = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "int64": "int64",
          "int32": "int32", "int8": "int8", "fp8e4nv": "float8e4nv", "fp8e5": "float8e5",
          "float8e4nv": "float8e4nv", "float8e5": "float8e5"}
_IMPORTS = ("import triton\nimport triton.language as tl\n"
            "from triton.language.extra import libdevice\n\n")


def _reduced(call):
    """max and min along an axis; those of two numbers are Python's."""
    depth, own = 1, ""
    for c in call.string[call.end():]:
        depth += {"(": 1, ")": -1}.get(c, 0)
        if depth == 0:
            break
        own += c if depth == 1 else ""
    return ("tl." if "axis=" in own else "") + call.group(0)


def _code(line):
    for name in _BUILTINS.split():
        line = re.sub(r"(?<![\w.@])%s\(" % name, "tl.%s(" % name, line)
    for name, triton in _RENAMED.items():
        line = re.sub(r"(?<![\w.@])%s\(" % name, triton + "(", line)
    line = re.sub(r"(?<![\w.])(max|min)\(", _reduced, line)
    for name, triton in _TYPES.items():
        line = re.sub(r"(?<![\w.*\"'])%s\b(?!\s*=)" % name, "tl." + triton, line)
    return line


def _header(text):
    """A def's parameter list: types other than constexpr are dropped."""
    text = re.sub(r":\s*\*?(?!constexpr)[A-Za-z]\w*(?=\s*[,)=])", "", text)
    return text.replace(": constexpr", ": tl.constexpr")


def translate(text):
    text = re.sub(r'"""(.|\n)*?"""', "pass", text)
    text = re.sub(r"^pass\n", "", text)
    text = re.sub(r"^@heuristics\(.*\)\n", "", text, flags=re.M)  # of launch defaults
    text = re.sub(r"^@kernel\b(.|\n)*?(?=\n(def|@))", "@triton.jit", text, flags=re.M)
    text = re.sub(r"^@jit$", "@triton.jit", text, flags=re.M)
    text = re.sub(r"^(\w+): constexpr = ([^#\n]*)", r"\1 = tl.constexpr(\2)", text, flags=re.M)
    out, rest = _IMPORTS, text
    while True:
        m = re.search(r"^def \w+\((?:[^()]|\([^()]*\))*\):\n", rest, flags=re.M)
        if not m:
            return out + _code(rest)
        out += _code(rest[:m.start()]) + _header(m.group(0))
        rest = rest[m.end():]


_folder = tempfile.mkdtemp(prefix="tile_to_triton_")
sys.path.insert(0, _folder)


def _write(path):
    """The file in Python, and beside it those .tile files that it imports from."""
    name = os.path.splitext(os.path.basename(path))[0]
    python = os.path.join(_folder, name + ".py")
    with open(path, encoding="utf-8") as f:
        text = f.read()
    with open(python, "w", encoding="utf-8") as g:
        g.write(translate(text))
    for module in re.findall(r"^from (\w+) import", text, flags=re.M):
        other = os.path.join(os.path.dirname(path), module + ".tile")
        if os.path.exists(other):
            _write(other)
    return name, python


def load(path):
    """The .tile file as a Python module of Triton kernels (Triton reads its source from a file)."""
    name, python = _write(path)
    spec = importlib.util.spec_from_file_location("tile_" + name, python)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as f:
            print(translate(f.read()))
