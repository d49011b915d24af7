/* Images: PTX and its launch record become a driver module with kernels and variants.
 * Invariant: a module that exists is complete; a failed load leaves nothing behind.  PTX goes
 * through cuModuleLoadDataEx and both of its logs are read. */
#include "core/core.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOG_BYTES = 32 * 1024 };

/* "sm_90a" on a device: a plain target runs on it and everything newer, "a" on exactly it, "f" on
 * the same family.  PTX ISA, section "PTX Module Directives: .target". */
static TilecStatus
check_target(TilecRuntime *rt, const TilecImageInfo *info)
{
   unsigned sm = 0, device = rt->info.sm_major * 10 + rt->info.sm_minor;
   char suffix = 0, more = 0;
   int n = sscanf(info->arch, "sm_%u%c%c", &sm, &suffix, &more);
   if (n < 1 || n > 2 || (n == 2 && suffix != 'a' && suffix != 'f'))
      return tl_rt_fail(rt, TILEC_BAD_IMAGE, "the image's target '%s' is unknown", info->arch);
   bool ok = device >= sm;
   if (suffix == 'a')
      ok = device == sm;
   else if (suffix == 'f')
      ok = ok && device / 10 == sm / 10;
   if (!ok)
      return tl_rt_fail(rt, TILEC_BAD_TARGET, "the image is for %s; device %d (%s) is sm_%u",
                        info->arch, rt->info.ordinal, rt->info.name, device);
   if (rt->info.max_ptx_version && info->ptx_version > rt->info.max_ptx_version)
      return tl_rt_fail(rt, TILEC_DRIVER_TOO_OLD,
                        "the image is PTX %u.%u; the driver (CUDA %d.%d) takes at most %u.%u",
                        info->ptx_version / 10, info->ptx_version % 10,
                        rt->info.driver_version / 1000, rt->info.driver_version % 1000 / 10,
                        rt->info.max_ptx_version / 10, rt->info.max_ptx_version % 10);
   return TILEC_OK;
}

static TilecStatus
check_limits(TilecRuntime *rt, const TilecKernelInfo *k)
{
   if (!k->threads || k->threads > rt->info.max_threads)
      return tl_rt_fail(rt, TILEC_LIMIT,
                        "kernel '%s' wants %u threads per block; the device allows %u", k->name,
                        k->threads, rt->info.max_threads);
   if (k->shared_bytes > rt->info.max_shared_bytes)
      return tl_rt_fail(rt, TILEC_LIMIT,
                        "kernel '%s' wants %u bytes of shared memory; the device allows %u",
                        k->name, k->shared_bytes, rt->info.max_shared_bytes);
   uint64_t blocks = (uint64_t)k->cluster[0] * k->cluster[1] * k->cluster[2];
   if (blocks < 1 || blocks > 16)
      return tl_rt_fail(rt, TILEC_LIMIT, "kernel '%s' has clusters of (%u, %u, %u) blocks", k->name,
                        k->cluster[0], k->cluster[1], k->cluster[2]);
   return TILEC_OK;
}

/* The driver's logs are capped by us; what it wrote is cut at the last NUL it set. */
static TilecStatus
load_ptx(TilecRuntime *rt, TilecModule *m, const void *image, size_t bytes)
{
   char *text = malloc(bytes + 1), *info = calloc(1, LOG_BYTES), *error = calloc(1, LOG_BYTES);
   TilecStatus status = TILEC_OK;
   assert(!m->cu && !m->log);
   if (!text || !info || !error) {
      status = tl_rt_no_memory(rt, "an image");
   } else {
      memcpy(text, image, bytes);
      text[bytes] = 0; /* PTX must end with NUL; a cubin does not mind */
      int options[] = {TL_CU_JIT_INFO_LOG, TL_CU_JIT_INFO_LOG_BYTES, TL_CU_JIT_ERROR_LOG,
                       TL_CU_JIT_ERROR_LOG_BYTES, TL_CU_JIT_LOG_VERBOSE};
      void *values[] = {info, (void *)(uintptr_t)(LOG_BYTES - 1), error,
                        (void *)(uintptr_t)(LOG_BYTES - 1), (void *)(uintptr_t)1};
      TlCuResult code = rt->cu.module_load(&m->cu, text, 5, options, values);
      status = tl_rt_check(rt, code, "loading the image");
      if (status == TILEC_OK && info[0])
         m->log = strdup(info);
      else if (status != TILEC_OK && status != TILEC_DEVICE_LOST) {
         char head[512];
         tilec_runtime_error(rt, head, sizeof head);
         tl_rt_fail(rt, status, "%s%s%s%s%s", head, error[0] ? "\n" : "", error,
                    strstr(info, "(C75") ? "\n" : "", strstr(info, "(C75") ? info : "");
      }
   }
   free(text);
   free(info);
   free(error);
   return status;
}

