/* Pipelined loops turned so that multiplication does not stop at their top.
 *
 * As lowered, an iteration begins with a wait, a barrier, the copies for a later iteration and the
 * loads of the first fragments; the matrix units have nothing to do meanwhile.  Turned:
 *
 *    before:   wait, first fragments of iteration 0
 *    for:      multiply the first fragments, carried in registers
 *              copies for a later iteration
 *              the rest but the last multiplication, whose fragments are loaded already
 *              wait, [barrier,] first fragments of the next iteration
 *              the last multiplication
 *
 * The loads of the last iteration read what its copies left: zeros where there is no iteration.
 * Invariant: the wait and the copies meet in the same order as before, so numbers of groups stay;
 * all fragments of an iteration are loaded before the wait in it, so that the barrier there also
 * lets the copies of the next iteration overwrite them. */
#include "ir/control.h"
#include "ir/walk.h"
#include "passes/live_words.h"
#include "passes/pipeline_loops.h"

#include <assert.h>

typedef struct Turn {
   TlPassCx *cx;
   TlOp *loop;
   TlBlock *body;
   TlOp *wait;               /* at the top */
   TlOp *first, *last;       /* multiplications .. */
   unsigned num_products;    /* .. of so many */
   TL_VEC(TlOp *) fragments; /* ring loads for `first` */
   TlMap needed;             /* pure operations of the body that their addresses need */
   TL_VEC(TlOp *) ops;       /* the same in program order, then the fragments */
   unsigned words;           /* registers that the turned loop will need */
} Turn;

/* Of 255 registers, how many may be taken by the values carried around the loop, those that live
 * through it and the fragments of two products for the loop to be turned, and for its copies to be
 * delayed, which keep addresses and masks alive longer.  Held to what ptxas makes of matmul: with
 * delayed copies 248 spills 48 to 88 bytes and 245 nothing, without them 251 nothing.  Copies of a
 * loop of two products stay as well: a third block on a multiprocessor is worth more.
 *
 * And what the body needs at once, as tl_peak_words counts: where that is 349, turned attention of
 * two warps spills 48 bytes; its gradient with 414 spilled 352 turned and 248 as it was. */
enum { MOST_WORDS = 252, MOST_WORDS_OF_DELAYED_COPIES = 246, MOST_PRODUCTS_BESIDE_COPIES = 2 };
enum { MOST_WORDS_OF_BODY = 380 };

static bool
is_ring_read(const TlOp *op)
{
   TlExtent e;
   return (op->opcode == TL_OP_LDMATRIX || op->opcode == TL_OP_LD_SHARED) &&
          tl_attr_extent(op, &e) && e.stages > 0;
}

static bool
is_copy(const TlOp *op)
{
   return op->opcode == TL_OP_CP_ASYNC || op->opcode == TL_OP_CP_ASYNC_COMMIT;
}

/* A copy to the stage that this iteration reads: it must stay behind the last reading. */
static bool
refills(const TlOp *op)
{
   TlExtent e;
   return op->opcode == TL_OP_CP_ASYNC && tl_attr_extent(op, &e) && e.phase == 0;
}

/* Wait, pure operations, copies and fragment loads, a multiplication; then no copies. */
static bool
find_parts(Turn *t)
{
   for (TlOp *op = t->body->first; op; op = op->next) {
      if (op->opcode == TL_OP_MMA) {
         t->first = t->first ? t->first : op;
         t->last = op;
         t->num_products++;
      } else if (op->opcode == TL_OP_CP_ASYNC_WAIT && !t->wait) {
         t->wait = op;
      } else if (is_copy(op)) {
         if (t->first || !t->wait || refills(op))
            return false;
      } else if (!t->first && !tl_op_is_pure(op) && !(t->wait && is_ring_read(op)) &&
                 op->opcode != TL_OP_LDMATRIX) {
         return false;
      }
   }
   return t->wait && t->first != t->last;
}

/* Nothing of shared memory happens from the last multiplication on. */
static bool
ends_in_registers(const Turn *t)
{
   for (const TlOp *op = t->last->next; op; op = op->next)
      if (!tl_op_is_pure(op) && op->opcode != TL_OP_YIELD)
         return false;
   return true;
}

static bool
is_inside(const Turn *t, const TlOp *op)
{
   return op && op->block == t->body;
}

static void
find_fragments(Turn *t)
{
   TL_VEC(TlValue *) todo = {0};
   for (unsigned i = 0; i < 2; i++)
      tl_vec_push(t->cx->scratch, &todo, tl_arg(t->first, i));
   while (todo.len) {
      TlOp *op = tl_vec_pop(&todo)->def;
      if (!is_inside(t, op) || tl_map_has(&t->needed, op))
         continue;
      if (is_ring_read(op)) {
         tl_map_put(&t->needed, op, op);
         tl_vec_push(t->cx->scratch, &t->fragments, op);
      } else if (op->opcode == TL_OP_PICK) {
         for (unsigned i = 0; i < op->num_args; i++)
            tl_vec_push(t->cx->scratch, &todo, tl_arg(op, i));
      }
   }
}

