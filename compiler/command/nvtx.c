/* The client's side of NVTX 3, as far as ranges need it: numbers and layouts are those of NVIDIA's
 * public header nvtx3/nvtxDetail/nvtxTypes.h, which injection libraries are compiled against. */
#include "command/nvtx.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { TABLE_CALLBACKS = 1, TABLE_VERSION = 3 };        /* NVTX_ETID_* */
enum { MODULE_CORE = 1, MODULE_CORE2 = 5 };             /* NVTX_CB_MODULE_* */
enum { RANGE_PUSH = 9, RANGE_POP = 11, NUM_CORE = 16 }; /* NVTX_CBID_CORE_* */
enum { NUM_CORE2 = 16 };                                /* NVTX_CBID_CORE2_*: none is called */

typedef void Function(void);
typedef int PushFn(const char *message);
typedef int PopFn(void);

/* The library keeps these addresses and is given no pointer of ours with them, so that they are
 * the process's: they are set once, by tl_nvtx_open. */
static Function *core[NUM_CORE], *core2[NUM_CORE2];
static Function **core_table[NUM_CORE], **core2_table[NUM_CORE2];

/* Slot 0 is nobody's; the size is the highest number. */
static int
module_table(int module, Function ****table, unsigned *size)
{
   if (module != MODULE_CORE && module != MODULE_CORE2)
      return 0;
   if (table)
      *table = module == MODULE_CORE ? core_table : core2_table;
   if (size)
      *size = (module == MODULE_CORE ? NUM_CORE : NUM_CORE2) - 1;
   return 1;
}

static void
take_version(uint32_t version)
{
   (void)version; /* what a newer library knows besides is not asked for */
}

static const void *
export_table(uint32_t id)
{
   static const struct {
      size_t struct_size;
      int (*module_table)(int module, Function ****table, unsigned *size);
   } callbacks = {sizeof callbacks, module_table};
   static const struct {
      size_t struct_size;
      uint32_t version, reserved;
      void (*take_version)(uint32_t version);
   } version = {sizeof version, 3, 0, take_version};
   return id == TABLE_CALLBACKS ? (const void *)&callbacks
          : id == TABLE_VERSION ? (const void *)&version
                                : NULL;
}

void
tl_nvtx_open(void)
{
   const char *path = getenv("NVTX_INJECTION64_PATH");
   void *library = path && *path ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : NULL;
   if (!library)
      return;
   for (unsigned i = 1; i < NUM_CORE; i++)
      core_table[i] = &core[i];
   for (unsigned i = 1; i < NUM_CORE2; i++)
      core2_table[i] = &core2[i];
   int (*start)(const void *(*)(uint32_t));
   *(void **)&start = dlsym(library, "InitializeInjectionNvtx2");
   if (!start || !start(export_table))
      core[RANGE_PUSH] = core[RANGE_POP] = NULL;
}

void
tl_nvtx_push(const char *name)
{
   if (core[RANGE_PUSH])
      ((PushFn *)core[RANGE_PUSH])(name);
}

void
tl_nvtx_pop(void)
{
   if (core[RANGE_POP])
      ((PopFn *)core[RANGE_POP])();
}
