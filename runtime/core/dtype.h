/* What TILEC_DTYPE_TABLE says of an element type; any number may be asked for. */
#ifndef TL_RT_DTYPE_H
#define TL_RT_DTYPE_H

#include "tilec/arg.h"

TilecDtype tl_dtype_named(const char *name, size_t len); /* TILEC_DTYPE_NONE: no such type */
const char *tl_dtype_name(TilecDtype dtype);             /* "void" for NONE */
char tl_dtype_kind(TilecDtype dtype);                    /* B, I, U, F; 0 for NONE */
unsigned tl_dtype_bytes(TilecDtype dtype);

#endif
