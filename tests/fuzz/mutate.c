#include "mutate.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TEXT = 4096, MAX_DEPTH = 4, MAX_CHANGES = 4 };

/* The text under change, and the state of the random numbers. */
typedef struct Mut {
   const FuzzGrammar *g;
   char *text;
   size_t len, max;
   uint64_t random;
} Mut;

/* From begin up to end. */
typedef struct Span {
   size_t begin, end;
} Span;

/* SplitMix64; below n, 0 for n = 0. */
static size_t
pick(Mut *m, size_t n)
{
   uint64_t z = m->random += 0x9e3779b97f4a7c15u;
   z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
   z = (z ^ z >> 27) * 0x94d049bb133111ebu;
   return n ? (size_t)((z ^ z >> 31) % n) : 0;
}

static void
replace(Mut *m, Span at, const char *text, size_t len)
{
   if (m->len - (at.end - at.begin) + len > m->max)
      return;
   memmove(m->text + at.begin + len, m->text + at.end, m->len - at.end);
   memcpy(m->text + at.begin, text, len);
   m->len = m->len - (at.end - at.begin) + len;
}

/* ---- Tokens ---------------------------------------------------------------------------------- */

static bool
is_word(char c)
{
   return isalnum((unsigned char)c) || c == '_';
}

/* A word or number at or after a random place, numbers with their point. */
static bool
find_word(Mut *m, bool number, Span *out)
{
   size_t from = pick(m, m->len);
   for (size_t i = from; i < m->len; i++) {
      if (!is_word(m->text[i]) || (i && is_word(m->text[i - 1])))
         continue;
      bool digit = isdigit((unsigned char)m->text[i]);
      size_t end = i;
      while (end < m->len && (is_word(m->text[end]) || (digit && m->text[end] == '.')))
         end++;
      if (digit == number) {
         *out = (Span){i, end};
         return true;
      }
   }
   return false;
}

/* What stands between commas or brackets around a random place. */
static bool
find_argument(Mut *m, Span *out)
{
   size_t at = pick(m, m->len), begin = at, end = at;
   int depth = 0;
   for (; begin; begin--) {
      char c = m->text[begin - 1];
      depth += (c == ')' || c == ']') - (c == '(' || c == '[');
      if (depth < 0 || (depth == 0 && c == ',') || c == '\n')
         break;
   }
   for (depth = 0; end < m->len; end++) {
      char c = m->text[end];
      depth += (c == '(' || c == '[') - (c == ')' || c == ']');
      if (depth < 0 || (depth == 0 && c == ',') || c == '\n')
         break;
   }
   *out = (Span){begin, end};
   return end > begin && m->text[end == m->len ? end - 1 : end] != '\n';
}

static Span
find_line(Mut *m)
{
   size_t begin = pick(m, m->len), end = begin;
   while (begin && m->text[begin - 1] != '\n')
      begin--;
   while (end < m->len && m->text[end] != '\n')
      end++;
   return (Span){begin, end < m->len ? end + 1 : end};
}

static size_t
indent_of(const Mut *m, Span line)
{
   size_t n = 0;
   while (line.begin + n < line.end && m->text[line.begin + n] == ' ')
      n++;
   return n;
}

/* The line with all that is indented deeper after it. */
static Span
with_block(const Mut *m, Span line)
{
   size_t own = indent_of(m, line);
   while (line.end < m->len) {
      Span next = {line.end, line.end};
      while (next.end < m->len && m->text[next.end] != '\n')
         next.end++;
      if (next.end > next.begin && indent_of(m, next) <= own)
         break;
      line.end = next.end < m->len ? next.end + 1 : next.end;
   }
   return line;
}

/* ---- Derivations ----------------------------------------------------------------------------- */

typedef struct Out {
   char text[MAX_TEXT];
   size_t len;
} Out;

static void
put(Out *o, const char *text, size_t len)
{
   if (len > sizeof o->text - o->len)
      return;
   memcpy(o->text + o->len, text, len);
   o->len += len;
}

static void
put_number(Mut *m, Out *o)
{
   static const char *const numbers[] = {"0",
                                         "1",
                                         "2",
                                         "3",
                                         "4",
                                         "5",
                                         "7",
                                         "8",
                                         "15",
                                         "16",
                                         "17",
                                         "31",
                                         "32",
                                         "33",
                                         "64",
                                         "100",
                                         "128",
                                         "256",
                                         "1024",
                                         "2048",
                                         "4096",
                                         "65536",
                                         "1048576",
                                         "2147483647",
                                         "2147483648",
                                         "4294967295",
                                         "9223372036854775807",
                                         "9223372036854775808",
                                         "18446744073709551616",
                                         "-1",
                                         "-2",
                                         "-2147483648",
                                         "-9223372036854775808",
                                         "0.0",
                                         "-0.0",
                                         "0.5",
                                         "1.5",
                                         "1e38",
                                         "1e-40",
                                         "1e400",
                                         "0x7f",
                                         "0xffffffff",
                                         "0b101",
                                         "0o17"};
   /* small ones are more often right */
   size_t n = pick(m, 3) ? 18 : sizeof numbers / sizeof *numbers;
   const char *s = numbers[pick(m, n)];
   put(o, s, strlen(s));
}

static void
put_word(Mut *m, Out *o)
{
   Span at;
   if (pick(m, 3) && find_word(m, false, &at)) {
      put(o, m->text + at.begin, at.end - at.begin);
   } else {
      const char *s = m->g->words[pick(m, m->g->num_words)];
      put(o, s, strlen(s));
   }
}

