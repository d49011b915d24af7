/* The public compile API over TlCompilation.  A session keeps options only; every compilation has
 * memory of its own, which the program takes over. */
#include "base/c_locale.h"
#include "compile/program.h"
#include "sema/sema.h"
#include "tilec/version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct TilecSession {
   TilecSessionOptions options;
   char error[512];
};

struct TilecListing {
   TilecProgram program; /* whose compilation ends after the names */
   TilecKernelDecl *kernels;
   uint32_t count;
};

const char *
tilec_version(void)
{
   return TILEC_VERSION_TEXT;
}

static void *
take(const TilecAllocator *a, size_t bytes)
{
   return a->alloc ? a->alloc(a->user, bytes) : malloc(bytes);
}

static void
give(const TilecAllocator *a, void *p)
{
   if (!p)
      return;
   if (a->release)
      a->release(a->user, p);
   else
      free(p);
}

/* Copies the caller's struct, however old its layout: missing fields are zero. */
static bool
copy_options(void *to, size_t size, const void *from, size_t from_size)
{
   memset(to, 0, size);
   if (!from)
      return true;
   if (from_size < sizeof(size_t))
      return false;
   memcpy(to, from, from_size < size ? from_size : size);
   return true;
}

TilecStatus
tilec_session_new(const TilecSessionOptions *options, TilecSession **out)
{
   if (!out)
      return TILEC_BAD_ARGUMENT;
   *out = NULL;
   TilecSessionOptions o;
   if (!copy_options(&o, sizeof o, options, options ? options->struct_size : 0))
      return TILEC_BAD_ARGUMENT;
   TilecSession *s = take(&o.allocator, sizeof *s);
   if (!s)
      return TILEC_NO_MEMORY;
   *s = (TilecSession){.options = o};
   *out = s;
   return TILEC_OK;
}

void
tilec_session_free(TilecSession *s)
{
   if (s) {
      TilecAllocator a = s->options.allocator;
      give(&a, s);
   }
}

const char *
tilec_session_error(const TilecSession *s)
{
   return s ? s->error
            : "no session: tilec_session_new gives none where the struct_size of its options is "
              "not sizeof (TilecSessionOptions), and where memory is short";
}

static TlCompileExtra
unit_extra(const TilecSession *s)
{
   return (TlCompileExtra){.max_errors = s->options.max_errors,
                           .memory_limit_bytes = s->options.memory_limit_bytes};
}

/* ---- diagnostics to the callback ---- */
static void
send_one(TilecSession *s, TlCompilation *comp, const TlDiag *d)
{
   TlLineCol a = {0, 0}, b = {0, 0};
   const TlSource *src = tl_source(comp->sources, d->range.file);
   if (src) {
      a = tl_source_line_col(comp->sources, d->range.file, d->range.begin);
      b = tl_source_line_col(comp->sources, d->range.file, d->range.end);
   }
   TlSb sb;
   tl_sb_init(&sb, comp->arena);
   TlDiag alone = *d;
   alone.notes = NULL;
   tl_diag_render(&comp->diags, &alone, s->options.color, &sb);
   static const TilecSeverity severity[] = {
      [TL_SEV_ERROR] = TILEC_SEVERITY_ERROR,
      [TL_SEV_WARNING] = TILEC_SEVERITY_WARNING,
      [TL_SEV_REMARK] = TILEC_SEVERITY_REMARK,
      [TL_SEV_NOTE] = TILEC_SEVERITY_NOTE,
   };
   TilecDiag out = {.severity = severity[d->severity],
                    .code = tl_diag_name(d->code),
                    .file = src ? src->name : NULL,
                    .line = a.line,
                    .column = a.column,
                    .end_line = b.line,
                    .end_column = b.column,
                    .text = d->text,
                    .help = d->help,
                    .rendered = tl_sb_cstr(&sb)};
   s->options.on_diag(s->options.user, &out);
}

/* What the text shows, as far as it holds for any grid. */
static void
add_lints(TlCompilation *comp)
{
   if (!comp->lints)
      return;
   comp->diags.warnings.initial = TL_WARNINGS_RUN;
   for (const TlDiag *d = comp->lints; d; d = d->next)
      if (tl_diag_group(d->code) != TL_WARNING_COUNT && !tl_diag_is_of_programs(d->code))
         tl_diags_repeat(&comp->diags, d);
   tl_diags_sort(&comp->diags);
}

