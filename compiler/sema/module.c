/* Files, their module-level names, and imports.  Loading a file runs its statements
 * (module_run.c); an import is looked up when somebody asks for its name. */
#include "sema/impl.h"

#include <assert.h>
#include <string.h>

/* ---- source text ---- */
const char *
tl_range_text(TlSema *s, TlRange r)
{
   const TlSource *src = tl_source(s->sources, r.file);
   if (!src || r.end > src->len || r.begin > r.end)
      return "";
   return tl_arena_strndup(s->arena, src->text + r.begin, r.end - r.begin);
}

const char *
tl_node_text(TlSema *s, const TlNode *node)
{
   return tl_range_text(s, node->range);
}

const char *
tl_dotted_text(TlSema *s, const TlNode *node)
{
   if (node->kind == TL_AST_NAME)
      return tl_ast_Name(node)->id;
   if (node->kind != TL_AST_ATTRIBUTE)
      return NULL;
   const TlAstAttribute *a = tl_ast_Attribute(node);
   const char *left = tl_dotted_text(s, a->value);
   return left ? tl_arena_printf(s->arena, "%s.%s", left, a->name) : NULL;
}

TlSv
tl_quietly(TlSema *s, TlSv (*fn)(TlSema *, void *), void *user, const TlDiag **error)
{
   TlQuiet q;
   tl_quiet_begin(s, &q);
   TlSv v = fn(s, user);
   const TlDiag *first = tl_quiet_end(s, &q);
   if (error)
      *error = first;
   return first ? tl_sv_poison() : v; /* what follows an error is no longer Python's */
}

typedef struct Expr {
   TlFrame *frame;
   const TlNode *node;
} Expr;

static TlSv
eval_node(TlSema *s, void *user)
{
   const Expr *e = user;
   return tl_eval_expr(s, e->frame, e->node);
}

TlSv
tl_quiet_value(TlSema *s, TlFrame *f, const TlNode *n, const TlDiag **error)
{
   Expr e = {f, n};
   return tl_quietly(s, eval_node, &e, error);
}

TlSv
tl_sv_lost(TlSema *s, const char *why, TlRange place)
{
   TlLost *lost = tl_new(s->arena, TlLost);
   *lost = (TlLost){.why = why, .place = place};
   return (TlSv){.kind = TL_SV_OPAQUE, .opaque = lost};
}

TlSv
tl_sv_lost_of(TlSema *s, const TlSv *from, const char *why, TlRange place)
{
   bool is_undecided = from->kind == TL_SV_OPAQUE && from->opaque->is_undecided;
   return is_undecided ? *from : tl_sv_lost(s, why, place);
}

TlSv
tl_sv_lost_by(TlSema *s, const TlDiag *error, const char *name)
{
   if (error == s->impl->lost_error) /* for the same reason as the value that it used */
      return (TlSv){.kind = TL_SV_OPAQUE, .opaque = s->impl->lost};
   const char *what = name ? tl_arena_printf(s->arena, "'%s'", name) : "this value";
   return tl_sv_lost(s, tl_arena_printf(s->arena, "%s (%s)", what, error->text), error->range);
}

/* ---- the builtin module tree ---- */
typedef struct BuiltinModule {
   const char *name;
   uint32_t ns;
} BuiltinModule;

static const BuiltinModule builtin_module[] = {
   {"triton", TL_NS_TRITON},
   {"triton.language", TL_NS_TL},
   {"triton.language.math", TL_NS_MATH | TL_NS_TL},
   {"triton.language.core", TL_NS_STANDARD | TL_NS_TL},
   {"triton.language.standard", TL_NS_STANDARD | TL_NS_TL},
   {"triton.language.random", TL_NS_TL},
   {"triton.language.libdevice", TL_NS_LIBDEVICE},
   {"triton.language.extra", TL_NS_CUDA},
   {"triton.language.extra.cuda", TL_NS_CUDA},
   {"triton.language.extra.libdevice", TL_NS_LIBDEVICE},
   {"triton.language.extra.cuda.libdevice", TL_NS_LIBDEVICE},
   {"triton.language.target_info", TL_NS_TRITON},
};

static TlSv
module_sv(TlSema *s, TlModuleKind kind, uint32_t ns, TlSourceModule *source, const char *name)
{
   assert((kind == TL_MOD_SOURCE) == (source != NULL));
   TlSvModule *m = tl_new(s->arena, TlSvModule);
   *m = (TlSvModule){.kind = kind, .source = source, .ns = ns, .name = name};
   return (TlSv){.kind = TL_SV_MODULE, .module = m};
}

