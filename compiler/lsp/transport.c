/* Messages: headers, an empty line, that many bytes of JSON.  Whatever comes instead is skipped up
 * to the next header that can be read. */
#include "lsp/impl.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_MESSAGE = 64 << 20, MAX_HEADER = 256 };

/* Reads a line without its end into `line`, cut at its size; false at the end of input. */
static bool
read_line(FILE *in, char *line)
{
   size_t n = 0;
   int c;
   while ((c = fgetc(in)) != EOF && c != '\n')
      if (n + 1 < MAX_HEADER)
         line[n++] = (char)c;
   while (n && line[n - 1] == '\r')
      n--;
   line[n] = 0;
   return c != EOF;
}

/* The length that the headers state; 0: they state none.  False at the end of input. */
static bool
read_headers(FILE *in, size_t *len)
{
   static const char name[] = "Content-Length:";
   char line[MAX_HEADER];
   *len = 0;
   bool has_any = false;
   while (read_line(in, line)) {
      if (!*line && has_any)
         return true;
      if (!*line)
         continue; /* blank lines between messages */
      has_any = true;
      if (strncasecmp(line, name, sizeof name - 1) != 0)
         continue;
      char *end;
      unsigned long long n = strtoull(line + sizeof name - 1, &end, 10);
      *len = *end == 0 && n <= MAX_MESSAGE ? (size_t)n : 0;
   }
   return false;
}

TlReceived
tl_lsp_receive(FILE *in, json_t **message)
{
   size_t len;
   *message = NULL;
   if (!read_headers(in, &len))
      return TL_RECEIVED_END;
   if (!len)
      return TL_RECEIVED_BAD;
   char *text = malloc(len);
   if (!text)
      return TL_RECEIVED_END;
   bool is_whole = fread(text, 1, len, in) == len;
   if (is_whole)
      *message = json_loadb(text, len, 0, NULL);
   free(text);
   return !is_whole ? TL_RECEIVED_END : *message ? TL_RECEIVED : TL_RECEIVED_BAD;
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

/* The stream is unbuffered (tl_lsp_serve), so what poll does not see is not there. */
bool
tl_lsp_is_waiting(FILE *in)
{
   struct pollfd fd = {.fd = fileno(in), .events = POLLIN};
   return poll(&fd, 1, 0) > 0 && (fd.revents & POLLIN);
}
