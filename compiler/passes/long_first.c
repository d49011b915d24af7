/* See long_first.h. */
#include "passes/long_first.h"

void
tl_long_first_init(TlLongFirst *l, TlBuilder *b, const TlTarget *target)
{
   TlValue *wave = tl_const_int(b, TL_U32, target->multiprocessors);
   TlValue *together = tl_b2(b, TL_OP_DIV, wave, l->blocks);
   l->together = tl_b2(b, TL_OP_MAX, together, tl_const_int(b, TL_U32, 1));
}

TlValue *
tl_long_first_turned(const TlLongFirst *l, TlBuilder *b, TlValue *row)
{
   TlValue *last = tl_b2(b, TL_OP_SUB, l->blocks, tl_const_int(b, TL_U32, 1));
   return tl_b2(b, TL_OP_SUB, last, row);
}

TlValue *
tl_long_first_place(const TlLongFirst *l, TlBuilder *b, TlValue *first, TlValue *number,
                    TlValue **head)
{
   TlValue *left = tl_b2(b, TL_OP_SUB, l->heads, first);
   TlValue *width = tl_b2(b, TL_OP_MIN, left, l->together);
   *head = tl_b2(b, TL_OP_ADD, first, tl_b2(b, TL_OP_REM, number, width));
   TlValue *row = tl_b2(b, TL_OP_DIV, number, width);
   return l->way == TL_GROWS ? tl_long_first_turned(l, b, row) : row;
}
