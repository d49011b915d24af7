"""Inputs other than sources that would take hours or gigabytes: bombs_files.py TILEC [NAME..].
Arrays' headers, IR text, cache folders, tuning records, messages to the language server, arguments.
Each must end in time, below the memory limit, with a result or an error that says what is wrong."""

import json
import os
import struct

import bomb_run

ADD = ("@kernel\ndef k(x: *fp32, n: i32):\n    i = arange(0, 64)\n"
       "    store(x + i, load(x + i) + n, mask=i < n)\n")
RECORD = {"device": "d", "kernel": "k", "hash": "h", "key": "k", "config": "c", "median_ms": 1.0,
          "candidates": 1, "made": 1}


def npy(header, length=None, version=2):
    text = header.encode() + b"\n"
    size = struct.pack("<I", len(text) if length is None else length)
    return b"\x93NUMPY" + bytes([version, 0]) + size + text + b"\0" * 64


def shape(text):
    return npy(f"{{'descr': '<f4', 'fortran_order': False, 'shape': {text}, }}")


def function(body, params="%x: ptr<fp32>"):
    return f"func @k({params}) {{num_warps = 4}} {{\n{body}   return\n}}\n".encode()


def message(body):
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def opened(text):
    start = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}
    document = {"uri": "file:///a.tile", "languageId": "tile", "version": 1, "text": text}
    tell = {"jsonrpc": "2.0", "method": "textDocument/didOpen",
            "params": {"textDocument": document}}
    ask = {"jsonrpc": "2.0", "id": 2, "method": "textDocument/documentSymbol",
           "params": {"textDocument": {"uri": "file:///a.tile"}}}
    end = [{"jsonrpc": "2.0", "id": 3, "method": "shutdown"}, {"jsonrpc": "2.0", "method": "exit"}]
    return b"".join(message(json.dumps(m).encode()) for m in [start, tell, ask, *end])


# Name: (kind, bytes or text).  The kind says how it reaches tilec (commands() below).
BOMBS = {
    "npy_items": ("npy", shape("(4611686018427387904,)")),
    "npy_product": ("npy", shape("(1099511627776, 1099511627776)")),
    "npy_digits": ("npy", shape("(" + "9" * 400000 + ",)")),
    "npy_dimensions": ("npy", shape("(" + "1, " * 200000 + ")")),
    "npy_nested": ("npy", shape("(" * 300000 + "1" + ")" * 300000)),
    "npy_length": ("npy", npy("{'descr': '<f4'", length=0xffffffff)),
    "npy_dtype": ("npy", npy("{'descr': '<f" + "4" * 500000 + "', 'fortran_order': False, "
                             "'shape': (1,), }")),
    "tir_pointers": ("tir", function("", "%x: " + "ptr<" * 100000 + "fp32" + ">" * 100000)),
    "tir_shape": ("tir", function("   %a = arange {start = 0, end = 2147483647} : "
                                  "tile<i32, 2147483647, 2147483647>\n")),
    "tir_regions": ("tir", function("   %c = constant true : i1\n" + "   if %c {\n" * 100000)),
    "tir_chain": ("tir", function("   %v0 = constant 1 : i32\n" + "".join(
        f"   %v{i + 1} = add %v{i}, %v{i} : i32\n" for i in range(25000)))),
    "tir_list": ("tir", function("   %a = constant [" + "1, " * 300000 + "1] : tile<4xi32>\n")),
    "tir_digits": ("tir", function("   %a = constant " + "9" * 900000 + " : i32\n")),
    "tir_functions": ("tir", b"".join(
        b"func @k%d() {num_warps = 4} {\n   return\n}\n" % i for i in range(20000))),
    "cache_many": ("cache", 3000),
    "cache_large": ("cache", 1),
    "cache_folders": ("cache", 0),
    "tune_nested": ("tune", b"[" * 900000),
    "tune_objects": ("tune", b'{"a":' * 150000),
    "tune_many": ("tune", json.dumps([dict(RECORD, key=f"{i}") for i in range(7000)]).encode()),
    "tune_same": ("tune", json.dumps([RECORD] * 7000).encode()),
    "tune_key": ("tune", json.dumps([dict(RECORD, key="M=" + "1" * 900000)]).encode()),
    "tune_digits": ("tune", b'[{"median_ms": ' + b"9" * 900000 + b"}]"),
    "lsp_length": ("lsp", b"Content-Length: 99999999999999999999\r\n\r\n{}"),
    "lsp_promise": ("lsp", b"Content-Length: 2000000000\r\n\r\n{}"),
    "lsp_header": ("lsp", b"X: " + b"y" * 1000000),
    "lsp_headers": ("lsp", b"X: y\r\n" * 150000),
    "lsp_nested": ("lsp", message(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":' +
                                  b"[" * 900000)),
    "lsp_brackets": ("lsp", opened("(" * 900000)),
    "lsp_names": ("lsp", opened("".join(f"def f{i}(a): return a\n" for i in range(30000)))),
    "lsp_kernels": ("lsp", opened("".join(
        f"@kernel\ndef k{i}(x: *fp32):\n    store(x, {i}.0)\n" for i in range(18000)))),
    "lsp_classes": ("lsp", opened("".join(f"class C{i}:\n    a: int\n" for i in range(30000)))),
    "lsp_errors": ("lsp", opened("".join(
        f"@kernel\ndef k{i}(x: *fp32):\n    store(x, unknown{i})\n" for i in range(15000)))),
    "lsp_globals": ("lsp", opened("".join(f"N{i} = {i}\n" for i in range(30000)))),
    "tir_constraints": ("tir", function("   %a = inline_asm %x {text = \"\", constraints = \"" +
                                        "=r," * 200000 + "r\"} : i32\n")),
    "tir_operand": ("tir", function("   %a = inline_asm %x {text = \"$" + "9" * 500000 +
                                    "\", constraints = \"=r,l\"} : i32\n")),
    "lsp_many": ("lsp", message(b'{"jsonrpc":"2.0","id":1,"method":"x"}') * 12000),
    "arg_zeros": ("run", ["--arg", "x=zeros:fp32[1152921504606846976]", "--arg", "n=1"]),
    "arg_extents": ("run", ["--arg", "x=zeros:fp32[" + "65536," * 3000 + "1]", "--arg", "n=1"]),
    "arg_digits": ("run", ["--arg", "x=zeros:fp32[64]", "--arg", "n=" + "9" * 100000]),
    "grid_power": ("run", ["--grid=9**9**9**9", "--arg", "x=zeros:fp32[64]", "--arg", "n=1"]),
    "grid_brackets": ("run", ["--grid=" + "(" * 100000, "--arg", "x=zeros:fp32[64]",
                              "--arg", "n=1"]),
    "grid_sums": ("run", ["--grid=" + "1+" * 50000 + "1", "--arg", "x=zeros:fp32[64]",
                          "--arg", "n=1"]),
    "signature": ("build", ["-s", "*fp32, " * 18000]),
    "signature_nested": ("build", ["-s", "*" * 120000 + "fp32"]),
    "defines": ("build", [f"-DA{i}={i}" for i in range(20000)]),
    "assumed": ("build", ["--assume=" + "(" * 60000 + "=1"]),
}


