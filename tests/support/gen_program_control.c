/* Control flow, atomics and hints of random programs, and what a program covers. */
#include "support/gen_program_impl.h"

#include <math.h>
#include <string.h>

/* ---- control flow ---- */
static Fact
either(Fact a, Fact b)
{
   return (Fact){.lo = fmin(a.lo, b.lo),
                 .hi = fmax(a.hi, b.hi),
                 .nan = a.nan || b.nan,
                 .whole = a.whole && b.whole,
                 .product = a.product || b.product};
}

static TlValue *
condition(Gen *g)
{
   const TlType *type = gen_scalar(g, TL_I1);
   if (gen_chance(g, 50) || g->in_scalars)
      return gen_pick_type(g, type);
   static const TlOpcode compare[] = {TL_OP_LT, TL_OP_GE, TL_OP_EQ, TL_OP_NE};
   TlValue *x = g->scalar[gen_below(g, 2)];
   return tl_b2(&g->b, compare[gen_below(g, 4)], x, gen_number(g, x->type, gen_below(g, 4)));
}

bool
gen_step_if(Gen *g)
{
   TlValue *cond = condition(g);
   unsigned n = 1 + gen_below(g, 2);
   const TlType *types[2];
   Fact facts[2];
   for (unsigned i = 0; i < n; i++)
      types[i] = gen_pick(g)->type;
   TlOp *op = tl_build(&g->b, TL_OP_IF, &cond, 1, types, n, NULL, 0, 2);
   for (unsigned k = 0; k < 2; k++) {
      GenRegion r = gen_open(g, op, k);
      gen_grow(g, 1 + gen_below(g, 3));
      TlValue *out[2];
      for (unsigned i = 0; i < n; i++) {
         out[i] = gen_pick_type(g, types[i]);
         facts[i] = k ? either(facts[i], gen_fact(g, out[i])) : gen_fact(g, out[i]);
      }
      gen_close(g, &r, out, n);
   }
   for (unsigned i = 0; i < n; i++)
      gen_add(g, gen_know(g, tl_result(op, i), facts[i]));
   return true;
}

/* What a carried value keeps over all iterations. */
static Fact
invariant(Gen *g, TlDtype d)
{
   Fact f = gen_full(d);
   if (tl_dtype_is_float(d) && g->p->class == GEN_EXACT) {
      double limit = fmin(gen_exact_limit(d), 64);
      f = (Fact){.lo = -limit, .hi = limit, .whole = true};
   }
   return f;
}

static TlValue *
keep(Gen *g, TlValue *v)
{
   Fact f = invariant(g, gen_dtype(v));
   return f.nan || !gen_is_float(v) ? v : gen_fit(g, v, f.lo, f.hi);
}

/* Values that a loop carries. */
static unsigned
carried(Gen *g, TlValue **init)
{
   unsigned n = 1 + gen_below(g, 3);
   for (unsigned i = 0; i < n; i++)
      init[i] = keep(g, gen_pick(g));
   return n;
}

static void
carry(Gen *g, TlBlock *body, TlValue *const *init, unsigned n)
{
   for (unsigned i = 0; i < n; i++)
      gen_add(g, gen_know(g, tl_block_add_arg(body, init[i]->type, NULL),
                          invariant(g, gen_dtype(init[i]))));
}

static void
results(Gen *g, TlOp *op, TlValue *const *init, unsigned n)
{
   for (unsigned i = 0; i < n; i++)
      gen_add(g, gen_know(g, tl_result(op, i), invariant(g, gen_dtype(init[i]))));
}

static TlValue *
next(Gen *g, const TlType *type)
{
   return keep(g, gen_pick_type(g, type));
}

/* Bounds known at run time only, constant, or counting down. */
static void
loop_bounds(Gen *g, TlValue **args)
{
   static const struct {
      int lo, hi, step;
   } fixed[] = {{0, 3, 1}, {0, 4, 2}, {2, 2, 1}, {1, 2, 1}, {4, 0, -2}, {0, 1, 1}};
   TlBuilder *b = &g->b;
   if (gen_chance(g, 65)) {
      args[0] = tl_const_int(b, TL_I32, 0);
      args[1] = g->scalar[gen_below(g, 2)];
      args[2] = tl_const_int(b, TL_I32, 1 + gen_chance(g, 20));
      return;
   }
   unsigned i = gen_below(g, sizeof fixed / sizeof fixed[0]);
   args[0] = tl_const_int(b, TL_I32, fixed[i].lo);
   args[1] = tl_const_int(b, TL_I32, fixed[i].hi);
   args[2] = tl_const_int(b, TL_I32, fixed[i].step);
}

