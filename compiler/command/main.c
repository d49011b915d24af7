/* The `tilec` command as a function: picks the subcommand.  The only place that decides about
 * terminals. */
#include "command/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool
use_color(const TlCommandLine *cl)
{
   const char *when = tl_option(cl, TL_OPT_COLOR);
   if (when && strcmp(when, "always") == 0)
      return true;
   if (when && strcmp(when, "never") == 0)
      return false;
   return isatty(STDERR_FILENO) && !getenv("NO_COLOR");
}

static int
print_help(TlCommand *c, unsigned command)
{
   TlSb sb;
   tl_sb_init(&sb, c->arena);
   tl_options_help(&sb, command, c->cl.command_name);
   return tl_cmd_write(c, NULL, sb.data, sb.len) ? EXIT_OK : EXIT_ENVIRONMENT;
}

/* Of these options the last counts: what stands before it and says another thing has no effect. */
static void
warn_of_repeated(const TlCommand *c)
{
   static const TlOptionId single[] = {TL_OPT_EMIT,      TL_OPT_OUT,        TL_OPT_ARCH,
                                       TL_OPT_GRID,      TL_OPT_ON,         TL_OPT_OPT,
                                       TL_OPT_NUM_WARPS, TL_OPT_NUM_STAGES, TL_OPT_TIMEOUT};
   for (size_t i = 0; i < sizeof single / sizeof single[0]; i++) {
      const char *last = tl_option(&c->cl, single[i]);
      for (size_t k = 0; last && k < c->cl.uses.len; k++) {
         const TlOptionUse *use = &c->cl.uses.data[k];
         if (use->id != single[i] || strcmp(use->value, last) == 0)
            continue;
         tl_cmd_error("warning: --%s is given twice: '%s', the last, counts, '%s' has no effect",
                      tl_option_rows[single[i]].name, last, use->value);
         break;
      }
   }
}

static int
dispatch(TlCommand *c, int argc)
{
   if (c->cl.error)
      return tl_cmd_misuse("%s", c->cl.error);
   warn_of_repeated(c);
   if (c->cl.nearest && access(c->cl.operands.data[0], F_OK) != 0)
      return tl_cmd_misuse("unknown command '%s'; did you mean '%s'?", c->cl.operands.data[0],
                           c->cl.nearest);
   bool is_word = !c->cl.is_named && c->cl.operands.len && !strpbrk(c->cl.operands.data[0], "./-");
   if (is_word && access(c->cl.operands.data[0], F_OK) != 0)
      return strcmp(c->cl.operands.data[0], "version") == 0
                ? tl_cmd_misuse("unknown command 'version'; write tilec --version")
                : tl_cmd_misuse(
                     "unknown command '%s'; 'tilec help' lists the commands, a file is named "
                     "with its ending, as in %s.tile",
                     c->cl.operands.data[0],
                     *c->cl.operands.data[0] ? c->cl.operands.data[0] : "elu");
   const char *color = tl_option(&c->cl, TL_OPT_COLOR);
   if (color && strcmp(color, "auto") && strcmp(color, "always") && strcmp(color, "never"))
      return tl_cmd_misuse("--color takes auto, always or never; found '%s'", color);
   if (tl_option(&c->cl, TL_OPT_VERSION)) {
      printf("tilec %s (LLVM %s)\n", tilec_version(), tl_codegen_llvm_version());
      return EXIT_OK;
   }
   if (tl_option(&c->cl, TL_OPT_HELP) || argc < 2)
      return print_help(c, c->cl.is_named ? c->cl.command : CMD_ALL) != EXIT_OK ? EXIT_ENVIRONMENT
             : argc < 2                                                         ? EXIT_USAGE
                                                                                : EXIT_OK;
   switch (c->cl.command) {
   case CMD_CHECK:
      return tl_cmd_check(c);
   case CMD_LSP:
      return tl_cmd_lsp(c);
   case CMD_VIEW:
      return tl_cmd_view(c);
   case CMD_RUN:
      return tl_cmd_run(c);
   case CMD_BENCH:
      return tl_cmd_bench(c);
   case CMD_TUNE:
      return tl_cmd_tune(c);
   case CMD_LIST:
      return tl_cmd_list(c);
   case CMD_DOCTOR:
      return tl_cmd_doctor(c);
   case CMD_CACHE:
      return tl_cmd_cache(c);
   case CMD_EXPLAIN:
      return tl_cmd_explain(c);
   case CMD_DOC:
      return tl_cmd_doc(c);
   case CMD_COMPLETION:
      return tl_cmd_completion(c);
   case CMD_MANUAL:
      return tl_cmd_manual(c);
   default:
      return tl_cmd_build(c);
   }
}

int
tilec_command(int argc, char **argv)
{
   TlCommand *c = calloc(1, sizeof *c);
   if (!c)
      return EXIT_LIMIT;
   tl_mem_init(&c->mem);
   jmp_buf oom;
   c->mem.oom = &oom;
   int code = EXIT_LIMIT;
   if (setjmp(oom)) {
      tl_cmd_error("out of memory");
      tl_arena_free(c->arena);
      free(c);
      return EXIT_LIMIT;
   }
   c->arena = tl_arena_new(&c->mem);
   tl_command_line_parse(c->arena, argc, argv, &c->cl);
   c->color = use_color(&c->cl);
   code = dispatch(c, argc);
   if ((fflush(stdout) != 0 || ferror(stdout)) && code == EXIT_OK) {
      tl_cmd_error("cannot write 'standard output': %s", strerror(errno));
      code = EXIT_ENVIRONMENT;
   }
   tl_arena_free(c->arena);
   free(c);
   return code;
}
