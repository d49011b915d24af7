/* One entry of an image made ready: its launch parameters in order and its expressions parsed.
 * Invariant: after tl_variant_init nothing in it changes, so launches share it without locks. */
#include "core/core.h"
#include "core/number.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names that launch_grid, short_when and hidden integers may use besides the parameters; their
 * slots follow those of info->args. */
static const char *const extra_names[] = {"grid_x", "grid_y", "grid_z", "num_sms"};

typedef struct Finder {
   const TlVariant *v;
   const TlLaunchParam *fraction; /* a parameter that was found, and is no integer */
   bool extra;                    /* extra_names are visible */
} Finder;

static int
find_name(void *user, const char *name, size_t len)
{
   Finder *f = user;
   const TilecKernelInfo *info = f->v->info;
   for (uint32_t i = 0; i < info->num_args; i++) {
      if (strlen(info->args[i].name) != len || memcmp(info->args[i].name, name, len) != 0)
         continue;
      int slot = f->v->slot_of[i];
      if (slot < 0) {
         int64_t ignored;
         return tl_rule_int_of(info->args[i].value, &ignored) ? (int)i : -1;
      }
      assert((uint32_t)slot < f->v->num_params);
      const TlLaunchParam *p = &f->v->params[slot];
      if (p->is_pointer || p->is_none || tl_dtype_kind(p->dtype) != 'F')
         return (int)i;
      f->fraction = p;
      return -1;
   }
   for (size_t i = 0; f->extra && i < sizeof extra_names / sizeof extra_names[0]; i++)
      if (strlen(extra_names[i]) == len && memcmp(extra_names[i], name, len) == 0)
         return (int)(info->num_args + i);
   return -1;
}

static bool
parse(TilecRuntime *rt, TlVariant *v, const char *what, const char *text, TlRule **out)
{
   char why[128];
   Finder f = {.v = v, .extra = strcmp(what, "when") != 0 && strcmp(what, "grid") != 0};
   if (!text)
      return true;
   *out = tl_rule_parse(text, find_name, &f, why, sizeof why);
   bool no_memory = !*out && strcmp(why, TL_RULE_NO_MEMORY) == 0;
   if (!*out && f.fraction)
      v->failed = tl_rt_fail(rt, TILEC_BAD_ARGUMENT,
                             "kernel '%s': %s '%s' is computed of integers; '%s' is %s: pass an "
                             "integer, or write its type, %s: i32",
                             v->info->name, what, text, f.fraction->info->name,
                             f.fraction->info->type, f.fraction->info->name);
   else if (!*out)
      v->failed = tl_rt_fail(rt, no_memory ? TILEC_NO_MEMORY : TILEC_BAD_IMAGE,
                             "kernel '%s': %s '%s': %s", v->info->name, what, text, why);
   return *out != NULL;
}

/* "fp16[128,64]>" after the opening. */
static void
read_block(const char *type, TlLaunchParam *p)
{
   const char *at = strchr(type, '[');
   while (at && *at && *at != ']' && p->rank < TILEC_TENSOR_RANK) {
      char *end;
      p->block[p->rank++] = (uint32_t)strtoul(at + 1, &end, 10);
      at = end;
   }
}

