/* Which pointer parameters a kernel may write through. */
#ifndef TL_IR_WRITTEN_H
#define TL_IR_WRITTEN_H

#include "ir/ir.h"

/* written[i] for each parameter of f (TYPED): false only when no operation can change the memory
 * that parameter i points to.  Parameters that are not pointers read false. */
void tl_written_params(TlArena *arena, const TlFunc *f, bool *written);

#endif
