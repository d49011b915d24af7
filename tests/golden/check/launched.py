# RUN: %tilec check %s | FileCheck %s
# EXIT: 1
# A launch gives BLOCK; sizes are then known, and what is wrong with them is an error.
import triton
import triton.language as tl


@triton.jit
def k(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) + tl.arange(0, 64), mask=i < n)


def run(x, y):
    k[(1,)](x, y, x.numel(), BLOCK=256)
# CHECK: launched.py:11:21: error[E0290]: operands do not broadcast: dimension 0 is 256
# CHECK: checked with {{.*}}BLOCK: 256
