/* The driver as a table of functions, filled by dlopen.  One table per runtime; the library itself
 * is never closed once cuInit succeeded, because driver threads may run in it until the process
 * ends. */
#ifndef TL_RT_CUDA_LOAD_H
#define TL_RT_CUDA_LOAD_H

#include "core/cuda_types.h"
#include "tilec/runtime.h"

typedef struct TlCuda {
#define TL_CU(member, symbol, since, params) TlCuResult(*member) params;
#include "core/cuda_api.def"
   int version;   /* of the driver: 12040 = CUDA 12.4 */
   void *library; /* dlopen handle */
} TlCuda;

enum { TL_CU_OLDEST_DRIVER = 12000 };

/* Opens, checks the version, calls cuInit.  On failure `error` says why and nothing stays open. */
TilecStatus tl_cu_load(TlCuda *cu, const char *path, char *error, size_t error_bytes);

/* What a CUresult means to our callers.  Unknown codes: TILEC_DRIVER_ERROR, not lost. */
typedef struct TlCuMeaning {
   const char *name; /* "CUDA_ERROR_ILLEGAL_ADDRESS" */
   TilecStatus status;
   TilecLoss loss;
} TlCuMeaning;
TlCuMeaning tl_cu_meaning(TlCuResult code);
#define TL_CU_LOST "the GPU cannot be used by this process any more"

/* Newest PTX version (84 = 8.4) that a driver of CUDA `version` loads. */
unsigned tl_cu_ptx_version(int version);

#endif
