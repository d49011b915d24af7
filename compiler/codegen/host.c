/* Code for this CPU from LOWERED IR, through LLVM ORC.  Operations with a HOST trait get code of
 * their own (`is_native`); every other one becomes a call of its model by absolute address, so that
 * the object has no external symbol.  The CPU is fixed to x86-64-v2, without FMA, and nothing is
 * contracted: results are the same on every machine. */
#include "codegen/host.h"
#include "codegen/cg.h"

#include <assert.h>
#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/Target.h>

#include <pthread.h>
#include <string.h>

enum { FRAME_ALIGN = 16, STACK_PER_INST = 64, STACK_BASE = 64 << 10 };

typedef struct TlHostCg {
   const TlHostModels *models;
   TL_VEC(TlHostSite *) sites;
   LLVMValueRef thread, args; /* parameters */
   LLVMValueRef frame;        /* registers of the operation being modelled */
   uint32_t frame_bytes;
} TlHostCg;

/* ---- what has code of its own ---- */
static bool
is_float(const TlType *t)
{
   const TlType *e = tl_type_elem(t);
   return e->kind == TL_TYPE_SCALAR && tl_dtype_is_float(e->dtype);
}

static bool
is_narrow(const TlType *t)
{
   return is_float(t) && tl_dtype_info[tl_type_elem(t)->dtype].bits <= 16;
}

static bool
is_native(const TlOp *op)
{
   if (tl_has_trait(op, TL_TRAIT_HOST_BITS))
      return true;
   if (!tl_has_trait(op, TL_TRAIT_HOST) &&
       (!tl_has_trait(op, TL_TRAIT_HOST_INT) || is_float(tl_result(op, 0)->type)))
      return false;
   if (op->opcode == TL_OP_CAST && tl_attr_int(op, TL_ATTR_ROUNDING) != TL_ROUNDING_RTNE)
      return false;
   for (unsigned i = 0; i < op->num_args; i++)
      if (is_narrow(tl_arg(op, i)->type))
         return false;
   return !is_narrow(tl_result(op, 0)->type);
}

/* ---- calls of models ---- */
static LLVMValueRef
address_const(TlCg *cg, const void *p)
{
   return LLVMConstIntToPtr(LLVMConstInt(cg->i64, (uintptr_t)p, 0), cg->p0);
}

static LLVMValueRef
frame_at(TlCg *cg, uint32_t bytes)
{
   assert(cg->host->frame);
   LLVMValueRef i = LLVMConstInt(cg->i64, bytes, 0);
   return LLVMBuildGEP2(cg->b, cg->i8, cg->host->frame, &i, 1, "");
}

static uint32_t
elem_bytes(const TlType *t)
{
   return tl_cg_elem_bits(tl_type_elem(t)) / 8;
}

/* Places an array of t's registers at *end. */
static uint32_t
place(uint32_t *end, const TlType *t)
{
   uint32_t at = *end;
   *end =
      (at + elem_bytes(t) * tl_type_num_regs(t) + FRAME_ALIGN - 1) & ~(uint32_t)(FRAME_ALIGN - 1);
   return at;
}

static TlHostSite *
new_site(TlCg *cg, const TlOp *op)
{
   assert(cg->host);
   TlHostCg *h = cg->host;
   TlHostSite *s = tl_new(cg->arena, TlHostSite);
   uint32_t *at = tl_new_array(cg->arena, uint32_t, op->num_args + op->num_results + 1), end = 0;
   *s = (TlHostSite){.op = op,
                     .index = (uint32_t)h->sites.len,
                     .first_warp = cg->role_first_warp,
                     .num_warps = cg->role_num_warps,
                     .arg_at = at,
                     .result_at = at + op->num_args};
   if (op->num_regions == 0) {
      for (unsigned i = 0; i < op->num_args; i++)
         at[i] = place(&end, tl_arg(op, i)->type);
      for (unsigned i = 0; i < op->num_results; i++)
         at[op->num_args + i] = place(&end, tl_result(op, i)->type);
   }
   if (end > h->frame_bytes)
      h->frame_bytes = end;
   tl_vec_push(cg->arena, &h->sites, s);
   return s;
}

static void
call(TlCg *cg, const void *function, LLVMValueRef *args, unsigned n)
{
   LLVMTypeRef types[] = {cg->p0, cg->p0, cg->p0};
   LLVMTypeRef ft = LLVMFunctionType(cg->voidt, types, n, 0);
   LLVMBuildCall2(cg->b, ft, address_const(cg, function), args, n, "");
}

