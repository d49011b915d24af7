/* A product of words whose right operand lies along N in memory becomes that of the transposes:
 *
 *    for (acc):                              for (turned):
 *       b = load ..    rows of N together       b = load ..
 *       acc = dot(a, b, acc)                    turned = dot(trans(b), trans(a), turned)
 *                                            acc = trans(turned)
 *
 * wgmma reads elements of 32 bits from shared memory with K together only, but takes its left
 * operand from registers as well.  There b is read across its rows, which costs one shared access
 * of 4 bytes an element; as the right operand it would have to be copied there by 4 bytes each.
 *
 * Done where both operands are loads, the left one with K together, and the sum is what the loop
 * carries or begins with a constant.  Refused: sums that the loop also reads, 16-bit elements,
 * which wgmma reads either way, bytes, which cannot be read across, fragments that registers have
 * no room for, and products that are not by wgmma before or after.  The left operand of the result
 * lies along M, so it ends.
 *
 * So does a product of too few rows for a matrix instruction whose transpose has one: instructions
 * take 8 columns, but no fewer than 16 rows.  It is turned wherever its operands and sum come
 * from, since multiply-adds cost many times as much.  Refused: fp32 and 8-bit floats, whose
 * multiply-adds are more exact, and bytes.  The result has an instruction, so it ends. */
#include "ir/control.h"
#include "ir/walk.h"
#include "passes/dot_layouts.h"
#include "passes/pass.h"

#include <assert.h>

/* The loop that carries the sum, or NULL; position: in what it carries. */
static TlOp *
carrying_loop(const TlOp *dot, unsigned *position)
{
   const TlValue *acc = tl_arg(dot, 2), *sum = tl_result(dot, 0);
   TlOp *loop = tl_parent(dot);
   if (!loop || loop->opcode != TL_OP_FOR || acc->def || acc->block != dot->block ||
       acc->index < tl_first_carried(loop))
      return NULL;
   *position = acc->index - tl_first_carried(loop);
   bool is_only_sum = acc->uses && !acc->uses->next && sum->uses && !sum->uses->next;
   return is_only_sum && tl_yielded(dot->block, *position) == sum ? loop : NULL;
}

static const TlType *
turned_type(TlTypes *types, const TlType *t)
{
   assert(t->kind == TL_TYPE_TILE && t->rank == 2);
   return tl_type_tile(types, t->elem, 2, (uint32_t[]){t->shape[1], t->shape[0]}, t->layout);
}

/* Has only the transpose a matrix instruction? */
static bool
is_too_low(TlPassCx *cx, TlTypes *types, const TlOp *dot)
{
   const TlType *a = tl_arg(dot, 0)->type, *b = tl_arg(dot, 1)->type;
   const TlType *acc = tl_result(dot, 0)->type;
   if (a->rank != 2 || b->dtype != a->dtype || tl_dtype_info[a->dtype].bits != 16)
      return false;
   return !tl_dot_form_as(cx->target, dot, a, acc).is_mma &&
          tl_dot_form_as(cx->target, dot, turned_type(types, b), turned_type(types, acc)).is_mma;
}

static bool
is_worth_turning(TlPassCx *cx, TlFunc *f, TlAnalysis *facts, const TlOp *dot)
{
   const TlType *a = tl_arg(dot, 0)->type, *b = tl_arg(dot, 1)->type;
   const TlType *acc = tl_result(dot, 0)->type;
   TlTypes *types = f->module->types;
   uint64_t bits;
   unsigned i;
   if (is_too_low(cx, types, dot))
      return true;
   if (a->rank != 2 || tl_dtype_info[a->dtype].bits != 32 || b->dtype != a->dtype ||
       !(tl_is_const(tl_arg(dot, 2), &bits) || carrying_loop(dot, &i)))
      return false;
   if (tl_dot_operand_order(facts, dot, 0) != TL_ORDER_K ||
       tl_dot_operand_order(facts, dot, 1) != TL_ORDER_MN)
      return false;
   TlDotForm before = tl_dot_form_as(cx->target, dot, a, acc);
   TlDotForm after =
      tl_dot_form_as(cx->target, dot, turned_type(types, b), turned_type(types, acc));
   return before.is_wgmma && after.is_wgmma && !tl_dot_needs_k_together(&after, 0);
}

static TlValue *
transposed(TlBuilder *b, TlValue *v)
{
   static const int64_t swap[2] = {1, 0};
   uint64_t bits;
   if (tl_value_is(v, TL_OP_TRANS))
      return tl_arg(v->def, 0); /* of two dimensions: its own inverse */
   if (tl_is_const(v, &bits))
      return tl_const_bits(b, turned_type(b->func->module->types, v->type), bits);
   return tl_b1(b, TL_OP_TRANS, v,
                {TL_ATTR_ORDER, {.ints = tl_ints(b->func->module->arena, swap, 2)}});
}

/* v has the transpose of its value from now on: its users after `op` get the old one. */
static void
turn_value(TlFunc *f, TlValue *v, TlOp *op)
{
   assert(op->next);
   TlBuilder b = tl_builder_before(op->next);
   b.range = op->range;
   v->type = turned_type(f->module->types, v->type);
   TlValue *old = transposed(&b, v);
   TlOp *trans = old->def;
   tl_replace_uses(v, old);
   tl_set_arg(trans, 0, v);
}

static void
turn(TlFunc *f, TlOp *dot)
{
   TlBuilder b = tl_builder_before(dot);
   TlValue *left = transposed(&b, tl_arg(dot, 1)), *right = transposed(&b, tl_arg(dot, 0));
   unsigned i;
   TlOp *loop = carrying_loop(dot, &i);
   tl_set_arg(dot, 0, left);
   tl_set_arg(dot, 1, right);
   if (!loop) {
      tl_set_arg(dot, 2, transposed(&b, tl_arg(dot, 2)));
      turn_value(f, tl_result(dot, 0), dot);
      return;
   }
   TlBuilder before = tl_builder_before(loop);
   tl_set_init(loop, i, transposed(&before, tl_init(loop, i)));
   tl_carried(dot->block, i)->type = tl_init(loop, i)->type;
   tl_result(dot, 0)->type = tl_init(loop, i)->type;
   turn_value(f, tl_result(loop, i), loop);
}

bool
tl_pass_turn_products(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_TYPED);
   TL_VEC(TlOp *) dots = {0};
   const TlBlock *body = f->body->block;
   if (!cx->target)
      return false;
   TlAnalysis *facts = NULL;
   for (TlOp *op = body->first; op; op = tl_walk_next(op, body)) {
      if (op->opcode != TL_OP_DOT)
         continue;
      facts = facts ? facts : tl_analysis_new(cx->scratch, f);
      if (is_worth_turning(cx, f, facts, op))
         tl_vec_push(cx->scratch, &dots, op);
   }
   for (size_t i = 0; i < dots.len; i++)
      turn(f, dots.data[i]);
   return dots.len > 0;
}
