# What a value of the run is never equal to; a function in brackets is no kernel that is launched, and
# a block pointer is there.
# RUN: %tilec check %s -Wno-unused | FileCheck --strict-whitespace %s
# EXIT: 1
import triton
import triton.language as tl


@triton.jit
def add(a, b):
    return a + b


@triton.jit
def k(x: "*fp32", n: "i32", B: tl.constexpr = 64):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    block = tl.make_block_ptr(x, (n,), (1,), (0,), (B,), (0,))
    if v.dtype == "float16":
        v = v + 1
    pair = i == (1, 2)
    there = block and n > 0
    total = add[v, v]
    tl.store(x + i, v)
# CHECK:{{.*}}:19:8: warning[W0225]: a comparison by '==' with a text is always false
# CHECK: help: a type is written without quotes: tl.float16
# CHECK:{{.*}}:21:12: warning[W0225]: a comparison by '==' with tuple of 2 is always false
# CHECK: help: compare with each of them: (x == 1) | (x == 2); how long a tile is says x.shape
# CHECK:{{.*}}:23:13: error[E0222]: function 'add' cannot be indexed


# Launched from a kernel, and divided by a constant that is 0.
@triton.jit
def launches(x: "*fp32", n: "i32"):
    i = tl.arange(0, 64)
    add[(1,)](i, i)
    tl.store(x + i // 0, n)
# CHECK:{{.*}}error[E0222]: function 'add' cannot be indexed
# CHECK: help: a kernel is launched by the host; inside of a kernel it is called as a function: add(..)
# CHECK:{{.*}}warning[W0298]: 'i // 0' divides by zero
# CHECK-NOT: error[
