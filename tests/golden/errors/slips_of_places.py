# What stands in a place of something else: masks as offsets, ':' for '=', names of the other module.
# RUN: %tilec check %s --error-limit=40 | FileCheck %s
# EXIT: 1
import triton
import triton.language as tl


@triton.jit
def one(a):
    return a


@triton.jit
def places(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = triton.load(x + i)
    w = tl.load(x + (i < n))
    m, k = tl.program_id(0, 1)
    s = tl.associative_scan(tl.load(x + i), 0, one)
    p = tl.permute(tl.load(x + i), 1, 0)
    q = i @ n
    tl.store(y + i, tl.shfl_down(v, w), i << -1)


@triton.jit
def only_one_size(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    j = tl.arange(0, 32)
    v = tl.load(x + i[:, None] * n + j[None, :], mask=i < n)
    tl.store(y + i, tl.sum(v, 1))


def run(x, y, n):
    places[(1,), (64,)](x, y, n, B=64)


# CHECK: slips_of_places.py:16:9: error[E0201]: module 'triton' has no name 'load'
# CHECK: help: it is a name of triton.language: write tl.load
# CHECK: slips_of_places.py:17:17: error[E0299]: a pointer offset must be an integer; got tile<i1, 64>
# CHECK: help: a mask has a place of its own
# CHECK: slips_of_places.py:18:29: error[E0252]: 'program_id' takes at most 1 arguments
# CHECK: help: one axis at a time
# CHECK: slips_of_places.py:19:9: error[E0252]: 'one' takes at most 1 arguments by position; got 2
# CHECK: help: 'associative_scan' calls 'one' with 2 elements, as in def add(a, b): return a + b; it takes 1
# CHECK: slips_of_places.py:20:9: error[E0300]: 'permute' needs one dimension number
# CHECK: slips_of_places.py:21:9: error[E0286]: operator '@' is not defined
# CHECK: help: '@' is the product of matrices, tl.dot(a, b); elements are multiplied by '*'
# CHECK: slips_of_places.py:22:21: error[E0201]
# CHECK: help: write tl.sum, tl.max or tl.reduce over the tile
# CHECK: slips_of_places.py:22:41: error[E0212]: a shift count must not be negative; got -1
# CHECK: slips_of_places.py:29:9: warning[W0224]: this fits only where sizes are equal; with B: 64
# CHECK: slips_of_places.py:34:12: error[E0277]
# CHECK: help: the grid is one tuple, k[(programs,)](..)
