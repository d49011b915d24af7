/* One module from LOWERED functions: kernels with their parameters, blocks walked in order, every
 * operation emitted by the rule that ops.def names.  Invariant: a value's registers are defined
 * before any use is emitted, since the IR is in dominance order. */
#include "codegen/cg.h"
#include "ir/control.h"
#include "ir/launch_expr.h"
#include "ir/pressure.h"
#include "ir/walk.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define TL_OP(id, name, args, n, infer, layout, eval, fold, exec, lower, emit, ...)                \
   TlEmitRule tl_emit_##emit;
#include "ir/ops.def"

static TlEmitRule *const emit_rule[TL_OP_COUNT] = {
#define TL_OP(id, name, args, n, infer, layout, eval, fold, exec, lower, emit, ...)                \
   [TL_OP_##id] = tl_emit_##emit,
#include "ir/ops.def"
};

TlRegs
tl_cg_use(TlCg *cg, const TlValue *v)
{
   assert(v->id < cg->func->next_value_id);
   assert(cg->regs[v->id].v);
   return cg->regs[v->id];
}

TlRegs
tl_cg_def(TlCg *cg, const TlValue *v)
{
   TlRegs r = {NULL, tl_type_num_regs(v->type)};
   r.v = tl_new_array(cg->arena, LLVMValueRef, r.count);
   cg->regs[v->id] = r;
   return r;
}

LLVMValueRef
tl_cg_call(TlCg *cg, const char *name, LLVMTypeRef ret, const LLVMValueRef *args, unsigned n)
{
   LLVMTypeRef types[16];
   assert(n <= 16);
   for (unsigned i = 0; i < n; i++)
      types[i] = LLVMTypeOf(args[i]);
   LLVMTypeRef ft = LLVMFunctionType(ret, types, n, 0);
   LLVMValueRef f = cg->host ? tl_host_intrinsic(cg, name, ret) : NULL;
   if (!f)
      f = LLVMGetNamedFunction(cg->mod, name);
   if (!f)
      f = LLVMAddFunction(cg->mod, name, ft);
   return LLVMBuildCall2(cg->b, ft, f, (LLVMValueRef *)args, n, "");
}

LLVMValueRef
tl_cg_overloaded(TlCg *cg, const char *intrinsic, LLVMTypeRef type, const LLVMValueRef *args,
                 unsigned n)
{
   unsigned id = LLVMLookupIntrinsicID(intrinsic, strlen(intrinsic));
   assert(id != 0);
   LLVMTypeRef ft = LLVMIntrinsicGetType(cg->llvm, id, &type, 1);
   LLVMValueRef f = cg->host ? tl_host_intrinsic(cg, intrinsic, type) : NULL;
   if (!f)
      f = LLVMGetIntrinsicDeclaration(cg->mod, id, &type, 1);
   return LLVMBuildCall2(cg->b, ft, f, (LLVMValueRef *)args, n, "");
}

LLVMValueRef
tl_cg_asm(TlCg *cg, const char *text, const char *constraints, LLVMTypeRef ret,
          const LLVMValueRef *args, unsigned n, unsigned flags)
{
   LLVMTypeRef types[TL_ASM_MAX_OPERANDS];
   if (n > TL_ASM_MAX_OPERANDS) {
      tl_cg_unsupported(cg, "this operation",
                        "it has more operands than an asm statement may have");
      return ret == cg->voidt ? NULL : LLVMGetPoison(ret);
   }
   for (unsigned i = 0; i < n; i++)
      types[i] = LLVMTypeOf(args[i]);
   LLVMTypeRef ft = LLVMFunctionType(ret, types, n, 0);
   LLVMValueRef f = LLVMGetInlineAsm(ft, text, strlen(text), constraints, strlen(constraints),
                                     (flags & TL_ASM_EFFECT) != 0, 0, LLVMInlineAsmDialectATT, 0);
   LLVMValueRef call = LLVMBuildCall2(cg->b, ft, f, (LLVMValueRef *)args, n, "");
   if (flags & TL_ASM_CONVERGENT) {
      unsigned kind = LLVMGetEnumAttributeKindForName("convergent", 10);
      LLVMAddCallSiteAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                               LLVMCreateEnumAttribute(cg->llvm, kind, 0));
   }
   return call;
}

