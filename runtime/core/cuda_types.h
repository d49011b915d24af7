/* The part of the CUDA Driver API's binary interface that the runtime uses, in our own words:
 * handle types, constants and the launch structs.  Checked against a toolkit header by nothing at
 * build time, since none is needed; the numbers are ABI and never change. */
#ifndef TL_RT_CUDA_TYPES_H
#define TL_RT_CUDA_TYPES_H

#include <stddef.h>
#include <stdint.h>

typedef int TlCuResult; /* CUresult; see cuda_results.def */
typedef int TlCuDevice;
typedef uint64_t TlCuPtr;
typedef struct TlCuContext_ *TlCuContext;
typedef struct TlCuModule_ *TlCuModule;
typedef struct TlCuFunction_ *TlCuFunction;
typedef struct TlCuStream_ *TlCuStream;
typedef struct TlCuEvent_ *TlCuEvent;

enum {
   TL_CU_SUCCESS = 0,
   TL_CU_INVALID_VALUE = 1,
   TL_CU_OUT_OF_MEMORY = 2,
   TL_CU_NOT_READY = 600,
};

/* cuDeviceGetAttribute */
enum {
   TL_CU_DEV_MAX_THREADS = 1,
   TL_CU_DEV_WARP_SIZE = 10,
   TL_CU_DEV_CLOCK_KHZ = 13,
   TL_CU_DEV_NUM_SMS = 16,
   TL_CU_DEV_L2_BYTES = 38,
   TL_CU_DEV_SM_MAJOR = 75,
   TL_CU_DEV_SM_MINOR = 76,
   TL_CU_DEV_PAGEABLE = 88, /* reads host memory that the driver was never told of */
   TL_CU_DEV_MAX_SHARED_OPTIN = 97,
   TL_CU_DEV_MPS_ENABLED = 133, /* processes share a context of the MPS server */
};

/* cuPointerGetAttribute */
enum {
   TL_CU_PTR_MEMORY_TYPE = 2,
   TL_CU_PTR_IS_MANAGED = 8,
   TL_CU_PTR_DEVICE = 9,
   TL_CU_PTR_RANGE_START = 11,
   TL_CU_PTR_RANGE_BYTES = 12,
};
enum {
   TL_CU_MEMORY_HOST = 1,
   TL_CU_MEMORY_DEVICE = 2,
};

/* cuModuleLoadDataEx options */
enum {
   TL_CU_JIT_INFO_LOG = 3,
   TL_CU_JIT_INFO_LOG_BYTES = 4,
   TL_CU_JIT_ERROR_LOG = 5,
   TL_CU_JIT_ERROR_LOG_BYTES = 6,
   TL_CU_JIT_LOG_VERBOSE = 12,
};

/* cuFuncGetAttribute, cuFuncSetAttribute */
enum {
   TL_CU_FUNC_SHARED_STATIC = 1,
   TL_CU_FUNC_LOCAL_BYTES = 3,
   TL_CU_FUNC_NUM_REGS = 4,
   TL_CU_FUNC_MAX_DYNAMIC_SHARED = 8,
   TL_CU_FUNC_NON_PORTABLE_CLUSTER = 14,
};

/* cuEventCreate */
enum {
   TL_CU_EVENT_BLOCKING_SYNC = 1, /* cuEventSynchronize sleeps */
   TL_CU_EVENT_DISABLE_TIMING = 2,
};

/* CUlaunchAttribute and CUlaunchConfig of cuLaunchKernelEx */
enum {
   TL_CU_ATTR_COOPERATIVE = 2,
   TL_CU_ATTR_CLUSTER = 4,
   TL_CU_ATTR_PROGRAMMATIC = 6,
};

typedef struct TlCuLaunchAttr {
   int id;      /* TL_CU_ATTR_… */
   char pad[4]; /* the value starts at byte 8 */
   union {
      char bytes[64];      /* its size in the ABI */
      int flag;            /* cooperative, programmatic */
      uint32_t cluster[3]; /* x, y, z */
   } value;
} TlCuLaunchAttr;

typedef struct TlCuLaunchConfig {
   uint32_t grid[3];
   uint32_t block[3];
   uint32_t shared_bytes;
   TlCuStream stream;
   TlCuLaunchAttr *attrs;
   uint32_t num_attrs;
} TlCuLaunchConfig;

/* CUtensorMap: 128 opaque bytes; 64-aligned, 128 from CUDA 13 on */
typedef struct TlCuTensorMap {
   _Alignas(128) uint64_t opaque[16];
} TlCuTensorMap;

/* CUtensorMapDataType */
enum {
   TL_CU_TMAP_U8 = 0,
   TL_CU_TMAP_U16 = 1,
   TL_CU_TMAP_U32 = 2,
   TL_CU_TMAP_I32 = 3,
   TL_CU_TMAP_U64 = 4,
   TL_CU_TMAP_I64 = 5,
   TL_CU_TMAP_F16 = 6,
   TL_CU_TMAP_F32 = 7,
   TL_CU_TMAP_F64 = 8,
   TL_CU_TMAP_BF16 = 9,
};
/* CUtensorMapL2promotion */
enum {
   TL_CU_TMAP_L2_128B = 2,
   TL_CU_TMAP_L2_256B = 3,
};

#endif
