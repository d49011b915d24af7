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

static bool
is_duplicate(const TlDiags *d, TlDiagCode code, TlRange r)
{
   for (const TlDiag *i = d->first; i; i = i->next)
      if (i->code == code && i->range.file == r.file && i->range.begin == r.begin &&
          i->range.end == r.end && r.file)
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

void
tl_diag_emit(TlDiags *d, TlDiagCode code, TlRange range, const char *fmt, ...)
{
   assert(code < TL_DIAG_COUNT && range.begin <= range.end);
   TlSeverity severity = row[code].severity;
   if (severity == TL_SEV_WARNING && d->warnings_are_errors)
      severity = TL_SEV_ERROR;
   if (!admit(d, severity, code, range)) {
      if (severity != TL_SEV_NOTE)
         d->last = NULL;
      return;
   }
   TlDiag *n = tl_new(d->arena, TlDiag);
   *n = (TlDiag){.code = code, .severity = severity, .range = range};
   va_list ap;
   va_start(ap, fmt);
   n->text = format(d->arena, fmt, ap);
   va_end(ap);
   TlDiag **link = &d->first;
   if (severity == TL_SEV_NOTE)
      link = &d->last->notes;
   while (*link)
      link = &(*link)->next;
   *link = n;
   if (severity != TL_SEV_NOTE)
      d->last = n;
}

void
tl_diags_repeat(TlDiags *d, const TlDiag *again)
{
   tl_diag_emit(d, again->code, again->range, "%s", again->text);
   if (again->help)
      tl_help(d, "%s", again->help);
   for (const TlDiag *n = again->notes; n; n = n->next)
      tl_diag_emit(d, n->code, n->range, "%s", n->text);
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
