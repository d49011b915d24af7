/* The assembler of the CUDA toolkit, when the machine has one: PTX to a cubin.  Run as a process of
 * its own; nothing is ever linked with cuLink*, which ignores setmaxnreg. */
#ifndef TL_COMMAND_PTXAS_H
#define TL_COMMAND_PTXAS_H

#include "command/command.h"
#include "view/view.h"

#include <stdbool.h>

typedef struct TlCubin {
   const char *data; /* arena; NULL when none was made */
   size_t len;
   bool unknown_arch; /* this ptxas is too old for the target */
   const char *why;   /* none was made, and no diagnostic says so; else NULL */
   TlUsage usage;     /* of several kernels the last one's */
} TlCubin;

/* A tool of the toolkit: in PATH, beside the tool `beside` (NULL: none), in /usr/local/cuda/bin;
 * NULL: none that can be run. */
const char *tl_tool_find(TlArena *arena, const char *name, const char *beside);
/* The tool that an option names by its path.  *is_asked: it names one, or says "none": then *path
 * is NULL.  False after a message: what it names cannot be run. */
bool tl_tool_asked(TlCommand *c, TlOptionId option, const char **path, bool *is_asked);
/* What --ptxas names, else what is found; *path NULL: none.  False after a message. */
bool tl_ptxas_find(TlCommand *c, const char **path);
/* A new folder for temporary files; NULL: none can be made. */
const char *tl_tool_folder(TlArena *arena);

/* The PTX of a compilation.  What ptxas says becomes diagnostics of it, R0510 where options ask for
 * remarks of ptxas.  The exit code; of EXIT_ENVIRONMENT nothing was printed, out->why says it. */
int tl_ptxas_assemble(TlCommand *c, TlCompilation *comp, const TilecCompileOptions *o,
                      const char *ptxas, TlCubin *out);

#endif