static TilecStatus
bind_entry(TilecRuntime *rt, TilecModule *m, TlVariant *v)
{
   const TilecKernelInfo *k = v->info;
   char doing[256];
   assert(m->cu && !v->fn);
   TilecStatus status = check_limits(rt, k);
   if (status != TILEC_OK)
      return status;
   snprintf(doing, sizeof doing, "looking up entry '%s'", k->entry);
   status = tl_rt_check(rt, rt->cu.module_function(&v->fn, m->cu, k->entry), doing);
   if (status == TILEC_NOT_FOUND)
      return TILEC_BAD_IMAGE; /* record and PTX disagree */
   if (status == TILEC_OK && k->shared_bytes > 48 * 1024) {
      snprintf(doing, sizeof doing, "opting '%s' into %u bytes of shared memory", k->entry,
               k->shared_bytes);
      status = tl_rt_check(
         rt, rt->cu.func_set(v->fn, TL_CU_FUNC_MAX_DYNAMIC_SHARED, (int)k->shared_bytes), doing);
   }
   if (status == TILEC_OK && k->cluster[0] * k->cluster[1] * k->cluster[2] > 8)
      status = tl_rt_check(rt, rt->cu.func_set(v->fn, TL_CU_FUNC_NON_PORTABLE_CLUSTER, 1),
                           "opting into large clusters");
   bool extended =
      k->cooperative || k->programmatic || k->cluster[0] * k->cluster[1] * k->cluster[2] > 1;
   if (status == TILEC_OK && extended && !rt->cu.launch_ex)
      status = tl_rt_fail(rt, TILEC_DRIVER_TOO_OLD, "the driver lacks cuLaunchKernelEx");
   for (uint32_t i = 0; status == TILEC_OK && i < k->num_hidden; i++)
      if (k->hidden[i].kind == TILEC_HIDDEN_TENSOR_MAP && !rt->cu.tensor_map)
         status = tl_rt_fail(rt, TILEC_DRIVER_TOO_OLD, "the driver lacks cuTensorMapEncodeTiled");
   return status;
}

static TilecKernel *
kernel_named(TilecModule *m, const char *name)
{
   for (uint32_t i = 0; i < m->num_kernels; i++)
      if (strcmp(m->kernels[i].name, name) == 0)
         return &m->kernels[i];
   return NULL;
}

/* Groups entries by name; variants keep the record's order. */
static TilecStatus
make_kernels(TilecRuntime *rt, TilecModule *m, const TilecImageInfo *info, void *program)
{
   m->kernels = calloc(info->num_kernels + 1, sizeof *m->kernels);
   if (!m->kernels)
      return tl_rt_no_memory(rt, "a module");
   for (uint32_t i = 0; i < info->num_kernels; i++) {
      const TilecKernelInfo *k = &info->kernels[i];
      if (!k->name || !k->entry)
         return tl_rt_fail(rt, TILEC_BAD_IMAGE, "kernel %u of the record has no name", i);
      TilecKernel *kernel = kernel_named(m, k->name);
      if (!kernel) {
         uint32_t same = 0;
         for (uint32_t j = i; j < info->num_kernels; j++)
            same += info->kernels[j].name && strcmp(info->kernels[j].name, k->name) == 0;
         assert(m->num_kernels < info->num_kernels);
         kernel = &m->kernels[m->num_kernels++];
         *kernel = (TilecKernel){.module = m, .name = k->name};
         kernel->variants = calloc(same, sizeof *kernel->variants);
         if (!kernel->variants)
            return tl_rt_no_memory(rt, "a kernel");
      }
      TlVariant *v = &kernel->variants[kernel->num_variants];
      TilecStatus status = tl_variant_init(rt, v, k);
      if (status != TILEC_OK)
         return status;
      kernel->num_variants++;
      v->program = program;
      if (!program)
         status = bind_entry(rt, m, v);
      if (status != TILEC_OK)
         return status;
   }
   return TILEC_OK;
}

