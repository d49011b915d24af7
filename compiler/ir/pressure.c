/* Live ranges over the structured IR, in one walk each way.
 *
 * Operations are numbered as they are printed; a value lives from its definition to its last use.
 * A use inside a loop of a value made outside is one at the loop's end, as the next iteration has
 * it again. */
#include "ir/pressure.h"

#include "ir/control.h"
#include "ir/walk.h"

typedef struct Walk {
   TlArena *arena;
   const TlFunc *func;
   const uint32_t *words;
   TL_VEC(const TlOp *) ops; /* by number */
   TlMap number;             /* const TlOp * -> its number + 1 */
   uint32_t *last;           /* by number: of the last operation inside */
   uint32_t *death;          /* by value id: number of the last use */
   int64_t *change;          /* by number: words that begin to live less those that end */
} Walk;

static void
number_ops(Walk *w, const TlBlock *top)
{
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      tl_vec_push(w->arena, &w->ops, op);
      tl_map_put(&w->number, op, (void *)(uintptr_t)w->ops.len);
   }
}

static uint32_t
number_of(const Walk *w, const TlOp *op)
{
   return (uint32_t)(uintptr_t)tl_map_get(&w->number, op) - 1;
}

/* Where a value of `home` that is needed at `at` inside op is needed last. */
static uint32_t
seen_from(const Walk *w, const TlOp *op, const TlBlock *home, uint32_t at)
{
   for (; op && op->block != home; op = tl_parent(op)) {
      const TlOp *parent = tl_parent(op);
      if (parent && tl_is_loop(parent) && at < w->last[number_of(w, parent)])
         at = w->last[number_of(w, parent)];
   }
   return at;
}

static bool
is_made_again(const Walk *w, const TlOp *op)
{
   for (unsigned i = 0; i < op->num_results; i++)
      if (w->words[tl_result(op, i)->id])
         return false;
   return op->num_results && !op->num_regions && tl_op_is_pure(op);
}

static void
find_deaths(Walk *w)
{
   for (uint32_t n = (uint32_t)w->ops.len; n-- > 0;) {
      const TlOp *op = w->ops.data[n];
      uint32_t at = n;
      for (unsigned i = 0; is_made_again(w, op) && i < op->num_results; i++)
         if (w->death[tl_result(op, i)->id] > at)
            at = w->death[tl_result(op, i)->id];
      for (unsigned i = 0; i < op->num_args; i++) {
         const TlValue *v = tl_arg(op, i);
         uint32_t seen = seen_from(w, op, tl_value_block(v), at);
         if (seen > w->death[v->id])
            w->death[v->id] = seen;
      }
   }
}

static void
live(Walk *w, const TlValue *v, uint32_t birth)
{
   if (w->death[v->id] <= birth)
      return;
   w->change[birth] += w->words[v->id];
   w->change[w->death[v->id]] -= w->words[v->id];
}

static void
find_changes(Walk *w)
{
   tl_map_init(&w->number, w->arena);
   number_ops(w, w->func->body->block);
   w->last = tl_new_array(w->arena, uint32_t, w->ops.len + 1);
   w->death = tl_new_array(w->arena, uint32_t, w->func->next_value_id);
   w->change = tl_new_array(w->arena, int64_t, w->ops.len + 1);
   for (uint32_t n = (uint32_t)w->ops.len; n-- > 0;) {
      const TlOp *parent = tl_parent(w->ops.data[n]);
      w->last[n] = w->last[n] > n ? w->last[n] : n;
      if (parent && w->last[number_of(w, parent)] < w->last[n])
         w->last[number_of(w, parent)] = w->last[n];
   }
   find_deaths(w);
   for (uint32_t n = 0; n < w->ops.len; n++) {
      const TlOp *op = w->ops.data[n];
      for (unsigned i = 0; i < op->num_results; i++)
         live(w, tl_result(op, i), w->last[n]);
      for (unsigned r = 0; r < op->num_regions; r++)
         for (unsigned i = 0; i < op->regions[r]->block->num_args; i++)
            live(w, op->regions[r]->block->args[i], n);
   }
}

