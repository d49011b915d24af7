/* Dead code: what no effect depends on goes, loop-carried values and `if` results included.
 * Mark: operations with effects are live; a live operation makes its operands and its parents live;
 * a live result or argument of a loop makes that one carried slot live, a live result of an `if`
 * that one yielded value.  Sweep: everything else is removed, last first, so that users go before
 * what they use. */
#include "ir/control.h"
#include "ir/walk.h"
#include "passes/pass.h"

#include <assert.h>

typedef struct Dce {
   TlFunc *func;
   TlArena *arena;
   bool *live;             /* by value id */
   TlMap live_ops;         /* TlOp * -> itself */
   TL_VEC(TlValue *) todo; /* live values whose definition is not looked at yet */
   bool progress;
} Dce;

static bool
is_root(const TlOp *op)
{
   uint32_t traits = tl_info(op)->traits;
   if (traits & TL_TRAIT_TERM)
      return op->opcode == TL_OP_RETURN;
   if (op->opcode == TL_OP_LOCAL_ALLOC) /* writes only what its result names */
      return false;
   if ((traits & TL_TRAIT_WRITE) || op->opcode == TL_OP_WHILE) /* a while may not end */
      return true;
   if (tl_has_attr(op, TL_ATTR_PURE) && !tl_attr_int(op, TL_ATTR_PURE))
      return true;
   return tl_has_attr(op, TL_ATTR_VOLATILE) && tl_attr_int(op, TL_ATTR_VOLATILE);
}

static void
mark_value(Dce *d, TlValue *v)
{
   if (d->live[v->id])
      return;
   d->live[v->id] = true;
   tl_vec_push(d->arena, &d->todo, v);
}

/* Slot-wise: only the bounds of a for and the condition of an if or while are needed at once. */
static void
mark_op(Dce *d, TlOp *op)
{
   for (; op && !tl_map_has(&d->live_ops, op); op = tl_parent(op)) {
      tl_map_put(&d->live_ops, op, op);
      bool has_slots = tl_is_branching(op);
      unsigned needed = has_slots ? tl_first_init(op) : op->num_args;
      for (unsigned i = 0; i < needed; i++)
         mark_value(d, tl_arg(op, i));
      if (op->opcode == TL_OP_WHILE)
         mark_value(d, tl_arg(op->regions[0]->block->last, 0));
      for (unsigned r = 0; r < op->num_regions && !has_slots; r++) {
         TlOp *end = op->regions[r]->block->last;
         for (unsigned i = 0; i < end->num_args; i++)
            mark_value(d, tl_arg(end, i));
      }
   }
}

/* Result i of a loop or if, or carried argument i of a loop. */
static void
mark_slot(Dce *d, TlOp *op, unsigned i)
{
   assert(tl_is_branching(op) && i < op->num_results);
   TlJoin join = tl_join(op, i);
   for (unsigned k = 0; k < join.num_in; k++)
      mark_value(d, join.in[k]);
}

static void
mark_from(Dce *d, TlValue *v)
{
   TlOp *op = v->def ? v->def : v->block->region->parent;
   if (!op)
      return; /* a parameter */
   mark_op(d, op);
   if (!tl_is_branching(op))
      return;
   if (v->def)
      mark_slot(d, op, v->index);
   else if (op->opcode != TL_OP_FOR || v != tl_for_index(op))
      mark_slot(d, op, v->index - tl_first_carried(op));
}

static void
mark_roots(Dce *d, const TlBlock *block)
{
   for (TlOp *op = block->first; op; op = tl_walk_next(op, block))
      if (is_root(op))
         mark_op(d, op);
}

/* ---- sweep ---- */
static bool
slot_is_live(const Dce *d, const TlOp *op, unsigned i)
{
   assert(i < op->num_results);
   TlJoin join = tl_join(op, i);
   for (unsigned k = 0; k < join.num_out; k++)
      if (d->live[join.out[k]->id])
         return true;
   return false;
}

