/* Measuring candidates: real launches on the caller's arguments, in rounds that take one sample of
 * every candidate, so that clocks and neighbours disturb all of them alike.
 *
 * Invariant: when tl_tune_measure returns, the memory of every written argument whose size is known
 * is what it was before, unless the GPU is given up or lost.  Left out: choosing what to measure,
 * and storing (tune.c). */
#include "core/clock.h"
#include "core/dtype.h"
#include "jit/tune.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
   MIN_ROUNDS = 12,
   MAX_ROUNDS = 300,
   NOTE_BYTES = 256,
};
static const double flush_ms = 0.05; /* guess of what emptying the cache costs */
static const double tie = 0.005;     /* times this close count as equal, without any noise */
static const uint64_t flush_bytes_unknown = (uint64_t)128 << 20; /* where L2 has no known size */

/* One array that the kernel may write. */
typedef struct Saved {
   const char *name;
   TilecDtype dtype;
   TilecBuffer *live; /* the caller's memory */
   bool owns_live;    /* wrapped here */
   uint64_t offset, bytes;
   TilecBuffer *copy;   /* as it was */
   bool reset, restore; /* before each launch */
   void *reference;     /* right results, on the host */
   void *result;        /* a candidate's; kept as long, for a copy that comes late */
} Saved;

typedef struct Measure {
   TlTuneJob *job;
   TilecRuntime *rt;
   Saved *saved;
   uint32_t num_saved;
   TilecBuffer *flush;
   TilecEvent **events; /* start, stop of each candidate */
   uint32_t rounds, done;
} Measure;

void
tl_tune_drop(TlCandidate *c, TilecStatus status, const char *format, ...)
{
   va_list ap;
   va_start(ap, format);
   vsnprintf(c->reason, sizeof c->reason, format, ap);
   va_end(ap);
   assert(status != TILEC_OK);
   c->reason[strcspn(c->reason, "\n")] = 0;
   c->status = status;
}

void
tl_tune_drop_failed(TilecRuntime *rt, TlCandidate *c, TilecStatus status)
{
   char text[1024] = "";
   tilec_runtime_error(rt, text, sizeof text);
   tl_tune_drop(c, status, "%s", text[0] ? text : tilec_status_string(status));
}

static void
note(TlTuneJob *job, const char *format, const char *name)
{
   if (!job->note[0])
      snprintf(job->note, NOTE_BYTES, format, name);
}

static bool
names(const char *const *list, uint32_t n, const char *name)
{
   for (uint32_t i = 0; i < n; i++)
      if (strcmp(list[i], name) == 0)
         return true;
   return false;
}

/* ---- saving what is written ---- */
static bool
is_written(const TlTuneJob *job, uint32_t param)
{
   for (uint32_t i = 0; i < job->num_candidates; i++) {
      const TilecKernelInfo *info = job->candidates[i].info;
      if (info && param < info->num_args && !info->args[param].is_const)
         return true;
   }
   return false;
}

static TilecDtype
pointee(const TlTuneJob *job, uint32_t param, TilecDtype given)
{
   for (uint32_t i = 0; i < job->num_candidates; i++) {
      const TilecKernelInfo *info = job->candidates[i].info;
      const char *type = info && param < info->num_args ? info->args[param].type : "";
      if (type[0] != '*')
         continue;
      type += 1 + (strncmp(type + 1, "const ", 6) == 0 ? 6 : 0);
      TilecDtype dtype = tl_dtype_named(type, strlen(type));
      if (dtype)
         return dtype;
   }
   return given;
}

