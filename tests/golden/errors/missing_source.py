# A function for kernels that a library brings as source, where the library is not to be found.
# RUN: %tilec check %s -s "*fp32" | FileCheck %s
# EXIT: 1
# CHECK: error[E0208]: a kernel cannot use 'torch._inductor.runtime.triton_helpers.maximum'
# CHECK: help: it may be a function for kernels, but its file is not found: -I DIR names the folder that holds 'torch'
import triton
import triton.language as tl
from torch._inductor.runtime import triton_helpers


@triton.jit
def k(x):
    tl.store(x, triton_helpers.maximum(tl.load(x), 0.0))
