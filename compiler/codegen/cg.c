/* One module from LOWERED functions: kernels with their parameters, blocks walked in order, every
 * operation emitted by the rule that ops.def names.  Invariant: a value's registers are defined
 * before any use is emitted, since the IR is in dominance order. */
#include "codegen/cg.h"
#include "ir/launch_expr.h"
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
void
tl_cg_attr(TlCg *cg, const char *key, const char *value)
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
   tl_cg_attr(cg, "nvvm.reqntid", threads);
   if (f->cluster) {
      char blocks[32];
      snprintf(blocks, sizeof blocks, "%u,1,1", f->cluster);
      tl_cg_attr(cg, "nvvm.cluster_dim", blocks);
   }
   tl_cg_bound_registers(cg);
   /* "One block a multiprocessor will do" makes ptxas take registers that cost a second block on
    * Hopper and older: layer norm of 16384 fp16 columns, 8 warps: 150 instead of 126.  For sm_100
    * it would rather spill than lose a block. */
   if (cg->target->sm >= 100)
      tl_cg_attr(cg, "nvvm.minctasm", "1");
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
      if (!cg->host)
         tl_cg_take_halves(cg);
      tl_cg_order_stores(cg);
      tl_cg_order_values(cg);
      tl_cg_bound_blocks(cg);
   }
   return !cg->failed;
}
