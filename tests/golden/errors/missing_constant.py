# A constant that is defined nowhere is a parameter or one of the file, whatever it is used for.
# RUN: %tilec check %s | FileCheck %s
# EXIT: 1
import triton
import triton.language as tl


@triton.jit
def k(x: "*fp32"):
    i = tl.arange(0, 64)
    v = tl.load(x + i)
    tl.store(x + i, v / tl.sqrt(v * v + EPS))
    tl.store(x + i * STRIDE, tl.exp2(v * LOG2E))


# CHECK: :12:41: error[E0200]: unknown name 'EPS'
# CHECK: help: make it a parameter, EPS: tl.constexpr, or a constant at the top of the file: EPS = tl.constexpr(VALUE)
# CHECK: :13:22: error[E0200]: unknown name 'STRIDE'
# CHECK: help: make it a parameter, STRIDE: tl.constexpr, or {{.*}} STRIDE = tl.constexpr(VALUE)
# CHECK: :13:42: error[E0200]: unknown name 'LOG2E'
# CHECK: help: make it a parameter, LOG2E: tl.constexpr, or {{.*}} LOG2E = tl.constexpr(VALUE)
# CHECK-NOT: error[
