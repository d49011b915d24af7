/* The random programs' values, memory and driver; the operations are in gen_program_*.c. */
#include "support/gen_program_impl.h"

#include <math.h>
#include <string.h>

uint32_t
gen_below(Gen *g, uint32_t n)
{
   g->rng += 0x9e3779b97f4a7c15u; /* splitmix64 */
   uint64_t z = g->rng;
   z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
   z = (z ^ z >> 27) * 0x94d049bb133111ebu;
   return (uint32_t)(((z ^ z >> 31) >> 32) * n >> 32);
}

/* ---- facts ---- */
double
gen_exact_limit(TlDtype d)
{
   return d == TL_FP8E4B15 ? 1 : ldexp(1, tl_dtype_info[d].mantissa + 1);
}

double
gen_finite_limit(TlDtype d)
{
   if (d == TL_FP8E4NV)
      return 448;
   if (d == TL_FP8E4B15)
      return 1.875;
   const TlDtypeInfo *t = &tl_dtype_info[d];
   return ldexp(2 - ldexp(1, -t->mantissa), t->bias);
}

Fact
gen_full(TlDtype d)
{
   unsigned bits = tl_dtype_info[d].bits;
   if (d == TL_FP8E4B15)
      return (Fact){.lo = -1.875, .hi = 1.875, .product = true};
   if (tl_dtype_is_float(d))
      return (Fact){.lo = -(double)INFINITY, .hi = (double)INFINITY, .nan = true, .product = true};
   if (tl_dtype_is_signed(d))
      return (Fact){.lo = -ldexp(1, (int)bits - 1), .hi = ldexp(1, (int)bits - 1) - 1};
   return (Fact){.lo = 0, .hi = ldexp(1, (int)bits) - 1};
}

TlValue *
gen_know(Gen *g, TlValue *v, Fact f)
{
   while (g->facts.len <= v->id)
      tl_vec_push(g->arena, &g->facts, ((Fact){.lo = 1, .hi = 0}));
   g->facts.data[v->id] = f;
   return v;
}

Fact
gen_fact(Gen *g, const TlValue *v)
{
   if (v->id < g->facts.len && g->facts.data[v->id].lo <= g->facts.data[v->id].hi)
      return g->facts.data[v->id];
   return gen_full(gen_dtype(v));
}

TlValue *
gen_add(Gen *g, TlValue *v)
{
   tl_vec_push(g->arena, &g->pool, v);
   return v;
}

TlValue *
gen_number(Gen *g, const TlType *type, double v)
{
   TlDtype d = tl_type_elem(type)->dtype;
   TlValue *c = tl_dtype_is_float(d) ? tl_const_double(&g->b, type, v)
                                     : tl_const_bits(&g->b, type, tl_int_to_bits(d, (int64_t)v));
   return gen_know(g, c, (Fact){.lo = v, .hi = v, .whole = v == floor(v)});
}

TlValue *
gen_fit(Gen *g, TlValue *v, double lo, double hi)
{
   Fact f = gen_fact(g, v);
   if (f.lo < lo || f.nan) {
      v = tl_b2(&g->b, TL_OP_MAX, v, gen_number(g, v->type, lo));
      f.lo = lo;
      f.hi = f.hi < lo ? lo : f.hi;
   }
   if (f.hi > hi || f.nan) {
      v = tl_b2(&g->b, TL_OP_MIN, v, gen_number(g, v->type, hi));
      f.hi = hi;
      f.lo = f.lo > hi ? hi : f.lo;
   }
   f.nan = false;
   f.product = false;
   return gen_know(g, v, f);
}