LLVMValueRef
tl_cg_contract(TlCg *cg, LLVMValueRef v)
{
   if (!cg->func->strict_fp && !cg->host && LLVMIsAInstruction(v) &&
       LLVMCanValueUseFastMathFlags(v))
      LLVMSetFastMathFlags(v, LLVMFastMathAllowContract);
   return v;
}

void
tl_cg_unsupported(TlCg *cg, const char *what, const char *why)
{
   if (!cg->failed)
      tl_report(cg->diags, E0501, cg->op->range, what, cg->target->arch, why);
   cg->failed = true;
}

void
tl_cg_needs_ptx(TlCg *cg, uint32_t ptx)
{
   if (ptx > cg->target->max_ptx)
      tl_cg_unsupported(
         cg, tl_arena_printf(cg->arena, "'%s'", tl_info(cg->op)->text),
         tl_arena_printf(cg->arena, "it needs PTX %u.%u, at most %u.%u was asked for", ptx / 10,
                         ptx % 10, cg->target->max_ptx / 10, cg->target->max_ptx % 10));
   if (ptx > cg->ptx)
      cg->ptx = ptx;
}

/* tid.x with its range, placed in the entry block. */
LLVMValueRef
tl_cg_thread_id(TlCg *cg)
{
   if (cg->host)
      return tl_host_thread_id(cg);
   LLVMBasicBlockRef here = LLVMGetInsertBlock(cg->b);
   LLVMPositionBuilderBefore(cg->b, cg->entry_end);
   LLVMValueRef tid = tl_cg_call(cg, "llvm.nvvm.read.ptx.sreg.tid.x", cg->i32, NULL, 0);
   unsigned kind = LLVMGetEnumAttributeKindForName("range", 5);
   uint64_t lo = 0, hi = tl_total_warps(cg->func) * 32;
   LLVMAddCallSiteAttribute(tid, (LLVMAttributeIndex)LLVMAttributeReturnIndex,
                            LLVMCreateConstantRangeAttribute(cg->llvm, kind, 32, &lo, &hi));
   LLVMPositionBuilderAtEnd(cg->b, here);
   return tid;
}

static LLVMMetadataRef
di_file(TlCg *cg, uint32_t file)
{
   const TlSource *s = tl_source(cg->sources, file);
   const char *name = s ? tl_source_plain_name(cg->arena, s) : "unknown";
   return LLVMDIBuilderCreateFile(cg->di, name, strlen(name), ".", 1);
}

/* Lines of another file than the kernel's, of the library for example, are in a scope of theirs. */
static LLVMMetadataRef
di_scope(TlCg *cg, uint32_t file)
{
   const void *key = (const void *)(uintptr_t)file;
   if (file == cg->func->range.file)
      return cg->di_sub;
   LLVMMetadataRef scope = tl_map_get(&cg->di_scopes, key);
   if (!scope) {
      scope = LLVMDIBuilderCreateLexicalBlockFile(cg->di, cg->di_sub, di_file(cg, file), 0);
      tl_map_put(&cg->di_scopes, key, scope);
   }
   return scope;
}

void
tl_cg_loc(TlCg *cg, TlRange range)
{
   if (!cg->di || !range.file)
      return;
   TlLineCol at = tl_source_line_col(cg->sources, range.file, range.begin);
   LLVMMetadataRef loc = LLVMDIBuilderCreateDebugLocation(cg->llvm, at.line, at.column,
                                                          di_scope(cg, range.file), NULL);
   LLVMSetCurrentDebugLocation2(cg->b, loc);
}

