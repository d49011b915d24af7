# What `*args` or `**options` of a launch give is not known; what stands before them, or has a name, is.
# RUN: %tilec check %s | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def scale(x, y, n, stride, BLOCK: tl.constexpr, MORE: tl.constexpr = 4):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i * stride, tl.load(x + i * stride, mask=i < n) * MORE, mask=i < n)


@triton.jit
def twice(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    # CHECK-NOT: warning
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


@triton.jit
def wrong(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


def run(x, y, strides, size, options, block):
    scale[(triton.cdiv(75, 32),)](x, y, 75, *strides, BLOCK=32)
    scale[(triton.cdiv(75, 32),)](x, y, 75, *strides, 32)
    twice[(triton.cdiv(75, 128),)](x, y, 75, **options)
    twice[(triton.cdiv(75, 256),)](x, *size)
    twice[(triton.cdiv(75, 512),)](x, y, 75, block)
    # CHECK: :34:12: warning[W0261]: the grid counts blocks of another size: each program takes 32 elements
    # CHECK: help: write cdiv(75, 32)
    wrong[(triton.cdiv(75, 16),)](x, y, 75, *size, BLOCK=32)
