# RUN: %tilec check %s | FileCheck --allow-empty %s
# Which of a kernel's parameters are pointers shows where `where` chooses one; an index that `where`
# chooses is none.
import triton
import triton.language as tl


@triton.jit
def copy(q, k, v, out, n, D: tl.constexpr):
    base = tl.where(tl.program_id(0) < n, q, k)
    base = tl.where(tl.program_id(0) == 2 * n, v, base)
    offs = tl.arange(0, D)
    tl.store(out + offs, tl.load(base + offs))


@triton.jit
def shifted(q, out, n, m, D: tl.constexpr):
    offs = tl.where(tl.program_id(0) < n, n, m) + tl.arange(0, D)
    tl.store(out + offs, tl.load(offs + q))


@triton.jit
def described(q, out, n, m, D: tl.constexpr):
    desc = tl._experimental_make_tensor_descriptor(q, [n, m], [m, 1], [D, D])
    x = desc.load([tl.program_id(0) * D, 0])
    tl.store(out + tl.arange(0, D), tl.sum(x, 1))


# CHECK-NOT: error
