/* Tensor maps of --emit=c: hidden parameters made by the driver's encoder from the recipes of the
 * launch record.  An image without them (an older architecture) ignores what comes after its own
 * parameters. */
#include "command/emit_c.h"
#include "core/core.h"

#include <stdio.h>
#include <string.h>

const TilecKernelInfo *
tl_c_mapped(const TlAot *aot, uint32_t entry)
{
   for (size_t i = 0; i < aot->num_images; i++)
      if (aot->images[i].comp->info.kernels[entry].num_hidden)
         return &aot->images[i].comp->info.kernels[entry];
   return NULL;
}

static bool
same_text(const char *a, const char *b)
{
   return !a ? !b : b && strcmp(a, b) == 0;
}

static bool
same_recipe(const TilecHiddenArg *a, const TilecHiddenArg *b)
{
   bool same = a->kind == b->kind && same_text(a->base, b->base) && a->dtype == b->dtype &&
               a->rank == b->rank && a->swizzle_bytes == b->swizzle_bytes &&
               a->fill_nan == b->fill_nan && memcmp(a->box, b->box, sizeof a->box) == 0;
   for (unsigned d = 0; same && d < a->rank; d++)
      same = same_text(a->dims[d], b->dims[d]) && same_text(a->strides[d], b->strides[d]);
   return same;
}

bool
tl_c_same_maps(const TilecKernelInfo *a, const TilecKernelInfo *b)
{
   bool same = a->num_hidden == b->num_hidden;
   for (uint32_t i = 0; same && i < a->num_hidden; i++)
      same = same_recipe(&a->hidden[i], &b->hidden[i]);
   return same;
}

static const char support[] =
   "/* A tensor map of 128 bytes, 64-aligned; dimensions from the innermost one, strides in bytes. "
   "*/\n"
   "static int\n"
   "aot_tensor_map(void *map, int type, unsigned rank, int64_t base, const uint64_t *dims,\n"
   "               const uint64_t *strides, const unsigned *box, int swizzle, int fill_nan)\n"
   "{\n"
   "   static const unsigned steps[5] = {1, 1, 1, 1, 1};\n"
   "   int status = aot_need_driver(), code = 0;\n"
   "   unsigned i;\n"
   "   if (status != AOT_OK)\n"
   "      return status;\n"
   "   if (!aot_cu.tensor_map) /* nor does it take a kernel that has one */\n"
   "      return AOT_OK;\n"
   "   for (i = 0; i < rank; i++) /* coordinates have 32 bits and a sign */\n"
   "      if (dims[i] > INT32_MAX)\n"
   "         return aot_fail(AOT_LIMIT, \"a tensor map: dimension %u has %llu elements; at most %d "
   "are\"\n"
   "                         \" allowed\", i, (unsigned long long)dims[i], INT32_MAX);\n"
   "   code = aot_cu.tensor_map(map, type, rank, (void *)(uintptr_t)base, dims, strides, box, "
   "steps, 0,\n"
   "                            swizzle, 3 /* promotion to 256 bytes of L2 */, fill_nan);\n"
   "   return code == 0 ? AOT_OK : aot_driver_failed(code, \"making a tensor map\");\n"
   "}\n\n";

void
tl_c_map_support(const TlAot *aot, TlSb *out)
{
   tl_c_template(aot, support, sizeof support - 1, out);
}

/* `name[] = {a, b}` of expressions; false after an error. */
static bool
write_values(const TlAot *aot, const TlCKernel *k, const TilecKernelInfo *info,
             const char *const *texts, unsigned n, unsigned *uses, TlSb *out)
{
   for (unsigned i = 0; i < n; i++) {
      const char *why, *c = tl_c_rule(aot, k, info, texts[i], uses, &why);
      if (!c) {
         tl_report(&aot->images[0].comp->diags, E0522, k->range, texts[i], why);
         return false;
      }
      tl_sb_printf(out, "%s(uint64_t)%s", i ? ", " : "", c);
   }
   return true;
}

static bool
write_map(const TlAot *aot, const TlCKernel *k, const TilecKernelInfo *info, uint32_t index,
          unsigned *uses, TlSb *out)
{
   const TilecHiddenArg *h = &info->hidden[index];
   int swizzle = h->swizzle_bytes == 128 ? 3 : h->swizzle_bytes == 64 ? 2 : h->swizzle_bytes == 32;
   tl_sb_str(out, "      {\n         const uint64_t dims[] = {");
   if (!write_values(aot, k, info, h->dims, h->rank, uses, out))
      return false;
   tl_sb_str(out, "};\n         const uint64_t strides[] = {");
   if (!write_values(aot, k, info, h->strides + 1, h->rank - 1, uses, out))
      return false;
   tl_sb_str(out, h->rank > 1 ? "};\n" : "0};\n");
   tl_sb_str(out, "         const uint64_t base[] = {");
   if (!write_values(aot, k, info, &h->base, 1, uses, out))
      return false;
   tl_sb_str(out, "};\n         static const unsigned box[] = {");
   for (unsigned d = 0; d < h->rank; d++)
      tl_sb_printf(out, "%s%u", d ? ", " : "", h->box[d]);
   tl_sb_str(out, "};\n         int status = ");
   tl_c_template(aot, "aot_tensor_map(", strlen("aot_tensor_map("), out);
   tl_sb_printf(out, "maps[%u], %d, %u, (int64_t)base[0], dims, strides, box, %d, %d);\n", index,
                tl_rt_map_dtype(h->dtype), h->rank, swizzle, h->fill_nan);
   tl_sb_str(out, "         if (status)\n            return status;\n      }\n");
   return true;
}

bool
tl_c_maps(const TlAot *aot, const TlCKernel *k, const TilecKernelInfo *info, unsigned *uses,
          TlSb *out)
{
   static const char overflow[] = "aot_fail(AOT_BAD_ARGUMENT, \"a tensor's size overflows\");\n";
   tl_sb_str(out, "      int bad = 0;\n");
   for (uint32_t i = 0; i < info->num_hidden; i++)
      if (!write_map(aot, k, info, i, uses, out))
         return false;
   tl_sb_str(out, "      if (bad)\n         return ");
   tl_c_template(aot, overflow, sizeof overflow - 1, out);
   return true;
}
