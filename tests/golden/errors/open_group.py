# A '(' that is still open where an argument of the call around it is named.
# RUN: %tilec check %s | FileCheck %s
# EXIT: 1
import triton
import triton.language as tl


@triton.jit
def dropout(x, y, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    # CHECK: :14:32: error[E0131]: expected an operator, ')' or ','; found '='
    # CHECK: help: 'mask=' names an argument of a call, and a '(' within it is still open: close it before the ',', or leave it out
    v = tl.load(x + (offs, mask=mask, other=0.0)
    tl.store(y + offs, v, mask=mask)
# CHECK: :14:21: note: the '(' that is still open


@triton.jit
def compared(y, n, BLOCK: tl.constexpr):
    # CHECK: :23:25: error[E0131]
    # CHECK: help: '==' compares; '=' assigns
    tl.store(y, 0.0, (n = 1))
