/* JSON as text. */
#include "base/json.h"

#include "base/utf8.h"

#include <math.h>
#include <string.h>

/* After a value comes a comma, after what opens or names one nothing. */
static void
separate(TlSb *out)
{
   char last = out->len ? out->data[out->len - 1] : '[';
   if (last != '{' && last != '[' && last != ':')
      tl_sb_char(out, ',');
}

static void
put_string(TlSb *out, const char *text, size_t len)
{
   tl_sb_char(out, '"');
   for (size_t i = 0; i < len;) {
      uint32_t c;
      unsigned n = tl_utf8_read(text + i, len - i, &c);
      if (c == '\n')
         tl_sb_str(out, "\\n");
      else if (c == '"' || c == '\\')
         tl_sb_printf(out, "\\%c", (int)c);
      else if (c < 0x20 || c == 0x7f)
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
tl_json_open(TlSb *out, char bracket)
{
   tl_json_open_field(out, NULL, bracket);
}

void
tl_json_open_field(TlSb *out, const char *key, char bracket)
{
   begin(out, key);
   tl_sb_char(out, bracket);
}

void
tl_json_close(TlSb *out, char bracket)
{
   tl_sb_char(out, bracket);
}

void
tl_json_int(TlSb *out, const char *key, int64_t value)
{
   begin(out, key);
   tl_sb_printf(out, "%lld", (long long)value);
}

void
tl_json_bool(TlSb *out, const char *key, bool value)
{
   begin(out, key);
   tl_sb_str(out, value ? "true" : "false");
}

void
tl_json_double(TlSb *out, const char *key, double value, int digits)
{
   begin(out, key);
   if (isfinite(value))
      tl_sb_printf(out, "%.*g", digits, value);
   else
      tl_sb_str(out, "null");
}

void
tl_json_mem(TlSb *out, const char *key, const char *text, size_t len)
{
   begin(out, key);
   put_string(out, text, len);
}

void
tl_json_str(TlSb *out, const char *key, const char *text)
{
   if (text) {
      tl_json_mem(out, key, text, strlen(text));
      return;
   }
   begin(out, key);
   tl_sb_str(out, "null");
}
