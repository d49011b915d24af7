/* The compiler behind the launch API: source kernels are specialised by the facts of their
 * arguments (type, == 1, divisible by 16, 8 or 4, None), compiled on a miss, and kept in memory
 * and, if so asked, on disk.  This file opens sources, makes keys of arguments and finds what is
 * there; lookup takes no lock and no memory.  Invariant: an entry in a bucket is complete. */
#include "jit/jit.h"

#include "core/multiple.h"
#include "jit/options.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Opening a source ------------------------------------------------------------------------ */

/* NULL: out of memory. */
static const char **
copy_list(TlJitSource *s, const char *const *list, size_t count, bool *ok)
{
   const char **copy = calloc(count + 1, sizeof *copy);
   for (size_t i = 0; copy && i < count; i++)
      copy[i] = tl_texts_keep(&s->texts, list[i], TILEC_STRLEN, ok);
   return copy;
}

static TilecStatus
bad_define(TlJitSource *s, size_t i, const char *text)
{
   char why[160];
   snprintf(why, sizeof why,
            "TilecSource.defines[%zu] is written NAME=VALUE, as in \"BLOCK=128\"; found "
            "%.60s",
            i, text ? text : "NULL");
   return tl_core_fail(s->jit->rt, TILEC_BAD_ARGUMENT, why);
}

static TilecStatus
copy_options(TlJitSource *s, const TilecSource *o)
{
   if (o->source && !o->source_bytes)
      return tl_core_fail(
         s->jit->rt, TILEC_BAD_ARGUMENT,
         "TilecSource.source_bytes is 0 and source is given: TILEC_STRLEN takes the "
         "text up to its NUL");
   if (o->num_defines && !o->defines)
      return tl_core_fail(s->jit->rt, TILEC_BAD_ARGUMENT,
                          "TilecSource.defines is NULL and num_defines is not 0");
   if (o->num_include_dirs && !o->include_dirs)
      return tl_core_fail(s->jit->rt, TILEC_BAD_ARGUMENT,
                          "TilecSource.include_dirs is NULL and num_include_dirs is not 0");
   if (o->num_assume && !o->assume)
      return tl_core_fail(s->jit->rt, TILEC_BAD_ARGUMENT, "assume is NULL");
   s->options = *o;
   bool ok = tl_source_keep_texts(&s->options, &s->texts);
   s->defines = calloc(o->num_defines + 1, sizeof *s->defines);
   s->options.include_dirs = copy_list(s, o->include_dirs, o->num_include_dirs, &ok);
   s->options.assume = copy_list(s, o->assume, o->num_assume, &ok);
   s->options.defines = NULL;
   if (!ok || !s->defines || !s->options.include_dirs || !s->options.assume)
      return tl_core_no_memory(s->jit->rt);
   for (size_t i = 0; i < o->num_defines; i++) {
      const char *equals = o->defines[i] ? strchr(o->defines[i], '=') : NULL;
      if (!equals || equals == o->defines[i])
         return bad_define(s, i, o->defines[i]);
      s->defines[i].name =
         tl_texts_keep(&s->texts, o->defines[i], (size_t)(equals - o->defines[i]), &ok);
      s->defines[i].value = tl_texts_keep(&s->texts, equals + 1, TILEC_STRLEN, &ok);
   }
   return ok ? TILEC_OK : tl_core_no_memory(s->jit->rt);
}

/* The one that is named; without a name the first: core opens the others. */
static TilecStatus
pick_kernel(TlJitSource *s)
{
   uint32_t n = tilec_listing_count(s->listing);
   char text[1024] = "none";
   size_t len = 0;
   for (uint32_t i = 0; i < n && !s->decl; i++) {
      const TilecKernelDecl *d = tilec_listing_kernel(s->listing, i);
      if (!s->options.kernel || strcmp(d->name, s->options.kernel) == 0)
         s->decl = d;
      if (len < sizeof text)
         len += (size_t)snprintf(text + len, sizeof text - len, "%s%s", i ? ", " : "", d->name);
   }
   if (s->decl) {
      s->is_whole |= !s->options.kernel;
      s->options.kernel = s->decl->name;
      return TILEC_OK;
   }
   char why[1400];
   if (s->options.kernel)
      snprintf(why, sizeof why, "no kernel '%s'; the file has: %s", s->options.kernel, text);
   else
      snprintf(why, sizeof why,
               "the file has no kernels; a kernel is a function under @kernel, "
               "@jit or @triton.jit");
   return tl_core_fail(s->jit->rt, TILEC_NOT_FOUND, why);
}

