/* Reader of textual IR; the grammar is print.c's.  Input is untrusted: every token is checked,
 * nesting is bounded, types are built only after their shapes and layouts were found legal, and
 * each operation must satisfy its infer rule.  After an error the reader goes on at the next `func`
 * at the start of a line.  A function that had an error is not left in the module. */
#include "ir/ir.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 256, MAX_TYPE_DEPTH = 16, MAX_REGIONS = 4, MAX_INTS = 1 << 22 };

typedef enum Tok {
   TOK_END,
   TOK_WORD,
   TOK_NUMBER,
   TOK_STRING,
   TOK_VALUE, /* %x */
   TOK_AT,    /* @x */
   TOK_HASH,  /* #x */
   TOK_PUNCT,
} Tok;

typedef struct Name {
   TlValue *value;
   bool in_scope;
} Name;

typedef struct Reader {
   TlModule *module;
   TlSources *sources;
   uint32_t file;
   const char *text;
   const char *pos; /* after the current token */
   const char *end;
   Tok tok;
   const char *begin;    /* of the current token */
   const char *word;     /* WORD, VALUE, AT, HASH: name without sigil; STRING: contents; interned */
   const char *last_end; /* of the token before */
   TlMap layouts;        /* interned name -> const TlLinear * */
   TlMap names;          /* interned name -> Name *, of this function */
   TL_VEC(Name *) scope; /* names of the open regions, in order of definition */
   unsigned depth;
   uint64_t num_ints; /* made by short forms of lists */
   TlFunc *func;
} Reader;

/* ---- tokens ---- */
static bool
is_word_char(char ch)
{
   return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
          ch == '_';
}

static bool
is_digit(char ch)
{
   return ch >= '0' && ch <= '9';
}

static TlRange
token_range(const Reader *r)
{
   return tl_range(r->file, (uint32_t)(r->begin - r->text), (uint32_t)(r->pos - r->text));
}

static TlRange
range_from(const Reader *r, const char *begin)
{
   return tl_range(r->file, (uint32_t)(begin - r->text), (uint32_t)(r->last_end - r->text));
}

static void
skip_blank(Reader *r)
{
   while (r->pos < r->end) {
      if (*r->pos == ' ' || *r->pos == '\t' || *r->pos == '\n' || *r->pos == '\r') {
         r->pos++;
      } else if (r->pos[0] == '/' && r->pos[1] == '/') {
         while (r->pos < r->end && *r->pos != '\n')
            r->pos++;
      } else {
         return;
      }
   }
}

static int
hex_digit(char ch)
{
   if (is_digit(ch))
      return ch - '0';
   if (ch >= 'a' && ch <= 'f')
      return ch - 'a' + 10;
   return -1;
}

/* At the character after the quote; an unterminated string ends at the line's end. */
static void
lex_string(Reader *r)
{
   TlSb sb;
   tl_sb_init(&sb, r->module->arena);
   while (r->pos < r->end && *r->pos != '"' && *r->pos != '\n') {
      char ch = *r->pos++;
      if (ch == '\\' && r->pos < r->end) {
         ch = *r->pos++;
         if (ch == 'n')
            ch = '\n';
         else if (ch == 't')
            ch = '\t';
         else if (ch == 'x' && r->end - r->pos >= 2 && hex_digit(r->pos[0]) >= 0 &&
                  hex_digit(r->pos[1]) >= 0) {
            ch = (char)(hex_digit(r->pos[0]) * 16 + hex_digit(r->pos[1]));
            r->pos += 2;
         }
      }
      tl_sb_char(&sb, ch);
   }
   if (r->pos < r->end && *r->pos == '"')
      r->pos++;
   r->word = tl_intern(r->module->strings, sb.data ? sb.data : "", sb.len);
}

static void
lex_number(Reader *r)
{
   bool hex = r->pos[0] == '0' && r->end - r->pos > 1 && r->pos[1] == 'x';
   r->pos++;
   while (r->pos < r->end) {
      char ch = *r->pos, before = r->pos[-1];
      if (ch == '.' && r->end - r->pos > 1 && r->pos[1] == '.') /* a run: 0..7 */
         return;
      bool sign = (ch == '+' || ch == '-') && (before == 'e' || before == 'E') && !hex;
      if (!is_word_char(ch) && ch != '.' && !sign)
         return;
      r->pos++;
   }
}

static void
next(Reader *r)
{
   r->last_end = r->pos;
   skip_blank(r);
   r->begin = r->pos;
   r->word = NULL;
   if (r->pos >= r->end) {
      r->tok = TOK_END;
      return;
   }
   char ch = *r->pos;
   char after = r->end - r->pos > 1 ? r->pos[1] : 0;
   if (is_digit(ch) || (ch == '-' && is_digit(after))) {
      r->tok = TOK_NUMBER;
      lex_number(r);
   } else if (is_word_char(ch)) {
      r->tok = TOK_WORD;
      while (r->pos < r->end && (is_word_char(*r->pos) || *r->pos == '.'))
         r->pos++;
      r->word = tl_intern(r->module->strings, r->begin, (size_t)(r->pos - r->begin));
   } else if ((ch == '%' || ch == '@' || ch == '#') && is_word_char(after)) {
      r->tok = ch == '%' ? TOK_VALUE : ch == '@' ? TOK_AT : TOK_HASH;
      r->pos++;
      while (r->pos < r->end && is_word_char(*r->pos))
         r->pos++;
      r->word = tl_intern(r->module->strings, r->begin + 1, (size_t)(r->pos - r->begin - 1));
   } else if (ch == '"') {
      r->tok = TOK_STRING;
      r->pos++;
      lex_string(r);
   } else {
      r->tok = TOK_PUNCT;
      r->pos++;
   }
}

