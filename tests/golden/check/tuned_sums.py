# What adds to an array is told of where @autotune measures it and says nothing of the array.
# RUN: %tilec check %s | FileCheck %s
import triton
import triton.language as tl




# CHECK: :16:5: warning[W0293]: each measured launch of a configuration adds to 'out' once more
# CHECK: help: reset_to_zero=["out"] clears it before each launch that is measured, restore_value=["out"] puts it back
# CHECK: :12:2: note: configurations are measured by launches of it
@triton.autotune(configs=[triton.Config({"B": 64}), triton.Config({"B": 128})], key=["n"])
@triton.jit
def total(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(out, tl.sum(tl.load(x + i, i < n, other=0.0), axis=0))


# CHECK: :25:5: warning[W0293]: each measured launch of a configuration adds to 'acc' once more
# CHECK-NOT: {{:[34][0-9]:}}
@triton.autotune(configs=[triton.Config({"B": 64}), triton.Config({"B": 128})], key=["n"], restore_value=["x"])
@triton.jit
def add_to(x, acc, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(acc + i, tl.load(acc + i, i < n) + tl.load(x + i, i < n), i < n)


@triton.autotune(configs=[triton.Config({"B": 64}), triton.Config({"B": 128})], key=["n"], reset_to_zero=["out"])
@triton.jit
def cleared(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(out, tl.sum(tl.load(x + i, i < n, other=0.0), axis=0))


@triton.autotune(configs=[triton.Config({"B": 64}, pre_hook=lambda args: args["out"].zero_()),
                          triton.Config({"B": 128}, pre_hook=lambda args: args["out"].zero_())], key=["n"])
@triton.jit
def cleared_by_hook(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(out, tl.sum(tl.load(x + i, i < n, other=0.0), axis=0))


@triton.autotune(configs=[triton.Config({"B": 64})], key=["n"])
@triton.jit
def only_one(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(out, tl.sum(tl.load(x + i, i < n, other=0.0), axis=0))


def many():
    return [triton.Config({"B": b}, num_warps=w) for b in (64, 128) for w in (4, 8)]


# CHECK: warning[W0293]: each measured launch of a configuration adds to 'out' once more
@triton.autotune(configs=[triton.Config({"B": b}) for b in (64, 128)], key=["n"])
@triton.jit
def of_a_comprehension(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(out, tl.sum(tl.load(x + i, i < n, other=0.0), axis=0))


# CHECK: warning[W0293]: each measured launch of a configuration adds to 'out' once more
# CHECK-NOT: warning
@triton.autotune(configs=many(), key=["n"])
@triton.jit
def of_a_function(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(out, tl.sum(tl.load(x + i, i < n, other=0.0), axis=0))


@triton.autotune(configs=[triton.Config({"B": b}, pre_hook=lambda args: args["out"].zero_()) for b in (64, 128)],
                 key=["n"])
@triton.jit
def of_hooks(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(out, tl.sum(tl.load(x + i, i < n, other=0.0), axis=0))


@triton.autotune(configs=[triton.Config({"B": 64}), triton.Config({"B": 128})], key=["n"])
@triton.jit
def no_mask(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + tl.program_id(1)), i < n)
