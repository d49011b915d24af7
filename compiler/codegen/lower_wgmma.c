/* wgmma: all instructions of a dot in one asm statement, so that nothing comes between them, with
 * their accumulators tied to its results; the wait is another that ties what is then readable.
 * PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions". */
#include "codegen/cg.h"

#include <assert.h>

typedef struct WgmmaKind {
   const char *types; /* of the accumulator, A and B */
   uint8_t instr_k, elem_bits;
   bool has_scale; /* imm-scale-a, imm-scale-b */
   bool has_major; /* imm-trans-a, imm-trans-b */
} WgmmaKind;

static const WgmmaKind wgmma_kind[] = {
   [TL_MMA_WG_F16_F32] = {"f32.f16.f16", 16, 16, true, true},
   [TL_MMA_WG_BF16_F32] = {"f32.bf16.bf16", 16, 16, true, true},
   [TL_MMA_WG_TF32_F32] = {"f32.tf32.tf32", 8, 32, true, false},
   [TL_MMA_WG_E4M3_F32] = {"f32.e4m3.e4m3", 32, 8, true, false},
   [TL_MMA_WG_E5M2_F32] = {"f32.e5m2.e5m2", 32, 8, true, false},
   [TL_MMA_WG_E4M3_E5M2_F32] = {"f32.e4m3.e5m2", 32, 8, true, false},
   [TL_MMA_WG_E5M2_E4M3_F32] = {"f32.e5m2.e4m3", 32, 8, true, false},
   [TL_MMA_WG_S8_S32] = {"s32.s8.s8", 32, 8, false, false},
   [TL_MMA_WG_U8_S32] = {"s32.u8.u8", 32, 8, false, false},
};

typedef struct Wgmma {
   TlCg *cg;
   const WgmmaKind *kind;
   TlSb text, constraints;
   LLVMValueRef args[TL_ASM_MAX_OPERANDS];
   LLVMTypeRef types[TL_ASM_MAX_OPERANDS]; /* of the results */
   unsigned num_regs;                      /* of the accumulator: operands 0.. */
   unsigned num_args;                      /* operands num_regs.. */
   unsigned m, n, k, columns;
   bool a_in_registers;
   const int64_t *a_offset, *b_offset;
   TlDesc a_desc, b_desc;
} Wgmma;

static void
add_arg(Wgmma *w, LLVMValueRef v, const char *constraint)
{
   assert(w->num_args < TL_ASM_MAX_OPERANDS);
   w->args[w->num_args++] = v;
   tl_sb_printf(&w->constraints, ",%s", constraint);
}

/* Registers as words, each an operand of its own. */
static void
add_words(Wgmma *w, const TlValue *v)
{
   TlRegs x = tl_cg_use(w->cg, v);
   LLVMValueRef *words = tl_new_array(w->cg->arena, LLVMValueRef, x.count);
   unsigned bits = tl_cg_elem_bits(tl_type_elem(v->type));
   unsigned num = tl_cg_pack(w->cg, x.v, x.count, bits, 32, words);
   for (unsigned i = 0; i < num; i++)
      add_arg(w, words[i], "r");
}

/* Registers of a result: the next of the operands $0.. */
static void
add_result(Wgmma *w, const TlType *t)
{
   LLVMTypeRef elem = tl_cg_elem(w->cg, tl_type_elem(t));
   for (unsigned r = 0; r < tl_type_num_regs(t); r++) {
      assert(w->num_regs < TL_ASM_MAX_OPERANDS);
      tl_sb_printf(&w->constraints, "%s=%s", w->num_regs ? "," : "",
                   elem == w->cg->f32 ? "f" : "r");
      w->types[w->num_regs++] = elem;
   }
}

static void
add_results(Wgmma *w, const TlOp *op)
{
   for (unsigned i = 0; i < op->num_results; i++)
      add_result(w, tl_result(op, i)->type);
}

/* Values that go into results: operands tied to $0.. in order. */
static void
add_tied(Wgmma *w, const TlValue *v)
{
   TlRegs in = tl_cg_use(w->cg, v);
   for (unsigned i = 0; i < in.count; i++)
      add_arg(w, in.v[i], tl_arena_printf(w->cg->arena, "%u", w->num_args));
}

/* All results in one struct. */
static LLVMValueRef
emit(Wgmma *w, unsigned flags)
{
   TlCg *cg = w->cg;
   LLVMTypeRef ret =
      w->num_regs ? LLVMStructTypeInContext(cg->llvm, w->types, w->num_regs, 0) : cg->voidt;
   return tl_cg_asm(cg, tl_sb_cstr(&w->text), tl_sb_cstr(&w->constraints), ret, w->args,
                    w->num_args, flags);
}