static const char *
token_text(Reader *r)
{
   size_t len = (size_t)(r->pos - r->begin);
   if (r->tok == TOK_END)
      return "end of file";
   return tl_arena_strndup(r->module->arena, r->begin, len > 40 ? 40 : len);
}

static bool
fail_expected(Reader *r, const char *what)
{
   return tl_refuse(r->module->diags, E0351, token_range(r), what, token_text(r));
}

static bool
at(const Reader *r, char punct)
{
   return r->tok == TOK_PUNCT && *r->begin == punct;
}

static bool
accept(Reader *r, char punct)
{
   if (!at(r, punct))
      return false;
   next(r);
   return true;
}

static bool
expect(Reader *r, char punct)
{
   if (accept(r, punct))
      return true;
   return fail_expected(r, tl_arena_printf(r->module->arena, "'%c'", punct));
}

static bool
at_word(const Reader *r, const char *word)
{
   return r->tok == TOK_WORD && strcmp(r->word, word) == 0;
}

static bool
accept_word(Reader *r, const char *word)
{
   if (!at_word(r, word))
      return false;
   next(r);
   return true;
}

/* The whole current token as an integer in [min, max]. */
static bool
parse_int(Reader *r, int64_t min, int64_t max, int64_t *out)
{
   if (r->tok != TOK_NUMBER)
      return fail_expected(r, "an integer");
   const char *s = r->begin;
   bool negative = *s == '-';
   uint64_t v = 0;
   for (s += negative; s < r->pos; s++) {
      if (!is_digit(*s) || v > (UINT64_MAX - 9) / 10)
         return fail_expected(r, "an integer");
      v = v * 10 + (uint64_t)(*s - '0');
   }
   uint64_t limit = (uint64_t)INT64_MAX + negative;
   int64_t value = negative ? (int64_t)(0 - v) : (int64_t)v;
   if (v > limit || value < min || value > max)
      return fail_expected(r, tl_arena_printf(r->module->arena, "an integer from %lld to %lld",
                                              (long long)min, (long long)max));
   next(r);
   *out = value;
   return true;
}

/* ---- types ---- */
static const TlType *parse_elem(Reader *r, unsigned depth);

static const TlType *
type_error(Reader *r, const char *what)
{
   fail_expected(r, what);
   return NULL;
}

static bool
parse_dtype(Reader *r, TlDtype *out)
{
   for (unsigned d = 0; r->tok == TOK_WORD && d < TL_DTYPE_COUNT; d++) {
      if (strcmp(r->word, tl_dtype_info[d].text) == 0) {
         *out = (TlDtype)d;
         next(r);
         return true;
      }
   }
   return fail_expected(r, "a dtype");
}

static const TlType *
parse_ptr(Reader *r, unsigned depth)
{
   if (depth >= MAX_TYPE_DEPTH) {
      tl_report(r->module->diags, E0357, token_range(r), MAX_TYPE_DEPTH);
      return NULL;
   }
   next(r);
   if (!expect(r, '<'))
      return NULL;
   bool is_const = accept_word(r, "const");
   const TlType *pointee = parse_elem(r, depth + 1);
   if (!pointee || !expect(r, '>'))
      return NULL;
   return tl_type_ptr(r->module->types, pointee, is_const);
}

/* Scalar or pointer. */
static const TlType *
parse_elem(Reader *r, unsigned depth)
{
   if (at_word(r, "ptr"))
      return parse_ptr(r, depth);
   TlDtype dtype;
   return parse_dtype(r, &dtype) ? tl_type_scalar(r->module->types, dtype) : NULL;
}

/* "128x64": one number token. */
static bool
parse_shape(Reader *r, unsigned *rank, uint32_t *shape)
{
   if (r->tok != TOK_NUMBER)
      return fail_expected(r, "a shape");
   uint64_t n = 1;
   *rank = 0;
   for (const char *s = r->begin; s <= r->pos; s++) {
      uint64_t dim = 0;
      while (s < r->pos && is_digit(*s) && dim <= TL_MAX_TILE_ELEMS)
         dim = dim * 10 + (uint64_t)(*s++ - '0');
      if ((s < r->pos && *s != 'x') || dim == 0 || (dim & (dim - 1)) || *rank == TL_MAX_RANK ||
          (n *= dim) > TL_MAX_TILE_ELEMS)
         return fail_expected(r,
                              "a shape of at most 8 powers of two and 2^20 elements, as in 128x64");
      shape[(*rank)++] = (uint32_t)dim;
   }
   next(r);
   return true;
}

static bool
layout_fits(const TlLinear *layout, unsigned rank, const uint32_t *shape)
{
   uint32_t own[TL_LL_MAX_RANK];
   if (layout->rank != rank)
      return false;
   tl_ll_shape(layout, own);
   return memcmp(own, shape, rank * sizeof shape[0]) == 0;
}

/* ", #l0" before '>'; *layout stays NULL when there is none. */
static bool
parse_layout(Reader *r, unsigned rank, const uint32_t *shape, const TlLinear **layout)
{
   *layout = NULL;
   if (!accept(r, ','))
      return true;
   if (r->tok != TOK_HASH)
      return fail_expected(r, "the name of a layout");
   *layout = tl_map_get(&r->layouts, r->word);
   if (!*layout)
      return tl_refuse(r->module->diags, E0358, token_range(r), token_text(r));
   if (!layout_fits(*layout, rank, shape))
      return fail_expected(r, "a layout of the same shape");
   next(r);
   return true;
}

