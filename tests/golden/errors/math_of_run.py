# Functions of math for values of the run: the value, its type, and the call that takes it.
# RUN: %tilec check %s -s '*fp32, i32, fp32' | FileCheck %s
# EXIT: 1
import math

import triton
import triton.language as tl


@triton.jit
def scaled(x, n, s):
    # CHECK: :14:13: error[E0259]: 'math.sqrt' cannot be evaluated: a known number is needed
    # CHECK: help: of a value of the run it is tl.sqrt(n.to(tl.float32)); 'n', i32, is known when the kernel runs
    a = n / math.sqrt(n)
    # CHECK: :17:9: error[E0259]
    # CHECK: help: of a value of the run it is tl.exp((n + 1).to(tl.float32)); 'n + 1', i32, is known when the kernel runs
    b = math.exp(n + 1)
    # CHECK: :20:9: error[E0259]
    # CHECK: help: of a value of the run it is tl.log
    c = math.log(s)
    tl.store(x, a + b + c)
