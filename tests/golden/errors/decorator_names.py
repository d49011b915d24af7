# What decorators name and nothing in the file does.
# RUN: %tilec check %s -Wno-unused | FileCheck %s
# EXIT: 1
# RUN: %tilec check %s -Wno-unused --error-format=json | FileCheck --check-prefix=COUNT %s
# EXIT: 1
import triton
import triton.language as tl

SIZES = [64, 128]


@autotune([triton.Config({"B": 64})], key=["n"])
@triton.jit
def bare(x: "*fp32", n: "i32", B: tl.constexpr):
    tl.store(x + tl.arange(0, B), 1.0)
# CHECK: 12:2: error[E0200]: unknown name 'autotune'
# CHECK: help: write triton.autotune


@triton.autotune([tl.Config({"B": 64})], key=["n"])
@triton.jit
def of_the_language(x: "*fp32", n: "i32", B: tl.constexpr):
    tl.store(x + tl.arange(0, B), 1.0)
# CHECK: 20:19: error[E0201]: module 'triton.language' has no name 'Config'
# CHECK: help: it is a name of triton: write triton.Config


@triton.autotune([triton.Config({"B": b}) for b in SIZES], key=[n])
@triton.jit
def without_quotes(x: "*fp32", n: "i32", B: tl.constexpr):
    tl.store(x + tl.arange(0, B), 1.0)
# CHECK: 28:65: error[E0200]: unknown name 'n'
# CHECK: help: a decorator names parameters in quotes: "n"


@triton.autotune([triton.Config({"B": b}) for b in SIZES], key=["n_elements"])
@triton.jit(do_not_specialize=["columns"])
def far_off(x: "*fp32", n: "i32", B: tl.constexpr):
    tl.store(x + tl.arange(0, B), 1.0)
# CHECK: warning[W0211]: the tuner's key 'n_elements' is no parameter of kernel 'far_off'
# CHECK: help: its parameters are x, n, B
# CHECK: warning[W0211]: what is not to be specialised, 'columns' is no parameter of kernel 'far_off'
# CHECK: help: its parameters are x, n, B


@triton.heuristics({"B": lambda args: triton.next_power_of_2(args["n"])})
@triton.autotune([triton.Config({"B": b}) for b in SIZES], key=["n"])
@triton.jit(do_not_specialize=["n"])
def right(x: "*fp32", n: "i32", B: tl.constexpr):
    tl.store(x + tl.arange(0, B), 1.0)
# COUNT-COUNT-3: "severity":"error"
# COUNT-NOT: "severity":"error"