bool
gen_step_for(Gen *g)
{
   TlValue *args[6], *outer = g->step;
   loop_bounds(g, args);
   unsigned n = carried(g, args + 3);
   TlAttrInit attrs[] = {{TL_ATTR_NUM_STAGES, {.i = gen_chance(g, 40) ? gen_below(g, 5) : 0}}};
   TlOp *op = tl_build(&g->b, TL_OP_FOR, args, 3 + n, NULL, n, attrs, 1, 1);
   TlBlock *body = op->regions[0]->block;
   TlValue *step = tl_block_add_arg(body, args[0]->type, "i");
   GenRegion r = gen_open(g, op, 0);
   gen_add(g, gen_know(g, step, (Fact){.lo = 0, .hi = GEN_MAX_TRIPS}));
   carry(g, body, args + 3, n);
   g->step = step;
   gen_grow(g, 1 + gen_below(g, 5));
   TlValue *out[3];
   for (unsigned k = 0; k < n; k++)
      out[k] = gen_chance(g, 80) ? next(g, args[3 + k]->type) : body->args[k + 1];
   g->step = outer;
   gen_close(g, &r, out, n);
   results(g, op, args + 3, n);
   return true;
}

bool
gen_step_while(Gen *g)
{
   TlBuilder *b = &g->b;
   TlValue *init[4] = {tl_const_int(b, TL_I32, 0)}, *outer = g->step;
   unsigned n = 1 + carried(g, init + 1);
   const TlType *types[4];
   for (unsigned i = 0; i < n; i++)
      types[i] = init[i]->type;
   TlOp *op = tl_build(b, TL_OP_WHILE, init, n, types, n, NULL, 0, 2);
   TlBlock *before = op->regions[0]->block, *body = op->regions[1]->block;
   GenRegion r = gen_open(g, op, 0);
   for (unsigned i = 0; i < n; i++)
      tl_block_add_arg(before, types[i], NULL);
   TlValue *go[5] = {tl_b2(b, TL_OP_LT, before->args[0], g->scalar[GEN_MORE_TRIPS])};
   memcpy(go + 1, before->args, n * sizeof go[0]);
   tl_build(b, TL_OP_CONDITION, go, n + 1, NULL, 0, NULL, 0, 0);
   g->b = r.outer;
   g->depth--;
   r = gen_open(g, op, 1);
   TlValue *step = tl_block_add_arg(body, types[0], "i");
   gen_add(g, gen_know(g, step, (Fact){.lo = 0, .hi = GEN_MAX_TRIPS - 1}));
   carry(g, body, init + 1, n - 1);
   g->step = step;
   gen_grow(g, 1 + gen_below(g, 4));
   TlValue *out[4] = {tl_b2(b, TL_OP_ADD, step, gen_number(g, step->type, 1))};
   for (unsigned k = 1; k < n; k++)
      out[k] = next(g, types[k]);
   g->step = outer;
   gen_close(g, &r, out, n);
   results(g, op, init, n);
   return true;
}

/* ---- atomics ---- */
static const struct {
   int rmw;
   bool ints, floats;
} rmw_kinds[] = {
   {TL_RMW_ADD, true, true},  {TL_RMW_AND, true, false}, {TL_RMW_OR, true, false},
   {TL_RMW_XOR, true, false}, {TL_RMW_MAX, true, true},  {TL_RMW_MIN, true, true},
   {TL_RMW_XCHG, true, true},
};

static TlDtype
atomic_dtype(Gen *g, unsigned kind)
{
   static const TlDtype ints[] = {TL_I32, TL_U32, TL_I64, TL_U64};
   static const TlDtype floats[] = {TL_FP32, TL_FP64, TL_FP16, TL_BF16};
   if (rmw_kinds[kind].floats && g->p->class == GEN_EXACT && gen_chance(g, 40))
      return floats[gen_below(g, rmw_kinds[kind].rmw == TL_RMW_ADD ? 4 : 2)];
   return ints[gen_below(g, 4)];
}

