/* The target table. */
#include "ir/target.h"

#include "ir/ir.h"

#include <stddef.h>
#include <string.h>

enum {
#define TL_FEATURE(id) FEAT_##id = TL_FEAT_##id,
#include "ir/target.def"
};

static const TlTarget targets[] = {
#define TL_TARGET(arch, sm, ptx, shared, thread_regs, sm_regs, sm_shared, sm_warps, sm_blocks,     \
                  features)                                                                        \
   {arch,    sm,        ptx,      TL_PTX_ANY, shared,  thread_regs,                                \
    sm_regs, sm_shared, sm_warps, sm_blocks,  features},
#include "ir/target.def"
};

const TlTarget *
tl_target_at(unsigned i)
{
   return i < sizeof targets / sizeof targets[0] ? &targets[i] : NULL;
}

const TlTarget *
tl_target_find(const char *arch)
{
   for (unsigned i = 0; tl_target_at(i); i++)
      if (strcmp(targets[i].arch, arch) == 0)
         return &targets[i];
   return NULL;
}

typedef struct MmaNeeds {
   uint32_t feature, ptx;
} MmaNeeds;

static const MmaNeeds mma_needs[] = {
#define TL_MMA_NEEDS(word, feature, ptx) [TL_MMA_##word] = {TL_FEAT_##feature, ptx},
#include "ir/target.def"
};

uint32_t
tl_mma_ptx(int64_t mma)
{
   return mma_needs[mma].ptx;
}

bool
tl_target_has_mma(const TlTarget *t, int64_t mma)
{
   return (t->features & mma_needs[mma].feature) && t->max_ptx >= mma_needs[mma].ptx;
}

bool
tl_target_has_red_vec(const TlTarget *t)
{
   return (t->features & TL_FEAT_RED_VEC) && t->max_ptx >= TL_PTX_RED_VEC;
}
