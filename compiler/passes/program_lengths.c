/* See program_lengths.h. */
#include "passes/program_lengths.h"

#include "ir/control.h"
#include "ir/trips.h"
#include "ir/walk.h"

#include <string.h>

enum { NOT_ASKED = TL_WAY_UNKNOWN + 1 };
/* Terms deeper than this are not looked into; far above any bound. */
enum { MAX_DEPTH = 64 };

typedef struct Lengths {
   TlAnalysis *facts;
   int64_t axis;
   uint8_t *way; /* of each value, by its id */
   unsigned depth;
} Lengths;

static unsigned
turned(unsigned way)
{
   return (way & TL_GROWS ? TL_SHRINKS : TL_STAYS) | (way & TL_SHRINKS ? TL_GROWS : TL_STAYS);
}

static unsigned way_of(Lengths *l, const TlValue *v);

/* Of x times a factor. */
static unsigned
way_times(Lengths *l, const TlValue *x, const TlValue *factor)
{
   const TlAxisInfo *info = tl_axis_info(l->facts, factor);
   unsigned way = way_of(l, x);
   if (!way || !info->has_range)
      return way ? TL_WAY_UNKNOWN : TL_STAYS;
   return info->lo >= 0 ? way : info->hi <= 0 ? turned(way) : TL_WAY_UNKNOWN;
}

/* x - x % n is x // n * n */
static bool
is_rounded(const TlOp *sub)
{
   const TlValue *rem = tl_arg(sub, 1);
   return tl_value_is(rem, TL_OP_REM) && tl_arg(rem->def, 0) == tl_arg(sub, 0);
}

static unsigned
way_of_result(Lengths *l, const TlOp *op)
{
   unsigned all = TL_STAYS;
   for (unsigned i = 0; i < op->num_args; i++)
      all |= way_of(l, tl_arg(op, i));
   switch (op->opcode) {
   case TL_OP_PROGRAM_ID:
      return tl_attr_int(op, TL_ATTR_AXIS) == l->axis ? TL_GROWS : TL_STAYS;
   case TL_OP_ADD:
   case TL_OP_MIN:
   case TL_OP_MAX:
   case TL_OP_CAST:
   case TL_OP_HINT:
      return all;
   case TL_OP_SUB:
      return way_of(l, tl_arg(op, 0)) |
             (is_rounded(op) ? TL_STAYS : turned(way_of(l, tl_arg(op, 1))));
   case TL_OP_MUL:
      return way_of(l, tl_arg(op, 0)) ? way_times(l, tl_arg(op, 0), tl_arg(op, 1)) |
                                           (way_of(l, tl_arg(op, 1)) ? TL_WAY_UNKNOWN : TL_STAYS)
                                      : way_times(l, tl_arg(op, 1), tl_arg(op, 0));
   case TL_OP_DIV:
      return way_times(l, tl_arg(op, 0), tl_arg(op, 1)) |
             (way_of(l, tl_arg(op, 1)) ? TL_WAY_UNKNOWN : TL_STAYS);
   case TL_OP_NUM_PROGRAMS:
      return TL_STAYS;
   default: /* also of what a table holds */
      return all || op->num_regions || !op->num_args ? TL_WAY_UNKNOWN : TL_STAYS;
   }
}

static bool
is_index(const TlOp *loop, const TlValue *v)
{
   return loop->opcode == TL_OP_FOR && v == tl_for_index(loop);
}

static unsigned
way_of(Lengths *l, const TlValue *v)
{
   uint64_t bits;
   if (tl_is_const(v, &bits))
      return TL_STAYS;
   const TlOp *loop = v->def ? NULL : v->block->region->parent;
   if (!v->def && !loop)
      return TL_STAYS; /* a parameter */
   if (loop && !is_index(loop, v))
      return TL_WAY_UNKNOWN; /* what a loop carries */
   if (l->way[v->id] == NOT_ASKED && l->depth < MAX_DEPTH) {
      l->depth++;
      l->way[v->id] =
         (uint8_t)(v->def ? way_of_result(l, v->def)
                          : way_of(l, tl_for_lower(loop)) | way_of(l, tl_for_upper(loop)));
      l->depth--;
   }
   return l->way[v->id] == NOT_ASKED ? TL_WAY_UNKNOWN : l->way[v->id];
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

TlWay
tl_way_of_lengths(TlArena *arena, TlAnalysis *facts, const TlFunc *f, int64_t axis)
{
   const TlBlock *top = f->body->block;
   Lengths l = {.facts = facts, .axis = axis};
   unsigned way = TL_STAYS;
   l.way = tl_new_array(arena, uint8_t, f->next_value_id + 1);
   memset(l.way, NOT_ASKED, f->next_value_id);
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top))
      if (op->opcode == TL_OP_WHILE)
         way |= TL_WAY_UNKNOWN;
      else if (op->opcode == TL_OP_FOR && tl_most_trips(facts, op) == UINT64_MAX)
         way |= way_of(&l, end_of(op)) | turned(way_of(&l, tl_for_lower(op)));
   return (TlWay)way;
}
