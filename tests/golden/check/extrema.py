# RUN: %tilec check %s | FileCheck %s
# tl.max(v, 0) and tl.min(v, 0) that are stored for every element, and reductions that are meant.
import triton
import triton.language as tl


@triton.jit
def relu(x, y, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + o, mask=o < n, other=0.0)
    # CHECK-NOT: W0237
    # CHECK: :13:9: warning[W0283]: 'tl.max(v, 0)' reduces along axis 0 to one number, which every element gets
    v = tl.max(v, 0)
    # CHECK: help: the larger of each element and 0 is tl.maximum(v, 0.0)
    # CHECK: :16:5: note: it is stored where the elements go
    tl.store(y + o, v * 2.0, mask=o < n)


@triton.jit
def relu_of_product(x, w, y, B: tl.constexpr):
    i = tl.arange(0, B)
    at = i[:, None] * B + i[None, :]
    acc = tl.dot(tl.load(x + at), tl.load(w + at))
    # CHECK: :25:11: warning[W0283]: 'tl.min(acc, 0)' reduces along axis 0 to one row, which all rows become
    acc = tl.min(acc, 0)
    # CHECK: help: the smaller of each element and 0 is tl.minimum(acc, 0.0)
    tl.store(y + at, acc.to(y.dtype.element_ty))


@triton.jit
def leaky(x, y, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + o, mask=o < n, other=0.0)
    # CHECK: :35:21: warning[W0283]: 'tl.max(v, 0)' reduces along axis 0
    tl.store(y + o, tl.max(v, 0) + 0.1 * tl.min(v, 0), mask=o < n)


# CHECK-NOT: W0283
# CHECK-NOT: W0237
@triton.jit
def meant(x, y, z, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + o, mask=o < n, other=-float("inf"))
    m = tl.max(v, 0)
    e = tl.exp(v - m)
    tl.store(y + o, e / tl.sum(e, 0), mask=o < n)
    tl.store(z + tl.program_id(0), tl.max(v, 0))


@triton.jit
def spread(x, y, n, B: tl.constexpr):
    o = tl.arange(0, B)
    v = tl.load(x + o, mask=o < n, other=-float("inf"))
    tl.store(y + o, tl.max(v, axis=0), mask=o < n)


@triton.jit
def shared(x, y, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + o, mask=o < n, other=-float("inf"))
    tl.store(y + o, tl.max(v, 0), mask=o < n)
