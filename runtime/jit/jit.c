/* The compiler behind the launch API: source kernels are specialised by the facts of their
 * arguments (type, == 1, divisible by 16, None), compiled on a miss, and kept in memory.
 *
 * Lookup is lock-free: buckets are singly linked lists whose entries, once published, never change
 * and live until the source is closed.  Misses take the source's lock, which also makes one thread
 * compile while others with the same need wait and then hit.  Invariant: an entry in a bucket is
 * complete. Left out here: the disk cache and the tuner. */
#include "core/jit_table.h"
#include "tilec/tilec.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
   MAX_ARGS = 256,
   BUCKETS = 256,         /* power of two */
   TEXT_BYTES = 3500,     /* of diagnostics kept for the error detail */
};

/* What a specialisation depends on, one per launch argument. */
enum {
   FACT_ONE = 1,
   FACT_DIV16 = 2,
};
typedef struct ArgKey {
   uint8_t kind;    /* TilecArgKind; buffers count as pointers */
   uint8_t dtype;   /* the parameter's type when annotated, else the argument's */
   uint8_t facts;   /* FACT_ bits */
} ArgKey;

typedef struct Jit {
   TilecRuntime *rt;
   void (*on_text)(void *user, const char *rendered);
   void *user;
   size_t memory_limit_bytes;
} Jit;

typedef struct Entry {
   _Atomic(struct Entry *) next;   /* in the bucket; set before publication */
   uint64_t hash;
   TilecProgram *program;          /* owns the record that the module uses */
   TilecModule *module;
   const TlVariant *variant;
   ArgKey key[];                   /* of num_args */
} Entry;

/* One parameter that is a launch argument. */
typedef struct Param {
   const TilecParamDecl *decl;
   uint32_t index;        /* among all parameters */
   char base[64];         /* annotated type without facts; "" = none */
   TilecDtype dtype;      /* of base: the scalar's or the elements' */
   bool is_pointer;
   bool is_annotated;
   const char *says;      /* annotated fact, ":16" or ":1"; "" = none */
} Param;

typedef struct Source {
   Jit *jit;
   TilecSource options;            /* strings point into `strings` */
   char **strings;                 /* copies, NULL-terminated list */
   size_t num_strings;
   TilecDefine *defines;           /* options.defines split at '=' */
   TilecListing *listing;
   const TilecKernelDecl *decl;
   Param *params;
   uint32_t num_params;
   pthread_mutex_t lock;           /* misses, entries */
   Entry **entries;                /* in the order made, for reflection */
   _Atomic uint32_t num_entries;
   uint32_t entries_room;
   _Atomic(Entry *) buckets[BUCKETS];
} Source;

/* ---- Diagnostics → text ---------------------------------------------------------------------- */

typedef struct Text {
   Jit *jit;
   size_t len;
   char bytes[TEXT_BYTES];
} Text;

static void
on_diag(void *user, const TilecDiag *d)
{
   Text *t = user;
   const char *s = d->rendered ? d->rendered : d->text;
   if (t->jit->on_text)
      t->jit->on_text(t->jit->user, s);
   if (d->severity != TILEC_SEVERITY_ERROR && !(d->severity == TILEC_SEVERITY_NOTE && t->len))
      return;
   if (t->len < sizeof t->bytes)
      t->len += (size_t)snprintf(t->bytes + t->len, sizeof t->bytes - t->len, "%s", s);
}

/* Starts a session whose errors gather in `t`. */
static TilecStatus
start_session(Jit *jit, Text *t, TilecSession **out)
{
   TilecSessionOptions o = {.struct_size = sizeof o, .on_diag = on_diag, .user = t,
                            .memory_limit_bytes = jit->memory_limit_bytes};
   t->jit = jit;
   t->len = 0;
   t->bytes[0] = 0;
   return tilec_session_new(&o, out);
}

