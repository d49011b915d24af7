/* Signals of a crash jump out of the work that is being done.  They are the process's, so only the
 * command that serves alone in its process asks for this. */
#include "lsp/guard.h"

#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
enum { NUM_SIGNALS = sizeof signals / sizeof signals[0], STACK_BYTES = 64 << 10 };

static _Thread_local sigjmp_buf *way_out; /* of the work in progress */

static void
jump(int number)
{
   if (way_out)
      siglongjmp(*way_out, number);
}

bool
tl_guarded(void (*work)(void *user), void *user)
{
   static _Thread_local char space[STACK_BYTES]; /* the stack itself may be full */
   struct sigaction before[NUM_SIGNALS], action;
   stack_t stack = {.ss_sp = space, .ss_size = sizeof space}, stack_before;
   sigjmp_buf here;
   memset(&action, 0, sizeof action);
   action.sa_handler = jump;
   action.sa_flags = SA_ONSTACK | SA_NODEFER;
   sigaltstack(&stack, &stack_before);
   for (unsigned i = 0; i < NUM_SIGNALS; i++)
      sigaction(signals[i], &action, &before[i]);
   volatile bool ok = sigsetjmp(here, 1) == 0;
   way_out = &here;
   if (ok)
      work(user);
   way_out = NULL;
   for (unsigned i = 0; i < NUM_SIGNALS; i++)
      sigaction(signals[i], &before[i], NULL);
   sigaltstack(&stack_before, NULL);
   return ok;
}
