"""Slips that writers of Triton kernels make, each with the code of its error or warning and words
that the help must have: what to write instead.  slips.py TILEC checks each by `tilec check`."""
import json
import os
import subprocess
import sys
import tempfile

HEAD = """import math
import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def k(x: "*fp32", y: "*fp16", n: "i32", B: tl.constexpr = 64):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    m = i < n
"""
TAIL = """

k[(1,)](None, None, 1)
"""
# name: code, words of the help, the lines of the slip
SLIPS = {
    "precedence_of_and": ("W0209", "(a < b) & (c < d)", "m2 = i < n & i > 2"),
    "if_on_a_tile": ("E0289", "tl.where", "if m:\n        tl.store(x, 1.0)"),
    "while_on_a_tile": ("E0289", "tl.max", "while v > 0:\n        v -= 1"),
    "index_of_a_tile": ("E0295", "tl.sum", "a = v[0]"),
    "slice_of_a_tile": ("E0296", "tl.reshape", "a = v[0:4]"),
    "assign_to_an_element": ("E0230", "tl.where", "v[0] = 1.0"),
    "pointer_subscript": ("E0295", "tl.load", "a = x[i]"),
    "store_by_subscript": ("E0230", "tl.store", "x[i] = v"),
    "length_at_run_time": ("E0301", "constexpr", "j = tl.arange(0, n)"),
    "length_no_power_of_two": ("E0316", "128", "j = tl.arange(0, 100)"),
    "arange_without_start": ("E0251", "tl.arange(0, n)", "j = tl.arange(B)"),
    "arange_with_a_step": ("E0252", "step * tl.arange", "j = tl.arange(0, 64, 2)"),
    "arange_not_from_0": ("E0316", "mask", "j = tl.arange(1, B)"),
    "zeros_of_two_sizes": ("E0302", "(16, 64)", "z = tl.zeros(16, 16)"),
    "full_without_a_type": ("E0251", "tl.float32", "z = tl.full((16,), 1.0)"),
    "shapes_differ": ("E0290", "[:, None]", "a = v + tl.arange(0, 32)"),
    "dot_inner_sizes": ("E0312", "tl.trans", "a = tl.dot(tl.zeros((16, 32), tl.float16), tl.zeros((16, 32), tl.float16))"),
    "dot_types_differ": ("E0330", ".to(", "a = tl.dot(tl.zeros((16, 16), tl.float16), tl.zeros((16, 16), tl.float32))"),
    "dot_of_vectors": ("E0347", "tl.sum", "a = tl.dot(v, v)"),
    "other_without_mask": ("E0318", "mask", "a = tl.load(x + i, other=0.0)"),
    "store_swapped": ("E0317", "tl.store(x + offsets, value)", "tl.store(v, x + i)"),
    "store_without_value": ("E0251", "tl.store(pointer, value", "tl.store(x + i)"),
    "load_of_a_number": ("E0317", "pointer", "a = tl.load(n)"),
    "load_of_a_tile": ("E0317", "x + offsets", "a = tl.load(v)"),
    "load_of_a_tuple": ("E0317", "comma", "p = (x + i,)\n    a = tl.load(p)"),
    "torch_keyword_dim": ("E0253", "axis", "a = tl.sum(v, dim=0)"),
    "torch_keyword_keepdim": ("E0253", "keep_dims", "a = tl.sum(v, axis=0, keepdim=True)"),
    "dim_of_a_load": ("E0253", "load(pointer", "a = tl.load(x + i, dim=0)"),
    "fill_of_a_load": ("E0253", "'other'", "a = tl.load(x + i, fill=0.0)"),
    "max_of_two": ("E0301", "tl.maximum", "a = tl.max(v, v + 1)"),
    "min_of_two": ("E0301", "tl.minimum", "a = tl.min(v, v + 1)"),
    "python_math": ("E0259", "tl.exp", "a = math.exp(v)"),
    "torch_function": ("E0208", "tl.exp", "a = torch.exp(v)"),
    "numpy_function": ("E0208", "tl.sqrt", "a = np.sqrt(v)"),
    "astype": ("E0202", ".to(", "a = v.astype(tl.float16)"),
    "type_by_python": ("E0302", "tl.float32", "a = v.to(float)"),
    "type_as_text": ("E0302", "tl.float16", "a = v.to('float16')"),
    "short_type_name": ("E0201", "tl.float16", "a = v.to(tl.fp16)"),
    "misspelled_function": ("E0201", "'arange'", "a = tl.aragne(0, 16)"),
    "misspelled_variable": ("E0200", "'v'", "a = vv + 1"),
    "misspelled_keyword": ("E0253", "mask", "a = tl.load(x + i, maks=m)"),
    "cuda_cache_keyword": ("E0253", "cache_modifier", "a = tl.load(x + i, cache='.ca')"),
    "length_of_a_tile": ("E0346", "shape", "a = len(v)"),
    "loop_over_a_tile": ("E0249", "tl.sum", "for e in v:\n        tl.store(x, e)"),
    "append_in_a_loop": ("E0275", "tl.static_range", "a = []\n    for j in range(n):\n        a.append(v)"),
    "static_range_at_run_time": ("E0301", "tl.range or range", "for j in tl.static_range(n):\n        tl.store(x, 1.0)"),
    "static_assert_at_run_time": ("E0301", "tl.device_assert", "tl.static_assert(n > 0)"),
    "return_of_a_kernel": ("E0235", "tl.store", "return v"),
    "set_on_one_side": ("E0203", "before the 'if'", "if n > 1:\n        a = 1.0\n    tl.store(x, a)"),
    "type_changes_in_a_loop": ("E0245", "tl.zeros", "a = 0\n    for j in range(n):\n        a += v\n    tl.store(x + i, a)"),
    "number_becomes_fraction": ("E0245", "0.0", "a = 0\n    for j in range(n):\n        a += 0.5\n    tl.store(x, a)"),
    "break_at_run_time": ("E0236", "while", "for j in range(n):\n        if j > 4:\n            break"),
    "float_bits": ("E0286", "bitcast", "a = v & 1"),
    "shift_of_a_fraction": ("E0286", "tl.int32", "a = v << 1"),
    "pointer_times_number": ("E0286", "'+' and '-'", "a = x * 2"),
    "pointer_plus_fraction": ("E0299", ".to(tl.int", "a = tl.load(x + 1.0)"),
    "pointer_plus_pointer": ("E0286", "integer", "a = tl.load(x + x)"),
    "transpose_of_a_vector": ("E0313", "[:, None]", "a = tl.trans(v)"),
    "reshape_of_another_size": ("E0344", "must be 64", "a = tl.reshape(v, (16, 16))"),
    "broadcast_of_another_size": ("E0291", "size 1", "a = tl.broadcast_to(v, (32,))"),
    "program_axis": ("E0314", "three axes", "a = tl.program_id(3)"),
    "program_id_without_axis": ("E0251", "tl.program_id(0)", "a = tl.program_id()"),
    "where_of_two": ("E0251", "tl.where(condition, x, 0)", "a = tl.where(m, v)"),
    "try": ("E0239", "'if'", "try:\n        a = 1\n    except ValueError:\n        a = 2"),
    "global": ("E0239", "parameter", "global G"),
    "increment": ("E0131", "'+= 1'", "n++"),
    "c_and": ("E0131", "&", "m2 = (i < n) && m"),
    "c_or": ("E0131", "|", "m2 = (i < n) || m"),
    "c_not": ("E0110", "'~'", "m2 = !m"),
    "c_conditional": ("E0110", "if", "a = n > 0 ? 1 : 2"),
    "c_comment": ("E0131", "#", "// sum of all\n    a = 1"),
    "assignment_in_a_condition": ("E0131", "==", "if n = 1:\n        a = 1"),
    "else_if": ("E0131", "elif", "if n > 1:\n        a = 1\n    else if n > 0:\n        a = 2"),
    "c_constants": ("E0200", "True", "a = true"),
    "null": ("E0200", "None", "a = null"),
    "suffix_f": ("E0120", "no suffix", "a = v * 1.0f"),
    "missing_colon": ("E0130", "':'", "if n > 1\n        a = 1"),
    "random_without_offsets": ("E0251", "tl.rand(seed, offsets)", "a = tl.rand(42)"),
    "mean": ("E0201", "tl.sum(x, axis) / n", "a = tl.mean(v)"),
    "ones": ("E0201", "tl.full", "a = tl.ones((16,), tl.float32)"),
    "matmul_function": ("E0201", "tl.dot", "a = tl.matmul(v, v)"),
    "sync_threads": ("E0201", "tl.debug_barrier", "tl.syncthreads()"),
    "thread_number": ("E0201", "whole tiles", "a = tl.thread_id(0)"),
    "power": ("E0201", "libdevice", "a = tl.pow(v, 2.0)"),
    "squeeze": ("E0201", "tl.reshape", "a = tl.squeeze(v)"),
    "argsort": ("E0201", "tl.sort", "a = tl.argsort(v)"),
    "relu": ("E0201", "tl.maximum", "a = tl.relu(v)"),
    "floor_division_of_fractions": ("E0286", "tl.floor", "a = v // 2.0"),
    "matmul_operator": ("E0286", "tl.dot", "a = v @ v"),
    "none_in_arithmetic": ("E0214", "is not None", "a = v + None"),
    "class_in_a_kernel": ("E0239", "outside", "class P:\n        pass"),
    "assert_of_a_tile": ("E0301", "tl.device_assert", "tl.static_assert(v > 0)"),
    "transposed_dot_operand": ("E0253", "tl.trans", "a = tl.dot(tl.zeros((16, 16), tl.float16), tl.zeros((16, 16), tl.float16), trans_b=True)"),
}


def check(tilec, path, name, code, words, body):
    with open(path, "w") as f:
        f.write(HEAD + "    " + body + "\n" + TAIL)
    run = subprocess.run([tilec, "check", path, "-Wno-unused", "--error-format=json"], capture_output=True, text=True)
    found = [json.loads(line) for line in run.stderr.splitlines() if line.startswith("{")]
    found = [d for d in found if d["severity"] in ("error", "warning")]
    first = found[0] if found else {"code": "nothing", "message": run.stderr}
    if first["code"] == code and words in (first.get("help") or ""):
        return True
    print(f"{name}: found {first['code']}: {first['message']}; help: {first.get('help')}\n"
          f"   wanted {code} and {words!r} of\n    {body}")
    return False


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "slip.py")
        good = sum(check(sys.argv[1], path, name, *slip) for name, slip in SLIPS.items())
    print(f"{good} of {len(SLIPS)} slips have a help of their own")
    return good != len(SLIPS)


sys.exit(main())
