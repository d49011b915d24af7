/* Arrays of the command line as text, and against the values they should have. */
#ifndef TL_COMMAND_ARRAY_H
#define TL_COMMAND_ARRAY_H

#include "command/npy.h"

/* As numpy prints them: nested brackets, columns aligned, of more than 256 elements the first and
 * last 3 along each dimension.  Ends with a newline. */
void tl_array_print(const TlArray *array, TlSb *out);
/* "fp32[4, 8]" */
void tl_array_type(const TlArray *array, TlSb *out);
/* The tolerance that fits results of a dtype when none is named; 0: equal. */
double tl_array_tolerance(TlDtype dtype);

typedef struct TlArrayDiff {
   uint64_t wrong; /* elements beyond the tolerance */
   double error;   /* of the worst element: |got - want| / max(1, |want|); inf where one is NaN */
   uint64_t worst; /* its number in row-major order */
   const char *got, *want; /* its two values */
   const char *index;      /* "[3, 17]" */
} TlArrayDiff;

/* Arrays of one shape; their dtypes may differ.  Two NaNs agree, and two infinities of one sign. */
void tl_array_compare(TlArena *arena, const TlArray *got, const TlArray *want, double tolerance,
                      TlArrayDiff *out);
/* Changes when a byte of the array's data does (but for one in 2^64). */
uint64_t tl_array_hash(const TlArray *array);

#endif
