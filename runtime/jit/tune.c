/* Choosing configurations: see tune.h.
 *
 * A choice is looked up by the values of the decorator's key arguments, of arguments that
 * heuristics look at, and the types of untyped ones; buckets are singly linked lists whose entries
 * never change once published, so a hit takes no lock.  A newer choice for the same key stands
 * before the older one.  Misses, opening of configurations and measuring take the tuner's lock.
 * Lock order: the tuner's, then the JIT's. */
#include "jit/tune_impl.h"

#include "core/lock.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jit/jit.h"
#include "jit/options.h"
#include "jit/tune_db.h"

/* The wait ends, and the work is done twice, where who measures waits for what this process has yet
 * to start: a transfer between ranks. */
enum { KEY_TEXT = 2048, NOTE_BYTES = TL_TUNE_NOTE_BYTES, TURN_MS = 60000 };

struct TilecTuneResult {
   TilecTuneInfo info;
   TilecTuneCandidate *candidates;
   TlCandidate *own;
   uint32_t num;
   char **texts; /* of configurations, copied */
   char key[KEY_TEXT];
   char note[NOTE_BYTES];
};

/* ---- making ---- */
static bool
copy_source(TlTune *t, const TilecSource *o)
{
   t->source = *o;
   t->source.struct_size = sizeof t->source;
   t->source.kernel = t->decl->name;
   bool ok = tl_source_keep_texts(&t->source, &t->texts);
   size_t room = o->num_defines + o->num_include_dirs + o->num_assume;
   t->defines = calloc(room + 1, sizeof *t->defines);
   if (!t->defines)
      return false;
   for (size_t i = 0; i < o->num_defines; i++)
      t->defines[i] = tl_texts_keep(&t->texts, o->defines[i], TILEC_STRLEN, &ok);
   const char **dirs = t->defines + o->num_defines;
   for (size_t i = 0; i < o->num_include_dirs; i++)
      dirs[i] = tl_texts_keep(&t->texts, o->include_dirs[i], TILEC_STRLEN, &ok);
   const char **assume = dirs + o->num_include_dirs;
   for (size_t i = 0; i < o->num_assume; i++)
      assume[i] = tl_texts_keep(&t->texts, o->assume[i], TILEC_STRLEN, &ok);
   t->source.defines = t->defines;
   t->source.include_dirs = dirs;
   t->source.assume = assume;
   return ok;
}

static bool
find_keys(TlTune *t)
{
   const TilecTuning *tuning = t->decl->tuning;
   t->keys = calloc(t->decl->num_params + 1, sizeof *t->keys);
   if (!t->keys)
      return false;
   for (uint32_t i = 0; i < t->decl->num_params; i++) {
      const TilecParamDecl *p = &t->decl->params[i];
      if (p->is_constexpr)
         continue;
      bool is_key = false;
      for (uint32_t k = 0; tuning && k < tuning->num_keys; k++)
         is_key |= strcmp(tuning->keys[k], p->name) == 0;
      bool scalar = p->type && p->type[0] != '*';
      t->has_heuristics |= p->value_matters;
      if (is_key || p->value_matters || !scalar)
         t->keys[t->num_keys++] =
            (TlKeyArg){t->num_args, p->name, is_key, is_key || p->value_matters};
      t->num_args++;
   }
   assert(t->num_keys <= t->num_args && t->num_args <= t->decl->num_params);
   return true;
}

TlTune *
tl_tune_new(TilecRuntime *rt, const TlTuneSettings *settings, const TilecSource *source,
            const TilecKernelDecl *decl)
{
   TlTune *t = calloc(1, sizeof *t);
   if (!t)
      return NULL;
   t->rt = rt;
   t->settings = *settings;
   t->decl = decl;
   t->policy = source->tune ? source->tune : settings->policy ? settings->policy : TILEC_TUNE_AUTO;
   pthread_mutex_init(&t->lock, NULL);
   if (copy_source(t, source) && find_keys(t))
      return t;
   tl_tune_free(t);
   return NULL;
}