static int
atomic_buffer(Gen *g, TlDtype d, uint32_t elems)
{
   GenFill fill = tl_dtype_is_int(d) && gen_chance(g, 50) ? GEN_BITS : GEN_SMALL;
   int n = gen_buffer(g, d, elems, fill);
   g->p->buffer[n].is_output = true;
   return n;
}

/* Many elements on few addresses: the sum is the same in every order, the old values are not. */
static bool
atomic_on_few(Gen *g, unsigned kind, TlValue *v)
{
   TlDtype d = gen_dtype(v);
   uint32_t n = gen_elems(v), cells = 1u << gen_below(g, 4);
   if (cells > n)
      cells = n;
   Fact f = gen_fact(g, v);
   if (tl_dtype_is_float(d) && rmw_kinds[kind].rmw == TL_RMW_ADD &&
       fmax(-f.lo, f.hi) * n * gen_programs(g) + 8 > gen_exact_limit(d))
      return false;
   if (rmw_kinds[kind].rmw == TL_RMW_XCHG)
      return false;
   TlValue *index = gen_numbers(g, v->type->rank, v->type->shape);
   index = tl_b2(&g->b, TL_OP_AND, index, gen_number(g, index->type, cells - 1));
   int buffer = atomic_buffer(g, d, cells);
   tl_b2(&g->b, TL_OP_ATOMIC_RMW, gen_pointers(g, buffer, index, NULL), v,
         {TL_ATTR_RMW, {.i = rmw_kinds[kind].rmw}}, {TL_ATTR_SEM, {.i = gen_below(g, 4)}});
   return true;
}

static bool
atomic_cas(Gen *g)
{
   static const TlDtype types[] = {TL_I32, TL_U32, TL_I64, TL_U64, TL_I16, TL_U16};
   TlBuilder *b = &g->b;
   const TlType *type = gen_tile(g, types[gen_below(g, 6)]);
   if (gen_chance(g, 20))
      type = type->elem;
   uint32_t n = (uint32_t)tl_type_num_elems(type);
   int buffer = gen_buffer(g, tl_type_elem(type)->dtype, n * gen_programs(g), GEN_TINY);
   g->p->buffer[buffer].is_output = true;
   TlValue *index = type->kind == TL_TYPE_TILE ? gen_numbers(g, type->rank, type->shape) : NULL;
   TlValue *ptr = gen_pointers(g, buffer, index, gen_offset_of_program(g, n));
   TlValue *compare = gen_number(g, type, gen_below(g, 2)), *v = gen_pick_type(g, type);
   TlAttrInit sem = {TL_ATTR_SEM, {.i = gen_below(g, 4)}};
   gen_add(g, tl_b3(b, TL_OP_ATOMIC_CAS, ptr, compare, v, sem));
   return true;
}

bool
gen_step_atomic(Gen *g)
{
   TlBuilder *b = &g->b;
   if (gen_chance(g, 20))
      return atomic_cas(g);
   unsigned kind = gen_below(g, sizeof rmw_kinds / sizeof rmw_kinds[0]);
   TlDtype d = atomic_dtype(g, kind);
   const TlType *type = gen_chance(g, 15) ? gen_scalar(g, d) : gen_tile(g, d);
   TlValue *v = gen_pick_type(g, type);
   if (tl_dtype_is_float(d))
      v = gen_fit(g, v, -64, 64);
   if (tl_type_is_tile(type) && gen_chance(g, 35))
      return atomic_on_few(g, kind, v);
   if (d == TL_BF16 || (d == TL_FP16 && gen_fact(g, v).hi > 1000))
      v = gen_fit(g, v, -64, 64);
   uint32_t n = gen_elems(v);
   int buffer = atomic_buffer(g, d, n * gen_programs(g));
   TlValue *numbers = tl_type_is_tile(type) ? gen_numbers(g, type->rank, type->shape) : NULL;
   TlValue *ptr = gen_pointers(g, buffer, numbers, gen_offset_of_program(g, n));
   TlAttrInit attrs[] = {{TL_ATTR_RMW, {.i = rmw_kinds[kind].rmw}},
                         {TL_ATTR_SEM, {.i = gen_below(g, 4)}},
                         {TL_ATTR_SCOPE, {.i = gen_below(g, 3)}},
                         {TL_ATTR_COUNT, {.i = 0}}};
   TlValue *args[3] = {ptr, v};
   unsigned num_args = 2;
   if (gen_chance(g, 40))
      args[num_args++] = gen_pick_type(g, gen_with(g, type, TL_I1));
   TlValue *old = tl_build_n(b, TL_OP_ATOMIC_RMW, args, num_args, NULL, attrs);
   Fact f = gen_fill_fact(d, g->p->buffer[buffer].fill);
   if (num_args == 3) { /* the old value of what is masked off is undefined */
      TlValue *none = gen_number(g, type, 0);
      old = tl_b3(b, TL_OP_SELECT, args[2], old, none);
      f = either(f, gen_fact(g, none));
   }
   if (gen_chance(g, 70))
      gen_add(g, gen_know(g, old, f));
   return true;
}

