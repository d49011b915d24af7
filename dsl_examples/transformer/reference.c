/* See reference.h. */
#include "reference.h"

#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct Reference {
   const ModelShape *shape;
   int32_t capacity, position;
   double *weight[MODEL_WEIGHTS];
   double *(*layer)[LAYER_WEIGHTS];
   double *keys, *values; /* [layers, capacity, KEYS] */
   double *x, *normal, *q, *mixed, *gate, *up, *scores, *logits;
};

static size_t
size_of(const Reference *r, Extent extent)
{
   return (size_t)r->shape->extent[extent];
}

/* The bytes are copied first: nothing says that they lie where numbers of their type may. */
static double *
widen(const StTensor *t)
{
   size_t bytes = (size_t)(t->end - t->begin), elems = bytes / ex_dtype_bytes(t->dtype);
   double *value = ex_doubles(elems);
   void *copy = ex_allocate(bytes, 1);
   memcpy(copy, t->data, bytes);
   ex_unpack(t->dtype, copy, elems, value);
   free(copy);
   return value;
}

Reference *
reference_new(const Model *m, int32_t capacity)
{
   Reference *r = ex_allocate(1, sizeof *r);
   *r = (Reference){.shape = &m->shape, .capacity = capacity};
   size_t layers = (size_t)m->shape.layers;
   for (ModelWeight w = 0; w < MODEL_WEIGHTS; w++)
      r->weight[w] = widen(m->weight[w]);
   r->layer = ex_allocate(layers, sizeof *r->layer);
   for (size_t l = 0; l < layers; l++)
      for (LayerWeight w = 0; w < LAYER_WEIGHTS; w++)
         r->layer[l][w] = widen(m->layer[l][w]);
   size_t cache = layers * (size_t)capacity * size_of(r, KEYS);
   r->keys = ex_doubles(cache);
   r->values = ex_doubles(cache);
   r->x = ex_doubles(size_of(r, DIM));
   r->normal = ex_doubles(size_of(r, DIM));
   r->q = ex_doubles(size_of(r, QUERIES));
   r->mixed = ex_doubles(size_of(r, QUERIES));
   r->gate = ex_doubles(size_of(r, HIDDEN));
   r->up = ex_doubles(size_of(r, HIDDEN));
   r->scores = ex_doubles((size_t)capacity);
   r->logits = ex_doubles(size_of(r, VOCAB));
   return r;
}

void
reference_free(Reference *r)
{
   double *arrays[] = {r->keys,  r->values, r->x,  r->normal, r->q,
                       r->mixed, r->gate,   r->up, r->scores, r->logits};
   for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
      free(arrays[i]);
   for (ModelWeight w = 0; w < MODEL_WEIGHTS; w++)
      free(r->weight[w]);
   for (int32_t l = 0; l < r->shape->layers; l++)
      for (LayerWeight w = 0; w < LAYER_WEIGHTS; w++)
         free(r->layer[l][w]);
   free(r->layer);
   free(r);
}

/* ---- the parts ---- */

/* y += w x, w is [rows, cols]. */
static void
add_product(double *y, const double *w, const double *x, size_t rows, size_t cols)
{
   for (size_t i = 0; i < rows; i++) {
      double sum = 0;
      for (size_t j = 0; j < cols; j++)
         sum += w[i * cols + j] * x[j];
      y[i] += sum;
   }
}

static void
product(double *y, const double *w, const double *x, size_t rows, size_t cols)
{
   memset(y, 0, rows * sizeof *y);
   add_product(y, w, x, rows, cols);
}

static void
rms_norm(Reference *r, const double *weight)
{
   size_t dim = size_of(r, DIM);
   double squares = 0;
   for (size_t i = 0; i < dim; i++)
      squares += r->x[i] * r->x[i];
   double factor = 1 / sqrt(squares / (double)dim + r->shape->norm_eps);
   for (size_t i = 0; i < dim; i++)
      r->normal[i] = r->x[i] * factor * weight[i];
}