static const TlType *
parse_tile(Reader *r)
{
   unsigned rank;
   uint32_t shape[TL_MAX_RANK];
   const TlLinear *layout;
   bool is_in_flight = at_word(r, "inflight_tile");
   next(r);
   if (!expect(r, '<'))
      return NULL;
   const TlType *elem = parse_elem(r, 0);
   if (!elem || !expect(r, ',') || !parse_shape(r, &rank, shape) ||
       !parse_layout(r, rank, shape, &layout) || !expect(r, '>'))
      return NULL;
   if (is_in_flight && !layout) {
      fail_expected(r, "a layout of what is in flight");
      return NULL;
   }
   const TlType *tile = tl_type_tile(r->module->types, elem, rank, shape, layout);
   return is_in_flight ? tl_type_in_flight(r->module->types, tile, true) : tile;
}

static const TlType *
parse_regs(Reader *r)
{
   int64_t count;
   bool is_in_flight = at_word(r, "inflight");
   next(r);
   if (!expect(r, '<'))
      return NULL;
   const TlType *elem = parse_elem(r, 0);
   if (!elem || !expect(r, ',') || !parse_int(r, 2, TL_MAX_TILE_ELEMS, &count) || !expect(r, '>'))
      return NULL;
   const TlType *regs = tl_type_regs(r->module->types, elem, (uint32_t)count);
   return is_in_flight ? tl_type_in_flight(r->module->types, regs, true) : regs;
}

static const TlType *
parse_memdesc(Reader *r)
{
   TlDtype dtype;
   unsigned rank;
   uint32_t shape[TL_MAX_RANK];
   const TlLinear *layout;
   int64_t stages = 1;
   next(r);
   if (!expect(r, '<') || !parse_dtype(r, &dtype) || !expect(r, ','))
      return NULL;
   const char *rest = r->pos;
   while (rest < r->end && *rest == ' ')
      rest++;
   if (r->tok == TOK_NUMBER && rest < r->end && rest[0] == 'x')
      if (!parse_int(r, 1, 1024, &stages) || !accept_word(r, "x"))
         return type_error(r, "'x'");
   if (!parse_shape(r, &rank, shape) || !parse_layout(r, rank, shape, &layout) || !expect(r, '>'))
      return NULL;
   return tl_type_memdesc(r->module->types, dtype, rank, shape, layout, (uint32_t)stages);
}

static const TlType *
parse_tmap(Reader *r)
{
   TlDtype dtype;
   unsigned rank;
   uint32_t box[TL_MAX_RANK];
   next(r);
   if (!expect(r, '<') || !parse_dtype(r, &dtype) || !expect(r, ',') ||
       !parse_shape(r, &rank, box) || !expect(r, '>'))
      return NULL;
   for (unsigned d = 0; d < rank; d++)
      if (rank > TL_TMAP_RANK || box[d] > TL_TMAP_BOX)
         return type_error(r, "a box of at most 5 dimensions of at most 256");
   return tl_type_tmap(r->module->types, dtype, rank, box);
}

static const TlType *
parse_type(Reader *r)
{
   if (at_word(r, "tile") || at_word(r, "inflight_tile"))
      return parse_tile(r);
   if (at_word(r, "regs") || at_word(r, "inflight"))
      return parse_regs(r);
   if (at_word(r, "memdesc"))
      return parse_memdesc(r);
   if (at_word(r, "tmap"))
      return parse_tmap(r);
   if (accept_word(r, "token"))
      return tl_type_token(r->module->types);
   if (r->tok != TOK_WORD)
      return type_error(r, "a type");
   return parse_elem(r, 0);
}

/* ---- values ---- */
static bool
define(Reader *r, const char *name, TlRange range, TlValue *v)
{
   if (tl_map_has(&r->names, name))
      return tl_refuse(r->module->diags, E0354, range, name);
   if (!is_digit(name[0]))
      v->name = name;
   Name *n = tl_new(r->module->arena, Name);
   *n = (Name){v, true};
   tl_map_put(&r->names, name, n);
   tl_vec_push(r->module->arena, &r->scope, n);
   return true;
}

static TlValue *
parse_use(Reader *r)
{
   if (r->tok != TOK_VALUE) {
      fail_expected(r, "a value");
      return NULL;
   }
   const Name *n = tl_map_get(&r->names, r->word);
   if (!n || !n->in_scope) {
      tl_report(r->module->diags, E0353, token_range(r), r->word);
      return NULL;
   }
   next(r);
   return n->value;
}

/* ---- attributes ---- */
typedef struct Pending {
   const char *begin, *end; /* token of a constant's BITS, read when the type is known */
   unsigned index;
   bool is_set;
} Pending;

static bool
fail_attr(Reader *r, TlAttrKey key, const char *what)
{
   return tl_refuse(r->module->diags, E0356, token_range(r), tl_attr_info[key].text, what,
                    token_text(r));
}

/* Short forms must not make much of little text. */
static bool
may_add(Reader *r, uint64_t count)
{
   r->num_ints += count;
   return r->num_ints <= MAX_INTS || fail_expected(r, "fewer numbers in short forms before this");
}

/* "5 x 8", "0..7" or "0..62 by 2" after the first number. */
static bool
parse_run(Reader *r, int64_t first, int64_t *step, int64_t *count)
{
   int64_t last;
   *step = 0;
   *count = 1;
   if (accept_word(r, "x"))
      return parse_int(r, 1, MAX_INTS, count) && may_add(r, (uint64_t)*count);
   if (!accept(r, '.'))
      return true;
   *step = 1;
   if (!expect(r, '.') || !parse_int(r, INT32_MIN, INT32_MAX, &last) ||
       (accept_word(r, "by") && !parse_int(r, INT32_MIN, INT32_MAX, step)))
      return false;
   if (first != (int32_t)first || *step == 0 || (last - first) % *step ||
       (last - first) / *step < 0)
      return fail_expected(r, "a run that ends where its steps lead before this");
   *count = (last - first) / *step + 1;
   return may_add(r, (uint64_t)*count);
}

