/* The text of NAME.c and NAME.h.  Nothing of the machine or the moment goes into them: the same
 * source and options give the same bytes. */
#include "core/cuda_load.h"
#include "command/emit_c.h"
#include "tilec/tilec.h"
#include "tilec/version.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

extern const char tl_text_aot_launch[]; /* aot_launch.c.in */

/* ---- words ---- */
void
tl_c_string(TlSb *out, const char *text)
{
   tl_sb_char(out, '"');
   for (; *text; text++) {
      unsigned char ch = (unsigned char)*text;
      if (ch == '"' || ch == '\\' || ch == '?') /* no trigraphs */
         tl_sb_printf(out, "\\%c", ch);
      else if (ch < 0x20 || ch > 0x7e)
         tl_sb_printf(out, "\\%03o", ch);
      else
         tl_sb_char(out, (char)ch);
   }
   tl_sb_char(out, '"');
}

/* Text that cannot end the comment it stands in. */
static void
comment_text(TlSb *out, const char *text)
{
   for (; *text; text++) {
      unsigned char ch = (unsigned char)*text;
      bool ends = ch == '/' && out->len && out->data[out->len - 1] == '*';
      bool starts = ch == '*' && out->len && out->data[out->len - 1] == '/';
      tl_sb_char(out, ends || starts || ch < 0x20 || ch == '\\' ? ' ' : (char)ch);
   }
}

static bool
is_word(char c)
{
   return isalnum((unsigned char)c) || c == '_';
}

static void
upper(TlSb *out, const char *text)
{
   for (; *text; text++)
      tl_sb_char(out, (char)toupper((unsigned char)*text));
}

void
tl_c_template(const TlAot *aot, const char *text, size_t len, TlSb *out)
{
   const char *end = text + len;
   for (const char *p = text; p < end; p++) {
      bool starts = p == text || !is_word(p[-1]);
      if (starts && end - p > 4 && tl_starts_with(p, "aot_")) {
         tl_sb_printf(out, "%s_", aot->name);
         p += 3;
      } else if (starts && end - p > 4 && tl_starts_with(p, "AOT_")) {
         upper(out, aot->name);
         tl_sb_char(out, '_');
         p += 3;
      } else {
         tl_sb_char(out, *p);
      }
   }
}

static void
template_text(const TlAot *aot, const char *text, TlSb *out)
{
   tl_c_template(aot, text, strlen(text), out);
}

static const char *
base_name(const char *path)
{
   const char *slash = strrchr(path, '/');
   return slash ? slash + 1 : path;
}

static const char *
arch_list(const TlAot *aot)
{
   TlSb sb;
   tl_sb_init(&sb, aot->arena);
   for (size_t i = 0; i < aot->num_images; i++)
      tl_sb_printf(&sb, "%s%s", i ? ", " : "", aot->images[i].comp->info.arch);
   return tl_sb_cstr(&sb);
}

static void
first_lines(const TlAot *aot, const char *suffix, TlSb *out)
{
   const TilecImageInfo *info = &aot->images[0].comp->info;
   tl_sb_printf(out, "/* %s.%s: made by tilec " TILEC_VERSION_TEXT " from ", aot->name, suffix);
   const char *file = info->kernels[0].file;
   comment_text(out, !file || strcmp(file, "-") == 0 ? "standard input" : base_name(file));
   tl_sb_printf(out, " for %s.  Changes are lost.", arch_list(aot));
}

static const TilecKernelInfo *
entries_of(const TlAot *aot, const TlCKernel *k)
{
   return &aot->images[0].comp->info.kernels[k->first];
}

/* ---- the header ---- */
static const char status_head[] =
   "/* What the functions answer.  The numbers are those of TilecStatus. */\n"
   "typedef enum aot_status {\n";