static TilecStatus
save_one(Measure *m, uint32_t param, const TilecArg *a)
{
   TlTuneJob *job = m->job;
   if (a->kind == TILEC_ARG_TENSOR)
      a = &a->as.tensor->base;
   const char *name = job->decl->params[param].name;
   const TilecTuning *t = job->tuning;
   bool reset = t && names(t->reset_to_zero, t->num_reset, name);
   bool restore = t && names(t->restore_value, t->num_restore, name);
   if ((a->kind != TILEC_ARG_POINTER && a->kind != TILEC_ARG_BUFFER) ||
       (!reset && !restore && !is_written(job, param)))
      return TILEC_OK;
   Saved s = {
      .name = name, .dtype = pointee(job, param, a->dtype), .reset = reset, .restore = restore};
   if (a->kind == TILEC_ARG_BUFFER) {
      s.live = a->as.buffer;
      s.offset = a->bytes;
      s.bytes = tilec_buffer_bytes(s.live) - s.offset;
   } else {
      s.bytes = a->bytes;
   }
   if (!s.bytes) {
      if (a->kind == TILEC_ARG_POINTER && a->as.ptr)
         note(job,
              "the size behind pointer '%s' is not known: it holds what the last measured "
              "launch wrote",
              name);
      return TILEC_OK;
   }
   TilecStatus status = TILEC_OK;
   if (a->kind == TILEC_ARG_POINTER) {
      status = tilec_buffer_wrap(m->rt, a->as.ptr, s.bytes, &s.live);
      s.owns_live = true;
   }
   if (status == TILEC_OK)
      status = tilec_buffer_new(m->rt, s.bytes, &s.copy);
   if (status == TILEC_OK)
      status = tilec_buffer_copy(s.copy, 0, s.live, s.offset, s.bytes, job->launch.stream);
   assert(m->num_saved < m->job->num_args); /* at most one for each argument */
   m->saved[m->num_saved++] = s;
   return status;
}

static TilecStatus
save(Measure *m)
{
   TlTuneJob *job = m->job;
   m->saved = calloc(job->num_args + 1, sizeof *m->saved);
   if (!m->saved)
      return tl_core_no_memory(m->rt);
   size_t arg = 0;
   for (uint32_t p = 0; p < job->decl->num_params && arg < job->num_args; p++) {
      if (job->decl->params[p].is_constexpr)
         continue;
      TilecStatus status = save_one(m, p, &job->args[arg++]);
      if (status != TILEC_OK)
         return status;
   }
   return TILEC_OK;
}

static TilecStatus
put_back(Measure *m, const Saved *s)
{
   assert(s->live && s->copy && s->bytes);
   return tilec_buffer_copy(s->live, s->offset, s->copy, 0, s->bytes, m->job->launch.stream);
}

static TilecStatus
put_all_back(Measure *m)
{
   TilecStatus status = TILEC_OK;
   for (uint32_t i = 0; i < m->num_saved; i++)
      if (m->saved[i].copy && status == TILEC_OK)
         status = put_back(m, &m->saved[i]);
   return status;
}

/* What the decorator asks for before each launch. */
static TilecStatus
before_launch(Measure *m)
{
   TilecStatus status = TILEC_OK;
   for (uint32_t i = 0; i < m->num_saved && status == TILEC_OK; i++) {
      const Saved *s = &m->saved[i];
      if (s->restore)
         status = put_back(m, s);
      else if (s->reset)
         status = tilec_buffer_fill(s->live, s->offset, 0, s->bytes, m->job->launch.stream);
   }
   return status;
}

/* ---- right results ---- */
static double
element(const void *data, TilecDtype dtype, size_t i)
{
   switch ((int)dtype) {
   case TILEC_FP64:
      return ((const double *)data)[i];
   case TILEC_FP32:
      return (double)((const float *)data)[i];
   default:
      break;
   }
   bool is_byte = tl_dtype_bytes(dtype) == 1;
   return tl_dtype_widen(dtype, is_byte ? ((const uint8_t *)data)[i] : ((const uint16_t *)data)[i]);
}

/* Elements that agree in being NaN or the same infinity count as equal. */
static double
relative_error(const Saved *s, const void *data)
{
   size_t width = tl_dtype_bytes(s->dtype);
   assert(width > 0 && s->reference);
   double difference = 0, norm = 0;
   for (size_t i = 0; i < s->bytes / width; i++) {
      double a = element(s->reference, s->dtype, i), b = element(data, s->dtype, i);
      if (isfinite(a) && isfinite(b)) {
         difference += (a - b) * (a - b);
         norm += a * a;
      } else if (!(isnan(a) && isnan(b)) && !(a == b)) {
         return (double)INFINITY;
      }
   }
   return difference == 0 ? 0 : sqrt(difference / (norm > 0 ? norm : 1));
}

static double
tolerance(const TlTuneJob *job, TilecDtype dtype)
{
   if (job->options->tolerance > 0)
      return job->options->tolerance;
   return dtype == TILEC_FP64 ? 1e-9 : dtype == TILEC_FP32 ? 1e-3 : 1e-2;
}

