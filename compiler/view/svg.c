/* One layout as a picture.  A tile of more than two dimensions is drawn as rows of its last one,
 * one of a single dimension in rows of 32; a large one by its first corner, which the rest repeats
 * for other warps and registers.  Neighbours of a row in one thread's consecutive registers, or in
 * consecutive bytes of one line of 16, are drawn as one cell. */
#include "view/impl.h"

#include <assert.h>

enum {
   MOST_ROWS = 16,
   MOST_WIDTH = 1040, /* pixels */
   ROW_HEIGHT = 22,
   LEFT = 44,
   TOP = 62,
   LINE_HEIGHT = 14, /* of the text below */
   WRAP = 32,
   LINE_BYTES = 16, /* of shared memory: four banks */
   BANK_BYTES = 4,
   BANKS = 32,
};

/* Eight hues of four shades: lanes in order, and lines of four banks. */
static const uint32_t palette[32] = {
   0xf5d9d6, 0xefbfb9, 0xe8a59c, 0xe18b7f, 0xf5f1d6, 0xefe8b9, 0xe8de9c, 0xe1d47f,
   0xe2f5d6, 0xcdefb9, 0xb9e89c, 0xa4e17f, 0xd6f5e1, 0xb9efcd, 0x9ce8b8, 0x7fe1a3,
   0xd6f2f5, 0xb9e8ef, 0x9cdfe8, 0x7fd5e1, 0xd6daf5, 0xb9c0ef, 0x9ca6e8, 0x7f8ce1,
   0xe9d6f5, 0xdab9ef, 0xcb9ce8, 0xbc7fe1, 0xf5d6ea, 0xefb9db, 0xe89ccc, 0xe17fbd};

enum { EMPTY = 0xf4f4f4 }; /* colour of what is nowhere */

/* Who holds an element first, or where it lies: reg is then its offset in elements. */
typedef struct Holder {
   uint32_t reg, lane, warp; /* warps are counted over blocks */
   uint32_t copies;          /* 0: it is nowhere */
} Holder;

typedef struct Picture {
   const TlLinear *layout;
   bool is_shared;
   unsigned elem_bytes;
   uint32_t rows, columns; /* of the whole tile */
   bool is_wrapped;        /* a single dimension over several rows */
   Holder *holders;        /* rows x columns */
   uint32_t shown_rows, shown_columns, cell_width;
   TlSb *out;
} Picture;

static bool
is_memory(const TlLinear *l)
{
   return l->num[TL_HW_LANE] == 0 && l->num[TL_HW_WARP] == 0 && l->num[TL_HW_BLOCK] == 0 &&
          l->num[TL_HW_REG] > 0;
}

static uint32_t
num_warps(const TlLinear *l)
{
   return 1u << (l->num[TL_HW_WARP] + l->num[TL_HW_BLOCK]);
}

/* ---- who holds what ---- */
static void
put_holder(Picture *p, uint32_t reg, uint32_t lane, uint32_t warp, const uint32_t *shape)
{
   const TlLinear *l = p->layout;
   uint32_t coords[TL_LL_MAX_RANK], at = 0, of_block = 1u << l->num[TL_HW_WARP];
   tl_ll_coords(l, reg, lane, warp % of_block, warp / of_block, coords);
   for (unsigned d = 0; d < l->rank; d++)
      at = at * shape[d] + coords[d];
   Holder *h = &p->holders[at];
   if (h->copies++ == 0)
      *h = (Holder){reg, lane, warp, 1};
}

