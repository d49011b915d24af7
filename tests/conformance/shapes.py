"""Indexing, broadcasting, rearranging."""
import numpy as np
import triton
import triton.language as tl
from conform import case, close, raises, run


@triton.jit
def grid2(x, out, R: tl.constexpr, C: tl.constexpr):
    i, j = tl.arange(0, R), tl.arange(0, C)
    tl.store(out + i[:, None] * C + j[None, :], tl.load(x + j)[None, :] * 10 + i[:, None])


@case("x[:, None], x[None, :]", (4, 8), (1, 16), (32, 2))
def new_axes(r, c):
    out = np.zeros((r, c), np.int32)
    run(grid2, np.arange(c, dtype=np.int32), out, r, c)
    close(out, np.arange(c)[None, :] * 10 + np.arange(r)[:, None])


@triton.jit
def by_number(x, out):
    tl.store(out, tl.load(x + tl.arange(0, 4))[0])


@case("x[:, None], x[None, :]")
def elements_are_not_indexed():
    raises("index", lambda: run(by_number, np.zeros(4, np.int32), np.zeros(1, np.int32)))


@triton.jit
def stretched(x, out):
    i, j = tl.arange(0, 4), tl.arange(0, 8)
    a = tl.load(x + i)[:, None]
    b, c = tl.broadcast(a, j[None, :].to(tl.float32))
    d = tl.broadcast_to(a, (4, 8)) + tl.broadcast_to(a, 4, 8)
    tl.static_assert(b.shape == [4, 8] and c.shape == [4, 8])
    tl.store(out + i[:, None] * 8 + j[None, :], b + c + d)


@case("broadcast, broadcast_to")
def ones_are_stretched():
    x, out = np.arange(4, dtype=np.float32), np.zeros((4, 8), np.float32)
    run(stretched, x, out)
    close(out, 3 * x[:, None] + np.arange(8))


@triton.jit
def unequal(out):
    tl.store(out + tl.arange(0, 8), tl.arange(0, 8) + tl.arange(0, 4))


@case("broadcast, broadcast_to")
def other_sizes_do_not_broadcast():
    raises("broadcast", lambda: run(unequal, np.zeros(8, np.int32)))


@triton.jit
def expanded(out):
    v = tl.expand_dims(tl.arange(0, 4), (0, -1))
    tl.static_assert(v.shape == [1, 4, 1])
    tl.static_assert(tl.expand_dims(tl.arange(0, 4), 1).shape == [4, 1])
    tl.store(out + tl.arange(0, 4)[None, :, None], v)


@case("expand_dims")
def axes_are_of_the_result():
    out = np.zeros(4, np.int32)
    run(expanded, out)
    close(out, np.arange(4))


@triton.jit
def doubled(out):
    tl.store(out, tl.sum(tl.expand_dims(tl.arange(0, 4), (0, -3))))


@case("expand_dims")
def an_axis_is_given_once():
    raises("duplicate axes", lambda: run(doubled, np.zeros(1, np.int32)))


@triton.jit
def reshaped(x, out, shape: tl.constexpr):
    v = tl.load(x + tl.arange(0, 64))
    v = tl.reshape(v, shape)
    tl.static_assert(v.shape == shape)
    tl.store(out + tl.arange(0, 64), tl.ravel(v.reshape(8, 8).view(4, 16)))


@case("reshape, view, ravel", ((4, 16),), ((2, 2, 2, 2, 2, 2),), ((64, 1),),
      ((2, 1, 2, 1, 2, 1, 2, 1, 4),))
def order_is_by_rows(shape):
    x, out = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    run(reshaped, x, out, shape)
    close(out, x)


@triton.jit
def single(x, out):
    i = tl.arange(0, 1)
    tl.store(out, tl.load(x + i).reshape([]) + tl.load(x + 1 + i).item())


