/* The launch record of a compiled kernel, from its function. */
#include "compile/compilation.h"
#include "compile/program.h"
#include "ir/launch_expr.h"
#include "ir/written.h"
#include "tilec/version.h"

#include <string.h>

static const char *
signature_type(TlCompilation *comp, const TlType *t)
{
   if (!t)
      return "constexpr";
   if (t->kind == TL_TYPE_PTR)
      return tl_arena_printf(comp->arena, "*%s", signature_type(comp, t->elem));
   return tl_dtype_info[t->dtype].text;
}

static void
describe_args(TlCompilation *comp, const TlEntry *e, TilecKernelInfo *k)
{
   const TlFunc *f = e->func;
   TilecArgInfo *args = tl_new_array(comp->arena, TilecArgInfo, f->num_params + 1);
   bool *written = tl_new_array(comp->arena, bool, f->num_params + 1);
   if (e->typed)
      tl_written_params(comp->arena, e->typed, written);
   for (uint32_t i = 0; i < f->num_params; i++) {
      const TlParam *p = &f->params[i];
      args[i] =
         (TilecArgInfo){.name = p->name,
                        .type = p->descriptor ? p->descriptor : signature_type(comp, p->type),
                        .value = p->is_runtime ? NULL
                                 : p->constant ? p->constant
                                               : "None",
                        .is_constexpr = !p->is_runtime && !p->type,
                        .is_const = p->is_runtime && p->type && p->type->kind == TL_TYPE_PTR &&
                                    (p->type->is_const || (e->typed && !written[i])),
                        .divisible = p->divisibility > 1 ? p->divisibility : 0};
   }
   k->args = args;
   k->num_args = f->num_params;
}

TilecHiddenArg
tl_tensor_map_recipe(TlArena *arena, const TlFunc *f, const TlOp *op)
{
   const TlType *map = tl_result(op, 0)->type;
   TilecHiddenArg h = {.kind = TILEC_HIDDEN_TENSOR_MAP,
                       .base = tl_launch_expr(arena, f, tl_arg(op, 0)),
                       .dtype = tl_public_dtype(map->dtype),
                       .rank = map->rank,
                       .swizzle_bytes = (uint32_t)tl_attr_int(op, TL_ATTR_SWIZZLE),
                       .fill_nan = tl_attr_int(op, TL_ATTR_FILL_NAN) != 0};
   for (unsigned d = 0; d < map->rank; d++) {
      unsigned from = map->rank - 1 - d;
      h.box[d] = map->shape[from];
      h.dims[d] = tl_launch_expr(arena, f, tl_arg(op, 1 + from));
      if (d == 0)
         continue;
      const char *stride = tl_launch_expr(arena, f, tl_arg(op, 1 + map->rank + from));
      h.strides[d] = tl_arena_printf(arena, "%s * %u", stride, tl_dtype_info[map->dtype].bytes);
   }
   return h;
}

#define PROGRAMS "grid_x * grid_y * grid_z"
#define SHARED   PROGRAMS " * min(max(num_sms // (" PROGRAMS "), 1), 2)"

/* Code generation has refused maps that cannot be described. */
static void
describe_hidden(TlCompilation *comp, const TlFunc *f, TilecKernelInfo *k)
{
   static const char *const grid[] = {"grid_x", "grid_y", "grid_z"};
   unsigned num_maps, n = 0;
   const TlOp **maps = tl_tensor_maps(comp->arena, f, &num_maps);
   TilecHiddenArg *hidden = tl_new_array(comp->arena, TilecHiddenArg, 3 + num_maps);
   if (tl_is_persistent(f)) {
      while (n < 3) {
         hidden[n] =
            (TilecHiddenArg){.kind = TILEC_HIDDEN_EXPR, .dtype = TILEC_I32, .dims = {grid[n]}};
         n++;
      }
      /* Two blocks for each program where there are as many: "num_sms // programs", up to 2. */
      k->launch_grid[0] = f->cluster ? "min((" SHARED " + 1) // 2 * 2, num_sms // 2 * 2)"
                          : tl_shares_programs(f) ? "min(" SHARED ", num_sms)"
                                                  : "min(" PROGRAMS ", num_sms)";
   }
   for (unsigned i = 0; i < num_maps; i++)
      hidden[n++] = tl_tensor_map_recipe(comp->arena, f, maps[i]);
   k->hidden = hidden;
   k->num_hidden = n;
   k->short_when = f->short_when;
}