static TilecStatus
read_params(TlJitSource *s)
{
   assert(s->decl && !s->params);
   s->params = calloc(s->decl->num_params + 1, sizeof *s->params);
   if (!s->params)
      return tl_core_no_memory(s->jit->rt);
   for (uint32_t i = 0; i < s->decl->num_params; i++) {
      const TilecParamDecl *d = &s->decl->params[i];
      if (d->is_constexpr)
         continue;
      if (s->num_params == TL_JIT_MAX_ARGS)
         return tl_core_fail(s->jit->rt, TILEC_LIMIT,
                             "a kernel takes at most 256 arguments, and this one has more");
      TlJitParam *p = &s->params[s->num_params++];
      *p = (TlJitParam){.decl = d, .index = i, .is_annotated = d->type != NULL, .says = ""};
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
      p->dtype = tl_dtype_named(name, strlen(name));
   }
   return TILEC_OK;
}

static void close_source(void *source);
static TilecStatus find(void *source, const TilecArg *args, size_t num_args, TlForm form,
                        const TlVariant **out);

static void
tuner_note(void *user, const char *line)
{
   TlJit *jit = user;
   char text[1024];
   snprintf(text, sizeof text, "note: %s\n", line);
   if (jit->on_text)
      jit->on_text(jit->user, text);
}

/* `options` still has the defines as they were given. */
static TilecStatus
attach_tuner(TlJitSource *s, const TilecSource *options)
{
   TlJit *jit = s->jit;
   TlTuneSettings settings = {.policy = jit->tune,
                              .may_compile = !jit->never_compile,
                              .database = jit->tune_database,
                              .find = find,
                              .on_note = tuner_note,
                              .user = jit};
   TilecSource whole = *options;
   whole.kernel = s->decl->name;
   whole.source = s->options.source; /* the text that was listed */
   whole.source_bytes = s->options.source_bytes;
   assert(!s->tune);
   if (options->tune != TL_TUNE_CHILD)
      s->tune = tl_tune_new(jit->rt, &settings, &whole, s->decl);
   return s->tune || options->tune == TL_TUNE_CHILD ? TILEC_OK : tl_core_no_memory(jit->rt);
}

/* What the options say of configurations holds for a kernel that is named: it is listed again. */
static TilecStatus
list_chosen(TlJitSource *s)
{
   if (!s->is_whole || !s->decl->tuning)
      return TILEC_OK;
   assert(!s->file_listing);
   s->file_listing = s->listing;
   s->listing = NULL;
   s->decl = NULL;
   TilecStatus status = tl_jit_list(s);
   return status == TILEC_OK ? pick_kernel(s) : status;
}

static TilecStatus
open_source(void *jit, const TilecSource *options, void **out, const char **name)
{
   TlJitSource *s = calloc(1, sizeof *s);
   if (!s)
      return tl_core_no_memory(((TlJit *)jit)->rt);
   s->jit = jit;
   TilecStatus status = copy_options(s, options);
   if (status == TILEC_OK)
      status = tl_jit_list(s);
   if (status == TILEC_OK)
      status = pick_kernel(s);
   if (status == TILEC_OK)
      status = list_chosen(s);
   if (status == TILEC_OK)
      status = read_params(s);
   if (status == TILEC_OK)
      status = attach_tuner(s, options);
   if (status != TILEC_OK) {
      close_source(s);
      return status;
   }
   assert(s->num_params <= s->decl->num_params && s->options.source);
   *out = s;
   *name = s->decl->name;
   return TILEC_OK;
}

