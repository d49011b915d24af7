/* See array.h. */
#include "command/array.h"

#include "base/map.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* numpy's printoptions (its threshold is 1000): the most elements that are printed whole, what is
 * left of larger arrays on each side, the length of a line. */
enum { THRESHOLD = 256, EDGE = 3, LINE = 75 };
enum { TEXT_BYTES = 40 };

/* ---- one element ---- */
/* Digits that tell values of a type apart where it matters to a reader. */
static int
digits_of(TlDtype t)
{
   unsigned mantissa = tl_dtype_info[t].mantissa;
   return mantissa > 23 ? 8 : mantissa > 10 ? 6 : mantissa > 7 ? 4 : 3;
}

static TlBits
bits_at(const TlArray *a, uint64_t i)
{
   assert(i < a->elems);
   return tl_load_elem(a->dtype, (const char *)a->data + i * tl_dtype_info[a->dtype].bytes);
}

static void
element_text(const TlArray *a, uint64_t i, char text[TEXT_BYTES])
{
   const TlDtypeInfo *info = &tl_dtype_info[a->dtype];
   TlBits bits = bits_at(a, i);
   if (info->kind == TL_KIND_BOOL) {
      snprintf(text, TEXT_BYTES, "%s", bits ? "True" : "False");
   } else if (info->kind == TL_KIND_UINT) {
      snprintf(text, TEXT_BYTES, "%" PRIu64, bits);
   } else if (info->kind == TL_KIND_SINT) {
      snprintf(text, TEXT_BYTES, "%" PRId64, tl_bits_to_int(a->dtype, bits));
   } else {
      double v = tl_bits_to_double(a->dtype, bits);
      if (isnan(v)) { /* of either sign */
         strcpy(text, "nan");
         return;
      }
      snprintf(text, TEXT_BYTES, "%.*g", digits_of(a->dtype), v);
      if (!strpbrk(text, ".en"))
         strcat(text, ".");
   }
}

/* ---- a whole array ---- */
typedef struct Printer {
   const TlArray *array;
   TlSb *out; /* NULL: only measures */
   bool is_short;
   size_t before, after; /* the most characters before the point, and from it on */
   size_t column;
} Printer;

static void
print_text(Printer *p, const char *text, size_t len)
{
   tl_sb_mem(p->out, text, len);
   p->column += len;
}

static void
print_element(Printer *p, uint64_t i)
{
   char text[TEXT_BYTES], padded[2 * TEXT_BYTES];
   element_text(p->array, i, text);
   size_t before = strcspn(text, ".e"), after = strlen(text) - before;
   if (!p->out) {
      p->before = before > p->before ? before : p->before;
      p->after = after > p->after ? after : p->after;
      return;
   }
   int n = snprintf(padded, sizeof padded, "%*s%s%*s", (int)(p->before - before), "", text,
                    (int)(p->after - after), "");
   print_text(p, padded, (size_t)n);
}

static void
new_line(Printer *p, unsigned count, unsigned indent)
{
   while (p->out->len && p->out->data[p->out->len - 1] == ' ') /* padding */
      p->out->data[--p->out->len] = 0;
   for (unsigned i = 0; i < count; i++)
      tl_sb_char(p->out, '\n');
   p->column = 0;
   for (unsigned i = 0; i < indent; i++)
      print_text(p, " ", 1);
}

/* What stands between two items of dimension d, the next of which takes `width` characters. */
static void
separate(Printer *p, unsigned d, size_t width)
{
   unsigned rank = p->array->rank;
   if (!p->out)
      return;
   if (d + 1 < rank)
      new_line(p, rank - 1 - d, d + 1);
   else if (p->column + 1 + width + 1 > LINE)
      new_line(p, 1, rank);
   else
      print_text(p, " ", 1);
}

/* The part of the array from element `first` on that dimensions d and later span. */
static void
print_dim(Printer *p, unsigned d, uint64_t first)
{
   const TlArray *a = p->array;
   if (d == a->rank) {
      print_element(p, first);
      return;
   }
   uint64_t n = a->shape[d], stride = 1;
   for (unsigned k = d + 1; k < a->rank; k++)
      stride *= a->shape[k];
   bool is_cut = p->is_short && n > 2 * EDGE;
   if (p->out)
      print_text(p, "[", 1);
   for (uint64_t i = 0; i < n; i++) {
      if (i)
         separate(p, d, p->before + p->after);
      if (is_cut && i == EDGE) {
         if (p->out)
            print_text(p, "...", 3);
         separate(p, d, p->before + p->after);
         i = n - EDGE;
      }
      print_dim(p, d + 1, first + i * stride);
   }
   if (p->out)
      print_text(p, "]", 1);
}

