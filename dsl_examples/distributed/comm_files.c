/* Agreement between processes that see one folder: the n-th gather of rank r is the file "n.r",
 * which appears whole by renaming.  Each rank holds a lock on its byte of the file "here" for as
 * long as it lives; so who waits for a rank that ended learns it at once.  For transfers between
 * GPUs another engine is put on top. */
#include "comm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_BYTES = 512 };

typedef struct Files {
   Comm comm;
   const char *dir;
   unsigned round; /* of gathers */
   int here;       /* the file of locks */
} Files;

static bool
lock_mine(Files *f)
{
   struct flock lock = {
      .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)f->comm.rank, .l_len = 1};
   return fcntl(f->here, F_SETLK, &lock) == 0;
}

/* A folder serves once: what another run left would be taken for this one's. */
static bool
claim(Files *f)
{
   char name[NAME_BYTES];
   snprintf(name, sizeof name, "%s/rank.%u", f->dir, f->comm.rank);
   int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
   return fd >= 0 && close(fd) == 0;
}

static bool
is_alive(Files *f, unsigned rank)
{
   struct flock lock = {
      .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)rank, .l_len = 1};
   return rank == f->comm.rank || fcntl(f->here, F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

static bool
write_mine(Files *f, const void *data, size_t bytes)
{
   char name[NAME_BYTES], temp[NAME_BYTES];
   snprintf(name, sizeof name, "%s/%u.%u", f->dir, f->round, f->comm.rank);
   snprintf(temp, sizeof temp, "%s/tmp.%u", f->dir, f->comm.rank);
   FILE *out = fopen(temp, "wb");
   bool ok = out && fwrite(data, 1, bytes, out) == bytes;
   ok = out && fclose(out) == 0 && ok && rename(temp, name) == 0;
   return ok || comm_fail(&f->comm, "cannot write %s: %s", name, strerror(errno));
}

/* False while it is not there. */
static bool
read_theirs(Files *f, unsigned rank, void *data, size_t bytes)
{
   char name[NAME_BYTES];
   snprintf(name, sizeof name, "%s/%u.%u", f->dir, f->round, rank);
   FILE *in = fopen(name, "rb");
   bool ok = in && fread(data, 1, bytes, in) == bytes;
   if (in)
      fclose(in);
   return ok;
}

/* In the first gather a rank that has not come yet is not one that ended. */
static bool
wait_for(Files *f, unsigned rank, void *data, size_t bytes)
{
   Comm *c = &f->comm;
   for (double end = comm_now() + c->timeout_s; comm_now() < end;) {
      bool was_alive = f->round == 0 || is_alive(f, rank);
      if (read_theirs(f, rank, data, bytes))
         return true;
      if (!was_alive)
         return comm_fail(c, "rank %u has ended", rank);
      nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
   }
   return comm_fail(c, "nothing from rank %u for %g seconds", rank, c->timeout_s);
}

/* All have read what came before the gather that just ended. */
static void
remove_read(Files *f)
{
   char name[NAME_BYTES];
   if (f->round == 0)
      return;
   snprintf(name, sizeof name, "%s/%u.%u", f->dir, f->round - 1, f->comm.rank);
   (void)unlink(name);
}

static bool
files_gather(Comm *c, const void *mine, size_t bytes, void *all)
{
   Files *f = (Files *)c;
   bool ok = write_mine(f, mine, bytes);
   for (unsigned r = 0; ok && r < c->size; r++)
      ok = wait_for(f, r, (char *)all + r * bytes, bytes);
   if (ok)
      remove_read(f);
   f->round++;
   return ok;
}

static bool
no_exchange(Comm *c, const CommPart *parts, unsigned count)
{
   (void)parts, (void)count;
   return comm_fail(c, "processes that meet by files need NCCL for transfers (--on cuda)");
}

static bool
no_reduce_scatter(Comm *c, const void *send, void *recv, size_t elems, TilecDtype dtype)
{
   (void)send, (void)recv, (void)elems, (void)dtype;
   return no_exchange(c, NULL, 0);
}

static bool
files_is_there(Comm *c, char *why, size_t why_bytes)
{
   for (unsigned r = 0; r < c->size; r++)
      if (!is_alive((Files *)c, r)) {
         snprintf(why, why_bytes, "rank %u has ended", r);
         return false;
      }
   return true;
}

static void
files_close(Comm *c)
{
   close(((Files *)c)->here);
   free(c);
}

Comm *
comm_files_open(const char *dir, unsigned rank, unsigned size, double timeout_s, char *why,
                size_t why_bytes)
{
   char name[NAME_BYTES];
   Files *f = calloc(1, sizeof *f);
   if (!f || rank >= size) {
      snprintf(why, why_bytes, f ? "rank %u of %u" : "no memory", rank, size);
      free(f);
      return NULL;
   }
   f->comm = (Comm){.rank = rank,
                    .size = size,
                    .timeout_s = timeout_s,
                    .engine = "files",
                    .gather = files_gather,
                    .exchange = no_exchange,
                    .reduce_scatter = no_reduce_scatter,
                    .after = comm_nothing,
                    .before = comm_nothing,
                    .sync = comm_nothing,
                    .is_there = files_is_there,
                    .close = files_close};
   f->dir = dir;
   mkdir(dir, 0700);
   snprintf(name, sizeof name, "%s/here", dir);
   if (!claim(f)) {
      snprintf(why, why_bytes,
               "rank %u was here before, or it cannot be written to; give ranks a "
               "new folder",
               rank);
      free(f);
      return NULL;
   }
   f->here = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
   if (f->here >= 0 && lock_mine(f))
      return &f->comm;
   snprintf(why, why_bytes, "%s: %s", name, strerror(errno));
   if (f->here >= 0)
      close(f->here);
   free(f);
   return NULL;
}