void
tl_tune_free(TlTune *t)
{
   if (!t)
      return;
   for (uint32_t i = 0; i < TL_TUNE_BUCKETS; i++)
      for (TlTunedKernel *c = t->buckets[i], *next; c; c = next) {
         next = c->next;
         free(c);
      }
   for (TlChild *c = t->children, *next; c; c = next) {
      next = c->next;
      tilec_module_free(c->module);
      free(c->name);
      free(c);
   }
   for (TlWinner *w = t->winners, *next; w; w = next) {
      next = w->next;
      free(w->key);
      free(w);
   }
   for (size_t i = 0; i < t->num_listings; i++)
      tilec_listing_free(t->listings[i]);
   free(t->listings);
   tl_texts_free(&t->texts);
   free(t->defines);
   free(t->keys);
   pthread_mutex_destroy(&t->lock);
   free(t);
}

bool
tl_tune_is_active(const TlTune *t)
{
   if (!t || t->policy == TL_TUNE_CHILD)
      return false;
   return t->has_heuristics || (t->decl->tuning && t->policy != TILEC_TUNE_OFF);
}

/* ---- keys ---- */
static void
make_key(const TlTune *t, const TilecArg *args, TlKeyItem *key)
{
   for (uint32_t i = 0; i < t->num_keys; i++) {
      assert(t->keys[i].arg < t->num_args);
      const TilecArg *a = &args[t->keys[i].arg];
      key[i] = (TlKeyItem){.kind = (uint32_t)a->kind};
      if (a->kind == TILEC_ARG_BUFFER)
         key[i].kind = TILEC_ARG_POINTER;
      if (a->kind == TILEC_ARG_POINTER || a->kind == TILEC_ARG_BUFFER ||
          a->kind == TILEC_ARG_TENSOR) {
         key[i].dtype = (uint32_t)a->dtype;
      } else if (a->kind == TILEC_ARG_SCALAR) {
         key[i].dtype = tl_dtype_kind(a->dtype) == 'F';
         key[i].value = t->keys[i].by_value ? a->as.u : 0;
      }
   }
}

static uint64_t
hash_key(const TlTune *t, const TlKeyItem *key)
{
   uint64_t h = 0xcbf29ce484222325u; /* FNV-1a over words */
   for (uint32_t i = 0; i < t->num_keys; i++) {
      h = (h ^ key[i].value) * 0x100000001b3u;
      h = (h ^ ((uint64_t)key[i].kind << 32 | key[i].dtype)) * 0x100000001b3u;
      h ^= h >> 29;
   }
   return h;
}

static TlTunedKernel *
look_up(TlTune *t, uint64_t hash, const TlKeyItem *key)
{
   TlTunedKernel *c =
      atomic_load_explicit(&t->buckets[hash % TL_TUNE_BUCKETS], memory_order_acquire);
   while (c && (c->hash != hash || memcmp(c->key, key, t->num_keys * sizeof *key) != 0))
      c = atomic_load_explicit(&c->next, memory_order_relaxed);
   return c;
}

/* What the tuned configuration is chosen for. */
static void
key_text(const TlTune *t, const TilecArg *args, char *text)
{
   size_t len = 0;
   text[0] = 0;
   for (uint32_t i = 0; i < t->num_keys && len < KEY_TEXT; i++) {
      const TilecArg *a = &args[t->keys[i].arg];
      char value[64] = "None";
      if (a->kind == TILEC_ARG_SCALAR && !t->keys[i].is_key)
         continue;
      if (a->kind == TILEC_ARG_SCALAR)
         tl_tune_value_text(a, value, sizeof value);
      else if (a->kind != TILEC_ARG_NONE)
         snprintf(value, sizeof value, "*%s", tl_tune_pointee(t, t->keys[i].arg, a->dtype));
      len += (size_t)snprintf(text + len, KEY_TEXT - len, "%s%s=%s", len ? "; " : "",
                              t->keys[i].name, value);
   }
}