static TilecStatus
init_param(TilecRuntime *rt, const TilecKernelInfo *k, const TilecArgInfo *info, TlLaunchParam *p)
{
   const char *type = info->type;
   p->info = info;
   p->is_passed = !info->value;
   p->is_none = info->value && strcmp(info->value, "None") == 0;
   bool is_descriptor = strncmp(type, TL_RT_DESCRIPTOR, strlen(TL_RT_DESCRIPTOR)) == 0;
   p->is_pointer = type[0] == '*' || is_descriptor;
   if (is_descriptor)
      read_block(type, p);
   type += is_descriptor ? strlen(TL_RT_DESCRIPTOR) : p->is_pointer;
   if (p->is_pointer && strncmp(type, "const ", 6) == 0)
      type += 6;
   p->dtype = tl_dtype_named(type, strcspn(type, "["));
   p->is_plain = p->is_passed && !(info->divisible & (info->divisible - 1));
   p->low_bits = info->divisible ? info->divisible - 1 : 0;
   assert(!(p->is_passed && p->is_none));
   if (info->value && !p->is_none) {
      char *end;
      p->has_int = tl_rule_int_of(info->value, &p->value);
      p->fvalue = tl_rt_read_double(info->value, &end);
      if (!p->has_int && (end == info->value || *end))
         return tl_rt_fail(rt, TILEC_BAD_IMAGE,
                           "kernel '%s': argument '%s' has the unreadable value %s", k->name,
                           info->name, info->value);
   }
   if (!p->is_pointer && !p->is_none && !p->dtype)
      return tl_rt_fail(rt, TILEC_UNSUPPORTED, "kernel '%s': argument '%s' has type %s", k->name,
                        info->name, info->type);
   return TILEC_OK;
}

/* A descriptor's pointer is followed by its sizes and strides. */
static TilecStatus
check_descriptors(TilecRuntime *rt, const TlVariant *v)
{
   for (uint32_t i = 0; i < v->num_params; i++) {
      const TlLaunchParam *p = &v->params[i];
      bool whole = !strstr(p->info->type, TL_RT_DESCRIPTOR) || p->rank;
      whole = whole && 2 * p->rank <= v->num_params - i;
      for (uint32_t k = 1; whole && k < 2 * p->rank; k++)
         whole = p[k].dtype == (k <= p->rank ? TILEC_I32 : TILEC_I64) && !p[k].is_pointer;
      if (!whole)
         return tl_rt_fail(rt, TILEC_BAD_IMAGE,
                           "kernel '%s': the sizes and strides of '%s' do not follow it",
                           v->info->name, p->info->name);
   }
   return TILEC_OK;
}

static TilecStatus
init_params(TilecRuntime *rt, TlVariant *v)
{
   const TilecKernelInfo *info = v->info;
   for (uint32_t i = 0; i < info->num_args; i++) {
      const TilecArgInfo *a = &info->args[i];
      v->slot_of[i] = -1;
      if (a->is_constexpr) {
         if (a->value)
            (void)tl_rule_int_of(a->value, &v->constants[i]); /* others have no use in rules */
         continue;
      }
      v->slot_of[i] = (int)v->num_params;
      TilecStatus status = init_param(rt, info, a, &v->params[v->num_params++]);
      if (status != TILEC_OK)
         return status;
   }
   return check_descriptors(rt, v);
}

static bool
init_hidden(TilecRuntime *rt, TlVariant *v)
{
   for (uint32_t i = 0; i < v->info->num_hidden; i++) {
      const TilecHiddenArg *h = &v->info->hidden[i];
      bool map = h->kind == TILEC_HIDDEN_TENSOR_MAP, whole = h->dims[0] != NULL;
      bool ok = parse(rt, v, "base", h->base, &v->hidden[i].base);
      for (int d = 0; d < TILEC_TENSOR_MAP_RANK; d++)
         ok = ok && parse(rt, v, map ? "dims" : "value", h->dims[d], &v->hidden[i].dims[d]) &&
              parse(rt, v, "strides", h->strides[d], &v->hidden[i].strides[d]);
      if (!ok)
         return false;
      if (map) {
         v->hidden[i].maps = calloc(TL_RT_MAP_SLOTS, sizeof *v->hidden[i].maps);
         if (!v->hidden[i].maps) {
            v->failed = tl_rt_no_memory(rt, "tensor maps");
            return false;
         }
         whole = h->base && h->rank >= 1 && h->rank <= TILEC_TENSOR_MAP_RANK;
         for (uint32_t d = 0; whole && d < h->rank; d++)
            whole = h->dims[d] && (d == 0 || h->strides[d]) && h->box[d];
      } else {
         whole = whole && (h->dtype == TILEC_I32 || h->dtype == TILEC_I64);
      }
      if (!whole) {
         v->failed = tl_rt_fail(rt, TILEC_BAD_IMAGE,
                                "kernel '%s': hidden argument %u is incomplete", v->info->name, i);
         return false;
      }
   }
   return true;
}