/* What the addresses of the fragments need of the body: pure operations on carried values whose
 * next values are known before the last multiplication. */
static bool
find_needed(Turn *t)
{
   TL_VEC(TlValue *) todo = {0};
   for (size_t i = 0; i < t->fragments.len; i++)
      tl_vec_push(t->cx->scratch, &todo, tl_arg(t->fragments.data[i], 0));
   while (todo.len) {
      TlValue *v = tl_vec_pop(&todo);
      if (!v->def) {
         if (v->block != t->body)
            continue;
         if (v == tl_for_index(t->loop) ||
             !tl_value_dominates(tl_yielded(t->body, v->index - tl_first_carried(t->loop)),
                                 t->last))
            return false;
         continue;
      }
      if (!is_inside(t, v->def) || tl_map_has(&t->needed, v->def))
         continue;
      if (!tl_op_is_pure(v->def) || v->def->num_regions)
         return false;
      tl_map_put(&t->needed, v->def, v->def);
      for (unsigned i = 0; i < v->def->num_args; i++)
         tl_vec_push(t->cx->scratch, &todo, tl_arg(v->def, i));
   }
   for (TlOp *op = t->body->first; op; op = op->next)
      if (tl_map_has(&t->needed, op))
         tl_vec_push(t->cx->scratch, &t->ops, op);
   return true;
}

/* Registers of a fragment as whole words: narrower ones would be taken apart to be carried. */
static TlValue *
as_words(TlBuilder *b, TlValue *v)
{
   unsigned bits = tl_dtype_info[tl_type_elem(v->type)->dtype].bits;
   if (v->type->kind != TL_TYPE_REGS || bits >= 32)
      return v;
   TlTypes *types = b->module->types;
   const TlType *words =
      tl_type_regs(types, tl_type_scalar(types, TL_I32), v->type->count * bits / 32);
   return tl_t1(b, TL_OP_REPACK, words, v);
}

static TlValue *
from_words(TlBuilder *b, const TlType *type, TlValue *words)
{
   return words->type == type ? words : tl_t1(b, TL_OP_REPACK, type, words);
}

/* Waits for and loads the fragments of the first iteration, or, `ahead`, of the next one. */
static void
load_fragments(Turn *t, TlBuilder *b, bool ahead, TlValue **out)
{
   TlMap map;
   tl_map_init(&map, t->cx->scratch);
   for (unsigned i = 0; i < t->loop->num_results; i++)
      tl_map_put(&map, tl_carried(t->body, i),
                 ahead ? tl_yielded(t->body, i) : tl_init(t->loop, i));
   tl_clone_op(b, t->wait, &map);
   unsigned n = 0;
   for (size_t i = 0; i < t->ops.len; i++) {
      TlOp *op = tl_clone_op(b, t->ops.data[i], &map);
      if (!is_ring_read(op))
         continue;
      TlExtent e;
      tl_attr_extent(op, &e);
      e.phase += ahead;
      tl_attr(op, TL_ATTR_EXTENT)->ints = tl_extent_ints(b->module->arena, e);
      out[n++] = as_words(b, tl_result(op, 0));
   }
}

/* Does an operation up to the first multiplication, not moved, use a result? */
static bool
is_used_early(const TlOp *op, const TlMap *early)
{
   for (unsigned i = 0; i < op->num_results; i++)
      for (const TlUse *u = tl_result(op, i)->uses; u; u = u->next)
         if (tl_map_get(early, u->user))
            return true;
   return false;
}

/* Copies, and what only they and later operations need, after the first multiplication: the matrix
 * units are busy while they are issued, and fewer registers live at it. */
static void
delay_copies(Turn *t)
{
   TlMap early;
   tl_map_init(&early, t->cx->scratch);
   for (TlOp *op = t->first; op != t->wait; op = op->prev)
      tl_map_put(&early, op, op);
   TlOp *where = t->first->next;
   for (TlOp *op = t->first->prev, *prev; op != t->wait; op = prev) {
      prev = op->prev;
      bool is_late =
         is_copy(op) || (tl_op_is_pure(op) && !op->num_regions && !is_used_early(op, &early));
      if (!is_late)
         continue;
      tl_move_before(op, where);
      tl_map_put(&early, op, NULL);
      where = op;
   }
}

