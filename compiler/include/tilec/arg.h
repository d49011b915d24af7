/* Kernel arguments as tagged values, shared by the launch API and the CPU executor.
 * Plain C11; from C++ the overloads of tilec_arg() stand in for _Generic. */
#ifndef TILEC_ARG_H
#define TILEC_ARG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tilec/status.h"

/* Element types.  Columns: suffix, number, spelling in signatures, bytes in memory, kind
 * (B truth value, I signed, U unsigned, F floating).  Numbers never change. */
#define TILEC_DTYPE_TABLE(X)                                                                       \
   X(I1, 1, "i1", 1, B)                                                                            \
   X(I8, 2, "i8", 1, I)                                                                            \
   X(I16, 3, "i16", 2, I)                                                                          \
   X(I32, 4, "i32", 4, I)                                                                          \
   X(I64, 5, "i64", 8, I)                                                                          \
   X(U8, 6, "u8", 1, U)                                                                            \
   X(U16, 7, "u16", 2, U)                                                                          \
   X(U32, 8, "u32", 4, U)                                                                          \
   X(U64, 9, "u64", 8, U)                                                                          \
   X(FP8E4NV, 10, "fp8e4nv", 1, F)                                                                 \
   X(FP8E5, 11, "fp8e5", 1, F)                                                                     \
   X(FP16, 12, "fp16", 2, F)                                                                       \
   X(BF16, 13, "bf16", 2, F)                                                                       \
   X(FP32, 14, "fp32", 4, F)                                                                       \
   X(FP64, 15, "fp64", 8, F)                                                                       \
   X(FP8E4B15, 16, "fp8e4b15", 1, F)

typedef enum TilecDtype {
   TILEC_DTYPE_NONE = 0, /* unknown, or no element type */
#define TILEC_DTYPE_ROW(id, number, text, bytes, kind) TILEC_##id = number,
   TILEC_DTYPE_TABLE(TILEC_DTYPE_ROW)
#undef TILEC_DTYPE_ROW
      TILEC_DTYPE_COUNT
} TilecDtype;

typedef enum TilecArgKind {
   TILEC_ARG_NONE = 0, /* Python's None: the kernel is compiled for its absence */
   TILEC_ARG_SCALAR,   /* `dtype` says which member of `as` holds it */
   TILEC_ARG_POINTER,  /* `as.ptr`: a device address, or a host address on the cpu executors */
   TILEC_ARG_BUFFER,   /* `as.buffer` */
   TILEC_ARG_TENSOR,   /* `as.tensor`: for a parameter that is a tensor descriptor */
} TilecArgKind;

typedef struct TilecBuffer TilecBuffer;
typedef struct TilecTensor TilecTensor;

/* One argument.  It borrows what it points to for the duration of the call only. */
typedef struct TilecArg {
   TilecArgKind kind;
   TilecDtype dtype; /* of the scalar, or of the elements pointed to (TILEC_DTYPE_NONE: unknown) */
   union {
      int64_t i;                 /* I1 (0 or 1), I8 … I64 */
      uint64_t u;                /* U8 … U64, and the bit pattern of a float of up to 16 bits */
      double f;                  /* FP32 and FP64, by value */
      void *ptr;                 /* POINTER */
      TilecBuffer *buffer;       /* BUFFER */
      const TilecTensor *tensor; /* TENSOR */
   } as;
   uint64_t bytes; /* POINTER: bytes readable from `ptr` on; 0 = unknown (host executors refuse it)
                      BUFFER: byte offset of the first element inside the buffer */
} TilecArg;

/* An allocation of the process, for host executors. */
typedef struct TilecMemory {
   void *begin;
   uint64_t bytes;
   bool is_read_only;
} TilecMemory;

/* The allocation that holds the byte at `address`; false: nobody knows one.  Asked by any thread of
 * a launch, only for what no argument reaches: an address that the kernel took from a table, and
 * bytes in front of an argument that begins in the middle of its allocation. */
typedef bool TilecMemoryFn(void *user, uint64_t address, TilecMemory *out);

/* A tensor and the block of it that one access of the kernel takes.  A multiple of 16 bytes: the
 * address, and each stride but the last, which is 1. */
#define TILEC_TENSOR_RANK 5
struct TilecTensor {
   TilecArg base; /* POINTER or BUFFER, with its element type */
   uint32_t rank; /* 1 … 5 */
   int64_t shape[TILEC_TENSOR_RANK];
   int64_t strides[TILEC_TENSOR_RANK]; /* in elements */
   uint32_t block[TILEC_TENSOR_RANK];  /* powers of two */
};

