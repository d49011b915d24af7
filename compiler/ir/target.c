/* The target table. */
#include "ir/target.h"

#include <stddef.h>
#include <string.h>

enum {
   FEAT_CP_ASYNC = TL_FEAT_CP_ASYNC,
   FEAT_MMA_F16 = TL_FEAT_MMA_F16,
   FEAT_MMA_TF32 = TL_FEAT_MMA_TF32,
   FEAT_BF16 = TL_FEAT_BF16,
   FEAT_FP8_CVT = TL_FEAT_FP8_CVT,
   FEAT_FP8_MMA = TL_FEAT_FP8_MMA,
   FEAT_STMATRIX = TL_FEAT_STMATRIX,
   FEAT_TMA = TL_FEAT_TMA,
   FEAT_WGMMA = TL_FEAT_WGMMA,
};

static const TlTarget targets[] = {
#define TL_TARGET(arch, sm, ptx, shared, features) {arch, sm, ptx, shared, features},
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
