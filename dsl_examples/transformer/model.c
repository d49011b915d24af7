/* See model.h. */
#include "model.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAYER_PREFIX "model.layers."

const WeightPlan model_plan[MODEL_WEIGHTS] = {
   [EMBEDDING] = {"model.embed_tokens.weight", VOCAB, DIM},
   [NORM] = {"model.norm.weight", ONE, DIM},
   [HEAD] = {"lm_head.weight", VOCAB, DIM},
};

const WeightPlan layer_plan[LAYER_WEIGHTS] = {
   [ATTENTION_NORM] = {"input_layernorm", ONE, DIM},
   [Q] = {"self_attn.q_proj", QUERIES, DIM},
   [K] = {"self_attn.k_proj", KEYS, DIM},
   [V] = {"self_attn.v_proj", KEYS, DIM},
   [O] = {"self_attn.o_proj", DIM, QUERIES},
   [MLP_NORM] = {"post_attention_layernorm", ONE, DIM},
   [GATE] = {"mlp.gate_proj", HIDDEN, DIM},
   [UP] = {"mlp.up_proj", HIDDEN, DIM},
   [DOWN] = {"mlp.down_proj", DIM, HIDDEN},
};

void
layer_weight_name(char name[WEIGHT_NAME_BYTES], int32_t layer, LayerWeight weight)
{
   snprintf(name, WEIGHT_NAME_BYTES, LAYER_PREFIX "%d.%s.weight", (int)layer,
            layer_plan[weight].name);
}

typedef struct Finder {
   Model *model;
   const StFile *file;
   char *error;
   size_t error_bytes;
} Finder;

static bool
fail(const Finder *f, const char *format, ...)
{
   va_list ap;
   va_start(ap, format);
   vsnprintf(f->error, f->error_bytes, format, ap);
   va_end(ap);
   return false;
}

/* A number of the file's metadata, where the file would otherwise not say it. */
static bool
setting(const Finder *f, const char *key, double least, double most, double *out)
{
   const char *text = st_metadata(f->file, key);
   char *end = NULL;
   *out = text ? strtod(text, &end) : 0;
   if (!text)
      return fail(f, "__metadata__ lacks '%s'", key);
   if (end == text || *end || !(*out >= least && *out <= most))
      return fail(f, "'%s' of __metadata__ is '%s', not a number from %g to %g", key, text, least,
                  most);
   return true;
}

static bool
whole_setting(const Finder *f, const char *key, int32_t *out)
{
   double value;
   if (!setting(f, key, 1, 65536, &value))
      return false;
   *out = (int32_t)value;
   return value == floor(value) || fail(f, "'%s' of __metadata__ is no whole number", key);
}

/* The first extent of a weight that has to be there; of those the others are known. */
static bool
extent_of(const Finder *f, const char *name, unsigned axis, Extent extent)
{
   const StTensor *t = st_tensor(f->file, name);
   if (!t || axis >= t->rank)
      return fail(f, "there is no tensor '%s' with %u dimensions", name, axis + 1);
   if (t->shape[axis] == 0 || t->shape[axis] > 1 << 24)
      return fail(f, "'%s' has an extent of %llu; from 1 to 2^24 are possible", name,
                  (unsigned long long)t->shape[axis]);
   f->model->shape.extent[extent] = (int32_t)t->shape[axis];
   return true;
}

/* One more than the highest number in a name, so that what a layer lacks is found missing; but no
 * more than there are tensors, of which one has to be missing then, too. */
static int32_t
count_layers(const StFile *file)
{
   static const char prefix[] = LAYER_PREFIX;
   size_t layers = 0;
   for (size_t i = 0; i < file->num_tensors; i++) {
      const char *name = file->tensors[i].name, *digits = name + strlen(prefix);
      if (strncmp(name, prefix, strlen(prefix)) != 0 || *digits < '0' || *digits > '9')
         continue;
      char *end;
      unsigned long layer = strtoul(digits, &end, 10);
      if (*end == '.' && layer >= layers)
         layers = layer < file->num_tensors ? layer + 1 : file->num_tensors;
   }
   return (int32_t)layers;
}

