"""Reductions, scans, sorting, atomics, random numbers."""
import numpy as np
import triton
import triton.language as tl
from conform import case, close, run

RNG = np.random.RandomState(13)


@triton.jit
def summed(x, out, AXIS: tl.constexpr, KEEP: tl.constexpr):
    i = tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8)[None, :]
    v = tl.sum(tl.load(x + i), axis=AXIS, keep_dims=KEEP)
    n: tl.constexpr = 1 if AXIS is None else (8 if AXIS == 0 else 4)
    if KEEP:
        tl.static_assert(len(v.shape) == 2)
    if AXIS is None and not KEEP:
        tl.store(out, v)
    else:
        tl.store(out + tl.arange(0, n), tl.ravel(v))


@case("sum", (0, False), (1, True), (None, False), (None, True))
def sums_along_an_axis(axis, keep):
    x = RNG.randint(-9, 9, (4, 8)).astype(np.int32)
    out = np.zeros(8, np.int32)
    run(summed, x, out, axis, keep)
    want = np.ravel(x.sum(axis))
    close(out[:want.size], want)


@triton.jit
def sum_types(out):
    i = tl.arange(0, 8)
    tl.static_assert(tl.sum(i.to(tl.int8)).dtype == tl.int32)
    tl.static_assert(tl.sum(i.to(tl.uint8)).dtype == tl.uint32)
    tl.static_assert(tl.sum(i > 3).dtype == tl.uint32)
    tl.static_assert(tl.sum(i.to(tl.float16)).dtype == tl.float16)
    tl.static_assert(tl.sum(i.to(tl.float16), dtype=tl.float32).dtype == tl.float32)
    tl.static_assert(tl.max(i.to(tl.bfloat16)).dtype == tl.float32)
    tl.static_assert(tl.max(i.to(tl.uint8)).dtype == tl.int32)
    tl.static_assert(tl.cumsum(i.to(tl.int8)).dtype == tl.int32)
    tl.static_assert(tl.cumsum(i.to(tl.float16)).dtype == tl.float16)
    tl.store(out, tl.sum(i > 3).to(tl.int32))


@case("sum")
def short_integers_widen_and_floats_do_not():
    out = np.zeros(1, np.int32)
    run(sum_types, out)
    close(out, 4)


@triton.jit
def largest(x, out, index, LEFT: tl.constexpr):
    i = tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8)[None, :]
    v, k = tl.max(tl.load(x + i), 1, return_indices=True, return_indices_tie_break_left=LEFT)
    tl.store(out + tl.arange(0, 4), v)
    tl.store(index + tl.arange(0, 4), k)


@case("max, min")
def values_with_their_places():
    x = RNG.randint(0, 5, (4, 8)).astype(np.float32)
    out, index = np.zeros(4, np.float32), np.zeros(4, np.int32)
    run(largest, x, out, index, True)
    close(out, x.max(1))
    close(index, x.argmax(1))


@triton.jit
def with_nan(x, out):
    v = tl.load(x + tl.arange(0, 8))
    tl.store(out, tl.max(v, 0))
    tl.store(out + 1, tl.min(v, 0))


@case("max, min")
def nan_is_ignored():
    out = np.zeros(2, np.float32)
    run(with_nan, np.array([1, np.nan, 3, -2, np.nan, 0, 2, 1], np.float32), out)
    close(out, [3, -2])


@triton.jit
def places(x, out):
    v = tl.load(x + tl.arange(0, 16))
    tl.store(out, tl.argmax(v, 0))
    tl.store(out + 1, tl.argmin(v, axis=0))
    tl.static_assert(tl.argmax(v, 0).dtype == tl.int32)


@case("argmax, argmin")
def the_leftmost_of_equals():
    x, out = np.array([3, 1, 7, 7, 1, 0, 0, 7] * 2, np.int32), np.zeros(2, np.int32)
    run(places, x, out)
    close(out, [2, 5])


@triton.jit
def bits(x, out):
    v = tl.load(x + tl.arange(0, 16))
    tl.store(out, tl.xor_sum(v, 0))
    tl.store(out + 1, tl.reduce_or(v, 0))


