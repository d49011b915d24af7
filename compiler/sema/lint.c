/* What the text of compiled functions shows: see lint.h. */
#include "sema/lint.h"
#include "sema/impl.h"

#include <assert.h>
#include <string.h>

/* ---- which functions ---- */
static const TlSvFunc *
function_at(TlSema *s, const TlNode *node)
{
   const TlSourceModule *main = s->impl->main;
   for (size_t i = 0; i < main->functions.len; i++)
      if (main->functions.data[i]->node == node)
         return main->functions.data[i];
   return NULL;
}

/* The compiled function of the file that the range is in; NULL: host code. */
static const TlSvFunc *
compiled_around(TlSema *s, TlRange r)
{
   const TlSourceModule *main = s->impl->main;
   for (size_t i = 0; i < main->functions.len; i++) {
      const TlSvFunc *fn = main->functions.data[i];
      bool is_in = fn->node->range.begin <= r.begin && r.end <= fn->node->range.end;
      if (is_in && fn->is_compiled && fn->node->kind == TL_AST_FUNCTION)
         return fn;
   }
   return NULL;
}

static bool
is_in_body(const TlSvFunc *fn, TlRange r)
{
   const TlNodeList *body = &tl_ast_Function(fn->node)->body;
   return body->len && body->data[0] && body->data[0]->range.begin <= r.begin;
}

/* ---- names ---- */
static void
check_mention(TlSema *s, const TlMention *m)
{
   TlSv v;
   const TlSvFunc *fn = m->symbol || m->is_keyword ? NULL : compiled_around(s, m->range);
   if (!fn || m->node->kind != TL_AST_NAME || !is_in_body(fn, m->range))
      return;
   TlFrame *f = tl_module_frame(s, s->impl->main);
   f->parent = fn->closure;
   if (!tl_lookup_quiet(s, f, m->name, &v))
      (void)tl_lookup(s, f, m->name, m->range);
}

static void
check_symbol(TlSema *s, const TlSymbol *y)
{
   const TlSvFunc *fn = y->reads || y->name[0] == '_' ? NULL : compiled_around(s, y->range);
   if (!fn || y->is_unpacked || !y->owner)
      return;
   if (y->kind == TL_SYMBOL_VARIABLE)
      tl_report(s->diags, W0208, y->range, y->name);
   else if (y->kind == TL_SYMBOL_PARAMETER && y->owner->kind == TL_AST_FUNCTION)
      tl_report(s->diags, W0203, y->range, y->name);
}

/* ---- statements ---- */
static const char *
leaves(const TlNode *n)
{
   switch (n->kind) {
   case TL_AST_RETURN:
      return "'return'";
   case TL_AST_RAISE:
      return "'raise'";
   case TL_AST_BREAK:
      return "'break'";
   case TL_AST_CONTINUE:
      return "'continue'";
   default:
      return NULL;
   }
}

/* What makes the end of the block unreachable, or NULL. */
static const char *
block_leaves(const TlNodeList *body)
{
   for (size_t i = 0; i < body->len; i++) {
      const TlNode *n = body->data[i];
      const char *by = n ? leaves(n) : NULL;
      if (n && n->kind == TL_AST_IF && tl_ast_If(n)->orelse.len)
         by = block_leaves(&tl_ast_If(n)->body) && block_leaves(&tl_ast_If(n)->orelse)
                 ? "an 'if' whose sides both end"
                 : NULL;
      if (by)
         return by;
   }
   return NULL;
}

static void
check_reached(TlSema *s, const TlNodeList *body)
{
   for (size_t i = 0; i + 1 < body->len; i++) {
      TlNodeList first = {body->data, i + 1, i + 1};
      const char *by = block_leaves(&first);
      if (by && body->data[i + 1]) {
         tl_report(s->diags, W0204, body->data[i + 1]->range, by);
         return;
      }
   }
}

/* What a statement's value is called, when computing it does nothing; NULL else. */
static const char *
idle_value(const TlNode *v)
{
   switch (v->kind) {
   case TL_AST_COMPARE:
      return "comparison";
   case TL_AST_BINARY:
   case TL_AST_UNARY:
   case TL_AST_BOOLOP:
   case TL_AST_SUBSCRIPT:
   case TL_AST_TUPLE:
   case TL_AST_LAMBDA:
   case TL_AST_INT:
   case TL_AST_FLOAT:
      return "expression";
   case TL_AST_NAME:
   case TL_AST_ATTRIBUTE:
      return "name: it is not called";
   default:
      return NULL;
   }
}

