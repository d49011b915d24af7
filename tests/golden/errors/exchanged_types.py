# Types of a signature, as a launch gives them, whose order is wrong: said of the parameters and not of what is made of them.
# RUN: not %tilec build %s -k add -s "*fp32, *fp32, i32, *fp32, 256" -o %t.ptx | FileCheck %s
# RUN: not %tilec build %s -k scale -s "*fp32, fp32, i32, *fp32, 256" -o %t.ptx | FileCheck %s --check-prefix=SCALE
# RUN: not %tilec build %s -k add -s "*fp32, *fp32, *fp32, *fp32, 256" -o %t.ptx | FileCheck %s --check-prefix=ALL
# CHECK: :18:23: error[E0236]: parameter 'out_ptr' of kernel 'add' is a pointer to an array, and this launch gives it a number
# CHECK: help: the order is x_ptr, y_ptr, out_ptr, n, BLOCK: exchange what is given to 'out_ptr' and 'n'
# CHECK: :18:32: note: 'n' is given an array
# CHECK: :20:12: note: it is used here
# CHECK-NOT: error
# SCALE: :26:14: error[E0236]: parameter 'y' of kernel 'scale' is a pointer to an array
# SCALE: help: {{.*}}: exchange what is given to 'y' and 'f'
# ALL: :20:12: error[E0286]
import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    z = tl.load(x_ptr + i, mask=mask) + tl.load(y_ptr + i, mask=mask)
    tl.store(out_ptr + i, z, mask=mask)


@triton.jit
def scale(x, y, n, f, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, f * tl.load(x + i, mask=i < n), mask=i < n)