static const char module_functions[] =
   "/* One sentence for a status; static storage. */\n"
   "const char *aot_message(int status);\n"
   "/* What the last call of this thread that failed said beyond its status; valid until its next\n"
   " * failure. */\n"
   "const char *aot_error(void);\n\n"
   "/* Loads the kernels into the current context.  A launch does so by itself; calling this\n"
   " * before keeps the loading out of a graph capture or of a timed part. */\n"
   "int aot_load(void);\n"
   "/* Takes them out of the current context again; none of their launches may be running or\n"
   " * being made.  To be called before a context is destroyed. */\n"
   "int aot_unload(void);\n";

static void
comma_params(const TlCKernel *k, TlSb *out)
{
   for (uint32_t i = 0; i < k->num_params; i++) {
      const char *line = strrchr(out->data, '\n');
      assert(line); /* a prototype is never the first line */
      bool is_full = out->len - (size_t)(line - out->data) > 70;
      if (k->params[i].kind)
         tl_sb_printf(out, ",%s%s%s", is_full ? "\n   " : " ", k->params[i].c_type,
                      k->params[i].c_name);
   }
}

static void
declare_kernel(const TlAot *aot, const TlCKernel *k, TlSb *out)
{
   tl_sb_printf(out, "\n/* ");
   comment_text(out, k->name);
   tl_sb_str(out, ", launched on `stream` (a CUstream; NULL is the default one) in the current "
                  "context.\n * Pointers are addresses on the device.  Specialised, in this order, "
                  "for:\n");
   bool takes_all = false;
   for (uint32_t i = 0; i < k->count; i++) {
      tl_sb_printf(out, "%s *    ", i ? "\n" : "");
      comment_text(out, tl_c_facts(aot, k, &entries_of(aot, k)[i]));
      takes_all |= !*tl_c_condition(aot, k, &entries_of(aot, k)[i]);
   }
   if (!takes_all)
      template_text(aot, "\n * Other arguments are refused with AOT_BAD_ARGUMENT.", out);
   tl_sb_str(out, " */\n");
   tl_sb_printf(out,
                "int %s_launch(void *stream, uint32_t grid_x, uint32_t grid_y, "
                "uint32_t grid_z",
                k->prefix);
   comma_params(k, out);
   tl_sb_str(out, ");\n");
   if (!k->has_grid)
      return;
   tl_sb_str(out, "/* The same with the kernel's own grid: (");
   for (int d = 0; d < 3 && entries_of(aot, k)->grid[d]; d++) {
      tl_sb_str(out, d ? ", " : "");
      comment_text(out, entries_of(aot, k)->grid[d]);
   }
   tl_sb_printf(out, "). */\nint %s_launch_auto(void *stream", k->prefix);
   comma_params(k, out);
   tl_sb_str(out, ");\n");
}

static void
write_header(const TlAot *aot, const TlCKernel *kernels, size_t n, TlSb *out)
{
   TlSb guard;
   tl_sb_init(&guard, aot->arena);
   upper(&guard, aot->name);
   first_lines(aot, "h", out);
   tl_sb_printf(out,
                "\n * Needs the NVIDIA driver at run time, and nothing else; safe to use from "
                "several threads. */\n#ifndef %s_H\n#define %s_H\n\n",
                tl_sb_cstr(&guard), tl_sb_cstr(&guard));
   tl_sb_str(out, "#include <stdbool.h>\n#include <stdint.h>\n\n#ifdef __cplusplus\n"
                  "extern \"C\" {\n#endif\n\n");
   template_text(aot, status_head, out);
#define ROW(id, number, text) tl_sb_printf(out, "   %s_" #id " = %d, /* %s */\n",                  \
                                           tl_sb_cstr(&guard), number, text);
   TILEC_STATUS_TABLE(ROW)
#undef ROW
   template_text(aot, "} aot_status;\n\n", out);
   template_text(aot, module_functions, out);
   for (size_t i = 0; i < n; i++)
      declare_kernel(aot, &kernels[i], out);
   tl_sb_str(out, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
}