/* A cast whose result is the same on every executor, after clamping where it is needed. */
TlValue *
gen_cast(Gen *g, TlValue *v, TlDtype to)
{
   TlDtype from = gen_dtype(v);
   if (from == to)
      return v;
   bool exact = g->p->class == GEN_EXACT;
   if (exact && tl_dtype_is_float(to)) {
      double limit = gen_exact_limit(to), have = gen_full(from).lo;
      v = gen_fit(g, v, have < -limit ? -limit : have, limit);
   } else if (tl_dtype_is_float(from) && tl_dtype_is_int(to) && to != TL_I1) {
      Fact full = gen_full(to);
      double hi = full.hi > 100 ? 100 : full.hi;
      v = gen_fit(g, v, full.lo < -100 ? -100 : full.lo, hi);
   } else if (to == TL_FP8E4B15 && gen_fact(g, v).nan) {
      v = gen_fit(g, v, -1, 1);
   }
   Fact f = gen_fact(g, v);
   TlValue *r = tl_t1(&g->b, TL_OP_CAST, gen_with(g, v->type, to), v);
   Fact full = gen_full(to);
   if (to == TL_I1) {
      f = full;
   } else if (tl_dtype_is_float(to)) {
      f.whole |= tl_dtype_is_int(from);
      if (!exact) { /* rounding may go outward */
         f.lo = f.lo < 0 ? f.lo * 1.25 : f.lo * 0.75;
         f.hi = f.hi > 0 ? f.hi * 1.25 : f.hi * 0.75;
         f.whole = false;
         if (f.lo < -gen_finite_limit(to) || f.hi > gen_finite_limit(to))
            f.lo = full.lo, f.hi = full.hi, f.nan |= full.nan;
      }
   } else if (tl_dtype_is_float(from)) {
      f.lo = ceil(f.lo) > f.lo ? ceil(f.lo) - 1 : f.lo;
      f.hi = floor(f.hi) < f.hi ? floor(f.hi) + 1 : f.hi;
   } else if (f.lo < full.lo || f.hi > full.hi) {
      f = full;
   }
   return gen_know(g, r, f);
}

/* ---- values ---- */
TlDtype
gen_any_dtype(Gen *g)
{
   static const TlDtype often[] = {TL_I32, TL_I32, TL_FP32, TL_FP32, TL_FP16, TL_BF16};
   if (gen_chance(g, 45))
      return often[gen_below(g, sizeof often / sizeof often[0])];
   return (TlDtype)gen_below(g, TL_DTYPE_COUNT);
}

const TlType *
gen_shaped(Gen *g, TlDtype d, unsigned rank, const uint32_t *shape)
{
   return tl_type_tile(g->m->types, gen_scalar(g, d), rank, shape, NULL);
}

const TlType *
gen_tile(Gen *g, TlDtype d)
{
   unsigned i = gen_below(g, g->num_shapes);
   return gen_shaped(g, d, g->shape[i].rank, g->shape[i].dim);
}

TlValue *
gen_pick(Gen *g)
{
   return g->pool.data[gen_below(g, (uint32_t)g->pool.len)];
}

TlValue *
gen_pick_tile(Gen *g)
{
   for (unsigned t = 0; t < 8; t++) {
      TlValue *v = gen_pick(g);
      if (tl_type_is_tile(v->type))
         return v;
   }
   return NULL;
}

static TlValue *
constant_of(Gen *g, const TlType *type)
{
   static const double doubles[] = {0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -2.5, 100.0};
   static const int64_t ints[] = {0, 1, 2, 3, 5, 7, 8, 31, 100, 127, -1, -2, -16};
   TlDtype d = tl_type_elem(type)->dtype;
   if (tl_dtype_is_int(d)) {
      TlBits bits = tl_int_to_bits(d, ints[gen_below(g, sizeof ints / sizeof ints[0])]);
      return gen_number(g, type, (double)tl_bits_to_int(d, bits));
   }
   double v = doubles[gen_below(g, sizeof doubles / sizeof doubles[0])];
   if (g->p->class == GEN_EXACT || d == TL_FP8E4B15) {
      double limit = gen_exact_limit(d) < 8 ? gen_exact_limit(d) : 8;
      v = (double)gen_below(g, (uint32_t)limit + 1);
   }
   return gen_number(g, type, v);
}

