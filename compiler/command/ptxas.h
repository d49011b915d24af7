/* The assembler of the CUDA toolkit, when the machine has one: PTX to a cubin.  Run as a process of
 * its own; nothing is ever linked with cuLink*, which ignores setmaxnreg. */
#ifndef TL_COMMAND_PTXAS_H
#define TL_COMMAND_PTXAS_H

#include "base/diag.h"

#include <stdbool.h>

typedef struct TlPtxas {
   const char *path;  /* the program */
   bool line_info;    /* -g */
   bool remarks;      /* also report registers and memory of each kernel */
   unsigned limit_ms; /* it is killed after this time; 0 = a minute */
} TlPtxas;

typedef struct TlCubin {
   const char *data; /* arena; NULL when none was made */
   size_t len;
   bool unknown_arch; /* this ptxas is too old for the target: nothing was reported */
   const char *error; /* ptxas could not be run at all, or NULL */
} TlCubin;

/* `asked` (--ptxas=), else PATH, else /usr/local/cuda/bin; NULL: none that can be run. */
const char *tl_ptxas_find(TlArena *arena, const char *asked);

/* A tool of the toolkit, likewise where nobody names it. */
const char *tl_tool_find(TlArena *arena, const char *name);
/* A new folder for its files; NULL: none can be made. */
const char *tl_tool_folder(TlArena *arena);

/* Messages go to diags at `range`, the kernel; false when no cubin was made. */
bool tl_ptxas_assemble(TlArena *arena, const TlPtxas *ptxas, const char *arch, const char *ptx,
                       size_t ptx_len, TlDiags *diags, TlRange range, TlCubin *out);

#endif
