"""Loops, conditions, functions, constants."""
import typing

import numpy as np
import triton
import triton.language as tl
from conform import case, close, raises, run

SCALE = tl.constexpr(3)
PLAIN = 3


@triton.jit
def loops(out, n, STEP: tl.constexpr):
    total = 0
    for i in range(10, n, STEP):
        total = total * 3 + i
    tl.store(out, total)
    for k in tl.range(0, 4, num_stages=2, loop_unroll_factor=2):
        tl.store(out + 1 + k, k * n)
    for k in tl.static_range(3):
        name: tl.constexpr = k + 5
        tl.store(out + name, tl.sum(tl.full((1 << k,), 1, tl.int32)))


@case("for, tl.range, tl.static_range", (17, 2), (3, -2), (10, 1))
def loops_of_all_kinds(n, step):
    out, total = np.zeros(8, np.int32), 0
    for i in range(10, n, step):
        total = total * 3 + i
    run(loops, out, n, step)
    close(out, [total, 0, n, 2 * n, 3 * n, 1, 2, 4])


@triton.jit
def retyped(out, n):
    total = 0
    for i in range(n):
        total += 0.5
    tl.store(out, total)


@case("for, tl.range, tl.static_range")
def what_a_loop_carries_keeps_its_type():
    raises("total", lambda: run(retyped, np.zeros(1, np.float32), 4))


@triton.jit
def doubled_until(out, n):
    x = 1
    while x < n:
        x *= 2
    tl.store(out, x)


@case("while", 1, 5, 1000)
def while_a_scalar_holds(n):
    out = np.zeros(1, np.int32)
    run(doubled_until, out, n)
    close(out, 1 << (n - 1).bit_length())


@triton.jit
def branches(out, n, FLAG: tl.constexpr):
    if FLAG:
        a = 10
    else:
        a = name_that_is_nowhere            # noqa: F821
    if n > 5:
        b = tl.full((4,), 1, tl.int32)
    elif n > 2:
        b = tl.full((4,), 2, tl.int32)
    else:
        b = tl.full((4,), 3, tl.int32)
    tl.store(out + tl.arange(0, 4), a + b)
    tl.store(out + 4, n if n > 3 else -n)


@case("if, a if c else b", 9, 4, 1)
def the_taken_side(n):
    out = np.zeros(5, np.int32)
    run(branches, out, n, True)
    close(out, [10 + (1 if n > 5 else 2 if n > 2 else 3)] * 4 + [n if n > 3 else -n])


@triton.jit
def one_sided(out, n):
    if n > 5:
        b = 1
    tl.store(out, b)


@case("if, a if c else b")
def a_name_of_one_side_is_unknown_after():
    raises("one side", lambda: run(one_sided, np.zeros(1, np.int32), 3))


@triton.jit
def early(out, n):
    if n < 0:
        tl.store(out, -1)
        return
    tl.store(out, n)


@triton.jit
def clipped(x, low):
    if low:
        return tl.maximum(x, 0)
    return tl.minimum(x, 0)


@triton.jit
def of_helper(out, n):
    tl.store(out, clipped(n, n > 100) + clipped(n, n < 100))


@case("return", (-4, -1), (6, 6))
def returns_under_a_condition(n, want):
    out = np.zeros(1, np.int32)
    run(early, out, n)
    close(out, want)
    run(of_helper, out, n)
    close(out, n)


@triton.jit
def checked(out, n):
    """A docstring."""
    pass
    assert n > 0, "n"
    tl.static_assert(f"{SCALE}" == "3")
    tl.device_assert(n < 100, "small")
    tl.store(out, n)


@case("assert, print, pass, f-strings")
def statements_without_a_value():
    out = np.zeros(1, np.int32)
    run(checked, out, 7)
    close(out, 7)


class Pair(typing.NamedTuple):
    pointer: object
    by: object


@triton.jit
def split(v):
    return v + 1, (v * 2, v - 1)


@triton.jit
def tuples(p, out, sizes):
    a, (b, c) = split(tl.load(p.pointer))
    tl.static_assert(len(sizes) == 3 and (1, 2) + (3,) == (1, 2, 3))
    tl.store(out, a + b * 10 + c * 100 + p.by * 1000)
    for k in tl.static_range(len(sizes)):
        tl.store(out + 1 + k, sizes[k])
    parts = [s + 1 for s in sizes]
    tl.store(out + 4, parts[-1])


@case("tuples, named tuples")
def tuples_nest_and_keep_names():
    out = np.zeros(5, np.int32)
    if _on_gpu():
        return                            # numpy arrays inside of tuples stay on the host
    run(tuples, Pair(np.array([4], np.int32), 2), out, (7, 1, 16))
    close(out, [5 + 80 + 300 + 2000, 7, 1, 16, 17])


def _on_gpu():
    import conform
    return conform.place == "cuda"