typedef TL_VEC(int64_t) Ints;

static bool
parse_runs(Reader *r, Ints *v)
{
   while (!at(r, ']')) {
      int64_t first, step, count;
      if (!parse_int(r, INT64_MIN, INT64_MAX, &first) || !parse_run(r, first, &step, &count))
         return false;
      for (int64_t i = 0; i < count; i++)
         tl_vec_push(r->module->arena, v, first + i * step);
      if (!accept(r, ','))
         break;
   }
   return true;
}

static bool
parse_bit_sums(Reader *r, Ints *v)
{
   tl_vec_push(r->module->arena, v, 0);
   do {
      int64_t bit;
      size_t len = v->len;
      if (!parse_int(r, INT32_MIN, INT32_MAX, &bit) || !may_add(r, len))
         return false;
      for (size_t i = 0; i < len; i++)
         tl_vec_push(r->module->arena, v, v->data[i] + bit);
   } while (accept(r, ','));
   return true;
}

static bool
parse_ints(Reader *r, TlAttr *out)
{
   Ints v = {0};
   if (!expect(r, '[') || !(accept_word(r, "bits") ? parse_bit_sums(r, &v) : parse_runs(r, &v)))
      return false;
   out->ints = tl_ints(r->module->arena, v.data, v.len);
   return expect(r, ']');
}

/* {field = number, ..} */
static bool
parse_record(Reader *r, TlAttrKey key, const TlAttrField *fields, unsigned num, TlAttr *out)
{
   int64_t *values = tl_new_array(r->module->arena, int64_t, num);
   for (unsigned i = 0; i < num; i++)
      values[i] = fields[i].initial;
   if (!expect(r, '{'))
      return false;
   do {
      unsigned i = 0;
      while (i < num && !at_word(r, fields[i].text))
         i++;
      if (i == num)
         return tl_refuse(r->module->diags, E0355, token_range(r), tl_attr_info[key].text,
                          token_text(r));
      next(r);
      if (!expect(r, '=') || !parse_int(r, INT64_MIN, INT64_MAX, &values[i]))
         return false;
   } while (accept(r, ','));
   out->ints = tl_ints(r->module->arena, values, num);
   return expect(r, '}');
}

static bool
parse_word_attr(Reader *r, TlAttrKey key, TlAttrKind kind, TlAttr *out)
{
   size_t len = (size_t)(r->pos - r->begin);
   if (r->tok != TOK_WORD || !tl_attr_word_value(kind, r->word, len, &out->i)) {
      TlSb sb;
      tl_sb_init(&sb, r->module->arena);
      const char *word;
      for (int64_t i = 0; (word = tl_attr_word(kind, i)); i++)
         tl_sb_printf(&sb, "%s%s", i ? ", " : "one of ", word);
      return fail_attr(r, key, tl_sb_cstr(&sb));
   }
   next(r);
   return true;
}

static bool
parse_attr_value(Reader *r, TlAttrKey key, TlAttr *out)
{
   TlAttrKind kind = tl_attr_info[key].kind;
   TlDtype dtype;
   unsigned num_fields;
   const TlAttrField *fields = tl_attr_fields(kind, &num_fields);
   if (fields)
      return parse_record(r, key, fields, num_fields, out);
   switch (kind) {
   case TL_AK_INT:
      return parse_int(r, INT64_MIN, INT64_MAX, &out->i);
   case TL_AK_BOOL:
      out->i = at_word(r, "true");
      if (!accept_word(r, "true") && !accept_word(r, "false"))
         return fail_attr(r, key, "true or false");
      return true;
   case TL_AK_STR:
      if (r->tok != TOK_STRING)
         return fail_attr(r, key, "a string");
      out->s = r->word;
      next(r);
      return true;
   case TL_AK_INTS:
      return parse_ints(r, out);
   case TL_AK_DTYPE:
      if (!parse_dtype(r, &dtype))
         return false;
      out->i = dtype;
      return true;
   default:
      return parse_word_attr(r, key, kind, out);
   }
}

static bool
parse_bits_token(Reader *r, unsigned index, Pending *bits)
{
   if (r->tok != TOK_NUMBER && !at_word(r, "true") && !at_word(r, "false"))
      return fail_expected(r, "a number");
   *bits = (Pending){r->begin, r->pos, index, true};
   next(r);
   return true;
}

static bool
parse_attr(Reader *r, TlOpcode opcode, TlAttr *attrs, Pending *bits)
{
   const TlOpInfo *info = &tl_op_info[opcode];
   if (r->tok != TOK_WORD)
      return fail_expected(r, "an attribute");
   for (unsigned i = 0; i < info->num_attrs; i++) {
      TlAttrKey key = info->attr[i].key;
      if (strcmp(r->word, tl_attr_info[key].text) != 0)
         continue;
      next(r);
      if (tl_attr_info[key].kind == TL_AK_BOOL && !at(r, '=')) { /* the word alone: true */
         attrs[i].i = true;
         return true;
      }
      if (!expect(r, '='))
         return false;
      return tl_attr_info[key].kind == TL_AK_BITS ? parse_bits_token(r, i, bits)
                                                  : parse_attr_value(r, key, &attrs[i]);
   }
   return tl_refuse(r->module->diags, E0355, token_range(r), info->text, r->word);
}

/* '{' key '=' and '{' flag open attributes, any other '{' a region. */
static bool
at_attrs(const Reader *r, const TlOpInfo *info)
{
   Reader look = *r;
   if (!accept(&look, '{') || look.tok != TOK_WORD)
      return false;
   for (unsigned i = 0; info && i < info->num_attrs; i++) {
      const TlAttrInfo *key = &tl_attr_info[info->attr[i].key];
      if (key->kind == TL_AK_BOOL && at_word(&look, key->text))
         return true;
   }
   next(&look);
   return at(&look, '=');
}

