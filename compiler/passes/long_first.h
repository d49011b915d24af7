/* Places of programs in the grid, those with long loops first: the longest rows of as many heads
 * together as fill the multiprocessors (order_programs.c has the arithmetic). */
#ifndef TL_PASSES_LONG_FIRST_H
#define TL_PASSES_LONG_FIRST_H

#include "ir/target.h"
#include "passes/program_lengths.h"

/* Of u32: blocks of rows along axis 0, heads along axis 1, and how many heads are together. */
typedef struct TlLongFirst {
   TlWay way;
   TlValue *blocks, *heads, *together;
} TlLongFirst;

/* together, of the blocks and the heads. */
void tl_long_first_init(TlLongFirst *l, TlBuilder *b, const TlTarget *target);
/* The row and the head (both u32) of the program with a number among those of the heads that are
 * together, of which `first` is the first one. */
TlValue *tl_long_first_place(const TlLongFirst *l, TlBuilder *b, TlValue *first, TlValue *number,
                             TlValue **head);
/* The row from the other end. */
TlValue *tl_long_first_turned(const TlLongFirst *l, TlBuilder *b, TlValue *row);

#endif