static bool
next_source(void *source, uint32_t index, TilecSource *out)
{
   const TlJitSource *s = source;
   const TilecListing *all = s->file_listing ? s->file_listing : s->listing;
   const TilecKernelDecl *d = s->is_whole ? tilec_listing_kernel(all, index) : NULL;
   if (!d)
      return false;
   out->kernel = d->name;
   out->source = s->options.source;
   out->source_bytes = s->options.source_bytes;
   return true;
}

static void
close_source(void *source)
{
   TlJitSource *s = source;
   tl_tune_free(s->tune);
   tl_flights_end(s);
   assert(s->num_entries <= s->entries_room);
   for (uint32_t i = 0; i < s->num_entries; i++)
      tl_jit_entry_free(s->entries[i]);
   free(s->entries);
   tilec_listing_free(s->listing);
   tilec_listing_free(s->file_listing);
   tl_texts_free(&s->texts);
   free(s->defines);
   free((void *)(uintptr_t)s->options.include_dirs);
   free((void *)(uintptr_t)s->options.assume);
   free(s->params);
   free(s);
}

/* ---- Keys ------------------------------------------------------------------------------------ */

static TilecStatus
misfit(const TlJitSource *s, const TlJitParam *p, const char *why)
{
   char text[512];
   snprintf(text, sizeof text, "kernel '%s': parameter '%s' %s", s->decl->name, p->decl->name, why);
   return tl_core_fail(s->jit->rt, TILEC_BAD_ARGUMENT, text);
}

/* An integer that comes as 64 bits stands for a number, as in Python: i32 when it fits.  Narrower
 * types, and parameters that are not to be specialised, keep the type they come with. */
static TilecDtype
int_type(const TlJitParam *p, const TilecArg *a)
{
   bool wide = a->dtype == TILEC_I64 || a->dtype == TILEC_U64;
   if (!wide || p->decl->no_specialize)
      return a->dtype;
   if (a->dtype == TILEC_U64 && a->as.u > INT64_MAX)
      return TILEC_U64;
   return a->as.i >= INT32_MIN && a->as.i <= INT32_MAX ? TILEC_I32 : TILEC_I64;
}

static TilecStatus
pointer_key(const TlJitSource *s, const TlJitParam *p, const TilecArg *a, bool align, TlArgKey *key)
{
   if (p->is_annotated && !p->is_pointer)
      return misfit(
         s, p,
         strncmp(p->base, "tensordesc", 10) == 0
            ? "is a tensor descriptor, and got a pointer: pass a TensorDescriptor of the "
              "array, its shape, strides and block shape"
            : "is not a pointer: pass a number, or annotate it as one, *fp32");
   TilecDtype elem = p->is_annotated ? p->dtype : a->dtype;
   if (!elem && a->kind == TILEC_ARG_BUFFER) {
      const TilecBufferLayout *layout = tilec_buffer_layout(a->as.buffer);
      elem = layout ? layout->dtype : TILEC_DTYPE_NONE;
   }
   if (!p->is_annotated && !elem)
      return misfit(s, p,
                    "has no written type, so the argument must say its element type: "
                    "tilec_view(TILEC_FP32, buffer, 0), or tilec_ptr");
   uintptr_t address = a->kind == TILEC_ARG_BUFFER
                          ? (uintptr_t)tl_core_address(a->as.buffer) + a->bytes
                          : (uintptr_t)a->as.ptr;
   assert((unsigned)elem < TILEC_DTYPE_COUNT);
   key->kind = TILEC_ARG_POINTER;
   key->dtype = (uint8_t)elem;
   key->facts = align && address % 16 == 0 ? 16 : 0;
   return TILEC_OK;
}

/* Alignment is what every descriptor has, so no fact of this one; rows of a multiple of 16 elements
 * are: whole vectors of them lie inside or outside. */
