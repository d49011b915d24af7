/* Constructors of match statements and their patterns, with what Python refuses in them: a pattern
 * binds a name once, alternatives bind the same names, keys differ, and what takes everything comes
 * last. */
#include "syntax/build.h"
#include "base/map.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

/* ---- what a pattern binds ---- */
typedef struct Captures {
   TlParser *ps;
   TlMap names;  /* interned: any value */
   bool reports; /* a name that is bound twice */
   bool is_twice;
} Captures;

static void
add(Captures *c, const TlNode *target)
{
   if (!target)
      return;
   const char *name = tl_ast_Name(target)->id;
   if (!tl_map_has(&c->names, name)) {
      tl_map_put(&c->names, name, c);
      return;
   }
   c->is_twice = true;
   if (c->reports)
      tl_report(c->ps->diags, E0142, target->range,
                tl_arena_printf(c->ps->cx->arena, "it binds '%s' twice", name));
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

static Captures
captures_of(TlParser *ps, TlNode *pattern, bool reports)
{
   Captures c = {.ps = ps, .reports = reports};
   tl_map_init(&c.names, ps->cx->arena);
   find_captures(&c, pattern);
   return c;
}

static void
check_last(TlParser *ps, const TlNode *pattern)
{
   const TlNode *any = tl_ast_takes_everything(pattern);
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
   Captures first = captures_of(ps, alternatives->data[0], false);
   for (size_t i = 0; i < alternatives->len; i++) {
      TlNode *one = alternatives->data[i];
      Captures mine = captures_of(ps, one, i > 0); /* the first's are the whole pattern's */
      bool is_same = mine.names.len == first.names.len;
      for (size_t k = 0; k < mine.names.cap; k++)
         if (mine.names.slots[k].used)
            is_same = is_same && tl_map_has(&first.names, (const void *)mine.names.slots[k].key);
      if (!is_same && !mine.is_twice && !first.is_twice)
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
tl_mk_pat_string(TlParser *ps, TlRange r, TlListP parts)
{
   TlNode *n = tl_mk_strings(ps, r, parts);
   if (n && n->kind == TL_AST_FSTRING)
      tl_report(ps->diags, E0142, r, "an f-string is none; bind the value and compare it by 'if'");
   return n;
}

/* ---- keys ---- */
typedef struct Key { /* what a literal is equal by */
   enum { OTHER, NUMBER, TEXT, NONE } kind;
   bool is_bytes;
   long double number;
   TlText text;
   TlRange range;
} Key;

static Key
number_key(long double number)
{
   return (Key){.kind = NUMBER, .number = number};
}

static Key
key_of(const TlNode *n)
{
   Key k = {.kind = OTHER};
   switch (n->kind) {
   case TL_AST_INT:
      return number_key(tl_ast_Int(n)->is_large ? (long double)(uint64_t)tl_ast_Int(n)->value
                                                : (long double)tl_ast_Int(n)->value);
   case TL_AST_FLOAT:
      return number_key(tl_ast_Float(n)->value);
   case TL_AST_UNARY:
      k = key_of(tl_ast_Unary(n)->operand);
      k.number = -k.number;
      return k;
   case TL_AST_CONST:
      return tl_ast_Const(n)->which == TL_AST_OP_NONE
                ? (Key){.kind = NONE}
                : number_key(tl_ast_Const(n)->which == TL_AST_OP_TRUE);
   case TL_AST_STR:
      return (Key){.kind = TEXT, .is_bytes = tl_ast_Str(n)->is_bytes, .text = tl_ast_Str(n)->value};
   default:
      return k;
   }
}

/* 0: they are equal. */
static int
compare_keys(const Key *a, const Key *b)
{
   if (a->kind != b->kind)
      return a->kind < b->kind ? -1 : 1;
   if (a->kind == NUMBER)
      return a->number < b->number ? -1 : a->number > b->number;
   if (a->is_bytes != b->is_bytes)
      return a->is_bytes ? 1 : -1;
   if (a->text.len != b->text.len)
      return a->text.len < b->text.len ? -1 : 1;
   return a->text.len ? memcmp(a->text.data, b->text.data, a->text.len) : 0;
}

static int
by_key_and_place(const void *a, const void *b)
{
   const Key *x = a, *y = b;
   int order = compare_keys(x, y);
   return order ? order : x->range.begin < y->range.begin ? -1 : 1;
}

static void
check_keys(TlParser *ps, const TlNodeList *keys)
{
   Key *all = tl_new_array(ps->cx->arena, Key, keys->len + 1);
   for (size_t i = 0; i < keys->len; i++) {
      all[i] = key_of(keys->data[i]);
      all[i].range = keys->data[i]->range;
   }
   qsort(all, keys->len, sizeof all[0], by_key_and_place);
   for (size_t i = 1; i < keys->len; i++)
      if (all[i].kind != OTHER && compare_keys(&all[i - 1], &all[i]) == 0)
         tl_report(ps->diags, E0142, all[i].range, "the key is asked for twice");
}

TlNode *
tl_mk_pat_mapping(TlParser *ps, TlRange r, TlListP pairs, const TlToken *rest)
{
   TlNodeList keys = {0}, patterns = {0};
   for (size_t i = 0; i + 1 < pairs->len; i += 2) {
      tl_vec_push(ps->cx->arena, &keys, pairs->data[i]);
      tl_vec_push(ps->cx->arena, &patterns, pairs->data[i + 1]);
   }
   check_keys(ps, &keys);
   TlNode *target = rest ? target_of(ps, rest) : NULL;
   if (rest && !target)
      tl_report(ps->diags, E0142, tl_tok_range(ps, rest), "'**_' is none; leave it out");
   return TL_MAKE(ps, r, PatMapping, .keys = keys, .patterns = patterns, .rest = target);
}

TlNode *
tl_mk_pat_class(TlParser *ps, TlRange r, TlNode *cls, TlListP items)
{
   bool is_named = false;
   TlMap names;
   tl_map_init(&names, ps->cx->arena);
   const TlNode *root = cls;
   while (root->kind == TL_AST_ATTRIBUTE)
      root = tl_ast_Attribute(root)->value;
   if (root->kind == TL_AST_NAME && strcmp(tl_ast_Name(root)->id, "_") == 0)
      tl_report(ps->diags, E0142, root->range, "'_' takes any value and names no class");
   for (size_t i = 0; i < items->len; i++) {
      const TlNode *n = items->data[i];
      const char *name = n->kind == TL_AST_KEYWORD ? tl_ast_Keyword(n)->name : NULL;
      is_named |= name != NULL;
      if (!name && is_named)
         tl_report(ps->diags, E0142, n->range, "one by position must not follow one by name");
      if (name && tl_map_has(&names, name))
         tl_report(ps->diags, E0138, n->range, name);
      if (name)
         tl_map_put(&names, name, ps);
   }
   return TL_MAKE(ps, r, PatClass, .cls = cls, .items = *items);
}
