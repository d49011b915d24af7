"""Operators and elementwise functions."""
import math

import numpy as np
import triton
import triton.language as tl
from triton.language.extra import libdevice
from conform import case, close, raises, run

RNG = np.random.RandomState(11)


@triton.jit
def divided(x, y, out, KIND: tl.constexpr):
    i = tl.arange(0, 16)
    a, b = tl.load(x + i), tl.load(y + i)
    if KIND == "/":
        v = a / b
    elif KIND == "//":
        v = a // b
    elif KIND == "%":
        v = a % b
    elif KIND == "rn":
        v = tl.div_rn(a, b)
    else:
        v = tl.cdiv(a, b)
    tl.store(out + i, v)


def _numbers(dtype):
    x = RNG.randint(-50, 50, 16).astype(dtype)
    y = RNG.choice([-7, -3, 2, 5, 9], 16).astype(dtype)
    return x, y


@case("/")
def integers_divide_to_fp32():
    x, y = _numbers(np.int32)
    out = np.zeros(16, np.float32)
    run(divided, x, y, out, "/")
    close(out, x.astype(np.float32) / y.astype(np.float32), ulp=2)


@case("/")
def div_rn_is_rounded_once():
    x, y = RNG.standard_normal((2, 16)).astype(np.float32)
    out = np.zeros(16, np.float32)
    run(divided, x, y, out, "rn")
    close(out, x / y)


@case("//", "//", "%")
def integers_truncate(kind):
    x, y = _numbers(np.int32)
    out = np.zeros(16, np.int32)
    run(divided, x, y, out, kind)
    close(out, np.trunc(x / y) if kind == "//" else np.fmod(x, y))


@case("%")
def the_remainder_of_floats_is_fmod():
    x, y = _numbers(np.float32)
    out = np.zeros(16, np.float32)
    run(divided, x + 0.5, y, out, "%")
    close(out, np.fmod(x + 0.5, y))


@triton.jit
def known(out):
    tl.static_assert(-7 // 2 == -4 and -7 % 2 == 1 and 2**5 == 32)
    a = tl.load(out)
    tl.store(out, (a - 7) // 2)
    tl.store(out + 1, (a - 7) % 2)
    tl.store(out + 2, tl.cdiv(a + 10, 4))


@case("//")
def constants_floor_and_tiles_truncate():
    out = np.zeros(3, np.int32)
    run(known, out)
    close(out, [-3, -1, 3])


@triton.jit
def powered(out):
    tl.store(out, tl.load(out) ** 2)


@case("**, cdiv")
def powers_are_of_constants():
    raises("**", lambda: run(powered, np.zeros(1, np.int32)))


@triton.jit
def compared(x, y, out):
    i = tl.arange(0, 8)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.static_assert((a < b).dtype == tl.int1)
    v = (a < b) + 2 * (a <= b).to(tl.int32) + 4 * (a > b).to(tl.int32)
    v += 8 * (a >= b).to(tl.int32) + 16 * (a == b).to(tl.int32) + 32 * (a != b).to(tl.int32)
    tl.store(out + i, v)


@case("comparisons")
def only_unequal_holds_for_nan():
    x = np.array([1, 2, 3, np.nan, 0.0, np.inf, -1, np.nan], np.float32)
    y = np.array([2, 2, 1, 1, -0.0, np.inf, np.nan, np.nan], np.float32)
    out = np.zeros(8, np.int32)
    run(compared, x, y, out)
    want = (x < y) + 2 * (x <= y) + 4 * (x > y) + 8 * (x >= y) + 16 * (x == y) + 32 * (x != y)
    close(out, want)


@triton.jit
def logical(x, out, n, FLAG: tl.constexpr):
    i = tl.arange(0, 8)
    a = tl.load(x + i)
    tl.store(out + i, ((a > 1) and (a < 6)) or not (a != 7))
    if FLAG or missing_name:                # noqa: F821  never evaluated
        tl.store(out + 8, n > 0 and n < 9)


@case("and, or, not")
def constants_decide_early():
    x, out = np.arange(8, dtype=np.int32), np.zeros(9, np.int32)
    run(logical, x, out, 5, True)
    close(out, [0, 0, 1, 1, 1, 1, 0, 1, 1])


@triton.jit
def bitwise(x, out):
    i = tl.arange(0, 8)
    a = tl.load(x + i)
    u = a.to(tl.uint32, bitcast=True)
    tl.store(out + i, (a & 12) ^ (a | 3) ^ ~a)
    tl.store(out + 8 + i, (a >> 1) + (a << 2))
    tl.store(out + 16 + i, (u >> 28).to(tl.int32) - a)


@case("& | ^ ~ << >> -")
def shifts_follow_the_sign():
    x, out = RNG.randint(-2**20, 2**20, 8).astype(np.int32), np.zeros(24, np.int32)
    run(bitwise, x, out)
    close(out, np.concatenate([(x & 12) ^ (x | 3) ^ ~x, (x >> 1) + (x << 2),
                               (x.view(np.uint32) >> 28).astype(np.int32) - x]))


@triton.jit
def function(x, out, F: tl.constexpr):
    i = tl.arange(0, 64)
    tl.store(out + i, F(tl.load(x + i)))


@case("exp, log, sin, sqrt, erf, ..", tl.exp, tl.exp2, tl.log, tl.log2, tl.sin, tl.cos, tl.sqrt,
      tl.rsqrt, tl.erf, tl.floor, tl.ceil, tl.sqrt_rn)
def functions_of_fp32(f):
    exact = {"rsqrt": lambda v: 1 / np.sqrt(v), "erf": np.vectorize(math.erf),
             "sqrt_rn": np.sqrt}.get(f.__name__) or getattr(np, f.__name__)
    x, out = RNG.uniform(0.1, 9, 64).astype(np.float32), np.zeros(64, np.float32)
    run(function, x, out, f)
    close(out, exact(x.astype(np.float64)), digits=6 if f.__name__ != "exp" else 5)


@case("exp, log, sin, sqrt, erf, ..")
def half_precision_is_refused():
    raises("fp16", lambda: run(function, np.ones(64, np.float16), np.ones(64, np.float16), tl.exp))


@triton.jit
def several(x, out):
    i = tl.arange(0, 8)
    a = tl.load(x + i)
    tl.store(out + i, tl.abs(a) + tl.fma(a, 2.0, 1.0))
    tl.store(out + 8 + i, tl.sigmoid(a))
    tl.store(out + 16 + i, tl.softmax(a))
    u = i.to(tl.uint32) * 1000000007
    tl.store(out + 24 + i, tl.umulhi(u, u).to(tl.float32))


@case("abs, fma, umulhi, sigmoid, softmax")
def common_functions():
    x, out = np.linspace(-3, 4, 8).astype(np.float32), np.zeros(32, np.float32)
    run(several, x, out)
    e = np.exp(x - x.max())
    u = np.arange(8, dtype=np.uint64) * 1000000007 % 2**32
    close(out, np.concatenate([abs(x) + 2 * x + 1, 1 / (1 + np.exp(-x)), e / e.sum(),
                               (u * u) >> np.uint64(32)]), digits=5)


@triton.jit
def extrema(x, y, out):
    i = tl.arange(0, 4)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, tl.maximum(a, b))
    tl.store(out + 4 + i, tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL))
    tl.store(out + 8 + i, tl.clamp(a, -1.0, 2.0))
    s = a.to(tl.bfloat16)
    tl.static_assert(tl.maximum(s, s).dtype == tl.float32)
    tl.store(out + 12, max(3, 7) + min(2, 5))