void
tl_cg_block(TlCg *cg, const TlBlock *block)
{
   for (const TlOp *op = block->first; op && !cg->failed; op = op->next) {
      if (tl_has_trait(op, TL_TRAIT_TERM))
         return; /* yields are read by the operation that owns the region */
      cg->op = op;
      tl_cg_loc(cg, op->range);
      if (tl_map_get(&cg->holds, op))
         tl_cg_hold(cg);
      TlEmitRule *own = cg->host ? tl_host_rule(cg, op) : NULL;
      (own ? own : emit_rule[op->opcode])(cg, op);
   }
}

void
tl_emit_none(TlCg *cg, const TlOp *op)
{
   (void)cg;
   (void)op;
   assert(false && "the verifier: no such operation in a lowered function");
}

void
tl_emit_return(TlCg *cg, const TlOp *op)
{
   (void)cg;
   (void)op;
}

/* ---- module and kernel set-up ---- */
static void
string_attr(TlCg *cg, const char *key, const char *value)
{
   LLVMAddAttributeAtIndex(cg->fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                           LLVMCreateStringAttribute(cg->llvm, key, (unsigned)strlen(key), value,
                                                     (unsigned)strlen(value)));
}

static void
param_attrs(TlCg *cg, unsigned index, const TlParam *p)
{
   if (p->type->kind != TL_TYPE_PTR || p->divisibility < 2)
      return;
   unsigned kind = LLVMGetEnumAttributeKindForName("align", 5);
   uint64_t align = p->divisibility & (0u - p->divisibility);
   LLVMAddAttributeAtIndex(cg->fn, index + 1,
                           LLVMCreateEnumAttribute(cg->llvm, kind, align > 128 ? 128 : align));
}

/* A bool travels as one byte; everything else as its own type. */
static LLVMTypeRef
param_type(TlCg *cg, const TlType *t)
{
   return t->kind == TL_TYPE_SCALAR && t->dtype == TL_I1 ? cg->i8 : tl_cg_elem(cg, t);
}

uint32_t
tl_cg_regs_bits(const TlType *t)
{
   const TlType *elem = tl_type_elem(t);
   uint32_t bits = elem->kind == TL_TYPE_PTR ? 64 : tl_dtype_info[elem->dtype].bits;
   return bits * tl_type_num_regs(t);
}

static uint32_t
loaded_bits(const TlOp *op)
{
   return tl_cg_regs_bits(tl_result(op, 0)->type);
}

/* Words that an iteration of a loop loads to registers, of the loop that loads most. */
static uint32_t
loaded_in_loop(const TlBlock *block)
{
   uint32_t most = 0;
   for (const TlOp *loop = block->first; loop; loop = tl_walk_next(loop, block)) {
      const TlBlock *body = tl_is_loop(loop) ? tl_loop_body(loop) : NULL;
      uint32_t bits = 0;
      for (const TlOp *op = body ? body->first : NULL; op; op = tl_walk_next(op, body))
         bits += op->opcode == TL_OP_LD_GLOBAL ? loaded_bits(op) : 0;
      most = bits / 32 > most ? bits / 32 : most;
   }
   return most;
}

/* Does a loop load to registers and exchange values between threads, too, or load at least `many`
 * bits?  Products have their own balance of blocks and registers. */
static bool
waits_in_loop(const TlBlock *block, uint32_t many)
{
   bool found = false;
   for (const TlOp *loop = block->first; loop; loop = tl_walk_next(loop, block)) {
      uint32_t loads = 0;
      bool waits = false;
      const TlBlock *body = tl_is_loop(loop) ? tl_loop_body(loop) : NULL;
      if (loop->opcode == TL_OP_MMA || loop->opcode == TL_OP_WGMMA)
         return false;
      for (const TlOp *op = body ? body->first : NULL; op; op = tl_walk_next(op, body)) {
         if (op->opcode == TL_OP_LD_GLOBAL)
            loads += loaded_bits(op);
         waits |= op->opcode == TL_OP_BAR_SYNC || op->opcode == TL_OP_SHFL;
      }
      found |= (loads > 0 && waits) || loads >= many;
   }
   return found;
}

