/* What the consumers themselves need of the driver: a context and memory. */
#ifndef CONSUMER_DRIVER_H
#define CONSUMER_DRIVER_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define DRIVER(X)                                                                                  \
   X(cuInit, (unsigned flags))                                                                     \
   X(cuDeviceGet, (int *device, int ordinal))                                                      \
   X(cuDevicePrimaryCtxRetain, (void **context, int device))                                       \
   X(cuDevicePrimaryCtxRelease_v2, (int device))                                                   \
   X(cuCtxPushCurrent_v2, (void *context))                                                         \
   X(cuCtxPopCurrent_v2, (void **context))                                                         \
   X(cuCtxSynchronize, (void))                                                                     \
   X(cuMemAlloc_v2, (uint64_t *address, size_t bytes))                                             \
   X(cuMemFree_v2, (uint64_t address))                                                             \
   X(cuMemcpyHtoDAsync_v2, (uint64_t to, const void *from, size_t bytes, void *stream))            \
   X(cuMemcpyDtoHAsync_v2, (void *to, uint64_t from, size_t bytes, void *stream))

typedef struct Driver {
#define MEMBER(name, params) int(*name) params;
   DRIVER(MEMBER)
#undef MEMBER
   void *library;
} Driver;

/* 0 without a driver. */
static inline int
open_driver(Driver *cu)
{
   static const struct {
      const char *name;
      size_t at;
   } symbols[] = {
#define ROW(name, params) {#name, offsetof(Driver, name)},
      DRIVER(ROW)
#undef ROW
   };
   cu->library = dlopen("libcuda.so.1", RTLD_NOW);
   for (size_t i = 0; cu->library && i < sizeof symbols / sizeof symbols[0]; i++) {
      void *address = dlsym(cu->library, symbols[i].name);
      if (!address)
         return 0;
      memcpy((char *)cu + symbols[i].at, &address, sizeof address);
   }
   return cu->library && cu->cuInit(0) == 0;
}

#endif
