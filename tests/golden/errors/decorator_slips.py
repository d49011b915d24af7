# Decorators, imports, annotations and launches that Python would not get through.
# RUN: %tilec check %s | FileCheck %s
# EXIT: 1
import triton
import triton.language as tl
from triton.language import loadd


@trito.jit
def module(x):
    tl.store(x, 1.0)


@triton.kernel
def name(x):
    tl.store(x, 1.0)


@triton.heuristics({"B": lambda: 64})
@triton.jit
def heuristic(x, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), 1.0)


@triton.jit
def annotation(x, B: constexpr):
    tl.store(x + tl.arange(0, B), 1.0)


@triton.jit
def launched(x, B: tl.constexpr):
    tl.store(x + tl.program_id(0) * B + tl.arange(0, B), 1.0)


def run(x, n):
    launched[(n / 64,)](x, B=64)
    launchd[(n // 64,)](x, B=64)


# CHECK: decorator_slips.py:6:29: error[E0201]: module 'triton.language' has no name 'loadd'
# CHECK: decorator_slips.py:9:2: error[E0200]: unknown name 'trito'
# CHECK: help: did you mean '@triton.jit'?
# CHECK: decorator_slips.py:14:2: error[E0201]: module 'triton' has no name 'kernel'
# CHECK: help: did you mean 'jit'?
# CHECK: decorator_slips.py:19:26: error[E0252]: 'lambda' takes at most 0 arguments by position; got 1
# CHECK: decorator_slips.py:26:22: error[E0200]: unknown name 'constexpr'
# CHECK: help: did you mean 'tl.constexpr'?
# CHECK: decorator_slips.py:36:15: error[E0277]: {{.*}}its sizes are integers, and '/' gives a fraction
# CHECK: decorator_slips.py:37:5: error[E0200]: unknown name 'launchd'
# CHECK: help: did you mean 'launched'?