/* Replaces op by one that keeps the live slots only; its regions move over. */
static void
shrink(Dce *d, TlOp *op)
{
   assert(tl_is_branching(op));
   unsigned kept = 0;
   for (unsigned i = 0; i < op->num_results; i++)
      kept += slot_is_live(d, op, i);
   TlBuilder b = tl_builder_before(op);
   bool is_loop = tl_is_loop(op);
   unsigned fixed = tl_first_init(op);
   TlOp *copy = tl_op_new(&b, op->opcode, fixed + (is_loop ? kept : 0), kept, 0);
   for (unsigned k = 0; k < tl_info(op)->num_attrs; k++)
      copy->attrs[k] = op->attrs[k];
   for (unsigned i = 0; i < fixed; i++)
      tl_set_arg(copy, i, tl_arg(op, i));
   unsigned to = 0;
   for (unsigned i = 0; i < op->num_results; i++) {
      if (!slot_is_live(d, op, i))
         continue;
      TlValue *result = tl_result(copy, to);
      result->type = op->results[i].type;
      result->name = op->results[i].name;
      if (is_loop)
         tl_set_init(copy, to, tl_init(op, i));
      if (op->results[i].uses)
         tl_replace_uses(tl_result(op, i), result);
      to++;
   }
   for (unsigned i = op->num_results; is_loop && i-- > 0;) {
      bool is_live = slot_is_live(d, op, i);
      for (unsigned r = 0; r < op->num_regions && !is_live; r++)
         tl_block_remove_arg(op->regions[r]->block, tl_first_carried(op) + i);
   }
   copy->regions = op->regions;
   copy->num_regions = op->num_regions;
   for (unsigned r = 0; r < copy->num_regions; r++)
      copy->regions[r]->parent = copy;
   op->num_regions = 0;
   tl_remove(op);
}

/* load(u + i) of an argument, for messages about what nothing reads. */
static void
note_unused(const Dce *d, const TlOp *load)
{
   TlFunc *f = d->func;
   const TlValue *base = tl_arg(load, 0);
   while (base->def && (base->def->opcode == TL_OP_ADDPTR || base->def->opcode == TL_OP_SPLAT ||
                        base->def->opcode == TL_OP_BROADCAST))
      base = tl_arg(base->def, 0);
   if (base->def || base->block != f->body->block)
      return;
   TlUnused *unused = tl_new(f->module->arena, TlUnused);
   *unused = (TlUnused){
      .arg = base->index, .range = load->range, .name = load->results[0].name, .next = f->unused};
   f->unused = unused;
}

static void sweep(Dce *d, TlBlock *block);

static void
sweep_slots(Dce *d, TlOp *op)
{
   bool any = false;
   for (unsigned i = op->num_results; i-- > 0;) {
      if (slot_is_live(d, op, i))
         continue;
      any = true;
      for (unsigned r = 0; r < op->num_regions; r++) {
         TlOp *end = op->regions[r]->block->last;
         tl_remove_arg(end, tl_first_yielded(end) + i);
      }
   }
   for (unsigned r = 0; r < op->num_regions; r++)
      sweep(d, op->regions[r]->block);
   if (any) {
      d->progress = true;
      shrink(d, op);
   }
}

static void
sweep(Dce *d, TlBlock *block)
{
   TlOp *prev;
   for (TlOp *op = block->last; op; op = prev) {
      prev = op->prev;
      if (tl_has_trait(op, TL_TRAIT_TERM))
         continue;
      if (!tl_map_has(&d->live_ops, op)) {
         if (op->opcode == TL_OP_LOAD && d->func->state == TL_STATE_TYPED)
            note_unused(d, op);
         tl_remove(op);
         d->progress = true;
      } else if (tl_is_branching(op)) {
         sweep_slots(d, op);
      } else {
         for (unsigned r = 0; r < op->num_regions; r++)
            sweep(d, op->regions[r]->block);
      }
   }
}

bool
tl_pass_dce(TlPassCx *cx, TlFunc *f)
{
   Dce d = {
      .func = f, .arena = cx->scratch, .live = tl_new_array(cx->scratch, bool, f->next_value_id)};
   tl_map_init(&d.live_ops, cx->scratch);
   mark_roots(&d, f->body->block);
   while (d.todo.len)
      mark_from(&d, tl_vec_pop(&d.todo));
   sweep(&d, f->body->block);
   return d.progress;
}
