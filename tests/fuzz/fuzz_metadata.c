/* Launch records (K.json): read; what was read is written and read again to the same text, and
 * loaded into a runtime over the stand-in driver, where its kernels are launched.  Rules, grids and
 * tensor maps of the record are evaluated by that. */
#include "tilec/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_JSON = 1 << 18, MAX_ARGS = 40, MEMORY_BYTES = 4096 };

typedef struct Json {
   size_t len;
   char text[MAX_JSON];
} Json;

static bool
put(void *user, const char *text, size_t len)
{
   Json *j = user;
   if (len > sizeof j->text - j->len)
      return false;
   memcpy(j->text + j->len, text, len);
   j->len += len;
   return true;
}

/* One text for one record: written, read, written again. */
static void
comes_back(const TilecImageInfo *info)
{
   static Json first, second;
   first.len = second.len = 0;
   if (tilec_image_write_json(info, put, &first) != TILEC_OK)
      return; /* longer than what fits here */
   TilecImageInfo *again;
   char error[256];
   if (tilec_image_read_json(first.text, first.len, &again, error, sizeof error) != TILEC_OK) {
      fprintf(stderr, "%.*s\n%s\n", (int)first.len, first.text, error);
      abort();
   }
   if (tilec_image_write_json(again, put, &second) != TILEC_OK || second.len != first.len ||
       memcmp(first.text, second.text, first.len) != 0)
      abort();
   tilec_image_info_free(again);
}

/* PTX with the entries that the record names, for the stand-in driver to find. */
static size_t
image_of(const TilecImageInfo *info, char *ptx, size_t room)
{
   size_t len = 0;
   ptx[0] = 0;
   for (uint32_t i = 0; i < info->num_kernels && len < room; i++) {
      int n = snprintf(ptx + len, room - len, ".visible .entry %s()\n", info->kernels[i].entry);
      len += n > 0 ? (size_t)n : 0;
   }
   return len < room ? len : room - 1;
}

static void
launch(TilecModule *m, const TilecKernelInfo *k)
{
   static char memory[MEMORY_BYTES];
   TilecKernel *kernel;
   if (tilec_module_kernel(m, k->name, &kernel) != TILEC_OK)
      return;
   TilecArg args[MAX_ARGS];
   size_t num = 0;
   for (uint32_t i = 0; i < k->num_args && num < MAX_ARGS; i++) {
      const TilecArgInfo *a = &k->args[i];
      if (!a->is_constexpr)
         args[num++] = a->type[0] == '*'      ? tilec_ptr(TILEC_DTYPE_NONE, memory, sizeof memory)
                       : strchr(a->type, 'f') ? tilec_fp32(1)
                                              : tilec_int(TILEC_I32, 16 * (int)i);
   }
   const TilecLaunch how[] = {{.grid = {TILEC_OWN_GRID}}, {.grid = {1, 2, 3}}};
   for (unsigned i = 0; i < 2; i++)
      (void)!tilec_launch(kernel, &how[i], args, num);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
   static TilecRuntime *rt;
   TilecRuntimeOptions o = {.struct_size = sizeof o, .driver_path = FAKE_DRIVER};
   if (!rt && tilec_runtime_open(&o, &rt) != TILEC_OK)
      abort();
   TilecImageInfo *info;
   char error[256] = "";
   if (tilec_image_read_json((const char *)data, size, &info, error, sizeof error) != TILEC_OK) {
      if (!error[0])
         abort();
      return 0;
   }
   comes_back(info);
   static char ptx[MAX_JSON];
   size_t len = image_of(info, ptx, sizeof ptx);
   TilecModule *m;
   if (tilec_module_load(rt, ptx, len, (const char *)data, size, &m) == TILEC_OK) {
      for (uint32_t i = 0; i < info->num_kernels; i++)
         launch(m, &info->kernels[i]);
      tilec_module_free(m);
   }
   tilec_image_info_free(info);
   return 0;
}
