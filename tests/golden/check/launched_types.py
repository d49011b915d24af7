# A pointer is of what all launches of its kernel give, where the text tells who made the arrays.
# RUN: not %tilec check -Wno-unused %s 2>&1 | FileCheck %s
import numpy as np
import torch
import triton
import triton.language as tl

N = 1000


@triton.jit
def shift(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n, other=0) << 2, mask=i < n)


# CHECK: :14:21: error[E0286]: operator '<<' is not defined for tile<fp16, 256>
# CHECK: :21:1: note: checked with what this launch gives: x: *fp16, y: *fp16, BLOCK: 256
halves = torch.randn((N,), device="cuda").half()
twice = halves * 2
shift[(4,)](twice, torch.empty_like(twice), N, BLOCK=256)


@triton.jit
def grey(rgb, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = tl.load(rgb + i, mask=i < n, other=0) * 77 >> 8
    tl.store(out + i, y, mask=i < n)


# CHECK: :27:9: warning[W0220]: a shift by 8 is beyond the 8 bits of u8
grey[(4,)](np.random.randint(0, 256, N).astype(np.uint8), np.zeros(N, np.uint8), N, BLOCK=256)


@triton.jit
def mean(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + tl.program_id(0) * n + i, mask=i < n, other=0.0)
    tl.store(out + tl.program_id(0), tl.sum(v, axis=0) / n)


# CHECK: :39:38: warning[W0249]: fp32 is stored as i32
rows = torch.ones(10, 50)
mean[(10,)](rows, torch.full((10,), 0, dtype=torch.int32), 50, BLOCK=64)


# Nothing is known where launches differ, a name is set twice, or who made it is not told.
@triton.jit
def move(x, y, z, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n, other=0) << 2, mask=i < n)
    tl.store(z + i, i & tl.load(z + i, mask=i < n, other=0), mask=i < n)


def launch(given, kind):
    a = torch.empty(8, dtype=kind)
    b = torch.empty(8)
    b = b.to(torch.int32)
    move[(1,)](a, b, given, 8, BLOCK=8)
    move[(1,)](np.arange(8), given, np.full(8, 0), 8, BLOCK=8)


# CHECK-NOT: error
# CHECK-NOT: warning
