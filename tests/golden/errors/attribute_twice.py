# A mistake in a function that is called twice is told once, with its help.
# RUN: not %tilec check %s -k kernel -s "*fp32, *fp32, i32" | FileCheck %s
# CHECK: attribute_twice.py:11:30: error[E0202]: constexpr float 0.0 has no attribute 'float32'
# CHECK-NOT: error
import triton
import triton.language as tl


@triton.jit
def half(w, d):
    return tl.load(w + d).to(0.0.float32)


@triton.jit
def kernel(w, o, n):
    if n > 0:
        tl.store(o, half(w, 0))
    else:
        tl.store(o, half(w, 1))