static void
call(Wgmma *w, const TlOp *op)
{
   TlCg *cg = w->cg;
   tl_sb_str(&w->constraints, w->num_regs || w->num_args ? ",~{memory}" : "~{memory}");
   LLVMValueRef all = emit(w, TL_ASM_EFFECT | TL_ASM_CONVERGENT);
   unsigned at = 0;
   for (unsigned i = 0; i < op->num_results; i++) {
      TlRegs dst = tl_cg_def(cg, tl_result(op, i));
      for (unsigned r = 0; r < dst.count; r++)
         dst.v[r] = LLVMBuildExtractValue(cg->b, all, at++, "");
   }
   assert(at == w->num_regs);
}

/* A descriptor without the offsets of the instructions. */
static LLVMValueRef
descriptor(TlCg *cg, LLVMValueRef address, const TlDesc *desc)
{
   LLVMValueRef at = LLVMBuildPtrToInt(cg->b, tl_cg_shared_ptr(cg, address, 0), cg->i32, "");
   at = LLVMBuildLShr(cg->b, at, tl_cg_i32(cg, 4), "");
   at = LLVMBuildAnd(cg->b, at, tl_cg_i32(cg, 0x3FFF), "");
   uint64_t rest = (uint64_t)desc->swizzle << 62 | (uint64_t)desc->leading >> 4 << 16 |
                   (uint64_t)desc->stride >> 4 << 32;
   return LLVMBuildOr(cg->b, LLVMBuildZExt(cg->b, at, cg->i64, ""), LLVMConstInt(cg->i64, rest, 0),
                      "");
}

/* A descriptor operand moved by bytes, as a register of the text. */
static const char *
moved(Wgmma *w, unsigned operand, int64_t bytes, const char *reg)
{
   if (bytes == 0)
      return tl_arena_printf(w->cg->arena, "$%u", operand);
   tl_sb_printf(&w->text, "add.s64 %s, $%u, %u; ", reg, operand, (unsigned)(bytes >> 4));
   return reg;
}

/* One instruction: rows m, columns n, step k. */
static void
instruction(Wgmma *w, unsigned m, unsigned n, unsigned k, unsigned a_operand, bool adds)
{
   const WgmmaKind *kind = w->kind;
   unsigned regs = w->columns / 2, first = (m * w->n + n) * regs;
   unsigned b_operand = w->num_regs + w->num_args - 1;
   const char *a = NULL;
   if (!w->a_in_registers)
      a = moved(w, a_operand, w->a_offset[m * w->k + k], "a");
   const char *b = moved(w, b_operand, w->b_offset[n * w->k + k], "b");
   tl_sb_printf(&w->text, "wgmma.mma_async.sync.aligned.m64n%uk%u.%s {", w->columns, kind->instr_k,
                kind->types);
   for (unsigned i = 0; i < regs; i++)
      tl_sb_printf(&w->text, "%s$%u", i ? "," : "", first + i);
   tl_sb_str(&w->text, "}, ");
   if (a)
      tl_sb_str(&w->text, a);
   for (unsigned i = 0; !a && i < 4; i++)
      tl_sb_printf(&w->text, "%s$%u%s", i ? "," : "{", a_operand + (m * w->k + k) * 4 + i,
                   i == 3 ? "}" : "");
   tl_sb_printf(&w->text, ", %s, %d%s", b, adds, kind->has_scale ? ", 1, 1" : "");
   if (kind->has_major && a)
      tl_sb_printf(&w->text, ", %d", (int)w->a_desc.mn_major);
   if (kind->has_major)
      tl_sb_printf(&w->text, ", %d", (int)w->b_desc.mn_major);
   tl_sb_str(&w->text, ";\n");
}

static Wgmma
begin(TlCg *cg)
{
   Wgmma w = {.cg = cg};
   tl_sb_init(&w.text, cg->arena);
   tl_sb_init(&w.constraints, cg->arena);
   return w;
}