/* HOST; of an import that finds no file where `import` is a place. */
static TlSv
missing_module(TlSema *s, const char *name, TlRange import)
{
   TlSv v = module_sv(s, TL_MOD_HOST, 0, NULL, tl_arena_strdup(s->arena, name));
   v.module->import = import;
   return v;
}

static const BuiltinModule *
find_builtin_module(const char *dotted)
{
   for (size_t i = 0; i < sizeof builtin_module / sizeof builtin_module[0]; i++)
      if (strcmp(builtin_module[i].name, dotted) == 0)
         return &builtin_module[i];
   return NULL;
}

const char *
tl_nearest_module(const char *dotted)
{
   TlNearest near = {.name = dotted};
   for (size_t i = 0; i < sizeof builtin_module / sizeof builtin_module[0]; i++)
      tl_nearest_try(&near, builtin_module[i].name);
   return near.best;
}

TlSv
tl_module_value(TlSema *s, const char *dotted)
{
   const BuiltinModule *b = find_builtin_module(dotted);
   if (b)
      return module_sv(s, TL_MOD_BUILTIN, b->ns, NULL, b->name);
   return module_sv(s, TL_MOD_HOST, 0, NULL, tl_arena_strdup(s->arena, dotted));
}

static TlSourceModule *find_source(TlSema *s, const TlSourceModule *from, unsigned level,
                                   const char *dotted);

TlSv
tl_imported_module(TlSema *s, const char *dotted)
{
   TlSourceModule *source =
      find_builtin_module(dotted) ? NULL : find_source(s, s->impl->main, 0, dotted);
   return source ? module_sv(s, TL_MOD_SOURCE, 0, source, tl_arena_strdup(s->arena, dotted))
                 : tl_module_value(s, dotted);
}

static bool
builtin_module_attr(TlSema *s, const TlSvModule *m, const char *name, TlSv *out)
{
   assert(m->kind == TL_MOD_BUILTIN);
   const char *dotted = tl_arena_printf(s->arena, "%s.%s", m->name, name);
   const TlBuiltin *row = tl_builtin_find(m->ns, name);
   if (row) {
      *out = (TlSv){.kind = TL_SV_BUILTIN, .builtin = {row, NULL}};
      return true;
   }
   if (find_builtin_module(dotted)) {
      *out = tl_module_value(s, dotted);
      return true;
   }
   if ((m->ns & TL_NS_TL) && tl_dtype_constant(s, name, out))
      return true;
   return tl_host_module_attr(s, m->name, name, out);
}

bool
tl_module_attr(TlSema *s, const TlSvModule *m, const char *name, TlSv *out)
{
   switch (m->kind) {
   case TL_MOD_BUILTIN:
      return builtin_module_attr(s, m, name, out);
   case TL_MOD_SOURCE: {
      TlGlobal *g = tl_global_find(s, m->source, tl_intern_cstr(s->strings, name));
      TlSourceModule *sub =
         g ? NULL : find_source(s, m->source, 1, name); /* a module of the package */
      if (g)
         *out = tl_global_value(s, m->source, g);
      else if (sub)
         *out = module_sv(s, TL_MOD_SOURCE, 0, sub, name);
      return g || sub;
   }
   case TL_MOD_HOST: {
      const char *dotted = tl_arena_printf(s->arena, "%s.%s", m->name, name);
      TlSourceModule *source = tl_is_host_module(m->name) && !tl_host_may_have_source(dotted)
                                  ? NULL
                                  : find_source(s, s->impl->main, 0, dotted);
      if (source)
         *out = module_sv(s, TL_MOD_SOURCE, 0, source, dotted);
      else if (!tl_host_module_attr(s, m->name, name, out))
         *out = missing_module(s, dotted, m->import);
      return true;
   }
   }
   return false;
}

/* ---- finding imported files ---- */
static TlAstModule *
parse_text(TlSema *s, const char *path, const char *text, size_t len)
{
   TlParseCx cx = {s->arena, s->strings, s->sources, s->diags};
   return tl_parse_file(&cx, tl_sources_add(s->sources, path, text, len));
}

static TlSourceModule *
source_for_path(TlSema *s, const char *path)
{
   for (size_t i = 0; i < s->impl->loaded.len; i++)
      if (strcmp(s->impl->loaded.data[i]->path, path) == 0)
         return s->impl->loaded.data[i];
   const TlSemaOptions *o = &s->impl->options;
   size_t len = 0;
   const char *text = o->read_file ? o->read_file(o->user, s->arena, path, &len) : NULL;
   if (!text || len > TL_MAX_SOURCE_BYTES)
      return NULL;
   return tl_load_source(s, parse_text(s, path, text, len), path, false);
}

