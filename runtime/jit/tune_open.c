/* Configurations as modules: opened from the tuner's source with the configuration's values, and
 * what heuristics give for the arguments, as defines; many of them compiled on several threads. */
#include "jit/tune_impl.h"

#include "core/lock.h"
#include "core/number.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VALUE_BYTES = 80 };

/* ---- values as text ---- */
void
tl_tune_value_text(const TilecArg *a, char *text, size_t bytes)
{
   switch (tl_dtype_kind(a->dtype)) {
   case 'F':
      tl_rt_write_double(text, bytes, a->as.f);
      break;
   case 'U':
      snprintf(text, bytes, "%llu", (unsigned long long)a->as.u);
      break;
   case 'B':
      snprintf(text, bytes, "%s", a->as.u ? "True" : "False");
      break;
   default:
      snprintf(text, bytes, "%lld", (long long)a->as.i);
   }
}

const char *
tl_tune_pointee(const TlTune *t, uint32_t arg, TilecDtype given)
{
   for (uint32_t i = 0, k = 0; i < t->decl->num_params; i++) {
      const TilecParamDecl *p = &t->decl->params[i];
      if (!p->is_constexpr && k++ == arg && p->type && p->type[0] == '*')
         return p->type + 1;
   }
   return tl_dtype_name(given);
}

/* What the compiler may know of the launch arguments; one block, NULL without memory. */
static TilecDefine *
argument_values(const TlTune *t, const TilecArg *args)
{
   size_t n = t->num_args;
   TilecDefine *values = malloc((n + 1) * (sizeof *values + VALUE_BYTES));
   char *text = values ? (char *)&values[n + 1] : NULL;
   for (uint32_t i = 0, arg = 0; values && i < t->decl->num_params; i++) {
      if (t->decl->params[i].is_constexpr)
         continue;
      assert(arg < n);
      const TilecArg *a = &args[arg];
      if (a->kind == TILEC_ARG_SCALAR)
         tl_tune_value_text(a, text, VALUE_BYTES);
      else if (a->kind == TILEC_ARG_NONE)
         snprintf(text, VALUE_BYTES, "None");
      else
         snprintf(text, VALUE_BYTES, "*%.70s", tl_tune_pointee(t, arg, a->dtype));
      text[strcspn(text, ":")] = 0; /* "*fp16:16": no facts here */
      values[arg++] = (TilecDefine){t->decl->params[i].name, text};
      text += VALUE_BYTES;
   }
   return values;
}

/* ---- lists of defines ---- */
typedef struct Defines {
   TilecDefine *list;
   char **text; /* "NAME=VALUE" of each; list points into copies after it */
   size_t num, room;
   bool failed; /* no memory */
} Defines;

static void
add_define(Defines *d, const char *name, size_t name_len, const char *value)
{
   assert(d->num <= d->room);
   if (d->num == d->room) {
      size_t room = d->room ? d->room * 2 : 16;
      TilecDefine *list = realloc(d->list, room * sizeof *list);
      d->list = list ? list : d->list;
      char **text = list ? realloc(d->text, room * sizeof *text) : NULL;
      d->text = text ? text : d->text;
      if (!text) {
         d->failed = true;
         return;
      }
      d->room = room;
   }
   size_t len = name_len + 1 + strlen(value) + 1;
   char *both = malloc(2 * len);
   if (!both) {
      d->failed = true;
      return;
   }
   snprintf(both, len, "%.*s=%s", (int)name_len, name, value);
   memcpy(both + len, both, len);
   both[len + name_len] = 0;
   d->text[d->num] = both;
   d->list[d->num++] = (TilecDefine){both + len, both + len + name_len + 1};
}

static void
free_defines(Defines *d)
{
   for (size_t i = 0; i < d->num; i++)
      free(d->text[i]);
   free(d->text);
   free(d->list);
}

static void
add_source_and_config(Defines *d, const TlTune *t, const TilecConfig *c)
{
   for (size_t i = 0; i < t->source.num_defines; i++) {
      const char *equals = strchr(t->source.defines[i], '=');
      add_define(d, t->source.defines[i], (size_t)(equals - t->source.defines[i]), equals + 1);
   }
   for (uint32_t i = 0; c && i < c->num_values; i++)
      add_define(d, c->values[i].name, strlen(c->values[i].name), c->values[i].value);
}

