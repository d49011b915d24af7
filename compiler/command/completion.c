/* Completion for bash, zsh and fish, from the tables of commands and options: commands, options of
 * a command, words of an option or an operand "a|b|c", targets, warnings, codes, else files. */
#include "command/options.h"
#include "base/diag.h"
#include "base/warnings.h"
#include "ir/target.h"

#include <string.h>

/* The words that an option or an operand takes, with blanks between; "" when they are open. */
static const char *
choices(TlArena *arena, const char *argument)
{
   TlSb sb;
   tl_sb_init(&sb, arena);
   if (strcmp(argument, "ARCH") == 0)
      for (unsigned i = 0; tl_target_at(i); i++)
         tl_sb_printf(&sb, "%s%s", i ? " " : "", tl_target_at(i)->arch);
   else if (strcmp(argument, "GROUP") == 0)
      for (unsigned i = 0; tl_warning_name(i); i++)
         tl_sb_printf(&sb, "%s%s no-%s", i ? " " : "all ", tl_warning_name(i), tl_warning_name(i));
   else if (strcmp(argument, "[CODE]") == 0)
      for (int i = 0; i < TL_DIAG_COUNT; i++)
         tl_sb_printf(&sb, "%s%s", i ? " " : "", tl_diag_name((TlDiagCode)i));
   else if (strchr(argument, '|'))
      for (const char *p = argument; *p; p++)
         tl_sb_char(&sb, *p == '|' ? ' ' : *p);
   return tl_sb_cstr(&sb);
}

static bool
takes_value(const TlOptionRow *r)
{
   return *r->argument && *r->argument != '[';
}

/* `text` inside of '...' in a shell, with a backslash before each character of `special`. */
static void
quoted(TlSb *out, const char *text, const char *special)
{
   for (; *text; text++) {
      if (*text == '\'') {
         tl_sb_str(out, "'\\''");
         continue;
      }
      if (strchr(special, *text))
         tl_sb_char(out, '\\');
      tl_sb_char(out, *text);
   }
}

/* ---- bash ---- */
static const char bash_head[] =
   "# bash completion of tilec, made by `tilec completion bash`\n"
   "_tilec()\n"
   "{\n"
   "   local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=\n"
   "   COMPREPLY=()\n"
   "   if [[ $cur == '=' ]]; then # --name=: words end at =\n"
   "      cur=\n"
   "   elif [[ $prev == '=' ]]; then\n"
   "      prev=${COMP_WORDS[COMP_CWORD-2]}\n"
   "   fi\n"
   "   case $prev in\n";

static void
bash_values(TlSb *out)
{
   for (unsigned i = 0; i < TL_OPT_COUNT; i++) {
      const TlOptionRow *r = &tl_option_rows[i];
      if (!takes_value(r))
         continue;
      tl_sb_str(out, "   ");
      if (r->letter)
         tl_sb_printf(out, "-%c | ", r->letter);
      tl_sb_printf(out, "--%s) words='%s' ;;\n", r->name, choices(out->arena, r->argument));
   }
}

static void
bash(TlSb *out)
{
   tl_sb_str(out, bash_head);
   bash_values(out);
   tl_sb_str(out, "   *)\n      if ((COMP_CWORD == 1)); then\n         words='");
   for (const TlCommandRow *c = tl_command_row(0); c->name; c++)
      tl_sb_printf(out, "%s ", c->name);
   tl_sb_str(out, "help --help --version'\n      else\n         case ${COMP_WORDS[1]} in\n");
   for (const TlCommandRow *c = tl_command_row(0); c->name; c++) {
      tl_sb_printf(out, "         %s) words='%s", c->name, choices(out->arena, c->operand));
      for (unsigned i = 0; i < TL_OPT_COUNT; i++)
         if (tl_option_rows[i].commands & c->bit)
            tl_sb_printf(out, " --%s%s", tl_option_rows[i].name,
                         takes_value(&tl_option_rows[i]) ? "=" : "");
      tl_sb_str(out, "' ;;\n");
   }
   tl_sb_str(out, "         esac\n      fi\n"
                  "      [[ $cur || $words != ' --'* ]] || words= # files come to mind first\n"
                  "      ;;\n   esac\n"
                  "   mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
                  "   [[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace\n}\n"
                  "complete -o default -F _tilec tilec\n");
}

