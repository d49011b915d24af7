/* Finds ptxas and turns what it says into diagnostics. */
#include "command/ptxas.h"
#include "command/progress.h"
#include "jit/ptxas.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- finding tools ---- */
static bool
can_run(const char *path)
{
   struct stat st;
   return access(path, X_OK) == 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

const char *
tl_tool_find(TlArena *arena, const char *name, const char *beside)
{
   const char *path = getenv("PATH");
   while (path && *path) {
      size_t n = strcspn(path, ":");
      const char *candidate = tl_arena_printf(arena, "%.*s/%s", (int)n, path, name);
      if (n && can_run(candidate))
         return candidate;
      path += n + (path[n] == ':');
   }
   const char *slash = beside ? strrchr(beside, '/') : NULL;
   const char *near =
      slash ? tl_arena_printf(arena, "%.*s%s", (int)(slash + 1 - beside), beside, name) : NULL;
   if (near && can_run(near))
      return near;
   const char *toolkit = tl_arena_printf(arena, "/usr/local/cuda/bin/%s", name);
   return can_run(toolkit) ? toolkit : NULL;
}

bool
tl_tool_asked(TlCommand *c, TlOptionId option, const char **path, bool *is_asked)
{
   const char *asked = tl_option(&c->cl, option);
   bool is_none = asked && strcmp(asked, "none") == 0;
   *is_asked = asked;
   *path = is_none ? NULL : asked;
   if (*path && !can_run(*path))
      return tl_cmd_refuse(
         "--%s: '%s' is not a program that can be run (%s); name one, or none, or "
         "leave it out",
         tl_option_rows[option].name, asked,
         access(asked, F_OK) == 0 ? "no file with leave to be run" : "there is no such file");
   return true;
}

bool
tl_ptxas_find(TlCommand *c, const char **path)
{
   bool is_asked;
   if (!tl_tool_asked(c, TL_OPT_PTXAS, path, &is_asked))
      return false;
   if (!is_asked)
      *path = tl_tool_find(c->arena, "ptxas", NULL);
   return true;
}

/* ---- its words ---- */
typedef struct Line {
   const char *text; /* without "ptxas <kind> :" */
   char kind;        /* 'i'nfo, 'w'arning, 'e'rror, or 0: a continuation */
} Line;

/* "ptxas info    : text", "ptxas FILE, line 4; error   : text", "    0 bytes stack frame, .." */
static Line
read_line(TlArena *arena, const char *s, size_t n)
{
   static const struct {
      const char *word;
      char kind;
   } words[] = {{"info", 'i'}, {"warning", 'w'}, {"Warning", 'w'}, {"error", 'e'}, {"fatal", 'e'}};
   const char *line = tl_arena_strndup(arena, s, n);
   Line l = {line + strspn(line, " \t"), 0};
   const char *colon = strstr(line, " : ");
   if (!colon || !tl_starts_with(line, "ptxas"))
      return l;
   const char *end = colon;
   while (end > line && end[-1] == ' ')
      end--;
   for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
      size_t w = strlen(words[i].word);
      if ((size_t)(end - line) > w && strncmp(end - w, words[i].word, w) == 0)
         l = (Line){colon + 3, words[i].kind};
   }
   const char *at = strstr(line, ", line ");
   if (at && at < colon && l.kind == 'e')
      l.text = tl_arena_printf(arena, "line %s of the PTX: %s",
                               tl_arena_strndup(arena, at + 7, strcspn(at + 7, ";")), colon + 3);
   return l;
}

/* "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads", "Used 168 registers, .." */
static void
read_usage(const char *text, TlUsage *u)
{
   TlUsage read = *u;
   if (sscanf(text, "%u bytes stack frame, %u bytes spill stores, %u bytes spill loads",
              &read.stack, &read.spill_stores, &read.spill_loads) == 3)
      *u = read;
   else if (sscanf(text, "Used %u registers", &read.registers) == 1)
      u->registers = read.registers, u->is_known = true;
}

static bool
spills(const char *text)
{
   TlUsage u = {0};
   read_usage(text, &u);
   return u.spill_stores || u.spill_loads;
}

typedef struct Reader {
   TlSb warnings, remarks, errors; /* the texts of each kind, joined */
   const char *kernel;             /* that the lines speak of */
   TlUsage usage;
} Reader;

static void
join(TlSb *sb, const char *kernel, const char *text)
{
   tl_sb_str(sb, sb->len ? "; " : "");
   if (kernel)
      tl_sb_printf(sb, "'%s': ", kernel);
   tl_sb_str(sb, text);
}

static void
take_line(Reader *r, TlArena *arena, Line l)
{
   const char *name = tl_skip_prefix(l.text, "Compiling entry function '");
   read_usage(l.text, &r->usage);
   if (name) {
      r->kernel = tl_arena_strndup(arena, name, strcspn(name, "'"));
   } else if (l.kind == 'e') {
      join(&r->errors, NULL, l.text);
   } else if (l.kind == 'w' || spills(l.text) || strstr(l.text, "(C75")) {
      join(&r->warnings, r->kernel, l.text);
   } else if (tl_starts_with(l.text, "Used ")) {
      join(&r->remarks, r->kernel, l.text);
   }
}

