# RUN: %tilec check %s -s '*fp32, *fp32, i32' -D BLOCK=128 | FileCheck %s
# RUN: %tilec check %s -k relu -s '*fp32, *fp32, i32' -D BLOCK=128 | FileCheck %s
# A signature, with the kernel's name or without it, leaves out nothing that is told otherwise.
import triton
import triton.language as tl


@triton.jit
def relu(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n, other=0.0)
    # CHECK: :13:21: warning[W0283]: 'tl.max(v, 0)' reduces along axis 0
    tl.store(y + i, tl.max(v, 0), i < n)
