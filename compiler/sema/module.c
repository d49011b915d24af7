/* Files, their module-level names, and imports.  Loading a file binds names without evaluating
 * them; only the conditions of module-level `if` and the success of imports under `try` are decided
 * then.
 * Invariant: a name's binding that is being evaluated (FORCING) sees the binding that it replaced,
 * so that `f = wrap(f)` and cyclic imports end. */
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
tl_quietly(TlSema *s, TlSv (*fn)(TlSema *, void *), void *user, const char **why)
{
   TlDiags *saved = s->diags, quiet;
   tl_diags_init(&quiet, s->arena, s->sources);
   s->diags = &quiet;
   TlSv v = fn(s, user);
   s->diags = saved;
   const TlDiag *first = quiet.first;
   while (first && first->severity != TL_SEV_ERROR)
      first = first->next;
   if (why)
      *why = first ? first->text : NULL;
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
tl_quiet_value(TlSema *s, TlFrame *f, const TlNode *n, const char **why)
{
   Expr e = {f, n};
   return tl_quietly(s, eval_node, &e, why);
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

static const BuiltinModule *
find_builtin_module(const char *dotted)
{
   for (size_t i = 0; i < sizeof builtin_module / sizeof builtin_module[0]; i++)
      if (strcmp(builtin_module[i].name, dotted) == 0)
         return &builtin_module[i];
   return NULL;
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
      TlSourceModule *source =
         tl_is_host_module(m->name) ? NULL : find_source(s, s->impl->main, 0, dotted);
      if (source)
         *out = module_sv(s, TL_MOD_SOURCE, 0, source, dotted);
      else if (!tl_host_module_attr(s, m->name, name, out))
         *out = module_sv(s, TL_MOD_HOST, 0, NULL, dotted);
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

static const char *
dir_of(TlSema *s, const char *path)
{
   const char *slash = strrchr(path, '/');
   return slash ? tl_arena_strndup(s->arena, path, (size_t)(slash - path)) : "";
}

enum { MAX_PARENTS = 12 };

/* The source that `dotted` names, seen from a file; NULL if no file is it. */
static TlSourceModule *
find_source(TlSema *s, const TlSourceModule *from, unsigned level, const char *dotted)
{
   const char *dir = dir_of(s, from->path);
   if (level) {
      for (unsigned i = 1; i < level; i++)
         dir = *dir ? dir_of(s, dir) : "..";
      return source_below(s, dir, dotted);
   }
   if (find_builtin_module(dotted) || tl_is_host_module(dotted))
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

/* What `from module import name` gives.  *missing: the module or the name does not exist. */
static TlSv
import_from(TlSema *s, const TlSourceModule *from, const TlAstImport *import, const char *name,
            bool *missing)
{
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
         if (tl_module_attr(s, m.module, name, &out))
            return out;
      }
   } else {
      *missing = true;
   }
   const char *dots =
      level ? tl_arena_printf(s->arena, "%.*s", (int)(level < 8 ? level : 8), "........") : "";
   const char *why =
      source ? tl_arena_printf(s->arena, "'%s' has no name '%s'", source->path, name)
             : tl_arena_printf(s->arena, "no file provides the module '%s%s'", dots, module);
   return (TlSv){.kind = TL_SV_OPAQUE, .opaque = why};
}

/* What `import a.b` binds, and whether it exists. */
static TlSv
import_plain(TlSema *s, const TlSourceModule *from, const TlAstAlias *alias, bool *missing)
{
   const char *bound = alias->name;
   const char *dot = strchr(bound, '.');
   TlSourceModule *whole = find_source(s, from, 0, alias->name);
   *missing = !whole && !find_builtin_module(alias->name) && !tl_is_host_module(alias->name);
   if (alias->as_name || !dot)
      return whole ? module_sv(s, TL_MOD_SOURCE, 0, whole, alias->name)
                   : tl_module_value(s, alias->name);
   /* `import a.b` binds `a`; its attribute b is found through the dotted name */
   bound = tl_intern(s->strings, bound, (size_t)(dot - bound));
   TlSourceModule *first = find_source(s, from, 0, bound);
   return first ? module_sv(s, TL_MOD_SOURCE, 0, first, bound) : tl_module_value(s, bound);
}

/* ---- binding ---- */
static TlGlobal *
bind(TlSema *s, TlSourceModule *source, const char *name, TlRange range)
{
   assert(name);
   TlGlobal *g = tl_new(s->arena, TlGlobal);
   *g = (TlGlobal){.name = name, .range = range, .index = -1, .state = TL_GLOBAL_LAZY};
   g->earlier = tl_map_get(&source->globals, name);
   if (!g->earlier)
      tl_vec_push(s->arena, &source->order, g);
   tl_map_put(&source->globals, name, g);
   return g;
}

static void
bind_value(TlSema *s, TlSourceModule *source, const char *name, TlRange range, TlSv value)
{
   TlGlobal *g = bind(s, source, name, range);
   g->state = TL_GLOBAL_READY;
   g->value = value;
}

static void
bind_target(TlSema *s, TlSourceModule *source, const TlNode *target, const TlNode *value, int index)
{
   if (target->kind == TL_AST_NAME) {
      TlGlobal *g = bind(s, source, tl_ast_Name(target)->id, target->range);
      g->expr = value;
      g->index = index;
   } else if ((target->kind == TL_AST_TUPLE || target->kind == TL_AST_LIST) && index < 0) {
      const TlNodeList *items =
         target->kind == TL_AST_TUPLE ? &tl_ast_Tuple(target)->items : &tl_ast_List(target)->items;
      for (size_t i = 0; i < items->len; i++)
         bind_target(s, source, items->data[i], value, (int)i);
   }
}

static const char *
alias_bound_name(TlSema *s, const TlAstImport *import, const TlAstAlias *a)
{
   if (a->as_name)
      return a->as_name;
   const char *dot = import->is_from ? NULL : strchr(a->name, '.');
   return dot ? tl_intern(s->strings, a->name, (size_t)(dot - a->name)) : a->name;
}

static void
bind_import(TlSema *s, TlSourceModule *source, const TlAstImport *import)
{
   assert(import->is_star || import->names.len > 0);
   if (import->is_star) {
      tl_vec_push(s->arena, &source->stars, import);
      return;
   }
   for (size_t i = 0; i < import->names.len; i++) {
      const TlAstAlias *a = tl_ast_Alias(import->names.data[i]);
      TlGlobal *g = bind(s, source, alias_bound_name(s, import, a), import->names.data[i]->range);
      g->import = import;
      g->alias = a;
   }
}

static TlSv
import_alias(TlSema *s, const TlSourceModule *source, const TlAstImport *import,
             const TlAstAlias *a, bool *missing)
{
   return import->is_from ? import_from(s, source, import, a->name, missing)
                          : import_plain(s, source, a, missing);
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

bool
tl_is_jit_decorator(const TlNode *decorator)
{
   const char *last = last_component(decorator);
   size_t n = strlen(last);
   return strcmp(last, "kernel") == 0 || (n >= 3 && strcmp(last + n - 3, "jit") == 0);
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

/* ---- module-level statements ---- */
static void load_stmts(TlSema *s, TlSourceModule *source, const TlNodeList *stmts, unsigned depth);

TlFrame *
tl_module_frame(TlSema *s, TlSourceModule *source)
{
   TlActivation *act = tl_new(s->arena, TlActivation);
   act->is_host = true;
   act->caller = s->impl->act;
   return tl_frame_new(s, NULL, source, act);
}

static void
load_if(TlSema *s, TlSourceModule *source, const TlAstIf *n, unsigned depth)
{
   TlSv v = tl_quiet_value(s, tl_module_frame(s, source), n->test, NULL);
   bool unknown = v.kind == TL_SV_POISON || v.kind == TL_SV_OPAQUE || v.kind == TL_SV_MODULE;
   if (unknown) { /* either may be meant: the body's names win */
      load_stmts(s, source, &n->orelse, depth);
      load_stmts(s, source, &n->body, depth);
   } else {
      load_stmts(s, source, tl_const_truth(&v) ? &n->body : &n->orelse, depth);
   }
}

static bool
imports_exist(TlSema *s, TlSourceModule *source, const TlNodeList *stmts)
{
   for (size_t i = 0; i < stmts->len; i++) {
      if (!stmts->data[i] || stmts->data[i]->kind != TL_AST_IMPORT)
         continue;
      const TlAstImport *import = tl_ast_Import(stmts->data[i]);
      for (size_t k = 0; k < import->names.len; k++) {
         bool missing = false;
         TlSv v = import_alias(s, source, import, tl_ast_Alias(import->names.data[k]), &missing);
         if (missing || v.kind == TL_SV_POISON)
            return false;
      }
   }
   return true;
}

static void
load_try(TlSema *s, TlSourceModule *source, const TlAstTry *n, unsigned depth)
{
   if (imports_exist(s, source, &n->body)) {
      load_stmts(s, source, &n->body, depth);
      load_stmts(s, source, &n->orelse, depth);
   } else {
      load_stmts(s, source, &n->body, depth); /* names that the handler does not bind */
      if (n->handlers.len)
         load_stmts(s, source, &tl_ast_Except(n->handlers.data[0])->body, depth);
   }
   load_stmts(s, source, &n->finally_body, depth);
}

static void
load_assign(TlSema *s, TlSourceModule *source, const TlNode *stmt)
{
   if (stmt->kind == TL_AST_ASSIGN) {
      const TlAstAssign *a = tl_ast_Assign(stmt);
      for (size_t i = 0; i < a->targets.len; i++)
         bind_target(s, source, a->targets.data[i], a->value, -1);
   } else if (stmt->kind == TL_AST_ANN_ASSIGN) {
      const TlAstAnnAssign *a = tl_ast_AnnAssign(stmt);
      if (a->value)
         bind_target(s, source, a->target, a->value, -1);
   } else {
      const TlAstAugAssign *a = tl_ast_AugAssign(stmt); /* x += v means x = x + v */
      TlAstBinary *sum = tl_ast_new_Binary(s->arena, stmt->range);
      sum->op = a->op;
      sum->left = a->target;
      sum->right = a->value;
      bind_target(s, source, a->target, &sum->node, -1);
   }
}

enum { MAX_LOAD_DEPTH = 64 };

static void
load_stmt(TlSema *s, TlSourceModule *source, const TlNode *stmt, unsigned depth)
{
   switch (stmt->kind) {
   case TL_AST_FUNCTION:
   case TL_AST_CLASS: {
      TlSvFunc *fn = tl_func_value(s, source, NULL, stmt);
      if (stmt->kind == TL_AST_FUNCTION)
         tl_vec_push(s->arena, &source->functions, fn);
      bind_value(s, source, fn->name, stmt->range, (TlSv){.kind = TL_SV_FUNC, .func = fn});
      break;
   }
   case TL_AST_IMPORT:
      bind_import(s, source, tl_ast_Import(stmt));
      break;
   case TL_AST_ASSIGN:
   case TL_AST_ANN_ASSIGN:
   case TL_AST_AUG_ASSIGN:
      load_assign(s, source, stmt);
      break;
   case TL_AST_IF:
      load_if(s, source, tl_ast_If(stmt), depth + 1);
      break;
   case TL_AST_TRY:
      load_try(s, source, tl_ast_Try(stmt), depth + 1);
      break;
   case TL_AST_WITH:
      load_stmts(s, source, &tl_ast_With(stmt)->body, depth + 1);
      break;
   case TL_AST_RETURN:
      tl_report(s->diags, E0233, stmt->range);
      break;
   default: /* host statements */
      break;
   }
}

static void
load_stmts(TlSema *s, TlSourceModule *source, const TlNodeList *stmts, unsigned depth)
{
   assert(source);
   for (size_t i = 0; i < stmts->len && depth < MAX_LOAD_DEPTH; i++)
      if (stmts->data[i])
         load_stmt(s, source, stmts->data[i], depth);
}

TlSourceModule *
tl_load_source(TlSema *s, TlAstModule *ast, const char *path, bool is_stdlib)
{
   TlSourceModule *source = tl_new(s->arena, TlSourceModule);
   source->ast = ast;
   source->file = ast->node.range.file;
   source->path = tl_arena_strdup(s->arena, path);
   size_t n = strlen(path);
   source->is_tile = !(n > 3 && strcmp(path + n - 3, ".py") == 0);
   source->is_stdlib = is_stdlib;
   tl_map_init(&source->globals, s->arena);
   if (!s->impl->main)
      s->impl->main = source;
   tl_vec_push(s->arena, &s->impl->loaded, source); /* before its imports: cycles find it */
   load_stmts(s, source, &source->ast->body, 0);
   return source;
}

/* ---- asking for a name ---- */
TlGlobal *
tl_global_find(TlSema *s, TlSourceModule *source, const char *name)
{
   TlGlobal *g = tl_map_get(&source->globals, name);
   if (g)
      return g;
   for (size_t i = source->stars.len; i-- > 0 && name[0] != '_';) {
      const TlAstImport *star = source->stars.data[i];
      bool missing = false;
      TlSourceModule *from =
         find_source(s, source, (unsigned)star->level, star->module ? star->module : "");
      TlSv v;
      if (from == source)
         continue;
      if (from) {
         if (s->depth > TL_MAX_CALLS)
            return NULL;
         s->depth++;
         TlGlobal *theirs = tl_global_find(s, from, name);
         s->depth--;
         if (!theirs)
            continue;
         v = tl_global_value(s, from, theirs);
      } else {
         if (!star->module || !find_builtin_module(star->module))
            continue;
         v = import_from(s, source, star, name, &missing);
         if (missing)
            continue;
      }
      bind_value(s, source, name, star->node.range, v);
      return tl_map_get(&source->globals, name);
   }
   return NULL;
}

static TlSv
unpacked(TlSema *s, const TlGlobal *g, TlSv v)
{
   TlSv *items;
   size_t len;
   if (g->index < 0 || v.kind == TL_SV_OPAQUE || v.kind == TL_SV_MODULE || v.kind == TL_SV_POISON)
      return v;
   if (!tl_iterate(s, &v, g->range, &items, &len) || (size_t)g->index >= len)
      return tl_sv_poison();
   return items[g->index];
}

static TlSv
force_expr(TlSema *s, void *user)
{
   const void **pair = user;
   TlSourceModule *source = (TlSourceModule *)(uintptr_t)pair[0];
   const TlGlobal *g = pair[1];
   return unpacked(s, g, tl_eval_expr(s, tl_module_frame(s, source), g->expr));
}

TlSv
tl_global_value(TlSema *s, TlSourceModule *source, TlGlobal *g)
{
   assert(g && source);
   while (g && g->state == TL_GLOBAL_FORCING)
      g = g->earlier;
   if (!g)
      return (TlSv){.kind = TL_SV_OPAQUE, .opaque = "a name that is defined by itself"};
   if (g->state == TL_GLOBAL_READY)
      return g->value;
   g->state = TL_GLOBAL_FORCING;
   if (g->import) {
      bool missing;
      g->value = import_alias(s, source, g->import, g->alias, &missing);
   } else {
      const void *pair[2] = {source, g};
      const char *why = NULL;
      g->value = tl_quietly(s, force_expr, pair, &why);
      if (g->value.kind == TL_SV_POISON)
         g->value = (TlSv){.kind = TL_SV_OPAQUE,
                           .opaque = tl_arena_printf(s->arena, "'%s' (%s)", g->name,
                                                     why ? why : "not understood")};
   }
   g->state = TL_GLOBAL_READY;
   return g->value;
}

bool
tl_import_into(TlSema *s, TlFrame *f, const TlAstImport *import)
{
   for (size_t i = 0; i < import->names.len; i++) {
      const TlAstAlias *a = tl_ast_Alias(import->names.data[i]);
      bool missing;
      TlSv v = import_alias(s, f->source ? f->source : s->impl->main, import, a, &missing);
      tl_frame_set(s, f, alias_bound_name(s, import, a), v, import->node.range);
   }
   return true;
}

/* ---- the embedded library ---- */
TlSv
tl_sema_stdlib(TlSema *s, const char *module, const char *name)
{
   const char *key = tl_intern_cstr(s->strings, module);
   TlSourceModule *source = tl_map_get(&s->impl->stdlib, key);
   if (!source) {
      size_t len;
      const char *text = tl_stdlib_text(module, &len);
      if (text) {
         const char *path = tl_arena_printf(s->arena, "<stdlib>/%s.tile", module);
         source = tl_load_source(s, parse_text(s, path, text, len), path, true);
         tl_map_put(&s->impl->stdlib, key, source);
      }
   }
   TlGlobal *g = source ? tl_global_find(s, source, tl_intern_cstr(s->strings, name)) : NULL;
   assert(g && "a row of builtins.def names a function of stdlib/");
   return tl_global_value(s, source, g);
}
