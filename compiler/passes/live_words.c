/* Registers alive, by one walk from the end of a block to its beginning. */
#include "passes/live_words.h"

#include "ir/pressure.h"
#include "ir/walk.h"

typedef struct Live {
   const TlBlock *body;
   TlMap alive;
   unsigned words;
} Live;

unsigned
tl_words_of(const TlType *t)
{
   if (t->kind == TL_TYPE_TILE || t->kind == TL_TYPE_REGS) {
      const TlType *e = t->elem;
      uint32_t count = t->kind == TL_TYPE_REGS ? t->count : tl_ll_num_regs(t->layout);
      unsigned bits = e->kind == TL_TYPE_PTR ? 64 : (unsigned)tl_dtype_info[e->dtype].bits;
      return bits == 1 ? 0 : (count * bits + 31) / 32; /* of 1 bit: predicates */
   }
   if (t->kind == TL_TYPE_PTR)
      return 2;
   return t->kind == TL_TYPE_SCALAR ? ((unsigned)tl_dtype_info[t->dtype].bits + 31) / 32 : 0;
}

unsigned
tl_kept_words(const TlValue *v)
{
   const TlType *elem = tl_type_elem(v->type);
   bool is_index = elem->kind == TL_TYPE_PTR ||
                   (elem->kind == TL_TYPE_SCALAR && !tl_dtype_is_float(elem->dtype));
   bool is_view = v->def && tl_has_trait(v->def, TL_TRAIT_SAME_ELEMENTS) &&
                  v->def->opcode != TL_OP_CONVERT_LAYOUT;
   if (tl_value_is(v, TL_OP_CONSTANT) || is_view || (v->def && tl_op_is_pure(v->def) && is_index))
      return 0;
   return tl_words_of(v->type);
}

static void
enter_words(void *user, const TlValue *v)
{
   uint32_t *words = user;
   words[v->id] = tl_kept_words(v);
}

const uint32_t *
tl_kept_words_of_all(TlArena *arena, const TlFunc *f)
{
   uint32_t *words = tl_new_array(arena, uint32_t, f->next_value_id);
   tl_walk_values(f->body->block, enter_words, words);
   return words;
}

unsigned
tl_words_of_products(const TlBlock *block)
{
   unsigned sum = 0;
   for (const TlOp *op = block->first; op; op = op->next)
      sum += op->opcode == TL_OP_DOT ? tl_words_of(op->results[0].type) : 0;
   return sum;
}

unsigned
tl_words_of_dots(const TlBlock *block)
{
   unsigned words = tl_words_of_products(block);
   for (const TlOp *op = block->first; op; op = op->next)
      for (unsigned i = 0; op->opcode == TL_OP_DOT && i < 2; i++)
         words += tl_type_is_tile(tl_arg(op, i)->type) ? tl_words_of(tl_arg(op, i)->type) : 0;
   return words;
}

enum { LANES = 32, WORDS_BESIDE = 32 };

unsigned
tl_blocks_of_dots(const TlTarget *target, unsigned num_warps, const TlBlock *block)
{
   unsigned words = tl_words_of_dots(block) + WORDS_BESIDE, most = target->thread_registers;
   return tl_blocks_with(target, num_warps, words < most ? words : most);
}

bool
tl_is_alone(const TlTarget *target, unsigned num_warps, unsigned words)
{
   return (words + WORDS_BESIDE) * 2 * num_warps * LANES >= target->sm_registers;
}

/* Indices and masks that are computed can be computed again. */
static unsigned
words_counted(const TlValue *v)
{
   const TlType *e = tl_type_elem(v->type);
   bool is_made =
      v->def && tl_op_is_pure(v->def) && e->kind == TL_TYPE_SCALAR && !tl_dtype_is_float(e->dtype);
   return is_made && v->type->kind != TL_TYPE_SCALAR ? 0 : tl_words_of(v->type);
}

/* The value becomes alive; of registers that are picked from others, these do. */
static void
use(Live *l, const TlValue *v)
{
   if (tl_map_get(&l->alive, v) || tl_value_is(v, TL_OP_CONSTANT))
      return;
   tl_map_put(&l->alive, v, (void *)v);
   if (v->def && v->def->block == l->body && v->def->opcode == TL_OP_PICK) {
      for (unsigned i = 0; i < v->def->num_args; i++)
         use(l, v->def->args[i].value);
      return;
   }
   l->words += words_counted(v);
}

static void
define(Live *l, const TlOp *op)
{
   for (unsigned i = 0; i < op->num_results && op->opcode != TL_OP_PICK; i++) {
      const TlValue *v = &op->results[i];
      if (!tl_map_get(&l->alive, v))
         continue;
      l->words -= words_counted(v);
      tl_map_put(&l->alive, v, NULL);
   }
}

static void
use_args(Live *l, const TlOp *op)
{
   for (unsigned i = 0; i < op->num_args; i++)
      use(l, op->args[i].value);
   for (unsigned r = 0; r < op->num_regions; r++) {
      const TlBlock *top = op->regions[r]->block;
      for (const TlOp *in = top->first; in; in = tl_walk_next(in, top))
         for (unsigned i = 0; i < in->num_args; i++)
            if (!tl_is_defined_in(in->args[i].value, op))
               use(l, in->args[i].value);
   }
}

unsigned
tl_peak_words(TlArena *scratch, const TlBlock *body)
{
   Live l = {.body = body};
   unsigned peak;
   tl_map_init(&l.alive, scratch);
   for (const TlOp *op = body->first; op; op = op->next)
      for (unsigned i = 0; i < op->num_args; i++) {
         const TlValue *v = op->args[i].value;
         if (tl_value_block((TlValue *)v) != body)
            use(&l, v); /* for the next iteration as well */
      }
   peak = l.words;
   for (const TlOp *op = body->last; op; op = op->prev) {
      bool is_pure = tl_op_is_pure(op);
      if (!is_pure && l.words > peak)
         peak = l.words;
      define(&l, op);
      use_args(&l, op);
      if (!is_pure && l.words > peak)
         peak = l.words;
   }
   return peak;
}
