# No error where only some pointers lead to the type that a product is cast to, or where a function takes
# rows from who calls it: no guess says so.
# RUN: %tilec check %s 2>&1 | FileCheck --allow-empty %s
# CHECK-NOT: error
import triton
import triton.language as tl


@triton.jit
def gradient(Q, DO, M, DV, n, ROWS: tl.constexpr, PARTS: tl.constexpr, BLOCK_N: tl.constexpr,
             D: tl.constexpr):
    BLOCK_M: tl.constexpr = ROWS // PARTS
    offs_m, offs_n, offs_d = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N), tl.arange(0, D)
    dv = tl.zeros([BLOCK_N, D], dtype=tl.float32)
    for start in range(0, n, BLOCK_M):
        q = tl.load(Q + (start + offs_m)[None, :] * D + offs_d[:, None])
        m = tl.load(M + start + offs_m)
        do = tl.load(DO + (start + offs_m)[:, None] * D + offs_d[None, :])
        k = tl.load(Q + offs_n[:, None] * D + offs_d[None, :])
        p = tl.math.exp2(tl.dot(k, q) - m[None, :])
        dv += tl.dot(p.to(tl.float16), do)
    tl.store(DV + offs_n[:, None] * D + offs_d[None, :], dv)


@triton.jit
def shrink(x, w, out, rows, n, K: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    k, j = tl.arange(0, K), tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    acc += tl.dot(tl.load(x + rows[:, None] * K + k[None, :]), tl.load(w + k[:, None] * BLOCK_N + j[None, :]))
    tl.store(out + rows[:, None] * BLOCK_N + j[None, :], acc, mask=j[None, :] < n)


def run(q, do, m, dv, n, grid, ROWS, PARTS, BLOCK_N, D):
    gradient[grid](q, do, m, dv, n, ROWS, PARTS, BLOCK_N, D)
