"""Element types, promotion, conversion, hints, debugging."""
import numpy as np
import triton
import triton.language as tl
from conform import case, close, raises, run

INTS = [tl.int8, tl.int16, tl.int32, tl.int64, tl.uint8, tl.uint16, tl.uint32, tl.uint64]
FLOATS = [tl.float16, tl.bfloat16, tl.float32, tl.float64]


@triton.jit
def stored(out, T: tl.constexpr):
    v = tl.arange(0, 4).to(T)
    tl.static_assert(v.dtype == T and T.primitive_bitwidth >= 1)
    tl.store(out + tl.arange(0, 4), (v + v).to(tl.float32))


@case("types", *INTS + FLOATS)
def every_type_adds(dtype):
    out = np.zeros(4, np.float32)
    run(stored, out, dtype)
    close(out, [0, 2, 4, 6])


@case("types", tl.float8e4b8, tl.float8e5b16)
def types_of_other_vendors_are_named(dtype):
    raises("not supported in this architecture",
           lambda: run(stored, np.zeros(4, np.float32), dtype))


@triton.jit
def two(out, A: tl.constexpr, B: tl.constexpr, SUM: tl.constexpr, RATIO: tl.constexpr):
    a, b = tl.full((4,), 1, A), tl.full((4,), 2, B)
    tl.static_assert((a + b).dtype == SUM and (b * a).dtype == SUM)
    if RATIO is not None:
        tl.static_assert((a / b).dtype == RATIO)
    tl.store(out, tl.sum((a + b).to(tl.float32)))


@case("promotion of two tiles",
      (tl.int8, tl.int32, tl.int32, tl.float32), (tl.int8, tl.uint8, tl.uint8, None),
      (tl.int64, tl.uint32, tl.int64, None), (tl.int32, tl.float16, tl.float16, tl.float32),
      (tl.bfloat16, tl.int32, tl.float32, tl.float32),
      (tl.float16, tl.bfloat16, tl.float16, tl.float32),
      (tl.bfloat16, tl.bfloat16, tl.bfloat16, tl.float32),
      (tl.float32, tl.float64, tl.float64, tl.float64),
      (tl.int64, tl.float32, tl.float32, tl.float32))
def the_wider_kind_wins(a, b, total, ratio):
    out = np.zeros(1, np.float32)
    run(two, out, a, b, total, ratio)
    close(out, 12)


