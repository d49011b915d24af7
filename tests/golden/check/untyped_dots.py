# Shapes that no size makes fit are told of beside a dot too, which some of the elements that are tried
# do not get past; shapes that fit with some sizes are not.
# RUN: %tilec check %s | FileCheck %s
# EXIT: 1
import triton
import triton.language as tl


@triton.jit
def not_spread(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + k[None, :], (m < M)[:, None] & (k < K)[None, :], other=0.0)
        y = tl.load(b + k[:, None] * N + n[None, :], (k < K)[:, None] & (n < N)[None, :], other=0.0)
        acc = tl.dot(x, y, acc)
    tl.store(c + m * N + n[None, :], acc, (m < M)[:, None] & (n < N)[None, :])
# CHECK: untyped_dots.py:19:38: error[E0291]


@triton.jit
def columns_left_out(q, k, v, out, n, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    x = tl.load(q + m[:, None] * D + d[None, :], (m < n)[:, None], other=0.0)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, n, BN):
        at = start + tl.arange(0, BN)
        y = tl.load(k + at[:, None] * D + d[None, :], (at < n)[:, None], other=0.0)
        z = tl.load(v + at[:, None] * D + d[None, :], (at < n)[:, None], other=0.0)
        weights = tl.exp(tl.dot(x, tl.trans(y)))
        acc += tl.dot(weights.to(tl.float16), z)
    tl.store(out + m[:, None] * D, acc, (m < n)[:, None])
# CHECK: untyped_dots.py:35:36: error[E0291]
# CHECK: note: checked with q: *fp16, k: *fp16, v: *fp16, out: *fp16, D: 16


@triton.jit
def square(a, c, M, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.arange(0, BN)
    x = tl.load(a + m[:, None] * M + n[None, :], (m < M)[:, None] & (n < M)[None, :], other=0.0)
    y = tl.dot(x, x)
    tl.store(c + m[:, None] * M + m[None, :], y.to(tl.float16), (m < M)[:, None] & (m < M)[None, :])
# CHECK-NOT: error