/* One launch on the arguments as they were. */
static TilecStatus
launch_once(Measure *m, const TlCandidate *c)
{
   assert(c->status == TILEC_OK && c->kernel);
   TilecStatus status = put_all_back(m);
   if (status == TILEC_OK)
      status = before_launch(m);
   if (status == TILEC_OK)
      status = tilec_launch(c->kernel, &m->job->launch, m->job->args, m->job->num_args);
   if (status == TILEC_OK)
      status = tilec_stream_sync(m->rt, m->job->launch.stream);
   return status;
}

static TilecStatus
keep_reference(Measure *m, const TlCandidate *c)
{
   TilecStatus status = launch_once(m, c);
   for (uint32_t i = 0; i < m->num_saved && status == TILEC_OK; i++) {
      Saved *s = &m->saved[i];
      assert(!s->reference);
      s->reference = malloc(s->bytes);
      s->result = malloc(s->bytes);
      status = s->reference && s->result ? tilec_buffer_download(s->live, s->offset, s->reference,
                                                                 s->bytes, m->job->launch.stream)
                                         : tl_core_no_memory(m->rt);
   }
   return status;
}

static TilecStatus
compare(Measure *m, TlCandidate *c)
{
   for (uint32_t i = 0; i < m->num_saved; i++) {
      const Saved *s = &m->saved[i];
      if (!s->reference)
         continue;
      TilecStatus status =
         tilec_buffer_download(s->live, s->offset, s->result, s->bytes, m->job->launch.stream);
      if (status == TILEC_OK && tl_dtype_kind(s->dtype) == 'F') {
         double error = relative_error(s, s->result);
         if (!(error <= tolerance(m->job, s->dtype)))
            tl_tune_drop(c, TILEC_FAULT, "wrong result: '%s' has a relative error of %.3g", s->name,
                         error);
      } else if (status == TILEC_OK && memcmp(s->result, s->reference, s->bytes) != 0) {
         tl_tune_drop(c, TILEC_FAULT, "wrong result: '%s' differs", s->name);
      }
      if (status != TILEC_OK || c->status != TILEC_OK)
         return status;
   }
   return TILEC_OK;
}

/* Nothing more can be measured. */
static bool
is_over(TilecStatus status)
{
   return status == TILEC_DEVICE_LOST || status == TILEC_TIMED_OUT;
}

/* Every candidate once: does it launch, are its results right?  Those that do not are dropped; it
 * fails where there is no reference to compare with, or none can be had. */
static TilecStatus
try_all(Measure *m)
{
   TlTuneJob *job = m->job;
   const TilecTuneOptions *o = job->options;
   if (o->reference) {
      TlCandidate *r =
         o->reference <= job->num_candidates ? &job->candidates[o->reference - 1] : NULL;
      char why[160];
      if (!r)
         snprintf(
            why, sizeof why,
            "the reference is configuration %u of %u, counted from 1; --reference counts from 0",
            o->reference, job->num_candidates);
      else
         snprintf(why, sizeof why, "configuration %u, the reference, cannot be used: name another",
                  o->reference);
      if (!r || r->status != TILEC_OK)
         return tl_core_fail(m->rt, TILEC_BAD_ARGUMENT, why);
      TilecStatus status = keep_reference(m, r);
      if (status != TILEC_OK)
         return status;
   }
   for (uint32_t i = 0; i < job->num_candidates; i++) {
      TlCandidate *c = &job->candidates[i];
      if (c->status != TILEC_OK)
         continue;
      TilecStatus status = launch_once(m, c);
      if (is_over(status))
         return status;
      if (status != TILEC_OK) {
         tl_tune_drop_failed(m->rt, c, status);
         continue;
      }
      if (o->reference && (status = compare(m, c)) != TILEC_OK)
         return status;
      if (c->status == TILEC_OK && o->check &&
          !o->check(o->user, c->config, job->args, job->num_args))
         tl_tune_drop(c, TILEC_FAULT, "wrong result: the caller's check refused it");
   }
   return put_all_back(m);
}

