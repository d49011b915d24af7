/* Shared work of the subcommands: options to compile options, output, exit codes. */
#include "command/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
   const char *name, *suffix;
   TilecStage stage;
} stages[] = {
   {"tokens", "tokens", TILEC_STAGE_TOKENS},
   {"ast", "ast", TILEC_STAGE_AST},
   {"ir", "tir", TILEC_STAGE_IR},
   {"laid", "laid.tir", TILEC_STAGE_LAID},
   {"lowered", "lowered.tir", TILEC_STAGE_LOWERED},
   {"llvm", "ll", TILEC_STAGE_LLVM},
   {"ptx", "ptx", TILEC_STAGE_PTX},
};
enum { NUM_STAGES = sizeof stages / sizeof stages[0] };

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
   case TILEC_IO:
   case TILEC_FAULT:
   case TILEC_UNSUPPORTED:
   case TILEC_BAD_IMAGE:
      return EXIT_PROGRAM;
   case TILEC_BAD_TARGET:
      return EXIT_USAGE;
   case TILEC_NO_MEMORY:
   case TILEC_LIMIT:
   case TILEC_CANCELLED:
      return EXIT_LIMIT;
   case TILEC_INTERNAL:
      return EXIT_BUG;
   default:
      return EXIT_ENVIRONMENT;
   }
}

bool
tl_cmd_number(TlCommand *c, TlOptionId id, uint32_t max, uint32_t *out)
{
   const char *v = tl_option(&c->cl, id);
   *out = 0;
   if (!v)
      return true;
   char *end;
   errno = 0;
   unsigned long n = strtoul(v, &end, 10);
   if (!*v || *v == '-' || *end || errno || n > max) {
      tl_cmd_error("'%s' is no number from 0 to %u", v, max);
      return false;
   }
   *out = (uint32_t)n;
   return true;
}

/* "layout,pipeline": each is a group that some part of the compiler asks for. */
static bool
known_remarks(const char *groups)
{
   static const char *const known[] = {"layout", "pipeline", "ptxas", "all"};
   for (const char *s = groups; s && *s;) {
      size_t len = strcspn(s, ","), i = 0, n = sizeof known / sizeof known[0];
      while (i < n && (strlen(known[i]) != len || strncmp(s, known[i], len) != 0))
         i++;
      if (i == n) {
         tl_cmd_error("no remarks are called '%.*s'; -R takes layout, pipeline, ptxas or all",
                      (int)len, s);
         return false;
      }
      s += len + (s[len] == ',');
   }
   return true;
}

static bool
one_of(const char *value, const char *a, const char *b, const char *what)
{
   if (!value || strcmp(value, a) == 0 || strcmp(value, b) == 0)
      return true;
   tl_cmd_error("%s is '%s' or '%s'; found '%s'", what, a, b, value);
   return false;
}

static bool
emit_option(TlCommand *c, TilecCompileOptions *o)
{
   const char *emit = tl_option(&c->cl, TL_OPT_EMIT);
   o->stop_after = TILEC_STAGE_PTX;
   if (!emit)
      return true;
   for (unsigned i = 0; i < NUM_STAGES; i++)
      if (strcmp(stages[i].name, emit) == 0) {
         o->stop_after = stages[i].stage;
         return true;
      }
   bool is_build = c->cl.command == CMD_BUILD;
   if (is_build && (strcmp(emit, "cubin") == 0 || strcmp(emit, "c") == 0)) {
      c->emit = emit[1] ? TL_EMIT_CUBIN : TL_EMIT_C;
      return true;
   }
   tl_cmd_error("unknown stage '%s'; --emit takes tokens, ast, ir, laid, lowered, llvm%s", emit,
                is_build ? ", ptx, cubin or c" : " or ptx");
   return false;
}

/* -D, -I and -R may be repeated. */
static bool
repeated_options(TlCommand *c, TilecCompileOptions *o)
{
   TL_VEC(TilecDefine) defines = {0};
   TL_VEC(const char *) dirs = {0};
   o->remarks = NULL;
   for (size_t i = 0; i < c->cl.uses.len; i++) {
      TlOptionUse use = c->cl.uses.data[i];
      if (use.id == TL_OPT_REMARKS)
         o->remarks =
            o->remarks ? tl_arena_printf(c->arena, "%s,%s", o->remarks, use.value) : use.value;
      if (use.id == TL_OPT_INCLUDE)
         tl_vec_push(c->arena, &dirs, use.value);
      if (use.id != TL_OPT_DEFINE)
         continue;
      const char *eq = strchr(use.value, '=');
      if (!eq || eq == use.value) {
         tl_cmd_error("-D takes NAME=VALUE; found '%s'", use.value);
         return false;
      }
      const char *name = tl_arena_strndup(c->arena, use.value, (size_t)(eq - use.value));
      tl_vec_push(c->arena, &defines, (TilecDefine){name, eq + 1});
   }
   o->defines = defines.data;
   o->num_defines = defines.len;
   o->include_dirs = dirs.data;
   o->num_include_dirs = dirs.len;
   return true;
}

/* -k and -s may be repeated: a signature belongs to the -k before it; those before the first -k to
 * every kernel that has none of its own. */
