# In Python a type of torch equals none of Triton's: taken as such, and warned of.
# RUN: %tilec build %s -s "*fp32, *fp32" --emit=ir | FileCheck %s
# CHECK: torch_types.py:14:8: warning[W0212]: this does not hold whatever the run brings: a type of torch equals none of Triton's
# CHECK: help: did you mean 'tl.float32'?
# CHECK: constant 2.0 : fp32
# CHECK: constant 3.0 : fp32
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y):
    if x.dtype.element_ty == torch.float32:
        tl.store(y, 1.0)
    else:
        tl.store(y, 2.0)
    if tl.load(x).dtype != torch.float8_e5m2:
        tl.store(y + 1, 3.0)
