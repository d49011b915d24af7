/* What TILEC_DTYPE_TABLE says of an element type; any number may be asked for. */
#ifndef TL_RT_DTYPE_H
#define TL_RT_DTYPE_H

#include <stdbool.h>

#include "tilec/arg.h"

TilecDtype tl_dtype_named(const char *name, size_t len); /* TILEC_DTYPE_NONE: no such type */
const char *tl_dtype_name(TilecDtype dtype);             /* "void" for NONE */
char tl_dtype_kind(TilecDtype dtype);                    /* B, I, U, F; 0 for NONE */
unsigned tl_dtype_bytes(TilecDtype dtype);

/* Floats of 16 and 8 bits: their pattern for a number, to nearest even, and back. */
bool tl_dtype_is_small_float(TilecDtype dtype);
uint16_t tl_dtype_narrow(TilecDtype dtype, double v);
double tl_dtype_widen(TilecDtype dtype, uint16_t bits);

#endif