static void
emit_model(TlCg *cg, const TlOp *op)
{
   assert(cg->host->models->op[op->opcode]);
   TlHostCg *h = cg->host;
   TlHostSite *s = new_site(cg, op);
   for (unsigned i = 0; i < op->num_args; i++) {
      TlRegs x = tl_cg_use(cg, tl_arg(op, i));
      uint32_t es = elem_bytes(tl_arg(op, i)->type);
      for (unsigned r = 0; r < x.count; r++) {
         LLVMValueRef v = x.v[r];
         if (LLVMTypeOf(v) == cg->i1)
            v = LLVMBuildZExt(cg->b, v, cg->i8, "");
         LLVMBuildStore(cg->b, v, frame_at(cg, s->arg_at[i] + r * es));
      }
   }
   LLVMValueRef args[] = {h->thread, address_const(cg, s), h->frame};
   union {
      TlHostModel *fn;
      const void *p;
   } model = {h->models->op[op->opcode]};
   call(cg, model.p, args, 3);
   for (unsigned i = 0; i < op->num_results; i++) {
      const TlValue *v = tl_result(op, i);
      TlRegs dst = tl_cg_def(cg, v);
      uint32_t es = elem_bytes(v->type);
      LLVMTypeRef elem = tl_cg_elem(cg, v->type);
      bool is_bool = elem == cg->i1;
      for (unsigned r = 0; r < dst.count; r++) {
         LLVMValueRef x = LLVMBuildLoad2(cg->b, is_bool ? cg->i8 : elem,
                                         frame_at(cg, s->result_at[i] + r * es), "");
         dst.v[r] = is_bool ? LLVMBuildTrunc(cg->b, x, cg->i1, "") : x;
      }
   }
}

TlEmitRule *
tl_host_rule(TlCg *cg, const TlOp *op)
{
   if (!cg->host->models->op[op->opcode] || is_native(op))
      return NULL;
   return emit_model;
}

static LLVMValueRef
thread_field(TlCg *cg, size_t offset)
{
   LLVMValueRef i = LLVMConstInt(cg->i64, offset, 0);
   return LLVMBuildGEP2(cg->b, cg->i8, cg->host->thread, &i, 1, "");
}

/* NULL: the intrinsic stays. */
LLVMValueRef
tl_host_intrinsic(TlCg *cg, const char *name, LLVMTypeRef type)
{
   unsigned bits = type == cg->f32 ? 32 : type == cg->f64 ? 64 : 0;
   for (const TlHostIntrinsic *i = cg->host->models->intrinsics; i && i->name; i++) {
      union {
         void (*fn)(void);
         const void *p;
      } u = {i->function};
      if (i->bits == bits && strcmp(i->name, name) == 0)
         return address_const(cg, u.p);
   }
   return NULL;
}

/* In the entry block, where it dominates every use. */
LLVMValueRef
tl_host_thread_id(TlCg *cg)
{
   LLVMBasicBlockRef here = LLVMGetInsertBlock(cg->b);
   LLVMPositionBuilderBefore(cg->b, cg->entry_end);
   LLVMValueRef tid =
      LLVMBuildLoad2(cg->b, cg->i32, thread_field(cg, offsetof(TlHostThread, tid)), "tid");
   LLVMPositionBuilderAtEnd(cg->b, here);
   return tid;
}

/* At the end of an iteration: one step less; below zero the models decide whether to go on. */
void
tl_host_loop_step(TlCg *cg, const TlOp *op)
{
   LLVMValueRef field = thread_field(cg, offsetof(TlHostThread, steps));
   LLVMValueRef left = LLVMBuildLoad2(cg->b, cg->i32, field, "");
   left = LLVMBuildSub(cg->b, left, tl_cg_i32(cg, 1), "");
   LLVMBuildStore(cg->b, left, field);
   LLVMBasicBlockRef out = LLVMAppendBasicBlockInContext(cg->llvm, cg->fn, "step");
   LLVMBasicBlockRef on = LLVMAppendBasicBlockInContext(cg->llvm, cg->fn, "on");
   LLVMValueRef spent = LLVMBuildICmp(cg->b, LLVMIntSLT, left, tl_cg_i32(cg, 0), "");
   LLVMBuildCondBr(cg->b, spent, out, on);
   LLVMPositionBuilderAtEnd(cg->b, out);
   LLVMValueRef args[] = {cg->host->thread, address_const(cg, new_site(cg, op))};
   union {
      void (*fn)(TlHostThread *, const TlHostSite *);
      const void *p;
   } step = {cg->host->models->step};
   call(cg, step.p, args, 2);
   LLVMBuildBr(cg->b, on);
   LLVMPositionBuilderAtEnd(cg->b, on);
}

