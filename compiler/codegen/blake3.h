/* The hash BLAKE3, which comes with LLVM. */
#ifndef TL_CODEGEN_BLAKE3_H
#define TL_CODEGEN_BLAKE3_H

#include <stddef.h>

void tl_blake3(const void *data, size_t len, unsigned char digest[32]);

#endif
