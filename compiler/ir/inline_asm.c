/* Constraints of inline PTX.  What passes here is what LLVM's NVPTX target takes of any value: the
 * register classes of PTX and ties.  LLVM itself asserts what is wrong with others, or crashes. */
#include "ir/inline_asm.h"

#include <stdlib.h>
#include <string.h>

typedef struct Count {
   TlArena *arena;
   unsigned num_out, num_in;
} Count;

unsigned
tl_asm_elem_bits(const TlType *t)
{
   const TlType *e = tl_type_elem(t);
   return e->kind == TL_TYPE_PTR ? 64 : tl_dtype_info[e->dtype].bytes * 8;
}

unsigned
tl_asm_words(const TlType *t, unsigned pack)
{
   unsigned bits = tl_asm_elem_bits(t);
   return bits >= 32 ? pack : (bits * pack + 31) / 32;
}

static bool
is_register(const char *p, size_t len)
{
   return len == 1 && strchr("bchrlqfd", *p);
}

/* An input in the register of an output, "0". */
static bool
is_tie(const Count *c, const char *p, size_t len)
{
   return len > 0 && len < 4 && strspn(p, "0123456789") == len && strtoul(p, NULL, 10) < c->num_out;
}

static bool
is_clobber(const char *p, size_t len)
{
   return len > 3 && p[0] == '~' && p[1] == '{' && p[len - 1] == '}' && !memchr(p, '"', len) &&
          !memchr(p + 2, '{', len - 2) && !memchr(p, '}', len - 1);
}

static const char *
take(Count *c, const char *p, size_t len)
{
   bool is_out = *p == '=';
   size_t skip = !is_out ? 0 : len > 1 && p[1] == '&' ? 2 : 1;
   if (is_clobber(p, len))
      return NULL;
   if (is_out && c->num_in)
      return "outputs come before inputs";
   if (!is_register(p + skip, len - skip) && (is_out || !is_tie(c, p, len)))
      return tl_arena_printf(c->arena, "'%.*s' is none", (int)len, p);
   *(is_out ? &c->num_out : &c->num_in) += 1;
   return NULL;
}

const char *
tl_asm_refuses(TlArena *arena, const char *constraints, unsigned num_out, unsigned num_in)
{
   Count c = {.arena = arena};
   const char *p = constraints + strspn(constraints, " ");
   for (bool more = *p; more;) {
      p += strspn(p, " ");
      size_t end = strcspn(p, ","), len = end;
      while (len && p[len - 1] == ' ')
         len--;
      const char *why = len ? take(&c, p, len) : "one is empty";
      if (why)
         return why;
      p += end;
      more = *p++;
   }
   if (c.num_out == num_out && c.num_in == num_in)
      return NULL;
   return tl_arena_printf(arena,
                          "they name %u outputs and %u inputs; the call has %u and %u registers",
                          c.num_out, c.num_in, num_out, num_in);
}

const char *
tl_asm_missing(TlArena *arena, const char *text, unsigned num_operands)
{
   for (const char *p = strchr(text, '$'); p; p = strchr(p, '$')) {
      p += p[1] == '{' ? 2 : 1;
      size_t len = strspn(p, "0123456789");
      if (len && (len > 3 || strtoul(p, NULL, 10) >= num_operands))
         return tl_arena_printf(arena, "$%.*s", (int)(len < 9 ? len : 9), p);
      if (!len && *p && strchr("$:(|)", *p))
         p++;
      else if (!len)
         return "$ without a number; $$ is a $";
   }
   return NULL;
}
