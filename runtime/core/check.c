/* Checked launches: what the driver knows of each pointer is compared with what the kernel was
 * told.  Only with TilecRuntimeOptions.check, since every question is a driver call.  Left out:
 * facts that the code was compiled for (`:16`), which every launch checks (args.c). */
#include "core/core.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What lies behind one pointer argument. */
typedef struct Reach {
   const TlLaunchParam *param;
   uint64_t begin, end; /* end 0: not known */
} Reach;

static TilecStatus
refuse(TilecRuntime *rt, const TlVariant *v, const TlLaunchParam *p, uint64_t address,
       const char *why)
{
   return tl_rt_fail(rt, TILEC_BAD_ARGUMENT, "kernel '%s': parameter '%s' is %s 0x%" PRIx64 ": %s",
                     v->info->name, p->info->name, p->info->type, address, why);
}

/* *known false: the driver has never heard of the address, or of the attribute. */
static TilecStatus
ask(TilecRuntime *rt, int attr, uint64_t address, uint64_t *value, bool *known)
{
   *value = 0;
   TlCuResult code = rt->cu.pointer_get(value, attr, address);
   *known = code == TL_CU_SUCCESS;
   return code == TL_CU_INVALID_VALUE ? TILEC_OK
                                      : tl_rt_check(rt, code, "asking what a pointer points to");
}

static TilecStatus
check_place(TilecRuntime *rt, const TlVariant *v, const TlLaunchParam *p, uint64_t address)
{
   uint64_t type, managed = 0, device = 0;
   bool known;
   TilecStatus status = ask(rt, TL_CU_PTR_MEMORY_TYPE, address, &type, &known);
   if (status != TILEC_OK)
      return status;
   if (!known)
      return rt->reads_host ? TILEC_OK
                            : refuse(rt, v, p, address,
                                     "the driver does not know this address: memory of the host, "
                                     "or freed");
   if (type != TL_CU_MEMORY_DEVICE)
      return TILEC_OK;
   status = ask(rt, TL_CU_PTR_IS_MANAGED, address, &managed, &known);
   if (status != TILEC_OK || managed)
      return status;
   status = ask(rt, TL_CU_PTR_DEVICE, address, &device, &known);
   if (status != TILEC_OK || !known || (int32_t)device == rt->info.ordinal)
      return status;
   char why[96];
   snprintf(why, sizeof why, "memory of device %d; the kernel runs on device %d", (int)device,
            rt->info.ordinal);
   return refuse(rt, v, p, address, why);
}

/* How far the memory goes: as the caller says, as the driver says. */
static TilecStatus
check_extent(TilecRuntime *rt, const TlVariant *v, const TlLaunchParam *p, const TilecArg *a,
             uint64_t address, Reach *reach)
{
   bool is_buffer = a->kind == TILEC_ARG_BUFFER, has_start, has_bytes;
   assert(!is_buffer || a->bytes <= a->as.buffer->bytes); /* tl_arg_convert has seen to it */
   uint64_t said = is_buffer ? a->as.buffer->bytes - a->bytes : a->bytes, start, bytes;
   TilecStatus status = ask(rt, TL_CU_PTR_RANGE_START, address, &start, &has_start);
   if (status == TILEC_OK)
      status = ask(rt, TL_CU_PTR_RANGE_BYTES, address, &bytes, &has_bytes);
   if (status != TILEC_OK)
      return status;
   *reach = (Reach){p, address, said || is_buffer ? address + said : 0};
   if (!has_start || !has_bytes)
      return TILEC_OK;
   uint64_t left = start + bytes - address;
   if (said > left) {
      char why[128];
      snprintf(why, sizeof why,
               "%" PRIu64 " bytes are said to be there; its allocation has %" PRIu64, said, left);
      return refuse(rt, v, p, address, why);
   }
   if (!reach->end)
      reach->end = address + left;
   return TILEC_OK;
}

