/* tilec view: a page about a kernel, or a picture of a layout. */
#include "command/command.h"
#include "command/ptxas.h"
#include "jit/ptxas.h"
#include "view/view.h"

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
/* What machine code is made and shown with, and what the page says without. */
typedef struct Tools {
   const char *ptxas, *disassembler; /* NULL: none */
   const char *why_no_ptxas, *why_no_disassembler;
} Tools;

/* nvdisasm, whose output names lines, wherever it is, before cuobjdump. */
static bool
find_tools(TlCommand *c, Tools *t)
{
   bool is_asked;
   *t = (Tools){0};
   if (!tl_ptxas_find(c, &t->ptxas) ||
       !tl_tool_asked(c, TL_OPT_DISASSEMBLER, &t->disassembler, &is_asked))
      return false;
   t->why_no_ptxas = tl_option(&c->cl, TL_OPT_PTXAS)
                        ? "left out, as --ptxas=none says"
                        : "needs ptxas, which is neither in PATH nor in /usr/local/cuda/bin; name "
                          "it with --ptxas=PATH";
   t->why_no_disassembler =
      is_asked ? "left out, as --disassembler=none says"
               : "neither nvdisasm nor cuobjdump is in PATH, beside ptxas or in "
                 "/usr/local/cuda/bin; they come with the CUDA toolkit (in Python's registry as "
                 "nvidia-cuda-nvdisasm); name one with --disassembler=PATH";
   if (!is_asked)
      t->disassembler = tl_tool_find(c->arena, "nvdisasm", t->ptxas);
   if (!is_asked && !t->disassembler)
      t->disassembler = tl_tool_find(c->arena, "cuobjdump", t->ptxas);
   return true;
}

/* What the disassembler prints; NULL: *why says what went wrong. */
static const char *
disassemble(TlCommand *c, const char *program, const char *cubin, const char **why)
{
   bool has_lines = !tl_ends_with(program, "cuobjdump");
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
      *why = tl_arena_printf(c->arena, "'%s' failed: %s", program,
                             r.error     ? strerror(r.error)
                             : *text     ? text
                             : r.is_late ? "it takes longer than a minute"
                                         : "it ended without a word");
   tl_ptxas_done(&r);
   return good ? text : NULL;
}

static bool
write_cubin(const char *path, const TlCubin *cubin)
{
   FILE *f = fopen(path, "wb");
   bool ok = f && fwrite(cubin->data, 1, cubin->len, f) == cubin->len;
   return (!f || fclose(f) == 0) && ok;
}

static void
add_sass(TlCommand *c, TlView *view, const Tools *tools, const TlCubin *cubin)
{
   const char *folder = tl_tool_folder(c->arena), *text = NULL;
   const char *path = tl_arena_printf(c->arena, "%s/kernel.cubin", folder ? folder : "");
   const char *why = "no temporary file can be written";
   if (folder && write_cubin(path, cubin))
      text = disassemble(c, tools->disassembler, path, &why);
   if (folder) {
      unlink(path);
      rmdir(folder);
   }
   if (text)
      tl_view_sass(view, text, strlen(text));
   else
      tl_view_no_sass(view, why);
}

static const char *
why_no_cubin(const TlCompilation *comp, const TlCubin *cubin)
{
   const char *why = cubin->why;
   for (const TlDiag *d = comp->diags.first; d && !cubin->why; d = d->next)
      if (d->code == TL_DIAG_E0510)
         why = d->text;
   return why;
}

static void
add_machine_code(TlCommand *c, const TlCompilation *comp, TlView *view, const Tools *tools,
                 const TlCubin *cubin)
{
   if (!tools->ptxas)
      tl_view_no_sass(view, tools->why_no_ptxas);
   else if (!cubin->data)
      tl_view_no_sass(view, why_no_cubin(comp, cubin));
   else if (!tools->disassembler)
      tl_view_no_sass(view, tools->why_no_disassembler);
   else
      add_sass(c, view, tools, cubin);
}

/* ---- the page ---- */
/* What the page shows at its lines need not be printed as well, unless -R asked for it. */
static void
forget_remarks(const TlCommand *c, TlDiags *diags)
{
   TlDiag **link = &diags->first;
   while (*link && !tl_option(&c->cl, TL_OPT_REMARKS))
      if ((*link)->severity == TL_SEV_REMARK)
         *link = (*link)->next;
      else
         link = &(*link)->next;
}

