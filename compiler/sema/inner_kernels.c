/* Kernels that are no names of their file: methods of classes, and functions inside of functions.
 * Their names are Python's qualified ones.  What a function binds when it runs is not known, but
 * for its imports and the compiled functions in it. */
#include "sema/impl.h"

#include <assert.h>
#include <string.h>

enum { MOST_NESTING = 16 };

typedef struct Inner {
   TlSema *s;
   TlSourceModule *source;
   TlInnerKernels *found;
   TlFrame *frame;     /* of the function around, or NULL */
   const char *prefix; /* of qualified names: "Relu.", "make.<locals>.", or "" */
   unsigned depth;
} Inner;

static void walk(const Inner *in, const TlNodeList *stmts);

static void
find_compiled(void *user, TlNode *n)
{
   bool *found = user;
   *found |= n->kind == TL_AST_FUNCTION && tl_has_jit_decorator(&tl_ast_Function(n)->decorators);
   if (!*found)
      tl_ast_children(n, find_compiled, user);
}

/* The names of a function, as far as they are known without running it. */
static TlFrame *
frame_of(const Inner *in, const TlNode *function)
{
   TlSema *s = in->s;
   const TlMap *scopes = tl_scopes_of(s, function);
   TlFrame *f = tl_module_frame(s, in->source);
   f->parent = in->frame;
   for (size_t i = 0; i < scopes->cap; i++) {
      const char *name = (const char *)scopes->slots[i].key;
      if (!scopes->slots[i].used || scopes->slots[i].value != (void *)(uintptr_t)TL_SCOPE_LOCAL)
         continue;
      const char *why = tl_arena_printf(s->arena, "'%s', which '%s' has when it runs", name,
                                        tl_ast_Function(function)->name);
      tl_frame_set(s, f, name, tl_sv_lost(s, why, function->range), function->range);
   }
   return f;
}

static void
take(const Inner *in, TlNode *n)
{
   TlSema *s = in->s;
   TlSvFunc *fn = tl_func_value(s, in->source, in->frame, n);
   if (in->frame)
      tl_frame_set(s, in->frame, fn->name, (TlSv){.kind = TL_SV_FUNC, .func = fn}, n->range);
   if (!*in->prefix)
      return; /* a name of the file */
   fn->qualname =
      tl_intern_cstr(s->strings, tl_arena_printf(s->arena, "%s%s", in->prefix, fn->name));
   tl_vec_push(s->arena, in->found, fn);
}

static void
walk_function(const Inner *in, TlNode *n)
{
   const TlAstFunction *f = tl_ast_Function(n);
   bool has_compiled = false;
   if (tl_has_jit_decorator(&f->decorators)) {
      take(in, n);
      return;
   }
   tl_ast_children(n, find_compiled, &has_compiled);
   if (!has_compiled)
      return;
   Inner inner = *in;
   inner.frame = frame_of(in, n);
   inner.prefix = tl_arena_printf(in->s->arena, "%s%s.<locals>.", in->prefix, f->name);
   walk(&inner, &f->body);
}

static void
walk_class(const Inner *in, const TlAstClass *c)
{
   Inner inner = *in;
   inner.prefix = tl_arena_printf(in->s->arena, "%s%s.", in->prefix, c->name);
   walk(&inner, &c->body);
}

static void
walk_import(const Inner *in, const TlAstImport *n)
{
   TlQuiet q;
   if (!in->frame || n->is_star)
      return;
   tl_quiet_begin(in->s, &q);
   tl_import_into(in->s, in->frame, n);
   (void)tl_quiet_end(in->s, &q);
}

