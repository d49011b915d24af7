/* Reads the .safetensors format: eight bytes that hold the length of a header (little-endian), the
 * header in JSON, then the data of all tensors.
 *
 *    {"__metadata__": {"key": "text", ..},
 *     "name": {"dtype": "F16", "shape": [64, 32], "data_offsets": [0, 4096]}, ..}
 *
 * The reader is strict, since such a file comes from elsewhere.  It takes exactly what the format
 * allows: JSON without a key twice, known types, as many bytes as shape and type ask for, and data
 * without holes, overlaps or anything left over.  Whatever else the bytes are, it says what is
 * wrong and where, and touches nothing outside of them. */
#ifndef TRANSFORMER_SAFETENSORS_H
#define TRANSFORMER_SAFETENSORS_H

#include "tilec/arg.h"

enum { ST_MAX_RANK = 8 };

typedef struct StTensor {
   const char *name;
   TilecDtype dtype;
   unsigned rank;
   uint64_t shape[ST_MAX_RANK];
   uint64_t begin, end; /* of its bytes, counted from the first tensor's */
   const unsigned char *data;
} StTensor;

typedef struct StPair {
   const char *key, *text;
} StPair;

typedef struct StFile {
   StTensor *tensors; /* by name */
   size_t num_tensors;
   StPair *metadata; /* by key */
   size_t num_metadata;
   char *strings;        /* what the names above point into */
   unsigned char *owned; /* the file's bytes when st_open read them */
} StFile;

/* Reads a file, or bytes that outlive `f`.  False: `error` has a sentence, and there is nothing to
 * free. */
bool st_open(StFile *f, const char *path, char *error, size_t error_bytes);
bool st_parse(StFile *f, const void *bytes, size_t size, char *error, size_t error_bytes);
void st_close(StFile *f);

/* NULL when there is none of that name. */
const StTensor *st_tensor(const StFile *f, const char *name);
const char *st_metadata(const StFile *f, const char *key);
#endif
