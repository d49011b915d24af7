/* A loop over tiles around a kernel. */
#include "passes/persist_grid.h"

#include "ir/control.h"
#include "ir/launch_expr.h"
#include "ir/walk.h"
#include "passes/long_first.h"

#include <assert.h>

/* ---- whether ---- */
/* Operations that mean something else where programs share a block, or that may wait for another
 * program: one of a later tile would never come. */
static bool
is_of_its_program(const TlOp *op)
{
   switch (op->opcode) {
   case TL_OP_LOAD:
      return tl_attr_int(op, TL_ATTR_VOLATILE) != 0;
   case TL_OP_STORE:
   case TL_OP_LOCAL_ALLOC:
   case TL_OP_LOCAL_LOAD:
   case TL_OP_ASSUME:
      return false;
   case TL_OP_WHILE:
      return true;
   default:
      return tl_has_trait(op, TL_TRAIT_READ) || tl_has_trait(op, TL_TRAIT_WRITE) ||
             tl_has_trait(op, TL_TRAIT_SYNC) ||
             (tl_has_attr(op, TL_ATTR_PURE) && !tl_attr_int(op, TL_ATTR_PURE));
   }
}

/* Is the value the same in all programs? */
static bool
is_uniform(TlMap *seen, const TlValue *v)
{
   if (tl_map_has(seen, v))
      return true;
   tl_map_put(seen, v, (void *)v);
   const TlOp *op = v->def;
   if (!op)
      return v->block->region->parent == NULL; /* a parameter; what loops carry is not asked for */
   if (op->opcode == TL_OP_PROGRAM_ID || !tl_op_is_pure(op) || op->num_regions)
      return false;
   for (unsigned i = 0; i < op->num_args; i++)
      if (!is_uniform(seen, tl_arg(op, i)))
         return false;
   return true;
}

/* Are the loops' bounds the same in all programs? */
static bool
are_alike(TlArena *arena, const TlTilePlan *plan)
{
   TlMap seen;
   tl_map_init(&seen, arena);
   for (size_t i = 0; i < plan->num; i++)
      for (unsigned k = 0; k < 3; k++)
         if (!is_uniform(&seen, tl_arg(plan->loops[i], k)))
            return false;
   return true;
}

/* Cycles of a loop's products in each iteration. */
static int64_t
cycles_of(const TlTarget *target, const TlOp *loop)
{
   enum { FP16_BITS = 16 };
   int64_t bits = 0;
   for (const TlOp *op = tl_loop_body(loop)->first; op; op = op->next)
      if (op->opcode == TL_OP_DOT) {
         const TlType *a = tl_arg(op, 0)->type;
         int64_t products = (int64_t)tl_type_num_elems(tl_result(op, 0)->type);
         products *= a->shape[a->rank - 1];
         bits += products * tl_dtype_info[tl_type_elem(a)->dtype].bits;
      }
   return bits / FP16_BITS / target->dot_rate;
}

/* The cycles of a program, as an expression for a launch; NULL: a launch cannot tell. */
static const char *
cycles_of_program(TlArena *a, const TlFunc *f, const TlTarget *target, const TlTilePlan *plan)
{
   const char *all = NULL;
   for (size_t i = 0; i < plan->num; i++) {
      const TlOp *loop = plan->loops[i];
      const char *begin = tl_launch_estimate(a, f, tl_for_lower(loop));
      const char *end = tl_launch_estimate(a, f, tl_for_upper(loop));
      const char *step = tl_launch_estimate(a, f, tl_for_step(loop));
      if (!begin || !end || !step)
         return NULL;
      all = tl_arena_printf(a, "%s%s(%s - %s) // %s * %lld", all ? all : "", all ? " + " : "", end,
                            begin, step, (long long)cycles_of(target, loop));
   }
   return all;
}

#define PROGRAMS "grid_x * grid_y * grid_z"

/* Launches whose last round two blocks share for each program (share_last_round.c): it takes some
 * 0.4 of a program's time less.  Blocks of many programs cost 4 % otherwise, so in six rounds it
 * still pays.  Where lengths differ, only a launch that is one such round. */
static const char *
when_shared(TlWay way)
{
   return way == TL_STAYS ? "(" PROGRAMS " - 1) % num_sms < num_sms // 2 and " PROGRAMS
                            " < 6 * num_sms"
                          : PROGRAMS " <= num_sms // 2";
}

