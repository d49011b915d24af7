/* Random layouts for the tests of this folder.  Fixed seeds; a failing check prints its trial. */
#ifndef TESTS_UNIT_LAYOUT_GEN_H
#define TESTS_UNIT_LAYOUT_GEN_H

#include "layout/linear.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* cmocka wants the four headers above first. */
#include <cmocka.h>

typedef struct Rng {
   uint64_t state;
} Rng;

static inline uint32_t
rng_next(Rng *r)
{
   r->state += 0x9e3779b97f4a7c15u;
   uint64_t z = r->state;
   z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
   z = (z ^ z >> 27) * 0x94d049bb133111ebu;
   return (uint32_t)(z >> 32);
}

static inline uint32_t
rng_below(Rng *r, uint32_t n)
{
   return (uint32_t)((uint64_t)rng_next(r) * n >> 32);
}

/* Stops with the trial number, so that the case can be rebuilt from the seed. */
#define CHECK(trial, cond)                                                                         \
   do {                                                                                            \
      if (!(cond)) {                                                                               \
         fprintf(stderr, "trial %d: %s\n", (trial), #cond);                                        \
         fail();                                                                                   \
      }                                                                                            \
   } while (0)

static inline TlLinear
gen_shape(Rng *r, unsigned max_rank, unsigned bits)
{
   uint32_t shape[TL_LL_MAX_RANK];
   unsigned rank = 1 + rng_below(r, max_rank);
   for (unsigned d = 0; d < rank; d++)
      shape[d] = 1;
   for (unsigned b = 0; b < bits; b++)
      shape[rng_below(r, rank)] *= 2;
   return tl_ll_empty(rank, shape);
}

/* Any map: columns random words, some zero, some duplicated. */
static inline TlLinear
gen_any(Rng *r, unsigned max_rank, unsigned bits, unsigned max_in)
{
   TlLinear l = gen_shape(r, max_rank, bits);
   unsigned in = rng_below(r, max_in + 1);
   for (unsigned i = 0; i < in; i++) {
      uint32_t image = rng_below(r, 1u << bits);
      if (rng_below(r, 5) == 0)
         image = 0;
      else if (i && rng_below(r, 6) == 0)
         image = l.col[rng_below(r, i)];
      else if (bits && rng_below(r, 2) == 0)
         image = 1u << rng_below(r, bits);
      tl_ll_push(&l, (TlHw)rng_below(r, TL_HW_COUNT), image);
   }
   return l;
}

/* Surjective map onto `shape` with the given counts of lane and warp bits: basis vectors (unit or
 * mixed) dealt out in random order, surplus hardware bits zero or repeated images. */
static inline TlLinear
gen_onto(Rng *r, const TlLinear *shape, unsigned lanes, unsigned warps, unsigned mixed)
{
   TlLinear l = *shape;
   unsigned n = tl_ll_bits(&l);
   uint32_t basis[TL_LL_MAX_BITS];
   for (unsigned i = 0; i < n; i++)
      basis[i] = 1u << i;
   for (unsigned i = n; i > 1; i--) {
      unsigned j = rng_below(r, i);
      uint32_t t = basis[i - 1];
      basis[i - 1] = basis[j];
      basis[j] = t;
   }
   for (unsigned k = 0; k < mixed && n > 1; k++) {
      unsigned i = rng_below(r, n), j = rng_below(r, n);
      if (i != j)
         basis[i] ^= basis[j];
   }
   unsigned used = 0;
   for (unsigned i = 0; i < warps; i++)
      tl_ll_push(&l, TL_HW_WARP, used < n && rng_below(r, 3) ? basis[used++] : 0);
   for (unsigned i = 0; i < lanes; i++)
      tl_ll_push(&l, TL_HW_LANE, used < n && rng_below(r, 6) ? basis[used++] : 0);
   while (used < n)
      tl_ll_push(&l, TL_HW_REG, basis[used++]);
   if (rng_below(r, 4) == 0)
      tl_ll_push(&l, TL_HW_REG, n && rng_below(r, 2) ? basis[rng_below(r, n)] : 0);
   return l;
}

static inline uint32_t
gen_field(const TlLinear *l, uint32_t word, unsigned d)
{
   return word >> tl_ll_dim_shift(l, d) & ((1u << l->log2_dim[d]) - 1);
}

#endif
