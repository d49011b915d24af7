/* The disk cache; cache.h says what it promises.
 *
 * A file `<key in hex>.tilec`, all numbers little-endian:
 *     0  8  "tilec\r\n\x1a"
 *     8  4  format, 1
 *    12  4  number of parts, 5
 *    16 32  key
 *    48 40  length of each part, 8 bytes each
 *    88     the parts, one after the other
 *   end 32  BLAKE3 of everything before
 * Other names: tmp-<pid>-<random> (being written), lock-xx and lock-prune (for flock, empty). */
#define _GNU_SOURCE
#include "jit/cache.h"

#include "tilec/tilec.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
   HEADER_BYTES = 48 + 8 * TL_CACHE_PARTS,
   NAME_BYTES = 2 * TL_CACHE_KEY_BYTES + 8,
   MAX_ENTRY_BYTES = 256 << 20,
   TOUCH_SECONDS = 3600, /* a use is noted at most this often */
   TEMP_SECONDS = 600,   /* an assembler may take a while, a writer does not */
   PRUNE_MS = 500,       /* waited for another process that looks: it may be late */
   RANDOM_DIGITS = 16,   /* of a temporary file's name */
   SCAN_SHARE = 32,      /* see is_time_to_look */
};
static const unsigned char magic[8] = {'t', 'i', 'l', 'e', 'c', '\r', '\n', 0x1a};
static const char suffix[] = ".tilec", prune_lock[] = "lock-prune";

static bool
fail(char *why, const char *doing, const char *what)
{
   if (why)
      snprintf(why, TL_CACHE_WHY, "%s '%s': %s", doing, what, strerror(errno));
   return false;
}

static bool
refuse(char *why, const char *dir, const char *reason)
{
   if (why)
      snprintf(why, TL_CACHE_WHY, "cache folder '%s' is not used: %s", dir, reason);
   return false;
}

/* ---- Folders --------------------------------------------------------------------------------- */

/* Folders on the way are made as well, all of them private. */
static bool
make_dir(const char *dir)
{
   char path[TL_CACHE_PATH];
   size_t len = strlen(dir);
   if (!len || len >= sizeof path) {
      errno = ENAMETOOLONG;
      return false;
   }
   memcpy(path, dir, len + 1);
   for (size_t i = 1; i < len; i++)
      if (path[i] == '/') {
         path[i] = 0;
         if (mkdir(path, 0700) != 0 && errno != EEXIST)
            return false;
         path[i] = '/';
      }
   return mkdir(path, 0700) == 0 || errno == EEXIST;
}

/* Layers may also belong to root, who installs them. */
static int
open_dir(const char *dir, bool is_layer, char *why)
{
   struct stat st;
   if (getauxval(AT_SECURE)) {
      refuse(why, dir, "this process runs with the rights of another user");
      return -1;
   }
   if (!*dir) {
      refuse(why, dir, "its name is empty; NULL keeps nothing");
      errno = EINVAL;
      return -1;
   }
   char path[TL_CACHE_PATH];
   size_t len = strlen(dir);
   while (len > 1 && dir[len - 1] == '/')
      len--; /* the system follows "link/" */
   int fd = -1;
   errno = ENAMETOOLONG;
   if (snprintf(path, sizeof path, "%.*s", (int)len, dir) < (int)sizeof path)
      fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
   if (fd < 0) {
      int code = errno;
      if (code == ENOTDIR && lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) {
         refuse(why, dir, "it is a link");
      } else {
         errno = code;
         fail(why, "opening cache folder", dir);
      }
      errno = code;
      return -1;
   }
   const char *bad = NULL;
   if (fstat(fd, &st) != 0)
      bad = strerror(errno);
   else if (st.st_uid != geteuid() && !(is_layer && st.st_uid == 0))
      bad = "it belongs to another user";
   else if (st.st_mode & (S_IWGRP | S_IWOTH))
      bad = "others may write to it";
   if (!bad)
      return fd;
   close(fd);
   refuse(why, dir, bad);
   errno = EACCES;
   return -1;
}

static void
name_of(const uint8_t *key, char name[NAME_BYTES])
{
   for (int i = 0; i < TL_CACHE_KEY_BYTES; i++)
      snprintf(name + 2 * i, 3, "%02x", key[i]);
   static_assert(2 * TL_CACHE_KEY_BYTES + sizeof suffix <= NAME_BYTES, "the name fits");
   memcpy(name + 2 * TL_CACHE_KEY_BYTES, suffix, sizeof suffix);
}

