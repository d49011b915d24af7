/* DLPack's structs as dlpack.h of version 1 has them, for tests. */
#ifndef TL_TEST_DLPACK_ABI_H
#define TL_TEST_DLPACK_ABI_H

#include <stdint.h>

typedef struct Tensor {
   void *data;
   int32_t device_type, device_id, ndim;
   uint8_t code, bits;
   uint16_t lanes;
   int64_t *shape, *strides;
   uint64_t byte_offset;
} Tensor;
struct DLManagedTensorVersioned {
   uint32_t major, minor;
   void *context;
   void (*deleter)(struct DLManagedTensorVersioned *self);
   uint64_t flags;
   Tensor tensor;
};
typedef struct DLManagedTensorVersioned Managed;

#endif
