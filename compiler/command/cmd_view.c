/* tilec view: a page about a kernel, or a picture of a layout. */
#include "command/command.h"
#include "command/ptxas.h"
#include "jit/ptxas.h"
#include "view/view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Viewing {
   TlCompilation *comp;
   TlView *view;
} Viewing;

static void
reached(void *user, const TlFunc *f)
{
   Viewing *w = user;
   tl_view_reached(w->view, f, w->comp->passes.places.data, w->comp->passes.places.len);
}

/* ---- machine code ---- */
static const char *
find_disassembler(TlCommand *c, const char *ptxas, const char **why)
{
   const char *asked = tl_option(&c->cl, TL_OPT_DISASSEMBLER);
   static const char *const names[] = {"nvdisasm", "cuobjdump"};
   if (asked && strcmp(asked, "none") == 0) {
      *why = "left out, as --disassembler=none says";
      return NULL;
   }
   if (asked && access(asked, X_OK) != 0)
      *why = tl_arena_printf(c->arena, "'%s' is not a program that can be run", asked);
   if (asked)
      return access(asked, X_OK) == 0 ? asked : NULL;
   const char *slash = strrchr(ptxas, '/');
   for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
      const char *beside =
         tl_arena_printf(c->arena, "%.*s%s", slash ? (int)(slash + 1 - ptxas) : 0, ptxas, names[i]);
      const char *found = tl_tool_find(c->arena, names[i]);
      if (found || access(beside, X_OK) == 0)
         return found ? found : beside;
   }
   *why =
      "neither nvdisasm nor cuobjdump is in PATH, beside ptxas or in /usr/local/cuda/bin; they "
      "come with the CUDA toolkit (in Python's registry as nvidia-cuda-nvdisasm); name one with "
      "--disassembler=PATH";
   return NULL;
}

static bool
ends_in(const char *path, const char *name)
{
   size_t n = strlen(path), m = strlen(name);
   return n >= m && strcmp(path + n - m, name) == 0;
}

/* What the disassembler prints; NULL: *why says what went wrong. */
static const char *
disassemble(TlCommand *c, const char *program, const char *cubin, const char **why)
{
   bool has_lines = !ends_in(program, "cuobjdump");
   char *lines[] = {(char *)(uintptr_t)program, "-c", "-g", (char *)(uintptr_t)cubin, NULL};
   char *plain[] = {(char *)(uintptr_t)program, "-sass", (char *)(uintptr_t)cubin, NULL};
   TlPtxasRun run = {.program = program, .keep_environment = true, .limit_ms = 60000};
   TlPtxasResult r;
   bool good = tl_ptxas_tool(&run, has_lines ? lines : plain, &r);
   const char *text = r.said ? r.said : "";
   bool is_cut = strlen(text) >= TL_PTXAS_MOST_SAID;
   text = tl_arena_printf(c->arena, "%s%s", text,
                          is_cut ? "\n// ... and more, which this page leaves out\n" : "");
   if (!good)
      *why =
         tl_arena_printf(c->arena, "'%s' failed: %s", program, r.error ? strerror(r.error) : text);
   tl_ptxas_done(&r);
   return good ? text : NULL;
}

static bool
write_cubin(const char *path, const TlPtxasResult *made)
{
   FILE *f = fopen(path, "wb");
   bool ok = f && fwrite(made->cubin, 1, made->len, f) == made->len;
   return (!f || fclose(f) == 0) && ok;
}

static void
add_sass(TlCommand *c, TlView *view, const char *ptxas, const char *folder,
         const TlPtxasResult *made)
{
   const char *why = NULL, *text = NULL;
   const char *program = find_disassembler(c, ptxas, &why);
   const char *path = tl_arena_printf(c->arena, "%s/kernel.cubin", folder);
   if (program && !write_cubin(path, made))
      why = "no temporary file can be written";
   else if (program)
      text = disassemble(c, program, path, &why);
   unlink(path);
   if (text)
      tl_view_sass(view, text, strlen(text));
   else
      tl_view_no_sass(view, why);
}

