/* Generator of random TYPED functions.  It keeps the values that are in scope and grows them by a
 * random operation whose operands satisfy the infer rule; operations come from the operation table,
 * so that a new elementwise row is generated without a change here. */
#include "support/gen_ir.h"

#include <assert.h>
#include <string.h>

typedef struct Gen {
   TlModule *m;
   TlBuilder b;
   uint64_t rng;
   GenOptions opt;
   TL_VEC(TlValue *) pool; /* numbers in scope: scalars and tiles */
   TlValue *in_i, *in_f, *out_i, *out_f;
   int64_t used_i, used_f; /* elements of out_i and out_f taken */
   unsigned depth;
} Gen;

static uint32_t
below(Gen *g, uint32_t n)
{
   g->rng += 0x9e3779b97f4a7c15u; /* splitmix64 */
   uint64_t z = g->rng;
   z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
   z = (z ^ z >> 27) * 0x94d049bb133111ebu;
   return (uint32_t)(((z ^ z >> 31) >> 32) * n >> 32);
}

static const TlType *
scalar(Gen *g, TlDtype d)
{
   return tl_type_scalar(g->m->types, d);
}

static void
add(Gen *g, TlValue *v)
{
   tl_vec_push(g->m->arena, &g->pool, v);
}

static TlDtype
random_int_dtype(Gen *g)
{
   static const TlDtype ints[] = {TL_I32, TL_I32, TL_I32, TL_I64, TL_I8,
                                  TL_I16, TL_U8,  TL_U32, TL_U64, TL_I1};
   return ints[below(g, sizeof ints / sizeof ints[0])];
}

static TlDtype
random_dtype(Gen *g)
{
   static const TlDtype floats[] = {TL_FP32, TL_FP32, TL_FP16, TL_BF16, TL_FP64};
   if (g->opt.ints_only || below(g, 2))
      return random_int_dtype(g);
   return floats[below(g, sizeof floats / sizeof floats[0])];
}

static const TlType *
random_tile(Gen *g, const TlType *elem)
{
   static const struct {
      unsigned rank;
      uint32_t shape[3];
   } shapes[] = {{1, {4}},    {1, {8}},    {1, {16}},   {2, {2, 4}},    {2, {4, 4}},
                 {2, {1, 4}}, {2, {4, 1}}, {2, {8, 2}}, {3, {2, 2, 2}}, {1, {1}}};
   unsigned i = below(g, sizeof shapes / sizeof shapes[0]);
   return tl_type_tile(g->m->types, elem, shapes[i].rank, shapes[i].shape, NULL);
}

static TlValue *
random_constant(Gen *g, const TlType *type)
{
   static const double doubles[] = {0.0, -0.0, 1.0, -1.0, 0.5, 3.0, 1e-3, 65536.0, 1e30};
   static const int64_t ints[] = {0, 1, 2, 3, 4, 7, 8, 16, 32, 100, 128, -1, -2, -16, 1 << 20};
   TlDtype d = tl_type_elem(type)->dtype;
   if (tl_dtype_is_float(d))
      return tl_const_double(&g->b, type, doubles[below(g, sizeof doubles / sizeof doubles[0])]);
   int64_t v = ints[below(g, sizeof ints / sizeof ints[0])];
   return tl_const_bits(&g->b, type, tl_int_to_bits(d, v));
}

static TlValue *
pick(Gen *g)
{
   return g->pool.data[below(g, (uint32_t)g->pool.len)];
}

/* A value of exactly this type: from the pool, or a new constant. */
static TlValue *
pick_type(Gen *g, const TlType *type)
{
   for (unsigned t = 0; t < 12; t++) {
      TlValue *v = pick(g);
      if (v->type == type)
         return v;
   }
   return random_constant(g, type);
}

/* ---- kinds of steps ---- */
static bool
step_source(Gen *g)
{
   TlBuilder *b = &g->b;
   switch (below(g, 4)) {
   case 0:
      add(g, tl_b0(b, TL_OP_PROGRAM_ID, NULL, {TL_ATTR_AXIS, {.i = below(g, 3)}}));
      break;
   case 1: {
      int64_t start = below(g, 3) ? 0 : (int64_t)below(g, 40) - 8;
      add(g, tl_b0(b, TL_OP_ARANGE, NULL, {TL_ATTR_START, {.i = start}},
                   {TL_ATTR_END, {.i = start + (1 << below(g, 5))}}));
      break;
   }
   case 2:
      add(g, random_constant(g, random_tile(g, scalar(g, random_dtype(g)))));
      break;
   default:
      add(g, random_constant(g, scalar(g, random_dtype(g))));
      break;
   }
   return true;
}

static bool
is_pointer_bits(const TlType *t)
{
   return tl_type_elem(t)->kind == TL_TYPE_PTR;
}