/* Rendering allocates; running out of memory here loses the rest of the messages, nothing else. */
static void
send_diagnostics(TilecSession *s, TlCompilation *comp)
{
   if (!s->options.on_diag || !comp->arena || setjmp(comp->oom))
      return;
   add_lints(comp);
   for (const TlDiag *d = comp->diags.first; d; d = d->next) {
      send_one(s, comp, d);
      for (const TlDiag *n = d->notes; n; n = n->next)
         send_one(s, comp, n);
   }
}

static TilecStatus
fail(TilecSession *s, TilecStatus status, const char *why)
{
   snprintf(s->error, sizeof s->error, "%s", why);
   return status;
}

static TilecStatus
finish(TilecSession *s, TlCompilation *comp, TilecStatus status)
{
   send_diagnostics(s, comp);
   if (status == TILEC_OK && comp->diags.num_errors) /* of lints, where warnings are errors */
      status = TILEC_BAD_SOURCE;
   memcpy(s->error, comp->error, sizeof s->error);
   bool is_silent = status != TILEC_OK && status != TILEC_BAD_SOURCE && !s->error[0];
   return is_silent ? fail(s, status, tilec_status_string(status)) : status;
}

static bool
are_whole(const TilecDefine *list, size_t n)
{
   for (size_t i = 0; i < n; i++)
      if (!list || !list[i].name || !list[i].value)
         return false;
   return true;
}

static bool
are_texts(const char *const *list, size_t n)
{
   for (size_t i = 0; i < n; i++)
      if (!list || !list[i])
         return false;
   return true;
}

static TilecStatus
take_options(TilecSession *s, const TilecCompileOptions *options, TilecCompileOptions *o)
{
   s->error[0] = 0;
   const char *why = NULL;
   int64_t precision;
   if (!copy_options(o, sizeof *o, options, options->struct_size))
      why = "struct_size of the options is to be sizeof (TilecCompileOptions)";
   else if (o->source && !o->source_bytes)
      why = "source_bytes is 0 and source is given: TILEC_STRLEN takes the text up to its NUL";
   else if (o->stop_after >= TILEC_STAGE_COUNT)
      why = "stop_after is none of TILEC_STAGE_TOKENS to TILEC_STAGE_PTX";
   else if (o->opt > TILEC_OPT_3)
      why = "opt is none of TILEC_OPT_0 to TILEC_OPT_3";
   else if (o->fp_mode > TILEC_FP_STRICT)
      why = "fp_mode is neither TILEC_FP_TRITON nor TILEC_FP_STRICT";
   else if (o->tma > TILEC_TMA_OFF)
      why = "tma is none of TILEC_TMA_DEFAULT, TILEC_TMA_ON and TILEC_TMA_OFF";
   else if (o->fp32_dot && !tl_dot_precision(o->fp32_dot, &precision))
      why = "fp32_dot is none of " TL_DOT_PRECISIONS;
   else if (!are_whole(o->defines, o->num_defines) || !are_whole(o->values, o->num_values))
      why = "a define or value has no name or no text";
   else if (!are_texts(o->include_dirs, o->num_include_dirs))
      why = "an include folder is NULL";
   else if (!are_texts(o->assume, o->num_assume))
      why = "a text of assume is NULL";
   return why ? fail(s, TILEC_BAD_ARGUMENT, why) : TILEC_OK;
}

/* ---- compiling ---- */
typedef TilecStatus Work(TilecProgram *p, const TilecCompileOptions *o,
                         const TlCompileExtra *extra);

/* Does the work on a compilation of its own, in a block of so many bytes that begins with it; NULL
 * after a failure. */