/* ---- hints ---- */
bool
gen_step_hint(Gen *g)
{
   TlBuilder *b = &g->b;
   TlValue *x = gen_pick_tile(g);
   switch (gen_below(g, 6)) {
   case 4:
      gen_add(g, tl_b0(b, TL_OP_PROGRAM_ID, NULL, {TL_ATTR_AXIS, {.i = gen_below(g, 3)}}));
      return true;
   case 5:
      gen_add(g, tl_b0(b, TL_OP_NUM_PROGRAMS, NULL, {TL_ATTR_AXIS, {.i = gen_below(g, 3)}}));
      return true;
   case 0:
      if (g->depth == 0)
         tl_build_n(b, TL_OP_DEBUG_BARRIER, NULL, 0, NULL, TL_ATTRS_());
      return g->depth == 0;
   case 1: {
      TlValue *n = g->scalar[GEN_TRIPS];
      TlValue *ok = tl_b2(b, TL_OP_GE, n, gen_number(g, n->type, 0));
      tl_build_n(b, TL_OP_ASSUME, &ok, 1, NULL, TL_ATTRS_());
      return true;
   }
   case 2: {
      if (!x || gen_is_float(x))
         return false;
      TlValue *ok = tl_b2(b, TL_OP_EQ, x, x);
      tl_build_n(b, TL_OP_DEVICE_ASSERT, &ok, 1, NULL,
                 TL_ATTRS_({TL_ATTR_TEXT, {.s = "a value equals itself"}}));
      return true;
   }
   default: {
      if (!x || gen_dtype(x) == TL_I1)
         return false;
      int64_t ones[TL_MAX_RANK] = {1, 1, 1, 1};
      TlValue *v = tl_b1(b, TL_OP_HINT, x, {TL_ATTR_HINT, {.i = gen_below(g, 3)}},
                         {TL_ATTR_VALUES, {.ints = tl_ints(g->arena, ones, x->type->rank)}});
      gen_add(g, gen_know(g, v, gen_fact(g, x)));
      return true;
   }
   }
}

/* ---- coverage ---- */
bool
gen_covers_op(TlOpcode op)
{
   switch (op) {
   case TL_OP_SREG:         /* its value is nobody's to say */
   case TL_OP_POISON:       /* the same */
   case TL_OP_DEVICE_PRINT: /* order of lines */
   case TL_OP_INLINE_ASM:   /* PTX runs on the device only */
   case TL_OP_GDC_WAIT:
   case TL_OP_GDC_LAUNCH:
      return false;
   default:
      return (tl_op_info[op].traits & TL_TRAIT_TYPED) != 0;
   }
}

const char *
gen_cover_text(GenCover c)
{
   static const char *const text[] = {
#define ROW(id, text) text,
      GEN_COVER_TABLE(ROW)
#undef ROW
   };
   return text[c];
}

static GenCover
trips_of(const GenProgram *p, const TlOp *op)
{
   const TlBlock *body = p->func->body->block;
   int64_t v[3];
   for (unsigned i = 0; i < 3; i++) {
      const TlValue *x = tl_arg(op, i);
      uint64_t bits = 0;
      if (x->block == body && x->index < p->num_scalars)
         v[i] = p->scalar[x->index];
      else if (tl_is_const(x, &bits))
         v[i] = tl_bits_to_int(x->type->dtype, bits);
      else
         return GEN_TRIPS_MORE;
   }
   int64_t span = v[2] > 0 ? v[1] - v[0] : v[0] - v[1], by = v[2] > 0 ? v[2] : -v[2];
   int64_t trips = span <= 0 ? 0 : (span + by - 1) / by;
   return trips == 0   ? GEN_TRIPS_0
          : trips == 1 ? GEN_TRIPS_1
          : trips == 2 ? GEN_TRIPS_2
                       : GEN_TRIPS_MORE;
}

