/* A small language model that writes on: reads its weights, takes a prompt at once, then makes
 * token after token, and holds all of it against the same model in double precision.
 *
 *    transformer [--on auto|cpu|sim|cuda] [--seed N] [--source DIR] [--weights FILE] [--prompt N]
 *                [--steps N] [--time N]
 *
 * Without --weights it makes a small random model.  The prompt is --prompt random tokens.  With
 * --time N steps are timed instead, queued one after the other, and compared with nothing. */
#include "engine.h"
#include "random_model.h"
#include "reference.h"
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

/* ---- the model ---- */
typedef struct Weights {
   StFile file;
   Model model;
   char *made; /* the bytes of a file that was made here */
} Weights;

static void
make_file(Example *ex, Weights *w)
{
   ModelShape s = small_model();
   size_t size = 0;
   char why[256] = "";
   FILE *out = open_memstream(&w->made, &size);
   bool is_written = out && write_random_model(out, &s, ex->seed);
   if (!out || fclose(out) != 0 || !is_written)
      ex_die(ex, "no memory for a model");
   if (!st_parse(&w->file, w->made, size, why, sizeof why))
      ex_die(ex, "the model made here: %s", why);
}

static void
open_weights(Example *ex, Weights *w, const char *path)
{
   char why[256] = "";
   if (!path)
      make_file(ex, w);
   else if (!st_open(&w->file, path, why, sizeof why))
      ex_die(ex, "%s: %s", path, why);
   if (!model_open(&w->model, &w->file, why, sizeof why))
      ex_die(ex, "%s: %s", path ? path : "the model made here", why);
   const ModelShape *s = &w->model.shape;
   printf(
      "%s: %d layers of width %d, %d heads for %d of keys, %d tokens: %.1f million weights, %s\n",
      ex->name, (int)s->layers, (int)s->extent[DIM], (int)s->heads, (int)s->kv_heads,
      (int)s->extent[VOCAB], (double)model_weights(s) / 1e6, ex_dtype_name(s->dtype));
}

static void
close_weights(Weights *w)
{
   model_close(&w->model);
   st_close(&w->file);
   free(w->made);
}

/* ---- comparing ---- */
typedef struct Comparison {
   double worst; /* relative L2 of the logits */
   double gap; /* the least by which a chosen token's logit was above the next, in the reference */
   int32_t equal, count;
} Comparison;

static double
gap_to_second(const double *logits, int32_t count, int32_t best)
{
   double second = -INFINITY;
   for (int32_t i = 0; i < count; i++)
      if (i != best)
         second = fmax(second, logits[i]);
   return logits[best] - second;
}

static void
compare(Example *ex, Engine *e, const double *want, int32_t vocab, Comparison *c)
{
   size_t count = (size_t)vocab;
   float *logits = ex_allocate(count, sizeof *logits);
   double *values = ex_doubles(count);
   int32_t token, best = largest(want, vocab);
   engine_logits(e, logits);
   ex_hash(ex, logits, count * sizeof *logits);
   ex_unpack(TILEC_FP32, logits, count, values);
   engine_tokens(e, &token, engine_count(e) - 1, 1);
   c->worst = fmax(c->worst, ex_relative_l2_of(values, want, count));
   c->gap = fmin(c->gap, gap_to_second(want, vocab, best));
   c->equal += token == best;
   c->count++;
   free(values);
   free(logits);
}

static void
report(Example *ex, const char *phase, const Comparison *c, TilecDtype dtype)
{
   char what[80];
   snprintf(what, sizeof what, "transformer %s logits", phase);
   ex_report(ex, what, c->worst, ex_tolerance(dtype));
   ex->cases++;
   ex->failures += c->equal != c->count;
   printf(
      "transformer %s: %d of %d tokens are the reference's, whose closest choice was by %.1e  %s\n",
      phase, (int)c->equal, (int)c->count, c->gap, c->equal == c->count ? "ok" : "FAILED");
}

