/* Who binds and who reads each name of a file, by its text alone: for warnings, and for editors
 * (definition, references, rename).  Scopes are Python's; in a kernel's own decorator (grid=) names
 * mean its parameters first, and strings in decorators that spell a parameter mention it. */
#ifndef TL_SEMA_NAMES_H
#define TL_SEMA_NAMES_H

#include "base/map.h"
#include "base/vec.h"
#include "syntax/ast.h"

typedef enum TlSymbolKind {
   TL_SYMBOL_VARIABLE,
   TL_SYMBOL_PARAMETER,
   TL_SYMBOL_FUNCTION,
   TL_SYMBOL_CLASS,
   TL_SYMBOL_IMPORT,
} TlSymbolKind;

typedef struct TlSymbol {
   const char *name; /* interned */
   TlSymbolKind kind;
   TlRange range;        /* of the name where it is first bound */
   const TlNode *node;   /* Function, Class, Param, Alias; a variable's statement, or NULL */
   const TlNode *import; /* Import of the Alias */
   const TlNode *owner;  /* the Function, Lambda or Class that it is local to; NULL: the file */
   unsigned reads;
   bool is_unpacked; /* bound with others at once: a, b = .., or by a loop, with, except */
} TlSymbol;

typedef struct TlMention {
   TlRange range;
   const char *name;
   TlSymbol *symbol;   /* NULL: nothing in the file binds it */
   const TlNode *node; /* Name, Function, Param, Keyword, ..: whose name it is */
   const TlNode *owner;
   bool is_write;
   bool is_keyword; /* name of an argument: no use of the parameter */
} TlMention;

typedef struct TlNames {
   TL_VEC(TlMention) mentions; /* by position */
   TL_VEC(TlSymbol *) symbols;
} TlNames;

TlNames *tl_names_of(TlArena *arena, TlSources *sources, const TlAstModule *ast);
/* The mention that the offset is in or at the end of; NULL if there is none. */
const TlMention *tl_mention_at(const TlNames *names, uint32_t offset);

#endif
