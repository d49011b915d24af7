/* Python's formats: format() as f-strings and str.format() have it, and the `%` of strings.  A
 * specification is [[fill]align][sign][#][0][width][, or _][.precision][type]; what is not worked
 * out as Python does is refused. */
#include "base/utf8.h"
#include "sema/impl.h"
#include "sema/text.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adds one to the last digit of d.ddde+dd; false: there is no such number of as many digits. */
static bool
next_decimal(char *text)
{
   for (char *p = strchr(text, 'e'); p-- > text;) {
      if (*p == '9')
         *p = '0';
      else if (*p >= '0' && *p < '9') {
         ++*p;
         return true;
      }
   }
   return false;
}

/* -d.ddde+dd with this many digits behind the point, as Python writes it. */
static void
put_decimal(TlSb *out, const char *text, int digits)
{
   const char *e = strchr(text, 'e');
   int exponent = atoi(e + 1);
   if (exponent < -4 || exponent >= 16) {
      tl_sb_str(out, text);
      return;
   }
   if (*text == '-')
      tl_sb_char(out, *text++);
   if (exponent < 0)
      tl_sb_str(out, "0.");
   for (int i = exponent + 1; i < 0; i++)
      tl_sb_char(out, '0');
   int written = 0;
   for (const char *p = text; p < e; p++) {
      if (*p == '.')
         continue;
      tl_sb_char(out, *p);
      if (written++ == exponent)
         tl_sb_char(out, '.');
   }
   for (; written <= exponent; written++)
      tl_sb_str(out, written == exponent ? "0." : "0");
   if (exponent >= digits)
      tl_sb_char(out, '0');
}

/* The shortest text that reads back; from 1e16 on and below 1e-4 with an exponent. */
void
tl_float_repr(TlSb *out, double f)
{
   if (isnan(f)) {
      tl_sb_str(out, "nan");
   } else if (isinf(f)) {
      tl_sb_str(out, f < 0 ? "-inf" : "inf");
   } else {
      enum { MAX_DIGITS = 17 };
      char text[40];
      int digits = 0; /* behind the first */
      for (; digits < MAX_DIGITS; digits++) {
         snprintf(text, sizeof text, "%.*e", digits, f);
         if (strtod(text, NULL) == f)
            break;
         /* Above a power of two the numbers lie twice as far apart as below it, so that a farther
          * text may read back where the nearest does not. */
         if (next_decimal(text) && strtod(text, NULL) == f)
            break;
      }
      put_decimal(out, text, digits);
   }
}

enum { MAX_WIDTH = 1000, MAX_PRECISION = 100 };
enum { MAX_FLOAT_TEXT = 10 * MAX_PRECISION + 512 }; /* digits before the point, and behind it */

typedef struct Spec {
   TlText fill;
   char align, sign, type, group;
   bool alt, zero;
   size_t width;
   int precision;
} Spec;

static bool
is_one_of(char c, const char *set)
{
   return c && strchr(set, c);
}

static bool
read_spec(TlText t, Spec *p)
{
   size_t i = 0;
   uint32_t c;
   unsigned first = t.len ? tl_utf8_next(t.data, t.len, &c) : 0;
   *p = (Spec){.fill = {" ", 1}, .precision = -1};
   if (t.len > first && is_one_of(t.data[first], "<>^=")) {
      p->fill = (TlText){t.data, first};
      p->align = t.data[first];
      i = first + 1;
   } else if (t.len && is_one_of(t.data[0], "<>^=")) {
      p->align = t.data[i++];
   }
   bool has_fill = i > 1;
   if (i < t.len && is_one_of(t.data[i], "+- "))
      p->sign = t.data[i++];
   if (i < t.len && t.data[i] == '#')
      p->alt = true, i++;
   if (i < t.len && t.data[i] == '0') {
      p->zero = !p->align;
      if (!has_fill)
         p->fill = (TlText){"0", 1};
      i++;
   }
   for (; i < t.len && t.data[i] >= '0' && t.data[i] <= '9' && p->width < MAX_WIDTH; i++)
      p->width = p->width * 10 + (size_t)(t.data[i] - '0');
   if (i < t.len && is_one_of(t.data[i], ",_"))
      p->group = t.data[i++];
   if (i < t.len && t.data[i] == '.') {
      size_t digits = ++i;
      p->precision = 0;
      for (; i < t.len && t.data[i] >= '0' && t.data[i] <= '9' && p->precision < MAX_PRECISION; i++)
         p->precision = p->precision * 10 + (t.data[i] - '0');
      if (i == digits)
         return false;
   }
   if (i < t.len)
      p->type = t.data[i++];
   return i == t.len && (!p->type || is_one_of(p->type, "dxXobeEfFgGs%"));
}

/* A sign and a prefix, between which and the digits `=` pads, and the digits. */
typedef struct Digits {
   const char *head, *text;
} Digits;