static void
find_holders(Picture *p, TlArena *arena)
{
   uint32_t shape[TL_LL_MAX_RANK];
   const TlLinear *l = p->layout;
   tl_ll_shape(l, shape);
   p->rows = p->columns = 1;
   for (unsigned d = 0; d < l->rank; d++)
      *(d + 1 == l->rank ? &p->columns : &p->rows) *= shape[d];
   p->is_wrapped = (p->rows == 1 || p->columns == 1) && p->rows * p->columns % WRAP == 0;
   if (p->is_wrapped) {
      p->rows = p->rows * p->columns / WRAP;
      p->columns = WRAP;
   }
   p->holders = tl_new_array(arena, Holder, (size_t)p->rows * p->columns);
   for (uint32_t warp = 0; warp < num_warps(l); warp++)
      for (uint32_t lane = 0; lane < 1u << l->num[TL_HW_LANE]; lane++)
         for (uint32_t reg = 0; reg < tl_ll_num_regs(l); reg++)
            put_holder(p, reg, lane, warp, shape);
}

static const Holder *
holder(const Picture *p, uint32_t row, uint32_t column)
{
   return &p->holders[(size_t)row * p->columns + column];
}

static bool
goes_on(const Picture *p, const Holder *a, const Holder *b)
{
   bool is_next =
      a->copies && b->copies && b->reg == a->reg + 1 && b->lane == a->lane && b->warp == a->warp;
   return is_next && (!p->is_shared || b->reg * p->elem_bytes % LINE_BYTES != 0);
}

/* Elements from this one on that are one cell. */
static uint32_t
run_length(const Picture *p, uint32_t row, uint32_t column)
{
   uint32_t n = 1;
   while (column + n < p->shown_columns &&
          goes_on(p, holder(p, row, column + n - 1), holder(p, row, column + n)))
      n++;
   return n;
}

static uint32_t
shortest_run(const Picture *p)
{
   uint32_t shortest = p->shown_columns;
   for (uint32_t r = 0; r < p->shown_rows; r++)
      for (uint32_t c = 0, n; c < p->shown_columns; c += n) {
         n = run_length(p, r, c);
         if (holder(p, r, c)->copies && n < shortest)
            shortest = n;
      }
   return shortest;
}

/* Cells get as wide as their words. */
static void
choose_size(Picture *p)
{
   p->shown_rows = p->rows < MOST_ROWS ? p->rows : MOST_ROWS;
   p->shown_columns = p->columns;
   uint32_t run = shortest_run(p);
   p->cell_width = run >= 8 ? 10 : run >= 4 ? 16 : run >= 2 ? 26 : 42;
   if (p->columns * p->cell_width <= MOST_WIDTH)
      return;
   p->shown_columns = MOST_WIDTH / p->cell_width / run * run;
   if (p->shown_columns == 0)
      p->shown_columns = MOST_WIDTH / p->cell_width;
   while (p->shown_columns & (p->shown_columns - 1)) /* a power of two */
      p->shown_columns &= p->shown_columns - 1;
}

/* ---- drawing ---- */
static void
put_escaped(TlSb *out, const char *s)
{
   for (; *s; s++)
      if (*s == '<')
         tl_sb_str(out, "&lt;");
      else if (*s == '>')
         tl_sb_str(out, "&gt;");
      else if (*s == '&')
         tl_sb_str(out, "&amp;");
      else if ((unsigned char)*s >= 0x20)
         tl_sb_char(out, *s);
}

static void
put_text(Picture *p, uint32_t x, uint32_t y, const char *class, const char *text)
{
   tl_sb_printf(p->out, "<text x=\"%u\" y=\"%u\" class=\"%s\">", x, y, class);
   put_escaped(p->out, text);
   tl_sb_str(p->out, "</text>\n");
}

static const char *
range_text(TlArena *arena, const char *what, uint32_t first, uint32_t last)
{
   return first == last ? tl_arena_printf(arena, "%s%u", what, first)
                        : tl_arena_printf(arena, "%s%u–%u", what, first, last);
}

static const char *
cell_text(const Picture *p, TlArena *arena, const Holder *h, uint32_t n)
{
   if (!h->copies)
      return "–";
   if (!p->is_shared)
      return tl_arena_printf(arena, "t%u %s", h->lane,
                             range_text(arena, "r", h->reg, h->reg + n - 1));
   uint32_t first = h->reg * p->elem_bytes / BANK_BYTES;
   uint32_t last = ((h->reg + n) * p->elem_bytes - 1) / BANK_BYTES;
   return range_text(arena, "b", first % BANKS, last % BANKS);
}