@case("xor_sum, reduce_or")
def bits_of_all():
    x, out = RNG.randint(0, 255, 16).astype(np.int32), np.zeros(2, np.int32)
    run(bits, x, out)
    close(out, [np.bitwise_xor.reduce(x), np.bitwise_or.reduce(x)])


@triton.jit
def welford(n1, m1, s1, n2, m2, s2):
    n = n1 + n2
    d = m2 - m1
    return n, m1 + d * n2 / n, s1 + s2 + d * d * n1 * n2 / n


@triton.jit
def moments(x, out):
    v = tl.load(x + tl.arange(0, 64))
    n, m, s = tl.reduce((tl.full((64,), 1.0, tl.float32), v, tl.zeros((64,), tl.float32)), 0,
                        welford)
    tl.store(out, m)
    tl.store(out + 1, s / n)


@case("reduce")
def three_values_at_once():
    x, out = RNG.standard_normal(64).astype(np.float32), np.zeros(2, np.float32)
    run(moments, x, out)
    close(out, [x.mean(), x.var()], digits=5)


@triton.jit
def loudly(a, b):
    tl.device_print("a", a)
    return tl.inline_asm_elementwise("add.s32 $0, $1, $2;", "=r,r,r", [a, b], tl.int32,
                                     is_pure=False, pack=1)


@triton.jit
def loud(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + i, tl.associative_scan(v, 0, loudly) + tl.reduce(v, 0, loudly))


@case("reduce")
def effects_in_combine_functions():
    """They may be done in any order and for values that are thrown away: how often, nobody says."""
    x = np.arange(64, dtype=np.int32)
    out = np.zeros(64, np.int32)
    run(loud, x, out, 64)
    close(out, np.cumsum(x) + x.sum())


@triton.jit
def linear(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def recurrence(a, b, out, REVERSE: tl.constexpr):
    i = tl.arange(0, 32)
    _, v = tl.associative_scan((tl.load(a + i), tl.load(b + i)), 0, linear, reverse=REVERSE)
    tl.store(out + i, v)


@case("associative_scan", False, True)
def a_recurrence(reverse):
    a, b = RNG.uniform(0.5, 1, 32).astype(np.float32), RNG.standard_normal(32).astype(np.float32)
    out, h, want = np.zeros(32, np.float32), 0.0, np.zeros(32)
    for t in (range(31, -1, -1) if reverse else range(32)):
        h = want[t] = a[t] * h + b[t]
    run(recurrence, a, b, out, reverse)
    close(out, want, digits=5)


@triton.jit
def cumulated(x, out, REVERSE: tl.constexpr):
    i = tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8)[None, :]
    v = tl.load(x + i)
    tl.store(out + i, tl.cumsum(v, 1, reverse=REVERSE))
    tl.store(out + 32 + i, tl.cumprod(v, axis=0))


@case("cumsum, cumprod", False, True)
def running_sums_and_products(reverse):
    x, out = RNG.randint(1, 4, (4, 8)).astype(np.int32), np.zeros((2, 4, 8), np.int32)
    run(cumulated, x, out, reverse)
    sums = x[:, ::-1].cumsum(1)[:, ::-1] if reverse else x.cumsum(1)
    close(out, np.stack([sums, x.cumprod(0)]))


@triton.jit
def sorted_rows(x, out, DOWN: tl.constexpr):
    i = tl.arange(0, 4)[:, None] * 16 + tl.arange(0, 16)[None, :]
    tl.store(out + i, tl.sort(tl.load(x + i), descending=DOWN))


@case("sort, topk", False, True)
def rows_are_sorted(down):
    x, out = RNG.standard_normal((4, 16)).astype(np.float32), np.zeros((4, 16), np.float32)
    run(sorted_rows, x, out, down)
    close(out, np.sort(x, 1)[:, ::-1] if down else np.sort(x, 1))


@triton.jit
def top(x, out):
    tl.store(out + tl.arange(0, 4), tl.topk(tl.load(x + tl.arange(0, 32)), 4))


@case("sort, topk")
def the_largest_first():
    x, out = RNG.permutation(32).astype(np.int32), np.zeros(4, np.int32)
    run(top, x, out)
    close(out, [31, 30, 29, 28])


@triton.jit
def counted(x, out, n):
    i = tl.arange(0, 64)
    tl.store(out + tl.arange(0, 8), tl.histogram(tl.load(x + i), 8, mask=i < n))