static TilecStatus
report(Jit *jit, TilecStatus status, const Text *t, TilecSession *session)
{
   if (status == TILEC_OK)
      return status;
   const char *why = t->len ? t->bytes : session ? tilec_session_error(session) : "";
   return tl_core_fail(jit->rt, status, why && *why ? why : tilec_status_string(status));
}

/* ---- Opening a source ------------------------------------------------------------------------ */

static const char *
keep(Source *s, const char *text, size_t len, bool *ok)
{
   if (!text)
      return NULL;
   if (len == TILEC_STRLEN)
      len = strlen(text);
   char *copy = malloc(len + 1);
   char **list = realloc(s->strings, (s->num_strings + 1) * sizeof *list);
   if (list)
      s->strings = list;
   if (!copy || !list) {
      free(copy);
      *ok = false;
      return NULL;
   }
   memcpy(copy, text, len);
   copy[len] = 0;
   s->strings[s->num_strings++] = copy;
   return copy;
}

static TilecStatus
copy_options(Source *s, const TilecSource *o)
{
   bool ok = true;
   s->options = *o;
   s->options.file = keep(s, o->file, TILEC_STRLEN, &ok);
   s->options.source = keep(s, o->source, o->source_bytes, &ok);
   if (o->source && o->source_bytes == TILEC_STRLEN)
      s->options.source_bytes = strlen(o->source);
   s->options.kernel = keep(s, o->kernel, TILEC_STRLEN, &ok);
   s->options.arch = keep(s, o->arch, TILEC_STRLEN, &ok);
   s->defines = calloc(o->num_defines + 1, sizeof *s->defines);
   const char **dirs = calloc(o->num_include_dirs + 1, sizeof *dirs);
   s->options.include_dirs = dirs;
   s->options.defines = NULL;
   if (!ok || !s->defines || !dirs)
      return TILEC_NO_MEMORY;
   for (size_t i = 0; i < o->num_defines; i++) {
      const char *equals = o->defines[i] ? strchr(o->defines[i], '=') : NULL;
      if (!equals || equals == o->defines[i])
         return tl_core_fail(s->jit->rt, TILEC_BAD_ARGUMENT, "a define is written NAME=VALUE");
      s->defines[i].name = keep(s, o->defines[i], (size_t)(equals - o->defines[i]), &ok);
      s->defines[i].value = keep(s, equals + 1, TILEC_STRLEN, &ok);
   }
   for (size_t i = 0; i < o->num_include_dirs; i++)
      dirs[i] = keep(s, o->include_dirs[i], TILEC_STRLEN, &ok);
   return ok ? TILEC_OK : TILEC_NO_MEMORY;
}

/* Options shared by listing and compiling. */
static TilecCompileOptions
compile_options(const Source *s)
{
   const TilecSource *o = &s->options;
   return (TilecCompileOptions){
      .struct_size = sizeof(TilecCompileOptions),
      .file = o->file,
      .source = o->source,
      .source_bytes = o->source_bytes,
      .kernel = o->kernel,
      .defines = s->defines,
      .num_defines = o->num_defines,
      .include_dirs = o->include_dirs,
      .num_include_dirs = o->num_include_dirs,
      .num_warps = o->num_warps,
      .num_stages = o->num_stages,
      .opt = (TilecOpt)o->opt,
      .fp_mode = (TilecFpMode)o->fp_mode,
      .debug_info = o->debug_info,
      .check = o->check,
   };
}

static TilecStatus
pick_kernel(Source *s)
{
   uint32_t n = tilec_listing_count(s->listing);
   char text[1024];
   size_t len = 0;
   for (uint32_t i = 0; i < n; i++) {
      const TilecKernelDecl *d = tilec_listing_kernel(s->listing, i);
      if (s->options.kernel ? strcmp(d->name, s->options.kernel) == 0 : n == 1)
         s->decl = d;
      if (len < sizeof text)
         len += (size_t)snprintf(text + len, sizeof text - len, "%s%s", i ? ", " : "", d->name);
   }
   if (s->decl)
      return TILEC_OK;
   char why[1400];
   if (s->options.kernel)
      snprintf(why, sizeof why, "no kernel '%s'; the file has: %s", s->options.kernel,
               n ? text : "none");
   else
      snprintf(why, sizeof why, "the file has %u kernels, name one of: %s", n, n ? text : "none");
   return tl_core_fail(s->jit->rt, TILEC_NOT_FOUND, why);
}

