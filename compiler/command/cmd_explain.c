/* tilec explain: the page of a code, or all codes with their messages.
 * A page is base/explain/CODE.md; a row of the tables without its page does not link. */
#include "base/diag.h"
#include "command/command.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
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

/* 0203, e0203 and E203 are ways to write E0203; what it may be a slip for, else. */
static const char *
nearest_code(TlArena *arena, const char *text)
{
   const char *digits = text + (isalpha((unsigned char)*text) != 0);
   bool is_number = isdigit((unsigned char)*digits) && !digits[strspn(digits, "0123456789")];
   TlNearest near = {
      .name = is_number ? tl_arena_printf(arena, "%c%04lu",
                                          digits > text ? toupper((unsigned char)*text) : 'E',
                                          strtoul(digits, NULL, 10))
                        : text};
   for (int i = 0; i < TL_DIAG_COUNT; i++) {
      const char *code = tl_diag_name((TlDiagCode)i);
      if (strcmp(code, near.name) == 0)
         return code;
      if (code[0] == toupper((unsigned char)*text) || digits == text)
         tl_nearest_try(&near, code);
   }
   return near.best;
}

int
tl_cmd_explain(TlCommand *c)
{
   if (c->cl.operands.len == 0)
      return list_all();
   if (c->cl.operands.len > 1)
      return tl_cmd_misuse("'explain' takes one code, as in: tilec explain %s; found also '%s'",
                           c->cl.operands.data[0], c->cl.operands.data[1]);
   const char *wanted = c->cl.operands.data[0];
   for (int i = 0; i < TL_DIAG_COUNT; i++) {
      if (strcmp(tl_diag_name((TlDiagCode)i), wanted) != 0)
         continue;
      print_pattern((TlDiagCode)i);
      print_page(page[i]);
      return EXIT_OK;
   }
   const char *near = nearest_code(c->arena, wanted);
   if (near)
      tl_cmd_error("there is no code '%s'; did you mean '%s'? 'tilec explain' lists all codes",
                   wanted, near);
   else
      tl_cmd_error("there is no code '%s'; 'tilec explain' lists all codes%s%s%s", wanted,
                   *wanted ? ", 'tilec doc " : "", wanted, *wanted ? "' is about a name" : "");
   return EXIT_USAGE;
}
