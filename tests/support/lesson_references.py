#!/usr/bin/env python3
"""lesson_references.py FOLDER: writes the expected results of the lessons, NN-name.npy, into FOLDER.

Plain Python in double precision, rounded to fp32 at the end; inputs are those that `--arg
NAME=randn:..` makes on the command line."""
import math
import os
import struct
import sys

MASK = (1 << 64) - 1


def randn(count, seed, letter):
    """tilec's own: SplitMix64 and Box-Muller, rounded to fp32 ("f") or fp16 ("e")."""
    state, out = seed, []

    def uniform():
        nonlocal state
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
        return (((z ^ z >> 31) >> 11) + 0.5) * 2.0 ** -53

    for _ in range(count):
        radius = math.sqrt(-2 * math.log(uniform()))
        value = radius * math.cos(6.283185307179586 * uniform())
        out.append(struct.unpack(letter, struct.pack(letter, value))[0])
    return out


def rows_of(flat, columns):
    return [flat[i:i + columns] for i in range(0, len(flat), columns)]


def product(a, b):
    columns = list(zip(*b))
    return [[math.fsum(map(float.__mul__, row, column)) for column in columns] for row in a]


def softmax(row):
    top = max(row)
    e = [math.exp(v - top) for v in row]
    total = math.fsum(e)
    return [v / total for v in e]


def vector_add():
    return (1024,), [2.0 * i for i in range(1024)]


def masks():
    return (1000,), [2.5 * i for i in range(1000)]


def transpose():
    x = rows_of(list(range(20 * 50)), 50)
    return (50, 20), [float(v) for column in zip(*x) for v in column]


def softmax_rows():
    x = rows_of([100 * v for v in randn(8 * 100, 1, "f")], 100)
    return (8, 100), [v for row in x for v in softmax(row)]


def softmax_equal():
    return (8, 100), [v for row in rows_of([-50.0] * 800, 100) for v in softmax(row)]


def layer_norm():
    out = []
    for row in rows_of(randn(4 * 300, 1, "e"), 300):
        mean = math.fsum(row) / 300
        variance = math.fsum((v - mean) ** 2 for v in row) / 300
        out += [(v - mean) / math.sqrt(variance + 1e-5) for v in row]
    return (4, 300), out


def matmul(m=80, n=72, k=100):
    c = product(rows_of(randn(m * k, 1, "e"), k), rows_of(randn(k * n, 2, "e"), n))
    return (m, n), [v for row in c for v in row]


def tile_order(tiles_m=5, tiles_n=3, group=2):
    order = []
    for first in range(0, tiles_m, group):
        for column in range(tiles_n):
            order += [row * tiles_n + column for row in range(first, min(first + group, tiles_m))]
    return (len(order),), order


def reverse_rows():
    x = rows_of(randn(6 * 50, 1, "f"), 50)
    return (6, 50), [v for row in x for v in reversed(row)]


def row_means():
    return (6,), [math.fsum(row) / 50 for row in rows_of(randn(6 * 50, 1, "f"), 50)]


def log_sum_exp():
    out = []
    for row in rows_of([100 * v for v in randn(8 * 500, 1, "f")], 500):
        top = max(row)
        out.append(top + math.log(math.fsum(math.exp(v - top) for v in row)))
    return (8,), out


def attention(heads=2, n=100, d=32):
    q, k, v = (rows_of(randn(heads * n * d, seed, "e"), d) for seed in (1, 2, 3))
    out = []
    for head in range(heads):
        part = slice(head * n, (head + 1) * n)
        scores = product(q[part], list(zip(*k[part])))
        for i, row in enumerate(scores):
            weights = softmax([s / math.sqrt(d) for s in row[:i + 1]])
            out += [math.fsum(w * r[c] for w, r in zip(weights, v[part])) for c in range(d)]
    return (heads, n, d), out


REFERENCES = {
    "01-vector-add": vector_add, "02-masks": masks, "03-transpose": transpose,
    "04-softmax": softmax_rows, "04-equal": softmax_equal, "05-layer-norm": layer_norm,
    "06-matmul": matmul, "07-grouping": tile_order, "08-reversed": reverse_rows,
    "08-means": row_means, "09-online-softmax": log_sum_exp,
    "10-attention": attention,
}


def write(path, shape, values):
    is_int = isinstance(values[0], int)
    head = f"{{'descr': '{'<i4' if is_int else '<f4'}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        f.write(struct.pack(f"<{len(values)}{'i' if is_int else 'f'}", *values))


def main():
    for name, reference in REFERENCES.items():
        write(os.path.join(sys.argv[1], name + ".npy"), *reference())


if __name__ == "__main__":
    main()