static bool
is_hex(const char *text, size_t digits)
{
   return strspn(text, "0123456789abcdef") >= digits;
}

/* What random_name makes, with the endings that an assembler's files have. */
static bool
is_temp_name(const char *name)
{
   if (strncmp(name, "tmp-", 4) != 0)
      return false;
   size_t pid = strspn(name + 4, "0123456789");
   const char *random = name + 4 + pid + 1;
   if (!pid || name[4 + pid] != '-' || !is_hex(random, RANDOM_DIGITS))
      return false;
   const char *ending = random + RANDOM_DIGITS;
   return !*ending || strcmp(ending, ".ptx") == 0 || strcmp(ending, ".cubin") == 0;
}

static bool
is_lock_name(const char *name)
{
   return strcmp(name, prune_lock) == 0 ||
          (strncmp(name, "lock-", 5) == 0 && is_hex(name + 5, 2) && !name[7]);
}

/* The key in a file's name; false for files that are not entries. */
static bool
key_of(const char *name, uint8_t key[TL_CACHE_KEY_BYTES])
{
   if (strlen(name) != 2 * TL_CACHE_KEY_BYTES + sizeof suffix - 1 ||
       strcmp(name + 2 * TL_CACHE_KEY_BYTES, suffix) != 0)
      return false;
   for (int i = 0; i < 2 * TL_CACHE_KEY_BYTES; i++) {
      const char *digit = strchr("0123456789abcdef", name[i]);
      if (!digit)
         return false;
      unsigned value = (unsigned)(digit - "0123456789abcdef");
      key[i / 2] = (uint8_t)(i % 2 ? (unsigned)key[i / 2] << 4 | value : value);
   }
   return true;
}

/* ---- The file -------------------------------------------------------------------------------- */

static void
put_number(unsigned char *at, uint64_t v, int bytes)
{
   assert(bytes == 8 || v >> 8 * bytes == 0);
   for (int i = 0; i < bytes; i++)
      at[i] = (unsigned char)(v >> 8 * i);
}

static uint64_t
get_number(const unsigned char *at, int bytes)
{
   uint64_t v = 0;
   for (int i = 0; i < bytes; i++)
      v |= (uint64_t)at[i] << 8 * i;
   return v;
}

static unsigned char *
encode(const uint8_t *key, const TlCachePart *part, size_t *bytes)
{
   size_t len = HEADER_BYTES;
   for (int i = 0; i < TL_CACHE_PARTS; i++)
      len += part[i].len;
   unsigned char *block = len < MAX_ENTRY_BYTES ? malloc(len + TILEC_DIGEST_BYTES) : NULL;
   if (!block) {
      errno = len < MAX_ENTRY_BYTES ? ENOMEM : EFBIG;
      return NULL;
   }
   memcpy(block, magic, sizeof magic);
   put_number(block + 8, 1, 4);
   put_number(block + 12, TL_CACHE_PARTS, 4);
   memcpy(block + 16, key, TL_CACHE_KEY_BYTES);
   unsigned char *at = block + HEADER_BYTES;
   for (int i = 0; i < TL_CACHE_PARTS; i++) {
      put_number(block + 48 + 8 * i, part[i].len, 8);
      if (part[i].len)
         memcpy(at, part[i].data, part[i].len);
      at += part[i].len;
   }
   assert(at == block + len);
   tilec_digest(block, len, at);
   *bytes = len + TILEC_DIGEST_BYTES;
   return block;
}

/* Whether the bytes are an entry of this key, whole and unchanged. */
static bool
decode(unsigned char *block, size_t bytes, const uint8_t *key, TlCacheEntry *out)
{
   uint8_t digest[TILEC_DIGEST_BYTES];
   if (bytes < HEADER_BYTES + TILEC_DIGEST_BYTES || memcmp(block, magic, sizeof magic) != 0 ||
       get_number(block + 8, 4) != 1 || get_number(block + 12, 4) != TL_CACHE_PARTS ||
       memcmp(block + 16, key, TL_CACHE_KEY_BYTES) != 0)
      return false;
   size_t body = bytes - TILEC_DIGEST_BYTES, at = HEADER_BYTES;
   tilec_digest(block, body, digest);
   if (memcmp(digest, block + body, sizeof digest) != 0)
      return false;
   for (int i = 0; i < TL_CACHE_PARTS; i++) {
      uint64_t len = get_number(block + 48 + 8 * i, 8);
      assert(at <= body);
      if (len > body - at)
         return false;
      out->part[i] = (TlCachePart){block + at, (size_t)len};
      at += (size_t)len;
   }
   out->block = block;
   return at == body;
}