/* "(cdiv(n, BLOCK), 2)" to its dimensions; namespaces before function names are dropped, since the
 * record's expressions have none. */
static void
split_grid(TlCompilation *comp, const char *text, const char *grid[3])
{
   TlSb sb;
   tl_sb_init(&sb, comp->arena);
   while (*text == ' ' || *text == '(' || *text == '[') {
      if (*text != ' ') {
         size_t n = strlen(text);
         while (n && text[n - 1] == ' ')
            n--;
         if (n && (text[n - 1] == ')' || text[n - 1] == ']')) {
            text = tl_arena_strndup(comp->arena, text + 1, n - 2);
            break;
         }
      }
      text++;
   }
   unsigned dim = 0;
   int depth = 0;
   for (const char *p = text; dim < 3; p++) {
      if (*p == '\0' || (*p == ',' && depth == 0)) {
         const char *s = tl_sb_cstr(&sb);
         while (*s == ' ')
            s++;
         if (*s)
            grid[dim++] = tl_arena_strdup(comp->arena, s);
         tl_sb_init(&sb, comp->arena);
         if (*p == '\0')
            break;
         continue;
      }
      depth += (*p == '(' || *p == '[') - (*p == ')' || *p == ']');
      if (tl_starts_with(p, "triton.")) {
         p += 6;
         continue;
      }
      if (tl_starts_with(p, "tl.")) {
         p += 2;
         continue;
      }
      tl_sb_char(&sb, *p);
   }
}

static bool
put_json(void *user, const char *text, size_t len)
{
   tl_sb_mem(user, text, len);
   return true;
}

static void
describe_entry(TlCompilation *comp, const TilecCompileOptions *o, const TlEntry *e,
               TilecKernelInfo *k)
{
   const TlFunc *f = e->func;
   *k = (TilecKernelInfo){.name = e->kernel,
                          .entry = f->name,
                          .file = o->file,
                          .num_warps = f->num_warps,
                          .num_stages = f->num_stages,
                          .threads = tl_total_warps(f) * 32,
                          .shared_bytes = f->state == TL_STATE_LOWERED ? f->shared_bytes : 0,
                          .cluster = {f->cluster ? f->cluster : 1, 1, 1}};
   if (f->range.file)
      k->line = tl_source_line_col(comp->sources, f->range.file, f->range.begin).line;
   if (f->grid)
      split_grid(comp, f->grid, k->grid);
   describe_args(comp, e, k);
   if (comp->last >= TILEC_STAGE_PTX) {
      describe_hidden(comp, f, k);
      k->few_per_sm = e->few_per_sm;
   }
}

/* Of one kernel the first entry whose facts hold is taken, so those with more facts come first. */
static unsigned
num_facts(const TilecKernelInfo *k)
{
   unsigned n = 0;
   for (uint32_t i = 0; i < k->num_args; i++)
      n += k->args[i].value ? 2 : k->args[i].divisible > 1;
   return n;
}

static void
most_special_first(TilecKernelInfo *k, size_t n)
{
   for (size_t i = 1; i < n; i++)
      for (size_t j = i; j > 0 && strcmp(k[j].name, k[j - 1].name) == 0 &&
                         num_facts(&k[j]) > num_facts(&k[j - 1]);
           j--) {
         TilecKernelInfo t = k[j];
         k[j] = k[j - 1];
         k[j - 1] = t;
      }
}

bool
tl_describe(TlCompilation *comp, const TilecCompileOptions *o)
{
   TilecKernelInfo *k = tl_new_array(comp->arena, TilecKernelInfo, comp->entries.len);
   for (size_t i = 0; i < comp->entries.len; i++)
      describe_entry(comp, o, &comp->entries.data[i], &k[i]);
   most_special_first(k, comp->entries.len);
   comp->info =
      (TilecImageInfo){.format = TILEC_IMAGE_FORMAT,
                       .producer = "tilec " TILEC_VERSION_TEXT,
                       .arch = comp->target->arch,
                       .ptx_version = comp->ptx_version ? comp->ptx_version : comp->target->ptx,
                       .line_info = o->debug_info,
                       .kernels = k,
                       .num_kernels = (uint32_t)comp->entries.len};
   TlSb sb;
   tl_sb_init(&sb, comp->arena);
   if (tilec_image_write_json(&comp->info, put_json, &sb) != TILEC_OK)
      return false;
   comp->json = tl_sb_cstr(&sb);
   comp->json_len = sb.len;
   return true;
}