@case("histogram")
def values_are_counted():
    x, out = RNG.randint(0, 8, 64).astype(np.int32), np.zeros(8, np.int32)
    run(counted, x, out, 50)
    close(out, np.bincount(x[:50], minlength=8))


@triton.jit
def atomic(p, x, old, F: tl.constexpr):
    i = tl.arange(0, 32)
    tl.store(old + i, F(p + i % 4, tl.load(x + i), mask=i < 30))


@case("atomics", tl.atomic_add, tl.atomic_max, tl.atomic_min, tl.atomic_and, tl.atomic_or,
      tl.atomic_xor)
def each_element_takes_part_once(f):
    op = {"add": np.add, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and,
          "or": np.bitwise_or, "xor": np.bitwise_xor}[f.__name__[7:]]
    x, p = RNG.randint(0, 99, 32).astype(np.int32), np.array([9, 3, 50, 60], np.int32)
    want = p.copy()
    for i in range(30):
        want[i % 4] = op(want[i % 4], x[i])
    run(atomic, p, x, np.zeros(32, np.int32), f)
    close(p, want)


@triton.jit
def float_extrema(p, x):
    i = tl.arange(0, 8)
    tl.atomic_max(p + i * 0, tl.load(x + i), sem="relaxed")
    tl.atomic_min(p + 1 + i * 0, tl.load(x + i), scope="cta")


@case("atomics")
def floats_of_both_signs():
    x, p = np.array([-3, 2, -0.5, 7, 1, -9, 4, 0], np.float32), np.zeros(2, np.float32)
    run(float_extrema, p, x)
    close(p, [7, -9])


@triton.jit
def compare_and_swap(p, old):
    tl.store(old, tl.atomic_cas(p, 5, 8))
    tl.store(old + 1, tl.atomic_cas(p, 5, 9))
    tl.store(old + 2, tl.atomic_xchg(p, 1))


@case("atomics")
def compare_and_swap_gives_the_old_value():
    p, old = np.array([5], np.int32), np.zeros(3, np.int32)
    run(compare_and_swap, p, old)
    close(p, 1)
    close(old, [5, 8, 8])


@triton.jit
def add_behind_lock(p, lock, SEM: tl.constexpr):
    i = tl.arange(0, 128)
    while tl.atomic_cas(lock, 0, 1, sem=SEM) == 1:
        pass
    tl.store(p + i, tl.load(p + i) + 1)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@case("atomics", "acq_rel", "acquire", "relaxed")
def exchange_gives_a_lock_back(sem):
    p, lock = np.zeros(128, np.int32), np.zeros(1, np.int32)
    run(add_behind_lock, p, lock, sem, grid=(400,))
    close(p, [400] * 128)
    close(lock, 0)


@triton.jit
def drawn(out, seed, T: tl.constexpr):
    i = tl.arange(0, 32)
    tl.store(out + i, tl.randint(seed, i.to(T)))


def philox(seed, offset):
    """The first word of Philox-4x32-10."""
    m = 0xFFFFFFFF
    c, k = [offset & m, offset >> 32, 0, 0], [seed & m, seed >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & m, (a >> 32) ^ c[3] ^ k[1], a & m]
        k = [(k[0] + 0x9E3779B9) & m, (k[1] + 0xBB67AE85) & m]
    return c[0]


@case("random numbers", tl.int32, tl.int64)
def the_published_stream(dtype):
    out = np.zeros(32, np.uint32)
    run(drawn, out, 12345, dtype)
    close(out, [philox(12345, i) for i in range(32)])


@triton.jit
def uniform(out):
    i = tl.arange(0, 1024)
    tl.store(out + i, tl.rand(7, i))
    tl.store(out + 1024 + i, tl.randn(7, i))


@case("random numbers")
def distributions():
    out = np.zeros((2, 1024), np.float32)
    run(uniform, out)
    bits = np.array([philox(7, i) for i in range(1024)], np.uint32).view(np.int32)
    close(out[0], np.where(bits < 0, -bits - 1, bits).astype(np.float32)
          * np.float32(4.6566127342e-10))
    assert abs(out[1].mean()) < 0.1 and abs(out[1].std() - 1) < 0.1