static bool
parse_attrs(Reader *r, TlOpcode opcode, TlAttr *attrs, Pending *bits)
{
   if (!at_attrs(r, &tl_op_info[opcode]))
      return true;
   next(r);
   do {
      if (!parse_attr(r, opcode, attrs, bits))
         return false;
   } while (accept(r, ','));
   return expect(r, '}');
}

/* The pattern of a constant: true, false, hexadecimal bits, an integer or a decimal float. */
static bool
bits_value(const char *s, size_t len, TlDtype dtype, uint64_t *out)
{
   char buf[64];
   if (len >= sizeof buf)
      return false;
   memcpy(buf, s, len);
   buf[len] = 0;
   char *rest;
   unsigned bits = tl_dtype_info[dtype].bits;
   uint64_t mask = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
   if (strcmp(buf, "true") == 0 || strcmp(buf, "false") == 0) {
      *out = buf[0] == 't';
      return dtype == TL_I1;
   }
   if (buf[0] == '0' && buf[1] == 'x') {
      *out = strtoull(buf + 2, &rest, 16);
      return !*rest && rest > buf + 2 && len <= 18 && *out <= mask;
   }
   if (tl_dtype_is_float(dtype)) {
      *out = tl_double_to_bits(dtype, strtod(buf, &rest), TL_ROUND_NEAREST_EVEN);
      return !*rest;
   }
   uint64_t v = 0;
   bool negative = buf[0] == '-';
   for (const char *p = buf + negative; *p; p++) {
      if (!is_digit(*p) || v > (UINT64_MAX - (uint64_t)(*p - '0')) / 10)
         return false;
      v = v * 10 + (uint64_t)(*p - '0');
   }
   *out = (negative ? 0 - v : v) & mask;
   return negative ? v <= mask / 2 + 1 : v <= mask;
}

/* ---- operations ---- */
typedef struct NewName {
   const char *name;
   TlRange range;
} NewName;

typedef struct Head {
   const char *begin; /* start of the statement */
   TL_VEC(NewName) results;
   TL_VEC(NewName) loop_args; /* of the first region, where they stand beside the operands */
   TL_VEC(TlValue *) args;
   TL_VEC(const TlType *) types;
   TlAttr attrs[TL_MAX_OP_ATTRS];
   Pending bits;
   TlOpcode opcode;
   TlRange name_range;
} Head;

static bool parse_block(Reader *r, TlBlock *block);

static bool
find_opcode(Reader *r, TlOpcode *out)
{
   if (r->tok != TOK_WORD)
      return fail_expected(r, "an operation");
   for (unsigned i = 0; i < TL_OP_COUNT; i++)
      if (strcmp(r->word, tl_op_info[i].text) == 0) {
         *out = (TlOpcode)i;
         return true;
      }
   const char *best = NULL;
   unsigned best_distance = 1 + (unsigned)strlen(r->word) / 4 + 1;
   for (unsigned i = 0; i < TL_OP_COUNT; i++) {
      unsigned d = tl_edit_distance(r->word, tl_op_info[i].text, best_distance);
      if (d < best_distance) {
         best_distance = d;
         best = tl_op_info[i].text;
      }
   }
   tl_report(r->module->diags, E0352, token_range(r), r->word);
   if (best)
      tl_help(r->module->diags, "did you mean '%s'?", best);
   return false;
}

static bool
parse_new_name(Reader *r, NewName *out)
{
   if (r->tok != TOK_VALUE)
      return fail_expected(r, "a value");
   *out = (NewName){r->word, token_range(r)};
   next(r);
   return true;
}

static bool
parse_results(Reader *r, Head *h)
{
   NewName name;
   if (r->tok != TOK_VALUE)
      return true;
   do {
      if (!parse_new_name(r, &name))
         return false;
      tl_vec_push(r->module->arena, &h->results, name);
   } while (accept(r, ','));
   return expect(r, '=');
}

static void
default_attrs(TlOpcode opcode, TlAttr *attrs)
{
   const TlOpInfo *info = &tl_op_info[opcode];
   for (unsigned i = 0; i < info->num_attrs; i++)
      attrs[i] = tl_attr_default(info->attr[i].key, info->attr[i].initial);
}

static bool
parse_types(Reader *r, Head *h)
{
   TlRange range = token_range(r);
   if (accept(r, ':')) {
      do {
         const TlType *t = parse_type(r);
         if (!t)
            return false;
         tl_vec_push(r->module->arena, &h->types, t);
      } while (accept(r, ','));
   }
   if (h->types.len == h->results.len)
      return true;
   return tl_refuse(r->module->diags, E0350, range,
                    tl_arena_printf(r->module->arena, "%zu results need as many types; got %zu",
                                    h->results.len, h->types.len));
}

static bool
parse_bits(Reader *r, Head *h)
{
   if (!h->bits.is_set)
      return true;
   TlDtype dtype = h->types.len ? tl_type_elem(h->types.data[0])->dtype : TL_I64;
   size_t len = (size_t)(h->bits.end - h->bits.begin);
   if (bits_value(h->bits.begin, len, dtype, &h->attrs[h->bits.index].bits))
      return true;
   TlRange range =
      tl_range(r->file, (uint32_t)(h->bits.begin - r->text), (uint32_t)(h->bits.end - r->text));
   return tl_refuse(r->module->diags, E0350, range,
                    tl_arena_printf(r->module->arena, "'%.*s' is not a value of %s",
                                    (int)(len > 40 ? 40 : len), h->bits.begin,
                                    tl_dtype_info[dtype].text));
}