/* Can a launch tell how long they are, and can they be shared out by what is known of them?  Where
 * lengths differ, they are shared out worse: such programs count twice. */
static bool
are_told(TlArena *arena, const TlFunc *f, const TlTarget *target, TlTilePlan *plan)
{
   TlAnalysis *facts = tl_analysis_new(arena, f);
   plan->way = tl_way_of_lengths(arena, facts, f, 0);
   if (plan->way == TL_WAY_UNKNOWN || tl_way_of_lengths(arena, facts, f, 1) != TL_STAYS ||
       tl_way_of_lengths(arena, facts, f, 2) != TL_STAYS)
      return false;
   const char *cycles = cycles_of_program(arena, f, target, plan);
   int most = plan->way == TL_STAYS ? TL_SHORT_PROGRAM : TL_SHORT_PROGRAM / 2;
   if (cycles)
      plan->short_when =
         tl_arena_printf(f->module->arena, "%s or %s < %d and " PROGRAMS " > num_sms",
                         when_shared(plan->way), cycles, most);
   return cycles != NULL;
}

const char *
tl_why_not_persistent(TlArena *arena, const TlFunc *f, const TlTarget *target, bool only_sums,
                      TlTilePlan *plan)
{
   const TlBlock *top = f->body->block;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top))
      if (is_of_its_program(op))
         return "its programs may have to run side by side";
   for (size_t i = 0; i < plan->num; i++)
      if (plan->loops[i]->block != top)
         return "not every program may have the same loops";
   if ((!only_sums || !are_alike(arena, plan)) && !are_told(arena, f, target, plan))
      return "programs may take different times";
   return NULL;
}

/* ---- there ---- */
typedef struct Persist {
   TlFunc *func;
   const TlTarget *target;
   TlValue *programs[3], *all; /* of the grid */
   TlValue *id, *blocks;       /* of those launched */
   TlLongFirst first;          /* where lengths differ */
   TlValue *goes_on;           /* a block has more than one tile */
} Persist;

/* A scalar that is the same in all tiles: all it is computed of is in front, too. */
static bool
is_in_front(const TlOp *op, const TlMap *front)
{
   if (!tl_op_is_pure(op) || op->num_regions || op->opcode == TL_OP_PROGRAM_ID)
      return false;
   for (unsigned i = 0; i < op->num_results; i++)
      if (op->results[i].type->kind == TL_TYPE_TILE)
         return false;
   for (unsigned i = 0; i < op->num_args; i++)
      if (tl_arg(op, i)->def && !tl_map_has(front, tl_arg(op, i)->def))
         return false;
   return true;
}

/* The tile's place along each axis of the grid. */
static void
take_places(TlBuilder *b, TlValue *const programs[3], TlValue *tile, TlValue *place[3])
{
   place[0] = tl_b2(b, TL_OP_REM, tile, programs[0]);
   TlValue *behind = tl_b2(b, TL_OP_DIV, tile, programs[0]);
   place[1] = tl_b2(b, TL_OP_REM, behind, programs[1]);
   place[2] = tl_b2(b, TL_OP_DIV, behind, programs[1]);
}

static TlValue *
cast_to(TlBuilder *b, TlFunc *f, TlValue *v, TlDtype t)
{
   return tl_t1(b, TL_OP_CAST, tl_type_scalar(f->module->types, t), v);
}

/* The same where lengths differ: the longest of the heads that are together come first, and, where
 * a block goes on to the next such heads, their shortest, so that all blocks have as much to do. */
static void
take_long_first(Persist *p, TlBuilder *b, TlValue *tile, TlValue *place[3])
{
   TlFunc *f = p->func;
   TlLongFirst *l = &p->first;
   TlValue *zero = tl_const_int(b, TL_U32, 0), *one = tl_const_int(b, TL_U32, 1);
   TlValue *number = cast_to(b, f, tile, TL_U32), *head;
   TlValue *plane = tl_b2(b, TL_OP_MUL, l->blocks, l->heads);
   place[2] = cast_to(b, f, tl_b2(b, TL_OP_DIV, number, plane), TL_I32);
   number = tl_b2(b, TL_OP_REM, number, plane);
   TlValue *size = tl_b2(b, TL_OP_MUL, l->blocks, l->together);
   TlValue *group = tl_b2(b, TL_OP_DIV, number, size);
   TlValue *first = tl_b2(b, TL_OP_MUL, group, l->together);
   TlValue *within = tl_b2(b, TL_OP_REM, number, size);
   TlValue *row = tl_long_first_place(l, b, first, within, &head);
   TlValue *odd = tl_b2(b, TL_OP_NE, tl_b2(b, TL_OP_AND, group, one), zero);
   TlValue *turns = tl_b2(b, TL_OP_AND, odd, p->goes_on);
   row = tl_b3(b, TL_OP_SELECT, turns, tl_long_first_turned(l, b, row), row);
   place[0] = cast_to(b, f, row, TL_I32);
   place[1] = cast_to(b, f, head, TL_I32);
}

