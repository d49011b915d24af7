/* A loop over tiles around a kernel, and back. */
#include "passes/persist_grid.h"

#include "ir/control.h"
#include "ir/walk.h"

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

const char *
tl_why_not_persistent(TlArena *arena, const TlFunc *f, TlOp *const *loops, size_t num)
{
   const TlBlock *top = f->body->block;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top))
      if (is_of_its_program(op))
         return "its programs may have to run side by side";
   TlMap seen;
   tl_map_init(&seen, arena);
   for (size_t i = 0; i < num; i++) {
      if (loops[i]->block != top)
         return "not every program may have the same loops";
      for (unsigned k = 0; k < 3; k++)
         if (!is_uniform(&seen, tl_arg(loops[i], k)))
            return "programs may take different times";
   }
   return NULL;
}

/* ---- there ---- */
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

TlTileLoop
tl_persist_grid(TlArena *scratch, TlFunc *f)
{
   TlBlock *top = f->body->block;
   TlOp *first = top->first, *end = top->last;
   TlTileLoop tiles;
   TlMap front;
   tl_map_init(&front, scratch);
   TlBuilder b = tl_builder_before(end);
   b.range = f->range;
   const TlType *i32 = tl_type_scalar(f->module->types, TL_I32);
   TlValue *programs[3], *all = NULL;
   for (int axis = 0; axis < 3; axis++) {
      programs[axis] = tl_b0(&b, TL_OP_NUM_PROGRAMS, i32, {TL_ATTR_AXIS, {.i = axis}});
      all = all ? tl_b2(&b, TL_OP_MUL, all, programs[axis]) : programs[axis];
   }
   TlValue *bounds[] = {tl_b0(&b, TL_OP_BLOCK_ID, i32), all, tl_b0(&b, TL_OP_NUM_BLOCKS, i32)};
   tiles.loop = tl_build(&b, TL_OP_FOR, bounds, 3, NULL, 0,
                         &(TlAttrInit){TL_ATTR_NUM_STAGES, {.i = 1}}, 1, 1);
   TlBlock *body = tiles.loop->regions[0]->block;
   TlValue *tile = tl_block_add_arg(body, i32, NULL);
   TlBuilder in = tl_builder_inside(f, tiles.loop, 0, f->range);
   take_places(&in, programs, tile, tiles.place);
   for (TlOp *op = first, *next; op != programs[0]->def; op = next) {
      next = op->next;
      if (is_in_front(op, &front))
         tl_map_put(&front, op, op);
      else
         tl_move_to_end(op, body);
   }
   replace_ids(body, tiles.place);
   tl_build_yield(&in, NULL, 0);
   return tiles;
}

/* ---- and back ---- */
/* What was computed of the tile's number has no reader left. */
static void
remove_unread(TlBlock *body)
{
   for (TlOp *op = body->last, *before; op; op = before) {
      before = op->prev;
      if (tl_op_is_pure(op) && !op->num_regions && tl_is_unused(op))
         tl_remove(op);
   }
}

void
tl_unpersist_grid(const TlTileLoop *tiles)
{
   TlBlock *body = tl_loop_body(tiles->loop);
   TlBuilder b = tl_builder_before(tiles->loop);
   for (int axis = 0; axis < 3; axis++) {
      TlValue *id =
         tl_b0(&b, TL_OP_PROGRAM_ID, tiles->place[axis]->type, {TL_ATTR_AXIS, {.i = axis}});
      tl_replace_uses(tiles->place[axis], id);
   }
   tl_remove(body->last);
   remove_unread(body);
   assert(!tl_for_index(tiles->loop)->uses);
   for (TlOp *op; (op = body->first);)
      tl_move_before(op, tiles->loop);
   tl_remove(tiles->loop);
}