/* Runs ptxas and a disassembler; what ptxas said, or NULL. */
static const char *
machine_code(TlCommand *c, const TilecCompileOptions *o, TlCompilation *comp, TlView *view)
{
   const char *asked = tl_option(&c->cl, TL_OPT_PTXAS);
   bool is_wanted = !asked || strcmp(asked, "none") != 0;
   const char *ptxas = is_wanted ? tl_ptxas_find(c->arena, asked) : NULL;
   const char *folder = ptxas ? tl_tool_folder(c->arena) : NULL;
   if (!folder) {
      tl_view_no_sass(view, !is_wanted ? "left out, as --ptxas=none says"
                            : !ptxas   ? "needs ptxas, which is neither in PATH nor in "
                                         "/usr/local/cuda/bin; name it with --ptxas=PATH"
                                       : "no temporary folder can be made");
      return NULL;
   }
   TlPtxasRun run = {.program = ptxas,
                     .arch = comp->target->arch,
                     .line_info = true,
                     .in = tl_arena_printf(c->arena, "%s/kernel.ptx", folder),
                     .out = tl_arena_printf(c->arena, "%s/kernel.cubin", folder),
                     .verbose = true,
                     .keep_environment = true,
                     .limit_ms = o->timeout_ms ? o->timeout_ms : TL_PTXAS_LIMIT_MS};
   TlPtxasResult made;
   const char *said = NULL;
   if (tl_ptxas_run(&run, comp->text[TILEC_STAGE_PTX], comp->text_len[TILEC_STAGE_PTX], &made)) {
      said = tl_arena_strdup(c->arena, made.said ? made.said : "");
      add_sass(c, view, ptxas, folder, &made);
   } else {
      tl_view_no_sass(view, tl_arena_printf(c->arena, "'%s' made no machine code: %s", ptxas,
                                            made.error  ? strerror(made.error)
                                            : made.said ? made.said
                                                        : "it failed"));
   }
   tl_ptxas_done(&made);
   rmdir(folder);
   return said;
}

/* ---- the page ---- */
/* What the page shows at its lines need not be printed as well, unless -R asked for it. */
static void
show_diagnostics(TlCommand *c, TlCompilation *comp)
{
   TlDiag **link = &comp->diags.first;
   while (*link && !tl_option(&c->cl, TL_OPT_REMARKS))
      if ((*link)->severity == TL_SEV_REMARK)
         *link = (*link)->next;
      else
         link = &(*link)->next;
   tl_cmd_diagnostics(c, comp);
}

static int
write_page(TlCommand *c, const TilecCompileOptions *o, TlCompilation *comp, TlView *view)
{
   TlViewFacts facts = {.producer = tl_arena_printf(c->arena, "tilec %s", tilec_version()),
                        .target = comp->target};
   TlSb page;
   tl_sb_init(&page, c->arena);
   tl_view_ptx(view, comp->text[TILEC_STAGE_PTX], comp->text_len[TILEC_STAGE_PTX]);
   facts.ptxas_words = machine_code(c, o, comp, view);
   tl_view_page(view, &facts, &comp->diags, &page);
   show_diagnostics(c, comp);
   return tl_cmd_extras(c, comp, comp->func->name) &&
                tl_cmd_write(c, tl_option(&c->cl, TL_OPT_OUT), page.data, page.len)
             ? EXIT_OK
             : EXIT_ENVIRONMENT;
}

/* ---- a layout ---- */
static int
write_svg(TlCommand *c, const TlLinear *layout, unsigned elem_bytes, const char *title)
{
   TlSb svg;
   tl_sb_init(&svg, c->arena);
   tl_view_layout_svg(layout, elem_bytes, title, &svg);
   return tl_cmd_write(c, tl_option(&c->cl, TL_OPT_OUT), svg.data, svg.len) ? EXIT_OK
                                                                            : EXIT_ENVIRONMENT;
}

/* No larger than IR may have them: a text can ask for more than can be drawn. */
static bool
is_of_a_tile(const TlLinear *l)
{
   enum { MOST_IN_BITS = 22 };
   uint64_t elems = 1, repeats = 1;
   for (unsigned d = 0; d < l->rank; d++) {
      elems *= (uint64_t)l->repeat[d] << l->log2_dim[d];
      repeats *= l->repeat[d];
      if (!repeats || elems > TL_MAX_TILE_ELEMS)
         return false;
   }
   unsigned bits = tl_ll_in_bits(l);
   return l->rank > 0 && bits <= MOST_IN_BITS && repeats << bits <= 1u << MOST_IN_BITS;
}

