/* Runs a model for one sequence: a prompt at once, then a token at a time, each the likeliest one.
 *
 * Keys and values lie in a paged cache.  Everything that a step depends on (the token, its
 * position, how many keys there are) is in the device's memory and is changed there by the step's
 * last kernel, so steps can be queued without waiting, and on a GPU one recorded step is replayed
 * for all. */
#ifndef TRANSFORMER_ENGINE_H
#define TRANSFORMER_ENGINE_H

#include "model.h"
#include "support.h"

typedef struct Engine Engine;

/* For up to `capacity` tokens.  The model may be closed afterwards. */
Engine *engine_new(Example *ex, const Model *m, int32_t capacity);
void engine_free(Engine *e);

/* Starts anew with a prompt and chooses the token after it. */
void engine_prefill(Engine *e, const int32_t *prompt, int32_t count);
/* The next token.  May return before it is there. */
void engine_step(Engine *e);
/* On a GPU: steps from now on are replays of one recorded graph.  There has to have been one. */
void engine_record(Engine *e);
void engine_wait(Engine *e);

int32_t engine_count(const Engine *e); /* tokens so far, prompt included; capacity is the most */
void engine_tokens(Engine *e, int32_t *tokens, int32_t first, int32_t count);
/* From which the last token was chosen: as many floats as there are tokens in the vocabulary. */
void engine_logits(Engine *e, float *logits);
#endif
