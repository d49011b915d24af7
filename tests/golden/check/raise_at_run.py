# A raise that the run would come to is an error without types, too; one that guards constants or arguments that are
# given otherwise says only that these are others.
# RUN: %tilec check %s | FileCheck %s
# EXIT: 1
# CHECK: raise_at_run.py:16:9: error[E0237]: this 'raise' is reached: ValueError("negative")
# CHECK-NOT: error
import triton
import triton.language as tl


@triton.jit
def run_time(x, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + offs, mask=offs < n, other=0.0)
    if tl.sum(v) < 0:
        raise ValueError("negative")
    tl.store(x + offs, v, mask=offs < n)


@triton.jit
def of_a_constant(x, n, BLOCK: tl.constexpr):
    if BLOCK > 16:
        raise ValueError("too large")
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + offs, 0.0, mask=offs < n)


@triton.jit
def of_an_argument(x, bias, n, BLOCK: tl.constexpr):
    if bias is not None:
        raise ValueError("no bias yet")
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + offs, 0.0, mask=offs < n)
