/* Text form of linear layouts.  Images are written as coordinates; reading what was printed gives
 * an equal layout, and anything else (out of range, too many bits, other words) is refused. */
#include "layout/linear.h"

#include <string.h>

static const char *const hw_names[TL_HW_COUNT] = {"reg", "lane", "warp", "block"};

static void
print_coords(const TlLinear *l, uint32_t word, TlSb *out)
{
   for (unsigned d = 0; d < l->rank; d++)
      tl_sb_printf(out, "%s%u", d ? "," : "[",
                   word >> tl_ll_dim_shift(l, d) & ((1u << l->log2_dim[d]) - 1));
   tl_sb_char(out, ']');
}

void
tl_ll_print(const TlLinear *l, TlSb *out)
{
   tl_sb_str(out, "{shape=");
   for (unsigned d = 0; d < l->rank; d++)
      tl_sb_printf(out, "%s%u", d ? "," : "[", 1u << l->log2_dim[d]);
   tl_sb_char(out, ']');
   for (unsigned h = 0; h < TL_HW_COUNT; h++) {
      tl_sb_printf(out, ", %s=[", hw_names[h]);
      for (unsigned i = 0; i < l->num[h]; i++) {
         if (i)
            tl_sb_char(out, ',');
         print_coords(l, tl_ll_col(l, (TlHw)h, i), out);
      }
      tl_sb_char(out, ']');
   }
   if (tl_ll_has_repeats(l)) {
      tl_sb_str(out, ", repeat=");
      for (unsigned d = 0; d < l->rank; d++)
         tl_sb_printf(out, "%s%u", d ? "," : "[", l->repeat[d]);
      tl_sb_char(out, ']');
   }
   tl_sb_char(out, '}');
}

static void
skip_spaces(const char **s)
{
   while (**s == ' ' || **s == '\t' || **s == '\n')
      ++*s;
}

/* Consumes `word` if it is next. */
static bool
accept(const char **s, const char *word)
{
   skip_spaces(s);
   const char *rest = tl_skip_prefix(*s, word);
   *s = rest ? rest : *s;
   return rest != NULL;
}

static bool
read_number(const char **s, uint32_t *value)
{
   uint32_t v = 0;
   skip_spaces(s);
   if (**s < '0' || **s > '9')
      return false;
   for (; **s >= '0' && **s <= '9'; ++*s) {
      v = v * 10 + (uint32_t)(**s - '0');
      if (v > 1u << TL_LL_MAX_BITS)
         return false;
   }
   *value = v;
   return true;
}

/* "[n,n,..]" of at most `max` numbers. */
static bool
read_list(const char **s, uint32_t *values, unsigned max, unsigned *count)
{
   *count = 0;
   if (!accept(s, "["))
      return false;
   do {
      if (*count == max || !read_number(s, &values[*count]))
         return false;
      ++*count;
   } while (accept(s, ","));
   return accept(s, "]");
}

static bool
read_shape(const char **s, TlLinear *l)
{
   uint32_t shape[TL_LL_MAX_RANK];
   unsigned rank, bits = 0;
   if (!accept(s, "shape") || !accept(s, "=") || !read_list(s, shape, TL_LL_MAX_RANK, &rank))
      return false;
   for (unsigned d = 0; d < rank; d++) {
      if (shape[d] == 0 || (shape[d] & (shape[d] - 1)) != 0)
         return false;
      bits += (unsigned)__builtin_ctz(shape[d]);
   }
   if (bits > TL_LL_MAX_BITS)
      return false;
   *l = tl_ll_empty(rank, shape);
   return true;
}

static bool
read_column(const char **s, TlLinear *l, TlHw hw)
{
   uint32_t coords[TL_LL_MAX_RANK], image = 0;
   unsigned n;
   if (!read_list(s, coords, TL_LL_MAX_RANK, &n) || n != l->rank ||
       tl_ll_in_bits(l) == TL_LL_MAX_IN)
      return false;
   for (unsigned d = 0; d < n; d++) {
      if (coords[d] >> l->log2_dim[d])
         return false;
      image |= coords[d] << tl_ll_dim_shift(l, d);
   }
   tl_ll_push(l, hw, image);
   return true;
}

static bool
read_hw(const char **s, TlLinear *l, TlHw hw)
{
   if (!accept(s, ",") || !accept(s, hw_names[hw]) || !accept(s, "=") || !accept(s, "["))
      return false;
   if (accept(s, "]"))
      return true;
   do {
      if (!read_column(s, l, hw))
         return false;
   } while (accept(s, ","));
   return accept(s, "]");
}

static bool
read_repeat(const char **s, TlLinear *l)
{
   uint32_t repeat[TL_LL_MAX_RANK];
   unsigned n;
   if (!accept(s, "repeat") || !accept(s, "=") || !read_list(s, repeat, TL_LL_MAX_RANK, &n) ||
       n != l->rank)
      return false;
   for (unsigned d = 0; d < n; d++) {
      if (repeat[d] == 0 || repeat[d] > UINT16_MAX)
         return false;
      l->repeat[d] = (uint16_t)repeat[d];
   }
   return true;
}

bool
tl_ll_read(const char **text, TlLinear *out)
{
   const char *s = *text;
   TlLinear l;
   if (!accept(&s, "{") || !read_shape(&s, &l))
      return false;
   for (unsigned h = 0; h < TL_HW_COUNT; h++)
      if (!read_hw(&s, &l, (TlHw)h))
         return false;
   if (accept(&s, ",") && !read_repeat(&s, &l))
      return false;
   if (!accept(&s, "}") || !tl_ll_is_valid(&l))
      return false;
   *text = s;
   *out = l;
   return true;
}
