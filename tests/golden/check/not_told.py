# What others' kernels do on purpose, and what only a guess would make wrong: nothing is told of it.
# RUN: %tilec check %s 2>&1 | FileCheck %s
# CHECK-NOT: warning
import triton
import triton.language as tl


@triton.jit
def where_it_begins(b, c, starts, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    start = tl.load(starts + pid)
    n = tl.load(starts + pid + 1) - start
    i = tl.arange(0, BLOCK)
    for k in range(0, n, BLOCK):
        tl.store(c + start + pid + 1 + k + i, tl.load(b + start + k + i, k + i < n), k + i < n)


@triton.jit
def sums_of_its_type(hist, starts, n, BLOCK: tl.constexpr):
    acc = tl.zeros([BLOCK], dtype=starts.dtype.element_ty)
    for k in range(0, n, BLOCK):
        i = k + tl.arange(0, BLOCK)
        x = tl.load(hist + i, mask=i < n, other=0)
        tl.store(starts + i, tl.cumsum(x, 0) - x + acc, mask=i < n)
        acc += tl.sum(x, 0)


@triton.jit
def scales_of_groups(x, q, scales, rows, cols, BLOCK: tl.constexpr):
    i, j = tl.arange(0, BLOCK), tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = (i < rows)[:, None] & (j < cols)[None, :]
    v = tl.load(x + i[:, None] * cols + j[None, :], mask=inside, other=0.0)
    scale = tl.max(tl.abs(v), axis=1) / 127
    tl.store(q + i[:, None] * cols + j[None, :], (v / scale[:, None] + 0.5).to(tl.int8), mask=inside)
    tl.store(scales + i * tl.num_programs(0) + tl.program_id(0), scale, mask=i < rows)


@triton.jit
def scale_of_rows(x, scales, cols, stride, BLOCK: tl.constexpr, MOST: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + i, mask=i < cols, other=0.0)
    tl.store(scales + row, tl.max(tl.abs(v)) / MOST)


@triton.jit
def only_some(x, y, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    for _ in range(0, tl.where(pid * BLOCK < n, 1, 0), 1):
        tl.store(y + i, tl.load(x + i, mask=i < n, other=0.0) * 2, mask=i < n)


@triton.jit
def rows_of_heads(k, out, n, D: tl.constexpr, BLOCK: tl.constexpr):
    i, d = tl.arange(0, BLOCK), tl.arange(0, D)
    ptrs = k + i[:, None] * D + d[None, :]
    acc = tl.zeros([D], tl.float32)
    for start in range(0, n, BLOCK):
        acc += tl.sum(tl.load(ptrs, mask=i[:, None] < n - start, other=0.0), 0)
        ptrs += BLOCK * D
    tl.store(out + d, acc)


@triton.jit
def greatest_of_floats(x, BLOCK: tl.constexpr):
    tl.atomic_max(x + tl.arange(0, BLOCK), 1.0)


@triton.jit
def one_factor_under_a_narrowing_mask(a, b, c, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    at = i[:, None] * BLOCK + i[None, :]
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, n):
        acc += tl.dot(tl.load(a + at), tl.load(b + at, mask=i[:, None] > k, other=0.0))
    tl.store(c + at, acc)


@triton.jit
def pairs(x: "*fp32", y: "*fp32", n: "i32", BLOCK: tl.constexpr = 64):
    i = 2 * (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    m = i < n
    a, b = tl.load(x + i, mask=m), tl.load(x + i + 1, mask=m)
    tl.store(y + i, a * a - b * b, mask=m)
    tl.store(y + i + 1, 2 * a * b, mask=m)
