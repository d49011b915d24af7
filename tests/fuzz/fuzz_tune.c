/* Records of the tuner.  The first byte even: the rest is JSON to import; what the database then
 * holds is exported and imported again, and must be the same.  Odd: the rest is the file of the
 * database itself. */
#define _GNU_SOURCE
#include "jit/tune_db.h"
#include "tilec/runtime.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_TEXT = 1 << 18 };

typedef struct Text {
   size_t len;
   char text[MAX_TEXT];
} Text;

static char path[2][96];

static bool
put(void *user, const char *text, size_t len)
{
   Text *t = user;
   if (len > sizeof t->text - t->len)
      return false;
   memcpy(t->text + t->len, text, len);
   t->len += len;
   return true;
}

static void
remove_files(void)
{
   for (int i = 0; i < 2; i++) {
      char more[128];
      unlink(path[i]);
      snprintf(more, sizeof more, "%s-journal", path[i]);
      unlink(more);
   }
}

static void
name_files(void)
{
   struct stat st;
   for (int i = 0; i < 2; i++)
      snprintf(path[i], sizeof path[i], "%s/tilec-fuzz-%ld-%d.db",
               stat("/dev/shm", &st) == 0 ? "/dev/shm" : "/tmp", (long)getpid(), i);
   atexit(remove_files);
}

static void
import_text(const char *json, size_t len)
{
   static Text first, second;
   char error[256] = "";
   uint32_t count, again;
   TilecStatus status = tilec_tune_import(path[0], json, len, &count, error, sizeof error);
   if (status != TILEC_OK && !error[0])
      abort(); /* refused without a reason */
   first.len = second.len = 0;
   if (status != TILEC_OK ||
       tilec_tune_export(path[0], put, &first, error, sizeof error) != TILEC_OK)
      return;
   if (tilec_tune_import(path[1], first.text, first.len, &again, error, sizeof error) != TILEC_OK ||
       tilec_tune_export(path[1], put, &second, error, sizeof error) != TILEC_OK ||
       first.len != second.len || memcmp(first.text, second.text, first.len) != 0) {
      fprintf(stderr, "%s\n%.*s\n%.*s\n", error, (int)first.len, first.text, (int)second.len,
              second.text);
      abort();
   }
}

static void
open_file(const uint8_t *data, size_t size)
{
   int fd = open(path[0], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
   if (fd < 0 || write(fd, data, size) != (ssize_t)size)
      abort();
   close(fd);
   TlTuneId id = {"GPU, sm_90a, 132 SMs", "k", "0123", "n=1; x=*fp16"};
   char config[TL_TUNE_CONFIG_BYTES], note[TL_TUNE_NOTE_BYTES], error[256];
   tl_tune_db_get(path[0], &id, config, note);
   tl_tune_db_put(path[0], &id, "BLOCK=128", 1.5, 2, note);
   static Text all;
   all.len = 0;
   (void)!tilec_tune_export(path[0], put, &all, error, sizeof error);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
   if (!path[0][0])
      name_files();
   if (size < 1)
      return 0;
   remove_files();
   if (data[0] % 2)
      open_file(data + 1, size - 1);
   else
      import_text((const char *)data + 1, size - 1);
   return 0;
}