/* A row of the table on operands that its rule takes. */
static bool
step_eltwise(Gen *g)
{
   TlOpcode opcode = (TlOpcode)below(g, TL_OP_COUNT);
   const TlOpInfo *info = &tl_op_info[opcode];
   if (!(info->traits & TL_TRAIT_ELTWISE) || !(info->traits & TL_TRAIT_TYPED) ||
       opcode == TL_OP_ADDPTR || opcode == TL_OP_BITCAST || info->num_results != 1 ||
       info->min_args > 3)
      return false;
   TlValue *args[3];
   const TlType *types[3], *result = NULL;
   unsigned n = (unsigned)info->min_args;
   args[0] = pick(g);
   if (is_pointer_bits(args[0]->type))
      return false;
   if (opcode == TL_OP_SELECT) {
      args[1] = args[0];
      args[0] = pick_type(g, tl_type_with_elem(g->m->types, args[1]->type, scalar(g, TL_I1)));
      args[2] = pick_type(g, args[1]->type);
   } else {
      for (unsigned i = 1; i < n; i++)
         args[i] = pick_type(g, args[0]->type);
   }
   if (opcode == TL_OP_CAST)
      result = tl_type_with_elem(g->m->types, args[0]->type, scalar(g, random_dtype(g)));
   for (unsigned i = 0; i < n; i++)
      types[i] = args[i]->type;
   TlAttr attrs[TL_MAX_OP_ATTRS] = {0};
   const TlType *inferred = result;
   TlInferCx cx = {.types = g->m->types, .arena = g->m->arena};
   if (!tl_infer(&cx, opcode, types, n, attrs, &inferred, 1))
      return false;
   add(g, tl_build_n(&g->b, opcode, args, n, result, TL_ATTRS_()));
   return true;
}

static bool
step_shape(Gen *g)
{
   TlValue *x = pick(g);
   const TlType *t = x->type;
   TlTypes *types = g->m->types;
   if (!tl_type_is_tile(t)) {
      add(g, tl_t1(&g->b, TL_OP_SPLAT, random_tile(g, t), x));
      return true;
   }
   switch (below(g, 4)) {
   case 0:
      if (t->rank >= 4)
         return false;
      add(g, tl_b1(&g->b, TL_OP_EXPAND_DIMS, x, {TL_ATTR_AXIS, {.i = below(g, t->rank + 1u)}}));
      return true;
   case 1: {
      int64_t order[TL_MAX_RANK];
      for (unsigned d = 0; d < t->rank; d++)
         order[d] = d;
      for (unsigned d = t->rank; d > 1; d--) {
         unsigned k = below(g, d);
         int64_t swap = order[k];
         order[k] = order[d - 1];
         order[d - 1] = swap;
      }
      add(g, tl_b1(&g->b, TL_OP_TRANS, x,
                   {TL_ATTR_ORDER, {.ints = tl_ints(g->m->arena, order, t->rank)}}));
      return true;
   }
   case 2: {
      uint32_t shape[TL_MAX_RANK];
      bool any = false;
      for (unsigned d = 0; d < t->rank; d++) {
         shape[d] = t->shape[d] == 1 ? 1u << below(g, 3) : t->shape[d];
         any |= shape[d] != t->shape[d];
      }
      if (!any)
         return false;
      add(g, tl_t1(&g->b, TL_OP_BROADCAST, tl_type_tile(types, t->elem, t->rank, shape, NULL), x));
      return true;
   }
   default: {
      const TlType *to = random_tile(g, t->elem);
      if (tl_type_num_elems(to) != tl_type_num_elems(t))
         return false;
      add(g, tl_t1(&g->b, TL_OP_RESHAPE, to, x));
      return true;
   }
   }
}

/* Loads of in_i or in_f at indices masked into range. */
static bool
step_load(Gen *g)
{
   TlValue *index = pick(g);
   bool is_float = !g->opt.ints_only && below(g, 2);
   if (tl_type_elem(index->type) != scalar(g, TL_I32))
      return false;
   TlBuilder *b = &g->b;
   TlValue *limit = tl_const_bits(b, index->type, GEN_IN_ELEMS - 1);
   TlValue *base = is_float ? g->in_f : g->in_i;
   if (tl_type_is_tile(index->type))
      base = tl_t1(b, TL_OP_SPLAT, tl_type_with_elem(g->m->types, index->type, base->type), base);
   TlValue *ptr = tl_b2(b, TL_OP_ADDPTR, base, tl_b2(b, TL_OP_AND, index, limit));
   const TlType *value =
      tl_type_with_elem(g->m->types, index->type, scalar(g, is_float ? TL_FP32 : TL_I32));
   if (below(g, 2)) {
      add(g, tl_b1(b, TL_OP_LOAD, ptr));
      return true;
   }
   TlValue *mask = pick_type(g, tl_type_with_elem(g->m->types, index->type, scalar(g, TL_I1)));
   add(g, tl_b3(b, TL_OP_LOAD, ptr, mask, pick_type(g, value)));
   return true;
}