static TilecStatus
fill_module(TilecRuntime *rt, TilecModule *m, const void *image, size_t bytes,
            const TilecImageInfo *info, void *program)
{
   bool pushed;
   assert((program == NULL) == (rt->executor == TILEC_ON_CUDA));
   TilecStatus status = tl_rt_enter(rt, &pushed);
   if (status == TILEC_OK && !program)
      status = check_target(rt, info);
   if (status == TILEC_OK && !program)
      status = load_ptx(rt, m, image, bytes);
   if (status == TILEC_OK)
      status = make_kernels(rt, m, info, program);
   tl_rt_leave(rt, pushed);
   return status;
}

static TilecStatus
load(TilecRuntime *rt, const void *image, size_t bytes, const TilecImageInfo *info, void *program,
     TilecImageInfo *owned, TilecModule **out)
{
   TilecModule *m = calloc(1, sizeof *m);
   if (!m) {
      tilec_image_info_free(owned);
      return tl_rt_no_memory(rt, "a module");
   }
   m->rt = rt;
   m->owned = owned;
   tl_handle_begin(rt, &m->handle);
   TilecStatus status = fill_module(rt, m, image, bytes, info, program);
   if (status != TILEC_OK) {
      tilec_module_free(m);
      return status;
   }
   *out = m;
   return TILEC_OK;
}

TilecStatus
tl_core_load(TilecRuntime *rt, const void *image, size_t image_bytes, const TilecImageInfo *info,
             TilecModule **out)
{
   *out = NULL;
   return load(rt, image, image_bytes, info, NULL, NULL, out);
}

TilecStatus
tl_core_load_host(TilecRuntime *rt, const TilecImageInfo *info, void *program, TilecModule **out)
{
   *out = NULL;
   return load(rt, NULL, 0, info, program, NULL, out);
}

const TlVariant *
tl_core_variant(const TilecModule *module)
{
   return module->num_kernels ? &module->kernels[0].variants[0] : NULL;
}

TilecStatus
tilec_module_load(TilecRuntime *rt, const void *image, size_t image_bytes, const char *json,
                  size_t json_bytes, TilecModule **out)
{
   if (out)
      *out = NULL;
   if (!rt || !image || !json || !out)
      return rt ? tl_rt_fail(rt, TILEC_BAD_ARGUMENT,
                             "tilec_module_load: image, json or out is NULL")
                : TILEC_BAD_ARGUMENT;
   TilecStatus status = tl_rt_check_open(rt);
   if (status != TILEC_OK)
      return status;
   if (rt->executor != TILEC_ON_CUDA)
      return tl_rt_fail(rt, TILEC_UNSUPPORTED, "the %s takes kernels as source, not as PTX",
                        rt->info.name);
   if (image_bytes == TILEC_STRLEN)
      image_bytes = strlen(image);
   char why[256];
   TilecImageInfo *info = NULL;
   status = tilec_image_read_json(json, json_bytes, &info, why, sizeof why);
   if (status == TILEC_NO_MEMORY)
      return tl_rt_no_memory(rt, "a launch record");
   if (status != TILEC_OK)
      return tl_rt_fail(rt, status, "%s", why);
   return load(rt, image, image_bytes, info, NULL, info, out);
}

/* WARPS_OF_FEW: with 128 registers a thread, of a multiprocessor's 65,536. */
enum { USUAL_WARPS = 4, WARPS_OF_FEW = 16 };

/* The module of one kernel of a source. */
static TilecStatus
open_kernel(TilecRuntime *rt, const TilecSource *source, TilecModule **out)
{
   TilecModule *m = calloc(1, sizeof *m);
   TilecKernel *kernel = calloc(1, sizeof *kernel);
   if (!m || !kernel) {
      free(m);
      free(kernel);
      return tl_rt_no_memory(rt, "a module");
   }
   m->rt = rt;
   m->kernels = kernel;
   kernel->module = m;
   tl_handle_begin(rt, &m->handle);
   TilecStatus status = rt->jit->open(rt->jit_state, source, &m->source, &kernel->name);
   if (status != TILEC_OK) {
      tilec_module_free(m);
      return status;
   }
   assert(m->source && kernel->name);
   m->num_kernels = 1;
   m->has_choice = rt->jit->has_choice(m->source);
   m->is_candidate = source->tune == TL_TUNE_CHILD;
   uint32_t warps = source->num_warps ? source->num_warps : USUAL_WARPS;
   m->likely_few = warps < WARPS_OF_FEW ? WARPS_OF_FEW / warps : 1;
   *out = m;
   return TILEC_OK;
}