/* ---- the function ---- */
static void
bind_params(TlCg *cg)
{
   const TlBlock *body = cg->func->body->block;
   for (unsigned i = 0; i < body->num_args; i++) {
      LLVMValueRef at = LLVMConstInt(cg->i64, i, 0);
      LLVMValueRef p = LLVMBuildGEP2(cg->b, cg->i64, cg->host->args, &at, 1, "");
      LLVMValueRef bits = LLVMBuildLoad2(cg->b, cg->i64, p, "");
      const TlType *elem = tl_type_elem(body->args[i]->type);
      LLVMTypeRef type = tl_cg_elem(cg, elem);
      unsigned width = elem->kind == TL_TYPE_PTR ? 64 : tl_dtype_info[elem->dtype].bits;
      if (width < 64)
         bits = LLVMBuildTrunc(cg->b, bits, LLVMIntTypeInContext(cg->llvm, width), "");
      tl_cg_def(cg, body->args[i]).v[0] = tl_cg_from_int(cg, bits, type);
   }
}

static bool
build_function(TlCg *cg)
{
   assert(cg->func->state == TL_STATE_LOWERED);
   const TlFunc *f = cg->func;
   TlHostCg *h = cg->host;
   cg->role_num_warps = tl_total_warps(f);
   cg->regs = tl_new_array(cg->arena, TlRegs, f->next_value_id + 1);
   LLVMTypeRef types[] = {cg->p0, cg->p0};
   cg->fn = LLVMAddFunction(cg->mod, "kernel", LLVMFunctionType(cg->voidt, types, 2, 0));
   static const char *const attr[][2] = {{"probe-stack", "inline-asm"}, {"frame-pointer", "all"}};
   for (unsigned i = 0; i < 2; i++)
      LLVMAddAttributeAtIndex(cg->fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                              LLVMCreateStringAttribute(cg->llvm, attr[i][0],
                                                        (unsigned)strlen(attr[i][0]), attr[i][1],
                                                        (unsigned)strlen(attr[i][1])));
   h->thread = LLVMGetParam(cg->fn, 0);
   h->args = LLVMGetParam(cg->fn, 1);
   cg->entry = LLVMAppendBasicBlockInContext(cg->llvm, cg->fn, "entry");
   LLVMBasicBlockRef start = LLVMAppendBasicBlockInContext(cg->llvm, cg->fn, "start");
   LLVMPositionBuilderAtEnd(cg->b, cg->entry);
   h->frame = LLVMBuildArrayAlloca(cg->b, cg->i8, tl_cg_i32(cg, 1), "frame");
   LLVMSetAlignment(h->frame, FRAME_ALIGN);
   cg->entry_end = LLVMBuildBr(cg->b, start);
   LLVMPositionBuilderAtEnd(cg->b, start);
   bind_params(cg);
   tl_cg_block(cg, f->body->block);
   LLVMBuildRetVoid(cg->b);
   LLVMSetOperand(h->frame, 0, tl_cg_i32(cg, h->frame_bytes + FRAME_ALIGN));
   return !cg->failed;
}

/* Every instruction may get a few stack slots of at most 16 bytes. */
static size_t
stack_bound(TlCg *cg)
{
   size_t n = 0;
   for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(cg->fn); b; b = LLVMGetNextBasicBlock(b))
      for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
         n++;
   return STACK_BASE + cg->host->frame_bytes + n * STACK_PER_INST;
}

