/* tilec explain: the page of a code, or all codes with their messages.
 * A page is base/explain/CODE.md; a row of the tables without its page does not link. */
#include "base/diag.h"
#include "command/command.h"

#include <stdio.h>
#include <string.h>

#define TL_DIAG(code, severity, format) extern const char tl_explain_##code[];
#include "base/diag.def"

static const char *const page[TL_DIAG_COUNT] = {
#define TL_DIAG(code, severity, format) [TL_DIAG_##code] = tl_explain_##code,
#include "base/diag.def"
};

/* The code and its message, with "..." where a value goes. */
static void
print_pattern(TlDiagCode code)
{
   printf("%s: ", tl_diag_name(code));
   for (const char *p = tl_diag_format(code); *p;) {
      size_t n = strcspn(p, "%");
      printf("%.*s", (int)n, p);
      p += n;
      if (*p && p[1] == '%') {
         putchar('%');
         p += 2;
      } else if (*p) {
         fputs("...", stdout);
         p += 1 + strspn(p + 1, "-+ #0123456789.*hlzjt");
         p += *p != '\0'; /* the conversion's letter */
      }
   }
   putchar('\n');
}

/* Markdown as text: without the title, code indented instead of fenced. */
static void
print_page(const char *p)
{
   bool in_code = false;
   p += strcspn(p, "\n") + 1;
   while (*p) {
      size_t n = strcspn(p, "\n");
      if (tl_starts_with(p, "```"))
         in_code = !in_code;
      else
         printf("%s%.*s\n", in_code && n ? "    " : "", (int)n, p);
      p += n + (p[n] == '\n');
   }
}

static int
list_all(void)
{
   for (int i = 0; i < TL_DIAG_COUNT; i++)
      print_pattern((TlDiagCode)i);
   return EXIT_OK;
}

static const char *
nearest_code(const char *text)
{
   unsigned best = 3;
   const char *found = NULL;
   for (int i = 0; i < TL_DIAG_COUNT; i++) {
      unsigned d = tl_edit_distance(text, tl_diag_name((TlDiagCode)i), best);
      if (d < best) {
         best = d;
         found = tl_diag_name((TlDiagCode)i);
      }
   }
   return found;
}

int
tl_cmd_explain(TlCommand *c)
{
   if (c->cl.operands.len == 0)
      return list_all();
   if (c->cl.operands.len > 1)
      return tl_cmd_misuse("'explain' takes one code, as in: tilec explain E0312");
   const char *wanted = c->cl.operands.data[0];
   for (int i = 0; i < TL_DIAG_COUNT; i++) {
      if (strcmp(tl_diag_name((TlDiagCode)i), wanted) != 0)
         continue;
      print_pattern((TlDiagCode)i);
      print_page(page[i]);
      return EXIT_OK;
   }
   const char *near = nearest_code(wanted);
   if (near)
      tl_cmd_error("there is no code '%s'; did you mean '%s'? 'tilec explain' lists all codes",
                   wanted, near);
   else
      tl_cmd_error(
         "there is no code '%s'; 'tilec explain' lists all codes, 'tilec doc %s' is about "
         "a name",
         wanted, wanted);
   return EXIT_USAGE;
}