/* A module as a file below dir: name.tile, name.py, name/__init__.py. */
static TlSourceModule *
source_below(TlSema *s, const char *dir, const char *dotted)
{
   char *rel = tl_arena_strdup(s->arena, dotted);
   for (char *c = rel; *c; c++)
      if (*c == '.')
         *c = '/';
   const char *slash = !*dir || dir[strlen(dir) - 1] == '/' ? "" : "/";
   static const char *const suffix[] = {".tile", ".py", "/__init__.py", "/__init__.tile"};
   TlSourceModule *source = NULL;
   for (unsigned i = 0; !source && i < sizeof suffix / sizeof suffix[0]; i++) {
      if (*rel)
         source =
            source_for_path(s, tl_arena_printf(s->arena, "%s%s%s%s", dir, slash, rel, suffix[i]));
      else if (suffix[i][0] == '/') /* a package itself */
         source =
            source_for_path(s, tl_arena_printf(s->arena, "%s%s%s", dir, slash, suffix[i] + 1));
   }
   return source;
}

/* A file of the embedded library, read once; NULL: there is none of that name. */
static TlSourceModule *
stdlib_source(TlSema *s, const char *module)
{
   const char *key = tl_intern_cstr(s->strings, module);
   TlSourceModule *source = tl_map_get(&s->impl->stdlib, key);
   size_t len;
   const char *text = source ? NULL : tl_stdlib_text(module, &len);
   if (!text)
      return source;
   const char *path = tl_arena_printf(s->arena, "<stdlib>/%s.tile", module);
   TlAstModule *ast = parse_text(s, path, text, len);
   tl_sources_set_library(s->sources, ast->node.range.file);
   source = tl_load_source(s, ast, path, true);
   tl_map_put(&s->impl->stdlib, key, source);
   return source;
}

static const char *
dir_of(TlSema *s, const char *path)
{
   const char *slash = strrchr(path, '/');
   return slash ? tl_arena_strndup(s->arena, path, (size_t)(slash - path)) : "";
}

enum { MAX_PARENTS = 12 };

/* The source that `dotted` names, seen from a file; NULL if no file is it.  The library's files see
 * each other alone. */
static TlSourceModule *
find_source(TlSema *s, const TlSourceModule *from, unsigned level, const char *dotted)
{
   if (from->is_stdlib)
      return stdlib_source(s, dotted);
   const char *dir = dir_of(s, from->path);
   if (level) {
      for (unsigned i = 1; i < level; i++)
         dir = *dir ? dir_of(s, dir) : "..";
      return source_below(s, dir, dotted);
   }
   if (find_builtin_module(dotted) ||
       (tl_is_host_module(dotted) && !tl_host_may_have_source(dotted)))
      return NULL;
   for (size_t i = 0; i < s->impl->options.num_include_dirs; i++) {
      TlSourceModule *u = source_below(s, s->impl->options.include_dirs[i], dotted);
      if (u)
         return u;
   }
   for (unsigned i = 0; i < MAX_PARENTS; i++) {
      TlSourceModule *u = source_below(s, dir, dotted);
      if (u || !*dir)
         return u;
      dir = dir_of(s, dir);
   }
   return NULL;
}

/* Where `from module import ..` names the module. */
static TlRange
module_range(TlSema *s, const TlAstImport *import)
{
   TlRange r = import->node.range;
   const char *text = tl_node_text(s, &import->node), *at = strstr(text, import->module);
   if (!at || r.begin + (size_t)(at - text) + strlen(import->module) > r.end)
      return r;
   r.begin += (uint32_t)(at - text);
   r.end = r.begin + (uint32_t)strlen(import->module);
   return r;
}

/* The value of a name that an import does not find. */
static TlSv
not_imported(TlSema *s, const char *module, const char *name, TlRange place)
{
   const char *why = name ? tl_arena_printf(s->arena, "'%s' has no name '%s'", module, name)
                          : tl_arena_printf(s->arena, "no file provides the module '%s'", module);
   TlSv lost = tl_sv_lost(s, why, place);
   TlLost *l = (TlLost *)(uintptr_t)lost.opaque;
   l->module = module;
   l->name = name;
   return lost;
}

