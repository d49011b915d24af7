/* Vectors over GF(2) as words: a basis that remembers of which columns each of its vectors is made.
 * Used to solve, invert and complete linear layouts.  A value type, at most 32 bits wide. */
#ifndef TL_LAYOUT_GF2_H
#define TL_LAYOUT_GF2_H

#include <stdbool.h>
#include <stdint.h>

enum { TL_GF2_MAX = 32 };

typedef struct TlBasis {
   uint32_t vec[TL_GF2_MAX];  /* independent vectors, each with its own highest bit */
   uint64_t from[TL_GF2_MAX]; /* vec[i] is the XOR of the columns of these bits */
   unsigned n;                /* vectors held */
} TlBasis;

/* Adds column `index` with value `v`; false (and no change) when it depends on earlier columns.
 * The first vectors of a basis are always a basis of the first columns added. */
bool tl_gf2_add(TlBasis *b, uint32_t v, unsigned index);
/* Is v in the span of the first `limit` vectors?  *from then receives the columns that make it. */
bool tl_gf2_express(const TlBasis *b, unsigned limit, uint32_t v, uint64_t *from);
static inline bool
tl_gf2_spans(const TlBasis *b, uint32_t v)
{
   uint64_t from;
   return tl_gf2_express(b, b->n, v, &from);
}

#endif
