/* What a launch on this machine warns of before it runs: what `tilec check` finds in the kernel's
 * text, held against the grid. */
#ifndef TL_COMPILE_LAUNCH_WARNINGS_H
#define TL_COMPILE_LAUNCH_WARNINGS_H

#include "compile/compilation.h"

typedef struct TlLaunchGrid {
   uint32_t size[3];
   unsigned sizes; /* that it is written with */
   bool is_own;    /* the kernel's grid=, which is checked with its text */
} TlLaunchGrid;

/* Into `diags`, sorted: what a kernel that was compiled with lints shows, but what is among `told`
 * (may be NULL). */
void tl_launch_warn(const TlCompilation *comp, const TlLaunchGrid *grid, const TlDiag *told,
                    TlDiags *diags);

#endif