static TlOp *
open_region(Gen *g, TlOp *op, unsigned r, TlBuilder *outer)
{
   *outer = g->b;
   g->b = tl_builder_at_end(g->b.func, op->regions[r]->block);
   return op;
}

static void
yield(Gen *g, TlValue *const *values, unsigned n)
{
   tl_build(&g->b, TL_OP_YIELD, values, n, NULL, 0, NULL, 0, 0);
}

static bool
step_reduce(Gen *g)
{
   static const TlOpcode combine[] = {TL_OP_ADD, TL_OP_MAX, TL_OP_MIN, TL_OP_MUL};
   TlValue *x = pick(g);
   if (!tl_type_is_tile(x->type))
      return false;
   bool scan = below(g, 3) == 0;
   unsigned k = 1 + (below(g, 3) == 0);
   TlValue *args[2] = {x, pick_type(g, x->type)};
   const TlType *types[2] = {x->type, x->type}, *results[2];
   TlAttr attrs[TL_MAX_OP_ATTRS] = {{.i = below(g, x->type->rank)}};
   TlInferCx cx = {.types = g->m->types, .arena = g->m->arena};
   TlOpcode opcode = scan ? TL_OP_SCAN : TL_OP_REDUCE;
   if (!tl_infer(&cx, opcode, types, k, attrs, results, k))
      return false;
   TlOp *op = tl_build(&g->b, opcode, args, k, NULL, k,
                       (const TlAttrInit[]){{TL_ATTR_AXIS, attrs[0]}}, 1, 1);
   TlBlock *body = op->regions[0]->block;
   for (unsigned i = 0; i < 2 * k; i++)
      tl_block_add_arg(body, x->type->elem, NULL);
   TlBuilder outer;
   open_region(g, op, 0, &outer);
   TlValue *out[2];
   for (unsigned i = 0; i < k; i++)
      out[i] = tl_b2(&g->b, combine[below(g, 4)], body->args[i], body->args[i + k]);
   yield(g, out, k);
   g->b = outer;
   for (unsigned i = 0; i < k; i++)
      add(g, tl_result(op, i));
   return true;
}

static void grow(Gen *g, unsigned num_ops);

static bool
step_if(Gen *g)
{
   TlValue *cond = pick_type(g, scalar(g, TL_I1));
   unsigned n = below(g, 3);
   const TlType *types[2];
   for (unsigned i = 0; i < n; i++)
      types[i] = pick(g)->type;
   TlOp *op = tl_build(&g->b, TL_OP_IF, &cond, 1, types, n, NULL, 0, 2);
   for (unsigned r = 0; r < 2; r++) {
      TlBuilder outer;
      size_t mark = g->pool.len;
      open_region(g, op, r, &outer);
      grow(g, 1 + below(g, 5));
      TlValue *out[2];
      for (unsigned i = 0; i < n; i++)
         out[i] = pick_type(g, types[i]);
      yield(g, out, n);
      g->b = outer;
      g->pool.len = mark;
   }
   for (unsigned i = 0; i < n; i++)
      add(g, tl_result(op, i));
   return true;
}

/* Constant bounds, or an upper bound of 0 .. 3 that is not known. */
static bool
step_for(Gen *g)
{
   static const struct {
      int64_t lo, hi, step;
   } bounds[] = {{0, 4, 1}, {0, 3, 2}, {5, 5, 1}, {2, 3, 1}, {6, 0, -2}, {-3, 9, 4}, {0, 64, 16}};
   TlBuilder *b = &g->b;
   unsigned i = below(g, sizeof bounds / sizeof bounds[0]), n = 1 + below(g, 3);
   TlValue *args[6] = {tl_const_int(b, TL_I32, bounds[i].lo), tl_const_int(b, TL_I32, bounds[i].hi),
                       tl_const_int(b, TL_I32, bounds[i].step)};
   if (below(g, 3) == 0) {
      args[0] = tl_const_int(b, TL_I32, 0);
      args[1] = tl_b2(b, TL_OP_AND, pick_type(g, scalar(g, TL_I32)), tl_const_int(b, TL_I32, 3));
      args[2] = tl_const_int(b, TL_I32, 1);
   }
   for (unsigned k = 0; k < n; k++)
      args[3 + k] = pick(g);
   TlOp *op = tl_build(b, TL_OP_FOR, args, 3 + n, NULL, n, NULL, 0, 1);
   TlBlock *body = op->regions[0]->block;
   size_t mark = g->pool.len;
   add(g, tl_block_add_arg(body, scalar(g, TL_I32), "i"));
   for (unsigned k = 0; k < n; k++)
      add(g, tl_block_add_arg(body, args[3 + k]->type, NULL));
   TlBuilder outer;
   open_region(g, op, 0, &outer);
   grow(g, 2 + below(g, 6));
   TlValue *out[3];
   for (unsigned k = 0; k < n; k++)
      out[k] = below(g, 6) ? pick_type(g, args[3 + k]->type) : body->args[k + 1];
   yield(g, out, n);
   g->b = outer;
   g->pool.len = mark;
   for (unsigned k = 0; k < n; k++)
      add(g, tl_result(op, k));
   return true;
}