/* "{shape=[8,8], ..}" or "{..}:fp16" */
static int
view_layout_text(TlCommand *c, const char *text)
{
   TlLinear layout;
   const char *at = text;
   unsigned bytes = 4;
   if (!tl_ll_read(&at, &layout) || !tl_ll_is_valid(&layout))
      return tl_cmd_misuse("'%s' is no layout; IR prints one as {shape=[8,8], reg=[[0,1],[0,2]], "
                           "lane=[[0,4],[1,0],[2,0],[4,0]], warp=[], block=[]}",
                           text);
   if (!is_of_a_tile(&layout))
      return tl_cmd_misuse("'%s' is not of a tile: these have 1 to %d elements, held by at most "
                           "1024 threads",
                           text, TL_MAX_TILE_ELEMS);
   for (unsigned t = 0; *at == ':' && t < TL_DTYPE_COUNT; t++)
      if (strcmp(tl_dtype_info[t].text, at + 1) == 0) {
         bytes = tl_dtype_info[t].bytes;
         at += strlen(at);
      }
   if (*at)
      return tl_cmd_misuse("after a layout may stand :DTYPE, as in :fp16; found '%s'", at);
   TlSb title;
   tl_sb_init(&title, c->arena);
   for (unsigned d = 0; d < layout.rank; d++)
      tl_sb_printf(&title, "%s%u", d ? "x" : "", layout.repeat[d] << layout.log2_dim[d]);
   return write_svg(c, &layout, bytes, tl_sb_cstr(&title));
}

static int
view_layout_of(TlCommand *c, TlCompilation *comp, TlView *view, const char *name)
{
   unsigned bytes;
   const char *title;
   const TlLinear *layout = tl_view_find_layout(view, name, &bytes, &title);
   show_diagnostics(c, comp);
   if (layout)
      return write_svg(c, layout, bytes, title);
   tl_cmd_error("no value with a layout is called '%s' in the LAID IR of '%s'; --emit=laid of "
                "tilec build prints it",
                name, comp->func->name);
   return EXIT_PROGRAM;
}

/* ---- the command ---- */
static int
view(TlCommand *c, const TilecCompileOptions *o, TlCompileExtra *extra, TlCompilation *comp)
{
   const char *layout = tl_option(&c->cl, TL_OPT_LAYOUT);
   Viewing w = {.comp = comp};
   TilecStatus status = tl_compilation_init(comp, NULL, extra);
   if (status == TILEC_OK && setjmp(comp->oom)) {
      tl_cmd_error("%s", tilec_status_string(TILEC_NO_MEMORY));
      return EXIT_LIMIT;
   }
   if (status == TILEC_OK) {
      w.view = tl_view_new(comp->arena, comp->sources);
      extra->reached = reached;
      extra->reached_user = &w;
      status = tl_compile(comp, o, extra);
   }
   if (status != TILEC_OK)
      return tl_cmd_failed(c, comp, status);
   if (setjmp(comp->oom)) {
      tl_cmd_error("%s", tilec_status_string(TILEC_NO_MEMORY));
      return EXIT_LIMIT;
   }
   return layout ? view_layout_of(c, comp, w.view, layout) : write_page(c, o, comp, w.view);
}

int
tl_cmd_view(TlCommand *c)
{
   TilecCompileOptions o;
   TlCompileExtra extra;
   TlCompilation comp;
   const char *layout = tl_option(&c->cl, TL_OPT_LAYOUT);
   if (layout && layout[0] == '{' && !c->cl.operands.len)
      return view_layout_text(c, layout);
   if (c->cl.operands.len != 1)
      return tl_cmd_misuse("'view' takes one file; %zu were given", c->cl.operands.len);
   if (!tl_cmd_options(c, &o, &extra))
      return EXIT_USAGE;
   if (!tl_cmd_native_arch(c, &o))
      return EXIT_ENVIRONMENT;
   o.debug_info = true;
   o.stop_after = layout ? TILEC_STAGE_LAID : TILEC_STAGE_PTX;
   if (!o.remarks && !layout)
      o.remarks = "all";
   int code = view(c, &o, &extra, &comp);
   tl_compilation_free(&comp);
   return code;
}
