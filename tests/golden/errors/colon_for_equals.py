# An argument's name with ':', a ':' that is missing in brackets, a type of C with its module.
# RUN: %tilec check %s | FileCheck %s
# EXIT: 1
import triton
import triton.language as tl


@triton.jit
def argument(x, n):
    v = tl.load(x + n, mask: n > 0)


@triton.jit
def brackets(x, n):
    i = tl.arange(0, 64)[, None]


@triton.jit
def parameter(x, tl.constexpr BLOCK):
    tl.store(x, BLOCK)


# CHECK: colon_for_equals.py:10:28: error[E0131]
# CHECK: help: an argument is given by its name with '='
# CHECK: colon_for_equals.py:15:26: error[E0131]
# CHECK: help: is a ':' missing before the ','? x[:, None] adds a dimension
# CHECK: colon_for_equals.py:19:20: error[E0131]
# CHECK: help: a parameter's type stands behind its name: BLOCK: tl.constexpr
