/* Values of literals: numbers, strings with escapes, f-strings.  Decoding happens when the parser
 * builds a node, so that skipped host code costs and reports nothing.  A malformed literal yields
 * an error and a harmless value. */
#include "syntax/build.h"
#include "base/c_locale.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "parser.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- extent of string literals ---- */

static const char *skip_field(const char *p, const char *limit, unsigned depth);

static bool
is_at(const char *p, const char *limit, char quote, size_t n)
{
   if ((size_t)(limit - p) < n)
      return false;
   for (size_t i = 0; i < n; i++)
      if (p[i] != quote)
         return false;
   return true;
}

const char *
tl_string_end(const char *p, const char *limit, bool is_format, bool is_raw, unsigned depth)
{
   assert(p < limit && (*p == '"' || *p == '\''));
   char quote = *p;
   size_t n = is_at(p, limit, quote, 3) ? 3 : 1;
   p += n;
   while (p < limit) {
      if (is_at(p, limit, quote, n))
         return p + n;
      if (*p == '\\' && limit - p >= 2) {
         bool is_named = is_format && !is_raw && p[1] == 'N' && limit - p > 2 && p[2] == '{';
         p += p[1] == '\r' && limit - p > 2 && p[2] == '\n' ? 3 : is_named ? 3 : 2;
         continue;
      }
      if (n == 1 && (*p == '\n' || *p == '\r'))
         return NULL;
      if (is_format && *p == '{') {
         if (limit - p >= 2 && p[1] == '{') {
            p += 2;
            continue;
         }
         p = skip_field(p + 1, limit, depth);
         if (!p)
            return NULL;
         continue;
      }
      p++;
   }
   return NULL;
}

