/* The command's options to those of a compilation: a reader for each "how" of
 * tilec/compile_options.def, and what only the command can ask for. */
#include "command/command.h"
#include "sema/sema.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const TlStageName tl_stage_names[TILEC_STAGE_COUNT] = {
   [TILEC_STAGE_TOKENS] = {"tokens", "tokens"},
   [TILEC_STAGE_AST] = {"ast", "ast"},
   [TILEC_STAGE_IR] = {"ir", "tir"},
   [TILEC_STAGE_LAID] = {"laid", "laid.tir"},
   [TILEC_STAGE_LOWERED] = {"lowered", "lowered.tir"},
   [TILEC_STAGE_LLVM] = {"llvm", "ll"},
   [TILEC_STAGE_PTX] = {"ptx", "ptx"},
};

/* ---- readers: false after a message ---- */
static bool
read_text(TlCommand *c, TlOptionId id, const char **out)
{
   *out = tl_option(&c->cl, id);
   return true;
}

/* One, or what --emit=c takes: a list. */
static bool
read_arch(TlCommand *c, TlOptionId id, const char **out)
{
   *out = tl_option(&c->cl, id);
   for (const char *s = *out; s && *s;) {
      size_t len = strcspn(s, ",");
      const char *one = tl_arena_strndup(c->arena, s, len);
      if (strcmp(one, "native") != 0 && !tl_target_for(one))
         return tl_cmd_refuse("%s; native is that of this machine's GPU",
                              tl_unknown_arch(c->arena, one));
      s += len + (s[len] == ',');
   }
   return true;
}

static bool
read_flag(TlCommand *c, TlOptionId id, bool *out)
{
   *out = tl_option(&c->cl, id) != NULL;
   return true;
}

static bool
read_stages(TlCommand *c, TlOptionId id, uint32_t *out)
{
   return tl_cmd_number(c, id, 64, out);
}

static bool
read_warps(TlCommand *c, TlOptionId id, uint32_t *out)
{
   const char *text = tl_option(&c->cl, id);
   bool is_number = tl_cmd_parse_number(text, 32, out);
   if (text && (!is_number || !*out || (*out & (*out - 1))))
      return tl_cmd_refuse("--num-warps takes a power of two from 1 to 32; found '%s'", text);
   return true;
}

static bool
read_ms(TlCommand *c, TlOptionId id, uint32_t *out)
{
   return tl_cmd_number(c, id, 86400000, out);
}

static bool
read_level(TlCommand *c, TlOptionId id, TilecOpt *out)
{
   uint32_t level;
   bool ok = tl_cmd_number(c, id, 3, &level);
   *out = tl_option(&c->cl, id) ? (TilecOpt)(TILEC_OPT_0 + level) : TILEC_OPT_DEFAULT;
   return ok;
}

static bool
read_strict(TlCommand *c, TlOptionId id, TilecFpMode *out)
{
   *out = tl_option(&c->cl, id) ? TILEC_FP_STRICT : TILEC_FP_TRITON;
   return true;
}

static bool
one_of(const char *value, const char *a, const char *b, const char *what)
{
   if (!value || strcmp(value, a) == 0 || strcmp(value, b) == 0)
      return true;
   return tl_cmd_refuse("%s is '%s' or '%s'; found '%s'", what, a, b, value);
}

static bool
read_abi(TlCommand *c, TlOptionId id, bool *out)
{
   const char *abi = tl_option(&c->cl, id);
   *out = abi && strcmp(abi, "plain") == 0;
   return one_of(abi, "plain", "full", "--abi");
}

/* From its dot on; NULL without one. */
static const char *
extension(const char *path)
{
   const char *dot = path ? strrchr(path, '.') : NULL;
   return dot && dot[1] && !strchr(dot, '/') && dot != path && dot[-1] != '/' ? dot : NULL;
}

/* Kinds of files that are not written here.  Any other may hold PTX: temporary names have dots. */
static bool
is_of_others(const char *dot)
{
   static const char *const known[] = {
      ".exe",    ".o",    ".obj",  ".so",   ".a",   ".dll",  ".s",  ".asm", ".bin",
      ".fatbin", ".sass", ".ttir", ".llir", ".bc",  ".h",    ".cu", ".cpp", ".cc",
      ".py",     ".tile", ".html", ".svg",  ".npy", ".json", ".ir"};
   for (size_t i = 0; dot && i < sizeof known / sizeof known[0]; i++)
      if (strcmp(known[i], dot) == 0)
         return true;
   return false;
}

