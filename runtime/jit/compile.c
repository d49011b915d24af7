/* One specialisation made: from the disk cache, or by the compiler and then kept there.  What goes
 * wrong with the cache costs time, never a kernel. */
#include "jit/jit.h"

#include "jit/options.h"
#include "jit/stored.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
   TEXT_BYTES = 3500, /* of diagnostics kept for the error detail */
   LOCK_MS = 10000,   /* waited for another process that makes the same kernel */
};

/* ---- Diagnostics → text ---------------------------------------------------------------------- */

typedef struct Text {
   TlJit *jit;
   size_t len;
   char bytes[TEXT_BYTES];
   TlBytes kept; /* for the disk cache */
} Text;

static void
on_diag(void *user, const TilecDiag *d)
{
   Text *t = user;
   const char *s = d->rendered ? d->rendered : d->text;
   if (t->jit->on_text)
      t->jit->on_text(t->jit->user, s);
   if (t->jit->has_cache)
      tl_stored_diag(&t->kept, d);
   if (d->severity != TILEC_SEVERITY_ERROR && !(d->severity == TILEC_SEVERITY_NOTE && t->len))
      return;
   if (t->len < sizeof t->bytes)
      t->len += (size_t)snprintf(t->bytes + t->len, sizeof t->bytes - t->len, "%s", s);
}

static void
replay(void *user, const TilecDiag *d)
{
   TlJit *jit = user;
   jit->on_text(jit->user, d->rendered);
}

/* Starts a session whose errors gather in `t`. */
static TilecStatus
start_session(TlJit *jit, Text *t, TilecSession **out)
{
   TilecSessionOptions o = {.struct_size = sizeof o,
                            .on_diag = on_diag,
                            .user = t,
                            .memory_limit_bytes = jit->memory_limit_bytes};
   t->jit = jit;
   t->len = 0;
   t->bytes[0] = 0;
   t->kept = (TlBytes){0};
   return tilec_session_new(&o, out);
}

static TilecStatus
report(TlJit *jit, TilecStatus status, const Text *t, TilecSession *session)
{
   if (status == TILEC_OK)
      return status;
   const char *why = t->len ? t->bytes : session ? tilec_session_error(session) : "";
   return tl_core_fail(jit->rt, status, why && *why ? why : tilec_status_string(status));
}

/* Said once per runtime: a full disk would otherwise say it at every kernel. */
static void
note(TlJit *jit, const char *why)
{
   char text[TL_CACHE_WHY + 128];
   if (atomic_exchange(&jit->has_noted, true))
      return;
   snprintf(text, sizeof text, "note: kernels are not kept for the next run: %s\n", why);
   if (jit->on_text)
      jit->on_text(jit->user, text);
   (void)tl_core_fail(jit->rt, TILEC_OK, text);
}

/* ---- Options --------------------------------------------------------------------------------- */

static TilecCompileOptions
compile_options(const TlJitSource *s)
{
   TilecCompileOptions o = tl_options_of_source(&s->options);
   o.defines = s->defines;
   o.num_defines = s->options.num_defines;
   return o;
}

/* The text that was listed is the one compiled later, whatever becomes of the file. */
TilecStatus
tl_jit_list(TlJitSource *s)
{
   Text text;
   TilecSession *session = NULL;
   TilecStatus status = start_session(s->jit, &text, &session);
   if (status == TILEC_OK) {
      TilecCompileOptions o = compile_options(s);
      status = tilec_list_kernels(session, &o, &s->listing);
   }
   status = report(s->jit, status, &text, session);
   tilec_session_free(session);
   free(text.kept.data);
   if (status == TILEC_OK && !s->options.source) {
      size_t len = 0;
      s->options.source = tilec_listing_source(s->listing, &len);
      s->options.source_bytes = len;
   }
   return status;
}

static void
sign_tensor(TlArgKey key, char *text, size_t bytes)
{
   size_t len = (size_t)snprintf(text, bytes, "tensordesc<%s", tl_dtype_name(key.dtype));
   for (unsigned d = 0; d < key.rank && len < bytes; d++)
      len += (size_t)snprintf(text + len, bytes - len, "%c%u", d ? ',' : '[',
                              1u << (key.block >> 5 * d & 31));
   if (len < bytes)
      snprintf(text + len, bytes - len, "]>%s", key.facts & TL_FACT_MULTIPLE ? ":16" : "");
}