static Wgmma
begin_op(TlCg *cg, const TlOp *op)
{
   Wgmma w = begin(cg);
   TlReps reps = tl_attr_reps(op);
   TlInts offsets = tl_attr_ints(op, TL_ATTR_OFFSETS);
   w.kind = &wgmma_kind[tl_attr_int(op, TL_ATTR_MMA)];
   w.a_in_registers = !tl_wgmma_is_shared(op, 0);
   w.m = (unsigned)reps.m;
   w.n = (unsigned)reps.n;
   w.k = (unsigned)reps.k;
   w.columns = (unsigned)tl_attr_int(op, TL_ATTR_COLUMNS);
   w.a_offset = offsets.data;
   w.b_offset = offsets.data + (w.a_in_registers ? 0 : w.m * w.k);
   w.a_desc = w.a_in_registers ? (TlDesc){0} : tl_wgmma_desc(op, 0);
   w.b_desc = tl_wgmma_desc(op, 1);
   return w;
}

void
tl_emit_wgmma(TlCg *cg, const TlOp *op)
{
   int64_t mma = tl_attr_int(op, TL_ATTR_MMA);
   if (!tl_target_has_mma(cg->target, mma)) {
      tl_cg_unsupported(cg, "'wgmma'", "it exists on sm_90a only");
      return;
   }
   Wgmma w = begin_op(cg, op);
   bool has_acc = op->num_args > 2;
   add_results(&w, op);
   if (has_acc)
      add_tied(&w, tl_arg(op, 2));
   unsigned a_operand = w.num_regs + w.num_args;
   if (w.a_in_registers)
      add_words(&w, tl_arg(op, 0));
   else
      add_arg(&w, descriptor(cg, tl_cg_use1(cg, tl_arg(op, 0)), &w.a_desc), "l");
   add_arg(&w, descriptor(cg, tl_cg_use1(cg, tl_arg(op, 1)), &w.b_desc), "l");
   tl_sb_str(&w.text, "{ .reg .b64 a, b;\nwgmma.fence.sync.aligned;\n");
   for (unsigned k = 0; k < w.k; k++)
      for (unsigned m = 0; m < w.m; m++)
         for (unsigned n = 0; n < w.n; n++)
            instruction(&w, m, n, k, a_operand, k > 0 || has_acc);
   tl_sb_str(&w.text, "wgmma.commit_group.sync.aligned; }");
   call(&w, op);
}

void
tl_emit_wgmma_start(TlCg *cg, const TlOp *op)
{
   TlRegs x = tl_cg_use(cg, tl_arg(op, 0)), dst = tl_cg_def(cg, tl_result(op, 0));
   for (unsigned i = 0; i < dst.count; i++)
      dst.v[i] = x.v[i];
}

/* Copies, and early clobbers: LLVM would else make one register of both, and ptxas, which sees a
 * register that products in flight write and an outer loop carries, finds its copies between them
 * and lets no product of the kernel be in flight (C7515).  Of 450 random programs 46 were so, and
 * 3 are with copies, which cost nothing where ptxas needs none. */
TlRegs
tl_cg_settle(TlCg *cg, const TlValue *v)
{
   Wgmma w = begin(cg);
   TlRegs in = tl_cg_use(cg, v);
   const char *kind = tl_cg_elem(cg, tl_type_elem(v->type)) == cg->f32 ? "f" : "r";
   for (unsigned i = 0; i < in.count; i++) {
      tl_sb_printf(&w.constraints, "%s=&%s", i ? "," : "", kind);
      tl_sb_printf(&w.text, "mov.b32 $%u, $%u;\n", i, in.count + i);
      w.types[w.num_regs++] = LLVMTypeOf(in.v[i]);
   }
   for (unsigned i = 0; i < in.count; i++)
      add_arg(&w, in.v[i], kind);
   LLVMValueRef all = emit(&w, TL_ASM_EFFECT);
   TlRegs y = {tl_new_array(cg->arena, LLVMValueRef, w.num_regs), w.num_regs};
   for (unsigned i = 0; i < y.count; i++)
      y.v[i] = LLVMBuildExtractValue(cg->b, all, i, "");
   return y;
}

/* Registers of all results are tied; operands beyond them are only kept until here. */
void
tl_emit_wgmma_wait(TlCg *cg, const TlOp *op)
{
   Wgmma w = begin(cg);
   add_results(&w, op);
   for (unsigned i = 0; i < op->num_results; i++)
      add_tied(&w, tl_arg(op, i));
   for (unsigned i = op->num_results; i < op->num_args; i++)
      add_words(&w, tl_arg(op, i));
   tl_sb_printf(&w.text, "wgmma.wait_group.sync.aligned %d;", (int)tl_attr_int(op, TL_ATTR_NUM));
   call(&w, op);
}

void
tl_emit_fence_async(TlCg *cg, const TlOp *op)
{
   (void)op;
   tl_cg_call(cg, "llvm.nvvm.fence.proxy.async.shared_cta", cg->voidt, NULL, 0);
}