static void
put_cell(Picture *p, TlArena *arena, uint32_t row, uint32_t column, uint32_t n)
{
   const Holder *h = holder(p, row, column);
   uint32_t x = LEFT + column * p->cell_width, y = TOP + row * ROW_HEIGHT, w = n * p->cell_width;
   uint32_t shade = p->is_shared ? h->reg * p->elem_bytes / BANK_BYTES : h->lane;
   tl_sb_printf(p->out,
                "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%d\" fill=\"#%06x\"/>"
                "<text x=\"%u\" y=\"%u\" class=\"c\">%s</text>\n",
                x, y, w, ROW_HEIGHT, h->copies ? palette[shade % 32] : EMPTY, x + w / 2,
                y + ROW_HEIGHT / 2 + 4, cell_text(p, arena, h, n));
}

/* A line where the next row or column is another warp's. */
static void
put_warp_lines(Picture *p)
{
   for (uint32_t r = 0; r + 1 < p->shown_rows && !p->is_shared; r++)
      for (uint32_t c = 0; c < p->shown_columns; c++)
         if (holder(p, r, c)->warp != holder(p, r + 1, c)->warp)
            tl_sb_printf(p->out, "<path d=\"M%u %uh%u\" class=\"w\"/>\n", LEFT + c * p->cell_width,
                         TOP + (r + 1) * ROW_HEIGHT, p->cell_width);
   for (uint32_t c = 0; c + 1 < p->shown_columns && !p->is_shared; c++)
      for (uint32_t r = 0; r < p->shown_rows; r++)
         if (holder(p, r, c)->warp != holder(p, r, c + 1)->warp)
            tl_sb_printf(p->out, "<path d=\"M%u %uv%d\" class=\"w\"/>\n",
                         LEFT + (c + 1) * p->cell_width, TOP + r * ROW_HEIGHT, ROW_HEIGHT);
}

static void
put_axes(Picture *p, TlArena *arena)
{
   uint32_t step = run_length(p, 0, 0);
   while (step * p->cell_width < 36)
      step *= 2;
   for (uint32_t c = 0; c < p->shown_columns; c += step)
      put_text(p, LEFT + c * p->cell_width + 2, TOP - 6, "a", tl_arena_printf(arena, "%u", c));
   for (uint32_t r = 0; r < p->shown_rows; r++)
      put_text(p, LEFT - 8, TOP + r * ROW_HEIGHT + ROW_HEIGHT / 2 + 4, "a e",
               tl_arena_printf(arena, "%u", p->is_wrapped ? r * WRAP : r));
}

/* Which part of the tile is shown; "": all. */
static const char *
part_text(const Picture *p, TlArena *arena)
{
   if (p->shown_rows == p->rows && p->shown_columns == p->columns)
      return "";
   if (p->is_wrapped && p->shown_columns == p->columns)
      return tl_arena_printf(arena, "; elements 0–%u of %u", p->shown_rows * WRAP - 1,
                             p->rows * WRAP);
   return tl_arena_printf(arena, "; %s 0–%u of %u, columns 0–%u of %u",
                          p->is_wrapped ? "lines" : "rows", p->shown_rows - 1, p->rows,
                          p->shown_columns - 1, p->columns);
}

