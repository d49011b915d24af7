/* Programs whose loops are long begin first, where a loop's length goes with the program's place:
 *
 *    row = program_id(0), head = program_id(1)        for k in range(0, row * 128, 64)
 *
 * becomes, with B = num_programs(0) blocks of rows and of H = num_programs(1) heads so many
 * together, T, that their blocks fill the multiprocessors:
 *
 *    first  = program_id(1) // T * T                  width = min(H - first, T)
 *    number = (program_id(1) - first) * B + program_id(0)
 *    row    = B - 1 - number // width                 head  = first + number % width
 *
 * A GPU gives blocks out by their number, so the last ones that begin decide when a launch ends:
 * they are short.  What programs of a head read stays in the L2 cache, as no more heads are under
 * way than before.  Where several blocks share a multiprocessor their lengths even out, and the
 * divisions cost more than the heads' order brings: rows are only counted from the last one on.
 *
 * Loops with a few iterations at most do not count, whatever their bounds.  Refused: lengths that
 * nothing is known of, or of which one grows and one shrinks; programs that may wait for others,
 * which could rely on an order of theirs (volatile loads, results of atomic operations, assembly),
 * and those that print, as a block says its own number.  A program that has been placed is not
 * placed again, as nothing is known of a quotient by a number of heads: so it ends. */
#include "ir/control.h"
#include "ir/launch_expr.h"
#include "ir/walk.h"
#include "passes/live_words.h"
#include "passes/long_first.h"
#include "passes/pass.h"
#include "passes/remark.h"

#include <assert.h>

typedef struct Order {
   TlPassCx *cx;
   TlFunc *func;
   int64_t axis;
} Order;

/* ---- whether ---- */
/* May it tell a program how far others have come, or a user which block it was? */
static bool
shows_order(const TlOp *op)
{
   switch (op->opcode) {
   case TL_OP_LOAD:
      return tl_attr_int(op, TL_ATTR_VOLATILE) != 0;
   case TL_OP_ATOMIC_RMW:
   case TL_OP_ATOMIC_CAS:
      return !tl_is_unused(op);
   case TL_OP_DEVICE_PRINT:
   case TL_OP_DEVICE_ASSERT:
      return true;
   default:
      return tl_has_attr(op, TL_ATTR_PURE) && !tl_attr_int(op, TL_ATTR_PURE);
   }
}

/* Does a block have its multiprocessor to itself? */
static bool
is_alone(const Order *o)
{
   const TlBlock *top = o->func->body->block;
   unsigned words = 0;
   for (TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      unsigned own = tl_is_loop(op) ? tl_words_of_products(tl_loop_body(op)) : 0;
      words = own > words ? own : words;
   }
   return o->func->extra_warps || tl_is_alone(o->cx->target, o->func->num_warps, words);
}

/* ---- the order ---- */
typedef TL_VEC(TlOp *) Ops;

static Ops
find_ids(const Order *o)
{
   const TlBlock *top = o->func->body->block;
   Ops ids = {0};
   for (TlOp *op = top->first; op; op = tl_walk_next(op, top))
      if (op->opcode == TL_OP_PROGRAM_ID)
         tl_vec_push(o->cx->scratch, &ids, op);
   return ids;
}

static bool
has_axis(const Ops *ids, int64_t axis)
{
   for (size_t i = 0; i < ids->len; i++)
      if (tl_attr_int(ids->data[i], TL_ATTR_AXIS) == axis)
         return true;
   return false;
}

static void
replace_ids(const Ops *ids, TlValue *const place[3])
{
   for (size_t i = 0; i < ids->len; i++) {
      TlOp *id = ids->data[i];
      TlValue *at = place[tl_attr_int(id, TL_ATTR_AXIS)];
      if (at) {
         tl_replace_uses(tl_result(id, 0), at);
         tl_remove(id);
      }
   }
}

/* A number of the grid without a sign, for divisions. */
static TlValue *
of_grid(const Order *o, TlBuilder *b, TlOpcode opcode, int64_t axis)
{
   TlTypes *types = o->func->module->types;
   TlValue *v = tl_b0(b, opcode, tl_type_scalar(types, TL_I32), {TL_ATTR_AXIS, {.i = axis}});
   return tl_t1(b, TL_OP_CAST, tl_type_scalar(types, TL_U32), v);
}

/* The place along axis 0, and along axis 1 in *head, as the comment on top has them. */
static TlValue *
place_across(const Order *o, TlBuilder *b, TlLongFirst *l, TlValue *x, TlValue **head)
{
   l->heads = of_grid(o, b, TL_OP_NUM_PROGRAMS, 1);
   tl_long_first_init(l, b, o->cx->target);
   TlValue *y = of_grid(o, b, TL_OP_PROGRAM_ID, 1);
   TlValue *first = tl_b2(b, TL_OP_MUL, tl_b2(b, TL_OP_DIV, y, l->together), l->together);
   TlValue *number = tl_b2(b, TL_OP_MUL, tl_b2(b, TL_OP_SUB, y, first), l->blocks);
   return tl_long_first_place(l, b, first, tl_b2(b, TL_OP_ADD, number, x), head);
}

static void
place_programs(const Order *o, const Ops *ids, TlWay way, bool across)
{
   TlFunc *f = o->func;
   TlBuilder b = tl_builder_before(f->body->block->first);
   b.range = f->range;
   const TlType *i32 = tl_type_scalar(f->module->types, TL_I32);
   TlLongFirst l = {.way = way, .blocks = of_grid(o, &b, TL_OP_NUM_PROGRAMS, o->axis)};
   TlValue *row = of_grid(o, &b, TL_OP_PROGRAM_ID, o->axis), *head, *place[3] = {0};
   if (across) {
      row = place_across(o, &b, &l, row, &head);
      place[1] = tl_t1(&b, TL_OP_CAST, i32, head);
   } else {
      row = tl_long_first_turned(&l, &b, row);
   }
   place[o->axis] = tl_t1(&b, TL_OP_CAST, i32, row);
   replace_ids(ids, place);
}

static void
remark(const Order *o, bool across)
{
   static const char *const axes[] = {"the last of axis 0", "the last of axis 1",
                                      "the last of axis 2"};
   if (tl_wants_remarks(o->cx->diags, "pipeline"))
      tl_report(o->cx->diags, R0428, o->func->range,
                across ? "those of as many places along axis 1 as fill the multiprocessors"
                       : axes[o->axis]);
}

bool
tl_pass_order_programs(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_LAID);
   const TlBlock *top = f->body->block;
   if (!cx->target || cx->checks_hints || tl_is_persistent(f))
      return false;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top))
      if (shows_order(op))
         return false;
   TlAnalysis *facts = tl_analysis_new(cx->scratch, f);
   Order o = {.cx = cx, .func = f};
   Ops ids = find_ids(&o);
   for (; o.axis < 3; o.axis++) {
      if (!has_axis(&ids, o.axis))
         continue;
      TlWay way = tl_way_of_lengths(cx->scratch, facts, f, o.axis);
      bool across = o.axis == 0 && has_axis(&ids, 1) && is_alone(&o);
      if (way == TL_STAYS || way == TL_WAY_UNKNOWN || (way == TL_SHRINKS && !across))
         continue;
      place_programs(&o, &ids, way, across);
      remark(&o, across);
      return true;
   }
   return false;
}
