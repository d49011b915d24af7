# Names that nothing has set yet, and near names of the function itself where the sizes are guessed.
# RUN: %tilec check %s | FileCheck %s
# EXIT: 1
import triton
import triton.language as tl


@triton.jit
def reads_itself(x, y, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = v + tl.load(x + offs, offs < n)
    tl.store(y + offs, v, offs < n)


@triton.jit
def never_started(x, y, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for i in range(n):
        acc += tl.load(x + offs + i)
    tl.store(y + offs, acc, offs < n)


@triton.jit
def misspelt(x, y, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOK)
    mask = offs < n
    tl.store(y + offs, tl.load(x + OFFS, msk), mask)


@triton.jit
def of_cuda(x, n, BLOCK: tl.constexpr):
    tl.store(x + threadIdx.x * BLOCK + tl.program_id(0), 1.0)
    tl.store(x, -inf)


@triton.jit
def fine(x, y, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    sizes = [s * 2 for s in (1, 2)]
    for i in range(4):
        if i > 0:
            s = sizes[0]
            tl.store(y + offs, s)
        v = tl.load(x + offs)
        tl.store(y + offs, v)


# CHECK: before_binding.py:11:9: error[E0200]: unknown name 'v'
# CHECK: help: 'v' is first set here: give it a value before this line, such as v = 0.0
# CHECK: before_binding.py:19:9: error[E0200]: unknown name 'acc'
# CHECK: help: 'acc' is first set here: give it a value before the loop, such as acc = 0.0
# CHECK: before_binding.py:25:52: error[E0200]: unknown name 'BLOK'
# CHECK: help: did you mean 'BLOCK'?
# CHECK: before_binding.py:27:36: error[E0200]: unknown name 'OFFS'
# CHECK: help: did you mean 'offs'?
# CHECK: before_binding.py:27:42: error[E0200]: unknown name 'msk'
# CHECK: help: did you mean 'mask'?
# CHECK: before_binding.py:32:18: error[E0200]: unknown name 'threadIdx'
# CHECK: help: write tl.arange(0, BLOCK) for the elements of a tile
# CHECK: help: write float("inf")
# CHECK-NOT: error[
