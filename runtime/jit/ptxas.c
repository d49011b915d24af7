/* An assembler as a separate process: PTX in one temporary file, the cubin in another, its words
 * through a pipe.  The child gets nothing of our input. */
#define _GNU_SOURCE
#include "jit/ptxas.h"

#include "jit/stored.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_CUBIN = 64 << 20 };

static bool
write_file(const char *path, const char *text, size_t len)
{
   int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
   if (fd < 0)
      return false;
   bool ok = true;
   for (size_t at = 0; ok && at < len;) {
      ssize_t n = write(fd, text + at, len - at);
      ok = n > 0 || (n < 0 && errno == EINTR);
      at += n > 0 ? (size_t)n : 0;
   }
   int error = errno;
   bool closed = close(fd) == 0;
   errno = ok ? errno : error;
   return closed && ok;
}

static bool
read_cubin(const char *path, void **out, size_t *len)
{
   struct stat st;
   int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
   bool ok = fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 4 && st.st_size <= MAX_CUBIN;
   unsigned char *block = ok ? malloc((size_t)st.st_size) : NULL;
   ok = block && read(fd, block, (size_t)st.st_size) == st.st_size &&
        memcmp(block, "\177ELF", 4) == 0;
   if (fd >= 0)
      close(fd);
   if (!ok) {
      free(block);
      return false;
   }
   *out = block;
   *len = (size_t)st.st_size;
   return true;
}

