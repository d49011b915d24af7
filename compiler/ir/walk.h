/* From an operation to those inside of it and around it.
 *
 * Every operation of a block and of the blocks inside, one before those in its regions:
 *    for (TlOp *op = top->first; op; op = tl_walk_next(op, top))
 * and one after them, which may remove op and put others beside it (these are not visited):
 *    for (TlOp *op = tl_walk_inner(top), *next; op; op = next) {
 *       next = tl_walk_inner_next(op, top); */
#ifndef TL_IR_WALK_H
#define TL_IR_WALK_H

#include "ir/control.h"

TlOp *tl_walk_next(const TlOp *op, const TlBlock *top);
TlOp *tl_walk_inner(const TlBlock *top);
TlOp *tl_walk_inner_next(const TlOp *op, const TlBlock *top);
/* Arguments of the block, then for each operation in it, at any depth, its results and the
 * arguments of its regions. */
void tl_walk_values(const TlBlock *top, void (*visit)(void *user, const TlValue *v), void *user);

/* The operation that op is in a region of; NULL in the function's body. */
static inline TlOp *
tl_parent(const TlOp *op)
{
   return op->block->region->parent;
}

/* Is the operation a loop, or in one? */
static inline bool
tl_is_of_loop(const TlOp *op)
{
   while (op && !tl_is_loop(op))
      op = tl_parent(op);
   return op != NULL;
}

/* Is there one in the block, at any depth? */
static inline bool
tl_has_loop(const TlBlock *block)
{
   for (const TlOp *op = block->first; op; op = tl_walk_next(op, block))
      if (tl_is_loop(op))
         return true;
   return false;
}

/* Does op stand before the other one in their block, or is it the same? */
static inline bool
tl_stands_before(const TlOp *op, const TlOp *other)
{
   while (op && op != other)
      op = op->next;
   return op != NULL;
}

/* Warps that run the operation together: of the role around it, or of the function. */
static inline uint32_t
tl_warps_at(const TlFunc *f, const TlOp *op)
{
   for (op = tl_parent(op); op; op = tl_parent(op))
      if (op->opcode == TL_OP_ROLE)
         return (uint32_t)tl_attr_int(op, TL_ATTR_NUM_WARPS);
   return f->num_warps;
}

enum {
   TL_LOG2_GROUP_WARPS = 2,
   TL_GROUP_WARPS = 4,         /* of wgmma; no role has fewer */
   TL_FIRST_GROUP_BARRIER = 8, /* behind those of roles: 16 of a block's there are */
};

/* The first warp of the role around the operation; -1: it is in none. */
static inline int64_t
tl_first_warp_at(const TlOp *op)
{
   for (op = tl_parent(op); op; op = tl_parent(op))
      if (op->opcode == TL_OP_ROLE)
         return tl_attr_int(op, TL_ATTR_FIRST_WARP);
   return -1;
}

/* The named barrier at which they meet: 0 is the whole block's, each role has another. */
static inline int64_t
tl_barrier_at(const TlOp *op)
{
   int64_t first = tl_first_warp_at(op);
   return first < 0 ? 0 : 1 + first / TL_GROUP_WARPS;
}

/* The first of those at which each four warps of them meet by themselves. */
static inline int64_t
tl_group_barrier_at(const TlOp *op)
{
   int64_t first = tl_first_warp_at(op);
   return TL_FIRST_GROUP_BARRIER + (first < 0 ? 0 : first / TL_GROUP_WARPS);
}

/* op, or the operation around it, that stands in the block itself; NULL when there is none. */
static inline TlOp *
tl_in_block(TlOp *op, const TlBlock *block)
{
   while (op && op->block != block)
      op = tl_parent(op);
   return op;
}

/* Is the value defined in a region of the operation, at any depth? */
static inline bool
tl_is_defined_in(const TlValue *v, const TlOp *outer)
{
   const TlOp *op = tl_value_block(v)->region->parent;
   while (op && op != outer)
      op = tl_parent(op);
   return op != NULL;
}

#endif