TlValue *
gen_pick_type(Gen *g, const TlType *type)
{
   for (unsigned t = 0; t < 10; t++) {
      TlValue *v = gen_pick(g);
      if (v->type == type)
         return v;
   }
   if (gen_chance(g, 30) && !g->in_scalars) { /* a tile of another type, converted */
      TlValue *v = gen_pick(g);
      if (v->type != type && tl_type_same_shape(v->type, type))
         return gen_cast(g, v, tl_type_elem(type)->dtype);
   }
   if (g->in_scalars || gen_chance(g, tl_type_is_tile(type) ? 15 : 60))
      return constant_of(g, type);
   return gen_load_new(g, type);
}

/* ---- memory ---- */
uint32_t
gen_programs(const Gen *g)
{
   return g->p->grid[0] * g->p->grid[1] * g->p->grid[2];
}

int
gen_buffer(Gen *g, TlDtype d, uint32_t elems, GenFill fill)
{
   GenProgram *p = g->p;
   TlFunc *f = g->b.func;
   int n = (int)p->num_buffers++;
   const char *name = tl_arena_printf(g->arena, "b%d", n);
   uint32_t skip = !g->for_boxes && gen_chance(g, 15);
   p->buffer[n] = (GenBuffer){.dtype = d,
                              .elems = elems,
                              .fill = fill,
                              .skip = skip,
                              .is_output = fill == GEN_POISON,
                              .f = -1,
                              .g = -1,
                              .h = -1};
   const TlType *type = tl_type_ptr(g->m->types, gen_scalar(g, d), false);
   f->params[f->num_params++] = (TlParam){.name = name,
                                          .is_runtime = true,
                                          .type = type,
                                          .divisibility = skip ? tl_dtype_info[d].bytes : 16};
   tl_block_add_arg(f->body->block, type, name);
   return n;
}

TlValue *
gen_parameter(Gen *g, int buffer)
{
   return g->b.func->body->block->args[GEN_NUM_SCALARS + buffer];
}

TlValue *
gen_along(Gen *g, const TlType *type, unsigned d)
{
   TlBuilder *b = &g->b;
   TlValue *v = tl_b0(b, TL_OP_ARANGE, NULL, {TL_ATTR_END, {.i = type->shape[d]}});
   for (unsigned e = 0; e < type->rank; e++)
      if (e != d)
         v = tl_b1(b, TL_OP_EXPAND_DIMS, v, {TL_ATTR_AXIS, {.i = e}});
   return v->type == type ? v : tl_t1(b, TL_OP_BROADCAST, type, v);
}

TlValue *
gen_numbers(Gen *g, unsigned rank, const uint32_t *shape)
{
   TlBuilder *b = &g->b;
   const TlType *type = gen_shaped(g, TL_I32, rank, shape);
   uint32_t n = (uint32_t)tl_type_num_elems(type), stride = 1;
   TlValue *sum = NULL;
   if (rank == 1 || (!g->for_boxes && gen_chance(g, 40))) {
      TlValue *v = tl_b0(b, TL_OP_ARANGE, NULL, {TL_ATTR_END, {.i = n}});
      sum = rank == 1 ? v : tl_t1(b, TL_OP_RESHAPE, type, v);
   } else {
      for (unsigned d = rank; d-- > 0; stride *= shape[d]) {
         TlValue *v = tl_b2(b, TL_OP_MUL, gen_along(g, type, d), gen_number(g, type, stride));
         sum = sum ? tl_b2(b, TL_OP_ADD, sum, v) : v;
      }
   }
   return gen_know(g, sum, (Fact){.lo = 0, .hi = n - 1});
}

TlValue *
gen_pointers(Gen *g, int buffer, TlValue *index, TlValue *offset)
{
   TlBuilder *b = &g->b;
   TlValue *p = gen_parameter(g, buffer);
   if (offset)
      p = tl_b2(b, TL_OP_ADDPTR, p, offset);
   if (!index)
      return p;
   if (tl_type_is_tile(index->type))
      p = tl_t1(b, TL_OP_SPLAT, tl_type_with_elem(g->m->types, index->type, p->type), p);
   return tl_b2(b, TL_OP_ADDPTR, p, index);
}

