/* Constructors of match statements and their patterns, with what Python refuses in them: a pattern
 * binds a name once, alternatives bind the same names, and what takes everything comes last. */
#include "syntax/build.h"
#include "base/vec.h"

#include <string.h>

typedef TL_VEC(const char *) Names;

static bool
has(const Names *names, const char *name)
{
   for (size_t i = 0; i < names->len; i++)
      if (names->data[i] == name)
         return true;
   return false;
}

/* ---- what a pattern binds ---- */
typedef struct Captures {
   TlParser *ps;
   Names names;
   bool reports; /* a name that is bound twice */
} Captures;

static void
add(Captures *c, const TlNode *target)
{
   if (!target)
      return;
   const char *name = tl_ast_Name(target)->id;
   if (has(&c->names, name) && c->reports)
      tl_report(c->ps->diags, E0142, target->range,
                tl_arena_printf(c->ps->cx->arena, "it binds '%s' twice", name));
   tl_vec_push(c->ps->cx->arena, &c->names, name);
}

static void
find_captures(void *user, TlNode *n)
{
   Captures *c = user;
   switch (n->kind) {
   case TL_AST_PAT_VALUE:
   case TL_AST_NAME: /* a target, a class */
   case TL_AST_ATTRIBUTE:
      return;
   case TL_AST_PAT_OR: /* all bind the same */
      find_captures(user, tl_ast_PatOr(n)->alternatives.data[0]);
      return;
   case TL_AST_PAT_CAPTURE:
      add(c, tl_ast_PatCapture(n)->target);
      break;
   case TL_AST_PAT_STAR:
      add(c, tl_ast_PatStar(n)->target);
      break;
   case TL_AST_PAT_MAPPING:
      add(c, tl_ast_PatMapping(n)->rest);
      break;
   default:
      break;
   }
   tl_ast_children(n, find_captures, user);
}

static Names
captures_of(TlParser *ps, TlNode *pattern, bool reports)
{
   Captures c = {.ps = ps, .reports = reports};
   find_captures(&c, pattern);
   return c.names;
}

/* The part of it that takes any value, or NULL. */
static const TlNode *
takes_everything(const TlNode *pattern)
{
   if (pattern->kind == TL_AST_PAT_CAPTURE) {
      const TlNode *inner = tl_ast_PatCapture(pattern)->pattern;
      return inner ? takes_everything(inner) : pattern;
   }
   if (pattern->kind != TL_AST_PAT_OR)
      return NULL;
   const TlNodeList *all = &tl_ast_PatOr(pattern)->alternatives;
   return takes_everything(all->data[all->len - 1]);
}

static void
check_last(TlParser *ps, const TlNode *pattern)
{
   const TlNode *any = takes_everything(pattern);
   if (any)
      tl_report(ps->diags, E0142, any->range,
                "it takes every value, so those after it are never tried");
}

/* ---- constructors ---- */
static TlNode *
target_of(TlParser *ps, const TlToken *name)
{
   const char *word = tl_mk_word(ps, name);
   return word && strcmp(word, "_") != 0 ? tl_mk_name(ps, name) : NULL;
}

TlNode *
tl_mk_match(TlParser *ps, TlRange r, TlNode *subject, TlListP cases)
{
   TlNodeList kept = {0};
   for (size_t i = 0; i < cases->len; i++) {
      TlNode *n = cases->data[i];
      if (n->kind != TL_AST_CASE) /* the stand-in of a tree too high */
         continue;
      if (i + 1 < cases->len && !tl_ast_Case(n)->guard)
         check_last(ps, tl_ast_Case(n)->pattern);
      tl_vec_push(ps->cx->arena, &kept, n);
   }
   return TL_MAKE(ps, r, Match, .subject = subject, .cases = kept);
}

TlNode *
tl_mk_case(TlParser *ps, TlRange r, TlNode *pattern, TlNode *guard, TlListP body)
{
   captures_of(ps, pattern, true);
   return TL_MAKE(ps, r, Case, .pattern = pattern, .guard = guard, .body = tl_list(body));
}

TlNode *
tl_mk_pat_capture(TlParser *ps, TlRange r, TlNode *pattern, const TlToken *name)
{
   TlNode *target = target_of(ps, name);
   if (pattern && !target)
      tl_report(ps->diags, E0142, tl_tok_range(ps, name), "'_' binds nothing, so 'as _' is none");
   if (pattern && takes_everything(pattern))
      tl_report(ps->diags, E0142, pattern->range,
                "it takes every value; what follows says nothing");
   return TL_MAKE(ps, r, PatCapture, .pattern = pattern, .target = target);
}

TlNode *
tl_mk_pat_star(TlParser *ps, TlRange r, const TlToken *name)
{
   return TL_MAKE(ps, r, PatStar, .target = target_of(ps, name));
}

TlNode *
tl_mk_pat_or(TlParser *ps, TlRange r, TlListP alternatives)
{
   Names first = captures_of(ps, alternatives->data[0], false);
   for (size_t i = 0; i < alternatives->len; i++) {
      TlNode *one = alternatives->data[i];
      Names mine = captures_of(ps, one, false);
      bool is_same = mine.len == first.len;
      for (size_t k = 0; k < mine.len; k++)
         is_same = is_same && has(&first, mine.data[k]);
      if (!is_same)
         tl_report(ps->diags, E0142, one->range, "alternatives must bind the same names");
      if (i + 1 < alternatives->len)
         check_last(ps, one);
   }
   return TL_MAKE(ps, r, PatOr, .alternatives = *alternatives);
}

TlNode *
tl_mk_pat_sequence(TlParser *ps, TlRange r, TlListP items)
{
   unsigned stars = 0;
   for (size_t i = 0; i < items->len; i++)
      if (items->data[i]->kind == TL_AST_PAT_STAR && ++stars > 1)
         tl_report(ps->diags, E0142, items->data[i]->range, "a sequence has one '*' at most");
   return TL_MAKE(ps, r, PatSequence, .items = *items);
}

TlNode *
tl_mk_pat_mapping(TlParser *ps, TlRange r, TlListP pairs, const TlToken *rest)
{
   TlNodeList keys = {0}, patterns = {0};
   for (size_t i = 0; i + 1 < pairs->len; i += 2) {
      tl_vec_push(ps->cx->arena, &keys, pairs->data[i]);
      tl_vec_push(ps->cx->arena, &patterns, pairs->data[i + 1]);
   }
   TlNode *target = rest ? target_of(ps, rest) : NULL;
   if (rest && !target)
      tl_report(ps->diags, E0142, tl_tok_range(ps, rest), "'**_' is none; leave it out");
   return TL_MAKE(ps, r, PatMapping, .keys = keys, .patterns = patterns, .rest = target);
}

TlNode *
tl_mk_pat_class(TlParser *ps, TlRange r, TlNode *cls, TlListP items)
{
   Names names = {0};
   for (size_t i = 0; i < items->len; i++) {
      const TlNode *n = items->data[i];
      const char *name = n->kind == TL_AST_KEYWORD ? tl_ast_Keyword(n)->name : NULL;
      if (!name && names.len)
         tl_report(ps->diags, E0142, n->range, "one by position must not follow one by name");
      if (name && has(&names, name))
         tl_report(ps->diags, E0138, n->range, name);
      if (name)
         tl_vec_push(ps->cx->arena, &names, name);
   }
   return TL_MAKE(ps, r, PatClass, .cls = cls, .items = *items);
}
