/* Registers that nobody reads: an access of four elements needs one pointer, yet address arithmetic
 * was lowered for every element, and loops carry all of it, which no later stage can see to be
 * dead.
 *
 * Backward: which registers of every value are read, to a fixed point over loops.  Forward:
 * elementwise operations, picks, splats, constants and carried values keep those registers only,
 * renumbered.
 * Invariant: a value that is narrowed has only users that were renumbered: picks, elementwise
 * operations, and positions of control operations; every other user reads all registers. */
#include "ir/control.h"
#include "ir/walk.h"
#include "passes/pass.h"
#include "passes/pick.h"

#include <assert.h>
#include <string.h>

typedef struct Trim {
   TlPassCx *cx;
   TlFunc *func;
   TlTypes *types;
   uint64_t **used;     /* by value id: a bit for each register */
   uint32_t **rank;     /* by value id, once `used` is final: used registers before each word */
   uint32_t *old_count; /* by value id: registers before narrowing */
   uint32_t num_values;
   bool changed;
} Trim;

static bool
is_used(const Trim *t, const TlValue *v, uint32_t r)
{
   assert(v->id < t->num_values && r < t->old_count[v->id]);
   return t->used[v->id][r / 64] >> r % 64 & 1;
}

static void
use(Trim *t, const TlValue *v, uint32_t r)
{
   assert(v->id < t->num_values && r < t->old_count[v->id]);
   uint64_t bit = 1ull << r % 64, *word = &t->used[v->id][r / 64];
   t->changed |= !(*word & bit);
   *word |= bit;
}

static void
use_all(Trim *t, const TlValue *v)
{
   for (uint32_t r = 0; r < t->old_count[v->id]; r++)
      use(t, v, r);
}

/* What is read of `from` is read of `v`. */
static void
use_like(Trim *t, const TlValue *v, const TlValue *from)
{
   for (uint32_t r = 0; r < t->old_count[v->id]; r++)
      if (is_used(t, from, r))
         use(t, v, r);
}

static void
enter(void *user, const TlValue *v)
{
   Trim *t = user;
   assert(v->id < t->num_values && !t->used[v->id]);
   t->old_count[v->id] = tl_type_num_regs(v->type);
   t->used[v->id] = tl_new_array(t->cx->scratch, uint64_t, (tl_type_num_regs(v->type) + 63) / 64);
   t->used[v->id][0] = 1; /* no value is empty */
}

static bool
is_narrowable(const TlOp *op)
{
   return op->opcode == TL_OP_PICK || op->opcode == TL_OP_SPLAT || op->opcode == TL_OP_CONSTANT ||
          op->opcode == TL_OP_POISON || tl_has_trait(op, TL_TRAIT_ELTWISE);
}

/* ---- backward ---- */
/* In the old numbering. */
static TlPickSource *
pick_sources(const Trim *t, const TlOp *op)
{
   assert(op->opcode == TL_OP_PICK);
   uint32_t *count = tl_new_array(t->cx->scratch, uint32_t, op->num_args);
   for (unsigned a = 0; a < op->num_args; a++)
      count[a] = t->old_count[tl_arg(op, a)->id];
   return tl_pick_sources(t->cx->scratch, count, op->num_args);
}

static void
demand_pick(Trim *t, const TlOp *op)
{
   TlInts index = tl_attr_ints(op, TL_ATTR_INDEX);
   const TlPickSource *from = pick_sources(t, op);
   for (size_t r = 0; r < index.len; r++)
      if (is_used(t, tl_result(op, 0), (uint32_t)r))
         use(t, tl_arg(op, from[index.data[r]].arg), from[index.data[r]].reg);
}

static void demand_block(Trim *t, const TlBlock *block);

static void
demand_control(Trim *t, const TlOp *op)
{
   assert(tl_is_branching(op));
   for (unsigned i = 0; i < op->num_results; i++) {
      TlJoin join = tl_join(op, i);
      for (unsigned a = 0; a < join.num_out; a++) {
         for (unsigned b = 0; b < join.num_out; b++)
            use_like(t, join.out[b], join.out[a]);
         for (unsigned b = 0; b < join.num_in; b++)
            use_like(t, join.in[b], join.out[a]);
      }
   }
   for (unsigned i = op->num_regions; i-- > 0;)
      demand_block(t, op->regions[i]->block);
   for (unsigned i = 0; i < tl_first_init(op); i++)
      use_all(t, tl_arg(op, i));
}