static TilecStatus
tensor_key(const TlJitSource *s, const TlJitParam *p, const TilecTensor *t, TlArgKey *key)
{
   char why[160];
   if (!t)
      return misfit(s, p, "is given NULL for a TilecTensor");
   if (t->rank < 1 || t->rank > TILEC_TENSOR_RANK) {
      snprintf(why, sizeof why, "is given a TilecTensor of rank %u: it has 1 to %d dimensions",
               (unsigned)t->rank, TILEC_TENSOR_RANK);
      return misfit(s, p, why);
   }
   TlArgKey pointer;
   TilecStatus status = pointer_key(s, &(TlJitParam){.decl = p->decl}, &t->base, false, &pointer);
   key->dtype = pointer.dtype;
   key->rank = (uint8_t)t->rank;
   if (!p->decl->no_specialize && !p->decl->no_align && t->shape[t->rank - 1] % 16 == 0)
      key->facts = 16;
   for (uint32_t d = 0; status == TILEC_OK && d < t->rank; d++) {
      uint32_t side = t->block[d];
      if (!side || (side & (side - 1)) || side > 1u << 20) {
         snprintf(why, sizeof why,
                  "is given a block whose sides are not powers of two: block[%u] is %u", d, side);
         return misfit(s, p, why);
      }
      key->block |= (uint32_t)__builtin_ctz(side) << 5 * d;
   }
   return status;
}

static TilecStatus
key_of(const TlJitSource *s, const TlJitParam *p, const TilecArg *a, TlArgKey *key)
{
   *key = (TlArgKey){.kind = (uint8_t)a->kind};
   if ((unsigned)a->kind > TILEC_ARG_TENSOR || (unsigned)a->dtype >= TILEC_DTYPE_COUNT) {
      bool is_kind = (unsigned)a->kind > TILEC_ARG_TENSOR;
      char why[160];
      snprintf(why, sizeof why,
               "is given a TilecArg of %s %u, which there is none of: it is made by "
               "tilec_int, tilec_fp32, tilec_ptr, tilec_view or TILEC_ARG",
               is_kind ? "kind" : "dtype", is_kind ? (unsigned)a->kind : (unsigned)a->dtype);
      return misfit(s, p, why);
   }
   if (a->kind == TILEC_ARG_NONE)
      return TILEC_OK;
   if (a->kind == TILEC_ARG_BUFFER && !a->as.buffer)
      return misfit(s, p, "is given a NULL buffer");
   if (a->kind == TILEC_ARG_BUFFER && tl_core_is_freed(a->as.buffer))
      return misfit(s, p, "is given a buffer that was freed");
   if (a->kind == TILEC_ARG_SCALAR && !a->dtype)
      return misfit(s, p, "is given a scalar without a type");
   if (a->kind == TILEC_ARG_TENSOR)
      return tensor_key(s, p, a->as.tensor, key);
   bool specialize = !p->decl->no_specialize;
   bool align = specialize && !p->decl->no_align && !p->says[0]; /* else as written */
   if (a->kind != TILEC_ARG_SCALAR)
      return pointer_key(s, p, a, align, key);
   if (p->is_annotated && p->is_pointer) {
      char why[224];
      snprintf(why, sizeof why,
               "is a pointer and is given a number, argument %td of the launch: give an array or a "
               "buffer, and the arguments in the order of the kernel's parameters; an address goes "
               "by tilec_ptr, in Python tilec.Pointer",
               p - s->params + 1);
      return misfit(s, p, why);
   }
   key->dtype = (uint8_t)(p->is_annotated && p->dtype ? p->dtype : int_type(p, a));
   char from = tl_dtype_kind(a->dtype), to = tl_dtype_kind(key->dtype);
   if ((from == 'I' || from == 'U') && (to == 'I' || to == 'U')) {
      if (specialize && a->as.u == 1 && !p->is_annotated)
         key->facts = TL_FACT_ONE;
      else if (align)
         key->facts = tl_multiple(a->as.u);
   }
   return TILEC_OK;
}

static uint64_t
hash_key(const TlArgKey *key, size_t n)
{
   uint64_t h = 0xcbf29ce484222325u; /* FNV-1a, an argument at a time: the products are a chain */
   for (size_t i = 0; i < n; i++)
      h = (h ^ (key[i].kind | (uint64_t)key[i].dtype << 8 | (uint64_t)key[i].facts << 16 |
                (uint64_t)key[i].rank << 24 | (uint64_t)key[i].block << 32)) *
          0x100000001b3u;
   return h ^ h >> 29;
}

