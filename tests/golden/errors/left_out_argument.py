# A launch that leaves out one of several arguments: those behind it have names of their own.
# RUN: %tilec check %s | FileCheck %s
# EXIT: 1
import triton
import triton.language as tl


@triton.jit
def quantise(x, q, scale, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0) / scale
    tl.store(q + i, v.to(tl.int8), mask=i < n)


def run(x, q, n, factor):
    # CHECK: left_out_argument.py:18:5: error[E0251]: call of 'quantise' lacks the argument 'n'
    # CHECK: help: 'n' is given for 'scale', which is left out before it; the parameters are x, q, scale, n, BLOCK
    quantise[(4,)](x, q, n, BLOCK=64)
    # CHECK: left_out_argument.py:21:5: error[E0251]: call of 'quantise' lacks the argument 'n'
    # CHECK: help: the launch gives each parameter a value, in order or by name, as in n=..; they are x, q, scale, n, BLOCK
    quantise[(4,)](x, q, factor, BLOCK=64)
    # CHECK: left_out_argument.py:24:5: error[E0251]: call of 'quantise' lacks the argument 'n'
    # CHECK: help: 'q' is given for 'x', which is left out before it
    quantise[(4,)](q, factor, n, BLOCK=64)
    # CHECK-NOT: error
    quantise[(4,)](x, q, factor, n, BLOCK=64)
