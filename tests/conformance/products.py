"""Matrix products."""
import numpy as np
import triton
import triton.language as tl
from conform import case, close, raises, run

RNG = np.random.RandomState(7)


@triton.jit
def product(a, b, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, T: tl.constexpr,
            HOW: tl.constexpr):
    i, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + i[:, None] * K + k[None, :]).to(T)
    y = tl.load(b + k[:, None] * N + j[None, :]).to(T)
    tl.store(out + i[:, None] * N + j[None, :], tl.dot(x, y, input_precision=HOW))


def _operands(m, n, k):
    return (RNG.randint(-4, 5, (m, k)).astype(np.float32),
            RNG.randint(-4, 5, (k, n)).astype(np.float32), np.zeros((m, n), np.float32))


@case("dot", (16, 16, 16, tl.float16, None), (32, 64, 32, tl.bfloat16, None),
      (16, 32, 64, tl.float32, None), (64, 16, 32, tl.float32, "ieee"),
      (16, 16, 16, tl.float32, "tf32x3"), (1, 16, 16, tl.float16, None),
      (16, 4, 32, tl.float8e5, None), (16, 16, 32, tl.float8e4nv, None),
      (16, 16, 32, tl.float8e4b15, None))
def small_integers_come_out_exact(m, n, k, dtype, how):
    a, b, out = _operands(m, n, k)
    if dtype == tl.float8e4b15:          # up to 1.875 only
        a, b = a / 4, b / 4
    run(product, a, b, out, m, n, k, dtype, how)
    close(out, a @ b)


@case("dot")
def inner_blocks_below_16_are_refused():
    a, b, out = _operands(16, 16, 8)
    raises("K >= 16", lambda: run(product, a, b, out, 16, 16, 8, tl.float16, None))


@case("dot")
def ieee_is_nearer_than_tf32():
    a, b = (RNG.standard_normal((16, 16)).astype(np.float32) for _ in range(2))
    exact = a.astype(np.float64) @ b
    worst = {}
    for how in ("ieee", "tf32"):
        out = np.zeros((16, 16), np.float32)
        run(product, a, b, out, 16, 16, 16, tl.float32, how)
        worst[how] = abs(out - exact).max()
    assert worst["ieee"] < 1e-5 and worst["tf32"] < 3e-2, worst


@triton.jit
def said_nothing(a, b, out):
    i = tl.arange(0, 16)
    at = i[:, None] * 16 + i[None, :]
    tl.store(out + at, tl.dot(tl.load(a + at), tl.load(b + at)))


@case("dot")
def the_precision_of_a_dot_that_says_none_can_be_set():
    a, b = (RNG.standard_normal((16, 16)).astype(np.float32) for _ in range(2))
    exact, worst = a.astype(np.float64) @ b, []
    for how in (None, "ieee", None):
        out = np.zeros((16, 16), np.float32)
        with triton.knobs.language.scope():
            if how:
                triton.knobs.language.fp32_default = how
            run(said_nothing, a, b, out)
        worst.append(abs(out - exact).max())
    assert worst[1] < 1e-5 < 1e-4 < worst[0] == worst[2], worst


@triton.jit
def accumulated(a, b, c, out):
    i, k = tl.arange(0, 16), tl.arange(0, 32)
    x = tl.load(a + i[:, None] * 32 + k[None, :])
    y = tl.load(b + k[:, None] * 16 + i[None, :])
    acc = tl.load(c + i[:, None] * 16 + i[None, :])
    acc = tl.dot(x, y, acc, out_dtype=tl.int32)
    tl.static_assert(acc.dtype == tl.int32)
    tl.store(out + i[:, None] * 16 + i[None, :], acc)


@case("dot: types of the result")
def bytes_give_int32():
    a, b = (RNG.randint(-128, 128, s).astype(np.int8) for s in ((16, 32), (32, 16)))
    c, out = RNG.randint(-9, 9, (16, 16)).astype(np.int32), np.zeros((16, 16), np.int32)
    run(accumulated, a, b, c, out)
    close(out, a.astype(np.int32) @ b.astype(np.int32) + c)


@triton.jit
def without_out_dtype(out):
    x = tl.zeros((32, 32), tl.int8)
    acc = tl.dot(x, x, tl.zeros((32, 32), tl.int32))
    tl.store(out, tl.sum(acc))


@case("dot: types of the result")
def an_int32_sum_needs_out_dtype():
    raises("accumulator", lambda: run(without_out_dtype, np.zeros(1, np.int32)))


@triton.jit
def types(out):
    h, s = tl.zeros((16, 16), tl.float16), tl.zeros((16, 16), tl.bfloat16)
    tl.static_assert(tl.dot(h, h).dtype == tl.float32)
    tl.static_assert(tl.dot(h, h, out_dtype=tl.float16).dtype == tl.float16)
    tl.static_assert(tl.dot(s, s).dtype == tl.float32)
    d = tl.zeros((16, 16), tl.float64)
    tl.static_assert(tl.dot(d, d, out_dtype=tl.float64).dtype == tl.float64)
    tl.store(out, 1)


@case("dot: types of the result")
def results_by_operands():
    out = np.zeros(1, np.int32)
    run(types, out)
    close(out, 1)


@triton.jit
def batched(a, b, out):
    z, i = tl.arange(0, 2)[:, None, None] * 256, tl.arange(0, 16)
    at = z + i[None, :, None] * 16 + i[None, None, :]
    x, y = tl.load(a + at).to(tl.float16), tl.load(b + at).to(tl.float16)
    tl.store(out + at, tl.dot(x, y))


