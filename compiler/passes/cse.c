/* Common subexpressions: of equal pure operations the first is kept, when it dominates.
 * The walk keeps a table of the operations that dominate the point at hand; entries made in a
 * region leave with it.
 *
 * What both branches of an `if` compute moves before it:
 *    if c { a = neg(x); .. } else { b = neg(x); .. }  ->  a = neg(x); if c { .. } else { .. }
 * While the second branch is walked, the table therefore holds the first one's operations too; an
 * equal one has equal operands, which come from before the `if`.  A branch that is left with little
 * becomes predicated instructions: its loads are under way with those before it.
 *
 * Of equal loads in one block the second goes when nothing between them may change memory or waits
 * for others; not volatile ones, and none whose registers are better loaded again than kept.  In
 * another block, as in a loop that waits for a word to change, a load is made anew. */
#include "passes/pass.h"

#include <assert.h>
#include <string.h>

typedef struct Entry {
   TlOp *op;
   uint64_t hash;
   uint32_t writes;    /* of a load: Cse.writes when it was made */
   struct Entry *next; /* same hash, made earlier */
} Entry;

enum { LANES = 32 };

typedef struct Cse {
   TlArena *arena;
   TlMap table;           /* hash -> newest Entry */
   TL_VEC(Entry *) scope; /* entries of the open regions */
   uint32_t writes;       /* operations so far that may change what a load gives */
   uint32_t most_kept;    /* bytes of a thread that may be kept until they are needed again */
   bool progress;
} Cse;

static TlAttrKind
attr_kind(const TlOp *op, unsigned i)
{
   assert(i < tl_info(op)->num_attrs);
   return tl_attr_info[tl_info(op)->attr[i].key].kind;
}

static uint64_t
hash_attr(TlAttrKind kind, TlAttr a, uint64_t h)
{
   if (kind == TL_AK_STR)
      return a.s ? tl_hash(a.s, strlen(a.s), h) : h;
   if (tl_attr_is_ints(kind))
      return a.ints ? tl_hash(a.ints->data, a.ints->len * sizeof a.ints->data[0], h) : h;
   return tl_hash(&a, sizeof a, h);
}

static bool
attr_equal(TlAttrKind kind, TlAttr a, TlAttr b)
{
   if (kind == TL_AK_STR)
      return a.s == b.s || (a.s && b.s && strcmp(a.s, b.s) == 0);
   if (tl_attr_is_ints(kind)) {
      if (!a.ints || !b.ints)
         return a.ints == b.ints;
      return a.ints->len == b.ints->len &&
             memcmp(a.ints->data, b.ints->data, a.ints->len * sizeof a.ints->data[0]) == 0;
   }
   return a.bits == b.bits;
}

/* Operands of a commuting pair in one order: by value id. */
static bool
is_swapped(const TlOp *op)
{
   return tl_has_trait(op, TL_TRAIT_COMMUTES) && op->num_args == 2 &&
          op->args[0].value->id > op->args[1].value->id;
}

static const TlValue *
ordered_arg(const TlOp *op, unsigned i, bool swapped)
{
   assert(i < op->num_args && (!swapped || op->num_args == 2));
   return op->args[swapped ? 1 - i : i].value;
}

static uint64_t
hash_op(const TlOp *op)
{
   bool swapped = is_swapped(op);
   uint64_t h = tl_hash(&op->opcode, sizeof op->opcode, op->num_args);
   for (unsigned i = 0; i < op->num_args; i++)
      h = tl_hash(&ordered_arg(op, i, swapped)->id, sizeof(uint32_t), h);
   for (unsigned i = 0; i < op->num_results; i++)
      h = tl_hash(&op->results[i].type, sizeof(TlType *), h);
   for (unsigned i = 0; i < tl_info(op)->num_attrs; i++)
      h = hash_attr(attr_kind(op, i), op->attrs[i], h);
   return h;
}

static bool
op_equal(const TlOp *a, const TlOp *b)
{
   if (a->opcode != b->opcode || a->num_args != b->num_args || a->num_results != b->num_results)
      return false;
   bool a_swapped = is_swapped(a), b_swapped = is_swapped(b);
   for (unsigned i = 0; i < a->num_args; i++)
      if (ordered_arg(a, i, a_swapped) != ordered_arg(b, i, b_swapped))
         return false;
   for (unsigned i = 0; i < a->num_results; i++)
      if (a->results[i].type != b->results[i].type)
         return false;
   for (unsigned i = 0; i < tl_info(a)->num_attrs; i++)
      if (!attr_equal(attr_kind(a, i), a->attrs[i], b->attrs[i]))
         return false;
   return true;
}

