/* Groups of warnings by their table. */
#include "base/warnings.h"
#include "base/str.h"

#include <string.h>

static const struct {
   const char *name, *doc;
   TlWarningSet set;
} groups[] = {
#define TL_WARNING_GROUP(ID, name, set, doc) {name, doc, TL_WARNINGS_##set},
#include "base/warnings.def"
};

_Static_assert(TL_WARNING_COUNT <= 64, "a bit of TlWarnings for each group");

const char *
tl_warning_name(unsigned group)
{
   return group < TL_WARNING_COUNT ? groups[group].name : NULL;
}

const char *
tl_warning_doc(unsigned group)
{
   return group < TL_WARNING_COUNT ? groups[group].doc : NULL;
}

bool
tl_warning_is_asked_for(TlWarningGroup group)
{
   return groups[group].set == TL_WARNINGS_ASKED;
}

/* The bits of the groups called so: "all" is every one; 0 when none is. */
static uint64_t
bits_of(const char *name)
{
   if (strcmp(name, "all") == 0)
      return UINT64_MAX;
   for (unsigned i = 0; i < TL_WARNING_COUNT; i++)
      if (strcmp(groups[i].name, name) == 0)
         return (uint64_t)1 << i;
   return 0;
}

bool
tl_warnings_ask(TlWarnings *w, const char *text, const char **name)
{
   const char *error = tl_skip_prefix(text, "error="),
              *no_error = tl_skip_prefix(text, "no-error=");
   const char *no = tl_skip_prefix(text, "no-");
   bool is_group = bits_of(text) != 0; /* "no-effect" is one */
   *name = error ? error : no_error ? no_error : no && !is_group ? no : text;
   uint64_t bits = bits_of(*name);
   if (error) {
      w->error |= bits;
      w->no_error &= ~bits;
   } else if (no_error) {
      w->no_error |= bits;
      w->error &= ~bits;
   }
   if (*name == text || error) {
      w->on |= bits;
      w->off &= ~bits;
   } else if (!no_error) {
      w->off |= bits;
      w->on &= ~bits;
   }
   return bits != 0;
}

bool
tl_warnings_has(const TlWarnings *w, TlWarningGroup group)
{
   uint64_t bit = (uint64_t)1 << group;
   return (w->on & bit) || (groups[group].set <= w->initial && !(w->off & bit));
}

bool
tl_warnings_is_error(const TlWarnings *w, TlWarningGroup group, bool all_errors)
{
   uint64_t bit = (uint64_t)1 << group;
   return (w->error & bit) || (all_errors && !(w->no_error & bit));
}

/* ---- remarks ---- */
const char *
tl_remark_group(unsigned i)
{
   static const char *const names[] = {
#define TL_REMARK_GROUP(name) name,
#include "base/warnings.def"
   };
   return i < sizeof names / sizeof names[0] ? names[i] : NULL;
}

bool
tl_remarks_has(const char *asked, const char *group)
{
   for (const char *s = asked; s && *s;) {
      size_t len = strcspn(s, ",");
      if (tl_is_word(group, s, len) || tl_is_word("all", s, len))
         return true;
      s += len + (s[len] == ',');
   }
   return false;
}

/* ---- comments ---- */
/* Where the text is in the line, or NULL. */
static const char *
find(const char *line, size_t len, const char *text)
{
   size_t n = strlen(text);
   for (size_t i = 0; i + n <= len; i++)
      if (memcmp(line + i, text, n) == 0)
         return line + i;
   return NULL;
}

const char *
tl_ignored_in(const char *line, size_t len, size_t *names_len)
{
   static const char mark[] = "# tilec: ignore";
   const char *at = find(line, len, mark);
   *names_len = 0;
   if (!at)
      return NULL;
   at += sizeof mark - 1;
   size_t left = len - (size_t)(at - line);
   if (!left || *at != '[')
      return "";
   const char *end = memchr(at, ']', left);
   *names_len = end ? (size_t)(end - at) - 1 : left - 1;
   return at + 1;
}

bool
tl_next_ignored(const char **names, size_t *len, const char **name, size_t *name_len)
{
   static const char between[] = ", ";
   while (*len && memchr(between, **names, sizeof between - 1)) {
      ++*names;
      --*len;
   }
   *name = *names;
   while (*len && !memchr(between, **names, sizeof between - 1)) {
      ++*names;
      --*len;
   }
   *name_len = (size_t)(*names - *name);
   return *name_len > 0;
}
