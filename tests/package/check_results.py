"""check_results.py FOLDER: elu.x, elu.y and q, k, v, o .npy as tilec run saved them, against the
same computed here; needs the standard library only."""
import ast
import math
import os
import struct
import sys


def read(name):
    """The elements of an array, row by row."""
    with open(os.path.join(sys.argv[1], name + ".npy"), "rb") as f:
        data = f.read()
    assert data[:6] == b"\x93NUMPY", name
    length = struct.unpack("<H", data[8:10])[0]
    kind = {"<f2": "e", "<f4": "f"}[ast.literal_eval(data[10:10 + length].decode())["descr"]]
    body = data[10 + length:]
    return struct.unpack("<%d%s" % (len(body) // struct.calcsize(kind), kind), body)


def attention(q, k, v, d, scale):
    n = len(q) // d
    out = []
    for i in range(n):
        scores = [scale * sum(q[i * d + c] * k[j * d + c] for c in range(d)) for j in range(n)]
        top = max(scores)
        weights = [math.exp(s - top) for s in scores]
        total = sum(weights)
        out += [sum(w * v[j * d + c] for j, w in enumerate(weights)) / total for c in range(d)]
    return out


def check(what, found, wanted, tolerance):
    assert len(found) == len(wanted) and len(found) > 0, what
    worst = max(abs(a - b) for a, b in zip(found, wanted))
    print("%s: %d elements, largest error %.2g" % (what, len(found), worst))
    assert worst <= tolerance and any(wanted), what


check("elu", read("elu.y"), [x if x > 0 else math.expm1(x) for x in read("elu.x")], 1e-6)
# The executor rounds weights and results to fp16, as the kernel says: 2^-11 of a value below 4.
check("attention", read("o"), attention(read("q"), read("k"), read("v"), 64, 0.125), 4 * 2 ** -11)