static const char *
sign_of(const Spec *p, bool is_negative)
{
   return is_negative ? "-" : p->sign == '+' ? "+" : p->sign == ' ' ? " " : "";
}

static void
put_fill(TlSb *out, const Spec *p, size_t times)
{
   while (times--)
      tl_sb_mem(out, p->fill.data, p->fill.len);
}

static void
put_padded(TlSb *out, const Spec *p, TlText head, TlText text, char align)
{
   size_t len = tl_utf8_count(head.data, head.len) + tl_utf8_count(text.data, text.len);
   size_t pad = p->width > len ? p->width - len : 0;
   size_t left = align == '>' ? pad : align == '^' ? pad / 2 : 0;
   size_t inner = align == '=' ? pad : 0;
   put_fill(out, p, left);
   tl_sb_mem(out, head.data, head.len);
   put_fill(out, p, inner);
   tl_sb_mem(out, text.data, text.len);
   put_fill(out, p, pad - left - inner);
}

/* Separators between each `size` of the digits before a point or exponent. */
static const char *
grouped(TlSema *s, const char *digits, const Spec *p, unsigned size)
{
   TlSb sb;
   tl_sb_init(&sb, s->arena);
   size_t whole = strspn(digits, "0123456789abcdefABCDEF");
   if (size == 3)
      whole = strspn(digits, "0123456789");
   for (size_t i = 0; i < whole; i++) {
      if (i && (whole - i) % size == 0)
         tl_sb_char(&sb, p->group);
      tl_sb_char(&sb, digits[i]);
   }
   tl_sb_str(&sb, digits + whole);
   return tl_sb_cstr(&sb);
}

static Digits
int_digits(TlSema *s, const TlSv *v, const Spec *p)
{
   assert(v->kind == TL_SV_INT || v->kind == TL_SV_BOOL);
   bool neg = v->kind == TL_SV_INT && v->i < 0 && !v->is_large;
   uint64_t u = v->kind == TL_SV_BOOL ? v->b : neg ? 0 - (uint64_t)v->i : (uint64_t)v->i;
   unsigned shift = p->type == 'x' || p->type == 'X' ? 4 : p->type == 'o' ? 3 : p->type == 'b';
   char digits[66], prefix[3] = {'0', p->type, '\0'};
   size_t n = sizeof digits;
   digits[--n] = '\0';
   do {
      unsigned digit = (unsigned)(shift ? u & ((1u << shift) - 1) : u % 10);
      digits[--n] = "0123456789abcdef"[digit];
      if (p->type == 'X' && digit >= 10)
         digits[n] = (char)('A' + digit - 10);
      u = shift ? u >> shift : u / 10;
   } while (u);
   const char *text = tl_arena_strndup(s->arena, digits + n, sizeof digits - 1 - n);
   if (p->group)
      text = grouped(s, text, p, shift ? 4 : 3);
   return (Digits){
      tl_arena_printf(s->arena, "%s%s", sign_of(p, neg), p->alt && shift ? prefix : ""), text};
}

/* Of a number without a sign, in C's format of this letter. */
static const char *
c_float(TlSema *s, double f, const Spec *p, char letter)
{
   int precision = p->precision < 0 ? 6 : p->precision;
   char lower = (char)tolower((unsigned char)letter);
   const char *format = lower == 'e'   ? p->alt ? "%#.*e" : "%.*e"
                        : lower == 'g' ? p->alt ? "%#.*g" : "%.*g"
                        : p->alt       ? "%#.*f"
                                       : "%.*f";
   char *text = tl_arena_alloc(s->arena, MAX_FLOAT_TEXT);
   snprintf(text, MAX_FLOAT_TEXT, format, precision, f);
   for (char *q = text; letter != lower && *q; q++)
      *q = (char)toupper((unsigned char)*q);
   return text;
}

static Digits
float_digits(TlSema *s, double f, const Spec *p)
{
   TlSb sb;
   tl_sb_init(&sb, s->arena);
   double size = isnan(f) ? NAN : fabs(f); /* a NaN shows no sign */
   if (p->type == '%')
      tl_sb_printf(&sb, "%s%%", c_float(s, size * 100, p, 'f'));
   else if (p->type)
      tl_sb_str(&sb, c_float(s, size, p, p->type));
   else
      tl_float_repr(&sb, size);
   const char *text = tl_sb_cstr(&sb);
   if (p->group)
      text = grouped(s, text, p, 3);
   return (Digits){sign_of(p, !isnan(f) && signbit(f)), text};
}

static bool
refuse_spec(TlSema *s, TlText spec, TlRange range)
{
   tl_report(s->diags, E0209, range, tl_arena_strndup(s->arena, spec.data, spec.len));
   return false;
}