static inline TilecArg
tilec_none(void)
{
   TilecArg a = {TILEC_ARG_NONE, TILEC_DTYPE_NONE, {0}, 0};
   return a;
}

/* `dtype` must be an integer type or TILEC_I1. */
static inline TilecArg
tilec_int(TilecDtype dtype, int64_t value)
{
   TilecArg a = {TILEC_ARG_SCALAR, dtype, {value}, 0};
   return a;
}

static inline TilecArg
tilec_uint(TilecDtype dtype, uint64_t value)
{
   TilecArg a = {TILEC_ARG_SCALAR, dtype, {0}, 0};
   a.as.u = value;
   return a;
}

static inline TilecArg
tilec_fp64(double value)
{
   TilecArg a = {TILEC_ARG_SCALAR, TILEC_FP64, {0}, 0};
   a.as.f = value;
   return a;
}

static inline TilecArg
tilec_fp32(float value)
{
   TilecArg a = {TILEC_ARG_SCALAR, TILEC_FP32, {0}, 0};
   a.as.f = (double)value;
   return a;
}

/* Small floats by their bit pattern: dtype FP16, BF16, FP8E4NV, FP8E5 or FP8E4B15. */
static inline TilecArg
tilec_bits(TilecDtype dtype, uint16_t bits)
{
   TilecArg a = {TILEC_ARG_SCALAR, dtype, {0}, 0};
   a.as.u = bits;
   return a;
}

/* `bytes`: how much may be accessed from `ptr` on; 0 = not known. */
static inline TilecArg
tilec_ptr(TilecDtype elem, const void *ptr, uint64_t bytes)
{
   TilecArg a = {TILEC_ARG_POINTER, elem, {0}, bytes};
   a.as.ptr = (void *)(uintptr_t)ptr;
   return a;
}

/* A buffer seen as elements of `elem` from byte `offset` on. */
static inline TilecArg
tilec_view(TilecDtype elem, TilecBuffer *buffer, uint64_t offset)
{
   TilecArg a = {TILEC_ARG_BUFFER, elem, {0}, offset};
   a.as.buffer = buffer;
   return a;
}

/* `tensor` must live as long as the call that takes the argument. */
static inline TilecArg
tilec_tensor(const TilecTensor *tensor)
{
   TilecArg a = {TILEC_ARG_TENSOR, tensor ? tensor->base.dtype : TILEC_DTYPE_NONE, {0}, 0};
   a.as.tensor = tensor;
   return a;
}

/* TILEC_ARG(x): the argument for a C value, by its type:
 *    int            i32
 *    long long      i64
 *    float          fp32
 *    double         fp64 (write 0.5f for fp32; a kernel that declares fp32 takes either)
 *    T *            pointer to T
 *    TilecBuffer *  buffer
 *    TilecArg       itself */
static inline TilecArg
tilec_arg_bool(bool v)
{
   return tilec_int(TILEC_I1, v);
}
static inline TilecArg
tilec_arg_i8(signed char v)
{
   return tilec_int(TILEC_I8, v);
}
static inline TilecArg
tilec_arg_u8(unsigned char v)
{
   return tilec_uint(TILEC_U8, v);
}
static inline TilecArg
tilec_arg_i16(short v)
{
   return tilec_int(TILEC_I16, v);
}
static inline TilecArg
tilec_arg_u16(unsigned short v)
{
   return tilec_uint(TILEC_U16, v);
}
static inline TilecArg
tilec_arg_i32(int v)
{
   return tilec_int(TILEC_I32, v);
}
static inline TilecArg
tilec_arg_u32(unsigned v)
{
   return tilec_uint(TILEC_U32, v);
}
static inline TilecArg
tilec_arg_i64(long long v)
{
   return tilec_int(TILEC_I64, v);
}
static inline TilecArg
tilec_arg_u64(unsigned long long v)
{
   return tilec_uint(TILEC_U64, v);
}
static inline TilecArg
tilec_arg_long(long v)
{
   return tilec_int(sizeof v == 8 ? TILEC_I64 : TILEC_I32, v);
}
static inline TilecArg
tilec_arg_ulong(unsigned long v)
{
   return tilec_uint(sizeof v == 8 ? TILEC_U64 : TILEC_U32, v);
}
static inline TilecArg
tilec_arg_same(TilecArg v)
{
   return v;
}
static inline TilecArg
tilec_arg_buffer(TilecBuffer *v)
{
   return tilec_view(TILEC_DTYPE_NONE, v, 0);
}
#define TILEC_ARG_PTR_TABLE(X)                                                                     \
   X(void, any, TILEC_DTYPE_NONE)                                                                  \
   X(bool, i1, TILEC_I1)                                                                           \
   X(signed char, i8, TILEC_I8)                                                                    \
   X(unsigned char, u8, TILEC_U8)                                                                  \
   X(short, i16, TILEC_I16)                                                                        \
   X(unsigned short, u16, TILEC_U16)                                                               \
   X(int, i32, TILEC_I32)                                                                          \
   X(unsigned, u32, TILEC_U32)                                                                     \
   X(long, long, (sizeof(long) == 8 ? TILEC_I64 : TILEC_I32))                                      \
   X(unsigned long, ulong, (sizeof(long) == 8 ? TILEC_U64 : TILEC_U32))                            \
   X(long long, i64, TILEC_I64)                                                                    \
   X(unsigned long long, u64, TILEC_U64)                                                           \
   X(float, fp32, TILEC_FP32)                                                                      \
   X(double, fp64, TILEC_FP64)