static unsigned char *
read_all(int fd, size_t bytes)
{
   unsigned char *block = malloc(bytes);
   for (size_t at = 0; block && at < bytes;) {
      ssize_t n = read(fd, block + at, bytes - at);
      if (n > 0) {
         at += (size_t)n;
      } else if (n == 0 || errno != EINTR) {
         free(block);
         return NULL;
      }
   }
   return block;
}

static bool
write_all(int fd, const unsigned char *block, size_t bytes)
{
   for (size_t at = 0; at < bytes;) {
      ssize_t n = write(fd, block + at, bytes - at);
      if (n > 0)
         at += (size_t)n;
      else if (n == 0 || errno != EINTR)
         return false;
   }
   return true;
}

/* A use, for the order of eviction.  A folder that may not be written to has no such order. */
static void
note_use(int fd, const struct stat *st)
{
   struct timespec now;
   if (clock_gettime(CLOCK_REALTIME, &now) == 0 &&
       (now.tv_sec - st->st_mtime > TOUCH_SECONDS || st->st_mtime - now.tv_sec > TOUCH_SECONDS))
      (void)futimens(fd, NULL);
}

static bool
read_entry(int dir, const char *name, const uint8_t *key, bool is_layer, TlCacheEntry *out)
{
   struct stat st;
   int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
   if (fd < 0)
      return false;
   unsigned char *block = NULL;
   if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
       st.st_size <= MAX_ENTRY_BYTES && (st.st_uid == geteuid() || (is_layer && st.st_uid == 0)))
      block = read_all(fd, (size_t)st.st_size);
   bool ok = block && decode(block, (size_t)st.st_size, key, out);
   assert(!ok || out->block == block); /* it is the entry's to free */
   if (ok && !is_layer)
      note_use(fd, &st);
   if (!ok)
      free(block);
   close(fd);
   return ok;
}

bool
tl_cache_get(TlCache *cache, const uint8_t key[TL_CACHE_KEY_BYTES], TlCacheEntry *out)
{
   char name[NAME_BYTES];
   name_of(key, name);
   *out = (TlCacheEntry){0};
   for (size_t i = 0; i <= cache->num_layers; i++) {
      const char *path = i ? cache->layers[i - 1] : cache->dir;
      int dir = path ? open_dir(path, i > 0, NULL) : -1;
      if (dir < 0)
         continue;
      bool hit = read_entry(dir, name, key, i > 0, out);
      close(dir);
      if (hit)
         return true;
   }
   return false;
}

void
tl_cache_entry_free(TlCacheEntry *entry)
{
   free(entry->block);
   *entry = (TlCacheEntry){0};
}

static uint64_t
random_number(void)
{
   uint64_t r;
   if (getrandom(&r, sizeof r, GRND_NONBLOCK) != (ssize_t)sizeof r) {
      struct timespec now; /* early in the life of a machine */
      clock_gettime(CLOCK_MONOTONIC, &now);
      r = (uint64_t)now.tv_nsec * 0x9e3779b97f4a7c15u ^ (uintptr_t)&now;
   }
   return r;
}

static void
random_name(char *name, size_t bytes)
{
   snprintf(name, bytes, "tmp-%ld-%0*llx", (long)getpid(), RANDOM_DIGITS,
            (unsigned long long)random_number());
}

/* The size is looked at once for each 1/32 of the limit that is written, on average and by all
 * processes together: by chance, since a process that writes one entry and ends could count to
 * nothing. */
static bool
is_time_to_look(const TlCache *cache, size_t written)
{
   uint64_t share = cache->max_bytes / SCAN_SHARE;
   return written >= share || random_number() % share < written;
}

