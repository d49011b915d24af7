/* A decoder of the Llama kind, as it lies in a .safetensors file: the names are those that such
 * models have everywhere, matrices are [outputs, inputs].
 *
 *    x = embedding[token]
 *    every layer:  x += O attention(Q n, K n, V n),  n = rms_norm(x), Q n and K n turned by rope
 *                  x += DOWN (silu(GATE n) * UP n),  n = rms_norm(x)
 *    logits = HEAD rms_norm(x)
 *
 * Several heads of queries share one of keys and values.  All weights have one type, fp16 or
 * bf16. */
#ifndef TRANSFORMER_MODEL_H
#define TRANSFORMER_MODEL_H

#include "safetensors.h"

/* What extents of the weights are called, and which member of ModelShape they are. */
typedef enum Extent { ONE, VOCAB, DIM, QUERIES, KEYS, HIDDEN, EXTENTS } Extent;

typedef struct ModelShape {
   TilecDtype dtype;
   int32_t layers, heads, kv_heads, head_dim;
   int32_t extent[EXTENTS]; /* 1, tokens, width of x, heads * head_dim, kv_heads * head_dim, .. */
   double rope_theta, norm_eps;
} ModelShape;

/* One weight: [rows, cols], or [cols] when rows is ONE. */
typedef struct WeightPlan {
   const char *name;
   Extent rows, cols;
} WeightPlan;

typedef enum LayerWeight {
   ATTENTION_NORM,
   Q,
   K,
   V,
   O,
   MLP_NORM,
   GATE,
   UP,
   DOWN,
   LAYER_WEIGHTS
} LayerWeight;
typedef enum ModelWeight { EMBEDDING, NORM, HEAD, MODEL_WEIGHTS } ModelWeight;

extern const WeightPlan layer_plan[LAYER_WEIGHTS], model_plan[MODEL_WEIGHTS];

/* "model.layers.3.self_attn.q_proj.weight" */
enum { WEIGHT_NAME_BYTES = 96 };
void layer_weight_name(char name[WEIGHT_NAME_BYTES], int32_t layer, LayerWeight weight);

typedef struct Model {
   ModelShape shape;
   const StTensor *weight[MODEL_WEIGHTS]; /* HEAD is EMBEDDING where the file has none */
   const StTensor *(*layer)[LAYER_WEIGHTS];
} Model;

/* Finds the weights of a model in a file that outlives it.  False: `error` says what is missing, or
 * of another shape or type than the rest asks for. */
bool model_open(Model *m, const StFile *f, char *error, size_t error_bytes);
void model_close(Model *m);

uint64_t model_weights(const ModelShape *s); /* their number */
#endif
