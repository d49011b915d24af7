/* A compiled program: the compilation that made it, immutable from then on, and what its launches
 * have said. */
#ifndef TL_COMPILE_PROGRAM_H
#define TL_COMPILE_PROGRAM_H

#include "compile/compilation.h"

#include <stdatomic.h>

struct TilecProgram {
   TilecAllocator allocator;
   TlCompilation comp;
   atomic_uint heard; /* bits of host_run.c: launches whose warnings were asked for */
};

/* The type in the public headers' terms. */
TilecDtype tl_public_dtype(TlDtype t);

#endif