static TilecDtype
dtype_named(const char *name)
{
#define ROW(id, number, text, bytes, kind)                                                         \
   if (strcmp(name, text) == 0)                                                                    \
      return TILEC_##id;
   TILEC_DTYPE_TABLE(ROW)
#undef ROW
   return TILEC_DTYPE_NONE;
}

static const char *
dtype_text(uint8_t dtype)
{
   switch (dtype) {
#define ROW(id, number, text, bytes, kind)                                                         \
   case TILEC_##id:                                                                                \
      return text;
      TILEC_DTYPE_TABLE(ROW)
#undef ROW
   }
   return "void";
}

static char
dtype_kind(uint8_t dtype)
{
   switch (dtype) {
#define ROW(id, number, text, bytes, kind)                                                         \
   case TILEC_##id:                                                                                \
      return #kind[0];
      TILEC_DTYPE_TABLE(ROW)
#undef ROW
   }
   return 0;
}

static TilecStatus
read_params(Source *s)
{
   s->params = calloc(s->decl->num_params + 1, sizeof *s->params);
   if (!s->params)
      return TILEC_NO_MEMORY;
   for (uint32_t i = 0; i < s->decl->num_params; i++) {
      const TilecParamDecl *d = &s->decl->params[i];
      if (d->is_constexpr)
         continue;
      if (s->num_params == MAX_ARGS)
         return tl_core_fail(s->jit->rt, TILEC_LIMIT, "a kernel takes at most 256 arguments");
      Param *p = &s->params[s->num_params++];
      *p = (Param){.decl = d, .index = i, .is_annotated = d->type != NULL, .says = ""};
      if (!d->type)
         continue;
      const char *colon = strchr(d->type, ':');
      int len = colon ? (int)(colon - d->type) : (int)strlen(d->type);
      snprintf(p->base, sizeof p->base, "%.*s", len, d->type);
      p->says = colon ? colon : "";
      p->is_pointer = p->base[0] == '*';
      const char *name = p->base + p->is_pointer;
      if (p->is_pointer && strncmp(name, "const ", 6) == 0)
         name += 6;
      p->dtype = dtype_named(name);
   }
   return TILEC_OK;
}

static void close_source(void *source);

static TilecStatus
open_source(void *jit, const TilecSource *options, void **out, const char **name)
{
   Text text;
   TilecSession *session = NULL;
   Source *s = calloc(1, sizeof *s);
   if (!s)
      return TILEC_NO_MEMORY;
   s->jit = jit;
   pthread_mutex_init(&s->lock, NULL);
   TilecStatus status = copy_options(s, options);
   if (status == TILEC_OK) {
      status = start_session(jit, &text, &session);
      if (status == TILEC_OK) {
         TilecCompileOptions o = compile_options(s);
         status = tilec_list_kernels(session, &o, &s->listing);
      }
      status = report(jit, status, &text, session);
      tilec_session_free(session);
   }
   if (status == TILEC_OK)
      status = pick_kernel(s);
   if (status == TILEC_OK)
      status = read_params(s);
   if (status != TILEC_OK) {
      close_source(s);
      return status;
   }
   *out = s;
   *name = s->decl->name;
   return TILEC_OK;
}

static void
free_entry(Entry *e)
{
   tilec_module_free(e->module);
   tilec_program_free(e->program);
   free(e);
}

static void
close_source(void *source)
{
   Source *s = source;
   for (uint32_t i = 0; i < s->num_entries; i++)
      free_entry(s->entries[i]);
   free(s->entries);
   tilec_listing_free(s->listing);
   for (size_t i = 0; i < s->num_strings; i++)
      free(s->strings[i]);
   free(s->strings);
   free(s->defines);
   free((void *)(uintptr_t)s->options.include_dirs);
   free(s->params);
   pthread_mutex_destroy(&s->lock);
   free(s);
}

