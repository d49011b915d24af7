/* Entries of the disk cache.  The first byte even: the rest is what stands between header and
 * checksum, which are made right for it, so that the reader of the parts sees it; odd: the rest is
 * the whole file. */
#define _GNU_SOURCE
#include "jit/stored.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_FILE = 1 << 16, DIGEST = TILEC_DIGEST_BYTES, LENGTHS = 8 * TL_CACHE_PARTS, START = 48 };

static char dir[64], path[160];
static const uint8_t key[TL_CACHE_KEY_BYTES];
static unsigned long sum;

static void
remove_dir(void)
{
   unlink(path);
   rmdir(dir);
}

static void
make_dir(void)
{
   struct stat st;
   snprintf(dir, sizeof dir, "%s/tilec-fuzz-XXXXXX",
            stat("/dev/shm", &st) == 0 ? "/dev/shm" : "/tmp");
   if (!mkdtemp(dir))
      abort();
   int n = snprintf(path, sizeof path, "%s/", dir);
   for (int i = 0; i < TL_CACHE_KEY_BYTES; i++)
      n += snprintf(path + n, sizeof path - (size_t)n, "%02x", key[i]);
   snprintf(path + n, sizeof path - (size_t)n, ".tilec");
   atexit(remove_dir);
}

/* Lengths of the parts, two bytes each, then the parts; the last takes what is left. */
static size_t
sealed(const uint8_t *data, size_t size, uint8_t *file)
{
   static const uint8_t head[16] = {'t',  'i', 'l', 'e', 'c', '\r',          '\n',
                                    0x1a, 1,   0,   0,   0,   TL_CACHE_PARTS};
   if (size < 2 * TL_CACHE_PARTS || size > MAX_FILE - 1024)
      return 0;
   memcpy(file, head, sizeof head);
   memcpy(file + sizeof head, key, sizeof key);
   const uint8_t *body = data + 2 * TL_CACHE_PARTS;
   size_t left = size - 2 * TL_CACHE_PARTS, len = left;
   for (int i = 0; i < TL_CACHE_PARTS; i++) {
      size_t n = data[2 * i] | (size_t)data[2 * i + 1] << 8;
      if (n > left || i == TL_CACHE_PARTS - 1)
         n = left;
      left -= n;
      for (int b = 0; b < 8; b++)
         file[START + 8 * i + b] = (uint8_t)((uint64_t)n >> 8 * b);
   }
   memcpy(file + START + LENGTHS, body, len);
   len += START + LENGTHS;
   tilec_digest(file, len, file + len);
   return len + DIGEST;
}

static void
add(void *user, const TilecDiag *d)
{
   (void)user;
   sum += strlen(d->rendered) + (unsigned)d->severity;
}

static void
add_bytes(const void *data, size_t len)
{
   for (size_t i = 0; i < len; i++)
      sum += ((const unsigned char *)data)[i];
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
   static uint8_t file[MAX_FILE];
   if (!dir[0])
      make_dir();
   if (size < 1 || size > MAX_FILE)
      return 0;
   bool whole = data[0] % 2;
   size_t len = whole ? size - 1 : sealed(data + 1, size - 1, file);
   int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
   if (fd < 0 || write(fd, whole ? data + 1 : file, len) != (ssize_t)len)
      abort();
   close(fd);
   TlCache cache = {.dir = dir, .max_bytes = 1 << 20};
   TlStored stored;
   if (tl_stored_get(&cache, key, &stored)) {
      add_bytes(stored.ptx, stored.ptx_len);
      add_bytes(stored.json, stored.json_len);
      add_bytes(stored.cubin, stored.cubin_len);
      tl_stored_replay(&stored, add, NULL);
      tl_stored_free(&stored);
   }
   TlCacheStats stats;
   char why[TL_CACHE_WHY];
   tl_cache_visit(dir, TL_CACHE_COUNT, &stats, why);
   return 0;
}