/* Words that loads outside of loops fill and that could all be under way at once, 0 where they are
 * few.  Of 128 words that a sum of partial results reads ptxas, with 80 registers for six blocks,
 * had a sixth under way: seven round trips to memory.  A block of four warps with 96 words each has
 * 48 KB under way, so a few such blocks keep memory busy.  Less comes in without being told: a
 * gradient of states with 68 words took 96 registers, and for 149, three blocks, its launch of 512
 * blocks was two waves and 1.5 of its time. */
static uint32_t
loaded_in_line(const TlBlock *body)
{
   enum { MANY_LOADED = 96 };
   uint32_t most = 0, bits = 0;
   for (const TlOp *op = body->first; op; op = tl_walk_next(op, body))
      if (op->opcode == TL_OP_MMA || op->opcode == TL_OP_WGMMA)
         return 0;
   for (const TlOp *op = body->first; op; op = op->next) {
      if (op->num_regions > 0 || tl_has_trait(op, TL_TRAIT_SYNC))
         bits = 0;
      bits += op->opcode == TL_OP_LD_GLOBAL ? loaded_bits(op) : 0;
      most = bits > most ? bits : most;
   }
   return most >= MANY_LOADED * 32 ? most / 32 : 0;
}

/* Registers of a thread that let its loads be under way at once: `words` live beside them, `held`
 * of those while it waits.  What pure operations make of that between two waits may go element by
 * element, and does not if there is room: exp and log of 32 loaded values took 138 registers, three
 * blocks of 4 warps, and with 96 the loads were under way as before. */
static uint32_t
room_for(uint32_t words, uint32_t held)
{
   enum { USUAL = 128, USUAL_BETWEEN = 96 };
   if (words <= held + held / 2)
      return words > USUAL ? words + words / 4 : USUAL;
   uint32_t half_way = (words + held) / 2;
   uint32_t room = half_way + half_way / 4;
   return room > USUAL_BETWEEN ? room : USUAL_BETWEEN;
}

static uint32_t
blocks_of(const TlCg *cg, uint32_t registers)
{
   return tl_blocks_with(cg->target, tl_total_warps(cg->func), registers);
}

/* ptxas, left alone, gives up registers for one block more on a multiprocessor.  In a loop with an
 * exchange, where no warp runs ahead, loads then wait for each other: a recurrence over 16 of them
 * had 56 registers and four round trips in an iteration, with 96 one.  So it is told the number of
 * blocks that leaves room for 128 registers, or for what lives at once and a quarter more.
 * It also makes loads wait that come in tiles, to save registers that bring no block more: of 8
 * loads of 16 bytes to a sum of 64 registers, 4 were under way at a time.  And the loads of a tile
 * that is changed in place: of 32 masked ones, 16 came one after the other.
 * Blocks of 32 warps would be alone with 128 registers, and nothing runs while one waits at its
 * exchange: it asks for a second one where what it holds and a quarter more leave room.  Of 16
 * warps, which leave twice the registers to their loads, ptxas weighs them better by itself: nine
 * launches of KL divergences and cross entropies took 0.90 of Triton's time, one of them more than
 * 1.1, when asked for one block, and 0.88, none more than 1.1, left alone.
 * Narrow elements fill little of a thread's words: 32 loads of 16 bits a thread, in four blocks of
 * 4 warps, have 32 KB under way.  There all that pure operations hold between two waits is left to
 * go element by element: exp and log of these took 80 registers, six blocks, their loads as before.
 */
