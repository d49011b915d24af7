/* LLVM's work on large modules in a child process: it looks at no clock, so that only a process of
 * its own can be stopped when the time is over. */
#define _GNU_SOURCE
#include "codegen/cg.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

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
child(TlCg *cg, LLVMCodeGenFileType type, int to)
{
   char *error = NULL;
   LLVMMemoryBufferRef buffer;
   if (LLVMTargetMachineEmitToMemoryBuffer(cg->tm, cg->mod, type, &error, &buffer))
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

bool
tl_cg_emit_in_child(TlCg *cg, LLVMCodeGenFileType type, TlSb *out)
{
   int ends[2], status = 0;
   if (!is_large(cg) || pipe2(ends, O_CLOEXEC) != 0)
      return false;
   pid_t parent = getpid(), pid = fork();
   if (pid == 0) { /* it ends with its parent: nobody else reads what it writes */
      close(ends[0]);
      if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
         _exit(1);
      child(cg, type, ends[1]);
   }
   close(ends[1]);
   bool in_time = pid > 0 && read_all(cg, ends[0], out);
   close(ends[0]);
   if (pid < 0)
      return false;
   if (!in_time)
      kill(pid, SIGKILL);
   while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
      ;
   if (!in_time)
      tl_mem_check(tl_arena_mem(cg->arena)); /* does not return */
   return WIFEXITED(status) && WEXITSTATUS(status) == 0 && out->len;
}
