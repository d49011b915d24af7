# triton.jit as a call, with options and without, gives the function that a kernel calls.
# RUN: %tilec run %s -k k --on=cpu --grid=1 --arg x=full:fp32[1]:3 --print x | FileCheck %s
import triton
import triton.language as tl


def double(x):
    return x * 2


twice = triton.jit(double)
four_times = triton.jit(noinline=True)(lambda x: double(double(x)))


@triton.jit
def k(x):
    tl.store(x, twice(tl.load(x)) + four_times(tl.load(x)))


# CHECK: [18.]