TlJitEntry *
tl_jit_look_up(TlJitSource *s, uint64_t hash, const TlArgKey *key, size_t n)
{
   TlJitEntry *e = atomic_load_explicit(&s->buckets[hash % TL_JIT_BUCKETS], memory_order_acquire);
   while (e && (e->hash != hash || memcmp(e->key, key, n * sizeof *key) != 0))
      e = atomic_load_explicit(&e->next, memory_order_relaxed);
   return e;
}

static bool
is_array(const TilecArg *a)
{
   return a->kind != TILEC_ARG_SCALAR && a->kind != TILEC_ARG_NONE;
}

/* Is the argument of another kind than the type that the parameter is annotated with? */
static bool
is_other_kind(const TilecParamDecl *p, const TilecArg *a)
{
   if (!p->type || a->kind == TILEC_ARG_NONE)
      return false;
   bool is_float = p->type[0] == 'f' || p->type[0] == 'b';
   return (p->type[0] == '*') != is_array(a) ||
          (a->kind == TILEC_ARG_SCALAR && !is_float && tl_dtype_kind(a->dtype) == 'F');
}

/* The first argument that does not go to the parameter at its place: one before it is missing. */
static void
say_first_other(char *text, size_t room, const TilecKernelDecl *decl, const TilecArg *args,
                size_t num_given)
{
   size_t at = 0;
   for (uint32_t i = 0; args && i < decl->num_params && at < num_given; i++) {
      const TilecParamDecl *p = &decl->params[i];
      if (p->is_constexpr)
         continue;
      if (is_other_kind(p, &args[at])) {
         snprintf(text, room, "; number %zu, %s, goes to '%.60s', which is %.40s", at + 1,
                  is_array(&args[at])                    ? "an array"
                  : tl_dtype_kind(args[at].dtype) == 'F' ? "a float"
                                                         : "a whole number",
                  p->name, p->type);
         return;
      }
      at++;
   }
}

TilecStatus
tl_jit_miscounted(TilecRuntime *rt, const TilecKernelDecl *decl, const TilecArg *args,
                  size_t num_given)
{
   char names[384] = "", other[192] = "", text[960];
   size_t len = 0;
   uint32_t taken = 0;
   say_first_other(other, sizeof other, decl, args, num_given);
   for (uint32_t i = 0; i < decl->num_params; i++) {
      const TilecParamDecl *p = &decl->params[i];
      if (p->is_constexpr)
         continue;
      if (len < sizeof names)
         len += (size_t)snprintf(names + len, sizeof names - len, "%s%s",
                                 taken ? ", " : "; the kernel takes ", p->name);
      if (taken == num_given && !*other)
         snprintf(other, sizeof other, "; none is left for '%.60s'", p->name);
      taken++;
   }
   snprintf(text, sizeof text, "kernel '%s': %u argument%s taken, %zu given%s%s", decl->name, taken,
            taken == 1 ? " is" : "s are", num_given, names, other);
   return tl_core_fail(rt, TILEC_BAD_ARGUMENT, text);
}

/* A number for a pointer, and an array behind it for a number. */
static bool
is_exchanged(const TlJitSource *s, const TilecArg *args, size_t i)
{
   const TlJitParam *p = &s->params[i], *next = p + 1;
   return i + 1 < s->num_params && p->is_annotated && p->is_pointer &&
          args[i].kind == TILEC_ARG_SCALAR && args[i].dtype && next->is_annotated &&
          !next->is_pointer &&
          (args[i + 1].kind == TILEC_ARG_BUFFER || args[i + 1].kind == TILEC_ARG_POINTER);
}

static TilecStatus
misfit_exchanged(const TlJitSource *s, uint32_t i)
{
   char why[320];
   snprintf(why, sizeof why,
            "is a pointer and is given a number, and '%s' behind it is a number and is given an "
            "array: exchange the two; the order is that of the parameters",
            s->params[i + 1].decl->name);
   return misfit(s, &s->params[i], why);
}

/* ---- Finding and making ---------------------------------------------------------------------- */

