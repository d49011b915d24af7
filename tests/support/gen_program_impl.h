/* What the parts of the program generator share. */
#ifndef TESTS_SUPPORT_GEN_PROGRAM_IMPL_H
#define TESTS_SUPPORT_GEN_PROGRAM_IMPL_H

#include "support/gen_program.h"

enum { GEN_TRIPS, GEN_MORE_TRIPS, GEN_LIMIT, GEN_WORD, GEN_NUM_SCALARS, GEN_MAX_TRIPS = 5 };

/* What is known of a value's elements. */
typedef struct Fact {
   double lo, hi;
   bool nan;     /* may be a NaN */
   bool whole;   /* floats: whole numbers only */
   bool product; /* may be a product that the next sum may be fused with */
} Fact;

typedef struct Gen {
   GenProgram *p;
   TlArena *arena;
   TlModule *m;
   TlBuilder b;
   uint64_t rng;
   TL_VEC(TlValue *) pool; /* numbers in scope: scalars and tiles */
   TL_VEC(Fact) facts;     /* by value id */
   TlValue *scalar[GEN_MAX_SCALARS];
   unsigned depth;     /* of regions */
   TlValue *step;      /* number of the loop's iteration, 0 .. GEN_MAX_TRIPS - 1, or NULL */
   bool for_roles;     /* loops of dots, and little else */
   bool for_turns;     /* in loops, most of them in fewer warps than roles are given to */
   bool for_boxes;     /* places in memory as boxes of tensors have them */
   bool in_scalars;    /* inside a region over scalars: nothing but scalar arithmetic */
   uint32_t max_elems; /* of a tile */
   unsigned num_shapes;
   struct {
      unsigned rank;
      uint32_t dim[3];
   } shape[3];
} Gen;

uint32_t gen_below(Gen *g, uint32_t n);
static inline bool
gen_chance(Gen *g, uint32_t percent)
{
   return gen_below(g, 100) < percent;
}
static inline const TlType *
gen_scalar(Gen *g, TlDtype d)
{
   return tl_type_scalar(g->m->types, d);
}
static inline const TlType *
gen_with(Gen *g, const TlType *like, TlDtype d)
{
   return tl_type_with_elem(g->m->types, like, gen_scalar(g, d));
}
static inline TlDtype
gen_dtype(const TlValue *v)
{
   return tl_type_elem(v->type)->dtype;
}
static inline bool
gen_is_float(const TlValue *v)
{
   return tl_dtype_is_float(gen_dtype(v));
}
static inline uint32_t
gen_elems(const TlValue *v)
{
   return (uint32_t)tl_type_num_elems(v->type);
}

/* ---- facts ---- */
Fact gen_fact(Gen *g, const TlValue *v);
TlValue *gen_know(Gen *g, TlValue *v, Fact f); /* returns v */
Fact gen_full(TlDtype d);                      /* anything of the type */
double gen_exact_limit(TlDtype d);             /* whole numbers up to it are exact */
double gen_finite_limit(TlDtype d);
TlValue *gen_add(Gen *g, TlValue *v); /* into the pool */
/* v, or v clamped to lo .. hi (which are values of its type). */
TlValue *gen_fit(Gen *g, TlValue *v, double lo, double hi);
TlValue *gen_number(Gen *g, const TlType *type, double v);
TlValue *gen_cast(Gen *g, TlValue *v, TlDtype to);

/* ---- values ---- */
TlDtype gen_any_dtype(Gen *g);
const TlType *gen_tile(Gen *g, TlDtype d); /* in one of the program's shapes */
const TlType *gen_shaped(Gen *g, TlDtype d, unsigned rank, const uint32_t *shape);
TlValue *gen_pick(Gen *g);
TlValue *gen_pick_tile(Gen *g);                     /* NULL when there is none */
TlValue *gen_pick_type(Gen *g, const TlType *type); /* from the pool, or made */

/* ---- memory ---- */
int gen_buffer(Gen *g, TlDtype d, uint32_t elems, GenFill fill);
TlValue *gen_parameter(Gen *g, int buffer);
/* The coordinate along dimension d of each element of an i32 tile. */
TlValue *gen_along(Gen *g, const TlType *type, unsigned d);
/* Row-major element numbers, i32. */
TlValue *gen_numbers(Gen *g, unsigned rank, const uint32_t *shape);
/* Pointers to a buffer at `index` elements past element `offset` (i32 scalar or NULL). */
TlValue *gen_pointers(Gen *g, int buffer, TlValue *index, TlValue *offset);
TlValue *gen_offset_of_program(Gen *g, uint32_t elems); /* program number * elems, or NULL */
GenFill gen_fill_for(Gen *g, TlDtype d);
Fact gen_fill_fact(TlDtype d, GenFill fill);
TlValue *gen_load_new(Gen *g, const TlType *type);
/* Stores all of v in plain order to a new output; its number. */
int gen_store_plain(Gen *g, TlValue *v);
uint32_t gen_programs(const Gen *g);

/* ---- steps: true when something was made ---- */
bool gen_step_eltwise(Gen *g);
bool gen_step_function(Gen *g);
bool gen_step_shape(Gen *g);
bool gen_step_reduce(Gen *g);
bool gen_step_scan(Gen *g);
bool gen_step_sort(Gen *g);
bool gen_step_gather(Gen *g);
bool gen_step_histogram(Gen *g);
bool gen_step_map(Gen *g);
bool gen_step_dot(Gen *g);
void gen_step_role_dots(Gen *g); /* gen_program_roles.c */
/* A tile folded along the axis. */
TlValue *gen_fold(Gen *g, TlValue *x, unsigned axis, TlOpcode by);
bool gen_step_atomic(Gen *g);
bool gen_step_load(Gen *g);
bool gen_step_store(Gen *g);
bool gen_step_block(Gen *g); /* gen_program_block.c */
bool gen_step_if(Gen *g);
bool gen_step_for(Gen *g);
bool gen_step_while(Gen *g);
bool gen_step_hint(Gen *g);
void gen_grow(Gen *g, unsigned num_ops);

/* Regions: everything built until gen_close goes to region r of op. */
typedef struct GenRegion {
   TlBuilder outer;
   size_t pool;
   bool in_scalars;
} GenRegion;
GenRegion gen_open(Gen *g, TlOp *op, unsigned r);
void gen_close(Gen *g, const GenRegion *r, TlValue *const *values, unsigned n);

#endif
