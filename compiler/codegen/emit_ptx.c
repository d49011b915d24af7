/* The NVPTX target machine: LOWERED functions to one module and its PTX text.  LLVM's options are
 * set once for the process; its failures are guard.c's business. */
#define _GNU_SOURCE
#include "codegen/cg.h"
#include "base/clock.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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
      if (strncmp(line, label, strlen(label)) == 0)
         continue;
      memmove(to, line, (size_t)(next - line));
      to += next - line;
   }
   *to = 0;
   return (size_t)(to - ptx);
}

/* ---- large modules in a child, which can be stopped ---- */
enum { LARGE = 8000 }; /* instructions from which selection may take seconds */

static bool
is_large(const TlCg *cg)
{
   unsigned n = 0;
   for (LLVMValueRef f = LLVMGetFirstFunction(cg->mod); f; f = LLVMGetNextFunction(f))
      for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
         for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
            if (++n >= LARGE)
               return true;
   return false;
}

static _Noreturn void
child(TlCg *cg, int to)
{
   char *error = NULL;
   LLVMMemoryBufferRef buffer;
   if (LLVMTargetMachineEmitToMemoryBuffer(cg->tm, cg->mod, LLVMAssemblyFile, &error, &buffer))
      _exit(1);
   const char *at = LLVMGetBufferStart(buffer);
   for (size_t left = LLVMGetBufferSize(buffer); left;) {
      ssize_t n = write(to, at, left);
      if (n < 0 && errno != EINTR)
         _exit(1);
      at += n > 0 ? n : 0;
      left -= n > 0 ? (size_t)n : 0;
   }
   _exit(0);
}

/* All that comes before the end of the pipe; false when the deadline comes first. */
static bool
read_all(TlCg *cg, int from, TlSb *out)
{
   const TlMem *mem = tl_arena_mem(cg->arena);
   enum { LOOK_MS = 50 }; /* at the caller's cancel flag */
   char block[1 << 16];
   for (;;) {
      bool is_over =
         (mem->cancel && *mem->cancel) || (mem->deadline_ms > 0 && tl_now_ms() > mem->deadline_ms);
      struct pollfd p = {.fd = from, .events = POLLIN};
      if (is_over)
         return false;
      if (poll(&p, 1, LOOK_MS) <= 0)
         continue;
      ssize_t n = read(from, block, sizeof block);
      if (n > 0)
         tl_sb_mem(out, block, (size_t)n);
      else if (n == 0 || errno != EINTR)
         return true;
   }
}

typedef enum Emitted { EMITTED, NOT_HERE, LATE } Emitted;

/* NOT_HERE: the child could not, and what is wrong shows without one. */
static Emitted
emit_in_child(TlCg *cg, TlSb *out)
{
   int ends[2], status = 0;
   if (pipe2(ends, O_CLOEXEC) != 0)
      return NOT_HERE;
   pid_t pid = fork();
   if (pid == 0)
      child(cg, ends[1]);
   close(ends[1]);
   bool in_time = pid > 0 && read_all(cg, ends[0], out);
   close(ends[0]);
   if (pid < 0)
      return NOT_HERE;
   if (!in_time)
      kill(pid, SIGKILL);
   while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
      ;
   if (!in_time)
      return LATE;
   return WIFEXITED(status) && WEXITSTATUS(status) == 0 && out->len ? EMITTED : NOT_HERE;
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
   Emitted how = is_large(cg) ? emit_in_child(cg, &large) : NOT_HERE;
   if (how == LATE)
      tl_mem_check(tl_arena_mem(cg->arena)); /* does not return */
   if (how == EMITTED) {
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
   for (unsigned i = 0; i < r->num_funcs; i++)
      if (!tl_cg_function(cg, r->funcs[i]))
         return false;
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