/* ---- asking the compiler ---- */
/* The kernel as the compiler sees it for these arguments; NULL when it cannot say. */
static const TilecKernelDecl *
describe(const TlTune *t, const Defines *d, const TilecConfig *c, const TilecArg *args,
         TilecListing **listing)
{
   TilecSessionOptions so = {.struct_size = sizeof so};
   TilecSession *session = NULL;
   TilecDefine *values = argument_values(t, args);
   const TilecKernelDecl *found = NULL;
   *listing = NULL;
   if (values && !d->failed && tilec_session_new(&so, &session) == TILEC_OK) {
      TilecCompileOptions o = {.struct_size = sizeof o,
                               .file = t->source.file,
                               .source = t->source.source,
                               .source_bytes = t->source.source_bytes,
                               .kernel = t->decl->name,
                               .defines = d->list,
                               .num_defines = d->num,
                               .include_dirs = t->source.include_dirs,
                               .num_include_dirs = t->source.num_include_dirs,
                               .assume = t->source.assume,
                               .num_assume = t->source.num_assume,
                               .num_warps = c ? c->num_warps : t->source.num_warps,
                               .num_stages = c ? c->num_stages : t->source.num_stages,
                               .values = values,
                               .num_values = t->num_args};
      if (tilec_list_kernels(session, &o, listing) == TILEC_OK)
         for (uint32_t i = 0; i < tilec_listing_count(*listing); i++) {
            const TilecKernelDecl *k = tilec_listing_kernel(*listing, i);
            found = strcmp(k->name, t->decl->name) == 0 ? k : found;
         }
   }
   tilec_session_free(session);
   free(values);
   return found;
}

const TilecTuning *
tl_tune_prune(TlTune *t, const TilecArg *args)
{
   Defines d = {0};
   TilecListing *listing = NULL, **list;
   const TilecTuning *found = t->decl->tuning;
   assert(tl_is_locked(&t->lock));
   add_source_and_config(&d, t, NULL);
   const TilecKernelDecl *k = describe(t, &d, NULL, args, &listing);
   list = k && k->tuning ? realloc(t->listings, (t->num_listings + 1) * sizeof *list) : NULL;
   if (list) {
      t->listings = list;
      t->listings[t->num_listings++] = listing;
      found = k->tuning;
   } else {
      tilec_listing_free(listing);
   }
   free_defines(&d);
   return found;
}

static bool
is_launch_value(const TilecDefine *d, uint32_t *num_warps, uint32_t *num_stages)
{
   uint32_t *to = strcmp(d->name, "num_warps") == 0    ? num_warps
                  : strcmp(d->name, "num_stages") == 0 ? num_stages
                                                       : NULL;
   long n = to ? strtol(d->value, NULL, 10) : 0;
   if (to && n > 0 && n <= 64)
      *to = (uint32_t)n;
   return to != NULL;
}

/* ---- opening ---- */
typedef struct Opened {
   char *name;
   TilecModule *module;
   TilecKernel *kernel;
} Opened;

/* The child's name: it says all that the module was opened with beyond the tuner's source. */
static char *
child_name(const TilecConfig *c, const Defines *d, size_t first)
{
   size_t bytes = strlen(c ? c->text : "as written") + 1;
   for (size_t i = first; i < d->num; i++)
      bytes += strlen(d->text[i]) + 2;
   char *name = malloc(bytes);
   char *at = name;
   if (name)
      at += sprintf(at, "%s", c ? c->text : "as written");
   for (size_t i = first; name && i < d->num; i++)
      at += sprintf(at, "; %s", d->text[i]);
   return name;
}

/* What a module of this configuration is opened with; *first_heuristic counts what comes before. */
static TilecSource
source_of(const TlTune *t, const TilecConfig *c, const TilecArg *args, Defines *d,
          size_t *first_heuristic)
{
   TilecSource s = t->source;
   add_source_and_config(d, t, c);
   *first_heuristic = d->num;
   s.num_warps = c && c->num_warps ? c->num_warps : s.num_warps;
   s.num_stages = c && c->num_stages ? c->num_stages : s.num_stages;
   if (t->has_heuristics) {
      TilecListing *listing;
      const TilecKernelDecl *k = describe(t, d, c, args, &listing);
      for (uint32_t i = 0; k && i < k->num_heuristics; i++)
         if (!is_launch_value(&k->heuristics[i], &s.num_warps, &s.num_stages))
            add_define(d, k->heuristics[i].name, strlen(k->heuristics[i].name),
                       k->heuristics[i].value);
      tilec_listing_free(listing);
   }
   s.defines = (const char *const *)d->text;
   s.num_defines = d->num;
   s.tune = TL_TUNE_CHILD;
   return s;
}

static TilecStatus
open_source(const TlTune *t, const TilecSource *s, Opened *out)
{
   TilecStatus status = tilec_module_from_source(t->rt, s, &out->module);
   if (status == TILEC_OK)
      status = tilec_module_kernel(out->module, NULL, &out->kernel);
   if (status != TILEC_OK) {
      tilec_module_free(out->module);
      out->module = NULL;
   }
   return status;
}

static TlChild *
find_child(TlTune *t, const char *name)
{
   assert(tl_is_locked(&t->lock));
   TlChild *c = t->children;
   while (c && strcmp(c->name, name) != 0)
      c = c->next;
   return c;
}

/* Takes over name and module. */
static TilecStatus
add_child(TlTune *t, Opened *o, TlChild **out)
{
   *out = find_child(t, o->name);
   TlChild *c = *out ? NULL : calloc(1, sizeof *c);
   if (c) {
      *c = (TlChild){t->children, o->name, o->module, o->kernel};
      t->children = *out = c;
      return TILEC_OK;
   }
   tilec_module_free(o->module);
   free(o->name);
   return *out ? TILEC_OK : tl_core_no_memory(t->rt);
}