/* ---- images ---- */
/* Words of 8 bytes: compilers read them several times faster than bytes, and PTX as a string would
 * break C's limit of 4095 letters.  A zero word ends it. */
static void
write_words(const TlAot *aot, const char *what, const char *arch, const char *data, size_t len,
            TlSb *out)
{
   tl_sb_printf(out, "static const uint64_t %s_%s_%s[] = {", aot->name, what, arch);
   for (size_t i = 0; i <= len; i += 8) {
      uint64_t word = 0;
      for (size_t b = 0; b < 8 && i + b < len; b++)
         word |= (uint64_t)(unsigned char)data[i + b] << (8 * b);
      tl_sb_printf(out, "%s0x%016llx,", i % 32 ? " " : "\n   ", (unsigned long long)word);
   }
   tl_sb_str(out, "\n};\n");
}

static void
write_entries(const TlAot *aot, const TilecImageInfo *info, TlSb *out)
{
   template_text(aot, "static const aot_entry ", out);
   tl_sb_printf(out, "%s_entries_%s[] = {\n", aot->name, info->arch);
   for (uint32_t i = 0; i < info->num_kernels; i++) {
      const TilecKernelInfo *k = &info->kernels[i];
      tl_sb_str(out, "   {");
      tl_c_string(out, k->entry);
      tl_sb_printf(out, ", %u, %u, {%u, %u, %u}, %d, %d},\n", k->threads, k->shared_bytes,
                   k->cluster[0], k->cluster[1], k->cluster[2], k->cooperative, k->programmatic);
   }
   tl_sb_str(out, "};\n\n");
}

/* The oldest CUDA release whose driver reads the PTX. */
static int
oldest_driver(uint32_t ptx)
{
   for (int version = TL_CU_OLDEST_DRIVER; version < 20000; version += 10)
      if (tl_cu_ptx_version(version) >= ptx)
         return version;
   return TL_CU_OLDEST_DRIVER;
}

static void
write_data(const TlAot *aot, TlSb *out)
{
   template_text(aot, "#define AOT_ARCHS ", out);
   tl_c_string(out, arch_list(aot));
   template_text(aot, "\nenum { AOT_ENTRIES = ", out);
   tl_sb_printf(out, "%u };\n\n", aot->images[0].comp->info.num_kernels);
   for (size_t i = 0; i < aot->num_images; i++) {
      const TlAotImage *image = &aot->images[i];
      const TlCompilation *comp = image->comp;
      if (image->cubin.data)
         write_words(aot, "cubin", comp->info.arch, image->cubin.data, image->cubin.len, out);
      write_words(aot, "ptx", comp->info.arch, comp->text[TILEC_STAGE_PTX],
                  comp->text_len[TILEC_STAGE_PTX], out);
      write_entries(aot, &comp->info, out);
   }
   template_text(aot, "static const aot_image aot_images[] = {\n", out);
   for (size_t i = 0; i < aot->num_images; i++) {
      const TilecImageInfo *info = &aot->images[i].comp->info;
      const char *arch = info->arch;
      bool exact = !isdigit((unsigned char)arch[strlen(arch) - 1]);
      tl_sb_printf(out, "   {\"%s\", %u, %d, %d, ", arch, aot->images[i].comp->target->sm, exact,
                   oldest_driver(info->ptx_version));
      if (aot->images[i].cubin.data)
         tl_sb_printf(out, "%s_cubin_%s", aot->name, arch);
      else
         tl_sb_str(out, "NULL");
      tl_sb_printf(out, ", %s_ptx_%s, %s_entries_%s},\n", aot->name, arch, aot->name, arch);
   }
   tl_sb_str(out, "};\n");
}