static void
demand_block(Trim *t, const TlBlock *block)
{
   for (const TlOp *op = block->last; op; op = op->prev) {
      if (tl_is_branching(op)) {
         demand_control(t, op);
      } else if (op->opcode == TL_OP_YIELD) {
         continue; /* its parent's positions */
      } else if (op->opcode == TL_OP_CONDITION) {
         use_all(t, tl_arg(op, 0));
      } else if (op->opcode == TL_OP_PICK) {
         demand_pick(t, op);
      } else if (tl_has_trait(op, TL_TRAIT_ELTWISE)) {
         for (unsigned i = 0; i < op->num_args; i++)
            use_like(t, tl_arg(op, i), tl_result(op, 0));
      } else {
         for (unsigned i = 0; i < op->num_args; i++)
            use_all(t, tl_arg(op, i));
         for (unsigned i = 0; i < op->num_results && !is_narrowable(op); i++)
            use_all(t, tl_result(op, i));
         for (unsigned i = op->num_regions; i-- > 0;)
            demand_block(t, op->regions[i]->block);
      }
   }
}

/* ---- forward ---- */
static void
count_used(void *user, const TlValue *v)
{
   Trim *t = user;
   uint32_t words = (t->old_count[v->id] + 63) / 64;
   uint32_t *rank = tl_new_array(t->cx->scratch, uint32_t, words + 1);
   for (uint32_t w = 0; w < words; w++)
      rank[w + 1] = rank[w] + (uint32_t)__builtin_popcountll(t->used[v->id][w]);
   t->rank[v->id] = rank;
}

static uint32_t
kept(const Trim *t, const TlValue *v)
{
   return t->rank[v->id][(t->old_count[v->id] + 63) / 64];
}

/* Number of old register r of v among those kept. */
static uint32_t
renumbered(const Trim *t, const TlValue *v, uint32_t r)
{
   assert(is_used(t, v, r) && "its register stays");
   uint64_t before = t->used[v->id][r / 64] & ((1ull << r % 64) - 1);
   return t->rank[v->id][r / 64] + (uint32_t)__builtin_popcountll(before);
}

static void
narrow_type(Trim *t, TlValue *v)
{
   uint32_t n = kept(t, v);
   if (n != t->old_count[v->id]) {
      v->type = tl_type_regs(t->types, tl_type_elem(v->type), n);
      t->changed = true;
   }
}

/* The registers of v that `like` keeps, before `where`; v may keep more. */
static TlValue *
matching(Trim *t, TlValue *v, const TlValue *like, TlOp *where)
{
   uint32_t n = kept(t, like);
   if (t->old_count[v->id] != t->old_count[like->id] || kept(t, v) == n)
      return v; /* the same set, since v keeps at least these */
   int64_t *index = tl_new_array(t->cx->scratch, int64_t, n);
   uint32_t k = 0;
   for (uint32_t r = 0; r < t->old_count[like->id]; r++)
      if (is_used(t, like, r))
         index[k++] = renumbered(t, v, r);
   TlBuilder b = tl_builder_before(where);
   const TlInts *ints = tl_ints(t->func->module->arena, index, n);
   return tl_t1(&b, TL_OP_PICK, tl_type_regs(t->types, tl_type_elem(v->type), n), v,
                {TL_ATTR_INDEX, {.ints = ints}});
}

