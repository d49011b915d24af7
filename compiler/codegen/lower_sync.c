/* Which program, warp and lane this is; shuffles, votes, barriers, mbarriers; waiting for the
 * kernel before. */
#include "codegen/cg.h"
#include "ir/walk.h"

#include <assert.h>
#include <stdio.h>

/* A register of the block's place in the grid or of the grid's size. */
static void
grid_register(TlCg *cg, const TlOp *op, const char *name, int64_t axis)
{
   assert(axis >= 0 && axis < 3);
   static const char axis_letter[] = "xyz";
   char intrinsic[64];
   snprintf(intrinsic, sizeof intrinsic, "llvm.nvvm.read.ptx.sreg.%s.%c", name, axis_letter[axis]);
   tl_cg_def(cg, tl_result(op, 0)).v[0] = tl_cg_call(cg, intrinsic, cg->i32, NULL, 0);
}

void
tl_emit_program_id(TlCg *cg, const TlOp *op)
{
   grid_register(cg, op, "ctaid", tl_attr_int(op, TL_ATTR_AXIS));
}

/* Of a persistent kernel the launch passes what was asked for. */
void
tl_emit_num_programs(TlCg *cg, const TlOp *op)
{
   int64_t axis = tl_attr_int(op, TL_ATTR_AXIS);
   if (!cg->num_grid) {
      grid_register(cg, op, "nctaid", axis);
      return;
   }
   unsigned first = LLVMCountParams(cg->fn) - cg->num_maps - cg->num_grid;
   tl_cg_def(cg, tl_result(op, 0)).v[0] = LLVMGetParam(cg->fn, first + (unsigned)axis);
}

void
tl_emit_block_id(TlCg *cg, const TlOp *op)
{
   grid_register(cg, op, "ctaid", 0);
}

void
tl_emit_num_blocks(TlCg *cg, const TlOp *op)
{
   grid_register(cg, op, "nctaid", 0);
}

void
tl_emit_sreg(TlCg *cg, const TlOp *op)
{
   static const struct {
      const char *text, *constraint;
      bool is_64;
   } reg[] = {
      [TL_SREG_GLOBALTIMER] = {"mov.u64 $0, %globaltimer;", "=l", true},
      [TL_SREG_SMID] = {"mov.u32 $0, %smid;", "=r", false},
      [TL_SREG_CLOCK64] = {"mov.u64 $0, %clock64;", "=l", true},
   };
   int64_t which = tl_attr_int(op, TL_ATTR_SREG);
   LLVMValueRef v = tl_cg_asm(cg, reg[which].text, reg[which].constraint,
                              reg[which].is_64 ? cg->i64 : cg->i32, NULL, 0, TL_ASM_EFFECT);
   TlDtype t = tl_result(op, 0)->type->dtype;
   LLVMTypeRef want = tl_cg_dtype(cg, t);
   if (LLVMTypeOf(v) != want)
      v = reg[which].is_64 ? LLVMBuildTrunc(cg->b, v, want, "") : LLVMBuildZExt(cg->b, v, want, "");
   tl_cg_def(cg, tl_result(op, 0)).v[0] = v;
}

/* lane and warp are made once, in the entry block, from tid.x whose range is known. */
static LLVMValueRef
entry_value(TlCg *cg, bool is_lane)
{
   LLVMValueRef tid = tl_cg_thread_id(cg);
   LLVMBasicBlockRef here = LLVMGetInsertBlock(cg->b);
   LLVMPositionBuilderBefore(cg->b, cg->entry_end);
   LLVMValueRef v = is_lane ? LLVMBuildAnd(cg->b, tid, tl_cg_i32(cg, 31), "lane")
                            : LLVMBuildLShr(cg->b, tid, tl_cg_i32(cg, 5), "warp");
   LLVMPositionBuilderAtEnd(cg->b, here);
   return v;
}

LLVMValueRef
tl_cg_warp_from(TlCg *cg, int64_t first)
{
   if (!cg->warp)
      cg->warp = entry_value(cg, false);
   return first ? LLVMBuildSub(cg->b, cg->warp, tl_cg_i32(cg, first), "") : cg->warp;
}

void
tl_emit_lane_id(TlCg *cg, const TlOp *op)
{
   if (!cg->lane)
      cg->lane = entry_value(cg, true);
   tl_cg_def(cg, tl_result(op, 0)).v[0] = cg->lane;
}

