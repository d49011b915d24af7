/* A model with random weights, for which no training is needed to see whether an engine computes
 * what its weights say: written as the .safetensors file that a trained one would be. */
#ifndef TRANSFORMER_RANDOM_MODEL_H
#define TRANSFORMER_RANDOM_MODEL_H

#include "model.h"

#include <stdio.h>

/* The model that the example makes for itself: three layers, 1.6 million weights in fp16. */
ModelShape small_model(void);
/* Sets heads, widths and what follows from them. */
void set_heads(ModelShape *s, int32_t heads, int32_t kv_heads, int32_t head_dim);

/* False when `out` cannot be written to. */
bool write_random_model(FILE *out, const ModelShape *s, uint64_t seed);
#endif
