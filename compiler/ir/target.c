/* The target table. */
#include "ir/target.h"

#include "ir/ir.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum {
#define TL_FEATURE(id) FEAT_##id = TL_FEAT_##id,
#include "ir/target.def"
};

static const TlTarget targets[] = {
#define TL_TARGET(arch, sm, ptx, shared, thread_regs, sm_regs, sm_shared, sm_warps, sm_blocks,     \
                  multiprocessors, dot_rate, features)                                             \
   {arch,      sm,       ptx,       TL_PTX_ANY,      shared,   thread_regs, sm_regs,               \
    sm_shared, sm_warps, sm_blocks, multiprocessors, dot_rate, features},
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

/* The number in "sm_90", "sm_90a", "sm_90f", and whether a letter follows; 0 = no such name. */
static unsigned
sm_of(const char *arch, bool *has_letter)
{
   unsigned sm = 0;
   const char *p = strncmp(arch, "sm_", 3) == 0 ? arch + 3 : "";
   size_t digits = strspn(p, "0123456789");
   for (size_t i = 0; i < digits && sm < 1000; i++)
      sm = sm * 10 + (unsigned)(p[i] - '0');
   p += digits;
   *has_letter = strcmp(p, "a") == 0 || strcmp(p, "f") == 0;
   bool is_number = sm < 200; /* ten times the major version, of which there are twelve yet */
   return digits && is_number && (*has_letter || !*p) ? sm : 0;
}

const TlTarget *
tl_target_for(const char *arch)
{
   const TlTarget *best = tl_target_find(arch);
   bool has_letter;
   unsigned sm = best ? 0 : sm_of(arch, &has_letter);
   for (unsigned i = 0; sm && tl_target_at(i); i++) {
      const TlTarget *t = tl_target_at(i);
      (void)sm_of(t->arch, &has_letter);
      if (!has_letter && t->sm <= sm && (!best || t->sm > best->sm))
         best = t;
   }
   return best;
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
