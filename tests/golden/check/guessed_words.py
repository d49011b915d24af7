# RUN: %tilec check %s | FileCheck --allow-empty %s
# CHECK-NOT: error
# Constants whose kind shows only in what they are handed to; assertions that a guess breaks; helpers
# that ask for a program of an axis that they are given; decorators of others with Triton's names.
import triton
import triton.language as tl
import flydsl.compiler as flyc
from tuner import autotune


@triton.jit
def words(x, y, out, cache_modifier: tl.constexpr, PREC: tl.constexpr, ACC: tl.constexpr):
    i = tl.arange(0, 16)
    at = i[:, None] * 16 + i[None, :]
    a = tl.load(x + at, cache_modifier=cache_modifier)
    acc_type = ACC
    acc = tl.zeros((16, 16), dtype=acc_type)
    tl.store(out + at + tl.program_id(0), acc + tl.dot(a, tl.load(y + at), input_precision=PREC))


@triton.jit
def limits(x, out, MAX: tl.constexpr, K: tl.constexpr, B: tl.constexpr):
    assert K == 4 * 128
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i) - tl.log2(MAX).floor())


@triton.jit
def largest(dtype: tl.constexpr):
    if dtype == tl.float8e5:
        return 57344.0
    else:
        tl.static_assert(dtype == tl.float8e4nv)
        return 448.0


@triton.jit
def scaled(x, out, QUANT: tl.constexpr):
    i = tl.program_id(0) * 16 + tl.arange(0, 16)
    tl.store(out + i, (tl.load(x + i) / largest(QUANT)).to(QUANT))


@triton.jit
def chosen(x, out, indices, n):
    w = tl.load(indices + tl.program_id(0)) if indices else tl.cast(tl.program_id(0), tl.int64)
    tl.store(out + w, tl.load(x + w))


@triton.jit
def index_on(axis, size: tl.constexpr):
    return tl.program_id(axis) * size + tl.arange(0, size)


@triton.jit
def remapped(wid, heads):
    """Takes tl.program_id(0) apart."""
    if heads == 1:
        return wid, 0
    return wid % heads, wid // heads


@triton.jit
def through(desc, other, out, FIRST: tl.constexpr):
    d = desc
    if not FIRST:
        d = other
    v = tl.load_tensor_descriptor(d, (tl.program_id(0) * 16, 0))
    tl.store(out + tl.arange(0, 16), tl.sum(v, 1))


@triton.jit
def rows_of(x, out, D, stride, n, B: tl.constexpr):
    cols = tl.arange(0, B)
    mask = cols < D
    x += tl.program_id(0).to(tl.int64) * stride
    for _ in range(0, n):
        v = tl.load(x + D + cols, mask=mask, other=0)
        tl.store(out + cols, v, mask=mask)
        x += stride


@autotune(configs=[triton.Config({"B": 64})], key=["n"], nearest_power_of_two=True)
@triton.jit
def tuned(x, n, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), n)


@flyc.kernel
def not_ours(x):
    for i in other(x):
        results = yield i


@flyc.jit
def nor_this(x):
    with flyc.region(x) as r:
        yield r