static void
replace_ids(TlBlock *body, TlValue *const place[3])
{
   for (TlOp *op = body->first, *next; op; op = next) {
      next = tl_walk_next(op, body);
      if (op->opcode != TL_OP_PROGRAM_ID)
         continue;
      tl_replace_uses(tl_result(op, 0), place[tl_attr_int(op, TL_ATTR_AXIS)]);
      tl_remove(op);
   }
}

/* In front of the loop over tiles. */
static void
begin(Persist *p, TlBuilder *b, const TlTilePlan *plan)
{
   const TlType *i32 = tl_type_scalar(p->func->module->types, TL_I32);
   for (int axis = 0; axis < 3; axis++) {
      p->programs[axis] = tl_b0(b, TL_OP_NUM_PROGRAMS, i32, {TL_ATTR_AXIS, {.i = axis}});
      p->all = p->all ? tl_b2(b, TL_OP_MUL, p->all, p->programs[axis]) : p->programs[axis];
   }
   p->id = tl_b0(b, TL_OP_BLOCK_ID, i32);
   p->blocks = tl_b0(b, TL_OP_NUM_BLOCKS, i32);
   if (plan->way == TL_STAYS)
      return;
   p->first.way = plan->way;
   p->first.blocks = cast_to(b, p->func, p->programs[0], TL_U32);
   p->first.heads = cast_to(b, p->func, p->programs[1], TL_U32);
   tl_long_first_init(&p->first, b, p->target);
   p->goes_on = tl_b2(b, TL_OP_LT, p->blocks, p->all);
}

void
tl_persist_grid(TlArena *scratch, TlFunc *f, const TlTarget *target, const TlTilePlan *plan)
{
   TlBlock *top = f->body->block;
   TlOp *first = top->first, *end = top->last;
   Persist p = {.func = f, .target = target};
   TlValue *place[3];
   TlMap front;
   tl_map_init(&front, scratch);
   TlBuilder b = tl_builder_before(end);
   b.range = f->range;
   TlOp *last = end->prev;
   begin(&p, &b, plan);
   TlOp *made = last->next;
   TlValue *bounds[] = {p.id, p.all, p.blocks};
   int64_t rounds = plan->way == TL_STAYS ? TL_ROUNDS_ALIKE : TL_ROUNDS_UNLIKE;
   TlAttrInit attrs[] = {{TL_ATTR_NUM_STAGES, {.i = 1}}, {TL_ATTR_ROUNDS, {.i = rounds}}};
   TlOp *loop = tl_build(&b, TL_OP_FOR, bounds, 3, NULL, 0, attrs, 2, 1);
   TlBlock *body = loop->regions[0]->block;
   TlValue *tile = tl_block_add_arg(body, p.id->type, NULL);
   TlBuilder in = tl_builder_inside(f, loop, 0, f->range);
   if (plan->way == TL_STAYS)
      take_places(&in, p.programs, tile, place);
   else
      take_long_first(&p, &in, tile, place);
   for (TlOp *op = first, *next; op != made; op = next) {
      next = op->next;
      if (is_in_front(op, &front))
         tl_map_put(&front, op, op);
      else
         tl_move_to_end(op, body);
   }
   replace_ids(body, place);
   tl_build_yield(&in, NULL, 0);
}

TlOp *
tl_loop_over_tiles(const TlOp *role)
{
   for (TlOp *op = role->regions[0]->block->first; op; op = op->next)
      if (op->opcode == TL_OP_FOR && tl_attr_int(op, TL_ATTR_ROUNDS) != TL_ROUNDS_NONE)
         return op;
   return NULL;
}
