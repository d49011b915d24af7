/* libcuda.so.1 by dlopen: the only place that knows symbol names.  Leaves out cuLink*, which
 * ignores setmaxnreg. */
#include "core/cuda_load.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef struct Symbol {
   const char *name; /* in the library */
   int since;        /* driver version that brought it; 0 = always required */
   size_t at;        /* offset of its member in TlCuda */
} Symbol;

static const Symbol symbols[] = {
#define TL_CU(member, symbol, since, params) {symbol, since, offsetof(TlCuda, member)},
#include "core/cuda_api.def"
};

static const struct {
   int code;
   TlCuMeaning meaning;
} results[] = {
#define TL_CU_RESULT(number, name, status, loss)                                                   \
   {number, {number ? "CUDA_ERROR_" #name : "CUDA_SUCCESS", TILEC_##status, TILEC_##loss}},
#include "core/cuda_results.def"
};

TlCuMeaning
tl_cu_meaning(TlCuResult code)
{
   for (size_t i = 0; i < sizeof results / sizeof results[0]; i++)
      if (results[i].code == code)
         return results[i].meaning;
   return (TlCuMeaning){"unknown CUDA error", TILEC_DRIVER_ERROR, TILEC_NOT_LOST};
}

unsigned
tl_cu_ptx_version(int version)
{
   /* PTX ISA release notes: which CUDA release brought which PTX */
   static const struct {
      int cuda;
      unsigned ptx;
   } table[] = {{12000, 80}, {12010, 81}, {12020, 82}, {12030, 83}, {12040, 84},
                {12050, 85}, {12070, 86}, {12080, 87}, {12090, 88}, {13000, 90}};
   unsigned ptx = 0;
   for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
      if (version >= table[i].cuda)
         ptx = table[i].ptx;
   if (version >= 13000 && version < 14000)
      ptx = 90 + (unsigned)(version - 13000) / 10; /* 9.x goes with CUDA 13.x so far */
   return ptx;
}

static TilecStatus
find_symbols(TlCuda *cu, const char *path, char *error, size_t error_bytes)
{
   for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
      void *address = dlsym(cu->library, symbols[i].name);
      if (!address && symbols[i].since == 0) {
         snprintf(error, error_bytes, "%s has no %s; a driver for CUDA 12.0 or newer is needed",
                  path, symbols[i].name);
         return TILEC_DRIVER_TOO_OLD;
      }
      memcpy((char *)cu + symbols[i].at, &address, sizeof address);
   }
   return TILEC_OK;
}

static TilecStatus
start(TlCuda *cu, char *error, size_t error_bytes)
{
   const char *call = "cuDriverGetVersion";
   TlCuResult code = cu->driver_version(&cu->version);
   if (code == TL_CU_SUCCESS && cu->version < TL_CU_OLDEST_DRIVER) {
      snprintf(error, error_bytes, "the driver is for CUDA %d.%d; 12.0 or newer is needed",
               cu->version / 1000, cu->version % 1000 / 10);
      return TILEC_DRIVER_TOO_OLD;
   }
   if (code == TL_CU_SUCCESS) {
      call = "cuInit";
      code = cu->init(0);
   }
   if (code != TL_CU_SUCCESS) {
      TlCuMeaning meaning = tl_cu_meaning(code);
      snprintf(error, error_bytes, "%s: %s (%d)%s", call, meaning.name, code,
               meaning.loss ? "; " TL_CU_LOST : "");
      return meaning.status;
   }
   return TILEC_OK;
}

TilecStatus
tl_cu_load(TlCuda *cu, const char *path, char *error, size_t error_bytes)
{
   memset(cu, 0, sizeof *cu);
   if (!path)
      path = "libcuda.so.1";
   cu->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
   if (!cu->library) {
      const char *why = dlerror();
      snprintf(error, error_bytes,
               "cannot open the NVIDIA driver: %s; without a GPU kernels run on the executors cpu "
               "and sim",
               why ? why : path);
      return TILEC_NO_DRIVER;
   }
   TilecStatus status = find_symbols(cu, path, error, error_bytes);
   if (status == TILEC_OK)
      status = start(cu, error, error_bytes);
   if (status != TILEC_OK) {
      dlclose(cu->library);
      memset(cu, 0, sizeof *cu);
   }
   return status;
}
