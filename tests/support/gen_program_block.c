/* Random programs' blocks of larger arrays: at an origin known at run time, which may lie outside,
 * with a boundary check along each dimension, as block pointers and descriptors have them. */
#include "support/gen_program_impl.h"

#include <math.h>

typedef struct Block {
   TlValue *index, *mask;
   uint32_t room; /* elements of the whole array */
} Block;

static TlValue *
spread_over(Gen *g, const TlType *type, TlValue *scalar)
{
   return tl_t1(&g->b, TL_OP_SPLAT, type, scalar);
}

/* Some bits of a number known at run time only, less a constant. */
static TlValue *
origin(Gen *g, uint32_t size)
{
   TlBuilder *b = &g->b;
   TlValue *word = g->scalar[GEN_WORD];
   word =
      tl_b2(b, TL_OP_AND, word, gen_number(g, word->type, gen_chance(g, 50) ? size : 2 * size - 1));
   return tl_b2(b, TL_OP_SUB, word, gen_number(g, word->type, gen_below(g, size + 1)));
}

/* Elements along a dimension of the whole array: constant, or known at run time. */
static TlValue *
extent(Gen *g, uint32_t whole)
{
   TlBuilder *b = &g->b;
   TlValue *limit = g->scalar[GEN_LIMIT];
   TlValue *n = gen_number(g, limit->type, whole);
   return gen_chance(g, 60) ? n : tl_b2(b, TL_OP_MIN, limit, n);
}

static Block
block_of(Gen *g, unsigned rank, const uint32_t *shape)
{
   TlBuilder *b = &g->b;
   const TlType *type = gen_shaped(g, TL_I32, rank, shape);
   Block r = {.room = 1};
   for (unsigned d = rank; d-- > 0;) {
      uint32_t whole = shape[d] * (1 + gen_below(g, 2)) + (gen_chance(g, 30) ? gen_below(g, 4) : 0);
      TlValue *at = gen_along(g, type, d);
      if (gen_chance(g, 80))
         at = tl_b2(b, TL_OP_ADD, at, spread_over(g, type, origin(g, shape[d])));
      TlValue *below = tl_b2(b, TL_OP_LT, at, spread_over(g, type, extent(g, whole)));
      TlValue *inside = tl_b2(b, TL_OP_AND, below, tl_b2(b, TL_OP_GE, at, gen_number(g, type, 0)));
      r.mask = r.mask ? tl_b2(b, TL_OP_AND, inside, r.mask) : inside;
      at = tl_b2(b, TL_OP_MUL, at, gen_number(g, type, r.room));
      r.index = r.index ? tl_b2(b, TL_OP_ADD, at, r.index) : at;
      r.room *= whole;
   }
   return r;
}

/* What is read outside: zeros, or NaN. */
static TlValue *
padding(Gen *g, const TlType *type)
{
   TlDtype d = tl_type_elem(type)->dtype;
   if (!tl_dtype_is_float(d) || g->p->class == GEN_EXACT || gen_chance(g, 50))
      return gen_number(g, type, 0);
   return gen_know(g, tl_const_double(&g->b, type, (double)NAN), gen_full(d));
}

static TlDtype
type_in_memory(Gen *g)
{
   TlDtype d = gen_any_dtype(g);
   return d == TL_I1 || d == TL_FP8E4B15 ? TL_FP16 : d;
}

static void
load_block(Gen *g)
{
   const TlType *type = gen_tile(g, type_in_memory(g));
   TlDtype d = type->elem->dtype;
   Block block = block_of(g, type->rank, type->shape);
   GenFill fill = gen_fill_for(g, d);
   int buffer = gen_buffer(g, d, block.room * gen_programs(g), fill);
   TlValue *other = padding(g, type);
   TlValue *ptr = gen_pointers(g, buffer, block.index, gen_offset_of_program(g, block.room));
   TlValue *v = tl_b3(&g->b, TL_OP_LOAD, ptr, block.mask, other);
   v->name = "block";
   Fact f = gen_fill_fact(d, fill), o = gen_fact(g, other);
   f.lo = fmin(f.lo, o.lo);
   f.hi = fmax(f.hi, o.hi);
   f.nan |= o.nan;
   gen_add(g, gen_know(g, v, f));
}

static bool
store_block(Gen *g)
{
   TlValue *v = gen_pick_tile(g);
   if (!v || gen_dtype(v) == TL_I1 || gen_dtype(v) == TL_FP8E4B15)
      return false;
   Block block = block_of(g, v->type->rank, v->type->shape);
   int buffer = gen_buffer(g, gen_dtype(v), block.room * gen_programs(g), GEN_POISON);
   TlValue *ptr = gen_pointers(g, buffer, block.index, gen_offset_of_program(g, block.room));
   tl_b3(&g->b, TL_OP_STORE, ptr, v, block.mask);
   return true;
}

bool
gen_step_block(Gen *g)
{
   if (g->depth == 0 && gen_chance(g, 35))
      return store_block(g);
   load_block(g);
   return true;
}