void
tl_emit_warp_id(TlCg *cg, const TlOp *op)
{
   tl_cg_def(cg, tl_result(op, 0)).v[0] = tl_cg_warp_from(cg, tl_attr_int(op, TL_ATTR_FIRST_WARP));
}

/* ---- shuffles ----
 * The instruction moves 32 bits.  Narrow elements going to one lane travel packed; 64-bit ones in
 * two halves.  PTX ISA "shfl.sync": c = clamp | segment mask << 8; clamp is 31 (0 for up). */
static LLVMValueRef
shuffle_word(TlCg *cg, const TlOp *op, LLVMValueRef word, LLVMValueRef lane)
{
   static const char *const name[] = {
      [TL_SHFL_BFLY] = "llvm.nvvm.shfl.sync.bfly.i32",
      [TL_SHFL_IDX] = "llvm.nvvm.shfl.sync.idx.i32",
      [TL_SHFL_UP] = "llvm.nvvm.shfl.sync.up.i32",
      [TL_SHFL_DOWN] = "llvm.nvvm.shfl.sync.down.i32",
   };
   int64_t mode = tl_attr_int(op, TL_ATTR_SHFL), width = tl_attr_int(op, TL_ATTR_WIDTH);
   int64_t c = (32 - width) << 8 | (mode == TL_SHFL_UP ? 0 : 31);
   LLVMValueRef args[] = {tl_cg_i32(cg, -1), word, lane, tl_cg_i32(cg, c)};
   return tl_cg_call(cg, name[mode], cg->i32, args, 4);
}

void
tl_emit_shfl(TlCg *cg, const TlOp *op)
{
   const TlType *elem_type = tl_type_elem(tl_result(op, 0)->type);
   LLVMTypeRef elem = tl_cg_elem(cg, elem_type);
   unsigned bits = tl_cg_elem_bits(elem_type);
   TlRegs x = tl_cg_use(cg, tl_arg(op, 0)), lane = tl_cg_use(cg, tl_arg(op, 1));
   TlRegs dst = tl_cg_def(cg, tl_result(op, 0));
   unsigned group = bits < 32 && lane.count == 1 ? 32 / bits : 1;
   for (unsigned r = 0; r < x.count;) {
      unsigned n = x.count - r >= group ? group : 1;
      LLVMValueRef l = lane.v[lane.count == 1 ? 0 : r], words[2], back[2];
      unsigned num_words = 1;
      if (n * bits >= 32)
         num_words = tl_cg_pack(cg, &x.v[r], n, bits, 32, words);
      else
         words[0] = LLVMBuildZExt(cg->b, tl_cg_to_int(cg, x.v[r], bits), cg->i32, "");
      for (unsigned w = 0; w < num_words; w++)
         back[w] = shuffle_word(cg, op, words[w], l);
      if (n * bits >= 32)
         tl_cg_unpack(cg, back, num_words, 32, elem, bits, &dst.v[r]);
      else
         dst.v[r] = tl_cg_from_int(
            cg, LLVMBuildTrunc(cg->b, back[0], LLVMIntTypeInContext(cg->llvm, bits), ""), elem);
      r += n;
   }
}

void
tl_emit_vote(TlCg *cg, const TlOp *op)
{
   TlRegs x = tl_cg_use(cg, tl_arg(op, 0)), dst = tl_cg_def(cg, tl_result(op, 0));
   LLVMValueRef args[] = {tl_cg_i32(cg, -1), x.v[0]};
   dst.v[0] = tl_cg_call(cg, "llvm.nvvm.vote.any.sync", cg->i1, args, 2);
}

/* ---- barriers ---- */
void
tl_emit_bar_warp(TlCg *cg, const TlOp *op)
{
   (void)op;
   LLVMValueRef all = tl_cg_i32(cg, -1);
   tl_cg_call(cg, "llvm.nvvm.bar.warp.sync", cg->voidt, &all, 1);
}