static double
now_ms(void)
{
   struct timespec t;
   clock_gettime(CLOCK_MONOTONIC, &t);
   return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Something is there to read; false after the limit. */
static bool
wait_for_words(int fd, double end_ms)
{
   struct pollfd p = {.fd = fd, .events = POLLIN};
   for (int n = 0; n <= 0;) {
      double left = end_ms > 0 ? end_ms - now_ms() : -1;
      if (end_ms > 0 && left <= 0)
         return false;
      n = poll(&p, 1, end_ms > 0 ? (int)left + 1 : -1);
      if (n < 0 && errno != EINTR)
         return true; /* the read says why */
   }
   return true;
}

/* What comes out of the pipe, up to TL_PTXAS_MOST_SAID bytes and as far as there is memory. */
static char *
read_all(int fd, double end_ms, bool *is_late)
{
   char block[4096];
   TlBytes said = {0};
   ssize_t n;
   while (!(*is_late = !wait_for_words(fd, end_ms)) &&
          ((n = read(fd, block, sizeof block)) > 0 || (n < 0 && errno == EINTR)))
      if (n > 0 && said.len < TL_PTXAS_MOST_SAID)
         tl_bytes_add(&said, block, (size_t)n);
   tl_bytes_add(&said, "", 1);
   if (!said.failed)
      return (char *)said.data;
   free(said.data);
   return NULL;
}

/* The host may ignore SIGCHLD, and then there is no status: the cubin decides. */
static void
wait_for(pid_t child, bool *is_good, TlPtxasResult *r)
{
   int status = 0;
   *is_good = true;
   while (waitpid(child, &status, 0) < 0)
      if (errno != EINTR)
         return;
   *is_good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
   r->has_failed = WIFEXITED(status) && !*is_good;
   r->was_killed = WIFSIGNALED(status);
}

/* Runs it to its end; whether it says that all went well. */
static bool
spawn(const TlPtxasRun *run, char *const *argv, TlPtxasResult *r)
{
   static char *const no_environment[] = {NULL};
   posix_spawn_file_actions_t files;
   int ends[2];
   pid_t child;
   if (pipe2(ends, O_CLOEXEC) != 0) {
      r->error = errno;
      return false;
   }
   r->error = posix_spawn_file_actions_init(&files);
   if (r->error == 0) {
      posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
      posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
      posix_spawn_file_actions_adddup2(&files, ends[1], STDERR_FILENO);
      r->error = posix_spawn(&child, run->program, &files, NULL, argv,
                             run->keep_environment ? environ : no_environment);
      posix_spawn_file_actions_destroy(&files);
   }
   close(ends[1]);
   bool is_good = false;
   if (r->error == 0) {
      r->has_run = true;
      r->said = read_all(ends[0], run->limit_ms ? now_ms() + run->limit_ms : 0, &r->is_late);
      if (r->is_late)
         kill(child, SIGKILL);
      wait_for(child, &is_good, r);
   }
   close(ends[0]);
   return is_good;
}

bool
tl_ptxas_run(const TlPtxasRun *run, const char *ptx, size_t ptx_len, TlPtxasResult *out)
{
   char target[64], *argv[9];
   unsigned n = 0;
   *out = (TlPtxasResult){.step = "write its input"};
   snprintf(target, sizeof target, "-arch=%s", run->arch);
   argv[n++] = "ptxas";
   argv[n++] = target;
   argv[n++] = "-o";
   argv[n++] = (char *)(uintptr_t)run->out;
   argv[n++] = (char *)(uintptr_t)run->in;
   if (run->line_info)
      argv[n++] = "-lineinfo";
   if (run->verbose)
      argv[n++] = "-v";
   assert(n < sizeof argv / sizeof argv[0]);
   argv[n] = NULL;
   bool ok = write_file(run->in, ptx, ptx_len);
   if (!ok) {
      out->error = errno;
   } else {
      out->step = "run it";
      ok = spawn(run, argv, out);
   }
   if (ok) {
      out->step = "read its output";
      errno = 0;
      ok = read_cubin(run->out, &out->cubin, &out->len);
      out->error = errno;
   }
   assert(ok == (out->cubin != NULL));
   (void)unlink(run->in);
   (void)unlink(run->out);
   return ok;
}

bool
tl_ptxas_tool(const TlPtxasRun *run, char *const *argv, TlPtxasResult *out)
{
   *out = (TlPtxasResult){.step = "run it"};
   return spawn(run, argv, out);
}

void
tl_ptxas_done(TlPtxasResult *result)
{
   free(result->cubin);
   free(result->said);
   *result = (TlPtxasResult){0};
}

/* Its first line that speaks of an error, else nothing. */
static const char *
first_error(const char *said, int *len)
{
   const char *at = said ? strstr(said, "error") : NULL;
   at = at || !said ? at : strstr(said, "fatal");
   while (at && at > said && at[-1] != '\n')
      at--;
   *len = at ? (int)strcspn(at, "\n") : 0;
   *len = *len > 200 ? 200 : *len;
   return at ? at : "";
}

/* Whether it reports errors in its input.  What is wrong with itself or around it is fatal instead:
 * a .version newer than it knows, the architecture, memory, a file. */
static bool
blames_input(const char *said)
{
   static const char aborted[] = "fatal   : Ptx assembly aborted due to errors";
   bool has_error = said && strstr(said, "error   : ");
   for (const char *at = said; has_error && (at = strstr(at, "fatal   : ")); at++)
      has_error = strncmp(at, aborted, strlen(aborted)) == 0;
   return has_error;
}

TlAssembled
tl_ptxas(TlCache *cache, const char *ptxas, const TilecImageInfo *info, const char *ptx,
         size_t ptx_len, void **cubin, size_t *cubin_len, char *why)
{
   char in[TL_CACHE_PATH], out[TL_CACHE_PATH];
   *cubin = NULL;
   if (!tl_cache_temp_path(cache, ".ptx", in) || !tl_cache_temp_path(cache, ".cubin", out)) {
      snprintf(why, TL_CACHE_WHY, "no folder for the assembler's files");
      return TL_UNDECIDED;
   }
   TlPtxasRun run = {.program = ptxas,
                     .arch = info->arch,
                     .in = in,
                     .out = out,
                     .line_info = info->line_info,
                     .limit_ms = TL_PTXAS_LIMIT_MS};
   TlPtxasResult r;
   bool ok = tl_ptxas_run(&run, ptx, ptx_len, &r);
   int len;
   const char *line = first_error(r.said, &len);
   if (ok) {
      *cubin = r.cubin;
      *cubin_len = r.len;
      r.cubin = NULL;
   } else if (r.error) {
      snprintf(why, TL_CACHE_WHY, "'%.200s' made no cubin for %s: cannot %s: %s", ptxas, info->arch,
               r.step, strerror(r.error));
   } else {
      snprintf(why, TL_CACHE_WHY, "'%.200s' made no cubin for %s%s%.*s", ptxas, info->arch,
               len ? ": " : "", len, line);
   }
   bool has_refused = r.has_failed && blames_input(r.said);
   tl_ptxas_done(&r);
   return ok ? TL_ASSEMBLED : has_refused ? TL_REFUSED : TL_UNDECIDED;
}
