# RUN: %tilec list %s | FileCheck %s
# The list is the one that the name had at the decorator.
import triton
import triton.language as tl

configs = [triton.Config({"BLOCK": 64})]


@triton.autotune(configs=configs, key=[])
@triton.jit
def k(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1.0)


configs = [triton.Config({"BLOCK": 999})]
# CHECK: config 0 {{ *}}BLOCK=64
# CHECK-NOT: 999