static void
walk_stmt(const Inner *in, TlNode *n)
{
   switch (n->kind) {
   case TL_AST_FUNCTION:
      walk_function(in, n);
      break;
   case TL_AST_CLASS:
      walk_class(in, tl_ast_Class(n));
      break;
   case TL_AST_IMPORT:
      walk_import(in, tl_ast_Import(n));
      break;
   case TL_AST_IF:
      walk(in, &tl_ast_If(n)->body);
      walk(in, &tl_ast_If(n)->orelse);
      break;
   case TL_AST_FOR:
      walk(in, &tl_ast_For(n)->body);
      break;
   case TL_AST_WITH:
      walk(in, &tl_ast_With(n)->body);
      break;
   case TL_AST_TRY:
      walk(in, &tl_ast_Try(n)->body);
      for (size_t i = 0; i < tl_ast_Try(n)->handlers.len; i++)
         walk(in, &tl_ast_Except(tl_ast_Try(n)->handlers.data[i])->body);
      break;
   default:
      break;
   }
}

static void
walk(const Inner *in, const TlNodeList *stmts)
{
   Inner inner = *in;
   if (inner.depth++ == MOST_NESTING)
      return;
   for (size_t i = 0; i < stmts->len; i++)
      if (stmts->data[i])
         walk_stmt(&inner, stmts->data[i]);
}

void
tl_find_inner_kernels(TlSema *s, TlSourceModule *source, TlInnerKernels *out)
{
   assert(source->frame); /* it has run */
   Inner in = {.s = s, .source = source, .found = out, .prefix = ""};
   if (!source->is_tile)
      walk(&in, &source->ast->body);
}

/* ---- kernels that are none ---- */
typedef void UnlistedFn(void *user, const TlAstFunction *f, const char *why);

typedef struct Unlisted {
   TlSema *s;
   const TlNode *around; /* the nearest `if` or `try` */
   UnlistedFn *found;
   void *user;
} Unlisted;

static bool
is_listed(const TlSema *s, const TlNode *function)
{
   for (unsigned i = 0; i < s->impl->num_kernels; i++) {
      const TlSvFunc *fn = tl_map_get(&s->impl->entries, s->impl->kernels[i].name);
      if (fn && fn->node == function)
         return true;
   }
   return false;
}

static const char *
why_unlisted(const Unlisted *u, const TlAstFunction *f)
{
   for (size_t i = 0; i < f->decorators.len; i++)
      if (tl_is_gluon_decorator(f->decorators.data[i]))
         return "it is written in Gluon, which is another language";
   if (!tl_has_jit_decorator(&f->decorators) || is_listed(u->s, &f->node))
      return NULL;
   if (u->around && u->around->kind == TL_AST_IF)
      return tl_arena_printf(u->s->arena, "what hangs on '%s' does not go this way",
                             tl_node_text(u->s, tl_ast_If(u->around)->test));
   return u->around ? "the 'try' around it goes another way" : "its name is bound again";
}

static void
find_unlisted(void *user, TlNode *n)
{
   Unlisted u = *(Unlisted *)user;
   if (n->kind == TL_AST_IF || n->kind == TL_AST_TRY)
      u.around = n;
   const char *why = n->kind == TL_AST_FUNCTION ? why_unlisted(&u, tl_ast_Function(n)) : NULL;
   if (why)
      u.found(u.user, tl_ast_Function(n), why);
   tl_ast_children(n, find_unlisted, &u);
}

static void
each_unlisted(TlSema *s, UnlistedFn *found, void *user)
{
   Unlisted u = {.s = s, .found = found, .user = user};
   if (!s->impl->main->is_tile)
      tl_ast_children(&s->impl->main->ast->node, find_unlisted, &u);
}

typedef struct Named {
   const char *name, *why;
} Named;

static void
keep_named(void *user, const TlAstFunction *f, const char *why)
{
   Named *n = user;
   if (!n->why && strcmp(f->name, n->name) == 0)
      n->why = why;
}

const char *
tl_why_unlisted(TlSema *s, const char *name)
{
   Named n = {.name = name};
   each_unlisted(s, keep_named, &n);
   return n.why;
}

static void
report(void *user, const TlAstFunction *f, const char *why)
{
   TlSema *s = user;
   tl_report(s->diags, R0208, tl_ast_name_range(s->sources, &f->node), f->name, why);
}

void
tl_sema_report_unlisted(TlSema *s)
{
   each_unlisted(s, report, s);
}
