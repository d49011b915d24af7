"""Loads, stores, pointers, blocks, descriptors."""
import numpy as np
import triton
import triton.language as tl
from conform import case, close, raises, run
from triton.tools.ragged_tma import atomic_add_ragged, load_ragged, store_ragged


@triton.jit
def masked(x, out, n, OTHER: tl.constexpr):
    i = tl.arange(0, 16)
    tl.store(out + i, tl.load(x + i, mask=i < n, other=OTHER))


@case("load", 0.0, -1.5, 7)
def elements_off_the_mask_are_other(other):
    x, out = np.arange(10, dtype=np.float32), np.zeros(16, np.float32)
    run(masked, x, out, 10, other)
    close(out, np.concatenate([x, np.full(6, other)]))


@triton.jit
def pooled(x, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + (i[:, None, None] * N + i[None, :, None]) * N + i[None, None, :],
                mask=(i < n)[:, None, None], other=0.0)
    tl.store(out + i[:, None] * N + i[None, :], tl.sum(v, axis=1))


@case("load", 1, 2, 4)
def a_tile_of_thousands_of_elements_a_thread(warps):
    x = np.random.default_rng(warps).integers(-9, 9, (64, 64, 64)).astype(np.float32)
    out = np.full((64, 64), 7, np.float32)
    run(pooled, x, out, 33, 64, num_warps=warps)
    x[33:] = 0
    close(out, x.sum(axis=1))


@case("load")
def other_needs_a_mask():
    @triton.jit
    def kernel(x):
        tl.store(x, tl.load(x + 1, other=1.0))
    raises("mask", lambda: run(kernel, np.zeros(2, np.float32)))


@triton.jit
def scalar(x, out, n):
    tl.store(out, tl.load(x, n > 0, 5.0) + tl.load(x + 1, n > 9, 5.0))


@case("load")
def a_scalar_takes_a_scalar_mask():
    out = np.zeros(1, np.float32)
    run(scalar, np.array([1, 2], np.float32), out, 3)
    close(out, 6)


@triton.jit
def hints(x, out, CACHE: tl.constexpr, KEEP: tl.constexpr):
    i = tl.arange(0, 16)
    v = tl.load(x + i, cache_modifier=CACHE, eviction_policy=KEEP, volatile=KEEP == "")
    tl.store(out + i, v, eviction_policy=KEEP, cache_modifier="" if CACHE == ".ca" else ".cs")


@case("caches and eviction", (".ca", ""), (".cg", "evict_first"), (".cv", "evict_last"))
def hints_change_no_value(cache, keep):
    x, out = np.arange(16, dtype=np.int32), np.zeros(16, np.int32)
    run(hints, x, out, cache, keep)
    close(out, x)


@triton.jit
def narrowed(x, out, n):
    i = tl.arange(0, 8)
    tl.store(out + i, tl.load(x + i), i < n)
    tl.store(out + 8 + i, 2.5)


@case("store")
def values_become_the_element_type():
    x, out = np.arange(8, dtype=np.float32) + 0.75, np.full(16, -1, np.int16)
    run(narrowed, x, out, 5)
    close(out, [0, 1, 2, 3, 4, -1, -1, -1] + [2] * 8)


@triton.jit
def constant(x: tl.const, out):
    tl.store(x, tl.load(out))


@case("store")
def constant_pointers_are_not_written():
    raises("constant pointer", lambda: run(constant, np.zeros(1, np.int32),
                                           np.zeros(1, np.int32)))


@triton.jit
def offsets(x, out, back):
    u = tl.full((), 255, tl.uint8)
    tl.store(out, tl.load(x + u))                        # unsigned
    tl.store(out + 1, tl.load(x + 200 + back))           # signed
    y = (x + 8).to(tl.int64) - x.to(tl.int64)
    tl.store(out + 2, y)
    tl.store(out + 3, tl.load(x.to(tl.pointer_type(tl.uint16)) + 2))


@case("pointer arithmetic")
def offsets_are_in_elements():
    x, out = np.arange(256, dtype=np.int32), np.zeros(4, np.int64)
    run(offsets, x, out, -200)
    close(out, [255, 0, 32, 1])


@triton.jit
def block(x, out, M, N):
    p = tl.make_block_ptr(x, shape=(M, N), strides=(N, 1), offsets=(0, 0), block_shape=(4, 8),
                          order=(1, 0))
    p = tl.advance(p, (4, 8))
    v = tl.load(p, boundary_check=(0, 1), padding_option="zero")
    q = tl.make_block_ptr(out, (4, 8), (8, 1), (0, 0), (4, 8), (1, 0))
    tl.store(q, v)


@case("make_block_ptr, advance")
def blocks_are_padded_outside():
    x, out = np.arange(6 * 11, dtype=np.float32).reshape(6, 11) + 1, np.zeros((4, 8), np.float32)
    run(block, x, out, 6, 11)
    want = np.zeros((4, 8), np.float32)
    want[:2, :3] = x[4:, 8:]
    close(out, want)


