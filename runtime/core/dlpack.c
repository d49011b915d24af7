/* Arrays of other libraries as buffers, through DLPack's versioned struct
 * (https://dmlc.github.io/dlpack/latest/c_api.html).  Its layout is repeated here, so that nothing
 * of DLPack is needed to build.  Invariant: a tensor is taken over whole or not at all; of a buffer
 * made here every element lies in [address, address + bytes). */
#include "core/core.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct DlTensor {
   void *data;
   int32_t device_type, device_id;
   int32_t ndim;
   uint8_t code, bits; /* of an element */
   uint16_t lanes;
   int64_t *shape;
   int64_t *strides; /* in elements; NULL = row by row without gaps */
   uint64_t byte_offset;
} DlTensor;

struct DLManagedTensorVersioned {
   uint32_t major, minor;
   void *manager_ctx;
   void (*deleter)(struct DLManagedTensorVersioned *self);
   uint64_t flags;
   DlTensor tensor;
};

enum {
   DL_MAJOR = 1,
   DL_READ_ONLY = 1, /* flags */
   DL_CPU = 1,
   DL_CUDA = 2,
   DL_CUDA_HOST = 3,
   DL_CUDA_MANAGED = 13, /* device_type */
};

static TilecDtype
element_type(const DlTensor *t)
{
   static const struct {
      uint8_t code, bits;
      TilecDtype dtype;
   } types[] = {
      {6, 8, TILEC_I1},    {0, 8, TILEC_I8},       {0, 16, TILEC_I16},   {0, 32, TILEC_I32},
      {0, 64, TILEC_I64},  {1, 8, TILEC_U8},       {1, 16, TILEC_U16},   {1, 32, TILEC_U32},
      {1, 64, TILEC_U64},  {2, 16, TILEC_FP16},    {2, 32, TILEC_FP32},  {2, 64, TILEC_FP64},
      {4, 16, TILEC_BF16}, {10, 8, TILEC_FP8E4NV}, {12, 8, TILEC_FP8E5},
   };
   for (size_t i = 0; t->lanes == 1 && i < sizeof types / sizeof types[0]; i++)
      if (types[i].code == t->code && types[i].bits == t->bits)
         return types[i].dtype;
   return TILEC_DTYPE_NONE;
}

/* Fills in compact strides and sums up the bytes from the first element to the end of the last. */
static bool
measure(const DlTensor *t, unsigned element_bytes, int64_t *strides, uint64_t *bytes)
{
   int64_t compact = 1, last = 0, reach;
   assert(element_bytes > 0 && t->ndim >= 0);
   bool empty = false;
   for (int32_t i = t->ndim; i-- > 0;) {
      int64_t n = t->shape[i];
      strides[i] = t->strides ? t->strides[i] : compact;
      if (n < 0 || (n > 1 && strides[i] < 0))
         return false;
      empty |= n == 0;
      if (n > 1 && (__builtin_mul_overflow(n - 1, strides[i], &reach) ||
                    __builtin_add_overflow(last, reach, &last)))
         return false;
      if (n > 1 && __builtin_mul_overflow(compact, n, &compact))
         return false;
   }
   *bytes = 0;
   return empty || (!__builtin_add_overflow(last, 1, &last) &&
                    !__builtin_mul_overflow((uint64_t)last, (uint64_t)element_bytes, bytes));
}

static TilecStatus
check(TilecRuntime *rt, const struct DLManagedTensorVersioned *m)
{
   const DlTensor *t = &m->tensor;
   if (m->major != DL_MAJOR)
      return tl_rt_fail(rt, TILEC_UNSUPPORTED, "DLPack version %u.%u; %d is read", m->major,
                        m->minor, DL_MAJOR);
   if (!element_type(t))
      return tl_rt_fail(rt, TILEC_UNSUPPORTED,
                        "DLPack elements of code %u, %u bits, %u lanes have no element type here",
                        t->code, t->bits, t->lanes);
   bool on_gpu = t->device_type == DL_CUDA || t->device_type == DL_CUDA_MANAGED;
   bool on_host = t->device_type == DL_CPU || t->device_type == DL_CUDA_HOST;
   if (rt->executor == TILEC_ON_CUDA
          ? !(on_gpu && t->device_id == rt->info.ordinal) && t->device_type != DL_CUDA_HOST
          : !on_host)
      return tl_rt_fail(
         rt, TILEC_BAD_ARGUMENT,
         "the DLPack tensor is on device type %d, number %d; the runtime is on %s %d",
         t->device_type, t->device_id, rt->executor == TILEC_ON_CUDA ? "CUDA (2)" : "the host (1)",
         rt->executor == TILEC_ON_CUDA ? rt->info.ordinal : 0);
   if (t->ndim < 0 || (t->ndim && !t->shape))
      return tl_rt_fail(rt, TILEC_BAD_ARGUMENT, "the DLPack tensor has %d dimensions%s", t->ndim,
                        t->ndim > 0 ? " and no shape" : "");
   return TILEC_OK;
}

TilecStatus
tilec_buffer_from_dlpack(TilecRuntime *rt, struct DLManagedTensorVersioned *managed,
                         TilecBuffer **out)
{
   if (out)
      *out = NULL;
   if (!rt || !managed || !out)
      return tl_rt_null(rt,
                        out ? "tilec_buffer_from_dlpack: tensor" : "tilec_buffer_from_dlpack: out");
   const DlTensor *t = &managed->tensor;
   TilecStatus status = tl_rt_check_open(rt);
   if (status == TILEC_OK)
      status = check(rt, managed);
   if (status != TILEC_OK)
      return status;
   size_t rank = (size_t)t->ndim;
   TilecBuffer *b = calloc(1, sizeof *b + 2 * rank * sizeof(int64_t));
   if (!b)
      return tl_rt_no_memory(rt, "a buffer");
   int64_t *shape = (int64_t *)(void *)(b + 1), *strides = shape + rank;
   *b = (TilecBuffer){
      .rt = rt,
      .address = t->data ? (char *)t->data + t->byte_offset : NULL,
      .dlpack = managed,
      .is_read_only = managed->flags & DL_READ_ONLY,
      .layout = {
         .dtype = element_type(t), .rank = (uint32_t)rank, .shape = shape, .strides = strides}};
   b->layout.is_read_only = b->is_read_only;
   if (rank)
      memcpy(shape, t->shape, rank * sizeof *shape);
   if (!measure(t, tl_dtype_bytes(b->layout.dtype), strides, &b->bytes))
      status = tl_rt_fail(rt, TILEC_BAD_ARGUMENT,
                          "the DLPack tensor has a negative size or stride, or more bytes than can "
                          "be addressed");
   else if (!t->data && b->bytes)
      status = tl_rt_fail(rt, TILEC_BAD_ARGUMENT, "the DLPack tensor's data is NULL");
   assert(status != TILEC_OK || b->address || !b->bytes);
   if (status == TILEC_OK) {
      b->written = b->bytes;
      tl_buffer_begin(b);
      *out = b;
   } else {
      free(b);
   }
   return status;
}

void
tl_dlpack_release(struct DLManagedTensorVersioned *managed)
{
   if (managed && managed->deleter)
      managed->deleter(managed);
}

const TilecBufferLayout *
tilec_buffer_layout(const TilecBuffer *b)
{
   return b && tl_handle_is_live(&b->handle) && b->layout.dtype ? &b->layout : NULL;
}
