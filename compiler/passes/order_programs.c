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
#include "ir/trips.h"
#include "ir/walk.h"
#include "passes/live_words.h"
#include "passes/pass.h"
#include "passes/remark.h"

#include <assert.h>
#include <string.h>

/* How a value changes with the program's place along an axis; both: nobody knows. */
enum { STAYS = 0, GROWS = 1, SHRINKS = 2, UNKNOWN = GROWS | SHRINKS, NOT_ASKED };
/* Terms deeper than this are not looked into; far above any bound. */
enum { MAX_DEPTH = 64 };

typedef struct Order {
   TlPassCx *cx;
   TlFunc *func;
   TlAnalysis *facts;
   int64_t axis;
   uint8_t *way; /* of each value, by its id */
   unsigned depth;
} Order;

/* ---- which way ---- */
static unsigned
turned(unsigned way)
{
   return (way & GROWS ? SHRINKS : STAYS) | (way & SHRINKS ? GROWS : STAYS);
}

static unsigned way_of(Order *o, const TlValue *v);

/* Of x times a factor. */
static unsigned
way_times(Order *o, const TlValue *x, const TlValue *factor)
{
   const TlAxisInfo *info = tl_axis_info(o->facts, factor);
   unsigned way = way_of(o, x);
   if (!way || !info->has_range)
      return way ? UNKNOWN : STAYS;
   return info->lo >= 0 ? way : info->hi <= 0 ? turned(way) : UNKNOWN;
}

/* x - x % n is x // n * n */
static bool
is_rounded(const TlOp *sub)
{
   const TlValue *rem = tl_arg(sub, 1);
   return tl_value_is(rem, TL_OP_REM) && tl_arg(rem->def, 0) == tl_arg(sub, 0);
}

static unsigned
way_of_result(Order *o, const TlOp *op)
{
   unsigned all = STAYS;
   for (unsigned i = 0; i < op->num_args; i++)
      all |= way_of(o, tl_arg(op, i));
   switch (op->opcode) {
   case TL_OP_PROGRAM_ID:
      return tl_attr_int(op, TL_ATTR_AXIS) == o->axis ? GROWS : STAYS;
   case TL_OP_ADD:
   case TL_OP_MIN:
   case TL_OP_MAX:
   case TL_OP_CAST:
   case TL_OP_HINT:
      return all;
   case TL_OP_SUB:
      return way_of(o, tl_arg(op, 0)) | (is_rounded(op) ? STAYS : turned(way_of(o, tl_arg(op, 1))));
   case TL_OP_MUL:
      return way_of(o, tl_arg(op, 0)) ? way_times(o, tl_arg(op, 0), tl_arg(op, 1)) |
                                           (way_of(o, tl_arg(op, 1)) ? UNKNOWN : STAYS)
                                      : way_times(o, tl_arg(op, 1), tl_arg(op, 0));
   case TL_OP_DIV:
      return way_times(o, tl_arg(op, 0), tl_arg(op, 1)) |
             (way_of(o, tl_arg(op, 1)) ? UNKNOWN : STAYS);
   case TL_OP_NUM_PROGRAMS:
      return STAYS;
   default: /* also of what a table holds */
      return all || op->num_regions || !op->num_args ? UNKNOWN : STAYS;
   }
}

static bool
is_index(const TlOp *loop, const TlValue *v)
{
   return loop->opcode == TL_OP_FOR && v == tl_for_index(loop);
}

static unsigned
way_of(Order *o, const TlValue *v)
{
   uint64_t bits;
   if (tl_is_const(v, &bits))
      return STAYS;
   const TlOp *loop = v->def ? NULL : v->block->region->parent;
   if (!v->def && !loop)
      return STAYS; /* a parameter */
   if (loop && !is_index(loop, v))
      return UNKNOWN; /* what a loop carries */
   if (o->way[v->id] == NOT_ASKED && o->depth < MAX_DEPTH) {
      o->depth++;
      o->way[v->id] =
         (uint8_t)(v->def ? way_of_result(o, v->def)
                          : way_of(o, tl_for_lower(loop)) | way_of(o, tl_for_upper(loop)));
      o->depth--;
   }
   return o->way[v->id] == NOT_ASKED ? UNKNOWN : o->way[v->id];
}

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