/* ---- identity in the database ---- */
typedef struct Identity {
   char device[192], hash[24], key[KEY_TEXT];
} Identity;

static TlTuneId
identify(const TlTune *t, const TilecArg *args, Identity *id)
{
   const TilecDeviceInfo *d = tl_core_device(t->rt);
   snprintf(id->device, sizeof id->device, "%s, %s, %u SMs", d->name, d->arch, d->num_sms);
   uint64_t h = t->decl->tuning ? t->decl->tuning->source_hash : 0;
   h = tl_source_hash(&t->source, tl_mix_text(h, tilec_version()));
   snprintf(id->hash, sizeof id->hash, "%016llx", (unsigned long long)h);
   key_text(t, args, id->key);
   return (TlTuneId){id->device, t->decl->name, id->hash, id->key};
}

static void
say(const TlTune *t, const char *line)
{
   if (line[0] && t->settings.on_note)
      t->settings.on_note(t->settings.user, line);
}

/* ---- measuring and remembering ---- */
static TilecStatus
publish(TlTune *t, uint64_t hash, const TlKeyItem *key, TilecKernel *kernel, bool is_provisional)
{
   assert(tl_is_locked(&t->lock) && kernel); /* readers take no lock: it must be complete */
   TlTunedKernel *c = calloc(1, sizeof *c + t->num_keys * sizeof *key);
   if (!c)
      return tl_core_no_memory(t->rt);
   c->hash = hash;
   c->kernel = kernel;
   c->is_provisional = is_provisional;
   memcpy(c->key, key, t->num_keys * sizeof *key);
   _Atomic(TlTunedKernel *) *bucket = &t->buckets[hash % TL_TUNE_BUCKETS];
   atomic_store_explicit(&c->next, atomic_load_explicit(bucket, memory_order_relaxed),
                         memory_order_relaxed);
   atomic_store_explicit(bucket, c, memory_order_release);
   return TILEC_OK;
}

static void
free_candidates(TlCandidate *c, uint32_t n)
{
   for (uint32_t i = 0; c && i < n; i++) {
      free(c[i].samples);
      free(c[i].name);
      tilec_module_free(c[i].module);
   }
   free(c);
}

/* Hands the candidates over to a result, which outlives the tuner's texts. */
static TilecStatus
report(TilecTuneResult *r, TlTuneJob *job, uint32_t best)
{
   assert(!r->own && !r->candidates && best < job->num_candidates);
   r->num = job->num_candidates;
   r->candidates = calloc(r->num + 1, sizeof *r->candidates);
   r->texts = calloc(r->num + 1, sizeof *r->texts);
   if (!r->candidates || !r->texts)
      return tl_core_no_memory(job->rt);
   for (uint32_t i = 0; i < r->num; i++) {
      TlCandidate *c = &job->candidates[i];
      r->texts[i] = malloc(strlen(c->config) + 1);
      if (!r->texts[i])
         return tl_core_no_memory(job->rt);
      strcpy(r->texts[i], c->config);
      r->candidates[i] = (TilecTuneCandidate){.config = r->texts[i],
                                              .status = c->status,
                                              .reason = c->reason,
                                              .median_ms = c->median,
                                              .low_ms = c->low,
                                              .high_ms = c->high,
                                              .samples = c->samples,
                                              .num_samples = c->num_samples,
                                              .threads = c->threads,
                                              .shared_bytes = c->shared_bytes,
                                              .registers = c->registers,
                                              .spill_bytes = c->spill_bytes,
                                              .is_tied = c->is_tied};
   }
   r->own = job->candidates;
   job->candidates = NULL;
   r->info.candidates = r->candidates;
   r->info.num_candidates = r->num;
   r->info.winner = best;
   return TILEC_OK;
}

