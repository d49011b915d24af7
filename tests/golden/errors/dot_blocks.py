# Blocks of descriptors whose sides do not meet in a dot: their indices tell whether the block shape is
# exchanged or the block is to be turned.
# RUN: %tilec build %s -k exchanged -s "*fp16,*fp16,i32,i32,64,32,16" --emit=ir -o - 2>&1 | FileCheck %s --check-prefix=SHAPE
# EXIT: 1
# RUN: %tilec build %s -k turned -s "*fp16,*fp16,i32,i32,64,32,16" --emit=ir -o - 2>&1 | FileCheck %s --check-prefix=TURN
# EXIT: 1
# RUN: %tilec build %s -k undecided -s "*fp16,*fp16,i32,i32,64,32,16" --emit=ir -o - 2>&1 | FileCheck %s --check-prefix=EITHER
# EXIT: 1
import triton
import triton.language as tl


@triton.jit
def exchanged(a, b, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    left = tl.make_tensor_descriptor(a, [N, K], [K, 1], [BM, BK])
    right = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BN, BK])
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        x = left.load([0, k])
        y = right.load([k, 0])
        acc = tl.dot(x, y, acc)
    left.store([0, 0], acc.to(tl.float16))
# SHAPE: 21:15: error[E0312]
# SHAPE: help: make the block shape of 'right' [16, 32]
# SHAPE: 20:13: note: it is a block of 'right' here, whose block shape is [32, 16]


@triton.jit
def turned(a, b, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    left = tl.make_tensor_descriptor(a, [N, K], [K, 1], [BM, BK])
    right = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(left.load([0, k]), right.load([0, k]), acc)
    left.store([0, 0], acc.to(tl.float16))
# TURN: 34:15: error[E0312]
# TURN: help: transpose the right operand: tl.trans(b), for a product of [64, 32]
# TURN-NOT: block shape


@triton.jit
def undecided(a, b, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    right = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    x = tl.load(a + tl.arange(0, BM)[:, None] * K + tl.arange(0, BK)[None, :])
    y = right.load([0, 0])
    acc = tl.dot(x, y)
    tl.store(a + tl.arange(0, BM)[:, None] * N + tl.arange(0, BN)[None, :], acc.to(tl.float16))
# EITHER: 46:11: error[E0312]
# EITHER: help: make the block shape of 'right' [16, 32]; or transpose the right operand: tl.trans(y)
