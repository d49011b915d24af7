/* The language reference behind `tilec doc` and docs/reference: pages of prose and examples, and
 * for each name its rows of sema/builtins.def. */
#ifndef TL_COMMAND_REFERENCE_H
#define TL_COMMAND_REFERENCE_H

#include "base/str.h"
#include "base/vec.h"
#include "sema/builtin.h"

/* Text of a page, not NUL-terminated. */
typedef struct TlSpan {
   const char *text;
   size_t len;
} TlSpan;

typedef struct TlRefEntry {
   TL_VEC(const char *) names;
   TlSpan body;
} TlRefEntry;

typedef struct TlRefPage {
   const char *name; /* of its file, without ".md" */
   TlSpan title, intro;
   TL_VEC(TlRefEntry) entries;
} TlRefPage;

typedef struct TlReference {
   TlArena *arena;
   TL_VEC(TlRefPage) pages;
} TlReference;

void tl_reference_read(TlArena *arena, TlReference *out);
/* The entry of a name, NULL if there is none. */
const TlRefEntry *tl_reference_find(const TlReference *ref, const char *name);
/* Builtins without an entry, for messages: names separated by blanks, "" when each has one. */
const char *tl_reference_missing(const TlReference *ref);
/* Is it for kernels: not refused, not one of the library's own? */
bool tl_reference_wants(const TlBuiltinRow *row);

/* ---- text ---- */
/* What a row says: "exp(x)", how else it is called, what it takes, the library's own sentence. */
const char *tl_reference_calls(TlArena *arena, const TlBuiltin *b);
const char *tl_reference_takes(TlArena *arena, const TlBuiltinRow *row);
const char *tl_reference_docstring(TlArena *arena, const TlBuiltinRow *row); /* "" = none */
/* For a terminal: a name of an entry; all entries by page, a line each. */
void tl_reference_entry_text(const TlReference *ref, const TlRefEntry *e, const char *name,
                             TlSb *out);
void tl_reference_list_text(const TlReference *ref, TlSb *out);
/* As Markdown: a page of docs/reference; README.md there, which lists them. */
void tl_reference_page_markdown(const TlReference *ref, const TlRefPage *page, TlSb *out);
void tl_reference_index_markdown(const TlReference *ref, TlSb *out);

#endif
