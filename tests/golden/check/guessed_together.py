# Guesses that belong together: both numbers of a difference are integers, a type that a parameter gives is
# one of integers where bits are asked for, a size that is asked whether it is 0 is a size; limits that are
# guessed limit nothing, and one program may be the only one on purpose.  Modules may be asked for by functions.
# RUN: %tilec check %s | FileCheck --allow-empty %s
# CHECK-NOT: {{.}}
import importlib

import pytest

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language", reason="kernels")
functional = importlib.import_module("guessed_words")


@triton.jit
def last_block(lens, seen, out, BLOCK: tl.constexpr):
    before = tl.load(lens) - tl.load(seen)
    block = before // BLOCK
    tl.store(out + block * BLOCK + tl.arange(0, BLOCK), 0)


@triton.jit
def pack(x, out, COUNT: tl.constexpr, BITS: tl.constexpr, out_dtype: tl.constexpr):
    i = tl.arange(0, COUNT)
    shifts = (i * BITS).to(out_dtype)
    values = tl.load(x + tl.program_id(0) * COUNT + i).to(out_dtype)
    tl.store(out + tl.program_id(0), tl.sum(values << shifts))


@triton.jit
def product(x, y, out, BLOCK: tl.constexpr, MORE: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a = tl.load(x + i[:, None] * BLOCK + i[None, :])
    acc = tl.dot(a, a)
    if MORE:
        j = tl.arange(0, MORE)
        b = tl.load(y + i[:, None] * MORE + j[None, :])
        acc += tl.dot(b, tl.trans(b))
    tl.store(out + i[:, None] * BLOCK + i[None, :], acc)


@triton.jit
def quantise(x, out, BLOCK: tl.constexpr, LOW: tl.constexpr, HIGH: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.clamp(tl.load(x + i), LOW, HIGH).to(tl.int8))


@triton.jit
def first_tile(x, out, ends, n, BLOCK: tl.constexpr):
    tile = tl.program_id(1)
    i = tile * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n), i < n)
    if tile == 0:
        tl.store(ends + i, -1, i < BLOCK)


@triton.jit
def padded(counts, scale, out, n, table, BLOCK: tl.constexpr, IS_RAGGED: tl.constexpr):
    if IS_RAGGED:
        length = tl.load(counts + tl.program_id(0) + 1) - tl.load(counts + tl.program_id(0))
    else:
        length = n
    more = length % BLOCK if length < 1000 else 0
    desc = tl.make_tensor_descriptor(table, [n, BLOCK], [BLOCK, 1], [16, BLOCK])
    rows = desc.load([tl.load(counts + 5), 0])
    tl.store(out + more + tl.arange(0, BLOCK), tl.sum(rows * tl.load(scale), axis=0))


@triton.jit
def with_bf16(x, y, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    tl.store(out + i, tl.dot(tl.load(x + i), tl.load(y + i).to(tl.bfloat16)))


def launch(x, out, ends, n):
    first_tile[(1, triton.cdiv(n, 64))](x, out, ends, n, BLOCK=64)
