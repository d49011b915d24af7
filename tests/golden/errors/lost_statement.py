# What a host statement that was given up leaves is called a value, with why.
# RUN: not %tilec build %s -s '*fp32' 2>&1 | FileCheck %s
# CHECK: lost_statement.py:15:17: error[E0207]: a kernel cannot use this value (compile-time evaluation is limited to 1048576 steps): host code that is not known at compile time
# CHECK: lost_statement.py:8:1: note: its value is lost here
import triton
import triton.language as tl
a = [1]
for v in a:
    a.append(v)
V = len(a)


@triton.jit
def k(x):
    tl.store(x, V)
