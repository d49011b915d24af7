/* String table: open addressing over (hash, pointer).  Builder: doubling buffer in the arena. */
#include "base/str.h"
#include "base/map.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

typedef struct Entry {
   uint64_t hash;
   const char *s;
   size_t len;
} Entry;

struct TlStrings {
   TlArena *arena;
   Entry *slots;
   size_t len, cap;
};

TlStrings *
tl_strings_new(TlArena *arena)
{
   assert(arena);
   TlStrings *t = tl_new(arena, TlStrings);
   t->arena = arena;
   t->cap = 256;
   t->slots = tl_new_array(arena, Entry, t->cap);
   return t;
}

static Entry *
find(Entry *slots, size_t cap, uint64_t hash, const char *s, size_t len)
{
   for (size_t i = hash & (cap - 1);; i = (i + 1) & (cap - 1)) {
      Entry *e = &slots[i];
      if (!e->s || (e->hash == hash && e->len == len && memcmp(e->s, s, len) == 0))
         return e;
   }
}

static void
grow(TlStrings *t)
{
   size_t cap = t->cap * 2;
   Entry *slots = tl_new_array(t->arena, Entry, cap);
   for (size_t i = 0; i < t->cap; i++)
      if (t->slots[i].s)
         *find(slots, cap, t->slots[i].hash, t->slots[i].s, t->slots[i].len) = t->slots[i];
   t->slots = slots;
   t->cap = cap;
}

const char *
tl_intern(TlStrings *t, const char *s, size_t len)
{
   assert(s || !len);
   if (t->len * 4 >= t->cap * 3)
      grow(t);
   assert(t->len < t->cap && "a free slot ends the search");
   uint64_t hash = tl_hash(s, len, 0);
   Entry *e = find(t->slots, t->cap, hash, s, len);
   if (!e->s) {
      *e = (Entry){hash, tl_arena_strndup(t->arena, s, len), len};
      t->len++;
   }
   return e->s;
}

const char *
tl_intern_cstr(TlStrings *t, const char *s)
{
   return tl_intern(t, s, strlen(s));
}

void
tl_sb_init(TlSb *sb, TlArena *arena)
{
   assert(arena);
   *sb = (TlSb){.arena = arena};
}

static void
reserve(TlSb *sb, size_t more)
{
   if (sb->cap - sb->len > more)
      return;
   size_t cap = sb->cap ? sb->cap * 2 : 128;
   while (cap - sb->len <= more)
      cap *= 2;
   char *p = tl_arena_alloc(sb->arena, cap);
   if (sb->len)
      memcpy(p, sb->data, sb->len);
   sb->data = p;
   sb->cap = cap;
}

void
tl_sb_mem(TlSb *sb, const char *s, size_t len)
{
   assert(s || !len);
   reserve(sb, len);
   if (len)
      memcpy(sb->data + sb->len, s, len);
   sb->len += len;
   assert(sb->len < sb->cap);
   sb->data[sb->len] = '\0';
}

void
tl_sb_char(TlSb *sb, char c)
{
   tl_sb_mem(sb, &c, 1);
}

void
tl_sb_str(TlSb *sb, const char *s)
{
   tl_sb_mem(sb, s, strlen(s));
}

void
tl_sb_printf(TlSb *sb, const char *fmt, ...)
{
   va_list ap, again;
   va_start(ap, fmt);
   va_copy(again, ap);
   int n = vsnprintf(NULL, 0, fmt, ap);
   va_end(ap);
   if (n > 0) {
      reserve(sb, (size_t)n);
      vsnprintf(sb->data + sb->len, (size_t)n + 1, fmt, again);
      sb->len += (size_t)n;
   }
   va_end(again);
}

const char *
tl_sb_cstr(TlSb *sb)
{
   return sb->data ? sb->data : "";
}

