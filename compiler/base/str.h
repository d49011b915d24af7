/* Interned strings and a string builder.
 * An interned string is NUL-terminated, lives as long as its table, and two equal strings have one
 * address, so names are compared with `==`. */
#ifndef TL_BASE_STR_H
#define TL_BASE_STR_H

#include "base/arena.h"

#include <stdbool.h>
#include <string.h>

typedef struct TlStrings TlStrings;

TlStrings *tl_strings_new(TlArena *arena);
const char *tl_intern(TlStrings *table, const char *s, size_t len);
const char *tl_intern_cstr(TlStrings *table, const char *s);

/* Growing text in an arena; `data` is always NUL-terminated once something was added. */
typedef struct TlSb {
   TlArena *arena;
   char *data;
   size_t len, cap;
} TlSb;

void tl_sb_init(TlSb *sb, TlArena *arena);
void tl_sb_char(TlSb *sb, char c);
void tl_sb_mem(TlSb *sb, const char *s, size_t len);
void tl_sb_str(TlSb *sb, const char *s);
void tl_sb_printf(TlSb *sb, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *tl_sb_cstr(TlSb *sb); /* "" when empty */

/* The text of `len` letters is this word, which may be NULL. */
static inline bool
tl_is_word(const char *word, const char *text, size_t len)
{
   return word && strncmp(word, text, len) == 0 && !word[len];
}

/* What follows the prefix; NULL: the text begins otherwise. */
static inline const char *
tl_skip_prefix(const char *text, const char *prefix)
{
   size_t n = strlen(prefix);
   return strncmp(text, prefix, n) == 0 ? text + n : NULL;
}

static inline bool
tl_starts_with(const char *text, const char *prefix)
{
   return tl_skip_prefix(text, prefix) != NULL;
}

/* Is `word` one of those in `words`, which are apart by spaces? */
bool tl_word_is_listed(const char *words, const char *word);

static inline bool
tl_ends_with(const char *text, const char *end)
{
   size_t n = strlen(text), m = strlen(end);
   return n >= m && strcmp(text + n - m, end) == 0;
}

/* Is `word`, of small letters, anywhere in the name, in letters of either size? */
bool tl_has_word(const char *name, const char *word);

/* Letters to change, add, leave out or swap with the next, at most `limit` (larger answers are
 * reported as limit + 1).  For did-you-mean: a candidate is worth naming at distance <= 1 + length
 * / 4. */
unsigned tl_edit_distance(const char *a, const char *b, unsigned limit);
/* Of names that were tried the one that `name` may be a slip for; best NULL: none is close. */
typedef struct TlNearest {
   const char *name, *best;
   unsigned distance;
} TlNearest;
void tl_nearest_try(TlNearest *n, const char *candidate);

#endif
