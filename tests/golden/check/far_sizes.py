# Offsets that wrap by the numbers of a launch are told of without being asked for; others are not.
# RUN: %tilec check %s | FileCheck %s
import torch
import triton
import triton.language as tl

COLUMNS = 1 << 16


@triton.jit
def by_numbers(x, y, stride, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    # CHECK: :15:21: warning[W0288]: this part of an offset wraps: it goes to 4587454464, beyond 2147483647
    # CHECK: help: make one of the factors 64 bits wide: .to(tl.int64)
    v = tl.load(x + tl.program_id(0) * stride + c)
    # CHECK: :83:5: note: by the numbers that are given here
    tl.store(y + tl.program_id(0).to(tl.int64) * stride + c, v)


@triton.jit
def by_strides(x, y, M, N, sxm, sxn, BLOCK: tl.constexpr):
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    m = (r[:, None] < M) & (c[None, :] < N)
    # CHECK: :26:21: warning[W0288]: {{.*}} it goes to 4294901760
    v = tl.load(x + r[:, None] * sxm + c[None, :] * sxn, mask=m)
    tl.store(y + r[:, None].to(tl.int64) * sxm + c[None, :] * sxn, v, mask=m)


@triton.jit
def by_sums(x, n, BLOCK: tl.constexpr):
    for i in range(0, n, BLOCK):
        # CHECK: :34:23: warning[W0288]: {{.*}} it goes to 2199999999
        tl.store(x + (tl.program_id(0) * 2000000000 + i), 0.0)


# CHECK-NOT: warning
@triton.jit
def near(x, y, stride, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    tl.store(y + tl.program_id(0) * stride + c, tl.load(x + tl.program_id(0) * stride + c))


@triton.jit
def unknown(x, y, stride, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    tl.store(y + tl.program_id(0) * stride + c, tl.load(x + tl.program_id(0) * stride + c))


@triton.jit
def wide(x, y, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    tl.store(y + row * stride + c, tl.load(x + row * stride + c))


# Typed with the block of the first launch.
@triton.jit
def blocks(x, BLOCK: tl.constexpr):
    tl.store(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), 0.0)


def run(given, rows):
    blocks[(1000,)](given, BLOCK=1024)
    blocks[(3000000,)](given, BLOCK=64)
    x = torch.zeros((65536, COLUMNS), dtype=torch.float16, device="cuda")
    y = torch.empty_like(x)
    grid = lambda META: (triton.cdiv(x.shape[0], META["BLOCK"]), triton.cdiv(x.size(-1), META["BLOCK"]))
    by_strides[grid](x, y, x.shape[0], COLUMNS, x.stride(0), x.stride(1), BLOCK=128)
    small = x[:100]
    by_sums[(2,)](given, 200000000, BLOCK=1024)
    near[(30000,)](x, y, COLUMNS, BLOCK=1024)
    unknown[(70000,)](x, y, small.stride(0), BLOCK=1024)
    unknown[(rows,)](x, y, given.stride(0), BLOCK=1024)
    wide[(70000,)](x, y, x.stride(0), BLOCK=1024)


def shadowed(x, y, COLUMNS):
    unknown[(70000,)](x, y, COLUMNS, BLOCK=1024)


def run_more(x, y):
    by_numbers[(70000,)](x, y, 65536, BLOCK=1024)
