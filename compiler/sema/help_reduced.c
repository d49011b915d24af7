/* What a program stores where it has one address, and a tile was written; see help.h. */
#include "sema/help.h"
#include "ir/control.h"
#include "sema/impl.h"

#include <string.h>

enum { MAX_STEPS = 400 };

/* Each round of a loop that counts by one, or in which programs take turns, has a number of its
 * own. */
static bool
is_counter(const TlValue *v)
{
   const TlOp *loop = !v->def && v->block->region ? v->block->region->parent : NULL;
   uint64_t by;
   if (!loop || loop->opcode != TL_OP_FOR || v != tl_for_index(loop))
      return false;
   const TlValue *step = tl_for_step(loop);
   return (tl_is_const(step, &by) && by == 1) ||
          (step->def && step->def->opcode == TL_OP_NUM_PROGRAMS);
}

/* Is a term of the sum the number of the program, or of a round, as it is? */
static bool
has_number_term(const TlValue *v, unsigned *steps)
{
   const TlOp *op = v->def;
   if (++*steps > MAX_STEPS || is_counter(v))
      return *steps <= MAX_STEPS;
   if (!op || tl_type_is_tile(v->type))
      return false;
   if (op->opcode == TL_OP_PROGRAM_ID)
      return true;
   bool is_sum = op->opcode == TL_OP_ADD || op->opcode == TL_OP_CAST;
   return is_sum && (has_number_term(tl_arg(op, 0), steps) ||
                     (op->num_args > 1 && has_number_term(tl_arg(op, 1), steps)));
}

bool
tl_is_one_per_program(const TlValue *pointer)
{
   unsigned steps = 0;
   for (; pointer->def && pointer->def->opcode == TL_OP_ADDPTR; pointer = tl_arg(pointer->def, 0))
      if (has_number_term(tl_arg(pointer->def, 1), &steps))
         return true;
   return false;
}

static bool
is_made_of(const TlValue *v, const TlValue *from, unsigned *steps)
{
   if (v == from)
      return true;
   for (unsigned i = 0; v->def && ++*steps < MAX_STEPS && i < v->def->num_args; i++)
      if (is_made_of(tl_arg(v->def, i), from, steps))
         return true;
   return false;
}

/* A number that a reduction of the tile has given, or that is made of one; NULL: of any tile. */
static bool
is_reduced(const TlValue *v, const TlValue *tile, unsigned *steps)
{
   const TlOp *op = v->def;
   if (!op || tl_type_is_tile(v->type) || v->type->kind != TL_TYPE_SCALAR || op->num_regions > 1 ||
       ++*steps > MAX_STEPS)
      return false;
   for (unsigned i = 0; i < op->num_args; i++) {
      unsigned more = 0;
      const TlValue *from = tl_arg(op, i);
      if (op->opcode == TL_OP_REDUCE ? !tile || is_made_of(from, tile, &more)
                                     : is_reduced(from, tile, steps))
         return true;
   }
   return false;
}

/* "mean" of mean_ptr + row */
static bool
is_named_after(const char *pointer, const char *name)
{
   const char *found = strstr(pointer, name);
   return strlen(name) > 1 && found && found < pointer + strcspn(pointer, " +[(");
}

const TlValue *
tl_help_reduced(TlSema *s, const TlValue *tile, const char *pointer, bool *is_alone, bool *is_of_it)
{
   const TlValue *best = NULL;
   unsigned most = 0, num = 0;
   for (const TlBlock *in = s->b.block; in;
        in = in->region->parent ? in->region->parent->block : NULL)
      for (const TlOp *op = in->last; op; op = op->prev)
         for (uint32_t i = 0; i < op->num_results; i++) {
            const TlValue *v = tl_result(op, i);
            unsigned steps = 0, any = 0, more = 0;
            if (!v->name || v->type->kind != TL_TYPE_SCALAR || v->type->dtype == TL_I1 ||
                tl_value_named(s->b.block, v->name) != v)
               continue;
            bool is_named = is_named_after(pointer, v->name), is_own = is_reduced(v, tile, &steps);
            if (!is_own && !(is_named && is_reduced(v, NULL, &any)))
               continue;
            bool is_step = best && is_made_of(best, v, &more);
            unsigned score = (is_step ? 0u : 1u) + (is_named ? 2u : 0u);
            num += !is_step;
            if (score > most) {
               best = v;
               most = score;
               *is_of_it = is_own;
            }
         }
   *is_alone = num == 1 || most > 2;
   return best;
}