static void
narrow_pick(Trim *t, TlOp *op)
{
   assert(op->opcode == TL_OP_PICK);
   TlValue *out = tl_result(op, 0);
   TlInts index = tl_attr_ints(op, TL_ATTR_INDEX);
   int64_t *now = tl_new_array(t->cx->scratch, int64_t, index.len);
   int64_t *base = tl_new_array(t->cx->scratch, int64_t, op->num_args);
   bool *is_read = tl_new_array(t->cx->scratch, bool, op->num_args);
   const TlPickSource *from = pick_sources(t, op);
   uint32_t n = 0, total = 0;
   for (size_t r = 0; r < index.len; r++)
      if (is_used(t, out, (uint32_t)r))
         is_read[from[index.data[r]].arg] = true;
   for (unsigned a = 0; a < op->num_args; a++) {
      base[a] = total;
      total += is_read[a] ? kept(t, tl_arg(op, a)) : 0;
   }
   bool moved = false;
   for (size_t r = 0; r < index.len; r++) {
      if (!is_used(t, out, (uint32_t)r))
         continue;
      TlPickSource at = from[index.data[r]];
      now[n] = base[at.arg] + renumbered(t, tl_arg(op, at.arg), at.reg);
      moved |= now[n] != index.data[n];
      n++;
   }
   if (moved || n != index.len)
      tl_attr(op, TL_ATTR_INDEX)->ints = tl_ints(t->func->module->arena, now, n);
   for (unsigned a = op->num_args; a-- > 0;)
      if (!is_read[a])
         tl_remove_arg(op, a);
   narrow_type(t, out);
}

static void narrow_block(Trim *t, TlBlock *block);

static void
narrow_control(Trim *t, TlOp *op)
{
   assert(tl_is_branching(op));
   for (unsigned i = 0; i < op->num_results; i++) {
      TlJoin join = tl_join(op, i);
      for (unsigned a = 0; a < join.num_out; a++)
         narrow_type(t, join.out[a]);
      if (tl_is_loop(op))
         tl_set_init(op, i, matching(t, tl_init(op, i), tl_result(op, i), op));
   }
   for (unsigned k = 0; k < op->num_regions; k++) {
      TlBlock *block = op->regions[k]->block;
      narrow_block(t, block);
      for (unsigned i = 0; i < op->num_results; i++)
         tl_set_yielded(block, i, matching(t, tl_yielded(block, i), tl_result(op, i), block->last));
   }
}

static void
narrow_block(Trim *t, TlBlock *block)
{
   for (TlOp *op = block->first, *next; op; op = next) {
      next = op->next;
      if (tl_is_branching(op)) {
         narrow_control(t, op);
      } else if (op->opcode == TL_OP_PICK) {
         narrow_pick(t, op);
      } else if (is_narrowable(op)) {
         TlValue *out = tl_result(op, 0);
         if (tl_has_trait(op, TL_TRAIT_ELTWISE))
            for (unsigned i = 0; i < op->num_args; i++)
               tl_set_arg(op, i, matching(t, tl_arg(op, i), out, op));
         narrow_type(t, out);
      } else {
         for (unsigned i = 0; i < op->num_regions; i++)
            narrow_block(t, op->regions[i]->block);
      }
   }
}

/* Picks and splats that became the identity. */
static void
drop_identities(const TlBlock *block)
{
   for (TlOp *op = tl_walk_inner(block), *next; op; op = next) {
      next = tl_walk_inner_next(op, block);
      bool same = false;
      if (op->opcode == TL_OP_SPLAT) {
         same = tl_arg(op, 0)->type == tl_result(op, 0)->type;
      } else if (op->opcode == TL_OP_PICK && op->num_args == 1) {
         TlInts index = tl_attr_ints(op, TL_ATTR_INDEX);
         same = tl_arg(op, 0)->type == tl_result(op, 0)->type;
         for (size_t r = 0; r < index.len && same; r++)
            same = index.data[r] == (int64_t)r;
      }
      if (same) {
         tl_replace_uses(tl_result(op, 0), tl_arg(op, 0));
         tl_remove(op);
      }
   }
}

bool
tl_pass_trim_registers(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_LOWERED);
   Trim t = {.cx = cx, .func = f, .types = f->module->types, .num_values = f->next_value_id};
   t.used = tl_new_array(cx->scratch, uint64_t *, t.num_values);
   t.old_count = tl_new_array(cx->scratch, uint32_t, t.num_values);
   tl_walk_values(f->body->block, enter, &t);
   do {
      t.changed = false;
      demand_block(&t, f->body->block);
   } while (t.changed);
   t.changed = false;
   t.rank = tl_new_array(cx->scratch, uint32_t *, t.num_values);
   tl_walk_values(f->body->block, count_used, &t);
   narrow_block(&t, f->body->block);
   if (t.changed)
      drop_identities(f->body->block);
   return t.changed;
}
