/* Constants that a loop of the run makes run-time: a variable with a known value before it that its
 * body gives another, and an index that counts between constants.  See help.h. */
#include "ir/control.h"
#include "sema/bindings.h"
#include "sema/help.h"
#include "sema/impl.h"

#include <string.h>

enum { MAX_STEPS = 64 };

typedef struct Leaves { /* of a sum, a quotient .. of numbers */
   TlSema *s;
   const TlLoopMade *made; /* the first variable that a loop changes */
   const TlOp *counting;   /* the first loop whose index it has */
   bool is_other;          /* something else comes from the run as well */
   unsigned steps;
} Leaves;

static const TlLoopMade *
made_of(const TlSema *s, const TlValue *v)
{
   for (size_t i = s->impl->loop_made.len; i > 0; i--)
      if (s->impl->loop_made.data[i - 1].value == v)
         return &s->impl->loop_made.data[i - 1];
   return NULL;
}

/* The loop that counts by the value from one constant to another. */
static const TlOp *
counting_loop(const TlValue *v)
{
   uint64_t bits;
   const TlOp *loop = v->def ? NULL : v->block->region->parent;
   bool is_index = loop && loop->opcode == TL_OP_FOR && v == tl_for_index(loop);
   return is_index && tl_is_const(tl_for_lower(loop), &bits) &&
                tl_is_const(tl_for_upper(loop), &bits) && tl_is_const(tl_for_step(loop), &bits)
             ? loop
             : NULL;
}

static void
find_leaves(Leaves *l, const TlValue *v)
{
   uint64_t bits;
   const TlLoopMade *made = made_of(l->s, v);
   const TlOp *counting = counting_loop(v);
   if (tl_is_const(v, &bits))
      return;
   l->made = l->made ? l->made : made;
   l->counting = l->counting ? l->counting : counting;
   if (made || counting)
      return;
   const TlOp *op = v->def;
   if (op && op->opcode == TL_OP_IF && ++l->steps <= MAX_STEPS) {
      for (unsigned r = 0; r < op->num_regions; r++)
         find_leaves(l, tl_yielded(op->regions[r]->block, v->index));
      return;
   }
   l->is_other |=
      !op || op->num_regions || !op->num_args || op->opcode == TL_OP_LOAD || ++l->steps > MAX_STEPS;
   for (unsigned i = 0; !l->is_other && i < op->num_args; i++)
      find_leaves(l, tl_arg(op, i));
}

typedef struct Change {
   const TlLoopMade *made;
   const TlNode *at; /* the first in the loop */
} Change;

static void
find_change(void *user, const TlBinding *b)
{
   Change *c = user;
   TlRange loop = c->made->loop;
   bool is_inside = b->node && b->node->range.file == loop.file &&
                    loop.begin <= b->node->range.begin && b->node->range.end <= loop.end;
   if (is_inside && !c->at && b->kind == TL_BINDS_VARIABLE && strcmp(b->name, c->made->name) == 0)
      c->at = b->stmt && b->stmt->range.begin > loop.begin ? b->stmt : b->node;
}

static bool
help_index(TlSema *s, const TlOp *loop)
{
   tl_note(s->diags, N0200, loop->range, "each round of this loop of the run has another");
   tl_help(s->diags, "count by tl.static_range: its rounds are compiled one by one, with a known "
                     "index each; or take one size and a mask for all");
   return true;
}

bool
tl_help_loop_made(TlSema *s, const TlSv *v)
{
   const TlActivation *act = s->impl->act;
   const TlNode *fn = act && act->func ? act->func->node : NULL;
   Leaves l = {.s = s};
   if (v->kind != TL_SV_VALUE || v->value->type->kind != TL_TYPE_SCALAR)
      return false;
   find_leaves(&l, v->value);
   if (l.is_other || (!l.made && !l.counting))
      return false;
   if (!l.made)
      return help_index(s, l.counting);
   Change c = {.made = l.made};
   if (fn && fn->kind == TL_AST_FUNCTION)
      tl_each_binding(&tl_ast_Function(fn)->body, find_change, &c);
   if (c.at)
      tl_note(s->diags, N0200, c.at->range,
              tl_arena_printf(s->arena,
                              "a round of the loop gives '%.40s' another value here, so that only "
                              "the run knows it",
                              l.made->name));
   tl_help(s->diags,
           "a loop over tl.static_range is unrolled, and '%.40s' stays known in it; where it is a "
           "size, one for all rounds does with a mask: offsets < %.40s",
           l.made->name, l.made->name);
   return true;
}
