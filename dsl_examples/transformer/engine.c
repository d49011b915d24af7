/* See engine.h. */
#include "engine.h"

#include "graph.h"
#include "kernels.h"

#include <math.h>
#include <stdlib.h>

enum { CHUNK = 64 }; /* tokens of a prompt that go through the layers together */

typedef struct Array {
   TilecDtype dtype;
   TilecBuffer *buffer;
} Array;

/* Matrices that are multiplied with the same vector lie one below the other. */
typedef struct Layer {
   Array attention_norm, qkv, o, mlp_norm, gate_up, down;
} Layer;

struct Engine {
   Example *ex;
   ModelShape shape;
   Constants constants;
   Kernels *kernels;
   TilecStream stream;
   Graph *graph; /* NULL on the CPU */
   int32_t capacity, pages, count;

   TilecBuffer **buffers; /* all of them, to be freed */
   size_t num_buffers;
   Layer *layer;
   Array embedding, norm, head;           /* weights */
   Array x, normal, qkv, mixed, gate, up; /* of up to CHUNK tokens; x in fp32 */
   Array delta;                           /* what a prompt's x grows by */
   Array k_pages, v_pages, table;         /* the cache: of all layers, and its one table */
   Array parts, parts_lse;                /* of attention, before they are merged */
   Array logits, best, best_column;       /* the last token's, and its blocks' largest */
   Array frequency, positions;            /* of rope; 0, 1, 2 .. */
   Array tokens, token, position, length; /* the sequence; of the next step */
};

/* Some tokens on their way through the layers: a piece of a prompt, or the one of a step. */
typedef struct Span {
   int32_t first, count; /* `first` is unknown to the host in a step */
   bool is_step;
   TilecArg tokens, positions;
} Span;

#define LAUNCH(e, id, ...)                                                                         \
   kernels_launch((e)->kernels, id, (e)->stream, TILEC_ARGS(__VA_ARGS__), TILEC_COUNT(__VA_ARGS__))

/* ---- arrays ---- */
static Array
new_array(Engine *e, TilecDtype dtype, uint64_t elems)
{
   Array a = {.dtype = dtype};
   ex_must(e->ex, tilec_buffer_new(e->ex->rt, elems * ex_dtype_bytes(dtype), &a.buffer),
           "a buffer");
   e->buffers = realloc(e->buffers, (e->num_buffers + 1) * sizeof(TilecBuffer *));
   if (!e->buffers)
      ex_die(e->ex, "out of memory");
   e->buffers[e->num_buffers++] = a.buffer;
   return a;
}

/* The array from element `first` on, as an argument. */
static TilecArg
at(Array a, int64_t first)
{
   return tilec_view(a.dtype, a.buffer, (uint64_t)first * ex_dtype_bytes(a.dtype));
}

static TilecArg
all(Array a)
{
   return at(a, 0);
}

static void
put(Engine *e, Array a, uint64_t first, const void *values, uint64_t elems)
{
   uint64_t size = ex_dtype_bytes(a.dtype);
   ex_must(e->ex, tilec_buffer_upload(a.buffer, first * size, values, elems * size, e->stream),
           "an upload");
}

static void
get(Engine *e, Array a, uint64_t first, void *values, uint64_t elems)
{
   uint64_t size = ex_dtype_bytes(a.dtype);
   ex_must(e->ex, tilec_buffer_download(a.buffer, first * size, values, elems * size, e->stream),
           "a download");
}

/* One array of up to three weights, one behind the other. */
static Array
load_weights(Engine *e, const StTensor *a, const StTensor *b, const StTensor *c)
{
   const StTensor *parts[] = {a, b, c};
   uint64_t size = ex_dtype_bytes(a->dtype), elems = 0, first = 0;
   for (int i = 0; i < 3; i++)
      elems += parts[i] ? (parts[i]->end - parts[i]->begin) / size : 0;
   Array all_of_them = new_array(e, a->dtype, elems);
   for (int i = 0; i < 3 && parts[i]; i++) {
      uint64_t count = (parts[i]->end - parts[i]->begin) / size;
      put(e, all_of_them, first, parts[i]->data, count);
      first += count;
   }
   return all_of_them;
}

static void
load_model(Engine *e, const Model *m)
{
   e->embedding = load_weights(e, m->weight[EMBEDDING], NULL, NULL);
   e->norm = load_weights(e, m->weight[NORM], NULL, NULL);
   e->head = m->weight[HEAD] == m->weight[EMBEDDING] ? e->embedding
                                                     : load_weights(e, m->weight[HEAD], NULL, NULL);
   e->layer = ex_allocate((size_t)m->shape.layers, sizeof *e->layer);
   for (int32_t l = 0; l < m->shape.layers; l++) {
      const StTensor *const *w = m->layer[l];
      e->layer[l] = (Layer){.attention_norm = load_weights(e, w[ATTENTION_NORM], NULL, NULL),
                            .qkv = load_weights(e, w[Q], w[K], w[V]),
                            .o = load_weights(e, w[O], NULL, NULL),
                            .mlp_norm = load_weights(e, w[MLP_NORM], NULL, NULL),
                            .gate_up = load_weights(e, w[GATE], w[UP], NULL),
                            .down = load_weights(e, w[DOWN], NULL, NULL)};
   }
}