static const char *
choose_rule(Mut *m, char letter, int depth)
{
   const char *chosen = "";
   size_t seen = 0;
   for (size_t i = 0; i < m->g->num_rules; i++) {
      if (m->g->rules[i].letter != letter)
         continue;
      seen++;
      if (seen == 1 || (depth > 0 && pick(m, seen) == 0))
         chosen = m->g->rules[i].text;
   }
   return chosen;
}

static void
derive(Mut *m, char letter, int depth, Out *o)
{
   if (letter == 'n') {
      put_number(m, o);
      return;
   }
   if (letter == 'w') {
      put_word(m, o);
      return;
   }
   for (const char *t = choose_rule(m, letter, depth); *t; t++) {
      if (*t == '$' && t[1] && t[1] != '$')
         derive(m, *++t, depth - 1, o);
      else
         put(o, t, 1);
   }
}

/* ---- Changes --------------------------------------------------------------------------------- */

static void
change_word(Mut *m)
{
   Span at;
   Out o = {.len = 0};
   bool number = pick(m, 3) == 0;
   if (!find_word(m, number, &at))
      return;
   derive(m, number ? 'n' : 'w', 1, &o);
   replace(m, at, o.text, o.len);
}

static void
change_argument(Mut *m)
{
   Span at, other;
   Out o = {.len = 0};
   if (!find_argument(m, &at))
      return;
   if (pick(m, 2) && find_argument(m, &other))
      put(&o, m->text + other.begin, other.end - other.begin);
   else
      derive(m, 'E', MAX_DEPTH, &o);
   replace(m, at, o.text, o.len);
}

/* One operator for another: they stand alone between blanks. */
static void
change_operator(Mut *m)
{
   static const char *const operators[] = {
      "+", "-", "*",  "/",  "//", "%",  "**",  "<<", ">>", "&",  "|", "^",
      "<", ">", "<=", ">=", "==", "!=", "and", "or", "is", "in", "@"};
   for (size_t i = pick(m, m->len); i + 2 < m->len; i++) {
      size_t end = i + 1;
      while (end < m->len && end < i + 4 && strchr("+-*/%<>&|^=!", m->text[end]))
         end++;
      if (m->text[i] == ' ' && end > i + 1 && end < m->len && m->text[end] == ' ') {
         const char *s = operators[pick(m, sizeof operators / sizeof *operators)];
         replace(m, (Span){i + 1, end}, s, strlen(s));
         return;
      }
   }
}

static void
copy_line(Mut *m)
{
   Span from = pick(m, 3) ? find_line(m) : with_block(m, find_line(m)), to = find_line(m);
   Out o = {.len = 0};
   put(&o, m->text + from.begin, from.end - from.begin);
   if (pick(m, 3) == 0) /* in its place, else before it */
      replace(m, to, o.text, o.len);
   else
      replace(m, (Span){to.begin, to.begin}, o.text, o.len);
}

static void
drop_line(Mut *m)
{
   Span at = find_line(m);
   replace(m, pick(m, 4) ? at : with_block(m, at), "", 0);
}

static void
new_line(Mut *m)
{
   Span at = find_line(m);
   Out o = {.len = 0};
   for (size_t i = indent_of(m, at); i; i--)
      put(&o, " ", 1);
   derive(m, 'L', MAX_DEPTH, &o);
   put(&o, "\n", 1);
   replace(m, (Span){at.begin, at.begin}, o.text, o.len);
}

/* A line and its block under a new head. */
static void
new_block(Mut *m)
{
   Span at = with_block(m, find_line(m));
   size_t indent = indent_of(m, at);
   Out o = {.len = 0};
   for (size_t i = indent; i; i--)
      put(&o, " ", 1);
   derive(m, 'H', MAX_DEPTH, &o);
   put(&o, "\n", 1);
   for (size_t i = at.begin; i < at.end; i++) {
      if (i == at.begin || m->text[i - 1] == '\n')
         put(&o, "    ", 4);
      put(&o, m->text + i, 1);
   }
   if (m->g->indent == '{')
      put(&o, "}\n", 2);
   replace(m, at, o.text, o.len);
}

size_t
fuzz_mutate(const FuzzGrammar *g, uint8_t *data, size_t size, size_t max, unsigned seed)
{
   static void (*const changes[])(Mut *) = {
      change_word, change_word, change_argument, change_argument, change_operator,
      copy_line,   drop_line,   new_line,        new_line,        new_block};
   Mut m = {g, (char *)data, size, max, seed};
   if (pick(&m, 30) == 0)
      return LLVMFuzzerMutate(data, size, max);
   for (size_t n = 1 + pick(&m, MAX_CHANGES); n; n--)
      changes[pick(&m, sizeof changes / sizeof *changes)](&m);
   return m.len;
}

size_t
fuzz_cross(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size, uint8_t *out,
           size_t max, unsigned seed)
{
   Mut from = {.text = (char *)(uintptr_t)b, .len = b_size, .max = b_size, .random = seed};
   Mut to = {.text = (char *)out, .len = a_size < max ? a_size : max, .max = max, .random = ~seed};
   memcpy(out, a, to.len);
   if (b_size) {
      Span lines = with_block(&from, find_line(&from)), at = find_line(&to);
      replace(&to, pick(&to, 2) ? at : (Span){at.begin, at.begin}, from.text + lines.begin,
              lines.end - lines.begin);
   }
   return to.len;
}
