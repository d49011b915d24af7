/* The manual page in the macros of man(7), from the tables of commands and options. */
#include "command/options.h"

#include <string.h>

/* Text in which nothing is taken for a request or an escape. */
static void
plain(TlSb *out, const char *text, size_t len)
{
   for (size_t i = 0; i < len; i++) {
      if (text[i] == '\\' || text[i] == '-')
         tl_sb_char(out, '\\');
      if (i == 0 && (text[i] == '.' || text[i] == '\''))
         tl_sb_str(out, "\\&");
      tl_sb_char(out, text[i] == '\\' ? 'e' : text[i]);
   }
}

static void
plain_line(TlSb *out, const char *text)
{
   plain(out, text, strlen(text));
   tl_sb_char(out, '\n');
}

/* Which commands take it, in brackets; nothing when all do. */
static void
takers(TlSb *out, unsigned commands)
{
   if (commands == CMD_ALL)
      return;
   const char *before = "(";
   for (const TlCommandRow *c = tl_command_row(0); c->name; c++)
      if (c->bit & commands) {
         tl_sb_printf(out, "%s%s", before, c->name);
         before = ", ";
      }
   tl_sb_str(out, ")\n");
}

static void
option_item(TlSb *out, const TlOptionRow *r)
{
   tl_sb_str(out, ".TP\n.B ");
   if (r->letter)
      tl_sb_printf(out, "\\-%c, ", r->letter);
   tl_sb_str(out, "\\-\\-");
   plain(out, r->name, strlen(r->name));
   bool optional = *r->argument == '[';
   if (*r->argument) {
      tl_sb_str(out, optional ? "[=\\fI" : "=\\fI");
      plain(out, r->argument + optional, strlen(r->argument) - 2 * optional);
      tl_sb_str(out, optional ? "\\fB]" : "");
   }
   tl_sb_str(out, "\\fR\n");
   plain_line(out, r->help);
   takers(out, r->commands);
}

void
tl_options_manual(TlSb *out, const char *version)
{
   tl_sb_printf(out, ".TH TILEC 1 \"\" \"tilec %s\" \"User Commands\"\n", version);
   tl_sb_str(out, ".SH NAME\ntilec \\- compiler of a Triton\\-compatible tile language\n"
                  ".SH SYNOPSIS\n.B tilec\n.I COMMAND FILE\n.RI [ OPTIONS ]\n"
                  ".SH DESCRIPTION\nCompiles kernels from .tile files, or from .py files with "
                  "functions under @triton.jit, to PTX,\nand runs them on a GPU or on the CPU.\n"
                  ".SH COMMANDS\n");
   for (const TlCommandRow *c = tl_command_row(0); c->name; c++) {
      tl_sb_printf(out, ".TP\n.B %s \\fI%s\\fR\n", c->name, c->operand);
      plain_line(out, c->help);
   }
   tl_sb_str(out, ".SH OPTIONS\n");
   const char *group = NULL;
   for (unsigned i = 0; i < TL_OPT_COUNT; i++) {
      if (tl_option_group(i) != group)
         tl_sb_printf(out, ".SS %s\n", tl_option_group(i));
      group = tl_option_group(i);
      option_item(out, &tl_option_rows[i]);
   }
   tl_sb_str(out, ".SH EXIT STATUS\nOne kind of mistake has one code, whatever command meets it. "
                  "Of several files the worst counts.\n");
   for (const TlExitCode *e = tl_exit_codes; e->text; e++) {
      tl_sb_printf(out, ".TP\n.B %d\n", e->code);
      plain_line(out, e->text);
   }
   tl_sb_str(out, ".SH EXAMPLES\n.nf\n");
   for (unsigned i = 0; tl_example(i); i++) {
      TlSb lines;
      tl_sb_init(&lines, out->arena);
      tl_example_lines(&lines, i, 0, 8); /* man indents by 7 */
      plain(out, lines.data, lines.len);
   }
   tl_sb_str(out, ".fi\n.SH FILES\n.TP\n.I ~/.cache/tilec\ncompiled kernels and the tuner's "
                  "choices ($XDG_CACHE_HOME/tilec where that is set)\n");
}