/* What `from module import name` gives.  *missing: the module or the name does not exist. */
static TlSv
import_from(TlSema *s, const TlSourceModule *from, const TlAstImport *import,
            const TlAstAlias *alias, bool *missing)
{
   const char *name = alias->name;
   const char *module = import->module ? import->module : "";
   unsigned level = (unsigned)import->level;
   TlSourceModule *source = find_source(s, from, level, module);
   TlSv out;
   *missing = false;
   if (source) {
      TlGlobal *g = tl_global_find(s, source, name);
      if (g)
         return tl_global_value(s, source, g);
   }
   /* a submodule: from . import x, from pkg import x */
   const char *sub = *module ? tl_arena_printf(s->arena, "%s.%s", module, name) : name;
   TlSourceModule *sub_source = find_source(s, from, level, sub);
   if (sub_source)
      return module_sv(s, TL_MOD_SOURCE, 0, sub_source, sub);
   if (!source && !level) {
      TlSv m = tl_module_value(s, module);
      if (m.module->kind == TL_MOD_BUILTIN) {
         *missing = !builtin_module_attr(s, m.module, name, &out);
         if (!*missing)
            return out;
      } else {
         *missing = !tl_is_host_module(module);
         if (*missing)
            m = missing_module(s, module, module_range(s, import));
         if (tl_module_attr(s, m.module, name, &out))
            return out;
      }
   } else {
      *missing = true;
   }
   const char *dots =
      level ? tl_arena_printf(s->arena, "%.*s", (int)(level < 8 ? level : 8), "........") : "";
   if (source || !level) {
      TlSv lost = not_imported(s, source ? source->path : module, name, alias->node.range);
      ((TlLost *)(uintptr_t)lost.opaque)->source = source;
      return lost;
   }
   return not_imported(s, tl_arena_printf(s->arena, "%s%s", dots, *module ? module : sub), NULL,
                       *module ? module_range(s, import) : alias->node.range);
}

/* What `import a.b` binds, and whether it exists. */
static TlSv
import_plain(TlSema *s, const TlSourceModule *from, const TlAstAlias *alias, bool *missing)
{
   const char *bound = alias->name;
   const char *dot = strchr(bound, '.');
   TlSourceModule *whole = find_source(s, from, 0, alias->name);
   *missing = !whole && !find_builtin_module(alias->name) && !tl_is_host_module(alias->name);
   if (*missing && (alias->as_name || !dot))
      return missing_module(s, alias->name, alias->node.range);
   if (alias->as_name || !dot)
      return whole ? module_sv(s, TL_MOD_SOURCE, 0, whole, alias->name)
                   : tl_module_value(s, alias->name);
   /* `import a.b` binds `a`; its attribute b is found through the dotted name */
   bound = tl_intern(s->strings, bound, (size_t)(dot - bound));
   TlSourceModule *first = find_source(s, from, 0, bound);
   if (first)
      return module_sv(s, TL_MOD_SOURCE, 0, first, bound);
   return *missing && !find_builtin_module(bound) && !tl_is_host_module(bound)
             ? missing_module(s, bound, alias->node.range)
             : tl_module_value(s, bound);
}

/* ---- binding ---- */
static void
journal(TlSema *s, TlGlobal *g)
{
   if (s->impl->journal)
      tl_vec_push(s->arena, s->impl->journal, (TlUndo){.global = g, .before = *g});
}

void
tl_global_set(TlSema *s, TlSourceModule *source, const char *name, TlSv value, TlRange range)
{
   assert(name);
   TlGlobal *g = tl_map_get(&source->globals, name);
   if (!g) {
      g = tl_new(s->arena, TlGlobal);
      *g = (TlGlobal){.name = name, .state = TL_GLOBAL_DELETED};
      tl_vec_push(s->arena, &source->order, g);
      tl_map_put(&source->globals, name, g);
      source->frame->rebinds++;
   }
   journal(s, g);
   s->impl->changes++;
   tl_assumed(s, name, &value);
   *g = (TlGlobal){.name = name, .range = range, .value = value, .seq = ++s->impl->seq};
}

const char *
tl_import_name(TlSema *s, const TlAstImport *import, const TlAstAlias *a)
{
   if (a->as_name)
      return a->as_name;
   const char *dot = import->is_from ? NULL : strchr(a->name, '.');
   return dot ? tl_intern(s->strings, a->name, (size_t)(dot - a->name)) : a->name;
}

static TlSv
import_alias(TlSema *s, const TlSourceModule *source, const TlAstImport *import,
             const TlAstAlias *a, bool *missing)
{
   return import->is_from ? import_from(s, source, import, a, missing)
                          : import_plain(s, source, a, missing);
}

