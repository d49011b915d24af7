"""Programs, launches, tiles that are made."""
import inspect
import types

import numpy as np
import triton
import triton.language as tl
from conform import case, close, raises, run


@triton.jit
def numbers(out, n0: tl.constexpr, n1: tl.constexpr):
    i, j, k = tl.program_id(0), tl.program_id(1), tl.program_id(axis=2)
    at = i + n0 * (j + n1 * k)
    tl.static_assert(i.dtype == tl.int32)
    tl.store(out + at, i + 10 * j + 100 * k + 1000 * tl.num_programs(1))


@case("program_id, num_programs")
def ids_along_three_axes():
    out = np.zeros(24, np.int32)
    run(numbers, out, 2, 3, grid=(2, 3, 4))
    k, j, i = np.mgrid[0:4, 0:3, 0:2]
    close(out, (i + 10 * j + 100 * k + 3000).ravel())


@triton.jit
def third_axis(out):
    tl.store(out, tl.program_id(3))


@case("program_id, num_programs")
def a_fourth_axis_is_refused():
    raises("axis", lambda: run(third_axis, np.zeros(1, np.int32)))


@triton.jit
def count(out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, i, i < n)


@case("launch grid and options", lambda meta: (triton.cdiv(100, meta["B"]),), (7,), [7])
def grids_of_every_kind(grid):
    out = np.full(128, -1, np.int32)
    run(count, out, 100, B=16, grid=grid, num_warps=2, num_stages=1)
    close(out, np.where(np.arange(128) < 100, np.arange(128), -1))


@case("launch grid and options")
def an_empty_grid_launches_nothing():
    out = np.zeros(16, np.int32)
    run(count, out, 100, B=16, grid=(0,))
    close(out, 0 * out)


@triton.jit
def after(x):
    return x + 1


@triton.jit
def applied(out, f: tl.constexpr):
    value = 2
    tl.store(out, f(value))


@case("@triton.jit")
def a_kernel_of_a_made_text_by_another_name():
    """As libraries specialise kernels: the text of one, with a parameter as a constant."""
    def template():
        pass
    source = "def special(out):\n    f: tl.constexpr = after\n    value = 2\n    tl.store(out, f(value))\n"
    space = dict(applied.get_capture_scope())
    made = types.FunctionType(template.__code__, {**space, "after": after})
    exec(source, space)
    made.__signature__ = inspect.signature(space["special"])
    kernel = triton.JITFunction(made)
    kernel._unsafe_update_src(source)
    kernel.__name__ = kernel.fn.__name__ = "renamed"
    out = np.zeros(1, np.int32)
    run(kernel, out)
    close(out, [3])


@case("@triton.jit")
def a_kernel_returns_nothing():
    @triton.jit
    def kernel(out):
        tl.store(out, 1)
        return 5
    raises("return", lambda: run(kernel, np.zeros(1, np.int32)))


@triton.jit(do_not_specialize=["n", 2])
def unspecialised(out, n, m):
    tl.static_assert(n.dtype == tl.int32)
    tl.store(out, n.to(tl.int64) + m)


@case("@triton.jit", 1, 16)
def arguments_that_are_not_specialised(n):
    out = np.zeros(1, np.int64)
    run(unspecialised, out, n, 1)
    close(out, n + 1)


@triton.jit
def ranges(out, A: tl.constexpr, B: tl.constexpr):
    tl.static_assert(tl.arange(A, B).dtype == tl.int32)
    tl.store(out + tl.arange(0, B - A), tl.arange(A, B))


@case("arange", (0, 8), (8, 16), (5, 9))
def arange_counts(a, b):
    out = np.zeros(b - a, np.int32)
    run(ranges, out, a, b)
    close(out, np.arange(a, b))


@case("arange", (0, 6), (4, 4))
def lengths_are_powers_of_two(a, b):
    raises("power of", lambda: run(ranges, np.zeros(8, np.int32), a, b)) if a != b else \
        raises("arange", lambda: run(ranges, np.zeros(8, np.int32), a, b))


@triton.jit
def filled(out, v):
    i = tl.arange(0, 4)
    x = tl.full([2, 4], v, tl.float32) + tl.zeros((2, 4), dtype=tl.float32)
    x += tl.zeros_like(x) + tl.full((2, 4), 0.5, tl.float32)
    tl.store(out + tl.arange(0, 2)[:, None] * 4 + i[None, :], x)