/* What --emit would say for the name of the output; NULL: PTX, if it has no extension. */
static const char *
emit_of_name(const char *out)
{
   static const struct {
      const char *suffix, *emit;
   } known[] = {{"ptx", "ptx"}, {"cubin", "cubin"}, {"c", "c"}, {"ll", "llvm"}, {"tir", "ir"}};
   const char *dot = extension(out);
   for (size_t i = 0; dot && i < sizeof known / sizeof known[0]; i++)
      if (strcmp(known[i].suffix, dot + 1) == 0)
         return known[i].emit;
   return NULL;
}

static bool
read_tma(TlCommand *c, TlOptionId id, TilecTma *out)
{
   const char *tma = tl_option(&c->cl, id);
   *out = !tma ? TILEC_TMA_DEFAULT : strcmp(tma, "on") == 0 ? TILEC_TMA_ON : TILEC_TMA_OFF;
   return one_of(tma, "on", "off", "--tma");
}

static bool
read_fp32_dot(TlCommand *c, TlOptionId id, const char **out)
{
   int64_t known;
   *out = tl_option(&c->cl, id);
   return !*out || tl_dot_precision(*out, &known) ||
          tl_cmd_refuse("--fp32-dot is one of %s; found '%s'", TL_DOT_PRECISIONS, *out);
}

static bool
read_stage(TlCommand *c, TlOptionId id, TilecStage *out)
{
   const char *emit = tl_option(&c->cl, id);
   *out = TILEC_STAGE_PTX;
   if (!emit && c->cl.command == CMD_BUILD && !tl_option(&c->cl, TL_OPT_PASSES)) {
      const char *path = tl_option(&c->cl, TL_OPT_OUT), *dot = extension(path);
      emit = emit_of_name(path);
      if (!emit && is_of_others(dot))
         return tl_cmd_refuse("'%s' does not say what to write: '%s' is none of .ptx, .cubin, .c, "
                              ".ll and .tir; --emit=ptx writes PTX under any name",
                              path, dot);
   }
   if (!emit)
      return true;
   for (unsigned i = TILEC_STAGE_DEFAULT + 1; i < TILEC_STAGE_COUNT; i++)
      if (strcmp(tl_stage_names[i].name, emit) == 0) {
         *out = (TilecStage)i;
         return true;
      }
   bool is_build = c->cl.command == CMD_BUILD;
   if (is_build && (strcmp(emit, "cubin") == 0 || strcmp(emit, "c") == 0)) {
      c->emit = emit[1] ? TL_EMIT_CUBIN : TL_EMIT_C;
      return true;
   }
   static const char *const others[][2] = {
      {"ttir", "ir"},      {"mlir", "ir"},   {"ttgir", "laid"}, {"llir", "llvm"}, {"ll", "llvm"},
      {"bc", "llvm"},      {"asm", "ptx"},   {"s", "ptx"},      {"obj", "cubin"}, {"o", "cubin"},
      {"fatbin", "cubin"}, {"bin", "cubin"}, {"host", "c"},     {"cpp", "c"},     {"header", "c"}};
   for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
      if (strcmp(others[i][0], emit) == 0)
         return tl_cmd_refuse(
            "unknown stage '%s'; write --emit=%s (there are tokens, ast, ir, laid, "
            "lowered, llvm%s)",
            emit, others[i][1], is_build ? ", ptx, cubin and c" : " and ptx");
   return tl_cmd_refuse("unknown stage '%s'; --emit takes tokens, ast, ir, laid, lowered, llvm%s",
                        emit, is_build ? ", ptx, cubin or c" : " or ptx");
}

