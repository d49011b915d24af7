/* The whole compiler in one visible sequence: read, parse, type, lay out, lower, generate.
 * Out of memory anywhere below jumps back to the entry points here. */
#include "compile/compilation.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { DEFAULT_TIMEOUT_MS = 60000 };
static const size_t default_memory_limit = (size_t)4 << 30;

typedef struct Run {
   TlCompilation *comp;
   const TilecCompileOptions *options;
   const TlCompileExtra *extra;
   TilecStage stop;
   double deadline; /* seconds, monotonic */
} Run;

static double
now_seconds(void)
{
   struct timespec t;
   clock_gettime(CLOCK_MONOTONIC, &t);
   return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *
default_alloc(void *user, size_t bytes)
{
   (void)user;
   return malloc(bytes);
}

static void
default_release(void *user, void *block)
{
   (void)user;
   free(block);
}

TilecStatus
tl_compilation_init(TlCompilation *comp, const TilecAllocator *allocator,
                    const TlCompileExtra *extra)
{
   *comp = (TlCompilation){0};
   tl_mem_init(&comp->mem);
   comp->mem.alloc = allocator && allocator->alloc ? allocator->alloc : default_alloc;
   comp->mem.release = allocator && allocator->release ? allocator->release : default_release;
   comp->mem.user = allocator ? allocator->user : NULL;
   comp->mem.limit_bytes =
      extra && extra->memory_limit_bytes ? extra->memory_limit_bytes : default_memory_limit;
   comp->mem.oom = &comp->oom;
   if (setjmp(comp->oom)) {
      tl_compilation_free(comp);
      return TILEC_NO_MEMORY;
   }
   comp->arena = tl_arena_new(&comp->mem);
   comp->scratch = tl_arena_new(&comp->mem);
   comp->strings = tl_strings_new(comp->arena);
   comp->sources = tl_sources_new(comp->arena);
   tl_diags_init(&comp->diags, comp->arena, comp->sources);
   if (extra && extra->max_errors)
      comp->diags.max_errors = extra->max_errors;
   comp->types = tl_types_new(comp->arena);
   comp->module = tl_module_new(comp->arena, comp->types, comp->strings, &comp->diags);
   return TILEC_OK;
}

void
tl_compilation_free(TlCompilation *comp)
{
   tl_arena_free(comp->scratch);
   tl_arena_free(comp->arena);
   comp->scratch = comp->arena = NULL;
}

static TilecStatus
fail(TlCompilation *comp, TilecStatus status, const char *format, const char *detail)
{
   snprintf(comp->error, sizeof comp->error, format, detail);
   return status;
}

bool
tl_read_file(TlArena *arena, const char *path, const char **text, size_t *len, const char **why)
{
   FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
   if (!f) {
      *why = tl_arena_strdup(arena, strerror(errno));
      return false;
   }
   struct stat st;
   if (fstat(fileno(f), &st) == 0 && S_ISDIR(st.st_mode)) {
      fclose(f);
      *why = "it is a directory";
      return false;
   }
   TlSb sb;
   tl_sb_init(&sb, arena);
   char block[16384];
   size_t n;
   while ((n = fread(block, 1, sizeof block, f)) > 0 && sb.len <= TL_MAX_SOURCE_BYTES)
      tl_sb_mem(&sb, block, n);
   bool bad = ferror(f) != 0;
   if (f != stdin)
      fclose(f);
   if (bad || sb.len > TL_MAX_SOURCE_BYTES) {
      *why = bad ? "it cannot be read" : "it is larger than 16 MiB";
      return false;
   }
   *text = tl_sb_cstr(&sb);
   *len = sb.len;
   return true;
}

static bool
has_suffix(const char *s, const char *suffix)
{
   size_t n = strlen(s), m = strlen(suffix);
   return n >= m && strcmp(s + n - m, suffix) == 0;
}

static const char *
import_file(void *user, TlArena *arena, const char *path, size_t *len)
{
   TlCompilation *comp = user;
   const char *text, *why;
   if (!tl_read_file(arena, path, &text, len, &why))
      text = NULL;
   tl_vec_push(comp->arena, &comp->imports,
               (TilecImport){tl_arena_strdup(comp->arena, path), text, text ? *len : 0});
   return text;
}

static TilecStatus
read_source(TlCompilation *comp, const TilecCompileOptions *o)
{
   const char *text = o->source, *why = "";
   size_t len =
      o->source ? (o->source_bytes == TILEC_STRLEN ? strlen(o->source) : o->source_bytes) : 0;
   const char *name = o->file ? o->file : "<source>";
   if (!o->source && !o->file)
      return fail(comp, TILEC_BAD_ARGUMENT, "%s", "neither a file nor a source text was given");
   if (!o->source && !tl_read_file(comp->arena, o->file, &text, &len, &why)) {
      snprintf(comp->error, sizeof comp->error, "cannot read '%s': %s", o->file, why);
      return TILEC_IO;
   }
   if (len > TL_MAX_SOURCE_BYTES)
      return fail(comp, TILEC_LIMIT, "%s: the source is larger than 16 MiB", name);
   comp->file = tl_sources_add(comp->sources, name, text, len);
   return TILEC_OK;
}

static void
keep_text(Run *r, TilecStage stage, const TlSb *sb)
{
   r->comp->text[stage] = sb->data ? sb->data : "";
   r->comp->text_len[stage] = sb->len;
   r->comp->last = stage;
}

static bool
wants(const Run *r, TilecStage stage)
{
   return r->stop == stage || (r->options->keep_stages & TILEC_STAGE_BIT(stage)) != 0;
}

/* The deadline and the caller's cancel flag, looked at between stages. */
static bool
is_cancelled(const Run *r)
{
   return (r->options->cancel && *r->options->cancel) || now_seconds() > r->deadline;
}

static void
keep_ir(Run *r, TilecStage stage)
{
   if (!wants(r, stage))
      return;
   TlSb sb;
   tl_sb_init(&sb, r->comp->arena);
   if (r->comp->text[stage]) /* of the entries before this one */
      tl_sb_mem(&sb, r->comp->text[stage], r->comp->text_len[stage]);
   tl_print_func(r->comp->func, r->options->debug_info ? r->comp->sources : NULL, &sb);
   keep_text(r, stage, &sb);
}

static TilecStatus
diagnosed(TlCompilation *comp)
{
   return comp->diags.num_errors ? TILEC_BAD_SOURCE : TILEC_OK;
}

/* Tokens and AST need no names or types. */
static TilecStatus
syntax_stages(Run *r)
{
   TlCompilation *comp = r->comp;
   TlParseCx px = {comp->arena, comp->strings, comp->sources, &comp->diags};
   TlSb sb;
   if (wants(r, TILEC_STAGE_TOKENS)) {
      tl_sb_init(&sb, comp->arena);
      tl_print_tokens(&px, comp->file, &sb);
      keep_text(r, TILEC_STAGE_TOKENS, &sb);
   }
   if (r->stop == TILEC_STAGE_TOKENS)
      return diagnosed(comp);
   if (wants(r, TILEC_STAGE_AST)) {
      TlAstModule *m = tl_parse_file(&px, comp->file);
      tl_sb_init(&sb, comp->arena);
      tl_ast_print(comp->sources, &m->node, false, &sb);
      keep_text(r, TILEC_STAGE_AST, &sb);
   }
   return diagnosed(comp);
}

static TlSemaOptions
sema_options(TlCompilation *comp, const TilecCompileOptions *o)
{
   return (TlSemaOptions){.user = comp,
                          .include_dirs = o->include_dirs,
                          .num_include_dirs = o->num_include_dirs,
                          .read_file = import_file};
}

static TilecStatus
load_names(TlCompilation *comp, const TilecCompileOptions *o)
{
   TlSemaOptions so = sema_options(comp, o);
   comp->sema =
      tl_sema_new(comp->arena, comp->strings, comp->sources, &comp->diags, comp->module, &so);
   if (!tl_sema_load(comp->sema, comp->file))
      return comp->diags.num_errors ? TILEC_BAD_SOURCE : TILEC_INTERNAL;
   return diagnosed(comp);
}

TlSpecialization
tl_specialization_for(TlCompilation *comp, const TilecCompileOptions *o)
{
   TlSpecialization spec = {.kernel = o->kernel,
                            .signature = o->signature,
                            .num_warps = (int)o->num_warps,
                            .num_stages = (int)o->num_stages,
                            .debug = o->check,
                            .strict_fp = o->fp_mode == TILEC_FP_STRICT};
   for (size_t i = 0; i < o->num_defines; i++) {
      tl_vec_push(comp->arena, &spec.define_names, o->defines[i].name);
      tl_vec_push(comp->arena, &spec.define_values, o->defines[i].value);
   }
   spec.grid = o->grid;
   for (size_t i = 0; i < o->num_values; i++) {
      tl_vec_push(comp->arena, &spec.value_names, o->values[i].name);
      tl_vec_push(comp->arena, &spec.values, o->values[i].value);
   }
   return spec;
}

/* PTX's symbols are ASCII: a letter beyond is spelled by its bytes, as in "gr_c3b6_c39fe". */
static const char *
ascii_name(TlCompilation *comp, const char *name)
{
   TlSb sb;
   tl_sb_init(&sb, comp->arena);
   for (const char *p = name; *p; p++) {
      bool is_ascii = (unsigned char)*p < 0x80;
      if (is_ascii)
         tl_sb_char(&sb, *p);
      else
         tl_sb_printf(&sb, (unsigned char)*p >= 0xc0 ? "_%02x" : "%02x", (unsigned char)*p);
   }
   return tl_sb_cstr(&sb);
}

/* "elu", then "elu__1", "elu__2" for further specialisations: symbols of one module differ. */
static const char *
symbol_for(TlCompilation *comp, const char *kernel)
{
   const TlKernelInfo *kernels;
   unsigned num_kernels = tl_sema_kernels(comp->sema, &kernels);
   const char *first = ascii_name(comp, kernel), *name = first;
   for (unsigned n = 1;; n++) {
      bool taken = false;
      for (size_t i = 0; i < comp->entries.len; i++)
         taken |= strcmp(comp->entries.data[i].func->name, name) == 0;
      for (unsigned i = 0; i < num_kernels; i++)
         taken |= strcmp(kernels[i].name, name) == 0 && strcmp(name, kernel) != 0;
      if (!taken)
         return name;
      name = tl_arena_printf(comp->arena, "%s__%u", first, n);
   }
}

static TilecStatus
type_entry(Run *r, TlSpecialization *spec, const TlEntrySpec *entry)
{
   TlCompilation *comp = r->comp;
   spec->kernel = entry->kernel;
   spec->signature = entry->signature;
   TlFunc *f = tl_sema_compile(comp->sema, spec);
   if (!f)
      return comp->diags.num_errors ? TILEC_BAD_SOURCE : TILEC_INTERNAL;
   TlEntry made = {f, f->name};
   f->name = symbol_for(comp, f->name);
   tl_vec_push(comp->arena, &comp->entries, made);
   return TILEC_OK;
}

static TilecStatus
type_kernels(Run *r)
{
   TlCompilation *comp = r->comp;
   const TilecCompileOptions *o = r->options;
   TilecStatus status = load_names(comp, o);
   if (status != TILEC_OK)
      return status;
   TlSpecialization spec = tl_specialization_for(comp, o);
   const TlEntrySpec asked = {o->kernel, o->signature};
   bool many = r->extra && r->extra->num_entries;
   const TlEntrySpec *specs = many ? r->extra->entries : &asked;
   for (size_t i = 0; status == TILEC_OK && i < (many ? r->extra->num_entries : 1); i++)
      status = type_entry(r, &spec, &specs[i]);
   if (status != TILEC_OK)
      return status;
   comp->func = comp->entries.data[0].func;
   return diagnosed(comp);
}

static bool
is_loaded(const TlCompilation *comp, const char *name)
{
   for (uint32_t i = 1; tl_source(comp->sources, i); i++)
      if (strcmp(tl_source(comp->sources, i)->name, name) == 0)
         return true;
   return false;
}

/* Loads the source files that locations of IR text name, as far as they can be read: messages and
 * line tables then speak of the kernel's source, not of the IR. */
static void
load_located_files(TlCompilation *comp)
{
   enum { MAX_FILES = 64 };
   static const char mark[] = "loc(\"";
   const char *p = tl_source(comp->sources, comp->file)->text;
   for (unsigned loaded = 0; loaded < MAX_FILES && (p = strstr(p, mark)) != NULL;) {
      p += sizeof mark - 1;
      size_t n = strcspn(p, "\"\n");
      const char *name = tl_intern(comp->strings, p, n), *text, *why;
      size_t len;
      p += n;
      if (is_loaded(comp, name))
         continue;
      if (!tl_read_file(comp->arena, name, &text, &len, &why))
         len = 0, text = "";
      tl_sources_add(comp->sources, name, text, len);
      loaded++;
   }
}

static TilecStatus
unknown_arch(TlCompilation *comp, const char *arch)
{
   TlSb known;
   tl_sb_init(&known, comp->arena);
   for (unsigned i = 0; tl_target_at(i); i++)
      tl_sb_printf(&known, "%s%s", i ? ", " : "", tl_target_at(i)->arch);
   snprintf(comp->error, sizeof comp->error, "unknown architecture '%s'; tilec knows %s", arch,
            tl_sb_cstr(&known));
   return TILEC_BAD_TARGET;
}

static TilecStatus
choose_target(TlCompilation *comp, const char *arch, uint32_t ptx_version)
{
   const TlTarget *known = tl_target_find(arch);
   if (!known)
      return unknown_arch(comp, arch);
   if (ptx_version && ptx_version < known->ptx)
      return fail(comp, TILEC_BAD_TARGET, "%s needs a newer PTX version than the one asked for",
                  arch);
   TlTarget *target = tl_new(comp->arena, TlTarget);
   *target = *known;
   if (ptx_version)
      target->max_ptx = ptx_version;
   comp->target = target;
   return TILEC_OK;
}

/* IR text with layouts names the target that they were chosen for. */
static TilecStatus
target_of_text(Run *r)
{
   TlCompilation *comp = r->comp;
   const char *arch = comp->func->target;
   if (!arch || strcmp(arch, comp->target->arch) == 0)
      return TILEC_OK;
   if (r->options->arch && tl_target_find(arch)) {
      snprintf(comp->error, sizeof comp->error, "'%s' was made for %s; asked for is %s",
               comp->func->name, arch, comp->target->arch);
      return TILEC_BAD_TARGET;
   }
   return choose_target(comp, arch, r->options->ptx_version);
}

static TilecStatus
read_ir(Run *r)
{
   TlCompilation *comp = r->comp;
   load_located_files(comp);
   if (!tl_read_module(comp->module, comp->sources, comp->file))
      return TILEC_BAD_SOURCE;
   for (TlFunc *f = comp->module->first_func; f; f = f->next)
      if (!comp->func && (!r->options->kernel || strcmp(f->name, r->options->kernel) == 0))
         comp->func = f;
   if (comp->func) {
      tl_vec_push(comp->arena, &comp->entries, (TlEntry){comp->func, comp->func->name});
      return target_of_text(r);
   }
   return r->options->kernel
             ? fail(comp, TILEC_NOT_FOUND, "the file has no function '%s'", r->options->kernel)
             : fail(comp, TILEC_NOT_FOUND, "the file has no function%s", "");
}

static TlPassCx
pass_context(Run *r)
{
   TlCompilation *comp = r->comp;
   TlPassCx cx = {.scratch = comp->scratch,
                  .sources = comp->sources,
                  .diags = &comp->diags,
                  .target = comp->target,
                  .remarks = r->options->remarks};
   if (r->extra) {
      cx.verify_each = r->extra->verify_each;
      cx.print_after = r->extra->print_after;
      cx.print = r->extra->print;
      cx.print_user = r->extra->print_user;
   }
   return cx;
}

static TilecStatus
pass_failure(TlCompilation *comp)
{
   return comp->diags.num_errors ? TILEC_BAD_SOURCE
                                 : fail(comp, TILEC_INTERNAL, "a pass failed%s", "");
}

static TilecStatus
generate(Run *r)
{
   TlCompilation *comp = r->comp;
   const TilecCompileOptions *o = r->options;
   TlCgOptions co = {.target = comp->target,
                     .opt_level = o->opt == TILEC_OPT_DEFAULT ? 3 : (unsigned)o->opt - 1,
                     .line_info = o->debug_info,
                     .want_llvm = wants(r, TILEC_STAGE_LLVM),
                     .verify = r->extra && r->extra->verify_each};
   TlCgResult result;
   TlFunc **funcs = tl_new_array(comp->arena, TlFunc *, comp->entries.len);
   for (size_t i = 0; i < comp->entries.len; i++)
      funcs[i] = comp->entries.data[i].func;
   if (!tl_codegen(comp->arena, funcs, (unsigned)comp->entries.len, comp->sources, &comp->diags,
                   &co, &result))
      return comp->diags.num_errors ? TILEC_BAD_SOURCE : TILEC_INTERNAL;
   if (result.llvm) {
      comp->text[TILEC_STAGE_LLVM] = result.llvm;
      comp->text_len[TILEC_STAGE_LLVM] = strlen(result.llvm);
      comp->last = TILEC_STAGE_LLVM;
   }
   if (r->stop == TILEC_STAGE_LLVM)
      return TILEC_OK;
   comp->ptx_version = result.ptx_version;
   comp->text[TILEC_STAGE_PTX] = result.ptx;
   comp->text_len[TILEC_STAGE_PTX] = result.ptx_len;
   comp->last = TILEC_STAGE_PTX;
   return TILEC_OK;
}

/* comp->func from whatever state to the stage asked for, LOWERED at most. */
static TilecStatus
lower_entry(Run *r, TlPassCx *cx)
{
   TlCompilation *comp = r->comp;
   if (r->extra && r->extra->passes) {
      if (!tl_run_named_passes(cx, comp->func, r->extra->passes))
         return comp->diags.num_errors
                   ? TILEC_BAD_SOURCE
                   : fail(comp, TILEC_BAD_ARGUMENT,
                          "the passes '%s' cannot be run: an unknown name, or the "
                          "IR is in another state",
                          r->extra->passes);
      keep_ir(r, r->stop);
      return diagnosed(comp);
   }
   if (comp->func->state == TL_STATE_TYPED) {
      if (!tl_pipeline_typed(cx, comp->func))
         return pass_failure(comp);
      keep_ir(r, TILEC_STAGE_IR);
      comp->typed = r->stop <= TILEC_STAGE_IR ? comp->func : tl_func_clone(comp->func);
      if (r->stop <= TILEC_STAGE_IR)
         return diagnosed(comp);
      if (is_cancelled(r))
         return TILEC_CANCELLED;
      if (!tl_pipeline_laid(cx, comp->func))
         return pass_failure(comp);
   }
   if (comp->func->state == TL_STATE_LAID) {
      keep_ir(r, TILEC_STAGE_LAID);
      if (r->stop <= TILEC_STAGE_LAID)
         return diagnosed(comp);
      if (is_cancelled(r))
         return TILEC_CANCELLED;
      if (!tl_pipeline_lowered(cx, comp->func))
         return pass_failure(comp);
   }
   keep_ir(r, TILEC_STAGE_LOWERED);
   return diagnosed(comp);
}

static TilecStatus
back_end(Run *r)
{
   TlCompilation *comp = r->comp;
   TlPassCx cx = pass_context(r);
   TlFunc *first_typed = NULL;
   TilecStatus status = TILEC_OK;
   for (size_t i = 0; status == TILEC_OK && i < comp->entries.len; i++) {
      comp->func = comp->entries.data[i].func;
      status = is_cancelled(r) ? TILEC_CANCELLED : lower_entry(r, &cx);
      if (i == 0)
         first_typed = comp->typed;
   }
   comp->func = comp->entries.data[0].func;
   comp->typed = first_typed;
   for (size_t i = 0; i < cx.times.len; i++)
      tl_vec_push(comp->arena, &comp->times, cx.times.data[i]);
   if (status != TILEC_OK || r->stop <= TILEC_STAGE_LOWERED || (r->extra && r->extra->passes))
      return status;
   if (is_cancelled(r))
      return TILEC_CANCELLED;
   status = generate(r);
   return status == TILEC_OK ? diagnosed(comp) : status;
}

static TilecStatus
compile(Run *r)
{
   TlCompilation *comp = r->comp;
   const TilecCompileOptions *o = r->options;
   comp->diags.warnings_are_errors = o->warnings_are_errors;
   TilecStatus status = choose_target(comp, o->arch ? o->arch : "sm_90a", o->ptx_version);
   if (status == TILEC_OK)
      status = read_source(comp, o);
   if (status != TILEC_OK)
      return status;
   bool is_ir = o->file && has_suffix(o->file, ".tir");
   if (!is_ir && (status = syntax_stages(r)) != TILEC_OK)
      return status;
   if (r->stop <= TILEC_STAGE_AST)
      return TILEC_OK;
   if ((status = is_ir ? read_ir(r) : type_kernels(r)) != TILEC_OK)
      return status;
   if ((status = back_end(r)) != TILEC_OK)
      return status;
   /* A finished program is read by many threads: nothing may be filled in lazily later. */
   for (uint32_t i = 1; tl_source(comp->sources, i); i++)
      tl_source_line_col(comp->sources, i, 0);
   return tl_describe(comp, o) ? TILEC_OK : TILEC_INTERNAL;
}

TilecStatus
tl_compile(TlCompilation *comp, const TilecCompileOptions *o, const TlCompileExtra *extra)
{
   if (setjmp(comp->oom))
      return TILEC_NO_MEMORY;
   comp->error[0] = 0;
   Run r = {.comp = comp, .options = o, .extra = extra};
   r.stop = o->stop_after == TILEC_STAGE_DEFAULT ? TILEC_STAGE_PTX : o->stop_after;
   r.deadline = now_seconds() + (o->timeout_ms ? o->timeout_ms : DEFAULT_TIMEOUT_MS) * 1e-3;
   return compile(&r);
}

TilecStatus
tl_load_names(TlCompilation *comp, const TilecCompileOptions *o)
{
   if (setjmp(comp->oom))
      return TILEC_NO_MEMORY;
   TilecStatus status = read_source(comp, o);
   return status == TILEC_OK ? load_names(comp, o) : status;
}
