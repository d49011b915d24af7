/* `tilec --help`, and each command's, from the option table. */
#include "command/options.h"

#include <stdio.h>
#include <string.h>

enum { WIDTH = 80, COMMAND_COLUMN = 14, OPTION_COLUMN = 28 };

static const char *const examples[] = {
   "tilec build elu.tile -s '*fp32:16, *fp32:16, i32' -o elu.ptx",
   "tilec build elu.tile --arch=sm_80,sm_90a --emit=c -o elu.c",
   "tilec run elu.tile --arg x=randn:fp32[1000] --arg y=empty:fp32[1000] --arg n=1000 "
   "--print y --save y=y.npy",
   "tilec bench elu.tile --arg x=randn:fp32[1000000] --arg y=empty:fp32[1000000] --arg n=1000000 "
   "--vary BLOCK=512,1024",
   "tilec tune K.tile --arg x=randn:fp32[1000000] --arg y=empty:fp32[1000000] --arg n=1000000 "
   "--arg factor=2.0",
   "tilec view elu.tile -s '*fp32:16, *fp32:16, i32' -o elu.html",
   "tilec doctor --json",
   "tilec check *.tile -Wall",
   "tilec list elu.tile",
   "tilec explain E0271",
   "tilec doc arange",
   "tilec cache stats",
   "tilec completion bash > ~/.local/share/bash-completion/completions/tilec",
   "tilec manual | man -l -",
   NULL,
};

const TlExitCode tl_exit_codes[] = {
   {0, "ok", "all is well, warnings aside"},
   {1, "the program is wrong",
    "the program is wrong, when it is compiled or run; or it is not what the command line takes it "
    "for: it has no such kernel or parameter, a value does not fit, a result is not as in "
    "--expect"},
   {2, "the command line is wrong",
    "the command line is wrong whatever the program is: an option, a value or a number of files"},
   {3, "a file, tool or GPU cannot be had",
    "a file cannot be read or written, or a tool or GPU that was asked for cannot be had"},
   {4, "limit or time-out", "a limit of memory or of --timeout, of the compiler, ptxas or the run"},
   {70, "bug in tilec", "a bug in tilec"},
   {0, NULL, NULL},
};

const char *
tl_example(unsigned i)
{
   return examples[i];
}

static void
spaces(TlSb *out, unsigned n)
{
   tl_sb_printf(out, "%*s", (int)n, "");
}

static void
wrap(TlSb *out, unsigned at, unsigned indent, unsigned width, const char *text, const char *more)
{
   width -= (unsigned)strlen(more);
   for (bool is_first = true; *text; is_first = false) { /* of its line */
      size_t word = strcspn(text, " ");
      bool takes_next = *more && text[0] == '-' && text[word] && text[word + 1] != '-';
      if (takes_next) /* an option stays with its value */
         word += 1 + strcspn(text + word + 1, " ");
      if (!is_first && at + 1 + word > width) {
         tl_sb_printf(out, "%s\n", more);
         spaces(out, indent);
         at = indent;
      } else if (!is_first) {
         tl_sb_char(out, ' ');
         at++;
      }
      tl_sb_mem(out, text, word);
      at += (unsigned)word;
      text += word + (text[word] == ' ');
   }
   tl_sb_char(out, '\n');
}

void
tl_wrap_text(TlSb *out, unsigned at, unsigned indent, const char *text, const char *more)
{
   wrap(out, at, indent, WIDTH, text, more);
}

/* "  flag", and its text in column `column`, or below where the flag is too long. */
static void
entry(TlSb *out, unsigned column, const char *flag, const char *text)
{
   tl_sb_printf(out, "  %s", flag);
   unsigned at = 2 + (unsigned)strlen(flag);
   if (at + 2 > column) {
      tl_sb_char(out, '\n');
      at = 0;
   }
   spaces(out, column - at);
   tl_wrap_text(out, column, column, text, "");
}

static void
option_entry(TlSb *out, const TlOptionRow *r)
{
   TlSb flag;
   tl_sb_init(&flag, out->arena);
   if (r->letter)
      tl_sb_printf(&flag, "-%c, --%s", r->letter, r->name);
   else
      tl_sb_printf(&flag, "    --%s", r->name);
   if (*r->argument == '[')
      tl_sb_printf(&flag, "[=%.*s]", (int)strlen(r->argument) - 2, r->argument + 1);
   else if (*r->argument)
      tl_sb_printf(&flag, "=%s", r->argument);
   entry(out, OPTION_COLUMN, tl_sb_cstr(&flag), r->help);
}

/* Those that `command` takes, under their headings; `general`: that every command takes. */
static void
option_entries(TlSb *out, unsigned command, bool general)
{
   const char *group = NULL;
   for (unsigned i = 0; i < TL_OPT_COUNT; i++) {
      const TlOptionRow *r = &tl_option_rows[i];
      if (!(r->commands & command) || (general && r->commands != CMD_ALL))
         continue;
      if (tl_option_group(i) != group)
         tl_sb_printf(out, "\n%s:\n", tl_option_group(i));
      group = tl_option_group(i);
      option_entry(out, r);
   }
}

void
tl_example_lines(TlSb *out, unsigned i, unsigned indent, unsigned margin)
{
   wrap(out, indent, indent + 4, WIDTH - margin, examples[i], " \\");
}

static void
command_examples(TlSb *out, const char *name)
{
   const char *before = "\nexamples:\n  ";
   for (unsigned i = 0; examples[i]; i++) {
      const char *command = examples[i] + strlen("tilec ");
      if (!tl_is_word(name, command, strcspn(command, " ")))
         continue;
      tl_sb_str(out, before);
      tl_example_lines(out, i, 2, 0);
      before = "  ";
   }
}

void
tl_options_help(TlSb *out, unsigned command, const char *command_name)
{
   bool all = command == CMD_ALL;
   tl_sb_str(out, "tilec: kernels of a Triton-compatible tile language to PTX, without Python\n\n");
   if (all) {
      tl_sb_str(out, "usage: tilec COMMAND FILE [OPTIONS]\n\n");
      for (const TlCommandRow *c = tl_command_row(0); c->name; c++)
         entry(out, COMMAND_COLUMN, c->name, c->help);
      tl_sb_str(out, "\n`tilec help COMMAND` has a command's options and examples, "
                     "`tilec manual` all.\n");
   } else {
      const char *operand = "";
      for (const TlCommandRow *c = tl_command_row(0); c->name; c++)
         operand = c->bit == command ? c->operand : operand;
      tl_sb_printf(out, "usage: tilec %s %s%s[OPTIONS]\n", command_name, operand,
                   *operand ? " " : "");
   }
   option_entries(out, command, all);
   if (!all)
      command_examples(out, command_name);
   TlSb codes;
   tl_sb_init(&codes, out->arena);
   for (const TlExitCode *e = tl_exit_codes; e->brief; e++)
      tl_sb_printf(&codes, "%s%d %s", codes.len ? ", " : "", e->code, e->brief);
   tl_sb_str(out, "\nexit codes: ");
   tl_wrap_text(out, 12, 12, tl_sb_cstr(&codes), "");
}
