#include "ir/walk.h"

#include <assert.h>

/* The first operation in region `from` of op or a later one; NULL when these are empty. */
static TlOp *
first_inside(const TlOp *op, unsigned from)
{
   for (unsigned r = from; r < op->num_regions; r++)
      if (op->regions[r]->block->first)
         return op->regions[r]->block->first;
   return NULL;
}

static unsigned
number_of(const TlRegion *region)
{
   unsigned r = 0;
   while (region->parent->regions[r] != region)
      r++;
   return r;
}

TlOp *
tl_walk_next(const TlOp *op, const TlBlock *top)
{
   TlOp *next = first_inside(op, 0);
   while (!next && !(next = op->next) && op->block != top) {
      const TlRegion *region = op->block->region;
      op = region->parent;
      assert(op && "op is not inside of the block");
      next = first_inside(op, number_of(region) + 1);
   }
   return next;
}

static TlOp *
innermost(TlOp *op)
{
   for (TlOp *inner = op; inner; inner = first_inside(op, 0))
      op = inner;
   return op;
}

TlOp *
tl_walk_inner(const TlBlock *top)
{
   return innermost(top->first);
}

TlOp *
tl_walk_inner_next(const TlOp *op, const TlBlock *top)
{
   if (op->next || op->block == top)
      return innermost(op->next);
   const TlRegion *region = op->block->region;
   assert(region->parent && "op is not inside of the block");
   TlOp *sibling = first_inside(region->parent, number_of(region) + 1);
   return sibling ? innermost(sibling) : region->parent;
}

void
tl_walk_values(const TlBlock *top, void (*visit)(void *user, const TlValue *v), void *user)
{
   for (unsigned i = 0; i < top->num_args; i++)
      visit(user, top->args[i]);
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      for (unsigned i = 0; i < op->num_results; i++)
         visit(user, tl_result(op, i));
      for (unsigned r = 0; r < op->num_regions; r++)
         for (unsigned i = 0; i < op->regions[r]->block->num_args; i++)
            visit(user, op->regions[r]->block->args[i]);
   }
}