/* "layout,pipeline" */
static bool
known_remarks(TlCommand *c, const char *groups)
{
   TlSb known;
   tl_sb_init(&known, c->arena);
   for (unsigned i = 0; tl_remark_group(i); i++)
      tl_sb_printf(&known, "%s%s", i ? ", " : "", tl_remark_group(i));
   for (const char *s = groups; s && *s;) {
      size_t len = strcspn(s, ",");
      bool is_known = tl_is_word("all", s, len);
      for (unsigned i = 0; tl_remark_group(i); i++)
         is_known |= tl_is_word(tl_remark_group(i), s, len);
      if (!is_known)
         return tl_cmd_refuse("no remarks are called '%.*s'; -R takes %s or all", (int)len, s,
                              tl_sb_cstr(&known));
      s += len + (s[len] == ',');
   }
   return true;
}

static bool
read_remarks(TlCommand *c, TlOptionId id, const char **out)
{
   *out = NULL;
   size_t at = 0;
   for (const char *groups; (groups = tl_option_next(&c->cl, id, &at));)
      *out = *out ? tl_arena_printf(c->arena, "%s,%s", *out, groups) : groups;
   return known_remarks(c, *out);
}

static bool
read_dirs(TlCommand *c, TlOptionId id, const char *const **out, size_t *count)
{
   TL_VEC(const char *) dirs = {0};
   size_t at = 0;
   for (const char *dir; (dir = tl_option_next(&c->cl, id, &at));) {
      struct stat st;
      bool is_there = stat(dir, &st) == 0;
      if (id == TL_OPT_INCLUDE && (!is_there || !S_ISDIR(st.st_mode)))
         tl_cmd_error("warning: -I '%s': %s; imports are not looked for there", dir,
                      is_there ? "it is a file, no folder" : "there is no such folder");
      tl_vec_push(c->arena, &dirs, dir);
   }
   *out = dirs.data;
   *count = dirs.len;
   return true;
}

static bool
read_defines(TlCommand *c, TlOptionId id, const TilecDefine **out, size_t *count)
{
   TL_VEC(TilecDefine) defines = {0};
   size_t at = 0;
   for (const char *text; (text = tl_option_next(&c->cl, id, &at));) {
      const char *eq = strchr(text, '=');
      const char *colon = strchr(text, ':');
      if (!eq && colon > text)
         return tl_cmd_refuse("-D takes NAME=VALUE; found '%s': write -D %.*s=%s", text,
                              (int)(colon - text), text, colon + 1);
      if (!eq || eq == text)
         return tl_cmd_refuse("-D takes NAME=VALUE, as in -D BLOCK=128; found '%s'", text);
      if (!eq[1])
         return tl_cmd_refuse("-D %s lacks its value, as in -D %s128; \"\" is the empty text", text,
                              text);
      if (strspn(text, " \t") || strchr(" \t", eq[-1]))
         return tl_cmd_refuse("-D takes NAME=VALUE without blanks around the name; found '%s'",
                              text);
      const char *comma = strchr(eq, ',');
      if (comma && isalpha((unsigned char)comma[1]) && strchr(comma, '='))
         return tl_cmd_refuse("-D takes one NAME=VALUE; write -D %.*s -D %s", (int)(comma - text),
                              text, comma + 1);
      const char *name = tl_arena_strndup(c->arena, text, (size_t)(eq - text));
      for (size_t i = 0; i < defines.len; i++)
         if (strcmp(defines.data[i].name, name) == 0 && strcmp(defines.data[i].value, eq + 1) != 0)
            return tl_cmd_refuse("-D gives '%s' twice, as %s and as %s: leave one out%s", name,
                                 defines.data[i].value, eq + 1,
                                 c->cl.command == CMD_BENCH ? "; --vary measures several" : "");
      tl_vec_push(c->arena, &defines, (TilecDefine){name, eq + 1});
   }
   *out = defines.data;
   *count = defines.len;
   return true;
}

/* ---- what only the command can ask for ---- */
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

static bool
read_warnings(TlCommand *c, const TilecCompileOptions *o, TlWarnings *w)
{
   size_t at = 0;
   const char *name;
   if (o->num_stages > 1) /* who asks for stages is told of none */
      (void)tl_warnings_ask(w, "not-pipelined", &name);
   for (const char *text; (text = tl_option_next(&c->cl, TL_OPT_WARN, &at));) {
      if (tl_warnings_ask(w, text, &name))
         continue;
      TlSb known;
      TlNearest near = {.name = name};
      tl_sb_init(&known, c->arena);
      for (unsigned i = 0; tl_warning_name(i); i++) {
         tl_sb_printf(&known, "%s, ", tl_warning_name(i));
         tl_nearest_try(&near, tl_warning_name(i));
      }
      return tl_cmd_refuse("no warnings are called '%s'; %s%s%s-W takes %sall, and no-, error= or "
                           "no-error= before each",
                           name, near.best ? "did you mean '" : "", near.best ? near.best : "",
                           near.best ? "'? " : "", tl_sb_cstr(&known));
   }
   return true;
}