bool
tl_cache_put(TlCache *cache, const uint8_t key[TL_CACHE_KEY_BYTES],
             const TlCachePart part[TL_CACHE_PARTS], char *why)
{
   char name[NAME_BYTES], temp[64];
   size_t bytes = 0;
   name_of(key, name);
   int dir = open_dir(cache->dir, false, why);
   if (dir < 0 && errno == ENOENT)
      dir = make_dir(cache->dir) ? open_dir(cache->dir, false, why)
                                 : (fail(why, "making cache folder", cache->dir), -1);
   if (dir < 0)
      return false;
   unsigned char *block = encode(key, part, &bytes);
   random_name(temp, sizeof temp);
   int fd =
      block ? openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
   bool ok = fd >= 0 && write_all(fd, block, bytes);
   int saved = errno;
   if (fd >= 0 && close(fd) != 0 && ok) {
      saved = errno; /* network file systems report a full disk here */
      ok = false;
   }
   errno = saved;
   if (ok && renameat(dir, temp, dir, name) != 0)
      ok = false;
   if (!ok) {
      fail(why, "writing to cache folder", cache->dir);
      if (fd >= 0)
         (void)unlinkat(dir, temp, 0);
   }
   free(block);
   close(dir);
   if (ok && is_time_to_look(cache, bytes))
      (void)tl_cache_prune(cache, TEMP_SECONDS, NULL);
   return ok;
}

bool
tl_cache_temp_path(TlCache *cache, const char *ending, char path[TL_CACHE_PATH])
{
   char name[64];
   int dir = open_dir(cache->dir, false, NULL);
   if (dir < 0 && !(errno == ENOENT && make_dir(cache->dir)))
      return false;
   if (dir >= 0)
      close(dir);
   random_name(name, sizeof name);
   int n = snprintf(path, TL_CACHE_PATH, "%s/%s%s", cache->dir, name, ending);
   return n > 0 && n < TL_CACHE_PATH;
}

/* ---- Locks ----------------------------------------------------------------------------------- */