/* ---- kernels ---- */
static bool
write_grid(const TlAot *aot, const TlCKernel *k, const TilecKernelInfo *info, unsigned *uses,
           TlSb *out)
{
   assert(k->has_grid);
   tl_sb_str(out, "         int bad = 0;\n");
   for (int d = 0; d < 3; d++) {
      const char *why, *c = "1";
      if (info->grid[d] && !(c = tl_c_rule(aot, k, info, info->grid[d], uses, &why)))
         return tl_refuse(&aot->images[0].comp->diags, E0522, k->range, info->grid[d], why);
      tl_sb_printf(out, "         grid[%d] = %s;\n", d, c);
   }
   tl_sb_str(out, "         if (bad)\n            return ");
   template_text(aot, "aot_fail(AOT_BAD_ARGUMENT, \"the grid overflows\");\n", out);
   return true;
}

static bool
write_entry(const TlAot *aot, const TlCKernel *k, uint32_t index, unsigned *uses, TlSb *out)
{
   assert(index < k->count);
   const TilecKernelInfo *info = &entries_of(aot, k)[index];
   const char *condition = tl_c_condition(aot, k, info);
   if (*condition)
      tl_sb_printf(out, "   if (%s) {\n", condition);
   else
      tl_sb_str(out, "   {\n");
   const TilecKernelInfo *mapped = tl_c_mapped(aot, k->first + index);
   uint32_t num_maps = mapped ? mapped->num_hidden : 0;
   if (mapped)
      tl_sb_printf(out, "      uint64_t maps[%u][16] __attribute__((aligned(64)));\n", num_maps);
   tl_sb_str(out, "      void *params[] = {");
   for (uint32_t i = 0; i < k->num_params; i++)
      if (!info->args[i].value)
         tl_sb_printf(out, "(void *)&%s, ", k->params[i].c_name);
   for (uint32_t i = 0; i < num_maps; i++)
      tl_sb_printf(out, "maps[%u], ", i);
   tl_sb_str(out, "NULL};\n");
   if (mapped && !tl_c_maps(aot, k, mapped, uses, out))
      return false;
   if (k->has_grid) {
      tl_sb_str(out, "      if (!asked) {\n");
      if (!write_grid(aot, k, info, uses, out))
         return false;
      tl_sb_str(out, "      }\n");
   }
   template_text(aot, "      return aot_start(", out);
   tl_sb_printf(out, "%uu, stream, grid, params);\n   }\n", k->first + index);
   return true;
}

static void
write_null_checks(const TlAot *aot, const TlCKernel *k, TlSb *out)
{
   for (uint32_t i = 0; i < k->num_params; i++) {
      const TlCParam *p = &k->params[i];
      if (p->kind != TL_C_POINTER || p->may_be_null)
         continue;
      template_text(aot, "   if (AOT_CHECKED && !", out);
      tl_sb_printf(out, "%s)\n      return ", p->c_name);
      template_text(aot, "aot_fail(AOT_BAD_ARGUMENT, \"%s\", ", out);
      tl_c_string(out, tl_arena_printf(aot->arena, "%s: '%s' is NULL", k->name, p->name));
      tl_sb_str(out, ");\n");
   }
}

static void
write_call(const TlCKernel *k, const char *grid, TlSb *out)
{
   tl_sb_printf(out, "   return %s_choose(stream, %s", k->prefix, grid);
   for (uint32_t i = 0; i < k->num_params; i++)
      if (k->params[i].kind)
         tl_sb_printf(out, ", %s", k->params[i].c_name);
   tl_sb_str(out, ");\n}\n");
}