/* Counted along all axes of the grid. */
TlValue *
gen_offset_of_program(Gen *g, uint32_t elems)
{
   TlBuilder *b = &g->b;
   if (gen_programs(g) == 1)
      return NULL;
   TlValue *at = NULL;
   for (unsigned axis = 3; axis-- > 0;) {
      if (g->p->grid[axis] == 1)
         continue;
      TlValue *id = tl_b0(b, TL_OP_PROGRAM_ID, NULL, {TL_ATTR_AXIS, {.i = axis}});
      if (at) {
         TlValue *size = tl_b0(b, TL_OP_NUM_PROGRAMS, NULL, {TL_ATTR_AXIS, {.i = axis}});
         id = tl_b2(b, TL_OP_ADD, tl_b2(b, TL_OP_MUL, at, size), id);
      }
      at = id;
   }
   return tl_b2(b, TL_OP_MUL, at, gen_number(g, at->type, elems));
}

GenFill
gen_fill_for(Gen *g, TlDtype d)
{
   if (tl_dtype_is_int(d))
      return gen_chance(g, 40) ? GEN_SMALL : GEN_BITS;
   if (g->p->class == GEN_EXACT)
      return GEN_SMALL;
   return gen_chance(g, 60) ? GEN_NORMAL : GEN_WIDE;
}

Fact
gen_fill_fact(TlDtype d, GenFill fill)
{
   bool is_signed = tl_dtype_is_float(d) || tl_dtype_is_signed(d);
   Fact f = gen_full(d);
   f.product = false;
   if (fill == GEN_SMALL || fill == GEN_TINY) {
      double limit = fill == GEN_TINY ? 2 : 8;
      f = (Fact){
         .lo = is_signed ? -limit : 0, .hi = is_signed ? limit : 2 * limit - 1, .whole = true};
   } else if (fill == GEN_NORMAL) {
      f = (Fact){.lo = -8, .hi = 8};
   }
   return f;
}

/* Index patterns that stay below n, one to one. */
static TlValue *
shuffled(Gen *g, TlValue *index, uint32_t n)
{
   TlBuilder *b = &g->b;
   switch (gen_below(g, 6)) {
   case 0:
      return tl_b2(b, TL_OP_SUB, gen_number(g, index->type, n - 1), index);
   case 1:
      return tl_b2(b, TL_OP_XOR, index, gen_number(g, index->type, gen_below(g, n)));
   case 2: {
      TlValue *v = tl_b2(b, TL_OP_MUL, index, gen_number(g, index->type, gen_below(g, n) | 1));
      return tl_b2(b, TL_OP_AND, v, gen_number(g, index->type, n - 1));
   }
   default:
      return index;
   }
}

/* The same elements further apart or past a start that is known or not: *room elements hold them
 * all. */
static TlValue *
spread(Gen *g, TlValue *index, uint32_t n, uint32_t *room)
{
   TlBuilder *b = &g->b;
   *room = n;
   if (gen_chance(g, 15)) {
      uint32_t stride = 2 + gen_below(g, 3);
      index = tl_b2(b, TL_OP_MUL, index, gen_number(g, index->type, stride));
      *room = n * stride;
   }
   if (gen_chance(g, 20)) {
      index = tl_b2(b, TL_OP_ADD, index, gen_number(g, index->type, gen_below(g, 9)));
      *room += 16;
   } else if (gen_chance(g, 15)) {
      TlValue *word = g->scalar[GEN_WORD];
      TlValue *at = tl_b2(b, TL_OP_AND, word, gen_number(g, word->type, gen_chance(g, 50) ? 7 : 8));
      index = tl_b2(b, TL_OP_ADD, index, tl_t1(b, TL_OP_SPLAT, index->type, at));
      *room += 16;
   }
   return index;
}