/* ---- opening ---- */
static int32_t
power_of_two(int32_t n)
{
   return (int32_t)ex_next_power_of_two((size_t)n);
}

static Constants
choose_constants(const ModelShape *s)
{
   enum { LOGITS_OF_A_PROGRAM = 1024 };
   int32_t blocks = (s->extent[VOCAB] + LOGITS_OF_A_PROGRAM - 1) / LOGITS_OF_A_PROGRAM;
   return (Constants){{[HEAD_DIM] = s->head_dim,
                       [GROUP] = s->heads / s->kv_heads,
                       [PAGE] = 16,
                       [SPLITS] = 8,
                       [ROW_BLOCK] = power_of_two(s->extent[DIM]),
                       [TOKEN_BLOCK] = LOGITS_OF_A_PROGRAM,
                       [TOKEN_BLOCKS] = power_of_two(blocks),
                       [TILE] = 64}};
}

static int32_t
extent(const Engine *e, Extent which)
{
   return e->shape.extent[which];
}

/* Arrays of the tokens that are on their way. */
static void
new_activations(Engine *e)
{
   TilecDtype dtype = e->shape.dtype;
   uint64_t dim = (uint64_t)extent(e, DIM), hidden = (uint64_t)extent(e, HIDDEN);
   uint64_t queries = (uint64_t)extent(e, QUERIES), keys = (uint64_t)extent(e, KEYS);
   uint64_t parts = (uint64_t)e->shape.heads * (uint64_t)e->constants.value[SPLITS];
   uint64_t blocks = (uint64_t)e->constants.value[TOKEN_BLOCKS];
   e->x = new_array(e, TILEC_FP32, CHUNK * dim);
   e->normal = new_array(e, dtype, CHUNK * dim);
   e->delta = new_array(e, dtype, CHUNK * dim);
   e->qkv = new_array(e, dtype, CHUNK * (queries + 2 * keys));
   e->mixed = new_array(e, dtype, CHUNK * queries);
   e->gate = new_array(e, dtype, CHUNK * hidden);
   e->up = new_array(e, dtype, CHUNK * hidden);
   e->parts = new_array(e, TILEC_FP32, parts * (uint64_t)e->shape.head_dim);
   e->parts_lse = new_array(e, TILEC_FP32, parts);
   e->logits = new_array(e, TILEC_FP32, (uint64_t)extent(e, VOCAB));
   e->best = new_array(e, TILEC_FP32, blocks);
   e->best_column = new_array(e, TILEC_I32, blocks);
}

/* The pages of the sequence lie in the cache in a random order, as if others had come and gone. */
static void
new_cache(Engine *e)
{
   int32_t *table = ex_allocate((size_t)e->pages, sizeof *table);
   for (int32_t i = 0; i < e->pages; i++) {
      int32_t other = (int32_t)(ex_uniform(e->ex) * (i + 1));
      table[i] = table[other];
      table[other] = i;
   }
   e->table = new_array(e, TILEC_I32, (uint64_t)e->pages);
   put(e, e->table, 0, table, (uint64_t)e->pages);
   free(table);
   uint64_t rows = (uint64_t)e->shape.layers * (uint64_t)e->capacity;
   e->k_pages = new_array(e, e->shape.dtype, rows * (uint64_t)extent(e, KEYS));
   e->v_pages = new_array(e, e->shape.dtype, rows * (uint64_t)extent(e, KEYS));
}

static void
new_sequence(Engine *e)
{
   uint64_t half = (uint64_t)e->shape.head_dim / 2, capacity = (uint64_t)e->capacity;
   float *frequency = ex_allocate(half, sizeof *frequency);
   for (uint64_t i = 0; i < half; i++)
      frequency[i] = (float)pow(e->shape.rope_theta, -(double)i / (double)half);
   e->frequency = new_array(e, TILEC_FP32, half);
   put(e, e->frequency, 0, frequency, half);
   free(frequency);
   int32_t *numbers = ex_allocate(capacity, sizeof *numbers);
   for (int32_t i = 0; i < e->capacity; i++)
      numbers[i] = i;
   e->positions = new_array(e, TILEC_I32, capacity);
   put(e, e->positions, 0, numbers, capacity);
   free(numbers);
   e->tokens = new_array(e, TILEC_I32, capacity);
   e->token = new_array(e, TILEC_I32, 1);
   e->position = new_array(e, TILEC_I32, 1);
   e->length = new_array(e, TILEC_I32, 1);
}

