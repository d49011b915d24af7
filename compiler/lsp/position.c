/* Lines and characters to byte offsets and back.  A character is a byte or a UTF-16 unit, as was
 * agreed on; lines end with \n, \r\n or \r. */
#include "lsp/impl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The byte after the end of the line that begins at `at`; len at the last one. */
static size_t
next_line(const char *text, size_t len, size_t at)
{
   while (at < len && text[at] != '\n' && text[at] != '\r')
      at++;
   if (at < len && text[at] == '\r' && at + 1 < len && text[at + 1] == '\n')
      at++;
   return at < len ? at + 1 : len;
}

/* The first byte of the line before the one that begins at `at`, which is not the first. */
static size_t
line_before(const char *text, size_t at)
{
   assert(at > 0);
   at--;
   if (at > 0 && text[at] == '\n' && text[at - 1] == '\r')
      at--;
   while (at > 0 && text[at - 1] != '\n' && text[at - 1] != '\r')
      at--;
   return at;
}

/* Bytes of the character at p and its UTF-16 units. */
static size_t
character(const char *p, size_t left, unsigned *units)
{
   unsigned char c = (unsigned char)*p;
   size_t n = c < 0x80 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
   *units = n == 4 ? 2 : 1;
   return n < left ? n : left;
}

bool
tl_lsp_is_position(const json_t *position)
{
   return json_is_integer(json_object_get(position, "line")) &&
          json_is_integer(json_object_get(position, "character"));
}

size_t
tl_offset_of(const TlServer *s, const char *text, size_t len, const json_t *position)
{
   json_int_t line = json_integer_value(json_object_get(position, "line"));
   json_int_t wanted = json_integer_value(json_object_get(position, "character"));
   size_t at = 0;
   for (json_int_t i = 0; i < line && at < len; i++)
      at = next_line(text, len, at);
   for (json_int_t c = 0; c < wanted && at < len && text[at] != '\n' && text[at] != '\r';) {
      unsigned units;
      size_t n = character(text + at, len - at, &units);
      c += s->is_utf8 ? (json_int_t)n : units;
      if (c > wanted)
         break; /* inside of a character */
      at += n;
   }
   return at;
}

TlPosition
tl_position_of(TlServer *s, const char *text, size_t len, size_t offset)
{
   assert(text);
   offset = offset < len ? offset : len;
   if (s->near.text != text || offset < s->near.at / 2)
      s->near = (TlNear){.text = text};
   TlPosition p = {.line = s->near.line};
   size_t at = s->near.at, next;
   for (; at > offset; p.line--)
      at = line_before(text, at);
   while ((next = next_line(text, len, at)) <= offset && next > at &&
          (text[next - 1] == '\n' || text[next - 1] == '\r')) {
      at = next;
      p.line++;
   }
   s->near.at = at;
   s->near.line = p.line;
   while (at < offset) {
      unsigned units;
      size_t n = character(text + at, len - at, &units);
      p.character += s->is_utf8 ? (json_int_t)n : units;
      at += n;
   }
   return p;
}

json_t *
tl_json_position(TlServer *s, const char *text, size_t len, size_t offset)
{
   TlPosition p = tl_position_of(s, text, len, offset);
   return json_pack("{s:I, s:I}", "line", p.line, "character", p.character);
}

json_t *
tl_json_range(TlServer *s, const char *text, size_t len, size_t begin, size_t end)
{
   return json_pack("{s:o, s:o}", "start", tl_json_position(s, text, len, begin), "end",
                    tl_json_position(s, text, len, end));
}

json_t *
tl_json_location(TlServer *s, const TlDocument *d, TlRange r)
{
   const TlSource *src = tl_source(d->comp.sources, r.file);
   if (!src)
      return json_null();
   bool is_own = r.file == d->comp.file;
   char *uri = is_own ? strdup(d->uri) : tl_uri_of_path(src->name);
   json_t *out = json_pack("{s:s, s:o}", "uri", uri ? uri : "", "range",
                           tl_json_range(s, src->text, src->len, r.begin, r.end));
   free(uri);
   return out;
}
