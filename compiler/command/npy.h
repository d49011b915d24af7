/* .npy files (NumPy format versions 1 to 3, C order, little-endian).  bf16 and fp8 have no NumPy
 * type: they travel as uint16 and uint8 files with the dtype named by the caller. */
#ifndef TL_COMMAND_NPY_H
#define TL_COMMAND_NPY_H

#include "base/arena.h"
#include "base/str.h"
#include "ir/dtype.h"

#include <stdbool.h>

/* What kept an array from being read or made. */
typedef enum TlArrayFault {
   TL_ARRAY_NO_FAULT,
   TL_ARRAY_UNREADABLE,  /* there is no such file, or it cannot be read */
   TL_ARRAY_NO_NPY,      /* it is no .npy file that is understood */
   TL_ARRAY_OTHER_DTYPE, /* the file holds another than the caller named */
   TL_ARRAY_NO_MEMORY,
} TlArrayFault;

typedef struct TlArray {
   TlDtype dtype;
   unsigned rank;
   uint64_t shape[32];
   uint64_t elems, bytes;
   void *data;         /* malloc'ed, 64-byte aligned; free() it */
   TlArrayFault fault; /* of one that is not taken */
} TlArray;

/* Why something is not taken: false, for `return`. */
static inline bool
tl_not_taken(const char **why, const char *text)
{
   *why = text;
   return false;
}

/* want: the dtype the caller named, or TL_DTYPE_COUNT for the file's own.  false: *why is one
 * sentence that names what was found and what was expected, with the byte offset where that
 * helps. */
bool tl_npy_read(TlArena *arena, const char *path, TlDtype want, TlArray *out, const char **why);
/* What stands before the array's bytes in its file. */
void tl_npy_head(const TlArray *array, TlSb *out);
/* Allocates data for shape; false if too large or out of memory. */
bool tl_array_alloc(TlArray *array);
void tl_array_free(TlArray *array);

#endif
