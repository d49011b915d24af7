/* See random_model.h. */
#include "random_model.h"

#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void
set_heads(ModelShape *s, int32_t heads, int32_t kv_heads, int32_t head_dim)
{
   s->heads = heads;
   s->kv_heads = kv_heads;
   s->head_dim = head_dim;
   s->extent[QUERIES] = heads * head_dim;
   s->extent[KEYS] = kv_heads * head_dim;
}

ModelShape
small_model(void)
{
   ModelShape s = {.dtype = TILEC_FP16, .layers = 3, .rope_theta = 10000, .norm_eps = 1e-5};
   s.extent[ONE] = 1;
   s.extent[VOCAB] = 523;
   s.extent[DIM] = 192;
   s.extent[HIDDEN] = 480;
   set_heads(&s, 8, 2, 64);
   return s;
}

typedef struct Writer {
   FILE *out;
   const ModelShape *shape;
   Example random; /* its generator */
   char *header;   /* JSON; allocated by open_memstream */
   size_t header_bytes;
   FILE *header_file;
   uint64_t offset; /* of the next tensor */
} Writer;

typedef void EachWeight(Writer *w, const char *name, const WeightPlan *plan);

/* In the order of the file. */
static void
each_weight(Writer *w, EachWeight *each)
{
   char name[WEIGHT_NAME_BYTES];
   for (ModelWeight i = 0; i < MODEL_WEIGHTS; i++)
      each(w, model_plan[i].name, &model_plan[i]);
   for (int32_t l = 0; l < w->shape->layers; l++)
      for (LayerWeight i = 0; i < LAYER_WEIGHTS; i++) {
         layer_weight_name(name, l, i);
         each(w, name, &layer_plan[i]);
      }
}

static void
put_entry(Writer *w, const char *name, const WeightPlan *plan)
{
   int rows = w->shape->extent[plan->rows], cols = w->shape->extent[plan->cols];
   char shape[32];
   if (plan->rows == ONE)
      snprintf(shape, sizeof shape, "%d", cols);
   else
      snprintf(shape, sizeof shape, "%d,%d", rows, cols);
   uint64_t end = w->offset + (uint64_t)rows * (uint64_t)cols * ex_dtype_bytes(w->shape->dtype);
   fprintf(w->header_file, ",\"%s\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[%llu,%llu]}",
           name, w->shape->dtype == TILEC_FP16 ? "F16" : "BF16", shape,
           (unsigned long long)w->offset, (unsigned long long)end);
   w->offset = end;
}

/* Norms are near 1.  Matrices are uniform, with the variance that gives outputs of the size of the
 * inputs; those that add to x are smaller, so that it does not grow with the number of layers. */
static double
next_value(Writer *w, const WeightPlan *plan)
{
   double u = 2 * ex_uniform(&w->random) - 1;
   if (plan->rows == ONE)
      return 1 + 0.2 * u;
   bool adds_to_x = plan->rows == DIM && plan != &model_plan[EMBEDDING];
   double inputs = plan == &model_plan[EMBEDDING] ? 1 : w->shape->extent[plan->cols];
   return u * sqrt(3 / (inputs * (adds_to_x ? 2 * w->shape->layers : 1)));
}

static void
put_values(Writer *w, const char *name, const WeightPlan *plan)
{
   (void)name;
   size_t cols = (size_t)w->shape->extent[plan->cols];
   double *row = ex_doubles(cols);
   uint16_t *packed = ex_allocate(cols, sizeof *packed);
   for (int32_t r = 0; r < w->shape->extent[plan->rows]; r++) {
      for (size_t i = 0; i < cols; i++)
         row[i] = ex_round(w->shape->dtype, next_value(w, plan));
      ex_pack(w->shape->dtype, row, cols, packed);
      fwrite(packed, sizeof *packed, cols, w->out);
   }
   free(row);
   free(packed);
}

/* The length, then the text, filled up with spaces to a multiple of 8. */
static void
put_header(Writer *w)
{
   size_t bytes = (w->header_bytes + 7) / 8 * 8;
   for (int i = 0; i < 8; i++)
      fputc((int)(bytes >> 8 * i & 0xFF), w->out);
   fprintf(w->out, "%-*s", (int)bytes, w->header);
}

bool
write_random_model(FILE *out, const ModelShape *s, uint64_t seed)
{
   Writer w = {.out = out, .shape = s, .random = {.rng = seed}};
   w.header_file = open_memstream(&w.header, &w.header_bytes);
   if (!w.header_file)
      return false;
   fprintf(w.header_file,
           "{\"__metadata__\":{\"num_attention_heads\":\"%d\",\"num_key_value_heads\":\"%d\","
           "\"rope_theta\":\"%.17g\",\"rms_norm_eps\":\"%.17g\"}",
           (int)s->heads, (int)s->kv_heads, s->rope_theta, s->norm_eps);
   each_weight(&w, put_entry);
   fputc('}', w.header_file);
   bool is_written = fclose(w.header_file) == 0;
   if (is_written) {
      put_header(&w);
      each_weight(&w, put_values);
   }
   free(w.header);
   return is_written && fflush(out) == 0 && !ferror(out);
}
