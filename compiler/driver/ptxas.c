/* Runs ptxas on a temporary file and turns what it says into diagnostics. */
#include "driver/ptxas.h"
#include "driver/unit.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static bool
can_run(const char *path)
{
   return access(path, X_OK) == 0;
}

const char *
tl_ptxas_find(TlArena *arena, const char *asked)
{
   if (asked)
      return can_run(asked) ? asked : NULL;
   const char *path = getenv("PATH");
   while (path && *path) {
      size_t n = strcspn(path, ":");
      const char *candidate = tl_arena_printf(arena, "%.*s/ptxas", (int)n, path);
      if (n && can_run(candidate))
         return candidate;
      path += n + (path[n] == ':');
   }
   static const char toolkit[] = "/usr/local/cuda/bin/ptxas";
   return can_run(toolkit) ? toolkit : NULL;
}

/* ---- the process ---- */
typedef struct Job {
   TlArena *arena;
   char folder[64];       /* temporary, holds both files */
   const char *ptx, *cubin;
   TlSb said;             /* what it wrote to its outputs */
   int status;            /* of waitpid */
} Job;

static bool
open_job(Job *j, TlArena *arena, const char *text, size_t len)
{
   const char *base = getenv("TMPDIR");
   *j = (Job){.arena = arena};
   tl_sb_init(&j->said, arena);
   if (!base || !*base || strlen(base) > sizeof j->folder - 20)
      base = "/tmp";
   snprintf(j->folder, sizeof j->folder, "%s/tilecXXXXXX", base);
   if (!mkdtemp(j->folder))
      return false;
   j->ptx = tl_arena_printf(arena, "%s/kernel.ptx", j->folder);
   j->cubin = tl_arena_printf(arena, "%s/kernel.cubin", j->folder);
   FILE *f = fopen(j->ptx, "wb");
   bool ok = f && fwrite(text, 1, len, f) == len;
   return f && fclose(f) == 0 && ok;
}

static void
close_job(Job *j)
{
   if (j->ptx)
      unlink(j->ptx);
   if (j->cubin)
      unlink(j->cubin);
   rmdir(j->folder);
}

static bool
run_job(Job *j, char *const *argv)
{
   int ends[2];
   posix_spawn_file_actions_t actions;
   if (pipe(ends) != 0)
      return false;
   posix_spawn_file_actions_init(&actions);
   posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
   posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
   posix_spawn_file_actions_addclose(&actions, ends[0]);
   posix_spawn_file_actions_addclose(&actions, ends[1]);
   pid_t pid;
   int failed = posix_spawn(&pid, argv[0], &actions, NULL, argv, environ);
   posix_spawn_file_actions_destroy(&actions);
   close(ends[1]);
   char block[4096];
   ssize_t n;
   while (!failed && ((n = read(ends[0], block, sizeof block)) > 0 || (n < 0 && errno == EINTR)))
      if (n > 0)
         tl_sb_mem(&j->said, block, (size_t)n);
   close(ends[0]);
   while (!failed && waitpid(pid, &j->status, 0) < 0)
      failed = errno == EINTR ? 0 : errno;
   errno = failed;
   return !failed;
}

/* ---- its words ---- */
typedef struct Line {
   const char *text;      /* without "ptxas <kind> :" */
   char kind;             /* 'i'nfo, 'w'arning, 'e'rror, or 0: a continuation */
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
                 &stores, &loads) == 3 && (stores || loads);
}

typedef struct Reader {
   const TlPtxas *ptxas;
   TlDiags *diags;
   TlRange range;
   TlSb warnings, remarks, errors;   /* the texts of each kind, joined */
   const char *kernel;               /* that the lines speak of */
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
report(TlArena *arena, Reader *r, const TlSb *said)
{
   tl_sb_init(&r->warnings, arena);
   tl_sb_init(&r->remarks, arena);
   tl_sb_init(&r->errors, arena);
   for (const char *s = said->data; s && *s;) {
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

bool
tl_ptxas_assemble(TlArena *arena, const TlPtxas *ptxas, const char *arch, const char *ptx,
                  size_t ptx_len, TlDiags *diags, TlRange range, TlCubin *out)
{
   Job j;
   *out = (TlCubin){0};
   bool ok = open_job(&j, arena, ptx, ptx_len);
   char *argv[8];
   unsigned n = 0;
   argv[n++] = tl_arena_strdup(arena, ptxas->path);
   argv[n++] = tl_arena_printf(arena, "-v");
   argv[n++] = tl_arena_printf(arena, "-arch=%s", arch);
   if (ptxas->line_info)
      argv[n++] = tl_arena_printf(arena, "-lineinfo");
   argv[n++] = tl_arena_strdup(arena, ok ? j.ptx : "");
   argv[n++] = tl_arena_printf(arena, "-o");
   argv[n++] = tl_arena_strdup(arena, ok ? j.cubin : "");
   argv[n] = NULL;
   ok = ok && run_job(&j, argv);
   if (!ok)
      out->error = tl_arena_printf(arena, "cannot run '%s': %s", ptxas->path, strerror(errno));
   const char *why, *said = tl_sb_cstr(&j.said);
   bool good = ok && WIFEXITED(j.status) && WEXITSTATUS(j.status) == 0;
   out->unknown_arch = ok && !good &&
                       (strstr(said, "for option 'gpu-name'") ||
                        strstr(said, "Unsupported .version"));
   if (ok && !out->unknown_arch) {
      Reader r = {.ptxas = ptxas, .diags = diags, .range = range};
      report(arena, &r, &j.said);
      if (!good && !r.errors.len)
         tl_report(diags, E0510, range, WIFSIGNALED(j.status) ? "it was killed" : "it failed");
   }
   if (good && !tl_read_file(arena, j.cubin, &out->data, &out->len, &why)) {
      out->data = NULL;
      out->error = tl_arena_printf(arena, "'%s' left no cubin: %s", ptxas->path, why);
   }
   close_job(&j);
   return out->data != NULL;
}
