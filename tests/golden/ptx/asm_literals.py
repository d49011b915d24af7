# RUN: %tilec check %s -k pick -s "*i32, *fp16, i32" | FileCheck --check-prefix=RUNTIME %s
# EXIT: 1
# RUN: %tilec check %s -k of_a_float -s "*fp32" | FileCheck --check-prefix=FLOAT %s
# EXIT: 1
# RUN: %tilec build %s -k pick -s "*i32, *fp16, 10" | FileCheck %s
# Arguments of constraint "n" are literals of the instruction, as in Triton: PTX takes lop3's table in no
# register. Operands behind them keep their places.
import triton
import triton.language as tl


@triton.jit
def pick(x, y, MORE):
    offs = tl.arange(0, 128)
    word = tl.load(x + offs)
    a, b = tl.inline_asm_elementwise(
        "{ .reg .b32 t; lop3.b32 t, $2, $3, ${4}, $5; add.u32 t, t, $6; mov.b32 {$0, $1}, t; // $$7\n}",
        "=h,=h,r,n, n ,n,r,~{memory}", args=[word, 0x000f000f, 0x64006400, 0xea, word + 1],
        dtype=(tl.float16, tl.float16), is_pure=True, pack=1)
    # CHECK: lop3.b32 t, [[W:%r[0-9]+]], 983055, 1677747200, 234; add.u32 t, t, %r{{[0-9]+}}; mov.b32 {%rs{{[0-9]+}}, %rs{{[0-9]+}}}, t;
    c = tl.inline_asm_elementwise("shl.b32 $0, $1, $2;", "=r,r,n", args=[word, MORE], dtype=tl.int32,
                                  is_pure=True, pack=1)
    # CHECK: shl.b32 %r{{[0-9]+}}, [[W]], 10;
    # RUNTIME: asm_literals.py:21:9: error[E0301]: 'args' of 'inline_asm_elementwise' must be known at compile time; got
    tl.store(y + offs, a + b + c)


# LLVM takes only integers as literals; the bits of 1.5 would be another number.
@triton.jit
def of_a_float(x):
    at = x + tl.arange(0, 128)
    tl.store(at, tl.inline_asm_elementwise("add.f32 $0, $1, $2;", "=f,f,n", args=[tl.load(at), 1.5],
                                           dtype=tl.float32, is_pure=True, pack=1))
    # FLOAT: asm_literals.py:32:18: error[E0301]: 'args' of 'inline_asm_elementwise' must be known at compile time; got
    # FLOAT: help: constraint 'n' is an integer literal of 32 bits or more
