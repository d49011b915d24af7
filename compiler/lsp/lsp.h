/* A Language Server (Language Server Protocol 3.17) for kernels, over two streams. */
#ifndef TL_LSP_LSP_H
#define TL_LSP_LSP_H

#include "compile/compilation.h"

#include <stdio.h>

typedef struct TlLspOptions {
   FILE *in, *out;              /* messages with Content-Length headers */
   TilecCompileOptions compile; /* include folders, architecture, defines */
   TlCompileExtra extra;        /* warnings */
} TlLspOptions;

/* Serves until `exit` or the end of input.  True when the client asked for `shutdown` before. */
bool tl_lsp_serve(const TlLspOptions *options);

#endif