Engine *
engine_new(Example *ex, const Model *m, int32_t capacity)
{
   Engine *e = ex_allocate(1, sizeof *e);
   *e = (Engine){.ex = ex, .shape = m->shape, .constants = choose_constants(&m->shape)};
   int32_t page = e->constants.value[PAGE];
   e->pages = (capacity + page - 1) / page;
   e->capacity = e->pages * page;
   if (ex->executor == TILEC_ON_CUDA)
      e->graph = graph_new(ex);
   ex_must(ex, tilec_stream_new(ex->rt, &e->stream), "a stream");
   e->kernels = kernels_open(ex, &e->constants);
   load_model(e, m);
   new_activations(e);
   new_cache(e);
   new_sequence(e);
   return e;
}

void
engine_free(Engine *e)
{
   engine_wait(e);
   kernels_close(e->kernels);
   for (size_t i = 0; i < e->num_buffers; i++)
      tilec_buffer_free(e->buffers[i]);
   if (e->graph)
      graph_free(e->graph);
   tilec_stream_free(e->ex->rt, e->stream);
   free(e->buffers);
   free(e->layer);
   free(e);
}

/* ---- the layers ---- */
static void
normalize(Engine *e, Array weight, int32_t count)
{
   LAUNCH(e, RMS_NORM, all(e->x), all(weight), all(e->normal), tilec_none(), count, extent(e, DIM),
          (float)e->shape.norm_eps);
}

typedef struct Sizes {
   int32_t rows, cols, count;
} Sizes;

/* y = x w^T for `count` rows of x; w is [rows, cols]. */
static void
multiply(Engine *e, TilecArg w, TilecArg x, TilecArg y, Sizes s)
{
   int32_t one = 1;
   LAUNCH(e, MATMUL, x, w, y, s.count, s.rows, s.cols, s.cols, one, one, s.cols, s.rows, one);
}

/* x += w y. */
static void
add_product(Engine *e, const Span *s, Array w, Array y, int32_t cols)
{
   int32_t dim = extent(e, DIM);
   if (s->is_step) {
      LAUNCH(e, MATVEC_ADD, all(w), all(y), tilec_none(), all(e->x), all(e->x), dim, cols, 0.0f);
      return;
   }
   multiply(e, all(w), all(y), all(e->delta), (Sizes){dim, cols, s->count});
   LAUNCH(e, ADD, all(e->x), all(e->delta), all(e->x), s->count * dim);
}

/* Queries, keys and values lie one behind the other in `qkv`; of one token they are one vector. */
static void
make_queries(Engine *e, const Layer *l, const Span *s, TilecArg q, TilecArg k, TilecArg v)
{
   int32_t dim = extent(e, DIM), queries = extent(e, QUERIES), keys = extent(e, KEYS);
   int64_t k_rows = (int64_t)queries * dim, v_rows = k_rows + (int64_t)keys * dim;
   if (s->is_step) {
      LAUNCH(e, MATVEC, all(l->qkv), all(e->x), all(l->attention_norm), tilec_none(), q,
             queries + 2 * keys, dim, (float)e->shape.norm_eps);
      return;
   }
   normalize(e, l->attention_norm, s->count);
   multiply(e, all(l->qkv), all(e->normal), q, (Sizes){queries, dim, s->count});
   multiply(e, at(l->qkv, k_rows), all(e->normal), k, (Sizes){keys, dim, s->count});
   multiply(e, at(l->qkv, v_rows), all(e->normal), v, (Sizes){keys, dim, s->count});
}

static void
attention(Engine *e, int32_t layer, const Span *s)
{
   const Layer *l = &e->layer[layer];
   int32_t heads = e->shape.heads, splits = e->constants.value[SPLITS];
   int32_t queries = extent(e, QUERIES), keys = extent(e, KEYS);
   int64_t pages = (int64_t)layer * e->capacity * keys;
   TilecArg k_pages = at(e->k_pages, pages), v_pages = at(e->v_pages, pages);
   TilecArg q = all(e->qkv), k = at(e->qkv, (int64_t)s->count * queries);
   TilecArg v = at(e->qkv, (int64_t)s->count * (queries + keys));
   float scale = 1 / sqrtf((float)e->shape.head_dim);
   make_queries(e, l, s, q, k, v);
   LAUNCH(e, ROPE_APPEND, q, k, v, s->positions, all(e->frequency), all(e->table), k_pages, v_pages,
          s->count, heads);
   if (s->is_step) {
      LAUNCH(e, DECODE, q, k_pages, v_pages, all(e->table), all(e->length), all(e->parts),
             all(e->parts_lse), 1, heads, e->pages, splits, scale);
      LAUNCH(e, MERGE, all(e->parts), all(e->parts_lse), all(e->mixed), heads, splits);
   } else {
      LAUNCH(e, PREFILL, q, k_pages, v_pages, all(e->table), all(e->mixed), heads, s->first,
             s->count, scale);
   }
   add_product(e, s, l->o, e->mixed, queries);
}