/* ---- Keys ------------------------------------------------------------------------------------ */

static TilecStatus
misfit(const Source *s, const Param *p, const char *why)
{
   char text[512];
   snprintf(text, sizeof text, "kernel '%s': parameter '%s' %s", s->decl->name, p->decl->name, why);
   return tl_core_fail(s->jit->rt, TILEC_BAD_ARGUMENT, text);
}

static TilecStatus
key_of(const Source *s, const Param *p, const TilecArg *a, ArgKey *key)
{
   *key = (ArgKey){.kind = (uint8_t)a->kind};
   if (a->kind == TILEC_ARG_NONE)
      return TILEC_OK;
   bool specialize = !p->decl->no_specialize;
   if (a->kind != TILEC_ARG_SCALAR) {
      if (p->is_annotated && !p->is_pointer)
         return misfit(s, p, "is no pointer");
      TilecDtype elem = p->is_annotated ? p->dtype : a->dtype;
      if (!p->is_annotated && !elem)
         return misfit(s, p, "has no written type, so the argument must say its element type");
      uintptr_t address = a->kind == TILEC_ARG_BUFFER
                             ? (uintptr_t)tilec_buffer_address(a->as.buffer) + a->bytes
                             : (uintptr_t)a->as.ptr;
      key->kind = TILEC_ARG_POINTER;
      key->dtype = (uint8_t)elem;
      key->facts = specialize && address % 16 == 0 ? FACT_DIV16 : 0;
      return TILEC_OK;
   }
   if (p->is_annotated && p->is_pointer)
      return misfit(s, p, "is a pointer");
   key->dtype = (uint8_t)(p->is_annotated && p->dtype ? p->dtype : a->dtype);
   char from = dtype_kind((uint8_t)a->dtype), to = dtype_kind(key->dtype);
   if (specialize && (from == 'I' || from == 'U') && (to == 'I' || to == 'U')) {
      if (a->as.u == 1 && !p->is_annotated)
         key->facts = FACT_ONE;
      else if (a->as.u % 16 == 0)
         key->facts = FACT_DIV16;
   }
   return TILEC_OK;
}

static uint64_t
hash_key(const ArgKey *key, size_t n)
{
   uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
   const unsigned char *p = (const unsigned char *)key;
   for (size_t i = 0; i < n * sizeof *key; i++)
      h = (h ^ p[i]) * 0x100000001b3u;
   return h ^ h >> 29;
}

static Entry *
look_up(Source *s, uint64_t hash, const ArgKey *key, size_t n)
{
   Entry *e = atomic_load_explicit(&s->buckets[hash % BUCKETS], memory_order_acquire);
   while (e && (e->hash != hash || memcmp(e->key, key, n * sizeof *key) != 0))
      e = atomic_load_explicit(&e->next, memory_order_relaxed);
   return e;
}

/* ---- Misses ---------------------------------------------------------------------------------- */

/* One item of the signature: see TilecCompileOptions.signature. */
static void
sign_param(const Param *p, ArgKey key, char *text, size_t bytes)
{
   const char *fact = key.facts & FACT_ONE ? ":1" : key.facts & FACT_DIV16 ? ":16" : p->says;
   if (key.kind == TILEC_ARG_NONE)
      snprintf(text, bytes, "None");
   else if (p->is_annotated)
      snprintf(text, bytes, "%s%s", p->base, fact);
   else
      snprintf(text, bytes, "%s%s%s", key.kind == TILEC_ARG_POINTER ? "*" : "",
               dtype_text(key.dtype), fact);
}