/* Only operations with an effect count where `held` is true. */
static uint32_t
most_words(TlArena *arena, const TlFunc *f, const uint32_t *words, bool held, const TlOp **at)
{
   Walk w = {.arena = arena, .func = f, .words = words};
   int64_t now = 0, most = 0;
   find_changes(&w);
   for (uint32_t n = 0; n < w.ops.len; n++) {
      now += w.change[n];
      if (now > most && !(held && tl_op_is_pure(w.ops.data[n]))) {
         most = now;
         if (at)
            *at = w.ops.data[n];
      }
   }
   return (uint32_t)most;
}

TlMap *
tl_live_words(TlArena *arena, const TlFunc *f, const uint32_t *words)
{
   Walk w = {.arena = arena, .func = f, .words = words};
   TlMap *live = tl_new(arena, TlMap);
   int64_t now = 0;
   tl_map_init(live, arena);
   find_changes(&w);
   for (uint32_t n = 0; n < w.ops.len; n++) {
      now += w.change[n];
      tl_map_put(live, w.ops.data[n], (void *)(uintptr_t)now);
   }
   return live;
}

uint32_t
tl_pressure(TlArena *arena, const TlFunc *f, const uint32_t *words, const TlOp **at)
{
   return most_words(arena, f, words, false, at);
}

uint32_t
tl_held_words(TlArena *arena, const TlFunc *f, const uint32_t *words)
{
   return most_words(arena, f, words, true, NULL);
}

/* ---- words of machine registers ---- */
static bool
is_constant(const TlValue *v)
{
   const TlOp *op = v->def;
   if (!op || op->opcode == TL_OP_CONSTANT)
      return op != NULL;
   if (op->opcode != TL_OP_PICK && op->opcode != TL_OP_SPLAT)
      return false;
   for (unsigned i = 0; i < op->num_args; i++)
      if (!tl_value_is(tl_arg(op, i), TL_OP_CONSTANT))
         return false;
   return true;
}

/* Read by nothing but the next elementwise operation of a chain, or the halves of a reduction's
 * tree: a few registers at a time go through it. */
static bool
is_in_chain(const TlValue *v)
{
   bool is_link = tl_has_trait(v->def, TL_TRAIT_ELTWISE);
   if (!v->uses || v->type->kind != TL_TYPE_REGS || (!is_link && v->def->opcode != TL_OP_LD_GLOBAL))
      return false;
   for (const TlUse *u = v->uses; u; u = u->next) {
      bool is_half = is_link && u->user->opcode == TL_OP_PICK;
      const TlOp *next =
         is_half && tl_result(u->user, 0)->uses ? tl_result(u->user, 0)->uses->user : u->user;
      if (next->block != v->def->block || !tl_has_trait(next, TL_TRAIT_ELTWISE) ||
          (!is_half && v->uses->next))
         return false;
   }
   return true;
}

static uint32_t
lowered_words(const TlValue *v)
{
   const TlOp *op = v->def;
   const TlType *elem = tl_type_elem(v->type);
   if (elem->kind != TL_TYPE_PTR && elem->kind != TL_TYPE_SCALAR)
      return 0;
   if (op) {
      bool is_offset = (op->opcode == TL_OP_ADDPTR || op->opcode == TL_OP_ADD) &&
                       v->type->kind == TL_TYPE_REGS && is_constant(tl_arg(op, 1));
      if (is_offset || op->opcode == TL_OP_PICK || op->opcode == TL_OP_SPLAT ||
          op->opcode == TL_OP_CONSTANT || is_in_chain(v))
         return 0;
   }
   unsigned bits = elem->kind == TL_TYPE_PTR ? 64 : tl_dtype_info[elem->dtype].bits;
   unsigned count = v->type->kind == TL_TYPE_REGS ? v->type->count : 1;
   return (count * bits + 31) / 32;
}

static void
fill_words(void *words, const TlValue *v)
{
   ((uint32_t *)words)[v->id] = lowered_words(v);
}

const uint32_t *
tl_lowered_words(TlArena *arena, const TlFunc *f)
{
   uint32_t *words = tl_new_array(arena, uint32_t, f->next_value_id);
   tl_walk_values(f->body->block, fill_words, words);
   for (unsigned i = 0; i < f->body->block->num_args; i++)
      words[f->body->block->args[i]->id] = 0; /* parameters lie in constant memory */
   return words;
}