static TilecStatus
run(TilecSession *s, const TilecCompileOptions *options, size_t bytes, Work *work, void **out)
{
   TilecCompileOptions o;
   TilecStatus status = take_options(s, options, &o);
   *out = NULL;
   if (status != TILEC_OK)
      return status;
   TilecProgram *p = take(&s->options.allocator, bytes);
   if (!p)
      return fail(s, TILEC_NO_MEMORY, tilec_status_string(TILEC_NO_MEMORY));
   memset(p, 0, bytes);
   p->allocator = s->options.allocator;
   TlCompileExtra extra = unit_extra(s);
   status = tl_compilation_init(&p->comp, &p->allocator, &extra);
   TlCLocale locale = tl_c_locale_begin();
   TilecStatus done = status == TILEC_OK ? work(p, &o, &extra) : status;
   tl_c_locale_end(&locale);
   if (status == TILEC_OK)
      status = finish(s, &p->comp, done);
   if (status == TILEC_OK)
      *out = p;
   else
      tilec_program_free(p);
   return status;
}

static TilecStatus
compile(TilecProgram *p, const TilecCompileOptions *o, const TlCompileExtra *extra)
{
   TlCompileExtra mine = *extra;
   mine.lints = o->lints;
   mine.keeps_asserts = o->lints && o->stop_after == TILEC_STAGE_IR && !o->check;
   p->comp.keeps_asserts = mine.keeps_asserts;
   return tl_compile(&p->comp, o, &mine);
}

TilecStatus
tilec_compile(TilecSession *s, const TilecCompileOptions *options, TilecProgram **out)
{
   if (!s || !options || !out)
      return TILEC_BAD_ARGUMENT;
   void *p;
   TilecStatus status = run(s, options, sizeof **out, compile, &p);
   *out = p;
   return status;
}

void
tilec_program_free(TilecProgram *p)
{
   if (!p)
      return;
   TilecAllocator a = p->allocator;
   tl_compilation_free(&p->comp);
   give(&a, p);
}

const char *
tilec_program_text(const TilecProgram *p, TilecStage stage, size_t *len)
{
   if (len)
      *len = 0;
   if (!p || stage >= TILEC_STAGE_COUNT)
      return NULL;
   if (stage == TILEC_STAGE_DEFAULT)
      stage = p->comp.last;
   if (len)
      *len = p->comp.text_len[stage];
   return p->comp.text[stage];
}

const char *
tilec_program_metadata(const TilecProgram *p, size_t *len)
{
   if (len)
      *len = p ? p->comp.json_len : 0;
   return p ? p->comp.json : NULL;
}

const TilecImageInfo *
tilec_program_info(const TilecProgram *p)
{
   return p && p->comp.json ? &p->comp.info : NULL;
}

bool
tilec_program_import(const TilecProgram *p, uint32_t index, TilecImport *out)
{
   if (!p || !out || index >= p->comp.imports.len)
      return false;
   *out = p->comp.imports.data[index];
   return true;
}

/* ---- reflection ---- */
static const TilecTuning *
declare_tuning(TlCompilation *comp, const TilecCompileOptions *o, const TlKernelInfo *k)
{
   TilecCompileOptions mine = *o;
   bool named = o->kernel && strcmp(o->kernel, k->name) == 0;
   if (!named) { /* options are about another kernel */
      mine.num_defines = mine.num_values = 0;
      mine.num_warps = mine.num_stages = 0;
   }
   mine.kernel = k->name;
   mine.signature = NULL;
   TlSpecialization spec = tl_specialization_for(comp, &mine);
   TlTuning t;
   if (!tl_sema_tuning(comp->sema, &spec, &t))
      return NULL;
   TilecConfig *configs = tl_new_array(comp->arena, TilecConfig, t.num_configs);
   for (unsigned i = 0; i < t.num_configs; i++) {
      const TlConfig *c = &t.configs[i];
      TilecDefine *values = tl_new_array(comp->arena, TilecDefine, c->num + 1);
      for (unsigned v = 0; v < c->num; v++)
         values[v] = (TilecDefine){c->names[v], c->values[v]};
      configs[i] = (TilecConfig){.text = c->text,
                                 .values = values,
                                 .num_values = c->num,
                                 .num_warps = (uint32_t)c->num_warps,
                                 .num_stages = (uint32_t)c->num_stages,
                                 .num_ctas = (uint32_t)c->num_ctas};
   }
   TilecTuning *out = tl_new(comp->arena, TilecTuning);
   *out = (TilecTuning){.configs = configs,
                        .num_configs = t.num_configs,
                        .keys = t.keys,
                        .num_keys = t.num_keys,
                        .reset_to_zero = t.reset_to_zero,
                        .num_reset = t.num_reset,
                        .restore_value = t.restore_value,
                        .num_restore = t.num_restore,
                        .warmup_ms = t.warmup_ms,
                        .rep_ms = t.rep_ms,
                        .source_hash = tl_sema_source_hash(comp->sema)};
   return out;
}