static void
ask_for_blocks(TlCg *cg, uint32_t words, uint32_t held)
{
   uint32_t loaded = loaded_in_loop(cg->func->body->block);
   uint32_t in_line = loaded_in_line(cg->func->body->block);
   uint32_t room = room_for(words, loaded > held ? loaded : held);
   room = room > in_line + in_line / 8 ? room : in_line + in_line / 8;
   uint32_t usual = blocks_of(cg, room);
   enum { MANY = 16, LARGE = 32 /* warps */, ENOUGH_LOADED = 4 * 96 /* words a lane: 48 KB */ };
   uint32_t warps = tl_total_warps(cg->func);
   bool has_room = blocks_of(cg, held + held / 4 + !held) > 1;
   char text[16];
   if (usual < 2 && warps >= MANY && warps < LARGE)
      return;
   if (usual < 2)
      usual = has_room && warps >= LARGE ? 2 : 1;
   if (words > held + held / 2 && loaded < held && usual * warps * loaded < ENOUGH_LOADED)
      usual = blocks_of(cg, held + held / 4);
   snprintf(text, sizeof text, "%u", usual);
   string_attr(cg, "nvvm.minctasm", text);
}

/* Words that the products of wgmma in a loop's body give, and take from registers; none where its
 * threads copy, as the addresses of that are in no count. */
static uint32_t
words_of_products_in(const TlBlock *body)
{
   uint32_t bits = 0;
   for (const TlOp *op = body->first; op; op = op->next) {
      if (op->opcode == TL_OP_CP_ASYNC)
         return 0;
      if (op->opcode == TL_OP_WGMMA)
         bits += tl_cg_regs_bits(tl_result(op, 0)->type) +
                 (tl_wgmma_is_shared(op, 0) ? 0 : tl_cg_regs_bits(tl_arg(op, 0)->type));
   }
   return bits / 32;
}

/* Of the loop with most. */
static uint32_t
words_of_products(const TlBlock *block)
{
   uint32_t most = 0;
   for (const TlOp *loop = block->first; loop; loop = tl_walk_next(loop, block)) {
      uint32_t words = tl_is_loop(loop) ? words_of_products_in(tl_loop_body(loop)) : 0;
      most = words > most ? words : most;
   }
   return most;
}

/* Blocks that share a multiprocessor hide each other's waits, so a few registers must not cost one:
 * attention of 64 rows and 128 keys took 188 with a soft cap and 198 with a window, where the same
 * code fits 168, three blocks.  Asked for where all that lives and an eighth would cost a block,
 * what lives across effects and an eighth would not, and shared memory lets the blocks in.  Only
 * there: told a number that it reaches anyway, ptxas takes registers (128 -> 150). */
static void
ask_for_blocks_of_products(TlCg *cg, uint32_t words, uint32_t alive, uint32_t held)
{
   enum { WORDS_BESIDE = 32, BLOCK_BYTES = 1024 /* of shared memory, reserved */ };
   uint32_t blocks = blocks_of(cg, words + WORDS_BESIDE);
   uint32_t fit = cg->target->sm_shared_bytes / (cg->func->shared_bytes + BLOCK_BYTES);
   char text[16];
   if (fit < blocks || blocks_of(cg, alive + alive / 8) >= blocks ||
       blocks_of(cg, held + held / 8) < blocks)
      return;
   snprintf(text, sizeof text, "%u", blocks);
   string_attr(cg, "nvvm.minctasm", text);
}

/* Blocks that a pass made room for in shared memory are not to be lost for a few registers: sums of
 * chunk states took 174 where three blocks leave 168, and 167 when asked.  Counts of what copying
 * threads hold are a quarter too high; beyond that nothing is asked for. */
static void
ask_for_freed_blocks(TlCg *cg, uint32_t held)
{
   char text[16];
   if (blocks_of(cg, held - held / 5) < cg->func->blocks)
      return;
   snprintf(text, sizeof text, "%u", cg->func->blocks);
   string_attr(cg, "nvvm.minctasm", text);
}

