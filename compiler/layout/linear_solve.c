/* Gauss elimination over GF(2): who holds what.  Invariant of TlBasis: vec[i] is the XOR of the
 * columns in from[i], only independent columns appear there (so free variables stay 0), and the
 * first k vectors span the same space as the columns added before vector k + 1. */
#include "layout/gf2.h"
#include "layout/linear.h"

#include <assert.h>

static unsigned
lead(uint32_t v)
{
   return 31u - (unsigned)__builtin_clz(v);
}

bool
tl_gf2_express(const TlBasis *b, unsigned limit, uint32_t v, uint64_t *from)
{
   uint64_t used = 0;
   /* A later vector has no leading bit of an earlier one, but may have it lower down in an earlier
    * vector, so eliminate by leading bit, highest first. */
   uint8_t by_lead[TL_GF2_MAX];
   uint32_t have = 0;
   for (unsigned i = 0; i < limit; i++) {
      unsigned p = lead(b->vec[i]);
      have |= 1u << p;
      by_lead[p] = (uint8_t)i;
   }
   for (uint32_t rest = v & have; rest; rest = v & have) {
      unsigned p = lead(rest);
      v ^= b->vec[by_lead[p]];
      used ^= b->from[by_lead[p]];
      have &= ~(1u << p); /* cleared in v, and vectors of lower lead cannot set it again */
   }
   *from = used;
   return v == 0;
}

bool
tl_gf2_add(TlBasis *b, uint32_t v, unsigned index)
{
   uint64_t used = 0;
   for (bool again = true; again && v;) {
      again = false;
      for (unsigned i = 0; i < b->n; i++)
         if (v && lead(b->vec[i]) == lead(v)) {
            v ^= b->vec[i];
            used ^= b->from[i];
            again = true;
         }
   }
   if (v == 0)
      return false;
   assert(b->n < TL_GF2_MAX);
   b->vec[b->n] = v;
   b->from[b->n++] = used ^ 1ull << index;
   return true;
}

/* Basis of all columns; size[h] = vectors after hardware dims 0..h. */
static TlBasis
column_basis(const TlLinear *l, unsigned *size)
{
   TlBasis b = {0};
   for (unsigned h = 0, at = 0; h < TL_HW_COUNT; h++) {
      for (unsigned i = 0; i < l->num[h]; i++, at++)
         tl_gf2_add(&b, l->col[at], at);
      size[h] = b.n;
   }
   return b;
}

bool
tl_ll_is_surjective(const TlLinear *l)
{
   unsigned size[TL_HW_COUNT];
   return column_basis(l, size).n == tl_ll_bits(l);
}

bool
tl_ll_is_injective(const TlLinear *l)
{
   unsigned size[TL_HW_COUNT];
   return column_basis(l, size).n == tl_ll_in_bits(l);
}

/* One column of the conversion: stay in the same unit (hw bit `bit` of dim h) and use only finer
 * hardware dims if that reaches the element; the finest that do.  Else any holder. */
static bool
convert_column(const TlLinear *src, const TlBasis *basis, const unsigned *size, TlHw h,
               unsigned bit, uint32_t image, uint64_t *x)
{
   if (h != TL_HW_REG && bit < src->num[h]) {
      unsigned self = tl_ll_first(src, h) + bit;
      for (unsigned k = 0; k < (unsigned)h; k++)
         if (tl_gf2_express(basis, size[k], image ^ src->col[self], x)) {
            *x ^= 1ull << self;
            return true;
         }
   }
   for (unsigned k = 0; k < TL_HW_COUNT; k++)
      if (tl_gf2_express(basis, size[k], image, x))
         return true;
   return false;
}

bool
tl_ll_convert_map(const TlLinear *src, const TlLinear *dst, uint64_t *x)
{
   unsigned size[TL_HW_COUNT];
   TlBasis basis = column_basis(src, size);
   assert(tl_ll_same_shape(src, dst));
   for (unsigned h = 0, j = 0; h < TL_HW_COUNT; h++)
      for (unsigned i = 0; i < dst->num[h]; i++, j++) {
         bool same = i < src->num[h] && tl_ll_col(src, (TlHw)h, i) == dst->col[j];
         if (same)
            x[j] = 1ull << (tl_ll_first(src, (TlHw)h) + i);
         else if (!convert_column(src, &basis, size, (TlHw)h, i, dst->col[j], &x[j]))
            return false;
      }
   return true;
}

bool
tl_ll_invert(const TlLinear *l, uint64_t *inv)
{
   unsigned size[TL_HW_COUNT], n = tl_ll_bits(l);
   if (tl_ll_has_repeats(l) || tl_ll_in_bits(l) != n)
      return false;
   TlBasis basis = column_basis(l, size);
   if (basis.n != n)
      return false;
   for (unsigned bit = 0; bit < n; bit++) {
      bool in_span = tl_gf2_express(&basis, basis.n, 1u << bit, &inv[bit]);
      assert(in_span);
      (void)in_span;
   }
   return true;
}