/* One item of the signature: see TilecCompileOptions.signature. */
static void
sign_param(const TlJitParam *p, TlArgKey key, char *text, size_t bytes)
{
   const char *fact = key.facts & TL_FACT_ONE ? ":1"
                      : key.facts & 16        ? ":16"
                      : key.facts & 8         ? ":8"
                      : key.facts & 4         ? ":4"
                                              : p->says;
   if (key.kind == TILEC_ARG_NONE)
      snprintf(text, bytes, "None");
   else if (key.kind == TILEC_ARG_TENSOR)
      sign_tensor(key, text, bytes);
   else if (p->is_annotated)
      snprintf(text, bytes, "%s%s", p->base, fact);
   else
      snprintf(text, bytes, "%s%s%s", key.kind == TILEC_ARG_POINTER ? "*" : "",
               tl_dtype_name(key.dtype), fact);
}

char *
tl_jit_signature(const TlJitSource *s, const TlArgKey *key)
{
   enum { ITEM_BYTES = 96 }; /* a comma or the NUL included */
   size_t room = (size_t)(s->decl->num_params + 1) * ITEM_BYTES, len = 0;
   char *text = malloc(room);
   if (!text)
      return NULL;
   text[0] = 0;
   uint32_t k = 0;
   for (uint32_t i = 0; i < s->decl->num_params; i++) {
      char item[ITEM_BYTES] = "";
      if (k < s->num_params && s->params[k].index == i) {
         sign_param(&s->params[k], key[k], item, sizeof item);
         k++;
      }
      len += (size_t)snprintf(text + len, room - len, "%s%s", i ? "," : "", item);
      assert(len < room);
   }
   assert(k == s->num_params); /* each key went to its parameter */
   return text;
}

TilecStatus
tl_jit_missing(TlJitSource *s, const TlArgKey *key, const char *why)
{
   char text[TL_JIT_DETAIL];
   char *sign = tl_jit_signature(s, key);
   if (!sign)
      return tl_core_no_memory(s->jit->rt);
   snprintf(text, sizeof text, "kernel '%s': the variant (%s) is not ready, and %s", s->decl->name,
            sign, why);
   free(sign);
   return tl_core_fail(s->jit->rt, TILEC_NOT_FOUND, text);
}

static void
set_target(const TlJitSource *s, TilecCompileOptions *o)
{
   TilecRuntime *rt = s->jit->rt;
   const TilecDeviceInfo *device = tl_core_device(rt);
   TilecExecutor on = tilec_runtime_executor(rt);
   o->kernel = s->decl->name;
   if (on == TILEC_ON_CUDA) {
      o->arch = o->arch ? o->arch : device->arch;
      o->ptx_version = device->max_ptx_version;
   } else {
      o->stop_after = on == TILEC_ON_CPU ? TILEC_STAGE_IR : TILEC_STAGE_LOWERED;
      o->lints = s->jit->warns;
   }
}

/* ---- The disk cache -------------------------------------------------------------------------- */

static TilecStatus
bind(TlJit *jit, TlJitEntry *e)
{
   assert(e->module && !e->variant);
   e->variant = tl_core_variant(e->module);
   return e->variant ? TILEC_OK
                     : tl_core_fail(jit->rt, TILEC_INTERNAL, "the compiler made no kernel");
}

/* A cubin of another assembler than the driver likes is no failure: the PTX is beside it. */
static TilecStatus
load_image(TlJit *jit, const void *cubin, size_t cubin_len, const char *ptx, size_t ptx_len,
           const TilecImageInfo *info, TilecModule **out)
{
   TilecStatus status = TILEC_BAD_IMAGE;
   assert(ptx && !*out);
   if (cubin)
      status = tl_core_load(jit->rt, cubin, cubin_len, info, out);
   if (status == TILEC_BAD_IMAGE || status == TILEC_BAD_TARGET || status == TILEC_DRIVER_TOO_OLD)
      status = tl_core_load(jit->rt, ptx, ptx_len, info, out);
   return status;
}

/* Is a launch of few programs served by the same code as others? */
static bool
is_same_for_few(const TilecKernelInfo *info)
{
   return !info->few_per_sm;
}

/* False: a miss.  What is there but does not load is one as well.  only_same: and what is not the
 * same code for launches of few programs. */