/* What a kernel does on a mask: all elements, a prefix known at run time, or any truth values. */
static TlValue *
some_mask(Gen *g, TlValue *numbers)
{
   const TlType *type = gen_with(g, numbers->type, TL_I1);
   if (gen_chance(g, 25))
      return gen_pick_type(g, type);
   TlValue *limit = g->scalar[GEN_LIMIT];
   if (gen_chance(g, 30)) /* whole groups of elements */
      limit = tl_b2(&g->b, TL_OP_AND, limit, gen_number(g, limit->type, -(1 << gen_below(g, 5))));
   if (gen_chance(g, 30)) /* none of them, too */
      limit = tl_b2(&g->b, TL_OP_SUB, limit, gen_number(g, limit->type, gen_below(g, 40)));
   if (tl_type_is_tile(numbers->type))
      limit = tl_t1(&g->b, TL_OP_SPLAT, gen_with(g, numbers->type, TL_I32), limit);
   switch (gen_below(g, 5)) {
   case 0:
      return tl_b2(&g->b, TL_OP_LE, numbers, limit);
   case 1:
      return tl_b2(&g->b, TL_OP_GT, limit, numbers);
   case 2:
      return tl_b2(&g->b, TL_OP_GE, limit, numbers);
   default:
      return tl_b2(&g->b, TL_OP_LT, numbers, limit);
   }
}

static Fact
both(Fact a, Fact b)
{
   return (Fact){.lo = fmin(a.lo, b.lo),
                 .hi = fmax(a.hi, b.hi),
                 .nan = a.nan || b.nan,
                 .whole = a.whole && b.whole,
                 .product = a.product || b.product};
}

TlValue *
gen_load_new(Gen *g, const TlType *type)
{
   TlBuilder *b = &g->b;
   TlDtype d = tl_type_elem(type)->dtype;
   if (g->p->num_buffers >= GEN_MAX_BUFFERS / 2)
      return constant_of(g, type);
   if (d == TL_I1) {
      TlValue *v = gen_load_new(g, gen_with(g, type, TL_I8));
      return gen_know(g, tl_b2(b, TL_OP_GT, v, gen_number(g, v->type, 0)), gen_full(TL_I1));
   }
   if (d == TL_FP8E4B15)
      return gen_cast(g, gen_load_new(g, gen_with(g, type, TL_FP16)), d);
   uint32_t n = (uint32_t)tl_type_num_elems(type), steps = g->step ? GEN_MAX_TRIPS : 1;
   GenFill fill = gen_fill_for(g, d);
   TlValue *numbers = NULL, *index = NULL;
   if (tl_type_is_tile(type)) {
      numbers = gen_numbers(g, type->rank, type->shape);
      index = spread(g, shuffled(g, numbers, n), n, &n);
   }
   int buffer = gen_buffer(g, d, n * steps * gen_programs(g), fill);
   Fact fact = gen_fill_fact(d, fill);
   TlValue *offset = gen_offset_of_program(g, n * steps);
   if (g->step) {
      TlValue *at = tl_b2(b, TL_OP_MUL, g->step, gen_number(g, g->step->type, n));
      offset = offset ? tl_b2(b, TL_OP_ADD, offset, at) : at;
   }
   if (!tl_type_is_tile(type))
      return gen_know(g, tl_b1(b, TL_OP_LOAD, gen_pointers(g, buffer, NULL, offset)), fact);
   TlValue *ptr = gen_pointers(g, buffer, index, offset);
   unsigned cache = gen_chance(g, 20) ? gen_below(g, 3) : 0,
            evict = gen_chance(g, 20) ? gen_below(g, 3) : 0;
   TlAttrInit hints[] = {
      {TL_ATTR_CACHE, {.i = cache}}, {TL_ATTR_EVICT, {.i = evict}}, {TL_ATTR_COUNT, {.i = 0}}};
   unsigned way = gen_below(g, 10);
   if (way < 5)
      return gen_know(g, tl_build_n(b, TL_OP_LOAD, &ptr, 1, NULL, hints), fact);
   TlValue *mask = some_mask(g, numbers), *other = constant_of(g, type);
   TlValue *args[] = {ptr, mask, other};
   fact = both(fact, gen_fact(g, other));
   TlValue *v = tl_build_n(b, TL_OP_LOAD, args, way < 7 ? 2 : 3, NULL, hints);
   if (way < 7) /* masked-off elements are undefined: they must not be used */
      v = tl_b3(b, TL_OP_SELECT, mask, v, other);
   return gen_know(g, v, fact);
}