unsigned
tl_edit_distance(const char *a, const char *b, unsigned limit)
{
   enum { MAX = 64 };
   size_t na = strlen(a), nb = strlen(b);
   if (na > MAX || nb > MAX || (na > nb ? na - nb : nb - na) > limit)
      return limit + 1;
   unsigned rows[3][MAX + 1]; /* of this letter of a and the two before, in turn */
   for (unsigned j = 0; j <= nb; j++)
      rows[0][j] = j;
   for (size_t i = 1; i <= na; i++) {
      unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
      row[0] = (unsigned)i;
      for (size_t j = 1; j <= nb; j++) {
         unsigned best = above[j - 1] + (a[i - 1] != b[j - 1]);
         bool is_swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
         if (is_swapped && second[j - 2] + 1 < best)
            best = second[j - 2] + 1;
         if (above[j] + 1 < best)
            best = above[j] + 1;
         if (row[j - 1] + 1 < best)
            best = row[j - 1] + 1;
         row[j] = best;
      }
   }
   unsigned distance = rows[na % 3][nb];
   return distance > limit ? limit + 1 : distance;
}

bool
tl_word_is_listed(const char *words, const char *word)
{
   size_t len = strlen(word);
   if (!len || strchr(word, ' '))
      return false;
   for (const char *at = strstr(words, word); at; at = strstr(at + len, word))
      if ((at == words || at[-1] == ' ') && (at[len] == 0 || at[len] == ' '))
         return true;
   return false;
}

static char
small(char c)
{
   return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool
tl_has_word(const char *name, const char *word)
{
   for (; *name; name++) {
      size_t i = 0;
      while (word[i] && small(name[i]) == word[i])
         i++;
      if (!word[i])
         return true;
   }
   return false;
}

/* The edits from one name to the other; that of a letter's case is none. */
static unsigned
distance(const char *name, const char *candidate, unsigned limit)
{
   enum { ROOM = 64 };
   char lower[2][ROOM];
   const char *both[2] = {name, candidate};
   if (strlen(name) >= ROOM || strlen(candidate) >= ROOM)
      return tl_edit_distance(name, candidate, limit);
   for (unsigned i = 0; i < 2; i++) {
      size_t n = strlen(both[i]) + 1;
      for (size_t c = 0; c < n; c++) {
         bool is_upper = both[i][c] >= 'A' && both[i][c] <= 'Z';
         lower[i][c] = is_upper ? (char)(both[i][c] - 'A' + 'a') : both[i][c];
      }
   }
   return tl_edit_distance(lower[0], lower[1], limit);
}

/* The length of the first word of BLOCK_SIZE_M, and where the next begins. */
static size_t
first_word(const char **at)
{
   size_t len = strcspn(*at, "_");
   *at += len + ((*at)[len] == '_');
   return len;
}

/* BLOCK_M of BLOCK_SIZE_M: two words or more, and the longer name has one besides, behind the
 * first. */
static bool
lacks_one_word(const char *shorter, const char *longer)
{
   unsigned words = 0, besides = 0;
   while (*longer) {
      const char *a = shorter, *b = longer;
      size_t na = first_word(&a), nb = first_word(&b);
      bool is_same = na == nb && na && strncasecmp(shorter, longer, na) == 0;
      if (!is_same && (besides++ || !words))
         return false;
      shorter = is_same ? a : shorter;
      words += is_same;
      longer = b;
   }
   return !*shorter && words >= 2 && besides == 1;
}

void
tl_nearest_try(TlNearest *n, const char *candidate)
{
   unsigned len = (unsigned)strlen(n->name), limit = 1 + (len > 4 ? len / 4 : 0);
   if (!n->best)
      n->distance = limit + 1;
   bool is_case = strcasecmp(n->name, candidate) == 0; /* N for n: as close as can be */
   unsigned d = is_case ? 0 : distance(n->name, candidate, limit);
   bool has_common = d < len || is_case; /* one letter is not like another */
   bool is_short = len > 2 && strncmp(n->name, candidate, len) == 0; /* lang for language */
   size_t room = strlen(candidate);
   bool is_end = len > 3 && room > len && room - len <= 4 && candidate[room - len - 1] == '_' &&
                 strcmp(candidate + room - len, n->name) == 0; /* warps for num_warps */
   bool is_word_more = lacks_one_word(candidate, n->name) || lacks_one_word(n->name, candidate);
   if (d > limit && (is_short || is_end || is_word_more))
      d = limit;
   if (d < n->distance && has_common && strcmp(n->name, candidate) != 0) {
      n->distance = d;
      n->best = candidate;
   }
}