/* Each four warps at a barrier with a constant number: one in a register would take all 16. */
static void
group_barriers(TlCg *cg, const TlOp *op)
{
   enum { THREADS = 32 * TL_GROUP_WARPS };
   LLVMValueRef warp = tl_cg_warp_from(cg, cg->role_first_warp);
   TlSb text;
   tl_sb_init(&text, cg->arena);
   tl_sb_printf(&text, "{ .reg .pred mine;\n\t.reg .b32 group;\n\tshr.u32 group, $0, %d;\n\t",
                TL_LOG2_GROUP_WARPS);
   for (uint32_t i = 0; i < cg->role_num_warps / TL_GROUP_WARPS; i++)
      tl_sb_printf(&text, "setp.eq.u32 mine, group, %u;\n\t@mine bar.sync %lld, %d;\n\t", i,
                   (long long)tl_attr_int(op, TL_ATTR_BARRIER) + i, THREADS);
   tl_sb_str(&text, "}");
   tl_cg_asm(cg, tl_sb_cstr(&text), "r,~{memory}", cg->voidt, &warp, 1,
             TL_ASM_EFFECT | TL_ASM_CONVERGENT);
}

/* One warp, all of a block or of a role, meets at no unit of the multiprocessor: the warp's own
 * barrier orders the same memory. */
void
tl_emit_bar_sync(TlCg *cg, const TlOp *op)
{
   LLVMValueRef args[] = {tl_cg_i32(cg, tl_attr_int(op, TL_ATTR_BARRIER)),
                          tl_cg_i32(cg, cg->role_num_warps * 32)};
   if (tl_attr_int(op, TL_ATTR_GROUPED))
      group_barriers(cg, op);
   else if (cg->role_num_warps == 1)
      tl_emit_bar_warp(cg, op);
   else if (cg->role_num_warps == tl_total_warps(cg->func))
      tl_cg_call(cg, "llvm.nvvm.barrier.cta.sync.aligned.all", cg->voidt, args, 1);
   else
      tl_cg_call(cg, "llvm.nvvm.barrier.cta.sync.aligned.count", cg->voidt, args, 2);
}

/* Threads that have ended count as having come. */
void
tl_emit_cluster_sync(TlCg *cg, const TlOp *op)
{
   (void)op;
   if (cg->target->sm < 90)
      tl_cg_unsupported(cg, "'cluster_sync'", "clusters of blocks exist from sm_90 on");
   tl_cg_needs_ptx(cg, 80);
   tl_cg_asm(cg, "barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;", "~{memory}",
             cg->voidt, NULL, 0, TL_ASM_EFFECT | TL_ASM_CONVERGENT);
}

/* ---- mbarriers ----
 * PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier". */
static LLVMValueRef
mbar_address(TlCg *cg, const TlOp *op)
{
   if (cg->target->sm < 90)
      tl_cg_unsupported(cg, tl_arena_printf(cg->arena, "'%s'", tl_info(op)->text),
                        "waiting for an mbarrier exists from sm_90 on");
   tl_cg_needs_ptx(cg, 80);
   LLVMValueRef p = tl_cg_shared_ptr(cg, tl_cg_use(cg, tl_arg(op, 0)).v[0], 0);
   return LLVMBuildPtrToInt(cg->b, p, cg->i32, "");
}

static LLVMValueRef
mbar_pred(TlCg *cg, const TlOp *op)
{
   const TlValue *pred = tl_pred(op);
   return pred ? tl_cg_use(cg, pred).v[0] : LLVMConstInt(LLVMInt1TypeInContext(cg->llvm), 1, 0);
}

static const TlOp *
beside_constants(const TlOp *op, bool forward)
{
   do
      op = forward ? op->next : op->prev;
   while (op && op->opcode == TL_OP_CONSTANT);
   return op;
}

/* Is the other one made right beside it, by the same threads? */
static bool
is_made_with(const TlOp *op, const TlOp *other)
{
   return other && other->opcode == TL_OP_MBAR_INIT && tl_pred(other) == tl_pred(op);
}

/* n mbarriers from `first` on as one text behind one branch: every thread but one jumps, and all
 * others wait for it.  Copies of boxes see mbarriers after a barrier only if they are fenced. */
