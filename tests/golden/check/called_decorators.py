# Decorators may be called: f = triton.jit(f) says what @triton.jit above f does.
# RUN: %tilec list %s | FileCheck %s
# RUN: %tilec check %s
# RUN: %tilec build %s -k twice -s "*fp32:16,*fp32:16,i32" --emit=ir | FileCheck --check-prefix=IR %s
# CHECK: twice(x, y, n, FLAG: constexpr, BLOCK: constexpr)
# CHECK-NEXT: tuned for each n
# CHECK-NEXT: config 0 BLOCK=32
# CHECK: both(x)
# IR: mul
import triton
import triton.language as tl


def twice(x, y, n, FLAG: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = plus_one(tl.load(x + i, mask=i < n))
    tl.store(y + i, v * 2 if FLAG else v, mask=i < n)


def one_more(v):
    return v + 1


plus_one = triton.jit(one_more)
twice = triton.jit(twice)
twice = triton.heuristics({"FLAG": lambda args: True})(twice)
twice = triton.autotune(configs=[triton.Config({"BLOCK": 32})], key=["n"])(twice)

if True:
    def both(x):
        tl.store(x, plus_one(tl.load(x)))
    both = triton.autotune([triton.Config({}, num_warps=2)], [])(triton.jit(do_not_specialize=["x"])(both))