static bool
parse_operand(Reader *r, Head *h)
{
   TlValue *v = parse_use(r);
   if (v)
      tl_vec_push(r->module->arena, &h->args, v);
   return v != NULL;
}

/* Operands begin on the line of the operation's name: one on the next line starts a statement.  In
 * their place a constant has its value, which attributes may give as well. */
static bool
parse_operands(Reader *r, Head *h)
{
   const char *gap = r->last_end;
   if (h->opcode == TL_OP_CONSTANT && !at(r, '{') && !at(r, ':'))
      return parse_bits_token(r, 0, &h->bits);
   if (r->tok != TOK_VALUE || memchr(gap, '\n', (size_t)(r->begin - gap)))
      return true;
   do {
      if (!parse_operand(r, h))
         return false;
   } while (accept(r, ','));
   return true;
}

/* "%arg = %operand" */
static bool
parse_loop_arg(Reader *r, Head *h)
{
   NewName name;
   if (!parse_new_name(r, &name))
      return false;
   tl_vec_push(r->module->arena, &h->loop_args, name);
   return expect(r, '=') && parse_operand(r, h);
}

static bool
parse_loop_operands(Reader *r, Head *h)
{
   if (h->opcode == TL_OP_FOR) {
      if (!parse_loop_arg(r, h))
         return false;
      if (!accept_word(r, "to"))
         return fail_expected(r, "'to' and the upper bound");
      if (!parse_operand(r, h))
         return false;
      if (!accept_word(r, "step"))
         return fail_expected(r, "'step' and a value");
      if (!parse_operand(r, h))
         return false;
   }
   if (!accept_word(r, "iter"))
      return true;
   if (!expect(r, '('))
      return false;
   do {
      if (!parse_loop_arg(r, h))
         return false;
   } while (accept(r, ','));
   return expect(r, ')');
}

static bool
is_loop(TlOpcode opcode)
{
   return opcode == TL_OP_FOR || opcode == TL_OP_WHILE;
}

static bool
parse_head(Reader *r, Head *h)
{
   h->begin = r->begin;
   if (!parse_results(r, h) || !find_opcode(r, &h->opcode))
      return false;
   h->name_range = token_range(r);
   next(r);
   default_attrs(h->opcode, h->attrs);
   return (is_loop(h->opcode) ? parse_loop_operands(r, h) : parse_operands(r, h)) &&
          parse_attrs(r, h->opcode, h->attrs, &h->bits) && parse_types(r, h) && parse_bits(r, h);
}

static bool
check_types(Reader *r, Head *h)
{
   TlArena *arena = r->module->arena;
   const TlType **args = tl_new_array(arena, const TlType *, h->args.len);
   for (size_t i = 0; i < h->args.len; i++)
      args[i] = h->args.data[i]->type;
   const TlType **results = tl_new_array(arena, const TlType *, h->types.len);
   if (h->types.len)
      memcpy(results, h->types.data, h->types.len * sizeof results[0]);
   TlInferCx cx = {.types = r->module->types, .arena = arena};
   const char *why = NULL;
   if (!tl_infer(&cx, h->opcode, args, (unsigned)h->args.len, h->attrs, results,
                 (unsigned)h->types.len))
      why = cx.why;
   for (size_t i = 0; !why && i < h->types.len; i++)
      if (!tl_infer_accepts(r->module->types, results[i], h->types.data[i]))
         why =
            tl_arena_printf(arena, "the result of '%s' is %s, not %s", tl_op_info[h->opcode].text,
                            tl_type_cstr(arena, results[i]), tl_type_cstr(arena, h->types.data[i]));
   if (why)
      tl_report(r->module->diags, E0350, h->name_range, why);
   return !why;
}

static bool
parse_region_args(Reader *r, TlBlock *block)
{
   if (!accept(r, '('))
      return true;
   while (!at(r, ')')) {
      const char *name = r->word;
      TlRange range = token_range(r);
      if (r->tok != TOK_VALUE)
         return fail_expected(r, "a value");
      next(r);
      const TlType *type = expect(r, ':') ? parse_type(r) : NULL;
      if (!type || !define(r, name, range, tl_block_add_arg(block, type, NULL)))
         return false;
      if (!accept(r, ','))
         break;
   }
   return expect(r, ')');
}

/* The arguments of a loop's first region have the types of the bounds and of the results. */
static bool
define_loop_args(Reader *r, const Head *h, TlBlock *block)
{
   for (size_t i = 0; i < h->loop_args.len; i++) {
      const NewName *name = &h->loop_args.data[i];
      bool is_index = h->opcode == TL_OP_FOR && i == 0;
      const TlType *type =
         is_index ? h->args.data[0]->type : h->types.data[h->opcode == TL_OP_FOR ? i - 1 : i];
      if (!define(r, name->name, name->range, tl_block_add_arg(block, type, NULL)))
         return false;
   }
   return true;
}

static bool
parse_region(Reader *r, const Head *h, TlBlock *block, bool is_first)
{
   size_t mark = r->scope.len;
   if (r->depth >= MAX_DEPTH)
      return tl_refuse(r->module->diags, E0357, token_range(r), MAX_DEPTH);
   r->depth++;
   bool ok =
      is_first && is_loop(h->opcode) ? define_loop_args(r, h, block) : parse_region_args(r, block);
   ok = ok && expect(r, '{') && parse_block(r, block) && expect(r, '}');
   r->depth--;
   while (r->scope.len > mark)
      tl_vec_pop(&r->scope)->in_scope = false;
   return ok;
}

