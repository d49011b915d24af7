/* Tokens of one file, all scanned before parsing starts, so that the parser's error texts may look
 * back, and the .py splitter may cut the sequence into statements.  Internal to syntax/. */
#ifndef TL_SYNTAX_TOKEN_H
#define TL_SYNTAX_TOKEN_H

#include "base/diag.h"
#include "syntax/ast.h"
#include "syntax/parse.h"

/* The defaults of the limits on hostile input; each has an error code and a test at its edge. */
enum {
   TL_MAX_TOKEN_BYTES = 64 * 1024,
   TL_MAX_IDENT_BYTES = 1024,
   TL_MAX_BRACKETS = 256,
   TL_MAX_BLOCKS = 256,
   TL_MAX_FSTRING_DEPTH = 8,
   TL_PARSER_STACK = 4096,
};

/* Handed out for text that is not a token; its name in Bison carries the prefix. */
#define TL_TOK_ERROR TL_TOK_TL_YYerror

/* A mistake found while scanning, reported when the parser takes the token it hangs on, so that
 * skipped host code stays silent. */
typedef struct TlLexError {
   TlDiagCode code;
   TlRange range;
   const char *text;   /* formatted message */
   const char *help;   /* NULL or the help line */
   const char *note;   /* NULL or a note's text */
   TlRange note_range; /* where the note points */
} TlLexError;

typedef struct TlToken {
   uint32_t begin, end; /* bytes of the file; NEWLINE, INDENT and DEDENT are empty ranges */
   uint16_t kind;       /* TL_TOK_... of the grammar */
   bool is_line_start;  /* first token of a logical line */
   uint32_t match;      /* bracket or INDENT/DEDENT: index of its partner; 0 = none */
   union {
      TlLexError *error; /* NULL or what is wrong with (or just before) this token */
      TlNodeList *body;  /* TL_TOK_BODY only: statements that are already parsed */
   };
} TlToken;

typedef struct TlTokens {
   TlToken *data;
   size_t len, cap;
} TlTokens;

/* Scans a whole file: layout tokens included, ends with NEWLINE (unless empty) and END. */
void tl_lex(TlParseCx *cx, uint32_t file, TlTokens *out);
/* Scans bytes [begin, end) of a file as the inside of a bracket: no layout tokens, then END. */
void tl_lex_part(TlParseCx *cx, uint32_t file, uint32_t begin, uint32_t end, TlTokens *out);

/* The token's name in the grammar: "def", "(", "name", "newline". */
const char *tl_token_kind_text(int kind);

/* The end of the string literal whose opening quote run (1 or 3 quotes) starts at `p`; NULL when it
 * is not terminated.  In an f-string the fields are skipped with their own nested strings. */
const char *tl_string_end(const char *p, const char *limit, bool is_format, bool is_raw,
                          unsigned depth);

#endif
