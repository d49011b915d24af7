/* Which names statements bind, by their text alone, as Python decides it before anything runs. */
#ifndef TL_SEMA_BINDINGS_H
#define TL_SEMA_BINDINGS_H

#include "syntax/ast.h"

typedef enum TlBindingKind {
   TL_BINDS_VARIABLE, /* =, :=, for, with, except, case */
   TL_BINDS_FUNCTION,
   TL_BINDS_CLASS,
   TL_BINDS_IMPORT,
   TL_BINDS_PART,     /* x.name = ..: of what x holds */
   TL_BINDS_NOTHING,  /* del x */
   TL_BINDS_ELSEWHERE /* global x, nonlocal x */
} TlBindingKind;

typedef struct TlBinding {
   TlBindingKind kind;
   const char *name;   /* interned; of an import as written: `import a.b` binds a */
   const TlNode *node; /* Name, Function, Class, Alias or Except */
   const TlNode *stmt; /* that binds it: Assign, Walrus, For, Import, .. */
   bool is_unpacked;   /* with others at once: a, b = .., or by a loop, with, except, case */
} TlBinding;

/* In order of the text.  What functions, lambdas and classes inside bind is their own, and so are
 * targets of comprehensions, but not what `:=` in them binds. */
void tl_each_binding(const TlNodeList *stmts, void (*on)(void *user, const TlBinding *b),
                     void *user);
/* Of a CompFor's target alone. */
void tl_each_loop_binding(const TlNode *comp_for, void (*on)(void *user, const TlBinding *b),
                          void *user);
/* The Name that a pattern of `case` itself binds, or NULL. */
TlNode *tl_pattern_target(const TlNode *pattern);

#endif