/* Words of the largest result of an elementwise operation in a loop. */
static uint32_t
widest_in_loop(const TlBlock *top)
{
   uint32_t most = 0;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      const TlValue *v = op->num_results ? tl_result(op, 0) : NULL;
      bool is_loaded = op->opcode == TL_OP_LD_GLOBAL || tl_has_trait(op, TL_TRAIT_ELTWISE);
      if (!is_loaded || op->block == top || tl_type_elem(v->type)->kind != TL_TYPE_SCALAR)
         continue;
      uint32_t words = tl_cg_regs_bits(v->type) / 32;
      most = words > most ? words : most;
   }
   return most;
}

/* Would a block be alone on its multiprocessor for what its loop computes between loads and stores,
 * though it holds so little there that a second one fits?  No exchange keeps its warps together, so
 * some compute while others wait.  Operation by operation, logarithms of 32 loaded values live
 * beside all that was loaded, 48 words: ptxas took 91 registers, and began the 16 loads over 810 of
 * 1,030 instructions; by element 64, the loads begun within 180. */
static bool
goes_by_element(const TlCg *cg, uint32_t held)
{
   const TlBlock *body = cg->func->body->block;
   uint32_t loaded = loaded_in_loop(body);
   uint32_t most = held > loaded ? held : loaded;
   return loaded && !waits_in_loop(body, UINT32_MAX) && blocks_of(cg, most + most / 4) > 1 &&
          blocks_of(cg, loaded + widest_in_loop(body)) < 2;
}

/* ptxas, when it must spill much, may fall to 32 registers a thread: a group norm of 512 elements
 * a thread spilled 21,608 bytes so and 7,896 with all 255.  The bound is named only where tiles
 * overflow it: else ptxas does better left alone, by the order it finds. */
static void
bound_registers(TlCg *cg)
{
   enum { MANY_BITS = 4 * 128 }; /* four of the widest loads */
   const TlFunc *f = cg->func;
   uint32_t most = tl_registers_at_start(cg->target, f);
   const uint32_t *lowered = tl_lowered_words(cg->arena, f);
   uint32_t words = tl_pressure(cg->arena, f, lowered, NULL);
   char text[16];
   uint32_t products = words_of_products(f->body->block);
   if (f->blocks && cg->target->sm < 100) {
      ask_for_freed_blocks(cg, tl_held_words(cg->arena, f, lowered));
      return;
   }
   if (!f->extra_warps && words <= most && products) {
      ask_for_blocks_of_products(cg, products, words, tl_held_words(cg->arena, f, lowered));
      return;
   }
   if (!f->extra_warps && words <= most) {
      bool is_free = words > 0 && blocks_of(cg, words) == blocks_of(cg, room_for(words, words));
      uint32_t many = is_free ? MANY_BITS : UINT32_MAX;
      bool holds = tl_cg_holds_loads(cg);
      bool waits = waits_in_loop(f->body->block, many) || loaded_in_line(f->body->block);
      uint32_t held = tl_held_words(cg->arena, f, lowered);
      if (cg->target->sm < 100 && (waits || holds))
         ask_for_blocks(cg, words, holds ? words : held);
      else if (cg->target->sm < 100)
         cg->by_element = goes_by_element(cg, held);
      return;
   }
   snprintf(text, sizeof text, "%u", most);
   string_attr(cg, "nvvm.maxnreg", text);
}

/* Words of PTX, and functions of the CUDA driver that print and assert. */
static void
check_name(TlCg *cg)
{
   static const char *const taken[] = {"_", "WARP_SZ", "vprintf", "__assertfail"};
   for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
      if (strcmp(cg->func->name, taken[i]) == 0) {
         tl_report(cg->diags, E0504, cg->func->range, taken[i]);
         cg->failed = true;
      }
}

