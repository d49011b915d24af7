/* Private to the language server.  transport.c reads and writes messages, server.c gives each to
 * the function of its row in methods.def, document.c keeps texts and what is known of them, the
 * others answer.  Invariant: a request that fails, for whatever reason, gets an error as its answer
 * and leaves the server as it was. */
#ifndef TL_LSP_IMPL_H
#define TL_LSP_IMPL_H

#include "compile/compilation.h"
#include "lsp/lsp.h"
#include "sema/names.h"

#include <jansson.h>

/* ---- transport.c ---- */
typedef struct TlInput {
   int fd;
   size_t at, len; /* of what was read already */
   char bytes[16384];
} TlInput;

typedef enum TlReceived {
   TL_RECEIVED,
   TL_RECEIVED_NO_LENGTH, /* headers that state none, or one that is not taken */
   TL_RECEIVED_NO_JSON,
   TL_RECEIVED_END,
} TlReceived;
/* What comes next: a message, what is none and is skipped, or the end.  A new reference. */
TlReceived tl_lsp_receive(TlInput *in, json_t **message);
bool tl_lsp_send(FILE *out, json_t *message); /* takes the reference; false: it is not sent */
bool tl_lsp_is_waiting(const TlInput *in);    /* something more can be read at once */
/* Of files in any encoding: a text that is not UTF-8 has '?' for what is not ASCII. */
json_t *tl_json_text(const char *text, size_t len);

/* ---- documents ---- */
typedef struct TlDocument {
   char *uri, *path;
   char *text; /* NUL after text[len] */
   size_t len;
   json_int_t version;
   bool is_lost;        /* an edit was not followed: `text` is not what the editor has */
   bool is_stale;       /* the text has changed since the compilation */
   bool is_unpublished; /* likewise, since its diagnostics were sent */
   bool is_broken;      /* compiling this text crashed */
   bool has_view;
   TlCompilation comp; /* of the last text; has_view */
   struct TlDocument *next;
} TlDocument;

/* The line that was found last: what comes next is mostly below. */
typedef struct TlNear {
   const char *text;
   size_t at; /* where the line begins */
   json_int_t line;
} TlNear;

typedef struct TlServer {
   TlLspOptions options;
   TlInput input;
   TlNear near; /* of this message */
   TlDocument *documents;
   bool is_utf8;        /* characters are bytes; else UTF-16 units */
   TlDocument *at_work; /* what the message is about */
   bool is_initialized, is_shut_down, is_over;
} TlServer;

TlDocument *tl_document_find(const TlServer *s, const char *uri);
/* NULL: out of memory.  A text that is too large is lost. */
TlDocument *tl_document_open(TlServer *s, const char *uri, const char *text, size_t len);
void tl_document_close(TlServer *s, TlDocument *d);
/* Bytes begin to end become these; false when they are not in the text. */
bool tl_document_edit(TlDocument *d, size_t begin, size_t end, const char *text, size_t len);
/* Compiles the text if it changed; NULL, or why nothing is known of it. */
const char *tl_document_update(const TlServer *s, TlDocument *d);
char *tl_path_of_uri(const char *uri);  /* by malloc; NULL: no file */
char *tl_uri_of_path(const char *path); /* likewise */

/* ---- positions ---- */
typedef struct TlPosition {
   json_int_t line, character; /* from 0 */
} TlPosition;
bool tl_lsp_is_position(const json_t *position);
TlPosition tl_position_of(TlServer *s, const char *text, size_t len, size_t offset);
/* An offset into the text; past the end of a line is its end. */
size_t tl_offset_of(const TlServer *s, const char *text, size_t len, const json_t *position);
json_t *tl_json_position(TlServer *s, const char *text, size_t len, size_t offset);
json_t *tl_json_range(TlServer *s, const char *text, size_t len, size_t begin, size_t end);
/* Of a range in any file that the compilation has read. */
json_t *tl_json_location(TlServer *s, const TlDocument *d, TlRange r);

