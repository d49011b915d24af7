/* One token at a time, without layout: what lexer.re provides to indent.c.  Internal to syntax/. */
#ifndef TL_SYNTAX_SCAN_H
#define TL_SYNTAX_SCAN_H

#include "syntax/token.h"

/* Physical line end; not a token of the grammar. */
enum { TL_RAW_EOL = -10 };

typedef struct TlScan {
   const char *text; /* start of the file; NUL at limit */
   const char *cur;  /* next byte */
   const char *limit;
   size_t look_bytes; /* bytes that look-ahead may still read twice: bounds hostile input */
} TlScan;

typedef struct TlRaw {
   int kind; /* TL_TOK_..., TL_RAW_EOL, or TL_TOK_ERROR with `problem` */
   uint32_t begin, end;
   TlDiagCode problem; /* TL_DIAG_COUNT: none; set for INT and FLOAT tokens too */
} TlRaw;

/* Skips blanks, comments and joined lines, then takes one token. */
TlRaw tl_scan(TlScan *s);

#endif