/* PTX ISA, "Kernel Function Parameters": 4,352 bytes, from PTX 8.1 on 32,764. */
static void
check_param_bytes(TlCg *cg, const LLVMTypeRef *types, unsigned n)
{
   enum { SMALL = 4352, MOST = 32764, PTX_FOR_MORE = 81, MAP_ALIGN = 64, MAP_BYTES = 128 };
   LLVMTargetDataRef data = LLVMGetModuleDataLayout(cg->mod);
   uint64_t bytes = 0;
   for (unsigned i = 0; i < n; i++) {
      uint64_t size = LLVMABISizeOfType(data, types[i]); /* and alignment */
      bytes = (bytes + size - 1) / size * size + size;
   }
   bytes = cg->num_grid ? (bytes + 3) / 4 * 4 + 4 * (uint64_t)cg->num_grid : bytes;
   if (cg->num_maps)
      bytes = (bytes + MAP_ALIGN - 1) / MAP_ALIGN * MAP_ALIGN + (uint64_t)cg->num_maps * MAP_BYTES;
   unsigned most = cg->target->max_ptx < PTX_FOR_MORE ? SMALL : MOST;
   if (bytes > most) {
      tl_report(cg->diags, E0505, cg->func->range, cg->func->name, (unsigned)bytes, most);
      cg->failed = true;
   } else if (bytes > SMALL) {
      tl_cg_needs_ptx(cg, PTX_FOR_MORE);
   }
}

static bool
makes_maps(const TlBlock *body)
{
   const TlOp *op = body->first;
   while (op && op->opcode != TL_OP_MAP_WRITE)
      op = tl_walk_next(op, body);
   return op != NULL;
}

static void
declare_kernel(TlCg *cg)
{
   const TlFunc *f = cg->func;
   cg->maps = tl_tensor_maps(cg->arena, f, &cg->num_maps);
   cg->makes_maps = makes_maps(f->body->block);
   cg->num_grid = tl_is_persistent(f) ? 3 : 0;
   LLVMTypeRef *types =
      tl_new_array(cg->arena, LLVMTypeRef, f->num_params + cg->num_grid + cg->num_maps + 1);
   unsigned n = 0;
   for (unsigned i = 0; i < f->num_params; i++)
      if (f->params[i].is_runtime)
         types[n++] = param_type(cg, f->params[i].type);
   check_name(cg);
   check_param_bytes(cg, types, n);
   for (unsigned i = 0; i < cg->num_grid; i++)
      types[n++] = cg->i32;
   for (unsigned i = 0; i < cg->num_maps; i++)
      types[n++] = cg->p0;
   cg->fn = LLVMAddFunction(cg->mod, f->name, LLVMFunctionType(cg->voidt, types, n, 0));
   LLVMSetFunctionCallConv(cg->fn, LLVMPTXKernelCallConv);
   char threads[32];
   snprintf(threads, sizeof threads, "%u", tl_total_warps(f) * 32);
   string_attr(cg, "nvvm.reqntid", threads);
   if (f->cluster) {
      char blocks[32];
      snprintf(blocks, sizeof blocks, "%u,1,1", f->cluster);
      string_attr(cg, "nvvm.cluster_dim", blocks);
   }
   bound_registers(cg);
   /* "One block a multiprocessor will do" makes ptxas take registers that cost a second block on
    * Hopper and older: layer norm of 16384 fp16 columns, 8 warps: 150 instead of 126.  For sm_100
    * it would rather spill than lose a block. */
   if (cg->target->sm >= 100)
      string_attr(cg, "nvvm.minctasm", "1");
   unsigned nounwind = LLVMGetEnumAttributeKindForName("nounwind", 8);
   LLVMAddAttributeAtIndex(cg->fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                           LLVMCreateEnumAttribute(cg->llvm, nounwind, 0));
   n = 0;
   for (unsigned i = 0; i < f->num_params; i++)
      if (f->params[i].is_runtime)
         param_attrs(cg, n++, &f->params[i]);
   tl_cg_tensor_map_params(cg, n + cg->num_grid);
}