static bool
parse_regions(Reader *r, const Head *h, TlOp *op)
{
   op->regions = tl_new_array(r->module->arena, TlRegion *, MAX_REGIONS);
   while (at(r, '(') || at(r, '{') || at_word(r, "else") || at_word(r, "do")) {
      if (op->num_regions == MAX_REGIONS)
         return fail_expected(r, "no further region");
      if (op->num_regions && !accept_word(r, "else"))
         accept_word(r, "do");
      TlRegion *region = tl_region_new(r->func, op);
      op->regions[op->num_regions++] = region;
      if (!parse_region(r, h, region->block, op->num_regions == 1))
         return false;
   }
   return true;
}

/* File of the set by name; 0 when it is not loaded. */
static uint32_t
find_file(const Reader *r, const char *name)
{
   for (uint32_t i = 1; tl_source(r->sources, i); i++)
      if (strcmp(tl_source(r->sources, i)->name, name) == 0)
         return i;
   return 0;
}

/* loc("file":line:col+bytes) gives the range in that file when it is loaded. */
static bool
parse_loc(Reader *r, TlRange *range)
{
   int64_t line, col, bytes;
   if (!accept_word(r, "loc"))
      return true;
   if (!expect(r, '('))
      return false;
   if (r->tok != TOK_STRING)
      return fail_expected(r, "a file name");
   uint32_t file = find_file(r, r->word);
   next(r);
   if (!expect(r, ':') || !parse_int(r, 1, INT32_MAX, &line) || !expect(r, ':') ||
       !parse_int(r, 1, INT32_MAX, &col) || !expect(r, '+') ||
       !parse_int(r, 0, INT32_MAX, &bytes) || !expect(r, ')'))
      return false;
   uint32_t len = 0;
   const TlSource *src = file ? tl_source(r->sources, file) : NULL;
   const char *start = src ? tl_source_line(r->sources, file, (uint32_t)line, &len) : NULL;
   if (!start)
      return true;
   const char *p = start;
   for (int64_t c = 1; c < col && p < start + len; c++) {
      p++;
      while (p < start + len && ((unsigned char)*p & 0xC0) == 0x80) /* UTF-8 continuation */
         p++;
   }
   uint32_t begin = (uint32_t)(p - src->text);
   uint32_t room = src->len - begin;
   *range = tl_range(file, begin, begin + (bytes < room ? (uint32_t)bytes : room));
   return true;
}

static bool
parse_op(Reader *r, TlBlock *block)
{
   Head h = {0};
   if (!parse_head(r, &h) || !check_types(r, &h))
      return false;
   TlBuilder b = tl_builder_at_end(r->func, block);
   b.range = range_from(r, h.begin);
   TlOp *op = tl_op_new(&b, h.opcode, (unsigned)h.args.len, (unsigned)h.types.len, 0);
   memcpy(op->attrs, h.attrs, sizeof op->attrs);
   for (unsigned i = 0; i < op->num_args; i++)
      tl_set_arg(op, i, h.args.data[i]);
   for (unsigned i = 0; i < op->num_results; i++)
      op->results[i].type = h.types.data[i];
   if (!parse_regions(r, &h, op) || !parse_loc(r, &op->range))
      return false;
   for (unsigned i = 0; i < op->num_results; i++)
      if (!define(r, h.results.data[i].name, h.results.data[i].range, &op->results[i]))
         return false;
   return true;
}

static bool
parse_block(Reader *r, TlBlock *block)
{
   while (r->tok != TOK_END && !at(r, '}'))
      if (!parse_op(r, block))
         return false;
   return true;
}

/* ---- functions ---- */
static bool
parse_div(Reader *r, TlParam *param)
{
   int64_t div;
   param->divisibility = 1;
   if (!accept(r, '{'))
      return true;
   if (!accept_word(r, "div"))
      return fail_expected(r, "'div'");
   if (!expect(r, '=') || !parse_int(r, 1, 1 << 30, &div))
      return false;
   param->divisibility = (uint32_t)div;
   return expect(r, '}');
}

static bool
check_param_type(Reader *r, const TlParam *param)
{
   if (param->type->kind == TL_TYPE_SCALAR || param->type->kind == TL_TYPE_PTR)
      return true;
   return fail_expected(r, "parameters of scalar or pointer type before this");
}

/* "%name: type {div = 16}" at run time, "name: type = "1"" folded, "name = "64"" constexpr. */
static bool
parse_param(Reader *r, TlParam *param)
{
   param->name = r->word;
   param->divisibility = 1;
   if (r->tok == TOK_WORD) {
      next(r);
      if (accept(r, ':') && (!(param->type = parse_type(r)) || !check_param_type(r, param)))
         return false;
      if (!accept(r, '='))
         return true;
      if (r->tok != TOK_STRING)
         return fail_expected(r, "the value of the parameter as a string");
      param->constant = r->word;
      next(r);
      return true;
   }
   TlRange range = token_range(r);
   if (r->tok != TOK_VALUE)
      return fail_expected(r, "a parameter");
   next(r);
   param->is_runtime = true;
   if (!expect(r, ':') || !(param->type = parse_type(r)) || !check_param_type(r, param))
      return false;
   TlValue *v = tl_block_add_arg(r->func->body->block, param->type, param->name);
   return define(r, param->name, range, v) && parse_div(r, param);
}

static bool
parse_params(Reader *r)
{
   TL_VEC(TlParam) params = {0};
   if (!expect(r, '('))
      return false;
   while (!at(r, ')')) {
      TlParam param = {0};
      if (!parse_param(r, &param))
         return false;
      tl_vec_push(r->module->arena, &params, param);
      if (!accept(r, ','))
         break;
   }
   r->func->params = params.data;
   r->func->num_params = (uint32_t)params.len;
   return expect(r, ')');
}