static void
entry_options(TlCommand *c, TlCompileExtra *extra)
{
   TL_VEC(const char *) common = {0};
   TL_VEC(TlEntrySpec) entries = {0};
   const TlOptionUse *uses = c->cl.uses.data;
   size_t n = c->cl.uses.len, i = 0;
   for (; i < n && uses[i].id != TL_OPT_KERNEL; i++)
      if (uses[i].id == TL_OPT_SIGNATURE)
         tl_vec_push(c->arena, &common, uses[i].value);
   do {
      const char *kernel = i < n ? uses[i].value : NULL;
      size_t before = entries.len;
      for (i++; i < n && uses[i].id != TL_OPT_KERNEL; i++)
         if (uses[i].id == TL_OPT_SIGNATURE)
            tl_vec_push(c->arena, &entries, (TlEntrySpec){kernel, uses[i].value});
      bool has_own = entries.len > before;
      for (size_t k = 0; !has_own && k < common.len; k++)
         tl_vec_push(c->arena, &entries, (TlEntrySpec){kernel, common.data[k]});
      if (entries.len == before)
         tl_vec_push(c->arena, &entries, (TlEntrySpec){kernel, NULL});
   } while (i < n);
   extra->entries = entries.data;
   extra->num_entries = entries.len;
}

static void
print_pass(void *user, const char *pass, const char *text)
{
   (void)user;
   fprintf(stderr, "// ---- after %s ----\n%s", pass, text);
}

bool
tl_cmd_options(TlCommand *c, TilecCompileOptions *o, TlCompileExtra *extra)
{
   const TlCommandLine *cl = &c->cl;
   *o = (TilecCompileOptions){.struct_size = sizeof *o};
   *extra = (TlCompileExtra){.passes = tl_option(cl, TL_OPT_PASSES),
                             .print_after = tl_option(cl, TL_OPT_PRINT_AFTER),
                             .verify_each = tl_option(cl, TL_OPT_VERIFY_EACH) != NULL,
                             .print = print_pass};
   o->file = cl->operands.len ? cl->operands.data[0] : NULL;
   o->kernel = tl_option(cl, TL_OPT_KERNEL);
   o->signature = tl_option(cl, TL_OPT_SIGNATURE);
   o->arch = tl_option(cl, TL_OPT_ARCH);
   o->debug_info = tl_option(cl, TL_OPT_DEBUG) != NULL;
   o->check = tl_option(cl, TL_OPT_CHECKED) != NULL;
   o->fp_mode = tl_option(cl, TL_OPT_STRICT) ? TILEC_FP_STRICT : TILEC_FP_TRITON;
   o->warnings_are_errors = tl_option(cl, TL_OPT_WERROR) != NULL;
   uint32_t opt;
   if (!tl_cmd_number(c, TL_OPT_NUM_WARPS, 64, &o->num_warps) ||
       !tl_cmd_number(c, TL_OPT_NUM_STAGES, 64, &o->num_stages) ||
       !tl_cmd_number(c, TL_OPT_TIMEOUT, 86400000, &o->timeout_ms) ||
       !tl_cmd_number(c, TL_OPT_ERROR_LIMIT, 100000, &extra->max_errors) ||
       !tl_cmd_number(c, TL_OPT_OPT, 3, &opt))
      return false;
   if (tl_option(cl, TL_OPT_NUM_WARPS) && !o->num_warps) {
      tl_cmd_error("--num-warps takes a power of two from 1 to 32; found '0'");
      return false;
   }
   o->opt = tl_option(cl, TL_OPT_OPT) ? (TilecOpt)(TILEC_OPT_0 + opt) : TILEC_OPT_DEFAULT;
   o->plain_abi = tl_option(cl, TL_OPT_ABI) != NULL;
   if (extra->print_after && strcmp(extra->print_after, "all") &&
       tl_pass_named(extra->print_after) == TL_PASS_END) {
      tl_cmd_error("no pass is called '%s'; --print-after takes the name of a pass, or all",
                   extra->print_after);
      return false;
   }
   if (!one_of(tl_option(cl, TL_OPT_ABI), "plain", "full", "--abi") ||
       !one_of(tl_option(cl, TL_OPT_ERROR_FORMAT), "text", "json", "--error-format"))
      return false;
   if (tl_option(cl, TL_OPT_SAVE_TEMPS))
      for (unsigned i = 0; i < NUM_STAGES; i++)
         o->keep_stages |= TILEC_STAGE_BIT(stages[i].stage);
   if (cl->command == CMD_BUILD || cl->command == CMD_CHECK)
      entry_options(c, extra);
   return emit_option(c, o) && repeated_options(c, o) && known_remarks(o->remarks);
}

void
tl_cmd_diagnostics(TlCommand *c, TlCompilation *comp)
{
   const char *format = tl_option(&c->cl, TL_OPT_ERROR_FORMAT);
   bool json = format && strcmp(format, "json") == 0;
   if (comp->arena && !setjmp(comp->oom)) {
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
   if (comp->error[0])
      tl_cmd_error("%s", comp->error);
}

static bool
save_temps(TlCommand *c, TlCompilation *comp, const char *stem)
{
   const char *dir = tl_option(&c->cl, TL_OPT_SAVE_TEMPS);
   if (!dir)
      return true;
   if (!*dir)
      dir = ".";
   if (mkdir(dir, 0777) != 0 && errno != EEXIST) {
      tl_cmd_error("cannot make folder '%s': %s", dir, strerror(errno));
      return false;
   }
   for (unsigned i = 0; i < NUM_STAGES; i++) {
      TilecStage s = stages[i].stage;
      if (!comp->text[s])
         continue;
      const char *path = tl_arena_printf(c->arena, "%s/%s.%s", dir, stem, stages[i].suffix);
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
                 comp->func->num_warps * 32);
      if (comp->text[TILEC_STAGE_PTX])
         fprintf(stderr, "%8zu bytes of PTX\n", comp->text_len[TILEC_STAGE_PTX]);
   }
   return save_temps(c, comp, stem);
}