@triton.jit(noinline=True)
def apart(x, y):
    return x * 10 + y


@triton.jit
def apply(f: tl.constexpr, x, k: tl.constexpr = 4):
    return f(x, k)


@triton.jit
def calls(out, n):
    tl.store(out, apart(n, 3) + apply(apart, n) + apply(f=apart, k=1, x=n))


@case("calls of functions")
def functions_are_passed_and_have_defaults():
    out = np.zeros(1, np.int32)
    run(calls, out, 5)
    close(out, 53 + 54 + 51)


@triton.jit
def recursive(n):
    return recursive(n - 1) + 1


@case("calls of functions")
def recursion_is_refused():
    @triton.jit
    def kernel(out, n):
        tl.store(out, recursive(n))
    raises("recurs", lambda: run(kernel, np.zeros(1, np.int32), 3))


@triton.jit
def constants(out, B: tl.constexpr, NAME: tl.constexpr, T: tl.constexpr, NONE: tl.constexpr):
    n: tl.constexpr = B // 2 if NAME == "half" else B
    if NONE is None:
        tl.store(out + tl.arange(0, n), tl.full((n,), SCALE, T).to(tl.int32))
    x = 1.0                                # a tensor of fp32 from here on
    h = tl.zeros((4,), tl.bfloat16)
    tl.static_assert((h * x).dtype == tl.float32 and (h * 1.0).dtype == tl.bfloat16)
    y: tl.constexpr = 1.0
    tl.static_assert((h * y).dtype == tl.bfloat16)
    tl.static_assert(y.type == tl.constexpr_type(1.0) and x.type == tl.float32)


@case("constexpr", ("half", 4), ("whole", 8))
def constants_decide_shapes_and_types(name, n):
    out = np.zeros(8, np.int32)
    run(constants, out, 8, name, tl.int16, None)
    close(out, [3] * n + [0] * (8 - n))


@triton.jit
def of_the_run(out, n):
    stop = tl.constexpr(tl.minimum(n, 3))
    for i in range(stop):
        tl.store(out + i, i + stop)


@case("constexpr")
def values_of_the_run_stay_what_they_are():
    out = np.zeros(4, np.int32)
    run(of_the_run, out, 2)
    close(out, [2, 3, 0, 0])


@triton.jit
def of_global(out):
    tl.store(out, PLAIN)


@case("globals")
def globals_are_constexpr():
    raises("PLAIN", lambda: run(of_global, np.zeros(1, np.int32)))


@triton.jit
def of_builtins(out, x):
    tl.static_assert(isinstance(x, tl.tensor) and hasattr(tl, "load") and not hasattr(tl, "nope"))
    tl.static_assert(len((1, 2)) == 2 and max(1, 2) == 2 and list(range(2)) == [0, 1])
    tl.store(out, getattr(tl, "abs")(x))


@case("Python's functions in kernels")
def builtins_of_python():
    out = np.zeros(1, np.int32)
    run(of_builtins, out, -6)
    close(out, 6)


@triton.jit
def specialised(out, n, w, f, b, none, forced: tl.int64):
    tl.static_assert(none is None and f.dtype == tl.float32 and b.dtype == tl.int1)
    tl.static_assert(forced.dtype == tl.int64)
    tl.store(out, n.to(tl.int64) + w + f.to(tl.int64) + b + forced)


@case("specialisation of arguments", (1, 2**31), (16, 3), (-5, 2**40))
def numbers_take_types_by_value(n, w):
    out = np.zeros(1, np.int64)
    run(specialised, out, n, w, 2.5, True, None, 4)
    close(out, n + w + 2 + 1 + 4)


@case("specialisation of arguments")
def unsigned_64_bits():
    @triton.jit
    def kernel(out, w):
        tl.static_assert(w.dtype == tl.uint64)
        tl.store(out, w >> 60)
    out = np.zeros(1, np.uint64)
    run(kernel, out, 2**64 - 1)
    close(out, 15)


@triton.jit
def trying(out):
    try:
        tl.store(out, 1)
    except ValueError:
        pass


@case("statements that kernels have not")
def what_is_not_taken_is_said():
    raises("try", lambda: run(trying, np.zeros(1, np.int32)))


@case("heuristics, autotune")
def meta_parameters_from_the_others():
    @triton.autotune(configs=[triton.Config({"B": 16}, num_warps=2), triton.Config({"B": 32})],
                     key=["n"])
    @triton.heuristics({"EVEN": lambda args: args["n"] % args["B"] == 0})
    @triton.jit
    def kernel(out, n, B: tl.constexpr, EVEN: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(out + i, EVEN, i < n)
    out = np.zeros(32, np.int32)
    run(kernel, out, 32, grid=lambda meta: (triton.cdiv(32, meta["B"]),))
    close(out, [1] * 32)