@case("maximum, minimum, clamp")
def nan_gives_way_unless_asked():
    x = np.array([1, np.nan, 3, -4], np.float32)
    y = np.array([2, 5, np.nan, -3], np.float32)
    out = np.zeros(13, np.float32)
    run(extrema, x, y, out)
    close(np.delete(out, 9), [2, 5, 3, -3, 1, np.nan, np.nan, -4, 1, 2, -1, 9])


@triton.jit
def assembly(x, out):
    i = tl.arange(0, 8)
    tl.store(out + i, tl.inline_asm_elementwise("add.s32 $0, $1, 5;", "=r,r", [tl.load(x + i)],
                                                dtype=tl.int32, is_pure=True, pack=1))


@case("inline_asm_elementwise")
def ptx_of_ones_own():
    x, out = np.arange(8, dtype=np.int32), np.zeros(8, np.int32)
    run(assembly, x, out)
    close(out, x + 5)


@triton.jit
def larger_of_sizes(x, y, out):
    i = tl.arange(0, 8)
    text: tl.constexpr = """{
        .reg .b32 high;
        and.b32 high, $1, 0b11111111111111110000000000000000;  // as bf16 has it
        max.NaN.xorsign.abs.f32 $0, high, $2;
    }"""
    tl.store(out + i, tl.inline_asm_elementwise(text, "=r,r,r", [tl.load(x + i), tl.load(y + i)],
                                                dtype=tl.float32, is_pure=True, pack=1))


@case("inline_asm_elementwise")
def sizes_and_signs():
    x = np.array([1, -2, 3, -4, 0, 6, -7, np.nan], np.float32)
    y = np.array([-2, -1, 2.5, 9, -0.5, 6, 8, 1], np.float32)
    out = np.zeros(8, np.float32)
    run(larger_of_sizes, x, y, out)
    close(out, [-2, 2, 3, -9, -0.5, 6, -8, np.nan])


@triton.jit
def library(x, out):
    i = tl.arange(0, 8)
    a = tl.load(x + i)
    tl.store(out + i, libdevice.tanh(a) + libdevice.pow(a, 2.0) + tl.math.log1p(a))
    tl.store(out + 8 + i, libdevice.j0(a))


@case("libdevice, tl.math, tl.extra.cuda")
def functions_of_libdevice():
    x, out = np.linspace(0, 3.5, 8).astype(np.float32), np.zeros(16, np.float32)
    run(library, x, out)
    z = 0.25 * x.astype(np.float64)**2
    j0 = sum((-z)**k / float(math.factorial(k))**2 for k in range(30))
    close(out, np.concatenate([np.tanh(x) + x**2 + np.log1p(x), j0]), digits=5)


@triton.jit
def registers(out):
    tl.store(out, tl.extra.cuda.num_warps() * 1000 + tl.extra.cuda.num_threads())
    tl.store(out + 1, (tl.extra.cuda.globaltimer() >= 0).to(tl.int32))


@case("libdevice, tl.math, tl.extra.cuda", 1, 8)
def what_a_program_knows_of_itself(warps):
    out = np.zeros(2, np.int32)
    run(registers, out, num_warps=warps)
    close(out, [warps * 1032, 1])


@triton.jit
def contracted(x, out):
    i = tl.arange(0, 8)
    a = tl.load(x + i)
    tl.store(out + i, a * a - 1.0)


@case("contraction of a * b + c")
def fusion_can_be_turned_off():
    x, out = (1 + np.arange(8) * 2.0**-12 + 2.0**-13).astype(np.float32), np.zeros(8, np.float32)
    run(contracted, x, out, enable_fp_fusion=False)
    close(out, (x * x).astype(np.float32) - np.float32(1))