@triton.jit
def signs(out):
    i = tl.arange(0, 4)
    tl.store(out + i, i // i.to(tl.uint32))


@case("promotion of two tiles")
def mixed_signs_do_not_divide():
    raises("different signedness", lambda: run(signs, np.zeros(4, np.int32)))


@triton.jit
def weak(out):
    h, i = tl.zeros((4,), tl.float16), tl.zeros((4,), tl.int8)
    tl.static_assert((h + 1.5).dtype == tl.float16 and (h / 2).dtype == tl.float32)
    tl.static_assert((i + 1).dtype == tl.int8 and (i + 1.5).dtype == tl.float32)
    tl.static_assert((i + True).dtype == tl.int8)
    tl.store(out, tl.sum((h + 1.5).to(tl.float32)))


@case("promotion with literals")
def literals_do_not_widen():
    out = np.zeros(1, np.float32)
    run(weak, out)
    close(out, 6)


@triton.jit
def exponents(x, out):
    i = tl.arange(0, 8)
    v = tl.load(x + i)
    biased = (v >> 1) - 1 + 127
    tl.static_assert(biased.dtype == tl.uint8)
    bits = (biased.to(tl.int32) << 23) | ((v & 1).to(tl.int32) << 22)
    tl.store(out + i, bits.to(tl.float32, bitcast=True))


@case("promotion with literals")
def bytes_stay_bytes():
    """The exponent of an e2m1 number becomes fp32's; 129 is no negative number."""
    out = np.zeros(8, np.float32)
    run(exponents, np.arange(8, dtype=np.uint8), out)
    close(out[2:], [1, 1.5, 2, 3, 4, 6])


@triton.jit
def too_large(out):
    tl.store(out, tl.sum((tl.arange(0, 4).to(tl.int8) + 300).to(tl.int32)))


@case("promotion with literals")
def literals_out_of_range_are_refused():
    raises("out of range", lambda: run(too_large, np.zeros(1, np.int32)))


@triton.jit
def through(x, out, T: tl.constexpr, HOW: tl.constexpr):
    i = tl.arange(0, 8)
    tl.store(out + i, tl.load(x + i).to(T, fp_downcast_rounding=HOW).to(tl.float32))


@case("conversion", (tl.float16, None), (tl.float16, "rtz"), (tl.float16, "rtne"))
def floats_are_narrowed(to, how):
    x = np.array([1 + 2**-11, 1 + 3 * 2**-11, 1e-8, -1 - 2**-11 - 2**-13, 3.14159, -0.1, 0, 7],
                 np.float32)
    out = np.zeros(8, np.float32)
    run(through, x, out, to, how)
    near = x.astype(np.float16).astype(np.float32)
    if how == "rtz":
        step = np.nextafter(near.astype(np.float16), np.float16(0)).astype(np.float32)
        near = np.where(abs(near) > abs(x), step, near)
    close(out, near)


@case("conversion", (tl.float8e4nv, 448), (tl.float8e5, 57344), (tl.float8e4b15, 1.875))
def fp8_saturates(to, most):
    x = np.array([1e6, -1e6, most, 0.5, 0, 1, -1.5, 0.25], np.float32)
    out = np.zeros(8, np.float32)
    run(through, x, out, to, None)
    close(out, np.clip(x, -most, most))


@triton.jit
def to_ints(x, out):
    i = tl.arange(0, 8)
    v = tl.load(x + i)
    tl.store(out + i, v.to(tl.int32) * 10 + v.to(tl.int1))


@case("conversion")
def floats_truncate_and_truth_is_not_zero():
    x = np.array([0, 0.5, -0.5, 2.9, -2.9, 100, -0.0, 1e-30], np.float32)
    out = np.zeros(8, np.int32)
    run(to_ints, x, out)
    close(out, np.trunc(x) * 10 + (x != 0))


@triton.jit
def to_type(x, out, TO: tl.constexpr):
    i = tl.arange(0, 8)
    tl.store(out + i, tl.load(x + i).to(TO))


@case("conversion", (np.int8, np.float32), (np.uint8, np.float32), (np.int16, np.float32),
      (np.int8, np.float64), (np.uint8, np.float16))
def floats_beyond_an_integer_type(to, of):
    """They saturate; 8 bits are the low ones of 16."""
    x = np.array([200, -200, 300, 40000, -40000, 128, 255.9, -1], of)
    out = np.zeros(8, to)
    run(to_type, x, out, getattr(tl, np.dtype(to).name))
    wide = np.iinfo(np.int16 if np.dtype(to).kind == "i" else np.uint16)
    want = np.clip(np.trunc(x.astype(np.float64)), wide.min, wide.max).astype(wide.dtype).astype(to)
    assert np.array_equal(out, want), (out, want)


@triton.jit
def hinted(x, out, n):
    tl.assume(n >= 0)
    i = tl.max_contiguous(tl.multiple_of(tl.arange(0, 16), 16), 16)
    tl.static_print("compiled for", n)
    tl.debug_barrier()
    tl.store(out + i, tl.load(x + i) + n)


@case("hints")
def promises_change_no_value():
    x, out = np.arange(16, dtype=np.int32), np.zeros(16, np.int32)
    run(hinted, x, out, 5)
    close(out, x + 5)


@triton.jit
def asserted(x):
    tl.device_assert(tl.load(x + tl.arange(0, 4)) < 3, "too large")


@case("debugging")
def assertions_hold_in_debug_mode_only():
    x = np.arange(4, dtype=np.int32)
    run(asserted, x)
    if not _on_gpu():                    # there it would end the process's use of the GPU
        raises("too large", lambda: run(asserted, x, debug=True))


def _on_gpu():
    import conform
    return conform.place == "cuda"


@triton.jit
def printed(x):
    v = tl.load(x + tl.arange(0, 2))
    tl.device_print("v ", v)
    tl.device_print("bits", v, hex=True)
    print("both:", v, 7)


@case("debugging")
def lines_of_device_print():
    import contextlib
    import io
    if _on_gpu():                        # CUDA's printf writes past Python's
        return run(printed, np.array([3, -1], np.int32))
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        run(printed, np.array([3, -1], np.int32))
    at = "pid (0, 0, 0) idx "
    want = [at + "(0) v: 3", at + "(1) v: -1", at + "(0) bits: 0x00000003",
            at + "(1) bits: 0xffffffff", at + "(0) both: (operand 0) 3",
            at + "(1) both: (operand 0) -1"] * 64 + [at + "() both: (operand 1) 7"] * 128
    assert sorted(text.getvalue().split("\n")) == sorted(want + [""]), text.getvalue()


@case("Gluon")
def gluon_is_named():
    def program():
        from triton.experimental import gluon
        import triton.experimental.gluon.language as gl

        @gluon.jit
        def low(x):
            gl.store(x, gl.load(x) + 1)
        low[(1,)](np.zeros(1, np.float32))
    raises("kernel 'low'", program)
