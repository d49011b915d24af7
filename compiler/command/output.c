/* What the command leaves behind: files that are complete or absent, and the rule of a depfile. */
#include "command/command.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct Pending {
   const char *path;      /* where it belongs, links followed */
   const char *temporary; /* beside it; NULL: written in place (a device, a pipe) */
} Pending;

static bool
is_stdout(const char *path)
{
   return !path || strcmp(path, "-") == 0;
}

static bool
write_bytes(int fd, const char *text, size_t len)
{
   while (len) {
      ssize_t n = write(fd, text, len);
      if (n < 0 && errno == EINTR)
         continue;
      if (n < 0)
         return false;
      text += n;
      len -= (size_t)n;
   }
   return true;
}

/* A new file beside the path.  O_EXCL and the number of the process keep builds apart. */
static int
open_beside(TlCommand *c, Pending *p)
{
   for (unsigned try = 0; try < 100; try++) {
      p->temporary = tl_arena_printf(c->arena, "%s.%ld.%u.tmp", p->path, (long)getpid(), try);
      int fd = open(p->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (fd >= 0 || errno != EEXIST)
         return fd;
   }
   return -1;
}

static bool
prepare(TlCommand *c, const TlOutput *o, Pending *p)
{
   struct stat st;
   char *real = realpath(o->path, NULL);
   *p = (Pending){.path = real ? tl_arena_strdup(c->arena, real) : o->path};
   free(real);
   bool in_place = stat(p->path, &st) == 0 && !S_ISREG(st.st_mode);
   int fd = in_place ? open(p->path, O_WRONLY | O_CLOEXEC) : open_beside(c, p);
   bool ok = fd >= 0 && write_bytes(fd, o->text, o->len) && write_bytes(fd, o->data, o->data_len);
   int why = errno;
   if (fd >= 0 && close(fd) != 0 && ok) {
      ok = false;
      why = errno;
   }
   errno = why;
   if (fd < 0)
      p->temporary = NULL;
   return ok;
}

/* Is it one of the files that the command reads?  What is made must not take its place. */
static bool
is_operand(const TlCommand *c, const char *path)
{
   struct stat out, in;
   for (size_t i = 0; i < c->cl.operands.len; i++)
      if (stat(path, &out) == 0 && stat(c->cl.operands.data[i], &in) == 0 && S_ISREG(out.st_mode) &&
          out.st_dev == in.st_dev && out.st_ino == in.st_ino)
         return true;
   return false;
}

static void
cannot_write(TlCommand *c, const char *path, int why)
{
   const char *slash = strrchr(path, '/');
   const char *folder = slash ? tl_arena_strndup(c->arena, path, (size_t)(slash - path)) : "";
   const char *text = strerror(why);
   if (!*path)
      text = "its name is empty: write the name of a file";
   else if (why == ENOENT && *folder && access(folder, F_OK) != 0)
      text = tl_arena_printf(c->arena, "%s: there is no folder '%s'; make it first", strerror(why),
                             folder);
   else if (why == EISDIR)
      text = tl_arena_printf(c->arena, "it is a folder; name a file in it, as in %s/NAME", path);
   tl_cmd_error("cannot write '%s': %s", path, text);
}

static bool
write_stdout(const TlOutput *o)
{
   return fwrite(o->text, 1, o->len, stdout) == o->len &&
          (!o->data_len || fwrite(o->data, 1, o->data_len, stdout) == o->data_len) &&
          fflush(stdout) == 0;
}

bool
tl_cmd_write_all(TlCommand *c, const TlOutput *files, size_t n)
{
   assert(files || n == 0);
   Pending *pending = tl_new_array(c->arena, Pending, n + 1);
   size_t failed = n;
   for (size_t i = 0; i < n; i++)
      if (!is_stdout(files[i].path) && is_operand(c, files[i].path))
         return tl_cmd_refuse("'%s' is the source: it is not written over; name another file",
                              files[i].path);
   for (size_t i = 0; i < n && failed == n; i++)
      if (is_stdout(files[i].path) ? !write_stdout(&files[i]) : !prepare(c, &files[i], &pending[i]))
         failed = i;
   for (size_t i = 0; i < n && failed == n; i++)
      if (pending[i].temporary) {
         if (rename(pending[i].temporary, pending[i].path) != 0)
            failed = i;
         else
            pending[i].temporary = NULL;
      }
   if (failed < n)
      cannot_write(c, is_stdout(files[failed].path) ? "standard output" : files[failed].path,
                   errno);
   for (size_t i = 0; i < n; i++)
      if (pending[i].temporary)
         unlink(pending[i].temporary);
   return failed == n;
}

bool
tl_cmd_write(TlCommand *c, const char *path, const char *text, size_t len)
{
   return tl_cmd_write_all(c, &(TlOutput){.path = path, .text = text, .len = len}, 1);
}

const char *
tl_cmd_beside(TlCommand *c, const char *path, const char *suffix)
{
   const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
   size_t stem = dot && (!slash || dot > slash) ? (size_t)(dot - path) : strlen(path);
   return tl_arena_printf(c->arena, "%.*s.%s", (int)stem, path, suffix);
}

/* Make's quoting: blanks and '#' by a backslash, '$' doubled. */
static void
put_make_name(TlSb *sb, const char *name)
{
   for (; *name; name++) {
      if (*name == ' ' || *name == '#' || *name == '\t')
         tl_sb_char(sb, '\\');
      if (*name == '$')
         tl_sb_char(sb, '$');
      tl_sb_char(sb, *name);
   }
}

const char *
tl_cmd_depfile(TlCommand *c, const TlCompilation *comp, const TlOutput *outputs, size_t n)
{
   assert(n > 0);
   TlSb sb;
   tl_sb_init(&sb, c->arena);
   for (size_t i = 0; i < n; i++) {
      put_make_name(&sb, outputs[i].path);
      tl_sb_char(&sb, i + 1 < n ? ' ' : ':');
   }
   for (uint32_t i = 1; tl_source(comp->sources, i); i++) {
      const char *name = tl_source(comp->sources, i)->name;
      if (name[0] == '<' || strcmp(name, "-") == 0) /* signatures, the library: no files */
         continue;
      tl_sb_str(&sb, " \\\n  ");
      put_make_name(&sb, name);
   }
   tl_sb_char(&sb, '\n');
   return tl_sb_cstr(&sb);
}
