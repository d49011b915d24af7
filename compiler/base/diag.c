/* Collection of diagnostics.  Invariant: notes and help attach to the newest kept diagnostic; when
 * the newest one was dropped (limit, duplicate), its notes and help are dropped with it. */
#include "base/diag.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

typedef struct Row {
   const char *name;
   TlSeverity severity;
   const char *format;
} Row;

static const Row row[TL_DIAG_COUNT] = {
#define TL_DIAG(code, severity, format) [TL_DIAG_##code] = {#code, TL_SEV_##severity, format},
#include "base/diag.def"
};

static const char *const usual_help[TL_DIAG_COUNT] = {
#define TL_HELP(code, help) [TL_DIAG_##code] = (help),
#include "base/diag_help.def"
};

void
tl_diags_init(TlDiags *d, TlArena *arena, TlSources *sources)
{
   assert(arena);
   *d = (TlDiags){.arena = arena, .sources = sources, .max_errors = 20};
}

const char *
tl_diag_name(TlDiagCode code)
{
   assert(code < TL_DIAG_COUNT);
   return row[code].name;
}

const char *
tl_diag_format(TlDiagCode code)
{
   assert(code < TL_DIAG_COUNT);
   return row[code].format;
}

bool
tl_wants_remarks(const TlDiags *d, const char *group)
{
   return tl_remarks_has(d->remarks, group);
}

TlWarningGroup
tl_diag_group(TlDiagCode code)
{
   static const uint8_t named[TL_DIAG_COUNT] = {
   /* the group and one more; 0: no row */
#define TL_WARNS(ID, code) [TL_DIAG_##code] = TL_WARNING_##ID + 1,
#include "base/warnings.def"
   };
   if (named[code])
      return (TlWarningGroup)(named[code] - 1);
   return row[code].severity == TL_SEV_WARNING ? TL_WARNING_OTHER : TL_WARNING_COUNT;
}

bool
tl_diag_is_of_programs(TlDiagCode code)
{
   static const bool named[TL_DIAG_COUNT] = {
#define TL_OF_PROGRAMS(code) [TL_DIAG_##code] = true,
#include "base/warnings.def"
   };
   return named[code];
}

/* Is the group or code among the names of the comment, "unused, W0204"? */
static bool
is_named(const char *names, size_t len, TlDiagCode code)
{
   const char *group = tl_warning_name(tl_diag_group(code)), *name;
   size_t n;
   if (!len)
      return true; /* all */
   while (tl_next_ignored(&names, &len, &name, &n))
      if (tl_is_word(row[code].name, name, n) || tl_is_word(group, name, n))
         return true;
   return false;
}

bool
tl_diag_is_ignored(TlDiags *d, TlDiagCode code, TlRange range)
{
   if (!tl_source(d->sources, range.file))
      return false;
   uint32_t line = tl_source_line_col(d->sources, range.file, range.begin).line, len;
   for (uint32_t above = 0; above < 2 && above < line; above++) {
      const char *text = tl_source_line(d->sources, range.file, line - above, &len);
      bool is_alone = text[strspn(text, " \t")] == '#';
      size_t n;
      const char *names = above && !is_alone ? NULL : tl_ignored_in(text, len, &n);
      if (names && is_named(names, n, code))
         return true;
   }
   return false;
}

/* A warning that is not wanted, or silenced where it is. */
static bool
is_silent(TlDiags *d, TlDiagCode code, TlRange range)
{
   return !tl_warnings_has(&d->warnings, tl_diag_group(code)) || tl_diag_is_ignored(d, code, range);
}

static bool
is_same(TlRange a, TlRange b)
{
   return a.file == b.file && a.begin == b.begin && a.end == b.end;
}

static bool
is_duplicate(const TlDiags *d, TlDiagCode code, TlRange r)
{
   for (const TlDiag *i = d->first; i; i = i->next)
      if (i->code == code && is_same(i->range, r) && r.file)
         return true;
   return false;
}

