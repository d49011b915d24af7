/* The NVPTX target machine: LOWERED functions to one module and its PTX text.  LLVM's options are
 * set once for the process; its failures are guard.c's business. */
#include "codegen/cg.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

bool tl_cg_function(TlCg *cg, const TlFunc *f);

static void
init_once(void)
{
   /* 32-bit shared pointers; one multiply-add for a widened index.  Straight-line strength
    * reduction and n-ary reassociation take time that grows with the square and the cube of the
    * number of addresses: split_addresses has done their work
    * (docs/decisions/0006-linear-compile-time.md). */
   static const char *const options[] = {"tilec", "-nvptx-short-ptr", "-nvptx-mad-wide-opt",
                                         "-opt-disable=slsr,nary-reassociate"};
   LLVMParseCommandLineOptions(sizeof options / sizeof *options, options, NULL);
   LLVMInitializeNVPTXTargetInfo();
   LLVMInitializeNVPTXTarget();
   LLVMInitializeNVPTXTargetMC();
   LLVMInitializeNVPTXAsmPrinter();
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

const char *
tl_codegen_llvm_version(void)
{
   return LLVM_VERSION_TEXT;
}

/* A target machine for cg->ptx.  The module is built with one for the version that every kernel has
 * and emitted with one for the version that this one needs. */
static bool
make_target_machine(TlCg *cg)
{
   if (cg->tm)
      LLVMDisposeTargetMachine(cg->tm);
   cg->tm = NULL;
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
   snprintf(ptx, sizeof ptx, "+ptx%u", cg->ptx);
   unsigned o = cg->options->opt_level;
   cg->tm = LLVMCreateTargetMachine(t, "nvptx64-nvidia-cuda", cg->target->arch, ptx,
                                    level[o > 3 ? 3 : o], LLVMRelocDefault, LLVMCodeModelDefault);
   return cg->tm != NULL;
}

static const char *
copy_text(TlCg *cg, const char *s, size_t len)
{
   return tl_arena_strndup(cg->arena, s, len);
}

/* Without the labels that LLVM makes for the addresses which cuts have taken (bound_blocks.c): they
 * stand at the end of the function.  Kept if anything refers to one.  Returns the length. */
static size_t
drop_labels(char *ptx, size_t len)
{
   static const char label[] = "$L__tmp";
   for (const char *at = ptx; (at = strstr(at, label)); at++)
      if (at == ptx || at[-1] != '\n')
         return len;
   char *to = ptx;
   for (const char *line = ptx, *end = ptx + len, *next; line < end; line = next) {
      const char *newline = memchr(line, '\n', (size_t)(end - line));
      next = newline ? newline + 1 : end;
      if (tl_starts_with(line, label))
         continue;
      memmove(to, line, (size_t)(next - line));
      to += next - line;
   }
   *to = 0;
   return (size_t)(to - ptx);
}

static void
keep_ptx(TlCg *cg, TlCgResult *out, const char *text, size_t len)
{
   char *ptx = tl_arena_strndup(cg->arena, text, len);
   out->ptx = ptx;
   out->ptx_len = cg->is_cut ? drop_labels(ptx, len) : len;
}

static bool
emit(TlCg *cg, TlCgResult *out)
{
   char *error = NULL;
   if (cg->di)
      LLVMDIBuilderFinalize(cg->di);
   if (cg->options->verify && LLVMVerifyModule(cg->mod, LLVMReturnStatusAction, &error)) {
      tl_report(cg->diags, E0503, cg->func->range, error);
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
   out->ptx_version = cg->ptx;
   TlSb large;
   tl_sb_init(&large, cg->arena);
   if (tl_cg_emit_in_child(cg, LLVMAssemblyFile, &large)) {
      keep_ptx(cg, out, large.data, large.len);
      return true;
   }
   LLVMMemoryBufferRef buffer;
   if (LLVMTargetMachineEmitToMemoryBuffer(cg->tm, cg->mod, LLVMAssemblyFile, &error, &buffer)) {
      tl_report(cg->diags, E0503, cg->func->range, error);
      LLVMDisposeMessage(error);
      return false;
   }
   keep_ptx(cg, out, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer));
   LLVMDisposeMemoryBuffer(buffer);
   return true;
}

typedef struct Request {
   TlFunc *const *funcs;
   unsigned num_funcs;
   TlCgResult *out;
} Request;

static bool
generate(TlCg *cg, void *user)
{
   const Request *r = user;
   if (!make_target_machine(cg))
      return false;
   tl_cg_new_module(cg, "nvptx64-nvidia-cuda");
   uint32_t *few_per_sm = tl_new_array(cg->arena, uint32_t, r->num_funcs);
   for (unsigned i = 0; i < r->num_funcs; i++) {
      if (!tl_cg_function(cg, r->funcs[i]))
         return false;
      few_per_sm[i] = cg->few_per_sm;
   }
   r->out->few_per_sm = few_per_sm;
   if (cg->ptx != cg->target->ptx && !make_target_machine(cg))
      return false;
   return emit(cg, r->out);
}

bool
tl_codegen(TlArena *arena, TlFunc *const *funcs, unsigned num_funcs, TlSources *sources,
           TlDiags *diags, const TlCgOptions *options, TlCgResult *out)
{
   pthread_once(&once, init_once);
   *out = (TlCgResult){0};
   TlCg *cg = tl_new(arena, TlCg);
   *cg = (TlCg){.arena = arena,
                .sources = sources,
                .diags = diags,
                .options = options,
                .target = options->target,
                .ptx = options->target->ptx};
   Request *r = tl_new(arena, Request);
   *r = (Request){funcs, num_funcs, out};
   return tl_cg_guarded(cg, generate, r);
}