/* ---- time ---- */
static TilecStatus
record_one(Measure *m, uint32_t i)
{
   TlTuneJob *job = m->job;
   TilecStream stream = job->launch.stream;
   assert(m->events && i < job->num_candidates);
   TilecStatus status = before_launch(m);
   if (status == TILEC_OK && m->flush)
      status = tilec_buffer_fill(m->flush, 0, 0, tilec_buffer_bytes(m->flush), stream);
   if (status == TILEC_OK)
      status = tilec_event_record(m->events[2 * i], stream);
   if (status == TILEC_OK)
      status = tilec_launch(job->candidates[i].kernel, &job->launch, job->args, job->num_args);
   if (status == TILEC_OK)
      status = tilec_event_record(m->events[2 * i + 1], stream);
   return status;
}

static bool
add_sample(TlCandidate *c, double ms)
{
   assert(c->num_samples <= c->room);
   if (c->num_samples == c->room) {
      uint32_t room = c->room ? c->room * 2 : 32;
      double *more = realloc(c->samples, room * sizeof *more);
      if (!more)
         return false;
      c->samples = more;
      c->room = room;
   }
   c->samples[c->num_samples++] = ms;
   return true;
}

/* Is launched in the next round. */
static bool
is_in(const TlCandidate *c)
{
   return c->status == TILEC_OK && !c->is_left_out;
}

/* One launch of each; keep: as samples. */
static TilecStatus
run_round(Measure *m, uint32_t first, bool keep)
{
   TlTuneJob *job = m->job;
   for (uint32_t k = 0; k < job->num_candidates; k++) {
      uint32_t i = (first + k) % job->num_candidates;
      TlCandidate *c = &job->candidates[i];
      TilecStatus status = is_in(c) ? record_one(m, i) : TILEC_OK;
      if (is_over(status))
         return status;
      if (status != TILEC_OK)
         tl_tune_drop_failed(m->rt, c, status);
   }
   TilecStatus status = tilec_stream_sync(m->rt, job->launch.stream);
   for (uint32_t i = 0; i < job->num_candidates && status == TILEC_OK && keep; i++) {
      double ms = 0;
      if (!is_in(&job->candidates[i]))
         continue;
      status = tilec_event_elapsed(m->events[2 * i], m->events[2 * i + 1], &ms);
      if (status == TILEC_OK && !add_sample(&job->candidates[i], ms))
         status = tl_core_no_memory(m->rt);
   }
   return status;
}

static double
fastest(const TlCandidate *c)
{
   double best = (double)INFINITY;
   for (uint32_t i = 0; i < c->num_samples; i++)
      best = c->samples[i] < best ? c->samples[i] : best;
   return best;
}

static int
ascending(const void *a, const void *b)
{
   double x = *(const double *)a, y = *(const double *)b;
   return (x > y) - (x < y);
}

