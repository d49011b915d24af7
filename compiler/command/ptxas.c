/* Finds ptxas and turns what it says into diagnostics. */
#include "command/ptxas.h"
#include "compile/compilation.h"
#include "jit/ptxas.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool
can_run(const char *path)
{
   return access(path, X_OK) == 0;
}

const char *
tl_tool_find(TlArena *arena, const char *name)
{
   const char *path = getenv("PATH");
   while (path && *path) {
      size_t n = strcspn(path, ":");
      const char *candidate = tl_arena_printf(arena, "%.*s/%s", (int)n, path, name);
      if (n && can_run(candidate))
         return candidate;
      path += n + (path[n] == ':');
   }
   const char *toolkit = tl_arena_printf(arena, "/usr/local/cuda/bin/%s", name);
   return can_run(toolkit) ? toolkit : NULL;
}

const char *
tl_ptxas_find(TlArena *arena, const char *asked)
{
   if (asked)
      return can_run(asked) ? asked : NULL;
   return tl_tool_find(arena, "ptxas");
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
   if (!colon || strncmp(line, "ptxas", 5) != 0)
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

static bool
spills(const char *text)
{
   unsigned frame, stores = 0, loads = 0;
   return sscanf(text, "%u bytes stack frame, %u bytes spill stores, %u bytes spill loads", &frame,
                 &stores, &loads) == 3 &&
          (stores || loads);
}

typedef struct Reader {
   const TlPtxas *ptxas;
   TlDiags *diags;
   TlRange range;
   TlSb warnings, remarks, errors; /* the texts of each kind, joined */
   const char *kernel;             /* that the lines speak of */
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
   static const char compiling[] = "Compiling entry function '";
   if (strncmp(l.text, compiling, sizeof compiling - 1) == 0) {
      const char *name = l.text + sizeof compiling - 1;
      r->kernel = tl_arena_strndup(arena, name, strcspn(name, "'"));
   } else if (l.kind == 'e') {
      join(&r->errors, NULL, l.text);
   } else if (l.kind == 'w' || spills(l.text) || strstr(l.text, "(C75")) {
      join(&r->warnings, r->kernel, l.text);
   } else if (strncmp(l.text, "Used ", 5) == 0) {
      join(&r->remarks, r->kernel, l.text);
   }
}

/* One diagnostic of each kind, since all of them speak of the same place. */
static void
report(TlArena *arena, Reader *r, const char *said)
{
   tl_sb_init(&r->warnings, arena);
   tl_sb_init(&r->remarks, arena);
   tl_sb_init(&r->errors, arena);
   for (const char *s = said; *s;) {
      size_t n = strcspn(s, "\n");
      take_line(r, arena, read_line(arena, s, n));
      s += n + (s[n] == '\n');
   }
   if (r->errors.len)
      tl_report(r->diags, E0510, r->range, tl_sb_cstr(&r->errors));
   if (r->warnings.len)
      tl_report(r->diags, W0510, r->range, tl_sb_cstr(&r->warnings));
   if (r->remarks.len && r->ptxas->remarks)
      tl_report(r->diags, R0510, r->range, tl_sb_cstr(&r->remarks));
}

const char *
tl_tool_folder(TlArena *arena)
{
   const char *base = getenv("TMPDIR");
   if (!base || !*base)
      base = "/tmp";
   return mkdtemp(tl_arena_printf(arena, "%s/tilecXXXXXX", base));
}

/* What it said becomes diagnostics; false: this ptxas does not know the target. */
static bool
take_words(TlArena *arena, const TlPtxas *ptxas, const TlPtxasResult *made, TlDiags *diags,
           TlRange range)
{
   const char *said = made->said ? made->said : "";
   if (!made->cubin &&
       (strstr(said, "for option 'gpu-name'") || strstr(said, "Unsupported .version")))
      return false;
   Reader r = {.ptxas = ptxas, .diags = diags, .range = range};
   report(arena, &r, said);
   if (!made->cubin && !made->error && !r.errors.len)
      tl_report(diags, E0510, range,
                made->is_late      ? "it takes longer than --timeout allows"
                : made->was_killed ? "it was killed"
                                   : "it failed");
   return true;
}

bool
tl_ptxas_assemble(TlArena *arena, const TlPtxas *ptxas, const char *arch, const char *ptx,
                  size_t ptx_len, TlDiags *diags, TlRange range, TlCubin *out)
{
   *out = (TlCubin){0};
   const char *folder = tl_tool_folder(arena);
   if (!folder) {
      out->error =
         tl_arena_printf(arena, "no temporary folder for '%s': %s", ptxas->path, strerror(errno));
      return false;
   }
   TlPtxasRun run = {.program = ptxas->path,
                     .arch = arch,
                     .line_info = ptxas->line_info,
                     .in = tl_arena_printf(arena, "%s/kernel.ptx", folder),
                     .out = tl_arena_printf(arena, "%s/kernel.cubin", folder),
                     .verbose = true,
                     .keep_environment = true,
                     .limit_ms = ptxas->limit_ms ? ptxas->limit_ms : 60000};
   TlPtxasResult made;
   bool good = tl_ptxas_run(&run, ptx, ptx_len, &made);
   rmdir(folder);
   if (made.error)
      out->error = tl_arena_printf(arena, "'%s': cannot %s: %s", ptxas->path, made.step,
                                   strerror(made.error));
   if (made.has_run)
      out->unknown_arch = !take_words(arena, ptxas, &made, diags, range);
   if (good) {
      out->data = tl_arena_strndup(arena, made.cubin, made.len);
      out->len = made.len;
   }
   tl_ptxas_done(&made);
   return good;
}
