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

/* The next word between commas, without the blanks around it; *p is NULL behind the last. */
static size_t
next_word(const char **p, const char **word)
{
   *word = *p + strspn(*p, " ");
   size_t end = strcspn(*word, ","), len = end;
   while (len && (*word)[len - 1] == ' ')
      len--;
   *p = (*word)[end] ? *word + end + 1 : NULL;
   return len;
}

/* The constraints for so many words: those behind the last of a kind are like it, those that are
 * too many are left out. */
static const char *
with_counts(TlArena *arena, const char *constraints, unsigned num_out, unsigned num_in)
{
   TlSb all, clobbers;
   tl_sb_init(&all, arena);
   tl_sb_init(&clobbers, arena);
   for (unsigned is_in = 0; is_in < 2; is_in++) {
      const char *p = constraints[strspn(constraints, " ")] ? constraints : NULL;
      const char *last = is_in ? "r" : "=r";
      size_t last_len = strlen(last);
      unsigned num = 0, wanted = is_in ? num_in : num_out;
      while (p) {
         const char *word;
         size_t len = next_word(&p, &word);
         if (is_clobber(word, len)) {
            if (is_in)
               tl_sb_printf(&clobbers, ",%.*s", (int)len, word);
         } else if ((*word != '=') == is_in && num++ < wanted) {
            tl_sb_printf(&all, "%s%.*s", all.len ? "," : "", (int)len, word);
            bool is_own = is_in && strspn(word, "0123456789") == len; /* a tie is of one output */
            last = is_own ? last : word;
            last_len = is_own ? last_len : len;
         }
      }
      for (; num < wanted; num++)
         tl_sb_printf(&all, "%s%.*s", all.len ? "," : "", (int)last_len, last);
   }
   return tl_arena_printf(arena, "%s%s", tl_sb_cstr(&all), tl_sb_cstr(&clobbers));
}

const char *
tl_asm_refuses(TlArena *arena, const char *constraints, unsigned num_out, unsigned num_in)
{
   Count c = {.arena = arena};
   const char *p = constraints[strspn(constraints, " ")] ? constraints : NULL;
   while (p) {
      const char *word;
      size_t len = next_word(&p, &word);
      const char *why = len ? take(&c, word, len) : "one is empty";
      if (why)
         return why;
   }
   if (c.num_out == num_out && c.num_in == num_in)
      return NULL;
   return tl_arena_printf(arena,
                          "they name %u outputs and %u inputs; the call has %u and %u registers, "
                          "as in \"%s\"",
                          c.num_out, c.num_in, num_out, num_in,
                          with_counts(arena, constraints, num_out, num_in));
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

unsigned
tl_asm_split(TlArena *arena, const char *constraints, TlAsmWord *words, unsigned max)
{
   unsigned num = 0;
   for (const char *p = constraints; p && num < max; num++) {
      const char *word;
      size_t len = next_word(&p, &word);
      words[num] = (TlAsmWord){.constraint = tl_arena_printf(arena, "%.*s", (int)len, word)};
   }
   return num;
}

const char *
tl_asm_with_literals(TlArena *arena, const char *text, const TlAsmWord *words, unsigned num)
{
   TlSb sb;
   tl_sb_init(&sb, arena);
   for (const char *at; (at = strchr(text, '$')); text = at) {
      bool braced = at[1] == '{';
      const char *digits = at + 1 + braced;
      size_t len = strspn(digits, "0123456789");
      unsigned i = len && len < 4 ? (unsigned)strtoul(digits, NULL, 10) : num;
      if (i >= num) { /* "$$", or none of them */
         at += at[1] ? 2 : 1;
         tl_sb_mem(&sb, text, (size_t)(at - text));
         continue;
      }
      tl_sb_mem(&sb, text, (size_t)(at - text));
      unsigned before = 0;
      for (unsigned k = 0; k < i; k++)
         before += words[k].literal != NULL;
      at = digits + len;
      if (words[i].literal) {
         tl_sb_str(&sb, words[i].literal);
         at += braced ? strcspn(at, "}") + (strchr(at, '}') != NULL) : 0;
      } else {
         tl_sb_printf(&sb, "$%s%u", braced ? "{" : "", i - before);
      }
   }
   tl_sb_str(&sb, text);
   return tl_sb_cstr(&sb);
}
