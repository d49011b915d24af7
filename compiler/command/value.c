/* Values given on the command line. */
#include "command/value.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

typedef struct Rng {
   uint64_t state;
} Rng;

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t
next_u64(Rng *r)
{
   uint64_t z = (r->state += 0x9E3779B97F4A7C15ULL);
   z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ULL;
   z = (z ^ z >> 27) * 0x94D049BB133111EBULL;
   return z ^ z >> 31;
}

static double
uniform(Rng *r)
{
   return ((double)(next_u64(r) >> 11) + 0.5) * 0x1p-53;
}

static double
normal(Rng *r)
{
   double radius = sqrt(-2.0 * log(uniform(r)));
   return radius * cos(6.283185307179586 * uniform(r));
}

static void
fill(TlArray *a, const char *how, double constant, uint64_t seed)
{
   assert(a->data);
   Rng rng = {seed};
   unsigned size = tl_dtype_info[a->dtype].bytes;
   bool is_float = tl_dtype_is_float(a->dtype);
   for (uint64_t i = 0; i < a->elems; i++) {
      double v = strcmp(how, "randn") == 0    ? normal(&rng)
                 : strcmp(how, "arange") == 0 ? (double)i
                                              : constant;
      TlBits bits = is_float
                       ? tl_double_to_bits(a->dtype, v, TL_ROUND_NEAREST_EVEN)
                       : tl_int_to_bits(a->dtype, v < 0x1p63 ? (int64_t)v : (int64_t)(uint64_t)v);
      tl_store_elem(a->dtype, (char *)a->data + i * size, bits);
   }
}

/* The type whose name, here or in Triton, is spelt like the word; NULL: none is. */
static const char *
nearest_type(const char *word)
{
   TlNearest near = {.name = word};
   for (unsigned t = 0; t < TL_DTYPE_COUNT; t++) {
      const char *best = near.best;
      tl_nearest_try(&near, tl_dtype_info[t].triton_name);
      tl_nearest_try(&near, tl_dtype_info[t].text);
      near.best = near.best == best ? best : tl_dtype_info[t].text;
   }
   return near.best;
}

/* How an array without brackets, or without a type, is meant: fp32:8, fp32(2x4), [8]. */
static const char *
meant_array(TlArena *arena, const char *how, const char *s)
{
   if (*s == '[')
      return ": its type comes before its sizes";
   size_t word = strcspn(s, ":(,x*[ ");
   TlDtype dtype;
   const char *sizes = s + word + strspn(s + word, ":(,[ ");
   size_t digits = strspn(sizes, "0123456789,x* ");
   if (!tl_dtype_from_text(s, word, &dtype) || !isdigit((unsigned char)*sizes) ||
       sizes[digits + strspn(sizes + digits, ")]")])
      return "";
   TlSb sb;
   tl_sb_init(&sb, arena);
   tl_sb_printf(&sb, ": write %s:%s[", how, tl_dtype_info[dtype].text);
   for (size_t i = 0; i < digits; i++)
      if (sizes[i] != ' ')
         tl_sb_printf(&sb, "%c", sizes[i] == 'x' || sizes[i] == '*' ? ',' : sizes[i]);
   tl_sb_printf(&sb, "]");
   return tl_sb_cstr(&sb);
}