static TilecStatus
nothing_left(const TlTune *t, const TlTuneJob *job)
{
   char text[1024];
   size_t len = (size_t)snprintf(text, sizeof text, "kernel '%s': no configuration can be used",
                                 t->decl->name);
   for (uint32_t i = 0; i < job->num_candidates && len < sizeof text; i++)
      len += (size_t)snprintf(text + len, sizeof text - len, "\n%s: %s", job->candidates[i].config,
                              job->candidates[i].reason);
   return tl_core_fail(t->rt, TILEC_NOT_FOUND, text);
}

static void
store(const TlTune *t, const TilecArg *args, const TlCandidate *best, uint32_t n,
      TilecTuneResult *r)
{
   Identity id;
   char why[TL_TUNE_NOTE_BYTES];
   TlTuneId key = identify(t, args, &id);
   r->info.is_stored =
      tl_tune_db_put(t->settings.database, &key, best->config, best->median, n, why);
   if (!r->info.is_stored && !r->note[0])
      memcpy(r->note, why, sizeof why);
}

static const TilecConfig *
remembered(const TlTune *t, const char *key)
{
   const TlWinner *w = t->winners;
   while (w && strcmp(w->key, key) != 0)
      w = w->next;
   return w ? &w->config : NULL;
}

/* A newer one for the same key stands before the older one. */
static TilecStatus
remember(TlTune *t, const char *key, const TilecConfig *config)
{
   assert(tl_is_locked(&t->lock));
   TlWinner *w = calloc(1, sizeof *w);
   char *copy = strdup(key);
   if (!w || !copy) {
      free(w);
      free(copy);
      return tl_core_no_memory(t->rt);
   }
   *w = (TlWinner){t->winners, copy, *config};
   t->winners = w;
   return TILEC_OK;
}

/* The lock is held, unless the configurations are the caller's. */
static TilecStatus
measure(TlTune *t, const TilecLaunch *launch, const TilecArg *args, size_t num_args,
        const TilecTuneOptions *o, TilecTuneResult *r, TilecKernel **winner)
{
   const TilecTuning *tuning = o->num_configs ? t->decl->tuning : tl_tune_prune(t, args);
   TilecConfig only = {.text = "as written"};
   const TilecConfig *configs = o->num_configs ? o->configs : tuning ? tuning->configs : &only;
   uint32_t n = o->num_configs ? o->num_configs : tuning ? tuning->num_configs : 1;
   TlTuneJob job = {.rt = t->rt,
                    .decl = t->decl,
                    .tuning = tuning,
                    .options = o,
                    .launch = *launch,
                    .args = args,
                    .num_args = num_args,
                    .candidates = calloc(n, sizeof *job.candidates),
                    .num_candidates = n,
                    .note = r->note};
   if (!job.candidates)
      return tl_core_no_memory(t->rt);
   for (uint32_t i = 0; i < n; i++)
      job.candidates[i].config = configs[i].text;
   tl_tune_compile(t, &job, configs);
   bool any = false;
   for (uint32_t i = 0; i < n; i++)
      any |= job.candidates[i].status == TILEC_OK;
   TilecStatus status = any ? tl_tune_measure(&job) : TILEC_OK;
   uint32_t best = status == TILEC_OK ? tl_tune_best(&job) : n;
   assert(best <= n && (best == n || job.candidates[best].status == TILEC_OK));
   if (status == TILEC_OK && best == n)
      status = nothing_left(t, &job);
   if (status == TILEC_OK && winner) {
      TlCandidate *c = &job.candidates[best];
      TlChild *child = NULL;
      status = tl_tune_adopt(t, c, &child);
      if (status == TILEC_OK)
         *winner = child->kernel;
      if (status == TILEC_OK && tuning)
         status = remember(t, r->key, &configs[best]);
      if (status == TILEC_OK && t->settings.database && tuning)
         store(t, args, c, n, r);
   }
   TlCandidate *candidates = job.candidates;
   if (status == TILEC_OK)
      status = report(r, &job, best);
   if (job.candidates) /* not handed over */
      free_candidates(candidates, n);
   return status;
}

