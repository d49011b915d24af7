# RUN: %tilec check %s | FileCheck --strict-whitespace %s
# EXIT: 1
import numpy as np
import torch
import triton
import triton.language as tl

@triton.jit
def k(x: tl.int32):
    a = np.exp(1.0)
    b = torch.zeros((16,))
    c = a + b
# Two mistakes, two errors; what comes of them is silent.
# CHECK:{{.*}}numpy_call.py:10:9: error[E0208]: a kernel cannot use 'numpy.exp': it is host code
# CHECK: help: did you mean 'tl.exp(x)'?
# CHECK:{{.*}}numpy_call.py:11:9: error[E0208]: a kernel cannot use 'torch.zeros': it is host code
# CHECK: help: did you mean 'tl.zeros(shape, dtype)'?
# CHECK-NOT: error
