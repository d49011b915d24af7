/* The decoder in double precision, token by token, written to be read: what the engine has to
 * equal.  Its weights are those of the file; nothing is rounded on the way. */
#ifndef TRANSFORMER_REFERENCE_H
#define TRANSFORMER_REFERENCE_H

#include "model.h"

typedef struct Reference Reference;

/* For sequences of up to `capacity` tokens. */
Reference *reference_new(const Model *m, int32_t capacity);
void reference_free(Reference *r);

/* The logits after one more token; they are valid until the next call. */
const double *reference_step(Reference *r, int32_t token);
/* The number of the largest of `count`, of equal ones the first. */
int32_t largest(const double *logits, int32_t count);
#endif