TlSv
tl_import_value(TlSema *s, const TlAstImport *import, const TlAstAlias *a)
{
   bool missing;
   return import_alias(s, s->impl->main, import, a, &missing);
}

bool
tl_import_place(TlSema *s, const TlAstImport *import, const TlAstAlias *a, TlRange *range)
{
   TlSourceModule *source = import->is_from ? find_source(s, s->impl->main, (unsigned)import->level,
                                                          import->module ? import->module : "")
                                            : NULL;
   const TlGlobal *g = source ? tl_global_find(s, source, a->name) : NULL;
   if (g)
      *range = g->range;
   return g != NULL;
}

/* Inside `try`, where a missing module makes a difference: false after an error.  What no file
 * provides counts as not installed. */
static bool
check_exists(TlSema *s, const TlSourceModule *source, const TlAstImport *import,
             const TlAstAlias *a)
{
   bool missing = false;
   TlSv v = import_alias(s, source, import, a, &missing);
   if (!missing && v.kind != TL_SV_POISON)
      return true;
   tl_report(s->diags, E0259, import->node.range, "import",
             v.kind == TL_SV_OPAQUE ? v.opaque->why : "the module is not known");
   tl_raise_as(s, "ModuleNotFoundError");
   tl_report(s->impl->diags, R0205, import->node.range, tl_node_text(s, &import->node));
   return false;
}

bool
tl_import_into(TlSema *s, TlFrame *f, const TlAstImport *import)
{
   TlSourceModule *source = f->source ? f->source : s->impl->main;
   if (import->is_star) {
      tl_vec_push(s->arena, &source->stars, (TlStar){import, ++s->impl->seq});
      return true;
   }
   for (size_t i = 0; i < import->names.len; i++) {
      const TlAstAlias *a = tl_ast_Alias(import->names.data[i]);
      const char *name = tl_import_name(s, import, a);
      TlRange range = import->names.data[i]->range;
      bool missing;
      if (s->impl->tries && !check_exists(s, source, import, a))
         return false;
      if (!f->is_module) {
         tl_frame_set(s, f, name, import_alias(s, source, import, a, &missing), range);
         continue;
      }
      TlSv stated;
      tl_global_set(s, source, name, tl_sv_none(), range);
      TlGlobal *g = tl_map_get(&source->globals, name);
      g->import = import;
      g->alias = a;
      g->state = tl_assumed(s, name, &stated) ? TL_GLOBAL_READY : TL_GLOBAL_LAZY;
   }
   return true;
}

/* ---- functions ---- */
static const char *
last_component(const TlNode *n)
{
   while (n->kind == TL_AST_CALL)
      n = tl_ast_Call(n)->func;
   if (n->kind == TL_AST_NAME)
      return tl_ast_Name(n)->id;
   return n->kind == TL_AST_ATTRIBUTE ? tl_ast_Attribute(n)->name : "";
}

/* Gluon's kernels are another language. */
bool
tl_is_gluon_decorator(const TlNode *decorator)
{
   while (decorator->kind == TL_AST_CALL)
      decorator = tl_ast_Call(decorator)->func;
   return decorator->kind == TL_AST_ATTRIBUTE && tl_ends_with(last_component(decorator), "jit") &&
          strcmp(last_component(tl_ast_Attribute(decorator)->value), "gluon") == 0;
}

bool
tl_is_jit_decorator(const TlNode *decorator)
{
   const char *last = last_component(decorator);
   return (strcmp(last, "kernel") == 0 || tl_ends_with(last, "jit")) &&
          !tl_is_gluon_decorator(decorator);
}

bool
tl_has_jit_decorator(const TlNodeList *decorators)
{
   for (size_t i = 0; i < decorators->len; i++)
      if (tl_is_jit_decorator(decorators->data[i]))
         return true;
   return false;
}

TlSvFunc *
tl_func_value(TlSema *s, TlSourceModule *source, TlFrame *closure, const TlNode *node)
{
   TlSvFunc *fn = tl_new(s->arena, TlSvFunc);
   *fn = (TlSvFunc){.name = "<lambda>", .node = node, .source = source, .closure = closure};
   if (node->kind == TL_AST_CLASS) {
      fn->name = tl_ast_Class(node)->name;
   } else if (node->kind == TL_AST_FUNCTION) {
      const TlAstFunction *f = tl_ast_Function(node);
      fn->name = f->name;
      bool is_host = false;
      for (size_t i = 0; i < f->decorators.len; i++) {
         fn->is_entry |= tl_is_jit_decorator(f->decorators.data[i]);
         is_host |= strcmp(last_component(f->decorators.data[i]), "constexpr_function") == 0;
      }
      fn->is_compiled = (fn->is_entry || (source && source->is_tile)) && !is_host;
      fn->is_entry |= source && source->is_tile && !is_host;
   } else {
      fn->is_compiled = source && source->is_tile;
   }
   return fn;
}

