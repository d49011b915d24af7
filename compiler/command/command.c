/* Shared work of the subcommands: messages, exit codes, what is kept besides. */
#include "command/command.h"
#include "command/nearby.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void
tl_cmd_error(const char *format, ...)
{
   va_list ap;
   va_start(ap, format);
   fputs("tilec: ", stderr);
   vfprintf(stderr, format, ap);
   fputc('\n', stderr);
   va_end(ap);
}

int
tl_cmd_exit_code(TilecStatus status)
{
   switch (status) {
   case TILEC_OK:
      return EXIT_OK;
   case TILEC_BAD_SOURCE:
   case TILEC_BAD_ARGUMENT:
   case TILEC_NOT_FOUND:
   case TILEC_FAULT:
   case TILEC_UNSUPPORTED:
   case TILEC_BAD_IMAGE:
      return EXIT_PROGRAM;
   case TILEC_BAD_TARGET:
      return EXIT_USAGE;
   case TILEC_NO_MEMORY:
   case TILEC_LIMIT:
   case TILEC_CANCELLED:
   case TILEC_TIMED_OUT:
      return EXIT_LIMIT;
   case TILEC_INTERNAL:
      return EXIT_BUG;
   default:
      return EXIT_ENVIRONMENT;
   }
}

int
tl_cmd_no_memory(void)
{
   tl_cmd_error("%s", tilec_status_string(TILEC_NO_MEMORY));
   return tl_cmd_exit_code(TILEC_NO_MEMORY);
}

/* An option of the command without its dashes: num-warps=8, grid=1. */
/* What follows dashes of printed text, U+2010 to U+2015 and U+2212; NULL: it begins with none. */
static const char *
behind_long_dash(const char *text)
{
   const char *rest = text;
   while ((strncmp(rest, "\xe2\x80", 2) == 0 && (unsigned char)rest[2] >= 0x90 &&
           (unsigned char)rest[2] <= 0x95) ||
          strncmp(rest, "\xe2\x88\x92", 3) == 0)
      rest += 3;
   return rest == text ? NULL : rest + strspn(rest, "-");
}

static bool
is_bare_option(const TlCommand *c, const char *word)
{
   size_t len = strcspn(word, "=");
   for (int i = 0; i < TL_OPT_COUNT; i++)
      if ((tl_option_rows[i].commands & c->cl.command) && len > 1 &&
          tl_is_word(tl_option_rows[i].name, word, len))
         return true;
   return false;
}

/* -D NAME VALUE, NAME = VALUE, NAME =VALUE, NAME= VALUE: what follows was taken for a file. */
static int
refuse_parted_definition(const TlCommand *c, const char *text)
{
   const char *found = c->cl.operands.data[1], *value = found;
   size_t len = strcspn(text, "=");
   if (!text[len] && *value == '=')
      value++;
   if (!*value)
      value = c->cl.operands.len > 2 ? c->cl.operands.data[2] : "VALUE";
   return tl_cmd_misuse("-D takes NAME=VALUE, one word; found '%s' and '%s': write -D %.*s=%s",
                        text, found, (int)len, text, value);
}