bool
gen_step_load(Gen *g)
{
   gen_add(g, gen_load_new(g, gen_tile(g, gen_any_dtype(g))));
   return true;
}

/* The type of a value in memory: all are exact. */
static TlDtype
memory_dtype(TlDtype d)
{
   return d == TL_I1 ? TL_U8 : d == TL_FP8E4B15 ? TL_FP32 : d;
}

static TlValue *
for_memory(Gen *g, TlValue *v)
{
   TlDtype d = memory_dtype(gen_dtype(v));
   return d == gen_dtype(v) ? v : tl_t1(&g->b, TL_OP_CAST, gen_with(g, v->type, d), v);
}

int
gen_store_plain(Gen *g, TlValue *v)
{
   v = for_memory(g, v);
   uint32_t n = gen_elems(v);
   int buffer = gen_buffer(g, gen_dtype(v), n * gen_programs(g), GEN_POISON);
   TlValue *offset = gen_offset_of_program(g, n), *index = NULL;
   if (tl_type_is_tile(v->type))
      index = gen_numbers(g, v->type->rank, v->type->shape);
   tl_b2(&g->b, TL_OP_STORE, gen_pointers(g, buffer, index, offset), v);
   return buffer;
}

bool
gen_step_store(Gen *g)
{
   TlValue *v = gen_pick(g);
   if (!tl_type_is_tile(v->type) || gen_chance(g, 50)) {
      gen_store_plain(g, v);
      return true;
   }
   v = for_memory(g, v);
   uint32_t n = gen_elems(v);
   TlValue *numbers = gen_numbers(g, v->type->rank, v->type->shape);
   TlValue *index = spread(g, shuffled(g, numbers, n), n, &n);
   int buffer = gen_buffer(g, gen_dtype(v), n * gen_programs(g), GEN_POISON);
   TlValue *ptr = gen_pointers(g, buffer, index, gen_offset_of_program(g, n));
   if (gen_chance(g, 50))
      tl_b3(&g->b, TL_OP_STORE, ptr, v, some_mask(g, numbers));
   else
      tl_b2(&g->b, TL_OP_STORE, ptr, v);
   return true;
}

/* ---- regions ---- */
GenRegion
gen_open(Gen *g, TlOp *op, unsigned r)
{
   GenRegion saved = {g->b, g->pool.len, g->in_scalars};
   g->b = tl_builder_at_end(g->b.func, op->regions[r]->block);
   g->depth++;
   return saved;
}

void
gen_close(Gen *g, const GenRegion *r, TlValue *const *values, unsigned n)
{
   tl_build(&g->b, TL_OP_YIELD, values, n, NULL, 0, NULL, 0, 0);
   g->b = r->outer;
   g->pool.len = r->pool;
   g->in_scalars = r->in_scalars;
   g->depth--;
}

/* ---- growth ---- */
typedef bool Step(Gen *g);

