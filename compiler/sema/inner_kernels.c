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
