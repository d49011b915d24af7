/* Which pointer parameters a kernel may write through, or read. */
#ifndef TL_IR_WRITTEN_H
#define TL_IR_WRITTEN_H

#include "ir/ir.h"

/* written[i] for each parameter of f (TYPED): false only when no operation can change the memory
 * that parameter i points to.  Parameters that are not pointers read false. */
void tl_written_params(TlArena *arena, const TlFunc *f, bool *written);
/* The same of operations that are not among the keys of the map (TYPED or LAID). */
void tl_written_params_except(TlArena *arena, const TlFunc *f, const TlMap *except, bool *written);
/* read[i]: false only when no operation reads that memory (TYPED or LAID). */
void tl_read_params(TlArena *arena, const TlFunc *f, bool *read);

#endif