TilecStatus
tl_jit_keys(const TlJitSource *s, const TilecArg *args, size_t num_args, TlForm form, TlArgKey *key,
            uint64_t *hash)
{
   if (num_args != s->num_params)
      return tl_jit_miscounted(s->jit->rt, s->decl, args, num_args);
   for (size_t i = 0; i < num_args; i++) {
      TilecStatus status = is_exchanged(s, args, i) ? misfit_exchanged(s, (uint32_t)i)
                                                    : key_of(s, &s->params[i], &args[i], &key[i]);
      if (status != TILEC_OK)
         return status;
   }
   assert(num_args <= TL_JIT_MAX_ARGS);
   *hash = form && num_args ? tl_jit_key_in(form, key, num_args) : hash_key(key, num_args);
   return TILEC_OK;
}

uint64_t
tl_jit_key_in(TlForm form, TlArgKey *key, size_t num_args)
{
   assert(num_args);
   key[0].facts = (uint8_t)(key[0].facts % TL_FACT_FORM + form * TL_FACT_FORM);
   return hash_key(key, num_args);
}

uint64_t
tl_jit_other_key(const TlArgKey *key, size_t num_args, TlArgKey *other)
{
   assert(num_args <= TL_JIT_MAX_ARGS);
   memcpy(other, key, num_args * sizeof *key);
   TlForm form = tl_jit_form(key, num_args) == TL_FORM_FIRST ? TL_FORM_FEW : TL_FORM_FIRST;
   return tl_jit_key_in(form, other, num_args);
}

bool
tl_jit_coarse_key(const TlJitSource *s, const TlArgKey *facts, TlArgKey *key, uint64_t *hash)
{
   bool is_other = false;
   for (size_t i = 0; i < s->num_params; i++) {
      key[i] = facts[i];
      key[i].facts &= (uint8_t)~(8 | 4);
      is_other |= key[i].facts != facts[i].facts;
   }
   *hash = hash_key(key, s->num_params);
   return is_other;
}

static TilecStatus
find(void *source, const TilecArg *args, size_t num_args, TlForm form, const TlVariant **out)
{
   TlArgKey key[TL_JIT_MAX_ARGS];
   uint64_t hash;
   TilecStatus status = tl_jit_keys(source, args, num_args, form, key, &hash);
   const TlJitEntry *e = status == TILEC_OK ? tl_jit_look_up(source, hash, key, num_args) : NULL;
   assert(!e || e->variant); /* published whole */
   *out = e ? e->variant : NULL;
   return status;
}

static TilecStatus
find_coarse(void *source, const TilecArg *args, size_t num_args, TlForm form, const TlVariant **out)
{
   TlArgKey facts[TL_JIT_MAX_ARGS], key[TL_JIT_MAX_ARGS];
   uint64_t hash;
   TilecStatus status = tl_jit_keys(source, args, num_args, form, facts, &hash);
   const TlJitEntry *e = status == TILEC_OK && tl_jit_coarse_key(source, facts, key, &hash)
                            ? tl_jit_look_up(source, hash, key, num_args)
                            : NULL;
   *out = e ? e->variant : NULL;
   return status;
}

static TilecStatus
make(void *source, const TilecArg *args, size_t num_args, TlForm form, bool for_launch,
     const TlVariant **out)
{
   TlArgKey key[TL_JIT_MAX_ARGS];
   uint64_t hash;
   TilecStatus status = tl_jit_keys(source, args, num_args, form, key, &hash);
   return status == TILEC_OK ? tl_flight_make(source, key, num_args, hash, for_launch, out)
                             : status;
}

static TilecStatus
start(void *source, const TilecArg *args, size_t num_args, void **flight)
{
   TlArgKey key[TL_JIT_MAX_ARGS];
   uint64_t hash;
   TlFlight *f = NULL;
   TilecStatus status = tl_jit_keys(source, args, num_args, TL_FORM_FIRST, key, &hash);
   if (status == TILEC_OK)
      status = tl_flight_start(source, key, num_args, hash, &f);
   *flight = f;
   return status;
}

static TilecStatus
join(void *flight, bool wait)
{
   return tl_flight_join(flight, wait);
}

