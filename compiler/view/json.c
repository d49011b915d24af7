/* JSON text, escaped for HTML. */
#include "view/json.h"

#include <string.h>

/* After a value comes a comma, after what opens or names one nothing. */
static void
separate(TlSb *out)
{
   char last = out->len ? out->data[out->len - 1] : '[';
   if (last != '{' && last != '[' && last != ':')
      tl_sb_char(out, ',');
}

/* Bytes of the UTF-8 character at s, of which n are left; 0: it is none. */
static unsigned
utf8_bytes(const unsigned char *s, size_t n)
{
   static const struct {
      unsigned char mask, lead;
      uint32_t least;
   } form[] = {{0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
   for (unsigned extra = 1; extra <= 3; extra++) {
      if ((s[0] & form[extra - 1].mask) != form[extra - 1].lead || n <= extra)
         continue;
      uint32_t c = s[0] & (unsigned char)~form[extra - 1].mask;
      for (unsigned i = 1; i <= extra; i++) {
         if ((s[i] & 0xc0) != 0x80)
            return 0;
         c = c << 6 | (s[i] & 0x3f);
      }
      bool is_surrogate = c >= 0xd800 && c < 0xe000;
      return c >= form[extra - 1].least && c < 0x110000 && !is_surrogate ? extra + 1 : 0;
   }
   return 0;
}

static void
put_string(TlSb *out, const char *text, size_t len)
{
   const unsigned char *s = (const unsigned char *)text;
   tl_sb_char(out, '"');
   for (size_t i = 0; i < len;) {
      unsigned char c = s[i];
      unsigned n = c < 0x80 ? 1 : utf8_bytes(s + i, len - i);
      if (c == '\n')
         tl_sb_str(out, "\\n");
      else if (c == '"' || c == '\\')
         tl_sb_printf(out, "\\%c", c);
      else if (c < 0x20 || c == 0x7f || c == '<' || c == '>' || c == '&')
         tl_sb_printf(out, "\\u%04x", c);
      else if (n == 0)
         tl_sb_str(out, "\\ufffd");
      else
         tl_sb_mem(out, text + i, n);
      i += n ? n : 1;
   }
   tl_sb_char(out, '"');
}

static void
begin(TlSb *out, const char *key)
{
   separate(out);
   if (!key)
      return;
   put_string(out, key, strlen(key));
   tl_sb_char(out, ':');
}

void
tl_view_json_open(TlSb *out, char bracket)
{
   tl_view_json_open_field(out, NULL, bracket);
}

void
tl_view_json_open_field(TlSb *out, const char *key, char bracket)
{
   begin(out, key);
   tl_sb_char(out, bracket);
}

void
tl_view_json_close(TlSb *out, char bracket)
{
   tl_sb_char(out, bracket);
}

void
tl_view_json_int(TlSb *out, const char *key, int64_t value)
{
   begin(out, key);
   tl_sb_printf(out, "%lld", (long long)value);
}

void
tl_view_json_bool(TlSb *out, const char *key, bool value)
{
   begin(out, key);
   tl_sb_str(out, value ? "true" : "false");
}

void
tl_view_json_mem(TlSb *out, const char *key, const char *text, size_t len)
{
   begin(out, key);
   put_string(out, text, len);
}

void
tl_view_json_text(TlSb *out, const char *key, const char *text)
{
   if (text) {
      tl_view_json_mem(out, key, text, strlen(text));
      return;
   }
   begin(out, key);
   tl_sb_str(out, "null");
}
