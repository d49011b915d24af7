/* Diagnostics: collected, bounded, handed to a callback, rendered by diag_render.c.
 * Every message is a row of a diag_*.def table (one table per part of the compiler, all included by
 * diag.def).  Its format is a constant array, so the compiler checks each call's arguments:
 *    tl_report(diags, E0312, range, left, right);
 *    tl_note(diags, N0312, other_range, "left", type_name);       belongs to the error before it
 *    tl_help(diags, "did you mean '%s'?", name);                  help for the error before it,
 *                                                                in place of diag_help.def's
 * A message is one sentence phrased as the rule: lower case, no final period, with both actual
 * values. */
#ifndef TL_BASE_DIAG_H
#define TL_BASE_DIAG_H

#include "base/arena.h"
#include "base/source.h"
#include "base/str.h"
#include "base/warnings.h"

typedef enum TlSeverity {
   TL_SEV_ERROR,
   TL_SEV_WARNING,
   TL_SEV_REMARK,
   TL_SEV_NOTE,
} TlSeverity;

typedef enum TlDiagCode {
#define TL_DIAG(code, severity, format) TL_DIAG_##code,
#include "base/diag.def"
   TL_DIAG_COUNT
} TlDiagCode;

#define TL_DIAG(code, severity, format)                                                            \
   __attribute__((unused)) static const char tl_fmt_##code[] = format;
#include "base/diag.def"

typedef struct TlDiag {
   TlDiagCode code;
   TlSeverity severity;
   TlRange range;
   const char *text;
   const char *help;     /* NULL or the help line */
   struct TlDiag *notes; /* chain of notes, in order */
   struct TlDiag *next;
} TlDiag;

typedef struct TlDiags {
   TlArena *arena;
   TlSources *sources;
   TlDiag *first, *last;
   unsigned num_errors, num_warnings, num_remarks;
   unsigned max_errors; /* further errors are counted, not kept; 0 = no limit */
   bool warnings_are_errors;
   bool is_unheard;     /* errors are counted and compared; nobody reads their help */
   uint32_t site;       /* the call being followed: of ranges in the library that name none */
   TlWarnings warnings; /* which are shown */
   const char *remarks; /* groups asked for, "layout,tma" or "all"; NULL: none */
} TlDiags;

void tl_diags_init(TlDiags *d, TlArena *arena, TlSources *sources); /* 20 errors */
const char *tl_diag_name(TlDiagCode code);                          /* "E0312" */
const char *tl_severity_word(TlSeverity severity);                  /* "error" */

const char *tl_diag_format(TlDiagCode code);   /* the row's text */
TlWarningGroup tl_diag_group(TlDiagCode code); /* of a warning; TL_WARNING_COUNT of others */
/* Does what it warns of go wrong between programs only? */
bool tl_diag_is_of_programs(TlDiagCode code);
/* Whoever makes a remark of a group asks first. */
bool tl_wants_remarks(const TlDiags *d, const char *group);
/* Is a warning of this code silenced by a comment where the range begins? */
bool tl_diag_is_ignored(TlDiags *d, TlDiagCode code, TlRange range);

/* Identical (code, range) errors are reported once.  What is about a place in the library is shown
 * where the user's file calls it, with a note for each function on the way. */
void tl_diag_emit(TlDiags *d, TlDiagCode code, TlRange range, const char *fmt, ...)
   __attribute__((format(printf, 4, 5)));
/* By file and place; what is about one place stays in its order. */
void tl_diags_sort(TlDiags *d);
/* A diagnostic that was put aside, with its notes and help. */
void tl_diags_repeat(TlDiags *d, const TlDiag *again);
/* Would help for the newest error be shown?  Asked before a long search for it. */
bool tl_wants_help(const TlDiags *d);
bool tl_diags_are_full(const TlDiags *d); /* further errors are counted alone */
void tl_help(TlDiags *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Whether its help is diag_help.def's, which knows nothing of the place. */
bool tl_has_usual_help(const TlDiag *d);

/* `##__VA_ARGS__` is the gcc and clang form that C17 mode accepts without a pedantic warning. */
#define tl_report(d, code, range, ...)                                                             \
   tl_diag_emit((d), TL_DIAG_##code, (range), tl_fmt_##code, ##__VA_ARGS__)
#define tl_note tl_report
/* Reports and is false: `return tl_refuse(..)`. */
#define tl_refuse(d, code, range, ...) (tl_report(d, code, range, ##__VA_ARGS__), false)

/* Text form with source line and carets, as clang prints it:
 *    f.tile:3:9: error[E0204]: unknown name 'blok'
 *        3 |     x = blok + 1
 *          |         ^~~~
 *          = help: did you mean 'block'? */
void tl_diag_render(TlDiags *d, const TlDiag *diag, bool color, TlSb *out);
/* All kept diagnostics, sorted by file and by position of their errors; one JSON object a line. */
void tl_diag_render_json(TlDiags *d, const TlDiag *diag, TlSb *out);

#endif