static bool
is_mergeable_load(const Cse *c, const TlOp *op)
{
   if (op->opcode != TL_OP_LOAD || tl_attr_int(op, TL_ATTR_VOLATILE) ||
       tl_attr_int(op, TL_ATTR_CACHE) == TL_CACHE_CV)
      return false;
   const TlType *t = tl_result(op, 0)->type, *elem = tl_type_elem(t);
   uint64_t bytes = elem->kind == TL_TYPE_PTR ? 8 : tl_dtype_info[elem->dtype].bytes;
   uint64_t threads = t->kind == TL_TYPE_TILE ? tl_op_func(op)->num_warps * LANES : 1;
   return tl_type_num_elems(t) * bytes <= c->most_kept * threads;
}

static bool
is_candidate(const Cse *c, const TlOp *op)
{
   return op->num_regions == 0 && op->num_results > 0 &&
          (tl_op_is_pure(op) || is_mergeable_load(c, op));
}

static bool
may_write(const TlOp *op)
{
   bool orders = op->opcode != TL_OP_LOAD || tl_attr_int(op, TL_ATTR_VOLATILE);
   return orders && !tl_has_trait(op, TL_TRAIT_TERM) && !tl_op_is_pure(op);
}

/* The `if` with `first` in its first branch and `op` in or below its second one, or NULL. */
static TlOp *
common_if(const TlOp *first, const TlOp *op)
{
   for (const TlBlock *b = op->block; b && b != first->block;) {
      TlOp *around = b->region->parent;
      if (around && around->opcode == TL_OP_IF && around->regions[0]->block == first->block)
         return around;
      b = around ? around->block : NULL;
   }
   return NULL;
}

/* Can two equal operations be one computation?  The first moves for it where it has to. */
static bool
merge(const Cse *c, const Entry *first, const TlOp *op)
{
   if (op->opcode == TL_OP_LOAD)
      return first->op->block == op->block && first->writes == c->writes;
   TlOp *around = common_if(first->op, op);
   if (!around)
      return true;
   if (op->block != around->regions[1]->block)
      return false; /* the second branch may not compute it at all */
   tl_move_before(first->op, around);
   return true;
}

static void
visit_op(Cse *c, TlOp *op)
{
   assert(is_candidate(c, op));
   uint64_t hash = hash_op(op);
   const void *key = (const void *)(uintptr_t)hash;
   Entry *head = tl_map_get(&c->table, key);
   for (Entry *e = head; e; e = e->next) {
      if (e->hash != hash || !op_equal(e->op, op) || !merge(c, e, op))
         continue;
      for (unsigned i = 0; i < op->num_results; i++)
         tl_replace_uses(tl_result(op, i), tl_result(e->op, i));
      tl_remove(op);
      c->progress = true;
      return;
   }
   Entry *e = tl_new(c->arena, Entry);
   *e = (Entry){op, hash, c->writes, head};
   tl_map_put(&c->table, key, e);
   tl_vec_push(c->arena, &c->scope, e);
}

/* Forgets the operations entered since the table held `mark` of them. */
static void
leave(Cse *c, size_t mark)
{
   while (c->scope.len > mark) {
      Entry *e = tl_vec_pop(&c->scope);
      tl_map_put(&c->table, (const void *)(uintptr_t)e->hash, e->next);
   }
}

static void
visit_ops(Cse *c, TlBlock *block)
{
   TlOp *next;
   for (TlOp *op = block->first; op; op = next) {
      next = op->next;
      if (is_candidate(c, op)) {
         visit_op(c, op);
         continue;
      }
      size_t mark = c->scope.len;
      for (unsigned r = 0; r < op->num_regions; r++) {
         if (op->opcode != TL_OP_IF)
            leave(c, mark);
         visit_ops(c, op->regions[r]->block);
      }
      leave(c, mark);
      c->writes += may_write(op);
   }
}

bool
tl_pass_cse(TlPassCx *cx, TlFunc *f)
{
   Cse c = {.arena = cx->scratch};
   if (cx->target) /* a quarter of the registers, of 4 bytes each */
      c.most_kept = cx->target->thread_registers;
   tl_map_init(&c.table, cx->scratch);
   visit_ops(&c, f->body->block);
   return c.progress;
}
