/* Arrays and values of the command line.  The first byte: even, the rest is a .npy file (the byte
 * chooses the element type asked for); odd, the rest is the VALUE of --arg. */
#define _GNU_SOURCE
#include "command/value.h"
#include "limited.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned long sum;

static void
read_file(TlArena *arena, const uint8_t *data, size_t size, TlDtype want)
{
   int fd = memfd_create("npy", MFD_CLOEXEC);
   if (fd < 0 || write(fd, data, size) != (ssize_t)size)
      abort();
   char path[64];
   snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
   TlArray a = {0};
   const char *why = NULL;
   if (tl_npy_read(arena, path, want, &a, &why)) {
      for (uint64_t i = 0; i < a.bytes; i++)
         sum += ((unsigned char *)a.data)[i];
      TlSb head;
      tl_sb_init(&head, arena);
      tl_npy_head(&a, &head);
   } else if (!why || !*why) {
      abort(); /* refused without a reason */
   }
   tl_array_free(&a);
   close(fd);
}

/* Sizes that would only take time are left out. */
static bool
is_large(const char *text)
{
   unsigned digits = 0;
   for (const char *t = strchr(text, '['); t && *t; t++)
      digits += *t >= '0' && *t <= '9';
   return digits > 6 || strchr(text, '@') != NULL; /* which is a file of this machine */
}

static void
read_value(TlArena *arena, const uint8_t *data, size_t size)
{
   char *text = tl_arena_strndup(arena, (const char *)data, size);
   TlCliValue v = {0};
   const char *why = NULL;
   if (is_large(text))
      return;
   if (!tl_cli_value(arena, text, &v, &why) && (!why || !*why))
      abort();
   tl_array_free(&v.array);
}

static void
run(TlArena *arena, const uint8_t *data, size_t size)
{
   if (data[0] % 2)
      read_value(arena, data + 1, size - 1);
   else
      read_file(arena, data + 1, size - 1,
                data[0] / 2 % 3 ? (TlDtype)(data[0] / 2 % TL_DTYPE_COUNT) : TL_DTYPE_COUNT);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
   fuzz_limited((size_t)64 << 20, run, data, size);
   return 0;
}