TilecStatus
tilec_module_from_source(TilecRuntime *rt, const TilecSource *source, TilecModule **out)
{
   bool pushed;
   if (out)
      *out = NULL;
   if (!rt)
      return tl_rt_null(NULL, "tilec_module_from_source: rt");
   if (!source || !out)
      return tl_rt_fail(rt, TILEC_BAD_ARGUMENT, "tilec_module_from_source: source or out is NULL");
   if (source->struct_size > sizeof *source || source->struct_size < offsetof(TilecSource, defines))
      return tl_core_bad_size(rt, "tilec_module_from_source: struct_size of the source",
                              source->struct_size, "TilecSource", sizeof *source);
   TilecStatus status = tl_rt_enter(rt, &pushed);
   tl_rt_leave(rt, pushed);
   if (status != TILEC_OK)
      return status;
   if (!rt->jit)
      return tl_rt_fail(rt, TILEC_UNSUPPORTED,
                        "no compiler is attached: call tilec_jit_attach (rt, NULL) before");
   TilecSource whole = {0};
   memcpy(&whole, source, source->struct_size);
   TilecModule *first = NULL;
   status = open_kernel(rt, &whole, &first);
   TilecModule *last = first;
   for (uint32_t i = 1; status == TILEC_OK && rt->jit->next(first->source, i, &whole); i++) {
      status = open_kernel(rt, &whole, &last->next);
      last = last->next;
   }
   if (status == TILEC_OK)
      *out = first;
   else
      tilec_module_free(first);
   return status;
}

const char *
tilec_module_log(const TilecModule *module)
{
   return module && tl_handle_is_live(&module->handle) && module->log ? module->log : "";
}

static void
free_one(TilecModule *m)
{
   bool pushed;
   assert(!m->source || (m->rt->jit && !m->cu));
   if (m->source)
      m->rt->jit->close(m->source);
   for (uint32_t i = 0; i < m->num_kernels; i++) {
      for (uint32_t j = 0; j < m->kernels[i].num_variants; j++)
         tl_variant_done(&m->kernels[i].variants[j]);
      free(m->kernels[i].variants);
   }
   /* On a lost or forked runtime the driver's side is gone already. */
   if (m->cu && tl_rt_enter_to_free(m->rt, &pushed)) {
      (void)tl_rt_check(m->rt, m->rt->cu.module_unload(m->cu), "unloading a module");
      tl_rt_leave(m->rt, pushed);
   }
   free(m->log);
   tilec_image_info_free(m->owned);
   tl_handle_bury(m->rt, &m->handle, m->kernels); /* which point to it */
}

void
tilec_module_free(TilecModule *m)
{
   for (TilecModule *next; m; m = next) {
      if (!tl_handle_end(m->rt, &m->handle, "tilec_module_free: the module"))
         return;
      next = m->next;
      free_one(m);
   }
}

/* How many there are. */
static uint32_t
list_names(const TilecModule *m, char *text, size_t bytes)
{
   size_t n = 0;
   uint32_t count = 0;
   text[0] = 0;
   for (; m; m = m->next)
      for (uint32_t i = 0; i < m->num_kernels; i++, count++)
         if (n + 1 < bytes)
            n +=
               (size_t)snprintf(text + n, bytes - n, "%s%s", count ? ", " : "", m->kernels[i].name);
   return count;
}

TilecStatus
tilec_module_kernel(TilecModule *m, const char *name, TilecKernel **out)
{
   if (out)
      *out = NULL;
   if (!m || !out)
      return tl_rt_null(m ? m->rt : NULL, "tilec_module_kernel: out");
   if (!tl_handle_is_live(&m->handle))
      return tl_handle_refuse(m->rt, "tilec_module_kernel: the module");
   TilecStatus status = tl_rt_check_open(m->rt);
   if (status != TILEC_OK)
      return status;
   char names[1024];
   uint32_t count = list_names(m, names, sizeof names);
   if (!name && count != 1)
      return tl_rt_fail(m->rt, TILEC_NOT_FOUND, "the module has %u kernels, name one of: %s", count,
                        names);
   *out = name ? NULL : &m->kernels[0];
   for (TilecModule *part = m; part && !*out; part = part->next)
      *out = kernel_named(part, name);
   if (!*out)
      return tl_rt_fail(m->rt, TILEC_NOT_FOUND, "no kernel '%s'; the module has: %s", name, names);
   return TILEC_OK;
}