static bool
is_letter(char c)
{
   return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Inside a field, p is at a quote: the end of that nested literal. */
static const char *
skip_nested(const char *p, const char *first, const char *limit, unsigned depth)
{
   bool is_format = false, is_raw = false;
   for (const char *q = p; q > first && is_letter(q[-1]); q--) {
      is_format |= (q[-1] | 0x20) == 'f';
      is_raw |= (q[-1] | 0x20) == 'r';
   }
   return tl_string_end(p, limit, is_format, is_raw, depth + 1);
}

/* p is after a field's '{'; returns after its '}'. */
static const char *
skip_field(const char *p, const char *limit, unsigned depth)
{
   if (depth > TL_MAX_FSTRING_DEPTH)
      return NULL;
   const char *first = p;
   unsigned open = 0;
   bool is_spec = false;
   while (p < limit) {
      char c = *p;
      if (is_spec && c == '{') {
         p = skip_field(p + 1, limit, depth + 1);
         if (!p)
            return NULL;
         continue;
      }
      if (c == '}' && open == 0)
         return p + 1;
      if (c == '\n' || c == '\r')
         return NULL;
      if (!is_spec) {
         if (c == '"' || c == '\'') {
            p = skip_nested(p, first, limit, depth);
            if (!p)
               return NULL;
            continue;
         }
         if (c == '(' || c == '[' || c == '{')
            open++;
         else if ((c == ')' || c == ']' || c == '}') && open > 0)
            open--;
         else if (c == ':' && open == 0)
            is_spec = true;
      }
      p++;
   }
   return NULL;
}

/* ---- numbers ---- */

static int
digit_of(char c)
{
   if (c >= '0' && c <= '9')
      return c - '0';
   c = (char)(c | 0x20);
   return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

uint64_t
tl_decode_int(TlParser *ps, const TlToken *t)
{
   const char *p = ps->text + t->begin, *end = ps->text + t->end;
   unsigned base = 10;
   if (end - p > 2 && *p == '0' && is_letter(p[1])) {
      char c = (char)(p[1] | 0x20);
      base = c == 'x' ? 16 : c == 'o' ? 8 : 2;
      p += 2;
   }
   uint64_t v = 0;
   for (; p < end; p++) {
      int d = digit_of(*p);
      if (*p == '_')
         continue;
      if (d < 0 || (unsigned)d >= base)
         return 0; /* malformed: reported by the lexer's error on this token */
      uint64_t wide;
      if (__builtin_mul_overflow(v, (uint64_t)base, &wide) ||
          __builtin_add_overflow(wide, (uint64_t)d, &v)) {
         int len = (int)(t->end - t->begin > 60 ? 60 : t->end - t->begin);
         tl_report(ps->diags, E0122, tl_tok_range(ps, t), len, ps->text + t->begin);
         return 0;
      }
   }
   return v;
}

double
tl_decode_float(const TlParser *ps, const TlToken *t)
{
   size_t len = t->end - t->begin, n = 0;
   char *buf = tl_arena_alloc(ps->cx->arena, len + 1);
   for (size_t i = 0; i < len; i++)
      if (ps->text[t->begin + i] != '_')
         buf[n++] = ps->text[t->begin + i];
   TlCLocale locale = tl_c_locale_begin();
   double v = strtod(buf, NULL);
   tl_c_locale_end(&locale);
   return v;
}

/* ---- strings ---- */

typedef struct Literal {
   const char *body, *end; /* between the quotes */
   bool is_raw, is_bytes;
} Literal;

static Literal
parts_of(const TlParser *ps, const TlToken *t)
{
   Literal lit = {.body = ps->text + t->begin, .end = ps->text + t->end};
   for (; is_letter(*lit.body); lit.body++) {
      lit.is_raw |= (*lit.body | 0x20) == 'r';
      lit.is_bytes |= (*lit.body | 0x20) == 'b';
   }
   size_t n = is_at(lit.body, lit.end, *lit.body, 3) && lit.end - lit.body >= 6 ? 3 : 1;
   lit.body += n;
   lit.end -= n;
   return lit;
}

static void
put_utf8(TlSb *sb, uint32_t cp)
{
   char bytes[4];
   tl_sb_mem(sb, bytes, tl_utf8_write(cp, bytes));
}

static TlRange
range_at(const TlParser *ps, const char *begin, const char *end)
{
   assert(begin <= end);
   return tl_range(ps->file, (uint32_t)(begin - ps->text), (uint32_t)(end - ps->text));
}

/* p is at the letter of \x, \u or \U; returns after its digits. */
static const char *
hex_escape(TlParser *ps, const char *p, const Literal *lit, TlSb *sb)
{
   assert(*p == 'x' || *p == 'u' || *p == 'U');
   unsigned need = *p == 'x' ? 2 : *p == 'u' ? 4 : 8, n = 0;
   uint32_t cp = 0;
   const char *q = p + 1;
   for (; n < need && q < lit->end && digit_of(*q) >= 0; q++, n++)
      cp = cp << 4 | (uint32_t)digit_of(*q);
   if (n < need)
      tl_report(ps->diags, E0124, range_at(ps, p - 1, q), *p, need, n);
   else if (cp > 0x10FFFF || (cp >= 0xD800 && cp <= 0xDFFF))
      tl_report(ps->diags, E0126, range_at(ps, p - 1, q), (int)(q - p + 1), p - 1);
   else if (lit->is_bytes)
      tl_sb_char(sb, (char)cp);
   else
      put_utf8(sb, cp);
   return q;
}

/* p is after a backslash; returns after the escape. */
static const char *
escape(TlParser *ps, const char *p, const Literal *lit, TlSb *sb)
{
   static const char simple[][2] = {{'\\', '\\'}, {'\'', '\''}, {'"', '"'},  {'a', '\a'},
                                    {'b', '\b'},  {'f', '\f'},  {'n', '\n'}, {'r', '\r'},
                                    {'t', '\t'},  {'v', '\v'}};
   if (*p == '\n')
      return p + 1;
   if (*p == '\r')
      return p + (p[1] == '\n' ? 2 : 1);
   for (size_t i = 0; i < sizeof simple / sizeof simple[0]; i++)
      if (*p == simple[i][0]) {
         tl_sb_char(sb, simple[i][1]);
         return p + 1;
      }
   if (*p >= '0' && *p <= '7') {
      uint32_t v = 0;
      for (int n = 0; n < 3 && p < lit->end && *p >= '0' && *p <= '7'; n++, p++)
         v = v * 8 + (uint32_t)(*p - '0');
      if (lit->is_bytes)
         tl_sb_char(sb, (char)v);
      else
         put_utf8(sb, v);
      return p;
   }
   if (*p == 'x' || (!lit->is_bytes && (*p == 'u' || *p == 'U')))
      return hex_escape(ps, p, lit, sb);
   if (*p == 'N' && !lit->is_bytes) {
      const char *q = p + 1;
      while (q < lit->end && q > p && *q != '}' && *q != '\n')
         q++;
      q += q < lit->end && *q == '}';
      tl_report(ps->diags, E0125, range_at(ps, p - 1, q));
      tl_help(ps->diags, "write the character itself or its '\\u....' escape");
      return q;
   }
   tl_sb_char(sb, '\\'); /* an unknown escape keeps its backslash, as in Python */
   tl_sb_char(sb, *p);
   return p + 1;
}

static void
decode(TlParser *ps, const Literal *lit, const char *p, const char *end, TlSb *sb)
{
   while (p < end) {
      if (*p == '\\' && !lit->is_raw && p + 1 < end) {
         p = escape(ps, p + 1, lit, sb);
         continue;
      }
      if (*p == '\r') { /* line ends inside a literal read as \n */
         tl_sb_char(sb, '\n');
         p += p + 1 < end && p[1] == '\n' ? 2 : 1;
         continue;
      }
      if (lit->is_bytes && (unsigned char)*p >= 0x80) {
         tl_report(ps->diags, E0127, range_at(ps, p, p + 1));
         return;
      }
      tl_sb_char(sb, *p++);
   }
}

TlText
tl_decode_string(TlParser *ps, const TlToken *t, bool *is_bytes)
{
   Literal lit = parts_of(ps, t);
   *is_bytes = lit.is_bytes;
   TlSb sb;
   tl_sb_init(&sb, ps->cx->arena);
   decode(ps, &lit, lit.body, lit.end, &sb);
   return (TlText){tl_sb_cstr(&sb), sb.len};
}

/* ---- f-strings ---- */

static TlNode *
str_node(TlParser *ps, const TlSb *sb, TlRange range)
{
   TlAstStr *s = tl_ast_new_Str(ps->cx->arena, range);
   s->value = (TlText){sb->data, sb->len};
   return tl_mk_done(ps, &s->node);
}

static void
field_error(TlParser *ps, const char *begin, const char *end, const char *what)
{
   tl_report(ps->diags, E0129, range_at(ps, begin, end), what);
}

/* Where a field's expression ends: at its conversion, '=', format or '}'. */
static const char *
expression_end(const char *p, const char *end)
{
   const char *first = p;
   unsigned open = 0;
   for (; p < end; p++) {
      if (*p == '"' || *p == '\'') {
         p = skip_nested(p, first, end, 0);
         if (!p)
            return end;
         p--;
      } else if (*p == '(' || *p == '[' || *p == '{') {
         open++;
      } else if (open && (*p == ')' || *p == ']' || *p == '}')) {
         open--;
      } else if (!open && (*p == ':' || *p == '}' || (*p == '!' && p + 1 < end && p[1] != '='))) {
         return p;
      }
   }
   return p;
}

/* `{x=}`: the '=' that ends the expression text begin..end, or NULL. */
static const char *
self_documenting(const char *begin, const char *end)
{
   const char *p = end;
   while (p > begin && (p[-1] == ' ' || p[-1] == '\t'))
      p--;
   if (p == begin || p[-1] != '=' || p - begin < 2 || strchr("=!<>:", p[-2]))
      return NULL;
   return p - 1;
}

/* One field, body..stop without its braces; appended to f->parts. */
static void
add_field(TlParser *ps, TlAstFString *f, const char *body, const char *stop)
{
   const char *end = expression_end(body, stop), *p = end;
   const char *equals = self_documenting(body, end);
   TlAstFormat *format = tl_ast_new_Format(ps->cx->arena, range_at(ps, body, stop));
   format->conversion = "";
   if (equals) {
      TlSb label;
      tl_sb_init(&label, ps->cx->arena);
      tl_sb_mem(&label, body, (size_t)(end - body));
      tl_vec_push(ps->cx->arena, &f->parts, str_node(ps, &label, range_at(ps, body, end)));
      end = equals;
   }
   if (p < stop && *p == '!') {
      const char *word = ++p;
      while (p < stop && is_letter(*p))
         p++;
      if (p - word != 1 || !strchr("rsa", *word))
         field_error(ps, word - 1, p, "a conversion is '!r', '!s' or '!a'");
      format->conversion = tl_intern(ps->cx->strings, word, (size_t)(p - word));
   }
   bool has_spec = p < stop && *p == ':';
   if (equals && !has_spec && !*format->conversion)
      format->conversion = "r";
   if (has_spec)
      format->spec = (TlText){tl_arena_strndup(ps->cx->arena, p + 1, (size_t)(stop - p - 1)),
                              (size_t)(stop - p - 1)};
   else if (p < stop)
      field_error(ps, p, stop, "a field ends with '}'");
   else
      format->spec = (TlText){"", 0};
   format->value = tl_parse_field(ps, (uint32_t)(body - ps->text), (uint32_t)(end - ps->text));
   if (!format->value)
      return;
   bool is_plain = !has_spec && !*format->conversion;
   tl_vec_push(ps->cx->arena, &f->parts, is_plain ? format->value : tl_mk_done(ps, &format->node));
}

TlNode *
tl_decode_fstring(TlParser *ps, const TlToken *t)
{
   Literal lit = parts_of(ps, t);
   TlAstFString *f = tl_ast_new_FString(ps->cx->arena, tl_tok_range(ps, t));
   TlSb sb;
   tl_sb_init(&sb, ps->cx->arena);
   const char *run = lit.body;
   for (const char *p = lit.body;; p++) {
      bool is_end = p >= lit.end;
      if (!is_end && *p == '\\' && !lit.is_raw && p + 1 < lit.end) {
         if (p[1] == 'N' && p + 2 < lit.end && p[2] == '{')
            while (p + 1 < lit.end && p[1] != '}')
               p++;
         p++;
         continue;
      }
      if (!is_end && *p != '{' && *p != '}')
         continue;
      decode(ps, &lit, run, is_end ? lit.end : p, &sb);
      if (!is_end && p + 1 < lit.end && p[1] == *p) {
         tl_sb_char(&sb, *p++);
         run = p + 1;
         continue;
      }
      if (sb.len)
         tl_vec_push(ps->cx->arena, &f->parts, str_node(ps, &sb, range_at(ps, run, p)));
      tl_sb_init(&sb, ps->cx->arena);
      if (is_end)
         break;
      const char *close = *p == '{' ? skip_field(p + 1, lit.end, 0) : NULL;
      if (!close) {
         field_error(ps, p, p + 1,
                     *p == '{' ? "'{' has no closing '}'; write '{{' for a brace"
                               : "'}' has no opening '{'; write '}}' for a brace");
         /* The literal may have been cut at the wrong quote: what follows on the line is noise. */
         ps->in_error = ps->tokens[ps->pos - 1].kind != TL_TOK_NEWLINE;
         break;
      }
      add_field(ps, f, p + 1, close - 1);
      run = close;
      p = close - 1;
   }
   return tl_mk_done(ps, &f->node);
}
