/* An assembler as a separate process: PTX in one temporary file of the cache's folder, the cubin in
 * another.  The child gets no environment and nothing of our input and output. */
#define _GNU_SOURCE
#include "jit/stored.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
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
   return close(fd) == 0 && ok;
}

static bool
read_file(const char *path, void **out, size_t *len)
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

/* The host may ignore SIGCHLD, and then there is no status: the cubin decides. */
static int
run(const char *ptxas, char *const *argv)
{
   char *const no_environment[] = {NULL};
   posix_spawn_file_actions_t files;
   pid_t child;
   int status = 0;
   if (posix_spawn_file_actions_init(&files) != 0)
      return -1;
   for (int fd = 0; fd < 3; fd++)
      posix_spawn_file_actions_addopen(&files, fd, "/dev/null", fd ? O_WRONLY : O_RDONLY, 0);
   int code = posix_spawn(&child, ptxas, &files, NULL, argv, no_environment);
   posix_spawn_file_actions_destroy(&files);
   if (code != 0)
      return -1;
   while (waitpid(child, &status, 0) < 0)
      if (errno != EINTR)
         return 0;
   return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool
tl_ptxas(TlCache *cache, const char *ptxas, const TilecImageInfo *info, const char *ptx,
         size_t ptx_len, void **cubin, size_t *cubin_len, char *why)
{
   char in[TL_CACHE_PATH], out[TL_CACHE_PATH], target[64];
   *cubin = NULL;
   if (!tl_cache_temp_path(cache, ".ptx", in) || !tl_cache_temp_path(cache, ".cubin", out)) {
      snprintf(why, TL_CACHE_WHY, "no folder for the assembler's files");
      return false;
   }
   snprintf(target, sizeof target, "-arch=%s", info->arch);
   char *lines = info->line_info ? "-lineinfo" : NULL;
   char *const argv[] = {"ptxas", target, "-o", out, in, lines, NULL};
   bool wrote = write_file(in, ptx, ptx_len);
   int code = wrote ? run(ptxas, argv) : -1;
   bool ok = code == 0 && read_file(out, cubin, cubin_len);
   if (!ok && !wrote)
      snprintf(why, TL_CACHE_WHY, "the assembler's input cannot be written: %s", strerror(errno));
   else if (!ok)
      snprintf(why, TL_CACHE_WHY, "'%.300s' made no cubin for %s", ptxas, info->arch);
   (void)unlink(in);
   (void)unlink(out);
   return ok;
}