int
tl_cmd_one_file(const TlCommand *c)
{
   const char *name = c->cl.command_name;
   bool takes_arg = tl_option_rows[TL_OPT_ARG].commands & c->cl.command;
   size_t at = 0;
   for (const char *text; (text = tl_option_next(&c->cl, TL_OPT_DEFINE, &at));)
      if (c->cl.operands.len > 1 && (!strchr(text, '=') || text[strlen(text) - 1] == '='))
         return refuse_parted_definition(c, text);
   at = 0;
   for (const char *text; takes_arg && (text = tl_option_next(&c->cl, TL_OPT_ARG, &at));)
      if (!strchr(text, '='))
         return tl_cmd_misuse("--arg takes NAME=VALUE; found '%s' (one word, no blanks around '=')",
                              text);
   const char *second = c->cl.operands.len > 1 ? c->cl.operands.data[1] : "";
   if (second[0] == '-' && second[1])
      return tl_cmd_misuse(
         "'%s' stands behind '--', where the options have ended: write it before, or "
         "leave '--' out",
         second);
   for (size_t i = 1; i < c->cl.operands.len; i++)
      if (is_bare_option(c, c->cl.operands.data[i]))
         return tl_cmd_misuse("'%s' is no file; write --%s", c->cl.operands.data[i],
                              c->cl.operands.data[i]);
   for (size_t i = 1; i < c->cl.operands.len; i++) {
      const char *rest = behind_long_dash(c->cl.operands.data[i]);
      if (rest)
         return tl_cmd_misuse("'%s' begins with a dash of printed text: write --%s",
                              c->cl.operands.data[i], rest);
   }
   for (size_t i = 1; i < c->cl.operands.len; i++)
      if (strchr(c->cl.operands.data[i], '='))
         return tl_cmd_misuse("'%s' is no file; an argument is given by %s %s",
                              c->cl.operands.data[i], takes_arg ? "--arg" : "-D",
                              c->cl.operands.data[i]);
   const char *signature = tl_option(&c->cl, TL_OPT_SIGNATURE);
   if (c->cl.operands.len > 1 && signature && !strchr(c->cl.operands.data[1], '.'))
      return tl_cmd_misuse("'%s' is no file; a signature is one word, in quotes: -s \"%s, %s\"",
                           c->cl.operands.data[1], signature, c->cl.operands.data[1]);
   if (*second && !second[strspn(second, "0123456789,")])
      return tl_cmd_misuse(
         "'%s' is no file; the values of one option are one word, with commas, as in "
         "--grid=2,%s",
         second, second);
   if (c->cl.operands.len > 1)
      return tl_cmd_misuse("'%s' takes one file: tilec %s FILE; %zu were given, the second is '%s' "
                           "(a kernel is chosen by -k)",
                           name, name, c->cl.operands.len, c->cl.operands.data[1]);
   return c->cl.operands.len
             ? EXIT_OK
             : tl_cmd_misuse("'%s' takes one file: tilec %s FILE; 0 were given", name, name);
}

int
tl_cmd_ascending(const void *a, const void *b)
{
   double x = *(const double *)a, y = *(const double *)b;
   return (x > y) - (x < y);
}

bool
tl_cmd_parse_number(const char *text, uint32_t max, uint32_t *out)
{
   char *end;
   *out = 0;
   if (!text)
      return false;
   errno = 0;
   unsigned long n = strtoul(text, &end, 10);
   if (!*text || *text == '-' || *end || errno || n > max)
      return false;
   *out = (uint32_t)n;
   return true;
}

bool
tl_cmd_number(TlCommand *c, TlOptionId id, uint32_t max, uint32_t *out)
{
   assert(id < TL_OPT_COUNT && max > 0);
   const char *v = tl_option(&c->cl, id);
   bool is_time = strcmp(tl_option_rows[id].argument, "MS") == 0;
   if (!tl_cmd_parse_number(v, max, out) && v)
      return tl_cmd_refuse("--%s takes a number%s from 0 to %u; found '%s'",
                           tl_option_rows[id].name, is_time ? " of milliseconds" : "", max, v);
   return true;
}

/* The operand that the error says could not be read, because there is no such file; else NULL. */
static const char *
missing_operand(const TlCommand *c, const char *error)
{
   for (size_t i = 0; i < c->cl.operands.len && *error; i++) {
      const char *file = c->cl.operands.data[i];
      if (access(file, F_OK) != 0 && errno == ENOENT && strstr(error, file))
         return file;
   }
   return NULL;
}

/* An --assume whose left side stands nowhere in what was read is most likely spelt wrong. */
static void
warn_of_assumptions(TlCommand *c, TlCompilation *comp)
{
   size_t at = 0;
   for (const char *text; !c->has_warned && (text = tl_option_next(&c->cl, TL_OPT_ASSUME, &at));) {
      const char *value = strrchr(text, '=');
      const char *what = tl_arena_strndup(c->arena, text, (size_t)(value - text));
      bool is_there = false;
      const TlSource *s;
      for (uint32_t i = 1; !is_there && (s = tl_source(comp->sources, i)); i++)
         is_there = !s->is_library && strstr(s->text, what);
      if (!is_there)
         tl_cmd_error("warning: --assume '%.60s': '%.60s' stands nowhere in the source", text,
                      what);
   }
   c->has_warned = true;
}