static bool
has_error(const TlDiags *d, TlRange r)
{
   for (const TlDiag *i = d->first; i; i = i->next)
      if (i->severity == TL_SEV_ERROR && is_same(i->range, r))
         return true;
   return false;
}

static uint32_t
line_of(const TlDiags *d, TlRange r)
{
   return tl_source_line_col(d->sources, r.file, r.begin).line;
}

/* An error that says what an earlier one says of its line, or a remark that says what one says of
 * its place, as in each turn of a loop at compile time. */
static bool
is_told(const TlDiags *d, const TlDiag *n)
{
   bool is_error = n->severity == TL_SEV_ERROR && tl_source(d->sources, n->range.file);
   for (const TlDiag *i = d->first; (is_error || n->severity == TL_SEV_REMARK) && i; i = i->next)
      if (i->code == n->code && i->range.file == n->range.file && strcmp(i->text, n->text) == 0 &&
          (is_error ? line_of(d, i->range) == line_of(d, n->range) : is_same(i->range, n->range)))
         return true;
   return false;
}

static bool
admit(TlDiags *d, TlSeverity severity, TlDiagCode code, TlRange range)
{
   enum { MAX_WARNINGS = 100, MAX_REMARKS = 2000 };
   switch (severity) {
   case TL_SEV_ERROR:
      return !is_duplicate(d, code, range) && (d->num_errors++, true) &&
             (!d->max_errors || d->num_errors <= d->max_errors);
   case TL_SEV_WARNING:
      return !is_duplicate(d, code, range) && ++d->num_warnings <= MAX_WARNINGS;
   case TL_SEV_REMARK:
      return ++d->num_remarks <= MAX_REMARKS;
   case TL_SEV_NOTE:
      return d->last != NULL;
   }
   return true;
}

/* Text in messages may be the program's own: what is longer than anybody reads is cut, between
 * characters. */
static const char *
format(TlArena *arena, const char *fmt, va_list ap)
{
   enum { MAX_TEXT_BYTES = 4096 };
   char *text = tl_arena_vprintf(arena, fmt, ap);
   size_t len = strlen(text), end = MAX_TEXT_BYTES;
   if (len <= MAX_TEXT_BYTES)
      return text;
   while (end > MAX_TEXT_BYTES - 4 && ((unsigned char)text[end] & 0xc0) == 0x80)
      end--;
   return tl_arena_printf(arena, "%.*s... (%zu more bytes)", (int)end, text, len - end);
}

/* False if it is not wanted, or has been said. */
static bool
keep(TlDiags *d, TlDiagCode code, TlRange range, const char *fmt, va_list ap)
{
   TlSeverity severity = row[code].severity;
   bool is_warning = severity == TL_SEV_WARNING;
   if (is_warning &&
       tl_warnings_is_error(&d->warnings, tl_diag_group(code), d->warnings_are_errors))
      severity = TL_SEV_ERROR;
   if ((is_warning && is_silent(d, code, range)) || !admit(d, severity, code, range)) {
      if (severity != TL_SEV_NOTE)
         d->last = NULL;
      return false;
   }
   TlDiag *n = tl_new(d->arena, TlDiag);
   *n = (TlDiag){.code = code, .severity = severity, .range = range, .help = usual_help[code]};
   n->text = format(d->arena, fmt, ap);
   if (is_told(d, n)) {
      d->num_errors -= severity == TL_SEV_ERROR;
      d->last = NULL;
      return false;
   }
   TlDiag **link = &d->first;
   if (severity == TL_SEV_NOTE)
      link = &d->last->notes;
   while (*link)
      link = &(*link)->next;
   *link = n;
   if (severity != TL_SEV_NOTE)
      d->last = n;
   return true;
}

/* Where the user's file calls what is in the library. */
static TlRange
users_place(const TlDiags *d, TlRange range)
{
   TlRange at = range;
   while (at.site && tl_in_library(d->sources, at))
      at = tl_call_site(d->sources, at.site)->at;
   return tl_in_library(d->sources, at) ? range : at;
}

