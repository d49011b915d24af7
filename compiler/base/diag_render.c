/* Diagnostics as text: a header line, the source line as typed, a caret line, then help and notes.
 * Tabs of the source line are repeated in the caret line so that both align on any terminal. */
#include "base/diag.h"

#include "base/json.h"
#include "base/utf8.h"

#include <stdio.h>

static const char *const severity_color[] = {
   [TL_SEV_ERROR] = "\033[1;31m",
   [TL_SEV_WARNING] = "\033[1;35m",
   [TL_SEV_REMARK] = "\033[1;34m",
   [TL_SEV_NOTE] = "\033[1;36m",
};

const char *
tl_severity_word(TlSeverity severity)
{
   static const char *const words[] = {
      [TL_SEV_ERROR] = "error",
      [TL_SEV_WARNING] = "warning",
      [TL_SEV_REMARK] = "remark",
      [TL_SEV_NOTE] = "note",
   };
   return words[severity];
}

/* Columns a code point takes: 2 for East Asian wide and fullwidth blocks (Unicode TR11), else 1. */
static unsigned
cell_width(uint32_t cp)
{
   static const uint32_t wide[][2] = {
      {0x1100, 0x115F}, {0x2E80, 0x303E},   {0x3041, 0x33FF},   {0x3400, 0x4DBF},  {0x4E00, 0x9FFF},
      {0xA000, 0xA4CF}, {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},  {0xFF00, 0xFF60},
      {0xFFE0, 0xFFE6}, {0x1F300, 0x1F64F}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
   for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++)
      if (cp >= wide[i][0] && cp <= wide[i][1])
         return 2;
   return 1;
}

/* Bytes of the character at s, one where there is none. */
static uint32_t
decode(const char *s, uint32_t len, uint32_t *cp)
{
   uint32_t n = tl_utf8_read(s, len, cp);
   return n ? n : 1;
}

/* Long lines are cut to a window of bytes around the caret. */
enum { MAX_LINE_BYTES = 240, MOST_CONTINUED = 3 /* bytes of a character after its first */ };

static void
source_snippet(TlDiags *d, TlRange r, TlLineCol at, bool color, TlSb *out)
{
   uint32_t len;
   const char *line = tl_source_line(d->sources, r.file, at.line, &len);
   const TlSource *src = tl_source(d->sources, r.file);
   uint32_t line_off = (uint32_t)(line - src->text);
   uint32_t begin = r.begin > line_off ? r.begin - line_off : 0;
   uint32_t end = r.end > line_off ? r.end - line_off : 0;
   if (begin > len)
      begin = len;
   if (end > len)
      end = len;
   uint32_t first = 0;
   if (len > MAX_LINE_BYTES) {
      first = begin > MAX_LINE_BYTES / 2 ? begin - MAX_LINE_BYTES / 2 : 0;
      for (unsigned k = 0; k < MOST_CONTINUED && ((unsigned char)line[first] & 0xC0) == 0x80; k++)
         first -= first > 0;
      if (len - first > MAX_LINE_BYTES)
         len = first + MAX_LINE_BYTES;
      if (begin > len)
         begin = len;
      if (end > len)
         end = len;
   }
   tl_sb_printf(out, "%5u | %.*s\n      | ", at.line, (int)(len - first), line + first);
   for (uint32_t i = first; i < begin;) {
      uint32_t cp, n = decode(line + i, len - i, &cp);
      if (cp == '\t')
         tl_sb_char(out, '\t');
      else
         for (unsigned w = cell_width(cp); w; w--)
            tl_sb_char(out, ' ');
      i += n;
   }
   if (color)
      tl_sb_str(out, "\033[1;32m");
   tl_sb_char(out, '^');
   bool is_first = true;
   for (uint32_t i = begin; i < end;) {
      uint32_t cp, n = decode(line + i, len - i, &cp);
      for (unsigned w = cell_width(cp); w; w--, is_first = false)
         if (!is_first)
            tl_sb_char(out, '~');
      i += n;
   }
   if (color)
      tl_sb_str(out, "\033[0m");
   tl_sb_char(out, '\n');
}

static void
render_one(TlDiags *d, const TlDiag *g, bool color, TlSb *out)
{
   const TlSource *src = tl_source(d->sources, g->range.file);
   TlLineCol at = {0, 0};
   if (src) {
      at = tl_source_line_col(d->sources, g->range.file, g->range.begin);
      tl_sb_printf(out, "%s:%u:%u: ", src->name, at.line, at.column);
   } else if (g->severity != TL_SEV_NOTE) {
      tl_sb_str(out, "tilec: ");
   }
   const char *on = color ? severity_color[g->severity] : "", *off = color ? "\033[0m" : "";
   if (g->severity == TL_SEV_NOTE)
      tl_sb_printf(out, "%s%s%s: %s\n", on, tl_severity_word(g->severity), off, g->text);
   else
      tl_sb_printf(out, "%s%s[%s]%s: %s\n", on, tl_severity_word(g->severity),
                   tl_diag_name(g->code), off, g->text);
   if (src)
      source_snippet(d, g->range, at, color, out);
   if (g->help)
      tl_sb_printf(out, "      = help: %s\n", g->help);
}

void
tl_diag_render(TlDiags *d, const TlDiag *g, bool color, TlSb *out)
{
   render_one(d, g, color, out);
   for (const TlDiag *n = g->notes; n; n = n->next)
      render_one(d, n, color, out);
}

static void
json_fields(TlDiags *d, const TlDiag *g, TlSb *out)
{
   const TlSource *src = tl_source(d->sources, g->range.file);
   tl_json_str(out, "code", tl_diag_name(g->code));
   tl_json_str(out, "severity", tl_severity_word(g->severity));
   tl_json_str(out, "message", g->text);
   if (src) {
      TlLineCol a = tl_source_line_col(d->sources, g->range.file, g->range.begin);
      TlLineCol b = tl_source_line_col(d->sources, g->range.file, g->range.end);
      tl_json_str(out, "file", src->name);
      tl_json_int(out, "line", a.line);
      tl_json_int(out, "column", a.column);
      tl_json_int(out, "end_line", b.line);
      tl_json_int(out, "end_column", b.column);
   }
   if (g->help)
      tl_json_str(out, "help", g->help);
}

void
tl_diag_render_json(TlDiags *d, const TlDiag *g, TlSb *out)
{
   tl_json_open(out, '{');
   json_fields(d, g, out);
   tl_json_open_field(out, "notes", '[');
   for (const TlDiag *n = g->notes; n; n = n->next) {
      tl_json_open(out, '{');
      json_fields(d, n, out);
      tl_json_close(out, '}');
   }
   tl_json_close(out, ']');
   tl_json_close(out, '}');
   tl_sb_char(out, '\n');
}
