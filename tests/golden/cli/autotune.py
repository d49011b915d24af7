# RUN: %tilec list %s
# RUN: %tilec build %s -k scaled -s '*fp32:16, *fp32:16, i32, 1.5, , ,' -D EVEN=True --emit=ir
# RUN: %tilec build %s -k scaled -s '*fp32:16, *fp32:16, i32, 1.5, , ,'
# EXIT: 1
# RUN: %tilec run %s -k scaled --on cpu --arg x=full:fp32[256]:1.5 --arg y=empty:fp32[256] --arg n=256 \
# RUN:    --arg factor=2.0 --grid='triton.cdiv(n, BLOCK)'
# RUN: %tilec run %s -k scaled --on cpu --arg x=full:fp32[200]:1.5 --arg y=empty:fp32[200] --arg n=200 \
# RUN:    --arg factor=2.0 --grid='cdiv(n, BLOCK)' --emit=ir
import itertools

import torch
import triton
import triton.language as tl

SIZES = [64, 128]


def configs():
    out = []
    for block, warps in itertools.product(SIZES, (2, 4)):
        if block * warps < 512:
            out.append(triton.Config({"BLOCK": block}, num_warps=warps, num_stages=2))
    return out


def divides(args):
    return args["n"] % args["BLOCK"] == 0


@triton.autotune(configs=configs(), key=["n"], restore_value=["y"], warmup=5, rep=20, use_cuda_graph=True)
@triton.heuristics({"EVEN": divides, "HAS_X": lambda args: args["x"] is not None})
@triton.jit
def scaled(x, y, n, factor, BLOCK: tl.constexpr, EVEN: tl.constexpr, HAS_X: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if HAS_X:
        if EVEN:
            tl.store(y + offs, tl.load(x + offs) * factor)
        else:
            tl.store(y + offs, tl.load(x + offs, offs < n) * factor, offs < n)


# A function that only torch can evaluate: no configuration, a remark, no error.
@triton.autotune(configs=torch.tuned(), key=[])
@triton.jit
def other(x, BLOCK: tl.constexpr = 64):
    tl.store(x + tl.arange(0, BLOCK), 1.0)


# CHECK: scaled(x, y, n, factor, BLOCK: constexpr, EVEN: constexpr, HAS_X: constexpr)
# CHECK-NEXT: heuristics look at x
# CHECK-NEXT: heuristics look at n
# CHECK-NEXT: tuned for each n
# CHECK-NEXT: restored       y
# CHECK-NEXT: config 0   BLOCK=64, num_warps=2, num_stages=2
# CHECK-NEXT: config 1   BLOCK=64, num_warps=4, num_stages=2
# CHECK-NEXT: config 2   BLOCK=128, num_warps=2, num_stages=2
# CHECK-NEXT: other(
# CHECK: func @scaled(
# CHECK-SAME: num_warps = 2, num_stages = 2
# CHECK: note: its heuristic gives no value: a kernel cannot use the value of 'n', which only the launch gives
# The last run has 200 elements, which 64 does not divide: the heuristic chose the masked branch.
# CHECK: func @scaled
# CHECK: lt
# CHECK: load
