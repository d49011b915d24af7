/* From raw tokens to the parser's sequence: indentation, joining inside brackets, bracket partners.
 * Invariants of the result: each INDENT has its DEDENT (also where the source is wrong), each
 * logical line ends with NEWLINE, END is last; a mistake hangs on one token as a TlLexError and
 * costs at most its line.  What cannot be kept as a token of the grammar becomes TL_TOK_ERROR.
 *
 * An unclosed bracket must not swallow the file: joining stops before a line that starts, at or
 * left of the statement's own column, with a keyword that begins a statement. */
#include "syntax/scan.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "parser.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

/* What a keyword can do at the start of a line. */
enum {
   STARTS_STATEMENT = 1, /* cannot continue an expression, so it ends an unclosed bracket */
   OPENS_BLOCK = 2,      /* the line ends with ':' and an indented block follows */
   MAY_CONTINUE = 4,     /* statement or expression: decided by what follows */
};
static const unsigned char word_class[] = {
   [TL_TOK_ASSERT] = STARTS_STATEMENT,
   [TL_TOK_ASYNC] = MAY_CONTINUE | OPENS_BLOCK,
   [TL_TOK_AT] = MAY_CONTINUE,
   [TL_TOK_BREAK] = STARTS_STATEMENT,
   [TL_TOK_CLASS] = STARTS_STATEMENT | OPENS_BLOCK,
   [TL_TOK_CONTINUE] = STARTS_STATEMENT,
   [TL_TOK_DEF] = STARTS_STATEMENT | OPENS_BLOCK,
   [TL_TOK_DEL] = STARTS_STATEMENT,
   [TL_TOK_ELIF] = STARTS_STATEMENT | OPENS_BLOCK,
   [TL_TOK_ELSE] = MAY_CONTINUE | OPENS_BLOCK,
   [TL_TOK_EXCEPT] = STARTS_STATEMENT | OPENS_BLOCK,
   [TL_TOK_FINALLY] = STARTS_STATEMENT | OPENS_BLOCK,
   [TL_TOK_FOR] = MAY_CONTINUE | OPENS_BLOCK,
   [TL_TOK_FROM] = MAY_CONTINUE,
   [TL_TOK_GLOBAL] = STARTS_STATEMENT,
   [TL_TOK_IF] = MAY_CONTINUE | OPENS_BLOCK,
   [TL_TOK_IMPORT] = STARTS_STATEMENT,
   [TL_TOK_NONLOCAL] = STARTS_STATEMENT,
   [TL_TOK_PASS] = STARTS_STATEMENT,
   [TL_TOK_RAISE] = STARTS_STATEMENT,
   [TL_TOK_RETURN] = STARTS_STATEMENT,
   [TL_TOK_TRY] = STARTS_STATEMENT | OPENS_BLOCK,
   [TL_TOK_WHILE] = STARTS_STATEMENT | OPENS_BLOCK,
   [TL_TOK_WITH] = STARTS_STATEMENT | OPENS_BLOCK,
   [TL_TOK_MATMUL_EQ] = 0,
};

static unsigned
class_of(int kind)
{
   return kind >= 0 && kind < (int)sizeof word_class ? word_class[kind] : 0;
}

typedef struct Indent {
   unsigned column;   /* tabs to multiples of 8 */
   unsigned column_1; /* tabs count as 1: both orders must agree */
   uint32_t token;    /* index of its INDENT; 0 = no token was made (unexpected indentation) */
   bool is_wrong;     /* reported: that lines below it are further in is the same mistake */
} Indent;

typedef struct Lines {
   TlParseCx *cx;
   uint32_t file;
   TlScan scan;
   TlTokens *out;
   Indent indents[TL_MAX_BLOCKS + 1];
   unsigned num_indents;               /* the outermost, column 0, included */
   uint32_t brackets[TL_MAX_BRACKETS]; /* token indices of open brackets */
   unsigned depth;                     /* open brackets, also those beyond the limit */
   bool is_overflow;     /* too many brackets or blocks: drop tokens up to the line's end */
   TlLexError *pending;  /* goes on the next token */
   uint32_t line_first;  /* index of the logical line's first token */
   unsigned line_column; /* its column */
   bool opens_block;     /* the last line did, or should, start a block */
   bool needs_block;     /* the last line was complete: keyword ... ':' */
   uint32_t block_word;  /* token index of that line's keyword */
} Lines;

