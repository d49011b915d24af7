/* The public name of the hash; apart from the rest, so that its users need not link a compiler. */
#include "codegen/blake3.h"
#include "tilec/tilec.h"

void
tilec_digest(const void *data, size_t len, uint8_t digest[TILEC_DIGEST_BYTES])
{
   tl_blake3(data, len, digest);
}