static bool has_call(const TlNode *n);

static void
find_call(void *user, TlNode *n)
{
   bool *found = user;
   *found = *found || has_call(n);
}

static bool
has_call(const TlNode *n)
{
   bool found = n->kind == TL_AST_CALL;
   tl_ast_children(n, find_call, &found);
   return found;
}

static void
check_statement(void *user, TlNode *n)
{
   TlSema *s = user;
   if (n->kind == TL_AST_EXPR_STMT) {
      const TlNode *v = tl_ast_ExprStmt(n)->value;
      const char *what = idle_value(v);
      if (what && (v->kind == TL_AST_COMPARE || !has_call(v)))
         tl_report(s->diags, W0200, v->range, what);
   }
   const TlNodeList *blocks[2] = {NULL, NULL};
   if (n->kind == TL_AST_IF) {
      blocks[0] = &tl_ast_If(n)->body;
      blocks[1] = &tl_ast_If(n)->orelse;
   } else if (n->kind == TL_AST_FOR) {
      blocks[0] = &tl_ast_For(n)->body;
   } else if (n->kind == TL_AST_WHILE) {
      blocks[0] = &tl_ast_While(n)->body;
   } else if (n->kind == TL_AST_FUNCTION) {
      blocks[0] = &tl_ast_Function(n)->body;
   }
   for (unsigned i = 0; i < 2; i++)
      if (blocks[i])
         check_reached(s, blocks[i]);
   tl_ast_children(n, check_statement, s);
}

/* ---- comments ---- */
static bool
is_warning(const char *name, size_t len)
{
   for (unsigned i = 0; tl_warning_name(i); i++)
      if (strlen(tl_warning_name(i)) == len && memcmp(tl_warning_name(i), name, len) == 0)
         return true;
   for (unsigned c = 0; c < TL_DIAG_COUNT; c++)
      if (tl_diag_name(c)[0] == 'W' && strlen(tl_diag_name(c)) == len &&
          memcmp(tl_diag_name(c), name, len) == 0)
         return true;
   return false;
}

static void
check_names_of_comment(TlSema *s, const TlSource *src, const char *names, size_t len)
{
   while (len) {
      size_t n = 0;
      while (n < len && names[n] != ',' && names[n] != ' ')
         n++;
      uint32_t at = (uint32_t)(names - src->text);
      if (n && !is_warning(names, n)) {
         TlRange r = {s->impl->main->file, at, at + (uint32_t)n};
         tl_report(s->diags, W0205, r, (int)n, names);
      }
      names += n + (n < len);
      len -= n + (n < len);
   }
}

static void
check_comments(TlSema *s)
{
   uint32_t file = s->impl->main->file, len;
   const TlSource *src = tl_source(s->sources, file);
   if (!strstr(src->text, "# tilec: ignore["))
      return;
   uint32_t lines = tl_source_line_col(s->sources, file, src->len).line;
   for (uint32_t i = 1; i <= lines; i++) {
      const char *line = tl_source_line(s->sources, file, i, &len);
      size_t n;
      const char *names = tl_ignored_in(line, len, &n);
      if (names)
         check_names_of_comment(s, src, names, n);
   }
}

void
tl_sema_lint(TlSema *s, const TlNames *names)
{
   assert(s->impl->main);
   const TlNodeList *body = &s->impl->main->ast->body;
   for (size_t i = 0; i < names->mentions.len; i++)
      check_mention(s, &names->mentions.data[i]);
   bool is_whole = !s->diags->num_errors; /* else a use may be what is misspelled */
   for (size_t i = 0; i < names->symbols.len && is_whole; i++)
      check_symbol(s, names->symbols.data[i]);
   for (size_t i = 0; i < body->len; i++) {
      const TlSvFunc *fn = body->data[i] ? function_at(s, body->data[i]) : NULL;
      if (!fn || !fn->is_compiled)
         continue;
      tl_check_decorators(s, fn);
      check_statement(s, body->data[i]);
   }
   check_comments(s);
}