static bool
find_shape(const Finder *f)
{
   ModelShape *s = &f->model->shape;
   char name[WEIGHT_NAME_BYTES];
   s->extent[ONE] = 1;
   if (!whole_setting(f, "num_attention_heads", &s->heads) ||
       !whole_setting(f, "num_key_value_heads", &s->kv_heads) ||
       !setting(f, "rope_theta", 1, 1e9, &s->rope_theta) ||
       !setting(f, "rms_norm_eps", 0, 1, &s->norm_eps))
      return false;
   if (!extent_of(f, model_plan[EMBEDDING].name, 0, VOCAB) ||
       !extent_of(f, model_plan[EMBEDDING].name, 1, DIM))
      return false;
   const LayerWeight with_extent[] = {Q, K, GATE};
   for (size_t i = 0; i < sizeof with_extent / sizeof with_extent[0]; i++) {
      layer_weight_name(name, 0, with_extent[i]);
      if (!extent_of(f, name, 0, layer_plan[with_extent[i]].rows))
         return false;
   }
   s->dtype = st_tensor(f->file, model_plan[EMBEDDING].name)->dtype;
   s->head_dim = s->extent[QUERIES] / s->heads;
   s->layers = count_layers(f->file);
   return true;
}

/* What the kernels and the names of the extents ask for. */
static bool
check_shape(const Finder *f)
{
   const ModelShape *s = &f->model->shape;
   int32_t d = s->head_dim;
   if (s->dtype != TILEC_FP16 && s->dtype != TILEC_BF16)
      return fail(f, "weights have to be F16 or BF16");
   if (d < 16 || d > 256 || (d & (d - 1)) || d * s->heads != s->extent[QUERIES])
      return fail(
         f, "%d heads for %d rows of q_proj; the width of a head is a power of two from 16 to 256",
         (int)s->heads, (int)s->extent[QUERIES]);
   if (d * s->kv_heads != s->extent[KEYS] || s->heads % s->kv_heads)
      return fail(f, "%d heads and %d rows of keys do not go with %d heads of width %d",
                  (int)s->kv_heads, (int)s->extent[KEYS], (int)s->heads, (int)d);
   if (s->heads / s->kv_heads > 16)
      return fail(f, "at most 16 heads share one of keys and values, not %d",
                  (int)(s->heads / s->kv_heads));
   return true;
}

static bool
find_weight(const Finder *f, const char *name, const WeightPlan *plan, const StTensor **out)
{
   const ModelShape *s = &f->model->shape;
   const StTensor *t = *out = st_tensor(f->file, name);
   uint64_t rows = (uint64_t)s->extent[plan->rows], cols = (uint64_t)s->extent[plan->cols];
   unsigned rank = plan->rows == ONE ? 1 : 2;
   if (!t)
      return fail(f, "there is no tensor '%s'", name);
   if (t->dtype != s->dtype)
      return fail(f, "'%s' has another type than the embedding", name);
   if (t->rank != rank || t->shape[rank - 1] != cols || (rank == 2 && t->shape[0] != rows))
      return fail(f, "'%s' has to be [%llu, %llu]", name, (unsigned long long)rows,
                  (unsigned long long)cols);
   return true;
}

static bool
find_weights(const Finder *f)
{
   Model *m = f->model;
   char name[WEIGHT_NAME_BYTES];
   for (ModelWeight w = 0; w < MODEL_WEIGHTS; w++) {
      bool is_tied = w == HEAD && !st_tensor(f->file, model_plan[HEAD].name);
      if (is_tied)
         m->weight[HEAD] = m->weight[EMBEDDING];
      else if (!find_weight(f, model_plan[w].name, &model_plan[w], &m->weight[w]))
         return false;
   }
   m->layer = calloc((size_t)m->shape.layers, sizeof *m->layer);
   if (!m->layer)
      return fail(f, "out of memory");
   for (int32_t l = 0; l < m->shape.layers; l++)
      for (LayerWeight w = 0; w < LAYER_WEIGHTS; w++) {
         layer_weight_name(name, l, w);
         if (!find_weight(f, name, &layer_plan[w], &m->layer[l][w]))
            return false;
      }
   return true;
}

bool
model_open(Model *m, const StFile *file, char *error, size_t error_bytes)
{
   *m = (Model){0};
   Finder f = {m, file, error, error_bytes};
   if (find_shape(&f) && check_shape(&f) && find_weights(&f))
      return true;
   model_close(m);
   return false;
}

void
model_close(Model *m)
{
   free(m->layer);
   *m = (Model){0};
}

static uint64_t
elements(const ModelShape *s, const WeightPlan *plan)
{
   return (uint64_t)s->extent[plan->rows] * (uint64_t)s->extent[plan->cols];
}

uint64_t
model_weights(const ModelShape *s)
{
   uint64_t count = 0;
   for (ModelWeight w = 0; w < MODEL_WEIGHTS; w++)
      count += elements(s, &model_plan[w]);
   for (LayerWeight w = 0; w < LAYER_WEIGHTS; w++)
      count += (uint64_t)s->layers * elements(s, &layer_plan[w]);
   return count;
}
