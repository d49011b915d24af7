/* Sums of scalars as operations. */
#include "ir/affine.h"
#include "ir/control.h"

#include <assert.h>

static TlValue *
wide(TlBuilder *b, TlValue *v)
{
   const TlType *i64 = tl_type_scalar(b->module->types, TL_I64);
   return v->type == i64 ? v : tl_t1(b, TL_OP_CAST, i64, v);
}

/* *scale: of the term.  Where it is a multiple of the loop's step the number of the iteration need
 * not be worked out: what the index has moved by is taken as often as is left of the scale. */
static TlValue *
factor_value(TlBuilder *b, TlFactor f, int64_t *scale)
{
   TlValue *v = wide(b, (TlValue *)f.value);
   if (!f.is_iteration)
      return v;
   const TlOp *loop = tl_value_block(f.value)->region->parent;
   TlValue *step = tl_for_step(loop), *lower = tl_for_lower(loop);
   uint64_t bits;
   if (!tl_is_const(lower, &bits) || bits)
      v = tl_b2(b, TL_OP_SUB, v, wide(b, lower));
   int64_t by = tl_is_const(step, &bits) ? tl_bits_to_int(step->type->dtype, bits) : 0;
   if (by && *scale % by == 0)
      *scale /= by;
   else
      v = tl_b2(b, TL_OP_DIV, v, wide(b, step));
   return v;
}

TlValue *
tl_term_build(TlBuilder *b, const TlTerm *term)
{
   TlValue *product = NULL;
   int64_t by = term->scale;
   assert(term->dim < 0);
   for (unsigned i = 0; i < term->num; i++) {
      TlValue *f = factor_value(b, term->factor[i], &by);
      product = product ? tl_b2(b, TL_OP_MUL, product, f) : f;
   }
   if (!product || by != 1) {
      TlValue *scale = tl_const_int(b, TL_I64, by);
      product = product ? tl_b2(b, TL_OP_MUL, product, scale) : scale;
   }
   return product;
}

TlValue *
tl_sum_build(TlBuilder *b, const TlSum *sum)
{
   TlValue *total = NULL;
   for (unsigned i = 0; i < sum->num; i++) {
      TlValue *t = tl_term_build(b, &sum->term[i]);
      total = total ? tl_b2(b, TL_OP_ADD, total, t) : t;
   }
   return total ? total : tl_const_int(b, TL_I64, 0);
}