static Step *
choose(Gen *g)
{
   static const struct {
      unsigned weight;
      Step *step;
      bool control, nested; /* has regions of any operations; may stand in one */
   } steps[] = {
      {36, gen_step_eltwise, false, true}, {12, gen_step_function, false, true},
      {12, gen_step_shape, false, true},   {8, gen_step_reduce, false, true},
      {5, gen_step_scan, false, true},     {1, gen_step_sort, false, false},
      {3, gen_step_gather, false, true},   {2, gen_step_histogram, false, true},
      {3, gen_step_map, false, true},      {6, gen_step_dot, false, true},
      {6, gen_step_load, false, true},     {4, gen_step_atomic, false, false},
      {4, gen_step_if, true, true},        {5, gen_step_for, true, true},
      {2, gen_step_while, true, true},     {2, gen_step_hint, false, true},
      {4, gen_step_block, false, true},
   };
   unsigned total = 0;
   for (unsigned i = 0; i < sizeof steps / sizeof steps[0]; i++)
      total += steps[i].weight;
   unsigned at = gen_below(g, total);
   for (unsigned i = 0;; i++) {
      if (at < steps[i].weight) {
         bool allowed = (!steps[i].control || g->depth < 2) && (g->depth == 0 || steps[i].nested);
         return allowed ? steps[i].step : gen_step_eltwise;
      }
      at -= steps[i].weight;
   }
}

void
gen_grow(Gen *g, unsigned num_ops)
{
   for (unsigned made = 0, tries = 0; made < num_ops && tries < 30 * num_ops; tries++) {
      Step *step = g->in_scalars ? gen_step_eltwise : choose(g);
      if (g->p->num_buffers + 8 > GEN_MAX_BUFFERS)
         step = gen_step_eltwise;
      made += step(g);
   }
}

/* ---- the program ---- */
static void
choose_shapes(Gen *g)
{
   static const uint8_t log2_max[] = {0, 2, 3, 4, 4, 5, 5, 5, 6, 6, 6, 7, 7, 7, 8, 8, 9, 9, 10, 11};
   unsigned bits = log2_max[gen_below(g, sizeof log2_max)];
   g->max_elems = 1u << bits;
   g->num_shapes = 1 + gen_below(g, 3);
   for (unsigned i = 0; i < g->num_shapes; i++) {
      unsigned rank = 1 + gen_below(g, 3), have = i ? gen_below(g, bits + 1) : bits;
      g->shape[i].rank = rank;
      for (unsigned d = 0; d < rank; d++)
         g->shape[i].dim[d] = 1;
      for (unsigned k = 0; k < have; k++)
         g->shape[i].dim[gen_below(g, rank)] *= 2;
   }
}

static void
choose_launch(Gen *g)
{
   static const int32_t trips[] = {0, 1, 2, 3, 5};
   static const char *const names[GEN_NUM_SCALARS] = {"trips", "more", "limit", "word"};
   GenProgram *p = g->p;
   TlFunc *f = g->b.func;
   f->num_warps = g->for_roles ? 8 : 1u << gen_below(g, 4);
   if (g->for_turns && gen_chance(g, 80))
      f->num_warps = 4;
   f->num_stages = g->for_roles ? 2 + gen_below(g, 3) : 1 + gen_below(g, 4);
   f->num_ctas = 1;
   f->strict_fp = p->class == GEN_STRICT || (p->class == GEN_EXACT && gen_chance(g, 30));
   p->grid[0] = p->grid[1] = p->grid[2] = 1;
   if (gen_chance(g, 30))
      p->grid[gen_below(g, 3)] = 2 + gen_below(g, 2);
   if (g->for_roles && gen_chance(g, 40)) /* as blocks of rows and heads */
      for (unsigned axis = 0; axis < 2; axis++)
         p->grid[axis] = 2 + gen_below(g, 2);
   p->num_scalars = GEN_NUM_SCALARS;
   p->scalar[GEN_TRIPS] = trips[gen_below(g, 5)];
   p->scalar[GEN_MORE_TRIPS] = trips[gen_below(g, 5)];
   p->scalar[GEN_LIMIT] = (int32_t)gen_below(g, g->max_elems + 2);
   p->scalar[GEN_WORD] = (int32_t)gen_below(g, UINT32_MAX);
   f->params = tl_new_array(g->arena, TlParam, GEN_NUM_SCALARS + GEN_MAX_BUFFERS);
   for (unsigned i = 0; i < GEN_NUM_SCALARS; i++) {
      const TlType *type = gen_scalar(g, TL_I32);
      f->params[f->num_params++] =
         (TlParam){.name = names[i], .is_runtime = true, .type = type, .divisibility = 1};
      g->scalar[i] = tl_block_add_arg(f->body->block, type, names[i]);
      Fact fact = gen_full(TL_I32);
      if (i != GEN_WORD)
         fact = (Fact){.lo = 0, .hi = i == GEN_LIMIT ? 2050 : GEN_MAX_TRIPS};
      gen_add(g, gen_know(g, g->scalar[i], fact));
   }
}

