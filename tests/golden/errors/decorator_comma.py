# A decorator that Python could not read either is an error, and not left out.
# RUN: %tilec check %s | FileCheck %s
# EXIT: 1
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"B": 64}) triton.Config({"B": 32})], key=["n"])
@triton.jit
def comma(x, n, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), n)


# CHECK: decorator_comma.py:8:52: error[E0131]: expected an operator, ']' or ','; found name 'triton'
# CHECK: help: is a ',' missing after ')'?