/* ---- requests ---- */
typedef struct TlRequest {
   TlServer *server;
   const json_t *params;
   TlDocument *doc;   /* of params.textDocument, up to date; NULL: not open */
   size_t offset;     /* of params.position */
   const char *error; /* out: why it is refused, or NULL */
} TlRequest;

#define TL_LSP_REQUEST(method, name, ...) json_t *tl_lsp_##name(TlRequest *r);
#define TL_LSP_NOTIFICATION(method, name) void tl_lsp_##name(TlRequest *r);
#include "lsp/methods.def"

void tl_lsp_publish(TlServer *s, TlDocument *d);                     /* diagnostics.c */
void tl_lsp_show(TlServer *s, const char *uri, const char *message); /* as an error, of a file */
json_t *tl_lsp_token_legend(void);                                   /* tokens.c */

/* ---- lookup.c: what the text around a place means ---- */
bool tl_is_in_sight(const TlSymbol *y, size_t offset);
/* What "tl.math" or "helpers.twice" stands for outside of functions; POISON: nothing is known. */
TlSv tl_lsp_meaning(const TlDocument *d, const char *dotted, size_t len);
/* The same of these bytes of the text, whose first name may be a local variable. */
TlSv tl_lsp_meaning_at(const TlDocument *d, size_t begin, size_t end);
/* The builtin there, "load", "tl.load", or a method by its last part, "x.to"; NULL: none. */
const TlBuiltin *tl_lsp_builtin_at(const TlDocument *d, size_t begin, size_t end);
/* Where v is defined: a function, or a file (*node is NULL); false for other values. */
bool tl_lsp_defined(const TlDocument *d, const TlSv *v, const TlNode **node, TlRange *range);
typedef struct TlParameter {
   const char *text, *name; /* "*rest: tile", "rest" */
   size_t len, name_len;
} TlParameter;
/* The i-th attribute of a tile, "shape", with what it is; NULL: there are no more. */
const char *tl_lsp_attribute(unsigned i, const char **doc);
/* Parameters of a signature's text one by one; false past the last. */
bool tl_next_parameter(const char **rest, TlParameter *out);
/* The constant "module.NAME" of another file; NULL: it is none. */
const char *tl_lsp_constant(const TlDocument *d, size_t begin, size_t end, const TlSv **value,
                            TlRange *range);
/* Dotted name that ends at (or around) the offset: "tl.math.exp". */
typedef struct TlWord {
   size_t begin, end; /* of the last component */
   size_t dotted;     /* begin of the whole */
} TlWord;
TlWord tl_word_at(const char *text, size_t len, size_t offset, bool to_its_end);
/* The call around the offset: its callee's dotted name, which argument; false: none. */
typedef struct TlOpenCall {
   TlWord callee;
   unsigned argument;
   const char *keyword; /* text of the argument's name, or NULL */
   size_t keyword_len;
} TlOpenCall;
bool tl_open_call(const char *text, size_t offset, TlOpenCall *out);
/* What is called there: its name, its parameters' text, what it does; false: it is not known. */
typedef struct TlCallee {
   const char *name, *params, *doc;
} TlCallee;
bool tl_lsp_callee(const TlDocument *d, const TlOpenCall *call, TlCallee *out); /* hover.c */
const TlMention *tl_mention_of(const TlRequest *r);
/* What a name stands for, as a line of text: "offs: tile<i32, 128>"; arena of the document. */
const char *tl_describe_mention(const TlDocument *d, const TlMention *m);
const char *tl_describe_seen(const TlDocument *d, uint32_t offset); /* the value alone, or NULL */
/* "name(parameters)" of a function of the source. */
const char *tl_signature_of(const TlDocument *d, const TlNode *function, uint32_t file);
const char *tl_docstring_of(const TlNode *function); /* NULL: none */
/* The symbol's definition: its own place, or what an import leads to. */
bool tl_definition_of(const TlDocument *d, const TlSymbol *y, const TlNode **node, TlRange *range);

#endif
