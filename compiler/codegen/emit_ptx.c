/* The NVPTX target machine and the way around LLVM's failure modes: options are set once for the
 * process, a diagnostic handler turns any error severity into a failed compile, and LLVM's fatal-error
 * path (which would end the process) jumps back to the caller; the context is then abandoned. */
#include "codegen/cg.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>

#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

bool tl_cg_function(TlCg *cg, const TlFunc *f);

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
init_once(void)
{
   /* 32-bit shared pointers; one multiply-add for a widened index. */
   static const char *const options[] = {"tilec", "-nvptx-short-ptr", "-nvptx-mad-wide-opt"};
   LLVMParseCommandLineOptions(3, options, NULL);
   LLVMInitializeNVPTXTargetInfo();
   LLVMInitializeNVPTXTarget();
   LLVMInitializeNVPTXTargetMC();
   LLVMInitializeNVPTXAsmPrinter();
   LLVMInstallFatalErrorHandler(on_fatal);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

const char *
tl_codegen_llvm_version(void)
{
   return LLVM_VERSION_TEXT;
}

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

static bool
make_target_machine(TlCg *cg)
{
   LLVMTargetRef t;
   char *error = NULL;
   if (LLVMGetTargetFromTriple("nvptx64-nvidia-cuda", &t, &error)) {
      tl_report(cg->diags, E0503, (TlRange){0}, error);
      LLVMDisposeMessage(error);
      return false;
   }
   static const LLVMCodeGenOptLevel level[] = {LLVMCodeGenLevelNone, LLVMCodeGenLevelLess,
                                               LLVMCodeGenLevelDefault, LLVMCodeGenLevelAggressive};
   char ptx[16];
   snprintf(ptx, sizeof ptx, "+ptx%u", cg->target->ptx);
   unsigned o = cg->options->opt_level;
   cg->tm = LLVMCreateTargetMachine(t, "nvptx64-nvidia-cuda", cg->target->arch, ptx,
                                    level[o > 3 ? 3 : o], LLVMRelocDefault, LLVMCodeModelDefault);
   return cg->tm != NULL;
}

static void
make_module(TlCg *cg)
{
   cg->mod = LLVMModuleCreateWithNameInContext("tilec", cg->llvm);
   cg->b = LLVMCreateBuilderInContext(cg->llvm);
   LLVMSetTarget(cg->mod, "nvptx64-nvidia-cuda");
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

static const char *
copy_text(TlCg *cg, const char *s, size_t len)
{
   return tl_arena_strndup(cg->arena, s, len);
}

static bool
emit(TlCg *cg, TlCgResult *out)
{
   char *error = NULL;
   if (cg->di)
      LLVMDIBuilderFinalize(cg->di);
   if (cg->options->verify && LLVMVerifyModule(cg->mod, LLVMReturnStatusAction, &error)) {
      tl_report(cg->diags, E0504, cg->func->range, error);
      LLVMDisposeMessage(error);
      return false;
   }
   if (error)
      LLVMDisposeMessage(error);
   if (cg->options->want_llvm) {
      char *text = LLVMPrintModuleToString(cg->mod);
      out->llvm = copy_text(cg, text, strlen(text));
      LLVMDisposeMessage(text);
   }
   LLVMMemoryBufferRef buffer;
   if (LLVMTargetMachineEmitToMemoryBuffer(cg->tm, cg->mod, LLVMAssemblyFile, &error, &buffer)) {
      tl_report(cg->diags, E0503, cg->func->range, error);
      LLVMDisposeMessage(error);
      return false;
   }
   out->ptx_len = LLVMGetBufferSize(buffer);
   out->ptx = copy_text(cg, LLVMGetBufferStart(buffer), out->ptx_len);
   LLVMDisposeMemoryBuffer(buffer);
   return true;
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
generate(TlCg *cg, TlFunc *const *funcs, unsigned num_funcs, TlCgResult *out, Collected *messages)
{
   cg->llvm = LLVMContextCreate();
   LLVMContextSetDiagnosticHandler(cg->llvm, on_diagnostic, messages);
   if (!make_target_machine(cg))
      return false;
   make_module(cg);
   for (unsigned i = 0; i < num_funcs; i++)
      if (!tl_cg_function(cg, funcs[i]))
         return false;
   bool ok = emit(cg, out);
   if (messages->has_error) {
      tl_report(cg->diags, E0503, cg->func->range, messages->message);
      return false;
   }
   return ok;
}

bool
tl_codegen(TlArena *arena, TlFunc *const *funcs, unsigned num_funcs, TlSources *sources,
           TlDiags *diags, const TlCgOptions *options, TlCgResult *out)
{
   pthread_once(&once, init_once);
   *out = (TlCgResult){0};
   Collected messages = {0};
   /* On the heap of the arena: their values must survive the longjmp. */
   TlCg *cg = tl_new(arena, TlCg);
   *cg = (TlCg){.arena = arena, .sources = sources, .diags = diags, .options = options,
                .target = options->target};
   Fatal *f = tl_new(arena, Fatal), *volatile outer = fatal;
   if (setjmp(f->env)) {
      fatal = outer; /* LLVM's state is lost: leave the context alone */
      tl_report(diags, E0503, cg->func ? cg->func->range : (TlRange){0}, f->message);
      return false;
   }
   TlMem *mem = tl_arena_mem(arena);
   jmp_buf *volatile outer_oom = mem->oom;
   jmp_buf oom;
   if (setjmp(oom)) { /* out of memory: give LLVM's objects back, then go on unwinding */
      fatal = outer;
      mem->oom = outer_oom;
      dispose(cg);
      longjmp(*outer_oom, 1);
   }
   mem->oom = &oom;
   fatal = f;
   bool ok = generate(cg, funcs, num_funcs, out, &messages);
   fatal = outer;
   mem->oom = outer_oom;
   dispose(cg);
   return ok;
}
