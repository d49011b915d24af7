/* What a profiler injects, for tests: ranges are printed on standard error. */
#include <stdint.h>
#include <stdio.h>

typedef void Function(void);
typedef struct Callbacks {
   size_t struct_size;
   int (*module_table)(int module, Function ****table, unsigned *size);
} Callbacks;

static int depth;

static int
push(const char *message)
{
   fprintf(stderr, "nvtx: %s begins\n", message);
   return depth++;
}

static int
pop(void)
{
   fprintf(stderr, "nvtx: depth %d ends\n", --depth);
   return depth;
}

typedef struct Version {
   size_t struct_size;
   uint32_t version, reserved;
   void (*take_version)(uint32_t version);
} Version;

__attribute__((visibility("default"))) int
InitializeInjectionNvtx2(const void *(*export_table)(uint32_t id))
{
   const Callbacks *callbacks = export_table(1);
   const Version *version = export_table(3);
   Function ***table;
   unsigned size;
   if (version && version->struct_size >= sizeof *version)
      version->take_version(3);
   if (!callbacks || callbacks->struct_size < sizeof *callbacks || export_table(99) ||
       callbacks->module_table(2, &table, &size) || !callbacks->module_table(1, &table, &size) ||
       size < 11)
      return 0;
   *table[9] = (Function *)push;
   *table[11] = (Function *)pop;
   return 1;
}