void
tl_array_print(const TlArray *array, TlSb *out)
{
   Printer p = {.array = array, .is_short = array->elems > THRESHOLD};
   if (!array->elems) { /* whatever the other dimensions are */
      tl_sb_str(out, "[]\n");
      return;
   }
   print_dim(&p, 0, 0);
   p.out = out;
   print_dim(&p, 0, 0);
   tl_sb_char(out, '\n');
}

void
tl_array_type(const TlArray *a, TlSb *out)
{
   tl_sb_printf(out, "%s[", tl_dtype_info[a->dtype].text);
   for (unsigned d = 0; d < a->rank; d++)
      tl_sb_printf(out, "%s%" PRIu64, d ? ", " : "", a->shape[d]);
   tl_sb_char(out, ']');
}

/* ---- comparing ---- */
/* Room for sums in another order and for functions, not for fp32 products through tf32; of the
 * narrow floats four times the error of one rounding. */
double
tl_array_tolerance(TlDtype t)
{
   const TlDtypeInfo *info = &tl_dtype_info[t];
   return info->kind != TL_KIND_FLOAT ? 0
          : info->mantissa > 23       ? 1e-9
          : info->mantissa > 10       ? 1e-5
                                      : ldexp(1, 1 - (int)info->mantissa);
}

static double
value_at(const TlArray *a, uint64_t i)
{
   TlBits bits = bits_at(a, i);
   if (tl_dtype_is_float(a->dtype))
      return tl_bits_to_double(a->dtype, bits);
   return tl_dtype_info[a->dtype].kind == TL_KIND_SINT ? (double)tl_bits_to_int(a->dtype, bits)
                                                       : (double)bits;
}

/* |got - want| / max(1, |want|).  Integers that differ, differ, also where a double cannot tell. */
static double
error_at(const TlArray *got, const TlArray *want, uint64_t i)
{
   double x = value_at(got, i), y = value_at(want, i);
   if (isnan(x) || isnan(y))
      return isnan(x) && isnan(y) ? 0 : HUGE_VAL;
   bool are_bits = got->dtype == want->dtype && tl_dtype_is_int(got->dtype);
   if (x == y)
      return are_bits && bits_at(got, i) != bits_at(want, i) ? 1 / fmax(1, fabs(y)) : 0;
   return isinf(y) ? HUGE_VAL : fabs(x - y) / fmax(1, fabs(y));
}

static const char *
index_text(TlArena *arena, const TlArray *a, uint64_t i)
{
   uint64_t index[sizeof a->shape / sizeof a->shape[0]];
   for (unsigned d = a->rank; d-- > 0; i /= a->shape[d])
      index[d] = i % a->shape[d];
   TlSb sb;
   tl_sb_init(&sb, arena);
   for (unsigned d = 0; d < a->rank; d++)
      tl_sb_printf(&sb, "%s%" PRIu64, d ? ", " : "[", index[d]);
   tl_sb_char(&sb, ']');
   return a->rank ? tl_sb_cstr(&sb) : "[]";
}

void
tl_array_compare(TlArena *arena, const TlArray *got, const TlArray *want, double tolerance,
                 TlArrayDiff *out)
{
   assert(got->elems == want->elems && got->rank == want->rank);
   *out = (TlArrayDiff){.error = -1, .got = "", .want = "", .index = "[]"};
   for (uint64_t i = 0; i < got->elems; i++) {
      double error = error_at(got, want, i);
      out->wrong += error > tolerance;
      if (error > out->error) {
         out->error = error;
         out->worst = i;
      }
   }
   if (!got->elems) {
      out->error = 0;
      return;
   }
   char text[2][TEXT_BYTES];
   element_text(got, out->worst, text[0]);
   element_text(want, out->worst, text[1]);
   out->got = tl_arena_strdup(arena, text[0]);
   out->want = tl_arena_strdup(arena, text[1]);
   out->index = index_text(arena, got, out->worst);
}

uint64_t
tl_array_hash(const TlArray *a)
{
   return tl_hash(a->data, a->bytes, 0);
}