/* Python takes the specification for such a value, and it is worked out here. */
static bool
suits(const TlSv *v, const Spec *p)
{
   bool is_float_type = is_one_of(p->type, "eEfFgG%");
   bool pads_groups = p->group && p->width && (p->zero || p->fill.data[0] == '0');
   switch (v->kind) {
   case TL_SV_STR:
      return (!p->type || p->type == 's') && !p->sign && !p->alt && !p->group && p->align != '=';
   case TL_SV_FLOAT:
      return (is_float_type || (!p->type && p->precision < 0 && !p->alt)) && !pads_groups;
   case TL_SV_BOOL:
   case TL_SV_INT:
      if (is_float_type)
         return !pads_groups;
      return p->type != 's' && p->precision < 0 && !pads_groups &&
             !(p->group == ',' && is_one_of(p->type, "xXob"));
   default:
      return false;
   }
}

bool
tl_format_value(TlSema *s, const TlSv *v, TlText spec, TlRange range, TlSb *out)
{
   Spec p;
   if (!spec.len)
      return tl_sv_repr(s, v, true, range, out);
   bool is_number = tl_sv_is_number(v), is_plain = is_number || v->kind == TL_SV_STR;
   if (v->member_of && tl_in_host(s))
      return refuse_spec(s, spec, range);
   if (!read_spec(spec, &p) || (is_plain || tl_in_host(s) ? !suits(v, &p) : p.sign || p.alt))
      return refuse_spec(s, spec, range);
   if (is_number) {
      bool as_float = v->kind == TL_SV_FLOAT || is_one_of(p.type, "eEfFgG%");
      Digits d = as_float ? float_digits(s, tl_known_double(v), &p) : int_digits(s, v, &p);
      TlText head = {d.head, strlen(d.head)}, text = {d.text, strlen(d.text)};
      put_padded(out, &p, head, text, p.align ? p.align : p.zero ? '=' : '>');
      return true;
   }
   TlSb sb;
   tl_sb_init(&sb, s->arena);
   if (!tl_sv_repr(s, v, true, range, &sb))
      return false;
   TlText text = {tl_sb_cstr(&sb), sb.len};
   if (p.precision >= 0)
      text.len = tl_utf8_offset(text.data, text.len, (size_t)p.precision);
   put_padded(out, &p, (TlText){"", 0}, text, p.align ? p.align : '<');
   return true;
}

/* ---- "..." % value ---- */
static TlSv
bad_percent(TlSema *s, TlRange range, const char *why)
{
   tl_report(s->diags, E0259, range, "%", why);
   return tl_sv_poison();
}

/* One conversion, from its flags to its letter at the end. */
static bool
percent_item(TlSema *s, TlText spec, const TlSv *v, TlRange range, TlSb *sb)
{
   assert(spec.len > 0);
   char type = spec.data[spec.len - 1];
   bool is_bare = spec.len == 1;
   if (type == 's' || type == 'r') {
      if (!is_bare)
         bad_percent(s, range, "text with a width or precision");
      return is_bare && tl_sv_repr(s, v, type == 's', range, sb);
   }
   bool is_number = tl_sv_is_number(v), is_int_type = is_one_of(type, "dixXo");
   bool has_minus = memchr(spec.data, '-', spec.len);
   if (!is_number || has_minus || !is_one_of(type, "dixXoeEfFgG") ||
       (is_int_type && (v->kind == TL_SV_FLOAT || memchr(spec.data, '.', spec.len)))) {
      bad_percent(s, range, "this conversion of this value");
      return false;
   }
   char *copy = tl_arena_strndup(s->arena, spec.data, spec.len);
   copy[spec.len - 1] = type == 'i' ? 'd' : type;
   TlSv number = *v;
   number.member_of = 0;
   return tl_format_value(s, &number, (TlText){copy, spec.len}, range, sb);
}

TlSv
tl_percent_format(TlSema *s, TlText fmt, const TlSv *arg, TlRange range)
{
   TlSb sb;
   tl_sb_init(&sb, s->arena);
   bool is_tuple = arg->kind == TL_SV_TUPLE && !arg->tuple->is_list;
   const TlSv *args = is_tuple ? arg->tuple->items : arg;
   size_t num = is_tuple ? arg->tuple->len : 1, used = 0;
   const char *p = fmt.data, *end = p + fmt.len;
   while (p < end) {
      if (*p != '%') {
         tl_sb_char(&sb, *p++);
         continue;
      }
      const char *spec = ++p;
      while (p < end && is_one_of(*p, "0123456789.+- #"))
         p++;
      if (p == end)
         return bad_percent(s, range, "the format ends in a '%'");
      if (*p++ == '%' && p == spec + 1) {
         tl_sb_char(&sb, '%');
         continue;
      }
      if (used == num)
         return bad_percent(s, range, "there are too few values");
      if (!percent_item(s, (TlText){spec, (size_t)(p - spec)}, &args[used++], range, &sb))
         return tl_sv_poison();
   }
   if (used != num && arg->kind != TL_SV_DICT)
      return bad_percent(s, range, "there are too many values");
   return tl_make_str(s, tl_sb_cstr(&sb), sb.len);
}