/* "fp16[2,64]" from *p on. */
static bool
array_type(TlArena *arena, const char *how, const char **p, TlArray *a, const char **why)
{
   const char *s = *p, *bracket = strchr(s, '[');
   size_t n = bracket ? (size_t)(bracket - s) : strlen(s);
   bool has_sizes = bracket && n;
   const char *word = tl_arena_strndup(arena, s, n), *near = nearest_type(word);
   if (has_sizes && !tl_dtype_from_text(s, n, &a->dtype))
      return tl_not_taken(
         why,
         near ? tl_arena_printf(arena, "'%s' is no type of elements; did you mean %s?", word, near)
              : tl_arena_printf(arena,
                                "'%s' is no type of elements; there are fp32, fp16, bf16, "
                                "fp64, i32, i64, i8, u8, i1 and others",
                                word));
   if (!has_sizes)
      return tl_not_taken(
         why, tl_arena_printf(arena,
                              "an array is written DTYPE[N,..], as in %s:fp32[2,64]; found '%s'%s",
                              how, s, meant_array(arena, how, s)));
   s = bracket + 1;
   while (*s != ']') {
      char *end;
      errno = 0;
      unsigned long long v = strtoull(s, &end, 10);
      if (end > s && !*end)
         return tl_not_taken(why, tl_arena_printf(arena, "'%s' lacks the ] behind its sizes", *p));
      if (end == s || !isdigit((unsigned char)*s) || errno || a->rank == 32 ||
          (*end != ',' && *end != ']'))
         return tl_not_taken(why,
                             tl_arena_printf(arena,
                                             "a dimension must be a number from 0 on, with "
                                             "',' before the next, as in %s:fp32[2,64]; found '%s'",
                                             how, s));
      a->shape[a->rank++] = v;
      s = *end == ',' ? end + 1 : end;
   }
   *p = s + 1;
   return true;
}

/* The values of an integer type, as far as a double tells them apart. */
static void
int_range(TlDtype t, double *low, double *high)
{
   unsigned bits = t == TL_I1 ? 1 : tl_dtype_info[t].bytes * 8;
   bool is_signed = tl_dtype_info[t].text[0] == 'i' && t != TL_I1;
   *low = is_signed ? -ldexp(1, (int)bits - 1) : 0;
   *high = nextafter(ldexp(1, (int)(is_signed ? bits - 1 : bits)), 0);
}

static bool
made_up(TlArena *arena, const char *how, const char *rest, TlCliValue *out, const char **why)
{
   TlArray *a = &out->array;
   const char *whole = rest;
   if (!array_type(arena, how, &rest, a, why))
      return false;
   double constant = 0;
   uint64_t seed = 0;
   bool is_full = strcmp(how, "full") == 0, is_randn = strcmp(how, "randn") == 0;
   if (*rest == ':' && (is_full || is_randn)) {
      char *end;
      if (is_full)
         constant = strtod(rest + 1, &end);
      else
         seed = strtoull(rest + 1, &end, 0);
      if (end == rest + 1 || *end)
         return tl_not_taken(
            why,
            tl_arena_printf(arena, "'%s' must be followed by a number; found '%s'", how, rest + 1));
   } else if (*rest == '[') {
      return tl_not_taken(why, tl_arena_printf(arena,
                                               "all sizes stand in one pair of brackets, as in "
                                               "%s:fp32[2,64]; found '%s' behind it",
                                               how, rest));
   } else if (*rest || is_full) {
      return tl_not_taken(
         why, *rest ? tl_arena_printf(arena, "'%s' is written %s:DTYPE[N,..]%s", how, how,
                                      is_full    ? ":VALUE"
                                      : is_randn ? "[:SEED]"
                                                 : "; equal elements are made by "
                                                   "full:DTYPE[N,..]:VALUE")
                    : tl_arena_printf(
                         arena, "'full' lacks the value of its elements: write full:%s:1", whole));
   }
   double low, high;
   if (is_full && !tl_dtype_is_float(a->dtype) &&
       (int_range(a->dtype, &low, &high), !(constant >= low && constant <= high)))
      return tl_not_taken(
         why, tl_arena_printf(arena, "%s does not fit %s, which is from %.0f to %.0f", rest + 1,
                              tl_dtype_info[a->dtype].text, low, floor(high)));
   if (!tl_array_alloc(a)) {
      a->fault = TL_ARRAY_NO_MEMORY;
      uint64_t elems = 1;
      bool is_huge = false;
      for (unsigned i = 0; i < a->rank; i++)
         is_huge |= __builtin_mul_overflow(elems, a->shape[i], &elems);
      return tl_not_taken(
         why,
         tl_arena_printf(arena,
                         "there is not enough memory for an array of that shape, %s%llu "
                         "elements of %u bytes: make it smaller",
                         is_huge ? "more than " : "", is_huge ? ~0ULL : (unsigned long long)elems,
                         tl_dtype_info[a->dtype].bytes));
   }
   out->kind = TL_CLI_ARRAY;
   out->is_empty = strcmp(how, "empty") == 0;
   out->is_zeros = strcmp(how, "zeros") == 0;
   if (out->is_empty) /* poison: a kernel that leaves elements unwritten is seen */
      memset(a->data, 0xCD, a->bytes);
   else
      fill(a, how, constant, seed);
   return true;
}