/* max(lower, x) ends a loop where x does. */
static const TlValue *
end_of(const TlOp *loop)
{
   const TlValue *end = tl_for_upper(loop), *lower = tl_for_lower(loop);
   for (unsigned i = 0; i < 2 && tl_value_is(end, TL_OP_MAX); i++)
      if (tl_arg(end->def, i) == lower)
         return tl_arg(end->def, 1 - i);
   return end;
}

/* How the programs' lengths go along the axis. */
static unsigned
way_of_lengths(Order *o, int64_t axis)
{
   const TlBlock *top = o->func->body->block;
   unsigned way = STAYS;
   o->axis = axis;
   memset(o->way, NOT_ASKED, o->func->next_value_id);
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top))
      if (op->opcode == TL_OP_WHILE)
         way |= UNKNOWN;
      else if (op->opcode == TL_OP_FOR && tl_most_trips(o->facts, op) == UINT64_MAX)
         way |= way_of(o, end_of(op)) | turned(way_of(o, tl_for_lower(op)));
   return way;
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
place_across(const Order *o, TlBuilder *b, TlValue *blocks, TlValue *id, TlValue **head)
{
   TlValue *heads = of_grid(o, b, TL_OP_NUM_PROGRAMS, 1), *y = of_grid(o, b, TL_OP_PROGRAM_ID, 1);
   TlValue *wave = tl_const_int(b, TL_U32, o->cx->target->multiprocessors);
   TlValue *together = tl_b2(b, TL_OP_DIV, wave, blocks);
   together = tl_b2(b, TL_OP_MAX, together, tl_const_int(b, TL_U32, 1));
   TlValue *first = tl_b2(b, TL_OP_MUL, tl_b2(b, TL_OP_DIV, y, together), together);
   TlValue *width = tl_b2(b, TL_OP_MIN, tl_b2(b, TL_OP_SUB, heads, first), together);
   TlValue *number = tl_b2(b, TL_OP_MUL, tl_b2(b, TL_OP_SUB, y, first), blocks);
   number = tl_b2(b, TL_OP_ADD, number, id);
   *head = tl_b2(b, TL_OP_ADD, first, tl_b2(b, TL_OP_REM, number, width));
   return tl_b2(b, TL_OP_DIV, number, width);
}

static void
place_programs(const Order *o, const Ops *ids, unsigned way, bool across)
{
   TlFunc *f = o->func;
   TlBuilder b = tl_builder_before(f->body->block->first);
   b.range = f->range;
   const TlType *i32 = tl_type_scalar(f->module->types, TL_I32);
   TlValue *blocks = of_grid(o, &b, TL_OP_NUM_PROGRAMS, o->axis);
   TlValue *row = of_grid(o, &b, TL_OP_PROGRAM_ID, o->axis), *head, *place[3] = {0};
   if (across) {
      row = place_across(o, &b, blocks, row, &head);
      place[1] = tl_t1(&b, TL_OP_CAST, i32, head);
   }
   if (way == GROWS) {
      TlValue *last = tl_b2(&b, TL_OP_SUB, blocks, tl_const_int(&b, TL_U32, 1));
      row = tl_b2(&b, TL_OP_SUB, last, row);
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
   Order o = {.cx = cx, .func = f, .facts = tl_analysis_new(cx->scratch, f)};
   o.way = tl_new_array(cx->scratch, uint8_t, f->next_value_id + 1);
   Ops ids = find_ids(&o);
   for (int64_t axis = 0; axis < 3; axis++) {
      unsigned way = has_axis(&ids, axis) ? way_of_lengths(&o, axis) : STAYS;
      bool across = axis == 0 && has_axis(&ids, 1) && is_alone(&o);
      if (way == STAYS || way == UNKNOWN || (way == SHRINKS && !across))
         continue;
      place_programs(&o, &ids, way, across);
      remark(&o, across);
      return true;
   }
   return false;
}