/* Registers that hold v outside of the loop; what can be made again from others costs nothing. */
static unsigned
words_outside(const TlValue *v)
{
   const TlOp *op = v->def;
   if (op &&
       (op->opcode == TL_OP_CONSTANT || op->opcode == TL_OP_SPLAT || op->opcode == TL_OP_PICK))
      return 0; /* their operands are counted */
   return tl_words_of(v->type);
}

/* Is v, made before the loop, used in it or after it?  What the loop takes over does not count. */
static bool
lives_through(const TlValue *v, const TlOp *loop, const TlMap *before)
{
   for (const TlUse *u = v->uses; u; u = u->next) {
      const TlOp *op = tl_in_block(u->user, loop->block);
      if (!op || (u->user != loop && !tl_map_has(before, op)))
         return true;
      if (op == loop && u->user != loop)
         return true;
      bool is_moved = op != loop && (op->opcode == TL_OP_SPLAT || op->opcode == TL_OP_PICK);
      for (unsigned i = 0; is_moved && i < op->num_results; i++)
         if (lives_through(tl_result(op, i), loop, before))
            return true;
   }
   return false;
}

/* Words of values made before the loop in its block and needed later. */
static unsigned
words_through(const Turn *t)
{
   TlMap before;
   unsigned sum = 0;
   tl_map_init(&before, t->cx->scratch);
   for (const TlOp *op = t->loop; op; op = op->prev)
      tl_map_put(&before, op, (void *)1);
   for (const TlOp *op = t->loop->prev; op; op = op->prev)
      for (unsigned i = 0; i < op->num_results; i++)
         if (lives_through(tl_result(op, i), t->loop, &before))
            sum += words_outside(tl_result(op, i));
   return sum;
}

static unsigned
words_in_loop(const Turn *t)
{
   unsigned sum = words_through(t);
   for (unsigned i = 0; i < t->loop->num_results; i++)
      sum += tl_words_of(tl_carried(t->body, i)->type);
   for (size_t i = 0; i < t->fragments.len; i++)
      sum += 2 * tl_words_of(tl_result(t->fragments.data[i], 0)->type);
   return sum;
}

static void
turn(Turn *t)
{
   unsigned n = (unsigned)t->fragments.len, old_results = t->loop->num_results;
   TlValue **now = tl_new_array(t->cx->scratch, TlValue *, n);
   TlValue **next = tl_new_array(t->cx->scratch, TlValue *, n);
   TlBuilder before = tl_builder_before(t->loop), end = tl_builder_before(t->last);
   load_fragments(t, &before, false, now);
   load_fragments(t, &end, true, next);
   if (t->num_products > MOST_PRODUCTS_BESIDE_COPIES && t->words <= MOST_WORDS_OF_DELAYED_COPIES)
      delay_copies(t);
   tl_remove(t->wait);
   TlOp *loop = tl_with_more(&before, t->loop, now, n);
   TlBlock *body = loop->regions[0]->block;
   while (t->body->first)
      tl_move_to_end(t->body->first, body);
   for (unsigned i = 0; i < t->body->num_args; i++)
      tl_replace_uses(t->body->args[i], body->args[i]);
   n = 0;
   for (size_t i = 0; i < t->ops.len; i++) {
      TlOp *op = t->ops.data[i];
      if (!is_ring_read(op))
         continue;
      TlBuilder b = tl_builder_before(op);
      TlValue *words = tl_carried(body, old_results + n);
      tl_replace_uses(tl_result(op, 0), from_words(&b, tl_result(op, 0)->type, words));
      tl_append_arg(body->last, next[n++]);
      tl_remove(op);
   }
   for (unsigned i = 0; i < old_results; i++)
      tl_replace_uses(tl_result(t->loop, i), tl_result(loop, i));
   tl_remove(t->loop);
}

static bool
visit_loop(TlPassCx *cx, TlOp *loop)
{
   Turn t = {.cx = cx, .loop = loop, .body = loop->regions[0]->block};
   if (!find_parts(&t) || !ends_in_registers(&t))
      return false;
   tl_map_init(&t.needed, cx->scratch);
   find_fragments(&t);
   if (!t.fragments.len || !find_needed(&t))
      return false;
   t.words = words_in_loop(&t);
   if (t.words > MOST_WORDS || tl_peak_words(cx->scratch, t.body) > MOST_WORDS_OF_BODY)
      return false;
   turn(&t);
   return true;
}

bool
tl_pass_rotate_loops(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_LOWERED);
   bool changed = false;
   const TlBlock *body = f->body->block;
   for (TlOp *op = tl_walk_inner(body), *next; op; op = next) {
      next = tl_walk_inner_next(op, body);
      if (op->opcode == TL_OP_FOR)
         changed |= visit_loop(cx, op);
   }
   return changed;
}