static bool
parse_state(Reader *r)
{
   static const char *const states[] = {"typed", "laid", "lowered"};
   for (unsigned i = 0; i < 3; i++) {
      if (accept_word(r, states[i])) {
         r->func->state = (TlState)i;
         return true;
      }
   }
   return fail_expected(r, "typed, laid or lowered");
}

static bool
parse_func_attr(Reader *r)
{
   TlFunc *f = r->func;
   const struct {
      const char *key;
      uint32_t *number;
      int64_t min;
   } numbers[] = {{"num_warps", &f->num_warps, 1},
                  {"extra_warps", &f->extra_warps, 0},
                  {"blocks", &f->blocks, 0},
                  {"cluster", &f->cluster, 0},
                  {"num_stages", &f->num_stages, 0},
                  {"num_ctas", &f->num_ctas, 1},
                  {"shared_bytes", &f->shared_bytes, 0}};
   const struct {
      const char *key;
      const char **text;
   } texts[] = {{"grid", &f->grid}, {"short_when", &f->short_when}, {"target", &f->target}};
   const struct {
      const char *key;
      bool *flag;
   } flags[] = {{"needs_warps", &f->needs_warps}, {"strict_fp", &f->strict_fp}};
   const char *key = r->tok == TOK_WORD ? r->word : "";
   Reader at_key = *r;
   next(r);
   if (!expect(r, '='))
      return false;
   for (unsigned i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
      int64_t v;
      if (strcmp(key, numbers[i].key) != 0)
         continue;
      if (!parse_int(r, numbers[i].min, 1 << 24, &v))
         return false;
      *numbers[i].number = (uint32_t)v;
      return true;
   }
   for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
      if (strcmp(key, texts[i].key) != 0)
         continue;
      if (r->tok != TOK_STRING)
         return fail_expected(r, "a string");
      *texts[i].text = r->word;
      next(r);
      return true;
   }
   if (strcmp(key, "state") == 0)
      return parse_state(r);
   for (unsigned i = 0; i < sizeof flags / sizeof flags[0]; i++) {
      if (strcmp(key, flags[i].key) != 0)
         continue;
      *flags[i].flag = at_word(r, "true");
      return accept_word(r, "true") || accept_word(r, "false") || fail_expected(r, "true or false");
   }
   return tl_refuse(r->module->diags, E0355, token_range(&at_key), "func", key);
}

static bool
parse_func_attrs(Reader *r)
{
   if (!at_attrs(r, NULL))
      return true;
   next(r);
   do {
      if (!parse_func_attr(r))
         return false;
   } while (accept(r, ','));
   return expect(r, '}');
}

typedef struct Soundness {
   Reader *reader;
   bool ok;
} Soundness;

static void
report_unsound(void *user, const TlOp *op, const char *why)
{
   Soundness *s = user;
   s->ok = false;
   tl_report(s->reader->module->diags, E0359, op ? op->range : s->reader->func->range,
             op ? tl_arena_printf(s->reader->module->arena, "this '%s'", tl_info(op)->text)
                : "this function's last",
             why);
}

static bool
parse_func(Reader *r)
{
   const char *begin = r->begin;
   next(r);
   if (r->tok != TOK_AT && !at(r, '@'))
      return fail_expected(r, "'@' and the name of the function");
   if (at(r, '@')) { /* @"any text" */
      next(r);
      if (r->tok != TOK_STRING)
         return fail_expected(r, "the name of the function");
   }
   r->func = tl_func_new(r->module, r->word, token_range(r));
   tl_map_init(&r->names, r->module->arena);
   r->scope.len = 0;
   r->depth = 1;
   next(r);
   bool ok = parse_params(r) && parse_func_attrs(r) && expect(r, '{') &&
             parse_block(r, r->func->body->block) && expect(r, '}');
   if (ok) {
      r->func->range = range_from(r, begin);
      Soundness s = {r, true};
      ok = parse_loc(r, &r->func->range);
      tl_verify_each(r->func, report_unsound, &s);
      ok = ok && s.ok;
   }
   if (!ok)
      tl_func_remove_last(r->module);
   return ok;
}

static bool
parse_layout_def(Reader *r)
{
   const char *name = r->word;
   TlRange range = token_range(r);
   next(r);
   if (!at(r, '='))
      return fail_expected(r, "'='");
   const char *text = r->pos;
   TlLinear layout;
   if (!tl_ll_read(&text, &layout) || !tl_ll_is_valid(&layout))
      return tl_refuse(r->module->diags, E0350, range, "this layout cannot be read");
   r->pos = text;
   next(r);
   tl_map_put(&r->layouts, name, (void *)(uintptr_t)tl_layout_intern(r->module->types, &layout));
   return true;
}

/* After an error: the next `func` at the start of a line. */
static void
recover(Reader *r)
{
   while (r->tok != TOK_END) {
      bool line_start = r->begin == r->text || r->begin[-1] == '\n';
      if (line_start && (at_word(r, "func") || r->tok == TOK_HASH))
         return;
      next(r);
   }
}

bool
tl_read_module(TlModule *m, TlSources *sources, uint32_t file)
{
   const TlSource *src = tl_source(sources, file);
   Reader r = {.module = m,
               .sources = sources,
               .file = file,
               .text = src->text,
               .pos = src->text,
               .end = src->text + src->len,
               .last_end = src->text};
   bool ok = true;
   tl_map_init(&r.layouts, m->arena);
   next(&r);
   while (r.tok != TOK_END) {
      bool one = at_word(&r, "func") ? parse_func(&r)
                 : r.tok == TOK_HASH ? parse_layout_def(&r)
                                     : fail_expected(&r, "'func' or a layout");
      if (!one) {
         ok = false;
         recover(&r);
      }
   }
   return ok;
}
