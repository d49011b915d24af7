# RUN: %tilec check %s | FileCheck --allow-empty %s
# CHECK-NOT: error
# What parameters without types or values are shows in how they are used.
import triton
import triton.language as tl


@triton.jit
def columns(start, bias, out, n, stride, KIND: tl.constexpr, B: tl.constexpr):
    offs = start * B + tl.arange(0, B)
    if KIND == "vector":
        ptrs = bias + offs
    elif KIND == "matrix":
        ptrs = bias + offs * stride
    for i in range(0, n):
        if KIND != "none":
            x = tl.load(ptrs, mask=offs < n, other=0.0).to(tl.float32)
        else:
            x = 1.0
        tl.store(out + i + offs, x)
        if KIND == "matrix":
            ptrs += B * stride


# `bias` is a pointer wherever it is used, and None elsewhere
@triton.jit
def optional(bias, out, stride, n, KIND: tl.constexpr, B: tl.constexpr):
    if KIND != "none":
        bias += tl.program_id(0) * stride
    for start in range(0, tl.cdiv(n, B)):
        columns(start, bias, out, n, stride, KIND=KIND, B=B)


@triton.jit
def items(x, out, STRIDES: tl.constexpr, SIZES: tl.constexpr):
    at = STRIDES[0]
    if tl.program_id(1) == 1:
        at = STRIDES[1]
    for i in tl.static_range(len(SIZES)):
        tl.store(out + i, tl.load(x + at))


@triton.jit
def refused(x, out, limit):
    if limit is not None:
        raise NotImplementedError()
    tl.store(out, tl.load(x))


@triton.jit
def masked(x, valid, lengths, out, n):
    offs = tl.arange(0, 64)
    mask = offs < tl.minimum(tl.load(lengths), n)
    mask = mask & tl.load(valid + offs, mask=mask, other=False)
    tl.store(out + offs, tl.load(x + offs, mask=mask, other=0.0))


@triton.jit
def addressed(address, table, out, n):
    x = address.to(tl.pointer_type(tl.uint8))
    tl.store(x + n, 1)
    y = tl.load(table + n).to(tl.pointer_type(tl.uint64))
    tl.store(out, tl.load(y))


@triton.jit
def words(seed, out):
    tl.store(out, seed.to(tl.uint64, bitcast=True) >> 32)


def launch(seed, out):
    words[(1,)](seed, out)