static TilecStatus
check_pointer(TilecRuntime *rt, const TlVariant *v, const TlLaunchParam *p, const TilecArg *a,
              uint64_t address, Reach *reach)
{
   unsigned element = tl_dtype_bytes(p->dtype ? p->dtype : a->dtype);
   bool is_empty = a->kind == TILEC_ARG_BUFFER && a->bytes == a->as.buffer->bytes;
   if (!address && is_empty)
      return TILEC_OK; /* no bytes: the kernel masks everything */
   if (!address)
      return refuse(rt, v, p, address, "NULL; a kernel that takes None is given tilec_none()");
   if (element > 1 && address % element) {
      char why[96];
      snprintf(why, sizeof why, "not aligned to its elements of %u bytes", element);
      return refuse(rt, v, p, address, why);
   }
   TilecStatus status = check_place(rt, v, p, address);
   return status == TILEC_OK ? check_extent(rt, v, p, a, address, reach) : status;
}

/* Bytes from the base to the end of the last element; 0: an empty map, or too much to count, or
 * without an end (of accesses that no mask bounds: the compiler gives these the largest size). */
static uint64_t
map_bytes(const TilecHiddenArg *h, const uint64_t *key)
{
   const uint64_t *dims = key + 1, *strides = dims + TILEC_TENSOR_MAP_RANK;
   uint64_t bytes, step;
   if (__builtin_mul_overflow(dims[0], (uint64_t)tl_dtype_bytes(h->dtype), &bytes))
      return 0;
   for (uint32_t d = 0; d < h->rank; d++)
      if (dims[d] == INT32_MAX)
         return 0;
   for (uint32_t d = 1; d < h->rank; d++)
      if (!dims[d] || __builtin_mul_overflow(dims[d] - 1, strides[d - 1], &step) ||
          __builtin_add_overflow(bytes, step, &bytes))
         return 0;
   return dims[0] ? bytes : 0;
}

static bool
is_named(const char *expr, const char *name)
{
   size_t len = strlen(name);
   for (const char *at = expr; *at;) {
      size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
      if (n == len && memcmp(at, name, len) == 0)
         return true;
      at += n ? n : 1;
   }
   return false;
}

static TilecStatus
check_map(TilecRuntime *rt, const TlVariant *v, uint32_t index, const int64_t *names,
          const Reach *reach, uint32_t num_reach)
{
   uint64_t key[TL_RT_MAP_KEY];
   TilecStatus status = tl_rt_map_values(rt, v, index, names, key);
   const TilecHiddenArg *h = &v->info->hidden[index];
   uint64_t bytes = status == TILEC_OK ? map_bytes(h, key) : 0;
   for (uint32_t i = 0; i < num_reach && bytes; i++) {
      if (!is_named(h->base, reach[i].param->info->name) || key[0] < reach[i].begin ||
          key[0] >= reach[i].end || bytes <= reach[i].end - key[0])
         continue;
      char why[160];
      snprintf(why, sizeof why,
               "%" PRIu64 " bytes are there; the kernel reaches %" PRIu64 " (tensor map %u)",
               reach[i].end - reach[i].begin, key[0] - reach[i].begin + bytes, index);
      return refuse(rt, v, reach[i].param, reach[i].begin, why);
   }
   return status;
}

TilecStatus
tl_rt_check_launch(TilecRuntime *rt, const TlVariant *v, const TilecArg *args, const TlSlot *slots,
                   const int64_t *names)
{
   Reach reach[TL_RT_MAX_ARGS];
   uint32_t n = 0;
   for (uint32_t i = 0; i < v->num_params; i++) {
      const TlLaunchParam *p = &v->params[i];
      if (!p->is_pointer || p->is_none || args[i].kind == TILEC_ARG_NONE)
         continue;
      reach[n].end = 0;
      TilecStatus status = check_pointer(rt, v, p, &args[i], slots[i].u, &reach[n]);
      if (status != TILEC_OK)
         return status;
      n += reach[n].end != 0;
   }
   for (uint32_t i = 0; i < v->info->num_hidden; i++) {
      TilecStatus status = v->info->hidden[i].kind == TILEC_HIDDEN_TENSOR_MAP
                              ? check_map(rt, v, i, names, reach, n)
                              : TILEC_OK;
      if (status != TILEC_OK)
         return status;
   }
   return TILEC_OK;
}
