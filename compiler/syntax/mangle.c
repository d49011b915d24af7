/* Names of a class's own, as Python has them: `__x` that does not end so is `_Class__x` everywhere
 * in the class's body, also in functions and in classes within it, unless those have taken it. */
#include "syntax/build.h"

#include <string.h>

typedef struct Mangle {
   TlParser *ps;
   const char *prefix; /* _Class */
} Mangle;

/* What a name of the class's own becomes; other names stay. */
static void
mangle_name(const Mangle *m, const char **name)
{
   size_t len = *name ? strlen(*name) : 0;
   bool is_own = len > 2 && strncmp(*name, "__", 2) == 0 && strcmp(*name + len - 2, "__") != 0 &&
                 !strchr(*name, '.');
   if (is_own)
      *name = tl_intern_cstr(m->ps->cx->strings,
                             tl_arena_printf(m->ps->cx->arena, "%s%s", m->prefix, *name));
}

static void
mangle(void *user, TlNode *n)
{
   const Mangle *m = user;
   if (n->kind == TL_AST_KEYWORD) { /* the name stays as it is written */
      tl_ast_children(n, mangle, user);
      return;
   }
   switch (n->kind) {
#define TL_NODE_BEGIN(ID, Name, text)                                                              \
   case TL_AST_##ID: {                                                                             \
      TlAst##Name *node = tl_ast_##Name(n);                                                  \
      (void)node;
#define TL_F_NAME(f) mangle_name(m, &node->f);
#define TL_NODE_END(ID, Name)                                                                      \
      break;                                                                                       \
   }
#include "syntax/ast.def"
   case TL_AST_COUNT:
      break;
   }
   tl_ast_children(n, mangle, user);
}

TlNode *
tl_mk_class(TlParser *ps, TlRange r, const TlToken *name, TlListP bases, TlListP body)
{
   TlNode *n = TL_MAKE(ps, r, Class, .name = tl_mk_word(ps, name),
                       .bases = bases ? *bases : (TlNodeList){0}, .body = tl_list(body));
   const char *word = tl_ast_Class(n)->name;
   word += strspn(word, "_");
   Mangle m = {ps, tl_arena_printf(ps->cx->arena, "_%s", word)};
   const TlNodeList *stmts = &tl_ast_Class(n)->body;
   for (size_t i = 0; *word && i < stmts->len; i++)
      if (stmts->data[i])
         mangle(&m, stmts->data[i]);
   return n;
}
