/* Bytes to AST.  Errors go to diags; the tree that comes back holds what could be parsed
 * (statements with errors are left out), so one file yields several errors. */
#ifndef TL_SYNTAX_PARSE_H
#define TL_SYNTAX_PARSE_H

#include "base/diag.h"
#include "syntax/ast.h"

typedef struct TlParseCx {
   TlArena *arena;     /* nodes */
   TlStrings *strings; /* names */
   TlSources *sources;
   TlDiags *diags;
} TlParseCx;

/* Parses a whole .tile file: every statement is compiled code, every error counts.  Returns the
 * Module (never NULL; possibly empty). */
TlAstModule *tl_parse_tile(TlParseCx *cx, uint32_t file);

/* Reads a .py file: top-level (and nested) statements are split on tokens first.  Kept: functions
 * under @jit / @kernel / @triton.jit / @...jit(...) stacks and plain host functions, imports,
 * assignments, if/try around them, classes.  A host statement that does not parse becomes Skipped
 * and is no error; an error inside a @jit function is reported. */
TlAstModule *tl_parse_python(TlParseCx *cx, uint32_t file);

/* By its name, which ends in ".py"; all else is .tile. */
bool tl_is_python_file(const char *name);
/* Chooses by file name. */
TlAstModule *tl_parse_file(TlParseCx *cx, uint32_t file);

/* One expression from text (signature entries, -D values, grid expressions); NULL: an error. */
TlNode *tl_parse_expression(TlParseCx *cx, uint32_t file);

/* Words that the scanner takes for no names: the i-th, or NULL behind the last. */
const char *tl_keyword(unsigned i);

/* --emit=tokens: one token a line: "line:col kind text". */
void tl_print_tokens(TlParseCx *cx, uint32_t file, TlSb *out);

/* The dtype for the name of a type of another language (other_types.def), or NULL. */
const char *tl_other_type(const char *name, size_t len);
/* The keyword that the word was meant to be; NULL: it is like none. */
const char *tl_nearest_keyword(const char *word);

#endif