static bool
from_file(TlArena *arena, const char *text, TlCliValue *out, const char **why)
{
   const char *colon = strrchr(text, ':');
   TlDtype want = TL_DTYPE_COUNT;
   const char *path = text;
   if (!*text)
      return tl_not_taken(why, "the name of a file follows '@', as in @x.npy or @x.npy:bf16");
   const char *npy = strstr(text, ".npy:"), *type = npy ? npy + 5 : NULL;
   if (type && access(text, F_OK) != 0 && !tl_dtype_from_text(type, strlen(type), &want)) {
      const char *near = nearest_type(type);
      return tl_not_taken(
         why, tl_arena_printf(arena,
                              "'%s' behind the file's name is no type of elements%s%s%s; "
                              "the shape is the file's own",
                              type, near ? "; did you mean " : "", near ? near : "",
                              near ? "?" : ", such as bf16"));
   }
   if (colon && tl_dtype_from_text(colon + 1, strlen(colon + 1), &want))
      path = tl_arena_strndup(arena, text, (size_t)(colon - text));
   const char *reason;
   if (!tl_npy_read(arena, path, want, &out->array, &reason))
      return tl_not_taken(why, tl_arena_printf(arena, "%s: %s", path, reason));
   out->kind = TL_CLI_ARRAY;
   return true;
}

static bool
number(const char *text, TlCliValue *out)
{
   char *end;
   errno = 0;
   long long i = strtoll(text, &end, 0);
   if (*text && !*end && !errno) {
      *out = (TlCliValue){.kind = TL_CLI_INT, .i = i};
      return true;
   }
   errno = 0;
   unsigned long long u = *text == '-' ? 0 : strtoull(text, &end, 0);
   if (*text && *text != '-' && !*end && !errno) {
      *out = (TlCliValue){.kind = TL_CLI_INT, .i = (int64_t)u, .is_u64 = true};
      return true;
   }
   double f = strtod(text, &end);
   if (*text && !*end) {
      *out = (TlCliValue){.kind = TL_CLI_FLOAT, .f = f};
      return true;
   }
   return false;
}

/* How a value is written that was written as in another place: a file without @, C's or JSON's
 * constants, a product, a number with underscores; NULL: it is like none. */
static const char *
meant_value(TlArena *arena, const char *text)
{
   static const char *const constants[][2] = {{"none", "None"},    {"null", "None"},
                                              {"nullptr", "None"}, {"nil", "None"},
                                              {"true", "True"},    {"false", "False"}};
   for (size_t i = 0; i < sizeof constants / sizeof constants[0]; i++)
      if (strcasecmp(text, constants[i][0]) == 0)
         return constants[i][1];
   size_t path = strcspn(text, ":");
   bool is_file = path > 4 && memcmp(text + path - 4, ".npy", 4) == 0;
   if (is_file)
      return tl_arena_printf(arena, "@%s for the array in that file", text);
   if (strchr(text, '.') && access(text, R_OK) == 0)
      return "@FILE.npy: an array comes from a file that numpy.save wrote";
   char *digits = tl_arena_strdup(arena, text);
   size_t n = 0;
   for (const char *p = text; *p; p++)
      if (*p != '_')
         digits[n++] = *p;
   digits[n] = '\0';
   bool is_number = n && digits[strspn(digits, "0123456789")] == '\0';
   if (is_number)
      return tl_arena_printf(arena, "%s", digits);
   if (isdigit((unsigned char)*text) && text[strspn(text, "0123456789*+-/%() ")] == '\0')
      return "the number that it comes to: what is given here is not computed";
   return NULL;
}

