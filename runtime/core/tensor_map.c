/* Tensor maps: built by the driver's encoder from a recipe of the record and the launch's values,
 * and kept by those values, since a kernel mostly sees the same few arrays again.
 *
 * A slot is guarded by its turn: odd while a writer is in it.  A reader takes what it read only if
 * the turn was even and is the same afterwards; every word is read with acquire and written with
 * release, so that the second look at the turn cannot come early.  A writer that finds the slot
 * taken leaves it alone. */
#include "core/core.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

int
tl_rt_map_dtype(TilecDtype dtype)
{
   switch (tl_dtype_kind(dtype)) {
   case 'F':
      switch ((int)dtype) {
      case TILEC_FP16:
         return TL_CU_TMAP_F16;
      case TILEC_BF16:
         return TL_CU_TMAP_BF16;
      case TILEC_FP32:
         return TL_CU_TMAP_F32;
      case TILEC_FP64:
         return TL_CU_TMAP_F64;
      }
      return TL_CU_TMAP_U8;
   default:
      switch (tl_dtype_bytes(dtype)) {
      case 2:
         return TL_CU_TMAP_U16;
      case 4:
         return tl_dtype_kind(dtype) == 'I' ? TL_CU_TMAP_I32 : TL_CU_TMAP_U32;
      case 8:
         return tl_dtype_kind(dtype) == 'I' ? TL_CU_TMAP_I64 : TL_CU_TMAP_U64;
      }
      return TL_CU_TMAP_U8;
   }
}

TilecStatus
tl_rt_map_values(TilecRuntime *rt, const TlVariant *v, uint32_t index, const int64_t *names,
                 uint64_t *key)
{
   const TilecHiddenArg *h = &v->info->hidden[index];
   const TlHidden *rules = &v->hidden[index];
   assert(h->kind == TILEC_HIDDEN_TENSOR_MAP && h->rank >= 1 && h->rank <= TILEC_TENSOR_MAP_RANK);
   int64_t value = 0;
   TilecStatus status = tl_rt_eval(rt, v, rules->base, h->base, names, &value);
   key[0] = (uint64_t)value;
   for (uint32_t d = 0; d < TILEC_TENSOR_MAP_RANK; d++) {
      value = 0;
      if (status == TILEC_OK && d < h->rank)
         status = tl_rt_eval(rt, v, rules->dims[d], h->dims[d], names, &value);
      key[1 + d] = (uint64_t)value;
      value = 0;
      if (status == TILEC_OK && d > 0 && d < h->rank)
         status = tl_rt_eval(rt, v, rules->strides[d], h->strides[d], names, &value);
      if (d > 0)
         key[TILEC_TENSOR_MAP_RANK + d] = (uint64_t)value;
   }
   return status;
}

static bool
recall(TlTensorMapSlot *slot, const uint64_t *key, TlCuTensorMap *out)
{
   uint64_t turn = atomic_load_explicit(&slot->turn, memory_order_acquire);
   if (!turn || turn % 2)
      return false;
   for (int i = 0; i < TL_RT_MAP_KEY; i++)
      if (atomic_load_explicit(&slot->key[i], memory_order_acquire) != key[i])
         return false;
   for (int i = 0; i < 16; i++)
      out->opaque[i] = atomic_load_explicit(&slot->map[i], memory_order_acquire);
   return atomic_load_explicit(&slot->turn, memory_order_relaxed) == turn;
}

static void
remember(TlTensorMapSlot *slot, const uint64_t *key, const TlCuTensorMap *map)
{
   uint64_t turn = atomic_load_explicit(&slot->turn, memory_order_relaxed);
   if (turn % 2 || !atomic_compare_exchange_strong(&slot->turn, &turn, turn + 1))
      return;
   for (int i = 0; i < TL_RT_MAP_KEY; i++)
      atomic_store_explicit(&slot->key[i], key[i], memory_order_release);
   for (int i = 0; i < 16; i++)
      atomic_store_explicit(&slot->map[i], map->opaque[i], memory_order_release);
   assert(atomic_load_explicit(&slot->turn, memory_order_relaxed) == turn + 1); /* still ours */
   atomic_store_explicit(&slot->turn, turn + 2, memory_order_release);
}

/* Coordinates have 32 bits and a sign. */
static bool
has_coordinates(const TilecHiddenArg *h, const uint64_t *dims)
{
   bool ok = true;
   for (uint32_t d = 0; d < h->rank; d++)
      ok = ok && dims[d] <= INT32_MAX;
   return ok;
}

static TilecStatus
encode(TilecRuntime *rt, const TlVariant *v, uint32_t index, const uint64_t *key, bool *refused,
       TlCuTensorMap *out)
{
   static const uint32_t steps[TILEC_TENSOR_MAP_RANK] = {1, 1, 1, 1, 1};
   const TilecHiddenArg *h = &v->info->hidden[index];
   const uint64_t *dims = key + 1, *strides = dims + TILEC_TENSOR_MAP_RANK;
   int swizzle = h->swizzle_bytes == 128 ? 3 : h->swizzle_bytes == 64 ? 2 : h->swizzle_bytes == 32;
   assert(rt->cu.tensor_map); /* a driver without it has refused the image */
   TlCuResult code =
      rt->cu.tensor_map(out, tl_rt_map_dtype(h->dtype), h->rank, (void *)(uintptr_t)key[0], dims,
                        strides, h->box, steps, 0, swizzle, TL_CU_TMAP_L2_256B, h->fill_nan);
   if (refused && (code == TL_CU_SUCCESS || code == TL_CU_INVALID_VALUE))
      *refused = code != TL_CU_SUCCESS || !has_coordinates(h, dims);
   if (code == TL_CU_SUCCESS || (refused && *refused))
      return TILEC_OK;
   char doing[256];
   snprintf(doing, sizeof doing,
            "kernel '%s': tensor map %u (rank %u, base 0x%" PRIx64 ", rows of %" PRIu64 ")",
            v->info->name, index, h->rank, key[0], dims[0]);
   return tl_rt_check(rt, code, doing);
}

TilecStatus
tl_rt_tensor_map(TilecRuntime *rt, const TlVariant *v, uint32_t index, const int64_t *names,
                 bool *refused, TlCuTensorMap *out)
{
   uint64_t key[TL_RT_MAP_KEY], hash = 0xcbf29ce484222325u;
   TilecStatus status = tl_rt_map_values(rt, v, index, names, key);
   if (status != TILEC_OK)
      return status;
   for (int i = 0; i < TL_RT_MAP_KEY; i++)
      hash = (hash ^ key[i]) * 0x9e3779b97f4a7c15u;
   assert(v->hidden[index].maps);
   TlTensorMapSlot *slot = &v->hidden[index].maps[(hash >> 60) % TL_RT_MAP_SLOTS];
   if (recall(slot, key, out))
      return TILEC_OK;
   status = encode(rt, v, index, key, refused, out);
   if (status == TILEC_OK && !(refused && *refused))
      remember(slot, key, out);
   return status;
}