static char *
signature(const Source *s, const ArgKey *key)
{
   size_t room = (size_t)(s->decl->num_params + 1) * 80, len = 0;
   char *text = malloc(room);
   if (!text)
      return NULL;
   text[0] = 0;
   uint32_t k = 0;
   for (uint32_t i = 0; i < s->decl->num_params; i++) {
      char item[80] = "";
      if (k < s->num_params && s->params[k].index == i) {
         sign_param(&s->params[k], key[k], item, sizeof item);
         k++;
      }
      len += (size_t)snprintf(text + len, room - len, "%s%s", i ? "," : "", item);
   }
   return text;
}

static TilecStatus
compile(Source *s, const ArgKey *key, Entry *e)
{
   TilecRuntime *rt = s->jit->rt;
   const TilecDeviceInfo *device = tl_core_device(rt);
   TilecExecutor on = tilec_runtime_executor(rt);
   TilecSession *session = NULL;
   Text text;
   char *sign = signature(s, key);
   if (!sign)
      return TILEC_NO_MEMORY;
   TilecCompileOptions o = compile_options(s);
   o.kernel = s->decl->name;
   o.signature = sign;
   o.arch = s->options.arch;
   if (on == TILEC_ON_CUDA) {
      o.arch = o.arch ? o.arch : device->arch;
      o.ptx_version = device->max_ptx_version;
   } else {
      o.stop_after = on == TILEC_ON_CPU ? TILEC_STAGE_IR : TILEC_STAGE_LOWERED;
   }
   TilecStatus status = start_session(s->jit, &text, &session);
   if (status == TILEC_OK)
      status = tilec_compile(session, &o, &e->program);
   status = report(s->jit, status, &text, session);
   tilec_session_free(session);
   free(sign);
   if (status != TILEC_OK)
      return status;
   const TilecImageInfo *info = tilec_program_info(e->program);
   if (on == TILEC_ON_CUDA) {
      size_t len = 0;
      const char *ptx = tilec_program_text(e->program, TILEC_STAGE_PTX, &len);
      status = ptx ? tl_core_load(rt, ptx, len, info, &e->module) : TILEC_INTERNAL;
   } else {
      status = tl_core_load_host(rt, info, e->program, &e->module);
   }
   if (status == TILEC_OK)
      e->variant = tl_core_variant(e->module);
   if (status == TILEC_OK && !e->variant)
      status = tl_core_fail(rt, TILEC_INTERNAL, "the compiler made no kernel");
   return status;
}

/* Compiles and publishes; the lock is held. */
static TilecStatus
add_entry(Source *s, uint64_t hash, const ArgKey *key, size_t n, Entry **out)
{
   if (s->num_entries == s->entries_room) {
      uint32_t room = s->entries_room ? s->entries_room * 2 : 8;
      Entry **list = realloc(s->entries, room * sizeof *list);
      if (!list)
         return TILEC_NO_MEMORY;
      s->entries = list;
      s->entries_room = room;
   }
   Entry *e = calloc(1, sizeof *e + n * sizeof *key);
   if (!e)
      return TILEC_NO_MEMORY;
   e->hash = hash;
   memcpy(e->key, key, n * sizeof *key);
   TilecStatus status = compile(s, key, e);
   if (status != TILEC_OK) {
      free_entry(e);
      return status;
   }
   _Atomic(Entry *) *bucket = &s->buckets[hash % BUCKETS];
   atomic_store_explicit(&e->next, atomic_load_explicit(bucket, memory_order_relaxed),
                         memory_order_relaxed);
   s->entries[s->num_entries] = e;
   atomic_fetch_add(&s->num_entries, 1);
   atomic_store_explicit(bucket, e, memory_order_release);
   *out = e;
   return TILEC_OK;
}