static void
bind_params(TlCg *cg)
{
   assert(LLVMCountParams(cg->fn) >= cg->func->body->block->num_args);
   const TlBlock *body = cg->func->body->block;
   for (unsigned i = 0; i < body->num_args; i++) {
      LLVMValueRef p = LLVMGetParam(cg->fn, i);
      if (body->args[i]->type->kind == TL_TYPE_SCALAR && body->args[i]->type->dtype == TL_I1)
         p = LLVMBuildICmp(cg->b, LLVMIntNE, p, LLVMConstInt(cg->i8, 0, 0), "");
      tl_cg_def(cg, body->args[i]).v[0] = p;
   }
}

/* Emission kind 3 is DebugDirectivesOnly: .file and .loc without `.target ..., debug`, which would
 * make ptxas serialise wgmma.  LLVM's C enum does not name it. */
static void
begin_debug(TlCg *cg, uint32_t file)
{
   cg->di = LLVMCreateDIBuilder(cg->mod);
   LLVMMetadataRef f = di_file(cg, file);
   cg->di_unit =
      LLVMDIBuilderCreateCompileUnit(cg->di, LLVMDWARFSourceLanguageC, f, "tilec", 5, 1, "", 0, 0,
                                     "", 0, (LLVMDWARFEmissionKind)3, 0, 0, 0, "", 0, "", 0);
   LLVMAddModuleFlag(cg->mod, LLVMModuleFlagBehaviorWarning, "Debug Info Version", 18,
                     LLVMValueAsMetadata(LLVMConstInt(cg->i32, LLVMDebugMetadataVersion(), 0)));
}

static void
debug_function(TlCg *cg)
{
   const TlFunc *f = cg->func;
   if (!cg->options->line_info || !f->range.file)
      return;
   if (!cg->di)
      begin_debug(cg, f->range.file);
   LLVMMetadataRef file = di_file(cg, f->range.file);
   unsigned line = tl_source_line_col(cg->sources, f->range.file, f->range.begin).line;
   LLVMMetadataRef type = LLVMDIBuilderCreateSubroutineType(cg->di, file, NULL, 0, LLVMDIFlagZero);
   cg->di_sub =
      LLVMDIBuilderCreateFunction(cg->di, file, f->name, strlen(f->name), f->name, strlen(f->name),
                                  file, line, type, 0, 1, line, LLVMDIFlagZero, 1);
   tl_map_init(&cg->di_scopes, cg->arena);
   LLVMSetSubprogram(cg->fn, cg->di_sub);
}

bool
tl_cg_function(TlCg *cg, const TlFunc *f)
{
   assert(f->state == TL_STATE_LOWERED);
   cg->func = f;
   cg->by_element = false;
   cg->lane = cg->warp = NULL;
   cg->role_first_warp = 0;
   cg->role_num_warps = tl_total_warps(f);
   cg->regs = tl_new_array(cg->arena, TlRegs, f->next_value_id + 1);
   cg->op = f->body->block->first;
   declare_kernel(cg);
   debug_function(cg);
   cg->entry = LLVMAppendBasicBlockInContext(cg->llvm, cg->fn, "entry");
   LLVMBasicBlockRef start = LLVMAppendBasicBlockInContext(cg->llvm, cg->fn, "start");
   LLVMPositionBuilderAtEnd(cg->b, cg->entry);
   tl_cg_loc(cg, f->range);
   cg->entry_end = LLVMBuildBr(cg->b, start);
   LLVMPositionBuilderAtEnd(cg->b, start);
   bind_params(cg);
   tl_map_init(&cg->holds, cg->arena);
   if (!cg->host)
      tl_cg_find_holds(cg);
   cg->truths = tl_cg_truths_of_stores(cg);
   tl_cg_block(cg, f->body->block);
   LLVMBuildRetVoid(cg->b);
   if (!cg->failed) {
      tl_cg_work_around_ptxas(cg);
      tl_cg_order_stores(cg);
      tl_cg_order_values(cg);
      tl_cg_bound_blocks(cg);
   }
   return !cg->failed;
}
