/* Messages: headers, an empty line, that many bytes of JSON.  Whatever comes instead is skipped up
 * to the next "Content-Length:", wherever on a line it is: after a length that cannot be read
 * nobody knows where the body ends. */
#include "lsp/impl.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_MESSAGE = 64 << 20, MAX_VALUE = 64 };

static const char name[] = "content-length:";

/* ---- bytes ---- */
/* False at the end of input. */
static bool
fill(TlInput *in)
{
   ssize_t n;
   do
      n = read(in->fd, in->bytes, sizeof in->bytes);
   while (n < 0 && errno == EINTR);
   in->at = 0;
   in->len = n > 0 ? (size_t)n : 0;
   return n > 0;
}

static int
next_byte(TlInput *in)
{
   return in->at < in->len || fill(in) ? (unsigned char)in->bytes[in->at++] : EOF;
}

static bool
read_bytes(TlInput *in, char *out, size_t len)
{
   while (len) {
      if (in->at == in->len && !fill(in))
         return false;
      size_t n = in->len - in->at < len ? in->len - in->at : len;
      memcpy(out, in->bytes + in->at, n);
      in->at += n;
      out += n;
      len -= n;
   }
   return true;
}

bool
tl_lsp_is_waiting(const TlInput *in)
{
   struct pollfd fd = {.fd = in->fd, .events = POLLIN};
   return in->at < in->len || (poll(&fd, 1, 0) > 0 && (fd.revents & POLLIN));
}

/* ---- headers ---- */
typedef enum Line { LINE_END_OF_INPUT, LINE_EMPTY, LINE_OTHER, LINE_LENGTH } Line;

/* Reads a line; what follows the name of the header on it goes to `value`, cut at its size. */
static Line
read_line(TlInput *in, char value[MAX_VALUE])
{
   enum { NAME_LEN = sizeof name - 1 };
   size_t matched = 0, len = 0, all = 0;
   Line line = LINE_EMPTY;
   int c;
   while ((c = next_byte(in)) != EOF && c != '\n') {
      all += c != '\r';
      if (len + 1 < MAX_VALUE)
         value[len++] = (char)c;
      /* no part of the name but its first letter begins it again */
      matched = tolower(c) == name[matched] ? matched + 1 : tolower(c) == name[0];
      if (matched == NAME_LEN) {
         line = LINE_LENGTH;
         matched = len = 0;
      }
   }
   while (len && value[len - 1] == '\r')
      len--;
   value[len] = 0;
   if (c == EOF)
      return LINE_END_OF_INPUT;
   return line == LINE_EMPTY && all ? LINE_OTHER : line;
}

/* Decimal digits alone; 0: it is none, or of a message that is not taken. */
static size_t
length_of(const char *value)
{
   size_t n = 0;
   value += strspn(value, " \t");
   for (; isdigit((unsigned char)*value) && n <= MAX_MESSAGE; value++)
      n = n * 10 + (size_t)(*value - '0');
   value += strspn(value, " \t");
   return *value || n > MAX_MESSAGE ? 0 : n;
}

/* The length that the headers state, or 0.  False at the end of input. */
static bool
read_headers(TlInput *in, size_t *len)
{
   char value[MAX_VALUE];
   bool has_any = false;
   Line line;
   *len = 0;
   while ((line = read_line(in, value)) != LINE_END_OF_INPUT) {
      if (line == LINE_EMPTY && has_any) /* others stand between messages */
         return true;
      has_any |= line != LINE_EMPTY;
      if (line == LINE_LENGTH)
         *len = length_of(value);
   }
   return false;
}

/* ---- messages ---- */
TlReceived
tl_lsp_receive(TlInput *in, json_t **message)
{
   size_t len;
   *message = NULL;
   if (!read_headers(in, &len))
      return TL_RECEIVED_END;
   char *text = len ? malloc(len) : NULL;
   if (!text)
      return TL_RECEIVED_NO_LENGTH;
   bool is_whole = read_bytes(in, text, len);
   if (is_whole)
      *message = json_loadb(text, len, 0, NULL);
   free(text);
   return !is_whole ? TL_RECEIVED_END : *message ? TL_RECEIVED : TL_RECEIVED_NO_JSON;
}

json_t *
tl_json_text(const char *text, size_t len)
{
   json_t *out = json_stringn(text, len);
   char *plain = out ? NULL : malloc(len + 1);
   for (size_t i = 0; plain && i < len; i++)
      plain[i] = (unsigned char)text[i] < 0x80 ? text[i] : '?';
   if (plain)
      out = json_stringn(plain, len);
   free(plain);
   return out;
}

bool
tl_lsp_send(FILE *out, json_t *message)
{
   char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;
   json_decref(message);
   if (!text)
      return false;
   size_t len = strlen(text);
   fprintf(out, "Content-Length: %zu\r\n\r\n", len);
   bool ok = fwrite(text, 1, len, out) == len && fflush(out) == 0;
   free(text);
   return ok;
}
