# RUN: %tilec check %s | FileCheck %s
# A sum in fp16 by its own text, whatever the pointers are; one of the pointers' type is not told of.
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, K, B: tl.constexpr):
    i = tl.arange(0, B)
    acc = tl.zeros((B, B), dtype=tl.float16)
    for k in range(0, K, B):
        x = tl.load(a + i[:, None] * K + k + i[None, :])
        y = tl.load(b + (k + i[:, None]) * B + i[None, :])
        # CHECK: :15:9: warning[W0246]: 'acc' is added to in each round, and keeps fp16 between them
        acc += tl.dot(x, y).to(tl.float16)
    tl.store(c + i[:, None] * B + i[None, :], acc)


# CHECK-NOT: warning[
@triton.jit
def total(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    acc = tl.zeros((B,), dtype=y.dtype.element_ty)
    for k in range(0, n, B):
        acc += tl.load(x + k + i).to(acc.dtype)
    tl.store(y + i, acc)
