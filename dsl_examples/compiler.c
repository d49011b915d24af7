/* The examples compile their kernels when they run: the compiler behind the runtime.  A program
 * whose kernels were compiled ahead of time has an ex_attach_compiler of its own instead. */
#include "support.h"

#include <stdio.h>
#include <string.h>

/* The rendered text of errors and warnings; not of remarks, such as what a heuristic chose. */
static void
show_text(void *user, const char *rendered)
{
   (void)user;
   if (!strstr(rendered, ": remark["))
      fputs(rendered, stderr);
}

void
ex_attach_compiler(Example *ex)
{
   TilecJitOptions jit = {.struct_size = sizeof jit, .on_text = show_text};
   ex_must(ex, tilec_jit_attach(ex->rt, &jit), "attaching the compiler");
}