def fill_cache(folder, name, count):
    os.makedirs(folder)
    if name == "cache_large":  # without a block on the disk
        with open(os.path.join(folder, "0" * 64 + ".tilec"), "wb") as f:
            f.truncate(1 << 38)
    for i in range(count if name == "cache_many" else 0):
        with open(os.path.join(folder, f"{i:064x}.tilec"), "wb") as f:
            f.write(b"TILEC" + struct.pack("<QQ", 1 << 62, i) * 8)
    if name == "cache_folders":
        at = folder
        for i in range(200):
            at = os.path.join(at, f"{i:02x}")
        os.makedirs(at)
        os.symlink(folder, os.path.join(folder, "loop"))


def commands(tilec, folder, name):
    kind, what = BOMBS[name]
    lines = command_lines(tilec, folder, name, kind, what)
    assert all(len(data) < 1 << 20 for _, data in lines), name
    return [bomb_run.Command(words, data, talks=kind == "lsp") for words, data in lines]


def command_lines(tilec, folder, name, kind, what):
    """The commands and what they read from their input."""
    path = os.path.join(folder, name + "." + (kind if kind in ("npy", "tir", "json") else "tile"))
    if kind in ("npy", "tir", "tune"):
        with open(path, "wb") as f:
            f.write(what)
    if kind == "npy":
        kernel = os.path.join(folder, "k.tile")
        with open(kernel, "w") as f:
            f.write(ADD)
        return [([tilec, "run", kernel, "--on=cpu", "--grid=1", "--arg", f"x=@{path}",
                  "--arg", "n=1"], b"")]
    if kind == "tir":
        return [([tilec, "build", path, "--timeout=2000", "-o", os.devnull], b"")]
    if kind == "cache":
        cache = os.path.join(folder, name)
        fill_cache(cache, name, what)
        return [([tilec, "cache", verb, f"--cache-dir={cache}"], b"")
                for verb in ("stats", "verify", "clear")]
    if kind == "tune":
        return [([tilec, "tune", f"--import={path}", f"--cache-dir={folder}/tuned"], b"")]
    if kind == "lsp":
        return [([tilec, "lsp"], what)]
    with open(path, "w") as f:
        f.write(ADD)
    verb = [tilec, kind, path]
    rest = ["--on=cpu"] if kind == "run" else ["-o", os.devnull, "--timeout=2000"]
    return [(verb + what + rest, b"")]


bomb_run.main(BOMBS, commands)