static const char *
subtitle(const Picture *p, TlArena *arena)
{
   TlSb sb;
   uint32_t least = UINT32_MAX, most = 0, blocks = 1u << p->layout->num[TL_HW_BLOCK];
   for (uint32_t i = 0; i < p->rows * p->columns; i++) {
      least = p->holders[i].copies < least ? p->holders[i].copies : least;
      most = p->holders[i].copies > most ? p->holders[i].copies : most;
   }
   tl_sb_init(&sb, arena);
   if (p->is_shared)
      tl_sb_printf(&sb, "banks of shared memory, %u byte%s an element", p->elem_bytes,
                   p->elem_bytes == 1 ? "" : "s");
   else
      tl_sb_str(&sb, "t: lane, r: register");
   if (num_warps(p->layout) > 1)
      tl_sb_printf(&sb, "; %u warps%s, thick lines between them", num_warps(p->layout),
                   blocks > 1 ? tl_arena_printf(arena, " of %u blocks", blocks) : "");
   tl_sb_str(&sb, part_text(p, arena));
   if (most > 1)
      tl_sb_printf(&sb, "; %s is held by %u, the first is shown",
                   least == most ? "each element" : "an element", most);
   if (least == 0)
      tl_sb_str(&sb, "; –: nowhere");
   return tl_sb_cstr(&sb);
}

/* ---- the layout's text below ---- */
/* Bytes of the next line: up to a blank where there is one, or a comma. */
static size_t
line_length(const char *s)
{
   enum { MOST = 110, LEAST = 60 };
   size_t blank = 0, comma = 0, n = 0;
   for (; s[n] && n < MOST; n++) {
      blank = s[n] == ' ' ? n + 1 : blank;
      comma = s[n] == ',' ? n + 1 : comma;
   }
   return !s[n] ? n : blank >= LEAST ? blank : comma ? comma : n;
}

static uint32_t
num_lines(const char *s)
{
   uint32_t n = 0;
   for (; *s; s += line_length(s))
      n++;
   return n;
}

static void
put_lines(Picture *p, uint32_t y, const char *s, TlArena *arena)
{
   for (size_t n; *s; s += n, y += LINE_HEIGHT) {
      n = line_length(s);
      put_text(p, LEFT, y, "m", tl_arena_strndup(arena, s, n));
   }
}

void
tl_view_layout_svg(const TlLinear *layout, unsigned elem_bytes, const char *title, TlSb *out)
{
   TlArena *arena = out->arena;
   Picture p = {.layout = layout,
                .is_shared = is_memory(layout),
                .elem_bytes = elem_bytes ? elem_bytes : 4,
                .out = out};
   TlSb text;
   tl_sb_init(&text, arena);
   tl_ll_print(layout, &text);
   find_holders(&p, arena);
   choose_size(&p);
   uint32_t wide = LEFT + p.shown_columns * p.cell_width + 16;
   uint32_t bottom = TOP + p.shown_rows * ROW_HEIGHT;
   uint32_t width = wide < 820 ? 820 : wide, height = bottom + 16;
   height += LINE_HEIGHT * num_lines(tl_sb_cstr(&text));
   tl_sb_printf(out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %u %u\" width=\"%u\" "
                "height=\"%u\" role=\"img\">\n",
                width, height, width, height);
   tl_sb_str(out, "<title>");
   put_escaped(out, title);
   tl_sb_str(out, "</title>\n<style>text{font:11px sans-serif;fill:#222}.h{font-size:15px;"
                  "font-weight:600}.c{text-anchor:middle;font-size:10px}.a,.m{fill:#555;"
                  "font-size:10px}.e{text-anchor:end}.m{font-family:monospace}"
                  "rect{stroke:#fff}.w{stroke:#222;stroke-width:2}</style>\n");
   tl_sb_printf(out, "<rect width=\"%u\" height=\"%u\" fill=\"#ffffff\"/>\n", width, height);
   put_text(&p, LEFT, 20, "h", title);
   put_text(&p, LEFT, 38, "a", subtitle(&p, arena));
   for (uint32_t r = 0; r < p.shown_rows; r++)
      for (uint32_t c = 0, n; c < p.shown_columns; c += n) {
         n = run_length(&p, r, c);
         put_cell(&p, arena, r, c, n);
      }
   put_warp_lines(&p);
   put_axes(&p, arena);
   put_lines(&p, bottom + 20, tl_sb_cstr(&text), arena);
   tl_sb_str(out, "</svg>\n");
}