static void
cover_dot(const TlOp *op, uint32_t *f)
{
   const TlType *a = tl_arg(op, 0)->type, *c = tl_result(op, 0)->type;
   int64_t precision = tl_attr_int(op, TL_ATTR_PRECISION);
   f[GEN_DOT_RANK_3] += a->rank == 3;
   f[GEN_DOT_SMALL] += c->shape[c->rank - 2] < 16 || c->shape[c->rank - 1] < 8;
   f[GEN_DOT_FP16_ACC] += c->dtype == TL_FP16;
   f[GEN_DOT_FP16] += a->dtype == TL_FP16;
   f[GEN_DOT_BF16] += a->dtype == TL_BF16;
   f[GEN_DOT_FP64] += a->dtype == TL_FP64;
   f[GEN_DOT_INT8] += tl_dtype_is_int(a->dtype);
   f[GEN_DOT_FP8] += tl_dtype_is_fp8(a->dtype);
   if (a->dtype == TL_FP32)
      f[precision == TL_PRECISION_IEEE       ? GEN_DOT_IEEE
        : precision == TL_PRECISION_TF32X3   ? GEN_DOT_TF32X3
        : precision == TL_PRECISION_TF32_CUT ? GEN_DOT_TF32_CUT
                                             : GEN_DOT_TF32]++;
   bool has_group = a->rank == 2 && c->shape[0] >= 64 && tl_op_func(op)->num_warps % 4 == 0;
   f[GEN_DOT_WGMMA_TF32] += has_group && a->dtype == TL_FP32 && precision == TL_PRECISION_TF32_CUT;
   f[GEN_DOT_WGMMA_INT8] += has_group && tl_dtype_is_int(a->dtype);
   f[GEN_DOT_WGMMA_FP8] += has_group && tl_dtype_is_fp8(a->dtype);
   const TlOp *parent = op->block->region->parent;
   f[GEN_DOT_LOOP] += parent && parent->opcode == TL_OP_FOR;
}

static void
cover_atomic(const TlOp *op, uint32_t *f)
{
   static const GenCover kind[] = {
      [TL_RMW_ADD] = GEN_ATOMIC_ADD,   [TL_RMW_AND] = GEN_ATOMIC_AND, [TL_RMW_OR] = GEN_ATOMIC_OR,
      [TL_RMW_XOR] = GEN_ATOMIC_XOR,   [TL_RMW_MAX] = GEN_ATOMIC_MAX, [TL_RMW_MIN] = GEN_ATOMIC_MIN,
      [TL_RMW_XCHG] = GEN_ATOMIC_XCHG,
   };
   f[kind[tl_attr_int(op, TL_ATTR_RMW)]]++;
   f[GEN_ATOMIC_MASK] += op->num_args > 2;
   f[GEN_ATOMIC_FLOAT] += tl_dtype_is_float(tl_type_elem(tl_arg(op, 1)->type)->dtype);
   const TlOp *ptr = tl_arg(op, 0)->def;
   f[GEN_ATOMIC_SHARED_ADDRESS] +=
      ptr && ptr->opcode == TL_OP_ADDPTR && tl_value_is(tl_arg(ptr, 1), TL_OP_AND);
}

static void
cover_folding(const TlOp *op, uint32_t *f)
{
   const TlBlock *body = op->regions[0]->block;
   unsigned n = 0;
   for (const TlOp *x = body->first; x; x = x->next)
      n++;
   if (op->opcode == TL_OP_REDUCE) {
      f[GEN_REDUCE_TUPLE] += op->num_results > 1;
      f[GEN_REDUCE_CUSTOM] += op->num_results == 1 && n > 2;
      f[GEN_REDUCE_ADD] += op->num_results == 1 && body->first->opcode == TL_OP_ADD && n == 2;
      return;
   }
   f[tl_attr_int(op, TL_ATTR_REVERSE) ? GEN_SCAN_REVERSE : GEN_SCAN_FORWARD]++;
   f[GEN_SCAN_TUPLE] += op->num_results > 1;
}

