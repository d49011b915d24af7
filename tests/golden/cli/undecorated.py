# A function without its decorator, asked for as a kernel: told at its line, by each command.
# RUN: not %tilec build %s -k relu -s "*fp32, i32" 2>&1 | FileCheck %s
# RUN: not %tilec run %s -k relu --on=cpu --grid=1 2>&1 | FileCheck %s
# RUN: not %tilec bench %s -k relu 2>&1 | FileCheck %s
# RUN: not %tilec tune %s -k relu 2>&1 | FileCheck %s
# RUN: not %tilec check %s -k relu 2>&1 | FileCheck %s
# CHECK: undecorated.py:15:5: error[E0261]: no kernel is called 'relu'
# CHECK: help: it is a function and no kernel: write @triton.jit in the line above 'def relu'
# RUN: %tilec build %s -k twice -s "*fp32" --emit=ir 2>&1 | FileCheck %s --check-prefix=TWICE
# TWICE: func @twice
import triton
import triton.language as tl


def relu(x, n):
    tl.store(x, tl.maximum(tl.load(x), 0.0), n > 0)


@triton.jit
def twice(x):
    tl.store(x, 2.0 * tl.load(x))