static void
grow(Gen *g, unsigned num_ops)
{
   g->depth++;
   for (unsigned made = 0, tries = 0; made < num_ops && tries < 40 * num_ops; tries++) {
      unsigned kind = below(g, 32);
      bool control = !g->opt.no_control && g->depth < 4;
      if (kind < 3)
         made += step_source(g);
      else if (kind < 7)
         made += step_shape(g);
      else if (kind < 8)
         made += step_load(g);
      else if (kind < 9)
         made += step_reduce(g);
      else if (kind < 10)
         made += control && below(g, 2) && step_if(g);
      else if (kind < 11)
         made += control && below(g, 2) && step_for(g);
      else
         made += step_eltwise(g);
   }
   g->depth--;
}

/* Stores a value, cast and flattened, to the next free place. */
static void
store(Gen *g, TlValue *v)
{
   TlBuilder *b = &g->b;
   TlTypes *types = g->m->types;
   int64_t n = (int64_t)tl_type_num_elems(v->type);
   bool is_float = tl_dtype_is_float(tl_type_elem(v->type)->dtype);
   int64_t *used = is_float ? &g->used_f : &g->used_i;
   TlDtype dtype = is_float ? TL_FP32 : TL_I32;
   if (*used + n > GEN_OUT_ELEMS)
      return;
   const TlType *to = tl_type_with_elem(types, v->type, scalar(g, dtype));
   if (to != v->type)
      v = tl_t1(b, TL_OP_CAST, to, v);
   TlValue *base = is_float ? g->out_f : g->out_i;
   TlValue *offset = tl_const_int(b, TL_I32, *used);
   if (tl_type_is_tile(to)) {
      uint32_t shape = (uint32_t)n;
      v = tl_t1(b, TL_OP_RESHAPE, tl_type_tile(types, scalar(g, dtype), 1, &shape, NULL), v);
      base = tl_t1(b, TL_OP_SPLAT, tl_type_tile(types, base->type, 1, &shape, NULL), base);
      offset = tl_b0(b, TL_OP_ARANGE, NULL, {TL_ATTR_START, {.i = *used}},
                     {TL_ATTR_END, {.i = *used + n}});
   }
   tl_b2(b, TL_OP_STORE, tl_b2(b, TL_OP_ADDPTR, base, offset), v);
   *used += n;
}

static TlValue *
param(Gen *g, TlParam *p, const char *name, const TlType *type, uint32_t divisibility)
{
   *p = (TlParam){.name = name, .is_runtime = true, .type = type, .divisibility = divisibility};
   return tl_block_add_arg(g->b.block, type, name);
}

TlFunc *
gen_ir_func(TlModule *m, uint64_t seed, GenOptions options)
{
   Gen g = {.m = m, .rng = seed, .opt = options};
   TlFunc *f = tl_func_new(m, "random", (TlRange){0});
   g.b = tl_builder_at_end(f, f->body->block);
   f->params = tl_new_array(m->arena, TlParam, 6);
   f->num_params = 6;
   const TlType *ptr_i = tl_type_ptr(m->types, scalar(&g, TL_I32), false);
   const TlType *ptr_f = tl_type_ptr(m->types, scalar(&g, TL_FP32), false);
   g.in_i = param(&g, &f->params[0], "in_i", ptr_i, 16);
   g.in_f = param(&g, &f->params[1], "in_f", ptr_f, 16);
   g.out_i = param(&g, &f->params[2], "out_i", ptr_i, 16);
   g.out_f = param(&g, &f->params[3], "out_f", ptr_f, 16);
   add(&g, param(&g, &f->params[4], "n", scalar(&g, TL_I32), 16));
   add(&g, param(&g, &f->params[5], "k", scalar(&g, TL_I32), 1));
   for (unsigned i = 0; i < 3; i++)
      step_source(&g);
   grow(&g, options.num_ops);
   for (size_t i = g.pool.len; i-- > 0;)
      if (below(&g, 4))
         store(&g, g.pool.data[i]);
   tl_build(&g.b, TL_OP_RETURN, NULL, 0, NULL, 0, NULL, 0, 0);
   return f;
}