TilecStatus
tl_tune_open(TlTune *t, const TilecConfig *config, const TilecArg *args, TlChild **out)
{
   Defines d = {0};
   size_t first;
   TilecSource s = source_of(t, config, args, &d, &first);
   Opened o = {.name = d.failed ? NULL : child_name(config, &d, first)};
   TilecStatus status = o.name ? TILEC_OK : tl_core_no_memory(t->rt);
   *out = o.name ? find_child(t, o.name) : NULL;
   if (status == TILEC_OK && !*out) {
      status = open_source(t, &s, &o);
      if (status == TILEC_OK) {
         status = add_child(t, &o, out);
         o.name = NULL;
      }
   }
   free(o.name);
   free_defines(&d);
   return status;
}

TilecStatus
tl_tune_adopt(TlTune *t, TlCandidate *c, TlChild **out)
{
   assert(c->status == TILEC_OK && c->name && c->module && c->kernel);
   Opened o = {c->name, c->module, c->kernel};
   c->name = NULL;
   c->module = NULL;
   return add_child(t, &o, out);
}

/* ---- compiling candidates in parallel ---- */
typedef struct Work {
   const TlTune *t;
   TlTuneJob *job;
   const TilecConfig *configs;
   atomic_uint next;
   pthread_mutex_t lock; /* of the progress */
} Work;

static TilecStatus
open_candidate(const Work *w, const TilecConfig *config, TlCandidate *c)
{
   Defines d = {0};
   size_t first;
   Opened o = {0};
   TilecSource s = source_of(w->t, config, w->job->args, &d, &first);
   c->name = d.failed ? NULL : child_name(config, &d, first);
   TilecStatus status = c->name ? open_source(w->t, &s, &o) : tl_core_no_memory(w->t->rt);
   c->module = o.module;
   c->kernel = o.kernel;
   free_defines(&d);
   return status;
}

static void
compile_one(Work *w, uint32_t i)
{
   const TlTune *t = w->t;
   TlCandidate *c = &w->job->candidates[i];
   if (w->configs[i].num_ctas > 1) {
      tl_tune_drop(c, TILEC_UNSUPPORTED, "num_ctas=%u: clusters of blocks are not supported",
                   w->configs[i].num_ctas);
      return;
   }
   const TlVariant *v = NULL;
   TilecStatus status = open_candidate(w, &w->configs[i], c);
   if (status == TILEC_OK)
      status = tl_core_prepare_one(c->kernel, w->job->args, w->job->num_args);
   if (status == TILEC_OK)
      status = t->settings.find(tl_core_source(c->kernel), w->job->args, w->job->num_args,
                                TL_FORM_FIRST, &v);
   if (status != TILEC_OK || !v) {
      tl_tune_drop_failed(t->rt, c, status != TILEC_OK ? status : TILEC_INTERNAL);
      return;
   }
   TilecKernelUse use = {0};
   assert(c->module && c->kernel);
   c->info = tl_core_variant_info(v);
   c->threads = c->info->threads;
   c->shared_bytes = c->info->shared_bytes;
   if (tl_core_variant_use(t->rt, v, &use) == TILEC_OK) {
      c->registers = use.registers;
      c->spill_bytes = use.spill_bytes;
   }
   c->resources = (uint64_t)c->shared_bytes + (uint64_t)c->registers * 4 * c->threads +
                  (uint64_t)c->spill_bytes * c->threads + c->threads;
}

static void *
compile_some(void *user)
{
   Work *w = user;
   TlTuneJob *job = w->job;
   for (;;) {
      uint32_t i = atomic_fetch_add(&w->next, 1);
      if (i >= job->num_candidates)
         return NULL;
      compile_one(w, i);
      pthread_mutex_lock(&w->lock);
      job->compiled++;
      assert(job->compiled <= job->num_candidates);
      TilecTuneProgress p = {job->compiled, 0, 0, job->num_candidates};
      if (job->options->on_progress)
         job->options->on_progress(job->options->user, &p);
      pthread_mutex_unlock(&w->lock);
   }
}

void
tl_tune_compile(const TlTune *t, TlTuneJob *job, const TilecConfig *configs)
{
   enum { MAX_THREADS = 128 };
   Work w = {.t = t, .job = job, .configs = configs};
   pthread_t threads[MAX_THREADS];
   long cores = sysconf(_SC_NPROCESSORS_ONLN);
   uint32_t want = job->options->num_threads ? job->options->num_threads
                   : cores > 0               ? (uint32_t)cores
                                             : 1;
   want = want > job->num_candidates ? job->num_candidates : want;
   want = want > MAX_THREADS ? MAX_THREADS : want;
   pthread_mutex_init(&w.lock, NULL);
   uint32_t made = 0;
   while (made + 1 < want && pthread_create(&threads[made], NULL, compile_some, &w) == 0)
      made++;
   compile_some(&w);
   for (uint32_t i = 0; i < made; i++)
      pthread_join(threads[i], NULL);
   pthread_mutex_destroy(&w.lock);
   assert(job->compiled == job->num_candidates); /* dropped ones count too */
}
