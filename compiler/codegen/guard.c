/* The way around LLVM's failure modes, for every back end: a diagnostic handler turns any error
 * severity into a failed compile, and LLVM's fatal-error path (which would end the process) jumps
 * back to the caller; the context is then abandoned.  Out of memory gives LLVM's objects back
 * before it unwinds.  Also the parts of a module that all back ends share. */
#include "codegen/cg.h"

#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Target.h>

#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>

typedef struct Fatal {
   jmp_buf env;
   char message[512];
} Fatal;

/* Set while this thread is inside LLVM; the handler below has no user pointer. */
static _Thread_local Fatal *fatal;

static void
on_fatal(const char *reason)
{
   if (!fatal)
      return; /* not ours: LLVM goes on to its default */
   snprintf(fatal->message, sizeof fatal->message, "%s", reason);
   longjmp(fatal->env, 1);
}

static void
install_once(void)
{
   LLVMInstallFatalErrorHandler(on_fatal);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

typedef struct Collected {
   char message[512];
   bool has_error;
} Collected;

static void
on_diagnostic(LLVMDiagnosticInfoRef info, void *user)
{
   Collected *c = user;
   if (LLVMGetDiagInfoSeverity(info) != LLVMDSError || c->has_error)
      return;
   char *text = LLVMGetDiagInfoDescription(info);
   snprintf(c->message, sizeof c->message, "%s", text);
   LLVMDisposeMessage(text);
   c->has_error = true;
}

void
tl_cg_new_module(TlCg *cg, const char *triple)
{
   cg->mod = LLVMModuleCreateWithNameInContext("tilec", cg->llvm);
   cg->b = LLVMCreateBuilderInContext(cg->llvm);
   LLVMSetTarget(cg->mod, triple);
   LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(cg->tm);
   LLVMSetModuleDataLayout(cg->mod, layout);
   LLVMDisposeTargetData(layout);
   cg->i1 = LLVMInt1TypeInContext(cg->llvm);
   cg->i8 = LLVMInt8TypeInContext(cg->llvm);
   cg->i16 = LLVMInt16TypeInContext(cg->llvm);
   cg->i32 = LLVMInt32TypeInContext(cg->llvm);
   cg->i64 = LLVMInt64TypeInContext(cg->llvm);
   cg->f16 = LLVMHalfTypeInContext(cg->llvm);
   cg->bf16 = LLVMBFloatTypeInContext(cg->llvm);
   cg->f32 = LLVMFloatTypeInContext(cg->llvm);
   cg->f64 = LLVMDoubleTypeInContext(cg->llvm);
   cg->voidt = LLVMVoidTypeInContext(cg->llvm);
   cg->p0 = LLVMPointerTypeInContext(cg->llvm, 0);
   cg->p1 = LLVMPointerTypeInContext(cg->llvm, 1);
   cg->p3 = LLVMPointerTypeInContext(cg->llvm, 3);
}

static void
dispose(TlCg *cg)
{
   if (cg->di)
      LLVMDisposeDIBuilder(cg->di);
   if (cg->b)
      LLVMDisposeBuilder(cg->b);
   if (cg->mod)
      LLVMDisposeModule(cg->mod);
   if (cg->tm)
      LLVMDisposeTargetMachine(cg->tm);
   if (cg->llvm)
      LLVMContextDispose(cg->llvm);
}

/* Everything between LLVM's set-up and its answer.  No LLVM callback allocates from an arena, so an
 * out-of-memory jump never crosses LLVM's frames. */
static bool
run(TlCg *cg, TlCgBody *body, void *user, Collected *messages)
{
   cg->llvm = LLVMContextCreate();
   LLVMContextSetDiagnosticHandler(cg->llvm, on_diagnostic, messages);
   bool ok = body(cg, user);
   if (messages->has_error)
      return tl_refuse(cg->diags, E0503, cg->func ? cg->func->range : (TlRange){0},
                       messages->message);
   return ok;
}

bool
tl_cg_guarded(TlCg *cg, TlCgBody *body, void *user)
{
   pthread_once(&once, install_once);
   /* On the heap of the arena: their values must survive the longjmp. */
   Collected *messages = tl_new(cg->arena, Collected);
   Fatal *f = tl_new(cg->arena, Fatal), *volatile outer = fatal;
   TlMem *mem = tl_arena_mem(cg->arena);
   jmp_buf *volatile outer_oom = mem->oom;
   if (setjmp(f->env)) {
      fatal = outer; /* LLVM's state is lost: leave the context alone */
      mem->oom = outer_oom;
      return tl_refuse(cg->diags, E0503, cg->func ? cg->func->range : (TlRange){0}, f->message);
   }
   jmp_buf oom;
   if (setjmp(oom)) { /* out of memory: give LLVM's objects back, then go on unwinding */
      fatal = outer;
      mem->oom = outer_oom;
      dispose(cg);
      longjmp(*outer_oom, 1);
   }
   mem->oom = &oom;
   fatal = f;
   bool ok = run(cg, body, user, messages);
   fatal = outer;
   mem->oom = outer_oom;
   dispose(cg);
   return ok;
}
