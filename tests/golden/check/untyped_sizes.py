# What equal numbers show is told of kernels without sizes too, where sizes of their own show it as
# well; sizes that are one in a single typing are no reason, nor is a size that may be 1.
# RUN: %tilec check %s | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def mean(x, out, stride, N, BLOCK_SIZE: tl.constexpr):
    cols = tl.arange(0, BLOCK_SIZE)
    v = tl.load(x + tl.program_id(0) * stride + cols, mask=cols < N, other=0.0)
    mean = tl.sum(v, axis=0) / BLOCK_SIZE
    tl.store(out + tl.program_id(0), mean)


@triton.jit
def scaled(x, out, stride, N, BLOCK_SIZE: tl.constexpr, GROUPS: tl.constexpr):
    cols = tl.arange(0, BLOCK_SIZE)
    v = tl.load(x + tl.program_id(0) * stride + cols, mask=cols < N, other=0.0)
    tl.store(out + tl.program_id(0), tl.sum(v, axis=0) / GROUPS)


@triton.jit
def total(x, out, n, BLOCK: tl.constexpr, STEP: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.float32)
    for k in range(0, n // BLOCK):
        i = k * BLOCK + tl.arange(0, BLOCK)
        acc += tl.load(x + tl.program_id(0) * n + i, mask=i < n, other=0.0)
    tl.store(out + tl.program_id(0), tl.sum(acc, axis=0))


@triton.jit
def total_of_steps(x, out, n, BLOCK: tl.constexpr, STEP: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.float32)
    for k in range(0, n // STEP):
        i = k * STEP + tl.arange(0, BLOCK)
        acc += tl.load(x + tl.program_id(0) * n + i, mask=i < n, other=0.0)
    tl.store(out + tl.program_id(0), tl.sum(acc, axis=0))


@triton.jit
def rows(x, out, n, stride, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    at = x + tl.program_id(0) * n * stride + i * stride
    acc = tl.zeros((BLOCK,), tl.float32)
    for k in range(0, n, BLOCK):
        acc += tl.load(at, mask=i < n - k, other=0.0)
        at += stride
    tl.store(out + tl.program_id(0), tl.sum(acc, axis=0))


@triton.jit
def product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float16)
    for start in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :],
                    mask=(m[:, None] < M) & ((start + k)[None, :] < K), other=0.0)
        y = tl.load(b + (start + k)[:, None] * N + n[None, :],
                    mask=((start + k)[:, None] < K) & (n[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc, out_dtype=tl.float16)
    tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))
# CHECK-NOT: warning
# CHECK: untyped_sizes.py:12:12: warning[W0248]: BLOCK_SIZE is the length of the tile, of which the mask lets in 'N'
# CHECK: help: divide by N
# CHECK: untyped_sizes.py:9:5: note: seen with BLOCK_SIZE: 64, and with the other sizes that were tried
# CHECK-NOT: warning
# CHECK: untyped_sizes.py:26:23: warning[W0275]
# CHECK: help: round up: tl.cdiv(n, BLOCK)
# CHECK-NOT: warning
# CHECK: untyped_sizes.py:48:9: warning[W0263]
# CHECK-NOT: warning
# CHECK: untyped_sizes.py:63:15: warning[W0246]: 'acc' is added to in each round, and keeps fp16 between them
# CHECK: help: start with tl.zeros(.., tl.float32), leave out_dtype of the dot out, and convert what is stored
# CHECK-NOT: warning