/* ---- zsh ---- */
static void
zsh_option(TlSb *out, const TlOptionRow *r)
{
   tl_sb_str(out, "         ");
   if (r->letter)
      tl_sb_printf(out, "'*'{-%c%s,--%s%s}'", r->letter, takes_value(r) ? "+" : "", r->name,
                   takes_value(r) ? "=" : "");
   else
      tl_sb_printf(out, "'*--%s%s", r->name, takes_value(r) ? "=" : *r->argument ? "=-" : "");
   tl_sb_char(out, '[');
   quoted(out, r->help, "[]\\");
   tl_sb_char(out, ']');
   if (*r->argument) {
      const char *words = choices(out->arena, r->argument);
      tl_sb_str(out, takes_value(r) ? ":" : "::");
      quoted(out, *words ? r->name : r->argument, "[]:\\");
      tl_sb_printf(out, *words ? ":(%s)" : ":_files", words);
   }
   tl_sb_str(out, "' \\\n");
}

static void
zsh(TlSb *out)
{
   tl_sb_str(out, "#compdef tilec\n# made by `tilec completion zsh`\n_tilec()\n{\n"
                  "   if ((CURRENT == 2)); then\n      local -a commands\n      commands=(\n");
   for (const TlCommandRow *c = tl_command_row(0); c->name; c++) {
      tl_sb_printf(out, "         '%s:", c->name);
      quoted(out, c->help, ":\\");
      tl_sb_str(out, "'\n");
   }
   tl_sb_str(out, "      )\n      _describe command commands\n      _files\n      return\n   fi\n"
                  "   local command=$words[2]\n   shift words\n   ((CURRENT--))\n"
                  "   case $command in\n");
   for (const TlCommandRow *c = tl_command_row(0); c->name; c++) {
      const char *words = choices(out->arena, c->operand);
      tl_sb_printf(out, "   %s)\n      _arguments -s \\\n", c->name);
      for (unsigned i = 0; i < TL_OPT_COUNT; i++)
         if (tl_option_rows[i].commands & c->bit)
            zsh_option(out, &tl_option_rows[i]);
      if (*words)
         tl_sb_printf(out, "         '1:what:(%s)'\n      ;;\n", words);
      else
         tl_sb_str(out, "         '*:file:_files'\n      ;;\n");
   }
   tl_sb_str(out, "   esac\n}\n_tilec \"$@\"\n");
}

/* ---- fish ---- */
static void
fish_takers(TlSb *out, unsigned commands)
{
   if (commands == CMD_ALL)
      return;
   tl_sb_str(out, " -n '__fish_seen_subcommand_from");
   for (const TlCommandRow *c = tl_command_row(0); c->name; c++)
      if (c->bit & commands)
         tl_sb_printf(out, " %s", c->name);
   tl_sb_char(out, '\'');
}

static void
fish(TlSb *out)
{
   tl_sb_str(out, "# made by `tilec completion fish`\n");
   for (const TlCommandRow *c = tl_command_row(0); c->name; c++) {
      tl_sb_printf(out, "complete -c tilec -n __fish_use_subcommand -a %s -d '", c->name);
      quoted(out, c->help, "");
      tl_sb_str(out, "'\n");
      if (*choices(out->arena, c->operand))
         tl_sb_printf(out, "complete -c tilec -n '__fish_seen_subcommand_from %s' -f -a '%s'\n",
                      c->name, choices(out->arena, c->operand));
   }
   for (unsigned i = 0; i < TL_OPT_COUNT; i++) {
      const TlOptionRow *r = &tl_option_rows[i];
      const char *words = choices(out->arena, r->argument);
      tl_sb_str(out, "complete -c tilec");
      fish_takers(out, r->commands);
      tl_sb_printf(out, " -l %s", r->name);
      if (r->letter)
         tl_sb_printf(out, " -s %c", r->letter);
      if (*words)
         tl_sb_printf(out, " -x -a '%s'", words);
      else if (takes_value(r))
         tl_sb_str(out, " -r");
      tl_sb_str(out, " -d '");
      quoted(out, r->help, "");
      tl_sb_str(out, "'\n");
   }
}

bool
tl_options_completion(TlSb *out, const char *shell)
{
   if (strcmp(shell, "bash") == 0)
      bash(out);
   else if (strcmp(shell, "zsh") == 0)
      zsh(out);
   else if (strcmp(shell, "fish") == 0)
      fish(out);
   else
      return false;
   return true;
}