static int
write_page(TlCommand *c, TlCompilation *comp, TlView *view, const Tools *tools,
           const TlCubin *cubin)
{
   TlViewFacts facts = {.producer = tl_arena_printf(c->arena, "tilec %s", tilec_version()),
                        .target = comp->target,
                        .usage = cubin->usage};
   TlSb page;
   tl_sb_init(&page, c->arena);
   tl_view_ptx(view, comp->text[TILEC_STAGE_PTX], comp->text_len[TILEC_STAGE_PTX]);
   add_machine_code(c, comp, view, tools, cubin);
   tl_view_page(view, &facts, &comp->diags, &page);
   forget_remarks(c, &comp->diags);
   tl_cmd_diagnostics(c, comp);
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
   tl_cmd_diagnostics(c, comp);
   if (layout)
      return write_svg(c, layout, bytes, title);
   tl_cmd_error(
      "no value with a layout is called '%s' in the LAID IR of '%s', which --emit=laid of "
      "tilec build prints; %s",
      name, comp->func->name, tl_view_layout_names(view, name));
   return EXIT_PROGRAM;
}

/* ---- the command ---- */
static int
compile(TlCommand *c, const TilecCompileOptions *o, TlCompileExtra *extra, Viewing *w)
{
   TilecStatus status = tl_compilation_init(w->comp, NULL, extra);
   if (status == TILEC_OK && setjmp(w->comp->oom))
      return tl_cmd_no_memory();
   if (status == TILEC_OK) {
      w->view = tl_view_new(w->comp->arena, w->comp->sources);
      extra->reached = reached;
      extra->reached_user = w;
      status = tl_compile(w->comp, o, extra);
   }
   if (status == TILEC_OK)
      return EXIT_OK;
   forget_remarks(c, &w->comp->diags);
   return tl_cmd_failed(c, w->comp, status);
}

/* A page is written even where ptxas refuses its PTX. */
static int
view_kernel(TlCommand *c, const TilecCompileOptions *o, TlCompilation *comp, TlView *view,
            const Tools *tools)
{
   TlCubin cubin = {0};
   int refused =
      tools->ptxas ? tl_ptxas_assemble(c, comp, o, tools->ptxas, &cubin) : EXIT_ENVIRONMENT;
   if (refused == EXIT_LIMIT)
      return refused;
   if (setjmp(comp->oom))
      return tl_cmd_no_memory();
   int code = write_page(c, comp, view, tools, &cubin);
   return code == EXIT_OK && refused != EXIT_ENVIRONMENT ? refused : code;
}

static int
view(TlCommand *c, const TilecCompileOptions *o, TlCompileExtra *extra, const Tools *tools,
     TlCompilation *comp)
{
   const char *layout = tl_option(&c->cl, TL_OPT_LAYOUT);
   Viewing w = {.comp = comp};
   int code = compile(c, o, extra, &w);
   if (code != EXIT_OK || !layout)
      return code != EXIT_OK ? code : view_kernel(c, o, comp, w.view, tools);
   if (setjmp(comp->oom))
      return tl_cmd_no_memory();
   return view_layout_of(c, comp, w.view, layout);
}

int
tl_cmd_view(TlCommand *c)
{
   TilecCompileOptions o;
   TlCompileExtra extra;
   TlCompilation comp;
   Tools tools;
   const char *layout = tl_option(&c->cl, TL_OPT_LAYOUT), *out = tl_option(&c->cl, TL_OPT_OUT);
   const char *dot = out ? strrchr(out, '.') : NULL;
   if (dot && tl_word_is_listed(".pdf .png .jpg .jpeg .gif .json .md .ptx .txt", dot))
      return tl_cmd_misuse("'%s' names a file that is not written: view makes %s", out,
                           layout ? "SVG, -o layout.svg" : "a page of HTML, -o page.html");
   if (layout && layout[0] == '{' && !c->cl.operands.len)
      return view_layout_text(c, layout);
   if (layout && layout[0] == '{')
      return tl_cmd_misuse("--layout={..} is drawn without a file; found '%s'",
                           c->cl.operands.data[0]);
   if (tl_cmd_one_file(c) != EXIT_OK)
      return EXIT_USAGE;
   if (!tl_cmd_options(c, &o, &extra))
      return EXIT_USAGE;
   if (!tl_cmd_native_arch(c, &o) || !find_tools(c, &tools))
      return EXIT_ENVIRONMENT;
   o.debug_info = true;
   o.stop_after = layout ? TILEC_STAGE_LAID : TILEC_STAGE_PTX;
   if (!o.remarks && !layout)
      o.remarks = "all";
   int code = view(c, &o, &extra, &tools, &comp);
   tl_compilation_free(&comp);
   return code;
}