@case("dot")
def batches_of_products():
    a, b = (RNG.randint(-4, 5, (2, 16, 16)).astype(np.float32) for _ in range(2))
    out = np.zeros((2, 16, 16), np.float32)
    run(batched, a, b, out)
    close(out, a @ b)


@triton.jit
def imprecise(out, MOST: tl.constexpr):
    x = tl.full((32, 32), 1.0, tl.float8e5)
    tl.store(out, tl.sum(tl.dot(x, x, max_num_imprecise_acc=MOST)))


@case("fp8 products", 0, 32)
def partial_sums_are_asked_for(most):
    out = np.zeros(1, np.float32)
    run(imprecise, out, most)
    close(out, 32**3)


@case("fp8 products")
def at_most_k_at_a_time():
    raises("max_num_imprecise_acc", lambda: run(imprecise, np.zeros(1, np.float32), 64))


@triton.jit
def scaled(a, sa, b, sb, out):
    i, k, s = tl.arange(0, 32), tl.arange(0, 64), tl.arange(0, 2)
    x = tl.load(a + i[:, None] * 64 + k[None, :])
    y = tl.load(b + k[:, None] * 32 + i[None, :])
    p, q = None, None
    if sa is not None:
        p = tl.load(sa + i[:, None] * 2 + s[None, :])
    if sb is not None:
        q = tl.load(sb + i[:, None] * 2 + s[None, :])
    tl.store(out + i[:, None] * 32 + i[None, :], tl.dot_scaled(x, p, "e5m2", y, q, "e5m2"))


@triton.jit
def numbered(a, sa, b, sb, out):
    i, k, s = tl.arange(0, 32), tl.arange(0, 32), tl.arange(0, 4)
    x = tl.load(a + i[:, None] * 32 + k[None, :])
    y = tl.load(b + k[:, None] * 32 + i[None, :])
    p, q = tl.load(sa + i[:, None] * 4 + s[None, :]), tl.load(sb + i[:, None] * 4 + s[None, :])
    p, q = p.to(tl.float8e4nv, bitcast=True), q.to(tl.float8e4nv, bitcast=True)
    tl.store(out + i[:, None] * 32 + i[None, :], tl.dot_scaled(x, p, "e2m1", y, q, "e2m1"))


@case("dot_scaled")
def every_16_share_a_number():
    a, b = (RNG.randint(0, 256, (32, 32)).astype(np.uint8) for _ in range(2))     # two in a byte
    sa, sb = (RNG.choice(np.array([0x30, 0x38, 0x3C, 0x45], np.uint8), (32, 4)) for _ in range(2))
    four = np.array([0, .5, 1, 1.5, 2, 3, 4, 6])
    four = np.concatenate([four, -four])
    number = {0x30: .5, 0x38: 1., 0x3C: 1.5, 0x45: 3.25}
    p, q = (np.repeat(np.vectorize(number.get)(s).astype(np.float64), 16, axis=1) for s in (sa, sb))
    x = np.stack([four[a & 15], four[a >> 4]], axis=-1).reshape(32, 64) * p
    y = np.stack([four[b.T & 15], four[b.T >> 4]], axis=-1).reshape(32, 64) * q
    out = np.zeros((32, 32), np.float32)
    run(numbered, a, sa, b, sb, out)
    close(out, x @ y.T)


@case("dot_scaled")
def every_32_share_a_power_of_two():
    a, b = (RNG.choice(np.array([0x3C, 0xBC, 0x40, 0xC0, 0], np.uint8), s)   # 1, -1, 2, -2, 0
            for s in ((32, 64), (64, 32)))
    sa, sb = (RNG.randint(124, 131, (32, 2)).astype(np.uint8) for _ in range(2))
    value = {0x3C: 1, 0xBC: -1, 0x40: 2, 0xC0: -2, 0: 0}
    x, y = (np.vectorize(value.get)(v).astype(np.float64) for v in (a, b))
    want = sum((x[:, g * 32:g * 32 + 32] * 2.0**(sa[:, g:g + 1].astype(int) - 127))
               @ (y[g * 32:g * 32 + 32] * 2.0**(sb[:, g].astype(int) - 127)) for g in range(2))
    out = np.zeros((32, 32), np.float32)
    run(scaled, a, sa, b, sb, out)
    close(out, want)


@case("dot_scaled")
def one_operand_has_no_scales():
    a, b = (RNG.choice(np.array([0x3C, 0xBC, 0x40, 0xC0, 0], np.uint8), s)   # 1, -1, 2, -2, 0
            for s in ((32, 64), (64, 32)))
    sa, sb = (RNG.randint(124, 131, (32, 2)).astype(np.uint8) for _ in range(2))
    value = {0x3C: 1, 0xBC: -1, 0x40: 2, 0xC0: -2, 0: 0}
    x, y = (np.vectorize(value.get)(v).astype(np.float64) for v in (a, b))
    p, q = (np.repeat(2.0**(s.astype(int) - 127), 32, axis=1) for s in (sa, sb))
    out = np.zeros((32, 32), np.float32)
    run(scaled, a, None, b, sb, out)
    close(out, x @ (y * q.T))
    out = np.zeros((32, 32), np.float32)
    run(scaled, a, sa, b, None, out)
    close(out, (x * p) @ y)
