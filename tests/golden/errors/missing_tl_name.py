# RUN: %tilec check %s | FileCheck --strict-whitespace %s
# EXIT: 1
import triton
import triton.language as tl

@triton.jit
def k(n: tl.int32):
    a = tl.aranje(0, 16)
    b = arange(0, 16)
# CHECK:{{.*}}missing_tl_name.py:8:9: error[E0201]: module 'triton.language' has no name 'aranje'
# CHECK: help: did you mean 'arange'?
# CHECK:{{.*}}missing_tl_name.py:9:9: error[E0200]: unknown name 'arange'
# CHECK: help: did you mean 'tl.arange'?
# CHECK-NOT: error
