/* Masks are looked at as they are written: comparisons of what counts up with what is equal,
 * conjunctions of such, moved and repeated along other dimensions.
 *
 *    mask = and(lt(i, n), rows)    i counts up along dim, n and rows are equal there
 *    bytes = select(mask, min(n - i, vec) * elem_bytes, 0)
 *
 * n - i is computed unsigned: where i < n it is exact, whatever the signs.  Elsewhere the mask is
 * false at the first element of the vector, and 0 is chosen. */
#include "passes/prefix_masks.h"

#include <assert.h>

enum { MAX_DEPTH = 12 }; /* a conjunction has two sides: at most that often doubled */

/* ---- comparisons ---- */
/* What counts up, and what it stays below (or at, with is_closed). */
typedef struct Bound {
   TlValue *index, *limit;
   bool is_closed;
} Bound;

static bool
bound_of(const TlOp *op, Bound *out)
{
   bool is_less = op->opcode == TL_OP_LT || op->opcode == TL_OP_LE;
   bool is_greater = op->opcode == TL_OP_GT || op->opcode == TL_OP_GE;
   if (!is_less && !is_greater)
      return false;
   const TlType *elem = tl_type_elem(tl_arg(op, 0)->type);
   if (elem->kind != TL_TYPE_SCALAR || !tl_dtype_is_int(elem->dtype))
      return false;
   *out = (Bound){tl_arg(op, is_less ? 0 : 1), tl_arg(op, is_less ? 1 : 0),
                  op->opcode == TL_OP_LE || op->opcode == TL_OP_GE};
   return true;
}

static uint32_t
min32(uint32_t a, uint32_t b)
{
   return a < b ? a : b;
}

/* ---- shapes ---- */
/* The dimension of the operand that `dim` of the result comes from; false: other operations, and
 * dimensions along which the operand is repeated. */
static bool
moved_from(const TlOp *op, unsigned dim, unsigned *from)
{
   unsigned axis;
   switch ((int)op->opcode) {
   case TL_OP_BROADCAST:
      *from = dim;
      return tl_arg(op, 0)->type->shape[dim] == tl_result(op, 0)->type->shape[dim];
   case TL_OP_EXPAND_DIMS:
      axis = (unsigned)tl_attr_int(op, TL_ATTR_AXIS);
      *from = dim > axis ? dim - 1 : dim;
      return dim != axis;
   case TL_OP_TRANS:
      *from = (unsigned)tl_attr_ints(op, TL_ATTR_ORDER).data[dim];
      return true;
   }
   return false;
}

static uint32_t
prefix_of(TlAnalysis *facts, const TlValue *mask, unsigned dim, unsigned depth)
{
   uint32_t equal = tl_axis_info(facts, mask)->constancy[dim], found = 1;
   const TlOp *op = mask->def;
   unsigned from;
   Bound bound;
   if (!op || depth == MAX_DEPTH)
      return equal;
   if (op->opcode == TL_OP_AND)
      found = min32(prefix_of(facts, tl_arg(op, 0), dim, depth + 1),
                    prefix_of(facts, tl_arg(op, 1), dim, depth + 1));
   else if (bound_of(op, &bound))
      found = min32(tl_axis_info(facts, bound.index)->contiguity[dim],
                    tl_axis_info(facts, bound.limit)->constancy[dim]);
   else if (moved_from(op, dim, &from))
      found = prefix_of(facts, tl_arg(op, 0), from, depth + 1);
   return found > equal ? found : equal;
}

uint32_t
tl_mask_prefix(TlAnalysis *facts, const TlValue *mask, unsigned dim)
{
   assert(tl_type_is_tile(mask->type) && dim < mask->type->rank);
   assert(tl_type_elem(mask->type)->dtype == TL_I1);
   return prefix_of(facts, mask, dim, 0);
}

/* ---- how much of a vector ---- */
typedef struct Count {
   TlAnalysis *facts;
   TlBuilder *b;
   TlTypes *types;
   uint32_t vec;
   unsigned elem_bytes;
} Count;

