/* The last round of a loop over tiles (persist_grid.c), where half of the blocks or more would have
 * no program: two blocks share each of its programs.  In each of the two one group of four
 * consumer warps computes its part of the tile, and the other goes through the stages of the rings
 * without reading them.
 *
 *    for v = id to P step B:          R = P % B; more = R <= B / 2 ? R : 0; whole = P - more
 *       body(v)                ->     for v = id to P + more step B:
 *                                        over = v - whole
 *                                        tile = over < 0 ? v : whole + over / 2
 *                                        if over < 0 or group == over % 2:   of consumers only
 *                                           body(tile)
 *                                        else:
 *                                           its loops, of which only waits and arrivals are left
 *
 * A launch of at most half as many programs as multiprocessors is such a round as a whole; for it
 * twice as many blocks are launched (compile/metadata.c).  A kernel is right with any B.  Where
 * programs take different times (`rounds = unlike`) only such launches are shared, R = P: the
 * programs of a last round are not the last to end there.
 *
 * Done where the two groups never meet in the body: all its barriers are those of four warps, so
 * each group computes by itself what is stored of its part.  What both hold is stored by one of
 * them, in either block. */
#include "ir/control.h"
#include "ir/walk.h"
#include "passes/pass.h"
#include "passes/persist_grid.h"

#include <assert.h>

enum { GROUPS = 2 };

typedef struct Rounds {
   TlFunc *func;
   TlOp *role, *loop;
   TlValue *zero, *one, *whole;
   TlValue *over, *is_last, *tile; /* in the body */
} Rounds;

/* ---- whether ---- */
/* Does all that the loop does for a tile stay within groups of four warps, two of them? */
static bool
is_of_groups(const TlOp *role, const TlOp *loop)
{
   if (tl_attr_int(role, TL_ATTR_NUM_WARPS) != GROUPS * TL_GROUP_WARPS)
      return false;
   const TlBlock *body = tl_loop_body(loop);
   for (const TlOp *op = body->first; op; op = tl_walk_next(op, body))
      if (op->opcode == TL_OP_BAR_SYNC && !tl_attr_int(op, TL_ATTR_GROUPED))
         return false;
   for (unsigned i = 0; i < loop->num_results; i++)
      if (tl_result(loop, i)->type->kind != TL_TYPE_SCALAR)
         return false; /* more than stages and parities is carried */
   return true;
}

/* ---- both roles ---- */
/* How many there are, in front of the loop. */
static void
count(Rounds *r)
{
   TlBuilder b = tl_builder_before(r->loop);
   TlValue *all = tl_for_upper(r->loop), *blocks = tl_for_step(r->loop);
   bool are_alike = tl_attr_int(r->loop, TL_ATTR_ROUNDS) == TL_ROUNDS_ALIKE;
   r->zero = tl_const_int(&b, TL_I32, 0);
   r->one = tl_const_int(&b, TL_I32, 1);
   TlValue *rest = are_alike ? tl_b2(&b, TL_OP_REM, all, blocks) : all;
   TlValue *shares = tl_b2(&b, TL_OP_LE, rest, tl_b2(&b, TL_OP_SHR, blocks, r->one));
   TlValue *more = tl_b3(&b, TL_OP_SELECT, shares, rest, r->zero);
   r->whole = tl_b2(&b, TL_OP_SUB, all, more);
   tl_set_arg(r->loop, 1, tl_b2(&b, TL_OP_ADD, all, more));
}

/* Which tile an iteration is for: what read the loop's index reads that. */
static void
take_tile(Rounds *r)
{
   TlBlock *body = tl_loop_body(r->loop);
   TlValue *index = tl_for_index(r->loop);
   TlBuilder b = tl_builder_before(body->first);
   b.range = r->loop->range;
   r->over = tl_b2(&b, TL_OP_SUB, index, r->whole);
   r->is_last = tl_b2(&b, TL_OP_GE, r->over, r->zero);
   TlValue *shared = tl_b2(&b, TL_OP_ADD, r->whole, tl_b2(&b, TL_OP_SHR, r->over, r->one));
   r->tile = tl_b3(&b, TL_OP_SELECT, r->is_last, shared, index);
   tl_replace_uses(index, r->tile);
   tl_set_arg(r->over->def, 0, index);
   tl_set_arg(r->tile->def, 2, index);
}

/* ---- the consumers ---- */
/* Does it pass a stage on?  The lanes of a warp meet in front of its arrival: each has seen the
 * stage then. */
static bool
passes_stages(const TlOp *op)
{
   return op->opcode == TL_OP_MBAR_WAIT || op->opcode == TL_OP_MBAR_ARRIVE ||
          op->opcode == TL_OP_BAR_WARP;
}