/* randn[8], and randn[8]:fp16 with the type behind the sizes. */
static const char *
without_type(TlArena *arena, const char *text, const char *maker, const char *sizes)
{
   const char *end = strchr(sizes, ']');
   size_t len = end ? (size_t)(end - sizes) + 1 : strlen(sizes);
   const char *type = end && end[1] == ':' ? end + 2 : "";
   size_t type_len = strcspn(type, ":");
   TlDtype dtype;
   if (type_len && tl_dtype_from_text(type, type_len, &dtype))
      return tl_arena_printf(arena,
                             "'%s': the type of the elements stands before the sizes; write "
                             "%s:%.*s%.*s%s",
                             text, maker, (int)type_len, type, (int)len, sizes, type + type_len);
   return tl_arena_printf(arena, "'%s' names no type of elements; write %s:fp32%s", text, maker,
                          sizes);
}

bool
tl_cli_value(TlArena *arena, const char *text, TlCliValue *out, const char **why)
{
   static const char *const makers[] = {"zeros", "full", "empty", "randn", "arange"};
   *out = (TlCliValue){0};
   if (strcmp(text, "None") == 0)
      return true;
   if (strcmp(text, "True") == 0 || strcmp(text, "False") == 0) {
      *out = (TlCliValue){.kind = TL_CLI_BOOL, .i = text[0] == 'T'};
      return true;
   }
   if (text[0] == '@')
      return from_file(arena, text + 1, out, why);
   for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++) {
      const char *rest = tl_skip_prefix(text, makers[i]);
      if (rest && *rest == ':')
         return made_up(arena, makers[i], rest + 1, out, why);
   }
   if (number(text, out))
      return true;
   static const char *const others[][2] = {{"ones", "full, with :1 behind the sizes"},
                                           {"rand", "randn"},
                                           {"random", "randn"},
                                           {"normal", "randn"},
                                           {"uniform", "randn"},
                                           {"randint", "arange"},
                                           {"range", "arange"},
                                           {"linspace", "arange"},
                                           {"zero", "zeros"}};
   for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
      const char *rest = tl_skip_prefix(text, others[i][0]);
      if (rest && *rest == ':')
         return tl_not_taken(why, tl_arena_printf(arena,
                                                  "'%s' is not a value; did you mean %s? There are "
                                                  "zeros:fp32[64], full:fp32[64]:1, "
                                                  "randn:fp32[64]:seed, arange:i32[64]",
                                                  text, others[i][1]));
   }
   for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++) {
      const char *rest = tl_skip_prefix(text, makers[i]);
      if (rest && *rest == '[')
         return tl_not_taken(why, without_type(arena, text, makers[i], rest));
   }
   for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++) { /* fp32:zeros[8] */
      const char *colon = strchr(text, ':'),
                 *rest = colon ? tl_skip_prefix(colon + 1, makers[i]) : NULL;
      if (rest && *rest == '[')
         return tl_not_taken(why,
                             tl_arena_printf(arena, "'%s' is not a value; write %s:%.*s%s", text,
                                             makers[i], (int)(colon - text), text, rest));
   }
   TlDtype dtype;
   const char *sizes = strchr(text, '[');
   if (sizes && tl_dtype_from_text(text, (size_t)(sizes - text), &dtype)) /* fp32[8] */
      return tl_not_taken(why, tl_arena_printf(arena,
                                               "'%s' does not say what is in the array; write "
                                               "randn:%s, zeros:%s, or @file.npy for a file",
                                               text, text, text));
   const char *meant = meant_value(arena, text);
   if (meant)
      return tl_not_taken(why,
                          tl_arena_printf(arena, "'%s' is not a value; write %s", text, meant));
   return tl_not_taken(
      why, tl_arena_printf(
              arena,
              "'%s' is not a value; write a number, True, None, @file.npy, zeros:fp16[2,64], "
              "full:fp32[8]:1.5, empty:.., randn:fp16[4,4]:seed or arange:i32[16]",
              text));
}