/* Turns the pairs (x[i], x[i + d / 2]) of every head by position * theta^(-2 i / d). */
static void
rope(const Reference *r, double *x, int32_t heads)
{
   size_t d = (size_t)r->shape->head_dim, half = d / 2;
   for (double *head = x; head < x + (size_t)heads * d; head += d)
      for (size_t i = 0; i < half; i++) {
         double angle = r->position * pow(r->shape->rope_theta, -2 * (double)i / (double)d);
         double a = head[i], b = head[i + half];
         head[i] = a * cos(angle) - b * sin(angle);
         head[i + half] = a * sin(angle) + b * cos(angle);
      }
}

/* Attention of one head of q with the keys and values that lie `step` elements apart. */
static void
attend(Reference *r, const double *q, const double *keys, const double *values, double *out)
{
   size_t d = (size_t)r->shape->head_dim, step = size_of(r, KEYS), n = (size_t)r->position + 1;
   double top = -INFINITY, sum = 0;
   for (size_t j = 0; j < n; j++) {
      double score = 0;
      for (size_t e = 0; e < d; e++)
         score += q[e] * keys[j * step + e];
      r->scores[j] = score / sqrt((double)d);
      top = fmax(top, r->scores[j]);
   }
   for (size_t j = 0; j < n; j++)
      sum += r->scores[j] = exp(r->scores[j] - top);
   memset(out, 0, d * sizeof *out);
   for (size_t j = 0; j < n; j++)
      for (size_t e = 0; e < d; e++)
         out[e] += r->scores[j] / sum * values[j * step + e];
}

static void
attention(Reference *r, int32_t layer)
{
   const ModelShape *s = r->shape;
   double *const *w = r->layer[layer];
   size_t d = (size_t)s->head_dim, dim = size_of(r, DIM), width = size_of(r, KEYS);
   double *keys = r->keys + (size_t)layer * (size_t)r->capacity * width;
   double *values = r->values + (size_t)layer * (size_t)r->capacity * width;
   size_t here = (size_t)r->position * width;
   rms_norm(r, w[ATTENTION_NORM]);
   product(r->q, w[Q], r->normal, size_of(r, QUERIES), dim);
   product(keys + here, w[K], r->normal, width, dim);
   product(values + here, w[V], r->normal, width, dim);
   rope(r, r->q, s->heads);
   rope(r, keys + here, s->kv_heads);
   for (int32_t h = 0; h < s->heads; h++) {
      size_t shared = (size_t)(h / (s->heads / s->kv_heads)) * d;
      attend(r, r->q + (size_t)h * d, keys + shared, values + shared, r->mixed + (size_t)h * d);
   }
   add_product(r->x, w[O], r->mixed, dim, size_of(r, QUERIES));
}

static void
mlp(Reference *r, int32_t layer)
{
   double *const *w = r->layer[layer];
   size_t dim = size_of(r, DIM), hidden = size_of(r, HIDDEN);
   rms_norm(r, w[MLP_NORM]);
   product(r->gate, w[GATE], r->normal, hidden, dim);
   product(r->up, w[UP], r->normal, hidden, dim);
   for (size_t i = 0; i < hidden; i++)
      r->up[i] *= r->gate[i] / (1 + exp(-r->gate[i]));
   add_product(r->x, w[DOWN], r->up, dim, hidden);
}

const double *
reference_step(Reference *r, int32_t token)
{
   size_t dim = size_of(r, DIM);
   memcpy(r->x, r->weight[EMBEDDING] + (size_t)token * dim, dim * sizeof *r->x);
   for (int32_t layer = 0; layer < r->shape->layers; layer++) {
      attention(r, layer);
      mlp(r, layer);
   }
   rms_norm(r, r->weight[NORM]);
   product(r->logits, r->weight[HEAD], r->normal, size_of(r, VOCAB), dim);
   r->position++;
   return r->logits;
}

int32_t
largest(const double *logits, int32_t count)
{
   int32_t best = 0;
   for (int32_t i = 1; i < count; i++)
      best = logits[i] > logits[best] ? i : best;
   return best;
}