/* Of an iteration that another block computes for this group: the stages still pass by. */
static void
keep_stages(TlBlock *block)
{
   for (TlOp *op = tl_walk_inner(block), *next; op; op = next) {
      next = tl_walk_inner_next(op, block);
      if (passes_stages(op) || op->num_regions ||
          !(tl_has_trait(op, TL_TRAIT_WRITE) || tl_has_trait(op, TL_TRAIT_SYNC)))
         continue;
      tl_remove_poisoned(op);
   }
}

/* Is the group that the warp is of the one that computes?  A shuffle makes the answer one of the
 * whole warp. */
static TlValue *
build_works(const Rounds *r, TlBuilder *b)
{
   const TlType *i32 = tl_type_scalar(r->func->module->types, TL_I32);
   TlBuilder front = tl_builder_before(r->loop);
   TlValue *warp = tl_b0(&front, TL_OP_WARP_ID, i32,
                         {TL_ATTR_FIRST_WARP, {.i = tl_attr_int(r->role, TL_ATTR_FIRST_WARP)}});
   TlValue *group =
      tl_b2(&front, TL_OP_SHR, warp, tl_const_int(&front, TL_I32, TL_LOG2_GROUP_WARPS));
   group = tl_build_n(&front, TL_OP_SHFL, (TlValue *const[]){group, r->zero}, 2, i32,
                      TL_ATTRS_({TL_ATTR_SHFL, {.i = TL_SHFL_IDX}}));
   TlValue *half = tl_b2(b, TL_OP_AND, r->over, r->one);
   return tl_b2(b, TL_OP_EQ, tl_b3(b, TL_OP_SELECT, r->is_last, half, group), group);
}

static void
leave_to_one_group(Rounds *r, TlArena *scratch)
{
   TlBlock *body = tl_loop_body(r->loop);
   TlOp *first = r->tile->def->next, *end = body->last;
   TlBuilder b = tl_builder_before(first);
   b.range = r->loop->range;
   TlValue *works = build_works(r, &b);
   const TlType **types = tl_new_array(scratch, const TlType *, r->loop->num_results + 1);
   for (unsigned i = 0; i < r->loop->num_results; i++)
      types[i] = tl_result(r->loop, i)->type;
   TlOp *choice = tl_build(&b, TL_OP_IF, &works, 1, types, r->loop->num_results, NULL, 0, 2);
   TlValue **passed = tl_new_array(scratch, TlValue *, end->num_args + 1);
   TlMap map;
   tl_map_init(&map, scratch);
   TlBuilder in = tl_builder_inside(r->func, choice, 1, r->loop->range);
   for (TlOp *op = first; op != end; op = op->next)
      tl_clone_op(&in, op, &map);
   for (unsigned i = 0; i < end->num_args; i++) {
      TlValue *clone = tl_map_get(&map, tl_arg(end, i));
      passed[i] = clone ? clone : tl_arg(end, i);
   }
   tl_build_yield(&in, passed, end->num_args);
   keep_stages(choice->regions[1]->block);
   for (TlOp *op = first, *next; op != end; op = next) {
      next = op->next;
      tl_move_to_end(op, choice->regions[0]->block);
   }
   for (unsigned i = 0; i < end->num_args; i++)
      passed[i] = tl_arg(end, i);
   in = tl_builder_inside(r->func, choice, 0, r->loop->range);
   tl_build_yield(&in, passed, end->num_args);
   for (unsigned i = 0; i < end->num_args; i++)
      tl_set_arg(end, i, tl_result(choice, i));
}

bool
tl_pass_share_last_round(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_LOWERED);
   enum { PRODUCER, CONSUMER, ROLES };
   TlOp *roles[ROLES], *loops[ROLES];
   unsigned n = 0;
   for (TlOp *op = f->body->block->first; op; op = op->next) {
      if (op->opcode != TL_OP_ROLE)
         continue;
      TlOp *loop = tl_loop_over_tiles(op);
      if (n == ROLES || !loop)
         return false;
      roles[n] = op;
      loops[n++] = loop;
   }
   if (n != ROLES || !is_of_groups(roles[CONSUMER], loops[CONSUMER]))
      return false;
   for (unsigned i = 0; i < ROLES; i++) {
      Rounds r = {.func = f, .role = roles[i], .loop = loops[i]};
      count(&r);
      take_tile(&r);
      if (i == CONSUMER)
         leave_to_one_group(&r, cx->scratch);
      tl_attr(r.loop, TL_ATTR_ROUNDS)->i = TL_ROUNDS_SHARED;
   }
   return true;
}