static TilecStatus
find(void *source, const TilecArg *args, size_t num_args, const TlVariant **out)
{
   Source *s = source;
   ArgKey key[MAX_ARGS];
   if (num_args != s->num_params) {
      char text[256];
      snprintf(text, sizeof text, "kernel '%s': %u arguments are taken, %zu given", s->decl->name,
               s->num_params, num_args);
      return tl_core_fail(s->jit->rt, TILEC_BAD_ARGUMENT, text);
   }
   for (size_t i = 0; i < num_args; i++) {
      TilecStatus status = key_of(s, &s->params[i], &args[i], &key[i]);
      if (status != TILEC_OK)
         return status;
   }
   uint64_t hash = hash_key(key, num_args);
   TilecStatus status = TILEC_OK;
   Entry *e = look_up(s, hash, key, num_args);
   if (!e) {
      pthread_mutex_lock(&s->lock);
      e = look_up(s, hash, key, num_args);
      if (!e)
         status = add_entry(s, hash, key, num_args, &e);
      pthread_mutex_unlock(&s->lock);
   }
   if (status == TILEC_OK)
      *out = e->variant;
   return status;
}

static uint32_t
count(void *source)
{
   return ((Source *)source)->num_entries;
}

static const TlVariant *
get(void *source, uint32_t index)
{
   Source *s = source;
   pthread_mutex_lock(&s->lock);
   const TlVariant *v = index < s->num_entries ? s->entries[index]->variant : NULL;
   pthread_mutex_unlock(&s->lock);
   return v;
}

/* ---- Host executors -------------------------------------------------------------------------- */

static TilecStatus
explain_fault(Jit *jit, TilecStatus status, const TilecFault *f)
{
   char text[1200], range[128] = "";
   if (status != TILEC_FAULT)
      return tl_core_fail(jit->rt, status,
                          f->message[0] ? f->message : tilec_status_string(status));
   if (f->argument[0])
      snprintf(range, sizeof range, " ('%s' element %lld, valid %lld to %lld)", f->argument,
               (long long)f->element, (long long)f->valid_begin, (long long)f->valid_end - 1);
   snprintf(text, sizeof text, "%s:%u:%u: program (%u, %u, %u): %s%s",
            f->file[0] ? f->file : "<unknown>", f->line, f->column, f->program_id[0],
            f->program_id[1], f->program_id[2], f->message, range);
   return tl_core_fail(jit->rt, status, text);
}

static void
on_print(void *user, const char *line, size_t len)
{
   Jit *jit = user;
   char text[1024];
   snprintf(text, sizeof text, "%.*s\n", (int)(len < 1000 ? len : 1000), line);
   jit->on_text(jit->user, text);
}

static TilecStatus
run(void *state, void *program, const uint32_t grid[3], const TilecArg *args, size_t num_args)
{
   Jit *jit = state;
   TilecFault fault = {0};
   TilecHostLaunch launch = {
      .struct_size = sizeof launch,
      .mode = tilec_runtime_executor(jit->rt) == TILEC_ON_SIM ? TILEC_HOST_SIM : TILEC_HOST_CPU,
      .grid = {grid[0], grid[1], grid[2]},
      .args = args,
      .num_args = num_args,
      .num_threads = tl_core_threads(jit->rt),
      .on_print = jit->on_text ? on_print : NULL,
      .user = jit,
   };
   TilecStatus status = tilec_program_run_cpu(program, &launch, &fault);
   return status == TILEC_OK ? status : explain_fault(jit, status, &fault);
}

static void
detach(void *jit)
{
   free(jit);
}

static const TilecJitVtable vtable = {
   .struct_size = sizeof vtable,
   .detach = detach,
   .open = open_source,
   .close = close_source,
   .find = find,
   .count = count,
   .get = get,
   .run = run,
};

TilecStatus
tilec_jit_attach(TilecRuntime *rt, const TilecJitOptions *options)
{
   if (!rt || (options && options->struct_size > sizeof *options))
      return TILEC_BAD_ARGUMENT;
   Jit *jit = calloc(1, sizeof *jit);
   if (!jit)
      return TILEC_NO_MEMORY;
   TilecJitOptions o = {0};
   if (options)
      memcpy(&o, options, options->struct_size);
   *jit = (Jit){.rt = rt, .on_text = o.on_text, .user = o.user,
                .memory_limit_bytes = o.memory_limit_bytes};
   TilecStatus status = tl_core_attach(rt, &vtable, jit);
   if (status != TILEC_OK)
      free(jit);
   return status;
}