static TilecTuneResult *
new_result(const TlTune *t, const TilecArg *args)
{
   TilecTuneResult *r = calloc(1, sizeof *r);
   if (!r)
      return NULL;
   key_text(t, args, r->key);
   r->info.key = r->key;
   r->info.note = r->note;
   return r;
}

void
tilec_tune_free(TilecTuneResult *r)
{
   if (!r)
      return;
   free_candidates(r->own, r->num);
   for (uint32_t i = 0; r->texts && i < r->num; i++)
      free(r->texts[i]);
   free(r->texts);
   free(r->candidates);
   free(r);
}

const TilecTuneInfo *
tilec_tune_info(const TilecTuneResult *result)
{
   return result ? &result->info : NULL;
}

/* ---- choosing ---- */
/* The choice made before, here or as stored, as a configuration of the kernel; NULL when there is
 * none. */
static const TilecConfig *
stored_config(const TlTune *t, const TilecArg *args, const TilecTuning *configs, char *note)
{
   Identity id;
   char text[TL_TUNE_CONFIG_BYTES];
   note[0] = 0;
   TlTuneId key = identify(t, args, &id);
   const TilecConfig *known = remembered(t, id.key);
   if (known || !t->settings.database)
      return known;
   if (!tl_tune_db_get(t->settings.database, &key, text, note))
      return NULL;
   for (uint32_t i = 0; i < configs->num_configs; i++)
      if (strcmp(configs->configs[i].text, text) == 0)
         return &configs->configs[i];
   snprintf(note, NOTE_BYTES,
            "kernel '%.60s': the stored configuration is not one of its own: %.120s", t->decl->name,
            text);
   return NULL;
}

/* Before measuring: of all processes with this database one measures, the others find its choice.
 * *turn is given back with tl_tune_db_unlock. */
static const TilecConfig *
await_choice(const TlTune *t, const TilecArg *args, const TilecTuning *configs, char *note,
             int *turn)
{
   Identity id;
   note[0] = 0;
   *turn = -1;
   if (!t->settings.database || !configs)
      return NULL;
   TlTuneId key = identify(t, args, &id);
   *turn = tl_tune_db_lock(t->settings.database, &key, TURN_MS);
   return stored_config(t, args, configs, note);
}

static bool
may_measure(const TlTune *t, const TilecLaunch *launch)
{
   return t->policy == TILEC_TUNE_AUTO && launch && t->settings.may_compile &&
          tilec_runtime_executor(t->rt) == TILEC_ON_CUDA &&
          !tl_core_is_capturing(t->rt, launch->stream);
}

/* Without a choice in memory; the lock is held. */
static TilecStatus
decide(TlTune *t, const TilecLaunch *launch, const TilecArg *args, size_t num_args, uint64_t hash,
       const TlKeyItem *key, TilecKernel **out)
{
   char why[NOTE_BYTES];
   TlChild *child = NULL;
   assert(tl_is_locked(&t->lock));
   const TilecTuning *tuning = t->policy == TILEC_TUNE_OFF ? NULL : t->decl->tuning;
   const TilecConfig *config = tuning ? stored_config(t, args, tuning, why) : NULL;
   if (tuning)
      say(t, why);
   bool open_question = tuning && !config && t->policy == TILEC_TUNE_AUTO &&
                        t->settings.may_compile && tuning->num_configs > 1 &&
                        tilec_runtime_executor(t->rt) == TILEC_ON_CUDA;
   TilecStatus status = TILEC_OK;
   int turn = -1;
   if (open_question && may_measure(t, launch)) {
      config = await_choice(t, args, tuning, why, &turn);
      open_question = !config;
   }
   if (open_question && may_measure(t, launch)) {
      TilecTuneOptions o = {.struct_size = sizeof o};
      TilecTuneResult *r = new_result(t, args);
      status = r ? measure(t, launch, args, num_args, &o, r, out) : tl_core_no_memory(t->rt);
      if (r)
         say(t, r->note);
      tilec_tune_free(r);
      tl_tune_db_unlock(turn);
      turn = -1;
      if (status == TILEC_OK)
         return publish(t, hash, key, *out, false);
      if (status != TILEC_OUT_OF_DEVICE_MEMORY)
         return status;
      say(t, "no memory to save the arguments with while tuning: the first configuration is used");
      open_question = false;
   }
   tl_tune_db_unlock(turn);
   config = config || !t->decl->tuning ? config : &t->decl->tuning->configs[0];
   status = tl_tune_open(t, config, args, &child);
   if (status != TILEC_OK)
      return status;
   assert(child && child->kernel);
   *out = child->kernel;
   return publish(t, hash, key, *out, open_question);
}