@triton.jit
def described(x, out, M, N, PAD: tl.constexpr):
    d = tl.make_tensor_descriptor(x, [M, N], [N, 1], [4, 8], padding_option=PAD)
    tl.static_assert(d.block_shape == [4, 8] and d.dtype == tl.float32)
    e = tl.make_tensor_descriptor(out, [6, 8], [8, 1], [4, 8])
    e.store([4, 0], d.load([M - 2, 0]))                  # two of four rows are outside
    tl.store_tensor_descriptor(e, [0, 0], tl.load_tensor_descriptor(d, [M - 1, 0]))


@case("make_tensor_descriptor", "zero", "nan")
def descriptors_are_bounded(pad):
    x, out = np.arange(80, dtype=np.float32).reshape(10, 8), np.full((6, 8), -1, np.float32)
    run(described, x, out, 10, 8, pad)
    fill = 0 if pad == "zero" else np.nan
    close(out, np.concatenate([x[9:], np.full((3, 8), fill), x[8:10]]))


@triton.jit
def rows(x, out, index):
    d = tl.make_tensor_descriptor(x, [20, 16], [16, 1], [1, 16])
    e = tl.make_tensor_descriptor(out, [20, 16], [16, 1], [1, 16])
    i = tl.load(index + tl.arange(0, 8))
    e.scatter(d.gather(i, 4), 19 - i, 0)


@case("methods of descriptors")
def rows_by_number():
    x, out = np.arange(320, dtype=np.float32).reshape(20, 16), np.zeros((20, 16), np.float32)
    index = np.array([3, 0, 19, 7, 8, 11, 2, 5], np.int32)
    run(rows, x, out, index)
    want = np.zeros((20, 16), np.float32)
    want[19 - index, :12] = x[index, 4:]
    close(out, want)


@triton.jit
def combined(x, out, HOW: tl.constexpr):
    d = tl.make_tensor_descriptor(out, [6, 8], [8, 1], [4, 8])
    v = tl.load(x + tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8)[None, :])
    at = [tl.program_id(0) * 4, 0]
    if HOW == "add":
        d.atomic_add(at, v)
    elif HOW == "min":
        d.atomic_min(at, v)
    elif HOW == "max":
        d.atomic_max(at, v)
    elif HOW == "and":
        d.atomic_and(at, v)
    elif HOW == "or":
        d.atomic_or(at, v)
    else:
        d.atomic_xor(at, v)


@case("methods of descriptors", "add", "min", "max", "and", "or", "xor")
def blocks_are_combined_with_memory(how):
    x = (np.arange(32, dtype=np.int32).reshape(4, 8) * 5) % 13
    out = np.arange(48, dtype=np.int32).reshape(6, 8) % 9
    both = np.concatenate([x, x[:2]])
    want = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
            "or": np.bitwise_or, "xor": np.bitwise_xor}[how](out, both)
    run(combined, x, out, how, grid=(2,))
    close(out, want)


@case("methods of descriptors", "min", "max")
def halves_are_combined_with_memory(how):
    x = ((np.arange(32) * 5) % 13 - 6).astype(np.float16).reshape(4, 8)
    out = (np.arange(48) % 9 - 4).astype(np.float16).reshape(6, 8)
    x[0, 5] = np.nan                                     # loses
    want = {"min": np.fmin, "max": np.fmax}[how](out, np.concatenate([x, x[:2]]))
    run(combined, x, out, how, grid=(2,))
    close(out, want)


@triton.jit
def batches(x, out, n):
    far = 2147418112                                     # as create_ragged_descriptor makes them
    steps = [2**34 - 8, 8, 8, 1]
    d = tl.make_tensor_descriptor(x, [far, far, 2**30, 8], steps, [1, 1, 4, 8])
    e = tl.make_tensor_descriptor(out, [far, far, 2**30, 8], steps, [1, 1, 4, 8])
    v = load_ragged(d, 2, n, [1, 0])                     # from the batch's second row on
    store_ragged(e, 5, 3, [0, 0], v)
    atomic_add_ragged(e, 9, 2, [0, 0], v)


@case("methods of descriptors")
def batches_have_their_own_ends():
    x, out = np.arange(128, dtype=np.float32).reshape(16, 8), np.ones((16, 8), np.float32)
    run(batches, x, out, 3)
    want = np.ones((16, 8), np.float32)
    want[5:7], want[7] = x[3:5], 0
    want[9:11] += x[3:5]
    close(out, want)


@triton.jit
def ordered(x, out):
    i = tl.arange(0, 128)
    tl.store(x + i, i)
    tl.debug_barrier()
    tl.store(out + i, tl.load(x + 127 - i))


@case("order within a program")
def a_barrier_orders_memory():
    out = np.zeros(128, np.int32)
    run(ordered, np.zeros(128, np.int32), out)
    close(out, np.arange(128)[::-1])


@triton.jit
def replicated(out):
    tl.atomic_add(out + tl.arange(0, 4), 1)
    tl.atomic_add(out + 4, 1)


@case("blocks smaller than the threads", 1, 4, 8)
def each_element_counts_once(warps):
    out = np.zeros(5, np.int32)
    run(replicated, out, num_warps=warps)
    close(out, [1] * 5)
