# RUN: %tilec build %s -s "*i32, i32, 16" | FileCheck --strict-whitespace %s
# EXIT: 1
import triton
import triton.language as tl


@triton.jit
def k(x, n, N: tl.constexpr):
    tl.static_assert(N == 16, f"not reached, so that {n} is no error")
    tl.static_assert(N < 8, f"n is {n}")
    tl.store(x + tl.arange(0, N), n)
# A message with values of the run is no error, and does not hide an assertion that fails.
# CHECK:{{.*}}assertion_message.py:10:5: error[E0342]: static assertion failed
# CHECK-NOT: error