static bool
write_kernel(const TlAot *aot, const TlCKernel *k, unsigned *uses, TlSb *out)
{
   tl_sb_printf(out, "\nstatic int\n%s_choose(void *stream, const int64_t *asked", k->prefix);
   comma_params(k, out);
   tl_sb_str(out, ")\n{\n");
   tl_sb_str(out, k->has_grid ? "   int64_t grid[3] = {0, 0, 0};\n   if (asked)\n"
                                "      memcpy(grid, asked, sizeof grid);\n"
                              : "   const int64_t *grid = asked;\n");
   write_null_checks(aot, k, out);
   bool open = true; /* arguments are left that no entry takes */
   for (uint32_t i = 0; i < k->count && open; i++) {
      if (!write_entry(aot, k, i, uses, out))
         return false;
      open = *tl_c_condition(aot, k, &entries_of(aot, k)[i]) != '\0';
   }
   if (open) {
      tl_sb_str(out, "   return ");
      template_text(aot, "aot_fail(AOT_BAD_ARGUMENT, \"%s\", ", out);
      tl_c_string(
         out, tl_arena_printf(aot->arena, "%s: no specialisation takes these arguments", k->name));
      tl_sb_str(out, ");\n");
   }
   tl_sb_printf(out,
                "}\n\nint\n%s_launch(void *stream, uint32_t grid_x, uint32_t grid_y, "
                "uint32_t grid_z",
                k->prefix);
   comma_params(k, out);
   tl_sb_str(out, ")\n{\n   const int64_t grid[3] = {grid_x, grid_y, grid_z};\n");
   write_call(k, "grid", out);
   if (!k->has_grid)
      return true;
   tl_sb_printf(out, "\nint\n%s_launch_auto(void *stream", k->prefix);
   comma_params(k, out);
   tl_sb_str(out, ")\n{\n");
   write_call(k, "NULL", out);
   return true;
}

/* ---- the source ---- */
static void
write_messages(const TlAot *aot, TlSb *out)
{
#define ROW(id, number, text)                                                                      \
   template_text(aot, "   case AOT_" #id ":\n      return ", out);                                 \
   tl_c_string(out, text);                                                                         \
   tl_sb_str(out, ";\n");
   TILEC_STATUS_TABLE(ROW)
#undef ROW
}

static void
write_results(const TlAot *aot, TlSb *out)
{
#define TL_CU_RESULT(number, name, status, sticky)                                                 \
   template_text(aot, "      {" #number ", AOT_" #status ", \"" #name "\"},\n", out);
#include "core/cuda_results.def"
}

bool
tl_c_write(const TlAot *aot, const TlCKernel *kernels, size_t n, TlSb *source, TlSb *header)
{
   TlSb body;
   unsigned uses = 0;
   tl_sb_init(&body, aot->arena);
   for (size_t i = 0; i < n; i++)
      if (!write_kernel(aot, &kernels[i], &uses, &body))
         return false;
   write_header(aot, kernels, n, header);
   first_lines(aot, "c", source);
   tl_sb_str(source, " */\n");
   tl_sb_printf(source, "#include \"%s\"\n\n", aot->header);
   for (const char *p = tl_text_aot_launch; *p;) {
      const char *mark = strchr(p, '@');
      size_t len = mark ? (size_t)(mark - p) : strlen(p);
      tl_c_template(aot, p, len, source);
      p += len;
      if (!mark)
         break;
      size_t word = strcspn(mark + 1, "@");
      if (tl_starts_with(mark, "@CHECKED@"))
         tl_sb_char(source, aot->checked ? '1' : '0');
      else if (tl_starts_with(mark, "@DATA@"))
         write_data(aot, source);
      else if (tl_starts_with(mark, "@MESSAGES@"))
         write_messages(aot, source);
      else if (tl_starts_with(mark, "@RESULTS@"))
         write_results(aot, source);
      assert(mark[word + 1] == '@'); /* marks of aot_launch.c.in come in pairs */
      p = mark + word + 2;
   }
   tl_sb_str(source, "\n/* ---- the kernels ---- */\n\n");
   tl_c_rule_functions(aot, uses, source);
   bool has_maps = false;
   for (uint32_t i = 0; i < aot->images[0].comp->info.num_kernels; i++)
      has_maps |= tl_c_mapped(aot, i) != NULL;
   if (has_maps)
      tl_c_map_support(aot, source);
   tl_sb_mem(source, body.data, body.len);
   return true;
}