static double
median(const TlCandidate *c)
{
   double sorted[MAX_ROUNDS];
   uint32_t n = c->num_samples;
   assert(n <= MAX_ROUNDS);
   if (!n)
      return (double)INFINITY;
   memcpy(sorted, c->samples, n * sizeof sorted[0]);
   qsort(sorted, n, sizeof sorted[0], ascending);
   return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

/* How much slower than the lowest median a candidate's fastest launch must be, for it to be left
 * out: the more, the fewer rounds there were. */
static double
slow_factor(uint32_t rounds)
{
   return rounds < 4 ? 8.0 : rounds < 8 ? 2.0 : 1.25;
}

static double
lowest_median(const TlTuneJob *job)
{
   double best = (double)INFINITY;
   for (uint32_t i = 0; i < job->num_candidates; i++)
      if (job->candidates[i].status == TILEC_OK)
         best = fmin(best, median(&job->candidates[i]));
   return best;
}

/* Leaves out of the next round what cannot win.  The choice goes by medians: compared with anything
 * else, what disturbs launches for a while drops what would have won.  One left out comes back when
 * the others turn out slower than they seemed. */
static void
leave_out_slow(Measure *m)
{
   TlTuneJob *job = m->job;
   double limit = lowest_median(job) * slow_factor(m->done);
   for (uint32_t i = 0; i < job->num_candidates; i++)
      job->candidates[i].is_left_out = fastest(&job->candidates[i]) > limit;
}

static void
drop_left_out(TlTuneJob *job)
{
   double best = lowest_median(job);
   for (uint32_t i = 0; i < job->num_candidates; i++) {
      TlCandidate *c = &job->candidates[i];
      if (c->status == TILEC_OK && c->is_left_out)
         tl_tune_drop(c, TILEC_CANCELLED,
                      "slower: %.4g ms at best in its %u round%s, the lowest median is %.4g",
                      fastest(c), c->num_samples, c->num_samples == 1 ? "" : "s", best);
   }
}

/* The fewest launches of those still measured. */
static uint32_t
fewest_samples(const TlTuneJob *job)
{
   uint32_t fewest = MAX_ROUNDS;
   for (uint32_t i = 0; i < job->num_candidates; i++) {
      const TlCandidate *c = &job->candidates[i];
      if (c->status == TILEC_OK && !c->is_left_out && c->num_samples < fewest)
         fewest = c->num_samples;
   }
   return fewest;
}

static void
tell(Measure *m)
{
   const TilecTuneOptions *o = m->job->options;
   TilecTuneProgress p = {m->job->compiled, m->done, m->rounds, m->job->num_candidates};
   if (o->on_progress)
      o->on_progress(o->user, &p);
}

static uint32_t
count_rounds(const Measure *m, double rep_ms)
{
   double round_ms = 0, alive = 0;
   for (uint32_t i = 0; i < m->job->num_candidates; i++)
      if (m->job->candidates[i].status == TILEC_OK) {
         round_ms += fastest(&m->job->candidates[i]) + (m->flush ? flush_ms : 0);
         alive++;
      }
   double most = MAX_ROUNDS, rounds = round_ms > 0 ? fmin(rep_ms * alive / round_ms, most) : most;
   assert(rounds <= (double)MAX_ROUNDS);
   return rounds < (double)MIN_ROUNDS ? MIN_ROUNDS : (uint32_t)rounds;
}

static uint32_t
first_of(uint32_t asked, uint32_t decorator, uint32_t other)
{
   return asked ? asked : decorator ? decorator : other;
}

static TilecStatus
time_all(Measure *m)
{
   TlTuneJob *job = m->job;
   const TilecTuning *t = job->tuning;
   uint32_t warmup = first_of(job->options->warmup_ms, t ? t->warmup_ms : 0, 25);
   uint32_t rep = first_of(job->options->rep_ms, t ? t->rep_ms : 0, 100);
   double end = tl_rt_now_ms() + warmup;
   TilecStatus status = TILEC_OK;
   do
      status = run_round(m, 0, false);
   while (status == TILEC_OK && tl_rt_now_ms() < end);
   for (m->done = 0; status == TILEC_OK;) {
      status = run_round(m, m->done++, true);
      if (m->done == 1)
         m->rounds = count_rounds(m, rep);
      if (!job->options->keep_all)
         leave_out_slow(m);
      if (m->done == m->rounds && m->rounds < MAX_ROUNDS && fewest_samples(job) < MIN_ROUNDS)
         m->rounds++; /* for one that came back */
      tell(m);
      if (m->done >= m->rounds)
         break;
   }
   drop_left_out(job);
   return status;
}

static void
summarise(TlCandidate *c)
{
   uint32_t n = c->num_samples;
   if (!n)
      return;
   qsort(c->samples, n, sizeof c->samples[0], ascending);
   c->median = (c->samples[(n - 1) / 2] + c->samples[n / 2]) / 2;
   c->low = c->samples[(n - 1) / 5];
   c->high = c->samples[n - 1 - (n - 1) / 5];
   assert(c->low <= c->median && c->median <= c->high);
}

/* ---- all of it ---- */
static TilecStatus
prepare(Measure *m)
{
   TlTuneJob *job = m->job;
   TilecStatus status = save(m);
   m->events = calloc(2 * (size_t)job->num_candidates, sizeof *m->events);
   if (!m->events)
      return tl_core_no_memory(m->rt);
   for (uint32_t i = 0; i < 2 * job->num_candidates && status == TILEC_OK; i++)
      status = tilec_event_new(m->rt, &m->events[i]);
   if (status != TILEC_OK || tilec_runtime_executor(m->rt) != TILEC_ON_CUDA ||
       job->options->warm_cache)
      return status;
   uint64_t l2 = tl_core_device(m->rt)->l2_bytes;
   if (tilec_buffer_new(m->rt, l2 ? 2 * l2 : flush_bytes_unknown, &m->flush) != TILEC_OK) {
      note(job, "no memory to empty the cache with: launches were measured with a warm cache%s",
           "");
      m->flush = NULL;
   }
   return TILEC_OK;
}

/* What was given up may still copy to the host: that memory is left to the process. */
static void
release(Measure *m)
{
   bool may_copy = tilec_runtime_loss(m->rt) == TILEC_ABANDONED;
   for (uint32_t i = 0; i < m->num_saved; i++) {
      tilec_buffer_free(m->saved[i].copy);
      if (m->saved[i].owns_live)
         tilec_buffer_free(m->saved[i].live);
      if (may_copy)
         continue;
      free(m->saved[i].reference);
      free(m->saved[i].result);
   }
   free(m->saved);
   for (uint32_t i = 0; m->events && i < 2 * m->job->num_candidates; i++)
      tilec_event_free(m->events[i]);
   free(m->events);
   tilec_buffer_free(m->flush);
}

/* What has not ended is given as long again.  Then the GPU is given up: to put memory back and to
 * free it would wait for it, without a limit. */
static TilecStatus
wait_again(Measure *m)
{
   char why[TL_RT_ERROR_BYTES];
   TilecStatus status = tilec_runtime_sync(m->rt);
   if (status != TILEC_TIMED_OUT)
      return status;
   tilec_runtime_error(m->rt, why, sizeof why);
   (void)tilec_runtime_abandon(m->rt);
   return tl_core_fail(m->rt, status, why);
}

/* The arguments' memory is what it was when this is OK. */
static TilecStatus
restore_all(Measure *m)
{
   TilecStatus status = put_all_back(m);
   if (status == TILEC_OK)
      status = tilec_stream_sync(m->rt, m->job->launch.stream);
   return status == TILEC_TIMED_OUT ? wait_again(m) : status;
}

TilecStatus
tl_tune_measure(TlTuneJob *job)
{
   Measure m = {.job = job, .rt = job->rt};
   TilecStatus status = prepare(&m);
   if (status == TILEC_OK)
      status = try_all(&m);
   if (status == TILEC_OK)
      status = time_all(&m);
   char why[TL_RT_ERROR_BYTES];
   tilec_runtime_error(m.rt, why, sizeof why);
   if (status == TILEC_TIMED_OUT)
      (void)wait_again(&m);
   TilecStatus back = tilec_runtime_loss(m.rt) ? status : restore_all(&m);
   for (uint32_t i = 0; i < job->num_candidates; i++)
      summarise(&job->candidates[i]);
   release(&m);
   return status == TILEC_OK ? back : tl_core_fail(m.rt, status, why);
}

/* The standard error of a median: 0.75 times the range between 20 % and 80 %, which is 1.68
 * standard deviations of a normal distribution, over the root of the number (the median's is 1.25
 * times that of the mean). */
static double
uncertainty(const TlCandidate *c)
{
   return 0.75 * (c->high - c->low) / sqrt((double)c->num_samples);
}

/* Two medians this close say nothing of which is faster: two standard errors of the difference. */
static bool
is_tie(const TlCandidate *a, const TlCandidate *b)
{
   double noise = 2 * hypot(uncertainty(a), uncertainty(b));
   return fabs(a->median - b->median) <= fmax(fmin(a->median, b->median) * tie, noise);
}

uint32_t
tl_tune_best(TlTuneJob *job)
{
   uint32_t n = job->num_candidates, best = n;
   for (uint32_t i = 0; i < n; i++) {
      const TlCandidate *c = &job->candidates[i];
      if (c->status == TILEC_OK && c->num_samples &&
          (best == n || c->median < job->candidates[best].median))
         best = i;
   }
   uint32_t chosen = best;
   for (uint32_t i = 0; i < n && best < n; i++) {
      TlCandidate *c = &job->candidates[i];
      c->is_tied = c->status == TILEC_OK && c->num_samples && is_tie(c, &job->candidates[best]);
      if (c->is_tied && c->resources < job->candidates[chosen].resources)
         chosen = i;
   }
   assert((chosen == n) == (best == n));
   return chosen;
}