static void
cover_tile(const GenProgram *p, const TlType *t, uint32_t *f)
{
   if (!tl_type_is_tile(t))
      return;
   if (t->rank <= 3)
      f[GEN_RANK_1 + t->rank - 1]++;
   uint64_t n = tl_type_num_elems(t);
   f[GEN_BELOW_BLOCK] += n < 32 * p->func->num_warps;
   f[GEN_LARGE] += n >= 1024;
}

static void
cover_op(const GenProgram *p, const TlOp *op, uint32_t *f)
{
   switch (op->opcode) {
   case TL_OP_FOR:
      f[trips_of(p, op)]++;
      break;
   case TL_OP_LOAD:
      f[GEN_LOAD_PLAIN + op->num_args - 1]++;
      break;
   case TL_OP_STORE:
      f[GEN_STORE_MASK] += op->num_args > 2;
      break;
   case TL_OP_DOT:
      cover_dot(op, f);
      break;
   case TL_OP_REDUCE:
   case TL_OP_SCAN:
      cover_folding(op, f);
      break;
   case TL_OP_ATOMIC_RMW:
      cover_atomic(op, f);
      break;
   case TL_OP_HISTOGRAM:
      f[GEN_HISTOGRAM_MASK] += op->num_args > 1;
      break;
   case TL_OP_RESHAPE:
      f[GEN_INTERLEAVE] += tl_value_is(tl_arg(op, 0), TL_OP_JOIN);
      break;
   case TL_OP_MAP:
      f[GEN_MAP_PACK] += tl_attr_int(op, TL_ATTR_PACK) > 1;
      for (const TlOp *x = op->regions[0]->block->first; x; x = x->next)
         f[GEN_MAP_CONTROL] += x->opcode == TL_OP_IF;
      break;
   default:
      break;
   }
   for (unsigned i = 0; i < op->num_results; i++) {
      const char *name = op->results[i].name ? op->results[i].name : "";
      f[GEN_SORT] += strcmp(name, "sorted") == 0;
      f[GEN_BLOCK] += strcmp(name, "block") == 0;
      cover_tile(p, op->results[i].type, f);
   }
}

/* Counted by the element type of the first result, or of the last operand. */
static void
count_op(const TlOp *op, uint32_t count[TL_OP_COUNT][TL_DTYPE_COUNT + 1])
{
   const TlType *t = op->num_results ? tl_result(op, 0)->type
                     : op->num_args  ? tl_arg(op, op->num_args - 1)->type
                                     : NULL;
   t = t ? tl_type_elem(t) : NULL;
   count[op->opcode][t && t->kind == TL_TYPE_SCALAR ? t->dtype : TL_DTYPE_COUNT]++;
}

static void
cover_block(const GenProgram *p, const TlBlock *block, GenCoverage *c)
{
   for (const TlOp *op = block->first; op; op = op->next) {
      count_op(op, c->op);
      cover_op(p, op, c->family);
      for (unsigned r = 0; r < op->num_regions; r++)
         cover_block(p, op->regions[r]->block, c);
   }
}

static void
cover_lowered(const TlBlock *block, GenCoverage *c)
{
   for (const TlOp *op = block->first; op; op = op->next) {
      count_op(op, c->lowered);
      for (unsigned r = 0; r < op->num_regions; r++)
         cover_lowered(op->regions[r]->block, c);
   }
}

void
gen_cover_lowered(const TlModule *m, GenCoverage *c)
{
   for (const TlFunc *f = m->first_func; f; f = f->next)
      cover_lowered(f->body->block, c);
}

void
gen_cover(const GenProgram *p, GenCoverage *c)
{
   c->family[GEN_CLASS_EXACT + (unsigned)p->class]++;
   c->family[GEN_STAGES_1 + p->func->num_stages - 1]++;
   c->family[p->func->num_warps == 1   ? GEN_WARPS_1
             : p->func->num_warps == 2 ? GEN_WARPS_2
             : p->func->num_warps == 4 ? GEN_WARPS_4
                                       : GEN_WARPS_8]++;
   c->family[GEN_GRID] += p->grid[0] * p->grid[1] * p->grid[2] > 1;
   cover_block(p, p->func->body->block, c);
}