/* ---- loading ---- */
TlFrame *
tl_module_frame(TlSema *s, TlSourceModule *source)
{
   TlActivation *act = tl_new(s->arena, TlActivation);
   act->is_host = true;
   act->errors = s->diags->num_errors;
   act->caller = s->impl->act;
   return tl_frame_new(s, NULL, source, act);
}

TlSourceModule *
tl_load_source(TlSema *s, TlAstModule *ast, const char *path, bool is_stdlib)
{
   TlSourceModule *source = tl_new(s->arena, TlSourceModule);
   source->ast = ast;
   source->file = ast->node.range.file;
   source->path = tl_arena_strdup(s->arena, path);
   source->is_tile = !tl_is_python_file(path);
   source->is_stdlib = is_stdlib;
   tl_map_init(&source->globals, s->arena);
   if (!s->impl->main)
      s->impl->main = source;
   tl_vec_push(s->arena, &s->impl->loaded, source); /* before its imports: cycles find it */
   tl_take_called_decorators(s, ast);
   tl_run_module(s, source);
   return source;
}

/* ---- asking for a name ---- */
const TlSourceModule *
tl_star_source(TlSema *s, const TlSourceModule *source, const TlStar *star)
{
   const TlAstImport *n = star->import;
   const TlSourceModule *from =
      find_source(s, source, (unsigned)n->level, n->module ? n->module : "");
   return from == source ? NULL : from;
}

/* What `from m import *` gives for the name; false: nothing. */
static bool
starred(TlSema *s, TlSourceModule *source, const TlAstImport *star, const char *name, TlSv *out)
{
   bool missing = false;
   TlSourceModule *from =
      find_source(s, source, (unsigned)star->level, star->module ? star->module : "");
   if (from == source)
      return false;
   if (!from) {
      if (!star->module || !find_builtin_module(star->module))
         return false;
      TlAstAlias alias = {.name = name};
      alias.node.range = star->node.range;
      *out = import_from(s, source, star, &alias, &missing);
      return !missing;
   }
   if (s->depth > TL_MAX_CALLS)
      return false;
   s->depth++;
   TlGlobal *theirs = tl_global_find(s, from, name);
   s->depth--;
   if (!theirs || theirs->state == TL_GLOBAL_DELETED)
      return false;
   *out = tl_global_value(s, from, theirs);
   return true;
}

TlGlobal *
tl_global_find(TlSema *s, TlSourceModule *source, const char *name)
{
   TlGlobal *g = tl_map_get(&source->globals, name);
   bool is_bound = g && g->state != TL_GLOBAL_DELETED;
   for (size_t i = source->stars.len; i-- > 0 && name[0] != '_';) {
      const TlStar *star = &source->stars.data[i];
      TlSv v;
      if (is_bound && g->seq > star->seq)
         return g;
      if (!starred(s, source, star->import, name, &v))
         continue;
      tl_global_set(s, source, name, v, star->import->node.range);
      return tl_map_get(&source->globals, name);
   }
   return is_bound ? g : NULL;
}

TlSv
tl_global_value(TlSema *s, TlSourceModule *source, TlGlobal *g)
{
   assert(g && source);
   if (g->state == TL_GLOBAL_FORCING)
      return tl_sv_lost(s, "a name that is imported by itself", g->range);
   if (g->state == TL_GLOBAL_LAZY) {
      bool missing;
      g->state = TL_GLOBAL_FORCING;
      g->value = import_alias(s, source, g->import, g->alias, &missing);
      g->state = TL_GLOBAL_READY;
   }
   return g->value;
}

/* ---- the embedded library ---- */
TlSv
tl_sema_stdlib(TlSema *s, const char *module, const char *name)
{
   TlSourceModule *source = stdlib_source(s, module);
   TlGlobal *g = source ? tl_global_find(s, source, tl_intern_cstr(s->strings, name)) : NULL;
   assert(g && "a row of builtins.def names a function of stdlib/");
   return tl_global_value(s, source, g);
}