@case("reshape, view, ravel")
def one_element_becomes_a_scalar():
    out = np.zeros(1, np.int32)
    run(single, np.array([5, 9], np.int32), out)
    close(out, 14)


@triton.jit
def turned(x, out):
    i = tl.arange(0, 32)
    v = tl.load(x + i).reshape(2, 4, 4)
    w = tl.trans(v)                       # the last two
    tl.static_assert(w.shape == [2, 4, 4])
    p = tl.permute(tl.trans(w, (1, 0, 2)), 2, 1, 0)
    tl.store(out + i, tl.ravel(p))


@case("trans, permute")
def dimensions_change_places():
    x, out = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    run(turned, x, out)
    w = x.reshape(2, 4, 4).swapaxes(1, 2).transpose(1, 0, 2).transpose(2, 1, 0)
    close(out, w.ravel())


@triton.jit
def pairs(x, out):
    i = tl.arange(0, 8)
    a, b = tl.load(x + i), tl.load(x + 8 + i)
    j = tl.join(a, b)
    tl.static_assert(j.shape == [8, 2])
    c, d = tl.split(j)
    tl.store(out + tl.arange(0, 16), tl.interleave(c, d) + tl.ravel(j) * 100)
    tl.store(out + 16 + i, tl.flip(a, 0))


@case("join, split, interleave, flip")
def pairs_are_made_and_split():
    x, out = np.arange(16, dtype=np.int32), np.zeros(24, np.int32)
    run(pairs, x, out)
    both = np.stack([x[:8], x[8:]], 1).ravel()
    close(out, np.concatenate([both * 101, x[:8][::-1]]))


@triton.jit
def picked(x, index, out, AXIS: tl.constexpr):
    i = tl.arange(0, 8)[:, None] * 4 + tl.arange(0, 4)[None, :]
    tl.store(out + i, tl.gather(tl.load(x + i), tl.load(index + i), AXIS))


@case("gather", 0, 1)
def gather_along_an_axis(axis):
    x = np.arange(32, dtype=np.int32).reshape(8, 4) * 3
    index = (np.arange(32, dtype=np.int32).reshape(8, 4) * 7) % x.shape[axis]
    out = np.zeros((8, 4), np.int32)
    run(picked, x, index, out, axis)
    close(out, np.take_along_axis(x, index, axis))


@triton.jit
def steps(x):
    n = 0
    while x > 1:
        x = x // 2 if x % 2 == 0 else x * 3 + 1
        n += 1
    return n


@triton.jit
def each(x, out):
    i = tl.arange(0, 16)
    tl.store(out + i, tl.map_elementwise(steps, tl.load(x + i)))


@case("map_elementwise")
def a_function_of_one_element():
    x, out = np.arange(1, 17, dtype=np.int32), np.zeros(16, np.int32)
    run(each, x, out)
    close(out, [0, 1, 7, 2, 5, 8, 16, 3, 19, 6, 14, 9, 9, 17, 17, 4])


@triton.jit
def swizzled(out):
    i, j = tl.swizzle2d(tl.program_id(0), tl.program_id(1), 4, 4, 2)
    tl.store(out + tl.program_id(0) * 4 + tl.program_id(1), i * 4 + j)


@case("swizzle2d")
def groups_of_rows_go_by_columns():
    out = np.zeros((4, 4), np.int32)
    run(swizzled, out, grid=(4, 4))
    close(out, [[0, 4, 1, 5], [2, 6, 3, 7], [8, 12, 9, 13], [10, 14, 11, 15]])


@triton.jit
def chosen(x, out):
    i = tl.arange(0, 8)
    v = tl.where(i % 2 == 0, tl.load(x + i), 0.5)
    tl.static_assert(tl.where(i < 4, i.to(tl.float16), i).dtype == tl.float16)
    tl.store(out + i, v)


@case("where")
def both_sides_in_one_type():
    x, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    run(chosen, x, out)
    close(out, np.where(np.arange(8) % 2 == 0, x, 0.5))
