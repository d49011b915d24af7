# Offsets at the ends of 64 bits: sums that do not hold them, and warnings that divide by -1.
# RUN: %tilec check %s 2>&1 | FileCheck --allow-empty %s
# CHECK-NOT: {{.}}
import triton
import triton.language as tl


@triton.jit
def lowest(x, y, n, m, BLOCK: tl.constexpr):
    rows, columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, 64)
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    lowest = tl.full((), -9223372036854775808, tl.int64)
    v = tl.load(x + rows[:, None] * n - columns[None, :] + lowest, mask=mask)
    tl.store(y + rows[:, None] * n + columns[None, :], v, mask=mask)


@triton.jit
def apart(x, y, n):
    i = tl.arange(0, 64)
    far = tl.full((), 4611686018427387904, tl.int64)
    tl.store(x - i - far, tl.load(y + i, mask=i < n), mask=i < n)
    tl.store(y + i, tl.load(x - i + far, mask=i < n), mask=i < n)


@triton.jit
def strides(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    far = tl.full((), 4611686018427387904, tl.int64)
    v = tl.load(x + tl.program_id(0) * far + i * far, mask=i < n)
    tl.store(y + tl.program_id(0) * BLOCK + i, v, mask=i < n)
    if tl.program_id(0) == 0:
        tl.store(x + i * far, v, mask=i < n)
        tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)