static void
declare_heuristics(TlCompilation *comp, const TilecCompileOptions *o, TilecKernelDecl *d)
{
   TlHeuristics h;
   if (!o->num_values || !o->kernel || strcmp(o->kernel, d->name) != 0)
      return;
   TlSpecialization spec = tl_specialization_for(comp, o);
   tl_sema_heuristics(comp->sema, &spec, &h);
   TilecDefine *defines = tl_new_array(comp->arena, TilecDefine, h.names.len + 1);
   for (size_t i = 0; i < h.names.len; i++)
      defines[i] = (TilecDefine){h.names.data[i], h.values.data[i]};
   d->heuristics = defines;
   d->num_heuristics = (uint32_t)h.names.len;
}

static void
declare(TlCompilation *comp, const TilecCompileOptions *o, const TlKernelInfo *k,
        TilecKernelDecl *d)
{
   TilecParamDecl *params = tl_new_array(comp->arena, TilecParamDecl, k->num_params + 1);
   const TlParamStrides *strides = tl_sema_strides(comp->sema, k);
   for (unsigned i = 0; i < k->num_params; i++)
      params[i] = (TilecParamDecl){.name = k->params[i].name,
                                   .type = k->params[i].type,
                                   .default_value = k->params[i].default_text,
                                   .is_constexpr = k->params[i].is_constexpr,
                                   .value_matters = k->params[i].value_matters,
                                   .no_specialize = k->params[i].no_specialize,
                                   .no_align = k->params[i].no_align,
                                   .is_bound = strides[i].is_bound,
                                   .strides = strides[i].names,
                                   .num_strides = strides[i].num};
   const TlSource *src = tl_source(comp->sources, k->range.file);
   *d = (TilecKernelDecl){
      .name = k->name,
      .file = src ? src->name : NULL,
      .line = src ? tl_source_line_col(comp->sources, k->range.file, k->range.begin).line : 0,
      .grid = k->grid,
      .params = params,
      .num_params = k->num_params,
      .tuning = declare_tuning(comp, o, k)};
   declare_heuristics(comp, o, d);
}

static TilecStatus
list(TilecProgram *p, const TilecCompileOptions *o, const TlCompileExtra *extra)
{
   (void)extra;
   TilecListing *l = (TilecListing *)p;
   TlCompilation *comp = &p->comp;
   TilecStatus status = tl_load_names(comp, o);
   if (status != TILEC_OK)
      return status;
   if (setjmp(comp->oom))
      return TILEC_NO_MEMORY;
   const TlKernelInfo *kernels;
   unsigned n = tl_sema_kernels(comp->sema, &kernels), kept = 0;
   l->kernels = tl_new_array(comp->arena, TilecKernelDecl, n + 1);
   for (unsigned i = 0; i < n; i++)
      if (!kernels[i].is_helper)
         declare(comp, o, &kernels[i], &l->kernels[kept++]);
   l->count = kept;
   return TILEC_OK;
}

TilecStatus
tilec_list_kernels(TilecSession *s, const TilecCompileOptions *options, TilecListing **out)
{
   if (!s || !options || !out)
      return TILEC_BAD_ARGUMENT;
   void *l;
   TilecStatus status = run(s, options, sizeof **out, list, &l);
   *out = l;
   return status;
}

void
tilec_listing_free(TilecListing *l)
{
   if (l)
      tilec_program_free(&l->program);
}

uint32_t
tilec_listing_count(const TilecListing *l)
{
   return l ? l->count : 0;
}

const TilecKernelDecl *
tilec_listing_kernel(const TilecListing *l, uint32_t index)
{
   return l && index < l->count ? &l->kernels[index] : NULL;
}

const char *
tilec_listing_source(const TilecListing *l, size_t *len)
{
   const TlSource *src = l ? tl_source(l->program.comp.sources, l->program.comp.file) : NULL;
   if (len)
      *len = src ? src->len : 0;
   return src ? src->text : NULL;
}