static void
mlp(Engine *e, int32_t layer, const Span *s)
{
   const Layer *l = &e->layer[layer];
   int32_t dim = extent(e, DIM), hidden = extent(e, HIDDEN);
   if (s->is_step) {
      LAUNCH(e, MATVEC_SWIGLU, all(l->gate_up), all(e->x), all(l->mlp_norm), all(e->up), hidden,
             dim, (float)e->shape.norm_eps);
   } else {
      TilecArg w_up = at(l->gate_up, (int64_t)hidden * dim);
      normalize(e, l->mlp_norm, s->count);
      multiply(e, all(l->gate_up), all(e->normal), all(e->gate), (Sizes){hidden, dim, s->count});
      multiply(e, w_up, all(e->normal), all(e->up), (Sizes){hidden, dim, s->count});
      LAUNCH(e, SWIGLU, all(e->gate), all(e->up), all(e->up), s->count * hidden);
   }
   add_product(e, s, l->down, e->up, hidden);
}

static void
run_layers(Engine *e, const Span *s)
{
   LAUNCH(e, EMBED, all(e->embedding), s->tokens, all(e->x), s->count, extent(e, DIM));
   for (int32_t layer = 0; layer < e->shape.layers; layer++) {
      attention(e, layer, s);
      mlp(e, layer, s);
   }
}

/* From the span's last row of x to the token that follows, and on by one position. */
static void
choose_next(Engine *e, const Span *s)
{
   int32_t vocab = extent(e, VOCAB), block = e->constants.value[TOKEN_BLOCK];
   int32_t dim = extent(e, DIM);
   LAUNCH(e, MATVEC_LOGITS, all(e->head), at(e->x, (int64_t)(s->count - 1) * dim), all(e->norm),
          tilec_none(), all(e->logits), vocab, dim, (float)e->shape.norm_eps);
   LAUNCH(e, BEST_OF_BLOCK, all(e->logits), all(e->best), all(e->best_column), vocab);
   LAUNCH(e, NEXT_TOKEN, all(e->best), all(e->best_column), all(e->token), all(e->tokens),
          all(e->position), all(e->length), (vocab + block - 1) / block);
}

/* ---- the sequence ---- */
static void
need_room(const Engine *e, int32_t count)
{
   if (count < 1 || count >= e->capacity)
      ex_die(e->ex, "%d tokens and the next one do not fit into a cache for %d", (int)count,
             (int)e->capacity);
}

void
engine_prefill(Engine *e, const int32_t *prompt, int32_t count)
{
   need_room(e, count);
   Span s = {.count = 0};
   int32_t position = count - 1;
   put(e, e->tokens, 0, prompt, (uint64_t)count);
   put(e, e->position, 0, &position, 1);
   put(e, e->length, 0, &count, 1);
   for (s.first = 0; s.first < count; s.first += s.count) {
      s.count = count - s.first < CHUNK ? count - s.first : CHUNK;
      s.tokens = at(e->tokens, s.first);
      s.positions = at(e->positions, s.first);
      run_layers(e, &s);
   }
   choose_next(e, &s);
   e->count = count + 1;
}

static void
launch_step(Engine *e)
{
   Span s = {.count = 1, .is_step = true, .tokens = all(e->token), .positions = all(e->position)};
   run_layers(e, &s);
   choose_next(e, &s);
}

void
engine_step(Engine *e)
{
   need_room(e, e->count);
   if (e->graph && graph_is_recorded(e->graph))
      graph_launch(e->graph, e->stream);
   else
      launch_step(e);
   e->count++;
}

void
engine_record(Engine *e)
{
   if (!e->graph || graph_is_recorded(e->graph))
      return;
   graph_begin(e->graph, e->stream);
   launch_step(e);
   graph_end(e->graph, e->stream);
}

void
engine_wait(Engine *e)
{
   ex_must(e->ex, tilec_stream_sync(e->ex->rt, e->stream), "the kernels");
}

int32_t
engine_count(const Engine *e)
{
   return e->count;
}

void
engine_tokens(Engine *e, int32_t *tokens, int32_t first, int32_t count)
{
   get(e, e->tokens, (uint64_t)first, tokens, (uint64_t)count);
}

void
engine_logits(Engine *e, float *logits)
{
   get(e, e->logits, 0, logits, (uint64_t)extent(e, VOCAB));
}