TilecStatus
tl_tune_pick(TlTune *t, const TilecLaunch *launch, const TilecArg *args, size_t num_args,
             TilecKernel **out)
{
   TlKeyItem key[TL_TUNE_MAX_ARGS];
   if (num_args != t->num_args || num_args > TL_TUNE_MAX_ARGS)
      return tl_jit_miscounted(t->rt, t->decl, NULL, num_args);
   make_key(t, args, key);
   uint64_t hash = hash_key(t, key);
   TlTunedKernel *c = look_up(t, hash, key);
   TilecStatus status = TILEC_OK;
   if (!c || (c->is_provisional && may_measure(t, launch))) {
      pthread_mutex_lock(&t->lock);
      c = look_up(t, hash, key);
      if (!c || (c->is_provisional && may_measure(t, launch)))
         status = decide(t, launch, args, num_args, hash, key, out);
      else
         *out = c->kernel;
      pthread_mutex_unlock(&t->lock);
   } else {
      *out = c->kernel;
   }
   assert(status != TILEC_OK || *out);
   return status;
}

uint32_t
tl_tune_count(TlTune *t)
{
   uint32_t n = 0;
   pthread_mutex_lock(&t->lock);
   for (TlChild *c = t->children; c; c = c->next)
      n += tilec_kernel_variants(c->kernel);
   pthread_mutex_unlock(&t->lock);
   return n;
}

const TlVariant *
tl_tune_get(TlTune *t, uint32_t index)
{
   const TlVariant *v = NULL;
   pthread_mutex_lock(&t->lock);
   for (TlChild *c = t->children; c && !v; c = c->next) {
      uint32_t n = tilec_kernel_variants(c->kernel);
      if (index < n)
         v = tl_core_kernel_variant(c->kernel, index);
      index -= n;
   }
   pthread_mutex_unlock(&t->lock);
   return v;
}

/* ---- asked for ---- */
static TilecStatus
check_call(const TlTune *t, const TilecLaunch *launch, size_t num_args, const TilecTuneOptions *o)
{
   TilecStatus status = tl_core_usable(t->rt);
   if (status != TILEC_OK)
      return status;
   if (tilec_runtime_executor(t->rt) != TILEC_ON_CUDA && !o->on_host)
      return tl_core_fail(t->rt, TILEC_UNSUPPORTED,
                          "tuning by the clock of a host executor must be asked for (on_host)");
   if (tilec_runtime_executor(t->rt) == TILEC_ON_CUDA &&
       tl_core_is_capturing(t->rt, launch->stream)) {
      status = tl_core_usable(t->rt); /* it may be lost since */
      return status != TILEC_OK ? status
                                : tl_core_fail(t->rt, TILEC_BAD_CONTEXT,
                                               "nothing is measured while a stream captures");
   }
   if (num_args == t->num_args && num_args <= TL_TUNE_MAX_ARGS)
      return TILEC_OK;
   return tl_jit_miscounted(t->rt, t->decl, NULL, num_args);
}