/* ---- the JIT ---- */
static void
init_once(void)
{
   LLVMInitializeX86TargetInfo();
   LLVMInitializeX86Target();
   LLVMInitializeX86TargetMC();
   LLVMInitializeX86AsmPrinter();
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char triple[] = "x86_64-unknown-linux-gnu";

static LLVMTargetMachineRef
target_machine(TlCg *cg)
{
   LLVMTargetRef t;
   char *error = NULL;
   if (LLVMGetTargetFromTriple(triple, &t, &error)) {
      tl_report(cg->diags, E0503, cg->func->range, error);
      LLVMDisposeMessage(error);
      return NULL;
   }
   return LLVMCreateTargetMachine(t, triple, "x86-64-v2", "", LLVMCodeGenLevelNone, LLVMRelocPIC,
                                  LLVMCodeModelJITDefault);
}

static bool
report(TlCg *cg, LLVMErrorRef error)
{
   if (!error)
      return true;
   char *text = LLVMGetErrorMessage(error);
   tl_report(cg->diags, E0503, cg->func->range, text);
   LLVMDisposeErrorMessage(text);
   return false;
}

/* Adds the module, which is taken with its context from cg. */
static LLVMErrorRef
add_module(TlCg *cg, LLVMOrcLLJITRef jit)
{
   LLVMOrcThreadSafeContextRef context = LLVMOrcCreateNewThreadSafeContextFromLLVMContext(cg->llvm);
   LLVMOrcThreadSafeModuleRef module = LLVMOrcCreateNewThreadSafeModule(cg->mod, context);
   LLVMOrcDisposeThreadSafeContext(context); /* the module keeps it */
   cg->llvm = NULL;
   cg->mod = NULL;
   return LLVMOrcLLJITAddLLVMIRModule(jit, LLVMOrcLLJITGetMainJITDylib(jit), module);
}

/* Adds the object that a child has made. */
static LLVMErrorRef
add_object(LLVMOrcLLJITRef jit, const TlSb *object)
{
   LLVMMemoryBufferRef copy =
      LLVMCreateMemoryBufferWithMemoryRangeCopy(object->data, object->len, "kernel");
   return LLVMOrcLLJITAddObjectFile(jit, LLVMOrcLLJITGetMainJITDylib(jit), copy);
}

/* Takes the target machine from cg. */
static bool
load(TlCg *cg, TlHostCode *code)
{
   TlSb object;
   tl_sb_init(&object, cg->arena);
   bool is_made = tl_cg_emit_in_child(cg, LLVMObjectFile, &object);
   LLVMOrcLLJITBuilderRef builder = LLVMOrcCreateLLJITBuilder();
   LLVMOrcLLJITBuilderSetJITTargetMachineBuilder(
      builder, LLVMOrcJITTargetMachineBuilderCreateFromTargetMachine(cg->tm));
   cg->tm = NULL;
   LLVMOrcLLJITRef jit;
   if (!report(cg, LLVMOrcCreateLLJIT(&jit, builder)))
      return false;
   code->jit = jit;
   LLVMDisposeBuilder(cg->b);
   cg->b = NULL;
   LLVMOrcExecutorAddress entry = 0;
   if (!report(cg, is_made ? add_object(jit, &object) : add_module(cg, jit)) ||
       !report(cg, LLVMOrcLLJITLookup(jit, &entry, "kernel")))
      return false;
   union {
      uintptr_t address;
      void (*fn)(TlHostThread *, const uint64_t *);
   } u = {entry};
   code->entry = u.fn;
   return true;
}

static bool
generate(TlCg *cg, void *user)
{
   TlHostCode *code = user;
   cg->tm = target_machine(cg);
   if (!cg->tm)
      return false;
   tl_cg_new_module(cg, triple);
   cg->f16 = cg->bf16 = cg->i16; /* bit patterns */
   if (!build_function(cg))
      return false;
   char *error = NULL;
   if (LLVMVerifyModule(cg->mod, LLVMReturnStatusAction, &error)) {
      tl_report(cg->diags, E0503, cg->func->range, error);
      LLVMDisposeMessage(error);
      return false;
   }
   LLVMDisposeMessage(error);
   tl_cg_bound_blocks(cg);
   code->stack_bytes = stack_bound(cg);
   return load(cg, code);
}

TlHostCode *
tl_host_compile(TlArena *arena, const TlFunc *f, TlSources *sources, TlDiags *diags,
                const TlHostModels *models)
{
   pthread_once(&once, init_once);
   TlCg *cg = tl_new(arena, TlCg);
   TlHostCg *h = tl_new(arena, TlHostCg);
   TlHostCode *code = tl_new(arena, TlHostCode);
   *h = (TlHostCg){.models = models};
   *cg = (TlCg){.arena = arena,
                .sources = sources,
                .diags = diags,
                .target = tl_target_find(f->target ? f->target : "sm_90a"),
                .func = f,
                .op = f->body->block->first,
                .host = h};
   if (!tl_cg_guarded(cg, generate, code)) {
      tl_host_free(code);
      return NULL;
   }
   code->sites = h->sites.data;
   code->num_sites = (unsigned)h->sites.len;
   return code;
}

void
tl_host_free(TlHostCode *code)
{
   if (!code || !code->jit)
      return;
   LLVMErrorRef error = LLVMOrcDisposeLLJIT(code->jit);
   LLVMConsumeError(error);
   code->jit = NULL;
}
