/* In a file of its own: it needs nothing else of LLVM, nor of us. */
#include "codegen/blake3.h"

#include <llvm-c/blake3.h>

void
tl_blake3(const void *data, size_t len, unsigned char digest[32])
{
   llvm_blake3_hasher hasher;
   llvm_blake3_hasher_init(&hasher);
   if (len)
      llvm_blake3_hasher_update(&hasher, data, len);
   llvm_blake3_hasher_finalize(&hasher, digest, 32);
}