static const TlVariant *
variant_at(const TilecKernel *k, uint32_t index)
{
   if (!tl_handle_is_live(&k->module->handle) || tl_core_is_forked(k->module->rt))
      return NULL; /* the compiler's lock may be held by a thread that is not here any more */
   if (k->module->source)
      return k->module->rt->jit->get(k->module->source, index);
   return index < k->num_variants ? &k->variants[index] : NULL;
}

uint32_t
tilec_kernel_variants(const TilecKernel *kernel)
{
   if (!kernel || !tl_handle_is_live(&kernel->module->handle) ||
       tl_core_is_forked(kernel->module->rt))
      return 0;
   if (kernel->module->source)
      return kernel->module->rt->jit->count(kernel->module->source);
   return kernel->num_variants;
}

const TilecKernelInfo *
tilec_kernel_info(const TilecKernel *kernel, uint32_t variant)
{
   const TlVariant *v = kernel ? variant_at(kernel, variant) : NULL;
   return v ? v->info : NULL;
}

TilecStatus
tl_core_variant_use(TilecRuntime *rt, const TlVariant *v, TilecKernelUse *out)
{
   bool pushed;
   if (!v->fn)
      return tl_rt_fail(rt, TILEC_UNSUPPORTED, "the %s has no registers to report", rt->info.name);
   int regs = 0, local = 0, shared = 0, blocks = 0;
   TilecStatus status = tl_rt_enter(rt, &pushed);
   if (status == TILEC_OK) {
      TlCuResult code = rt->cu.func_get(&regs, TL_CU_FUNC_NUM_REGS, v->fn);
      if (code == TL_CU_SUCCESS)
         code = rt->cu.func_get(&local, TL_CU_FUNC_LOCAL_BYTES, v->fn);
      if (code == TL_CU_SUCCESS)
         code = rt->cu.func_get(&shared, TL_CU_FUNC_SHARED_STATIC, v->fn);
      if (code == TL_CU_SUCCESS)
         code = rt->cu.occupancy(&blocks, v->fn, (int)v->info->threads, v->info->shared_bytes);
      status = tl_rt_check(rt, code, "reading a kernel's resources");
      *out = (TilecKernelUse){(uint32_t)regs, (uint32_t)local, (uint32_t)shared, (uint32_t)blocks};
   }
   tl_rt_leave(rt, pushed);
   return status;
}

TilecStatus
tilec_kernel_use(TilecKernel *kernel, uint32_t variant, TilecKernelUse *out)
{
   if (!kernel || !out)
      return tl_rt_null(kernel ? kernel->module->rt : NULL, "tilec_kernel_use: out");
   memset(out, 0, sizeof *out);
   TilecRuntime *rt = kernel->module->rt;
   TilecStatus status = tl_rt_check_kernel(kernel, "tilec_kernel_use");
   if (status == TILEC_OK)
      status = tl_rt_check_open(rt);
   if (status != TILEC_OK)
      return status;
   const TlVariant *v = variant_at(kernel, variant);
   if (!v)
      return tl_rt_fail(rt, TILEC_BAD_ARGUMENT, "kernel '%s' has no variant %u", kernel->name,
                        variant);
   return tl_core_variant_use(rt, v, out);
}

const TlVariant *
tl_core_kernel_variant(const TilecKernel *kernel, uint32_t index)
{
   return variant_at(kernel, index);
}

void *
tl_core_source(const TilecKernel *kernel)
{
   return kernel->module->source;
}

void *
tl_core_tuner(const TilecKernel *kernel)
{
   const TilecModule *m = kernel->module;
   return m->source ? m->rt->jit->tuner(m->source) : NULL;
}

TilecStatus
tl_core_check_kernel(const TilecKernel *kernel, const char *call)
{
   return tl_rt_check_kernel(kernel, call);
}

TilecRuntime *
tl_core_runtime(const TilecKernel *kernel)
{
   return kernel->module->rt;
}

bool
tl_core_is_capturing(TilecRuntime *rt, TilecStream stream)
{
   bool pushed;
   int capturing = 0;
   if (rt->executor != TILEC_ON_CUDA || tl_rt_enter(rt, &pushed) != TILEC_OK)
      return false;
   TilecStatus status = tl_rt_check(rt, rt->cu.stream_capturing(stream, &capturing),
                                    "asking whether the stream captures a graph");
   tl_rt_leave(rt, pushed);
   return status != TILEC_OK || capturing;
}