/* ---- running ---- */
static double
seconds(void)
{
   struct timespec t;
   clock_gettime(CLOCK_MONOTONIC, &t);
   return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct Run {
   Example *ex;
   Engine *engine;
   const Model *model;
   int32_t *prompt;
   int32_t prompt_tokens, steps;
} Run;

/* The prompt's last token brings the first new one; the reference is shown the engine's tokens. */
static void
check(const Run *r)
{
   int32_t vocab = r->model->shape.extent[VOCAB], token;
   double in_steps = 0;
   Reference *reference = reference_new(r->model, r->prompt_tokens + r->steps);
   const double *want = NULL;
   Comparison prompt = {.gap = INFINITY}, steps = {.gap = INFINITY};
   engine_prefill(r->engine, r->prompt, r->prompt_tokens);
   for (int32_t i = 0; i < r->prompt_tokens; i++)
      want = reference_step(reference, r->prompt[i]);
   compare(r->ex, r->engine, want, vocab, &prompt);
   for (int32_t i = 1; i < r->steps; i++) {
      engine_tokens(r->engine, &token, r->prompt_tokens + i - 1, 1);
      double start = seconds();
      engine_step(r->engine);
      engine_wait(r->engine);
      in_steps += i > 1 ? seconds() - start : 0; /* the first one compiles */
      compare(r->ex, r->engine, reference_step(reference, token), vocab, &steps);
      engine_record(r->engine);
   }
   report(r->ex, "prefill", &prompt, r->model->shape.dtype);
   if (steps.count) {
      report(r->ex, "decode", &steps, r->model->shape.dtype);
      if (steps.count > 1)
         printf("transformer decode: %.1f tokens/s\n", (steps.count - 1) / in_steps);
   }
   reference_free(reference);
}

static double
time_steps(const Run *r, int32_t count)
{
   double start = seconds();
   for (int32_t i = 0; i < count; i++)
      engine_step(r->engine);
   engine_wait(r->engine);
   return seconds() - start;
}

/* The least of three, each for the same tokens at the same positions. */
static void
print_times(const Run *r, const char *how, int32_t count)
{
   double prefill = INFINITY, decode = INFINITY;
   for (int i = 0; i < 3; i++) {
      double start = seconds();
      engine_prefill(r->engine, r->prompt, r->prompt_tokens);
      engine_wait(r->engine);
      prefill = fmin(prefill, seconds() - start);
      decode = fmin(decode, time_steps(r, count));
   }
   printf("transformer prefill of %d tokens: %.3f ms; decode %s: %.1f tokens/s, %.1f us a token\n",
          (int)r->prompt_tokens, 1e3 * prefill, how, count / decode, 1e6 * decode / count);
}

static void
print_tokens(const Run *r, const char *what, int32_t first, int32_t count)
{
   int32_t *tokens = ex_allocate((size_t)count, sizeof *tokens);
   engine_tokens(r->engine, tokens, first, count);
   printf("%s:", what);
   for (int32_t i = 0; i < count; i++)
      printf(" %d", (int)tokens[i]);
   putchar('\n');
   free(tokens);
}

static void
time_it(const Run *r)
{
   int32_t count = (int32_t)r->ex->repeats;
   print_times(r, "launch by launch", count);
   if (r->ex->executor == TILEC_ON_CUDA) {
      engine_record(r->engine);
      print_times(r, "by one graph", count);
   }
   r->ex->cases++;
}

int
main(int argc, char **argv)
{
   enum { MOST_TOKENS = 65536 };
   const char *path = NULL, *prompt = "37", *steps = "64";
   const ExOption own[] = {
      {"--weights", &path}, {"--prompt", &prompt}, {"--steps", &steps}, {NULL, NULL}};
   Example ex;
   Weights weights = {0};
   ex_open_with(&ex, "transformer", argc, argv, own);
   open_weights(&ex, &weights, path);
   Run r = {.ex = &ex, .model = &weights.model};
   r.prompt_tokens = ex_whole_number(&ex, "--prompt", prompt, MOST_TOKENS);
   r.steps = ex_whole_number(&ex, "--steps", steps, MOST_TOKENS);
   int32_t made = ex.repeats ? (int32_t)ex.repeats + 1 : r.steps;
   r.prompt = ex_allocate((size_t)r.prompt_tokens, sizeof *r.prompt);
   for (int32_t i = 0; i < r.prompt_tokens; i++)
      r.prompt[i] = (int32_t)(ex_uniform(&ex) * r.model->shape.extent[VOCAB]);
   r.engine = engine_new(&ex, r.model, r.prompt_tokens + made + 1);
   if (ex.repeats)
      time_it(&r);
   else
      check(&r);
   print_tokens(&r, "prompt", 0, r.prompt_tokens);
   print_tokens(&r, "tokens", r.prompt_tokens, made);
   engine_free(r.engine);
   free(r.prompt);
   close_weights(&weights);
   return ex_close(&ex);
}
