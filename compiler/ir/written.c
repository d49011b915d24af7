/* Pointers that may have one origin are put into one class (union-find over values); a class is
 * accessed when an operation that reads or writes memory, as is asked, has a member as operand.
 * Pointers of unknown origin, made from integers or loaded from memory, make all parameters
 * accessed. */
#include "ir/written.h"
#include "ir/control.h"
#include "ir/walk.h"

#include <assert.h>

typedef struct Classes {
   uint32_t *parent;    /* by value id */
   bool *accessed;      /* by value id of the class's root */
   bool all;            /* an access whose origin is not known */
   bool by_writes;      /* these count, else reads */
   const TlMap *except; /* operations that do not count, NULL: all do */
} Classes;

static uint32_t
root(Classes *c, const TlValue *v)
{
   uint32_t i = v->id;
   while (c->parent[i] != i)
      i = c->parent[i] = c->parent[c->parent[i]];
   return i;
}

static void
join(Classes *c, const TlValue *a, const TlValue *b)
{
   assert(a && b);
   if (!tl_type_is_ptr_like(a->type) || !tl_type_is_ptr_like(b->type))
      return;
   uint32_t x = root(c, a), y = root(c, b);
   c->parent[x] = y;
   c->accessed[y] |= c->accessed[x];
}

static const TlValue *
first_pointer(const TlOp *op)
{
   for (uint32_t i = 0; i < op->num_args; i++)
      if (tl_type_is_ptr_like(tl_arg(op, i)->type))
         return tl_arg(op, i);
   return NULL;
}

/* Carried values of a loop and results of an if, position by position. */
static void
join_control(Classes *c, const TlOp *op)
{
   for (uint32_t i = 0; i < op->num_results; i++) {
      TlJoin j = tl_join(op, i);
      for (unsigned k = 1; k < j.num_out; k++)
         join(c, j.out[0], j.out[k]);
      for (unsigned k = 0; k < j.num_in; k++)
         join(c, j.out[0], j.in[k]);
   }
}

static void
look_at(Classes *c, const TlOp *op)
{
   const TlValue *pointer = first_pointer(op);
   if (op->opcode == TL_OP_BOX_STORE || op->opcode == TL_OP_BOX_COPY) /* the base of its map */
      pointer = tl_arg(op, 0)->def ? first_pointer(tl_arg(op, 0)->def) : NULL;
   if (tl_is_branching(op)) {
      join_control(c, op);
   } else {
      for (uint32_t i = 0; pointer && i < op->num_args; i++)
         join(c, pointer, tl_arg(op, i));
      for (uint32_t i = 0; i < op->num_results; i++) {
         if (!tl_type_is_ptr_like(tl_result(op, i)->type))
            continue;
         if (pointer && op->opcode != TL_OP_LOAD)
            join(c, pointer, tl_result(op, i));
         else if (op->opcode != TL_OP_POISON)
            c->all = true;
      }
      for (uint32_t r = 0; pointer && r < op->num_regions; r++)
         for (uint32_t i = 0; i < op->regions[r]->block->num_args; i++)
            join(c, pointer, op->regions[r]->block->args[i]);
   }
   bool copies =
      op->opcode == TL_OP_ASYNC_COPY || op->opcode == TL_OP_BOX_COPY; /* to shared memory */
   bool is_asm = op->opcode == TL_OP_INLINE_ASM && !tl_attr_int(op, TL_ATTR_PURE);
   bool writes = (tl_has_trait(op, TL_TRAIT_WRITE) && !copies) || is_asm;
   bool reads = tl_has_trait(op, TL_TRAIT_READ) || is_asm;
   if ((c->by_writes ? writes : reads) && pointer && !(c->except && tl_map_get(c->except, op)))
      c->accessed[root(c, pointer)] = true;
}

static void
find_params(Classes *c, TlArena *arena, const TlFunc *f, bool *accessed)
{
   c->parent = tl_new_array(arena, uint32_t, f->next_value_id + 1);
   c->accessed = tl_new_array(arena, bool, f->next_value_id + 1);
   for (uint32_t i = 0; i <= f->next_value_id; i++)
      c->parent[i] = i;
   const TlBlock *body = f->body->block;
   for (const TlOp *op = body->first; op; op = tl_walk_next(op, body))
      look_at(c, op);
   uint32_t arg = 0;
   for (uint32_t i = 0; i < f->num_params; i++) {
      const TlParam *p = &f->params[i];
      const TlValue *v = p->is_runtime ? body->args[arg++] : NULL;
      accessed[i] = v && v->type->kind == TL_TYPE_PTR && (c->all || c->accessed[root(c, v)]);
   }
}

void
tl_written_params(TlArena *arena, const TlFunc *f, bool *written)
{
   find_params(&(Classes){.by_writes = true}, arena, f, written);
}

void
tl_written_params_except(TlArena *arena, const TlFunc *f, const TlMap *except, bool *written)
{
   find_params(&(Classes){.by_writes = true, .except = except}, arena, f, written);
}

void
tl_read_params(TlArena *arena, const TlFunc *f, bool *read)
{
   find_params(&(Classes){.by_writes = false}, arena, f, read);
}
