/* What `tilec run` warns of before a launch: what `tilec check` finds in the kernel's text, held
 * against the grid. */
#ifndef TL_COMMAND_RUN_WARNINGS_H
#define TL_COMMAND_RUN_WARNINGS_H

#include "command/command.h"

typedef struct TlRunWarnings {
   TlCommand *c;
   uint32_t grid[3];
   unsigned sizes;     /* that it is written with */
   const TlDiag *told; /* by the compilation: no news */
} TlRunWarnings;

/* Shows the warnings of a kernel that was compiled with lints; *any: there are some.  False: one of
 * them is an error. */
bool tl_run_warn(const TlRunWarnings *w, TlCompilation *comp, bool *any);

#endif