static void
release(void *flight)
{
   tl_flight_release(flight);
}

static TilecStatus
missing(void *source, const TilecArg *args, size_t num_args, TlForm form, const char *why)
{
   TlArgKey key[TL_JIT_MAX_ARGS];
   uint64_t hash;
   TilecStatus status = tl_jit_keys(source, args, num_args, form, key, &hash);
   return status == TILEC_OK ? tl_jit_missing(source, key, why) : status;
}

static uint32_t
count(void *source)
{
   TlJitSource *s = source;
   return tl_tune_is_active(s->tune) ? tl_tune_count(s->tune) : s->num_entries;
}

static const TlVariant *
get(void *source, uint32_t index)
{
   TlJitSource *s = source;
   if (tl_tune_is_active(s->tune))
      return tl_tune_get(s->tune, index);
   pthread_mutex_lock(&s->jit->lock);
   const TlVariant *v = index < s->num_entries ? s->entries[index]->variant : NULL;
   pthread_mutex_unlock(&s->jit->lock);
   return v;
}

static void *
tuner(void *source)
{
   return ((TlJitSource *)source)->tune;
}

static bool
has_choice(void *source)
{
   return tl_tune_is_active(((TlJitSource *)source)->tune);
}

static TilecStatus
pick(void *source, const TilecLaunch *launch, const TilecArg *args, size_t num_args,
     TilecKernel **out)
{
   return tl_tune_pick(((TlJitSource *)source)->tune, launch, args, num_args, out);
}

/* ---- Host executors -------------------------------------------------------------------------- */

typedef struct HostRun {
   TlJit *jit;
   char message[3072]; /* the fault's, with its notes and its help */
} HostRun;

/* The report has the place, the program and the line already where it is one of the executor's. */
static TilecStatus
explain_fault(const HostRun *h, TilecStatus status, const TilecFault *f)
{
   TlJit *jit = h->jit;
   char text[1200], range[128] = "";
   size_t place = strlen(f->file);
   if (status != TILEC_FAULT || (place && strncmp(f->message, f->file, place) == 0))
      return tl_core_fail(jit->rt, status,
                          h->message[0]   ? h->message
                          : f->message[0] ? f->message
                                          : tilec_status_string(status));
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
   TlJit *jit = ((HostRun *)user)->jit;
   char text[1024];
   snprintf(text, sizeof text, "%.*s\n", (int)(len < 1000 ? len : 1000), line);
   jit->on_text(jit->user, text);
}

static void
on_warning(void *user, const char *text, size_t len)
{
   TlJit *jit = ((HostRun *)user)->jit;
   (void)len; /* it ends there */
   jit->on_text(jit->user, text);
}

static void
on_fault(void *user, const char *text, size_t len)
{
   HostRun *h = user;
   size_t most = sizeof h->message - 1;
   while (len > most && most && text[most] != '\n') /* whole lines of it */
      most--;
   snprintf(h->message, sizeof h->message, "%.*s", (int)(len > most ? most : len), text);
}

static bool
find_memory(void *user, uint64_t address, TilecMemory *out)
{
   return tl_core_memory(((HostRun *)user)->jit->rt, address, out);
}

static TilecStatus
run(void *state, void *program, const uint32_t grid[3], const TilecArg *args,
    const uint64_t *written, size_t num_args)
{
   TlJit *jit = state;
   TilecFault fault = {0};
   HostRun h = {.jit = jit};
   TilecHostLaunch launch = {
      .struct_size = sizeof launch,
      .mode = tilec_runtime_executor(jit->rt) == TILEC_ON_SIM ? TILEC_HOST_SIM : TILEC_HOST_CPU,
      .grid = {grid[0], grid[1], grid[2]},
      .args = args,
      .num_args = num_args,
      .num_threads = tl_core_threads(jit->rt),
      .on_print = jit->on_text ? on_print : NULL,
      .on_fault = on_fault,
      .memory = find_memory,
      .on_warning = jit->warns ? on_warning : NULL,
      .written = written,
      .user = &h,
   };
   TilecStatus status = tilec_program_run_cpu(program, &launch, &fault);
   return status == TILEC_OK ? status : explain_fault(&h, status, &fault);
}