bool
tl_cmd_is_json(const TlCommand *c)
{
   const char *format = tl_option(&c->cl, TL_OPT_ERROR_FORMAT);
   return format && strcmp(format, "json") == 0;
}

void
tl_cmd_diagnostics(TlCommand *c, TlCompilation *comp)
{
   bool json = tl_cmd_is_json(c);
   if (comp->arena && !setjmp(comp->oom)) {
      if (comp->file)
         warn_of_assumptions(c, comp);
      for (const TlDiag *d = comp->diags.first; d; d = d->next) {
         TlSb sb;
         tl_sb_init(&sb, comp->arena);
         if (json)
            tl_diag_render_json(&comp->diags, d, &sb);
         else
            tl_diag_render(&comp->diags, d, c->color, &sb);
         fputs(tl_sb_cstr(&sb), stderr);
      }
      unsigned hidden = comp->diags.max_errors && comp->diags.num_errors > comp->diags.max_errors
                           ? comp->diags.num_errors - comp->diags.max_errors
                           : 0;
      if (hidden && !json)
         tl_cmd_error("%u more errors; --error-limit shows them", hidden);
   }
   static const char *const sources[] = {".tile", ".py", NULL};
   const char *file = missing_operand(c, comp->error);
   if (comp->error[0])
      tl_cmd_error("%s%s", comp->error, file ? tl_not_there(c->arena, file, sources) : "");
}

int
tl_cmd_failed(TlCommand *c, TlCompilation *comp, TilecStatus status)
{
   assert(status != TILEC_OK);
   tl_cmd_diagnostics(c, comp);
   if (status != TILEC_BAD_SOURCE && !comp->error[0])
      tl_cmd_error("%s", tilec_status_string(status));
   return tl_cmd_exit_code(status);
}

bool
tl_cmd_folder(const char *option, const char *dir)
{
   struct stat st;
   if (mkdir(dir, 0777) == 0 || (errno == EEXIST && stat(dir, &st) == 0 && S_ISDIR(st.st_mode)))
      return true;
   int why = errno;
   return tl_cmd_refuse("%s: cannot make folder '%s': %s", option, dir,
                        why == EEXIST   ? "there is a file of that name"
                        : why == ENOENT ? "the folder that it lies in does not exist"
                                        : strerror(why));
}

static bool
save_temps(TlCommand *c, TlCompilation *comp, const char *stem)
{
   assert(stem);
   const char *dir = tl_option(&c->cl, TL_OPT_SAVE_TEMPS);
   if (!dir)
      return true;
   if (!*dir)
      dir = ".";
   if (!tl_cmd_folder("--save-temps", dir))
      return false;
   for (unsigned s = TILEC_STAGE_DEFAULT + 1; s < TILEC_STAGE_COUNT; s++) {
      if (!comp->text[s])
         continue;
      const char *path = tl_arena_printf(c->arena, "%s/%s.%s", dir, stem, tl_stage_names[s].suffix);
      if (!tl_cmd_write(c, path, comp->text[s], comp->text_len[s]))
         return false;
   }
   return true;
}

bool
tl_cmd_extras(TlCommand *c, TlCompilation *comp, const char *stem)
{
   if (tl_option(&c->cl, TL_OPT_STATS)) {
      for (size_t i = 0; i < comp->passes.times.len; i++) {
         const TlPassTime *t = &comp->passes.times.data[i];
         fprintf(stderr, "%8.3f ms  %s\n", t->ms, t->name);
      }
      fprintf(stderr, "%8.1f KiB memory of tilec\n", (double)comp->mem.peak_bytes / 1024);
      if (comp->func && comp->func->state == TL_STATE_LOWERED)
         fprintf(stderr, "%8u bytes of shared memory, %u threads\n", comp->func->shared_bytes,
                 tl_total_warps(comp->func) * 32);
      if (comp->text[TILEC_STAGE_PTX])
         fprintf(stderr, "%8zu bytes of PTX\n", comp->text_len[TILEC_STAGE_PTX]);
   }
   return save_temps(c, comp, stem);
}