/* May be dropped when no result is used (loads that are not volatile too). */
static bool
is_removable(const TlOp *op)
{
   uint32_t traits = tl_info(op)->traits;
   if (op->opcode == TL_OP_WHILE || (traits & (TL_TRAIT_WRITE | TL_TRAIT_TERM)))
      return false;
   if (tl_has_attr(op, TL_ATTR_VOLATILE) && tl_attr_int(op, TL_ATTR_VOLATILE))
      return false;
   if (tl_has_attr(op, TL_ATTR_PURE) && !tl_attr_int(op, TL_ATTR_PURE))
      return false;
   for (unsigned r = 0; r < op->num_regions; r++)
      for (const TlOp *inner = op->regions[r]->block->first; inner; inner = inner->next)
         if (!tl_has_trait(inner, TL_TRAIT_TERM) && !is_removable(inner))
            return false;
   return true;
}

/* What nothing depends on. */
static void
drop_unused(TlBlock *block)
{
   for (TlOp *op = block->last, *prev; op; op = prev) {
      prev = op->prev;
      for (unsigned r = 0; r < op->num_regions; r++)
         drop_unused(op->regions[r]->block);
      if (tl_is_unused(op) && is_removable(op))
         tl_remove(op);
   }
}

static void
make_any(Gen *g)
{
   gen_step_load(g);
   gen_step_load(g);
   gen_grow(g, 3 + gen_below(g, 12));
   for (unsigned i = 0, n = 1 + gen_below(g, 5); i < n; i++)
      if (g->p->num_buffers < GEN_MAX_BUFFERS)
         gen_step_store(g);
}

/* One loop of dots or several in a row. */
static void
make_for_roles(Gen *g)
{
   for (unsigned i = 0, n = 1 + gen_below(g, 3); i < n; i++)
      gen_step_role_dots(g);
}

void
gen_program(TlArena *arena, uint64_t seed, GenProgram *out)
{
   TlSources *sources = tl_sources_new(arena);
   TlDiags diags;
   tl_diags_init(&diags, arena, sources);
   TlModule *m = tl_module_new(arena, tl_types_new(arena), tl_strings_new(arena), &diags);
   Gen g = {.p = out,
            .arena = arena,
            .m = m,
            .rng = seed * 0xd1342543de82ef95u,
            .for_roles = seed >= GEN_ROLE_SEEDS,
            .for_turns = seed >= GEN_TURN_SEEDS};
   *out = (GenProgram){.seed = seed};
   unsigned class = gen_below(&g, 4);
   out->class = g.for_roles || class < 2 ? GEN_EXACT : class == 2 ? GEN_STRICT : GEN_TRITON;
   TlFunc *f =
      tl_func_new(m, tl_arena_printf(arena, "p%llu", (unsigned long long)seed), (TlRange){0});
   g.b = tl_builder_at_end(f, f->body->block);
   choose_shapes(&g);
   choose_launch(&g);
   if (g.for_roles)
      make_for_roles(&g);
   else
      make_any(&g);
   tl_build(&g.b, TL_OP_RETURN, NULL, 0, NULL, 0, NULL, 0, 0);
   drop_unused(f->body->block);
   TlSb sb;
   tl_sb_init(&sb, arena);
   tl_print_func(f, NULL, &sb);
   out->text = tl_sb_cstr(&sb);
   out->func = f;
}