static const TlOp *
make_mbarriers(TlCg *cg, const TlOp *first, unsigned n, bool is_fenced)
{
   const char *text = "{ @!$0 bra MADE_${:uid};\n\t", *constraints = "b";
   LLVMValueRef *args = tl_new_array(cg->arena, LLVMValueRef, n + 1);
   args[0] = mbar_pred(cg, first);
   for (unsigned i = 1; i <= n; i++, first = beside_constants(first, true)) {
      args[i] = mbar_address(cg, first);
      text = tl_arena_printf(cg->arena, "%smbarrier.init.shared::cta.b64 [$%u], %lld;\n\t", text, i,
                             (long long)tl_attr_int(first, TL_ATTR_ARRIVALS));
      constraints = tl_arena_printf(cg->arena, "%s,r", constraints);
   }
   text = tl_arena_printf(cg->arena, "%s%sMADE_${:uid}:\n\t}", text,
                          is_fenced ? "fence.mbarrier_init.release.cluster;\n\t" : "");
   tl_cg_asm(cg, text, tl_arena_printf(cg->arena, "%s,~{memory}", constraints), cg->voidt, args,
             n + 1, TL_ASM_EFFECT | TL_ASM_CONVERGENT);
   return first;
}

/* All that are made right beside each other come with the last of them. */
void
tl_emit_mbar_init(TlCg *cg, const TlOp *op)
{
   enum { MOST_AT_ONCE = 32 };
   const TlOp *next = beside_constants(op, true), *first = op;
   unsigned n = 1;
   if (is_made_with(op, next))
      return;
   for (const TlOp *p = op; is_made_with(op, p = beside_constants(p, false)); n++)
      first = p;
   for (; n > MOST_AT_ONCE; n -= MOST_AT_ONCE)
      first = make_mbarriers(cg, first, MOST_AT_ONCE, false);
   make_mbarriers(cg, first, n, cg->num_maps > 0 || cg->makes_maps);
   if (cg->num_maps && (!next || next->opcode != TL_OP_MBAR_INIT))
      tl_cg_fetch_tensor_maps(cg, mbar_pred(cg, op));
}

void
tl_emit_mbar_arrive(TlCg *cg, const TlOp *op)
{
   LLVMValueRef args[] = {mbar_address(cg, op), mbar_pred(cg, op)};
   const char *text = "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];";
   /* PTX ISA, "mapa": the same place in a block of the cluster.  As it stands, an arrival releases
    * to threads of the block; of the cluster it would be a fence of the whole GPU.  What is handed
    * over here was read only, and the reads are done. */
   if (tl_attr_int(op, TL_ATTR_BOTH))
      text = "{ .reg .b32 there;\n\t"
             "mapa.shared::cluster.u32 there, $0, 0;\n\t"
             "@$1 mbarrier.arrive.shared::cluster.b64 _, [there];\n\t"
             "mapa.shared::cluster.u32 there, $0, 1;\n\t"
             "@$1 mbarrier.arrive.shared::cluster.b64 _, [there];\n\t}";
   tl_cg_asm(cg, text, "r,b,~{memory}", cg->voidt, args, 2, TL_ASM_EFFECT);
}

/* "noinc": the arrival is one of those that the mbarrier was made for. */
void
tl_emit_cp_async_arrive(TlCg *cg, const TlOp *op)
{
   LLVMValueRef at = mbar_address(cg, op);
   tl_cg_asm(cg, "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [$0];", "r,~{memory}", cg->voidt,
             &at, 1, TL_ASM_EFFECT);
}

void
tl_emit_mbar_expect(TlCg *cg, const TlOp *op)
{
   LLVMValueRef args[] = {mbar_address(cg, op), mbar_pred(cg, op)};
   const char *text =
      tl_arena_printf(cg->arena, "@$1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], %lld;",
                      (long long)tl_attr_int(op, TL_ATTR_BYTES));
   tl_cg_asm(cg, text, "r,b,~{memory}", cg->voidt, args, 2, TL_ASM_EFFECT);
}

void
tl_emit_mbar_wait(TlCg *cg, const TlOp *op)
{
   LLVMValueRef args[] = {mbar_address(cg, op), tl_cg_use(cg, tl_arg(op, 1)).v[0]};
   tl_cg_asm(cg,
             "{ .reg .pred p;\n\tWAIT_${:uid}:\n\t"
             "mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1;\n\t"
             "@!p bra.uni WAIT_${:uid};\n\t}",
             "r,r,~{memory}", cg->voidt, args, 2, TL_ASM_EFFECT | TL_ASM_CONVERGENT);
}

void
tl_emit_gdc(TlCg *cg, const TlOp *op)
{
   if (cg->target->sm < 90) {
      tl_cg_unsupported(cg, tl_arena_printf(cg->arena, "'%s'", tl_info(op)->text),
                        "programmatic dependent launch exists from sm_90 on");
      return;
   }
   tl_cg_call(cg, tl_info(op)->how, cg->voidt, NULL, 0);
}
