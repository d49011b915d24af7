/* What a loop gathers in registers that become one behind it is gathered in one:
 *    for ..: s = s | x;               a = even registers of s;  b = odd ones;  a | b
 * becomes
 *    for ..: t = t | (even of x | odd of x);                                  t
 * as often as halves are joined behind the loop.  It takes as many operations, but a fraction of
 * the registers: of bools hardware has seven; the others are packed into words and unpacked again
 * one by one, in every iteration and before the loop.
 *
 * Only where the order of the operations does not matter for any bit: extrema, bitwise operations
 * and sums of integers.  s must have no other reader.  Each rewrite halves the registers of a
 * carried value, so it ends. */
#include "ir/control.h"
#include "ir/walk.h"
#include "passes/pass.h"

#include <assert.h>

typedef struct Halves {
   TlOp *pick[2]; /* of one value: between them every register once */
   TlOp *join;    /* of both */
} Halves;

static bool
is_any_order(const TlOp *op)
{
   switch ((int)op->opcode) {
   case TL_OP_AND:
   case TL_OP_OR:
   case TL_OP_XOR:
   case TL_OP_MIN:
   case TL_OP_MAX:
      return true;
   case TL_OP_ADD:
      return tl_dtype_is_int(tl_type_elem(tl_result(op, 0)->type)->dtype);
   }
   return false;
}

static bool
is_used_once(const TlValue *v)
{
   return v->uses && !v->uses->next;
}

static bool
is_same_operation(const TlOp *x, const TlOp *y)
{
   bool has_nan = x->opcode == TL_OP_MIN || x->opcode == TL_OP_MAX;
   return x->opcode == y->opcode &&
          (!has_nan || tl_attr_int(x, TL_ATTR_NAN) == tl_attr_int(y, TL_ATTR_NAN));
}

/* Does the pick take half of the registers of its only operand, none that `taken` has? */
static bool
takes_half(const TlOp *pick, unsigned num, bool *taken)
{
   if (pick->opcode != TL_OP_PICK || pick->num_args != 1 || !is_used_once(tl_result(pick, 0)))
      return false;
   TlInts index = tl_attr_ints(pick, TL_ATTR_INDEX);
   for (size_t i = 0; i < index.len; i++) {
      if (taken[index.data[i]])
         return false;
      taken[index.data[i]] = true;
   }
   return index.len * 2 == num;
}

/* How the halves of v are joined, where that is all that is done with it. */
static bool
find_halves(TlArena *scratch, const TlValue *v, Halves *out)
{
   const TlUse *u = v->uses;
   unsigned num = tl_type_num_regs(v->type);
   if (!u || !u->next || u->next->next || num < 2)
      return false;
   bool *taken = tl_new_array(scratch, bool, num);
   *out = (Halves){.pick = {u->user, u->next->user}};
   if (!takes_half(out->pick[0], num, taken) || !takes_half(out->pick[1], num, taken))
      return false;
   out->join = tl_result(out->pick[0], 0)->uses->user;
   if (out->join != tl_result(out->pick[1], 0)->uses->user || !is_any_order(out->join))
      return false;
   for (unsigned i = 0; i < 2; i++)
      out->pick[i] = tl_arg(out->join, i)->def;
   return true;
}

/* What joins the carried value with something of the iteration; *other: that operand. */
static TlOp *
find_step(const TlOp *loop, unsigned i, unsigned *other)
{
   const TlBlock *body = loop->regions[0]->block;
   TlValue *carried = tl_carried(body, i), *next = tl_yielded(body, i);
   TlOp *op = next->def;
   if (!op || op->block != body || !is_any_order(op) || !is_used_once(next) ||
       !is_used_once(carried) || carried->uses->user != op)
      return NULL;
   *other = tl_arg(op, 0) == carried;
   return op;
}

static TlValue *
copy_with(TlBuilder *b, TlOp *op, const TlType *type, TlValue *const *args, TlMap *none)
{
   TlOp *copy = tl_clone_op(b, op, none);
   for (unsigned i = 0; i < op->num_args; i++)
      tl_set_arg(copy, i, args[i]);
   tl_result(copy, 0)->type = type;
   return tl_result(copy, 0);
}

/* The halves of v, joined. */
static TlValue *
joined(TlPassCx *cx, TlBuilder *b, const Halves *h, TlValue *v)
{
   const TlType *type = tl_result(h->join, 0)->type;
   TlValue *half[2];
   TlMap none;
   tl_map_init(&none, cx->scratch);
   for (unsigned i = 0; i < 2; i++)
      half[i] = copy_with(b, h->pick[i], type, &v, &none);
   return copy_with(b, h->join, type, half, &none);
}

static bool
join(TlPassCx *cx, TlOp *loop, unsigned i)
{
   assert(i < loop->num_results);
   Halves h;
   unsigned other;
   TlBlock *body = loop->regions[0]->block;
   TlValue *result = tl_result(loop, i), *carried = tl_carried(body, i);
   TlOp *step = find_step(loop, i, &other);
   if (!step || !find_halves(cx->scratch, result, &h) || !is_same_operation(step, h.join))
      return false;
   const TlType *type = tl_result(h.join, 0)->type;
   TlBuilder before = tl_builder_before(loop), inside = tl_builder_before(step);
   TlMap none;
   tl_map_init(&none, cx->scratch);
   tl_set_init(loop, i, joined(cx, &before, &h, tl_init(loop, i)));
   TlValue *args[2];
   args[other] = joined(cx, &inside, &h, tl_arg(step, other));
   args[1 - other] = carried;
   TlValue *next = copy_with(&inside, step, type, args, &none);
   tl_set_yielded(body, i, next);
   tl_remove(step);
   carried->type = type;
   tl_replace_uses(tl_result(h.join, 0), result);
   tl_remove(h.join);
   tl_remove(h.pick[0]);
   tl_remove(h.pick[1]);
   result->type = type;
   return true;
}

bool
tl_pass_join_sums(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_LOWERED);
   bool changed = false;
   const TlBlock *body = f->body->block;
   for (TlOp *op = tl_walk_inner(body); op; op = tl_walk_inner_next(op, body))
      for (unsigned i = 0; op->opcode == TL_OP_FOR && i < op->num_results; i++)
         while (join(cx, op, i))
            changed = true;
   return changed;
}