static TlDtype
unsigned_of(TlDtype t)
{
   switch (tl_dtype_info[t].bytes) {
   case 1:
      return TL_U8;
   case 2:
      return TL_U16;
   case 4:
      return TL_U32;
   default:
      return TL_U64;
   }
}

/* The operation on another operand, its result of that element type. */
static TlValue *
again(Count *c, const TlOp *op, TlValue *arg)
{
   const TlOpInfo *info = tl_info(op);
   TlAttrInit attrs[TL_MAX_OP_ATTRS + 1];
   unsigned n = 0;
   for (; n < info->num_attrs; n++)
      attrs[n] = (TlAttrInit){info->attr[n].key, op->attrs[n]};
   attrs[n] = (TlAttrInit){TL_ATTR_COUNT, {.i = 0}};
   const TlType *type =
      tl_type_with_elem(c->types, tl_result(op, 0)->type, tl_type_elem(arg->type));
   return tl_build_n(c->b, op->opcode, &arg, 1, type, attrs);
}

static TlValue *
as_unsigned(Count *c, TlValue *v)
{
   TlDtype t = tl_type_elem(v->type)->dtype, u = unsigned_of(t);
   if (t == u)
      return v;
   return tl_t1(c->b, TL_OP_BITCAST,
                tl_type_with_elem(c->types, v->type, tl_type_scalar(c->types, u)), v);
}

static TlValue *
constant_like(Count *c, const TlValue *v, uint64_t bits)
{
   return tl_const_bits(c->b, v->type, bits);
}

/* min(limit - index, vec) * elem_bytes, with `<=` one more element. */
static TlValue *
bytes_below(Count *c, const Bound *bound)
{
   TlValue *n = tl_b2(c->b, TL_OP_SUB, as_unsigned(c, bound->limit), as_unsigned(c, bound->index));
   n = tl_b2(c->b, TL_OP_MIN, n, constant_like(c, n, c->vec - bound->is_closed));
   const TlType *i32 = tl_type_scalar(c->types, TL_I32);
   n = tl_t1(c->b, TL_OP_CAST, tl_type_with_elem(c->types, n->type, i32), n);
   if (bound->is_closed)
      n = tl_b2(c->b, TL_OP_ADD, n, constant_like(c, n, 1));
   if (c->elem_bytes > 1)
      n = tl_b2(c->b, TL_OP_MUL, n, constant_like(c, n, c->elem_bytes));
   return n;
}

/* NULL: the mask is equal in every vector, and limits nothing. */
static TlValue *
bytes_of(Count *c, TlValue *mask, unsigned dim)
{
   unsigned from = dim;
   Bound bound;
   if (tl_axis_info(c->facts, mask)->constancy[dim] >= c->vec)
      return NULL;
   const TlOp *op = mask->def;
   assert(op && "tl_mask_prefix");
   if (op->opcode == TL_OP_AND) {
      TlValue *x = bytes_of(c, tl_arg(op, 0), dim), *y = bytes_of(c, tl_arg(op, 1), dim);
      return !x ? y : !y ? x : tl_b2(c->b, TL_OP_MIN, x, y);
   }
   if (bound_of(op, &bound))
      return bytes_below(c, &bound);
   bool is_moved = moved_from(op, dim, &from);
   assert(is_moved && "tl_mask_prefix");
   (void)is_moved;
   return again(c, op, bytes_of(c, tl_arg(op, 0), from));
}

TlValue *
tl_mask_bytes(TlAnalysis *facts, TlBuilder *b, TlValue *mask, unsigned dim, uint32_t vec,
              unsigned elem_bytes)
{
   assert(vec > 1 && vec <= tl_mask_prefix(facts, mask, dim));
   Count c = {facts, b, b->module->types, vec, elem_bytes};
   const TlType *type = tl_type_with_elem(c.types, mask->type, tl_type_scalar(c.types, TL_I32));
   TlValue *all = tl_const_bits(b, type, (uint64_t)vec * elem_bytes), *n = bytes_of(&c, mask, dim);
   return tl_b3(b, TL_OP_SELECT, mask, n ? n : all, tl_const_bits(b, type, 0));
}
