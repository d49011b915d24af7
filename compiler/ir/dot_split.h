/* How a dot of fp32 operands is made of narrower products. */
#ifndef TL_IR_DOT_SPLIT_H
#define TL_IR_DOT_SPLIT_H

#include "ir/dtype.h"

enum { TL_MAX_DOT_PARTS = 3, TL_MAX_DOT_TERMS = 6 };

/* Each part is the rounded rest after the parts before; the products of the terms are added in
 * order, small ones first. */
typedef struct TlDotSplit {
   TlDtype part_type;                 /* what a part is rounded to; FP32: tl_round_tf32 */
   unsigned parts, terms;             /* parts 0: operands as they are */
   bool is_cut;                       /* tl_cut_tf32 instead, as wgmma does by itself */
   uint8_t term[TL_MAX_DOT_TERMS][2]; /* (left, right) part numbers */
} TlDotSplit;

/* precision: TL_PRECISION_*; operands of other types than fp32 are never split. */
const TlDotSplit *tl_dot_split(TlDtype operand, int64_t precision);

#endif