/* ---- Attaching ------------------------------------------------------------------------------- */

static void
detach(void *user)
{
   TlJit *jit = user;
   tl_flights_done(jit);
   for (char **p = jit->strings; p && *p; p++)
      free(*p);
   free(jit->strings);
   free((void *)(uintptr_t)jit->cache.layers);
   free(jit);
}

static const TilecJitVtable vtable = {
   .struct_size = sizeof vtable,
   .detach = detach,
   .open = open_source,
   .next = next_source,
   .close = close_source,
   .find = find,
   .find_coarse = find_coarse,
   .make = make,
   .start = start,
   .join = join,
   .release = release,
   .missing = missing,
   .explain = tl_jit_explain,
   .count = count,
   .get = get,
   .has_choice = has_choice,
   .pick = pick,
   .tuner = tuner,
   .run = run,
};

/* A copy that lives as long as `jit`; there is room for all of them. */
static char *
keep_string(TlJit *jit, size_t *count, const char *text, bool *ok)
{
   if (!text)
      return NULL;
   char *copy = strdup(text);
   *ok = *ok && copy;
   if (copy)
      jit->strings[(*count)++] = copy;
   return copy;
}

static TilecStatus
copy_jit_options(TlJit *jit, const TilecJitOptions *o)
{
   bool ok = true;
   size_t kept = 0, n = o->num_cache_layers;
   if (n && !o->cache_layers)
      return tl_core_fail(jit->rt, TILEC_BAD_ARGUMENT, "cache_layers is NULL");
   const char **layers = calloc(n + 1, sizeof *layers);
   jit->cache.layers = layers;
   jit->strings = calloc(n + 4, sizeof *jit->strings);
   if (!layers || !jit->strings)
      return tl_core_no_memory(jit->rt);
   for (size_t i = 0; i < n; i++)
      layers[i] = keep_string(jit, &kept, o->cache_layers[i], &ok);
   jit->cache.num_layers = n;
   jit->cache.dir = keep_string(jit, &kept, o->cache_dir, &ok);
   jit->cache.max_bytes = o->cache_bytes ? o->cache_bytes : TL_CACHE_DEFAULT_BYTES;
   jit->has_cache = o->cache_dir || n;
   jit->ptxas = keep_string(jit, &kept, o->ptxas, &ok);
   jit->tune = o->tune;
   jit->tune_database = keep_string(jit, &kept, o->tune_database, &ok);
   return ok ? TILEC_OK : tl_core_no_memory(jit->rt);
}

TilecStatus
tilec_jit_attach(TilecRuntime *rt, const TilecJitOptions *options)
{
   TilecJitOptions o = {0};
   if (!rt)
      return tl_core_fail(NULL, TILEC_BAD_ARGUMENT, "tilec_jit_attach: rt is NULL");
   if (options &&
       (options->struct_size > sizeof o || options->struct_size <= sizeof options->struct_size))
      return tl_core_bad_size(rt, "tilec_jit_attach: struct_size of the options",
                              options->struct_size, "TilecJitOptions", sizeof o);
   TilecStatus status = tl_core_usable(rt);
   if (status != TILEC_OK)
      return status;
   if (options)
      memcpy(&o, options, options->struct_size);
   TlJit *jit = calloc(1, sizeof *jit);
   if (!jit)
      return tl_core_no_memory(rt);
   jit->rt = rt;
   jit->on_text = o.on_text;
   jit->user = o.user;
   jit->memory_limit_bytes = o.memory_limit_bytes;
   jit->never_compile = o.never_compile;
   jit->warns = o.warn && o.on_text;
   long cores = sysconf(_SC_NPROCESSORS_ONLN);
   status = tl_flights_init(jit, o.num_workers ? o.num_workers : cores > 0 ? (uint32_t)cores : 1);
   if (status == TILEC_OK)
      status = copy_jit_options(jit, &o);
   if (status == TILEC_OK)
      status = tl_core_attach(rt, &vtable, jit);
   if (status != TILEC_OK)
      detach(jit);
   return status;
}
