/* A kernel that is asked for by the name of a function without a decorator: told at the function,
 * before anything else looks for it. */
#include "compile/compilation.h"

#include <string.h>

static bool
is_kernel(TlSema *sema, const char *name)
{
   const TlKernelInfo *kernels;
   unsigned n = tl_sema_kernels(sema, &kernels);
   for (unsigned i = 0; i < n; i++)
      if (strcmp(kernels[i].name, name) == 0)
         return true;
   return false;
}

/* Of the file's own lines; NULL: none, or it has a decorator. */
static const TlNode *
plain_function(const TlAstModule *ast, const char *name)
{
   const TlNode *found = NULL;
   for (size_t i = 0; i < ast->body.len; i++) {
      const TlNode *n = ast->body.data[i];
      if (n && n->kind == TL_AST_FUNCTION && strcmp(tl_ast_Function(n)->name, name) == 0)
         found = tl_ast_Function(n)->decorators.len ? NULL : n;
   }
   return found;
}

bool
tl_report_undecorated(TlCompilation *comp, const char *name)
{
   const TlNode *fn = name ? plain_function(comp->ast, name) : NULL;
   if (!fn || is_kernel(comp->sema, name))
      return false;
   const TlSource *src = tl_source(comp->sources, comp->file);
   tl_report(&comp->diags, E0261, tl_ast_name_range(comp->sources, fn), name);
   tl_help(&comp->diags, "it is a function and no kernel: write %s in the line above 'def %s'",
           src && tl_ends_with(src->name, ".py") ? "@triton.jit" : "@kernel", name);
   return true;
}