@case("zeros, full, zeros_like")
def tiles_of_one_value():
    out = np.zeros((2, 4), np.float32)
    run(filled, out, 2.25)
    close(out, np.full((2, 4), 2.75))


@triton.jit
def casts(x, out, T: tl.constexpr):
    i = tl.arange(0, 8)
    v = tl.cast(tl.load(x + i), T)
    tl.static_assert(v.dtype == T)
    tl.store(out + i, v.to(tl.float32))


@case("cast, .to", tl.int32, tl.int8, tl.float16, tl.int1, tl.uint8)
def values_change_type(to):
    x = np.array([0, 1, 2.75, -3.5, 100, 7, 0.25, -0.5], np.float32)
    if to == tl.uint8:
        x = abs(x)
    out = np.zeros(8, np.float32)
    run(casts, x, out, to)
    want = {tl.int32: np.trunc(x), tl.int8: np.trunc(x), tl.float16: x, tl.int1: x != 0,
            tl.uint8: np.trunc(x)}[to]
    close(out, want)


@triton.jit
def bits(x, out):
    i = tl.arange(0, 4)
    tl.store(out + i, tl.load(x + i).to(tl.int32, bitcast=True))


@case("cast, .to")
def bits_stay_in_a_bitcast():
    x = np.array([1.0, -0.0, np.inf, 3e-45], np.float32)
    out = np.zeros(4, np.int32)
    run(bits, x, out)
    close(out, x.view(np.int32))


@triton.jit
def one(n, out):
    tl.store(out, n.to(tl.int64))


@case("cast, .to")
def an_argument_of_one_can_be_cast():
    out = np.zeros(1, np.int64)
    run(one, 1, out)
    close(out, 1)


@triton.jit
def joined(x, out):
    i = tl.arange(0, 4)
    v = tl.cat(tl.load(x + i), tl.load(x + 4 + i), can_reorder=True)
    tl.static_assert(v.shape == [8])
    tl.store(out, tl.sum(v))


@case("cat")
def cat_keeps_the_elements():
    out = np.zeros(1, np.int32)
    run(joined, np.arange(8, dtype=np.int32), out)
    close(out, 28)


@triton.jit
def constants(out):
    tl.store(out, tl.to_tensor(3).to(tl.float32))
    tl.store(out + 1, float("inf"))
    tl.store(out + 2, float("-inf"))
    tl.store(out + 3, float("nan"))
    tl.store(out + 4, int(7.9))


@case("to_tensor, float(..), int(..)")
def constants_of_python():
    out = np.zeros(5, np.float32)
    run(constants, out)
    close(out, [3, np.inf, -np.inf, np.nan, 7])


@triton.jit
def attributes(x, out):
    tl.static_assert(x.dtype.is_ptr() and x.dtype.element_ty == tl.float32)
    tl.static_assert(isinstance(x.dtype, tl.pointer_type))
    i, j = tl.arange(0, 2), tl.arange(0, 4)
    v = tl.load(x + i[:, None] * 4 + j[None, :])
    tl.static_assert(v.shape[1] == 4 and v.numel == 8 and v.dtype == tl.float32)
    tl.static_assert(v.type.element_ty == tl.float32 and v.T.shape == [4, 2])
    tl.store(out + j[:, None] * 2 + i[None, :], v.T)


@case("attributes of tiles and pointers")
def attributes_of_tiles():
    x, out = np.arange(8, dtype=np.float32), np.zeros((4, 2), np.float32)
    run(attributes, x, out)
    close(out, x.reshape(2, 4).T)


@triton.jit
def methods(x, out):
    i = tl.arange(0, 16)
    v = tl.load(x + i)
    tl.store(out + i, v.abs().sqrt().to(tl.float32) + v.sum() + v.max(0) - v.min(axis=0))
    (out + 16).store(v.argmax(0))


@case("methods of tiles")
def methods_are_functions():
    x = np.linspace(-4, 11, 16).astype(np.float32)
    out = np.zeros(17, np.float32)
    run(methods, x, out)
    close(out[:16], np.sqrt(abs(x)) + x.sum() + x.max() - x.min(), digits=5)
    close(out[16], 15)
