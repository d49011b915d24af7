/* Values that only the code after a loop reads, computed there.
 *
 *    %at = addptr %p, %row : regs<ptr<fp16>, 16>
 *    for ..                                          // 32 registers held for nothing
 *    st_global %at, ..                               // becomes  %at = ..  behind the loop
 *
 * Sources compute rows, masks and pointers of what they store at the top, and loops of products
 * need every register: attention of two warps held 48 around both of its loops.  An operation goes
 * to the first reader of its results where a loop lies between and the results take more registers
 * than the operands that must then live longer; masks, whose truths would be packed into a word and
 * taken out again, also where it is even.  Operands cost nothing that live anyway, and no more than
 * theirs where they can follow.
 *
 * Refused: what a loop on the way reads, what only moves the cost to the operands.  Operations are
 * visited from the last to the first and go down alone, so the pass ends. */
#include "ir/control.h"
#include "ir/walk.h"
#include "passes/live_words.h"
#include "passes/pass.h"

#include <assert.h>

enum { MAX_DEPTH = 6 }; /* of operands of operands that are asked what they cost */

typedef struct Sink {
   TlArena *arena;
   const TlBlock *block;
   bool is_repeated;      /* values from outside live through the block */
   TlMap place;           /* const TlOp * -> its place in the block + 1 */
   TlMap last_use;        /* const TlValue * -> the place of its last reader + 1 */
   TL_VEC(TlOp *) first;  /* by place: the first operation there; what has moved comes before */
   TL_VEC(uint32_t) loop; /* by place: of the last loop before, + 1 */
} Sink;

static uint32_t
get(const TlMap *map, const void *key)
{
   return (uint32_t)(uintptr_t)tl_map_get(map, key);
}

static void
put(TlMap *map, const void *key, uint32_t n)
{
   tl_map_put(map, key, (void *)(uintptr_t)n);
}

/* Where the reader, or the operation around it, stands in the block, + 1. */
static uint32_t
place_of(const Sink *s, TlOp *reader)
{
   return get(&s->place, tl_in_block(reader, s->block));
}

/* Registers that come from others and take none: a choice among them, one several times. */
static bool
is_alias(const TlOp *op)
{
   return op->opcode == TL_OP_PICK || op->opcode == TL_OP_SPLAT;
}

static bool
is_truth(const TlType *t)
{
   const TlType *e = tl_type_elem(t);
   return e->kind == TL_TYPE_SCALAR && e->dtype == TL_I1;
}

static uint32_t
own_words(const TlType *t)
{
   return is_truth(t) ? (tl_type_num_regs(t) + 31) / 32 : tl_words_of(t);
}

static uint32_t
words_of(const TlValue *v)
{
   uint32_t words = own_words(v->type), sources = 0;
   if (!v->def || !is_alias(v->def))
      return words;
   for (unsigned i = 0; i < v->def->num_args; i++)
      if (!tl_value_is(tl_arg(v->def, i), TL_OP_CONSTANT))
         sources += own_words(tl_arg(v->def, i)->type);
   return sources < words ? sources : words;
}

static bool
can_move(const TlOp *op)
{
   return op && op->num_args && op->num_results && !op->num_regions && tl_op_is_pure(op);
}

/* Registers more that are taken in the loop at `place` when v is read behind it. */
static uint32_t
cost_of(const Sink *s, const TlValue *v, uint32_t place, unsigned depth)
{
   bool is_parameter = !v->def && !tl_value_block(v)->region->parent;
   bool is_outer = tl_value_block(v) != s->block;
   if (is_parameter || tl_value_is(v, TL_OP_CONSTANT) || (is_outer && s->is_repeated) ||
       get(&s->last_use, v) >= place)
      return 0;
   uint32_t words = words_of(v), sources = 0;
   bool follows = can_move(v->def) && (is_alias(v->def) || !v->uses->next);
   if (is_outer || !follows || depth == MAX_DEPTH)
      return words;
   for (unsigned i = 0; i < v->def->num_args && sources < words; i++)
      sources += cost_of(s, tl_arg(v->def, i), place, depth + 1);
   return sources < words ? sources : words;
}

/* The place of the first reader of op's results, + 1; 0: there is none in the block. */
static uint32_t
first_reader(const Sink *s, const TlOp *op)
{
   uint32_t first = 0;
   for (unsigned i = 0; i < op->num_results; i++)
      for (const TlUse *u = tl_result(op, i)->uses; u; u = u->next) {
         uint32_t at = place_of(s, u->user);
         first = !first || at < first ? at : first;
      }
   return first;
}

static bool
sink(Sink *s, TlOp *op)
{
   uint32_t at = can_move(op) ? first_reader(s, op) : 0, words = 0, cost = 0;
   uint32_t loop = at ? s->loop.data[at - 1] : 0;
   if (loop <= get(&s->place, op))
      return false;
   for (unsigned i = 0; i < op->num_results; i++)
      words += words_of(tl_result(op, i));
   for (unsigned i = 0; i < op->num_args; i++)
      cost += cost_of(s, tl_arg(op, i), loop, 0);
   bool is_even = is_alias(op) || is_truth(tl_result(op, 0)->type);
   if (cost > words || (cost == words && !is_even))
      return false;
   tl_move_before(op, s->first.data[at - 1]);
   s->first.data[at - 1] = op;
   put(&s->place, op, at);
   for (unsigned i = 0; i < op->num_args; i++)
      if (get(&s->last_use, tl_arg(op, i)) < at)
         put(&s->last_use, tl_arg(op, i), at);
   return true;
}

static bool
sink_in(TlArena *arena, TlBlock *block)
{
   const TlOp *parent = block->region->parent;
   Sink s = {.arena = arena, .block = block, .is_repeated = parent && tl_is_loop(parent)};
   bool changed = false;
   uint32_t loop = 0;
   tl_map_init(&s.place, arena);
   tl_map_init(&s.last_use, arena);
   for (TlOp *op = block->first; op; op = op->next) {
      tl_vec_push(arena, &s.first, op);
      tl_vec_push(arena, &s.loop, loop);
      put(&s.place, op, (uint32_t)s.first.len);
      loop = tl_is_loop(op) ? (uint32_t)s.first.len : loop;
   }
   if (!loop)
      return false;
   for (TlOp *op = block->first; op; op = tl_walk_next(op, block))
      for (unsigned i = 0; i < op->num_args; i++)
         put(&s.last_use, tl_arg(op, i), place_of(&s, op));
   for (TlOp *op = block->last, *before; op; op = before) {
      before = op->prev;
      changed |= sink(&s, op);
   }
   return changed;
}

bool
tl_pass_sink_values(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_LOWERED);
   TlBlock *body = f->body->block;
   bool changed = sink_in(cx->scratch, body);
   for (TlOp *op = body->first; op; op = tl_walk_next(op, body))
      for (unsigned r = 0; r < op->num_regions; r++)
         changed |= sink_in(cx->scratch, op->regions[r]->block);
   return changed;
}