#define TILEC_ARG_PTR_FN(T, name, dtype)                                                           \
   static inline TilecArg tilec_arg_ptr_##name(const T *p) { return tilec_ptr(dtype, p, 0); }
TILEC_ARG_PTR_TABLE(TILEC_ARG_PTR_FN)
#undef TILEC_ARG_PTR_FN

#ifdef __cplusplus
#define TILEC_ARG_CXX(T, fn)                                                                       \
   static inline TilecArg tilec_arg(T v) { return fn(v); }
TILEC_ARG_CXX(bool, tilec_arg_bool)
TILEC_ARG_CXX(signed char, tilec_arg_i8)
TILEC_ARG_CXX(unsigned char, tilec_arg_u8)
TILEC_ARG_CXX(short, tilec_arg_i16)
TILEC_ARG_CXX(unsigned short, tilec_arg_u16)
TILEC_ARG_CXX(int, tilec_arg_i32)
TILEC_ARG_CXX(unsigned, tilec_arg_u32)
TILEC_ARG_CXX(long, tilec_arg_long)
TILEC_ARG_CXX(unsigned long, tilec_arg_ulong)
TILEC_ARG_CXX(long long, tilec_arg_i64)
TILEC_ARG_CXX(unsigned long long, tilec_arg_u64)
TILEC_ARG_CXX(float, tilec_fp32)
TILEC_ARG_CXX(double, tilec_fp64)
TILEC_ARG_CXX(TilecBuffer *, tilec_arg_buffer)
TILEC_ARG_CXX(TilecArg, tilec_arg_same)
#define TILEC_ARG_PTR_CXX(T, name, dtype) TILEC_ARG_CXX(const T *, tilec_arg_ptr_##name)
TILEC_ARG_PTR_TABLE(TILEC_ARG_PTR_CXX)
#undef TILEC_ARG_PTR_CXX
#undef TILEC_ARG_CXX
/* A class that is no argument: said in words, where the list of the overloads would be. */
template <bool is_class> struct TilecIfClass;
template <> struct TilecIfClass<true> {
   typedef int type;
};
template <typename T, typename TilecIfClass<__is_class(T)>::type = 0>
static inline TilecArg
tilec_arg(const T &)
{
   static_assert(
      sizeof(T) == 0,
      "an argument of a kernel is a number, a pointer, a TilecBuffer * or a TilecArg; of "
      "a std::vector<float> v it is tilec_ptr(TILEC_FP32, v.data(), v.size() * 4)");
   return TilecArg();
}
#define TILEC_ARG(x) tilec_arg(x)
#else
#define TILEC_ARG_PTR_CASE(T, name, dtype)                                                         \
   T * : tilec_arg_ptr_##name, const T * : tilec_arg_ptr_##name,
#define TILEC_ARG(x)                                                                               \
   _Generic((x),                                                                                   \
      TILEC_ARG_PTR_TABLE(TILEC_ARG_PTR_CASE) bool: tilec_arg_bool,                                \
      char: tilec_arg_i8,                                                                          \
      signed char: tilec_arg_i8,                                                                   \
      unsigned char: tilec_arg_u8,                                                                 \
      short: tilec_arg_i16,                                                                        \
      unsigned short: tilec_arg_u16,                                                               \
      int: tilec_arg_i32,                                                                          \
      unsigned: tilec_arg_u32,                                                                     \
      long: tilec_arg_long,                                                                        \
      unsigned long: tilec_arg_ulong,                                                              \
      long long: tilec_arg_i64,                                                                    \
      unsigned long long: tilec_arg_u64,                                                           \
      float: tilec_fp32,                                                                           \
      double: tilec_fp64,                                                                          \
      TilecBuffer *: tilec_arg_buffer,                                                             \
      TilecArg: tilec_arg_same)(x)
#endif

#endif