static bool
from_cache(TlJit *jit, const uint8_t *key, bool only_same, TlJitEntry *e, TilecStatus *status)
{
   TlStored stored;
   assert(!e->module && !e->info && !e->program);
   if (!tl_stored_get(&jit->cache, key, &stored))
      return false;
   *status = tilec_image_read_json(stored.json, stored.json_len, &e->info, NULL, 0);
   if (*status == TILEC_OK && only_same && e->info->num_kernels &&
       !is_same_for_few(e->info->kernels))
      *status = TILEC_NOT_FOUND;
   if (*status == TILEC_OK && !jit->never_compile) {
      char why[TL_CACHE_WHY];
      tl_stored_assemble(&jit->cache, key, jit->ptxas, e->info, &stored, why);
      if (why[0])
         note(jit, why);
   }
   if (*status == TILEC_OK)
      *status = load_image(jit, stored.cubin, stored.cubin_len, stored.ptx, stored.ptx_len, e->info,
                           &e->module);
   if (*status == TILEC_OK)
      *status = bind(jit, e);
   if (*status == TILEC_OK && jit->on_text)
      tl_stored_replay(&stored, replay, jit);
   tl_stored_free(&stored);
   if (*status == TILEC_OK || *status == TILEC_DEVICE_LOST || *status == TILEC_OUT_OF_DEVICE_MEMORY)
      return true;
   tilec_module_free(e->module);
   tilec_image_info_free(e->info);
   e->module = NULL;
   e->info = NULL;
   return false;
}

/* What is kept of the form for few programs, for the first one; of the first one, for that. */
static bool
other_from_cache(TlJit *jit, const TilecCompileOptions *o, bool only_same, TlJitEntry *e,
                 TilecStatus *status)
{
   uint8_t key[TL_CACHE_KEY_BYTES];
   TilecCompileOptions other = *o;
   other.few_programs = !o->few_programs;
   return tl_stored_key(&other, key) && from_cache(jit, key, only_same, e, status);
}

/* The imports of a program as a list of malloc; false: out of memory. */
static bool
list_imports(const TilecProgram *program, TilecImport **list, size_t *count)
{
   uint32_t n = 0;
   TilecImport one;
   while (tilec_program_import(program, n, &one))
      n++;
   *count = n;
   *list = malloc((n + 1) * sizeof **list);
   for (uint32_t i = 0; *list && i < n; i++)
      (void)tilec_program_import(program, i, &(*list)[i]);
   return *list != NULL;
}

static void
to_cache(TlJit *jit, const uint8_t *key, const TilecProgram *program, TlStoredParts *parts)
{
   TilecImport *imports;
   char why[TL_CACHE_WHY] = "out of memory";
   bool ok = list_imports(program, &imports, &parts->num_imports);
   parts->imports = imports;
   parts->json = tilec_program_metadata(program, &parts->json_len);
   if (!ok || !tl_stored_put(&jit->cache, key, parts, why))
      note(jit, why);
   free(imports);
}

/* ---- Making ---------------------------------------------------------------------------------- */

/* key NULL: not kept. */
static TilecStatus
load_program(TlJit *jit, const uint8_t *key, const TlBytes *diags, TlJitEntry *e)
{
   const TilecImageInfo *info = tilec_program_info(e->program);
   assert(info && !e->info); /* of one of the two the record is */
   if (tilec_runtime_executor(jit->rt) != TILEC_ON_CUDA)
      return tl_core_load_host(jit->rt, info, e->program, &e->module);
   TlStoredParts p = {.diags = diags};
   void *cubin = NULL;
   char why[TL_CACHE_WHY] = "";
   p.ptx = tilec_program_text(e->program, TILEC_STAGE_PTX, &p.ptx_len);
   if (!p.ptx)
      return TILEC_INTERNAL;
   if (key && jit->cache.dir && jit->ptxas) {
      p.is_refused = tl_ptxas(&jit->cache, jit->ptxas, info, p.ptx, p.ptx_len, &cubin, &p.cubin_len,
                              why) == TL_REFUSED;
      if (!cubin)
         note(jit, why);
   }
   p.cubin = cubin;
   TilecStatus status = load_image(jit, p.cubin, p.cubin_len, p.ptx, p.ptx_len, info, &e->module);
   if (status == TILEC_OK && key && jit->cache.dir)
      to_cache(jit, key, e->program, &p);
   free(cubin);
   return status;
}