/* ", such as 'inline'": the nearest one, or "". */
static const char *
suggest_pass(TlArena *arena, const char *name)
{
   static const char *const names[] = {
#define TL_PASS(name, ...) #name,
#include "passes/passes.def"
   };
   TlNearest near = {.name = name};
   for (unsigned p = 0; p < sizeof names / sizeof names[0]; p++)
      tl_nearest_try(&near, names[p]);
   return near.best ? tl_arena_printf(arena, "; did you mean '%s'?", near.best)
                    : "; --stats of tilec build lists those that run";
}

/* Are all of the names passes? */
static bool
are_passes(TlCommand *c, const char *list)
{
   for (const char *s = list; s && *s;) {
      size_t len = strcspn(s, ",");
      const char *name = tl_arena_strndup(c->arena, s, len);
      if (len && tl_pass_named(name) == TL_PASS_END)
         return tl_cmd_refuse("no pass is called '%s'; --passes takes names of passes, as in "
                              "fold,cse%s",
                              name, suggest_pass(c->arena, name));
      s += len + (s[len] == ',');
   }
   return true;
}

static bool
read_extra(TlCommand *c, const TilecCompileOptions *o, TlCompileExtra *extra)
{
   const TlCommandLine *cl = &c->cl;
   *extra = (TlCompileExtra){.passes = tl_option(cl, TL_OPT_PASSES),
                             .print_after = tl_option(cl, TL_OPT_PRINT_AFTER),
                             .verify_each = tl_option(cl, TL_OPT_VERIFY_EACH) != NULL,
                             .print = print_pass};
   if (!are_passes(c, extra->passes))
      return false;
   if (extra->print_after && strcmp(extra->print_after, "all") &&
       tl_pass_named(extra->print_after) == TL_PASS_END)
      return tl_cmd_refuse(
         "no pass is called '%s'; --print-after takes all or the name of a pass%s",
         extra->print_after, suggest_pass(c->arena, extra->print_after));
   if (cl->command == CMD_BUILD || cl->command == CMD_CHECK)
      entry_options(c, extra);
   if (cl->command == CMD_CHECK || cl->command == CMD_LSP)
      extra->warnings.initial = TL_WARNINGS_CHECK;
   if (!read_warnings(c, o, &extra->warnings))
      return false;
   return tl_cmd_number(c, TL_OPT_ERROR_LIMIT, 100000, &extra->max_errors) &&
          one_of(tl_option(cl, TL_OPT_ERROR_FORMAT), "text", "json", "--error-format");
}

bool
tl_cmd_options(TlCommand *c, TilecCompileOptions *o, TlCompileExtra *extra)
{
   *o = (TilecCompileOptions){.struct_size = sizeof *o};
   o->file = c->cl.operands.len ? c->cl.operands.data[0] : NULL;
   bool ok = true;
#define TILEC_OPTION(field, result, source, how, id, ...)                                          \
   ok = ok && read_##how(c, TL_OPT_##id, &o->field);
#define TILEC_LIST(field, count, result, source, how, id, ...)                                     \
   ok = ok && read_##how(c, TL_OPT_##id, &o->field, &o->count);
#define TILEC_FIELD(field, result, source)
#define TILEC_FIELDS(field, count, result, source)
#include "tilec/compile_options.def"
   for (size_t i = 0; ok && i < o->num_assume; i++)
      if (!strchr(o->assume[i], '='))
         return tl_cmd_refuse("--assume takes NAME=VALUE, as in --assume n=1024; found '%s'",
                              o->assume[i]);
   if (tl_option(&c->cl, TL_OPT_SAVE_TEMPS))
      for (unsigned i = TILEC_STAGE_DEFAULT + 1; i < TILEC_STAGE_COUNT; i++)
         o->keep_stages |= TILEC_STAGE_BIT(i);
   return ok && read_extra(c, o, extra);
}
