/* A compiled program: the unit that made it, immutable from then on. */
#ifndef TL_COMPILE_PROGRAM_H
#define TL_COMPILE_PROGRAM_H

#include "compile/unit.h"

struct TilecProgram {
   TlUnit unit;
   TilecAllocator allocator;
};

/* The type in the public headers' terms. */
TilecDtype tl_public_dtype(TlDtype t);

#endif
