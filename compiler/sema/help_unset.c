/* Names that the function sets, but not on the way to where they are read: where it sets them, and
 * where they want a first value.  By the text alone; see help.h. */
#include "sema/bindings.h"
#include "sema/help.h"
#include "sema/impl.h"

#include <assert.h>
#include <string.h>

typedef struct Unset {
   const char *name;
   TlRange at;           /* where it is read */
   const TlNode *set;    /* the name where it is set first; where it is only changed, that */
   bool is_change;       /* acc += x */
   const TlNode *shared; /* the smallest node around both */
   const TlNode *loop;   /* the outermost loop around both, or NULL */
   const TlNode *apart;  /* the largest around `set` that `at` is not in */
} Unset;

static void
find_setting(void *user, const TlBinding *b)
{
   Unset *u = user;
   bool is_change = b->stmt && b->stmt->kind == TL_AST_AUG_ASSIGN;
   if (b->kind == TL_BINDS_VARIABLE && b->node && strcmp(b->name, u->name) == 0 &&
       (!u->set || (u->is_change && !is_change))) {
      u->set = b->node;
      u->is_change = is_change;
   }
}

static bool
is_around(TlRange r, TlRange inner)
{
   return r.begin <= inner.begin && inner.end <= r.end;
}

static void
find_shared(void *user, TlNode *n)
{
   Unset *u = user;
   bool has_set = is_around(n->range, u->set->range), has_read = is_around(n->range, u->at);
   if (has_set && has_read) {
      bool is_loop = n->kind == TL_AST_FOR || n->kind == TL_AST_WHILE;
      u->shared = n;
      u->apart = NULL;
      u->loop = is_loop && !u->loop ? n : u->loop;
      tl_ast_children(n, find_shared, u);
   } else if (has_set && !u->apart) {
      u->apart = n;
   }
}

static bool
is_in_list(const TlNodeList *list, TlRange r)
{
   for (size_t i = 0; i < list->len; i++)
      if (list->data[i] && is_around(list->data[i]->range, r))
         return true;
   return false;
}

/* if c: x = 1  else: x += 1 */
static bool
is_on_other_side(const Unset *u)
{
   const TlAstIf *n = u->shared && u->shared->kind == TL_AST_IF ? tl_ast_If(u->shared) : NULL;
   return n && ((is_in_list(&n->body, u->set->range) && is_in_list(&n->orelse, u->at)) ||
                (is_in_list(&n->orelse, u->set->range) && is_in_list(&n->body, u->at)));
}

static bool
is_compound(const TlNode *n)
{
   return n->kind == TL_AST_IF || n->kind == TL_AST_FOR || n->kind == TL_AST_WHILE ||
          n->kind == TL_AST_MATCH;
}

static const char *
word_of(const TlNode *n)
{
   bool is_loop = n && (n->kind == TL_AST_FOR || n->kind == TL_AST_WHILE);
   return is_loop                        ? "the loop"
          : n && n->kind == TL_AST_IF    ? "the 'if'"
          : n && n->kind == TL_AST_MATCH ? "the 'match'"
                                         : "this line";
}

bool
tl_help_unset(TlSema *s, const TlNode *fn, const char *name, TlRange at, const char *near)
{
   Unset u = {.name = name, .at = at};
   if (!fn || fn->kind != TL_AST_FUNCTION || at.file != fn->range.file || !is_around(fn->range, at))
      return false;
   tl_each_binding(&tl_ast_Function(fn)->body, find_setting, &u);
   if (!u.set || (u.is_change && near))
      return false;
   find_shared(&u, (TlNode *)fn);
   assert(u.shared);
   const char *behind = tl_source(s->sources, at.file)->text + at.end;
   if (behind[strspn(behind, " ")] == '(' && tl_builtin_find(TL_NS_TL | TL_NS_PYTHON, name)) {
      tl_note(s->diags, N0200, u.set->range, "it is a variable, as it is set here");
      tl_help(s->diags, "the variable '%s' hides the function: give the variable another name",
              name);
   } else if (is_on_other_side(&u)) {
      tl_note(s->diags, N0200, u.set->range, "it is set here, on the other side of the 'if'");
      tl_help(s->diags, "give '%s' a value before %s, such as %s = tl.zeros(..) for a tile", name,
              word_of(u.loop ? u.loop : u.shared), name);
   } else if (u.is_change || (u.apart && u.apart->kind < TL_AST_EXPR_STMT)) { /* x = x + 1 too */
      tl_help(s->diags, "'%s' is first set here: give it a value before %s, such as %s = 0.0", name,
              word_of(u.loop), name);
   } else if (u.set->range.begin > at.begin || !u.apart) {
      tl_note(s->diags, N0200, u.set->range, "it is first set here");
      tl_help(s->diags,
              "'%s' is first set further down: give it a value before %s, such as %s = 0.0", name,
              word_of(u.loop), name);
   } else if (is_compound(u.apart)) {
      tl_note(s->diags, N0200, u.set->range, "it is set here, on no way that comes to this place");
      tl_help(s->diags, "give '%s' a value before %s", name, word_of(u.loop ? u.loop : u.apart));
   } else {
      return false;
   }
   return true;
}

/* Are sizes guesses, as those of a kernel that is checked without its launch? */
static bool
has_guessed_sizes(const TlSema *s)
{
   const TlActivation *act = s->impl->act;
   const TlNode *fn = tl_is_tried(s) && act && act->func ? act->func->node : NULL;
   if (!fn || fn->kind != TL_AST_FUNCTION)
      return tl_is_tried(s);
   const TlNodeList *params = &tl_ast_Function(fn)->params;
   for (size_t i = 0; i < params->len; i++) {
      const TlAstParam *p = tl_ast_Param(params->data[i]);
      if (tl_is_constexpr_annotation(p->annotation) && !p->default_value)
         return true;
   }
   return false;
}

/* The help says "such as acc = 0.0" before it is known what is added to it. */
void
tl_help_unset_like(TlSema *s, unsigned errors, TlAstOp op, const TlSv *other)
{
   static const char usual[] = " = 0.0";
   TlDiag *d = s->diags->last;
   size_t len = d && d->help ? strlen(d->help) : 0;
   if (s->diags->num_errors != errors + 1 || !len || d->code != TL_DIAG_E0200 ||
       other->kind != TL_SV_VALUE || len < sizeof usual ||
       strcmp(d->help + len - (sizeof usual - 1), usual) != 0)
      return;
   const TlType *type = other->value->type;
   const TlType *elem = tl_type_elem(type);
   if (elem->kind != TL_TYPE_SCALAR)
      return;
   bool is_float = tl_dtype_is_float(elem->dtype);
   int64_t neutral = op == TL_AST_OP_MUL;
   TlSv start = is_float ? tl_sv_float((double)neutral) : tl_sv_int(neutral);
   const char *text = tl_type_is_tile(type) && has_guessed_sizes(s) ? "tl.zeros(..)"
                      : tl_type_is_tile(type)                       ? tl_tile_of(s, &start, type)
                      : is_float                                    ? (neutral ? "1.0" : "0.0")
                      : neutral                                     ? "1"
                                                                    : "0";
   tl_help(s->diags, "%.*s = %s", (int)(len - (sizeof usual - 1)), d->help, text);
}
