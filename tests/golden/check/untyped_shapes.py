# Shapes, texts and names are wrong whatever the types are, though each typing that is tried ends in a
# way of its own; and what a message tells of sizes counts where no guess is in it.
# RUN: %tilec check %s | FileCheck %s
# EXIT: 1
import triton
import triton.language as tl


@triton.jit
def swapped(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, i < n), i < n)
    a = tl.load(x + tl.arange(0, 32)[:, None] * 16 + tl.arange(0, 16)[None, :])
    b = tl.load(y + tl.arange(0, 16)[:, None] * 64 + tl.arange(0, 64)[None, :])
    tl.store(x + tl.arange(0, 32)[:, None] * 64 + tl.arange(0, 64)[None, :], tl.dot(b, a))


@triton.jit
def column_in_row(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, i < n)[:, None], i < n)


@triton.jit
def tile_condition(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, i < n)
    if v > 0:
        v = -v
    tl.store(y + i, v, i < n)


@triton.jit
def no_power(x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, 100)
    tl.store(x + i, 1.0, i < n)


@triton.jit
def text_for_axis(x, y, B: tl.constexpr):
    v = tl.load(x + tl.program_id(0) * B + tl.arange(0, B))
    tl.store(y + tl.program_id(0), tl.sum(v, axis="0"))


@triton.jit
def size_for_dtype(x, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(x + i + tl.program_id(0), tl.zeros(M, N))


@triton.jit
def point_for_comma(x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    for k in range(0, tl.cdiv(n. B)):
        tl.store(x + k * B + i, 1.0, i < n)


@triton.jit
def certain(x, y, M: tl.constexpr):
    i = tl.program_id(0) * M + tl.arange(0, M)
    a = tl.load(x + i[:, None] * M + i[None, :])
    tl.store(y + i[:, None] * M + i[None, :], tl.dot(a, a) * 2.0, mas=i < M)


@triton.jit
def item_of_pointer(x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x[i] = 1.0


@triton.jit
def asks_for_no_program(x, y):
    v = tl.load(x + tl.arange(0, 64)[:, None] * 32 + tl.arange(0, 32)[None, :])
    tl.store(y + tl.arange(0, 64), tl.sum(v, axis=0))


@triton.jit
def tensor_of_torch(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i * x.element_size(), i < n), i < n)


@triton.jit
def gives_back(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, i < n)
    tl.store(y + i, v, i < n)
    return v


# CHECK: untyped_shapes.py:15:78: error[E0312]: inner dimensions of 'dot' must match; left has 64, right has 32
# CHECK: untyped_shapes.py:21:21: error[E0291]: tile<fp32, 64x1> cannot be broadcast to shape [64]
# CHECK: untyped_shapes.py:28:8: error[E0289]: a condition must be a scalar; got tile<i1, 64>
# CHECK: untyped_shapes.py:35:32: error[E0316]: the length of 'arange' must be a power of two; got 100
# CHECK: untyped_shapes.py:42:46: error[E0302]: 'axis' of 'sum' must be an integer; got string '0'
# CHECK: untyped_shapes.py:48:52: error[E0302]: 'dtype' of 'zeros' must be a type such as tl.float32
# CHECK: help: the sizes are one tuple: tl.zeros((16, 64), tl.float32)
# CHECK: untyped_shapes.py:54:31: error[E0202]: i32 has no attribute 'B'
# CHECK: help: 'B' is a value of its own: is a ',' or an operator meant in place of the '.'?
# CHECK: untyped_shapes.py:62:67: error[E0253]: 'store' has no parameter 'mas'
# CHECK: untyped_shapes.py:68:5: error[E0230]: an item of ptr<fp32> cannot be assigned
# CHECK: help: write memory with tl.store(pointer + offsets, value, mask)
# CHECK: untyped_shapes.py:74:36: error[E0291]: tile<fp32, 32> cannot be broadcast to shape [64]
# CHECK: untyped_shapes.py:80:37: error[E0202]: i32 has no attribute 'element_size'
# CHECK: untyped_shapes.py:88:5: error[E0235]: a kernel must not return a value
# CHECK-NOT: error[