__attribute__((format(printf, 4, 5))) static bool
keep_text(TlDiags *d, TlDiagCode code, TlRange range, const char *fmt, ...)
{
   va_list ap;
   va_start(ap, fmt);
   bool is_kept = keep(d, code, range, fmt, ap);
   va_end(ap);
   return is_kept;
}

/* A note for each function of the library on the way there, the outermost first. */
static void
note_library(TlDiags *d, TlRange at)
{
   const TlCallSite *call = tl_call_site(d->sources, at.site);
   if (!call || !tl_in_library(d->sources, at))
      return;
   note_library(d, call->at);
   keep_text(d, TL_DIAG_N0208, at, tl_fmt_N0208, call->callee);
}

/* A note for each call of the user's functions around the place: the nearest ones and the first. */
static void
note_callers(TlDiags *d, TlRange at)
{
   enum { NEAREST = 3 };
   unsigned num = 0;
   const TlCallSite *first = NULL, *call = tl_call_site(d->sources, at.site);
   for (; call; call = tl_call_site(d->sources, call->at.site)) {
      if (!call->at.file || tl_in_library(d->sources, call->at))
         continue;
      first = call;
      if (num++ < NEAREST)
         keep_text(d, TL_DIAG_N0203, call->at, tl_fmt_N0203, call->callee);
   }
   if (num > NEAREST)
      keep_text(d, TL_DIAG_N0203, first->at, tl_fmt_N0203, first->callee);
}

void
tl_diag_emit(TlDiags *d, TlDiagCode code, TlRange range, const char *fmt, ...)
{
   assert(code < TL_DIAG_COUNT && range.begin <= range.end);
   TlSeverity severity = row[code].severity;
   if (!range.site && severity != TL_SEV_NOTE) /* a note may be about another place */
      range.site = d->site;
   TlRange shown = users_place(d, range);
   bool is_moved = shown.file != range.file;
   if (is_moved && severity == TL_SEV_ERROR && has_error(d, shown)) {
      d->last = NULL; /* of one call the first error of the library says what is wrong */
      return;
   }
   va_list ap;
   va_start(ap, fmt);
   bool is_kept = keep(d, code, shown, fmt, ap);
   va_end(ap);
   if (is_kept && is_moved)
      note_library(d, range);
   if (is_kept && severity != TL_SEV_NOTE && d->last->severity == TL_SEV_ERROR)
      note_callers(d, shown);
}

static bool
is_before(const TlDiag *a, const TlDiag *b)
{
   return a->range.file != b->range.file ? a->range.file < b->range.file
                                         : a->range.begin < b->range.begin;
}

/* Insertion: at most some thousands are kept, nearly in order. */
void
tl_diags_sort(TlDiags *d)
{
   TlDiag *sorted = NULL, *next;
   d->last = NULL;
   for (TlDiag *i = d->first; i; i = next) {
      next = i->next;
      TlDiag **link = d->last && !is_before(i, d->last) ? &d->last->next : &sorted;
      while (*link && !is_before(i, *link))
         link = &(*link)->next;
      i->next = *link;
      *link = i;
      d->last = i->next ? d->last : i;
   }
   d->first = sorted;
}

void
tl_diags_repeat(TlDiags *d, const TlDiag *again)
{
   keep_text(d, again->code, again->range, "%s", again->text);
   if (again->help)
      tl_help(d, "%s", again->help);
   for (const TlDiag *n = again->notes; n; n = n->next)
      keep_text(d, n->code, n->range, "%s", n->text);
}

bool
tl_has_usual_help(const TlDiag *d)
{
   return d->help == usual_help[d->code];
}

bool
tl_diags_are_full(const TlDiags *d)
{
   return d->max_errors && d->num_errors >= d->max_errors;
}

bool
tl_wants_help(const TlDiags *d)
{
   return d->last && !d->is_unheard;
}

void
tl_help(TlDiags *d, const char *fmt, ...)
{
   if (!d->last)
      return;
   va_list ap;
   va_start(ap, fmt);
   d->last->help = format(d->arena, fmt, ap);
   va_end(ap);
}
