/* Decorators written as calls: `f = triton.jit(f)` behind a function says what `@triton.jit` above
 * it does, and so do `triton.heuristics(..)(f)` and `triton.autotune(..)(f)`.  The tree is changed
 * before the file is run: the function gets the decorators, the statement becomes `f = f`. */
#include "sema/impl.h"

#include <assert.h>
#include <string.h>

enum { MOST_DECORATORS = 16, MOST_NESTING = 16 };

typedef struct Decorate {
   TlSema *s;
   TlMap *functions; /* name -> TlAstFunction that it is bound to */
} Decorate;

/* What comes of calling it, of a decorator with arguments or without. */
static bool
is_decorator(const TlNode *func)
{
   const TlNode *n = func->kind == TL_AST_CALL ? tl_ast_Call(func)->func : func;
   if (n->kind != TL_AST_ATTRIBUTE && n->kind != TL_AST_NAME)
      return false;
   const char *name = tl_decorator_name(n);
   bool has_arguments = func->kind == TL_AST_CALL;
   if (strcmp(name, "heuristics") == 0 || strcmp(name, "autotune") == 0)
      return has_arguments;
   return strcmp(name, "jit") == 0;
}

/* The function that the calls decorate, and the decorators, the outermost first; NULL: another
 * expression. */
static TlAstFunction *
decorated(const Decorate *d, const TlNode *value, TlNodeList *decorators)
{
   while (value->kind == TL_AST_CALL && decorators->len < MOST_DECORATORS) {
      const TlAstCall *call = tl_ast_Call(value);
      if (call->args.len != 1 || !is_decorator(call->func) ||
          call->args.data[0]->kind == TL_AST_KEYWORD || call->args.data[0]->kind == TL_AST_STARRED)
         return NULL;
      tl_vec_push(d->s->arena, decorators, call->func);
      value = call->args.data[0];
   }
   return value->kind == TL_AST_NAME && decorators->len
             ? tl_map_get(d->functions, tl_ast_Name(value)->id)
             : NULL;
}

/* By another name a kernel that is one already would be two: with the decorators and without. */
static void
decorate(const Decorate *d, TlAstAssign *assign)
{
   if (assign->targets.len != 1 || assign->targets.data[0]->kind != TL_AST_NAME)
      return;
   const char *target = tl_ast_Name(assign->targets.data[0])->id;
   TlNodeList decorators = {0};
   TlAstFunction *f = decorated(d, assign->value, &decorators);
   bool is_own = f && strcmp(f->name, target) == 0;
   if (f && (is_own || !tl_has_jit_decorator(&f->decorators)) &&
       (tl_has_jit_decorator(&decorators) || tl_has_jit_decorator(&f->decorators))) {
      for (size_t i = 0; i < f->decorators.len; i++)
         tl_vec_push(d->s->arena, &decorators, f->decorators.data[i]);
      f->decorators = decorators;
      TlAstName name = {.node = {.range = assign->value->range}, .id = f->name};
      assign->value = tl_ast_make_Name(d->s->arena, name);
   }
   tl_map_put(d->functions, target, is_own ? f : NULL);
}

static void
walk(const Decorate *d, const TlNodeList *stmts, unsigned depth)
{
   for (size_t i = 0; i < stmts->len && depth < MOST_NESTING; i++) {
      TlNode *n = stmts->data[i];
      if (!n)
         continue;
      if (n->kind == TL_AST_FUNCTION) {
         tl_map_put(d->functions, tl_ast_Function(n)->name, n);
      } else if (n->kind == TL_AST_ASSIGN) {
         decorate(d, tl_ast_Assign(n));
      } else if (n->kind == TL_AST_IF) {
         walk(d, &tl_ast_If(n)->body, depth + 1);
         walk(d, &tl_ast_If(n)->orelse, depth + 1);
      } else if (n->kind == TL_AST_TRY) {
         walk(d, &tl_ast_Try(n)->body, depth + 1);
      }
   }
}

void
tl_take_called_decorators(TlSema *s, const TlAstModule *module)
{
   TlMap functions;
   assert(module);
   tl_map_init(&functions, s->arena);
   Decorate d = {.s = s, .functions = &functions};
   walk(&d, &module->body, 0);
}
