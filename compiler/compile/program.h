/* A compiled program: the compilation that made it, immutable from then on. */
#ifndef TL_COMPILE_PROGRAM_H
#define TL_COMPILE_PROGRAM_H

#include "compile/compilation.h"

struct TilecProgram {
   TilecAllocator allocator;
   TlCompilation comp;
};

/* The type in the public headers' terms. */
TilecDtype tl_public_dtype(TlDtype t);

#endif