static void
read_words(TlArena *arena, const char *said, Reader *r)
{
   *r = (Reader){0};
   tl_sb_init(&r->warnings, arena);
   tl_sb_init(&r->remarks, arena);
   tl_sb_init(&r->errors, arena);
   for (const char *s = said; *s;) {
      size_t n = strcspn(s, "\n");
      take_line(r, arena, read_line(arena, s, n));
      s += n + (s[n] == '\n');
   }
}

const char *
tl_tool_folder(TlArena *arena)
{
   const char *base = getenv("TMPDIR");
   if (!base || !*base)
      base = "/tmp";
   return mkdtemp(tl_arena_printf(arena, "%s/tilecXXXXXX", base));
}

static bool
is_of_unknown_arch(const TlPtxasResult *made)
{
   const char *said = made->said ? made->said : "";
   return !made->cubin &&
          (strstr(said, "for option 'gpu-name'") || strstr(said, "Unsupported .version"));
}

/* What it said becomes diagnostics, one of each kind, since all of them speak of the same place. */
static void
take_words(TlCompilation *comp, const TlPtxasResult *made, TlUsage *usage)
{
   Reader r;
   TlRange range = comp->func->range;
   read_words(comp->arena, made->said ? made->said : "", &r);
   *usage = r.usage;
   if (r.errors.len)
      tl_report(&comp->diags, E0510, range, tl_sb_cstr(&r.errors));
   else if (!made->cubin && !made->error && !made->is_late) {
      tl_report(&comp->diags, E0510, range,
                made->was_killed ? "it was killed" : "it failed and said nothing");
      tl_help(&comp->diags,
              "is it an assembler?  --ptxas=PATH names another, -o NAME.ptx writes the "
              "PTX to try it on");
   }
   if (r.warnings.len)
      tl_report(&comp->diags, W0510, range, tl_sb_cstr(&r.warnings));
   if (r.remarks.len && tl_wants_remarks(&comp->diags, "ptxas"))
      tl_report(&comp->diags, R0510, range, tl_sb_cstr(&r.remarks));
}

static int
take_result(TlCommand *c, TlCompilation *comp, const TlPtxasRun *run, const TlPtxasResult *made,
            TlCubin *out)
{
   if (setjmp(comp->oom))
      return tl_cmd_no_memory();
   out->unknown_arch = made->has_run && is_of_unknown_arch(made);
   if (made->error)
      out->why = tl_arena_printf(c->arena, "'%s': cannot %s: %s", run->program, made->step,
                                 strerror(made->error));
   else if (out->unknown_arch)
      out->why =
         tl_arena_printf(c->arena, "'%s' is too old for %s", run->program, comp->target->arch);
   else if (made->is_late && !made->cubin)
      out->why =
         tl_arena_printf(c->arena, "'%s' did not end within %u ms; --timeout=MS allows more",
                         run->program, run->limit_ms);
   if (made->has_run && !out->unknown_arch)
      take_words(comp, made, &out->usage);
   if (made->cubin) {
      out->data = tl_arena_strndup(c->arena, made->cubin, made->len);
      out->len = made->len;
   }
   /* Warnings may be errors. */
   if (made->is_late && !made->cubin)
      return EXIT_LIMIT;
   return out->why ? EXIT_ENVIRONMENT : comp->diags.num_errors ? EXIT_PROGRAM : EXIT_OK;
}

int
tl_ptxas_assemble(TlCommand *c, TlCompilation *comp, const TilecCompileOptions *o,
                  const char *ptxas, TlCubin *out)
{
   *out = (TlCubin){0};
   const char *folder = tl_tool_folder(c->arena);
   if (!folder) {
      out->why =
         tl_arena_printf(c->arena, "no temporary folder for '%s': %s", ptxas, strerror(errno));
      return EXIT_ENVIRONMENT;
   }
   TlPtxasRun run = {.program = ptxas,
                     .arch = comp->target->arch,
                     .line_info = o->debug_info,
                     .in = tl_arena_printf(c->arena, "%s/kernel.ptx", folder),
                     .out = tl_arena_printf(c->arena, "%s/kernel.cubin", folder),
                     .verbose = true,
                     .keep_environment = true,
                     .limit_ms = o->timeout_ms ? o->timeout_ms : TL_PTXAS_LIMIT_MS};
   TlPtxasResult made;
   TlProgress progress;
   tl_progress_begin(&progress, "ptxas");
   tl_progress_say(&progress, "ptxas assembles %zu bytes of PTX for %s",
                   comp->text_len[TILEC_STAGE_PTX], comp->target->arch);
   tl_ptxas_run(&run, comp->text[TILEC_STAGE_PTX], comp->text_len[TILEC_STAGE_PTX], &made);
   tl_progress_end(&progress);
   rmdir(folder);
   int code = take_result(c, comp, &run, &made, out);
   tl_ptxas_done(&made);
   return code;
}