/* Name and place, the place without folders. */
static void
name_variant(TlVariant *v)
{
   const char *file = v->info->file, *slash = file ? strrchr(file, '/') : NULL;
   if (file && v->info->line)
      snprintf(v->name, sizeof v->name, "%.48s (%.32s:%u)", v->info->name, slash ? slash + 1 : file,
               v->info->line);
   else
      snprintf(v->name, sizeof v->name, "%.94s", v->info->name);
}

TilecStatus
tl_variant_init(TilecRuntime *rt, TlVariant *v, const TilecKernelInfo *info)
{
   memset(v, 0, sizeof *v);
   v->info = info;
   name_variant(v);
   if (info->num_args > TL_RT_MAX_ARGS || info->num_hidden > TL_RT_MAX_HIDDEN)
      return tl_rt_fail(rt, TILEC_LIMIT,
                        "kernel '%s' has %u arguments and %u hidden ones; at most "
                        "%d and %d are taken",
                        info->name, info->num_args, info->num_hidden, TL_RT_MAX_ARGS,
                        TL_RT_MAX_HIDDEN);
   for (uint32_t i = 0; i < info->num_args; i++)
      if (!info->args[i].name || !info->args[i].type ||
          (info->args[i].is_constexpr && !info->args[i].value))
         return tl_rt_fail(rt, TILEC_BAD_IMAGE, "kernel '%s': argument %u is incomplete",
                           info->name, i);
   v->params = calloc(info->num_args + 1, sizeof *v->params);
   v->slot_of = calloc(info->num_args + 1, sizeof *v->slot_of);
   v->constants = calloc(info->num_args + 1, sizeof *v->constants);
   v->hidden = calloc(info->num_hidden + 1, sizeof *v->hidden);
   if (!v->params || !v->slot_of || !v->constants || !v->hidden) {
      tl_variant_done(v);
      return tl_rt_no_memory(rt, "a kernel");
   }
   v->failed = init_params(rt, v);
   bool ok = v->failed == TILEC_OK && parse(rt, v, "when", info->when, &v->when) &&
             parse(rt, v, "short_when", info->short_when, &v->short_when) && init_hidden(rt, v);
   for (int i = 0; ok && i < 3; i++)
      ok = parse(rt, v, "grid", info->grid[i], &v->grid[i]) &&
           parse(rt, v, "launch_grid", info->launch_grid[i], &v->launch_grid[i]);
   assert(v->num_params <= info->num_args);
   v->has_rules = v->when || v->grid[0] || v->launch_grid[0] || v->short_when || info->num_hidden;
   if (ok)
      return TILEC_OK;
   assert(v->failed != TILEC_OK);
   TilecStatus status = v->failed;
   tl_variant_done(v);
   return status;
}

void
tl_variant_done(TlVariant *v)
{
   tl_rule_free(v->short_when);
   for (int i = 0; i < 3; i++) {
      tl_rule_free(v->grid[i]);
      tl_rule_free(v->launch_grid[i]);
   }
   for (uint32_t i = 0; v->hidden && i < v->info->num_hidden; i++) {
      free(v->hidden[i].maps);
      tl_rule_free(v->hidden[i].base);
      for (int d = 0; d < TILEC_TENSOR_MAP_RANK; d++) {
         tl_rule_free(v->hidden[i].dims[d]);
         tl_rule_free(v->hidden[i].strides[d]);
      }
   }
   tl_rule_free(v->when);
   free(v->params);
   free(v->slot_of);
   free(v->constants);
   free(v->hidden);
   memset(v, 0, sizeof *v);
}

const TilecKernelInfo *
tl_core_variant_info(const TlVariant *variant)
{
   return variant->info;
}
