/* The launch record of compiled kernels: what the compiler tells whoever launches them.  A C struct
 * in memory, JSON beside the PTX on disk (K.ptx, K.json); tilec_image_write_json and
 * tilec_image_read_json are the only writer and reader.  Everything needed to launch by hand with
 * the bare driver is here.
 *
 * Expressions (`grid`, `when`, tensor-map dimensions) are text over the kernel's parameter names:
 * 64-bit integers, + - * // / % (floor division, Python's sign rules), << >> & | ^ ~, comparisons,
 * and or not, `a if c else b`, cdiv(a, b), min(..), max(..), True, False.  Pointers count as their
 * address, None as 0, constexpr parameters as their value. */
#ifndef TILEC_KERNEL_INFO_H
#define TILEC_KERNEL_INFO_H

#include "tilec/arg.h"

#define TILEC_IMAGE_FORMAT 1u /* raised when an old reader would launch a new record wrongly */

/* One parameter of the kernel as written in the source, in source order.  A tensor descriptor is
 * several: the pointer, whose type says "tensordesc<..>", the size of each dimension (i32), and the
 * strides in elements of all but the last (i64). */
typedef struct TilecArgInfo {
   const char *name;
   const char *type;   /* signature spelling without facts: "*fp16", "i32", "fp32"; "constexpr";
                          "tensordesc<fp16[128,64]>" */
   const char *value;  /* NULL, or the constant the code was compiled for, as text: "1", "None",
                          "0.5", "True", "'relu'".  Such a parameter is not passed to the entry. */
   bool is_constexpr;  /* compile-time parameter: has `value`, and is not an argument of a launch.
                          A parameter with `value` that is not constexpr (folded because == 1 or
                          None) still is an argument of the launch; its value must agree. */
   bool is_const;      /* pointer that nothing is written through */
   uint32_t divisible; /* the code relies on address or value being a multiple of this; 0 = no */
} TilecArgInfo;

/* What the launcher passes after the visible arguments, in order. */
typedef enum TilecHiddenKind {
   TILEC_HIDDEN_TENSOR_MAP = 1, /* 128 bytes, 64-aligned, by value: a CUtensorMap of the rest */
   TILEC_HIDDEN_EXPR = 2,       /* a 32- or 64-bit integer: the value of dims[0], which may use what
                                   launch_grid may */
} TilecHiddenKind;

#define TILEC_TENSOR_MAP_RANK 5

typedef struct TilecHiddenArg {
   TilecHiddenKind kind;
   const char *base;                           /* tensor map: expression of the address */
   TilecDtype dtype;                           /* tensor map: element type; EXPR: I32 or I64 */
   uint32_t rank;                              /* tensor map: 1 … 5 */
   const char *dims[TILEC_TENSOR_MAP_RANK];    /* elements per dimension, innermost first */
   const char *strides[TILEC_TENSOR_MAP_RANK]; /* bytes, of dimension 1 … rank-1 at [1 … rank-1] */
   uint32_t box[TILEC_TENSOR_MAP_RANK];        /* elements per copy, innermost first */
   uint32_t swizzle_bytes;                     /* 0, 32, 64 or 128 */
   bool fill_nan;                              /* out-of-bounds elements read as NaN, else 0 */
} TilecHiddenArg;

/* One entry of the module.  Several entries with one `name` are variants: the first whose facts
 * (divisible, value) and `when` hold for a launch's arguments is taken. */
typedef struct TilecKernelInfo {
   const char *name;   /* the kernel's name in the source */
   const char *entry;  /* its symbol in the PTX */
   const char *file;   /* source file as given to the compiler; NULL if none */
   uint32_t line;      /* where the kernel begins, decorators included, from 1; 0 = unknown */
   uint32_t num_warps; /* as asked for in the source's terms */
   uint32_t num_stages;
   uint32_t threads;      /* block size to launch with, warp-specialised extra warps included */
   uint32_t shared_bytes; /* dynamic shared memory to launch with */
   uint32_t cluster[3];   /* blocks per cluster; 1,1,1 without clusters */
   bool cooperative;      /* needs all blocks resident (cooperative launch) */
   bool programmatic;     /* may start before its predecessor in the stream ends */
   const char *grid[3];   /* the kernel's own grid as expressions; grid[0] NULL = none */
   const char *launch_grid[3]; /* persistent kernels: blocks really launched, as expressions that
                                  may also use grid_x, grid_y, grid_z and num_sms; NULL = grid */
   const char *when;           /* expression that must be non-zero; NULL = always */
   const TilecArgInfo *args;   /* all parameters in source order */
   uint32_t num_args;
   const TilecHiddenArg *hidden; /* passed after the visible ones */
   uint32_t num_hidden;
   const char *short_when; /* where it is not zero, programs are so short, or so few, that the
                              kernel compiled with TilecCompileOptions.short_programs takes less
                              time; may use what launch_grid may; NULL = never */
   uint32_t few_per_sm; /* up to so many programs for each multiprocessor the kernel compiled with
                           TilecCompileOptions.few_programs takes no more time, as each thread can
                           have the registers it wants; 0 = it is the same code */
} TilecKernelInfo;

/* One image: a PTX module with its kernels. */
typedef struct TilecImageInfo {
   uint32_t format;      /* TILEC_IMAGE_FORMAT */
   const char *producer; /* "tilec 0.1.0" */
   const char *arch;     /* target of the PTX: "sm_90a" */
   uint32_t ptx_version; /* 87 for PTX 8.7 */
   bool line_info;       /* PTX carries .loc directives */
   const TilecKernelInfo *kernels;
   uint32_t num_kernels;
} TilecImageInfo;

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the record as UTF-8 JSON through `put` (called with pieces, in order; return false to
 * stop).  TILEC_OK; TILEC_IO when put returned false.  Any thread, no allocation. */
TILEC_API TilecStatus tilec_image_write_json(const TilecImageInfo *info,
                                             bool (*put)(void *user, const char *text, size_t len),
                                             void *user);

/* Reads a record written by tilec_image_write_json.  Strict: unknown versions, missing or repeated
 * fields, wrong types and trailing text are TILEC_BAD_IMAGE; unknown fields are skipped.
 * *out is one block with all its strings, given back with tilec_image_info_free.  `error` (may be
 * NULL) receives one line that says what is wrong and where. */
TILEC_API TilecStatus tilec_image_read_json(const char *json, size_t len, TilecImageInfo **out,
                                            char *error, size_t error_bytes);
TILEC_API void tilec_image_info_free(TilecImageInfo *info); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
