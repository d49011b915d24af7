# One element a program of an array that a launch gives one element for each column.
# RUN: %tilec check -Wno-unused %s 2>&1 | FileCheck %s
import torch
import triton
import triton.language as tl


@triton.jit
def by_row(x, w, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    v = tl.load(x + row * N + cols, cols < N)
    # CHECK: :{{[0-9]+}}:38: warning[W0379]: each program takes one element of 'w', which has as many as 'N', one a column
    # CHECK: help: the launch has 32 programs and one element for each column: tl.load(w + cols, cols < N)
    tl.store(y + row * N + cols, v * tl.load(w + row), cols < N)


# CHECK: note: the launch with these numbers
by_row[(32,)](torch.randn(32, 96), torch.randn(96), torch.empty(32, 96), 96, BLOCK=128)


# One for each row: as many as programs.
@triton.jit
def of_rows(x, w, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    v = tl.load(x + row * N + cols, cols < N)
    tl.store(y + row * N + cols, v * tl.load(w + row), cols < N)


# CHECK-NOT: W0379
of_rows[(32,)](torch.randn(32, 96), torch.randn(32), torch.empty(32, 96), 96, BLOCK=128)


# As many rows as columns: the text does not say which of them is meant.
@triton.jit
def square(x, w, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    v = tl.load(x + row * N + cols, cols < N)
    tl.store(y + row * N + cols, v * tl.load(w + row), cols < N)


square[(96,)](torch.randn(96, 96), torch.randn(96), torch.empty(96, 96), 96, BLOCK=128)


# The launch does not say how many there are.
def call(x, w, y):
    of_rows[(x.shape[0],)](x, w, y, x.shape[1], BLOCK=128)