static TilecStatus
compile(TlJit *jit, const TilecCompileOptions *o, const uint8_t *key, TlJitEntry *e)
{
   Text text;
   TilecSession *session = NULL;
   TilecStatus status = start_session(jit, &text, &session);
   if (status == TILEC_OK)
      status = tilec_compile(session, o, &e->program);
   status = report(jit, status, &text, session);
   tilec_session_free(session);
   if (status == TILEC_OK)
      status = load_program(jit, key, &text.kept, e);
   free(text.kept.data);
   return status == TILEC_OK ? bind(jit, e) : status;
}

/* What is in memory of the form that stands for this one.  only_same: where it is the same code. */
static bool
take_other(TlJitSource *s, const TlArgKey *facts, bool only_same, TlJitEntry *e)
{
   TlArgKey key[TL_JIT_MAX_ARGS];
   TlForm form = tl_jit_form(facts, s->num_params);
   if (!s->num_params || form > (only_same ? TL_FORM_FEW : TL_FORM_SHORT))
      return false;
   uint64_t hash = tl_jit_other_key(facts, s->num_params, key);
   const TlJitEntry *other = tl_jit_look_up(s, hash, key, s->num_params);
   if (!other || (only_same && !is_same_for_few(tl_core_variant_info(other->variant))))
      return false;
   e->variant = other->variant;
   return true;
}

/* A launch that may not compile takes what is there for its arguments with fewer facts of them. */
static TilecStatus
take_coarse(TlJitSource *s, const TlArgKey *facts, TlJitEntry *e)
{
   TlArgKey key[TL_JIT_MAX_ARGS];
   uint64_t hash;
   if (tl_jit_coarse_key(s, facts, key, &hash)) {
      const TlJitEntry *coarse = tl_jit_look_up(s, hash, key, s->num_params);
      if (coarse) {
         e->variant = coarse->variant;
         return TILEC_OK;
      }
      TilecStatus status = tl_jit_make(s, key, true, e);
      if (status != TILEC_NOT_FOUND)
         return status;
   }
   return tl_jit_missing(s, facts,
                         "launches compile nothing here (never_compile); call "
                         "tilec_kernel_prepare with such arguments");
}

TilecStatus
tl_jit_make(TlJitSource *s, const TlArgKey *facts, bool for_launch, TlJitEntry *e)
{
   TlJit *jit = s->jit;
   uint8_t key[TL_CACHE_KEY_BYTES];
   TilecStatus status;
   TlForm form = tl_jit_form(facts, s->num_params);
   bool may_compile = !for_launch || !jit->never_compile;
   if (take_other(s, facts, true, e))
      return TILEC_OK;
   char *sign = tl_jit_signature(s, facts);
   if (!sign)
      return tl_core_no_memory(jit->rt);
   TilecCompileOptions o = compile_options(s);
   set_target(s, &o);
   o.signature = sign;
   if (o.tma == TILEC_TMA_DEFAULT) /* a launch without maps gets another variant */
      o.tma = TILEC_TMA_ON;
   if (form == TL_FORM_NO_MAPS)
      o.tma = TILEC_TMA_OFF;
   o.short_programs = form == TL_FORM_SHORT;
   o.few_programs = form == TL_FORM_FEW;
   bool keep =
      jit->has_cache && tilec_runtime_executor(jit->rt) == TILEC_ON_CUDA && tl_stored_key(&o, key);
   if (!keep || !(from_cache(jit, key, false, e, &status) ||
                  (form <= TL_FORM_FEW && other_from_cache(jit, &o, may_compile, e, &status)))) {
      if (!may_compile && take_other(s, facts, false, e)) {
         status = TILEC_OK;
      } else if (!may_compile) {
         status = take_coarse(s, facts, e);
      } else {
         int lock = keep && jit->cache.dir ? tl_cache_lock(&jit->cache, key, LOCK_MS) : -1;
         if (lock < 0 || !from_cache(jit, key, false, e, &status))
            status = compile(jit, &o, keep ? key : NULL, e);
         tl_cache_unlock(lock);
      }
   }
   free(sign);
   assert(status != TILEC_OK || e->variant);
   return status;
}

void
tl_jit_entry_free(TlJitEntry *e)
{
   assert(!(e->program && e->info));
   tilec_module_free(e->module);
   tilec_program_free(e->program);
   tilec_image_info_free(e->info);
   free(e);
}