static TlRange
range_of(const Lines *l, uint32_t begin, uint32_t end)
{
   assert(begin <= end);
   return tl_range(l->file, begin, end);
}

/* Checks the arguments against the code's format, as tl_report does. */
#define LEX_ERROR(l, c, r, ...)                                                                    \
   new_error((l), TL_DIAG_##c, (r), tl_arena_printf((l)->cx->arena, tl_fmt_##c, ##__VA_ARGS__))

static TlLexError *
new_error(Lines *l, TlDiagCode code, TlRange range, const char *text)
{
   TlLexError *e = tl_new(l->cx->arena, TlLexError);
   *e = (TlLexError){.code = code, .range = range, .text = text};
   return e;
}

static uint32_t
last_end(const Lines *l)
{
   return l->out->len ? l->out->data[l->out->len - 1].end : 0;
}

static uint32_t
push(Lines *l, int kind, uint32_t begin, uint32_t end, TlLexError *error)
{
   assert(begin <= end && kind >= 0);
   TlToken t = {.begin = begin, .end = end, .kind = (uint16_t)kind};
   t.error = error ? error : l->pending;
   t.is_line_start = l->out->len == l->line_first;
   l->pending = NULL;
   tl_vec_push(l->cx->arena, l->out, t);
   return (uint32_t)l->out->len - 1;
}

/* ---- errors of raw tokens ---- */

static const char *
quotes_of(const char *p)
{
   while (*p != '"' && *p != '\'')
      p++;
   if (p[1] == *p && p[2] == *p)
      return *p == '"' ? "\"\"\"" : "'''";
   return *p == '"' ? "\"" : "'";
}

/* println!(..), vec![0.0; 64]: what to write for the macro whose '!' lies at `at`, or NULL. */
static const char *
for_macro(Lines *l, uint32_t at)
{
   static const struct {
      const char *name, *instead;
   } rows[] = {
      {"println", "device_print(\"x\", x)"},
      {"print", "device_print(\"x\", x)"},
      {"dbg", "device_print(\"x\", x)"},
      {"assert", "device_assert(condition, \"text\")"},
      {"assert_eq", "device_assert(a == b, \"text\")"},
      {"panic", "device_assert(condition, \"text\")"},
      {"vec", "zeros((64,), fp32), or full((64,), value, dtype)"},
   };
   const char *text = l->scan.text, *end = text + at, *from = end;
   while (from > text && (isalnum((unsigned char)from[-1]) || from[-1] == '_'))
      from--;
   size_t len = (size_t)(end - from);
   if (!len || len > 40 || (end[1] != '(' && end[1] != '['))
      return NULL;
   for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
      if (strlen(rows[i].name) == len && memcmp(rows[i].name, from, len) == 0)
         return tl_arena_printf(l->cx->arena, "there are no macros; write %s", rows[i].instead);
   return tl_arena_printf(l->cx->arena,
                          "there are no macros; a function is called without '!': "
                          "%.*s(..)",
                          (int)len, from);
}

static TlLexError *
bad_character(Lines *l, TlRaw r)
{
   static const struct {
      char c;
      const char *help;
   } slips[] = {
      {'!', "write 'not' for negation ('~' of a mask), '!=' for inequality"},
      {'?', "a conditional is written 'a if test else b', element by element where(test, a, b)"},
      {'$', "names consist of letters, digits and '_'"},
      {'`', "strings are written with ' or \""},
   };
   const unsigned char *p = (const unsigned char *)l->scan.text + r.begin;
   unsigned cp = p[0];
   if (cp >= 0xC0) {
      unsigned extra = r.end - r.begin - 1;
      cp &= 0x3Fu >> extra;
      for (unsigned i = 1; i <= extra; i++)
         cp = cp << 6 | (p[i] & 0x3Fu);
   }
   char shown[8] = "control";
   if (cp >= 0x20 && cp != 0x7F && r.end - r.begin < sizeof shown) {
      memcpy(shown, p, r.end - r.begin);
      shown[r.end - r.begin] = '\0';
   }
   TlLexError *e = LEX_ERROR(l, E0110, range_of(l, r.begin, r.end), shown, cp);
   for (size_t i = 0; i < sizeof slips / sizeof slips[0]; i++)
      if (cp == (unsigned char)slips[i].c)
         e->help = slips[i].help;
   const char *macro = cp == '!' ? for_macro(l, r.begin) : NULL;
   if (macro)
      e->help = macro;
   if (cp == 0x201C || cp == 0x201D || cp == 0x2018 || cp == 0x2019)
      e->help = "use the plain quotes ' and \"";
   if (cp == 0xA0 || cp == 0x3000 || cp == 0x200B)
      e->help = "replace it with an ordinary space";
   if (cp == 0xD7 || cp == 0x2212 || (cp >= 0x2010 && cp <= 0x2015)) /* hyphens and dashes */
      e->help = cp == 0xD7 ? "write '*'" : "write '-'";
   return e;
}

static TlLexError *
raw_error(Lines *l, TlRaw r)
{
   TlRange range = range_of(l, r.begin, r.end);
   const char *text = l->scan.text + r.begin;
   int len = (int)(r.end - r.begin > 60 ? 60 : r.end - r.begin);
   switch (r.problem) {
   case TL_DIAG_E0101:
      return LEX_ERROR(l, E0101, range, (unsigned)(unsigned char)*text);
   case TL_DIAG_E0102:
      return LEX_ERROR(l, E0102, range);
   case TL_DIAG_E0111:
      range.end = range.begin + (uint32_t)(strcspn(text, "'\"") + strlen(quotes_of(text)));
      return LEX_ERROR(l, E0111, range, quotes_of(text));
   case TL_DIAG_E0119: {
      size_t blanks = strspn(text + 1, " \t\f");
      range.end = range.begin + 1;
      TlLexError *e = LEX_ERROR(l, E0119, range);
      if (text[1 + blanks] == '\n' || text[1 + blanks] == '\r')
         e->help = "take the blanks behind it out: it is to be the last of its line";
      return e;
   }
   case TL_DIAG_E0120: {
      TlLexError *e = LEX_ERROR(l, E0120, range, len, text);
      if (strchr("fFlLuUhH", text[len - 1]) && len > 1 && text[1] != 'x')
         e->help = "numbers have no suffix; their type is chosen with .to(tl.float32)";
      else if (isdigit((unsigned char)text[0]) && isalpha((unsigned char)text[len - 1]) &&
               text[0] != '0' && !memchr(text, 'x', r.end - r.begin))
         e->help = "a product is written with '*', as in 2 * x; a name does not begin with a digit";
      else if (isdigit((unsigned char)text[0]) && isdigit((unsigned char)text[len - 1]) &&
               memchr(text, 'x', r.end - r.begin) && text[0] != '0')
         e->help = "several sizes are separated by ',', as in 16, 16 (--grid=16,16 of a launch); a "
                   "product is 16 * 16";
      return e;
   }
   case TL_DIAG_E0121:
      return LEX_ERROR(l, E0121, range, len, text);
   case TL_DIAG_E0123: {
      TlLexError *e = LEX_ERROR(l, E0123, range, len, text);
      e->help = "octal numbers are written 0o17";
      return e;
   }
   default:
      return bad_character(l, r);
   }
}

static TlLexError *
size_error(Lines *l, TlRaw r)
{
   uint32_t bytes = r.end - r.begin;
   TlRange range = range_of(l, r.begin, r.begin + 1);
   if (r.kind == TL_TOK_NAME && bytes > TL_MAX_IDENT_BYTES)
      return LEX_ERROR(l, E0105, range, (unsigned)TL_MAX_IDENT_BYTES, bytes);
   if (bytes > TL_MAX_TOKEN_BYTES)
      return LEX_ERROR(l, E0104, range, (unsigned)TL_MAX_TOKEN_BYTES, bytes);
   return NULL;
}

/* ---- brackets ---- */

static char
char_at(const Lines *l, uint32_t token)
{
   assert(token < l->out->len);
   return l->scan.text[l->out->data[token].begin];
}

static void
open_bracket(Lines *l, TlRaw r)
{
   if (l->depth == TL_MAX_BRACKETS && !l->is_overflow) {
      l->is_overflow = true;
      push(l, TL_TOK_ERROR, r.begin, r.end,
           LEX_ERROR(l, E0106, range_of(l, r.begin, r.end), (unsigned)TL_MAX_BRACKETS));
   }
   l->depth++;
   if (!l->is_overflow)
      l->brackets[l->depth - 1] = push(l, r.kind, r.begin, r.end, NULL);
}

static int
opener_of(int kind)
{
   return kind == TL_TOK_RPAREN     ? TL_TOK_LPAREN
          : kind == TL_TOK_RBRACKET ? TL_TOK_LBRACKET
                                    : TL_TOK_LBRACE;
}

static void
close_bracket(Lines *l, TlRaw r)
{
   char c = l->scan.text[r.begin];
   TlRange range = range_of(l, r.begin, r.end);
   if (l->is_overflow) {
      l->depth -= l->depth > 0;
      return;
   }
   if (l->depth == 0) {
      push(l, TL_TOK_ERROR, r.begin, r.end, LEX_ERROR(l, E0114, range, c));
      return;
   }
   TlToken *t = l->out->data;
   unsigned d = l->depth;
   while (d > 0 && t[l->brackets[d - 1]].kind != opener_of(r.kind))
      d--;
   if (d == l->depth) {
      uint32_t open = l->brackets[--l->depth], close = push(l, r.kind, r.begin, r.end, NULL);
      l->out->data[open].match = close;
      l->out->data[close].match = open;
      return;
   }
   uint32_t inner = l->brackets[l->depth - 1];
   TlLexError *e = LEX_ERROR(l, E0113, range, c, char_at(l, inner));
   e->note = "the bracket was opened here";
   e->note_range = range_of(l, t[inner].begin, t[inner].end);
   push(l, TL_TOK_ERROR, r.begin, r.end, e);
   /* The closer of an outer bracket: the inner ones were forgotten; of none: mistyped. */
   l->depth = d > 0 ? d - 1 : l->depth - 1;
}

/* ---- does a line inside brackets start a statement? ---- */

/* Reads ahead one raw token within the budget; END when it is used up. */
static TlRaw
look(Lines *l, TlScan *s)
{
   const char *from = s->cur;
   TlRaw r = tl_scan(s);
   size_t used = (size_t)(s->cur - from);
   if (used >= l->scan.look_bytes) {
      l->scan.look_bytes = 0;
      r.kind = TL_TOK_END;
   } else {
      l->scan.look_bytes -= used;
   }
   return r;
}

static int
nesting(int kind)
{
   switch (kind) {
   case TL_TOK_LPAREN:
   case TL_TOK_LBRACKET:
   case TL_TOK_LBRACE:
      return 1;
   case TL_TOK_RPAREN:
   case TL_TOK_RBRACKET:
   case TL_TOK_RBRACE:
      return -1;
   default:
      return 0;
   }
}

/* `if`, `for` or `else` begins the line: a statement when its line has, outside brackets, a ':'
 * that ends the line or precedes a statement, and no `else` or `lambda` that explains the ':'
 * otherwise. */
static bool
is_header(Lines *l, int word)
{
   TlScan s = l->scan;
   int depth = 0, ifs = word == TL_TOK_IF, elses = 0, last = word;
   for (;;) {
      TlRaw r = look(l, &s);
      depth += nesting(r.kind);
      if (depth < 0 || r.kind == TL_TOK_END)
         return false;
      if (depth > 0)
         continue;
      if (last == TL_TOK_COLON)
         return (r.kind == TL_RAW_EOL || class_of(r.kind) & STARTS_STATEMENT) &&
                (word != TL_TOK_IF || elses < ifs);
      if (r.kind == TL_RAW_EOL || r.kind == TL_TOK_LAMBDA)
         return false;
      ifs += r.kind == TL_TOK_IF;
      elses += r.kind == TL_TOK_ELSE;
      if (word == TL_TOK_ELSE && last == TL_TOK_ELSE && r.kind != TL_TOK_COLON)
         return false;
      last = r.kind;
   }
}

/* `@` begins the line: a decorator when, with its brackets balanced, a later line starts with def,
 * class or async def. */
static bool
is_decorator(Lines *l)
{
   TlScan s = l->scan;
   int depth = 0;
   bool at_start = false;
   for (;;) {
      TlRaw r = look(l, &s);
      depth += nesting(r.kind);
      if (depth < 0 || r.kind == TL_TOK_END)
         return false;
      if (depth == 0 && at_start && r.kind != TL_RAW_EOL) {
         if (r.kind == TL_TOK_DEF || r.kind == TL_TOK_CLASS || r.kind == TL_TOK_ASYNC)
            return true;
         if (r.kind != TL_TOK_AT)
            return false;
      }
      at_start = r.kind == TL_RAW_EOL;
   }
}

/* r begins a physical line inside brackets, at or left of the statement's column. */
static bool
starts_statement(Lines *l, TlRaw r)
{
   unsigned c = class_of(r.kind);
   if (c & STARTS_STATEMENT)
      return true;
   if (!(c & MAY_CONTINUE))
      return false;
   int before = l->out->data[l->out->len - 1].kind;
   TlScan s = l->scan;
   switch (r.kind) {
   case TL_TOK_ASYNC: {
      int next = look(l, &s).kind;
      return next == TL_TOK_DEF || next == TL_TOK_WITH;
   }
   case TL_TOK_FROM:
      return before != TL_TOK_YIELD;
   case TL_TOK_AT:
      return is_decorator(l);
   default:
      return is_header(l, r.kind);
   }
}

/* ---- lines ---- */

static void
drop_brackets(Lines *l)
{
   if (l->depth && !l->is_overflow) {
      uint32_t open = l->brackets[l->depth - 1];
      TlToken t = l->out->data[open];
      push(l, TL_TOK_ERROR, last_end(l), last_end(l),
           LEX_ERROR(l, E0112, range_of(l, t.begin, t.end), char_at(l, open)));
   }
   l->depth = 0;
   l->is_overflow = false;
}

static void
end_line(Lines *l)
{
   drop_brackets(l);
   if (l->out->len == l->line_first)
      return;
   const TlToken *t = l->out->data;
   l->block_word = l->line_first;
   bool is_word = class_of(t[l->line_first].kind) & OPENS_BLOCK;
   bool is_colon = t[l->out->len - 1].kind == TL_TOK_COLON;
   l->needs_block = is_word && is_colon;
   l->opens_block = is_word || is_colon;
   push(l, TL_TOK_NEWLINE, last_end(l), last_end(l), NULL);
   l->line_first = (uint32_t)l->out->len;
}

static void
pop_indent(Lines *l)
{
   assert(l->num_indents > 0);
   Indent in = l->indents[--l->num_indents];
   if (!in.token)
      return;
   uint32_t close = push(l, TL_TOK_DEDENT, last_end(l), last_end(l), NULL);
   l->out->data[in.token].match = close;
   l->out->data[close].match = in.token;
   l->line_first = (uint32_t)l->out->len;
}

/* `keyword ...:` without a block gets one with `pass`, so that the statement itself is kept. */
static void
supply_block(Lines *l, TlLexError *e)
{
   uint32_t at = last_end(l), open = push(l, TL_TOK_INDENT, at, at, e);
   push(l, TL_TOK_PASS, at, at, NULL);
   push(l, TL_TOK_NEWLINE, at, at, NULL);
   uint32_t close = push(l, TL_TOK_DEDENT, at, at, NULL);
   l->out->data[open].match = close;
   l->out->data[close].match = open;
   l->line_first = (uint32_t)l->out->len;
}

/* at: the line that was to be indented; the end of the file when there is none. */
static TlLexError *
missing_block(Lines *l, uint32_t at)
{
   TlToken word = l->out->data[l->block_word];
   TlLexError *e = LEX_ERROR(l, E0118, range_of(l, word.begin, word.end),
                             (int)(word.end - word.begin), l->scan.text + word.begin);
   bool has_line = l->scan.text[at] && l->scan.text[at] != '\n';
   if (has_line) {
      e->note = "this line is to be indented further than the one that it belongs to";
      e->note_range = range_of(l, at, at + 1);
   }
   e->help = "indent the lines of its block; write 'pass' where nothing is to be done";
   return e;
}

static TlLexError *
tab_error(Lines *l, uint32_t at)
{
   TlLexError *e = LEX_ERROR(l, E0116, range_of(l, at, at + 1));
   e->help = "indent with spaces only";
   return e;
}

/* The line is further in than the one before.  Beyond the limit its block becomes `pass`, and lines
 * are dropped until the indentation is back. */
static void
push_indent(Lines *l, unsigned column, unsigned column_1, uint32_t at)
{
   assert(l->num_indents > 0);
   const Indent *top = &l->indents[l->num_indents - 1];
   Indent in = {.column = column, .column_1 = column_1};
   if (l->num_indents > TL_MAX_BLOCKS) {
      if (l->needs_block)
         supply_block(l, LEX_ERROR(l, E0107, range_of(l, at, at + 1), (unsigned)TL_MAX_BLOCKS));
      l->is_overflow = true;
      return;
   }
   if (column_1 <= top->column_1)
      l->pending = tab_error(l, at);
   if (l->opens_block) {
      in.token = push(l, TL_TOK_INDENT, at, at, NULL);
      l->line_first = (uint32_t)l->out->len;
   } else if (!l->pending) {
      in.is_wrong = true;
      if (!top->is_wrong)
         l->pending = LEX_ERROR(l, E0117, range_of(l, at, at + 1), top->column, column);
   }
   l->indents[l->num_indents++] = in;
}

/* A logical line starts at byte `at` with this indentation. */
static void
indent_line(Lines *l, unsigned column, unsigned column_1, uint32_t at)
{
   assert(l->num_indents > 0);
   Indent *top = &l->indents[l->num_indents - 1];
   if (column > top->column) {
      push_indent(l, column, column_1, at);
   } else {
      bool is_tab = column == top->column && column_1 != top->column_1;
      if (l->needs_block)
         supply_block(l, is_tab ? tab_error(l, at) : missing_block(l, at));
      bool is_popped = false;
      while (column < l->indents[l->num_indents - 1].column) {
         pop_indent(l);
         is_popped = true;
      }
      top = &l->indents[l->num_indents - 1];
      if (column != top->column && is_popped) {
         l->pending = LEX_ERROR(l, E0115, range_of(l, at, at + 1), column);
         l->indents[l->num_indents++] =
            (Indent){.column = column, .column_1 = column_1, .is_wrong = true};
      } else if (column_1 != top->column_1) {
         l->pending = tab_error(l, at);
      }
   }
   l->needs_block = l->opens_block = false;
   l->line_column = column;
}

/* Skips blank and comment lines and the next line's indentation. */
static void
start_line(Lines *l, unsigned *column, unsigned *column_1)
{
   const char *p = l->scan.cur;
   for (;;) {
      unsigned c = 0, c1 = 0;
      for (;; p++) {
         if (*p == ' ')
            c++, c1++;
         else if (*p == '\t')
            c = (c / 8 + 1) * 8, c1++;
         else if (*p == '\f')
            c = c1 = 0;
         else
            break;
      }
      if (*p == '#')
         while (p < l->scan.limit && *p != '\n' && *p != '\r' && *p)
            p++;
      if (*p != '\n' && *p != '\r') {
         *column = c;
         *column_1 = c1;
         l->scan.cur = p;
         return;
      }
      p++;
   }
}

static unsigned
column_at(const Lines *l, uint32_t at)
{
   const char *p = l->scan.text + at;
   while (p > l->scan.text && p[-1] != '\n' && p[-1] != '\r')
      p--;
   unsigned c = 0;
   for (; p < l->scan.text + at; p++)
      c = *p == '\t' ? (c / 8 + 1) * 8 : c + 1;
   return c;
}

static void
take(Lines *l, TlRaw r)
{
   int n = nesting(r.kind);
   if (n > 0) {
      open_bracket(l, r);
   } else if (n < 0) {
      close_bracket(l, r);
   } else if (!l->is_overflow) {
      TlLexError *e = r.problem != TL_DIAG_COUNT ? raw_error(l, r) : size_error(l, r);
      int kind = e && (r.kind == TL_TOK_NAME || r.kind == TL_TOK_STRING || r.kind == TL_TOK_FSTRING)
                    ? TL_TOK_ERROR
                    : r.kind;
      push(l, kind, r.begin, r.end, e);
   }
}

/* One logical line; false at the end of the file. */
static bool
lex_line(Lines *l)
{
   unsigned column, column_1;
   start_line(l, &column, &column_1);
   uint32_t at = (uint32_t)(l->scan.cur - l->scan.text);
   if (l->scan.cur >= l->scan.limit)
      return false;
   indent_line(l, column, column_1, at);
   bool at_start = false;
   for (;;) {
      TlScan before = l->scan;
      TlRaw r = tl_scan(&l->scan);
      if (r.kind == TL_TOK_END) {
         end_line(l);
         return false;
      }
      if (r.kind == TL_RAW_EOL) {
         if (!l->depth) {
            end_line(l);
            return true;
         }
         at_start = true;
         continue;
      }
      if (at_start && class_of(r.kind) & (STARTS_STATEMENT | MAY_CONTINUE) &&
          column_at(l, r.begin) <= l->line_column && starts_statement(l, r)) {
         size_t left = l->scan.look_bytes;
         uint32_t start = r.begin;
         l->scan = before;
         l->scan.look_bytes = left;
         while (start > 0 && (l->scan.text[start - 1] == ' ' || l->scan.text[start - 1] == '\t' ||
                              l->scan.text[start - 1] == '\f'))
            start--;
         l->scan.cur = l->scan.text + start;
         end_line(l);
         return true;
      }
      at_start = false;
      take(l, r);
   }
}

/* The first malformed byte of the file, or len. */
static uint32_t
find_bad_utf8(const char *s, uint32_t len)
{
   uint32_t at = 0, c;
   for (unsigned n = 1; at < len && n; at += n)
      n = (unsigned char)s[at] < 0x80 ? 1 : tl_utf8_read(s + at, len - at, &c);
   return at;
}

/* Bytes that no text file has are reported at once, wherever they are. */
static void
check_bytes(TlParseCx *cx, uint32_t file, const TlSource *src)
{
   uint32_t at = find_bad_utf8(src->text, src->len);
   if (at < src->len)
      tl_report(cx->diags, E0101, tl_range(file, at, at + 1),
                (unsigned)(unsigned char)src->text[at]);
   const char *nul = src->len ? memchr(src->text, 0, src->len) : NULL;
   if (nul) {
      at = (uint32_t)(nul - src->text);
      tl_report(cx->diags, E0102, tl_range(file, at, at + 1));
   }
}

static Lines *
new_layout(TlParseCx *cx, uint32_t file, uint32_t begin, uint32_t end, TlTokens *out)
{
   assert(begin <= end);
   const TlSource *src = tl_source(cx->sources, file);
   Lines *l = tl_new(cx->arena, Lines);
   l->cx = cx;
   l->file = file;
   l->out = out;
   l->num_indents = 1;
   l->scan = (TlScan){.text = src->text,
                      .cur = src->text + begin,
                      .limit = src->text + end,
                      .look_bytes = 1024 * 1024};
   return l;
}

void
tl_lex(TlParseCx *cx, uint32_t file, TlTokens *out)
{
   const TlSource *src = tl_source(cx->sources, file);
   *out = (TlTokens){0};
   assert(src->len <= TL_MAX_SOURCE_BYTES && "whoever reads a source checks its size");
   check_bytes(cx, file, src);
   uint32_t skip = src->len >= 3 && memcmp(src->text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
   Lines *l = new_layout(cx, file, skip, src->len, out);
   while (lex_line(l))
      ;
   if (l->needs_block)
      supply_block(l, missing_block(l, last_end(l)));
   while (l->num_indents > 1)
      pop_indent(l);
   push(l, TL_TOK_END, src->len, src->len, NULL);
}

void
tl_lex_part(TlParseCx *cx, uint32_t file, uint32_t begin, uint32_t end, TlTokens *out)
{
   *out = (TlTokens){0};
   Lines *l = new_layout(cx, file, begin, end, out);
   while (l->scan.cur < l->scan.limit) {
      TlRaw r = tl_scan(&l->scan);
      if (r.end > end) /* a token that would run past the part is cut by it */
         r.end = end;
      if (r.kind == TL_TOK_END || r.begin >= end)
         break;
      if (r.kind != TL_RAW_EOL)
         take(l, r);
   }
   drop_brackets(l);
   push(l, TL_TOK_END, end, end, NULL);
}