/* A stored choice as a result of its own. */
static TilecStatus
report_stored(TilecRuntime *rt, TilecTuneResult *r, const TilecConfig *config)
{
   TlTuneJob job = {.rt = rt, .candidates = calloc(1, sizeof *job.candidates), .num_candidates = 1};
   if (!job.candidates)
      return tl_core_no_memory(rt);
   job.candidates[0].config = config->text;
   TilecStatus status = report(r, &job, 0);
   free(job.candidates);
   r->info.from_store = r->info.is_stored = true;
   return status;
}

static TilecStatus
tune_locked(TlTune *t, const TilecLaunch *launch, const TilecArg *args, size_t num_args,
            const TilecTuneOptions *o, TilecTuneResult *r)
{
   TlKeyItem key[TL_TUNE_MAX_ARGS];
   TilecKernel *winner = NULL;
   assert(tl_is_locked(&t->lock) && num_args == t->num_args);
   make_key(t, args, key);
   uint64_t hash = hash_key(t, key);
   const TilecConfig *config = NULL;
   int turn = -1;
   if (t->decl->tuning && !o->force)
      config = stored_config(t, args, t->decl->tuning, r->note);
   if (t->decl->tuning && !o->force && !config && !r->note[0])
      config = await_choice(t, args, t->decl->tuning, r->note, &turn);
   TilecStatus status;
   if (config) {
      TlChild *child = NULL;
      status = tl_tune_open(t, config, args, &child);
      winner = child ? child->kernel : NULL;
      if (status == TILEC_OK)
         status = report_stored(t->rt, r, config);
   } else {
      status = measure(t, launch, args, num_args, o, r, &winner);
   }
   tl_tune_db_unlock(turn);
   return status == TILEC_OK ? publish(t, hash, key, winner, false) : status;
}

TilecStatus
tilec_kernel_tune(TilecKernel *kernel, const TilecLaunch *launch, const TilecArg *args,
                  size_t num_args, const TilecTuneOptions *options, TilecTuneResult **out)
{
   TilecTuneOptions o = {.struct_size = sizeof o};
   if (out)
      *out = NULL;
   if (!kernel)
      return tl_core_fail(NULL, TILEC_BAD_ARGUMENT, "tilec_kernel_tune: kernel is NULL");
   TilecStatus status = tl_core_check_kernel(kernel, "tilec_kernel_tune");
   if (status != TILEC_OK)
      return status;
   if (options && options->struct_size >= sizeof o.struct_size && options->struct_size <= sizeof o)
      memcpy(&o, options, options->struct_size);
   else if (options)
      return tl_core_bad_size(tl_core_runtime(kernel),
                              "tilec_kernel_tune: struct_size of the options", options->struct_size,
                              "TilecTuneOptions", sizeof o);
   if (!launch || (num_args && !args) || (o.num_configs && !o.configs))
      return tl_core_fail(tl_core_runtime(kernel), TILEC_BAD_ARGUMENT,
                          !launch             ? "tilec_kernel_tune: launch is NULL"
                          : num_args && !args ? "tilec_kernel_tune: args is NULL"
                                              : "tilec_kernel_tune: configs is NULL");
   TlTune *t = tl_core_tuner(kernel);
   if (!t)
      return tl_core_fail(tl_core_runtime(kernel), TILEC_UNSUPPORTED,
                          "only kernels opened from source are tuned");
   status = check_call(t, launch, num_args, &o);
   if (status != TILEC_OK)
      return status;
   TilecTuneResult *r = new_result(t, args);
   if (!r)
      return tl_core_no_memory(t->rt);
   if (o.num_configs) { /* nothing is kept of it */
      status = measure(t, launch, args, num_args, &o, r, NULL);
   } else {
      pthread_mutex_lock(&t->lock);
      status = tune_locked(t, launch, args, num_args, &o, r);
      pthread_mutex_unlock(&t->lock);
   }
   if (status == TILEC_OK && out)
      *out = r;
   else
      tilec_tune_free(r);
   return status;
}
