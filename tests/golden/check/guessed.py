# RUN: %tilec check %s | FileCheck --allow-empty %s
# CHECK-NOT: error
# Parameters without types whose types show only behind branches, loops and descriptors; a function
# that another package's decorator launches; a parameter that is a tuple.
import triton
import triton.language as tl
from pointwise import generated


@triton.jit
def chosen(a, b, out, scale, B: tl.constexpr):
    at = a
    if tl.program_id(1) == 1:
        at = b
    factor = 2 * scale if scale >= 1.0 else 2.0
    tl.store(out + tl.arange(0, B), tl.load(at + tl.arange(0, B)) * factor)


@triton.jit
def walked(states, seq, out, n, stride, HAS_SEQ: tl.constexpr, B: tl.constexpr):
    ps = states + tl.program_id(0) * B + tl.arange(0, B)
    last = 0
    for c in range(n):
        v = tl.load(ps).to(tl.float32)
        if HAS_SEQ:
            last = tl.load(seq + c)
        tl.store(out + tl.arange(0, B), v + last)
        ps += stride


@generated(promotion=[(0, 1)])
@triton.jit
def added(x, y, alpha):
    return x + y * alpha


@triton.jit
def copied(x, out, rows, stride, step, strides, other, B: tl.constexpr):
    d = tl.make_tensor_descriptor(x, [rows, B], [stride, step], [16, B])
    tl.store(out + tl.program_id(0) * strides[0] + tl.arange(0, B), tl.sum(d.load([0, 0]), 0) + other.scale)