static int
open_lock(const char *dir_path, const char *name)
{
   int dir = open_dir(dir_path, false, NULL);
   if (dir < 0 && errno == ENOENT && make_dir(dir_path))
      dir = open_dir(dir_path, false, NULL);
   if (dir < 0)
      return -1;
   int fd = openat(dir, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
   close(dir);
   return fd;
}

static bool
lock_within(int fd, uint32_t timeout_ms)
{
   assert(fd >= 0);
   for (uint32_t waited = 0, step = 1;; step = step < 32 ? step * 2 : step) {
      if (flock(fd, LOCK_EX | LOCK_NB) == 0)
         return true;
      if ((errno != EWOULDBLOCK && errno != EINTR) || waited >= timeout_ms)
         return false;
      struct timespec pause = {.tv_nsec = (long)step * 1000000};
      nanosleep(&pause, NULL);
      waited += step;
   }
}

/* Keys share 256 locks: a file for each would have to be removed some day, which cannot be done
 * safely while another process opens it. */
int
tl_cache_lock(TlCache *cache, const uint8_t key[TL_CACHE_KEY_BYTES], uint32_t timeout_ms)
{
   char name[16];
   snprintf(name, sizeof name, "lock-%02x", key[0]);
   int fd = open_lock(cache->dir, name);
   if (fd >= 0 && lock_within(fd, timeout_ms))
      return fd;
   if (fd >= 0)
      close(fd);
   return -1;
}

void
tl_cache_unlock(int lock)
{
   if (lock < 0)
      return;
   (void)flock(lock, LOCK_UN); /* a forked child may hold the same file open */
   close(lock);
}

/* ---- Size ------------------------------------------------------------------------------------ */

typedef struct Item {
   uint8_t key[TL_CACHE_KEY_BYTES];
   int64_t used;
   uint64_t bytes;
} Item;

static int
by_use(const void *a, const void *b)
{
   const Item *x = a, *y = b;
   return (x->used > y->used) - (x->used < y->used);
}

typedef struct Scan {
   int dir;
   TlCacheVisit how;
   bool prune_temp; /* remove temporary files older than temp_seconds */
   uint32_t temp_seconds;
   TlCacheStats stats;
   Item *items; /* kept only when `collect` */
   size_t room;
   bool collect;
} Scan;

static bool
keep_item(Scan *s, const Item *item)
{
   size_t n = (size_t)s->stats.entries;
   assert(!s->collect || n <= s->room);
   if (!s->collect)
      return true;
   if (n == s->room) {
      size_t room = s->room ? s->room * 2 : 256;
      Item *items = realloc(s->items, room * sizeof *items);
      if (!items)
         return false;
      s->items = items;
      s->room = room;
   }
   s->items[n] = *item;
   return true;
}

static bool
is_damaged(Scan *s, const char *name, const uint8_t *key)
{
   TlCacheEntry e = {0};
   bool ok = s->how != TL_CACHE_VERIFY || read_entry(s->dir, name, key, true, &e);
   tl_cache_entry_free(&e);
   return !ok;
}

/* A file may go at any moment: another process prunes, or finishes its writing. */
static bool
scan_file(Scan *s, const char *name)
{
   struct stat st;
   Item item;
   bool is_temp = is_temp_name(name), is_lock = is_lock_name(name);
   bool is_entry = key_of(name, item.key);
   if ((!is_temp && !is_lock && !is_entry) ||
       fstatat(s->dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
      return true;
   /* A file system's clock may be ahead of time() by a tick: all of them are 0 seconds old. */
   bool stale = is_temp && s->prune_temp &&
                (!s->temp_seconds || time(NULL) - st.st_mtime >= (time_t)s->temp_seconds);
   bool damaged = is_entry && is_damaged(s, name, item.key);
   s->stats.damaged += damaged;
   if (s->how == TL_CACHE_CLEAR || stale || damaged) {
      s->stats.removed += unlinkat(s->dir, name, 0) == 0;
      return true;
   }
   s->stats.temporary += is_temp;
   if (!is_entry)
      return true;
   item.used = st.st_mtime;
   item.bytes = (uint64_t)st.st_size;
   if (!keep_item(s, &item))
      return false;
   s->stats.oldest = s->stats.entries && s->stats.oldest < item.used ? s->stats.oldest : item.used;
   s->stats.newest = s->stats.newest > item.used ? s->stats.newest : item.used;
   s->stats.entries++;
   s->stats.bytes += item.bytes;
   return true;
}

static bool
scan(Scan *s)
{
   int fd = fcntl(s->dir, F_DUPFD_CLOEXEC, 0);
   DIR *list = fd < 0 ? NULL : fdopendir(fd);
   if (!list) {
      if (fd >= 0)
         close(fd);
      return false;
   }
   bool ok = true;
   for (struct dirent *d; ok && (d = readdir(list));)
      ok = scan_file(s, d->d_name);
   closedir(list);
   if (ok && s->collect && s->stats.entries)
      qsort(s->items, (size_t)s->stats.entries, sizeof *s->items, by_use);
   return ok;
}

bool
tl_cache_prune(TlCache *cache, uint32_t temp_seconds, char *why)
{
   int lock = open_lock(cache->dir, prune_lock);
   if (lock < 0 || !lock_within(lock, PRUNE_MS)) {
      if (lock >= 0)
         close(lock);
      return true; /* others are at it */
   }
   Scan s = {.dir = open_dir(cache->dir, false, why),
             .how = TL_CACHE_COUNT,
             .prune_temp = true,
             .temp_seconds = temp_seconds,
             .collect = true};
   bool ok = s.dir >= 0 && scan(&s);
   if (ok && s.stats.bytes > cache->max_bytes) {
      uint64_t aim = cache->max_bytes / 4 * 3;
      for (size_t i = 0; i < s.stats.entries && s.stats.bytes > aim; i++) {
         char name[NAME_BYTES];
         assert(i == 0 || s.items[i - 1].used <= s.items[i].used); /* oldest first */
         assert(s.items[i].bytes <= s.stats.bytes);
         name_of(s.items[i].key, name);
         if (unlinkat(s.dir, name, 0) == 0)
            s.stats.bytes -= s.items[i].bytes;
      }
   }
   if (s.dir >= 0 && !ok)
      fail(why, "reading cache folder", cache->dir);
   if (s.dir >= 0)
      close(s.dir);
   free(s.items);
   tl_cache_unlock(lock);
   return ok;
}

bool
tl_cache_visit(const char *dir, TlCacheVisit how, TlCacheStats *out, char *why)
{
   *out = (TlCacheStats){0};
   int fd = open_dir(dir, false, why);
   if (fd < 0)
      return errno == ENOENT;
   Scan s = {
      .dir = fd, .how = how, .prune_temp = how != TL_CACHE_COUNT, .temp_seconds = TEMP_SECONDS};
   bool ok = scan(&s);
   if (!ok)
      fail(why, "reading cache folder", dir);
   close(fd);
   *out = s.stats;
   return ok;
}
