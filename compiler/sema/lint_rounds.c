/* What a round of a loop leaves in a name, and the next one sets anew before it is read. */
#include "sema/lint.h"
#include "sema/impl.h"

typedef struct Rounds {
   TlSema *s;
   const TlNames *names;
} Rounds;

static const TlNode *
name_set_by(const TlNode *n)
{
   const TlNode *to = NULL;
   if (n->kind == TL_AST_AUG_ASSIGN)
      to = tl_ast_AugAssign(n)->target;
   else if (n->kind == TL_AST_ASSIGN && tl_ast_Assign(n)->targets.len == 1)
      to = tl_ast_Assign(n)->targets.data[0];
   return to && to->kind == TL_AST_NAME ? to : NULL;
}

/* The statement of the body that sets the name anew, where nothing reads what `last`, another one,
 * sets it to: not behind it, not before the name is set anew, not outside of the loop. */
static const TlNode *
set_anew(const Rounds *r, const TlNode *loop, const TlNodeList *body, const TlNode *last,
         const TlSymbol *y)
{
   const TlNode *anew = NULL;
   bool is_read = false, reads_itself = last->kind == TL_AST_AUG_ASSIGN;
   for (size_t i = 0; i < r->names->mentions.len; i++) {
      const TlMention *m = &r->names->mentions.data[i];
      if (m->symbol != y)
         continue;
      bool is_inside = tl_range_is_within(m->range, loop->range);
      if (m->owner != y->owner || (!is_inside && !m->is_write) ||
          (is_inside &&
           (m->range.begin < body->data[0]->range.begin || m->range.begin >= last->range.end)))
         return NULL;
      bool is_of_last = tl_range_is_within(m->range, last->range);
      reads_itself |= is_of_last && !m->is_write;
      is_read |= is_inside && !is_of_last && !m->is_write;
      for (size_t k = 0; is_inside && !anew && k < body->len; k++)
         anew = tl_range_is_within(m->range, body->data[k]->range) ? body->data[k] : NULL;
      bool is_own = anew && tl_range_is_within(m->range, anew->range);
      if (is_inside && (!anew || anew == last || anew->kind != TL_AST_ASSIGN ||
                        !name_set_by(anew) || (is_own && !m->is_write)))
         return NULL;
   }
   return is_read && reads_itself ? anew : NULL;
}

static void
check_round(const Rounds *r, const TlNode *loop, const TlNodeList *body)
{
   for (size_t i = 0; i < body->len; i++) {
      const TlNode *last = body->data[i], *name = last ? name_set_by(last) : NULL;
      const TlMention *m = name ? tl_mention_at(r->names, name->range.begin) : NULL;
      const TlSymbol *y = m ? m->symbol : NULL;
      if (!y || y->kind != TL_SYMBOL_VARIABLE || !y->owner || y->name[0] == '_')
         continue;
      const TlNode *anew = set_anew(r, loop, body, last, y);
      if (!anew)
         continue;
      tl_report(r->s->diags, W0366, last->range, y->name);
      tl_help(r->s->diags, "to carry '%.40s' from round to round set it before the loop, not in it",
              y->name);
      tl_note(r->s->diags, N0200, anew->range, "here it is set anew");
   }
}

static void
check_node(void *user, TlNode *n)
{
   if (n->kind == TL_AST_FOR)
      check_round(user, n, &tl_ast_For(n)->body);
   else if (n->kind == TL_AST_WHILE)
      check_round(user, n, &tl_ast_While(n)->body);
   tl_ast_children(n, check_node, user);
}

void
tl_sema_lint_rounds(TlSema *s, const TlNames *names, TlNode *fn)
{
   Rounds r = {s, names};
   check_node(&r, fn);
}
