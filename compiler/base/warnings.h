/* Which warnings are shown and which are errors: groups (warnings.def) switched by -W, and comments
 *    x = f(y)  # tilec: ignore[unused]
 * on the line of a warning, or alone on the line above, that silence groups or codes there; without
 * brackets all warnings. */
#ifndef TL_BASE_WARNINGS_H
#define TL_BASE_WARNINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum TlWarningGroup {
#define TL_WARNING_GROUP(ID, ...) TL_WARNING_##ID,
#include "base/warnings.def"
   TL_WARNING_COUNT
} TlWarningGroup;

typedef enum TlWarningSet {
   TL_WARNINGS_ALWAYS,
   TL_WARNINGS_RUN,
   TL_WARNINGS_CHECK,
   TL_WARNINGS_ASKED,
} TlWarningSet;

typedef struct TlWarnings {
   TlWarningSet initial; /* groups up to this set are on; zero: ALWAYS */
   uint64_t on, off;     /* asked for, one bit a group */
   uint64_t error, no_error;
} TlWarnings;

/* "unused", "no-unused", "all", "error=unused", "no-error=unused"; the last one asked counts.
 * False: no group is called so, *name is what was looked for. */
bool tl_warnings_ask(TlWarnings *w, const char *text, const char **name);
bool tl_warnings_has(const TlWarnings *w, TlWarningGroup group);
/* Is a warning of the group an error, where all_errors says whether others are? */
bool tl_warnings_is_error(const TlWarnings *w, TlWarningGroup group, bool all_errors);
/* Is it shown only where -W<name> or -Wall asks for it? */
bool tl_warning_is_asked_for(TlWarningGroup group);
/* NULL past the end. */
const char *tl_warning_name(unsigned group);
const char *tl_warning_doc(unsigned group);
/* Is the group of remarks among those asked for, "layout,tma" or "all"?  NULL: none is. */
bool tl_remarks_has(const char *asked, const char *group);
const char *tl_remark_group(unsigned i); /* NULL past the end */
/* The groups and codes in the brackets of an ignoring comment in this line; NULL when there is no
 * such comment, "" when it has no brackets. */
const char *tl_ignored_in(const char *line, size_t len, size_t *names_len);
/* Takes the next of these names, which commas and blanks part; false after the last. */
bool tl_next_ignored(const char **names, size_t *len, const char **name, size_t *name_len);

#endif
